/* SPDX-License-Identifier: MIT */
/*
 * Steps that get slower, and the same ones in another order, in which they do
 * not: what grows is known by construction.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/made_run.h"

/* What makes a step longer, us. */
struct step {
    double kernel_us, python_us;
};

static void add_recording(struct judged_run *it, const struct step *steps,
                          size_t count)
{
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (size_t i = 0; i < count; i++) {
        trace_maker_step_begin(&maker);
        for (int k = 0; k < 10; k++)
            trace_maker_op(&maker, "aten::mm", 20, 400 + steps[i].kernel_us);
        trace_maker_python(&maker, steps[i].python_us);
        trace_maker_synchronize(&maker);
        trace_maker_step_end(&maker);
    }
    trace_maker_synchronize(&maker); /* the profiler's own */
    made_run_add(it, &maker, "made.json");
}

/* The finding about steps of these, or NULL. */
static const struct tp_trace_finding *
judge(struct judged_run *it, const struct step *steps, size_t count)
{
    judged_run_clear(it);
    add_recording(it, steps, count);
    judged_run_finish(it);
    return judged_find(it, "rising_steps");
}

/* From 4.0 to 5.4 ms over eight steps, with 0.1 ms of scatter. */
Test(trace_rule_steps, rising_kernels)
{
    struct judged_run it = {0};
    struct step steps[8];
    for (int i = 0; i < 8; i++)
        steps[i] = (struct step){.kernel_us = 20 * i + 10 * (i % 2)};
    const struct tp_trace_finding *finding = judge(&it, steps, 8);
    cr_assert_not_null(finding);
    cr_expect_eq(finding->level, TP_SEVERITY_MEDIUM);
    cr_expect_float_eq(finding->value, 35, 3, "%g", finding->value);
    cr_expect(strstr(finding->evidence, "(step 0)"), "%s", finding->evidence);
    cr_expect(strstr(finding->evidence, "(step 7)"), "%s", finding->evidence);
    cr_expect(strstr(finding->evidence, "is in kernels"), "%s",
              finding->evidence);
    cr_expect(strstr(finding->suggestion, "GPU's own work"), "%s",
              finding->suggestion);
    /* the same steps in an order that goes nowhere, and backwards */
    static const int order[] = {3, 6, 0, 7, 1, 5, 2, 4};
    struct step mixed[8], falling[8];
    for (int i = 0; i < 8; i++) {
        mixed[i] = steps[order[i]];
        falling[i] = steps[7 - i];
    }
    cr_expect_null(judge(&it, mixed, 8));
    cr_expect_null(judge(&it, falling, 8));
    judged_run_clear(&it);
}

/* Ever more, so that a straight line would begin below zero. */
Test(trace_rule_steps, rising_faster_than_a_line)
{
    struct judged_run it = {0};
    struct step steps[12] = {{0}};
    for (int i = 0; i < 12; i++)
        steps[i].python_us = 1000 * i * sqrt(i);
    const struct tp_trace_finding *finding = judge(&it, steps, 12);
    cr_assert_not_null(finding);
    cr_expect(finding->value > 0, "%g", finding->value);
    cr_expect(!strstr(finding->evidence, "from -"), "%s", finding->evidence);
    judged_run_clear(&it);
}

/* The GPU's work is as before: Python takes longer each time. */
Test(trace_rule_steps, rising_python)
{
    struct judged_run it = {0};
    struct step steps[6];
    for (int i = 0; i < 6; i++)
        steps[i].kernel_us = 0, steps[i].python_us = 5000 + 400 * i;
    const struct tp_trace_finding *finding = judge(&it, steps, 6);
    cr_assert_not_null(finding);
    cr_expect(strstr(finding->evidence, "nothing recorded"), "%s",
              finding->evidence);
    cr_expect(strstr(finding->suggestion, "Python"), "%s",
              finding->suggestion);
    judged_run_clear(&it);
}

/* 4 %, or too few steps to tell, is no finding. */
Test(trace_rule_steps, too_little_to_tell)
{
    struct judged_run it = {0};
    struct step steps[8];
    for (int i = 0; i < 8; i++)
        steps[i] = (struct step){.kernel_us = 2.2 * i};
    cr_expect_null(judge(&it, steps, 8));
    for (int i = 0; i < 8; i++)
        steps[i] = (struct step){.kernel_us = 20 * i};
    cr_expect_not_null(judge(&it, steps, 5));
    cr_expect(!judged_notes(&it, "three steady steps"));
    cr_expect_null(judge(&it, steps, 4));
    cr_expect_null(judge(&it, steps, 3));
    cr_expect(!judged_notes(&it, "three steady steps"));
    cr_expect_null(judge(&it, steps, 2));
    cr_expect(judged_notes(&it, "three steady steps"));
    judged_run_clear(&it);
}

/* Recordings of three steps each, all of a process or of two. */
static const struct tp_trace_finding *
judge_recordings(struct judged_run *it, const double *kernel_us, size_t count,
                 size_t processes)
{
    static const char *const workers[] = {"host_1", "host_2"};
    judged_run_clear(it);
    for (size_t i = 0; i < count; i++) {
        const struct step step = {.kernel_us = kernel_us[i]};
        const struct step steps[] = {step, step, step};
        add_recording(it, steps, 3);
        struct tp_trace *trace = &it->run.traces[it->run.trace_count - 1];
        trace->worker = workers[i % processes];
        trace->span = 1000 + (int64_t)i;
    }
    judged_run_finish(it);
    return judged_find(it, "rising_traces");
}

Test(trace_rule_steps, recordings)
{
    static const double rising[] = {0, 30, 40, 70, 80, 100},
                        level[] = {70, 0, 100, 30, 80, 40};
    struct judged_run it = {0};
    const struct tp_trace_finding *finding =
        judge_recordings(&it, rising, 6, 1);
    cr_assert_not_null(finding);
    cr_expect(strstr(finding->evidence, "host_1"), "%s", finding->evidence);
    cr_expect_float_eq(finding->value, 25, 3, "%g", finding->value);
    cr_expect_null(judged_find(&it, "rising_steps"));
    cr_expect_null(judge_recordings(&it, level, 6, 1));
    /* three recordings each of two processes are too few */
    cr_expect_null(judge_recordings(&it, rising, 6, 2));
    judged_run_clear(&it);
}
