/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_PAIRS_H
#define TP_TENSORS_PAIRS_H

#include <signal.h>

#include "base/pool.h"
#include "data/table.h"
#include "tensors/pair_find.h"

/* Reading the pairs of a run: what their elements have to do with each other.
 */

/* Which pairs are compared. */
enum tp_pairs_which {
    TP_PAIRS_ALL,  /* each two quant types of a tensor                    */
    TP_PAIRS_BASE, /* each with that of the highest precision             */
    TP_PAIRS_NONE  /* none; which there are is told all the same          */
};

/* How pairs are made. */
struct tp_pairs_options {
    enum tp_pairs_which which;
    struct tp_pool *pool;
    const volatile sig_atomic_t *stop; /* nonzero: give up; may be NULL   */
    /* As that of tp_collect_options, with pairs for files; may be NULL. */
    void (*progress)(void *context, uint64_t done, uint64_t all,
                     uint64_t bytes_done, uint64_t bytes_all);
    void *progress_context;
};

/*
 * Finds the pairs of a run and reads both tensors of each again. `pairs` is
 * zeroed by the caller and released with tp_pairs_clear, also after a failure;
 * it borrows the run, which has to stay where it is. The result does not depend
 * on the pool. What can no longer be read has an error and becomes a skipped
 * row of the run. TP_E_INTERRUPTED, TP_E_MEMORY.
 */
enum tp_status tp_pairs_make(struct tp_run *run,
                             const struct tp_pairs_options *options,
                             struct tp_pairs *pairs, struct tp_error *err);

/*
 * Reads the pairs that are least alike once more, one for each two quant types
 * and tensor name, for pairs->scatters. What cannot be read is left out.
 */
enum tp_status tp_pairs_scatter(const struct tp_pairs_options *options,
                                struct tp_pairs *pairs, struct tp_error *err);

/* How far apart two tensors are, from 0 to 2: 1 - r or, where one is constant,
 * 1 - cosine; NaN where neither exists. */
double tp_pair_distance(const struct tp_pair_numbers *numbers);

/* The table /pairs: a row for each that was read. */
void tp_pairs_table_make(const struct tp_pairs *pairs, struct tp_table *table);

#endif
