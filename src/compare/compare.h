/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_H
#define TP_COMPARE_COMPARE_H

#include "compare/compare_judge.h"
#include "compare/compare_side.h"
#include "compare/compare_tensor.h"

/* Two runs, row by row. */

struct tp_compare_options {
    const char *a, *b;                /* paths                            */
    struct tp_dump_read_options read; /* of both; its roots are not used  */
    enum tp_compare_mode mode;
    bool fuzzy;
    const char *map; /* a file; NULL: names are the same                   */
    void (*progress)(void *context, uint64_t done, uint64_t all,
                     uint64_t bytes_done, uint64_t bytes_all);
    void *progress_context;
};

/* How many rows, of all pairs. */
struct tp_compare_counts {
    size_t rows, results[TP_COMPARE_RESULTS];
    size_t matched, equal; /* bit-equal as far as the mode can tell       */
    size_t only_a, only_b;
    size_t dtypes;            /* of only_a: in B with a dtype of another kind */
    size_t problems, damaged; /* matched, but not compared                 */
};

struct tp_comparison {
    struct tp_compare_side a, b;
    enum tp_compare_mode mode;     /* what was done                        */
    struct tp_compare_pair *pairs; /* by step, rank of A                   */
    size_t pair_count;
    struct tp_compare_counts counts;
    bool steps_differ; /* one step each, with two numbers                  */
    struct tp_arena arena;
    struct tp_notes notes;
};

/* Whether a text of it was lost for want of memory. */
bool tp_comparison_lost(const struct tp_comparison *comparison);

/*
 * Reads both, matches and compares them. `comparison` is zeroed by the caller
 * and released with tp_comparison_clear, also after a failure: those of
 * tp_compare_side_open and of the map; TP_E_NOT_FOUND when no step, rank or
 * name is in both; TP_E_UNSUPPORTED when they have nothing by which they could
 * be compared; TP_E_MEMORY, TP_E_INTERRUPTED. The result does not depend on
 * the pool.
 */
enum tp_status tp_compare(const struct tp_compare_options *options,
                          struct tp_comparison *comparison,
                          struct tp_error *err);

/* Releases everything; empty afterwards. */
void tp_comparison_clear(struct tp_comparison *comparison);

#endif
