/* SPDX-License-Identifier: MIT */
/* Copies, waits by cause, and collectives: against sums made by another
 * program, against a list of signals, and worked out by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support/trace_files.h"
#include "trace/trace_rows.h"

static const char own_train[] = "own/train.json.gz";
static const char own_parts[] = "own/fractions.json.gz";
static const char own_rank[] = "own/ranks/rank0.json.gz";
static const char trace_01[] =
    "01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz";
static const char trace_06[] = "06_nccl_data/nccl_data.json.gz";
static const char trace_08[] =
    "08_ns_resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz";
static const char trace_09[] = "09_negative_queue/rank0.json.gz";
static const char trace_11[] =
    "11_cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz";
static const char trace_12[] =
    "12_mi250_minitoy/mi250_minitoy_train_ROCm6_2_kineto.json.gz";
static const char trace_13[] =
    "13_simple_add/benchmark_result_493459_1694039959_trace.json.gz";
static const char trace_15[] =
    "15_bert_h100/gaunernst_bert-small-uncased__1016001.json.gz";
static const char trace_16[] =
    "16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001.json.gz";
static const char trace_23[] =
    "23_dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json";

static void expect_us(double value, double expected, const char *what)
{
    cr_expect_float_eq(value, expected, 1e-6, "%s is %.6f, not %.6f", what,
                       value, expected);
}

/* --- copies ------------------------------------------------------------- */

/*
 * Sums of Python's json with parse_float=Decimal over the events of category
 * memcpy and memset, by name: count, args.bytes, dur, and the dur of the
 * first memcpy or memset call with the correlation, once a call. Of our own:
 * tests/oracle/trace_signals.py rows.
 */
static const struct {
    const char *trace, *kind;
    int64_t count, bytes;
    double us, call_us;
} copies[] = {
    {own_train, "Memcpy HtoD (Pinned -> Device)", 5, 10485760, 500, 33},
    {own_train, "Memcpy HtoD (Pageable -> Device)", 5, 5242880, 450, 27},
    {own_train, "Memcpy DtoD (Device -> Device)", 5, 20971520, 60, 34},
    {own_train, "Memset (Device)", 20, 20480, 31, 141},
    {own_train, "Memcpy DtoH (Device -> Pageable)", 5, 20, 10, 29},
    {own_parts, "Memcpy HtoD (Pinned -> Device)", 4, 8388608, 400, 24.585},
    {own_parts, "Memcpy HtoD (Pageable -> Device)", 4, 4194304, 360, 23.642},
    {own_parts, "Memcpy DtoD (Device -> Device)", 4, 16777216, 48, 26.304},
    {own_parts, "Memset (Device)", 20, 20480, 30.549, 122.600},
    {own_parts, "Memcpy DtoH (Device -> Pageable)", 4, 16, 8, 23.707},
    {trace_01, "Memcpy HtoD (Pageable -> Device)", 12, 115607040, 11492,
     12047},
    {trace_01, "Memset (Device)", 312, 366475920, 534, 4060},
    {trace_08, "Memcpy DtoD (Device -> Device)", 1600, 512205160, 3715.404,
     52792.140},
    {trace_08, "Memset (Device)", 145, 287705000, 585.435, 7106.001},
    {trace_09, "Memcpy DtoD (Device -> Device)", 1280, 16637320108, 26591,
     7639},
    {trace_09, "Memcpy HtoD (Pinned -> Device)", 35, 253534084, 21073, 251},
    {trace_09, "Memset (Device)", 269, 331560, 476, 259},
    {trace_09, "Memcpy HtoD (Pageable -> Device)", 45, 6720, 82, 339},
    {trace_09, "Memcpy DtoH (Device -> Pageable)", 30, 8600, 80, 758396},
    {trace_09, "Memset (Unknown)", 8, 1792, 16, 0}, /* of a graph */
    {trace_12, "Memcpy HtoD (Host -> Device)", 2, 0, 38.161, 95.772},
    {trace_16, "Memcpy DtoH (Device -> Pageable)", 55, 146418600, 12903.459,
     15255.923},
    {trace_16, "Memcpy HtoD (Pageable -> Device)", 25, 30897080, 1660.111,
     2368.935},
    {trace_16, "Memset (Device)", 750, 97344400, 737.591, 3449.371},
    {trace_16, "Memcpy DtoD (Device -> Device)", 5, 250, 6.688, 89.311},
};

/* The rows expected of one trace, all of them, longest first. */
static void check_copies(const char *name)
{
    struct tp_trace trace;
    size_t row = 0;
    trace_file_read(name, &trace);
    cr_assert_eq(tp_trace_copies(&trace, NULL), TP_OK);
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        if (strcmp(copies[i].trace, name)) {
            continue;
        }
        cr_assert_lt(row, trace.copies.count);
        const struct tp_copy_row *copy = &trace.copies.rows[row++];
        cr_expect_str_eq(copy->kind, copies[i].kind);
        cr_expect_eq(copy->count, copies[i].count, "%s", copy->kind);
        cr_expect_eq(copy->bytes, copies[i].bytes, "%s", copy->kind);
        expect_us(copy->total_us, copies[i].us, copy->kind);
        expect_us(copy->call_us, copies[i].call_us, copy->kind);
        if (copies[i].bytes) {
            expect_us(copy->bandwidth_gbps,
                      (double)copies[i].bytes / copies[i].us / 1e3,
                      copy->kind);
        }
    }
    cr_expect_eq(row, trace.copies.count, "%s", name);
    trace_file_close(&trace);
}

Test(trace_copies, sums_of_own_traces)
{
    check_copies(own_train);
    check_copies(own_parts);
}

Test(trace_copies, sums_are_those_of_another_program)
{
    check_copies(trace_01);
    check_copies(trace_08);
    check_copies(trace_09);
    check_copies(trace_12);
    check_copies(trace_16);
}

/* --- waits: counts and times -------------------------------------------- */

/* Count and us of a call in the list of signals, 0 if it has none. */
static void read_signal(const char *trace, const char *call, double *count,
                        double *us)
{
    FILE *file = trace_file_open(trace_data_own(trace)
                                     ? "own/expected/signals.txt"
                                     : "expected/signals.txt");
    char line[2048], name[128];
    bool here = false;
    *count = *us = 0;
    while (fgets(line, sizeof line, file)) {
        double found[2];
        if (!strncmp(line, "## ./", 5)) {
            here = !strncmp(line + 5, trace, strlen(trace));
        } else if (here &&
                   sscanf(line, "      %127s %lf us %lf /step", name,
                          &found[0], &found[1]) == 3 &&
                   !strcmp(name, call)) {
            *count = found[0];
            *us = found[1];
        }
    }
    fclose(file);
}

static void sum_waits(const struct tp_trace *trace, const char *call,
                      const char *cause, double *count, double *us)
{
    *count = *us = 0;
    for (size_t i = 0; i < trace->syncs.count; i++) {
        const struct tp_sync_row *row = &trace->syncs.rows[i];
        if ((!call || !strcmp(row->call, call)) &&
            (!cause || !strcmp(row->cause, cause))) {
            *count += (double)row->count;
            *us += row->total_us;
        }
    }
}

/* Compares every call of some traces with the list; how many it has. */
static int check_signals(const char *const *traces, size_t count_traces)
{
    static const char *const calls[] = {
        "cudaStreamSynchronize", "cudaDeviceSynchronize",
        "cudaEventSynchronize", "hipDeviceSynchronize"};
    int found = 0;
    for (size_t i = 0; i < count_traces; i++) {
        struct tp_trace trace;
        trace_file_read(traces[i], &trace);
        cr_assert_eq(tp_trace_syncs(&trace, NULL), TP_OK);
        for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
            double count, us, signal_count, signal_us;
            read_signal(traces[i], calls[k], &signal_count, &signal_us);
            sum_waits(&trace, calls[k], NULL, &count, &us);
            cr_expect_eq(count, signal_count, "%s %s: %g, not %g", traces[i],
                         calls[k], count, signal_count);
            /* the list has one decimal */
            cr_expect_float_eq(us, signal_us, 0.0501, "%s %s: %f, not %f",
                               traces[i], calls[k], us, signal_us);
            found += signal_count > 0;
        }
        trace_file_close(&trace);
    }
    return found;
}

Test(trace_syncs, counts_and_times_of_own_traces)
{
    static const char *const traces[] = {own_train, own_parts, own_rank};
    cr_expect_geq(check_signals(traces, sizeof traces / sizeof *traces), 6,
                  "the list of signals was not understood");
}

Test(trace_syncs, counts_and_times_are_those_of_the_signals)
{
    static const char *const traces[] = {trace_01, trace_06, trace_08,
                                         trace_09, trace_12, trace_13,
                                         trace_15, trace_16, trace_23};
    cr_expect_geq(check_signals(traces, sizeof traces / sizeof *traces), 12,
                  "the list of signals was not understood");
}

/* --- waits: causes ------------------------------------------------------ */

static void read_waits(const char *name, struct tp_trace *trace)
{
    trace_file_read(name, trace);
    cr_assert_eq(tp_trace_syncs(trace, NULL), TP_OK);
}

/* 945 aten::item, none of which makes a call: they read host tensors. What
 * blocks are 30 copies to pageable memory, 758 ms. */
Test(trace_syncs, item_of_host_tensors_waits_for_nothing)
{
    struct tp_trace trace;
    double count, us;
    read_waits(trace_09, &trace);
    sum_waits(&trace, NULL, "item", &count, &us);
    cr_expect_eq(count, 0);
    sum_waits(&trace, "cudaMemcpyAsync", "copy DtoH", &count, &us);
    cr_expect_eq(count, 30);
    expect_us(us, 758396, "blocked");
    /* 70.9 % of W blocked, 28.1 of them while the device is busy */
    double idle = 0, window = (double)(trace.index.to - trace.index.from);
    sum_waits(&trace, NULL, NULL, &count, &us);
    for (size_t i = 0; i < trace.syncs.count; i++) {
        const struct tp_sync_row *row = &trace.syncs.rows[i];
        if (strcmp(row->cause, "profiler")) {
            idle += row->idle_us;
        } else {
            us -= row->total_us;
        }
    }
    cr_expect_float_eq(1e5 * us / window, 70.9, 0.1);
    cr_expect_float_eq(1e5 * idle / window, 70.9 - 28.1, 0.1);
    trace_file_close(&trace);

    read_waits(trace_11, &trace); /* 186 aten::item and no device at all */
    cr_expect_eq(trace.syncs.count, 0);
    trace_file_close(&trace);
    read_waits(trace_23, &trace);
    sum_waits(&trace, NULL, "item", &count, &us);
    cr_expect_eq(count, 0);
    trace_file_close(&trace);
}

/* One .item() with its copy and its wait, one synchronize of the user's, one
 * of the profiler's. */
Test(trace_syncs, item_with_a_copy_is_told_from_synchronize)
{
    struct tp_trace trace;
    double count, us;
    read_waits(trace_15, &trace);
    sum_waits(&trace, "cudaStreamSynchronize", "item", &count, &us);
    cr_expect_eq(count, 1);
    sum_waits(&trace, "cudaMemcpyAsync", "item", &count, &us);
    cr_expect_eq(count, 1);
    sum_waits(&trace, "cudaDeviceSynchronize", "explicit", &count, &us);
    cr_expect_eq(count, 1);
    sum_waits(&trace, "cudaDeviceSynchronize", "profiler", &count, &us);
    cr_expect_eq(count, 1);
    trace_file_close(&trace);
}

/* 359 ms of 16 are spent waiting, nearly all of it with a busy device. */
Test(trace_syncs, waiting_for_a_busy_device_is_told_apart)
{
    struct tp_trace trace;
    double idle = 0, count, us;
    read_waits(trace_16, &trace);
    sum_waits(&trace, NULL, "profiler", &count, &us);
    cr_expect_eq(count, 1);
    for (size_t i = 0; i < trace.syncs.count; i++) {
        idle += trace.syncs.rows[i].idle_us;
    }
    /* 0.7 % of W blocks while idle, in expected/idle_attribution.txt */
    const double window = (double)(trace.index.to - trace.index.from);
    cr_expect_float_eq(1e5 * idle / window, 0.7, 0.1);
    trace_file_close(&trace);
}

/* Of our own: five .item(), of which each is a copy and a wait; five waits
 * for a copy to the device, one for the device, by the profiler. Busy waits
 * for kernels only. */
Test(trace_syncs, causes)
{
    struct tp_trace trace;
    double count, us, idle = 0;
    read_waits(own_train, &trace);
    sum_waits(&trace, "cudaStreamSynchronize", "item", &count, &us);
    cr_expect_eq(count, 5);
    sum_waits(&trace, "cudaMemcpyAsync", "item", &count, &us);
    cr_expect_eq(count, 5);
    sum_waits(&trace, "cudaDeviceSynchronize", "profiler", &count, &us);
    cr_expect_eq(count, 1);
    sum_waits(&trace, "cudaStreamSynchronize", "copy HtoD", &count, &us);
    cr_expect_eq(count, 5);
    trace_file_close(&trace);
    read_waits("own/busy.json.gz", &trace);
    sum_waits(&trace, NULL, "item", &count, &us);
    cr_expect_eq(count, 0);
    sum_waits(&trace, "cudaStreamSynchronize", NULL, &count, &us);
    cr_expect_eq(count, 3);
    for (size_t i = 0; i < trace.syncs.count; i++)
        idle += trace.syncs.rows[i].idle_us;
    cr_expect_lt(idle, us / 100, "%g of %g us", idle, us);
    trace_file_close(&trace);
}

#define CALL(name, corr, ts, dur)                                          \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name            \
    "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur                \
    ",\"args\":{\"correlation\":" #corr "}},"
#define HOST(cat, name, ts, dur)                                           \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name                  \
    "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur "},"
#define OP(name, ts, dur) HOST("cpu_op", name, ts, dur)
#define GPU(cat, name, corr, ts, dur)                                      \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name                  \
    "\",\"pid\":0,\"tid\":7,\"ts\":" #ts ",\"dur\":" #dur                \
    ",\"args\":{\"stream\":7,\"device\":0,\"correlation\":" #corr "}},"

static const char causes_json[] =
    "{\"traceEvents\":["
    HOST("user_annotation", "ProfilerStep#3", 0, 1000)
    /* .item() inside an optimizer stays .item() */
    HOST("user_annotation", "Optimizer.step#SGD.step", 100, 200)
    OP("aten::is_nonzero", 110, 80)
    OP("aten::item", 111, 70)
    OP("aten::_local_scalar_dense", 112, 60)
    CALL("cudaMemcpyAsync", 1, 113, 5)
    CALL("cudaStreamSynchronize", 2, 120, 40)
    OP("aten::mul", 200, 50)
    CALL("cudaStreamSynchronize", 3, 210, 30)
    /* the wait of a copy takes the copy's direction */
    OP("aten::copy_", 400, 50)
    CALL("cudaMemcpyAsync", 4, 405, 5)
    CALL("cudaStreamSynchronize", 5, 415, 20)
    OP("aten::nonzero", 500, 50)
    CALL("cudaStreamSynchronize", 6, 510, 10)
    CALL("cudaDeviceSynchronize", 7, 600, 10)
    CALL("cudaDeviceSynchronize", 8, 1100, 10)
    CALL("cudaDeviceSynchronize", 9, 1200, 10)
    GPU("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 1, 130, 10)
    GPU("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 4, 404, 12)
    "{\"ph\":\"M\"}]}";

static void expect_wait(const struct tp_trace *trace, const char *cause,
                        const char *call, const char *op, double us,
                        double idle_us)
{
    for (size_t i = 0; i < trace->syncs.count; i++) {
        const struct tp_sync_row *row = &trace->syncs.rows[i];
        if (!strcmp(row->cause, cause) && !strcmp(row->call, call)) {
            cr_expect_str_eq(row->op, op);
            expect_us(row->total_us, us, cause);
            expect_us(row->idle_us, idle_us, cause);
            return;
        }
    }
    cr_expect_fail("no row of %s, %s", cause, call);
}

Test(trace_syncs, causes_by_hand)
{
    struct tp_trace trace;
    trace_text_read(causes_json, &trace);
    cr_assert_eq(tp_trace_syncs(&trace, NULL), TP_OK);
    expect_wait(&trace, "item", "cudaStreamSynchronize",
                "aten::_local_scalar_dense", 40, 30);
    expect_wait(&trace, "item", "cudaMemcpyAsync",
                "aten::_local_scalar_dense", 5, 5);
    expect_wait(&trace, "optimizer", "cudaStreamSynchronize", "aten::mul", 30,
                30);
    expect_wait(&trace, "copy HtoD", "cudaMemcpyAsync", "aten::copy_", 5, 0);
    expect_wait(&trace, "copy HtoD", "cudaStreamSynchronize", "aten::copy_",
                20, 19);
    expect_wait(&trace, "operator", "cudaStreamSynchronize", "aten::nonzero",
                10, 10);
    /* one inside the step, one after it; the last is the profiler's */
    expect_wait(&trace, "explicit", "cudaDeviceSynchronize", "", 20, 20);
    expect_wait(&trace, "profiler", "cudaDeviceSynchronize", "", 10, 10);
    cr_expect_eq(trace.syncs.count, 8);
    trace_file_close(&trace);
}

/* Cut inside a step, a trace has no call of the profiler's. */
Test(trace_syncs, a_synchronize_inside_the_last_step_is_the_users)
{
    struct tp_trace trace;
    trace_text_read("{\"traceEvents\":["
                    HOST("user_annotation", "ProfilerStep#3", 0, 1000)
                    CALL("cudaDeviceSynchronize", 7, 600, 10)
                    "{\"ph\":\"M\"}]}",
                    &trace);
    cr_assert_eq(tp_trace_syncs(&trace, NULL), TP_OK);
    cr_assert_eq(trace.syncs.count, 1);
    cr_expect_str_eq(trace.syncs.rows[0].cause, "explicit");
    trace_file_close(&trace);
}

/* --- collectives -------------------------------------------------------- */

/* 21 kernels, the longest an allreduce over "[0, 1]" (asserted by HTA). The
 * elements, times and what no other kernel covers: summed by a program in
 * Python over the events' own arguments. */
Test(trace_comms, nccl_kernels_with_arguments)
{
    struct tp_trace trace;
    int64_t count = 0;
    trace_file_read(trace_06, &trace);
    cr_assert_eq(tp_trace_comms(&trace, NULL), TP_OK);
    cr_assert_eq(trace.comms.count, 3);
    for (size_t i = 0; i < trace.comms.count; i++) {
        count += trace.comms.rows[i].count;
        cr_expect_str_eq(trace.comms.rows[i].group, "[0, 1]");
        cr_expect_eq(trace.comms.rows[i].group_size, 2);
    }
    cr_expect_eq(count, 21);
    const struct tp_comm_row *row = &trace.comms.rows[0];
    cr_expect_str_eq(row->collective, "allreduce");
    cr_expect_str_eq(row->dtype, "Float");
    cr_expect_eq(row->count, 15);
    cr_expect_eq(row->in_bytes, INT64_C(4) * 76671096);
    cr_expect_eq(row->out_bytes, row->in_bytes);
    expect_us(row->total_us, 46762.159, "allreduce");
    expect_us(row->max_us, 5993.392, "longest");
    expect_us(row->exposed_us, 39414.993, "exposed");
    expect_us(row->algorithm_gbps, 4.0 * 76671096 / 46762159, "algorithm");
    expect_us(row->bus_gbps, row->algorithm_gbps, "2 (n - 1) / n is 1");
    row = &trace.comms.rows[2];
    cr_expect_str_eq(row->collective, "broadcast");
    cr_expect_str_eq(row->dtype, "Long");
    cr_expect_eq(row->in_bytes, 8 * 159);
    cr_expect_eq(row->out_bytes, 8 * 159);
    trace_file_close(&trace);
}

/* Kernels without arguments say what they are by the range around their launch:
 * these all-to-all are kernels of send and receive. */
Test(trace_comms, names_tell_where_nothing_else_does)
{
    struct tp_trace trace;
    trace_file_read(trace_23, &trace);
    cr_assert_eq(tp_trace_comms(&trace, NULL), TP_OK);
    cr_assert_eq(trace.comms.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct tp_comm_row *row = &trace.comms.rows[i];
        const bool reduces = strstr(row->kernel, "AllReduce");
        cr_expect_str_eq(row->collective, reduces ? "allreduce" : "alltoall");
        cr_expect_eq(row->count, reduces ? 3 : 5);
        cr_expect_eq(row->in_bytes, -1);
        cr_expect_eq(row->out_bytes, -1);
        cr_expect(isnan(row->algorithm_gbps) && isnan(row->bus_gbps));
    }
    trace_file_close(&trace);
}

/* gloo runs on the host: ten ranges. */
Test(trace_comms, ranges_of_the_host)
{
    struct tp_trace trace;
    trace_file_read(trace_11, &trace);
    cr_assert_eq(tp_trace_comms(&trace, NULL), TP_OK);
    cr_assert_eq(trace.comms.count, 1);
    cr_expect_str_eq(trace.comms.rows[0].kernel, "gloo:all_reduce");
    cr_expect_str_eq(trace.comms.rows[0].collective, "allreduce");
    cr_expect_eq(trace.comms.rows[0].count, 10);
    trace_file_close(&trace);
}

/* Of our own (tests/oracle/trace_signals.py rows): three reductions. */
Test(trace_comms, nccl_kernels)
{
    struct tp_trace trace;
    trace_file_read(own_rank, &trace);
    cr_assert_eq(tp_trace_comms(&trace, NULL), TP_OK);
    cr_assert_eq(trace.comms.count, 1);
    const struct tp_comm_row *row = &trace.comms.rows[0];
    cr_expect_str_eq(row->group, "[0, 1, 2, 3]");
    cr_expect_eq(row->group_size, 4);
    cr_expect_str_eq(row->collective, "allreduce");
    cr_expect_str_eq(row->dtype, "Float");
    cr_expect_eq(row->count, 3);
    cr_expect_eq(row->in_bytes, INT64_C(4) * 2151000);
    cr_expect_eq(row->out_bytes, row->in_bytes);
    expect_us(row->total_us, 747, "allreduce");
    expect_us(row->max_us, 520, "longest");
    expect_us(row->exposed_us, 510, "exposed");
    expect_us(row->algorithm_gbps, 4.0 * 2151000 / 747 / 1e3, "algorithm");
    expect_us(row->bus_gbps, row->algorithm_gbps * 1.5, "2 (n - 1) / n");
    trace_file_close(&trace);
}

/* Kernels without arguments, and ranges of gloo, by their names. */
Test(trace_comms, names)
{
    struct tp_trace trace;
    trace_text_read(
        "{\"traceEvents\":["
        GPU("kernel", "ncclKernel_SendRecv_RING_SIMPLE()", 1, 100, 20)
        GPU("kernel", "ncclKernel_AllReduce_RING_LL()", 2, 200, 30)
        GPU("kernel", "ncclKernel_AllReduce_RING_LL()", 3, 300, 30)
        "{\"ph\":\"M\"}]}",
        &trace);
    cr_assert_eq(tp_trace_comms(&trace, NULL), TP_OK);
    cr_assert_eq(trace.comms.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct tp_comm_row *row = &trace.comms.rows[i];
        const bool sends = strstr(row->kernel, "SendRecv");
        cr_expect_str_eq(row->collective, sends ? "sendrecv" : "allreduce");
        cr_expect_eq(row->count, strstr(row->kernel, "RING_LL") ? 2 : 1);
        cr_expect_eq(row->in_bytes, -1);
        cr_expect_eq(row->out_bytes, -1);
        cr_expect(isnan(row->algorithm_gbps) && isnan(row->bus_gbps));
    }
    trace_file_close(&trace);
    trace_text_read("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":"
                    "\"user_annotation\",\"name\":\"gloo:all_reduce\","
                    "\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":50}]}",
                    &trace);
    cr_assert_eq(tp_trace_comms(&trace, NULL), TP_OK);
    cr_assert_eq(trace.comms.count, 1);
    cr_expect_str_eq(trace.comms.rows[0].kernel, "gloo:all_reduce");
    cr_expect_str_eq(trace.comms.rows[0].collective, "allreduce");
    trace_file_close(&trace);
}

/* The message of an allgather is what comes out, its factor (n - 1) / n; the
 * arguments are those of the operator around the launch. */
Test(trace_comms, arguments_of_the_operator)
{
    struct tp_trace trace;
    trace_text_read(
        "{\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"record_param_comms\","
        "\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":50,\"args\":{\"Collective "
        "name\":\"_allgather_base\",\"In msg nelems\":1000,\"Out msg "
        "nelems\":8000,\"Group size\":8,\"dtype\":\"BFloat16\",\"Process "
        "Group Name\":\"3\"}},"
        CALL("cudaLaunchKernel", 1, 10, 5)
        CALL("cudaLaunchKernel", 2, 60, 5)
        GPU("kernel", "ncclDevKernel_AllGather_RING_LL()", 1, 100, 20)
        GPU("kernel", "gemm", 2, 115, 20)
        "{\"ph\":\"M\"}]}",
        &trace);
    cr_assert_eq(tp_trace_comms(&trace, NULL), TP_OK);
    cr_assert_eq(trace.comms.count, 1);
    const struct tp_comm_row *row = &trace.comms.rows[0];
    cr_expect_str_eq(row->collective, "_allgather_base");
    cr_expect_str_eq(row->group, "3");
    cr_expect_eq(row->in_bytes, 2000);
    cr_expect_eq(row->out_bytes, 16000);
    expect_us(row->algorithm_gbps, 16000.0 / 20000, "algorithm");
    expect_us(row->bus_gbps, 16000.0 / 20000 * 7 / 8, "bus");
    expect_us(row->exposed_us, 15, "exposed");
    trace_file_close(&trace);
}
