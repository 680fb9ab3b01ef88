/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_VALUES_H
#define TP_STATS_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "data/dtype.h"
#include "stats/code_key.h"
#include "stats/judge.h"
#include "stats/summary.h"

/*
 * Statistics of values too wide to count every code: binary32, binary64 and
 * integers of 32 and 64 bits. Counts, extrema and bins are exact; moments are
 * taken in two passes over blocks of TP_VALUE_BLOCK values, merged in order to
 * one of the call, which is then merged: so the same values in the same calls
 * give the same bytes.
 */

/* Values whose moments are taken at once. They stay in the first level cache,
 * and rounding errors of so few additions stay small. */
enum { TP_VALUE_BLOCK = 512 };

/* What is kept of a piece of a tensor. All-zero bytes are empty. */
struct tp_values {
    struct tp_counts counts;  /* all but numel and judged                 */
    struct tp_moments moments;
    struct tp_extrema extrema;
    uint64_t negative_nan;    /* of counts.nan, with the sign bit set     */
};

/*
 * Adds the values of a span of a dtype of 32 or 64 bits, and those that are
 * finite and nonzero to bins[TP_SUMMARY_BINS], unless that is NULL. Bins hold
 * up to 2^32 - 1. `isa`: whose loops; unknown: the best, asked each time.
 * Cannot fail.
 */
void tp_values_add(const struct tp_span *span, const struct tp_judge *judge,
                   enum tp_isa isa, struct tp_values *values, uint32_t *bins);

/* Adds `from` to `into`; merge pieces in the order of the tensor. */
void tp_values_merge(struct tp_values *into, const struct tp_values *from);

/* As if every value occurred `repeat` times (stride-0 axes). */
void tp_values_repeat(struct tp_values *values, uint64_t repeat);

/* Adds the bins to totals[TP_SUMMARY_BINS] and empties them. */
void tp_bins_flush(uint32_t *bins, uint64_t *totals);

#endif
