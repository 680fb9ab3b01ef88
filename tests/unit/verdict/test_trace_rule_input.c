/* SPDX-License-Identifier: MIT */
/* What is said of recordings: device work that no operator started. */
#include <criterion/criterion.h>

#include "tests/unit/support/made_run.h"

enum { STEPS = 4 };

/* Half of the device's time, and a little of it, outside of operators; and
 * none. */
Test(trace_rule_input, work_without_an_operator)
{
    static const int bare[] = {30, 2, 0};
    for (size_t k = 0; k < sizeof bare / sizeof *bare; k++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            trace_maker_op(&maker, "aten::mm", 20, 300);
            for (int l = 0; l < bare[k]; l++)
                trace_maker_launch(&maker, "void fused<float>(float*)", 4);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        cr_expect_float_eq(it.run.traces[0].facts.orphan_us,
                           10.0 * STEPS * bare[k], 1e-6);
        cr_expect_eq(it.run.traces[0].facts.orphan_events, STEPS * bare[k]);
        cr_expect_eq(judged_notes(&it, "50.0 % of the GPU's time (1.20 of 2.40 "
                                       "ms) belongs to no recorded operator; "
                                       "most in"),
                     k == 0);
        cr_expect_eq(judged_notes(&it, "no recorded operator"), k == 0);
        judged_run_clear(&it);
    }
}
