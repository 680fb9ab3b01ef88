/* SPDX-License-Identifier: MIT */
/*
 * The host's side of a graph that can be played again, and the whole of it.
 *
 * The graph of the critical path is taken and weighed anew: it was made to find
 * the longest chain, where waiting costs nothing, while here every node has to
 * be where it was. Its threads know nothing of each other; what one hands over
 * to another is found by who works while the other records nothing. Threads
 * that take turns are played as if they were one: whether backward is on a
 * thread of its own must not change what is won. Building it from the events
 * alone would be that graph's code a second time. O(n log n) for n events of
 * the window, times the threads for gaps.
 */
#include "trace/trace_replay_make.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"
#include "trace/trace_path_graph.h"
#include "trace/trace_replay_build.h"
#include "trace/trace_replay_device.h"

/* Threads that others may wait for: those with most events. Training has a
 * handful, and looking through more than that would take long for no reason. */
enum { THREADS = 64 };

/* Of the time that threads would record something together by chance, so much
 * at most where they take turns. In recordings of training it is below
 * 0.01 for forward and backward pass, above 0.8 for others. */
static const double most_together = 0.25;

/* What of [from, to), ns since the begin, the main thread spends loading. */
static int64_t loading(const struct tp_play_build *b, int64_t from, int64_t to)
{
    return to > from ? tp_intervals_within(&b->loader, b->from + from,
                                           b->from + to)
                     : 0;
}

/* The same of time that is that thread's own. */
static int64_t loader_within(const struct tp_play_build *b, uint32_t lane,
                             int64_t from, int64_t to)
{
    return lane == b->maker->trace->index.main_lane ? loading(b, from, to) : 0;
}

/* --- threads -------------------------------------------------------------- */

static enum tp_play_part part_of_call(const struct tp_play_build *b,
                                      uint32_t call)
{
    const struct tp_trace *trace = b->maker->trace;
    const uint32_t kinds = trace->index.kinds[trace->events.name[call]];
    if (kinds & TP_NAME_DRIVER_ALLOC)
        return TP_PLAY_ALLOC;
    return kinds & (TP_NAME_LAUNCH | TP_NAME_COPY_CALL)
               ? tp_play_launch_part(b, call)
               : TP_PLAY_CALL;
}

/* The host within an event of the outermost level. */
static struct tp_trace_replay_arc host_arc(const struct tp_play_build *b,
                                           const struct tp_path_arc *arc)
{
    const struct tp_trace *trace = b->maker->trace;
    struct tp_trace_replay_arc made = {
        .from = arc->from,
        .to = arc->to,
        .ns = tp_play_between(b, arc->from, arc->to)};
    if (arc->kind == TP_PATH_OPERATOR) {
        made.part = TP_PLAY_OPERATOR;
    } else {
        made.part = arc->kind == TP_PATH_WAIT ? TP_PLAY_WAIT
                                              : part_of_call(b, arc->event);
    }
    if (made.part != TP_PLAY_WAIT) {
        made.op = arc->kind == TP_PATH_OPERATOR
                      ? b->maker->trace->events.name[arc->event]
                      : tp_play_op(b, arc->event);
        made.loader_ns =
            loader_within(b, trace->events.lane[arc->event],
                          tp_play_time(b, arc->from), tp_play_time(b, arc->to));
    }
    return made;
}

/* For each call that waited, in nodes[its end]: the arc from what it waited
 * for; else TP_NO_NODE. */
static void find_waits(const struct tp_play_build *b)
{
    const struct tp_path_maker *m = b->maker;
    memset(b->nodes, 0xff, 2 * m->event_count * sizeof *b->nodes);
    for (size_t i = 0; i < m->arc_count; i++) {
        const struct tp_path_arc *arc = &m->arcs[i];
        if (arc->kind != TP_PATH_RETURN ||
            tp_play_between(b, arc->from, arc->to) < 0)
            continue;
        uint32_t *last = &b->nodes[arc->to];
        if (*last == TP_NO_NODE ||
            tp_path_time(m, m->arcs[*last].from) < tp_path_time(m, arc->from))
            *last = (uint32_t)i;
    }
}

/* How long a call takes to return once it need not wait. */
static int64_t return_ns(const struct tp_play_build *b, uint32_t end)
{
    const uint32_t arc = b->nodes[end];
    const uint32_t event = b->maker->event[end / 2];
    const int64_t own = b->maker->trace->events.duration[event];
    const int64_t after =
        arc == TP_NO_NODE ? own
                          : tp_play_between(b, b->maker->arcs[arc].from, end);
    return after < own ? after : own;
}

static enum tp_status add_hosts(struct tp_play_build *b, struct tp_error *err)
{
    const struct tp_path_maker *m = b->maker;
    enum tp_status status = TP_OK;
    find_waits(b);
    for (size_t i = 0; i < m->arc_count && status == TP_OK; i++) {
        const struct tp_path_arc *arc = &m->arcs[i];
        if (arc->kind == TP_PATH_OPERATOR || arc->kind == TP_PATH_CALL ||
            arc->kind == TP_PATH_WAIT) {
            struct tp_trace_replay_arc made = host_arc(b, arc);
            if (made.part == TP_PLAY_WAIT && arc->to % 2 &&
                b->nodes[arc->to] != TP_NO_NODE) {
                const int64_t ns = return_ns(b, arc->to);
                made.ns = ns < made.ns ? ns : made.ns;
            }
            status = tp_play_add(b, made, err);
        } else if (arc->kind == TP_PATH_RETURN &&
                   tp_play_between(b, arc->from, arc->to) >= 0) {
            status = tp_play_add(
                b,
                (struct tp_trace_replay_arc){.from = arc->from,
                                             .to = arc->to,
                                             .part = TP_PLAY_RETURN,
                                             .ns = return_ns(b, arc->to)},
                err);
        }
    }
    return status;
}

/* --- between the events of threads ---------------------------------------- */

static int by_events(const void *left, const void *right)
{
    const struct tp_play_lane *a = left, *b = right;
    const int order = tp_order_size(b->end - b->first, a->end - a->first);
    return order ? order : tp_order_size(a->lane, b->lane);
}

static bool is_host(uint8_t category)
{
    return category == TP_EVENT_CPU_OP || category == TP_EVENT_RUNTIME ||
           category == TP_EVENT_DRIVER;
}

/* Whether an event is of the outermost level of the host. */
static bool is_top(const struct tp_path_maker *m, uint32_t event)
{
    return is_host(m->trace->events.category[event]) &&
           *tp_path_around(m, event) == TP_NO_EVENT;
}

/* Lists the events of the outermost level by lane and start; the threads with
 * most of them first. */
static enum tp_status list_tops(struct tp_play_build *b, struct tp_error *err)
{
    struct tp_path_maker *m = b->maker;
    const struct tp_events *events = &m->trace->events;
    size_t count = 0;
    for (size_t i = 0; i < m->event_count; i++)
        count += is_top(m, m->event[i]);
    b->tops = malloc((2 * count + 2) * sizeof *b->tops);
    b->lanes = calloc(events->lane_count + 1, sizeof *b->lanes);
    if (!b->tops || !b->lanes)
        return tp_fail_memory(err);
    for (size_t i = 0; i < m->event_count; i++) {
        const uint32_t event = m->event[i];
        if (is_top(m, event))
            b->tops[b->top_count++] =
                (struct tp_ordered){tp_time_key(events->start[event]), event};
    }
    tp_order_sort(b->tops, b->tops + b->top_count, b->top_count);
    for (size_t i = 0; i < b->top_count; i++)
        b->tops[i].key = events->lane[b->tops[i].event];
    tp_order_sort(b->tops, b->tops + b->top_count, b->top_count);
    for (size_t i = 0, end; i < b->top_count; i = end) {
        for (end = i; end < b->top_count && b->tops[end].key == b->tops[i].key;
             end++) {
        }
        b->lanes[b->lane_count++] =
            (struct tp_play_lane){(uint32_t)b->tops[i].key, i, end, false};
    }
    if (b->lane_count > 1)
        qsort(b->lanes, b->lane_count, sizeof *b->lanes, by_events);
    return TP_OK;
}

static int64_t start_of(const struct tp_play_build *b, size_t top)
{
    return b->maker->trace->events.start[b->tops[top].event] - b->from;
}

static int64_t end_of(const struct tp_play_build *b, size_t top)
{
    return start_of(b, top) +
           b->maker->trace->events.duration[b->tops[top].event];
}

/* Adds a thread to those that take turns, which record `all`, if it does: if
 * what it records at the same time as they is far less than by chance. */
static enum tp_status add_turns(const struct tp_play_build *b,
                                struct tp_play_lane *lane,
                                struct tp_intervals *all, struct tp_error *err)
{
    double own = 0, together = 0;
    enum tp_status status = TP_OK;
    for (size_t i = lane->first; i < lane->end; i++) {
        own += (double)(end_of(b, i) - start_of(b, i));
        together +=
            (double)tp_intervals_within(all, start_of(b, i), end_of(b, i));
    }
    const double chance =
        own * (double)tp_intervals_length(all) / (double)(b->to - b->from);
    lane->turns = together <= most_together * chance;
    for (size_t i = lane->first;
         i < lane->end && lane->turns && status == TP_OK; i++)
        status = tp_intervals_add(all, start_of(b, i), end_of(b, i), err);
    tp_intervals_unite(all);
    return status;
}

/* Finds the threads that take turns, from those with most events on. One that
 * takes turns with some of them only is not among them: it would hold the
 * others to the time at which it did something. */
static enum tp_status find_turns(struct tp_play_build *b, struct tp_error *err)
{
    struct tp_intervals all = {0};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < b->lane_count && i < THREADS && status == TP_OK; i++)
        status = add_turns(b, &b->lanes[i], &all, err);
    tp_intervals_clear(&all);
    return status;
}

/* Marks the nodes of threads that take no turns, but for the main one. */
static enum tp_status mark_beside(struct tp_play_build *b, struct tp_error *err)
{
    const struct tp_path_maker *m = b->maker;
    const struct tp_events *events = &m->trace->events;
    bool *beside = calloc(events->lane_count + 1, sizeof *beside);
    if (!beside)
        return tp_fail_memory(err);
    for (size_t i = 0; i < b->lane_count; i++)
        beside[b->lanes[i].lane] =
            !b->lanes[i].turns &&
            b->lanes[i].lane != m->trace->index.main_lane;
    for (size_t i = 0; i < m->event_count; i++) {
        const uint32_t event = m->event[i], node = tp_path_node(m, event);
        const bool host = is_host(events->category[event]);
        b->replay->beside[node] = b->replay->beside[node + 1] =
            host && beside[events->lane[event]];
    }
    free(beside);
    return TP_OK;
}

/* For whom a thread waits that records nothing in [from, to): the end node of
 * what ended last there of the threads that it takes turns with; or
 * TP_NO_NODE. */
static uint32_t waited_for(const struct tp_play_build *b, size_t lane,
                           int64_t from, int64_t to)
{
    uint32_t found = TP_NO_NODE;
    int64_t at = from;
    if (!b->lanes[lane].turns)
        return TP_NO_NODE;
    for (size_t i = 0; i < b->lane_count && i < THREADS; i++) {
        const size_t first = b->lanes[i].first;
        size_t n; /* events that have ended */
        if (i == lane || !b->lanes[i].turns)
            continue;
        TP_PARTITION_POINT(n, b->lanes[i].end - first,
                           end_of(b, first + n) <= to);
        if (n > 0 && end_of(b, first + n - 1) > at) {
            at = end_of(b, first + n - 1);
            found =
                tp_path_node(b->maker, b->tops[first + n - 1].event) + 1;
        }
    }
    return found;
}

/* The time of a thread between two nodes, `to` the start of an event of the
 * outermost level or the end of all. What another thread does not do while the
 * main one loads is loading, too: who pins batches waits for workers. */
static enum tp_status add_outside(struct tp_play_build *b, size_t lane,
                                  struct tp_trace_replay_arc arc, int64_t from,
                                  struct tp_error *err)
{
    const int64_t to = from + arc.ns;
    const uint32_t other = waited_for(b, lane, from, to);
    enum tp_status status = TP_OK;
    arc.part = TP_PLAY_OUTSIDE;
    if (other != TP_NO_NODE) {
        struct tp_trace_replay_arc after = arc;
        after.from = other;
        after.ns = to - tp_play_time(b, other);
        after.loader_ns = loading(b, to - after.ns, to);
        status = tp_play_add(b, after, err);
        arc.ns = 0;
    } else {
        arc.loader_ns = loading(b, from, to);
    }
    return status == TP_OK ? tp_play_add(b, arc, err) : status;
}

static enum tp_status add_gaps(struct tp_play_build *b, struct tp_error *err)
{
    const struct tp_path_maker *m = b->maker;
    enum tp_status status = list_tops(b, err);
    if (status == TP_OK)
        status = find_turns(b, err);
    if (status == TP_OK)
        status = mark_beside(b, err);
    for (size_t l = 0; l < b->lane_count && status == TP_OK; l++) {
        const struct tp_play_lane *lane = &b->lanes[l];
        uint32_t before = b->begin;
        int64_t at = 0;
        for (size_t i = lane->first; i < lane->end && status == TP_OK; i++) {
            const uint32_t node = tp_path_node(m, b->tops[i].event);
            status = add_outside(
                b, l,
                (struct tp_trace_replay_arc){.from = before,
                                             .to = node,
                                             .ns = tp_play_time(b, node) - at},
                at, err);
            before = node + 1;
            at = tp_play_time(b, before);
        }
        if (lane->lane == m->trace->index.main_lane && status == TP_OK)
            status = add_outside(
                b, l,
                (struct tp_trace_replay_arc){.from = before,
                                             .to = b->finish,
                                             .ns = b->to - b->from - at},
                at, err);
    }
    return status;
}

/* --- the whole ------------------------------------------------------------ */

static enum tp_status find_loader(struct tp_play_build *b, struct tp_error *err)
{
    const struct tp_trace *trace = b->maker->trace;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < trace->index.host_count && status == TP_OK; i++) {
        const uint32_t event = trace->index.host[i];
        const int64_t start = trace->events.start[event];
        if (trace->index.kinds[trace->events.name[event]] &
                TP_NAME_DATALOADER &&
            trace->events.lane[event] == trace->index.main_lane)
            status = tp_intervals_add(
                &b->loader, start, start + trace->events.duration[event], err);
    }
    tp_intervals_unite(&b->loader);
    return status;
}

static enum tp_status allocate(struct tp_play_build *b, struct tp_error *err)
{
    struct tp_trace_replay *r = b->replay;
    r->node_count = 2 * b->maker->event_count + 2;
    b->begin = (uint32_t)r->node_count - 2;
    b->finish = (uint32_t)r->node_count - 1;
    r->base = malloc(r->node_count * sizeof *r->base);
    r->at = malloc(r->node_count * sizeof *r->at);
    r->beside = calloc(r->node_count, sizeof *r->beside);
    b->nodes = malloc(r->node_count * sizeof *b->nodes);
    /* one for each of the path's, and what threads wait for; more may come */
    const size_t arcs = b->maker->arc_count + b->maker->event_count + 1;
    r->arcs = malloc(arcs * sizeof *r->arcs);
    if (!r->base || !r->at || !r->beside || !b->nodes || !r->arcs ||
        tp_grow(&r->spares, &r->spare_capacity, 1, sizeof *r->spares, err) !=
            TP_OK)
        return tp_fail_memory(err);
    r->spare_count = 1;
    r->arc_capacity = arcs;
    r->at[b->begin] = 0;
    for (uint32_t node = 0; node < b->begin; node++)
        r->at[node] = tp_play_time(b, node);
    r->at[b->finish] = b->to - b->from;
    return TP_OK;
}

/* When the last node is that the end waits for. */
static void find_recorded(struct tp_trace_replay *r)
{
    r->recorded_ns = 0;
    for (size_t node = 0; node < r->node_count; node++)
        if (!r->beside[node] && r->at[node] > r->recorded_ns)
            r->recorded_ns = r->at[node];
}

enum tp_status tp_trace_replay_make(struct tp_path_maker *maker, int64_t from,
                                    int64_t to, struct tp_trace_replay *replay,
                                    struct tp_error *err)
{
    struct tp_play_build b = {
        .maker = maker, .replay = replay, .from = from, .to = to};
    *replay = (struct tp_trace_replay){.arcs = NULL};
    enum tp_status status = tp_path_graph(maker, from, to, err);
    if (status == TP_OK)
        status = allocate(&b, err);
    if (status == TP_OK)
        status = find_loader(&b, err);
    if (status == TP_OK)
        status = tp_first_launches_find(
            maker->trace, (struct tp_interval){INT64_MIN, INT64_MAX}, &b.first,
            err);
    if (status == TP_OK)
        status = add_hosts(&b, err);
    if (status == TP_OK)
        status = add_gaps(&b, err);
    free(b.tops);
    free(b.lanes);
    if (status == TP_OK)
        status = tp_play_add_device(&b, err);
    if (status == TP_OK)
        find_recorded(replay);
    if (replay->origin_ns >= replay->recorded_ns)
        replay->origin_ns = 0; /* clocks that do not fit */
    replay->recorded_ns -= replay->origin_ns;
    tp_intervals_clear(&b.loader);
    tp_first_launches_clear(&b.first);
    free(b.nodes);
    tp_path_maker_shed(maker, true);
    return status == TP_OK ? tp_trace_replay_order(replay, err) : status;
}
