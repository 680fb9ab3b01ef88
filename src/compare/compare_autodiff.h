/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_AUTODIFF_H
#define TP_COMPARE_COMPARE_AUTODIFF_H

#include "compare/compare_findings.h"
#include "replay/divergence.h"

/*
 * Which operator parts two runs: every call that is not equal is computed again
 * from its own arguments, in each run, so that what it adds is told from what
 * came in. One search for each pair of places of a comparison.
 */
struct tp_compare_autodiff_row {
    int64_t step, rank; /* of A; -1: not known                             */
    struct tp_divergence_row row;
};

struct tp_compare_autodiff {
    struct tp_divergence *searches; /* [count] as the pairs of the comparison */
    size_t count;
    struct tp_compare_autodiff_row *rows; /* of all searches               */
    size_t row_count;
};

/*
 * Goes through the pairs of a comparison, which is borrowed, and adds a finding
 * for the first operator that adds more than rounding explains. `autodiff` is
 * zeroed by the caller and released with tp_compare_autodiff_clear, also after
 * a failure: TP_E_UNSUPPORTED where the runs have no tensors to compute with,
 * TP_E_MEMORY, TP_E_INTERRUPTED.
 */
enum tp_status tp_compare_autodiff_make(
    const struct tp_comparison *comparison,
    const struct tp_divergence_options *options,
    struct tp_compare_autodiff *autodiff, struct tp_dump_findings *findings,
    struct tp_error *err);

/* The rows as the table "autodiff". */
void tp_compare_autodiff_table(const struct tp_compare_autodiff *autodiff,
                               struct tp_table *table);

/* Releases everything; empty afterwards. */
void tp_compare_autodiff_clear(struct tp_compare_autodiff *autodiff);

#endif
