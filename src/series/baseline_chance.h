/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_CHANCE_H
#define TP_SERIES_BASELINE_CHANCE_H

#include <stddef.h>

/* How likely deviations are, for baselines of a whole run. */

/* Degrees of freedom of noise of which nothing better is known. */
enum { TP_TAILS_HEAVY = 5 };

/* Degrees of freedom of Student's t whose tails noise has: [0] below what is
 * expected, [1] above it; 0: not known. The logarithm of a gradient's norm has
 * a heavy side and a light one. */
struct tp_freedom {
    int side[2];
};

/* Natural logarithm of P(|T| > z), z >= 0, of Student's t; relative error of
 * the probability below 1e-6. Far out (P < 1e-9) it is no less than that, and
 * more by a part of 2 / freedom at most; of one degree it is right. */
double tp_chance_log(int freedom, double z);

/* The z whose tp_chance_log is `limit` < 0. */
double tp_chance_limit(int freedom, double limit);

/* Logarithm of the probability that the product of m numbers, even on (0, 1),
 * is below exp(sum): Fisher's combination of m independent tests. */
double tp_chance_combined(double sum, size_t m);

#endif
