/* SPDX-License-Identifier: MIT */
/*
 * What the critical paths of all windows of a trace need once: device events
 * and waits by the start of their calls, streams by number, host events by
 * start; what threads need each, for one window at a time, is apart from it.
 *
 * With these sorted, the graph of one window is found by binary search and
 * takes time in proportion to the window. Making everything anew for each step
 * would read the whole trace per step: quadratic for many short steps. O(n)
 * memory, and time of a few radix sorts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "trace/trace_merge.h"
#include "trace/trace_path_maker.h"

/* Events of a window whose graph takes so much, some 15 MB, that it is better
 * made again than kept. */
enum { LARGE = 1 << 17 };

/* --- links ------------------------------------------------------------- */

static uint64_t start_key(const struct tp_trace *trace, uint32_t event)
{
    return tp_time_key(trace->events.start[event]);
}

/* cuda_sync events that have a call, by start of these. */
static void link_syncs(struct tp_path_base *b, struct tp_ordered *scratch)
{
    const struct tp_events *events = &b->trace->events;
    const uint32_t *call = b->trace->index.call;
    for (uint32_t i = 0; i < events->count && events->sync_count; i++) {
        if (events->category[i] == TP_EVENT_SYNC &&
            events->detail[i] != TP_NO_DETAIL && call[i] != TP_NO_EVENT)
            b->syncs[b->sync_count++] =
                (struct tp_ordered){start_key(b->trace, call[i]), i};
    }
    tp_order_sort(b->syncs, scratch, b->sync_count);
}

static void link_work(struct tp_path_base *b, struct tp_ordered *scratch)
{
    const struct tp_trace_index *index = &b->trace->index;
    for (size_t i = 0; i < index->device_count; i++) {
        uint32_t event = index->device[i];
        if (index->call[event] != TP_NO_EVENT)
            b->work[b->work_count++] = (struct tp_ordered){
                start_key(b->trace, index->call[event]), event};
    }
    tp_order_sort(b->work, scratch, b->work_count);
}

/* Where each event is. */
static void place_all(struct tp_path_base *b)
{
    const struct tp_trace_index *index = &b->trace->index;
    for (size_t i = 0; i < index->host_count; i++)
        b->place[b->hosts[i]] = (uint32_t)i;
    for (size_t i = 0; i < b->work_count; i++)
        b->place[b->work[i].event] = (uint32_t)(index->host_count + i);
}

/* --- streams ------------------------------------------------------------ */

static struct tp_path_stream stream_of(const struct tp_trace *trace,
                                       uint32_t event)
{
    const struct tp_gpu_detail *gpu =
        &trace->events.gpu[trace->events.detail[event]];
    return (struct tp_path_stream){gpu->device, gpu->stream};
}

static uint64_t stream_key(struct tp_path_stream s)
{
    return (uint64_t)((uint32_t)s.device ^ 0x80000000u) << 32 |
           ((uint32_t)s.stream ^ 0x80000000u);
}

static int by_key(const void *left, const void *right)
{
    const uint64_t a = stream_key(*(const struct tp_path_stream *)left);
    const uint64_t b = stream_key(*(const struct tp_path_stream *)right);
    return (a > b) - (a < b);
}

/* Lists the streams, each at least once: those that were met just before are
 * not listed again. */
static bool list_streams(struct tp_path_base *b)
{
    enum { BEFORE = 8 };
    const struct tp_trace_index *index = &b->trace->index;
    size_t capacity = 0;
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        const struct tp_path_stream stream = stream_of(b->trace, event);
        size_t at = b->stream_count;
        bool met = index->call[event] == TP_NO_EVENT;
        while (!met && at > 0 && b->stream_count - at < BEFORE) {
            at--;
            met = stream_key(b->streams[at]) == stream_key(stream);
        }
        if (met)
            continue;
        if (tp_grow(&b->streams, &capacity, b->stream_count + 1,
                    sizeof *b->streams, NULL) != TP_OK)
            return false;
        b->streams[b->stream_count++] = stream;
    }
    return true;
}

/* Numbers them by device and number, as they are told in. */
static void sort_streams(struct tp_path_base *b)
{
    size_t count = 0;
    if (b->stream_count > 1)
        qsort(b->streams, b->stream_count, sizeof *b->streams, by_key);
    for (size_t i = 0; i < b->stream_count; i++) {
        if (count == 0 || by_key(&b->streams[count - 1], &b->streams[i]) != 0)
            b->streams[count++] = b->streams[i];
    }
    b->stream_count = count;
}

uint32_t tp_path_find_stream(const struct tp_path_base *b, int32_t device,
                             int32_t stream)
{
    const struct tp_path_stream *s = b->streams;
    size_t i;
    TP_PARTITION_POINT(i, b->stream_count,
                       s[i].device < device ||
                           (s[i].device == device && s[i].stream < stream));
    return i < b->stream_count && s[i].device == device &&
                   s[i].stream == stream
               ? (uint32_t)i
               : TP_NO_NODE;
}

/* Finds the stream of each event, and those launched on idle ones. */
static bool follow_streams(struct tp_path_base *b)
{
    const struct tp_trace_index *index = &b->trace->index;
    const struct tp_events *events = &b->trace->events;
    if (!list_streams(b))
        return false;
    sort_streams(b);
    int64_t *busy = malloc((b->stream_count + 1) * sizeof *busy);
    for (size_t i = 0; busy && i < b->stream_count; i++)
        busy[i] = INT64_MIN;
    for (size_t i = 0; busy && i < index->device_count; i++) {
        const uint32_t event = index->device[i]; /* by start */
        if (index->call[event] == TP_NO_EVENT)
            continue;
        const size_t work = tp_path_work(b, event);
        const struct tp_path_stream stream = stream_of(b->trace, event);
        const int64_t to = events->start[event] + events->duration[event];
        const uint32_t number =
            tp_path_find_stream(b, stream.device, stream.stream);
        b->stream[work] = number;
        b->idle[work] = busy[number] < events->start[index->call[event]];
        busy[number] = to > busy[number] ? to : busy[number];
    }
    const bool made = busy != NULL;
    free(busy);
    return made;
}

/* Host events by start; those of one lane as the index has them. */
static enum tp_status sort_hosts(struct tp_path_base *b, struct tp_error *err)
{
    const struct tp_trace_index *index = &b->trace->index;
    if (index->host_count > 0)
        memcpy(b->hosts, index->host, index->host_count * sizeof *b->hosts);
    return tp_trace_merge_sort(&b->trace->events, b->hosts, index->host_count,
                               tp_trace_before_start, err);
}

/* --- the base ------------------------------------------------------------ */

static bool allocate(struct tp_path_base *b)
{
    const struct tp_events *events = &b->trace->events;
    const size_t device = b->trace->index.device_count;
    b->work = malloc((device + 1) * sizeof *b->work);
    b->syncs = malloc((events->sync_count + 1) * sizeof *b->syncs);
    b->stream = malloc((device + 1) * sizeof *b->stream);
    b->idle = malloc((device + 1) * sizeof *b->idle);
    b->hosts = malloc((b->trace->index.host_count + 1) * sizeof *b->hosts);
    b->place = malloc((events->count + 1) * sizeof *b->place);
    if (b->place)
        memset(b->place, 0xff, (events->count + 1) * sizeof *b->place);
    return b->work && b->syncs && b->stream && b->idle && b->hosts && b->place;
}

/* Sorts what needs keys, with room that is released before more is taken. */
static bool sort_work(struct tp_path_base *b)
{
    const size_t most =
        b->trace->index.device_count + b->trace->events.sync_count + 1;
    struct tp_ordered *scratch = malloc(most * sizeof *scratch);
    if (!scratch)
        return false;
    link_syncs(b, scratch);
    link_work(b, scratch);
    free(scratch);
    place_all(b);
    return follow_streams(b);
}

enum tp_status tp_path_base_new(const struct tp_trace *trace,
                                struct tp_path_base **base,
                                struct tp_error *err)
{
    struct tp_path_base *b = calloc(1, sizeof *b);
    bool ok = b != NULL;
    if (ok) {
        b->trace = trace;
        ok = allocate(b) && sort_hosts(b, err) == TP_OK && sort_work(b);
    }
    if (!ok) {
        tp_path_base_free(b);
        b = NULL;
    }
    *base = b;
    return ok ? TP_OK : tp_fail_memory(err);
}

void tp_path_base_free(struct tp_path_base *b)
{
    if (!b)
        return;
    free(b->work);
    free(b->syncs);
    free(b->stream);
    free(b->idle);
    free(b->streams);
    free(b->hosts);
    free(b->place);
    free(b);
}

/* --- makers -------------------------------------------------------------- */

enum tp_status tp_path_maker_new(const struct tp_path_base *base,
                                 struct tp_path_maker **maker,
                                 struct tp_error *err)
{
    struct tp_path_maker *m = calloc(1, sizeof *m);
    *maker = m;
    if (!m)
        return tp_fail_memory(err);
    m->base = base;
    m->trace = base->trace;
    m->last = malloc((base->stream_count + 1) * sizeof *m->last);
    m->seen = malloc((base->stream_count + 1) * sizeof *m->seen);
    if (!m->last || !m->seen) {
        tp_path_maker_free(m);
        *maker = NULL;
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < base->stream_count; i++)
        m->last[i] = TP_NO_NODE;
    return TP_OK;
}

/* Releases an array that may grow again. */
static void release(void *array, size_t *capacity)
{
    void *old, *none = NULL;
    memcpy(&old, array, sizeof old);
    free(old);
    memcpy(array, &none, sizeof none);
    *capacity = 0;
}

static void release_items(struct tp_path_maker *m)
{
    release(&m->items, &m->item_capacity);
    release(&m->scratch, &m->scratch_capacity);
}

static void release_graph(struct tp_path_maker *m)
{
    m->made = false;
    release(&m->node, &m->node_capacity);
    release(&m->around, &m->around_capacity);
    release(&m->arcs, &m->arc_capacity);
    release(&m->room, &m->room_capacity);
    release(&m->edges, &m->edge_capacity);
}

void tp_path_maker_shed(struct tp_path_maker *m, bool graph)
{
    if (m->event_count <= LARGE)
        return;
    release_items(m);
    if (graph)
        release_graph(m);
}

void tp_path_maker_free(struct tp_path_maker *m)
{
    if (!m)
        return;
    release_items(m);
    release_graph(m);
    free(m->event);
    free(m->last);
    free(m->seen);
    free(m);
}
