/* SPDX-License-Identifier: MIT */
/*
 * What series of a kind say of the tails of their noise together: many on their
 * own a lot, as many that follow the same batches no more than one.
 */
#include <criterion/criterion.h>

#include "tests/unit/support/simulated.h"

/* What layers of such noise, `change`d, say. */
static struct tp_freedom freedom_of(const struct simulated *it, uint64_t seed,
                                    void (*change)(struct tp_series_set *set))
{
    struct tp_series_set set = {0};
    struct tp_kinds kinds = {0};
    cr_assert(simulated_make(it, seed, &set));
    if (change)
        change(&set);
    size_t metric = set.series[0].metric;
    cr_assert_eq(tp_kinds_make(&set, NULL, &kinds, NULL), TP_OK);
    struct tp_freedom freedom = tp_kinds_freedom(&kinds, 0, metric);
    tp_kinds_clear(&kinds);
    tp_series_clear(&set);
    return freedom;
}

/* The first points of a series have no errors, which are not small ones: of 20
 * to 30 points they would be the 30 % that tell how much layers share. */
Test(kinds, layers_that_move_together_say_what_one_does)
{
    for (size_t points = 20; points <= 29; points += 3) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            const struct simulated it = {.noise = NOISE_LOGNORMAL,
                                         .layers = 240,
                                         .points = points,
                                         .together = 0.95};
            const struct tp_freedom freedom = freedom_of(&it, seed, NULL);
            for (int side = 0; side < 2; side++)
                cr_expect_eq(freedom.side[side], TP_TAILS_HEAVY,
                             "%zu points, seed %d: %d", points, (int)seed,
                             freedom.side[side]);
        }
    }
}

Test(kinds, layers_on_their_own_say_what_noise_they_have)
{
    const struct simulated it = {
        .noise = NOISE_LOGNORMAL, .layers = 240, .points = 113};
    const struct tp_freedom freedom = freedom_of(&it, 1, NULL);
    cr_expect_eq(freedom.side[0], 30, "%d", freedom.side[0]);
    cr_expect_eq(freedom.side[1], 30, "%d", freedom.side[1]);
}

/* All but every twelfth stand still. */
static void hold(struct tp_series_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_run_series *series = &set->series[i];
        for (size_t k = 0; k < series->count && i % 12; k++)
            set->values[series->value + k] = 1;
    }
}

/* What stands still has no errors, and is none of those that move together. */
Test(kinds, constant_layers_say_nothing)
{
    const struct simulated it = {.noise = NOISE_LOGNORMAL,
                                 .layers = 240,
                                 .points = 310,
                                 .together = 0.95};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        const struct tp_freedom freedom = freedom_of(&it, seed, hold);
        cr_expect_eq(freedom.side[0], TP_TAILS_HEAVY, "%d", freedom.side[0]);
        cr_expect_eq(freedom.side[1], TP_TAILS_HEAVY, "%d", freedom.side[1]);
    }
}

/* The norm's logarithm has a heavy side below, which a single series of some
 * hundred points shows, too: at most one in a thousand has an alarm. (Taken for
 * one with the other side it gave 5, 7 and 4 of these.) */
Test(kinds, a_lone_layer_tells_its_heavy_side)
{
    static const size_t points[] = {500, 700, 1000};
    for (size_t k = 0; k < 3; k++) {
        const struct simulated it = {
            .noise = NOISE_NORMAL, .layers = 1, .points = points[k]};
        size_t told = 0;
        for (uint64_t seed = 0; seed < 1000; seed++) {
            struct simulated_alarms alarms;
            cr_assert(simulated_judge(&it, seed, &alarms));
            told += alarms.tensors > 0;
        }
        cr_expect_leq(told, 1, "%zu points: %zu of 1000", points[k], told);
    }
}
