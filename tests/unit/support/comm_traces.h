/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_COMM_TRACES_H
#define TP_TESTS_COMM_TRACES_H

#include <inttypes.h>

#include "base/text.h"
#include "tests/unit/support/judged_run.h"
#include "tests/unit/support/trace_files.h"
#include "trace/trace_run.h"

/* Traces of ranks that communicate and do nothing else: what a comparison of
 * ranks has to find is known by construction. Times are in us. */

/* One communication kernel of a rank. */
struct comm_call {
    const char *name;  /* of the collective; NULL: its kernel has no args  */
    const char *ranks; /* of its group                                     */
    int64_t sequence;  /* -1: not said                                     */
    int64_t elements;  /* floats, in and out                               */
    double at, us;
};

static inline int comm_group_size(const char *ranks)
{
    int size = 1;
    for (; *ranks; ranks++)
        size += *ranks == ',';
    return size;
}

static inline void comm_add_call(struct tp_text *json,
                                 const struct comm_call *call, int number,
                                 double start)
{
    tp_text_add(json,
                ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
                "\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%.3f,"
                "\"dur\":1,\"args\":{\"correlation\":%d}}"
                ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
                "\"ncclDevKernel_AllReduce_Sum_f32_RING_LL\",\"pid\":0,"
                "\"tid\":7,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"stream\":7,"
                "\"device\":0,\"correlation\":%d",
                start + call->at - 2, number, start + call->at, call->us,
                number);
    if (call->name)
        tp_text_add(json,
                    ",\"Collective name\":\"%s\",\"In msg nelems\":%" PRId64
                    ",\"Out msg nelems\":%" PRId64 ",\"Group size\":%d,"
                    "\"dtype\":\"Float\",\"Process Group Name\":\"pg%.8s\","
                    "\"Process Group Ranks\":\"%s\"",
                    call->name, call->elements, call->elements,
                    comm_group_size(call->ranks), call->ranks, call->ranks);
    if (call->sequence >= 0)
        tp_text_add(json, ",\"Seq\":%" PRId64, call->sequence);
    tp_text_add(json, "}}");
}

/* Adds the trace of a rank, whose clock is `ahead`; a step of `step_us` is
 * around all unless that is 0. */
static inline void comm_add_rank(struct judged_run *it, int rank, double ahead,
                                 double step_us, const struct comm_call *calls,
                                 int count)
{
    static const char *const files[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const double start = 1.7e15 + ahead;
    struct tp_text json = {0};
    struct tp_trace trace;
    tp_text_add(&json,
                "{\"distributedInfo\":{\"rank\":%d,\"world_size\":8},"
                "\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\","
                "\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f}",
                rank, step_us > 0 ? "user_annotation" : "cpu_op",
                step_us > 0 ? "ProfilerStep#5" : "aten::add", start,
                step_us > 0 ? step_us : 1);
    for (int i = 0; i < count; i++)
        comm_add_call(&json, &calls[i], i + 1, start);
    tp_text_add(&json, "]}");
    trace_text_read(tp_text_get(&json), &trace);
    tp_text_clear(&json);
    tp_trace_index_clear(&trace.index);
    trace.path = files[it->run.trace_count];
    cr_assert_eq(tp_trace_analyse(&trace, &it->run.arena, NULL), TP_OK);
    cr_assert_eq(tp_grow(&it->run.traces, &it->run.trace_capacity,
                         it->run.trace_count + 1, sizeof trace, NULL),
                 TP_OK);
    it->run.traces[it->run.trace_count++] = trace;
}

#endif
