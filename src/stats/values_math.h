/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_VALUES_MATH_H
#define TP_STATS_VALUES_MATH_H

#include "base/host_device.h"
#include "stats/summary_math.h"
#include "stats/values.h"

/*
 * The part of stats/values.h that processor and devices share. What is left to
 * each is the order of additions in a block, which is a definition: the values
 * that are finite, in order, are added to two sums in turn, and the second
 * sum is added to the first.
 */

/*
 * Central sums about a mean that is off by `shift` because it was rounded:
 * moves them to the true mean.
 */
TP_HOST_DEVICE static inline void
tp_shift_mean(struct tp_moments *moments, double shift)
{
    double n = (double)moments->n, s = shift;
    double m2 = moments->m2, m3 = moments->m3;
    moments->m4 += s * (s * (6 * m2 - 3 * n * s * s) - 4 * m3);
    moments->m3 += s * (2 * n * s * s - 3 * m2);
    moments->m2 -= n * s * s;
    moments->mean += s;
}

TP_HOST_DEVICE static inline void
tp_merge_values(struct tp_values *into, const struct tp_values *from)
{
    tp_merge_extrema(&into->extrema, into->moments.n, &from->extrema,
                     from->moments.n);
    tp_merge_moments(&into->moments, &from->moments);
    tp_merge_counts(&into->counts, &from->counts);
    into->negative_nan += from->negative_nan;
}

#endif
