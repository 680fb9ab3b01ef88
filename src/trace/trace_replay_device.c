/* SPDX-License-Identifier: MIT */
/*
 * The device's side of a graph that can be played again: what each event began
 * after. An event can begin once its launch has reached the device, which takes
 * the median of launches that nothing was in the way of, and once its stream is
 * done with the event before. Which of the two came last is what it began
 * after; if it began later than both, after the event of another stream that
 * ended in between, the last of these. CUDA events would say that for sure, but
 * hardly any recording has them. One walk over events by start, with those that
 * ended merged in by their ends: O(n log n) for n events, by the sorts.
 */
#include "trace/trace_replay_device.h"

#include <stdlib.h>

/* The last event to end on a stream. */
struct ended {
    uint32_t node, stream;
};

/* The two that ended last of different streams: one of them is another's. */
struct latest {
    struct ended first, second;
};

static uint32_t stream_of(const struct tp_path_maker *m, uint32_t event)
{
    return m->base->stream[tp_path_work(m->base, event)];
}

static void note_end(const struct tp_play_build *b, struct latest *latest,
                     uint32_t event)
{
    const struct ended it = {tp_path_node(b->maker, event) + 1,
                             stream_of(b->maker, event)};
    if (latest->first.node != TP_NO_NODE && latest->first.stream != it.stream)
        latest->second = latest->first;
    latest->first = it;
}

static uint32_t latest_of_others(const struct latest *latest, uint32_t stream)
{
    return latest->first.node != TP_NO_NODE && latest->first.stream != stream
               ? latest->first.node
               : latest->second.node;
}

/* What a launch takes at least where nothing is in its way: the median. */
static int64_t usual_launch(const struct tp_play_build *b,
                            const struct tp_ordered *items,
                            struct tp_ordered *room, size_t count)
{
    const struct tp_path_maker *m = b->maker;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t event = items[i].event;
        const uint32_t call = m->trace->index.call[event];
        const int64_t ns = tp_play_between(b, tp_path_node(m, call),
                                           tp_path_node(m, event));
        if (m->base->idle[tp_path_work(m->base, event)] && ns > 0)
            room[n++] = (struct tp_ordered){tp_time_key(ns), event};
    }
    if (n == 0)
        return 0;
    tp_order_sort(room, room + count, n);
    const uint32_t event = room[(n - 1) / 2].event;
    return tp_play_between(b, tp_path_node(m, m->trace->index.call[event]),
                           tp_path_node(m, event));
}

static enum tp_status add_order(struct tp_play_build *b, uint32_t from,
                                uint32_t to, int64_t ns, int64_t queued_ns,
                                struct tp_error *err)
{
    return tp_play_add(b,
                       (struct tp_trace_replay_arc){.from = from,
                                                    .to = to,
                                                    .part = TP_PLAY_ORDER,
                                                    .ns = ns,
                                                    .queued_ns = queued_ns},
                       err);
}

/* When a stream is done with what it did before. */
struct ready {
    uint32_t node; /* of that time: an event's end; the begin, of what was
                      launched before the window; TP_NO_NODE: never busy */
    int64_t ns;    /* after the node                                    */
};

/* The launch that an event began after, `ns` since the begin of the call, of
 * which `queued_ns` nothing explains. What of a late one the call itself took,
 * which loads code or waits for room, is its own; the rest is the device's. */
static enum tp_status add_launch(struct tp_play_build *b, uint32_t event,
                                 int64_t ns, int64_t least, bool queued,
                                 struct tp_error *err)
{
    const struct tp_path_maker *m = b->maker;
    const uint32_t start = tp_path_node(m, event);
    const uint32_t call = m->trace->index.call[event];
    const uint32_t launch = tp_path_node(m, call);
    const int64_t took = m->trace->events.duration[call];
    if (took <= least || ns <= least)
        return add_order(b, launch, start, ns, queued ? ns - least : 0, err);
    if (add_order(b, launch, start, least, 0, err) != TP_OK)
        return TP_E_MEMORY;
    if (ns > took)
        return add_order(b, launch + 1, start, ns - took,
                         queued ? ns - took : 0, err);
    return tp_play_add(b,
                       (struct tp_trace_replay_arc){.from = launch,
                                                    .to = start,
                                                    .op = tp_play_op(b, call),
                                                    .part =
                                                        tp_play_launch_part(
                                                            b, call),
                                                    .ns = ns},
                       err);
}

/* How an event came to begin when it did: after its launch, once its stream is
 * ready, or after the end of an event of another stream (or TP_NO_NODE). */
static enum tp_status add_begin(struct tp_play_build *b, uint32_t event,
                                struct ready ready, uint32_t other,
                                struct tp_error *err)
{
    const struct tp_path_maker *m = b->maker;
    const uint32_t start = tp_path_node(m, event);
    const uint32_t launch = tp_path_node(m, m->trace->index.call[event]);
    const int64_t delay = tp_play_between(b, launch, start);
    const int64_t least = delay < b->launch_ns ? delay : b->launch_ns;
    int64_t launch_late = delay - least, order_ns = 0, order_late = 0;
    if (ready.node != TP_NO_NODE) {
        const int64_t gap = tp_play_between(b, ready.node, start) - ready.ns;
        order_ns = ready.ns + (gap < 0 ? gap : 0);
        if (gap < launch_late) {
            order_late = gap > 0 ? gap : 0;
            launch_late = 0;
        }
    }
    const int64_t late = launch_late + order_late; /* one of them is 0 */
    enum tp_status status = TP_OK;
    if (late > 0 && other != TP_NO_NODE &&
        tp_play_between(b, other, start) < late) {
        status = add_order(b, other, start, tp_play_between(b, other, start), 0,
                           err);
        launch_late = order_late = 0;
    }
    const bool queued = late > TP_PLAY_HAND_OVER_NS;
    if (status == TP_OK && ready.node != TP_NO_NODE)
        status = add_order(b, ready.node, start, order_ns + order_late,
                           queued ? order_late : 0, err);
    return status == TP_OK ? add_launch(b, event, least + launch_late, least,
                                        queued, err)
                           : status;
}

static enum tp_status add_work(struct tp_play_build *b, uint32_t event,
                               struct tp_error *err)
{
    const struct tp_trace *trace = b->maker->trace;
    const uint32_t start = tp_path_node(b->maker, event);
    const bool kernel = trace->events.category[event] == TP_EVENT_KERNEL;
    const bool comm =
        trace->index.kinds[trace->events.name[event]] & TP_NAME_COMM;
    return tp_play_add(
        b,
        (struct tp_trace_replay_arc){.from = start,
                                     .to = start + 1,
                                     .op = tp_play_op(b, event),
                                     .part = !kernel ? TP_PLAY_COPY
                                             : comm  ? TP_PLAY_COMMUNICATION
                                                     : TP_PLAY_KERNEL,
                                     .ns = trace->events.duration[event]},
        err);
}

static bool is_device(uint8_t category)
{
    return category == TP_EVENT_KERNEL || category == TP_EVENT_MEMCPY ||
           category == TP_EVENT_MEMSET;
}

/* When each stream is done with what was launched before the window, ns since
 * its begin, and all of them; 0: it was. */
static int64_t find_backlog(const struct tp_play_build *b, int64_t *backlog)
{
    const struct tp_trace *trace = b->maker->trace;
    int64_t all = 0;
    for (size_t i = 0; i < trace->index.device_count; i++) {
        const uint32_t event = trace->index.device[i];
        const uint32_t call = trace->index.call[event];
        if (call == TP_NO_EVENT || trace->events.start[call] >= b->from)
            continue;
        const int64_t end = trace->events.start[event] +
                            trace->events.duration[event] - b->from;
        int64_t *done = &backlog[stream_of(b->maker, event)];
        *done = end > *done ? end : *done;
        all = end > all ? end : all;
    }
    return all;
}

/* Events of the device by start and by end. */
struct work {
    struct tp_ordered *items, *ends;
    size_t count;
};

static enum tp_status walk_work(struct tp_play_build *b,
                                const struct work *work, const int64_t *backlog,
                                struct tp_error *err)
{
    const struct tp_path_maker *m = b->maker;
    struct latest latest = {{TP_NO_NODE, 0}, {TP_NO_NODE, 0}};
    enum tp_status status = TP_OK;
    size_t ended = 0;
    for (size_t i = 0; i < work->count; i++)
        m->last[stream_of(m, work->items[i].event)] = TP_NO_NODE;
    for (size_t i = 0; i < work->count && status == TP_OK; i++) {
        const uint32_t event = work->items[i].event;
        const uint32_t stream = stream_of(m, event);
        struct ready ready = {m->last[stream], 0};
        if (ready.node == TP_NO_NODE && backlog[stream] > 0)
            ready = (struct ready){b->begin, backlog[stream]};
        while (ended < work->count &&
               work->ends[ended].key <= work->items[i].key)
            note_end(b, &latest, work->ends[ended++].event);
        status =
            add_begin(b, event, ready, latest_of_others(&latest, stream), err);
        if (status == TP_OK)
            status = add_work(b, event, err);
        m->last[stream] = tp_path_node(m, event) + 1;
    }
    for (size_t i = 0; i < work->count; i++)
        m->last[stream_of(m, work->items[i].event)] = TP_NO_NODE;
    return status;
}

/* Lists the device's events; scratch has room for all. */
static void list_work(struct tp_play_build *b, struct work *work,
                      struct tp_ordered *scratch)
{
    const struct tp_path_maker *m = b->maker;
    const struct tp_events *events = &m->trace->events;
    for (size_t i = 0; i < m->event_count; i++) {
        const uint32_t event = m->event[i];
        if (is_device(events->category[event]))
            work->items[work->count++] =
                (struct tp_ordered){tp_time_key(events->start[event]), event};
    }
    tp_order_sort(work->items, scratch, work->count);
    b->launch_ns = usual_launch(b, work->items, work->ends, work->count);
    for (size_t i = 0; i < work->count; i++) {
        const uint32_t event = work->items[i].event;
        work->ends[i] = (struct tp_ordered){
            tp_time_key(events->start[event] + events->duration[event]), event};
    }
    tp_order_sort(work->ends, scratch, work->count);
}

enum tp_status tp_play_add_device(struct tp_play_build *b, struct tp_error *err)
{
    const struct tp_path_maker *m = b->maker;
    size_t most = 0;
    for (size_t i = 0; i < m->event_count; i++)
        most += is_device(m->trace->events.category[m->event[i]]);
    struct tp_ordered *items = calloc(3 * most + 1, sizeof *items);
    int64_t *backlog = calloc(m->base->stream_count + 1, sizeof *backlog);
    enum tp_status status = items && backlog ? TP_OK : tp_fail_memory(err);
    if (status == TP_OK) {
        struct work work = {.items = items, .ends = items + most};
        list_work(b, &work, items + 2 * most);
        b->replay->origin_ns = find_backlog(b, backlog);
        status = walk_work(b, &work, backlog, err);
    }
    free(items);
    free(backlog);
    return status;
}
