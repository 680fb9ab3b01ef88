/* SPDX-License-Identifier: MIT */
/* Several GPUs of a process that work side by side, or wait for each other; and
 * what is said about communication, by its kind. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "tests/unit/support/judged_run.h"
#include "tests/unit/support/trace_files.h"

static void add(struct tp_text *json, const char *category, const char *name,
                int device, double from, double us)
{
    tp_text_add(json,
                ",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,"
                "\"tid\":7,\"ts\":%.0f,\"dur\":%.0f,\"args\":{\"stream\":7,"
                "\"device\":%d}}",
                category, name, device, from, us, device);
}

/* Four steps of 10 ms: GPU 0 works for `first` ms of each, GPU 1 from `at` on
 * for `second` ms. */
static void judge(struct judged_run *it, double first, double at,
                  double second)
{
    struct tp_text json = {0};
    struct tp_trace trace;
    tp_text_add(&json, "{\"traceEvents\":[{}");
    for (int i = 0; i < 4; i++) {
        const double from = 1e6 + 1e4 * i;
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        add(&json, "user_annotation", name, 99, from, 1e4);
        add(&json, "cpu_op", "aten::mm", 99, from, 10);
        add(&json, "kernel", "gemm", 0, from, 1e3 * first);
        add(&json, "kernel", "gemm", 1, from + 1e3 * at, 1e3 * second);
    }
    tp_text_add(&json, "]}");
    trace_text_read(tp_text_get(&json), &trace);
    tp_text_clear(&json);
    tp_trace_index_clear(&trace.index);
    trace.path = "made.json";
    cr_assert_eq(tp_trace_analyse(&trace, &it->run.arena, NULL), TP_OK);
    cr_assert_eq(tp_grow(&it->run.traces, &it->run.trace_capacity, 1,
                         sizeof trace, NULL),
                 TP_OK);
    it->run.traces[it->run.trace_count++] = trace;
    judged_run_finish(it);
}

Test(trace_rule_move, gpus_of_a_process)
{
    static const struct {
        double first, at, second;
        const char *verdict;
        double turns;
    } cases[] = {
        {5, 5, 5, "GPUs take turns", 50}, /* one after the other            */
        {10, 0, 10, "GPU-bound", 0},      /* side by side                   */
        {10, 0, 4, "GPUs take turns", 30}, /* uneven shares                 */
        {10, 0, 0.5, "GPU-bound", 0},     /* the second hardly works        */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct judged_run it = {0};
        judge(&it, cases[i].first, cases[i].at, cases[i].second);
        const struct tp_trace_finding *finding = judged_find(&it, "turns");
        cr_expect_str_eq(judged_verdict(&it), cases[i].verdict, "%zu: %s", i,
                         it.judged.verdict.sentence);
        cr_expect_eq(finding != NULL, cases[i].turns > 0, "%zu", i);
        if (finding) {
            cr_expect_float_eq(finding->value, cases[i].turns, 1e-9, "%g",
                               finding->value);
            cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
        }
        judged_run_clear(&it);
    }
}

/* A rank that waits half of its steps in a collective of this name. */
static void communicate(struct judged_run *it, const char *name)
{
    struct tp_text json = {0};
    struct tp_trace trace;
    tp_text_add(&json, "{\"traceEvents\":[{}");
    for (int i = 0; i < 4; i++) {
        const double from = 1e6 + 1e4 * i;
        add(&json, "user_annotation",
            i == 0   ? "ProfilerStep#0"
            : i == 1 ? "ProfilerStep#1"
            : i == 2 ? "ProfilerStep#2"
                     : "ProfilerStep#3",
            99, from, 1e4);
        add(&json, "cpu_op", "aten::mm", 99, from, 10);
        add(&json, "kernel", "gemm", 0, from, 5e3);
        tp_text_add(&json,
                    ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
                    "\"ncclDevKernel_SendRecv(x)\",\"pid\":0,\"tid\":20,"
                    "\"ts\":%.0f,\"dur\":5000,\"args\":{\"stream\":20,"
                    "\"device\":0,\"Collective name\":\"%s\"}}",
                    from + 5e3, name);
    }
    tp_text_add(&json, "]}");
    trace_text_read(tp_text_get(&json), &trace);
    tp_text_clear(&json);
    tp_trace_index_clear(&trace.index);
    trace.path = "made.json";
    cr_assert_eq(tp_trace_analyse(&trace, &it->run.arena, NULL), TP_OK);
    cr_assert_eq(tp_grow(&it->run.traces, &it->run.trace_capacity, 1,
                         sizeof trace, NULL),
                 TP_OK);
    it->run.traces[it->run.trace_count++] = trace;
    judged_run_finish(it);
}

Test(trace_rule_move, stages_or_ranks)
{
    static const char *const names[] = {"recv", "send", "all_to_allv",
                                        "allreduce"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct judged_run it = {0};
        communicate(&it, names[i]);
        const struct tp_trace_finding *finding =
            judged_find(&it, "communication");
        cr_expect_str_eq(judged_verdict(&it), "communication");
        cr_assert_not_null(finding);
        cr_expect_eq(strstr(finding->suggestion, "micro-batches") != NULL,
                     i < 2, "%s", finding->suggestion);
        cr_expect_eq(strstr(finding->suggestion, "stragglers") != NULL, i >= 2,
                     "%s", finding->suggestion);
        judged_run_clear(&it);
    }
}
