/* SPDX-License-Identifier: MIT */
/*
 * A point that lies above all others: how often noise is taken for one, and how
 * often one is found, by simulation. The limit of single points is so low here
 * that it finds nothing.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "series/baseline.h"
#include "tests/unit/support/noise.h"

enum { MOST = 310 };

struct sample {
    size_t count;
    size_t suspect; /* one more than the point that is asked; 0: none        */
    double lone;
    int64_t at[MOST];
    double value[MOST], floor[MOST];
};

static struct sample *sample_new(enum noise_kind noise, size_t count,
                                 double lone, uint64_t seed)
{
    struct sample *it = calloc(1, sizeof *it);
    struct dice dice = dice_of(seed);
    cr_assert_not_null(it);
    it->count = count;
    it->lone = lone;
    noise_fill(&dice, noise, count, it->value);
    for (size_t i = 0; i < count; i++)
        it->at[i] = (int64_t)i;
    return it;
}

static struct tp_baseline fit(const struct sample *it)
{
    const struct tp_baseline_series series = {.count = it->count,
                                              .at = it->at,
                                              .value = it->value,
                                              .floor = it->floor,
                                              .suspect = it->suspect,
                                              .scale = TP_BASELINE_LOG};
    const struct tp_baseline_options options = {
        .alert_window = 50, .sigma = 3, .tests = 1e20, .lone = it->lone};
    double *scratch = calloc(tp_baseline_scratch(it->count), sizeof *scratch);
    struct tp_baseline baseline;
    cr_assert_not_null(scratch);
    tp_baseline_fit(&series, &options, scratch, &baseline, NULL);
    free(scratch);
    return baseline;
}

/* A limit of one in a hundred: of 400 series that is 4. Of noise that is wide
 * and heavy (t of 5, a third of a binade) it is up to some 3 times as many,
 * since few points do not tell it from others. */
Test(baseline_lone, noise_is_seldom_told)
{
    static const struct {
        enum noise_kind noise;
        double power; /* of the values: so many times as wide              */
        size_t most;
    } rows[] = {
        {NOISE_NORMAL, 1, 1},         {NOISE_LOGNORMAL, 1, 2},
        {NOISE_LOGNORMAL_WIDE, 1, 5}, {NOISE_STUDENT, 1, 1},
        {NOISE_STUDENT, 3.5, 18},     {NOISE_AR, 1, 1},
        {NOISE_DECAY, 1, 1},          {NOISE_STEPS, 1, 0},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        size_t told = 0;
        for (uint64_t i = 0; i < 400; i++) {
            struct sample *it =
                sample_new(rows[k].noise, i % 2 ? 310 : 120, 0.01, i);
            for (size_t n = 0; n < it->count; n++)
                it->value[n] = pow(it->value[n], rows[k].power);
            told += fit(it).kind != TP_CHANGE_NONE;
            free(it);
        }
        cr_expect_leq(told, rows[k].most, "%s: %zu", noise_name(rows[k].noise),
                      told);
    }
}

/* 15.6 against 2.1 +- 0.5; and where it is one of two such points. */
Test(baseline_lone, a_spike_is_told)
{
    size_t found[2] = {0, 0}, pairs = 0;
    for (uint64_t i = 0; i < 80; i++) {
        struct sample *it =
            sample_new(NOISE_NORMAL, i % 2 ? 310 : 120, 1e-3, 1000 + i);
        size_t point = it->count - 5;
        it->value[point] = 15.6 / 2.1;
        struct tp_baseline b = fit(it);
        found[i % 2] += b.kind == TP_CHANGE_SPIKE && b.first == point &&
                        b.shown == point && b.alarms == 1;
        it->value[point - 40] = 15.6 / 2.1;
        pairs += fit(it).kind != TP_CHANGE_NONE;
        free(it);
    }
    cr_expect_geq(found[0], 36, "%zu of 40", found[0]);
    cr_expect_geq(found[1], 38, "%zu of 40", found[1]);
    cr_expect_eq(pairs, 0, "%zu", pairs);
}

/* A point that is asked need not be above all others, but off it must be. */
Test(baseline_lone, a_point_that_is_asked)
{
    size_t found[2] = {0, 0};
    for (uint64_t i = 0; i < 40; i++) {
        struct sample *it = sample_new(NOISE_NORMAL, 120, 1e-3, 2000 + i);
        it->value[60] = it->value[100] = 15.6 / 2.1;
        it->suspect = 101;
        struct tp_baseline b = fit(it);
        found[0] += b.kind == TP_CHANGE_SPIKE && b.first == 100;
        it->suspect = 91;
        found[1] += fit(it).kind != TP_CHANGE_NONE;
        free(it);
    }
    cr_expect_geq(found[0], 34, "%zu of 40", found[0]);
    cr_expect_eq(found[1], 0, "%zu", found[1]);
}

/* No error but one, none at all, and fewer points than tell of noise. */
Test(baseline_lone, constant_and_short_series)
{
    struct sample *it = sample_new(NOISE_NORMAL, 120, 1e-3, 1);
    for (size_t i = 0; i < it->count; i++)
        it->value[i] = 3;
    cr_expect_eq(fit(it).kind, TP_CHANGE_NONE);
    it->value[90] = 30;
    cr_expect_eq(fit(it).first, 90);
    free(it);
    it = sample_new(NOISE_LOGNORMAL, 79, 1e-3, 1);
    it->value[60] = 1e5;
    cr_expect_eq(fit(it).kind, TP_CHANGE_NONE);
    free(it);
}
