/* SPDX-License-Identifier: MIT */
/*
 * Figures of traces whose times are known: what is stacked in which order,
 * what a legend names, and that an idle device is a value of the scale.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/memory.h"
#include "figures/figures.h"
#include "figures/trace_fig.h"
#include "figures/trace_figures.h"
#include "formats/trace/trace_reader.h"
#include "tests/unit/support/trace_maker.h"
#include "trace/trace_flops.h"
#include "trace/trace_join.h"
#include "trace/trace_run.h"

enum { STEPS = 4 };

/* 2 ms of DataLoader, 1 ms of work and 1 ms of Python in each step. */
static void add_trace(struct tp_trace_run *run, int rank)
{
    struct tp_error err = {0};
    struct tp_pool *pool;
    struct trace_maker maker;
    size_t size;
    trace_maker_begin(&maker, rank, 3);
    maker.memory = true;
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        trace_maker_loader(&maker, 2000, true);
        trace_maker_allocate(&maker, 3 << 20, 5, 0);
        trace_maker_op(&maker, "aten::mm", 20, 1000);
        trace_maker_python(&maker, 2000);
        trace_maker_free(&maker, 3 << 20);
        trace_maker_step_end(&maker);
    }
    const char *json = trace_maker_end(&maker, &size);
    cr_assert_eq(tp_grow(&run->traces, &run->trace_capacity,
                         run->trace_count + 1, sizeof *run->traces, &err),
                 TP_OK);
    struct tp_trace *trace = &run->traces[run->trace_count++];
    *trace = (struct tp_trace){.path = "made.json", .worker = "", .span = -1};
    cr_assert_eq(tp_pool_new(1, &pool, &err), TP_OK);
    cr_assert_eq(tp_trace_read_memory(json, size, pool, &trace->events, &err),
                 TP_OK);
    cr_assert_eq(tp_trace_analyse(trace, &run->arena, &err), TP_OK);
    tp_pool_free(pool);
    trace_maker_clear(&maker);
}

static const struct tp_figure *find(const struct tp_figure_set *set,
                                    const char *id)
{
    size_t i = 0;
    while (i < set->count && strcmp(set->figures[i].id, id))
        i++;
    cr_assert_lt(i, set->count, "no figure %s", id);
    return &set->figures[i];
}

static void build(struct tp_trace_run *run, int traces,
                  struct tp_figure_set *set)
{
    struct tp_error err = {0};
    for (int rank = 0; rank < traces; rank++)
        add_trace(run, rank);
    tp_trace_run_sort(run);
    cr_assert_eq(tp_trace_figures_build(run, set, &err), TP_OK);
    for (size_t i = 0; i < set->count; i++)
        cr_expect_eq(tp_figure_check(&set->figures[i], &err), TP_OK, "%s",
                     err.message);
}

static void clear(struct tp_trace_run *run, struct tp_figure_set *set)
{
    tp_figure_set_clear(set);
    tp_trace_run_clear(run);
}

/* Causes stand in the order in which they are charged, end at 100 %, and what
 * never happens has no entry. */
Test(trace_figures, idle_causes)
{
    static const char *const names[] = {"device busy", "DataLoader",
                                        "launch calls",
                                        "operators on the host",
                                        "nothing recorded but Python"};
    enum { COUNT = sizeof names / sizeof *names };
    struct tp_trace_run run = {0};
    struct tp_figure_set set;
    build(&run, 1, &set);
    const struct tp_panel *panel = find(&set, "idle_causes")->panels;
    cr_assert_eq(panel->series_count, COUNT);
    double end = 0;
    for (size_t k = 0; k < COUNT; k++) {
        const struct tp_panel_series *series = &panel->series[k];
        cr_expect_str_eq(series->name, names[k]);
        cr_assert_eq(series->rows, 1);
        cr_expect_float_eq(series->values[1], end, 1e-9);
        end = series->values[2];
        cr_expect(k == 0 || series->colour > panel->series[k - 1].colour);
    }
    cr_expect_float_eq(end, 100, 1e-9);
    /* 2 of a little more than 4 ms */
    cr_expect_float_eq(panel->series[1].values[2] - panel->series[1].values[1],
                       49.5, 1);
    clear(&run, &set);
}

/* Three traces are rows of a map; the DataLoader's time is idle, which is the
 * lower end of the scale and not the white of nothing. */
Test(trace_figures, utilisation_map)
{
    struct tp_trace_run run = {0};
    struct tp_figure_set set;
    build(&run, 3, &set);
    const struct tp_figure *figure = find(&set, "utilisation");
    cr_assert_eq(figure->panel_count, 1);
    cr_expect(!strstr(figure->caption, "queue"));
    cr_expect_eq(figure->panels->palette, TP_PALETTE_BUSY);
    size_t idle = 0;
    for (size_t i = 0; i < figure->panels->series[0].rows; i++)
        idle += figure->panels->series[0].values[3 * i + 2] == 0;
    cr_expect(idle > 0);
    clear(&run, &set);
}

/* 3 MiB are drawn as such, and hold until the next event. */
Test(trace_figures, memory)
{
    struct tp_trace_run run = {0};
    struct tp_figure_set set;
    build(&run, 1, &set);
    const struct tp_panel *panel = find(&set, "memory")->panels;
    cr_expect_eq(panel->kind, TP_PANEL_STEPS);
    cr_expect_str_eq(panel->y.label, "memory [GiB]"); /* reserved: 4e9 */
    cr_assert_eq(panel->series_count, 2);
    cr_expect_float_eq(panel->series[1].values[1], 4e9 / (1 << 30), 1e-9);
    cr_expect_float_eq(panel->series[0].values[1], 3.0 / 1024, 1e-9);
    panel = find(&set, "memory_peaks")->panels; /* the same 3 MiB */
    cr_assert_not_null(panel);
    cr_expect_eq(panel->kind, TP_PANEL_STACKS);
    const struct tp_panel_series *last =
        &panel->series[panel->series_count - 1];
    cr_expect_float_eq(last->values[2], 3, 1e-9, "%g", last->values[2]);
    clear(&run, &set);
}

static const struct tp_panel_series *find_series(const struct tp_panel *panel,
                                                 const char *name)
{
    for (size_t s = 0; s < panel->series_count; s++) {
        if (!strcmp(panel->series[s].name, name))
            return &panel->series[s];
    }
    return NULL;
}

/* What is above its roof has a point of its own also where it takes next to no
 * time, and hides in no kind of work; other short work has none. Communication
 * has no roof. */
Test(trace_figures, roofline)
{
    struct tp_trace_run run = {0};
    struct tp_figure_set set;
    struct tp_error err = {0};
    struct tp_roof_row rows[] = {
        {.op = "aten::add", .kernel = "k", .device_us = 1e4, .roof_us = 9e3,
         .doubt = "", .what = TP_WORK_POINTWISE},
        {.op = "record_param_comms", .kernel = "ncclKernel_AllReduce_RING_LL",
         .device_us = 5e3, .doubt = "", .what = TP_WORK_OTHER},
        {.op = "aten::mul", .kernel = "k", .device_us = 20, .roof_us = 40,
         .doubt = "cache", .what = TP_WORK_POINTWISE},
        {.op = "aten::sub", .kernel = "k", .device_us = 10, .roof_us = 2,
         .doubt = "", .what = TP_WORK_POINTWISE}};
    add_trace(&run, 0);
    tp_trace_run_sort(&run);
    for (size_t i = 0; i < 4; i++) {
        rows[i].count = 1;
        rows[i].precision = "fp32";
        rows[i].intensity = rows[i].tflops = i == 1 ? 0 : 0.25;
    }
    struct tp_trace *trace = &run.traces[0];
    struct tp_roof_row *kept = trace->roofline.rows;
    const size_t count = trace->roofline.count;
    trace->roofline.rows = rows;
    trace->roofline.count = 4;
    trace->device = (struct tp_device_roof){
        .name = "made", .vector_tflops = 50, .gbps = 2000};
    trace->device.tflops[TP_PRECISION_FP32] = 50;
    cr_assert_eq(tp_trace_figures_build(&run, &set, &err), TP_OK);
    const struct tp_figure *figure = find(&set, "roofline");
    cr_assert_eq(figure->panel_count, 2);
    const struct tp_panel *points = &figure->panels[0];
    cr_assert_eq(points->series_count, 3); /* one roof, as both are 50 */
    cr_assert_not_null(find_series(points, "pointwise"));
    cr_expect_eq(find_series(points, "pointwise")->rows, 1);
    cr_assert_not_null(find_series(points, "above 105 % of its roof"));
    cr_expect_eq(find_series(points, "above 105 % of its roof")->rows, 1);
    /* bends where 2 TB/s are 50 TFLOP/s */
    cr_expect_float_eq(points->series[0].values[2], 25, 1e-9);
    cr_expect_float_eq(points->series[0].values[3], 50, 1e-9);
    const struct tp_panel *bars = &figure->panels[1];
    cr_assert_eq(bars->y.tic_count, 1);
    cr_expect_str_eq(bars->y.tics[0].text, "aten::add");
    trace->roofline.rows = kept;
    trace->roofline.count = count;
    clear(&run, &set);
}

/* Panels of one figure have one axis, and say which steps were replayed. */
Test(trace_figures, what_if)
{
    struct tp_trace_run run = {0};
    struct tp_figure_set set;
    build(&run, 3, &set);
    const struct tp_figure *figure = find(&set, "what_if");
    cr_assert_eq(figure->panel_count, 3);
    for (size_t p = 0; p < 3; p++) {
        const struct tp_panel *panel = &figure->panels[p];
        cr_expect(strstr(panel->title, ": 4 steps from "), "%s", panel->title);
        cr_expect_str_eq(panel->y.tics[0].text, "DataLoader");
        cr_expect(panel->x.limited);
        cr_expect_eq(panel->x.max, figure->panels[0].x.max);
        cr_expect(panel->series[0].values[1] <= panel->x.max);
    }
    clear(&run, &set);
}

/* Names in 40 bytes: a copy keeps its ends, a range what it is of, a function
 * loses its arguments; those that would look alike show where they part. */
Test(trace_figures, short_names)
{
    static const char *const names[][2] = {
        {"Memcpy HtoD (Pageable -> Device), 4 bytes", NULL},
        {"Memcpy HtoD (A very long kind of memory -> Device)", NULL},
        {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
         "enumerate(DataLoader)#_Mul...oaderIter.__next__"},
        {"void at::native::(anonymous namespace)::some_kernel<float>(float*)",
         "some_kernel<float>"},
        {"aten::mm", "aten::mm"}};
    struct tp_arena arena = {0};
    struct tp_fig fig = {.arena = &arena};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t most = i == 2 ? 47 : 40;
        const char *name = tp_trace_short_name(&fig, names[i][0], most);
        cr_expect_leq(strlen(name), most);
        if (names[i][1])
            cr_expect_str_eq(name, names[i][1]);
        else
            cr_expect(!strncmp(name, "Memcpy HtoD (", 13), "%s", name);
    }
    static const char *const alike[] = {
        "void at::native::vectorized_elementwise_kernel<4, "
        "at::native::AddFunctor<float>, at::detail::Array<char*, 3> >(int)",
        "void at::native::vectorized_elementwise_kernel<4, "
        "at::native::MulFunctor<float>, at::detail::Array<char*, 3> >(int)",
        "void at::native::vectorized_elementwise_kernel<4, "
        "at::native::AbsFunctor<float>, at::detail::Array<char*, 3> >(int)",
        "aten::mm"};
    const char *made[4];
    tp_trace_short_names(&fig, alike, 4, 40, made);
    cr_expect(strstr(made[0], "AddFunctor"), "%s", made[0]);
    cr_expect(strstr(made[1], "MulFunctor"), "%s", made[1]);
    cr_expect(strstr(made[2], "AbsFunctor"), "%s", made[2]);
    cr_expect_str_eq(made[3], "aten::mm");
    for (int i = 0; i < 3; i++)
        cr_expect_leq(strlen(made[i]), 40, "%s", made[i]);
    tp_arena_clear(&arena);
}

/* Kernels of one template differ at the end of their names, not at the
 * beginning; arguments are left out. */
Test(trace_figures, kernel_names)
{
    struct tp_trace_run run = {0};
    struct tp_figure_set set;
    struct tp_error err = {0};
    struct tp_kernel_row rows[] = {
        {.name = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x128_"
                 "16x3_nt_align1>(cutlass_80_tensorop::Params)",
         .kind = "compute", .count = 1, .total_us = 2000},
        {.name = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x128_"
                 "32x3_tn_align1>(cutlass_80_tensorop::Params)",
         .kind = "compute", .count = 1, .total_us = 1000}};
    add_trace(&run, 0);
    tp_trace_run_sort(&run);
    struct tp_trace *trace = &run.traces[0];
    struct tp_kernel_row *kept = trace->kernels.rows;
    const size_t count = trace->kernels.count;
    trace->kernels.rows = rows;
    trace->kernels.count = 2;
    cr_assert_eq(tp_trace_figures_build(&run, &set, &err), TP_OK);
    const struct tp_panel *panel = find(&set, "top_kernels")->panels;
    cr_assert_eq(panel->y.tic_count, 2);
    cr_expect_str_eq(panel->y.tics[0].text,
                     "Kernel<cutlass_80_ten..._16x3_nt_align1>");
    cr_expect_str_eq(panel->y.tics[1].text,
                     "Kernel<cutlass_80_ten..._32x3_tn_align1>");
    trace->kernels.rows = kept;
    trace->kernels.count = count;
    clear(&run, &set);
}
