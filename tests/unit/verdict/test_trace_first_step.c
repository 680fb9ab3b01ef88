/* SPDX-License-Identifier: MIT */
/* First steps that take longer than the others, of known causes, and runs that
 * lose as much in every step. */
#include <criterion/criterion.h>

#include "tests/unit/support/made_run.h"
#include "verdict/trace_first_step.h"

enum { STEPS = 6 };

/* Steps of 4 ms of kernels; the first `slow` begin with `us` of Python, or of
 * kernels. */
static void judge(struct judged_run *it, int slow, double us, bool kernels)
{
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        if (i < slow && kernels)
            trace_maker_op(&maker, "aten::mm", 20, us);
        else if (i < slow)
            trace_maker_python(&maker, us);
        for (int k = 0; k < 10; k++)
            trace_maker_op(&maker, "aten::mm", 20, 400);
        trace_maker_synchronize(&maker);
        trace_maker_step_end(&maker);
    }
    made_run_add(it, &maker, "made.json");
    judged_run_finish(it);
}

/* 100 ms of Python in the first step, which would pass for a slow host. */
Test(trace_first_step, compiles)
{
    struct judged_run it = {0};
    judge(&it, 1, 100000, false);
    cr_expect_str_eq(judged_verdict(&it), "cold start");
    cr_expect(strstr(it.judged.verdict.sentence,
                     "the first step (0) takes 104.02 ms, typical ones"),
              "%s", it.judged.verdict.sentence);
    const struct tp_trace_finding *finding = judged_find(&it, "first_step");
    cr_assert_not_null(finding);
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect_float_eq(finding->value, 100 * 100.0 / (100 + 6 * 4.03), 0.5,
                       "%g", finding->value);
    cr_expect(strstr(finding->evidence, "the host with nothing recorded"), "%s",
              finding->evidence);
    cr_expect_null(judged_find(&it, "host"));
    judged_run_clear(&it);
}

/* The same in every step is the host's; in the kernels of the first step alone
 * it is no loss, but said; a first step of 1.5 times the others is neither. */
Test(trace_first_step, others)
{
    struct judged_run it = {0};
    judge(&it, STEPS, 100000, false);
    cr_expect_str_eq(judged_verdict(&it), "host-bound");
    cr_expect_null(judged_find(&it, "first_step"));
    cr_expect_eq(tp_trace_first_step(&it.run.traces[0]).share, 0);
    judged_run_clear(&it);

    it = (struct judged_run){0};
    judge(&it, 1, 100000, true);
    cr_expect_str_eq(judged_verdict(&it), "GPU-bound");
    cr_assert_not_null(judged_find(&it, "first_step"));
    cr_expect_eq(judged_find(&it, "first_step")->level, TP_SEVERITY_LOW);
    judged_run_clear(&it);

    it = (struct judged_run){0};
    judge(&it, 1, 2000, false);
    cr_expect_null(judged_find(&it, "first_step"));
    judged_run_clear(&it);
}
