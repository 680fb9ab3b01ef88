/* SPDX-License-Identifier: MIT */
/*
 * A line through a few numbers in a row, and whether it rises.
 *
 * The slope is the median of the slopes of all pairs (Theil and Sen), so that
 * a few odd points do not turn it, as they would a least-squares line. It is
 * real where Student's t, the slope over its standard error, has less than one
 * chance in 1 000 to be as large in points that only scatter. Steps that
 * follow each other are alike, and look like a trend for a while: the error
 * grows with what a point's deviation tells of the next one's. A test by ranks
 * (Mann and Kendall) needs seven points for such a chance, and cannot see how
 * straight the line of five is.
 *
 * In simulated steps that do not rise (tests/unit/verdict/test_trend.c), with
 * normal or heavy tails, outliers, levels or jumps, at most 3 of 1 000
 * recordings of 5 to 100 steps pass for rising, where 5 % and three spreads are
 * asked for as well; where steps wander with a correlation of 0.9, up to 70.
 *
 * Where points rise ever faster, the line begins below all of them, at times
 * below zero: the rise is then taken from the least one. A curve would fit, but
 * five points do not tell which.
 *
 * O(n^2) for n points up to 512; of more, the medians of 512 pieces.
 */
#include "verdict/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/quantile.h"

enum { MOST_POINTS = 512 };

/* What Student's t exceeds in one of 1 000, for 3 degrees of freedom and on;
 * from the last one on it falls by another 0.46. */
static const double student[] = {10.215, 7.173, 5.893, 5.208, 4.785, 4.501,
                                 4.297,  4.144, 4.025, 3.930, 3.852, 3.787,
                                 3.733,  3.686, 3.646, 3.610, 3.579, 3.552};

/* The medians of at most MOST_POINTS pieces of equal size, in points[]. */
static size_t thin(const double *values, size_t count, double *points,
                   double *scratch)
{
    const size_t pieces = count < MOST_POINTS ? count : MOST_POINTS;
    for (size_t i = 0; i < pieces; i++) {
        const size_t from = i * count / pieces;
        const size_t size = (i + 1) * count / pieces - from;
        memcpy(scratch, values + from, size * sizeof *scratch);
        points[i] = tp_median(scratch, size);
    }
    return pieces;
}

/* The median of the slopes of all pairs; slopes[n (n - 1) / 2] is room. */
static double median_slope(const double *points, size_t n, double *slopes)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++)
            slopes[count++] = (points[j] - points[i]) / (double)(j - i);
    }
    return tp_median(slopes, count);
}

/*
 * By what a standard error grows where each error resembles the one before:
 * their correlation, with what its estimate from n points lacks added, as if
 * they were an autoregressive process of the first order.
 */
static double dependence(const double *errors, size_t n)
{
    double squares = 0, products = 0;
    for (size_t i = 0; i < n; i++) {
        squares += errors[i] * errors[i];
        products += i ? errors[i] * errors[i - 1] : 0;
    }
    if (!(products > 0))
        return 1;
    double r = products / squares;
    r += (1 + 3 * r) / (double)n;
    r = r < 0.95 ? r : 0.95;
    return sqrt((1 + r) / (1 - r));
}

/* Shows the line from the least point if it begins below all. */
static void keep_to_points(const double *points, size_t n,
                           struct tp_trend *trend)
{
    double least = points[0];
    for (size_t i = 1; i < n; i++)
        least = points[i] < least ? points[i] : least;
    if (trend->start < least) {
        trend->rise -= least - trend->start;
        trend->start = least;
    }
}

static void judge(const double *points, size_t n, double slope, double *errors,
                  struct tp_trend *trend)
{
    const size_t rows = sizeof student / sizeof *student;
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        errors[i] = points[i] - slope * (double)i;
    trend->start = tp_median(errors, n);
    trend->rise = slope * (double)(n - 1);
    for (size_t i = 0; i < n; i++) {
        errors[i] = points[i] - slope * (double)i - trend->start;
        squares += errors[i] * errors[i];
    }
    trend->spread = n > 2 ? sqrt(squares / (double)(n - 2)) : 0;
    trend->real = false;
    keep_to_points(points, n, trend);
    if (n < TP_TREND_LEAST || !(slope > 0))
        return;
    const size_t row = n - TP_TREND_LEAST;
    const double places = (double)n * ((double)n * (double)n - 1) / 12;
    const double error =
        trend->spread / sqrt(places) * dependence(errors, n);
    trend->real = slope > student[row < rows ? row : rows - 1] * error;
}

enum tp_status tp_trend_fit(const double *values, size_t count,
                            struct tp_trend *trend, struct tp_error *err)
{
    const size_t most = count < MOST_POINTS ? count : MOST_POINTS;
    /* each room holds what is asked of it: points, errors, pairs, a piece */
    const size_t pairs = most * (most - 1) / 2;
    double *points = malloc((2 * most + pairs + count) * sizeof *points);
    if (!points)
        return tp_fail_memory(err);
    double *errors = points + most, *room = errors + most;
    const size_t n = thin(values, count, points, room);
    judge(points, n, median_slope(points, n, room), errors, trend);
    free(points);
    return TP_OK;
}

bool tp_trend_rises(const struct tp_trend *trend, double percent,
                    double spreads)
{
    return trend->real && trend->start > 0 &&
           100 * trend->rise > percent * trend->start &&
           trend->rise > spreads * trend->spread;
}
