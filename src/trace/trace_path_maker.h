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

/* What is worked out once for a trace, and only read when its windows are. */
struct tp_path_base {
    const struct tp_trace *trace;
    /* device events that have a call, by start of the call, and cuda_sync
     * events likewise; keys are tp_time_key of that start */
    struct tp_ordered *work, *syncs;
    size_t work_count, sync_count;
    uint32_t *stream;     /* [work]: number of its stream                   */
    bool *idle;           /* [work]: its stream had done all before when the
                             call began                                     */
    struct tp_path_stream *streams; /* sorted                               */
    size_t stream_count;
    uint32_t *hosts;      /* [index.host_count]: by start                   */
    uint32_t *place;      /* [events.count] of host events: theirs in hosts;
                             of device events: index.host_count and theirs in
                             work; of others TP_NO_NODE                     */
};

/* Items of one kind in a window. */
struct tp_path_range {
    size_t first, count;
};

/* Room for one window at a time, which is kept from one to the next. */
struct tp_path_maker {
    const struct tp_path_base *base;
    const struct tp_trace *trace;
    bool made;            /* of this window                                 */
    int64_t from, to;
    struct tp_path_range host, work; /* in it: of base->hosts, base->work   */
    uint32_t *node;       /* [host.count + work.count]: its start; +1: its
                             end; TP_NO_NODE                                */
    uint32_t *around;     /* [host.count]: the innermost node around, or
                             TP_NO_EVENT                                    */
    size_t node_capacity, around_capacity;
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

/* TP_E_MEMORY only; released with tp_path_base_free, which takes NULL. */
enum tp_status tp_path_base_new(const struct tp_trace *trace,
                                struct tp_path_base **base,
                                struct tp_error *err);
void tp_path_base_free(struct tp_path_base *base);

/* The number of a stream; TP_NO_NODE: nothing that was launched is on it. */
uint32_t tp_path_find_stream(const struct tp_path_base *base, int32_t device,
                             int32_t stream);

/* The same of a maker, which borrows its base. A thread needs one of its own.
 */
enum tp_status tp_path_maker_new(const struct tp_path_base *base,
                                 struct tp_path_maker **maker,
                                 struct tp_error *err);
void tp_path_maker_free(struct tp_path_maker *maker);

/* Releases what the graph of a large window was made in, and the graph, too,
 * but for maker->event. */
void tp_path_maker_shed(struct tp_path_maker *maker, bool graph);

/* Where the node of an event is in maker->node; SIZE_MAX: not in the window. */
static inline size_t tp_path_slot(const struct tp_path_maker *maker,
                                  uint32_t event)
{
    const size_t place = maker->base->place[event];
    const size_t host = place - maker->host.first;
    const size_t work =
        place - maker->trace->index.host_count - maker->work.first;
    return host < maker->host.count   ? host
           : work < maker->work.count ? maker->host.count + work
                                      : SIZE_MAX;
}

/* The node of the start of an event, behind which is that of its end;
 * TP_NO_NODE: it is not in the graph. */
static inline uint32_t tp_path_node(const struct tp_path_maker *maker,
                                    uint32_t event)
{
    const size_t slot = tp_path_slot(maker, event);
    return slot == SIZE_MAX ? TP_NO_NODE : maker->node[slot];
}

/* The innermost node around a host event of the window. */
static inline uint32_t *tp_path_around(const struct tp_path_maker *maker,
                                       uint32_t event)
{
    return &maker->around[maker->base->place[event] - maker->host.first];
}

/* Where a device event that has a call is in base->work. */
static inline size_t tp_path_work(const struct tp_path_base *base,
                                  uint32_t event)
{
    return base->place[event] - base->trace->index.host_count;
}

/* Time of a node, ns. */
static inline int64_t tp_path_time(const struct tp_path_maker *maker,
                                   uint32_t node)
{
    const struct tp_events *events = &maker->trace->events;
    uint32_t event = maker->event[node / 2];
    return events->start[event] + (node % 2 ? events->duration[event] : 0);
}

#endif
