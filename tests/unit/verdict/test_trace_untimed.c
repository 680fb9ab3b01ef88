/* SPDX-License-Identifier: MIT */
/* Kernels whose durations cannot be read, or are negative: no verdict where
 * they are half of what there is, or would fill what is idle, a remark where
 * they are few, and nothing of a GPU that was not recorded. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/support/made_run.h"
#include "verdict/trace_untimed.h"

enum { STEPS = 4, KERNELS = 10 };

/* The form of "dur" in the first `bad` kernels: a number of its own length. */
static void spoil(char *json, const char *dur, int bad)
{
    char *at = json;
    while (bad-- > 0 && (at = strstr(at, "\"cat\": \"kernel\""))) {
        char *value = strstr(at, "\"dur\": ");
        cr_assert_not_null(value);
        memcpy(value, dur, strlen(dur));
        at = value;
    }
}

static void read_spoiled(struct judged_run *it, const char *dur, int bad,
                         double python_us)
{
    struct tp_error err = {0};
    struct trace_maker maker;
    struct tp_pool *pool;
    size_t size;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        for (int k = 0; k < KERNELS; k++)
            trace_maker_op(&maker, "aten::mm", 20, 300);
        trace_maker_synchronize(&maker);
        trace_maker_python(&maker, python_us);
        trace_maker_step_end(&maker);
    }
    trace_maker_end(&maker, &size);
    spoil(maker.json.data, dur, bad);
    cr_assert_eq(tp_grow(&it->run.traces, &it->run.trace_capacity, 1,
                         sizeof *it->run.traces, &err),
                 TP_OK);
    struct tp_trace *trace = &it->run.traces[it->run.trace_count++];
    *trace = (struct tp_trace){.path = "made.json", .worker = "", .span = -1};
    cr_assert_eq(tp_pool_new(1, &pool, &err), TP_OK);
    cr_assert_eq(tp_trace_read_memory(maker.json.data, size, pool,
                                      &trace->events, &err),
                 TP_OK, "%s", err.message);
    cr_assert_eq(tp_trace_analyse(trace, &it->run.arena, &err), TP_OK);
    tp_pool_free(pool);
    trace_maker_clear(&maker);
    judged_run_finish(it);
}

/* "dux" is no "dur"; "-" before the digits makes it negative. */
static const struct {
    const char *dur;
    int bad;
    double python_us; /* at the end of each step                           */
    const char *verdict, *words;
} cases[] = {
    {"\"dur\": ", 0, 0, "GPU-bound", NULL},
    {"\"dux\": ", 40, 0, "unknown", "40 of 40 device events have no duration"},
    {"\"dux\": ", 20, 0, "unknown", "20 of 40 device events have no duration"},
    {"\"dux\": ", 12, 0, "unknown", "12 of 40 device events have no duration"},
    {"\"dux\": ", 12, 9000, "host-bound", "12 of 40 device events have no"},
    {"\"dux\": ", 2, 0, "GPU-bound", "2 of 40 device events have no duration"},
    {"\"dur\":-", 40, 0, "unknown", "40 of 40 device events have a negative"},
    {"\"dur\":-", 12, 0, "unknown", "12 of 40 device events have a negative"},
    {"\"dur\":-", 12, 9000, "host-bound", "12 of 40 device events have a"},
    {"\"dur\":-", 2, 0, "GPU-bound", "2 of 40 device events have a negative"},
};

Test(trace_untimed, cases)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct judged_run it = {0};
        read_spoiled(&it, cases[i].dur, cases[i].bad, cases[i].python_us);
        const bool many = !strcmp(cases[i].verdict, "unknown");
        const char *sentence = it.judged.verdict.sentence;
        const struct tp_trace_finding *finding =
            judged_find(&it, "incomplete");
        cr_expect_str_eq(judged_verdict(&it), cases[i].verdict, "%s",
                         sentence);
        cr_expect(cases[i].words ? strstr(sentence, cases[i].words) != NULL
                                 : strstr(sentence, "duration") == NULL,
                  "%s", sentence);
        cr_expect_eq(finding != NULL, many);
        cr_expect(!judged_notes(&it, "not recorded: device events"));
        cr_expect_eq(judged_notes(&it, "not recorded: durations of device"),
                     many);
        for (size_t k = 0; k < it.judged.findings.count && many; k++)
            cr_expect_str_eq(it.judged.findings.rows[k].rule->id,
                             "incomplete");
        judged_run_clear(&it);
    }
}

/* A trace without a GPU is told so, and not that durations are missing. */
Test(trace_untimed, without_a_device)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        trace_maker_host_op(&maker, "aten::mm", 300);
        trace_maker_step_end(&maker);
    }
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    cr_expect_str_eq(judged_verdict(&it), "CPU-bound");
    cr_expect(judged_notes(&it, "not recorded: device events"));
    cr_expect(!judged_notes(&it, "durations of device"));
    cr_expect(strstr(tp_trace_no_gpu_words(&it.run.traces[0]), "recorded"));
    judged_run_clear(&it);
}
