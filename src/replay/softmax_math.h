/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_SOFTMAX_MATH_H
#define TP_REPLAY_SOFTMAX_MATH_H

#include <stdint.h>

/*
 * Softmax of a line of numbers with its bounds. With m the largest and
 * p_i = e^(x_i - m) / S, a device with rounding u is off, to first order, by
 *
 *     e_i = b_i + b_m + (2 |x_i - m| + 8) u     in the exponential, relative
 *     S:    sum p_j e_j + gamma_k
 *     p_i:  p_i (e_i + that + 2 u)
 *     log:  x_i - m - log S: b_i + b_m + 2 (|x_i - m| + |log S|) u
 *           + sum p_j (e_j - b_m) + k u + 8 u |log S|
 *
 * where b are the bounds of the numbers themselves, and 8 u those of an
 * elementary function (point_math.h).
 */
struct tp_softmax_line {
    const double *x, *bound; /* bound may be NULL: exact                     */
    int64_t count, step;     /* between elements of all arrays              */
    double unit;
};

/* Fills in values and bounds; they may be x and bound themselves. A line of
 * nothing but -infinity becomes NaN. */
void tp_softmax_line(const struct tp_softmax_line *line, double *value,
                     double *bound);

/* The same of the logarithm. */
void tp_log_softmax_line(const struct tp_softmax_line *line, double *value,
                         double *bound);

#endif
