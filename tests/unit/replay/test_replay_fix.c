/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

#include "replay/replay_fix.h"

enum { COUNT = 6 };
static const int64_t shape[] = {COUNT};
static const double x[COUNT] = {1.5, -2, 3, 0.25, 5, 7};
static const double w[COUNT] = {1, 3, -2, 1.5, 0.5, 2};

/* x w, of which element 2 is `off` off, then 2 (x w), and 3 + x w. */
static void make(struct calls_maker *m, double off)
{
    double made[COUNT], twice[COUNT], more[COUNT];
    for (int i = 0; i < COUNT; i++) {
        made[i] = x[i] * w[i] + (i == 2 ? off : 0);
        twice[i] = 2 * made[i];
        more[i] = 3 + made[i];
    }
    calls_call(m, "Torch.mul.0.forward");
    calls_tensor(m, TP_BFLOAT16, 1, shape, x);
    calls_tensor(m, TP_BFLOAT16, 1, shape, w);
    calls_results(m, "");
    calls_tensor(m, TP_BFLOAT16, 1, shape, made);
    calls_done(m);
    calls_call(m, "Torch.mul.1.forward");
    calls_tensor(m, TP_BFLOAT16, 1, shape, made);
    calls_value(m, "{\"type\": \"float\", \"value\": 2.0}");
    calls_results(m, "");
    calls_tensor(m, TP_BFLOAT16, 1, shape, twice);
    calls_done(m);
    calls_call(m, "Torch.add.0.forward");
    calls_value(m, "{\"type\": \"float\", \"value\": 3.0}");
    calls_tensor(m, TP_BFLOAT16, 1, shape, made);
    calls_results(m, "");
    calls_tensor(m, TP_BFLOAT16, 1, shape, more);
    calls_done(m);
    calls_write(m);
}

static void fix(double off, bool half_only, struct tp_fixes *fixes)
{
    struct calls_maker m = calls_begin();
    struct tp_replay_options options = {.pool = NULL};
    struct tp_replay_results results;
    struct tp_error err = {0};
    struct tp_dump dump;
    make(&m, off);
    calls_replay(&m, &options, &dump, &results);
    memset(fixes, 0, sizeof *fixes);
    cr_assert_eq(
        tp_fixes_make(&dump, &options, &results, half_only, fixes, &err), TP_OK,
        "%s", err.message);
    if (fixes->count == 2) {
        cr_expect_str_eq(fixes->rows[0].api_name, "Torch.mul.0.forward");
        cr_expect_str_eq(fixes->rows[0].consumer, "Torch.mul.1.forward");
        cr_expect_str_eq(fixes->rows[0].argument, "0");
        cr_expect_str_eq(fixes->rows[1].consumer, "Torch.add.0.forward");
        cr_expect_str_eq(fixes->rows[1].argument, "1");
    }
    tp_replay_results_clear(&results);
    tp_dump_clear(&dump);
    tp_pool_free(options.pool);
    calls_end(&m);
}

/* Relative to what was dumped: sqrt(1 / sum of squares), with numpy. */
Test(replay_fix, puts_a_better_result_into_the_next_calls)
{
    struct tp_fixes fixes;
    fix(1, true, &fixes);
    cr_expect_eq(fixes.replaced, 1);
    cr_expect_eq(fixes.consumed, 1);
    cr_assert_eq(fixes.count, 2);
    double size = 0, more = 0;
    for (int i = 0; i < COUNT; i++) {
        const double made = x[i] * w[i] + (i == 2);
        size += made * made;
        more += (3 + made) * (3 + made);
    }
    cr_expect_float_eq(fixes.rows[0].change, 1 / sqrt(size), 1e-12);
    cr_expect_float_eq(fixes.rows[0].consumer_change, 1 / sqrt(size), 1e-12);
    cr_expect_float_eq(fixes.rows[1].consumer_change, 1 / sqrt(more), 1e-12);
    cr_expect_eq(fixes.rows[0].rounding, 0x1p-8);
    tp_fixes_clear(&fixes);
}

Test(replay_fix, leaves_right_results_alone)
{
    struct tp_fixes fixes;
    fix(0, true, &fixes);
    cr_expect_eq(fixes.replaced, 0);
    cr_expect_eq(fixes.count, 0);
    tp_fixes_clear(&fixes);
}
