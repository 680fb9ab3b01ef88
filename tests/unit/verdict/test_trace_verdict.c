/* SPDX-License-Identifier: MIT */
/*
 * What limits a run, on traces that are made so that it is known: each
 * scenario, its absence, and what must not be taken for it.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/trace/trace_reader.h"
#include "trace/trace_facts.h"
#include "trace/trace_run.h"
#include "tests/unit/support/trace_maker.h"
#include "verdict/trace_rules.h"
#include "verdict/trace_verdict.h"

enum { STEPS = 6 };

/* Adds the trace to the run, as tp_trace_collect does with a file. */
static void add_trace(struct tp_trace_run *run, struct trace_maker *maker,
                      const char *name)
{
    struct tp_error err = {0};
    struct tp_pool *pool;
    size_t size;
    const char *json = trace_maker_end(maker, &size);
    cr_assert_eq(tp_grow(&run->traces, &run->trace_capacity,
                         run->trace_count + 1, sizeof *run->traces, &err),
                 TP_OK);
    struct tp_trace *trace = &run->traces[run->trace_count++];
    *trace = (struct tp_trace){.path = name, .worker = "", .span = -1};
    cr_assert_eq(tp_pool_new(1, &pool, &err), TP_OK);
    cr_assert_eq(tp_trace_read_memory(json, size, pool, &trace->events, &err),
                 TP_OK, "%s", err.message);
    for (int r = 0; r < TP_REPAIRS; r++)
        cr_assert_eq(trace->events.repairs[r], 0, "%s", tp_repair_name(r));
    cr_assert_eq(tp_trace_analyse(trace, &run->arena, &err), TP_OK);
    tp_pool_free(pool);
    trace_maker_clear(maker);
}

static void finish(struct tp_trace_run *run)
{
    struct tp_error err = {0};
    run->limits = tp_trace_limits_default();
    cr_assert_eq(tp_trace_run_finish(run, &err), TP_OK, "%s", err.message);
}

static const struct tp_trace_finding *find(const struct tp_trace_run *run,
                                           const char *rule)
{
    for (size_t i = 0; i < run->findings.count; i++) {
        if (!strcmp(run->findings.rows[i].rule, rule))
            return &run->findings.rows[i];
    }
    return NULL;
}

static bool has_note(const struct tp_trace_run *run, const char *words)
{
    for (size_t i = 0; i < run->note_count; i++) {
        if (strstr(run->notes[i], words))
            return true;
    }
    return false;
}

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
    for (int i = 0; i < how->tiny_ops; i++)
        trace_maker_op(maker, "aten::sin", 15, 2);
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

static void make(struct tp_trace_run *run, const struct recipe *how)
{
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    maker.memory = how->memory;
    for (int i = 0; i < STEPS; i++)
        make_step(&maker, how, i == 0);
    trace_maker_synchronize(&maker); /* the profiler's own */
    add_trace(run, &maker, "made.json");
    finish(run);
}

/* Verdict, and no finding of a rule that should be quiet. */
static void expect(const struct tp_trace_run *run, const char *verdict,
                   const char *rules)
{
    cr_expect_str_eq(run->verdict.id, verdict, "%s, not %s: %s",
                     run->verdict.id, verdict, run->verdict.sentence);
    for (const struct tp_trace_rule *rule = tp_trace_rules; rule->id; rule++) {
        const bool wanted = strstr(rules, rule->id) != NULL;
        const struct tp_trace_finding *finding = find(run, rule->id);
        cr_expect_eq(finding != NULL, wanted, "%s: %s", rule->id,
                     finding ? finding->evidence : "missing");
    }
}

/* Two synchronisations a step and items of host tensors are no loss. */
Test(trace_verdict, healthy)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {
        .memory = true, .temporaries = 3, .temporary_us = 5};
    make(&run, &how);
    expect(&run, "GPU-bound", "sync");
    cr_expect_eq(find(&run, "sync")->level, TP_SEVERITY_LOW);
    cr_expect_eq(run.note_count, 0, "%s", run.note_count ? run.notes[0] : "");
    tp_trace_run_clear(&run);
}

/* 8 ms of 12 in the DataLoader: by construction two thirds of each step. */
Test(trace_verdict, dataloader)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {.loader_us = 8000, .pageable = true};
    make(&run, &how);
    expect(&run, "data loading", "dataloader sync");
    const struct tp_trace_finding *finding = find(&run, "dataloader");
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect(strstr(finding->suggestion, "num_workers is 0"));
    cr_expect(strstr(finding->suggestion, "pin_memory"));
    const struct tp_trace_means means =
        tp_trace_step_means(run.traces, run.trace_count);
    cr_expect_float_eq(means.data_wait_s, 8000e-6, 1e-9, "%.9f",
                       means.data_wait_s);
    cr_expect_eq(means.all_steps, STEPS);
    cr_expect(means.step_s > 4000e-6 && means.step_s < 4200e-6, "%.9f",
              means.step_s);
    cr_expect_float_eq(run.verdict.share,
                       8000.0 * STEPS / run.traces[0].idle.window_us, 1e-3);
    tp_trace_run_clear(&run);
}

/* With workers the advice is another; 0.7 ms a step are below 2 ms. */
Test(trace_verdict, dataloader_with_workers)
{
    struct tp_trace_run run = {0};
    const struct recipe slow = {.loader_us = 8000, .workers = true};
    make(&run, &slow);
    expect(&run, "data loading", "dataloader sync");
    cr_expect(!strstr(find(&run, "dataloader")->suggestion, "is 0"));
    cr_expect(!strstr(find(&run, "dataloader")->suggestion, "pin_memory"));
    tp_trace_run_clear(&run);
    const struct recipe quick = {.loader_us = 700, .workers = true};
    make(&run, &quick);
    expect(&run, "no single limit", "sync");
    tp_trace_run_clear(&run);
}

/* The GPU is done long before the host has read its number. */
Test(trace_verdict, sync)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {
        .items = 20, .item_latency_us = 100, .kernel_us = 100};
    make(&run, &how);
    expect(&run, "synchronisation", "sync");
    const struct tp_trace_finding *finding = find(&run, "sync");
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect(strstr(finding->suggestion, "every N steps"), "%s",
              finding->suggestion);
    /* 20 x 100 us of waking up in each step */
    cr_expect_float_eq(run.traces[0].idle.blocking,
                       20 * 100.0 * STEPS / run.traces[0].idle.window_us,
                       0.03, "%g", run.traces[0].idle.blocking);
    tp_trace_run_clear(&run);
}

/* The wait itself is short, but after it the GPU has nothing to do: no limit
 * by the verdict's rule, yet a finding. */
Test(trace_verdict, sync_and_refill)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {.items = 20,
                               .item_latency_us = 4,
                               .item_python_us = 30,
                               .kernel_us = 100};
    make(&run, &how);
    expect(&run, "no single limit", "sync");
    const struct tp_trace_finding *finding = find(&run, "sync");
    cr_expect_eq(finding->level, TP_SEVERITY_MEDIUM);
    cr_expect(finding->value > 20, "%g", finding->value);
    cr_expect(strstr(finding->suggestion, "every N steps"));
    tp_trace_run_clear(&run);
}

/* The same calls where the GPU is busy meanwhile cost nothing. */
Test(trace_verdict, sync_that_is_harmless)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {
        .items = 2, .item_latency_us = 5, .kernel_us = 2000};
    make(&run, &how);
    expect(&run, "GPU-bound", "sync");
    cr_expect_eq(find(&run, "sync")->level, TP_SEVERITY_LOW);
    cr_expect(strstr(find(&run, "sync")->suggestion, "leave them"));
    tp_trace_run_clear(&run);
}

Test(trace_verdict, tiny_ops)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {.tiny_ops = 600, .kernel_us = 100};
    make(&run, &how);
    expect(&run, "launch-bound", "launch");
    const struct tp_trace_finding *finding = find(&run, "launch");
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect(strstr(finding->evidence, "aten::sin"), "%s", finding->evidence);
    tp_trace_run_clear(&run);
}

/* Many tiny kernels behind large ones are never waited for. */
Test(trace_verdict, tiny_ops_that_are_hidden)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {.tiny_ops = 100, .kernel_us = 3000};
    make(&run, &how);
    expect(&run, "GPU-bound", "sync");
    tp_trace_run_clear(&run);
}

/* Temporaries from the cache: no driver call, yet the host pays. */
Test(trace_verdict, memory_churn)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {.temporaries = 200,
                               .temporary_us = 12,
                               .kernel_us = 100,
                               .memory = true};
    make(&run, &how);
    cr_expect_str_eq(run.verdict.id, "launch-bound");
    const struct tp_trace_finding *finding = find(&run, "churn");
    cr_assert_not_null(finding);
    cr_expect_eq(finding->level, TP_SEVERITY_MEDIUM);
    cr_expect(strstr(finding->evidence, "all from the allocator's cache"));
    cr_expect_null(find(&run, "allocation"));
    tp_trace_run_clear(&run);
}

/* Without [memory] events that is unknown, and said to be. */
Test(trace_verdict, memory_not_recorded)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {
        .temporaries = 200, .temporary_us = 12, .kernel_us = 100};
    make(&run, &how);
    cr_expect_null(find(&run, "churn"));
    cr_expect(has_note(&run, "memory events"));
    tp_trace_run_clear(&run);
}

Test(trace_verdict, driver_allocations)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {.driver_us = 2000, .memory = true};
    make(&run, &how);
    cr_expect_str_eq(run.verdict.id, "allocation", "%s",
                     run.verdict.sentence);
    const struct tp_trace_finding *finding = find(&run, "allocation");
    cr_assert_not_null(finding);
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect_eq(finding->value, STEPS);
    cr_expect(strstr(finding->evidence, "cudaMalloc"));
    tp_trace_run_clear(&run);
}

/* The first step only, which is then not steady. */
Test(trace_verdict, cold_start)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {.cold_us = 30000};
    make(&run, &how);
    cr_expect_str_eq(run.verdict.id, "cold start", "%s", run.verdict.sentence);
    cr_expect_null(find(&run, "allocation"));
    cr_expect_not_null(find(&run, "cold_start"));
    tp_trace_run_clear(&run);
}

Test(trace_verdict, host_bound)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {.python_us = 5000};
    make(&run, &how);
    expect(&run, "no single limit", ""); /* kernels cover 4 ms of it */
    tp_trace_run_clear(&run);
    const struct recipe slower = {.python_us = 12000};
    make(&run, &slower);
    cr_expect_str_eq(run.verdict.id, "host-bound", "%s", run.verdict.sentence);
    cr_expect(strstr(find(&run, "host")->suggestion, "with_stack"));
    tp_trace_run_clear(&run);
}

Test(trace_verdict, communication)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {.reduce_us = 2000, .loader_us = 1500};
    make(&run, &how);
    cr_expect_str_eq(run.verdict.id, "communication", "%s",
                     run.verdict.sentence);
    cr_expect_eq(find(&run, "communication")->level, TP_SEVERITY_HIGH);
    tp_trace_run_clear(&run);
}

/* A trace without a GPU blames none; the data wait is still known. */
Test(trace_verdict, cpu_only)
{
    struct tp_trace_run run = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        trace_maker_loader(&maker, 5000, false);
        trace_maker_item_on_host(&maker);
        trace_maker_python(&maker, 5000);
        trace_maker_step_end(&maker);
    }
    add_trace(&run, &maker, "made.json");
    finish(&run);
    expect(&run, "CPU only", "dataloader");
    cr_expect_neq(find(&run, "dataloader")->level, TP_SEVERITY_HIGH);
    cr_expect(has_note(&run, "device events"));
    tp_trace_run_clear(&run);
}

/* Without steps the verdict stands, and averages are unknown. */
Test(trace_verdict, no_steps)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {.loader_us = 8000, .no_steps = true};
    make(&run, &how);
    cr_expect_str_eq(run.verdict.id, "data loading");
    cr_expect(isnan(tp_trace_step_means(run.traces, 1).step_s));
    cr_expect(has_note(&run, "steps"));
    tp_trace_run_clear(&run);
}

/* Every step takes memory from the driver, and no step is recorded: it goes on
 * through the whole trace, so it is no start-up. */
Test(trace_verdict, churn_without_steps)
{
    struct tp_trace_run run = {0};
    const struct recipe how = {.driver_us = 2000, .no_steps = true};
    make(&run, &how);
    cr_expect_str_eq(run.verdict.id, "allocation", "%s", run.verdict.sentence);
    cr_expect_null(find(&run, "cold_start"));
    cr_assert_not_null(find(&run, "allocation"));
    cr_expect_eq(find(&run, "allocation")->level, TP_SEVERITY_HIGH);
    tp_trace_run_clear(&run);
    const struct recipe once = {.cold_us = 30000, .no_steps = true};
    make(&run, &once);
    cr_expect_str_eq(run.verdict.id, "cold start", "%s", run.verdict.sentence);
    cr_expect_null(find(&run, "allocation"));
    cr_expect_not_null(find(&run, "cold_start"));
    tp_trace_run_clear(&run);
}

/* One process that drives two GPUs: said, since shares are of both. */
Test(trace_verdict, several_devices_are_said)
{
    for (int device = 0; device < 2; device++) {
        struct tp_trace_run run = {0};
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
        add_trace(&run, &maker, "made.json");
        finish(&run);
        cr_expect_eq(has_note(&run, "several GPUs"), device == 1);
        tp_trace_run_clear(&run);
    }
}

/* A step of zero length has no shares: it is left out, and that is said. */
Test(trace_verdict, empty_steps)
{
    struct tp_trace_run run = {0};
    struct trace_maker maker;
    const struct recipe how = {.loader_us = 8000};
    trace_maker_begin(&maker, -1, 0);
    tp_text_add(&maker.json,
                ",\n{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
                "\"ProfilerStep#99\", \"pid\": 4711, \"tid\": 4712, \"ts\": "
                "1, \"dur\": 0, \"args\": {}}");
    for (int i = 0; i < STEPS; i++)
        make_step(&maker, &how, false);
    add_trace(&run, &maker, "made.json");
    finish(&run);
    cr_expect_str_eq(run.verdict.id, "data loading");
    const struct tp_trace_means means = tp_trace_step_means(run.traces, 1);
    cr_expect_eq(means.all_steps, STEPS);
    cr_expect_float_eq(means.data_wait_s, 8000e-6, 1e-9);
    cr_expect(has_note(&run, "1 steps that last no time"));
    tp_trace_run_clear(&run);
}

/* Shares of nothing are not known, and no text shows a NaN. */
Test(trace_verdict, window_without_length)
{
    struct tp_trace_run run = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    trace_maker_op(&maker, "aten::mm", 20, 0);
    add_trace(&run, &maker, "made.json");
    finish(&run);
    cr_expect_str_eq(run.verdict.id, "unknown");
    cr_expect(!strstr(run.verdict.sentence, "nan"), "%s",
              run.verdict.sentence);
    cr_expect_eq(run.findings.count, 0);
    tp_trace_run_clear(&run);
}

/* One kernel fills the window that it spans: no word about being healthy. */
Test(trace_verdict, single_kernel)
{
    struct tp_trace_run run = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    trace_maker_op(&maker, "aten::mm", 20, 400);
    add_trace(&run, &maker, "made.json");
    finish(&run);
    cr_expect_str_eq(run.verdict.id, "unknown", "%s", run.verdict.sentence);
    cr_expect(strstr(run.verdict.sentence, "1 device event,"));
    cr_expect(has_note(&run, "not recorded: steps"));
    tp_trace_run_clear(&run);
}

/* The mean is that of the five equal steps; the sixth writes a checkpoint. */
Test(trace_verdict, means_without_odd_steps)
{
    struct tp_trace_run run = {0};
    struct trace_maker maker;
    const struct recipe usual = {.kernel_us = 400};
    const struct recipe slow = {.kernel_us = 400, .python_us = 40000};
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++)
        make_step(&maker, i == 3 ? &slow : &usual, false);
    add_trace(&run, &maker, "made.json");
    finish(&run);
    const struct tp_trace_means means = tp_trace_step_means(run.traces, 1);
    cr_expect_eq(means.steps, STEPS - 1);
    cr_expect_eq(means.all_steps, STEPS);
    cr_expect(means.step_s > 4000e-6 && means.step_s < 4200e-6, "%.9f",
              means.step_s);
    tp_trace_run_clear(&run);
    /* where half are slow, nobody knows which are odd */
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++)
        make_step(&maker, i % 2 ? &slow : &usual, false);
    add_trace(&run, &maker, "made.json");
    finish(&run);
    cr_expect_eq(tp_trace_step_means(run.traces, 1).steps, STEPS);
    tp_trace_run_clear(&run);
}

/* Two thirds of the time the GPU copies batches: busy, but not healthy. */
Test(trace_verdict, copies)
{
    struct tp_trace_run run = {0};
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
    add_trace(&run, &maker, "made.json");
    finish(&run);
    cr_expect(run.traces[0].idle.busy > 0.9);
    cr_expect_str_eq(run.verdict.id, "copies", "%s", run.verdict.sentence);
    const struct tp_trace_finding *finding = find(&run, "copies");
    cr_assert_not_null(finding);
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect_float_eq(finding->value, 100 * 2.0 / 3, 2);
    cr_expect(strstr(finding->suggestion, "next batch"));
    tp_trace_run_clear(&run);
}

/* Results that are read through pageable memory: the advice is about reading,
 * and it is given once. */
Test(trace_verdict, copies_to_the_host)
{
    struct tp_trace_run run = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        for (int k = 0; k < 10; k++) {
            trace_maker_op(&maker, "aten::mm", 20, 300);
            trace_maker_copy_out(&maker, 10, 200);
        }
        trace_maker_step_end(&maker);
    }
    add_trace(&run, &maker, "made.json");
    finish(&run);
    cr_expect_str_eq(run.verdict.id, "synchronisation");
    cr_expect(run.traces[0].facts.to_host.copies == 10 * STEPS);
    cr_expect_eq(run.traces[0].facts.to_device.copies, 0);
    cr_expect(strstr(find(&run, "sync")->suggestion, "less often"));
    cr_expect_null(find(&run, "copies"));
    for (size_t i = 0; i < run.findings.count; i++)
        cr_expect(!strstr(run.findings.rows[i].suggestion, "pin_memory"), "%s",
                  run.findings.rows[i].suggestion);
    tp_trace_run_clear(&run);
}

/* A device whose profiler writes no correlation is no fault of the user's;
 * steps are then what they are on the host. */
Test(trace_verdict, device_without_correlation)
{
    struct tp_trace_run run = {0};
    struct trace_maker maker;
    const struct recipe how = {.kernel_us = 400};
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++)
        make_step(&maker, &how, false);
    char *at = maker.json.data;
    while ((at = strstr(at, "\"correlation\"")))
        memcpy(at, "\"kobbelation\"", 13);
    add_trace(&run, &maker, "made.json");
    finish(&run);
    const struct tp_trace_finding *finding = find(&run, "incomplete");
    cr_assert_not_null(finding);
    cr_expect(strstr(finding->suggestion, "own names"), "%s",
              finding->suggestion);
    const struct tp_step_row *row = run.traces[0].steps.rows;
    cr_expect_float_eq(row->window_us, row->host_us, 1e-9);
    tp_trace_run_clear(&run);
}

/* Of what a cut took away nobody knows whether it was recorded. */
Test(trace_verdict, cut_before_the_device)
{
    struct tp_trace_run run = {0};
    struct trace_maker maker;
    struct tp_error err = {0};
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < 5; i++)
        trace_maker_item_on_host(&maker);
    add_trace(&run, &maker, "cut.json");
    run.traces[0].events.truncated_at = 1000;
    finish(&run);
    cr_expect(has_note(&run, "not seen before the cut: device events"));
    cr_expect_str_eq(run.verdict.id, "unknown");
    cr_expect(!has_note(&run, "was off"));
    free(run.verdicts);
    run.verdicts = NULL;
    run.note_count = 0;
    run.traces[0].events.truncated_at = -1;
    run.findings.count = 0;
    run.ranks.count = 0;
    cr_assert_eq(tp_trace_run_finish(&run, &err), TP_OK);
    cr_expect(has_note(&run, "CUDA was off"));
    cr_expect_str_eq(run.verdict.id, "CPU only");
    tp_trace_run_clear(&run);
}

/* Most traces decide. */
Test(trace_verdict, several_traces)
{
    struct tp_trace_run run = {0};
    static const struct recipe how[] = {
        {.loader_us = 8000}, {.kernel_us = 3000}, {.loader_us = 9000}};
    for (int rank = 2; rank >= 0; rank--) {
        struct trace_maker maker;
        trace_maker_begin(&maker, rank, 3);
        for (int i = 0; i < STEPS; i++)
            make_step(&maker, &how[rank], i == 0);
        add_trace(&run, &maker, "made.json");
    }
    finish(&run);
    cr_expect_str_eq(run.verdict.id, "data loading");
    cr_expect(strstr(run.verdict.sentence, "2 of 3 traces"));
    cr_expect_eq(run.traces[0].rank, 0);
    cr_expect_str_eq(run.verdicts[1].id, "GPU-bound");
    cr_expect_eq(find(&run, "dataloader")->rank, 2); /* the worst */
    tp_trace_run_clear(&run);
}

/* A threshold moves a verdict. */
Test(trace_verdict, thresholds)
{
    struct tp_trace_limits limits = tp_trace_limits_default();
    struct tp_error err = {0};
    struct tp_trace_run run = {0};
    const struct recipe how = {.loader_us = 8000};
    make(&run, &how);
    cr_expect_eq(tp_trace_limits_set(&limits, "dataloader=80", &err), TP_OK);
    free(run.verdicts);
    run.limits = limits;
    cr_assert_eq(tp_trace_judge(&run, &err), TP_OK);
    cr_expect_str_neq(run.verdict.id, "data loading");
    tp_trace_run_clear(&run);
    static const char *const bad[] = {"dataloader",   "dataloader=",
                                      "dataloader=x", "dataloader=-1",
                                      "dataloade=1",  "dataloader=nan",
                                      "=1",           "dataloader=1x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(tp_trace_limits_set(&limits, bad[i], &err), TP_E_USAGE,
                     "%s", bad[i]);
    cr_expect_eq(limits.values[TP_TRACE_LOADER], 80);
}
