/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_SAVED_H
#define TP_TENSORS_SAVED_H

#include "tensors/run.h"

/*
 * What was saved when. A moment is an iteration, and a sample if there are
 * any, of a rank of a run; a cell tells how often one tensor, by its labels,
 * was saved in a moment. A run is what has one quant_type; tensors with and
 * without a sample are saved at different times, and count as two.
 */

/* A tensor in a moment. */
struct tp_cell {
    const struct tp_row *row; /* one of `count`                            */
    size_t count;
    size_t moment; /* of tp_saved.moments                                  */
};

/* The rows that have an iteration; all-zero bytes are none. */
struct tp_saved {
    struct tp_cell *cells; /* by run, layer, tensor, rank, time            */
    size_t cell_count;
    const struct tp_row **rows;    /* by run, rank, time, counter             */
    const struct tp_row **moments; /* [count]: the first row of each       */
    size_t *first;                 /* [count + 1]: it, in `rows`           */
    size_t count;
};

/* Borrows the run. Release with tp_saved_clear, also after a failure, which
 * is TP_E_MEMORY only. */
enum tp_status tp_saved_make(const struct tp_run *run, struct tp_saved *made,
                             struct tp_error *err);
void tp_saved_clear(struct tp_saved *saved);

/* The moment of a row that is among them. */
size_t tp_saved_find(const struct tp_saved *saved, const struct tp_row *row);

/* How many tensors a moment has. */
size_t tp_saved_size(const struct tp_saved *saved, size_t moment);

/* Whether two moments are of one rank of one run. */
bool tp_saved_same_rank(const struct tp_saved *saved, size_t a, size_t b);

/* Orders by a part of the labels: by run; by run and layer; by these and all
 * else that tells a tensor; by iteration and sample; by rank. */
int tp_compare_runs(const struct tp_row *a, const struct tp_row *b);
int tp_compare_layers(const struct tp_row *a, const struct tp_row *b);
int tp_compare_tensors(const struct tp_row *a, const struct tp_row *b);
int tp_compare_times(const struct tp_row *a, const struct tp_row *b);
int tp_compare_ranks(const struct tp_row *a, const struct tp_row *b);

/* The step between so many rising numbers that more than half of the steps are
 * equal to; 0: none is. `steps` has room for as many. */
int64_t tp_usual_step(const int64_t *all, size_t count, int64_t *steps);

#endif
