/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_COPIES_H
#define TP_DUMP_DUMP_COPIES_H

#include "data/table.h"
#include "dump/dump.h"
#include "dump/dump_findings.h"
#include "dump/dump_unread.h"

/*
 * Whether ranks that should have equal tensors do: parameters of modules,
 * weights that functions are given, what collectives left on all their ranks.
 */

/* A copy that differs. Texts are never NULL. */
struct tp_dump_copy_row {
    int64_t step;
    int64_t rank;      /* the odd one out; of two that disagree the later  */
    int64_t reference; /* a rank that it was compared with                 */
    const char *kind;  /* "parameter", "weight", "collective"              */
    const char *name;  /* of the item on `rank`                            */
    int64_t order;     /* of its call                                      */
    int64_t ranks;     /* that have the tensor                             */
    int64_t agree;     /* of these, have what the reference has            */
    double share;      /* of the elements that differ; NaN: no files       */
    double norm;       /* relative difference of the norms; NaN: not known */
};

/* All-zero bytes are none. */
struct tp_dump_copies {
    struct tp_dump_copy_row *rows; /* the worst first                      */
    size_t count, capacity;
    size_t compared; /* tensors that several ranks have                    */
    size_t equal;    /* on all of them                                     */
    size_t sharded;  /* that most ranks have parts of, or other tensors    */
    struct tp_dump_unread unread;
    struct tp_arena arena;
};

/*
 * Compares the ranks of each step by sums of bytes or, where there are none, by
 * statistics, and adds findings. Items have their CRC if tp_dump_flow_find has
 * seen them. Release with tp_dump_copies_clear, also after a failure:
 * TP_E_MEMORY only.
 */
enum tp_status tp_dump_copies_find(const struct tp_dump *dump,
                                   struct tp_dump_copies *copies,
                                   struct tp_dump_findings *findings,
                                   struct tp_error *err);

/* Releases everything. */
void tp_dump_copies_clear(struct tp_dump_copies *copies);

/* The table `copies`. */
void tp_dump_copies_table(const struct tp_dump_copies *copies,
                          struct tp_table *table);

#endif
