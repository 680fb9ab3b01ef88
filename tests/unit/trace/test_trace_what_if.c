/* SPDX-License-Identifier: MIT */
/*
 * What if: each answer against the step time of a second trace, made by the
 * same rules (trace_maker.h) with that time really gone; and real traces, which
 * have to take as long as recorded when nothing is changed.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/support/trace_files.h"
#include "tests/unit/support/trace_maker.h"
#include "trace/trace_lists.h"
#include "trace/trace_rows.h"
#include "trace/trace_what_if.h"

/* A step: eight products and eight additions, and what surrounds them. */
struct recipe {
    double mm_us, mm_kernel_us, add_us, add_kernel_us; /* of each          */
    double loader_us, python_us, item_us;
    bool item;
    bool pins; /* another thread pins each batch when it is there          */
};

static void make(const struct recipe *it, struct tp_trace *trace)
{
    struct trace_maker maker;
    size_t size;
    trace_maker_begin(&maker, -1, 0);
    for (int step = 0; step < 5; step++) {
        trace_maker_step_begin(&maker);
        if (it->loader_us > 0)
            trace_maker_loader(&maker, it->loader_us, true);
        if (it->pins) {
            maker.thread = 1;
            trace_maker_host_op(&maker, "aten::pin_memory", 20);
            maker.thread = 0;
        }
        for (int i = 0; i < 8; i++) {
            trace_maker_op(&maker, "aten::mm", it->mm_us, it->mm_kernel_us);
            trace_maker_python(&maker, it->python_us);
            trace_maker_op(&maker, "aten::add", it->add_us, it->add_kernel_us);
            if (it->item)
                trace_maker_item(&maker, it->item_us);
        }
        trace_maker_step_end(&maker);
    }
    trace_text_read(trace_maker_end(&maker, &size), trace);
    cr_assert_eq(tp_trace_steps(trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_paths(trace, NULL), TP_OK);
    trace_maker_clear(&maker);
}

static const struct tp_what_if_row *find(const struct tp_trace *trace,
                                         enum tp_what_if_change change,
                                         const char *name)
{
    for (size_t i = 0; i < trace->what_if.count; i++) {
        const struct tp_what_if_row *row = &trace->what_if.rows[i];
        if (row->changed == change && !strcmp(row->name, name))
            return row;
    }
    return NULL;
}

/* The recorded time of a step made so. */
static double step_of(const struct recipe *it)
{
    struct tp_trace trace;
    make(it, &trace);
    const struct tp_what_if_row *row = find(&trace, TP_WHAT_IF_NOTHING, "");
    cr_assert_not_null(row);
    cr_expect_float_eq(row->new_step_us, row->step_us, 1e-6);
    const double us = row->step_us;
    trace_file_close(&trace);
    return us;
}

/* What a change is said to leave of a step of `before` is what one of `after`
 * takes, within 2 %. */
static void expect(const struct recipe *before, enum tp_what_if_change change,
                   const char *name, const struct recipe *after)
{
    struct tp_trace trace;
    const double us = step_of(after);
    make(before, &trace);
    const struct tp_what_if_row *row = find(&trace, change, name);
    cr_assert(row, "no row of change %d", (int)change);
    cr_expect_float_eq(row->new_step_us, us, 0.02 * us,
                       "%s %s: %g us of %g, not %g", row->change, row->name,
                       row->new_step_us, row->step_us, us);
    cr_expect_float_eq(row->won_us, row->step_us - row->new_step_us, 1e-9);
    trace_file_close(&trace);
}

/* The host takes 8 x (200 + 50 + 100) us, the GPU 8 x 20. */
static const struct recipe host_bound = {.mm_us = 200,
                                         .mm_kernel_us = 10,
                                         .add_us = 100,
                                         .add_kernel_us = 10,
                                         .python_us = 50};

/* The GPU takes 8 x (400 + 100) us, the host 8 x 40. */
static const struct recipe gpu_bound = {
    .mm_us = 20, .mm_kernel_us = 400, .add_us = 20, .add_kernel_us = 100};

/* A thread that pins batches waits for the workers, too: without loading it
 * does not, and its other time stays. */
Test(trace_what_if, a_thread_that_pins_batches)
{
    struct recipe before = host_bound, after = host_bound;
    before.loader_us = 8000;
    before.pins = after.pins = true;
    expect(&before, TP_WHAT_IF_LOADER, "", &after);
    before.pins = after.pins = false;
    expect(&before, TP_WHAT_IF_LOADER, "", &after);
}

Test(trace_what_if, host_bound)
{
    struct recipe after = host_bound;
    after.mm_us = 100;
    after.mm_kernel_us = 5;
    expect(&host_bound, TP_WHAT_IF_OPERATOR, "aten::mm", &after);
    after = host_bound;
    after.python_us = 0;
    expect(&host_bound, TP_WHAT_IF_OUTSIDE, "", &after);
}

Test(trace_what_if, gpu_bound)
{
    struct recipe after = gpu_bound;
    after.mm_kernel_us = 200;
    expect(&gpu_bound, TP_WHAT_IF_OPERATOR, "aten::mm", &after);
    /* the host is hidden: nothing is won */
    expect(&gpu_bound, TP_WHAT_IF_OPS, "", &gpu_bound);
    expect(&gpu_bound, TP_WHAT_IF_HOST, "", &gpu_bound);
}

/* Kernels of 10 us behind operators of 100 us: nobody waits for them. */
Test(trace_what_if, what_is_hidden_wins_nothing)
{
    struct recipe before = host_bound, after;
    before.add_us = 10;
    before.add_kernel_us = 90;
    after = before;
    after.add_kernel_us = 45;
    after.add_us = 5;
    expect(&before, TP_WHAT_IF_OPERATOR, "aten::add", &after);
    /* 5 us each on the host, and the last kernel of five steps, is all */
    cr_expect_float_eq(step_of(&before) - step_of(&after), 8 * 5 + 45. / 5, 1);
}

Test(trace_what_if, loader)
{
    struct recipe before = host_bound;
    before.loader_us = 1500;
    expect(&before, TP_WHAT_IF_LOADER, "", &host_bound);
    /* behind a GPU that is busy for longer it costs nothing */
    before = gpu_bound;
    before.loader_us = 1500;
    expect(&before, TP_WHAT_IF_LOADER, "", &gpu_bound);
    /* of five steps only the first has nothing to hide it behind */
    cr_expect_float_eq(step_of(&before) - step_of(&gpu_bound), 1500 / 5, 1);
}

/* .item() behind each addition: the host waits for 400 us of kernels each, and
 * the GPU then for the host. */
Test(trace_what_if, blocking)
{
    struct recipe before = gpu_bound;
    struct tp_trace trace;
    before.item = true;
    before.item_us = 20;
    make(&before, &trace);
    const struct tp_what_if_row *row = find(&trace, TP_WHAT_IF_BLOCKING, "");
    cr_assert_not_null(row);
    /* copies of 2 us and the GPU's own time are left */
    cr_expect_float_eq(row->new_step_us, 8 * 502, 0.02 * 8 * 502, "%g of %g",
                       row->new_step_us, row->step_us);
    cr_expect(row->won > 0.05, "%g", row->won);
    trace_file_close(&trace);
    make(&gpu_bound, &trace);
    cr_expect_null(find(&trace, TP_WHAT_IF_BLOCKING, ""));
    cr_expect_null(find(&trace, TP_WHAT_IF_LOADER, ""));
    cr_expect_null(find(&trace, TP_WHAT_IF_COMMUNICATION, ""));
    trace_file_close(&trace);
}

/* Two threads by turns, as forward and backward pass: an operator of the second
 * that is faster makes the first go on sooner. Both wait 30 us to hand over. */
Test(trace_what_if, threads_wait_for_each_other)
{
    struct trace_maker maker;
    struct tp_trace trace;
    size_t size;
    trace_maker_begin(&maker, -1, 0);
    for (int step = 0; step < 3; step++) {
        trace_maker_step_begin(&maker);
        trace_maker_op(&maker, "aten::mm", 300, 10);
        trace_maker_python(&maker, 30);
        maker.thread++;
        trace_maker_op(&maker, "AddmmBackward0", 600, 10);
        maker.thread--;
        trace_maker_python(&maker, 30);
        trace_maker_op(&maker, "aten::add", 100, 10);
        trace_maker_step_end(&maker);
    }
    trace_text_read(trace_maker_end(&maker, &size), &trace);
    cr_assert_eq(tp_trace_steps(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_paths(&trace, NULL), TP_OK);
    const struct tp_what_if_row *row =
        find(&trace, TP_WHAT_IF_OPERATOR, "AddmmBackward0");
    cr_assert_not_null(row);
    cr_expect_float_eq(row->won_us, 300, 1, "%g", row->won_us);
    trace_maker_clear(&maker);
    trace_file_close(&trace);
}

/* Steps of operators with `python_us` after each, of which those of the
 * backward pass are on a thread of their own, or every second one is. */
enum threads { ONE, BACKWARD, EVERY_SECOND };
static void make_threads(enum threads threads, double python_us,
                         struct tp_trace *trace)
{
    struct trace_maker maker;
    size_t size;
    trace_maker_begin(&maker, -1, 0);
    for (int step = 0; step < 3; step++) {
        trace_maker_step_begin(&maker);
        for (int i = 0; i < 16; i++) {
            const bool backward = i >= 8;
            maker.thread = threads == BACKWARD       ? backward
                           : threads == EVERY_SECOND ? i % 2
                                                     : 0;
            trace_maker_op(&maker, backward ? "MmBackward0" : "aten::mm",
                           backward ? 150 : 100, 10);
            maker.thread = 0;
            trace_maker_python(&maker, python_us);
        }
        trace_maker_op(&maker, "aten::add_", 40, 10);
        trace_maker_step_end(&maker);
    }
    trace_text_read(trace_maker_end(&maker, &size), trace);
    cr_assert_eq(tp_trace_steps(trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_paths(trace, NULL), TP_OK);
    trace_maker_clear(&maker);
}

/* The same events win the same, on whichever threads: also where a thread
 * records little of what it does, or hands over at once. */
Test(trace_what_if, one_thread_or_two)
{
    static const double python_us[] = {0, 10, 50, 400};
    for (size_t i = 0; i < sizeof python_us / sizeof *python_us; i++) {
        struct tp_trace one, two;
        make_threads(ONE, python_us[i], &one);
        const struct tp_what_if_row *ops = find(&one, TP_WHAT_IF_OPS, "");
        cr_assert_not_null(ops);
        cr_expect(ops->won > 0.2, "%g", ops->won);
        for (enum threads t = BACKWARD; t <= EVERY_SECOND; t++) {
            make_threads(t, python_us[i], &two);
            cr_assert_eq(two.what_if.count, one.what_if.count);
            for (size_t k = 0; k < one.what_if.count; k++) {
                const struct tp_what_if_row *a = &one.what_if.rows[k];
                const struct tp_what_if_row *b =
                    find(&two, a->changed, a->name);
                cr_assert(b, "%s %s", a->change, a->name);
                cr_expect_float_eq(a->won, b->won, 0.01, "%g us, %d, %s %s: "
                                   "%g and %g", python_us[i], (int)t,
                                   a->change, a->name, a->won, b->won);
            }
            trace_file_close(&two);
        }
        trace_file_close(&one);
    }
}

/* Two threads that work at the same time, each on its own, do not wait for
 * each other: that the second one is faster wins nothing, and that it does
 * something as late as ever holds nobody up. */
Test(trace_what_if, threads_side_by_side)
{
    char text[65536];
    int length = snprintf(text, sizeof text, "{\"traceEvents\": [");
    for (int i = 0; i < 200; i++) {
        const bool second = i % 2;
        length += snprintf(
            text + length, sizeof text - (size_t)length,
            "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\","
            " \"pid\": 1, \"tid\": %d, \"ts\": %d, \"dur\": %d}",
            i ? "," : "", second ? "own" : "aten::mm", second ? 2 : 1,
            i / 2 * (second ? 130 : 150), second ? 60 : 100);
    }
    length += snprintf(
        text + length, sizeof text - (size_t)length,
        ",{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\":"
        " \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"ts\": 10,"
        " \"dur\": 5, \"args\": {\"correlation\": 1}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0,"
        " \"tid\": 7, \"ts\": 16, \"dur\": 5, \"args\": {\"stream\": 7,"
        " \"device\": 0, \"correlation\": 1}}]}");
    cr_assert_lt((size_t)length, sizeof text);
    struct tp_trace trace;
    trace_text_read(text, &trace);
    cr_assert_eq(tp_trace_steps(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_paths(&trace, NULL), TP_OK);
    const struct tp_what_if_row *row =
        find(&trace, TP_WHAT_IF_OPERATOR, "own");
    cr_assert_not_null(row);
    cr_expect_float_eq(row->won, 0, 1e-6, "%g", row->won);
    row = find(&trace, TP_WHAT_IF_OPERATOR, "aten::mm");
    cr_assert_not_null(row);
    cr_expect_float_eq(row->won_us, 100 * 50, 50, "%g", row->won_us);
    trace_file_close(&trace);
}

/* Of more steps than are played the one of median time is: the last of these,
 * a quarter faster, is as typical; ranks play the last one together. */
Test(trace_what_if, median_step)
{
    for (int rank = -1; rank <= 1; rank++) {
        struct trace_maker maker;
        struct tp_trace trace;
        size_t size;
        trace_maker_begin(&maker, rank, rank + 1);
        for (int step = 0; step < 5; step++) {
            trace_maker_step_begin(&maker);
            for (int i = 0; i < TP_WHAT_IF_EVENTS / 2; i++)
                trace_maker_op(&maker, "aten::mm", step < 4 ? 20 + step : 15,
                               5);
            trace_maker_step_end(&maker);
        }
        trace_text_read(trace_maker_end(&maker, &size), &trace);
        trace.alone = rank < 1;
        cr_assert_eq(tp_trace_steps(&trace, NULL), TP_OK);
        cr_assert_eq(tp_trace_paths(&trace, NULL), TP_OK);
        const struct tp_step_row *steps = trace.steps.rows;
        cr_assert_eq(trace.steps.count, 5);
        cr_assert(steps[4].typical);
        cr_expect_eq(trace.what_if.rows->steps, 1);
        cr_expect_eq(trace.what_if.rows->first_step,
                     steps[rank < 1 ? 1 : 4].step, "%d", rank);
        trace_maker_clear(&maker);
        trace_file_close(&trace);
    }
}

/* A launch whose call takes `call` us, after which the kernel begins once
 * `late` us have passed since the call began; and what is left of the 11 ms
 * with a change, us. NaN: nobody asks. A kernel of this name was launched
 * before if it is "k". */
static double without(enum tp_what_if_change change, const char *kernel,
                      int call, int late)
{
    char text[2048];
    struct tp_trace trace;
    const int length = snprintf(
        text, sizeof text,
        "{\"traceEvents\": ["
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\","
        " \"pid\": 1, \"tid\": 1, \"ts\": 0, \"dur\": 10500},"
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\":"
        " \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"ts\": 100,"
        " \"dur\": 5, \"args\": {\"correlation\": 1}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0,"
        " \"tid\": 7, \"ts\": 106, \"dur\": 50, \"args\": {\"stream\": 7,"
        " \"device\": 0, \"correlation\": 1}},"
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\":"
        " \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"ts\": 200,"
        " \"dur\": %d, \"args\": {\"correlation\": 2}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0,"
        " \"tid\": 7, \"ts\": %d, \"dur\": %d, \"args\": {\"stream\": 7,"
        " \"device\": 0, \"correlation\": 2}}]}",
        call, kernel, 200 + late, 10800 - late);
    cr_assert_lt((size_t)length, sizeof text);
    trace_text_read(text, &trace);
    cr_assert_eq(tp_trace_steps(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_paths(&trace, NULL), TP_OK);
    const struct tp_what_if_row *row = find(&trace, TP_WHAT_IF_NOTHING, "");
    cr_assert_not_null(row);
    cr_expect_float_eq(row->new_step_us, row->step_us, 1e-6);
    row = find(&trace, change, "");
    const double left = row ? row->new_step_us : (double)NAN;
    trace_file_close(&trace);
    return left;
}

/* A launch takes 10 ms: its kernel, of 800 us, begins before the call returns,
 * or soon after. One that begins as late after a call of 5 us is not late for
 * the call. */
Test(trace_what_if, a_slow_launch)
{
    const enum tp_what_if_change launch = TP_WHAT_IF_LAUNCH;
    cr_expect_float_eq(without(launch, "k", 10000, 9990), 200 + 810, 15);
    cr_expect_float_eq(without(launch, "k", 10000, 10004), 200 + 796 + 4, 15);
    cr_expect_float_eq(without(launch, "k", 5, 9990), 11000, 15);
    cr_expect(isnan(without(TP_WHAT_IF_LOAD, "k", 10000, 9990)));
}

/* The same of a kernel that is new loads code: no launch that goes on. */
Test(trace_what_if, a_launch_that_loads_code)
{
    const enum tp_what_if_change load = TP_WHAT_IF_LOAD;
    cr_expect_float_eq(without(load, "new", 10000, 9990), 200 + 810, 15);
    cr_expect_float_eq(without(load, "new", 10000, 10004), 200 + 796 + 4, 15);
    cr_expect(isnan(without(load, "new", 5, 9990)));
    /* the other launch is one */
    const double left = without(TP_WHAT_IF_LAUNCH, "new", 10000, 9990);
    cr_expect(isnan(left) || left > 10900, "%g", left);
}

/* Of real traces every node is where it was. */
Test(trace_what_if, unchanged_replays_take_as_long_as_recorded)
{
    static const char *const files[] = {
        "01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz",
        "06_nccl_data/nccl_data.json.gz",
        "08_ns_resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
        "09_negative_queue/rank0.json.gz",
        "12_mi250_minitoy/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
        "19_b200_eager/eager_trace.json.gz"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct tp_trace trace;
        trace_file_read(files[i], &trace);
        cr_assert_eq(tp_trace_steps(&trace, NULL), TP_OK);
        cr_assert_eq(tp_trace_paths(&trace, NULL), TP_OK);
        const struct tp_what_if_row *row = find(&trace, TP_WHAT_IF_NOTHING, "");
        cr_assert(row, "%s", files[i]);
        cr_expect(row->step_us > 0, "%s", files[i]);
        cr_expect_float_eq(row->won, 0, 1e-6, "%s: %g", files[i], row->won);
        trace_file_close(&trace);
    }
}
