/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_TWO_VALUES_H
#define TP_TESTS_TWO_VALUES_H

#include "tests/unit/support/run_maker.h"

/* The summary of a tensor of two values. */
static struct tp_summary two(double a, double b)
{
    struct tp_summary summary = {0};
    double middle = (a + b) / 2;
    summary.counts.numel = summary.counts.values = 2;
    summary.moments.n = 2;
    summary.moments.mean = middle;
    summary.moments.m2 = 2 * (a - middle) * (a - middle);
    summary.moments.sum_abs = fabs(a) + fabs(b);
    summary.moments.sum_squares = a * a + b * b;
    summary.extrema.min = fmin(a, b);
    summary.extrema.max = fmax(a, b);
    summary.extrema.abs_min_nonzero = fmin(fabs(a), fabs(b));
    summary.bins[tp_summary_bin(a)]++;
    summary.bins[tp_summary_bin(b)]++;
    return summary;
}

#endif
