/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_FREE_BENCHMARK_H
#define TP_REPLAY_FREE_BENCHMARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/dtype.h"

/* How far a perturbed result is from the original one, by the rules of
 * msprobe's free_benchmark. */

/* A result. Values are rounded to the dtype when they are compared. */
struct tp_benchmark_side {
    const double *value;
    enum tp_dtype dtype;
};

/* The ratio of the larger magnitude to the smaller one, of the worst element.
 * Nothing is known of perturbed results in no floating dtype that stand alone:
 * the caller leaves these, and bool, out. */
struct tp_benchmark_ratio {
    bool consistent;
    bool flipped; /* a sign changes, away from zero: "symbol_flipping"      */
    double ratio; /* 1 or more; of results that are not flipped             */
};

/* What the ratio may be, by the dtype of the original result. */
double tp_benchmark_limit(enum tp_dtype original);

/* Where the last of the chunks begins into which msprobe takes results of 32 MB
 * and more apart; `perturbed` is the dtype that both are compared in. */
int64_t tp_benchmark_last_chunk(enum tp_dtype perturbed, int64_t count);

/* What decides. */
struct tp_benchmark_rule {
    double limit;
    int64_t first;    /* elements from here on have a ratio                */
    double tolerance; /* magnitudes below it count as it; 0: the root of eps
                         of the perturbed dtype                            */
};

/* Of gradients. */
#define TP_BENCHMARK_BACKWARD_TOLERANCE 1e-3

/* Compares two results of `count` elements. Signs are those of all. */
struct tp_benchmark_ratio tp_benchmark_ratio_of(
    struct tp_benchmark_side a, struct tp_benchmark_side b, int64_t count,
    const struct tp_benchmark_rule *rule);

/* Errors of `actual` against `golden`, as to_cpu has them: above the limits of
 * the dtype of `actual`, it is inconsistent. A golden result with NaN or
 * infinity is no measure: consistent. */
bool tp_benchmark_single(struct tp_benchmark_side actual,
                         struct tp_benchmark_side golden, int64_t count);

#endif
