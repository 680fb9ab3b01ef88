/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/calls_maker.h"

#include "replay/replay_repeat.h"

Test(replay_repeat, finds_equal_calls)
{
    struct tp_repeat r[] = {{.given = 5, .made = 1}, {.given = 0, .made = 1},
                            {.given = 7, .made = 2}, {.given = 5, .made = 1},
                            {.given = 5, .made = 9}, {.given = 0, .made = 2}};
    static const size_t first[] = {SIZE_MAX, SIZE_MAX, SIZE_MAX,
                                   0,        0,        SIZE_MAX};
    struct tp_error err = {0};
    cr_assert_eq(tp_repeats_find(r, 6, &err), TP_OK);
    for (int i = 0; i < 6; i++) {
        cr_expect_eq(r[i].first, first[i]);
        cr_expect_eq(r[i].differs, i == 4);
    }
}

enum { COUNT = 4 };
static const int64_t shape[] = {COUNT};
static const double x[COUNT] = {1, 2, 3, 4};

/* x * value. */
static void add_call(struct calls_maker *m, const char *key, double value,
                     double off)
{
    double made[COUNT];
    char json[80];
    for (int i = 0; i < COUNT; i++)
        made[i] = x[i] * value + (i ? 0 : off);
    calls_call(m, key);
    calls_tensor(m, TP_FLOAT32, 1, shape, x);
    snprintf(json, sizeof json, "{\"type\": \"float\", \"value\": %.17g}",
             value);
    calls_value(m, json);
    calls_results(m, "");
    calls_tensor(m, TP_FLOAT32, 1, shape, made);
    calls_done(m);
}

/* The same again gives the same, or a rounding beside it; another number is
 * another call. */
Test(replay_repeat, flags_what_a_run_did_not_repeat)
{
    struct calls_maker m = calls_begin();
    struct tp_replay_options options = {
        .wish = {.modes = {[TP_PERTURB_NO_CHANGE] = true}}};
    struct tp_replay_results results;
    struct tp_dump dump;
    add_call(&m, "Torch.mul.0.forward", 2, 0);
    add_call(&m, "Torch.mul.1.forward", 2, 0);
    add_call(&m, "Torch.mul.2.forward", 3, 0);
    add_call(&m, "Torch.mul.3.forward", 2, 0x1p-22);
    calls_write(&m);
    calls_replay(&m, &options, &dump, &results);
    cr_assert_eq(results.count, 4);
    cr_expect_eq(results.rows[1].repeats, 0);
    cr_expect_not(results.rows[1].differs);
    cr_expect_eq(results.rows[2].repeats, -1);
    cr_expect_eq(results.rows[3].repeats, 0);
    cr_expect(results.rows[3].differs);
    cr_assert_eq(results.flag_count, 1);
    cr_expect_str_eq(results.flags[0].api_name, "Torch.mul.3.forward");
    cr_expect_str_eq(results.flags[0].pert_mode, "no_change");
    /* 2^-22 / sqrt(4 + 16 + 36 + 64) */
    cr_expect_float_eq(atof(results.flags[0].max_rel), 2.1764e-8, 1e-12);
    tp_replay_results_clear(&results);
    tp_dump_clear(&dump);
    tp_pool_free(options.pool);
    calls_end(&m);
}
