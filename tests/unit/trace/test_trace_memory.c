/* SPDX-License-Identifier: MIT */
/* Memory events: against a list of signals, and worked out by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tests/unit/support/trace_files.h"
#include "trace/trace_rows.h"

enum { POINTS_MAX = 500 };

/* What the list of signals says of memory: of all devices together, then of
 * the GPU; GB and MB are powers of 1024, peaks 0 where not recorded. */
struct signals {
    int64_t events;
    double allocations, gigabytes, allocated_mb, reserved_mb;
};

static struct signals read_signals(const char *trace)
{
    FILE *file = trace_file_open(trace_data_own(trace)
                                     ? "own/expected/signals.txt"
                                     : "expected/signals.txt");
    struct signals found = {0};
    char line[2048];
    bool here = false;
    while (fgets(line, sizeof line, file)) {
        long long events;
        struct signals now;
        if (!strncmp(line, "## ./", 5)) {
            here = !strncmp(line + 5, trace, strlen(trace));
        } else if (here &&
                   sscanf(line,
                          "  mem events %lld gpu allocs/step %lf GB "
                          "alloc/step %lf peakAlloc MB %lf peakRes MB %lf",
                          &events, &now.allocations, &now.gigabytes,
                          &now.allocated_mb, &now.reserved_mb) == 5) {
            now.events = events;
            found = now;
        }
    }
    fclose(file);
    return found;
}

static void expect_peak(double bytes, double mb, const char *trace)
{
    if (mb > 0) {
        cr_expect_float_eq(bytes / (1 << 20), mb, 1e-9, "%s: %f", trace,
                           bytes);
    } else {
        cr_expect(isnan(bytes), "%s: not recorded, but %f", trace, bytes);
    }
}

static void check_trace(const char *name)
{
    struct tp_trace trace;
    const struct signals expected = read_signals(name);
    cr_assert_gt(expected.events, 0, "%s is not in the list", name);
    trace_file_read(name, &trace);
    cr_assert_eq(tp_trace_memory(&trace, NULL), TP_OK);
    cr_assert_eq(trace.memory.count, 2);
    const struct tp_memory_row *gpu = &trace.memory.rows[0];
    const struct tp_memory_row *cpu = &trace.memory.rows[1];
    cr_expect_str_eq(gpu->device, "cuda:0");
    cr_expect_str_eq(cpu->device, "cpu");
    cr_expect_eq(gpu->events + cpu->events, expected.events);
    cr_expect_eq(gpu->allocations + gpu->frees, gpu->events);
    cr_expect_eq(gpu->allocations_per_step, expected.allocations);
    /* three decimals */
    cr_expect_float_eq(gpu->allocated_per_step_b / (1 << 30),
                       expected.gigabytes, 0.000501, "%s: %f", name,
                       gpu->allocated_per_step_b);
    expect_peak(gpu->peak_allocated_b, expected.allocated_mb, name);
    expect_peak(gpu->peak_reserved_b, expected.reserved_mb, name);
    if (expected.allocated_mb > 0) {
        cr_expect_float_eq(gpu->turnover,
                           1024 * expected.gigabytes / expected.allocated_mb,
                           0.01, "%s: %f", name, gpu->turnover);
        cr_expect_gt(trace.allocated.count, 0);
        cr_expect_leq(trace.allocated.count, POINTS_MAX);
        cr_expect_eq(gpu->reserved_swings, 0);
    } else {
        cr_expect_eq(trace.allocated.count, 0);
        cr_expect(isnan(gpu->reserved_swings) && isnan(gpu->short_lived));
    }
    trace_file_close(&trace);
}

Test(trace_memory, counts_rates_and_peaks_are_those_of_the_signals)
{
    check_trace("own/train.json.gz");
    check_trace("own/loader.json.gz");
    check_trace("own/fractions.json.gz");
    if (!trace_data_there("expected/signals.txt"))
        return;
    check_trace("01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz");
    check_trace("02_resnet50_nw4/worker0.1623212756351.pt.trace.json.gz");
    check_trace("15_bert_h100/gaunernst_bert-small-uncased__1016001.json.gz");
    check_trace("16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001"
                ".json.gz");
}

/* Without profile_memory there is no row: nothing is known. */
Test(trace_memory, without_events_there_is_no_row)
{
    struct tp_trace trace;
    trace_file_read("06_nccl_data/nccl_data.json.gz", &trace);
    cr_assert_eq(tp_trace_memory(&trace, NULL), TP_OK);
    cr_expect_eq(trace.memory.count, 0);
    cr_expect_eq(trace.allocated.count, 0);
    trace_file_close(&trace);
}

/* An event of device `type` at `ts` us. */
static void add_event(struct tp_text *json, int type, int ts, int bytes,
                      int address, int allocated, int reserved)
{
    tp_text_add(json,
                "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\","
                "\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                "\"args\":{\"Bytes\":%d,\"Addr\":%d,\"Device Type\":%d,"
                "\"Device Id\":%d,\"Total Allocated\":%d,\"Total "
                "Reserved\":%d}},",
                ts, bytes, address, type, type ? 2 : -1, allocated, reserved);
}

static void add_op(struct tp_text *json, const char *name, int ts, int us)
{
    tp_text_add(json,
                "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":1,"
                "\"tid\":1,\"ts\":%d,\"dur\":%d},",
                name, ts, us);
}

static void read_json(struct tp_text *json, struct tp_trace *trace)
{
    tp_text_add(json, "{\"ph\":\"M\"}]}");
    trace_text_read(tp_text_get(json), trace);
    tp_text_clear(json);
    cr_assert_eq(tp_trace_memory(trace, NULL), TP_OK);
}

/* Four allocations: one freed after exactly 1 ms, one a little later, one
 * much later but by its own operator, one never; the address is used twice. */
Test(trace_memory, short_lived_by_hand)
{
    struct tp_text json = {0};
    struct tp_trace trace;
    tp_text_add(&json, "{\"traceEvents\":[");
    add_op(&json, "aten::a", 0, 100);
    add_event(&json, 6, 10, 512, 64, 512, 4096);
    add_op(&json, "aten::b", 1005, 100);
    add_event(&json, 6, 1010, -512, 64, 0, 4096);
    add_event(&json, 6, 1020, 512, 64, 512, 4096);
    add_event(&json, 6, 2021, -512, 64, 0, 4096);
    add_op(&json, "aten::c", 3000, 5000);
    add_op(&json, "aten::inner", 3100, 10);
    add_event(&json, 6, 3500, 512, 128, 512, 4096);
    add_event(&json, 6, 7500, -512, 128, 0, 4096);
    add_event(&json, 6, 9000, 512, 192, 512, 4096);
    read_json(&json, &trace);
    cr_assert_eq(trace.memory.count, 1);
    cr_expect_str_eq(trace.memory.rows[0].device, "hip:2");
    cr_expect_eq(trace.memory.rows[0].allocations, 4);
    cr_expect_eq(trace.memory.rows[0].frees, 3);
    cr_expect_eq(trace.memory.rows[0].short_lived, 0.5);
    cr_expect(isnan(trace.memory.rows[0].allocations_per_step));
    trace_file_close(&trace);
}

/* The allocator gives back and asks again, twice; a last fall is no swing. */
Test(trace_memory, reserved_swings_by_hand)
{
    static const int reserved[] = {100, 200, 50, 20, 20, 300, 400, 10, 20, 5};
    struct tp_text json = {0};
    struct tp_trace trace;
    tp_text_add(&json, "{\"traceEvents\":[");
    for (int i = 0; i < 10; i++) {
        add_event(&json, 0, i, 8, 0, 8, 0); /* the host's are another row */
        add_event(&json, 1, i, 8, 0, 8, reserved[i]);
    }
    read_json(&json, &trace);
    cr_assert_eq(trace.memory.count, 2);
    cr_expect_str_eq(trace.memory.rows[0].device, "cuda:2");
    cr_expect_eq(trace.memory.rows[0].reserved_swings, 2);
    cr_expect_eq(trace.memory.rows[0].peak_reserved_b, 400);
    cr_expect_eq(trace.memory.rows[1].reserved_swings, 0);
    trace_file_close(&trace);
}

/* 100 000 events: a saw with one high and one low tooth. */
Test(trace_memory, curves_keep_extremes)
{
    struct tp_text json = {0};
    struct tp_trace trace;
    tp_text_add(&json, "{\"traceEvents\":[");
    for (int i = 0; i < 100000; i++) {
        const int total = i == 12345 ? 9000 : i == 76543 ? 1 : 1000 + i % 7;
        add_event(&json, 1, i, 8, 0, total, 4096);
    }
    read_json(&json, &trace);
    const struct tp_curve *curve = &trace.allocated;
    double low = INFINITY, high = 0;
    cr_assert_gt(curve->count, 400);
    cr_expect_leq(curve->count, POINTS_MAX);
    for (size_t i = 0; i < curve->count; i++) {
        const double value = curve->rows[i].value;
        low = value < low ? value : low;
        high = value > high ? value : high;
        cr_expect(i == 0 || curve->rows[i].at_us > curve->rows[i - 1].at_us);
    }
    cr_expect_eq(low, 1);
    cr_expect_eq(high, 9000);
    cr_expect_eq(curve->rows[curve->count - 1].at_us -
                     curve->rows[0].at_us, 99999);
    trace_file_close(&trace);
}
