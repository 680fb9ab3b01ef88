/* SPDX-License-Identifier: MIT */
/*
 * What limits a run, on traces that are made so that it is known: each
 * scenario, its absence, and what must not be taken for it.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/made_run.h"
#include "trace/trace_facts.h"
#include "trace/trace_run.h"
#include "verdict/trace_rules.h"
#include "verdict/trace_verdict.h"

enum { STEPS = 6 };

/* What a step is made of; zeroed is a step that keeps the GPU busy. */
struct recipe {
    double loader_us;
    bool workers, pageable;
    int items;
    double item_latency_us;
    double item_python_us;  /* after each, before it a kernel of 100 us    */
    int tiny_ops;
    int temporaries;        /* from the allocator's cache                  */
    double temporary_us;    /* the host in each                            */
    double driver_us;       /* cudaMalloc in every step                    */
    double cold_us;         /* in the first step only                      */
    double reduce_us;       /* a collective nothing hides                  */
    double python_us;
    double kernel_us;       /* of each of the ten large operators          */
    bool memory, no_steps;
    bool backward_thread;   /* the tiny operators are on another thread    */
};

static void make_step(struct trace_maker *maker, const struct recipe *how,
                      bool first)
{
    if (!how->no_steps)
        trace_maker_step_begin(maker);
    trace_maker_loader(maker, how->loader_us > 0 ? how->loader_us : 50,
                       how->workers);
    trace_maker_copy_in(maker, 20, how->pageable);
    /* the demo times its steps between two of these: no finding */
    trace_maker_synchronize(maker);
    if (first && how->cold_us > 0)
        trace_maker_allocate(maker, 1 << 20, 2, how->cold_us);
    if (how->driver_us > 0)
        trace_maker_allocate(maker, 1 << 20, 2, how->driver_us);
    for (int i = 0; i < 10; i++)
        trace_maker_op(maker, "aten::mm", 20,
                       how->kernel_us > 0 ? how->kernel_us : 400);
    for (int i = 0; i < how->items; i++) {
        if (how->item_python_us > 0)
            trace_maker_op(maker, "aten::mul", 20, 100);
        trace_maker_item(maker, how->item_latency_us);
        trace_maker_python(maker, how->item_python_us);
    }
    maker->thread = how->backward_thread;
    for (int i = 0; i < how->tiny_ops; i++)
        trace_maker_op(maker, "aten::sin", 15, 2);
    maker->thread = 0;
    for (int i = 0; i < how->temporaries; i++) {
        trace_maker_allocate(maker, 1 << 20, how->temporary_us, 0);
        trace_maker_op(maker, "aten::fill_", 12, 3);
        trace_maker_free(maker, 1 << 20);
    }
    trace_maker_python(maker, how->python_us);
    if (how->reduce_us > 0)
        trace_maker_all_reduce(maker, how->reduce_us);
    for (int i = 0; i < 5; i++)
        trace_maker_item_on_host(maker);
    trace_maker_synchronize(maker);
    if (!how->no_steps)
        trace_maker_step_end(maker);
}

static void make(struct judged_run *it, const struct recipe *how)
{
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    maker.memory = how->memory;
    for (int i = 0; i < STEPS; i++)
        make_step(&maker, how, i == 0);
    trace_maker_synchronize(&maker); /* the profiler's own */
    made_run_add(it, &maker, "made.json");
    judged_run_finish(it);
}

/* Verdict, and no finding of a rule that should be quiet. */
static void expect(const struct judged_run *it, const char *verdict,
                   const char *rules)
{
    cr_expect_str_eq(judged_verdict(it), verdict, "%s, not %s: %s",
                     judged_verdict(it), verdict, it->judged.verdict.sentence);
    for (const struct tp_trace_rule *rule = tp_trace_rules; rule->id; rule++) {
        const bool wanted = strstr(rules, rule->id) != NULL;
        const struct tp_trace_finding *finding = judged_find(it, rule->id);
        cr_expect_eq(finding != NULL, wanted, "%s: %s", rule->id,
                     finding ? finding->evidence : "missing");
    }
}

/* Two synchronisations a step and items of host tensors are no loss. */
Test(trace_verdict, healthy)
{
    struct judged_run it = {0};
    const struct recipe how = {
        .memory = true, .temporaries = 3, .temporary_us = 5};
    make(&it, &how);
    expect(&it, "GPU-bound", "sync");
    cr_expect_eq(judged_find(&it, "sync")->level, TP_SEVERITY_LOW);
    cr_expect_eq(it.judged.notes.count, 0, "%s",
                 it.judged.notes.count ? it.judged.notes.texts[0] : "");
    judged_run_clear(&it);
}

/* 8 ms of 12 in the DataLoader: by construction two thirds of each step. */
Test(trace_verdict, dataloader)
{
    struct judged_run it = {0};
    const struct recipe how = {.loader_us = 8000, .pageable = true};
    make(&it, &how);
    expect(&it, "data loading", "dataloader sync");
    const struct tp_trace_finding *finding = judged_find(&it, "dataloader");
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect(strstr(finding->suggestion, "num_workers is 0"));
    cr_expect(strstr(finding->suggestion, "pin_memory"));
    const struct tp_trace_means means =
        tp_trace_step_means(it.run.traces, it.run.trace_count);
    cr_expect_float_eq(means.data_wait_s, 8000e-6, 1e-9, "%.9f",
                       means.data_wait_s);
    cr_expect_eq(means.all_steps, STEPS);
    cr_expect(means.step_s > 4000e-6 && means.step_s < 4200e-6, "%.9f",
              means.step_s);
    cr_expect_float_eq(it.judged.verdict.share,
                       8000.0 * STEPS / it.run.traces[0].idle.window_us, 1e-3);
    judged_run_clear(&it);
}

/* With workers the advice is another; 0.7 ms a step are below 2 ms. */
Test(trace_verdict, dataloader_with_workers)
{
    struct judged_run it = {0};
    const struct recipe slow = {.loader_us = 8000, .workers = true};
    make(&it, &slow);
    expect(&it, "data loading", "dataloader sync");
    cr_expect(!strstr(judged_find(&it, "dataloader")->suggestion, "is 0"));
    cr_expect(
        !strstr(judged_find(&it, "dataloader")->suggestion, "pin_memory"));
    judged_run_clear(&it);
    const struct recipe quick = {.loader_us = 700, .workers = true};
    make(&it, &quick);
    expect(&it, "no single limit", "sync");
    judged_run_clear(&it);
}

/* The GPU is done long before the host has read its number. */
Test(trace_verdict, sync)
{
    struct judged_run it = {0};
    const struct recipe how = {
        .items = 20, .item_latency_us = 100, .kernel_us = 100};
    make(&it, &how);
    expect(&it, "synchronisation", "sync");
    const struct tp_trace_finding *finding = judged_find(&it, "sync");
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect(strstr(finding->suggestion, "every N steps"), "%s",
              finding->suggestion);
    /* 20 x 100 us of waking up in each step */
    cr_expect_float_eq(it.run.traces[0].idle.blocking,
                       20 * 100.0 * STEPS / it.run.traces[0].idle.window_us,
                       0.03, "%g", it.run.traces[0].idle.blocking);
    judged_run_clear(&it);
}

/* The wait itself is short, but after it the GPU has nothing to do: where steps
 * would be a tenth shorter without, that is the limit. */
Test(trace_verdict, sync_and_refill)
{
    struct judged_run it = {0};
    const struct recipe how = {.items = 20,
                               .item_latency_us = 4,
                               .item_python_us = 30,
                               .kernel_us = 100};
    make(&it, &how);
    expect(&it, "synchronisation", "sync");
    const struct tp_trace_finding *finding = judged_find(&it, "sync");
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect(finding->value > 20, "%g", finding->value);
    cr_expect(strstr(finding->suggestion, "every N steps"));
    cr_expect(strstr(it.judged.verdict.sentence, "without the waits steps"),
              "%s", it.judged.verdict.sentence);
    judged_run_clear(&it);
}

/* One wait in a step, and little behind it. */
Test(trace_verdict, sync_and_little_refill)
{
    struct judged_run it = {0};
    const struct recipe how = {.items = 1,
                               .item_latency_us = 4,
                               .item_python_us = 120,
                               .kernel_us = 2000};
    make(&it, &how);
    cr_expect_str_neq(judged_verdict(&it), "synchronisation", "%s",
                      it.judged.verdict.sentence);
    judged_run_clear(&it);
}

/* Python that takes longer than the GPU's work is the host's, with waits or
 * without. */
Test(trace_verdict, sync_and_much_python)
{
    struct judged_run it = {0};
    const struct recipe how = {.items = 20,
                               .item_latency_us = 4,
                               .item_python_us = 400,
                               .kernel_us = 100};
    make(&it, &how);
    cr_expect_str_eq(judged_verdict(&it), "host-bound");
    cr_expect_eq(judged_find(&it, "sync")->level, TP_SEVERITY_MEDIUM);
    judged_run_clear(&it);
}

/* The same calls where the GPU is busy meanwhile cost nothing. */
Test(trace_verdict, sync_that_is_harmless)
{
    struct judged_run it = {0};
    const struct recipe how = {
        .items = 2, .item_latency_us = 5, .kernel_us = 2000};
    make(&it, &how);
    expect(&it, "GPU-bound", "sync");
    cr_expect_eq(judged_find(&it, "sync")->level, TP_SEVERITY_LOW);
    cr_expect(strstr(judged_find(&it, "sync")->suggestion, "leave them"));
    judged_run_clear(&it);
}

Test(trace_verdict, tiny_ops)
{
    struct judged_run it = {0};
    const struct recipe how = {.tiny_ops = 600, .kernel_us = 100};
    make(&it, &how);
    expect(&it, "launch-bound", "launch");
    const struct tp_trace_finding *finding = judged_find(&it, "launch");
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect(strstr(finding->evidence, "aten::sin"), "%s", finding->evidence);
    judged_run_clear(&it);
}

/* Many tiny kernels behind large ones are never waited for. */
Test(trace_verdict, tiny_ops_that_are_hidden)
{
    struct judged_run it = {0};
    const struct recipe how = {.tiny_ops = 100, .kernel_us = 3000};
    make(&it, &how);
    expect(&it, "GPU-bound", "sync");
    judged_run_clear(&it);
}

/* Temporaries from the cache: no driver call, yet the host pays. */
Test(trace_verdict, memory_churn)
{
    struct judged_run it = {0};
    const struct recipe how = {.temporaries = 200,
                               .temporary_us = 12,
                               .kernel_us = 100,
                               .memory = true};
    make(&it, &how);
    cr_expect_str_eq(judged_verdict(&it), "launch-bound");
    const struct tp_trace_finding *finding = judged_find(&it, "churn");
    cr_assert_not_null(finding);
    cr_expect_eq(finding->level, TP_SEVERITY_MEDIUM);
    cr_expect(strstr(finding->evidence, "all from the allocator's cache"));
    cr_expect_null(judged_find(&it, "allocation"));
    cr_expect_str_eq(it.judged.verdict.scenario, "tiny_ops");
    judged_run_clear(&it);
}

/* Churn that the GPU does not wait for: nothing else costs time, so that is
 * the scenario, a low finding or not; without churn it is the verdict's. */
Test(trace_verdict, memory_churn_alone)
{
    static const struct {
        double kernel_us;
        const char *verdict, *scenario, *low;
    } cases[] = {{100, "no single limit", "none", ""},
                 {155, "GPU-bound", "gpu_bound", "sync"}};
    for (size_t i = 0; i < 4; i++) {
        struct judged_run it = {0};
        const bool churns = i % 2;
        const struct recipe how = {.temporaries = 60,
                                   .temporary_us = 12,
                                   .kernel_us = cases[i / 2].kernel_us,
                                   .memory = churns};
        make(&it, &how);
        char rules[20] = "";
        strcat(strcat(rules, churns ? "churn " : ""), cases[i / 2].low);
        expect(&it, cases[i / 2].verdict, rules);
        cr_expect_str_eq(it.judged.verdict.scenario,
                         churns ? "memory_churn" : cases[i / 2].scenario);
        cr_expect_str_eq(it.judged.verdicts[0].scenario,
                         it.judged.verdict.scenario);
        judged_run_clear(&it);
    }
}

/* Without [memory] events that is unknown, and said to be. */
Test(trace_verdict, memory_not_recorded)
{
    struct judged_run it = {0};
    const struct recipe how = {
        .temporaries = 200, .temporary_us = 12, .kernel_us = 100};
    make(&it, &how);
    cr_expect_null(judged_find(&it, "churn"));
    cr_expect(judged_notes(&it, "memory events"));
    judged_run_clear(&it);
}

Test(trace_verdict, driver_allocations)
{
    struct judged_run it = {0};
    const struct recipe how = {.driver_us = 2000, .memory = true};
    make(&it, &how);
    cr_expect_str_eq(judged_verdict(&it), "allocation", "%s",
                     it.judged.verdict.sentence);
    const struct tp_trace_finding *finding = judged_find(&it, "allocation");
    cr_assert_not_null(finding);
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect_eq(finding->value, STEPS);
    cr_expect(strstr(finding->evidence, "cudaMalloc"));
    cr_expect_str_eq(it.judged.verdict.scenario, "memory_churn");
    judged_run_clear(&it);
}

/* The first step only, which is then not steady. */
Test(trace_verdict, cold_start)
{
    struct judged_run it = {0};
    const struct recipe how = {.cold_us = 30000};
    make(&it, &how);
    cr_expect_str_eq(judged_verdict(&it), "cold start", "%s",
                     it.judged.verdict.sentence);
    cr_expect_null(judged_find(&it, "allocation"));
    cr_expect_not_null(judged_find(&it, "cold_start"));
    judged_run_clear(&it);
}

Test(trace_verdict, host_bound)
{
    struct judged_run it = {0};
    const struct recipe how = {.python_us = 5000};
    make(&it, &how);
    expect(&it, "no single limit", ""); /* kernels cover 4 ms of it */
    judged_run_clear(&it);
    const struct recipe slower = {.python_us = 12000};
    make(&it, &slower);
    cr_expect_str_eq(judged_verdict(&it), "host-bound", "%s",
                     it.judged.verdict.sentence);
    cr_expect(strstr(judged_find(&it, "host")->suggestion, "with_stack"));
    judged_run_clear(&it);
}

Test(trace_verdict, communication)
{
    struct judged_run it = {0};
    const struct recipe how = {.reduce_us = 2000, .loader_us = 1500};
    make(&it, &how);
    cr_expect_str_eq(judged_verdict(&it), "communication", "%s",
                     it.judged.verdict.sentence);
    cr_expect_eq(judged_find(&it, "communication")->level, TP_SEVERITY_HIGH);
    judged_run_clear(&it);
}

/* A trace without a GPU blames the DataLoader where over half of a step is its,
 * or, where a fifth of it is not enough, what is outside of operators. */
Test(trace_verdict, cpu_only)
{
    static const double loader_us[] = {5500, 1800};
    for (int i = 0; i < 2; i++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int k = 0; k < STEPS; k++) {
            trace_maker_step_begin(&maker);
            trace_maker_loader(&maker, loader_us[i], false);
            trace_maker_item_on_host(&maker);
            trace_maker_python(&maker, 10000 - loader_us[i]);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        cr_expect_str_eq(judged_verdict(&it),
                         i == 0 ? "data loading" : "host-bound");
        cr_expect_eq(judged_find(&it, "dataloader") != NULL, i == 0);
        if (i == 0) {
            cr_expect_eq(judged_find(&it, "dataloader")->level,
                         TP_SEVERITY_HIGH);
            cr_expect(strstr(it.judged.verdict.sentence, "no GPU"), "%s",
                      it.judged.verdict.sentence);
        }
        cr_expect(judged_notes(&it, "device events"));
        judged_run_clear(&it);
    }
}

/* Without steps the verdict stands, and averages are unknown. */
Test(trace_verdict, no_steps)
{
    struct judged_run it = {0};
    const struct recipe how = {.loader_us = 8000, .no_steps = true};
    make(&it, &how);
    cr_expect_str_eq(judged_verdict(&it), "data loading");
    cr_expect(isnan(tp_trace_step_means(it.run.traces, 1).step_s));
    cr_expect(judged_notes(&it, "steps"));
    judged_run_clear(&it);
}

/* Backward has a thread of its own, with more operators than the one that
 * waits for the loader: the same events are the same verdict. */
Test(trace_verdict, no_steps_and_a_busy_backward_thread)
{
    struct tp_idle_row idle[2];
    for (int threads = 1; threads <= 2; threads++) {
        struct judged_run it = {0};
        const struct recipe how = {.loader_us = 8000,
                                   .tiny_ops = 100,
                                   .no_steps = true,
                                   .backward_thread = threads == 2};
        make(&it, &how);
        cr_expect_str_eq(judged_verdict(&it), "data loading", "%d: %s", threads,
                         it.judged.verdict.sentence);
        idle[threads - 1] = it.run.traces[0].idle;
        judged_run_clear(&it);
    }
    cr_expect(idle[0].dataloader > 0.4, "%g", idle[0].dataloader);
    cr_expect_eq(idle[1].dataloader, idle[0].dataloader);
    cr_expect_eq(idle[1].none, idle[0].none);
}

/* Memory of the host that is pinned in each step is no device memory, and the
 * allocator's cache no cure. */
Test(trace_verdict, pinned_memory)
{
    static const char *const calls[] = {"cudaHostAlloc", "cudaMalloc"};
    for (int device = 0; device <= 1; device++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < 5; i++) {
            trace_maker_step_begin(&maker);
            trace_maker_op(&maker, "aten::mm", 20, 3000);
            trace_maker_synchronize(&maker);
            trace_maker_call(&maker, calls[device], 2000);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *finding = judged_find(&it, "allocation");
        cr_expect_str_eq(judged_verdict(&it), "allocation");
        cr_assert_not_null(finding);
        cr_expect_eq(strstr(finding->suggestion, ".pin_memory()") != NULL,
                     !device, "%s", finding->suggestion);
        cr_expect_eq(strstr(finding->suggestion, "empty_cache()") != NULL,
                     device, "%s", finding->suggestion);
        judged_run_clear(&it);
    }
}

/* Every step takes memory from the driver, and no step is recorded: it goes on
 * through the whole trace, so it is no start-up. */
Test(trace_verdict, churn_without_steps)
{
    struct judged_run it = {0};
    const struct recipe how = {.driver_us = 2000, .no_steps = true};
    make(&it, &how);
    cr_expect_str_eq(judged_verdict(&it), "allocation", "%s",
                     it.judged.verdict.sentence);
    cr_expect_null(judged_find(&it, "cold_start"));
    cr_assert_not_null(judged_find(&it, "allocation"));
    cr_expect_eq(judged_find(&it, "allocation")->level, TP_SEVERITY_HIGH);
    judged_run_clear(&it);
    const struct recipe once = {.cold_us = 30000, .no_steps = true};
    make(&it, &once);
    cr_expect_str_eq(judged_verdict(&it), "cold start", "%s",
                     it.judged.verdict.sentence);
    cr_expect_null(judged_find(&it, "allocation"));
    cr_expect_not_null(judged_find(&it, "cold_start"));
    judged_run_clear(&it);
}

/* One process that drives two GPUs: said, since shares are of both. */
Test(trace_verdict, several_devices_are_said)
{
    for (int device = 0; device < 2; device++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        const struct recipe how = {.loader_us = 8000};
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++)
            make_step(&maker, &how, false);
        tp_text_add(&maker.json,
                    ",\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
                    "\"k\", \"pid\": %d, \"tid\": 7, \"ts\": 5, \"dur\": "
                    "9, \"args\": {\"device\": %d, \"stream\": 7}}",
                    device, device);
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        cr_expect_eq(judged_notes(&it, "several GPUs"), device == 1);
        judged_run_clear(&it);
    }
}

/* A step of zero length has no shares: it is left out, and that is said. */
Test(trace_verdict, empty_steps)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    const struct recipe how = {.loader_us = 8000};
    trace_maker_begin(&maker, -1, 0);
    tp_text_add(&maker.json,
                ",\n{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
                "\"ProfilerStep#99\", \"pid\": 4711, \"tid\": 4712, \"ts\": "
                "1, \"dur\": 0, \"args\": {}}");
    for (int i = 0; i < STEPS; i++)
        make_step(&maker, &how, false);
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    cr_expect_str_eq(judged_verdict(&it), "data loading");
    const struct tp_trace_means means = tp_trace_step_means(it.run.traces, 1);
    cr_expect_eq(means.all_steps, STEPS);
    cr_expect_float_eq(means.data_wait_s, 8000e-6, 1e-9);
    cr_expect(judged_notes(&it, "1 steps that last no time"));
    judged_run_clear(&it);
}

/* Shares of nothing are not known, and no text shows a NaN. */
Test(trace_verdict, window_without_length)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    trace_maker_op(&maker, "aten::mm", 20, 0);
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    cr_expect_str_eq(judged_verdict(&it), "unknown");
    cr_expect(!strstr(it.judged.verdict.sentence, "nan"), "%s",
              it.judged.verdict.sentence);
    cr_expect_eq(it.judged.findings.count, 0);
    judged_run_clear(&it);
}

/* One kernel fills the window that it spans: no word about being healthy. */
Test(trace_verdict, single_kernel)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    trace_maker_op(&maker, "aten::mm", 20, 400);
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    cr_expect_str_eq(judged_verdict(&it), "unknown", "%s",
                     it.judged.verdict.sentence);
    cr_expect(strstr(it.judged.verdict.sentence, "1 device event,"));
    cr_expect(judged_notes(&it, "not recorded: steps"));
    judged_run_clear(&it);
}

/* The mean is that of the five equal steps; the sixth writes a checkpoint. */
Test(trace_verdict, means_without_odd_steps)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    const struct recipe usual = {.kernel_us = 400};
    const struct recipe slow = {.kernel_us = 400, .python_us = 40000};
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++)
        make_step(&maker, i == 3 ? &slow : &usual, false);
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    const struct tp_trace_means means = tp_trace_step_means(it.run.traces, 1);
    cr_expect_eq(means.steps, STEPS - 1);
    cr_expect_eq(means.all_steps, STEPS);
    cr_expect(means.step_s > 4000e-6 && means.step_s < 4200e-6, "%.9f",
              means.step_s);
    judged_run_clear(&it);
    /* where half are slow, nobody knows which are odd */
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++)
        make_step(&maker, i % 2 ? &slow : &usual, false);
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    cr_expect_eq(tp_trace_step_means(it.run.traces, 1).steps, STEPS);
    judged_run_clear(&it);
}

/* A last step that the end of the recording cut is in no mean, also not in that
 * of all steps; a whole one is. */
Test(trace_verdict, means_without_cut_steps)
{
    const struct recipe usual = {.kernel_us = 400};
    double whole = 0;
    for (int cut = 0; cut < 2; cut++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++)
            make_step(&maker, &usual, false);
        if (cut) {
            trace_maker_step_begin(&maker);
            trace_maker_op(&maker, "aten::mm", 20, 10);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_means means =
            tp_trace_step_means(it.run.traces, 1);
        cr_expect_eq(means.steps, STEPS);
        cr_expect_eq(means.all_steps, STEPS + cut);
        cr_expect_eq(means.cut, cut);
        cr_expect_eq(means.warm_ups + means.odd, 0);
        cr_expect_float_eq(means.all_steps_s, means.step_s, 1e-12);
        cr_expect(!cut || fabs(means.all_steps_s - whole) < 1e-9, "%g",
                  means.all_steps_s);
        whole = means.all_steps_s;
        judged_run_clear(&it);
    }
}

/* Two thirds of the time the GPU copies batches: busy, but not healthy. */
Test(trace_verdict, copies)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        trace_maker_copy_in(&maker, 4000, false);
        for (int k = 0; k < 5; k++)
            trace_maker_op(&maker, "aten::mm", 20, 400);
        trace_maker_synchronize(&maker);
        trace_maker_step_end(&maker);
    }
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    cr_expect(it.run.traces[0].idle.busy > 0.9);
    cr_expect_str_eq(judged_verdict(&it), "copies", "%s",
                     it.judged.verdict.sentence);
    const struct tp_trace_finding *finding = judged_find(&it, "copies");
    cr_assert_not_null(finding);
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect_float_eq(finding->value, 100 * 2.0 / 3, 2);
    cr_expect(strstr(finding->suggestion, "next batch"));
    judged_run_clear(&it);
}

/* A sixth of a busy GPU's time is copies: to it, which another stream could
 * hide, or within it, which are its own work like its kernels. */
Test(trace_verdict, copies_within_the_device)
{
    for (int within = 0; within <= 1; within++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            trace_maker_copy_in(&maker, 800, false);
            for (int k = 0; k < 10; k++)
                trace_maker_op(&maker, "aten::mm", 20, 400);
            trace_maker_synchronize(&maker);
            trace_maker_step_end(&maker);
        }
        char *at = maker.json.data;
        while (within && (at = strstr(at, "HtoD (Pinned -> ")))
            memcpy(at, "DtoD (Device -> ", 16);
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        cr_expect(it.run.traces[0].idle.busy > 0.95);
        cr_expect_str_eq(judged_verdict(&it), within ? "GPU-bound" : "copies",
                         "%s", it.judged.verdict.sentence);
        const struct tp_trace_finding *finding = judged_find(&it, "copies");
        cr_assert_not_null(finding);
        cr_expect_eq(finding->level,
                     within ? TP_SEVERITY_MEDIUM : TP_SEVERITY_HIGH);
        cr_expect_float_eq(finding->value, 100 * 800. / 4800, 1);
        cr_expect(strstr(it.judged.verdict.sentence,
                         within ? "copies within its memory" : "busy 9"),
                  "%s", it.judged.verdict.sentence);
        judged_run_clear(&it);
    }
}

/* Of two findings of one severity the one that costs more comes first, though
 * the other is further above its limit. */
Test(trace_verdict, largest_loss_first)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        trace_maker_loader(&maker, 4500, true);
        trace_maker_copy_in(&maker, 1200, false); /* twice 5 %: 11 %  */
        for (int k = 0; k < 10; k++)
            trace_maker_op(&maker, "aten::mm", 20, 400);
        trace_maker_all_reduce(&maker, 1450);     /* 1.3 times 10 %   */
        trace_maker_synchronize(&maker);
        trace_maker_step_end(&maker);
    }
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    cr_expect_str_eq(judged_verdict(&it), "data loading");
    const struct tp_trace_finding *comm = judged_find(&it, "communication");
    const struct tp_trace_finding *copies = judged_find(&it, "copies");
    cr_assert(comm && copies);
    cr_expect(comm->won > copies->won && comm->excess < copies->excess);
    cr_expect_lt(comm, copies);
    judged_run_clear(&it);
}

/* A device whose profiler writes no correlation is no fault of the user's;
 * steps are then what they are on the host. */
Test(trace_verdict, device_without_correlation)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    const struct recipe how = {.kernel_us = 400};
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++)
        make_step(&maker, &how, false);
    char *at = maker.json.data;
    while ((at = strstr(at, "\"correlation\"")))
        memcpy(at, "\"kobbelation\"", 13);
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    const struct tp_trace_finding *finding = judged_find(&it, "incomplete");
    cr_assert_not_null(finding);
    cr_expect(strstr(finding->suggestion, "own names"), "%s",
              finding->suggestion);
    const struct tp_step_row *row = it.run.traces[0].steps.rows;
    cr_expect_float_eq(row->window_us, row->host_us, 1e-9);
    judged_run_clear(&it);
}

/* Of what a cut took away nobody knows whether it was recorded. */
Test(trace_verdict, cut_before_the_device)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < 5; i++)
        trace_maker_item_on_host(&maker);
    made_run_add(&it, &maker, "cut.json");
    it.run.traces[0].events.truncated_at = 1000;
    judged_run_finish(&it);
    cr_expect(judged_notes(&it, "not seen before the cut: device events"));
    cr_expect_str_eq(judged_verdict(&it), "unknown");
    cr_expect(!judged_notes(&it, "was off"));
    it.run.traces[0].events.truncated_at = -1;
    judged_run_finish(&it);
    cr_expect(judged_notes(&it, "CUDA was off"));
    cr_expect_str_eq(judged_verdict(&it), "CPU only");
    judged_run_clear(&it);
}

/* Most traces decide. */
Test(trace_verdict, several_traces)
{
    struct judged_run it = {0};
    static const struct recipe how[] = {
        {.loader_us = 8000}, {.kernel_us = 3000}, {.loader_us = 9000}};
    for (int rank = 2; rank >= 0; rank--) {
        struct trace_maker maker;
        trace_maker_begin(&maker, rank, 3);
        for (int i = 0; i < STEPS; i++)
            make_step(&maker, &how[rank], i == 0);
        made_run_add(&it, &maker, "made.json");
    }
    judged_run_finish(&it);
    cr_expect_str_eq(judged_verdict(&it), "data loading");
    cr_expect(strstr(it.judged.verdict.sentence, "2 of 3 traces"));
    cr_expect(strstr(it.judged.verdict.sentence,
                     "; the longest of these, rank 2: "));
    cr_expect_eq(it.run.traces[0].rank, 0);
    cr_expect_eq(it.judged.verdicts[1].verdict, TP_VERDICT_GPU_BOUND);
    cr_expect_eq(judged_find(&it, "dataloader")->rank, 2); /* the worst */
    judged_run_clear(&it);
}

/* Of all traces the longest is the longest. */
Test(trace_verdict, traces_that_agree)
{
    struct judged_run it = {0};
    static const struct recipe how = {.loader_us = 8000};
    for (int rank = 0; rank < 2; rank++) {
        struct trace_maker maker;
        trace_maker_begin(&maker, rank, 2);
        for (int i = 0; i < STEPS; i++)
            make_step(&maker, &how, i == 0);
        made_run_add(&it, &maker, "made.json");
    }
    judged_run_finish(&it);
    cr_expect(strstr(it.judged.verdict.sentence, "; the longest, rank "));
    judged_run_clear(&it);
}

/* A threshold moves a verdict. */
Test(trace_verdict, thresholds)
{
    struct tp_trace_limits limits = tp_trace_limits_default();
    struct tp_error err = {0};
    struct judged_run it = {0};
    const struct recipe how = {.loader_us = 8000};
    make(&it, &how);
    cr_expect_eq(tp_trace_limits_set(&limits, "dataloader=80", &err), TP_OK);
    judged_run_judge(&it, &limits);
    cr_expect_str_neq(judged_verdict(&it), "data loading");
    judged_run_clear(&it);
    static const char *const bad[] = {"dataloader",   "dataloader=",
                                      "dataloader=x", "dataloader=-1",
                                      "dataloade=1",  "dataloader=nan",
                                      "=1",           "dataloader=1x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(tp_trace_limits_set(&limits, bad[i], &err), TP_E_USAGE,
                     "%s", bad[i]);
    cr_expect_eq(limits.values[TP_TRACE_LOADER], 80);
}
