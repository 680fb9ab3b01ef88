/* SPDX-License-Identifier: MIT */
/*
 * The graph of a window for its critical path: two nodes for each event, and
 * an arc wherever one moment waits for another (trace_path.h lists them).
 *
 * Each thread is walked once by start, with the stack of open events kept in
 * `parent` links, and each stream once with its last event; waits are matched
 * to device events by merging both in the order of time. HTA builds the same
 * graph with a general graph library and a search per event; here arcs are one
 * array, in the order in which they were linked, which also breaks ties as HTA
 * does. O(n log n) for n events of the window, by the binary searches.
 */
#include <string.h>

#include "base/search.h"
#include "trace/trace_names.h"
#include "trace/trace_path_graph.h"

/* Streams up to which a call that waits for the whole device is linked to the
 * last event of each; of more, to the one that ended last. */
enum { MANY_STREAMS = 64 };

static int64_t end_of(const struct tp_events *events, uint32_t event)
{
    return events->start[event] + events->duration[event];
}

static uint32_t start_node(const struct tp_path_maker *m, uint32_t event)
{
    return tp_path_node(m, event);
}

static uint32_t end_node(const struct tp_path_maker *m, uint32_t event)
{
    const uint32_t start = tp_path_node(m, event);
    return start == TP_NO_NODE ? TP_NO_NODE : start + 1;
}

static enum tp_status add_event(struct tp_path_maker *m, uint32_t event,
                                struct tp_error *err)
{
    if (m->event_count == m->event_capacity &&
        tp_grow(&m->event, &m->event_capacity, m->event_count + 1,
                sizeof *m->event, err) != TP_OK)
        return TP_E_MEMORY;
    m->node[tp_path_slot(m, event)] = 2 * (uint32_t)m->event_count;
    m->event[m->event_count++] = event;
    return TP_OK;
}

static enum tp_status add_arc(struct tp_path_maker *m, struct tp_path_arc arc,
                              struct tp_error *err)
{
    if (m->arc_count == m->arc_capacity &&
        tp_grow(&m->arcs, &m->arc_capacity, m->arc_count + 1, sizeof *m->arcs,
                err) != TP_OK)
        return TP_E_MEMORY;
    arc.weight = arc.weight > 0 ? arc.weight : 0;
    m->arcs[m->arc_count++] = arc;
    return TP_OK;
}

static int64_t between(const struct tp_path_maker *m, uint32_t from,
                       uint32_t to)
{
    return tp_path_time(m, to) - tp_path_time(m, from);
}

/* --- threads -------------------------------------------------------------- */

static bool is_call(const struct tp_path_maker *m, uint32_t event)
{
    uint8_t category = m->trace->events.category[event];
    return category == TP_EVENT_RUNTIME || category == TP_EVENT_DRIVER;
}

/* Calls that may wait for the device: those that do by their name, and copies,
 * which do unless their memory is pinned. */
static bool is_waiting(const struct tp_path_maker *m, uint32_t event)
{
    const struct tp_trace *trace = m->trace;
    uint32_t name = trace->events.name[event];
    const uint32_t kinds = trace->index.kinds[name];
    if (!is_call(m, event))
        return false;
    const char *text = tp_events_get(&trace->events, name);
    return kinds & TP_NAME_BLOCKING ||
           (kinds & TP_NAME_COPY_CALL && !strstr(text, "emset")) ||
           !strcmp(text, "cudaEventQuery");
}

static bool is_node(const struct tp_path_maker *m, uint32_t event)
{
    const struct tp_events *events = &m->trace->events;
    uint32_t kinds = m->trace->index.kinds[events->name[event]];
    bool op =
        events->category[event] == TP_EVENT_CPU_OP && !(kinds & TP_NAME_STEP);
    return events->duration[event] > 0 && (op || is_call(m, event));
}

/* The first item at or after a time. */
static size_t first_at(const struct tp_ordered *items, size_t count, int64_t at)
{
    size_t first;
    TP_PARTITION_POINT(first, count, items[first].key < tp_time_key(at));
    return first;
}

/* Items that start in [from, to]. */
static struct tp_path_range find_items(const struct tp_ordered *items,
                                       size_t count, int64_t from, int64_t to)
{
    const size_t first = first_at(items, count, from);
    const size_t end =
        to < INT64_MAX ? first_at(items, count, to + 1) : count;
    return (struct tp_path_range){first, end > first ? end - first : 0};
}

/* The first host event at or after a time. */
static size_t first_host(const struct tp_path_base *b, int64_t at)
{
    size_t first;
    TP_PARTITION_POINT(first, b->trace->index.host_count,
                       b->trace->events.start[b->hosts[first]] < at);
    return first;
}

/* Host events that start in [from, to]. */
static struct tp_path_range find_hosts(const struct tp_path_base *b,
                                       int64_t from, int64_t to)
{
    const size_t first = first_host(b, from);
    const size_t end = to < INT64_MAX ? first_host(b, to + 1)
                                      : b->trace->index.host_count;
    return (struct tp_path_range){first, end > first ? end - first : 0};
}

size_t tp_path_events(const struct tp_path_base *b, int64_t from, int64_t to)
{
    return find_hosts(b, from, to).count;
}

struct tp_step tp_path_extent(const struct tp_path_base *b)
{
    const struct tp_trace *trace = b->trace;
    size_t count = trace->index.host_count;
    if (count == 0)
        return (struct tp_step){.from = 0, .to = 0};
    return (struct tp_step){.from = trace->events.start[b->hosts[0]],
                            .to = trace->events.start[b->hosts[count - 1]]};
}

/* The walk along one thread. */
struct thread {
    uint32_t top;      /* innermost event that is open                      */
    uint32_t last;     /* node before, or none at the outermost level       */
    uint32_t last_top; /* end of the last event of the outermost level      */
};

/* The innermost event of the window around one. Those outside of it begin
 * before `from`, and so does all that is around them; parents come first, so
 * that one step up is enough however deep events lie in annotations. */
static uint32_t find_around(const struct tp_path_maker *m, uint32_t event,
                            int64_t from)
{
    const struct tp_trace *trace = m->trace;
    uint32_t parent = trace->index.parent[event];
    if (parent == TP_NO_EVENT || trace->events.start[parent] < from)
        return TP_NO_EVENT;
    return tp_path_node(m, parent) != TP_NO_NODE ? parent
                                                 : *tp_path_around(m, parent);
}

static uint8_t host_kind(const struct tp_path_maker *m, uint32_t event)
{
    return is_waiting(m, event) ? TP_PATH_WAIT
           : is_call(m, event)  ? TP_PATH_CALL
                                : TP_PATH_OPERATOR;
}

static enum tp_status leave(struct tp_path_maker *m, struct thread *t,
                            struct tp_error *err)
{
    uint32_t event = t->top, end = end_node(m, event);
    struct tp_path_arc arc = {t->last, end, between(m, t->last, end), event,
                           host_kind(m, event)};
    if (arc.kind == TP_PATH_WAIT)
        arc.weight = 0;
    t->top = *tp_path_around(m, event);
    t->last = t->top == TP_NO_EVENT ? TP_NO_NODE : end;
    if (t->top == TP_NO_EVENT)
        t->last_top = end;
    return add_arc(m, arc, err);
}

static enum tp_status enter(struct tp_path_maker *m, struct thread *t,
                            uint32_t event, struct tp_error *err)
{
    uint32_t start = start_node(m, event);
    enum tp_status status = TP_OK;
    if (t->last != TP_NO_NODE)
        status = add_arc(m,
                         (struct tp_path_arc){t->last, start,
                                           between(m, t->last, start), t->top,
                                           host_kind(m, t->top)},
                         err);
    else if (t->last_top != TP_NO_NODE)
        status = add_arc(m,
                         (struct tp_path_arc){t->last_top, start, 0,
                                              TP_NO_EVENT, TP_PATH_OUTSIDE},
                         err);
    t->top = event;
    t->last = start;
    return status;
}

/* The events of one lane, m->items[first .. end), in the index's order. */
static enum tp_status walk_thread(struct tp_path_maker *m, size_t first,
                                  size_t end, int64_t from,
                                  struct tp_error *err)
{
    struct thread t = {TP_NO_EVENT, TP_NO_NODE, TP_NO_NODE};
    enum tp_status status = TP_OK;
    for (size_t i = first; i < end && status == TP_OK; i++) {
        uint32_t event = m->items[i].event;
        uint32_t parent = find_around(m, event, from);
        *tp_path_around(m, event) = parent;
        if (tp_path_node(m, event) == TP_NO_NODE)
            continue;
        while (t.top != parent && t.top != TP_NO_EVENT && status == TP_OK)
            status = leave(m, &t, err);
        if (status == TP_OK)
            status = enter(m, &t, event, err);
    }
    while (t.top != TP_NO_EVENT && status == TP_OK)
        status = leave(m, &t, err);
    return status;
}

static enum tp_status grow_items(struct tp_path_maker *m, size_t count,
                                 struct tp_error *err)
{
    enum tp_status status =
        tp_grow(&m->items, &m->item_capacity, count, sizeof *m->items, err);
    return status == TP_OK ? tp_grow(&m->scratch, &m->scratch_capacity, count,
                                     sizeof *m->scratch, err)
                           : status;
}

static enum tp_status add_threads(struct tp_path_maker *m, int64_t from,
                                  struct tp_error *err)
{
    const struct tp_events *events = &m->trace->events;
    const size_t n = m->host.count;
    enum tp_status status = grow_items(m, n + 1, err);
    for (size_t i = 0; i < n && status == TP_OK; i++) {
        uint32_t event = m->base->hosts[m->host.first + i];
        m->items[i] = (struct tp_ordered){events->lane[event], event};
        if (is_node(m, event))
            status = add_event(m, event, err);
    }
    if (status == TP_OK)
        tp_order_sort(m->items, m->scratch, n);
    if (status == TP_OK) /* each event is entered once, and left once */
        status = tp_grow(&m->arcs, &m->arc_capacity, 2 * m->event_count + 1,
                         sizeof *m->arcs, err);
    for (size_t i = 0, end; i < n && status == TP_OK; i = end) {
        for (end = i; end < n && m->items[end].key == m->items[i].key;)
            end++;
        status = walk_thread(m, i, end, from, err);
    }
    return status;
}

/* --- devices -------------------------------------------------------------- */

/* Device events and cuda_sync events whose calls are in the window, into
 * m->items: by start, the latter by their end. */
static enum tp_status list_work(struct tp_path_maker *m, int64_t from,
                                int64_t to, size_t *count, struct tp_error *err)
{
    const struct tp_events *events = &m->trace->events;
    const struct tp_ordered *work = m->base->work + m->work.first;
    const struct tp_path_range syncs =
        find_items(m->base->syncs, m->base->sync_count, from, to);
    size_t n = 0;
    enum tp_status status = grow_items(m, m->work.count + syncs.count + 1, err);
    for (size_t i = 0; i < m->work.count && status == TP_OK; i++) {
        uint32_t event = work[i].event;
        if (events->duration[event] <= 0 ||
            start_node(m, m->trace->index.call[event]) == TP_NO_NODE)
            continue;
        m->items[n++] =
            (struct tp_ordered){tp_time_key(events->start[event]), event};
        status = add_event(m, event, err);
    }
    for (size_t i = 0; i < syncs.count && status == TP_OK; i++) {
        uint32_t event = m->base->syncs[syncs.first + i].event;
        m->items[n++] =
            (struct tp_ordered){tp_time_key(end_of(events, event)), event};
    }
    if (status == TP_OK)
        tp_order_sort(m->items, m->scratch, n);
    *count = n;
    return status;
}

static uint8_t device_kind(const struct tp_path_maker *m, uint32_t event)
{
    const struct tp_trace *trace = m->trace;
    if (trace->events.category[event] != TP_EVENT_KERNEL)
        return TP_PATH_COPY;
    return trace->index.kinds[trace->events.name[event]] & TP_NAME_COMM
               ? TP_PATH_COMMUNICATION
               : TP_PATH_KERNEL;
}

/* How an event came to start: by its launch, or after the one before. */
static enum tp_status add_work(struct tp_path_maker *m, uint32_t event,
                               struct tp_error *err)
{
    const struct tp_events *events = &m->trace->events;
    uint32_t start = start_node(m, event), end = end_node(m, event);
    const size_t work = tp_path_work(m->base, event);
    uint32_t call = m->trace->index.call[event],
             *last = &m->last[m->base->stream[work]];
    uint32_t launch = start_node(m, call);
    bool after = *last != TP_NO_NODE;
    bool launched = m->base->idle[work];
    enum tp_status status =
        add_arc(m,
                (struct tp_path_arc){start, end, events->duration[event], event,
                                  device_kind(m, event)},
                err);
    if (status == TP_OK && !launched && after)
        status =
            add_arc(m,
                    (struct tp_path_arc){*last, start, between(m, *last, start),
                                      event, TP_PATH_GAP},
                    err);
    struct tp_path_arc delay = {launch, start, 0, event, TP_PATH_QUEUE};
    if (launched) {
        delay.weight = between(m, launch, start);
        delay.kind = TP_PATH_LAUNCH;
    }
    if (status == TP_OK)
        status = add_arc(m, delay, err);
    if (!after)
        m->seen[m->seen_count++] = m->base->stream[work];
    *last = end;
    return status;
}

static enum tp_status add_return(struct tp_path_maker *m, uint32_t from,
                                 uint32_t call, struct tp_error *err)
{
    if (from == TP_NO_NODE || end_node(m, call) == TP_NO_NODE)
        return TP_OK;
    return add_arc(
        m,
        (struct tp_path_arc){from, end_node(m, call), 0, call, TP_PATH_RETURN},
        err);
}

/* What a cuda_sync event says its call waited for. */
static enum tp_status add_sync(struct tp_path_maker *m, uint32_t event,
                               struct tp_error *err)
{
    const struct tp_events *events = &m->trace->events;
    const struct tp_sync_detail *sync = &events->syncs[events->detail[event]];
    uint32_t call = m->trace->index.call[event];
    const char *kind = tp_events_get(events, sync->kind);
    enum tp_status status = TP_OK;
    if (!strcmp(kind, "Stream Sync")) {
        uint32_t stream =
            tp_path_find_stream(m->base, sync->device, sync->stream);
        if (stream != TP_NO_NODE)
            status = add_return(m, m->last[stream], call, err);
    } else if (!strcmp(kind, "Context Sync") && m->seen_count <= MANY_STREAMS) {
        for (size_t i = 0; i < m->seen_count && status == TP_OK; i++)
            status = add_return(m, m->last[m->seen[i]], call, err);
    } else if (!strcmp(kind, "Context Sync")) {
        uint32_t latest = m->last[m->seen[0]];
        for (size_t i = 1; i < m->seen_count; i++) {
            uint32_t node = m->last[m->seen[i]];
            if (tp_path_time(m, node) > tp_path_time(m, latest))
                latest = node;
        }
        status = add_return(m, latest, call, err);
    }
    return status;
}

/* Without cuda_sync events: each call that waits, to the device event that
 * ended last within it. m->items[0 .. count) are the device events. */
static enum tp_status guess_syncs(struct tp_path_maker *m, size_t count,
                                  struct tp_error *err)
{
    const struct tp_events *events = &m->trace->events;
    size_t hosts = m->event_count - count;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count; i++)
        m->items[i].key = tp_time_key(end_of(events, m->items[i].event));
    tp_order_sort(m->items, m->scratch, count);
    for (size_t i = 0; i < hosts && status == TP_OK; i++) {
        uint32_t call = m->event[i];
        if (!is_waiting(m, call))
            continue;
        size_t after = first_at(m->items, count, end_of(events, call) + 1);
        if (after > 0 &&
            m->items[after - 1].key >= tp_time_key(events->start[call]))
            status = add_return(m, end_node(m, m->items[after - 1].event), call,
                                err);
    }
    return status;
}

static enum tp_status add_devices(struct tp_path_maker *m, int64_t from,
                                  int64_t to, struct tp_error *err)
{
    size_t count;
    enum tp_status status = list_work(m, from, to, &count, err);
    if (status == TP_OK) /* its time, what was before it, its launch */
        status = tp_grow(&m->arcs, &m->arc_capacity,
                         m->arc_count + 3 * count + 1, sizeof *m->arcs, err);
    for (; m->seen_count > 0; m->seen_count--)
        m->last[m->seen[m->seen_count - 1]] = TP_NO_NODE;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        uint32_t event = m->items[i].event;
        status = m->trace->events.category[event] == TP_EVENT_SYNC
                     ? add_sync(m, event, err)
                     : add_work(m, event, err);
    }
    if (status == TP_OK && m->base->sync_count == 0)
        status = guess_syncs(m, count, err);
    return status;
}

/* What is in the window, none of it a node yet. */
static enum tp_status open_window(struct tp_path_maker *m, int64_t from,
                                  int64_t to, struct tp_error *err)
{
    m->host = find_hosts(m->base, from, to);
    m->work = find_items(m->base->work, m->base->work_count, from, to);
    const size_t nodes = m->host.count + m->work.count;
    enum tp_status status = tp_grow(&m->node, &m->node_capacity, nodes + 1,
                                    sizeof *m->node, err);
    if (status == TP_OK)
        status = tp_grow(&m->around, &m->around_capacity, m->host.count + 1,
                         sizeof *m->around, err);
    if (status == TP_OK)
        memset(m->node, 0xff, nodes * sizeof *m->node); /* TP_NO_NODE */
    m->event_count = m->arc_count = 0;
    return status;
}

enum tp_status tp_path_graph(struct tp_path_maker *m, int64_t from, int64_t to,
                             struct tp_error *err)
{
    if (m->made && m->from == from && m->to == to)
        return TP_OK;
    m->made = false;
    enum tp_status status = open_window(m, from, to, err);
    if (status == TP_OK)
        status = add_threads(m, from, err);
    if (status == TP_OK)
        status = add_devices(m, from, to, err);
    tp_path_maker_shed(m, false);
    m->made = status == TP_OK;
    m->from = from;
    m->to = to;
    return status;
}
