/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_NOISE_H
#define TP_TESTS_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Healthy series: what numbers of a training do while nothing is wrong. Of
 * one seed the values are the same every time, on every machine but for the
 * last digits of exp and log.
 */

/* All values are magnitudes, that is 0 or more, near 1. */
enum noise_kind {
    NOISE_NORMAL,         /* gradient norm of 2.1 +- 0.5, at least 0.3,
                             divided by 2.1                                */
    NOISE_LOGNORMAL,      /* exp of normal noise of 0.3                    */
    NOISE_LOGNORMAL_WIDE, /* and of 1                                      */
    NOISE_STUDENT,        /* Student's t of 5 degrees of freedom, tenths of
                             a binade                                      */
    NOISE_AR,             /* each point is 0.9 of the one before, a fifth of
                             a binade                                      */
    NOISE_DECAY,          /* 1 / sqrt(t), from t = 1, with 5 % of noise    */
    NOISE_STEPS,          /* a weight that grows with the learning rate, by
                             30 % in the first third of the series, then by
                             3 and by 0.3 %, with 1 % of noise             */
    NOISE_COUNTS,         /* share of 4 096 elements: a Poisson number of
                             which 2 are expected; see noise_is_share      */
    NOISE_QUANTISED,      /* normal noise of half a step, rounded to steps of
                             an eighth                                     */
    NOISE_ZEROS,          /* one half is 0, the other lognormal by 0.3     */
    NOISE_KINDS
};

/* "normal", "lognormal 0.3", ... */
const char *noise_name(enum noise_kind kind);

/* Whether values are shares of elements, 0 to 1, and not near 1. */
bool noise_is_share(enum noise_kind kind);

/* xorshift64 as G. Marsaglia gives it; the state is never 0. */
struct dice {
    uint64_t state;
};

/* Dice of their own for a number, 0 on: of near ones, too, unlike. */
struct dice dice_of(uint64_t number);

/* Even on (0, 1). */
double dice_even(struct dice *dice);

/* Of mean 0 and standard deviation 1. */
double dice_normal(struct dice *dice);

/* Student's t, scaled to a standard deviation of 1; freedom > 2. */
double dice_student(struct dice *dice, int freedom);

/* A Poisson number; O(mean). */
uint64_t dice_poisson(struct dice *dice, double mean);

/* How many of n succeed, each with probability p; O(n p). */
uint64_t dice_binomial(struct dice *dice, uint64_t n, double p);

/* One series of `count` points. */
void noise_fill(struct dice *dice, enum noise_kind kind, size_t count,
                double *value);

#endif
