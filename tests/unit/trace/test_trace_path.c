/* SPDX-License-Identifier: MIT */
/*
 * The critical path: against Holistic Trace Analysis 0.5.0 (its own test, and
 * runs of it with CRITICAL_PATH_ADD_ZERO_WEIGHT_LAUNCH_EDGE=1), and by hand.
 */
#include "tests/unit/support/cpu_limit.h"
#include "tests/unit/support/trace_files.h"
#include "tests/unit/support/xorshift.h"
#include "trace/trace_path.h"
#include "trace/trace_path_graph.h"
#include "trace/trace_rows.h"

/* The window of an annotation's n-th instance on the host. */
static void find_window(const struct tp_trace *trace, const char *name, int n,
                        int64_t window[2])
{
    for (size_t i = 0; i < trace->index.host_count; i++) {
        uint32_t event = trace->index.host[i];
        if (strcmp(tp_events_get(&trace->events, trace->events.name[event]),
                   name) != 0 ||
            n-- > 0)
            continue;
        window[0] = trace->events.start[event];
        window[1] = window[0] + trace->events.duration[event];
        return;
    }
    cr_assert_fail("no %s", name);
}

static size_t count_kind(const struct tp_path *path, enum tp_path_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < path->count; i++)
        count += path->edges[i].kind == kind;
    return count;
}

static int64_t sum_kind(const struct tp_path *path, enum tp_path_kind kind)
{
    int64_t ns = 0;
    for (size_t i = 0; i < path->count; i++)
        ns += path->edges[i].kind == kind ? path->edges[i].weight : 0;
    return ns;
}

Test(trace_path, simple_add_is_that_of_hta)
{
    struct tp_trace trace;
    struct tp_path_base *base;
    struct tp_path_maker *maker;
    struct tp_path path;
    int64_t window[2];
    trace_file_read("13_simple_add/benchmark_result_493459_1694039959_"
                    "trace.json.gz",
                    &trace);
    find_window(&trace, "[param|pytorch.model.alex_net|0|0|0|measure|forward]",
                1, window);
    cr_assert_eq(tp_path_base_new(&trace, &base, NULL), TP_OK);
    cr_assert_eq(tp_path_maker_new(base, &maker, NULL), TP_OK);
    cr_assert_eq(tp_path_find(maker, window[0], window[1], &path, NULL), TP_OK);
    cr_expect_eq(path.nodes, 315, "%zu", path.nodes);
    cr_expect_eq(path.events, 159, "%zu", path.events);
    cr_expect_eq(path.count, 314, "%zu", path.count);
    cr_expect_eq(count_kind(&path, TP_PATH_OUTSIDE), 20);
    cr_expect_eq(count_kind(&path, TP_PATH_GAP), 5);
    cr_expect_eq(count_kind(&path, TP_PATH_LAUNCH), 1);
    cr_expect_eq(sum_kind(&path, TP_PATH_LAUNCH), 17000);
    cr_expect_eq(sum_kind(&path, TP_PATH_GAP), 9000);
    cr_expect_eq(path.to - path.from, 242625000);
    tp_path_maker_free(maker);
    tp_path_base_free(base);
    trace_file_close(&trace);
}

/* The weight of the arc of a kind to the device event with a correlation, ns;
 * -1: there is none. */
static int64_t weight_to(const struct tp_path_maker *maker,
                         enum tp_path_kind kind, int64_t correlation)
{
    const struct tp_events *events = &maker->trace->events;
    for (size_t i = 0; i < maker->arc_count; i++) {
        const struct tp_path_arc *arc = &maker->arcs[i];
        if (arc->kind == kind &&
            events->correlation[maker->event[arc->to / 2]] == correlation)
            return arc->weight;
    }
    return -1;
}

/* The edges that its test names: the launch delay of an fft kernel, the gap
 * before the next one, and that the latter has no launch delay; two syncs. */
Test(trace_path, edges_are_those_of_hta)
{
    struct tp_trace trace;
    struct tp_path_base *base;
    struct tp_path_maker *maker;
    int64_t window[2];
    size_t gaps = 0, launches = 0, returns = 0, outside = 0;
    trace_file_read("13_simple_add/benchmark_result_493459_1694039959_"
                    "trace.json.gz",
                    &trace);
    find_window(&trace, "[param|pytorch.model.alex_net|0|0|0|measure|forward]",
                1, window);
    cr_assert_eq(tp_path_base_new(&trace, &base, NULL), TP_OK);
    cr_assert_eq(tp_path_maker_new(base, &maker, NULL), TP_OK);
    cr_assert_eq(tp_path_graph(maker, window[0], window[1], NULL), TP_OK);
    cr_expect_eq(weight_to(maker, TP_PATH_LAUNCH, 5597), 27000);
    cr_expect_eq(weight_to(maker, TP_PATH_GAP, 5604), 7000);
    cr_expect_eq(weight_to(maker, TP_PATH_LAUNCH, 5604), -1);
    cr_expect_eq(weight_to(maker, TP_PATH_QUEUE, 5604), 0);
    for (size_t i = 0; i < maker->arc_count; i++) {
        gaps += maker->arcs[i].kind == TP_PATH_GAP;
        launches += maker->arcs[i].kind == TP_PATH_LAUNCH ||
                    maker->arcs[i].kind == TP_PATH_QUEUE;
        returns += maker->arcs[i].kind == TP_PATH_RETURN;
        outside += maker->arcs[i].kind == TP_PATH_OUTSIDE;
    }
    cr_expect_eq(maker->arc_count, 440);
    cr_expect_eq(gaps, 25);
    cr_expect_eq(launches, 40);
    cr_expect_eq(returns, 2);
    cr_expect_eq(outside, 23);
    tp_path_maker_free(maker);
    tp_path_base_free(base);
    trace_file_close(&trace);
}

/* --- by hand ---------------------------------------------------------------
 */

struct made {
    struct tp_trace trace;
    struct tp_path_base *base;
    struct tp_path_maker *maker;
    struct tp_path path;
};

/* The path of a whole JSON trace, whose times are microseconds. */
static void find(struct made *made, const char *json)
{
    trace_text_read(json, &made->trace);
    cr_assert_eq(tp_path_base_new(&made->trace, &made->base, NULL), TP_OK);
    cr_assert_eq(tp_path_maker_new(made->base, &made->maker, NULL), TP_OK);
    cr_assert_eq(
        tp_path_find(made->maker, INT64_MIN, INT64_MAX, &made->path, NULL),
        TP_OK);
}

static void clear(struct made *made)
{
    tp_path_maker_free(made->maker);
    tp_path_base_free(made->base);
    trace_file_close(&made->trace);
}

/* Edges lead from one node to the next: their times add up. */
static void check_sums(const struct tp_path *path)
{
    int64_t ns = 0, weight = 0;
    for (size_t i = 0; i < path->count; i++) {
        ns += path->edges[i].ns;
        weight += path->edges[i].weight;
        cr_expect_geq(path->edges[i].weight, 0);
    }
    cr_expect_eq(ns, path->to - path->from);
    cr_expect_eq(path->nodes, path->count + 1);
    cr_expect_leq(path->events, path->nodes);
}

#define OP(name, ts, dur)                               \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name \
    "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur "},"
#define CALL(name, ts, dur, id)                               \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name \
    "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur     \
    ",\"args\":{\"correlation\":" #id "}},"
#define KERNEL(name, ts, dur, id, on)                           \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name         \
    "\",\"pid\":0,\"tid\":" #on ",\"ts\":" #ts ",\"dur\":" #dur \
    ",\"args\":{\"device\":0,\"stream\":" #on ",\"correlation\":" #id "}},"
#define TRACE(events) "{\"traceEvents\":[" events "{\"ph\":\"M\"}]}"

/* An operator launches a kernel that outlasts it, and the host waits: the way
 * goes over the device, and back. */
Test(trace_path, goes_over_the_device_and_back)
{
    struct made made;
    static const enum tp_path_kind kinds[] = {TP_PATH_OPERATOR, TP_PATH_LAUNCH,
                                              TP_PATH_KERNEL, TP_PATH_RETURN,
                                              TP_PATH_OPERATOR};
    static const int64_t us[] = {2, 6, 90, 2, 11};
    find(&made, TRACE(OP("a", 0, 120) CALL("cudaLaunchKernel", 2, 3, 1)
                          CALL("cudaDeviceSynchronize", 20, 80, 2)
                              KERNEL("k", 8, 90, 1, 7) OP("b", 105, 6)));
    check_sums(&made.path);
    cr_assert_geq(made.path.count, 5);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(made.path.edges[i].kind, kinds[i], "%zu", i);
        cr_expect_eq(made.path.edges[i].ns, 1000 * us[i], "%zu", i);
    }
    cr_expect_eq(made.path.from, 0);
    cr_expect_eq(made.path.to, 120000);
    clear(&made);
}

/* Two kernels in a row: the second waited for the first, not for its launch. */
Test(trace_path, a_full_stream_leaves_gaps)
{
    struct made made;
    find(&made, TRACE(OP("a", 0, 10) CALL("cudaLaunchKernel", 1, 2,
                                          1) CALL("cudaLaunchKernel", 4, 2, 2)
                          KERNEL("k", 5, 50, 1, 7) KERNEL("l", 58, 40, 2, 7)));
    check_sums(&made.path);
    cr_expect_eq(count_kind(&made.path, TP_PATH_KERNEL), 2);
    cr_expect_eq(count_kind(&made.path, TP_PATH_GAP), 1);
    cr_expect_eq(sum_kind(&made.path, TP_PATH_GAP), 3000);
    cr_expect_eq(made.path.to, 98000);
    clear(&made);
}

/* What a cuda_sync event says is believed, not guessed. */
Test(trace_path, syncs_are_those_of_their_stream)
{
    static const char *const streams[] = {"7", "8"};
    static const int64_t kernel_us[] = {30, 60};
    for (size_t i = 0; i < 2; i++) {
        char json[4096];
        struct made made;
        snprintf(json, sizeof json,
                 TRACE(OP("a", 0, 200) CALL("cudaLaunchKernel", 1, 2, 1)
                           CALL("cudaLaunchKernel", 4, 2, 2)
                               CALL("cudaStreamSynchronize", 10, 80, 3)
                                   KERNEL("k", 5, 30, 1, 7)
                                       KERNEL("l", 8, 60, 2, 8) "%s%s%s"),
                 "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream "
                 "Sync\",\"pid\":0,\"tid\":7,\"ts\":11,\"dur\":78,\"args\":{"
                 "\"cuda_sync_kind\":\"Stream Sync\",\"device\":0,\"stream\":",
                 streams[i], ",\"correlation\":3}},");
        find(&made, json);
        check_sums(&made.path);
        cr_expect_eq(count_kind(&made.path, TP_PATH_RETURN), 1);
        cr_expect_eq(sum_kind(&made.path, TP_PATH_KERNEL), 1000 * kernel_us[i]);
        clear(&made);
    }
}

/* Slices that overlap, clocks that jump, launches after their kernels,
 * correlations met twice, events without length. */
Test(trace_path, survives_what_cannot_be)
{
    static const char *const traces[] = {
        TRACE(""),
        TRACE(OP("a", 0, 10)),
        TRACE(KERNEL("k", 5, 30, 1, 7)),
        TRACE(OP("a", 0, 10) OP("b", 5, 10) OP("c", 8, 1)
                  CALL("cudaLaunchKernel", 9, 20, 1) KERNEL("k", 2, 3, 1, 7)),
        TRACE(CALL("cudaLaunchKernel", 90, 5, 1) CALL(
            "cudaDeviceSynchronize", 0, 300, 2) KERNEL("k", 10, 500, 1, 7)
                  KERNEL("l", 20, 9, 1, 7) KERNEL("m", 15, 0, 1, 7)),
        TRACE(CALL("cudaLaunchKernel", 1, 2, 1) CALL(
            "cudaLaunchKernel", 1, 2, 1) CALL("cudaStreamSynchronize", 1, 2, 1)
                  KERNEL("k", 1, 2, 1, 7) KERNEL("k", 1, 2, 1, 8)),
        TRACE(OP("a", 0, -5) CALL("cudaMemcpy", -9, 100, 1)
                  KERNEL("k", -20, 10, 1, 7)),
        TRACE(CALL("cudaDeviceSynchronize", 1, 9, 1) KERNEL("k", 2, 3, 1, 7)
                  KERNEL("l", 6, 3, 1, 7)),
    };
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        struct made made;
        find(&made, traces[i]);
        if (made.path.count)
            check_sums(&made.path);
        struct tp_error err;
        cr_expect_eq(tp_trace_paths(&made.trace, &err), TP_OK);
        clear(&made);
    }
}

/* A random mess: thousands of events with random times and links. */
Test(trace_path, a_mess_has_a_path)
{
    limit_cpu(60);
    uint64_t dice = 88172645463325252u;
    char *json = malloc(1 << 22);
    cr_assert_not_null(json);
    for (int round = 0; round < 20; round++) {
        struct made made;
        size_t at = (size_t)sprintf(json, "{\"traceEvents\":[");
        for (int i = 0; i < 4000; i++) {
            xorshift(&dice);
            static const char *const kinds[] = {"cpu_op", "cuda_runtime",
                                                "kernel", "cuda_sync"};
            at += (size_t)sprintf(
                json + at,
                "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,"
                "\"tid\":%d,\"ts\":%d,\"dur\":%d,\"args\":{\"device\":0,"
                "\"stream\":%d,\"correlation\":%d,\"cuda_sync_kind\":\"%s\"}},",
                kinds[dice % 4 - (round % 2 && dice % 4 == 3)],
                dice >> 9 & 1 ? "cudaDeviceSynchronize" : "cudaLaunchKernel",
                (int)(dice >> 10 & 3), (int)(dice >> 16 & 0xffff),
                (int)(dice >> 32 & 0xff), (int)(dice >> 12 & 7),
                (int)(dice >> 40 & 0x3ff),
                dice >> 50 & 1 ? "Context Sync" : "Stream Sync");
        }
        sprintf(json + at, "{\"ph\":\"M\"}]}");
        find(&made, json);
        check_sums(&made.path);
        cr_expect_gt(made.path.count, 0);
        clear(&made);
    }
    free(json);
}

/* Rows of a step add up to its path, and kinds to the whole of it. */
static void check_rows(const char *name)
{
    struct tp_trace trace;
    struct tp_error err;
    trace_file_read(name, &trace);
    cr_assert_eq(tp_trace_paths(&trace, &err), TP_OK);
    for (size_t i = 0; i < trace.index.step_count; i++) {
        double us = 0, share = 0;
        for (size_t k = 0; k < trace.paths.count; k++) {
            const struct tp_path_row *row = &trace.paths.rows[k];
            if (row->step != trace.index.steps[i].number)
                continue;
            us += row->total_us;
            share += row->share;
        }
        cr_expect_float_eq(share, 1, 1e-9);
        cr_expect_gt(us, 0);
    }
    trace_file_close(&trace);
}

Test(trace_path, rows_add_up)
{
    check_rows("08_ns_resolution/rank-0.Apr_03_18_51_38.1102.pt.trace."
               "json.gz");
}

Test(trace_path, rows_of_own_traces_add_up)
{
    check_rows("own/train.json.gz");
    check_rows("own/fractions.json.gz");
}

enum { DEEP = 100000 };

/* What is around an operator is found without climbing through all of it:
 * DEEP * DEEP steps would take longer than the test may. */
Test(trace_path, many_operators_in_deep_annotations)
{
    limit_cpu(10);
    static char json[(size_t)DEEP * 200];
    struct tp_trace trace;
    struct tp_path_base *base;
    struct tp_path_maker *maker;
    struct tp_path path;
    size_t used = (size_t)sprintf(json, "{\"traceEvents\":[");
    for (int i = 0; i < DEEP; i++)
        used += (size_t)sprintf(
            json + used,
            "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"a\","
            "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d},\n",
            i, 10 * DEEP - 2 * i);
    for (int i = 0; i < DEEP; i++)
        used +=
            (size_t)sprintf(json + used,
                            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o\","
                            "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1}%s\n",
                            DEEP + 2 * i, i + 1 < DEEP ? "," : "]}");
    trace_text_read(json, &trace);
    cr_assert_eq(tp_path_base_new(&trace, &base, NULL), TP_OK);
    cr_assert_eq(tp_path_maker_new(base, &maker, NULL), TP_OK);
    cr_assert_eq(tp_path_find(maker, INT64_MIN / 2, INT64_MAX / 2, &path, NULL),
                 TP_OK);
    cr_expect_eq(path.nodes, 2 * DEEP, "%zu", path.nodes);
    cr_expect_eq(path.to - path.from, (2 * DEEP - 1) * (int64_t)1000);
    tp_path_maker_free(maker);
    tp_path_base_free(base);
    trace_file_close(&trace);
}
