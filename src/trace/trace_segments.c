/* SPDX-License-Identifier: MIT */
/*
 * A graph that can be played, with all but its collectives taken out.
 *
 * Arcs are gone through in the order of play, and each node keeps the longest
 * ways to it from the ends of collectives and from the begin, at most KEPT: of
 * more those that end last, since the others are seldom what a node waits for.
 * Keeping the graphs of all ranks instead would be exact and take their memory.
 * O(arcs) with KEPT as a factor.
 */
#include "trace/trace_segments.h"

#include <stdlib.h>

#include "base/memory.h"

enum { KEPT = 4 };

/* A way to a node. */
struct way {
    int64_t after; /* number of the collective; -1: the begin              */
    int64_t ns;
};

struct ways {
    struct way ways[KEPT];
    uint32_t count;
};

struct state {
    struct tp_trace *trace;
    const struct tp_path_maker *maker;
    const struct tp_trace_replay *replay;
    struct ways *nodes; /* [node_count]                                    */
    int64_t *ends;      /* [collectives] ns since the begin, as recorded   */
    int64_t count;      /* collectives so far                              */
    size_t capacity;
};

/* When a way ends, by the record. */
static int64_t end_of(const struct state *s, const struct way *way)
{
    return way->ns + (way->after < 0 ? 0 : s->ends[way->after]);
}

static void add_way(const struct state *s, struct ways *to, struct way way)
{
    uint32_t least = 0;
    for (uint32_t i = 0; i < to->count; i++) {
        if (to->ways[i].after == way.after) {
            to->ways[i].ns = way.ns > to->ways[i].ns ? way.ns : to->ways[i].ns;
            return;
        }
        if (end_of(s, &to->ways[i]) < end_of(s, &to->ways[least]))
            least = i;
    }
    if (to->count < KEPT)
        to->ways[to->count++] = way;
    else if (end_of(s, &way) > end_of(s, &to->ways[least]))
        to->ways[least] = way;
}

static enum tp_status add_rows(struct state *s, struct ways *ways,
                               uint32_t event, struct tp_error *err)
{
    struct tp_trace *trace = s->trace;
    const struct tp_events *events = &trace->events;
    const bool end = event == TP_NO_EVENT;
    if (ways->count == 0) /* on a cycle: where it was */
        add_way(s, ways,
                (struct way){-1, end ? 0
                                     : events->start[event] -
                                           trace->played.from_ns});
    for (uint32_t i = 0; i < ways->count; i++) {
        if (tp_grow(&trace->segments.rows, &trace->segments.capacity,
                    trace->segments.count + 1, sizeof *trace->segments.rows,
                    err) != TP_OK)
            return TP_E_MEMORY;
        trace->segments.rows[trace->segments.count++] = (struct tp_segment_row){
            .number = s->count,
            .after = ways->ways[i].after,
            .own_ns = ways->ways[i].ns,
            .start_ns = end ? -1 : events->start[event],
            .ns = end ? 0 : events->duration[event],
            .stream = end ? -1 : events->gpu[events->detail[event]].stream};
    }
    return TP_OK;
}

/* A collective ends the ways to its begin, and begins one of its own. */
static enum tp_status pass_collective(struct state *s,
                                      const struct tp_play_arc *arc,
                                      struct tp_error *err)
{
    const uint32_t event = s->maker->event[arc->from / 2];
    const struct tp_events *events = &s->trace->events;
    enum tp_status status = add_rows(s, &s->nodes[arc->from], event, err);
    if (status == TP_OK)
        status = tp_grow(&s->ends, &s->capacity, (size_t)s->count + 1,
                         sizeof *s->ends, err);
    if (status != TP_OK)
        return status;
    s->ends[s->count] = events->start[event] + events->duration[event] -
                        s->trace->played.from_ns;
    add_way(s, &s->nodes[arc->to], (struct way){s->count++, 0});
    return TP_OK;
}

static enum tp_status pass(struct state *s, struct tp_error *err)
{
    const struct tp_trace_replay *r = s->replay;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < r->arc_count && status == TP_OK; i++) {
        const struct tp_play_arc *arc = &r->arcs[i];
        const struct ways *from = &s->nodes[arc->from];
        if (arc->part == TP_PLAY_COMMUNICATION) {
            status = pass_collective(s, arc, err);
            continue;
        }
        for (uint32_t k = 0; k < from->count; k++) {
            const struct way way = from->ways[k];
            add_way(s, &s->nodes[arc->to],
                    (struct way){way.after, way.ns + arc->ns});
        }
    }
    return status;
}

static bool communicates(const struct tp_trace_replay *r)
{
    for (size_t i = 0; i < r->arc_count; i++) {
        if (r->arcs[i].part == TP_PLAY_COMMUNICATION)
            return true;
    }
    return false;
}

enum tp_status tp_trace_segments(struct tp_trace *trace,
                                 const struct tp_path_maker *maker,
                                 const struct tp_trace_replay *replay,
                                 struct tp_error *err)
{
    struct state s = {.trace = trace, .maker = maker, .replay = replay};
    struct ways last = {.count = 0};
    if (trace->alone || trace->events.rank < 0 || !communicates(replay))
        return TP_OK;
    s.nodes = calloc(replay->node_count + 1, sizeof *s.nodes);
    if (!s.nodes)
        return tp_fail_memory(err);
    for (size_t i = 0; i < replay->node_count; i++) {
        if (replay->base[i] > INT64_MIN / 4)
            add_way(&s, &s.nodes[i], (struct way){-1, replay->base[i]});
    }
    enum tp_status status = pass(&s, err);
    for (size_t i = 0; i < replay->node_count && status == TP_OK; i++) {
        for (uint32_t k = 0; k < s.nodes[i].count; k++)
            add_way(&s, &last, s.nodes[i].ways[k]);
    }
    if (status == TP_OK)
        status = add_rows(&s, &last, TP_NO_EVENT, err);
    free(s.nodes);
    free(s.ends);
    return status;
}
