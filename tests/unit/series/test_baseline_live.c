/* SPDX-License-Identifier: MIT */
/*
 * Live monitors: the rolling one against a second writing that looks at its
 * window anew for every point, and what is expected of noise. The online one
 * is in test_baseline.c.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "series/baseline.h"
#include "tests/unit/support/noise.h"

enum { MOST = 1000 };

/* A series, what is asked of it and what a live monitor says. */
struct watched {
    size_t count;
    enum tp_baseline_scale scale;
    bool errors;
    struct tp_baseline_options options;
    int64_t at[MOST];
    double value[MOST], floor[MOST];
    struct tp_baseline baseline;
    double expected[MOST], spread[MOST], low[MOST], high[MOST];
    uint8_t alarm[MOST];
};

static struct watched *watch_new(enum tp_baseline_method method, size_t count)
{
    struct watched *w = calloc(1, sizeof *w);
    cr_assert_not_null(w);
    w->count = count;
    w->options = (struct tp_baseline_options){.method = method,
                                              .warmup_steps = 100,
                                              .alert_window = 50,
                                              .sigma = 3,
                                              .tests = 1000};
    for (size_t i = 0; i < count; i++)
        w->at[i] = (int64_t)i;
    return w;
}

static void watch(struct watched *w)
{
    const struct tp_baseline_series series = {.count = w->count,
                                              .at = w->at,
                                              .value = w->value,
                                              .floor = w->floor,
                                              .errors = w->errors,
                                              .scale = w->scale};
    const struct tp_baseline_trace trace = {.expected = w->expected,
                                            .spread = w->spread,
                                            .low = w->low,
                                            .high = w->high,
                                            .alarm = w->alarm};
    double *scratch = calloc(tp_baseline_scratch(w->count) + 1, sizeof(double));
    cr_assert_not_null(scratch);
    tp_baseline_fit(&series, &w->options, scratch, &w->baseline, &trace);
    free(scratch);
}

/* --- rolling ------------------------------------------------------------ */

/* The window once more: a list that is gone through for each point. */
struct list {
    double value[MOST];
    size_t count;
};

struct summary {
    double mean, std, min, max;
};

static struct summary summary_of(const struct list *list, size_t window)
{
    size_t n = list->count < window ? list->count : window;
    const double *last = list->value + list->count - n;
    struct summary s = {.min = INFINITY, .max = -INFINITY};
    for (size_t i = 0; i < n; i++) {
        s.mean += last[i] / (double)n;
        s.min = fmin(s.min, last[i]);
        s.max = fmax(s.max, last[i]);
    }
    for (size_t i = 0; i < n; i++)
        s.std += pow(last[i] - s.mean, 2) / (double)n;
    s.std = sqrt(s.std);
    return s;
}

static bool is_anomaly(const struct summary *s, double value)
{
    return fabs(value - s->mean) > 3 * s->std || value > 2 * s->max ||
           value < s->min / 2;
}

/* Compares each point; returns the alarms. */
static size_t compare(const struct watched *w)
{
    struct list *list = calloc(1, sizeof *list);
    size_t alarms = 0, warmup = w->count / 2 < w->options.warmup_steps
                                    ? w->count / 2
                                    : w->options.warmup_steps;
    cr_assert_not_null(list);
    cr_expect_eq(w->baseline.warmup, warmup);
    for (size_t i = 0; i < w->count; i++) {
        if (i < warmup)
            list->value[list->count++] = w->value[i];
        if (i + 1 < warmup)
            continue;
        struct summary s = summary_of(list, w->options.alert_window);
        bool alarm = is_anomaly(&s, w->value[i]);
        cr_expect_eq(w->alarm[i], alarm, "%zu of %zu", i, w->count);
        cr_expect_float_eq(w->expected[i], s.mean, 1e-12 * s.max);
        cr_expect_float_eq(w->spread[i], s.std, 1e-9 * s.max);
        if (alarm && alarms++ == 0) {
            cr_expect_float_eq(w->baseline.center, s.mean, 1e-12 * s.max);
            cr_expect_eq(w->baseline.min, s.min);
            cr_expect_eq(w->baseline.max, s.max);
            cr_expect_eq(w->baseline.first, i);
        }
        if (!alarm && i >= warmup)
            list->value[list->count++] = w->value[i];
    }
    cr_expect_eq(w->baseline.beyond, alarms);
    free(list);
    return alarms;
}

Test(baseline_live, rolling_is_the_last_points_without_alarm)
{
    static const size_t windows[] = {1, 2, 7, 50, 1000000};
    struct dice dice = dice_of(1);
    size_t alarms = 0;
    for (size_t round = 0; round < 400; round++) {
        struct watched *w = watch_new(TP_BASELINE_ROLLING, 4 + round * 2);
        w->options.alert_window = windows[round % 5];
        /* of no noise that is an exact tie with its limit */
        noise_fill(&dice, (enum noise_kind)(round % NOISE_COUNTS), w->count,
                   w->value);
        for (size_t i = w->count * 3 / 4; round % 4 == 0 && i < w->count; i++)
            w->value[i] *= 1.5;
        watch(w);
        alarms += compare(w);
        free(w);
    }
    cr_expect_gt(alarms, 1000, "%zu", alarms);
}

/* What falls slowly leaves the baseline of a warm-up for good, and never a
 * rolling one; a jump leaves both, and is not learnt. */
Test(baseline_live, rolling_follows_a_trend_and_no_jump)
{
    struct dice dice = dice_of(2);
    for (int rolling = 0; rolling < 2; rolling++) {
        struct watched *w =
            watch_new(rolling ? TP_BASELINE_ROLLING : TP_BASELINE_ONLINE, MOST);
        for (size_t i = 0; i < MOST; i++)
            w->value[i] = 10 - 0.002 * (double)i + 0.2 * dice_normal(&dice);
        watch(w);
        cr_expect(rolling ? w->baseline.beyond < 40 : w->baseline.beyond > 300,
                  "%d: %zu", rolling, w->baseline.beyond);
        for (size_t i = 600; i < MOST; i++)
            w->value[i] += 20;
        watch(w);
        for (size_t i = 600; i < MOST; i++)
            cr_expect(w->alarm[i]);
        cr_expect_eq(w->baseline.kind, TP_CHANGE_SHIFT);
        free(w);
    }
}

/* --- what there is in life ---------------------------------------------- */

Test(baseline_live, what_is_missing_or_infinite_is_not_learnt)
{
    for (int method = TP_BASELINE_ONLINE; method <= TP_BASELINE_ROLLING;
         method++) {
        struct watched *w = watch_new((enum tp_baseline_method)method, 40);
        for (size_t i = 0; i < 40; i++)
            w->value[i] = i % 2 ? 3 : 1;
        w->value[3] = w->value[30] = NAN;
        w->value[5] = w->value[31] = INFINITY;
        watch(w);
        cr_expect_float_eq(w->expected[39], 2, 0.12);
        cr_expect_eq(w->baseline.min, 1);
        cr_expect_eq(w->baseline.max, 3);
        cr_expect_eq(w->baseline.first, 31);
        cr_expect_eq(w->baseline.beyond, 1);
        free(w);
    }
}

/* NaN during the warm-up are no reason to expect more of them; an Inf that is
 * there all the time, as in a mask, is. */
Test(baseline_live, errors_of_the_warmup_are_not_learnt)
{
    for (int k = 0; k < 4; k++) {
        bool always = k % 2;
        struct watched *w =
            watch_new(k / 2 ? TP_BASELINE_ROLLING : TP_BASELINE_ONLINE, 40);
        w->errors = true;
        for (size_t i = 0; i < 40; i++)
            w->value[i] = always ? 7 : 0;
        if (!always)
            w->value[0] = w->value[4] = w->value[30] = 7;
        watch(w);
        cr_expect_eq(w->expected[25], always ? 7 : 0, "%d", k);
        cr_expect_eq(w->baseline.beyond, always ? 0 : 1, "%d", k);
        cr_expect(always || w->baseline.first == 30, "%d", k);
        free(w);
    }
}

/* Two levels in some unit, a value that is off and an infinite one. */
static struct watched *watch_in_unit(double unit, bool rolling)
{
    struct watched *w =
        watch_new(rolling ? TP_BASELINE_ROLLING : TP_BASELINE_ONLINE, 40);
    for (size_t i = 0; i < 40; i++)
        w->value[i] = (i % 2 ? 3 : 2) * unit;
    w->value[30] = 5 * unit;
    w->value[31] = INFINITY;
    watch(w);
    return w;
}

/* Squares of such values do not fit a number, or are 0. */
Test(baseline_live, unit_does_not_matter)
{
    for (int k = 0; k < 4; k++) {
        const double unit = ldexp(1, k < 2 ? 1000 : -900);
        struct watched *w = watch_in_unit(unit, k % 2),
                       *one = watch_in_unit(1, k % 2);
        for (size_t i = 0; i < 40; i++) {
            cr_expect_float_eq(w->spread[i] / unit, one->spread[i], 1e-12,
                               "%d: %g", k, w->spread[i] / unit);
            cr_expect_float_eq(w->high[i] / unit, one->high[i], 1e-12);
            cr_expect_float_eq(w->low[i] / unit, one->low[i], 1e-12);
        }
        cr_expect_float_eq(one->spread[25], 0.5, 0.01);
        cr_expect_eq(w->baseline.first, 30);
        cr_expect_eq(w->baseline.beyond, 2);
        free(w);
        free(one);
    }
}

Test(baseline_live, retro_has_the_range_of_what_is_no_alarm)
{
    struct dice dice = dice_of(3);
    struct watched *w = watch_new(TP_BASELINE_RETRO, 300);
    double least = INFINITY, most = 0;
    w->scale = TP_BASELINE_LOG;
    noise_fill(&dice, NOISE_LOGNORMAL, 300, w->value);
    w->value[100] = 1e30;
    watch(w);
    cr_assert(w->alarm[100]);
    for (size_t i = 0; i < 300; i++) {
        least = fmin(least, w->value[i]);
        most = i == 100 ? most : fmax(most, w->value[i]);
    }
    cr_expect_eq(w->baseline.min, least);
    cr_expect_eq(w->baseline.max, most);
    free(w);
}

/* --- chance ------------------------------------------------------------- */

/* Alarms of normal noise are as many as are expected; where tails are unknown
 * these are taken for heavy, and there are fewer. */
Test(baseline_live, alarms_of_noise_are_as_many_as_expected)
{
    static const size_t counts[] = {40, 120, 400};
    for (size_t k = 0; k < 6; k++) {
        struct dice dice = dice_of(4 + k);
        struct watched *w = watch_new(
            k % 2 ? TP_BASELINE_ROLLING : TP_BASELINE_ONLINE, counts[k / 2]);
        double alarms = 0, expected = 0;
        w->scale = TP_BASELINE_LOG;
        for (size_t round = 0; round < 1000; round++) {
            for (size_t i = 0; i < w->count; i++)
                w->value[i] = exp2(3 + 0.05 * dice_student(&dice, 5));
            watch(w);
            alarms += (double)w->baseline.beyond;
            expected += w->baseline.chance;
        }
        cr_expect_gt(alarms, 100);
        cr_expect(expected > alarms / 2.5 && expected < alarms * 1.5,
                  "%zu: %g, expected %g", k, alarms, expected);
        free(w);
    }
}

/* Two values that are nearly equal leave one degree of freedom, and limits that
 * are far off by their measure: nothing is expected there. */
Test(baseline_live, nothing_is_expected_far_off)
{
    struct watched *w = watch_new(TP_BASELINE_ONLINE, 5);
    for (size_t i = 0; i < 5; i++) {
        w->value[i] = i == 1 ? 1 + 4e-13 : 1;
        w->floor[i] = 4e-3;
    }
    watch(w);
    cr_expect_eq(w->baseline.warmup, 2);
    cr_expect(w->baseline.chance > 0 && w->baseline.chance < 1e-6, "%g",
              w->baseline.chance);
    free(w);
}
