/* SPDX-License-Identifier: MIT */
/* The tree of places: by hand; of traces, sums against those by name, which
 * torch's key_averages has, and places that a program in Python over the
 * events of the JSON adds up. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "tests/unit/support/trace_files.h"
#include "trace/trace_rows.h"

#define HOST(cat, name, tid, ts, dur)                                    \
    "{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"" name            \
    "\", \"pid\": 1, \"tid\": " #tid ", \"ts\": " #ts ", \"dur\": " #dur \
    ", \"args\": {}},"
#define CALL(ts, dur, id)                                                   \
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunch\", " \
    "\"pid\": 1, \"tid\": 1, \"ts\": " #ts ", \"dur\": " #dur               \
    ", \"args\": {\"correlation\": " #id "}},"
#define KERNEL(name, ts, dur, id)                                 \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name      \
    "\", \"pid\": 0, \"tid\": 7, \"ts\": " #ts ", \"dur\": " #dur \
    ", \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": " #id "}}"

/* Two steps of a module with an operator in an operator; a kernel that is
 * called as the operator; one that nothing launched. */
static const char json[] =
    "{\"traceEvents\": [" HOST("user_annotation", "ProfilerStep#0", 1, 0, 100)
        HOST("python_function", "nn.Module: Net_0", 1, 10, 60)
            HOST("cpu_op", "a", 1, 20, 40) HOST("cpu_op", "b", 1, 25, 30) CALL(
                30, 5, 1) HOST("user_annotation", "ProfilerStep#1", 1, 100, 100)
                HOST("python_function", "nn.Module: Net_0", 1, 110, 60)
                    HOST("cpu_op", "a", 1, 120, 40) CALL(125, 5, 2)
                        HOST("cpu_op", "a", 1, 180, 10)
                            KERNEL("b", 200, 7, 1) "," KERNEL(
                                "a", 210, 20, 2) "," KERNEL("ncclDevKernel_X",
                                                            240, 3, 9) "]}";

static void expect(const struct tp_trace *trace, size_t i,
                   const struct tp_tree_row *wanted)
{
    cr_assert_lt(i, trace->tree.count);
    const struct tp_tree_row *row = &trace->tree.rows[i];
    cr_expect_eq(row->place, (int64_t)i);
    cr_expect_eq(row->around, wanted->around, "%zu", i);
    cr_expect_eq(row->depth, wanted->depth, "%zu", i);
    cr_expect_str_eq(row->kind, wanted->kind, "%zu", i);
    cr_expect_str_eq(row->name, wanted->name, "%zu", i);
    cr_expect_eq(row->count, wanted->count, "%zu", i);
    cr_expect_eq(row->device_events, wanted->device_events, "%zu", i);
    cr_expect_float_eq(row->device_us, wanted->device_us, 1e-9, "%zu", i);
    cr_expect_eq(isnan(row->host_us), isnan(wanted->host_us), "%zu", i);
    if (isnan(wanted->host_us))
        return;
    cr_expect_float_eq(row->host_us, wanted->host_us, 1e-9, "%zu", i);
    cr_expect_float_eq(row->self_host_us, wanted->self_host_us, 1e-9, "%zu", i);
}

Test(trace_tree_rows, by_hand)
{
    static const struct tp_tree_row wanted[] = {
        {0, -1, 1, "module", "nn.Module: Net_0", 2, 120, 40, 2, 27},
        {1, 0, 2, "operator", "a", 2, 80, 50, 2, 27},
        {2, 1, 3, "kernel", "a", 1, NAN, NAN, 1, 20},
        {3, 1, 3, "operator", "b", 1, 30, 30, 1, 7},
        {4, 3, 4, "kernel", "b", 1, NAN, NAN, 1, 7},
        {5, -1, 1, "communication", "ncclDevKernel_X", 1, NAN, NAN, 1, 3},
        {6, -1, 1, "operator", "a", 1, 10, 10, 0, 0}};
    const size_t count = sizeof wanted / sizeof *wanted;
    struct tp_trace trace;
    trace_text_read(json, &trace);
    cr_assert_eq(tp_trace_tree_rows(&trace, NULL), TP_OK);
    cr_expect_eq(trace.tree.count, count);
    for (size_t i = 0; i < count; i++)
        expect(&trace, i, &wanted[i]);
    trace_file_close(&trace);
}

/* What is deeper than 32 places is part of the 32nd: its kernel is told there,
 * and no time counts twice. */
Test(trace_tree_rows, deep)
{
    enum { DEPTH = 40 };
    struct tp_text text = {0};
    struct tp_trace trace;
    tp_text_add(&text, "{\"traceEvents\": [");
    for (int i = 0; i < DEPTH; i++)
        tp_text_add(&text,
                    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op%d\", "
                    "\"pid\": 1, \"tid\": 1, \"ts\": %d, \"dur\": %d},",
                    i, i, 2 * (DEPTH - i) + 10);
    tp_text_add(&text, "%s", CALL(41, 2, 1) KERNEL("k", 60, 5, 1) "]}");
    trace_text_read(tp_text_get(&text), &trace);
    tp_text_clear(&text);
    cr_assert_eq(tp_trace_tree_rows(&trace, NULL), TP_OK);
    cr_assert_eq(trace.tree.count, 32);
    const struct tp_tree_row *last = &trace.tree.rows[31];
    cr_expect_str_eq(last->name, "op31");
    cr_expect_eq(last->count, 1);
    cr_expect_float_eq(last->host_us, 28, 1e-9);
    cr_expect_float_eq(last->self_host_us, 28, 1e-9);
    cr_expect_float_eq(last->device_us, 5, 1e-9);
    cr_expect_float_eq(trace.tree.rows[0].device_us, 5, 1e-9);
    trace_file_close(&trace);
}

Test(trace_tree_rows, empty)
{
    struct tp_trace trace;
    trace_text_read("{\"traceEvents\": []}", &trace);
    cr_assert_eq(tp_trace_tree_rows(&trace, NULL), TP_OK);
    cr_expect_eq(trace.tree.count, 0);
    trace_file_close(&trace);
}

/* Device time of the leaves, of the outermost places and of /kernels is the
 * same. */
static void check_sums(const char *file)
{
    struct tp_trace trace;
    double leaves = 0, roots = 0, kernels = 0;
    int64_t count = 0;
    trace_file_read(file, &trace);
    cr_assert_eq(tp_trace_tree_rows(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_kernels(&trace, NULL), TP_OK);
    cr_assert_gt(trace.tree.count, 0);
    for (size_t i = 0; i < trace.tree.count; i++) {
        const struct tp_tree_row *row = &trace.tree.rows[i];
        cr_expect_lt(row->around, row->place);
        leaves += isnan(row->host_us) ? row->device_us : 0;
        roots += row->around < 0 ? row->device_us : 0;
        count += isnan(row->host_us) ? row->count : 0;
    }
    for (size_t i = 0; i < trace.kernels.count; i++) {
        kernels += trace.kernels.rows[i].total_us;
        count -= trace.kernels.rows[i].count;
    }
    cr_expect_float_eq(leaves, kernels, 1e-6 * kernels);
    cr_expect_float_eq(roots, kernels, 1e-6 * kernels);
    cr_expect_eq(count, 0);
    trace_file_close(&trace);
}

Test(trace_tree_rows, sums_of_own)
{
    check_sums("own/train.json.gz");
}

Test(trace_tree_rows, sums_of_16)
{
    check_sums("16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001"
               ".json.gz");
}

/* Modules of 16: the encoder layer with most device time. */
Test(trace_tree_rows, modules_of_16)
{
    struct tp_trace trace;
    const struct tp_tree_row *found = NULL;
    trace_file_read("16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001"
                    ".json.gz",
                    &trace);
    cr_assert_eq(tp_trace_tree_rows(&trace, NULL), TP_OK);
    for (size_t i = 0; i < trace.tree.count && !found; i++)
        if (!strcmp(trace.tree.rows[i].name, "nn.Module: Owlv2EncoderLayer_6"))
            found = &trace.tree.rows[i];
    cr_assert_not_null(found);
    cr_expect_str_eq(found->kind, "module");
    cr_expect_eq(found->depth, 5);
    cr_expect_eq(found->count, 5);
    cr_expect_eq(found->device_events, 135);
    cr_expect_float_eq(found->host_us, 5270.254, 1e-6);
    cr_expect_float_eq(found->device_us, 23645.022, 1e-6);
    trace_file_close(&trace);
}
