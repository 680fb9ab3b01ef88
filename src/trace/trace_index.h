/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_INDEX_H
#define TP_TRACE_TRACE_INDEX_H

#include "data/events.h"
#include "trace/trace_names.h"

/*
 * What follows from the events of a trace alone: what their names say, which
 * lies in which, which call started which device event, and the steps.
 */

/* One ProfilerStep of the host. */
struct tp_step {
    uint32_t event;
    int64_t number;             /* N of ProfilerStep#N                     */
    int64_t from, to;           /* ns */
};

/* All arrays are owned; `count` is tp_events.count. */
struct tp_trace_index {
    uint32_t *kinds;       /* [texts.count] enum tp_name_kind bits         */
    uint32_t *host;        /* CPU_OP, ANNOTATION, RUNTIME, DRIVER events, by
                              lane, start, longest first, calls after ops  */
    size_t host_count;
    uint32_t *parent;      /* [count] of host events: the innermost host
                              event around it on its lane                  */
    uint32_t *op;          /* [count] of calls and device events: innermost
                              CPU_OP (no annotation) around the call       */
    uint32_t *call;        /* [count] of device and cuda_sync events: the
                              runtime or driver call with its correlation;
                              one array with `parent`, as no event has both */
    uint32_t *launched;    /* [count] of calls: first device event of it   */
    uint32_t *device;      /* device events with a stream, by start        */
    size_t device_count;
    struct tp_step *steps; /* host steps by start                          */
    size_t step_count;
    int64_t empty_steps;   /* left out: they last no time                  */
    int64_t uncorrelated;  /* device events without a correlation          */
    int64_t zero_events;   /* left out: at time 0, far before all others   */
    uint32_t main_lane;    /* lane of most steps, else of most ranges of the
                              DataLoader and the optimizer, else of most
                              host events                                  */
    int64_t from, to;      /* the window W, ns                             */
    const char *window;    /* what W is, in words                          */
};

/* Nests, links and finds the steps. Absent links are TP_NO_EVENT. */
enum tp_status tp_trace_index_make(const struct tp_events *events,
                                   struct tp_trace_index *index,
                                   struct tp_error *err);
void tp_trace_index_clear(struct tp_trace_index *index);

/* Whether a device event is what its call, which is in the file, started
 * first: one for each launch, also of graphs. */
static inline bool tp_trace_is_launched(const struct tp_trace_index *index,
                                        uint32_t event)
{
    const uint32_t call = index->call[event];
    return call != TP_NO_EVENT && index->launched[call] == event;
}

/* For each event of a list that is sorted by tp_trace_before_nested, in
 * parent[event]: the innermost of the list around it on its lane, or
 * TP_NO_EVENT. */
void tp_trace_nest(const struct tp_events *events, const uint32_t *list,
                   size_t count, uint32_t *parent);

#endif
