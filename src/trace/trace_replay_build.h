/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_REPLAY_BUILD_H
#define TP_TRACE_TRACE_REPLAY_BUILD_H

#include "base/memory.h"
#include "trace/interval.h"
#include "trace/trace_first_launch.h"
#include "trace/trace_path_maker.h"
#include "trace/trace_replay.h"

/* What a graph that can be played again is made with. */

/* What begins later than this after all that it is known to wait for waits for
 * something that nothing recorded explains. */
enum { TP_PLAY_HAND_OVER_NS = 20000 };

/* Spares that an arc can name. Traces have fewer events. */
enum { TP_PLAY_SPARES = (1 << 28) - 1 };

struct tp_play_lane {
    uint32_t lane;
    size_t first, end; /* in tops                                        */
    bool turns;        /* with others that do                            */
};

struct tp_play_build {
    struct tp_path_maker *maker;
    struct tp_trace_replay *replay;
    int64_t from, to;
    int64_t launch_ns; /* what a launch takes at least                      */
    struct tp_intervals loader;
    struct tp_first_launches first; /* calls that load code                 */
    uint32_t *nodes; /* room of [nodes]                                   */
    struct tp_ordered *tops; /* outermost events of the host, by lane and
                                start                                       */
    struct tp_play_lane *lanes;
    size_t top_count, lane_count;
    uint32_t begin, finish; /* nodes before and after all                   */
};

/* What a call that starts work costs: in some the driver loads code, which is
 * over when they are. */
static inline enum tp_play_part
tp_play_launch_part(const struct tp_play_build *b, uint32_t call)
{
    const int64_t start = b->maker->trace->events.start[call];
    return tp_intervals_within(&b->first.set, start, start + 1) > 0
               ? TP_PLAY_LOAD
               : TP_PLAY_LAUNCH;
}

/* Times of nodes of the maker, ns: since the begin, and from one to another. */
static inline int64_t tp_play_time(const struct tp_play_build *b, uint32_t node)
{
    return node == b->begin ? 0 : tp_path_time(b->maker, node) - b->from;
}

static inline int64_t tp_play_between(const struct tp_play_build *b,
                                      uint32_t from, uint32_t to)
{
    return tp_play_time(b, to) - tp_play_time(b, from);
}

/* The name of the operator that a call or device event is part of, or 0. */
static inline uint32_t tp_play_op(const struct tp_play_build *b, uint32_t event)
{
    const struct tp_trace *trace = b->maker->trace;
    const uint32_t op = trace->index.op[event];
    return op == TP_NO_EVENT ? 0 : trace->events.name[op];
}

/* TP_E_MEMORY only. */
static inline enum tp_status tp_play_add(struct tp_play_build *b,
                                         struct tp_trace_replay_arc arc,
                                         struct tp_error *err)
{
    struct tp_trace_replay *r = b->replay;
    if (r->arc_count == r->arc_capacity &&
        tp_grow(&r->arcs, &r->arc_capacity, r->arc_count + 1, sizeof *r->arcs,
                err) != TP_OK)
        return TP_E_MEMORY;
    uint32_t spare = 0;
    if (arc.loader_ns || arc.queued_ns) {
        if (r->spare_count > TP_PLAY_SPARES)
            return tp_fail_memory(err);
        if (tp_grow(&r->spares, &r->spare_capacity, r->spare_count + 1,
                    sizeof *r->spares, err) != TP_OK)
            return TP_E_MEMORY;
        spare = (uint32_t)r->spare_count;
        r->spares[r->spare_count++] =
            (struct tp_play_spare){arc.loader_ns, arc.queued_ns};
    }
    r->arcs[r->arc_count++] =
        (struct tp_play_arc){.from = arc.from,
                             .to = arc.to,
                             .op = arc.op,
                             .part = arc.part & 15,
                             .spare = spare & TP_PLAY_SPARES,
                             .ns = arc.ns};
    return TP_OK;
}

#endif
