/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_PAIR_H
#define TP_STATS_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/code_key.h"

/*
 * How the values of one tensor go with those of another, x with y, element by
 * element: counts, correlation, regression, cosine, differences. Sums leave out
 * elements that are not finite in both.
 */

/*
 * Powers of two that x, y and x - y are divided by before they are squared, so
 * that nothing overflows or is lost: 0 unless a binary64 is beyond 2^200 or
 * below 2^-200. Sums of different scales cannot be merged.
 */
struct tp_pair_scale {
    int x, y, difference;
};

/* The scale for values of at most these magnitudes; all others are summed with
 * it, too, but may overflow. */
struct tp_pair_scale tp_pair_scale_of(double x_abs_max, double y_abs_max);

/* A mean that is high + low: one double would cost a spread of 1 about 10^6 two
 * of its digits when pieces are merged. */
struct tp_pair_mean {
    double high, low;
};

/* What is kept of a piece of two tensors. All-zero bytes are empty; values, but
 * for the two that are largest, are in units of the scale. */
struct tp_pair_sums {
    uint64_t values;
    uint64_t nan;    /* NaN in x or y or both                             */
    uint64_t inf;    /* else infinite in x or y or both                   */
    uint64_t finite; /* both: the rest                                    */
    uint64_t equal;  /* of these: x == y                                  */
    struct tp_pair_mean mean_x, mean_y, mean_d; /* d = x - y              */
    double m2_x, m2_y, m2_d, m_xy;     /* central sums of squares and of x y  */
    double xx, yy, xy, dd, abs_d;      /* sums about zero                     */
    double max_d, max_relative;        /* |d|; |d| / max(|x|, |y|)            */
    int64_t max_d_at, max_relative_at; /* first element; of no meaning
                                          where the value is 0            */
};

/*
 * Adds the elements of two spans of as many values; the first is element
 * `first`. Spans of any dtype, each of its own. Cannot fail. The same values in
 * the same calls give the same bytes.
 */
void tp_pair_add(const struct tp_span *x, const struct tp_span *y,
                 int64_t first, const struct tp_pair_scale *scale,
                 struct tp_pair_sums *sums);

/* Adds `from` to `into`; merge pieces in the order of the tensors. */
void tp_pair_merge(struct tp_pair_sums *into, const struct tp_pair_sums *from);

/* As if every element occurred `repeat` times (stride-0 axes). */
void tp_pair_repeat(struct tp_pair_sums *sums, uint64_t repeat);

/*
 * What the sums give. NaN where a number does not exist: all but counts without
 * a finite element; r and the line where x or y is constant; the cosine where
 * one is zero.
 */
struct tp_pair_numbers {
    uint64_t values, finite, nan, inf, equal;
    double pearson_r;
    double one_minus_r; /* has digits also where r rounds to 1: pair.c    */
    double slope, intercept; /* the line y = slope x + intercept of least
                                squares                                    */
    double cosine, one_minus_cosine;
    double mse; /* mean of (x - y)^2                              */
    double mean_abs_diff;
    double max_abs_diff;
    int64_t max_abs_diff_at; /* -1: no difference                          */
    double max_rel_diff; /* |x - y| / max(|x|, |y|): 0 to 2                */
    int64_t max_rel_diff_at;
};

/* Sets *numbers; `scale` is what the sums were made with. */
void tp_pair_numbers(const struct tp_pair_sums *sums,
                     const struct tp_pair_scale *scale,
                     struct tp_pair_numbers *numbers);

#endif
