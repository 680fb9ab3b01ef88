/* SPDX-License-Identifier: MIT */
/*
 * Baselines: the promised rates by simulation, the live monitor against a
 * second writing of the requirements' pseudo-code, and the edges.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "series/baseline.h"
#include "series/baseline_retro.h"
#include "series/baseline_tails.h"
#include "tests/unit/support/xorshift.h"

enum { POINTS_MAX = 1000 };

static const double PI = 3.14159265358979324;

/* --- noise -------------------------------------------------------------- */

struct dice {
    uint64_t state;
};

static double even(struct dice *dice)
{
    return ((double)(xorshift(&dice->state) >> 11) + 0.5) / 0x1p53;
}

static double normal(struct dice *dice)
{
    double radius = sqrt(-2 * log(even(dice)));
    return radius * cos(2 * PI * even(dice));
}

/* Student's t, scaled to a standard deviation of 1. */
static double student(struct dice *dice, int freedom)
{
    double sum = 0;
    for (int i = 0; i < freedom; i++) {
        double x = normal(dice);
        sum += x * x;
    }
    return normal(dice) / sqrt(sum / (freedom - 2));
}

enum noise {
    NORMAL,
    T5,
    T4,
    AR5,
    AR9,
    DECAY,
    SETTLING,
    CONSTANT,
    ULPS,
    SHARES,
    NOISES,
    SKEWED = NOISES /* the logarithm of what is normal */
};

/* A series and room for its baseline. */
struct sample {
    size_t count;
    int64_t at[POINTS_MAX];
    double value[POINTS_MAX], floor[POINTS_MAX];
    enum tp_baseline_scale scale;
    struct tp_freedom freedom;
    double sigma; /* the limit; 0: 3                                      */
    bool sparse;
};

static double next_noise(struct dice *dice, enum noise kind, double *before)
{
    double rho = kind == AR9 ? 0.9 : 0.5;
    switch (kind) {
    case T5:
        return student(dice, 5);
    case T4:
        return student(dice, 4);
    case AR5:
    case AR9:
        *before = rho * *before + sqrt(1 - rho * rho) * normal(dice);
        return *before;
    case CONSTANT:
    case ULPS:
        return 0;
    default:
        return normal(dice);
    }
}

/* Shares of 4 096 elements near 1 in 2 000, as many as chance has it. */
static void set_share(struct dice *dice, struct sample *sample, size_t i)
{
    double count = 0;
    for (double wait = -log(even(dice)); wait < 2; wait -= log(even(dice)))
        count++;
    sample->value[i] = count / 4096;
    sample->floor[i] = fmax(1.0 / 4096, sqrt(sample->value[i] / 4096));
}

/* A healthy series: magnitudes with noise of so many binades around 8. */
static void make_healthy(struct dice *dice, enum noise kind, size_t count,
                         double binades, struct sample *sample)
{
    double before = 0;
    sample->count = count;
    sample->scale = kind == SHARES ? TP_BASELINE_RATIO : TP_BASELINE_LOG;
    for (size_t i = 0; i < count; i++) {
        sample->at[i] = (int64_t)i;
        if (kind == SHARES) {
            set_share(dice, sample, i);
            continue;
        }
        double y = 3 + binades * next_noise(dice, kind, &before);
        if (kind == DECAY)
            y += 12 * exp(-5 * (double)i / (double)count);
        if (kind == SETTLING)
            y += 6 * exp(-(double)i / 3);
        if (kind == SKEWED)
            y = log2(fmax(2.1 + 0.5 * normal(dice), 0.3));
        if (kind == ULPS)
            y += log2(1 + floor(2 * even(dice)) / 128);
        sample->value[i] = exp2(y);
        sample->floor[i] = ldexp(1, ilogb(sample->value[i]) - 7);
    }
}

static struct tp_baseline fit(const struct sample *sample, bool online,
                              uint8_t *alarm)
{
    struct tp_baseline baseline;
    const double *shares =
        sample->scale == TP_BASELINE_RATIO ? sample->value : NULL;
    const struct tp_baseline_series series = {.count = sample->count,
                                              .at = sample->at,
                                              .value = sample->value,
                                              .floor = sample->floor,
                                              .zeros = shares,
                                              .scale = sample->scale,
                                              .sparse = sample->sparse,
                                              .freedom = sample->freedom};
    enum tp_baseline_method method =
        online ? TP_BASELINE_ONLINE : TP_BASELINE_RETRO;
    double sigma = sample->sigma > 0 ? sample->sigma : 3;
    const struct tp_baseline_options options = {.method = method,
                                                .warmup_steps = 100,
                                                .alert_window = 50,
                                                .sigma = sigma,
                                                .tests = 1e4};
    const struct tp_baseline_trace trace = {.alarm = alarm};
    double *scratch =
        calloc(tp_baseline_scratch(sample->count), sizeof *scratch);
    cr_assert_not_null(scratch);
    tp_baseline_fit(&series, &options, scratch, &baseline,
                    alarm ? &trace : NULL);
    free(scratch);
    return baseline;
}

/* The freedom of `members` healthy series. */
static struct tp_freedom find_freedom(struct dice *dice, enum noise noise,
                                      size_t count, size_t members)
{
    static const double sizes[] = {0.02, 0.2, 1};
    struct sample *sample = calloc(1, sizeof *sample);
    double *scratch = calloc(tp_baseline_scratch(count), sizeof *scratch);
    struct tp_tails tails = {.errors = {0}};
    double *error = calloc(count, sizeof *error);
    cr_assert(sample && scratch && error);
    for (size_t i = 0; i < members; i++) {
        make_healthy(dice, noise, count, sizes[i % 3], sample);
        const struct tp_baseline_series series = {.count = sample->count,
                                                  .at = sample->at,
                                                  .value = sample->value,
                                                  .floor = sample->floor,
                                                  .scale = sample->scale};
        tp_baseline_look(&series, scratch, &tails, error);
    }
    free(sample);
    free(scratch);
    free(error);
    return tp_tails_freedom(&tails, 1);
}

/* --- tails -------------------------------------------------------------- */

/* The least or the greatest of both sides. */
static int least(struct tp_freedom freedom)
{
    return freedom.side[freedom.side[1] < freedom.side[0]];
}

static int greatest(struct tp_freedom freedom)
{
    return freedom.side[freedom.side[1] > freedom.side[0]];
}

Test(baseline, kinds_show_their_tails)
{
    const struct tp_tails none = {.errors = {0}};
    struct dice dice = {88172645463325254u};
    cr_expect_geq(least(find_freedom(&dice, NORMAL, 300, 200)), 20);
    cr_expect_geq(least(find_freedom(&dice, AR5, 1000, 50)), 20);
    cr_expect_eq(greatest(find_freedom(&dice, T5, 300, 200)), 5);
    cr_expect_eq(greatest(find_freedom(&dice, T4, 1000, 50)), 5);
    cr_expect_eq(greatest(find_freedom(&dice, NORMAL, 40, 2)), 5);
    struct tp_freedom skewed = find_freedom(&dice, SKEWED, 310, 12);
    cr_expect_eq(skewed.side[0], 5);
    cr_expect_geq(skewed.side[1], 20);
    cr_expect_eq(greatest(find_freedom(&dice, CONSTANT, 100, 50)), 5);
    cr_expect_eq(greatest(tp_tails_freedom(&none, 1)), 5);
}

/* --- promises ----------------------------------------------------------- */

/* At most 0.02 alarms are expected in a run of 10^4 series, so two have a
 * chance of 2 in 10^4. */
Test(baseline, healthy_series_are_quiet)
{
    static const size_t lengths[] = {12, 40, 100, 300, 1000};
    static const double sizes[] = {0.02, 0.2, 1};
    struct dice dice = {88172645463325252u};
    struct sample *sample = calloc(1, sizeof *sample);
    size_t series = 0, alarms = 0;
    cr_assert_not_null(sample);
    for (; series < 10000; series++) {
        make_healthy(&dice, (enum noise)(series % NOISES),
                     lengths[series / NOISES % 5], sizes[series % 3], sample);
        alarms += fit(sample, false, NULL).kind != TP_CHANGE_NONE;
    }
    cr_expect_leq(alarms, 1, "%zu of %zu", alarms, series);
    free(sample);
}

/* The same where many series tell the tails of their kind. */
Test(baseline, healthy_kinds_are_quiet)
{
    static const size_t lengths[] = {40, 100, 300, 1000};
    static const double sizes[] = {0.02, 0.2, 1};
    struct dice dice = {88172645463325255u};
    struct sample *sample = calloc(1, sizeof *sample);
    size_t series = 0, alarms = 0;
    cr_assert_not_null(sample);
    for (size_t kind = 0; kind < NOISES * 4; kind++) {
        enum noise noise = (enum noise)(kind / 4);
        sample->freedom = find_freedom(&dice, noise, lengths[kind % 4], 100);
        for (size_t i = 0; i < 250; i++, series++) {
            make_healthy(&dice, noise, lengths[kind % 4], sizes[i % 3], sample);
            alarms += fit(sample, false, NULL).kind != TP_CHANGE_NONE;
        }
    }
    cr_expect_leq(alarms, 1, "%zu of %zu", alarms, series);
    free(sample);
}

/* Fewer than twelve points: one series in a hundred, marked as weak. */
Test(baseline, short_series_are_nearly_quiet)
{
    struct dice dice = {88172645463325253u};
    struct sample *sample = calloc(1, sizeof *sample);
    size_t alarms = 0;
    cr_assert_not_null(sample);
    for (size_t i = 0; i < 10000; i++) {
        make_healthy(&dice, (enum noise)(i % NOISES), 3 + i / NOISES % 9,
                     i % 2 ? 0.1 : 0.5, sample);
        struct tp_baseline baseline = fit(sample, false, NULL);
        cr_expect(baseline.weak);
        alarms += baseline.kind != TP_CHANGE_NONE;
    }
    cr_expect_leq(alarms, 100, "%zu", alarms);
    free(sample);
}

/* What is planted, in standard deviations of the noise. */
enum fault { SPIKE, SHIFT, DRIFT, GROWTH, VANISHING };

static void plant(struct sample *sample, enum fault fault, size_t from,
                  double binades)
{
    for (size_t i = from; i < sample->count; i++) {
        double since = (double)(i - from);
        double length = (double)(sample->count - from);
        double more = fault == SPIKE    ? (i == from ? binades : 0)
                      : fault == SHIFT  ? binades
                      : fault == GROWTH ? binades * (1 + since)
                      : fault == DRIFT  ? binades * since / length
                                        : 0;
        sample->value[i] *= fault == VANISHING ? 0 : exp2(more);
    }
}

struct power {
    double found, exact, kind; /* shares: of all, of those found (twice)  */
};

static struct power measure(enum noise noise, size_t count, enum fault fault,
                            double sigmas)
{
    static const enum tp_change kinds[] = {TP_CHANGE_SPIKE, TP_CHANGE_SHIFT,
                                           TP_CHANGE_DRIFT, TP_CHANGE_SHIFT,
                                           TP_CHANGE_VANISH};
    enum { ROUNDS = 200 };
    struct dice dice = {362436069u + (uint64_t)fault};
    struct sample *sample = calloc(1, sizeof *sample);
    double found = 0, exact = 0, kind = 0;
    cr_assert_not_null(sample);
    for (int i = 0; i < ROUNDS; i++) {
        make_healthy(&dice, noise, count, 0.1, sample);
        size_t later = (size_t)(even(&dice) * (double)(count / 2 - 8));
        size_t from = count / 2 + (fault == DRIFT ? 0 : later);
        plant(sample, fault, from, 0.1 * sigmas);
        struct tp_baseline baseline = fit(sample, false, NULL);
        if (baseline.kind == TP_CHANGE_NONE)
            continue;
        found++;
        exact += labs((long)baseline.first - (long)from) <= 1;
        kind += baseline.kind == kinds[fault];
    }
    free(sample);
    return (struct power){found / ROUNDS, exact / fmax(found, 1),
                          kind / fmax(found, 1)};
}

Test(baseline, faults_are_found)
{
    static const struct {
        enum noise noise;
        size_t count;
        enum fault fault;
        double sigmas;
    } cases[] = {
        {NORMAL, 1000, SHIFT, 12}, {T4, 1000, SHIFT, 12},
        {AR5, 1000, SHIFT, 20},    {DECAY, 1000, SHIFT, 20},
        {NORMAL, 40, SHIFT, 50},   {T4, 40, SHIFT, 50},
        {NORMAL, 40, GROWTH, 8},   {T4, 40, GROWTH, 8},
        {AR5, 40, GROWTH, 20},     {NORMAL, 1000, SPIKE, 50},
        {DECAY, 1000, SPIKE, 50},  {NORMAL, 40, VANISHING, 0},
        {DECAY, 40, VANISHING, 0}, {T4, 1000, VANISHING, 0},
        {NORMAL, 1000, SHIFT, 8},  {T4, 1000, SHIFT, 8},
        {NORMAL, 120, SHIFT, 12},  {T4, 120, SHIFT, 12},
        {AR5, 120, SHIFT, 30},     {AR5, 1000, SHIFT, 12},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct power power = measure(cases[i].noise, cases[i].count,
                                     cases[i].fault, cases[i].sigmas);
        cr_expect_geq(power.found, 0.95, "case %zu: %g", i, power.found);
        cr_expect_geq(power.exact, 0.95, "case %zu: %g", i, power.exact);
        cr_expect_geq(power.kind, 0.9, "case %zu: %g", i, power.kind);
    }
    /* a drift has no first point; it reaches 80 deviations at the end */
    struct power drift = measure(NORMAL, 1000, DRIFT, 80);
    cr_expect_geq(drift.found, 0.95, "%g", drift.found);
    cr_expect_geq(drift.kind, 0.9, "%g", drift.kind);
}

/* A single odd point, where many series tell that such are rare. */
Test(baseline, spikes_are_found_among_many)
{
    struct dice dice = {88172645463325256u};
    struct sample *sample = calloc(1, sizeof *sample);
    size_t found = 0;
    cr_assert_not_null(sample);
    sample->freedom = find_freedom(&dice, NORMAL, 300, 400);
    for (size_t i = 0; i < 200; i++) {
        make_healthy(&dice, NORMAL, 300, 0.1, sample);
        sample->value[40 + i] *= exp2(0.1 * 15);
        struct tp_baseline baseline = fit(sample, false, NULL);
        found += baseline.kind == TP_CHANGE_SPIKE && baseline.first == 40 + i;
    }
    cr_expect_geq(found, 190, "%zu", found);
    free(sample);
}

/* Points [from, to) are off by 20 deviations: before any of them, or nearly,
 * there is nothing to tell by. */
Test(baseline, faults_of_the_start_are_found)
{
    static const struct {
        size_t from, to;
    } cases[] = {{0, 5}, {3, 7}, {4, 12}, {2, 20}, {10, 30}};
    struct dice dice = {88172645463325257u};
    struct sample *sample = calloc(1, sizeof *sample);
    cr_assert_not_null(sample);
    for (size_t i = 0; i < 5; i++) {
        size_t found = 0;
        for (size_t round = 0; round < 200; round++) {
            make_healthy(&dice, round % 2 ? T5 : NORMAL, 120, 0.1, sample);
            for (size_t k = cases[i].from; k < cases[i].to; k++)
                sample->value[k] *= exp2(0.1 * 20);
            struct tp_baseline baseline = fit(sample, false, NULL);
            found += baseline.kind == TP_CHANGE_SPIKE &&
                     baseline.first == cases[i].from;
        }
        cr_expect_geq(found, 180, "case %zu: %zu", i, found);
    }
    free(sample);
}

/* Shifts beyond five deviations: rarely found in short series, but where
 * they are, the onset is right. */
Test(baseline, onsets_are_exact)
{
    static const double sizes[] = {6, 8, 12, 20};
    for (size_t i = 0; i < 4; i++) {
        struct power power = measure(NORMAL, 1000, SHIFT, sizes[i]);
        cr_expect_geq(power.exact, 0.95, "%g: %g", sizes[i], power.exact);
    }
}

/* A tensor that grows by a factor of four each iteration, from the 33rd of
 * forty on, while it was falling slowly. */
Test(baseline, growth_at_the_end_of_a_run)
{
    struct dice dice = {521288629u};
    struct sample *sample = calloc(1, sizeof *sample);
    cr_assert_not_null(sample);
    for (int round = 0; round < 200; round++) {
        uint8_t alarm[POINTS_MAX];
        make_healthy(&dice, round % 2 ? T4 : NORMAL, 40, 0.05, sample);
        for (size_t i = 0; i < 40; i++)
            sample->value[i] *= exp2(-0.02 * (double)i);
        for (size_t i = 32; i < 40; i++)
            sample->value[i] *= exp2(2 + 2 * (double)(i - 32));
        struct tp_baseline baseline = fit(sample, false, alarm);
        cr_assert_eq(baseline.kind, TP_CHANGE_SHIFT);
        cr_expect_eq(baseline.first, 32);
        cr_expect_eq(baseline.onset_from, 31);
        cr_expect_eq(baseline.onset_to, 32);
        cr_expect_not(baseline.weak);
        for (size_t i = 0; i < 40; i++)
            cr_expect_eq(alarm[i], i >= 32, "%zu", i);
    }
    free(sample);
}

/* Bad values in what would be a warm-up are seen from what follows. */
Test(baseline, few_points_give_weak_statements)
{
    struct sample sample = {
        .count = 4, .at = {0, 10, 20, 30}, .value = {1, 1.1, 0.9, 1000}};
    struct tp_baseline baseline = fit(&sample, false, NULL);
    cr_expect_eq(baseline.kind, TP_CHANGE_SPIKE);
    cr_expect_eq(baseline.first, 3);
    cr_expect_eq(baseline.onset_from, 20);
    cr_expect(baseline.weak);
    sample.value[3] = 1.3;
    cr_expect_eq(fit(&sample, false, NULL).kind, TP_CHANGE_NONE);
}

/* --- the live monitor --------------------------------------------------- */

/* The requirements' pseudo-code once more, value by value. */
struct threshold {
    size_t warmup, step;
    double history[POINTS_MAX], mean, std, min, max;
};

static void threshold_update(struct threshold *t, double value)
{
    if (t->step < POINTS_MAX)
        t->history[t->step] = value;
    if (++t->step != t->warmup)
        return;
    double sum = 0, squares = 0;
    t->min = t->max = t->history[0];
    for (size_t i = 0; i < t->step; i++) {
        sum += t->history[i];
        t->min = fmin(t->min, t->history[i]);
        t->max = fmax(t->max, t->history[i]);
    }
    t->mean = sum / (double)t->step;
    for (size_t i = 0; i < t->step; i++)
        squares += pow(t->history[i] - t->mean, 2);
    t->std = sqrt(squares / (double)t->step);
}

static bool threshold_is_anomaly(const struct threshold *t, double value)
{
    if (t->step < t->warmup)
        return false;
    return fabs(value - t->mean) > 3 * t->std || value > t->max * 2 ||
           value < t->min / 2;
}

Test(baseline, online_is_the_live_monitor)
{
    static struct threshold t;
    static uint8_t alarm[POINTS_MAX];
    struct dice dice = {2463534242u};
    struct sample *sample = calloc(1, sizeof *sample);
    size_t alarms = 0;
    cr_assert_not_null(sample);
    for (size_t round = 0; round < 600; round++) {
        size_t count = 2 + round % 300;
        make_healthy(&dice, (enum noise)(round % DECAY), count, 0.3, sample);
        if (round % 3 == 0)
            plant(sample, SHIFT, count * 3 / 4, 1);
        struct tp_baseline baseline = fit(sample, true, alarm);
        t = (struct threshold){.warmup = count / 2 < 100 ? count / 2 : 100};
        for (size_t i = 0; i < count; i++) {
            threshold_update(&t, sample->value[i]);
            bool anomaly = threshold_is_anomaly(&t, sample->value[i]);
            cr_expect_eq(alarm[i], anomaly, "round %zu, %zu", round, i);
            alarms += anomaly;
        }
        cr_expect_float_eq(baseline.center, t.mean, 1e-12 * t.mean);
        cr_expect_eq(baseline.warmup, t.warmup);
        if (t.std > 1e-9 * t.mean)
            cr_expect_float_eq(baseline.spread, t.std, 1e-9 * t.std);
    }
    cr_expect_gt(alarms, 100);
    free(sample);
}

Test(baseline, repeated_alarms_are_one)
{
    struct sample *sample = calloc(1, sizeof *sample);
    cr_assert_not_null(sample);
    sample->count = 300;
    sample->scale = TP_BASELINE_LINEAR;
    for (size_t i = 0; i < 300; i++) {
        sample->at[i] = (int64_t)i;
        sample->value[i] = i % 2 ? 1 : -1;
    }
    /* 40 apart: one alarm; 60 apart: another */
    sample->value[160] = sample->value[200] = sample->value[260] = 9;
    struct tp_baseline baseline = fit(sample, true, NULL);
    cr_expect_eq(baseline.alarms, 2);
    cr_expect_eq(baseline.first, 160);
    free(sample);
}

/* --- edges -------------------------------------------------------------- */

static struct tp_baseline fit_values(const double *values, size_t count,
                                     enum tp_baseline_scale scale)
{
    struct sample *sample = calloc(1, sizeof *sample);
    cr_assert_not_null(sample);
    sample->count = count;
    sample->scale = scale;
    for (size_t i = 0; i < count; i++) {
        sample->at[i] = (int64_t)(3 * i);
        sample->value[i] = values[i];
    }
    struct tp_baseline online = fit(sample, true, NULL);
    cr_expect_leq(online.first, count);
    struct tp_baseline baseline = fit(sample, false, NULL);
    free(sample);
    return baseline;
}

Test(baseline, nothing_and_nearly_nothing)
{
    const double values[] = {1, 2, NAN, 4};
    for (size_t n = 0; n <= 4; n++) {
        struct tp_baseline baseline = fit_values(values, n, TP_BASELINE_LINEAR);
        cr_expect_eq(baseline.kind, TP_CHANGE_NONE, "%zu", n);
    }
}

Test(baseline, values_without_a_place_on_the_scale)
{
    double values[40];
    for (size_t i = 0; i < 40; i++)
        values[i] = NAN;
    cr_expect_eq(fit_values(values, 40, TP_BASELINE_LOG).kind, TP_CHANGE_NONE);
    for (size_t i = 0; i < 40; i++)
        values[i] = 0;
    cr_expect_eq(fit_values(values, 40, TP_BASELINE_LOG).kind, TP_CHANGE_NONE);
    /* zeros here and there are sparse gradients, for good they are none */
    for (size_t i = 0; i < 40; i++)
        values[i] = i % 7 == 3 ? 0 : 1;
    cr_expect_eq(fit_values(values, 40, TP_BASELINE_LOG).kind, TP_CHANGE_NONE);
    for (size_t i = 0; i < 40; i++)
        values[i] = i < 30 ? 1 : 0;
    struct tp_baseline baseline = fit_values(values, 40, TP_BASELINE_LOG);
    cr_expect_eq(baseline.kind, TP_CHANGE_VANISH);
    cr_expect_eq(baseline.first, 30);
    cr_expect_eq(baseline.onset_from, 87);
    cr_expect_eq(baseline.onset_to, 90);
    values[20] = INFINITY;
    baseline = fit_values(values, 40, TP_BASELINE_LOG);
    cr_expect_eq(baseline.kind, TP_CHANGE_SHIFT);
    cr_expect_eq(baseline.first, 20);
}

/* A limit in spreads asks that a point is off by so many, whatever the tails
 * of the noise: 30 binades are 100 of these spreads, and found at any limit
 * that they exceed; a limit beyond them finds nothing. */
/* What is expected of `zeros` at the end of 40 points, after others. */
static enum tp_change kind_after(size_t zeros, size_t step)
{
    double values[40];
    for (size_t i = 0; i < 40; i++)
        values[i] = i + zeros >= 40 || (step && i % step == 2) ? 0 : 1;
    return fit_values(values, 40, TP_BASELINE_LOG).kind;
}

Test(baseline, zeros_for_good_are_longer_than_chance_makes_them)
{
    cr_expect_eq(kind_after(2, 0), TP_CHANGE_VANISH);
    cr_expect_eq(kind_after(1, 0), TP_CHANGE_NONE);
    /* 40 * p^k < 0.02 / 10 000: of one other p is 0.18 at most, of eight 0.4 */
    cr_expect_eq(kind_after(6, 30), TP_CHANGE_NONE);
    cr_expect_eq(kind_after(12, 30), TP_CHANGE_VANISH);
    cr_expect_eq(kind_after(7, 5), TP_CHANGE_NONE);
    cr_expect_eq(kind_after(12, 5), TP_CHANGE_NONE);
}

/* Shares of zeros, with a stretch of `length` ones from point 20 on and others
 * at every `step`th point; whether there is a change. */
static bool stretch_is_found(size_t length, size_t step, bool sparse)
{
    static struct sample sample;
    sample = (struct sample){
        .count = 40, .scale = TP_BASELINE_RATIO, .sparse = sparse};
    for (size_t i = 0; i < 40; i++) {
        bool zero = (i >= 20 && i < 20 + length) || (step && i % step == 3);
        sample.at[i] = (int64_t)i;
        sample.value[i] = zero;
        sample.floor[i] = 1.0 / 512;
    }
    return fit(&sample, false, NULL).kind != TP_CHANGE_NONE;
}

Test(baseline, a_stretch_of_zeros_is_longer_than_chance_makes_it)
{
    cr_expect(stretch_is_found(3, 0, false));
    cr_expect_not(stretch_is_found(3, 0, true));
    cr_expect(stretch_is_found(12, 0, true));
    cr_expect_not(stretch_is_found(3, 7, false));
}

Test(baseline, what_is_far_off_is_found_at_every_limit_that_it_exceeds)
{
    static struct sample sample;
    for (size_t seed = 0; seed < 20; seed++) {
        struct dice dice = {777 + seed};
        make_healthy(&dice, NORMAL, seed % 2 ? 40 : 60, 0.3, &sample);
        for (size_t i = 27; i < sample.count; i++)
            sample.value[i] *= 1e9;
        for (sample.sigma = 3; sample.sigma <= 20; sample.sigma++) {
            const struct tp_baseline b = fit(&sample, false, NULL);
            cr_expect_eq(b.kind, TP_CHANGE_SHIFT, "%g", sample.sigma);
            cr_expect_eq(b.first, 27, "%g", sample.sigma);
        }
        sample.sigma = 300;
        cr_expect_eq(fit(&sample, false, NULL).kind, TP_CHANGE_NONE);
    }
}

Test(baseline, a_constant_that_jumps)
{
    double values[40];
    for (size_t i = 0; i < 40; i++)
        values[i] = 5;
    for (int scale = TP_BASELINE_LOG; scale <= TP_BASELINE_LINEAR; scale++)
        cr_expect_eq(fit_values(values, 40, (enum tp_baseline_scale)scale).kind,
                     TP_CHANGE_NONE);
    for (size_t i = 25; i < 40; i++)
        values[i] = 50;
    for (int scale = TP_BASELINE_LOG; scale <= TP_BASELINE_LINEAR; scale++) {
        struct tp_baseline baseline =
            fit_values(values, 40, (enum tp_baseline_scale)scale);
        cr_expect_eq(baseline.kind, TP_CHANGE_SHIFT);
        cr_expect_eq(baseline.first, 25);
    }
}

Test(baseline, the_ends_of_double)
{
    double values[40];
    for (size_t i = 0; i < 40; i++)
        values[i] = i % 2 ? 1.7e308 : -1.7e308;
    fit_values(values, 40, TP_BASELINE_LINEAR);
    for (size_t i = 0; i < 40; i++)
        values[i] = i % 2 ? 1.7e308 : 5e-324;
    fit_values(values, 40, TP_BASELINE_LOG);
    for (size_t i = 0; i < 40; i++)
        values[i] = i % 3 ? 1 : 0;
    fit_values(values, 40, TP_BASELINE_RATIO);
}
