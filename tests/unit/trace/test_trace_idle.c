/* SPDX-License-Identifier: MIT */
/* Idle causes against a calibration over real traces, and against traces
 * small enough to be worked out by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support/trace_files.h"
#include "trace/trace_rows.h"

static const char *const traces[] = {
    "own/train.json.gz",
    "own/loader.json.gz",
    "own/busy.json.gz",
    "own/long.json.gz",
    "own/one_step.json.gz",
    "own/ranks/rank0.json.gz",
    "own/ranks/rank1.json.gz",
    "own/ranks/rank2.json.gz",
    "own/ranks/rank3.json.gz",
    "01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz",
    "02_resnet50_nw4/worker0.1623212756351.pt.trace.json.gz",
    "03_resnet50_nw0_list/worker0.pt.trace.json.gz",
    "04_gpu_metrics_input/gpu_metrics_input.json",
    "06_nccl_data/nccl_data.json.gz",
    "08_ns_resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "09_negative_queue/rank0.json.gz",
    "12_mi250_minitoy/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "13_simple_add/benchmark_result_493459_1694039959_trace.json.gz",
    "15_bert_h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
    "19_b200_eager/eager_trace.json.gz",
    "23_dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json",
    "23_dlrm_8rank/worker7_step_12.1694128201553.pt.trace.json",
};
enum { OWN = 9, TRACES = sizeof traces / sizeof *traces };

/* In the calibration of these, ProfilerStep counted as an operator; without
 * it (the reference says): percent of W. NaN: only the sum is known. */
static const struct {
    const char *folder;
    double cpu_op, none;
} corrected[] = {
    {"01_", 7.9, 0.7},
    {"02_", NAN, 19.4},
    {"03_", 24.1, 1.2},
    {"04_", 65.3, 24.4},
};

/* The calibration knows no pending work: there it is charged to what the host
 * did. By a program of its own (intervals in Python), percent of W. */
static const struct {
    const char *folder;
    double queued;
} pending[] = {{"09_", 62.2}};

/* One line of the calibration: percent of W, W in us. */
struct expected {
    char name[128];
    double window, busy, idle, alloc, dataloader, blocking, launch, cpu_op,
        none, blocked, blocked_busy, refill;
};

static int read_line(const char *text, struct expected *line)
{
    return sscanf(text,
                  "%127s W %lf busy %lf%% idle %lf%% | of W: alloc %lf%% "
                  "dataloader %lf%% blocking %lf%% launch %lf%% cpu_op %lf%% "
                  "none %lf%% | blocked %lf%% (gpu busy meanwhile %lf%%) "
                  "refill-after-sync %lf%%",
                  line->name, &line->window, &line->busy, &line->idle,
                  &line->alloc, &line->dataloader, &line->blocking,
                  &line->launch, &line->cpu_op, &line->none, &line->blocked,
                  &line->blocked_busy, &line->refill);
}

/* The trace whose path ends as the calibration names it. */
static const char *find_trace(const char *end)
{
    for (int i = 0; i < TRACES; i++) {
        const size_t length = strlen(traces[i]);
        if (length >= strlen(end) &&
            strcmp(traces[i] + length - strlen(end), end) == 0) {
            return traces[i];
        }
    }
    return NULL;
}

static void near(const char *trace, const char *what, double share,
                 double percent)
{
    cr_expect_leq(fabs(100 * share - percent), 0.2, "%s: %s is %.2f, not %.1f",
                  trace, what, 100 * share, percent);
}

static double queued_of(const char *name)
{
    for (size_t i = 0; i < sizeof pending / sizeof *pending; i++) {
        if (strncmp(name, pending[i].folder, 3) == 0) {
            return pending[i].queued;
        }
    }
    return 0;
}

static void compare(const char *name, const struct tp_idle_row *row,
                    const struct expected *line)
{
    double cpu_op = line->cpu_op;
    double none = line->none;
    for (size_t i = 0; i < sizeof corrected / sizeof *corrected; i++) {
        if (strncmp(name, corrected[i].folder, 3) == 0) {
            cpu_op = corrected[i].cpu_op;
            none = corrected[i].none;
        }
    }
    cr_expect_leq(fabs(row->window_us - line->window), 1, "%s: W is %.3f", name,
                  row->window_us);
    near(name, "busy", row->busy, line->busy);
    const double queued = queued_of(name);
    near(name, "queued", row->queued, queued);
    const double others = row->alloc + row->dataloader + row->blocking +
                          row->launch + row->cpu_op + row->none;
    if (queued > 0) { /* the others are what is left of the idle time */
        near(name, "others", others, line->idle - queued);
        cr_expect_lt(100 * row->blocking, line->blocking);
        cr_expect_lt(100 * row->launch, line->launch);
        return;
    }
    near(name, "alloc", row->alloc, line->alloc);
    near(name, "dataloader", row->dataloader, line->dataloader);
    near(name, "blocking", row->blocking, line->blocking);
    near(name, "launch", row->launch, line->launch);
    if (isnan(cpu_op)) {
        near(name, "cpu_op + none", row->cpu_op + row->none, none);
    } else {
        near(name, "cpu_op", row->cpu_op, cpu_op);
        near(name, "none", row->none, none);
    }
    near(name, "blocked", row->blocked, line->blocked);
    near(name, "blocked while busy", row->blocked_busy, line->blocked_busy);
    near(name, "refill", row->refill, line->refill);
    const double sum = row->busy + row->queued + others;
    cr_expect_leq(fabs(sum - 1), 1e-9, "%s: shares add up to %.9f", name, sum);
}

/* Compares the traces of a file; how many. */
static int compare_file(const char *expected)
{
    FILE *file = trace_file_open(expected);
    char text[512];
    int compared = 0;
    while (fgets(text, sizeof text, file)) {
        struct expected line;
        struct tp_trace trace;
        struct tp_error err = {0};
        cr_assert_eq(read_line(text, &line), 13, "%s", text);
        const char *name = find_trace(line.name);
        cr_assert_not_null(name, "%s", line.name);
        trace_file_read(name, &trace);
        cr_assert_eq(tp_trace_idle(&trace, &err), TP_OK, "%s", err.message);
        compare(name, &trace.idle, &line);
        trace_file_close(&trace);
        compared++;
    }
    fclose(file);
    return compared;
}

/* Of our own: by an array with an element a microsecond, in numpy. */
Test(trace_idle, calibration)
{
    static const char public[] = "expected/idle_attribution.txt";
    cr_assert_eq(compare_file("own/expected/idle_attribution.txt"), OWN);
    if (trace_data_there(public))
        cr_assert_eq(compare_file(public), TRACES - OWN);
}

/* X events of one thread (1, 1) or of stream 7; us. */
/* clang-format off: an event a line */
#define HOST(cat, name, ts, dur)                          \
    ",{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name \
    "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur "}"
#define CALL(name, ts, dur, id)                                \
    ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name \
    "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur      \
    ",\"args\":{\"correlation\":" #id "}}"
#define DEVICE(cat, name, ts, dur, id)                    \
    ",{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name \
    "\",\"pid\":0,\"tid\":7,\"ts\":" #ts ",\"dur\":" #dur \
    ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":" #id "}}"
#define TRACE(events) "{\"traceEvents\":[{\"ph\":\"M\"}" events "]}"

static struct tp_idle_row idle_of(const char *json)
{
    struct tp_trace trace;
    trace_text_read(json, &trace);
    cr_assert_eq(tp_trace_idle(&trace, NULL), TP_OK);
    const struct tp_idle_row row = trace.idle;
    trace_file_close(&trace);
    return row;
}

/* W is 0 to 1000. The device works in 100 .. 300. An operator covers 0 .. 900
 * and holds everything else; each cause takes from those after it. */
Test(trace_idle, priority)
{
    const struct tp_idle_row row = idle_of(TRACE(
        HOST("user_annotation", "ProfilerStep#1", 0, 1000) HOST(
            "cpu_op", "aten::x", 0,
            900) CALL("cudaLaunchKernel", 40, 20,
                      1) DEVICE("kernel", "k", 100, 200,
                                1) CALL("cudaStreamSynchronize", 200, 150, 2)
            CALL("cudaMalloc", 400, 100, 3) HOST(
                "user_annotation",
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                450, 150) CALL("cudaMemcpyAsync", 700, 30, 4)));
    cr_expect_float_eq(row.window_us, 1000, 1e-9);
    cr_expect_float_eq(row.busy, 0.2, 1e-12);
    cr_expect_float_eq(row.alloc, 0.1, 1e-12);
    cr_expect_float_eq(row.dataloader, 0.1, 1e-12);
    cr_expect_float_eq(row.blocking, 0.05, 1e-12);
    cr_expect_float_eq(row.launch, 0.05, 1e-12);
    cr_expect_float_eq(row.none, 0.1, 1e-12);
    cr_expect_float_eq(row.cpu_op, 0.4, 1e-12);
    cr_expect_float_eq(row.blocked, 0.15, 1e-12);
    cr_expect_float_eq(row.blocked_busy, 0.1, 1e-12);
    cr_expect_float_eq(row.refill, 0.65, 1e-12); /* 350 .. 1000 */
    cr_expect_eq(row.blocking_calls, 1);
    cr_expect_float_eq(row.driver_alloc_us, 100, 1e-9);
}

/* An asynchronous copy waits if it goes to the host or through pageable
 * memory, else it is a launch like others. */
Test(trace_idle, asynchronous_copies)
{
    const struct tp_idle_row row = idle_of(TRACE(
        HOST("user_annotation", "ProfilerStep#1", 0,
             100) CALL("cudaMemcpyAsync", 0, 10, 1)
            DEVICE("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 20, 10, 1)
                CALL("cudaMemcpyAsync", 30, 10, 2)
                    DEVICE("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 40,
                           10, 2) CALL("cudaMemcpyAsync", 60, 10, 3)
                        DEVICE("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)",
                               80, 10, 3)));
    cr_expect_float_eq(row.blocking, 0.2, 1e-12);
    cr_expect_float_eq(row.launch, 0.1, 1e-12);
    cr_expect_eq(row.blocking_calls, 2);
}

/* The synchronisation with which the profiler ends lies behind the last step,
 * and what a worker thread loads is waited for by nobody. */
Test(trace_idle, outside)
{
    const struct tp_idle_row row = idle_of(TRACE(HOST(
        "user_annotation", "ProfilerStep#1", 0,
        100) ",{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
             "\"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\","
             "\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":50}" DEVICE(
                 "kernel", "k", 90, 5, 1) CALL("cudaDeviceSynchronize", 100,
                                               500, 2)));
    cr_expect_float_eq(row.window_us, 100, 1e-9);
    cr_expect_float_eq(row.blocked, 0, 1e-12);
    cr_expect_float_eq(row.dataloader, 0, 1e-12);
    cr_expect_float_eq(row.none, 0.95, 1e-12);
    cr_expect_eq(row.blocking_calls, 0);
}

Test(trace_idle, host_only)
{
    const struct tp_idle_row row =
        idle_of(TRACE(HOST("user_annotation", "ProfilerStep#1", 0, 100)
                          HOST("cpu_op", "aten::x", 0, 60)));
    cr_expect_float_eq(row.busy, 0, 1e-12);
    cr_expect_float_eq(row.cpu_op, 0.6, 1e-12);
    cr_expect_float_eq(row.none, 0.4, 1e-12);
}

Test(trace_idle, no_window)
{
    const struct tp_idle_row row =
        idle_of(TRACE(HOST("cpu_op", "aten::x", 5, 0)));
    cr_expect_float_eq(row.window_us, 0, 1e-12);
    cr_expect(isnan(row.busy));
    cr_expect(isnan(row.none));
    cr_expect(isnan(row.refill));
}

/* Times as far apart as the reader lets them be. */
Test(trace_idle, far_apart)
{
    const struct tp_idle_row row = idle_of(TRACE(
        DEVICE("kernel", "k", -2305843009213693.9, 1, 1)
            CALL("cudaStreamSynchronize", 0, 604800000000, 2)
                DEVICE("kernel", "k", 4611686018427387.9, 604800000000, 3)));
    cr_expect_float_eq(row.window_us, 6918133827641081.8, 1e3);
    cr_expect_float_eq(row.blocked, row.blocking, 1e-12);
    cr_expect_float_eq(row.busy + row.blocking + row.none, 1, 1e-9);
}

/* Work of stream 7, launched long before, begins when the kernel of another
 * stream is over, or 800 us later: that is nobody's fault on the host. Of a
 * graph, launched at once, what is inside does not count. */
Test(trace_idle, pending_work)
{
    static const char json[] = TRACE(
        HOST("user_annotation", "ProfilerStep#1", 0, 2000)
            CALL("cudaLaunchKernel", 40, 20, 1) DEVICE("kernel", "k", 70, 30, 1)
                CALL("cudaLaunchKernel", 70, 20, 2) CALL(
                    "cudaLaunchKernel", 90, 10,
                    3) CALL("cudaStreamSynchronize", 100, 1400, 4)
                    DEVICE("kernel", "late", 1000, 100,
                           2) DEVICE("kernel", "later", 1105, 95, 3));
    struct tp_trace trace;
    trace_text_read(json, &trace);
    cr_assert_eq(tp_trace_idle(&trace, NULL), TP_OK);
    const struct tp_idle_row row = trace.idle;
    /* 190 to 1000; 1100 to 1105 is how a device goes on */
    cr_expect_float_eq(row.queued, 810. / 2000, 1e-12, "%g", row.queued);
    cr_expect_str_eq(row.queued_name, "late");
    cr_expect_eq(row.queued_count, 1);
    cr_expect_float_eq(row.queued_name_us, 810, 1e-9);
    cr_expect_eq(row.queued_most, 2);
    /* 100 to 190, 1100 to 1105, 1200 to 1500 */
    cr_expect_float_eq(row.blocking, 395. / 2000, 1e-12, "%g", row.blocking);
    trace_file_close(&trace);
}

Test(trace_idle, what_is_inside_a_graph_is_not_pending)
{
    const struct tp_idle_row row = idle_of(
        TRACE(HOST("user_annotation", "ProfilerStep#1", 0, 2000)
                  CALL("cudaGraphLaunch", 40, 20, 1)
                      DEVICE("kernel", "first", 70, 30, 1)
                          DEVICE("kernel", "second", 1000, 100, 1)));
    cr_expect_eq(row.queued, 0);
    cr_expect_eq(row.queued_most, 0);
}

/* What follows a wait is its cost where the device has nothing to do, and not
 * where work is pending, which is a class of its own: "late" is launched before
 * the wait, or just before it begins. */
Test(trace_idle, after_a_wait)
{
    const struct tp_idle_row full = idle_of(
        TRACE(HOST("user_annotation", "ProfilerStep#1", 0, 1200)
                  CALL("cudaLaunchKernel", 70, 20, 2)
                      CALL("cudaStreamSynchronize", 100, 400, 4)
                          DEVICE("kernel", "late", 1000, 200, 2)));
    const struct tp_idle_row empty = idle_of(
        TRACE(HOST("user_annotation", "ProfilerStep#1", 0, 1200)
                  CALL("cudaStreamSynchronize", 100, 400, 4)
                      CALL("cudaLaunchKernel", 960, 20, 2)
                          DEVICE("kernel", "late", 1000, 200, 2)));
    cr_expect_float_eq(full.queued, 810. / 1200, 1e-12); /* from 190 on */
    cr_expect_float_eq(full.refill, 0, 1e-12, "%g", full.refill);
    cr_expect_float_eq(empty.queued, 0, 1e-12);
    cr_expect_float_eq(empty.refill, 500. / 1200, 1e-12, "%g", empty.refill);
}
