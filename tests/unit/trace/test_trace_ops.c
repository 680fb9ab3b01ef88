/* SPDX-License-Identifier: MIT */
/* The operator table against torch's key_averages of real traces, exactly,
 * and its rules one by one. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support/csv.h"
#include "tests/unit/support/trace_files.h"
#include "trace/trace_rows.h"

static const struct {
    const char *csv, *trace;
} pairs[] = {
    {"train.csv", "own/train.json.gz"},
    {"loader.csv", "own/loader.json.gz"},
    {"busy.csv", "own/busy.json.gz"},
    {"long.csv", "own/long.json.gz"},
    {"one_step.csv", "own/one_step.json.gz"},
    {"fractions.csv", "own/fractions.json.gz"},
    {"01_resnet50_nw0.csv",
     "01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz"},
    {"02_resnet50_nw4.csv",
     "02_resnet50_nw4/worker0.1623212756351.pt.trace.json.gz"},
    {"04_gpu_metrics_input.csv", "04_gpu_metrics_input/gpu_metrics_input.json"},
    {"06_nccl_data.csv", "06_nccl_data/nccl_data.json.gz"},
    {"08_ns_resolution.csv",
     "08_ns_resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"},
    {"09_negative_queue.csv", "09_negative_queue/rank0.json.gz"},
    {"11_cpu_only.csv",
     "11_cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"},
    {"12_mi250_minitoy.csv",
     "12_mi250_minitoy/mi250_minitoy_train_ROCm6_2_kineto.json.gz"},
    {"13_simple_add.csv",
     "13_simple_add/benchmark_result_493459_1694039959_trace.json.gz"},
    {"15_bert_h100.csv",
     "15_bert_h100/gaunernst_bert-small-uncased__1016001.json.gz"},
    {"16_owlv2_h100.csv",
     "16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001.json.gz"},
    {"19_b200_eager.csv", "19_b200_eager/eager_trace.json.gz"},
};

enum { FIELDS = 11, NUMBERS = 9 };

/* "40246.000" us or "-12" bytes: without the point, ns or bytes. */
static long long integer_of(const char *text)
{
    const char *point = strchr(text, '.');
    const long long whole = strtoll(text, NULL, 10);
    if (!point) {
        return whole;
    }
    const long long rest = strtoll(point + 1, NULL, 10);
    return whole * 1000 + (*text == '-' ? -rest : rest);
}

static void numbers_of(const struct tp_op_row *row, long long *numbers)
{
    const long long values[NUMBERS] = {row->count,
                                       llround(row->cpu_total_us * 1e3),
                                       llround(row->self_cpu_us * 1e3),
                                       llround(row->cuda_total_us * 1e3),
                                       llround(row->self_cuda_us * 1e3),
                                       row->cpu_mem_b,
                                       row->self_cpu_mem_b,
                                       row->cuda_mem_b,
                                       row->self_cuda_mem_b};
    memcpy(numbers, values, sizeof values);
}

static const struct tp_op_row *find_row(const struct tp_trace *trace,
                                        const char *name, const char *type)
{
    for (size_t i = 0; i < trace->ops.count; i++) {
        const struct tp_op_row *row = &trace->ops.rows[i];
        if (!strcmp(row->name, name) && !strcmp(row->device_type, type)) {
            return row;
        }
    }
    return NULL;
}

/* Every row of the file is there; as many rows are there as in the file. */
static void compare(const struct tp_trace *trace, FILE *file, const char *tag)
{
    static char line[1 << 16];
    size_t rows = 0;
    cr_assert(fgets(line, sizeof line, file), "%s is empty", tag);
    while (fgets(line, sizeof line, file)) {
        char *fields[FIELDS];
        long long numbers[NUMBERS];
        cr_assert_eq(csv_split(line, fields, FIELDS), FIELDS, "%s", tag);
        const struct tp_op_row *row = find_row(trace, fields[0], fields[1]);
        cr_assert_not_null(row, "%s: no %s row %s", tag, fields[1], fields[0]);
        numbers_of(row, numbers);
        for (int i = 0; i < NUMBERS; i++) {
            cr_expect_eq(numbers[i], integer_of(fields[i + 2]),
                         "%s, %s, column %d: %lld, not %s", tag, fields[0],
                         i + 2, numbers[i], fields[i + 2]);
        }
        rows++;
    }
    cr_expect_eq(trace->ops.count, rows, "%s: %zu rows, not %zu", tag,
                 trace->ops.count, rows);
}

Test(trace_ops, equal_key_averages)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct tp_trace trace;
        const bool own = trace_data_own(pairs[i].trace);
        char csv[256];
        snprintf(csv, sizeof csv, "%sexpected/key_averages/%s",
                 own ? "own/" : "", pairs[i].csv);
        if (!trace_data_there(csv))
            continue;
        FILE *file = trace_file_open(csv);
        trace_file_read(pairs[i].trace, &trace);
        cr_assert_eq(tp_trace_ops(&trace, NULL), TP_OK);
        compare(&trace, file, pairs[i].csv);
        fclose(file);
        trace_file_close(&trace);
    }
}

/* --- rules, one by one --------------------------------------------------- */

#define HOST(cat, name, ts, dur, more)                                       \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name                     \
    "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{" more \
    "}},"
#define OP(name, ts, dur) HOST("cpu_op", name, ts, dur, "")
#define CALL(ts, dur, corr) \
    HOST("cuda_runtime", "cudaLaunchKernel", ts, dur, "\"correlation\":" #corr)
#define KERNEL(ts, dur, corr)                                              \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7," \
    "\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{\"stream\":7,\"device\":0," \
    "\"correlation\":" #corr "}},"
#define MEMORY(ts, bytes, type)                                            \
    "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":9,\"tid\":9," \
    "\"ts\":" #ts ",\"args\":{\"Bytes\":" #bytes ",\"Device Type\":" #type \
    ",\"Device Id\":0}},"
#define END "{\"ph\":\"M\",\"name\":\"x\",\"pid\":0}]"

static void make(const char *json, struct tp_trace *trace)
{
    trace_text_read(json, trace);
    cr_assert_eq(tp_trace_ops(trace, NULL), TP_OK);
}

static void expect(const struct tp_trace *trace, const char *name,
                   const double *wanted)
{
    const struct tp_op_row *row = find_row(trace, name, "CPU");
    cr_assert_not_null(row, "no row %s", name);
    cr_expect_eq(row->count, (int64_t)wanted[0], "%s: count", name);
    cr_expect_eq(row->cpu_total_us, wanted[1], "%s: total %g", name,
                 row->cpu_total_us);
    cr_expect_eq(row->self_cpu_us, wanted[2], "%s: self %g", name,
                 row->self_cpu_us);
    cr_expect_eq(row->cuda_total_us, wanted[3], "%s: device %g", name,
                 row->cuda_total_us);
    cr_expect_eq(row->self_cuda_us, wanted[4], "%s: own %g", name,
                 row->self_cuda_us);
}

#define EXPECT(trace, name, ...) \
    expect(trace, name, (const double[]){__VA_ARGS__})

/* Three of one name in each other: one is left, with the kernels of the
 * innermost. Values of torch 2's EventList, given the same events. */
Test(trace_ops, only_children_of_one_name_are_merged)
{
    struct tp_trace trace;
    make("[" OP("a", 0, 100) CALL(1, 1, 1) OP("a", 10, 80) OP("a", 20, 60)
             OP("b", 30, 10) CALL(32, 3, 3) OP("c", 50, 10) KERNEL(200, 7, 1)
                 KERNEL(210, 5, 3) END,
         &trace);
    /* The call makes the middle one of two children of the outermost. */
    EXPECT(&trace, "a", 2, 180, 99 - 80 + 80 - 20, 7 + 5 + 5, 7);
    EXPECT(&trace, "b", 1, 10, 7, 5, 5);
    trace_file_close(&trace);
    make("[" OP("a", 0, 100) OP("a", 10, 80) CALL(11, 1, 1) OP("a", 20, 60)
             OP("b", 30, 10) CALL(32, 3, 3) KERNEL(200, 7, 1) KERNEL(210, 5, 3)
                 END,
         &trace);
    /* The outermost two are one, with the kernels of the inner. */
    EXPECT(&trace, "a", 2, 160, 100 - 1 - 60 + 60 - 10, 7 + 5 + 5, 7);
    trace_file_close(&trace);
}

Test(trace_ops, bookkeeping_is_left_out)
{
    struct tp_trace trace;
    make("[" OP("ProfilerStep#3", 0, 100) OP("aten::is_leaf", 10, 50)
             OP("x", 20, 10) OP("ProfilerStep#4", 100, 10) END,
         &trace);
    EXPECT(&trace, "ProfilerStep*", 2, 110, 100, 0, 0);
    EXPECT(&trace, "x", 1, 10, 10, 0, 0);
    cr_expect_eq(trace.ops.count, 2);
    trace_file_close(&trace);
}

/* An operator of no length at the start of a call contains nothing, and a
 * call of the operator's own extent is inside it. */
/* As in torch, whatever follows. */
Test(trace_ops, all_steps_are_one_row)
{
    struct tp_trace trace;
    make("[" HOST("user_annotation", "ProfilerStep#3", 0, 10, "")
             HOST("user_annotation", "ProfilerStep#text", 20, 10, "")
                 HOST("user_annotation", "ProfilerStep", 40, 10, "") END,
         &trace);
    EXPECT(&trace, "ProfilerStep*", 2, 20, 20, 0, 0);
    EXPECT(&trace, "ProfilerStep", 1, 10, 10, 0, 0);
    trace_file_close(&trace);
}

#define FRAME(name, ts, dur, more) \
    HOST("python_function", name, ts, dur, more)
#define FRAMES(more)                                                   \
    "[" HOST("user_annotation", "Optimizer.step#AdamW.step", 0, 100, "") \
        FRAME("adamw.py(7): step", 5, 80, more) OP("aten::add_", 10, 20) \
            FRAME("adamw.py(9): inner", 40, 30, more)                    \
                OP("aten::mul_", 45, 10) OP("aten::div_", 90, 5) END

/* Frames that name their callers are between a range and what lies in them,
 * as in torch 2.15: 63 rows of a run with stacks are its key_averages. Those
 * of older torch are not. */
Test(trace_ops, frames)
{
    struct tp_trace trace;
    make(FRAMES("\"CallFrom\":\"run.py:3\",\"Python id\":2"), &trace);
    cr_expect_eq(trace.ops.count, 4);
    EXPECT(&trace, "Optimizer.step#AdamW.step", 1, 100, 15, 0, 0);
    EXPECT(&trace, "aten::add_", 1, 20, 20, 0, 0);
    EXPECT(&trace, "aten::mul_", 1, 10, 10, 0, 0);
    trace_file_close(&trace);
    make(FRAMES("\"Python id\":2"), &trace);
    EXPECT(&trace, "Optimizer.step#AdamW.step", 1, 100, 65, 0, 0);
    trace_file_close(&trace);
}

Test(trace_ops, ties)
{
    struct tp_trace trace;
    make("[" OP("outer", 10, 50) OP("nothing", 20, 0) CALL(20, 8, 1)
             OP("same", 30, 5) CALL(30, 5, 2) KERNEL(200, 7, 1)
                 KERNEL(210, 5, 2) END,
         &trace);
    EXPECT(&trace, "outer", 1, 50, 50 - 8 - 5, 12, 7);
    EXPECT(&trace, "same", 1, 5, 0, 5, 5);
    EXPECT(&trace, "nothing", 1, 0, 0, 0, 0);
    trace_file_close(&trace);
}

/* Annotations own no kernels, not even in old traces, where they are
 * operators by category. */
Test(trace_ops, kernels_belong_to_operators)
{
    struct tp_trace trace;
    make("[" HOST("user_annotation", "note", 0, 50, "") CALL(5, 2, 1)
             HOST("Operator", "Optimizer.step#SGD.step", 60, 20, "")
                 HOST("Runtime", "cudaLaunchKernel", 65, 2, "\"correlation\":2")
                     KERNEL(90, 7, 1) KERNEL(100, 5, 2) END,
         &trace);
    EXPECT(&trace, "note", 1, 50, 48, 0, 0);
    EXPECT(&trace, "Optimizer.step#SGD.step", 1, 20, 18, 0, 0);
    const struct tp_op_row *kernel = find_row(&trace, "k", "CUDA");
    cr_assert_not_null(kernel);
    cr_expect_eq(kernel->self_cuda_us, 12);
    cr_expect_eq(kernel->cuda_total_us, 12);
    cr_expect_eq(kernel->count, 2);
    trace_file_close(&trace);
}

/* Instants count at both ends, on any thread, by kind of device. */
Test(trace_ops, memory)
{
    struct tp_trace trace;
    make("[" OP("outer", 10, 50) OP("inner", 20, 10) MEMORY(10, 1, 0)
             MEMORY(20, 10, 1) MEMORY(30, 100, 1) MEMORY(60, -1000, 6)
                 MEMORY(61, 9, 0) END,
         &trace);
    const struct tp_op_row *outer = find_row(&trace, "outer", "CPU");
    const struct tp_op_row *inner = find_row(&trace, "inner", "CPU");
    cr_assert(outer && inner);
    cr_expect_eq(outer->cpu_mem_b, 1);
    cr_expect_eq(outer->cuda_mem_b, 110 - 1000);
    cr_expect_eq(outer->self_cuda_mem_b, -1000);
    cr_expect_eq(inner->cuda_mem_b, 110);
    cr_expect_eq(inner->self_cpu_mem_b, 0);
    trace_file_close(&trace);
}

Test(trace_ops, nothing)
{
    struct tp_trace trace;
    make("[" END, &trace);
    cr_expect_eq(trace.ops.count, 0);
    trace_file_close(&trace);
}
