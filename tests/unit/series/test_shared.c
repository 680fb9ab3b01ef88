/* SPDX-License-Identifier: MIT */
/*
 * What many tensors share: its values, by hand, and by simulation that it shows
 * what none of them shows alone, and nothing of what one of them does or of
 * batches that all of them follow.
 */
#include <criterion/criterion.h>

#include "series/shared.h"
#include "tests/unit/support/cpu_limit.h"
#include "tests/unit/support/simulated.h"

/* --- its values ---------------------------------------------------------- */

/* Twenty points of series that differ by a factor only: the weights are equal,
 * so the shared one is their geometric mean. The last one has other steps. */
Test(shared, is_the_geometric_mean_of_those_in_step)
{
    enum { SERIES = 6, POINTS = 20 };
    struct tp_series_set set = {.series = calloc(SERIES, sizeof *set.series),
                                .at = calloc(SERIES * POINTS, sizeof *set.at),
                                .values =
                                    calloc(SERIES * POINTS, sizeof *set.values),
                                .count = SERIES,
                                .capacity = SERIES,
                                .point_count = SERIES * POINTS,
                                .point_capacity = SERIES * POINTS,
                                .value_count = SERIES * POINTS,
                                .value_capacity = SERIES * POINTS};
    const size_t members[SERIES] = {0, 1, 2, 3, 4, 5};
    uint8_t left[SERIES + 1] = {0, 0, 1};
    size_t model;
    cr_assert(set.series && set.at && set.values);
    struct dice dice = dice_of(1);
    for (size_t i = 0; i < POINTS; i++) {
        double noise = exp(0.2 * dice_normal(&dice));
        for (size_t k = 0; k < SERIES; k++) {
            set.at[k * POINTS + i] = (int64_t)(k < 5 ? i : 2 * i);
            set.values[k * POINTS + i] = noise * (double)(k + 1);
        }
    }
    for (size_t k = 0; k < SERIES; k++)
        set.series[k] = (struct tp_run_series){.label = TP_LABEL_NONE,
                                               .path = "",
                                               .precision = 24,
                                               .numel = 64,
                                               .first = k * POINTS,
                                               .count = POINTS,
                                               .metric_count = 1,
                                               .value = k * POINTS};
    cr_assert_eq(tp_shared_in_step(&set, members, SERIES, &model), 5);
    cr_assert_eq(tp_shared_append(&set, model, NULL), TP_OK);
    const struct tp_run_series *shared = &set.series[SERIES];
    const struct tp_shared_members all = {members, SERIES, 1, left};
    double *room = calloc(tp_shared_room(POINTS), sizeof *room);
    cr_assert_not_null(room);
    tp_shared_fill(&set, &all, shared, room);
    cr_expect_eq(shared->kind, TP_SERIES_SHARED);
    cr_expect_eq(shared->count, POINTS);
    const double *values = tp_series_values(&set, shared, 0);
    for (size_t i = 0; i < POINTS; i++) /* of 1 2 4 5, without what left */
        cr_expect_float_eq(values[i] / set.values[i], pow(40, 0.25), 1e-9,
                           "%zu", i);
    set.values[3 * POINTS + 7] = NAN;
    tp_shared_fill(&set, &all, shared, room);
    cr_expect(isfinite(values[7]));
    left[4] = 1; /* three are too few */
    tp_shared_fill(&set, &all, shared, room);
    cr_expect(isnan(values[0]));
    free(room);
    tp_series_clear(&set);
}

/* As many batches as there may be ranks times kinds of tensors: none costs a
 * look at all before it. */
Test(shared, many_are_appended_at_once)
{
    limit_cpu(5);
    enum { BATCHES = 200000 };
    const struct simulated it = {.layers = 1, .points = 2};
    struct tp_series_set set = {0};
    cr_assert(simulated_make(&it, 1, &set));
    for (size_t i = 0; i < BATCHES; i++)
        cr_assert_eq(tp_shared_append(&set, 0, NULL), TP_OK);
    const struct tp_run_series *last = &set.series[BATCHES];
    cr_expect_eq(set.count, BATCHES + 1);
    cr_expect_eq(last->first, 2 * BATCHES);
    cr_expect_eq(tp_series_at(&set, last)[1], 1);
    cr_expect(isnan(tp_series_values(&set, last, last->metric)[1]));
    cr_expect_gt(tp_series_values(&set, set.series, last->metric)[1], 0);
    tp_series_clear(&set);
}

/* --- what it shows ---------------------------------------------------------
 */

/* Runs of so many in which tensors, or what they share, left their baselines.
 */
struct counted {
    size_t tensors, shared, exact, told; /* told: by either */
};

static struct counted simulate(struct simulated it, size_t rounds)
{
    struct counted counted = {0};
    for (size_t i = 0; i < rounds; i++) {
        struct simulated_alarms alarms;
        it.from = it.points / 2 + i * (it.points / 2 - 9) / rounds;
        it.to = it.from + 1;
        cr_assert(simulated_judge(&it, i, &alarms));
        counted.tensors += alarms.tensors > 0;
        counted.shared += alarms.shared > 0;
        counted.told += alarms.tensors + alarms.shared > 0;
        counted.exact += alarms.exact;
    }
    return counted;
}

/* 3.5 spreads in one iteration, far within the noise of each. */
Test(shared, shows_what_no_tensor_does)
{
    const struct simulated it = {.noise = NOISE_LOGNORMAL,
                                 .layers = 12,
                                 .points = 310,
                                 .off = 3.5,
                                 .hit = 12};
    struct counted counted = simulate(it, 40);
    cr_expect_geq(counted.shared, 36, "%zu", counted.shared);
    cr_expect_geq(counted.exact, 36, "%zu", counted.exact);
    cr_expect_leq(counted.tensors, 1, "%zu", counted.tensors);
}

/* One tensor alone, however far off, moves nothing that is shared. */
Test(shared, is_not_moved_by_one_tensor)
{
    for (size_t layers = 4; layers <= 12; layers += 4) {
        const struct simulated it = {.noise = NOISE_LOGNORMAL,
                                     .layers = layers,
                                     .points = 310,
                                     .off = 400,
                                     .hit = 1};
        struct counted counted = simulate(it, 20);
        cr_expect_eq(counted.tensors, 20, "%zu", counted.tensors);
        cr_expect_eq(counted.shared, 0, "%zu", counted.shared);
    }
}

/* Layers follow the same batches: their tails are known no better than those
 * of one, and what they share is no less noisy. 1 200 runs. */
Test(shared, batches_that_all_follow_are_no_fault)
{
    static const enum noise_kind noises[] = {NOISE_NORMAL, NOISE_STUDENT,
                                             NOISE_LOGNORMAL};
    static const double together[] = {0.5, 0.9};
    size_t told = 0;
    for (size_t i = 0; i < 12; i++) {
        const struct simulated it = {.noise = noises[i % 3],
                                     .layers = 12,
                                     .points = i < 6 ? 120 : 310,
                                     .together = together[i / 3 % 2]};
        told += simulate(it, 100).told;
    }
    cr_expect_leq(told, 8, "%zu", told);
}

/* Each on its own, of all kinds of noise: 1 000 runs, of which 20 may alarm;
 * a decay from the first step is no fault. */
Test(shared, healthy_runs_are_quiet)
{
    static const size_t lengths[] = {40, 120, 310};
    size_t told = 0;
    for (size_t i = 0; i < 30; i++) {
        const struct simulated it = {.noise = (enum noise_kind)(i % 10),
                                     .layers = 12,
                                     .points = lengths[i / 10]};
        told += simulate(it, 33).told;
    }
    cr_expect_leq(told, 8, "%zu", told);
}
