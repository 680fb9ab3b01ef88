/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_SUMMARY_MATH_H
#define TP_STATS_SUMMARY_MATH_H

#include <math.h>
#include <stdint.h>

#include "base/host_device.h"
#include "stats/summary.h"

/*
 * The merges of stats/summary.h, for the processor and for devices: both must
 * compile them without contracting a product and a sum into one rounding.
 */

TP_HOST_DEVICE static inline void
tp_merge_counts(struct tp_counts *into, const struct tp_counts *from)
{
    into->numel += from->numel;
    into->values += from->values;
    into->nan += from->nan;
    into->pos_inf += from->pos_inf;
    into->neg_inf += from->neg_inf;
    into->zero += from->zero;
    into->negative += from->negative;
    into->judged += from->judged;
    into->upper_overflow += from->upper_overflow;
    into->lower_overflow += from->lower_overflow;
    into->underflow += from->underflow;
    into->subnormal += from->subnormal;
#ifndef __cplusplus
    _Static_assert(sizeof *into == 12 * sizeof(uint64_t),
                   "a count that is not merged");
#endif
}

TP_HOST_DEVICE static inline int64_t tp_scale_of_moments(double abs_max)
{
    if (abs_max == 0)
        return 0;
    return 400 * (int64_t)floor((ilogb(abs_max) + 200) / 400.0);
}

TP_HOST_DEVICE static inline void
tp_set_scale_of_moments(struct tp_moments *moments, int64_t scale)
{
    int by = (int)(moments->scale - scale); /* of magnitude 2400 at most */
    moments->mean = ldexp(moments->mean, by);
    moments->m2 = ldexp(moments->m2, 2 * by);
    moments->m3 = ldexp(moments->m3, 3 * by);
    moments->m4 = ldexp(moments->m4, 4 * by);
    moments->sum_abs = ldexp(moments->sum_abs, by);
    moments->sum_squares = ldexp(moments->sum_squares, 2 * by);
    moments->scale = scale;
}

/* Zeros alone fit every scale, and so do not count. */
TP_HOST_DEVICE static inline int64_t
tp_common_scale(const struct tp_moments *a, const struct tp_moments *b)
{
    if (a->sum_abs == 0 || b->sum_abs == 0)
        return a->sum_abs == 0 ? b->scale : a->scale;
    return a->scale > b->scale ? a->scale : b->scale;
}

/*
 * The pairwise formulas of Chan, Golub and LeVeque, extended to the third and
 * fourth moment by Pebay: each central sum of the union is that of the parts
 * plus terms in the difference of their means.
 */
TP_HOST_DEVICE static inline void
tp_merge_scaled(struct tp_moments *into, const struct tp_moments *from)
{
    double na = (double)into->n, nb = (double)from->n, n = na + nb;
    double a = na / n, b = nb / n, d = from->mean - into->mean;
    double d2 = d * d * na * b; /* delta^2 * na * nb / n */
    double m4 = into->m4 + from->m4 + d2 * d * d * (a * a - a * b + b * b) +
                6 * d * d * (a * a * from->m2 + b * b * into->m2) +
                4 * d * (a * from->m3 - b * into->m3);
    double m3 = into->m3 + from->m3 + d2 * d * (a - b) +
                3 * d * (a * from->m2 - b * into->m2);
    into->m2 = into->m2 + from->m2 + d2;
    into->m3 = m3;
    into->m4 = m4;
    into->mean += d * b;
    into->sum_abs += from->sum_abs;
    into->sum_squares += from->sum_squares;
    into->n += from->n;
}

TP_HOST_DEVICE static inline void
tp_merge_moments(struct tp_moments *into, const struct tp_moments *from)
{
    if (from->n == 0)
        return;
    if (into->n == 0) {
        *into = *from;
        return;
    }
    if (into->scale == from->scale) {
        tp_merge_scaled(into, from);
        return;
    }
    struct tp_moments moved = *from;
    int64_t scale = tp_common_scale(into, from);
    tp_set_scale_of_moments(into, scale);
    tp_set_scale_of_moments(&moved, scale);
    tp_merge_scaled(into, &moved);
}

TP_HOST_DEVICE static inline void
tp_merge_extrema(struct tp_extrema *into, uint64_t into_n,
                 const struct tp_extrema *from, uint64_t from_n)
{
    if (from_n == 0)
        return;
    if (into_n == 0) {
        *into = *from;
        return;
    }
    if (from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    if (from->abs_min_nonzero > 0 &&
        (into->abs_min_nonzero == 0 ||
         from->abs_min_nonzero < into->abs_min_nonzero))
        into->abs_min_nonzero = from->abs_min_nonzero;
}

#endif
