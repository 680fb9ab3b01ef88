/* SPDX-License-Identifier: MIT */
/* What memory is for when most of it is taken: against torch's own memory
 * profile of the same runs, and by hand where the marks are missing. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/support/trace_files.h"
#include "trace/trace_rows.h"

/* Sums of the highest moment of the first device; `total` is all of it. */
static void sum_up(const struct tp_trace *trace, int64_t sums[TP_MEMORY_KINDS],
                   int64_t *total)
{
    int64_t all = 0;
    memset(sums, 0, TP_MEMORY_KINDS * sizeof *sums);
    for (size_t i = 0; i < trace->memory_peaks.count; i++) {
        const struct tp_memory_peak_row *row = &trace->memory_peaks.rows[i];
        if (row->peak != 1 ||
            strcmp(row->device, trace->memory_peaks.rows[0].device))
            continue;
        sums[row->what] += row->bytes;
        all += row->bytes;
        *total = row->total_b;
    }
    cr_expect_eq(all, *total);
}

/* Numbers: torch 2.15, tests/make_memory_traces.py. Its INPUT is made in the
 * step and kept for the backward pass, so it is in with the activations; two
 * statistics of the batch norm, 128 bytes, were there before. */
Test(trace_memory_peaks, as_torch_says)
{
    static const struct {
        const char *name;
        int64_t activation, gradient, optimizer, backward;
    } cases[] = {
        {"cpu-memory/mlp.json.gz", 524288 + 3145736, 131328, 3416600, 1179648},
        {"cpu-memory/conv.json.gz", 393344 + 3686536 - 128, 501800, 1026032,
         3448832},
    };
    for (size_t i = 0; i < 2; i++) {
        struct tp_trace trace;
        int64_t sums[TP_MEMORY_KINDS], total = 0;
        trace_file_read(cases[i].name, &trace);
        cr_assert_eq(tp_trace_memory(&trace, NULL), TP_OK);
        sum_up(&trace, sums, &total);
        cr_expect_eq(sums[TP_MEMORY_ACTIVATION], cases[i].activation, "%ld",
                     (long)sums[TP_MEMORY_ACTIVATION]);
        cr_expect_eq(sums[TP_MEMORY_GRADIENT], cases[i].gradient);
        cr_expect_eq(sums[TP_MEMORY_OPTIMIZER], cases[i].optimizer);
        cr_expect_eq(sums[TP_MEMORY_BACKWARD], cases[i].backward);
        cr_expect_eq(sums[TP_MEMORY_UNKNOWN], 0);
        cr_expect_eq(sums[TP_MEMORY_BEFORE], 0);
        trace_file_close(&trace);
    }
}

/* Three steps, three peaks, the highest first; of the largest operators the
 * one that takes the optimizer's state. */
Test(trace_memory_peaks, a_peak_of_each_step)
{
    struct tp_trace trace;
    int64_t last = 0, total = INT64_MAX;
    trace_file_read("cpu-memory/mlp.json.gz", &trace);
    cr_assert_eq(tp_trace_memory(&trace, NULL), TP_OK);
    cr_assert_gt(trace.memory_peaks.count, 3);
    for (size_t i = 0; i < trace.memory_peaks.count; i++) {
        const struct tp_memory_peak_row *row = &trace.memory_peaks.rows[i];
        cr_expect(row->peak == last || row->peak == last + 1);
        cr_expect(row->total_b <= total);
        cr_expect(row->step >= 0 && row->step <= 2);
        last = row->peak;
        total = row->total_b;
    }
    cr_expect_eq(last, 3);
    const struct tp_memory_peak_row *most = trace.memory_peaks.rows;
    cr_expect_str_eq(most->op, "aten::empty_strided");
    cr_expect_str_eq(most->kind, "optimizer state");
    trace_file_close(&trace);
}

#define OP(name, ts, dur)                                                     \
    ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name                      \
    "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur "}"
#define MEMORY(ts, bytes, address, total)                                     \
    ",{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\","     \
    "\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"args\":{\"Device Type\":1,"         \
    "\"Device Id\":0,\"Bytes\":" #bytes address ",\"Total Allocated\":" #total \
    ",\"Total Reserved\":9000}}"
#define AT(address) ",\"Addr\":" #address

/* 1 000 bytes were there; 64 are kept over what may be a backward pass, 32 are
 * given back by the operator that took them. */
#define STEPS(backward, address)                                              \
    "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\","            \
    "\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":0,"               \
    "\"dur\":1000}" OP("aten::mm", 10, 50) OP("aten::sin", 100, 50)           \
    OP(backward, 200, 50) MEMORY(20, 64, address(1), 1064)                    \
    MEMORY(110, 32, address(2), 1096) MEMORY(140, -32, address(2), 1064)      \
    MEMORY(240, -64, address(1), 1000) "]}"
#define NONE(address) ""

static void expect(const char *json, enum tp_memory_kind kind, size_t rows)
{
    struct tp_trace trace;
    int64_t sums[TP_MEMORY_KINDS], total = 0;
    trace_text_read(json, &trace);
    cr_assert_eq(tp_trace_memory(&trace, NULL), TP_OK);
    cr_assert_eq(trace.memory_peaks.count, rows);
    sum_up(&trace, sums, &total);
    if (rows) {
        cr_expect_eq(total, 1096);
        cr_expect_eq(sums[kind], 64);
        cr_expect_eq(sums[TP_MEMORY_TEMPORARY], 32);
        cr_expect_eq(sums[TP_MEMORY_BEFORE], 1000);
    }
    trace_file_close(&trace);
}

Test(trace_memory_peaks, without_marks_it_is_unknown)
{
    expect(STEPS("autograd::engine::evaluate_function: MmBackward0", AT),
           TP_MEMORY_ACTIVATION, 3);
    expect(STEPS("aten::cos", AT), TP_MEMORY_UNKNOWN, 3);
}

Test(trace_memory_peaks, without_addresses_there_is_nothing)
{
    expect(STEPS("aten::cos", NONE), TP_MEMORY_UNKNOWN, 0);
}

/* Sizes that no machine has, without totals: their sum stays where it can. */
Test(trace_memory_peaks, sizes_of_damaged_traces_do_not_overflow)
{
    struct tp_trace trace;
    trace_text_read("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":"
                    "\"user_annotation\",\"name\":\"ProfilerStep#1\","
                    "\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1000}" MEMORY(
                        20, 9223372036854775807, AT(1), -1)
                        MEMORY(30, 131072, AT(2), -1) "]}",
                    &trace);
    cr_assert_eq(tp_trace_memory(&trace, NULL), TP_OK);
    cr_assert_gt(trace.memory_peaks.count, 0);
    cr_expect_eq(trace.memory_peaks.rows[0].total_b, INT64_MAX);
    trace_file_close(&trace);
}
