/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_PAIR_FIND_H
#define TP_TENSORS_PAIR_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "stats/pair.h"
#include "stats/pair_cells.h"
#include "tensors/run.h"

/*
 * The same tensor in two quant types, element by element. What a quant type is
 * to a tensor that has none is its dtype. Two rows are the same tensor when
 * all their labels, the shape and the ordinal are equal but the quant type;
 * sample and group too, where both tell: one that does not tell its sample is
 * paired with the only one there is, a weight with the first.
 */

/* Two rows of a run. */
struct tp_pair {
    size_t x, y;       /* row numbers; x has the higher precision         */
    bool based;        /* no other type of this tensor is above x         */
    const char *error; /* why it could not be compared; "": it was        */
    bool of_y;         /* it was y that could not be read                 */
    struct tp_pair_numbers numbers;
};

/* Where the elements of a pair lie. */
struct tp_pair_scatter {
    size_t pair;
    struct tp_pair_axis axis; /* of both                                  */
    uint64_t cells[TP_PAIR_CELLS * TP_PAIR_CELLS]; /* rows of equal y     */
};

/* Scatters of a run: as many as a figure has panels. */
enum { TP_PAIR_SCATTERS = 9 };

/* All of a run. All-zero bytes: there are none. */
struct tp_pairs {
    const struct tp_run *run; /* borrowed                                 */
    struct tp_arena arena;    /* owns the texts made here                 */
    struct tp_pair *rows;     /* by x, then y                             */
    size_t count, capacity;
    size_t *worst; /* those that were measured, least alike first         */
    size_t measured;
    struct tp_pair_scatter *scatters; /* least alike first                */
    size_t scatter_count;
};

/*
 * Fills in pairs->rows; nothing is measured yet. `all`: each two quant types of
 * a tensor, else each with the one of the highest precision. `pairs` is zeroed
 * by the caller and released with tp_pairs_clear, also after a failure; it
 * borrows the run, which has to stay where it is. TP_E_MEMORY only.
 */
enum tp_status tp_pairs_find(const struct tp_run *run, bool all,
                             struct tp_pairs *pairs, struct tp_error *err);

/* Releases what it owns; it is empty afterwards. */
void tp_pairs_clear(struct tp_pairs *pairs);

/* The quant type of a row, or its dtype. */
const char *tp_pair_type(const struct tp_row *row);

/* Orders quant types by precision, the highest first, then by name. */
int tp_pair_compare_types(const struct tp_row *a, const struct tp_row *b);

#endif
