/* SPDX-License-Identifier: MIT */
/*
 * Lines through few points: slopes known by construction, and how often steps
 * that do not rise pass for rising, by simulation with a fixed seed. The
 * figures in trend.c, the limits' table and the manual are what is asked here.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/unit/support/xorshift.h"
#include "verdict/trend.h"

enum { MOST = 100 };

static struct tp_trend fit(const double *values, size_t count)
{
    struct tp_trend trend;
    struct tp_error err = {0};
    cr_assert_eq(tp_trend_fit(values, count, &trend, &err), TP_OK);
    return trend;
}

static bool rises(const double *values, size_t count)
{
    const struct tp_trend trend = fit(values, count);
    return tp_trend_rises(&trend, 5, 3);
}

Test(trend, straight)
{
    double values[MOST];
    for (size_t n = 2; n <= 12; n++) {
        for (size_t i = 0; i < n; i++)
            values[i] = 10 + 0.5 * (double)i;
        const struct tp_trend trend = fit(values, n);
        cr_expect_float_eq(trend.start, 10, 1e-12);
        cr_expect_float_eq(trend.rise, 0.5 * (double)(n - 1), 1e-12);
        cr_expect_float_eq(trend.spread, 0, 1e-12);
        cr_expect_eq(trend.real, n >= TP_TREND_LEAST, "%zu", n);
    }
    for (size_t i = 0; i < 12; i++)
        values[i] = 10 - 0.5 * (double)i;
    cr_expect(!rises(values, 12), "it falls");
    for (size_t i = 0; i < 12; i++)
        values[i] = 10;
    cr_expect(!rises(values, 12), "it stays");
    for (size_t i = 0; i < 12; i++)
        values[i] = 10 + 0.04 * (double)i;
    cr_expect(!rises(values, 12), "by 4.4 % only");
}

/* An odd point in eight turns no line. */
Test(trend, odd_point)
{
    double values[8];
    for (size_t i = 0; i < 8; i++)
        values[i] = 10 + 0.5 * (double)i;
    values[7] = 40;
    const struct tp_trend trend = fit(values, 8);
    cr_expect_float_eq(trend.rise, 3.5, 0.2, "%g", trend.rise);
}

/* A line below all that was measured begins with what was: no step takes less
 * than no time. */
Test(trend, faster_than_a_line)
{
    double values[20];
    for (size_t i = 0; i < 20; i++)
        values[i] = 0.01 + pow((double)i, 1.5);
    struct tp_trend trend = fit(values, 20);
    cr_expect_float_eq(trend.start, 0.01, 1e-12, "%g", trend.start);
    cr_expect_float_eq(trend.start + trend.rise, 75, 3, "%g",
                       trend.start + trend.rise);
    cr_expect(tp_trend_rises(&trend, 5, 3));
    values[0] = 0; /* of nothing there is no percentage */
    trend = fit(values, 20);
    cr_expect_float_eq(trend.start, 0, 1e-12, "%g", trend.start);
    cr_expect(!tp_trend_rises(&trend, 5, 3));
}

/* More points than are paired: the same line. */
Test(trend, thinned)
{
    static double values[5000];
    for (size_t i = 0; i < 5000; i++)
        values[i] = 10 + 1e-3 * (double)i + 1e-2 * (double)(i * 7919 % 11);
    const struct tp_trend trend = fit(values, 5000);
    cr_expect_float_eq(trend.rise, 5, 0.05, "%g", trend.rise);
    cr_expect(trend.real);
}

/* --- simulation --------------------------------------------------------- */

static double uniform(uint64_t *state)
{
    return ((double)(xorshift(state) >> 12) + 0.5) * 0x1p-52;
}

static double gaussian(uint64_t *state)
{
    const double r = sqrt(-2 * log(uniform(state)));
    return r * cos(6.283185307179586 * uniform(state));
}

/* Steps around 1 that do not rise. */
enum noise {
    NORMAL,      /* 5 % */
    WIDE,        /* 20 % */
    LOGNORMAL,   /* 0.3 */
    STUDENT,     /* 5 degrees of freedom, 10 % */
    LEVELS,      /* every other step is another */
    SPIKES,      /* one in ten is slower by 40 % */
    QUANTISED,   /* a coarse clock */
    WARM_UP,     /* the first ones are slower */
    JUMP,        /* one step of 30 %, in the middle */
    WANDERING,   /* autoregressive, 0.9, 10 % */
    NOISES
};

static const char *const names[NOISES] = {
    "normal", "wide",      "lognormal", "student", "levels",
    "spikes", "quantised", "warm-up",   "jump",    "wandering"};

static void make_steps(uint64_t *state, enum noise noise, double *y, size_t n)
{
    double wander = gaussian(state);
    for (size_t i = 0; i < n; i++) {
        const double e = gaussian(state);
        double chi = 0;
        for (int k = 0; k < 5; k++) {
            const double part = gaussian(state);
            chi += part * part;
        }
        wander = 0.9 * wander + sqrt(1 - 0.81) * e;
        const double values[NOISES] = {
            [NORMAL] = 1 + 0.05 * e,
            [WIDE] = 1 + 0.2 * e,
            [LOGNORMAL] = exp(0.3 * e),
            [STUDENT] = 1 + 0.1 * e / sqrt(chi / 3),
            [LEVELS] = 1 + 0.2 * (double)(i % 2) + 0.02 * e,
            [SPIKES] = 1 + 0.03 * e + (chi > 9.24 ? 0.4 : 0),
            [QUANTISED] = 1 + 0.1 * round(e),
            [WARM_UP] = 1 + 0.5 * exp(-(double)i / 2) + 0.05 * e,
            [JUMP] = 1 + 0.05 * e + (i == n / 2 ? 0.3 : 0),
            [WANDERING] = 1 + 0.1 * wander};
        y[i] = values[noise];
    }
}

/* At most 3 in 1 000, and 70 of steps that wander. */
Test(trend, false_alarms)
{
    static const size_t lengths[] = {5, 6, 8, 12, 20, 50, 100};
    uint64_t state = 88172645463325252u;
    double y[MOST];
    for (enum noise noise = 0; noise < NOISES; noise++) {
        printf("%-10s", names[noise]);
        for (size_t l = 0; l < 7; l++) {
            const int runs = lengths[l] < 20   ? 5000
                             : lengths[l] < 50 ? 2000
                                               : 200;
            int alarms = 0;
            for (int i = 0; i < runs; i++) {
                make_steps(&state, noise, y, lengths[l]);
                alarms += rises(y, lengths[l]);
            }
            const double share = 1000.0 * alarms / runs;
            printf(" %8.1f", share);
            cr_expect(share <= (noise == WANDERING ? 70 : 3),
                      "%s, %zu steps: %g in 1000", names[noise], lengths[l],
                      share);
        }
        printf("\n");
    }
}

/* The same noise with a rise is seen: by half, 2 % of scatter. */
Test(trend, power)
{
    static const size_t lengths[] = {5, 6, 8, 12, 20};
    static const double least[] = {0.8, 0.95, 0.99, 0.99, 0.99};
    uint64_t state = 88172645463325252u;
    double y[MOST];
    for (size_t l = 0; l < 5; l++) {
        int seen = 0;
        for (int i = 0; i < 1000; i++) {
            for (size_t k = 0; k < lengths[l]; k++)
                y[k] = 1 + 0.5 * (double)k / (double)(lengths[l] - 1) +
                       0.02 * gaussian(&state);
            seen += rises(y, lengths[l]);
        }
        printf("%zu steps: %.1f %%\n", lengths[l], seen / 10.0);
        cr_expect(seen >= 1000 * least[l], "%zu steps: %d of 1000",
                  lengths[l], seen);
    }
}
