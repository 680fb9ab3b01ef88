/* SPDX-License-Identifier: MIT */
/*
 * Playing a window again: arcs are ordered once (Kahn, on arcs listed by their
 * begin), so that each replay is one pass over an array. The method, durations
 * changed and dependencies kept, is that of StragglerAnalysis (ByteDance, arXiv
 * 2505.05713); simulating streams and threads as queues instead would need
 * their rules, which differ from driver to driver. O(nodes + arcs) to order and
 * to play.
 */
#include "trace/trace_replay.h"

#include <stdlib.h>
#include <string.h>

/* Before every moment, and far enough from the end of all numbers. */
#define NEVER (INT64_MIN / 2)

/* Of a node that is in no order. */
#define NOWHERE UINT32_MAX

/* Two nodes an event, of which traces have fewer than 2^30. */
#define LAST_NODE (UINT32_MAX >> 1)

/* Room to order arcs by the node they end at, nodes in topological order. */
struct ordering {
    uint32_t *begin; /* [nodes + 1]: arcs out of each                      */
    uint32_t *out;   /* [arcs]                                             */
    uint32_t *waits; /* [nodes]: arcs into it that were not passed         */
    uint32_t *queue; /* [nodes]                                            */
    uint32_t *place; /* [nodes]: in the queue; NOWHERE: on a cycle      */
};

static void list_out(const struct tp_trace_replay *r, const struct ordering *o)
{
    const size_t nodes = r->node_count;
    for (size_t i = 0; i < r->arc_count; i++) {
        o->begin[r->arcs[i].from + 1]++;
        o->waits[r->arcs[i].to]++;
    }
    for (size_t i = 0; i < nodes; i++)
        o->begin[i + 1] += o->begin[i];
    for (size_t i = 0; i < r->arc_count; i++)
        o->out[o->begin[r->arcs[i].from]++] = (uint32_t)i;
    for (size_t i = nodes; i > 0; i--)
        o->begin[i] = o->begin[i - 1];
    o->begin[0] = 0;
}

static size_t queue_nodes(const struct tp_trace_replay *r,
                          const struct ordering *o)
{
    size_t first = 0, end = 0;
    for (uint32_t node = 0; node < r->node_count; node++) {
        o->place[node] = NOWHERE;
        if (o->waits[node] == 0)
            o->queue[end++] = node;
    }
    for (; first < end; first++) {
        const uint32_t node = o->queue[first];
        o->place[node] = (uint32_t)first;
        for (uint32_t i = o->begin[node]; i < o->begin[node + 1]; i++) {
            const uint32_t to = r->arcs[o->out[i]].to;
            if (--o->waits[to] == 0)
                o->queue[end++] = to;
        }
    }
    return end;
}

/* The numbers of arcs in the order of the nodes they leave, which is one in
 * which they can be played: a node comes after all that lead to it. Those on
 * and behind cycles come last, behind the *count that can be. */
static void list_order(const struct tp_trace_replay *r,
                       const struct ordering *o, uint32_t *order,
                       size_t *count)
{
    const size_t queued = queue_nodes(r, o);
    size_t last = r->arc_count;
    *count = 0;
    for (size_t i = 0; i < queued; i++) {
        const uint32_t node = o->queue[i];
        for (uint32_t k = o->begin[node]; k < o->begin[node + 1]; k++) {
            if (o->place[r->arcs[o->out[k]].to] != NOWHERE)
                order[(*count)++] = o->out[k];
            else
                order[--last] = o->out[k];
        }
    }
    for (uint32_t node = 0; node < r->node_count; node++) {
        for (uint32_t k = o->begin[node];
             o->place[node] == NOWHERE && k < o->begin[node + 1]; k++)
            order[--last] = o->out[k];
    }
}

/* Puts arcs into an order, each cycle of moves on its own: a second array of
 * them would be the largest of all. */
static void put_in_order(struct tp_play_arc *arcs, uint32_t *order,
                         size_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct tp_play_arc first = arcs[i];
        uint32_t at = i;
        while (order[at] != i) {
            const uint32_t from = order[at];
            arcs[at] = arcs[from];
            order[at] = at;
            at = from;
        }
        arcs[at] = first;
        order[at] = at;
    }
}

/* Arcs that cannot be played are dropped, and their nodes stay where they
 * were. */
static enum tp_status order_arcs(struct tp_trace_replay *r,
                                 struct tp_error *err)
{
    const size_t nodes = r->node_count, arcs = r->arc_count;
    uint32_t *room = malloc((4 * nodes + 2 * arcs + 2) * sizeof *room);
    r->links = malloc((arcs + 1) * sizeof *r->links);
    if (!room || !r->links) {
        free(room);
        return tp_fail_memory(err);
    }
    const struct ordering o = {.begin = room,
                               .waits = room + nodes + 1,
                               .out = room + 2 * nodes + 1,
                               .queue = room + 2 * nodes + 1 + arcs,
                               .place = room + 3 * nodes + 1 + arcs};
    uint32_t *const order = room + 4 * nodes + 1 + arcs;
    size_t played;
    memset(room, 0, (2 * nodes + 1) * sizeof *room);
    list_out(r, &o);
    list_order(r, &o, order, &played);
    put_in_order(r->arcs, order, arcs);
    r->arc_count = played;
    free(room);
    return TP_OK;
}

/* Nodes without an arc into them stay where they were; notes what times there
 * are. */
static void note_times(struct tp_trace_replay *r)
{
    memcpy(r->base, r->at, r->node_count * sizeof *r->at);
    r->fixed_ns = r->origin_ns;
    for (size_t i = 0; i < r->arc_count; i++) {
        const struct tp_play_arc *arc = &r->arcs[i];
        const struct tp_play_spare *spare = tp_play_spare(r, arc);
        r->links[i] = (struct tp_play_link){
            arc->from & LAST_NODE, !r->beside[arc->to], arc->to & LAST_NODE,
            r->base[arc->to] != NEVER};
        r->base[arc->to] = NEVER;
        r->parts |= (uint32_t)(arc->ns > spare->loader_ns) << arc->part;
        r->loader |= spare->loader_ns > 0;
        r->queued |= spare->queued_ns > 0;
    }
    for (size_t i = 0; i < r->node_count; i++)
        if (!r->beside[i] && r->base[i] > r->fixed_ns)
            r->fixed_ns = r->base[i];
}

enum tp_status tp_trace_replay_order(struct tp_trace_replay *replay,
                                     struct tp_error *err)
{
    const enum tp_status status = order_arcs(replay, err);
    if (status == TP_OK)
        note_times(replay);
    return status;
}

void tp_trace_replay_clear(struct tp_trace_replay *replay)
{
    free(replay->arcs);
    free(replay->spares);
    free(replay->links);
    free(replay->base);
    free(replay->beside);
    free(replay->at);
    *replay = (struct tp_trace_replay){.arcs = NULL};
}

int64_t tp_trace_replay_play(const struct tp_trace_replay *replay,
                             const int64_t *ns, int64_t *at)
{
    const struct tp_play_link *links = replay->links;
    const size_t count = replay->arc_count;
    int64_t last = replay->fixed_ns;
    for (size_t i = 0; i < count; i++) {
        const int64_t then = at[links[i].from] + ns[i];
        int64_t *to = &at[links[i].to];
        *to = links[i].first || then > *to ? then : *to;
        /* of some node, at least this */
        last = links[i].ends && then > last ? then : last;
    }
    return last - replay->origin_ns;
}
