/* SPDX-License-Identifier: MIT */
/*
 * The critical path: against Holistic Trace Analysis 0.5.0 (its own test, and
 * runs of it with CRITICAL_PATH_ADD_ZERO_WEIGHT_LAUNCH_EDGE=1), and by hand.
 */
#include "analyze/trace_path.h"

#include "analyze/trace_rows.h"
#include "trace_files.h"

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
    struct tp_path_maker *maker;
    struct tp_path path;
    int64_t window[2];
    trace_file_read("13_simple_add/benchmark_result_493459_1694039959_"
                    "trace.json.gz",
                    &trace);
    find_window(&trace,
                "[param|pytorch.model.alex_net|0|0|0|measure|forward]", 1,
                window);
    cr_assert_eq(tp_path_maker_new(&trace, &maker, NULL), TP_OK);
    cr_assert_eq(tp_path_find(maker, window[0], window[1], &path, NULL),
                 TP_OK);
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
    trace_file_close(&trace);
}
