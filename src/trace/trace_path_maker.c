/* SPDX-License-Identifier: MIT */
/*
 * What the critical paths of all windows of a trace need once: device events
 * and waits by the start of their calls, streams by number, host events by
 * start.
 *
 * With these sorted, the graph of one window is found by binary search and
 * takes time in proportion to the window. Making everything anew for each step
 * would read the whole trace per step: quadratic for many short steps. O(n)
 * memory, and time of a few radix sorts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/trace_merge.h"
#include "trace/trace_path_maker.h"

/* --- links ------------------------------------------------------------- */

static uint64_t start_key(const struct tp_trace *trace, uint32_t event)
{
    return tp_time_key(trace->events.start[event]);
}

/* cuda_sync events that have a call, by start of these. */
static void link_syncs(struct tp_path_maker *m, struct tp_ordered *scratch)
{
    const struct tp_events *events = &m->trace->events;
    const uint32_t *call = m->trace->index.call;
    for (uint32_t i = 0; i < events->count && events->sync_count; i++) {
        if (events->category[i] == TP_EVENT_SYNC &&
            events->detail[i] != TP_NO_DETAIL && call[i] != TP_NO_EVENT)
            m->syncs[m->sync_count++] =
                (struct tp_ordered){start_key(m->trace, call[i]), i};
    }
    tp_order_sort(m->syncs, scratch, m->sync_count);
}

static void link_work(struct tp_path_maker *m, struct tp_ordered *scratch)
{
    const struct tp_trace_index *index = &m->trace->index;
    for (size_t i = 0; i < index->device_count; i++) {
        uint32_t event = index->device[i];
        if (index->call[event] != TP_NO_EVENT)
            m->work[m->work_count++] = (struct tp_ordered){
                start_key(m->trace, index->call[event]), event};
    }
    tp_order_sort(m->work, scratch, m->work_count);
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

/* Numbers the streams, and finds events launched on idle ones. */
static bool sort_streams(struct tp_path_maker *m, struct tp_ordered *items,
                         struct tp_ordered *scratch)
{
    const struct tp_trace_index *index = &m->trace->index;
    const struct tp_events *events = &m->trace->events;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < index->device_count; i++) {
        uint32_t event = index->device[i]; /* by start */
        if (index->call[event] != TP_NO_EVENT)
            items[count++] = (struct tp_ordered){
                stream_key(stream_of(m->trace, event)), event};
    }
    tp_order_sort(items, scratch, count);
    for (size_t i = 0, end; i < count; i = end) {
        int64_t busy = INT64_MIN;
        for (end = i; end < count && items[end].key == items[i].key; end++) {
            uint32_t event = items[end].event;
            int64_t to = events->start[event] + events->duration[event];
            m->stream[event] = (uint32_t)m->stream_count;
            m->idle[event] = busy < events->start[index->call[event]];
            busy = to > busy ? to : busy;
        }
        if (tp_grow(&m->streams, &capacity, m->stream_count + 1,
                    sizeof *m->streams, NULL) != TP_OK)
            return false;
        m->streams[m->stream_count++] = stream_of(m->trace, items[i].event);
    }
    return true;
}

/* Host events by start; those of one lane as the index has them. */
static enum tp_status sort_hosts(struct tp_path_maker *m, struct tp_error *err)
{
    const struct tp_trace_index *index = &m->trace->index;
    if (index->host_count > 0)
        memcpy(m->hosts, index->host, index->host_count * sizeof *m->hosts);
    return tp_trace_merge_sort(&m->trace->events, m->hosts, index->host_count,
                               tp_trace_before_start, err);
}

/* --- the maker ----------------------------------------------------------- */

/* What work is sorted into, and what is filled from it. */
static bool allocate_work(struct tp_path_maker *m)
{
    const struct tp_events *events = &m->trace->events;
    size_t device = m->trace->index.device_count;
    m->work = malloc((device + 1) * sizeof *m->work);
    m->syncs = malloc((events->sync_count + 1) * sizeof *m->syncs);
    m->stream = calloc(events->count + 1, sizeof *m->stream);
    m->idle = calloc(events->count + 1, sizeof *m->idle);
    m->around = m->stream;
    return m->work && m->syncs && m->stream && m->idle;
}

static bool allocate_hosts(struct tp_path_maker *m)
{
    const struct tp_events *events = &m->trace->events;
    m->hosts = malloc((m->trace->index.host_count + 1) * sizeof *m->hosts);
    m->node = malloc((events->count + 1) * sizeof *m->node);
    if (!m->hosts || !m->node)
        return false;
    memset(m->node, 0xff, (events->count + 1) * sizeof *m->node);
    return true;
}

/* Sorts what needs keys, with room that is released before more is taken. */
static bool sort_work(struct tp_path_maker *m)
{
    const size_t most =
        m->trace->index.device_count + m->trace->events.sync_count + 1;
    struct tp_ordered *items = malloc(most * sizeof *items),
                      *scratch = malloc(most * sizeof *scratch);
    bool ok = items && scratch;
    if (ok) {
        link_syncs(m, scratch);
        link_work(m, scratch);
        ok = sort_streams(m, items, scratch);
    }
    free(items);
    free(scratch);
    return ok;
}

enum tp_status tp_path_maker_new(const struct tp_trace *trace,
                                 struct tp_path_maker **maker,
                                 struct tp_error *err)
{
    struct tp_path_maker *m = calloc(1, sizeof *m);
    bool ok = m != NULL;
    if (ok) {
        m->trace = trace;
        ok = allocate_work(m) && sort_work(m) && allocate_hosts(m) &&
             sort_hosts(m, err) == TP_OK;
    }
    if (ok) {
        m->last = calloc(m->stream_count + 1, sizeof *m->last);
        m->seen = calloc(m->stream_count + 1, sizeof *m->seen);
        ok = m->last && m->seen;
        for (size_t i = 0; ok && i < m->stream_count; i++)
            m->last[i] = TP_NO_NODE;
    }
    if (!ok) {
        tp_path_maker_free(m);
        m = NULL;
    }
    *maker = m;
    return ok ? TP_OK : tp_fail_memory(err);
}

void tp_path_maker_free(struct tp_path_maker *m)
{
    if (!m)
        return;
    free(m->work);
    free(m->syncs);
    free(m->stream);
    free(m->idle);
    free(m->streams);
    free(m->hosts);
    free(m->node);
    free(m->event);
    free(m->arcs);
    free(m->items);
    free(m->scratch);
    free(m->last);
    free(m->seen);
    free(m->room);
    free(m->edges);
    free(m);
}
