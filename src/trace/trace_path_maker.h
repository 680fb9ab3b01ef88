/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_PATH_MAKER_H
#define TP_TRACE_TRACE_PATH_MAKER_H

#include "trace/trace.h"
#include "trace/trace_order.h"

/* What critical paths are made with; trace_path.h says what they are. */

/* One edge, in the order of the path. */
struct tp_path_edge {
    enum tp_path_kind kind;
    uint32_t event;  /* it is charged to; TP_NO_EVENT: outside            */
    int64_t ns;      /* from node to node: they add up to the path's length;
                        below 0 where the device ended after the call     */
    int64_t weight;  /* what the path was chosen by                       */
};

#define TP_NO_NODE UINT32_MAX

/* A stream, as the events of a trace number them. */
struct tp_path_stream {
    int32_t device, stream;
};

struct tp_path_arc {
    uint32_t from, to; /* nodes                                           */
    int64_t weight;    /* >= 0                                            */
    uint32_t event;
    uint8_t kind;
};

/* What is worked out once for a trace, and room for its windows. */
struct tp_path_maker {
    const struct tp_trace *trace;
    /* device events that have a call, by start of the call, and cuda_sync
     * events likewise; keys are tp_time_key of that start */
    struct tp_ordered *work, *syncs;
    size_t work_count, sync_count;
    uint32_t *stream;     /* [events.count] of device events: its number    */
    uint8_t *idle;        /* [events.count] of device events: its stream had
                             done all before when the call began            */
    struct tp_path_stream *streams; /* sorted                               */
    size_t stream_count;
    uint32_t *hosts;      /* [index.host_count]: by start                   */

    /* of a window; room is kept */
    bool made;            /* of this one                                    */
    int64_t from, to;
    uint32_t *node;       /* [events.count]: its start; +1: its end         */
    uint32_t *around;     /* [events.count] of its host events: the innermost
                             node around, or TP_NO_EVENT; one array with
                             `stream`                                       */
    uint32_t *event;      /* [nodes / 2]                                    */
    size_t event_count, event_capacity;
    struct tp_path_arc *arcs;
    size_t arc_count, arc_capacity;
    struct tp_ordered *items, *scratch;
    size_t item_capacity, scratch_capacity;
    uint32_t *last;       /* [streams]: end node of the last event, or none */
    uint32_t *seen;       /* [streams]: numbers of those with a last one    */
    size_t seen_count;
    void *room;           /* of the search                                  */
    size_t room_capacity;
    struct tp_path_edge *edges;
    size_t edge_capacity;
};

/* TP_E_MEMORY only; released with tp_path_maker_free, which takes NULL. */
enum tp_status tp_path_maker_new(const struct tp_trace *trace,
                                 struct tp_path_maker **maker,
                                 struct tp_error *err);
void tp_path_maker_free(struct tp_path_maker *maker);

/* Time of a node, ns. */
static inline int64_t tp_path_time(const struct tp_path_maker *maker,
                                   uint32_t node)
{
    const struct tp_events *events = &maker->trace->events;
    uint32_t event = maker->event[node / 2];
    return events->start[event] + (node % 2 ? events->duration[event] : 0);
}

#endif
