/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_PATH_STATE_H
#define TP_TRACE_TRACE_PATH_STATE_H

#include "trace/trace_order.h"
#include "trace/trace_path.h"

/* What the files of the critical path share: trace_path_maker.c (what a trace
 * has once), trace_path_graph.c (the graph of a window), trace_path.c (the
 * longest way through it, and rows). */

#define TP_NO_NODE UINT32_MAX

/* A stream, as the events of a trace number them. */
struct path_stream {
    int32_t device, stream;
};

struct path_arc {
    uint32_t from, to; /* nodes                                           */
    int64_t weight;    /* >= 0                                            */
    uint32_t event;
    uint8_t kind;
};

struct tp_path_maker {
    const struct tp_trace *trace;
    /* device events that have a call, by start of the call, and cuda_sync
     * events likewise; keys are tp_order_key of that start */
    struct tp_ordered *work, *syncs;
    size_t work_count, sync_count;
    uint32_t *stream;     /* [events.count] of device events: its number    */
    uint8_t *idle;        /* [events.count] of device events: its stream had
                             done all before when the call began            */
    struct path_stream *streams; /* sorted                                  */
    size_t stream_count;
    uint32_t *hosts;      /* [index.host_count]: by start                   */

    /* of a window; room is kept */
    uint32_t *node;       /* [events.count]: its start; +1: its end         */
    uint32_t *around;     /* [events.count] of its host events: the innermost
                             node around, or TP_NO_EVENT                    */
    uint32_t *event;      /* [nodes / 2]                                    */
    size_t event_count, event_capacity;
    struct path_arc *arcs;
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

/* Builds the graph of [from, to] into maker->event and maker->arcs, arcs in
 * the order in which they are linked. TP_E_MEMORY only. */
enum tp_status tp_path_graph(struct tp_path_maker *maker, int64_t from,
                             int64_t to, struct tp_error *err);

/* Time of a node, ns. */
static inline int64_t tp_path_time(const struct tp_path_maker *maker,
                                   uint32_t node)
{
    const struct tp_events *events = &maker->trace->events;
    uint32_t event = maker->event[node / 2];
    return events->start[event] + (node % 2 ? events->duration[event] : 0);
}

#endif
