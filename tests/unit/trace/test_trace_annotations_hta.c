/* SPDX-License-Identifier: MIT */
/*
 * Numbers that the tests of Holistic Trace Analysis ask for, of the same files;
 * test_trace_launch.c, test_trace_busy.c, test_trace_compare.c and
 * test_trace_reader.c have the others. HTA leaves the last step out, so what
 * it drops is dropped here as well (hta.h). Sums it does not assert come from
 * a program in Python over the events of the JSON.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/support/hta.h"
#include "tests/unit/support/trace_files.h"
#include "trace/trace_rows.h"

static const char own_train[] = "own/train.json.gz";
static const char own_parts[] = "own/fractions.json.gz";
static const char trace_01[] =
    "01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz";
static const char trace_08[] =
    "08_ns_resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz";
static const char trace_09[] = "09_negative_queue/rank0.json.gz";
static const char trace_14[] = "14_mtia_rank_0/mtia_rank_0.json.gz";
static const char trace_16[] =
    "16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001.json.gz";

/* --- annotations -------------------------------------------------------- */

static const struct tp_annotation_row *find_annotation(
    const struct tp_trace *trace, const char *name, const char *where)
{
    for (size_t i = 0; i < trace->annotations.count; i++) {
        const struct tp_annotation_row *row = &trace->annotations.rows[i];
        if (strcmp(row->name, name) == 0 && strcmp(row->where, where) == 0) {
            return row;
        }
    }
    cr_assert_fail("no %s annotation %s", where, name);
    return NULL;
}

static size_t count_annotations(const struct tp_trace *trace, const char *where)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->annotations.count; i++) {
        count += strcmp(trace->annotations.rows[i].where, where) == 0;
    }
    return count;
}

/* 3 rows of the device and 12 of the host; the last step is a 13th. */
Test(trace_hta, annotations_of_08)
{
    struct tp_trace trace;
    trace_file_read(trace_08, &trace);
    cr_assert_eq(tp_trace_annotations(&trace, NULL), TP_OK);
    cr_expect_eq(count_annotations(&trace, "device"), 3);
    cr_expect_eq(count_annotations(&trace, "host"), 12 + 1);
    cr_expect_eq(find_annotation(&trace, "ProfilerStep#105", "host")->count, 1);
    find_annotation(&trace, "## backward ##", "device");
    find_annotation(&trace, "DistributedDataParallel.forward", "device");
    cr_expect_eq(
        find_annotation(&trace, "Optimizer.step#SGD.step", "device")->count, 5);
    trace_file_close(&trace);
}

/* The annotation around the start of a call, the innermost; "". */
static const char *annotation_of(const struct tp_trace *trace, uint32_t event)
{
    uint32_t at = trace->index.call[event];
    while (at != TP_NO_EVENT &&
           trace->events.category[at] != TP_EVENT_ANNOTATION) {
        at = trace->index.parent[at];
    }
    return at == TP_NO_EVENT
               ? ""
               : tp_events_get(&trace->events, trace->events.name[at]);
}

/* Start of the last device annotation before an event, on its stream. */
static int64_t projection_of(const struct tp_trace *trace, uint32_t event)
{
    const struct tp_events *events = &trace->events;
    int64_t latest = INT64_MIN;
    for (size_t i = 0; i < events->count; i++) {
        if (events->category[i] == TP_EVENT_GPU_ANNOTATION &&
            events->lane[i] == events->lane[event] &&
            events->start[i] <= events->start[event] &&
            events->start[i] > latest) {
            latest = events->start[i];
        }
    }
    return latest;
}

/* 4876 kernels, 27 of them in Optimizer.step: HTA has 4 of the 5 steps, and
 * attributes by the device's annotations, of which it drops the one that
 * begins after the host has begun the last step (9 more kernels). */
Test(trace_hta, kernels_with_annotations)
{
    struct tp_trace trace;
    trace_file_read(trace_08, &trace);
    struct hta hta = hta_open(&trace, false);
    const int64_t last = trace.index.steps[trace.index.step_count - 1].from;
    int steps = 0, found = 0;
    cr_expect_eq(hta.count, 4876);
    for (size_t i = 0; i < hta.count; i++) {
        const uint32_t event = hta.rows[i].event;
        const char *name =
            tp_events_get(&trace.events, trace.events.name[event]);
        const char *annotation = annotation_of(&trace, event);
        if (strcmp(annotation, "Optimizer.step#SGD.step") == 0) {
            steps += projection_of(&trace, event) < last;
        }
        if (trace.events.correlation[event] == 135139) {
            cr_expect_str_eq(name, "Memcpy DtoD (Device -> Device)");
            cr_expect_str_eq(annotation, "DistributedDataParallel.forward");
            found++;
        } else if (trace.events.correlation[event] == 164926) {
            cr_expect_not_null(strstr(name, "multi_tensor_apply_kernel"));
            cr_expect_str_eq(annotation, "Optimizer.step#SGD.step");
            found++;
        }
    }
    cr_expect_eq(steps, 27, "%d", steps);
    cr_expect_eq(found, 2);
    hta_close(&hta);
    trace_file_close(&trace);
}

/* Host ranges and the device work started in them, by a program in Python; of
 * our own by tests/oracle/trace_signals.py rows. */
static const struct {
    const char *trace, *name;
    int64_t count;
    double total_us;
    int64_t events;
    double us;
    int64_t self_events;
    double self_us;
} sums[] = {
    {own_train, "## forward ##", 5, 957, 45, 1386, 45, 1386},
    {own_train, "Optimizer.step#SGD.step", 5, 99, 5, 125, 5, 125},
    {own_train, "Optimizer.zero_grad#SGD.zero_grad", 5, 60, 0, 0, 0, 0},
    {own_train, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
     5, 817, 0, 0, 0, 0},
    {own_parts, "## forward ##", 4, 844.800, 44, 1324.697, 44, 1324.697},
    {own_parts, "Optimizer.step#SGD.step", 4, 81.816, 4, 96.759, 4, 96.759},
    {trace_01, "ProfilerStep#5", 1, 176078, 926, 36248, 282, 34763},
    {trace_01, "ProfilerStep#10", 1, 164261, 926, 36063, 282, 34579},
    {trace_01, "Optimizer.step#SGD.step", 6, 112987, 2898, 7883, 2898, 7883},
    {trace_01, "Optimizer.zero_grad#SGD.zero_grad", 6, 36112, 966, 1026, 966,
     1026},
    {trace_01, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 6,
     415791, 0, 0, 0, 0},
    {trace_08, "## forward ##", 5, 145937.956, 2300, 150438.660, 0, 0},
    {trace_08, "## optimizer ##", 5, 4828.253, 45, 5532.802, 0, 0},
    {trace_08, "Optimizer.step#SGD.step", 5, 4669.375, 45, 5532.802, 45,
     5532.802},
    {trace_08, "## backward ##", 5, 240674.644, 30, 115.264, 30, 115.264},
    {trace_09, "nccl:all_reduce", 10, 583, 10, 126555, 10, 126555},
    {trace_09, "## optimizer ##", 5, 7779, 90, 32042, 0, 0},
    {trace_09, "DistributedDataParallel.forward", 5, 61976, 1430, 31604, 1210,
     19725},
    {trace_09, "## sparse_data_dist ##", 5, 774189, 295, 27574, 240, 6277},
    {trace_09, "## RecMetricModule:update ##", 5, 127214, 2240, 9091, 10, 31},
    {trace_09, "ProfilerStep#554", 1, 216216, 820, 21202, 0, 0},
    {trace_16, "ProfilerStep#6", 1, 1211182.252, 5165, 566759.477, 5165,
     566759.477},
    {trace_16, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 6,
     619045.006, 0, 0, 0, 0},
};

/* The rows of our own traces, or those of others. */
static void check_sums(bool own)
{
    struct tp_trace trace = {0};
    const char *open = NULL;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        if (trace_data_own(sums[i].trace) != own) {
            continue;
        }
        if (sums[i].trace != open) {
            trace_file_close(&trace);
            trace_file_read(sums[i].trace, &trace);
            cr_assert_eq(tp_trace_annotations(&trace, NULL), TP_OK);
            open = sums[i].trace;
        }
        const struct tp_annotation_row *row =
            find_annotation(&trace, sums[i].name, "host");
        cr_expect_eq(row->count, sums[i].count, "%s", row->name);
        cr_expect_float_eq(row->total_us, sums[i].total_us, 1e-3);
        cr_expect_float_eq(row->mean_us,
                           sums[i].total_us / (double)sums[i].count, 1e-3);
        cr_expect_eq(row->device_events, sums[i].events, "%s", row->name);
        cr_expect_float_eq(row->device_us, sums[i].us, 1e-3, "%s", row->name);
        cr_expect_eq(row->self_device_events, sums[i].self_events);
        cr_expect_float_eq(row->self_device_us, sums[i].self_us, 1e-3);
    }
    trace_file_close(&trace);
}

Test(trace_hta, device_time_of_annotations)
{
    check_sums(false);
}

Test(trace_hta, device_time_of_own_annotations)
{
    check_sums(true);
}

/* --- operators and kernels ---------------------------------------------- */

/* By occurrences, aten::mul with its kernel is first. */
Test(trace_hta, op_kernels_of_14)
{
    struct tp_trace trace;
    const struct tp_op_kernel_row *first = NULL;
    trace_file_read(trace_14, &trace);
    cr_assert_eq(tp_trace_op_kernels(&trace, NULL), TP_OK);
    for (size_t i = 0; i < trace.op_kernels.count; i++) {
        const struct tp_op_kernel_row *row = &trace.op_kernels.rows[i];
        if (*row->op && (!first || row->count > first->count)) {
            first = row;
        }
    }
    cr_assert_not_null(first);
    cr_expect_str_eq(first->op, "aten::mul");
    cr_expect_str_eq(first->kernel, "customized_fba_mul_const-dtype_Float");
    cr_expect_eq(first->count, 822);
    cr_expect_float_eq(first->launch_delay_us, 1092.545, 2);
    cr_expect_float_eq(first->runtime_delay_us, 293.113, 2);
    trace_file_close(&trace);
}

/* One operator of Triton, with its kernel. */
Test(trace_hta, triton)
{
    struct tp_trace trace;
    int operators = 0;
    trace_file_read("edge/triton_example.json.gz", &trace);
    cr_assert_eq(tp_trace_ops(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_op_kernels(&trace, NULL), TP_OK);
    for (size_t i = 0; i < trace.ops.count; i++) {
        const struct tp_op_row *row = &trace.ops.rows[i];
        operators += strcmp(row->name, "triton_poi_fused_add_cos_sin_0") == 0 &&
                     strcmp(row->device_type, "CPU") == 0 && row->count == 1;
    }
    cr_expect_eq(operators, 1);
    cr_assert_eq(trace.op_kernels.count, 1);
    cr_expect_str_eq(trace.op_kernels.rows[0].op,
                     "triton_poi_fused_add_cos_sin_0");
    cr_expect_eq(trace.op_kernels.rows[0].count, 1);
    trace_file_close(&trace);
}

/* 08 counts its time from 1970: differences of 1e18 ns must be taken before
 * they become doubles. The sum is of the decimals in the file. */
Test(trace_hta, runtime_delays_to_the_ns)
{
    const char *file =
        "08_ns_resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz";
    struct tp_trace trace;
    const struct tp_op_kernel_row *found = NULL;
    trace_file_read(file, &trace);
    cr_assert_eq(tp_trace_op_kernels(&trace, NULL), TP_OK);
    for (size_t i = 0; i < trace.op_kernels.count && !found; i++) {
        const struct tp_op_kernel_row *row = &trace.op_kernels.rows[i];
        if (strcmp(row->op, "aten::add_") == 0 && row->count == 160)
            found = row;
    }
    cr_assert_not_null(found);
    cr_expect_float_eq(found->device_us, 26303.973, 1e-6);
    cr_expect_float_eq(found->launch_delay_us, 765842 / 160e3, 1e-6);
    cr_expect_float_eq(found->runtime_delay_us, 10715516279 / 160e3, 1e-6);
    trace_file_close(&trace);
}

/* --- the rest of the list ------------------------------------------------ */

/* Queue lengths and bandwidths of a trace without a device are none. */
Test(trace_hta, rank_without_device)
{
    struct tp_trace trace;
    trace_file_read("edge/rank_non_gpu.json.gz", &trace);
    cr_assert_eq(tp_trace_streams(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_copies(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_op_kernels(&trace, NULL), TP_OK);
    cr_expect_eq(trace.streams.count, 0);
    cr_expect_eq(trace.copies.count, 0);
    cr_expect_eq(trace.op_kernels.count, 0);
    cr_expect_eq(trace.events.rank, 0);
    trace_file_close(&trace);
}

/* Kinds and kernels of 14: the sums of HTA's rounded durations, which ours
 * may miss by 2 us an event. */
static void expect_kernel(const struct tp_trace *trace, const struct hta *hta,
                          const char *name, int64_t us)
{
    int64_t sum = 0;
    for (size_t i = 0; i < hta->count; i++) {
        const struct hta_row *row = &hta->rows[i];
        if (strcmp(
                tp_events_get(&trace->events, trace->events.name[row->event]),
                name) == 0) {
            sum += row->end - row->ts;
        }
    }
    cr_expect_eq(sum, us, "%s: %ld", name, (long)sum);
    for (size_t i = 0; i < trace->kernels.count; i++) {
        const struct tp_kernel_row *row = &trace->kernels.rows[i];
        if (strcmp(row->name, name) == 0) {
            cr_expect_leq((double)us, row->total_us);
            cr_expect_geq((double)us, row->total_us - 2 * (double)row->count);
            return;
        }
    }
    cr_assert_fail("no kernel %s", name);
}

Test(trace_hta, kernels_of_14)
{
    struct tp_trace trace;
    trace_file_read(trace_14, &trace);
    struct hta hta = hta_open(&trace, false);
    cr_assert_eq(tp_trace_kernels(&trace, NULL), TP_OK);
    expect_kernel(&trace, &hta, "add-dtype_Float", 77283);
    expect_kernel(&trace, &hta, "dma_request", 400892);
    cr_expect_eq(hta_kinds(&hta, 7).times[HTA_COMPUTATION], 7305597);
    hta_close(&hta);
    trace_file_close(&trace);
}

/* Stream 102: six changes, mean 0.5, standard deviation 0.547723, at most 1;
 * 1060 us at one and more, 0.000079 of the time from the first event to the
 * end of the last. */
Test(trace_hta, queue_of_14)
{
    struct tp_trace trace;
    trace_file_read(trace_14, &trace);
    struct hta hta = hta_open(&trace, false);
    const struct hta_queue queue = hta_queue(&hta, 102, 1);
    const struct tp_events *events = &trace.events;
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t i = 0; i < events->count; i++) {
        if (events->category[i] == TP_EVENT_SPAN) {
            continue;
        }
        const int64_t end = events->start[i] + events->duration[i];
        from = events->start[i] < from ? events->start[i] : from;
        to = end > to ? end : to;
    }
    cr_expect_eq(queue.count, 6);
    cr_expect(queue.min == 0 && queue.max == 1);
    cr_expect_float_eq(queue.mean_low, 0.5, 1e-12);
    cr_expect_float_eq(queue.mean_high, 0.5, 1e-12);
    /* Of lengths that are 0 or 1: */
    const double n = (double)queue.count, mean = queue.mean_low;
    cr_expect_float_eq(sqrt(n * mean * (1 - mean) / (n - 1)), 0.547723, 5e-7);
    const double share = (double)queue.blocked * 1e3 / (double)(to - from);
    cr_expect_float_eq(share, 0.000079, 5e-7, "%.9f", share);
    hta_close(&hta);
    cr_assert_eq(tp_trace_streams(&trace, NULL), TP_OK);
    cr_assert_eq(trace.streams.count, 2);
    cr_expect_eq(trace.streams.rows[0].stream + trace.streams.rows[1].stream,
                 1 + 102);
    trace_file_close(&trace);
}

/* Base is rank 1 with iterations 1009 and 1010, the latter of 122149 us. */
Test(trace_hta, steps_of_05)
{
    struct tp_trace trace;
    trace_file_read("05_trace_compare/base/base.json.gz", &trace);
    cr_assert_eq(tp_trace_steps(&trace, NULL), TP_OK);
    cr_expect_eq(trace.events.rank, 1);
    cr_assert_eq(trace.steps.count, 2);
    cr_expect_eq(trace.steps.rows[0].step, 1009);
    cr_expect_eq(trace.steps.rows[1].step, 1010);
    cr_expect_float_eq(trace.steps.rows[1].host_us, 122149, 1e-9);
    trace_file_close(&trace);
}

/* 4 kinds of copies and 6 streams. */
Test(trace_hta, copies_of_09)
{
    struct tp_trace trace;
    int kinds = 0;
    trace_file_read(trace_09, &trace);
    cr_assert_eq(tp_trace_copies(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_streams(&trace, NULL), TP_OK);
    for (size_t i = 0; i < trace.copies.count; i++) {
        kinds += strncmp(trace.copies.rows[i].kind, "Memcpy", 6) == 0;
    }
    cr_expect_eq(kinds, 4, "%d", kinds);
    cr_expect_eq(trace.streams.count, 6);
    trace_file_close(&trace);
}

/* --- by hand -------------------------------------------------------------- */

#define HOST(cat, name, ts, dur)                          \
    ",{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name \
    "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur "}"
#define LAUNCH(ts, id)                                                       \
    ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\"," \
    "\"pid\":1,\"tid\":1,\"ts\":" #ts                                        \
    ",\"dur\":2,\"args\":{\"correlation\":" #id                              \
    "}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,"          \
    "\"tid\":7,\"ts\":" #ts "5,\"dur\":10,\"args\":{\"device\":0,"           \
    "\"stream\":7,\"correlation\":" #id "}}"

/* "a" is in "b" is in "a"; a second "a" follows; one launch is outside. */
/* clang-format off */
static const char nested[] =
    "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"alone\","
    "\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":4,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":99}}"
    HOST("user_annotation", "a", 10, 50) HOST("user_annotation", "b", 15, 40)
    HOST("user_annotation", "a", 20, 20) HOST("cpu_op", "op", 25, 10)
    LAUNCH(28, 1) LAUNCH(42, 2)
    HOST("user_annotation", "a", 70, 10) LAUNCH(72, 3) LAUNCH(85, 4) "]}";
/* clang-format on */

Test(trace_hta, annotations_in_each_other)
{
    struct tp_trace trace;
    trace_text_read(nested, &trace);
    cr_assert_eq(tp_trace_annotations(&trace, NULL), TP_OK);
    cr_assert_eq(trace.annotations.count, 2);
    const struct tp_annotation_row *row = find_annotation(&trace, "a", "host");
    cr_expect_eq(row->count, 3);
    cr_expect_float_eq(row->total_us, 80, 1e-9);
    cr_expect_float_eq(row->max_us, 50, 1e-9);
    cr_expect_eq(row->device_events, 3); /* not the first twice */
    cr_expect_float_eq(row->device_us, 30, 1e-9);
    cr_expect_eq(row->self_device_events, 2);
    row = find_annotation(&trace, "b", "host");
    cr_expect_eq(row->device_events, 2);
    cr_expect_float_eq(row->self_device_us, 10, 1e-9);
    trace_file_close(&trace);
}

Test(trace_hta, delays_by_hand)
{
    struct tp_trace trace;
    trace_text_read(nested, &trace);
    cr_assert_eq(tp_trace_op_kernels(&trace, NULL), TP_OK);
    cr_assert_eq(trace.op_kernels.count, 3);
    const struct tp_op_kernel_row *rows = trace.op_kernels.rows;
    cr_expect_str_eq(rows[0].op, "");
    cr_expect_str_eq(rows[0].kernel, "k");
    cr_expect_eq(rows[0].count, 3);
    cr_expect(isnan(rows[0].launch_delay_us));
    cr_expect_float_eq(rows[0].runtime_delay_us,
                       (425 - 42 + 725 - 72 + 855 - 85) / 3.0, 1e-9);
    cr_expect_str_eq(rows[1].op, "op");
    cr_expect_float_eq(rows[1].device_us, 10, 1e-9);
    cr_expect_float_eq(rows[1].launch_delay_us, 28 - 25, 1e-9);
    cr_expect_float_eq(rows[1].runtime_delay_us, 285 - 28, 1e-9);
    cr_expect_str_eq(rows[2].kernel, "alone"); /* its launch is not there */
    cr_expect(isnan(rows[2].runtime_delay_us));
    trace_file_close(&trace);
}
