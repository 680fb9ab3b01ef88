/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_TENSOR_H
#define TP_COMPARE_COMPARE_TENSOR_H

#include <signal.h>

#include "base/pool.h"
#include "compare/compare_row.h"

/* Reading the tensors of matched rows. */

struct tp_compare_tensor_options {
    struct tp_pool *pool;
    const volatile sig_atomic_t *stop; /* nonzero: give up; may be NULL    */
    /* As that of tp_collect_options, with pairs for files; may be NULL. */
    void (*progress)(void *context, uint64_t done, uint64_t all,
                     uint64_t bytes_done, uint64_t bytes_all);
    void *progress_context;
};

/*
 * Sets metrics, elements and problem of all rows of some pairs; those without a
 * partner, or without a file on either side, are "unsupported". Both tensors
 * of a row are read once. The result does not depend on the pool. TP_E_MEMORY,
 * TP_E_INTERRUPTED.
 */
enum tp_status tp_compare_measure(
    struct tp_compare_pair *pairs, size_t count,
    const struct tp_compare_tensor_options *options, struct tp_error *err);

#endif
