/* SPDX-License-Identifier: MIT */
/*
 * What limits our own traces, which are made for it, and the public ones,
 * against the calibration, whose figures came from another program; their means
 * and what is advised.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/judged_run.h"
#include "tests/unit/support/testdata.h"
#include "trace/trace_facts.h"

static void read_real(const char *name, struct judged_run *it)
{
    char path[4096];
    struct tp_error err = {0};
    struct tp_pool *pool;
    if (!trace_data_there(name))
        cr_skip("no trace of others: %s", name);
    trace_data_path(name, path, sizeof path);
    const char *const roots[] = {path};
    const struct tp_trace_options how = {
        .roots = roots, .root_count = 1};
    cr_assert_eq(tp_pool_new(2, &pool, &err), TP_OK);
    cr_assert_eq(tp_trace_collect(pool, &how, &it->run, &err), TP_OK, "%s",
                 err.message);
    judged_run_finish(it);
    tp_pool_free(pool);
}

static void expect_real(const char *name, const char *verdict)
{
    struct judged_run it = {0};
    read_real(name, &it);
    cr_expect_str_eq(judged_verdict(&it), verdict, "%s: %s: %s", name,
                     judged_verdict(&it), it.judged.verdict.sentence);
    /* what limits it is the first finding, unless that is nothing */
    if (strcmp(verdict, "GPU-bound") && strcmp(verdict, "no single limit") &&
        strcmp(verdict, "CPU only") && strcmp(verdict, "unknown"))
        cr_expect_eq(tp_trace_judged_worst(&it.judged), TP_SEVERITY_HIGH, "%s",
                     name);
    else
        cr_expect_neq(tp_trace_judged_worst(&it.judged), TP_SEVERITY_HIGH, "%s",
                      name);
    judged_run_clear(&it);
}

/* Most device events of 05 have no launch: its steps last what ProfilerStep
 * does. In the first step of 09 the GPU falls behind the host. */
Test(trace_real, means)
{
    struct judged_run it = {0};
    read_real("own/loader.json.gz", &it);
    struct tp_trace_means means = tp_trace_step_means(it.run.traces, 1);
    cr_expect_eq(means.all_steps, 4);
    /* tests/oracle/trace_signals.py rows: the steps' length */
    cr_expect_float_eq(means.profiler_step_s, 26453e-6 / 4, 1e-12);
    judged_run_clear(&it);
    if (!trace_data_there("05_trace_compare/test"))
        return;
    read_real("05_trace_compare/test", &it);
    means = tp_trace_step_means(it.run.traces, 1);
    cr_expect_float_eq(means.step_s, means.profiler_step_s, 1e-12);
    judged_run_clear(&it);
    read_real("09_negative_queue", &it);
    means = tp_trace_step_means(it.run.traces, 1);
    cr_expect_eq(means.steps, 4);
    cr_expect_eq(means.all_steps, 5);
    /* (215.570 + 216.517 + 216.211 + 212.518) / 4: the plugin's windows */
    cr_expect_float_eq(means.step_s, 0.215204, 1e-6, "%.9f", means.step_s);
    judged_run_clear(&it);
}

/* Of 02 the copies are told once; what 09 reads is not a matter of pinning. */
Test(trace_real, copies)
{
    struct judged_run it = {0};
    read_real("own/train.json.gz", &it);
    cr_assert_not_null(judged_find(&it, "copies"));
    cr_expect(strstr(judged_find(&it, "copies")->suggestion, "pinned"));
    judged_run_clear(&it);
    read_real("own/busy.json.gz", &it);
    cr_expect_null(judged_find(&it, "copies"));
    judged_run_clear(&it);
    if (!trace_data_there("02_resnet50_nw4"))
        return;
    read_real("02_resnet50_nw4", &it);
    cr_assert_not_null(judged_find(&it, "copies"));
    cr_expect(strstr(judged_find(&it, "copies")->suggestion, "pin_memory"));
    cr_expect_null(judged_find(&it, "sync"));
    judged_run_clear(&it);
    read_real("09_negative_queue", &it);
    cr_expect_null(judged_find(&it, "copies"));
    /* nor of reading less often: work was pending all the time */
    cr_expect_not_null(judged_find(&it, "queued"));
    cr_expect(!strstr(judged_find(&it, "sync")->suggestion, "less often"));
    judged_run_clear(&it);
}

Test(trace_real, verdicts)
{
    static const char *const expected[][2] = {
        {"own/loader.json.gz", "data loading"},
        {"own/busy.json.gz", "GPU-bound"},
        {"own/train.json.gz", "copies"},
        {"own/ranks", "communication"},
        {"cpu-torch2.15.0/none.1.pt.trace.json.gz", "CPU only"},
        {"cpu-torch2.15.0/dataloader.1.pt.trace.json.gz", "data loading"},
        {"cpu-torch2.15.0/sync.1.pt.trace.json.gz", "CPU only"},
        {"cpu-torch2.15.0/tiny_ops.1.pt.trace.json.gz", "tiny operators"},
        {"01_resnet50_nw0", "data loading"},
        {"02_resnet50_nw4", "no single limit"},
        {"03_resnet50_nw0_list", "data loading"},
        {"04_gpu_metrics_input", "launch-bound"},
        {"06_nccl_data", "host-bound"},
        {"08_ns_resolution", "GPU-bound"},
        {"09_negative_queue", "queued work does not start"},
        {"11_cpu_only", "communication"},
        {"12_mi250_minitoy", "cold start"},
        {"13_simple_add", "cold start"},
        {"15_bert_h100", "launch-bound"},
        {"16_owlv2_h100", "data loading"},
        {"19_b200_eager", "launch-bound"},
        {"23_dlrm_8rank", "host-bound"},
        {"25_mi300_first_launches", "cold start"},
        {"edge/triton_example.json.gz", "unknown"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (trace_data_there(expected[i][0]))
            expect_real(expected[i][0], expected[i][1]);
}
