/* SPDX-License-Identifier: MIT */
/*
 * The critical path of a window: the longest way through its graph.
 *
 * Nodes are taken in topological order (Kahn: those all of whose arcs were
 * passed), and each keeps the arc of the longest way to it; the path is walked
 * back from the end of the longest. What lies on cycles never gets its turn
 * and is left out. Bellman-Ford would bear negative weights and cycles but
 * costs nodes times arcs. O(nodes + arcs) time, in room that is kept between
 * windows.
 *
 * Windows of more than SLICE host events are cut into slices, so that the room
 * is bounded however long a step is.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"
#include "trace/trace_order.h"
#include "trace/trace_path.h"
#include "trace/trace_path_graph.h"
#include "trace/trace_rows.h"
#include "trace/trace_tracks.h"
#include "trace/trace_what_if.h"

enum {
    NAMED = 64,     /* names that are told of a trace                      */
    SLICE = 1 << 15 /* host events whose paths are looked for at once: some
                        10 MB; steps of large models have fewer             */
};

const char *tp_path_kind_name(enum tp_path_kind kind)
{
    static const char *const names[TP_PATH_KINDS] = {
        [TP_PATH_OPERATOR] = "operator",
        [TP_PATH_CALL] = "call",
        [TP_PATH_WAIT] = "wait",
        [TP_PATH_OUTSIDE] = "outside operators",
        [TP_PATH_LAUNCH] = "launch delay",
        [TP_PATH_QUEUE] = "queue",
        [TP_PATH_KERNEL] = "kernel",
        [TP_PATH_COPY] = "copy",
        [TP_PATH_COMMUNICATION] = "communication",
        [TP_PATH_GAP] = "device gap",
        [TP_PATH_RETURN] = "return"};
    return names[kind];
}

/* --- the longest path ---------------------------------------------------- */

/* Arcs by the node they end at, and by the node they begin at; each node's in
 * the order in which they were linked. */
struct search {
    uint32_t *into_begin, *into; /* [nodes + 1], [arcs]                    */
    uint32_t *out_begin, *out;
    uint32_t *waits; /* [nodes]: arcs into it not yet passed    */
    uint32_t *queue; /* [nodes]                                 */
    uint32_t *best;  /* [nodes]: arc of the longest way to it   */
    int64_t *length; /* [nodes] of that way                     */
};

static enum tp_status make_room(struct tp_path_maker *m, struct search *s,
                                struct tp_error *err)
{
    size_t nodes = 2 * m->event_count, arcs = m->arc_count;
    size_t bytes = nodes * sizeof *s->length +
                   (5 * nodes + 2 * arcs + 2) * sizeof *s->into;
    enum tp_status status =
        tp_grow(&m->room, &m->room_capacity, bytes + 1, 1, err);
    if (status != TP_OK)
        return status;
    s->length = m->room;
    s->into_begin = (uint32_t *)(s->length + nodes);
    s->out_begin = s->into_begin + nodes + 1;
    s->into = s->out_begin + nodes + 1;
    s->out = s->into + arcs;
    s->waits = s->out + arcs;
    s->queue = s->waits + nodes;
    s->best = s->queue + nodes;
    return TP_OK;
}

/* Lists arcs by one of their ends: counting sort, which keeps their order. */
static void list_arcs(const struct tp_path_maker *m, bool into, uint32_t *begin,
                      uint32_t *list)
{
    size_t nodes = 2 * m->event_count;
    memset(begin, 0, (nodes + 1) * sizeof *begin);
    for (size_t i = 0; i < m->arc_count; i++)
        begin[(into ? m->arcs[i].to : m->arcs[i].from) + 1]++;
    for (size_t i = 0; i < nodes; i++)
        begin[i + 1] += begin[i];
    for (size_t i = 0; i < m->arc_count; i++)
        list[begin[into ? m->arcs[i].to : m->arcs[i].from]++] = (uint32_t)i;
    for (size_t i = nodes; i > 0; i--)
        begin[i] = begin[i - 1];
    begin[0] = 0;
}

/* The longest way to a node all of whose predecessors have theirs. */
static void choose(const struct tp_path_maker *m, const struct search *s,
                   uint32_t node)
{
    s->best[node] = TP_NO_NODE;
    s->length[node] = 0;
    for (uint32_t i = s->into_begin[node]; i < s->into_begin[node + 1]; i++) {
        const struct tp_path_arc *arc = &m->arcs[s->into[i]];
        int64_t length = s->length[arc->from] + arc->weight;
        if (s->best[node] == TP_NO_NODE || length > s->length[node]) {
            s->best[node] = s->into[i];
            s->length[node] = length;
        }
    }
}

/* Goes through the nodes in topological order; returns the end of the longest
 * way, the earliest of equal ones. */
static uint32_t search(const struct tp_path_maker *m, const struct search *s)
{
    size_t nodes = 2 * m->event_count, first = 0, end = 0;
    uint32_t last = TP_NO_NODE;
    for (uint32_t node = 0; node < nodes; node++) {
        s->waits[node] = s->into_begin[node + 1] - s->into_begin[node];
        if (s->waits[node] == 0)
            s->queue[end++] = node;
    }
    while (first < end) {
        uint32_t node = s->queue[first++];
        choose(m, s, node);
        if (last == TP_NO_NODE || s->length[node] > s->length[last] ||
            (s->length[node] == s->length[last] &&
             tp_path_time(m, node) < tp_path_time(m, last)))
            last = node;
        for (uint32_t i = s->out_begin[node]; i < s->out_begin[node + 1]; i++) {
            uint32_t to = m->arcs[s->out[i]].to;
            if (--s->waits[to] == 0)
                s->queue[end++] = to;
        }
    }
    return last;
}

static enum tp_status walk_back(struct tp_path_maker *m, const struct search *s,
                                uint32_t last, struct tp_path *path,
                                struct tp_error *err)
{
    size_t count = 0, events = 1;
    uint32_t node = last;
    for (; s->best[node] != TP_NO_NODE; count++)
        node = m->arcs[s->best[node]].from;
    enum tp_status status =
        tp_grow(&m->edges, &m->edge_capacity, count + 1, sizeof *m->edges, err);
    if (status != TP_OK)
        return status;
    *path = (struct tp_path){.edges = m->edges,
                             .count = count,
                             .nodes = count + 1,
                             .from = tp_path_time(m, node),
                             .to = tp_path_time(m, last)};
    for (node = last; count-- > 0;) {
        const struct tp_path_arc *arc = &m->arcs[s->best[node]];
        m->edges[count] = (struct tp_path_edge){
            arc->kind, arc->event,
            tp_path_time(m, arc->to) - tp_path_time(m, arc->from), arc->weight};
        node = arc->from;
    }
    /* nothing waits any more: that room marks the events that were met */
    for (size_t i = 0; i < m->event_count; i++)
        s->waits[i] = 0;
    s->waits[last / 2] = 1;
    for (node = last; s->best[node] != TP_NO_NODE;) {
        node = m->arcs[s->best[node]].from;
        events += s->waits[node / 2] == 0;
        s->waits[node / 2] = 1;
    }
    path->events = events;
    return TP_OK;
}

enum tp_status tp_path_find(struct tp_path_maker *m, int64_t from, int64_t to,
                            struct tp_path *path, struct tp_error *err)
{
    struct search s;
    *path = (struct tp_path){.from = from, .to = from};
    enum tp_status status = tp_path_graph(m, from, to, err);
    if (status == TP_OK)
        status = make_room(m, &s, err);
    if (status != TP_OK || m->event_count == 0)
        return status;
    list_arcs(m, true, s.into_begin, s.into);
    list_arcs(m, false, s.out_begin, s.out);
    uint32_t last = search(m, &s);
    return last == TP_NO_NODE ? TP_OK : walk_back(m, &s, last, path, err);
}

/* --- rows ---------------------------------------------------------------- */

/* Edges that were spent on one kind and name. */
struct spent {
    uint64_t key; /* kind * names + name */
    int64_t count, ns;
};

/* Edges of all paths by what they were spent on. Equal keys are added up
 * whenever the rows have doubled since the last time, so that the room is that
 * of different ones and not of all edges. */
struct spending {
    struct spent *rows;
    size_t count, capacity;
    size_t added_up; /* rows that have different keys, the first ones       */
    struct tp_ordered *order, *scratch;
    size_t order_capacity, scratch_capacity;
    struct spent *sums;
    size_t sum_capacity;
    size_t names;
    int64_t length; /* of all paths, ns                                    */
};

/* Sorts the rows by key and leaves one for each. */
static enum tp_status add_up(struct spending *all, struct tp_error *err)
{
    const size_t room = all->count + 1;
    size_t sums = 0;
    enum tp_status status = tp_grow(&all->order, &all->order_capacity, room,
                                    sizeof *all->order, err);
    if (status == TP_OK)
        status = tp_grow(&all->scratch, &all->scratch_capacity, room,
                         sizeof *all->scratch, err);
    if (status == TP_OK)
        status = tp_grow(&all->sums, &all->sum_capacity, room,
                         sizeof *all->sums, err);
    if (status != TP_OK)
        return status;
    for (size_t i = 0; i < all->count; i++)
        all->order[i] = (struct tp_ordered){all->rows[i].key, (uint32_t)i};
    tp_order_sort(all->order, all->scratch, all->count);
    for (size_t i = 0; i < all->count; i++) {
        const struct spent *row = &all->rows[all->order[i].event];
        if (i == 0 || all->sums[sums - 1].key != row->key)
            all->sums[sums++] = (struct spent){.key = row->key};
        all->sums[sums - 1].count += row->count;
        all->sums[sums - 1].ns += row->ns;
    }
    if (sums > 0)
        memcpy(all->rows, all->sums, sums * sizeof *all->rows);
    all->count = all->added_up = sums;
    return TP_OK;
}

/* Adds what another thread remembers. */
static enum tp_status join_spending(struct spending *into,
                                    struct spending *from, struct tp_error *err)
{
    enum tp_status status = add_up(from, err);
    if (status == TP_OK)
        status = tp_grow(&into->rows, &into->capacity,
                         into->count + from->count + 1, sizeof *into->rows,
                         err);
    for (size_t i = 0; i < from->count && status == TP_OK; i++)
        into->rows[into->count++] = from->rows[i];
    return status;
}

static void clear_spending(struct spending *all)
{
    free(all->rows);
    free(all->order);
    free(all->scratch);
    free(all->sums);
}

static enum tp_status add_row(struct tp_trace *trace, struct tp_path_row row,
                              struct tp_error *err)
{
    enum tp_status status =
        tp_grow(&trace->paths.rows, &trace->paths.capacity,
                trace->paths.count + 1, sizeof *trace->paths.rows, err);
    if (status == TP_OK)
        trace->paths.rows[trace->paths.count++] = row;
    return status;
}

/* What the paths of one step were spent on. */
struct totals {
    int64_t count[TP_PATH_KINDS], ns[TP_PATH_KINDS], length;
};

static void add_totals(struct totals *into, const struct totals *from)
{
    for (int kind = 0; kind < TP_PATH_KINDS; kind++) {
        into->count[kind] += from->count[kind];
        into->ns[kind] += from->ns[kind];
    }
    into->length += from->length;
}

/* Adds a path, and remembers its edges. */
static enum tp_status add_path(const struct tp_trace *trace,
                               const struct tp_path *path,
                               struct totals *totals, struct spending *all,
                               struct tp_error *err)
{
    enum tp_status status =
        all->count > 2 * all->added_up + SLICE ? add_up(all, err) : TP_OK;
    if (status == TP_OK)
        status = tp_grow(&all->rows, &all->capacity,
                         all->count + path->count + 1, sizeof *all->rows, err);
    for (size_t i = 0; i < path->count && status == TP_OK; i++) {
        const struct tp_path_edge *edge = &path->edges[i];
        uint32_t name =
            edge->event == TP_NO_EVENT ? 0 : trace->events.name[edge->event];
        all->rows[all->count++] =
            (struct spent){edge->kind * all->names + name, 1, edge->ns};
        totals->count[edge->kind]++;
        totals->ns[edge->kind] += edge->ns;
    }
    totals->length += path->to - path->from;
    return status;
}

/* A row for each kind on the paths of one step. */
static enum tp_status add_step(struct tp_trace *trace, int64_t step,
                               const struct totals *totals,
                               struct tp_error *err)
{
    enum tp_status status = TP_OK;
    double length = (double)totals->length;
    for (int kind = 0; kind < TP_PATH_KINDS && status == TP_OK; kind++) {
        double ns = (double)totals->ns[kind];
        if (totals->count[kind] > 0)
            status = add_row(
                trace,
                (struct tp_path_row){.step = step,
                                     .spent_on = (enum tp_path_kind)kind,
                                     .kind = tp_path_kind_name(kind),
                                     .name = "",
                                     .count = totals->count[kind],
                                     .total_us = ns / 1e3,
                                     .share = length > 0 ? ns / length : NAN},
                err);
    }
    return status;
}

static int by_time(const void *left, const void *right)
{
    const struct tp_path_row *a = left, *b = right;
    if (a->total_us != b->total_us)
        return a->total_us > b->total_us ? -1 : 1;
    int result = strcmp(a->kind, b->kind);
    return result ? result : strcmp(a->name, b->name);
}

/* The names on all paths, by time. */
static enum tp_status add_names(struct tp_trace *trace, struct spending *all,
                                struct tp_error *err)
{
    const size_t first = trace->paths.count;
    enum tp_status status = add_up(all, err);
    for (size_t i = 0; i < all->count && status == TP_OK; i++) {
        const struct spent *row = &all->rows[i];
        const enum tp_path_kind kind =
            (enum tp_path_kind)(row->key / all->names);
        status = add_row(
            trace,
            (struct tp_path_row){
                .step = -1,
                .spent_on = kind,
                .kind = tp_path_kind_name(kind),
                .name = tp_events_get(&trace->events,
                                      (uint32_t)(row->key % all->names)),
                .count = row->count,
                .total_us = (double)row->ns / 1e3,
                .share = all->length > 0 ? (double)row->ns / (double)all->length
                                         : NAN},
            err);
    }
    size_t names = trace->paths.count - first;
    if (status == TP_OK && names > 1)
        qsort(trace->paths.rows + first, names, sizeof *trace->paths.rows,
              by_time);
    if (names > NAMED)
        trace->paths.count = first + NAMED;
    return status;
}

/* --- windows -------------------------------------------------------------- */

/* A part of a window: equal times, and about SLICE host events each. */
struct slice {
    size_t window;
    int64_t from, to;
};

/* All paths of a trace on their way. What threads find adds up to the same in
 * any order. */
struct finding {
    struct tp_trace *trace;
    struct tp_path_base *base;
    struct tp_path_maker **makers; /* [workers], made when needed            */
    struct spending *spending;     /* [workers]                              */
    unsigned workers;
    const struct tp_step *windows;
    struct slice *slices;
    size_t window_count, slice_count, slice_capacity;
    pthread_mutex_t lock; /* guards the next ones                            */
    struct totals *totals; /* [windows]                                      */
    enum tp_status status;
    struct tp_error *err;
};

static enum tp_status cut_window(struct finding *f, size_t window,
                                 struct tp_error *err)
{
    const struct tp_step *w = &f->windows[window];
    const size_t count = tp_path_events(f->base, w->from, w->to) / SLICE + 1;
    const int64_t step = (w->to - w->from) / (int64_t)count;
    int64_t from = w->from;
    if (tp_grow(&f->slices, &f->slice_capacity, f->slice_count + count,
                sizeof *f->slices, err) != TP_OK)
        return TP_E_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const int64_t to = i + 1 < count ? from + step - 1 : w->to;
        f->slices[f->slice_count++] = (struct slice){window, from, to};
        from = to + 1;
    }
    return TP_OK;
}

static enum tp_status find_slice(struct finding *f, const struct slice *slice,
                                 unsigned worker, struct tp_error *err)
{
    struct totals totals = {.length = 0};
    struct tp_path path;
    enum tp_status status =
        tp_path_find(f->makers[worker], slice->from, slice->to, &path, err);
    if (status == TP_OK && path.count > 0)
        status =
            add_path(f->trace, &path, &totals, &f->spending[worker], err);
    const struct tp_tracks_way way = {f->windows[slice->window].number,
                                      path.from, path.edges, path.count};
    if (status == TP_OK)
        status = tp_tracks_path(f->trace, &way, err);
    pthread_mutex_lock(&f->lock);
    add_totals(&f->totals[slice->window], &totals);
    pthread_mutex_unlock(&f->lock);
    return status;
}

/* The first task plays steps again, which takes longest; the others are slices
 * of windows. */
static void find_task(void *context, size_t index, unsigned worker)
{
    struct finding *f = context;
    struct tp_error err = {0};
    enum tp_status status = TP_OK;
    if (!f->makers[worker])
        status = tp_path_maker_new(f->base, &f->makers[worker], &err);
    if (status == TP_OK)
        status = index == 0
                     ? tp_what_if_make(f->trace, f->makers[worker], &err)
                     : find_slice(f, &f->slices[index - 1], worker, &err);
    if (status == TP_OK)
        return;
    pthread_mutex_lock(&f->lock);
    f->status = status;
    if (f->err)
        *f->err = err;
    pthread_mutex_unlock(&f->lock);
}

static enum tp_status find_all(struct finding *f, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    f->makers = calloc(f->workers, sizeof *f->makers);
    f->spending = calloc(f->workers, sizeof *f->spending);
    f->totals = calloc(f->window_count + 1, sizeof *f->totals);
    if (!f->makers || !f->spending || !f->totals)
        return tp_fail_memory(err);
    for (unsigned i = 0; i < f->workers; i++)
        f->spending[i].names = f->trace->events.texts.count + 1;
    for (size_t i = 0; i < f->window_count && status == TP_OK; i++)
        status = cut_window(f, i, err);
    if (status != TP_OK)
        return status;
    f->err = err;
    pthread_mutex_init(&f->lock, NULL);
    tp_pool_for(f->trace->pool, f->slice_count + 1, find_task, f);
    pthread_mutex_destroy(&f->lock);
    return f->status;
}

/* Rows of what was found: step by step, then of all. */
static enum tp_status add_rows(struct finding *f, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < f->window_count && status == TP_OK; i++)
        status =
            add_step(f->trace, f->windows[i].number, &f->totals[i], err);
    for (unsigned i = 1; i < f->workers && status == TP_OK; i++)
        status = join_spending(&f->spending[0], &f->spending[i], err);
    for (size_t i = 0; i < f->window_count; i++)
        f->spending[0].length += f->totals[i].length;
    return status == TP_OK ? add_names(f->trace, &f->spending[0], err) : status;
}

static void clear_finding(struct finding *f)
{
    for (unsigned i = 0; i < f->workers; i++) {
        if (f->makers)
            tp_path_maker_free(f->makers[i]);
        if (f->spending)
            clear_spending(&f->spending[i]);
    }
    free(f->makers);
    free(f->spending);
    free(f->totals);
    free(f->slices);
    tp_path_base_free(f->base);
}

enum tp_status tp_trace_paths(struct tp_trace *trace, struct tp_error *err)
{
    const struct tp_trace_index *index = &trace->index;
    struct finding f = {.trace = trace,
                        .workers = tp_pool_size(trace->pool),
                        .windows = index->steps,
                        .window_count = index->step_count};
    struct tp_step whole;
    if (index->device_count == 0)
        return TP_OK; /* a host alone is its own path */
    enum tp_status status = tp_path_base_new(trace, &f.base, err);
    if (status == TP_OK && index->step_count == 0) {
        whole = tp_path_extent(f.base);
        f.windows = &whole;
        f.window_count = 1;
    }
    if (status == TP_OK)
        status = find_all(&f, err);
    if (status == TP_OK)
        status = add_rows(&f, err);
    clear_finding(&f);
    return status;
}
