/* SPDX-License-Identifier: MIT */
/*
 * Zeros that come and go. An expert without tokens has a gradient that is zero
 * as a whole, and nothing is wrong. A stretch of k zeros begins at one of n
 * points and, where a point is zero with probability p, has a probability of at
 * most n * p^k; it is a change where that is too little. p is what the points
 * outside of the stretch show, at most: the upper end of E. B. Wilson's score
 * interval, two deviations wide, which is sound for few points and for none
 * that is zero.
 *
 * Where nothing else in the run is zero for a while either, a stretch is no
 * habit of it and remains what it is. The exact bound (Clopper and Pearson)
 * costs a search for each stretch and says the same within some percent; a
 * model with a memory (Markov) has more to learn than such series tell. O(n).
 */
#include "series/baseline_zeros.h"

#include <math.h>
#include <string.h>

/* Deviations that the bound lies above what is seen. */
static const double SURE = 2;

bool tp_zeros_at(const struct tp_baseline_series *series, size_t point)
{
    if (series->zeros && series->zeros[point] == 1)
        return true;
    return series->scale == TP_BASELINE_LOG && series->value[point] == 0;
}

/* The largest probability that may well show `zeros` among `points`. */
static double largest(double zeros, double points)
{
    if (points == 0)
        return 1;
    double p = zeros / points, c = SURE * SURE / points;
    return (p + c / 2 + sqrt(c * (p * (1 - p) + c / 4))) / (1 + c);
}

/* What a series has of points and stretches. */
struct census {
    size_t zeros, alive, times_alive;
    bool begins_zero;
};

static bool has_value(const struct tp_baseline_series *series, size_t point)
{
    return !isnan(series->value[point]) || tp_zeros_at(series, point);
}

static struct census count_all(const struct tp_baseline_series *series)
{
    struct census all = {.zeros = 0};
    bool was_alive = false;
    for (size_t i = 0; i < series->count; i++) {
        if (!has_value(series, i))
            continue;
        bool zero = tp_zeros_at(series, i);
        all.begins_zero |= zero && all.alive == 0;
        all.zeros += zero;
        all.alive += !zero;
        all.times_alive += !zero && !was_alive;
        was_alive = !zero;
    }
    return all;
}

/* The end of the stretch that begins at a zero, and its zeros. */
static size_t end_of(const struct tp_baseline_series *series, size_t first,
                     size_t *zeros)
{
    size_t i = first;
    for (*zeros = 0; i < series->count; i++) {
        if (has_value(series, i) && !tp_zeros_at(series, i))
            break;
        *zeros += tp_zeros_at(series, i);
    }
    return i;
}

void tp_zeros_by_chance(const struct tp_baseline_series *series, double limit,
                        uint8_t *by_chance)
{
    const struct census all = count_all(series);
    memset(by_chance, 0, series->count);
    /* What is zero but for once is a change where it is not. */
    bool mostly = all.begins_zero && all.times_alive == 1 &&
                  all.zeros > all.alive && series->scale == TP_BASELINE_RATIO;
    if (all.alive == 0 || mostly)
        return;
    double points = (double)(all.zeros + all.alive);
    for (size_t i = 0, end; i < series->count; i = end) {
        size_t k;
        end = i + 1;
        if (!tp_zeros_at(series, i))
            continue;
        end = end_of(series, i, &k);
        double others = (double)(all.zeros - k);
        double p = largest(others, points - (double)k);
        if ((others > 0 || series->sparse) &&
            log(points) + (double)k * log(p) > limit)
            memset(by_chance + i, 1, end - i);
    }
}
