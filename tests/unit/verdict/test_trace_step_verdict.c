/* SPDX-License-Identifier: MIT */
/* Verdicts on steps that are made to differ, and on one that is all there is,
 * which must have the verdict of its trace. */
#include "verdict/trace_step_verdict.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/support/judged_run.h"
#include "tests/unit/support/trace_files.h"
#include "tests/unit/support/trace_maker.h"
#include "trace/trace_lists.h"

static void add_trace(struct judged_run *it, const char *json)
{
    struct tp_trace trace;
    trace_text_read(json, &trace);
    tp_trace_index_clear(&trace.index);
    trace.path = "a";
    trace.annotated = true;
    cr_assert_eq(tp_trace_analyse(&trace, &it->run.arena, NULL), TP_OK);
    it->run.traces = calloc(1, sizeof trace);
    it->run.trace_capacity = it->run.trace_count = 1;
    it->run.traces[0] = trace;
    judged_run_finish(it);
}

/* A step in which the device works for so long, in kernels of 500 us. */
static void add_work(struct trace_maker *maker, int kernels)
{
    for (int i = 0; i < kernels; i++)
        trace_maker_op(maker, "aten::mm", 20, 500);
    trace_maker_synchronize(maker);
}

static const char *verdict_of(const struct judged_run *it, size_t step,
                              double *share)
{
    const struct tp_trace *trace = &it->run.traces[0];
    cr_assert_lt(step, trace->step_spans.count);
    return tp_trace_verdict_table[tp_trace_step_verdict(
                                      trace, &it->judged.limits,
                                      &trace->step_spans.rows[step], share)]
        .id;
}

Test(trace_step_verdict, each_step_has_its_own)
{
    struct trace_maker maker;
    struct judged_run it = {.run = {.trace_count = 0}};
    size_t size;
    double share;
    trace_maker_begin(&maker, 0, 1);
    trace_maker_step_begin(&maker); /* 5 of 10 ms */
    trace_maker_loader(&maker, 5000, false);
    add_work(&maker, 10);
    trace_maker_step_end(&maker);
    trace_maker_step_begin(&maker);
    add_work(&maker, 20);
    trace_maker_step_end(&maker);
    trace_maker_step_begin(&maker); /* 10 of 15 ms */
    trace_maker_python(&maker, 10000);
    add_work(&maker, 10);
    trace_maker_step_end(&maker);
    add_trace(&it, trace_maker_end(&maker, &size));
    cr_expect_str_eq(verdict_of(&it, 0, &share), "data loading");
    cr_expect_float_eq(share, 0.5, 0.02);
    cr_expect_str_eq(verdict_of(&it, 1, &share), "GPU-bound");
    cr_expect_gt(share, 0.95);
    cr_expect_str_eq(verdict_of(&it, 2, &share), "host-bound");
    cr_expect_float_eq(share, 2.0 / 3, 0.02);
    trace_maker_clear(&maker);
    judged_run_clear(&it);
}

Test(trace_step_verdict, one_step_is_its_trace)
{
    struct trace_maker maker;
    struct judged_run it = {.run = {.trace_count = 0}};
    size_t size;
    double share;
    trace_maker_begin(&maker, 0, 1);
    trace_maker_step_begin(&maker);
    trace_maker_copy_in(&maker, 300, true);
    trace_maker_all_reduce(&maker, 700);
    add_work(&maker, 1);
    trace_maker_python(&maker, 600);
    trace_maker_allocate(&maker, 1 << 20, 400, 300);
    trace_maker_step_end(&maker);
    add_trace(&it, trace_maker_end(&maker, &size));
    const struct tp_trace *trace = &it.run.traces[0];
    const struct tp_idle_row row =
        tp_trace_step_idle(trace, &trace->step_spans.rows[0]);
    cr_expect_str_eq(verdict_of(&it, 0, &share), judged_verdict(&it));
    cr_expect_float_eq(share, it.judged.verdicts[0].share, 1e-9);
    cr_expect_float_eq(row.busy, trace->idle.busy, 1e-9);
    cr_expect_float_eq(row.alloc, trace->idle.alloc, 1e-9);
    cr_expect_float_eq(row.none, trace->idle.none, 1e-9);
    cr_expect_float_eq(row.window_us, trace->idle.window_us, 1e-9);
    cr_expect_gt(row.alloc, 0);
    trace_maker_clear(&maker);
    judged_run_clear(&it);
}
