/* SPDX-License-Identifier: MIT */
/* Why a step takes longer, on pairs of traces that differ in one thing; all
 * changes together are that of the step. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/support/trace_files.h"
#include "trace/trace_compare_why.h"
#include "trace/trace_run.h"

enum { STEPS = 5 };

/* What a step is made of: a linear layer whose kernel hides `idle_us` less than
 * the host's gap behind it, an activation, a wait. */
struct recipe {
    const char *kernel, *dims;
    double kernel_us;
    double gap_us;  /* nothing recorded, between the two operators          */
    double late_us; /* the same, behind the second                          */
    int calls;      /* of the layer                                         */
    bool module;    /* it is in a module, with_stack=True                   */
    int nested;     /* 1: the operator is in one of its name, 2: beside
                       another one                                          */
    bool untyped;   /* types of inputs are not recorded                     */
};

static const struct recipe usual = {
    .kernel = "gemm_a", .dims = "[[32, 64], [64, 8]]", .kernel_us = 100,
    .gap_us = 200, .calls = 1};

struct writer {
    struct tp_text json;
    double host, gpu;
    int correlation;
};

static void event(struct writer *w, const char *category, const char *name,
                  double from, double to, const char *arguments)
{
    const bool gpu = !strcmp(category, "kernel");
    tp_text_add(&w->json,
                ",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,"
                "\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{%s}}",
                category, name, !gpu, gpu ? 7 : 1, from, to - from, arguments);
}

static const char clamp[] = "clamp";

/* An operator of 40 us in another one, with a kernel. */
static void operate(struct writer *w, const char *outer, const char *inner,
                    const struct recipe *how, const char *kernel)
{
    const bool is_layer = kernel != clamp;
    char arguments[200];
    const double from = w->host, start = fmax(w->gpu, from + 20);
    w->gpu = start + (is_layer ? how->kernel_us : 50);
    w->host += 40;
    snprintf(arguments, sizeof arguments,
             "\"Input Dims\": %s, \"Input type\": [%s]",
             is_layer ? how->dims : "[[1], [1]]",
             how->untyped ? "" : "\"float\", \"float\"");
    event(w, "cpu_op", outer, from, w->host, "");
    if (is_layer && how->nested)
        event(w, "cpu_op", inner, from + 1, w->host - 1, arguments);
    if (is_layer && how->nested == 2)
        event(w, "cpu_op", "aten::t", w->host - 2, w->host - 1, "");
    event(w, "cpu_op", inner, from + 2, w->host - 2, arguments);
    snprintf(arguments, sizeof arguments,
             "\"device\":0,\"stream\":7,\"correlation\":%d", ++w->correlation);
    event(w, "cuda_runtime", "cudaLaunchKernel", from + 10, from + 15,
          arguments);
    event(w, "kernel", kernel, start, w->gpu, arguments);
}

static void write_step(struct writer *w, const struct recipe *how, int step)
{
    char name[40];
    const double from = w->host;
    for (int i = 0; i < how->calls; i++) {
        const double begun = w->host;
        w->host += how->module; /* frames are around */
        operate(w, "aten::linear", "aten::addmm", how, how->kernel);
        if (how->module)
            event(w, "python_function", "nn.Module: Linear_0", begun, ++w->host,
                  "\"Python id\": 1");
    }
    w->host += how->gap_us;
    operate(w, "aten::relu", "aten::clamp_min", how, clamp);
    w->host += how->late_us;
    const double done = fmax(w->gpu, w->host) + 5;
    event(w, "cuda_runtime", "cudaDeviceSynchronize", w->host, done, "");
    w->host = done;
    snprintf(name, sizeof name, "ProfilerStep#%d", step);
    event(w, "user_annotation", name, from, w->host, "");
}

static void make_run(const struct recipe *how, struct tp_trace_run *run)
{
    struct writer w = {.host = 1000};
    struct tp_error err = {0};
    *run = (struct tp_trace_run){0};
    run->traces = calloc(1, sizeof *run->traces);
    cr_assert_not_null(run->traces);
    run->trace_count = run->trace_capacity = 1;
    tp_text_add(&w.json, "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"a\"}");
    for (int i = 0; i < STEPS; i++)
        write_step(&w, how, i);
    tp_text_add(&w.json, "]}");
    trace_text_read(tp_text_get(&w.json), run->traces);
    tp_trace_index_clear(&run->traces->index);
    run->traces->compared = true;
    cr_assert_eq(tp_trace_analyse(run->traces, &run->arena, &err), TP_OK);
    tp_text_clear(&w.json);
}

struct pair {
    struct tp_trace_run base, test;
    struct tp_trace_comparison comparison;
};

/* Compares, and adds up: rows to the change of the step, and to it itself. */
static const struct tp_why_row *compare(struct pair *pair,
                                        const struct recipe *base,
                                        const struct recipe *test)
{
    *pair = (struct pair){.comparison = {0}};
    make_run(base, &pair->base);
    make_run(test, &pair->test);
    struct tp_trace_comparison *comparison = &pair->comparison;
    cr_assert_eq(tp_trace_compare(&pair->base, &pair->test, comparison, NULL),
                 TP_OK);
    cr_assert_eq(
        tp_trace_compare_why(&pair->base, &pair->test, comparison, NULL),
        TP_OK);
    double change = 0;
    for (size_t i = 0; i < comparison->why.count; i++)
        change += comparison->why.rows[i].change_us;
    const struct tp_compare_step_row *step = comparison->steps.rows;
    cr_assert_str_eq(step->metric, "step");
    cr_expect_float_eq(comparison->why_base_us, step->base, 1e-6);
    cr_expect_float_eq(comparison->why_test_us, step->test, 1e-6);
    cr_expect_float_eq(change, step->change, 1e-6);
    cr_assert_gt(comparison->why.count, 0);
    return comparison->why.rows;
}

static void clear(struct pair *pair)
{
    tp_trace_comparison_clear(&pair->comparison);
    tp_trace_run_clear(&pair->base);
    tp_trace_run_clear(&pair->test);
}

/* What changed most is this, and by so much; nothing else by as much. */
static void expect(const struct tp_why_row *row, enum tp_spent what,
                   enum tp_why_change how, const char *path, double change_us)
{
    cr_expect_eq(row->what, (int)what, "%s", row->kind);
    cr_expect_eq(row->how, (int)how, "%s", row->change);
    cr_expect_str_eq(row->path, path);
    cr_expect_float_eq(row->change_us, change_us, 1e-6, "%g", row->change_us);
    cr_expect_lt(fabs(row[1].change_us), fabs(change_us));
}

Test(trace_compare_why, nothing_changed)
{
    struct pair pair;
    const struct tp_why_row *rows = compare(&pair, &usual, &usual);
    for (size_t i = 0; i < pair.comparison.why.count; i++) {
        cr_expect_str_eq(rows[i].change, "unchanged");
        cr_expect_eq(rows[i].change_us, 0);
    }
    /* steps are alike, and so are the parts of each */
    const struct tp_trace *trace = &pair.base.traces[0];
    for (size_t i = 0; i < trace->spent.count; i++) {
        const struct tp_spent_row *row = &trace->spent.rows[i];
        const double ns = (double)row->ns;
        cr_expect_float_eq(row->squares * (double)trace->spent_steps, ns * ns,
                           1e-6 * ns * ns + 1e-6, "%s", row->path);
    }
    clear(&pair);
}

/* 400 us longer, of which the gap behind it hid 80: the gap is filled. */
Test(trace_compare_why, a_kernel_is_slower)
{
    struct pair pair;
    struct recipe slow = usual;
    slow.kernel_us = 500;
    const struct tp_why_row *rows = compare(&pair, &usual, &slow);
    expect(rows, TP_SPENT_DEVICE, TP_WHY_SLOWER, "aten::linear > aten::addmm",
           400);
    cr_expect_str_eq(rows->test_name, "gemm_a");
    cr_expect_float_eq(rows->base_per_step, 1, 1e-12);
    clear(&pair);
}

Test(trace_compare_why, a_kernel_is_replaced)
{
    struct pair pair;
    struct recipe other = usual;
    other.kernel = "gemm_b";
    other.kernel_us = 500;
    const struct tp_why_row *rows = compare(&pair, &usual, &other);
    expect(rows, TP_SPENT_DEVICE, TP_WHY_REPLACED,
           "aten::linear > aten::addmm", 400);
    cr_expect_str_eq(rows->base_name, "gemm_a");
    cr_expect_str_eq(rows->test_name, "gemm_b");
    cr_expect_str_eq(rows->base_inputs, rows->test_inputs);
    clear(&pair);
}

Test(trace_compare_why, a_shape_changed)
{
    struct pair pair;
    struct recipe other = usual;
    other.dims = "[[64, 64], [64, 8]]";
    other.kernel_us = 500;
    const struct tp_why_row *rows = compare(&pair, &usual, &other);
    expect(rows, TP_SPENT_DEVICE, TP_WHY_RESHAPED,
           "aten::linear > aten::addmm", 400);
    cr_expect(strstr(rows->base_inputs, "[[32, 64], [64, 8]]"), "%s",
              rows->base_inputs);
    cr_expect(strstr(rows->test_inputs, "[[64, 64], [64, 8]]"), "%s",
              rows->test_inputs);
    cr_expect(strstr(rows->test_inputs, "float"));
    clear(&pair);
}

Test(trace_compare_why, it_runs_more_often)
{
    struct pair pair;
    struct recipe more = usual;
    more.calls = 5;
    const struct tp_why_row *rows = compare(&pair, &usual, &more);
    expect(rows, TP_SPENT_DEVICE, TP_WHY_MORE, "aten::linear > aten::addmm",
           400);
    cr_expect_float_eq(rows->test_per_step, 5, 1e-12);
    clear(&pair);
}

/* The GPU has 50 us to do when the new gap begins, 20 of them behind it. */
Test(trace_compare_why, one_more_gap)
{
    struct pair pair;
    struct recipe late = usual;
    late.late_us = 300;
    const struct tp_why_row *rows = compare(&pair, &usual, &late);
    cr_expect_eq(rows->what, (int)TP_SPENT_GAP, "%s", rows->kind);
    cr_expect_eq(rows->how, (int)TP_WHY_ADDED, "%s", rows->change);
    cr_expect_str_eq(rows->path, "aten::relu");
    cr_expect_str_eq(rows->test_name, "cudaDeviceSynchronize");
    cr_expect_float_eq(rows->change_us, 270, 1e-6, "%g", rows->change_us);
    clear(&pair);
}

/* A longer gap is the same gap. */
Test(trace_compare_why, a_longer_gap)
{
    struct pair pair;
    struct recipe longer = usual;
    longer.gap_us = 500;
    const struct tp_why_row *rows = compare(&pair, &usual, &longer);
    expect(rows, TP_SPENT_GAP, TP_WHY_SLOWER, "aten::linear", 300);
    cr_expect_str_eq(rows->test_name, "aten::relu");
    clear(&pair);
}

/* Modules are part of the place. */
Test(trace_compare_why, modules)
{
    struct pair pair;
    struct recipe base = usual, slow = usual;
    base.module = slow.module = true;
    slow.kernel_us = 500;
    const struct tp_why_row *rows = compare(&pair, &base, &slow);
    expect(rows, TP_SPENT_DEVICE, TP_WHY_SLOWER,
           "nn.Module: Linear_0 > aten::linear > aten::addmm", 400);
    clear(&pair);
}

/* An operator that is all there is in another of its name is that one, as in
 * compare/ops; one that is not has its own place. */
Test(trace_compare_why, an_operator_in_itself)
{
    for (int nested = 1; nested <= 2; nested++) {
        struct pair pair;
        struct recipe twice = usual;
        twice.nested = nested;
        const struct tp_why_row *rows = compare(&pair, &usual, &twice);
        bool moved = false;
        for (size_t i = 0; i < pair.comparison.why.count; i++) {
            moved |= !strcmp(rows[i].path,
                             "aten::linear > aten::addmm > aten::addmm");
            if (!strcmp(rows[i].path, "aten::linear > aten::addmm"))
                cr_expect(nested == 2 || rows[i].test_per_step == 1, "%g %s",
                          rows[i].test_per_step, rows[i].kind);
        }
        cr_expect_eq(moved, nested == 2);
        clear(&pair);
    }
}

/* Only shapes tell inputs apart where one run has no types. */
Test(trace_compare_why, types_that_one_run_lacks)
{
    for (int other = 0; other < 2; other++) {
        struct pair pair;
        struct recipe bare = usual;
        bare.kernel_us = 500;
        bare.dims = other ? "[[64, 64], [64, 8]]" : usual.dims;
        bare.untyped = true;
        const struct tp_why_row *rows = compare(&pair, &usual, &bare);
        expect(rows, TP_SPENT_DEVICE, other ? TP_WHY_RESHAPED : TP_WHY_SLOWER,
               "aten::linear > aten::addmm", 400);
        clear(&pair);
    }
}

/* Real traces: all moments of their steps, whatever is in them. */
Test(trace_compare_why, real_traces_add_up)
{
    static const char *const names[] = {
        "own/train.json.gz", "own/loader.json.gz", "own/busy.json.gz",
        "own/fractions.json.gz", "own/one_step.json.gz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct tp_trace_run runs[2] = {{.traces = NULL}};
        struct tp_trace_comparison comparison = {0};
        for (int k = 0; k < 2; k++) {
            runs[k].traces = calloc(1, sizeof *runs[k].traces);
            runs[k].trace_count = runs[k].trace_capacity = 1;
            trace_file_read(names[k ? i : 0], runs[k].traces);
            tp_trace_index_clear(&runs[k].traces->index);
            runs[k].traces->compared = true;
            cr_assert_eq(
                tp_trace_analyse(runs[k].traces, &runs[k].arena, NULL), TP_OK);
        }
        cr_assert_eq(
            tp_trace_compare(&runs[0], &runs[1], &comparison, NULL), TP_OK);
        cr_assert_eq(
            tp_trace_compare_why(&runs[0], &runs[1], &comparison, NULL),
            TP_OK);
        if (!isnan(comparison.steps.rows[0].test)) {
            cr_expect_float_eq(comparison.why_base_us,
                               comparison.steps.rows[0].base, 1e-6);
            cr_expect_float_eq(comparison.why_test_us,
                               comparison.steps.rows[0].test, 1e-6, "%s",
                               names[i]);
        }
        tp_trace_comparison_clear(&comparison);
        tp_trace_run_clear(&runs[0]);
        tp_trace_run_clear(&runs[1]);
    }
}
