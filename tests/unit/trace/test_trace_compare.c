/* SPDX-License-Identifier: MIT */
/* Before and after: against what HTA's tests assert of its trace diff, and a
 * pair of real runs that differ in the DataLoader's workers. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/support/trace_files.h"
#include "trace/trace_compare.h"
#include "trace/trace_run.h"

/* What HTA calls an iteration: host events that start in a step, and device
 * events that their calls launched. The rest is made to be of no category. */
static void keep_step(struct tp_trace *trace, int64_t number)
{
    struct tp_events *events = &trace->events;
    struct tp_step step = {0};
    for (size_t i = 0; i < trace->index.step_count; i++) {
        if (trace->index.steps[i].number == number) {
            step = trace->index.steps[i];
        }
    }
    cr_assert_lt(step.from, step.to);
    for (uint32_t i = 0; i < events->count; i++) {
        const bool device = events->category[i] == TP_EVENT_KERNEL ||
                            events->category[i] == TP_EVENT_MEMCPY ||
                            events->category[i] == TP_EVENT_MEMSET;
        const uint32_t cause = device ? trace->index.call[i] : i;
        if (cause == TP_NO_EVENT || events->start[cause] < step.from ||
            events->start[cause] >= step.to) {
            events->category[i] = TP_EVENT_OTHER;
        }
    }
}

/* A run of one trace; of one of its steps, unless `step` is -1. */
static void read_run(const char *name, int64_t step, struct tp_trace_run *run)
{
    *run = (struct tp_trace_run){0};
    run->traces = calloc(1, sizeof *run->traces);
    cr_assert_not_null(run->traces);
    run->trace_count = run->trace_capacity = 1;
    trace_file_read(name, run->traces);
    if (step >= 0) {
        keep_step(run->traces, step);
    }
    tp_trace_index_clear(&run->traces->index);
    cr_assert_eq(tp_trace_analyse(run->traces, &run->arena, NULL), TP_OK);
}

static const struct tp_compare_row *find(const struct tp_compare_row *rows,
                                         size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(rows[i].name, name)) {
            return &rows[i];
        }
    }
    return NULL;
}

static size_t count_changes(const struct tp_compare_row *rows, size_t count,
                            const char *change)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found += !strcmp(rows[i].change, change);
    }
    return found;
}

static void expect_change(const struct tp_trace_comparison *comparison,
                          const char *name, const char *change)
{
    const struct tp_compare_row *row =
        find(comparison->ops.rows, comparison->ops.count, name);
    cr_assert_not_null(row, "%s", name);
    cr_expect_str_eq(row->change, change, "%s", name);
}

/* Step 6 of a run of four layers that reads its loss, and of one of three that
 * does not, by Python's Counter over the host events that start in it. */
Test(trace_compare, a_layer_and_a_read_less)
{
    struct tp_trace_run base, test;
    struct tp_trace_comparison comparison = {0};
    read_run("own/train.json.gz", 6, &base);
    read_run("own/busy.json.gz", 6, &test);
    cr_assert_eq(tp_trace_compare(&base, &test, &comparison, NULL), TP_OK);
    const struct tp_compare_row *ops = comparison.ops.rows;
    const size_t count = comparison.ops.count;
    cr_expect_eq(count, 21);
    cr_expect_eq(count_changes(ops, count, "unchanged"), 9);
    cr_expect_eq(count_changes(ops, count, "fewer"), 10);
    cr_expect_eq(count_changes(ops, count, "removed"), 2);
    expect_change(&comparison, "aten::item", "removed");
    expect_change(&comparison, "aten::_local_scalar_dense", "removed");
    cr_expect_eq(find(ops, count, "cudaLaunchKernel")->base_count, 13);
    cr_expect_eq(find(ops, count, "cudaLaunchKernel")->test_count, 10);
    cr_expect_eq(comparison.kernels.count, 11);
    cr_expect_eq(count_changes(comparison.kernels.rows, 11, "removed"), 1);
    tp_trace_comparison_clear(&comparison);
    tp_trace_run_clear(&base);
    tp_trace_run_clear(&test);
}

/* The wait for the loader falls from 23892 us in four steps to 817 in five,
 * the step from 26453 to 4890 us in all. */
Test(trace_compare, the_data_loader_is_faster)
{
    struct tp_trace_run base, test;
    struct tp_trace_comparison comparison = {0};
    read_run("own/loader.json.gz", -1, &base);
    read_run("own/train.json.gz", -1, &test);
    cr_assert_eq(tp_trace_compare(&base, &test, &comparison, NULL), TP_OK);
    cr_expect_str_eq(comparison.per, "step");
    cr_expect_eq(comparison.base_steps, 4);
    const struct tp_compare_step_row *step = comparison.steps.rows;
    cr_assert_str_eq(step[0].metric, "step");
    cr_expect_float_eq(step[0].base, 26453 / 4., 1e-6);
    cr_expect_float_eq(step[0].test, 4890 / 5., 1e-6);
    cr_assert_str_eq(step[2].metric, "data wait");
    cr_expect_float_eq(step[2].base, 23892 / 4., 1e-6);
    cr_expect_float_eq(step[2].test, 817 / 5., 1e-6);
    tp_trace_comparison_clear(&comparison);
    tp_trace_run_clear(&base);
    tp_trace_run_clear(&test);
}

/* HTA: CPU 5 unchanged, 3 added, 1 deleted; GPU 1 deleted. */
Test(trace_compare, changes_are_those_of_hta)
{
    struct tp_trace_run base, test;
    struct tp_trace_comparison comparison = {0};
    read_run("05_trace_compare/base/base.json.gz", 1010, &base);
    read_run("05_trace_compare/test/test.json.gz", 1010, &test);
    cr_assert_eq(tp_trace_compare(&base, &test, &comparison, NULL), TP_OK);
    const struct tp_compare_row *ops = comparison.ops.rows;
    const size_t count = comparison.ops.count;
    cr_expect_eq(count, 9);
    cr_expect_eq(count_changes(ops, count, "unchanged"), 5);
    cr_expect_eq(count_changes(ops, count, "added"), 3);
    cr_expect_eq(count_changes(ops, count, "removed"), 1);
    expect_change(&comparison, "AddmmBackward0", "added");
    expect_change(&comparison, "All2All_Pooled_Req", "added");
    expect_change(&comparison, "CatBackward0", "added");
    expect_change(&comparison, "nccl:all_reduce", "removed");
    /* asserted of base: count 1, total 67 and 4 */
    cr_expect_float_eq(find(ops, count, "nccl:all_reduce")->base_us, 67,
                       1e-9);
    cr_expect_float_eq(find(ops, count, "cudaLaunchKernel")->base_us, 4,
                       1e-9);
    cr_expect_float_eq(find(ops, count, "cudaEventQuery")->base_us, 4, 1e-9);
    cr_expect_eq(find(ops, count, "nccl:all_reduce")->base_count, 1);
    cr_expect_eq(find(ops, count, "cudaLaunchKernel")->base_count, 1);
    cr_expect_eq(find(ops, count, "cudaEventQuery")->base_count, 1);
    cr_assert_eq(comparison.kernels.count, 1);
    cr_expect_str_eq(comparison.kernels.rows[0].change, "removed");
    cr_expect_eq(base.traces[0].rank, 1);
    tp_trace_comparison_clear(&comparison);
    tp_trace_run_clear(&base);
    tp_trace_run_clear(&test);
}

/* 01 loads in the training process, 02 with four workers; the wait falls
 * from 69298.5 to 1420.3 us a step (expected/signals.txt). */
Test(trace_compare, the_data_loader_is_gone)
{
    static const char single[] =
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    static const char multi[] =
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
    struct tp_trace_run base, test;
    struct tp_trace_comparison comparison = {0};
    read_run("01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz", -1,
             &base);
    read_run("02_resnet50_nw4/worker0.1623212756351.pt.trace.json.gz", -1,
             &test);
    cr_assert_eq(tp_trace_compare(&base, &test, &comparison, NULL), TP_OK);
    cr_expect_str_eq(comparison.per, "step");
    cr_expect_eq(comparison.base_steps, 6);
    expect_change(&comparison, single, "removed");
    expect_change(&comparison, multi, "added");
    const struct tp_compare_row *kernel =
        find(comparison.kernels.rows, comparison.kernels.count,
             "Memcpy HtoD (Pageable -> Device)");
    cr_assert_not_null(kernel);
    cr_expect_str_eq(kernel->change, "unchanged");
    cr_expect_eq(kernel->base_count, 12);
    for (size_t i = 1; i < comparison.ops.count; i++) {
        const struct tp_compare_row *a = &comparison.ops.rows[i - 1];
        const struct tp_compare_row *b = &comparison.ops.rows[i];
        cr_expect_geq(fmax(fabs(a->change_us), fabs(a->change_device_us)),
                      fmax(fabs(b->change_us), fabs(b->change_device_us)));
    }
    const struct tp_compare_step_row *step = comparison.steps.rows;
    cr_assert_str_eq(step[0].metric, "step");
    cr_expect_float_eq(step[0].base, 174829.3, 0.1);
    cr_expect_float_eq(step[0].test, 139692.0, 0.1);
    cr_assert_str_eq(step[2].metric, "data wait");
    cr_expect_float_eq(step[2].base, 69298.5, 0.1);
    cr_expect_float_eq(step[2].test, 1420.3, 0.1);
    cr_expect_float_eq(step[2].change, 1420.3 - 69298.5, 0.2);
    tp_trace_comparison_clear(&comparison);
    tp_trace_run_clear(&base);
    tp_trace_run_clear(&test);
}

/* A row of one operator for each of `steps` steps. */
static void make_run(struct tp_trace_run *run, struct tp_trace *trace,
                     struct tp_step_row *steps, struct tp_op_row *op,
                     size_t step_count)
{
    for (size_t i = 0; i < step_count; i++) {
        steps[i] = (struct tp_step_row){.step = (int64_t)i, .host_us = 10};
    }
    *trace = (struct tp_trace){.steps = {steps, step_count, step_count},
                               .ops = {op, 1, 1}};
    *run = (struct tp_trace_run){.traces = trace, .trace_count = 1};
}

/* Runs of unequal length compare by the step: 10^15 in three steps are as
 * many as 3 x 10^15 in nine, and one more is more. */
Test(trace_compare, counts_are_compared_exactly_by_the_step)
{
    struct tp_step_row steps[2][9];
    struct tp_op_row base_op = {.name = "aten::mul", .device_type = "CPU"};
    struct tp_op_row test_op = base_op;
    struct tp_trace traces[2];
    struct tp_trace_run base, test;
    static const struct {
        int64_t test;
        const char *change;
    } cases[] = {{INT64_C(3000000000000000), "unchanged"},
                 {INT64_C(3000000000000001), "more"},
                 {INT64_C(2999999999999999), "fewer"},
                 {0, "removed"}};
    base_op.count = INT64_C(1000000000000000);
    base_op.self_cpu_us = 30;
    test_op.self_cpu_us = 45;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_trace_comparison comparison = {0};
        test_op.count = cases[i].test;
        make_run(&base, &traces[0], steps[0], &base_op, 3);
        make_run(&test, &traces[1], steps[1], &test_op, 9);
        cr_assert_eq(tp_trace_compare(&base, &test, &comparison, NULL),
                     TP_OK);
        cr_assert_eq(comparison.ops.count, 1);
        cr_expect_str_eq(comparison.ops.rows[0].change, cases[i].change);
        cr_expect_eq(comparison.ops.rows[0].base_us, 10);
        cr_expect_eq(comparison.ops.rows[0].test_us, 5);
        cr_expect_eq(comparison.ops.rows[0].change_us, -5);
        cr_expect_str_eq(comparison.ops.rows[0].sign, "-");
        tp_trace_comparison_clear(&comparison);
    }
}

/* Tables show every row, by the names of their columns. */
Test(trace_compare, tables)
{
    struct tp_step_row steps[2][9];
    struct tp_op_row op = {.name = "aten::mul", .device_type = "CPU",
                           .count = 6, .self_cuda_us = 6};
    struct tp_trace traces[2];
    struct tp_trace_run base, test;
    struct tp_trace_comparison comparison = {0};
    struct tp_table tables[TP_COMPARE_TABLES];
    make_run(&base, &traces[0], steps[0], &op, 3);
    make_run(&test, &traces[1], steps[1], &op, 6);
    cr_assert_eq(tp_trace_compare(&base, &test, &comparison, NULL), TP_OK);
    tp_trace_compare_tables(&comparison, tables);
    const struct tp_table *ops = &tables[TP_COMPARE_OPS];
    cr_assert_eq(ops->row_count, 1);
    const struct tp_column *change = tp_table_column(ops, "change");
    const struct tp_column *device =
        tp_table_column(ops, "change_self_cuda_us");
    cr_assert(change && device);
    cr_expect_str_eq(tp_cell_text(ops, 0, change), "fewer");
    cr_expect_eq(tp_cell_number(ops, 0, device), -1);
    cr_expect_eq(tables[TP_COMPARE_KERNELS].row_count, 0);
    cr_expect_gt(tables[TP_COMPARE_STEPS].row_count, 0);
    tp_trace_comparison_clear(&comparison);
}
