/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_QUANTILE_H
#define TP_STATS_QUANTILE_H

#include <stddef.h>
#include <stdint.h>

#include "stats/summary.h"

/*
 * Which order statistics the quantiles of n values need, and how they are
 * put together: numpy's default. Quantile q lies at q * (n - 1) between two
 * neighbours in sorted order, linearly.
 */
enum { TP_RANKS = 2 * TP_QUANTILES };

struct tp_ranks {
    uint64_t n;
    uint64_t rank[TP_RANKS];       /* from 0; [2i] ascend, [2i + 1] is the
                                      next value's or the same            */
    double fraction[TP_QUANTILES]; /* of the way from [2i] to [2i + 1]   */
};

/*
 * The ranks, among n values (n may be 0), of the quantiles of the
 * n * repeat values in which each of them occurs `repeat` times.
 */
void tp_ranks_of(uint64_t n, uint64_t repeat, struct tp_ranks *ranks);

/* Quantiles from the values at those ranks; NaN when n is 0. */
void tp_ranks_quantiles(const struct tp_ranks *ranks,
                        const double ordered[TP_RANKS],
                        double quantile[TP_QUANTILES]);

/* Element `rank` of n values in ascending order; reorders them. n > 0, and
 * there is no NaN. */
double tp_select_rank(double *values, size_t n, size_t rank);

/* The median of n values, none of which is NaN: of an even number, the mean of
 * the two in the middle; NaN of none. Sorts them. */
double tp_median(double *values, size_t n);

/* The same of values that are in order already; n > 0. */
double tp_sorted_median(const double *sorted, size_t n);

#endif
