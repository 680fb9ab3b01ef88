/* SPDX-License-Identifier: MIT */
/*
 * What an annotated trace shows, kept while the tables are made of it, so that
 * both are the same moments: idle time with its cause, the pieces of critical
 * paths and where they cross from one row to another, and how many launches
 * wait. Making them again when the file is written would need the events then,
 * for all traces at once; these rows are some 50 bytes a stretch or edge, less
 * than the events they come from. Sums by step walk a set once for all steps
 * that it touches: O(n log n).
 */
#include "trace/trace_tracks.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"

enum tp_status tp_tracks_steps(struct tp_trace *trace, struct tp_error *err)
{
    const struct tp_trace_index *index = &trace->index;
    if (!trace->annotated)
        return TP_OK;
    const enum tp_status status =
        tp_grow(&trace->step_spans.rows, &trace->step_spans.capacity,
                index->step_count + 1, sizeof *trace->step_spans.rows, err);
    for (size_t i = 0; i < index->step_count && status == TP_OK; i++)
        trace->step_spans.rows[trace->step_spans.count++] =
            (struct tp_step_span_row){.step = index->steps[i].number,
                                      .from_ns = index->steps[i].from,
                                      .to_ns = index->steps[i].to};
    return status;
}

enum tp_status tp_tracks_idle(struct tp_trace *trace, enum tp_idle_cause why,
                              const struct tp_intervals *charged,
                              struct tp_error *err)
{
    if (!trace->annotated || trace->index.device_count == 0)
        return TP_OK;
    const enum tp_status status =
        tp_grow(&trace->stretches.rows, &trace->stretches.capacity,
                trace->stretches.count + charged->count + 1,
                sizeof *trace->stretches.rows, err);
    for (size_t i = 0; i < charged->count && status == TP_OK; i++)
        trace->stretches.rows[trace->stretches.count++] =
            (struct tp_stretch_row){charged->items[i].from,
                                    charged->items[i].to -
                                        charged->items[i].from,
                                    why};
    for (size_t i = 0; i < trace->step_spans.count; i++) {
        struct tp_step_span_row *row = &trace->step_spans.rows[i];
        row->idle_ns[why] +=
            tp_intervals_within(charged, row->from_ns, row->to_ns);
    }
    return status;
}

enum tp_status tp_tracks_first_launches(struct tp_trace *trace,
                                        const struct tp_intervals *idle,
                                        const struct tp_intervals *loading,
                                        struct tp_error *err)
{
    struct tp_intervals other = {0}, both = {0};
    if (!trace->annotated)
        return TP_OK;
    enum tp_status status = tp_intervals_subtract(idle, loading, &other, err);
    if (status == TP_OK)
        status = tp_intervals_subtract(idle, &other, &both, err);
    for (size_t i = 0; i < trace->step_spans.count && status == TP_OK; i++) {
        struct tp_step_span_row *row = &trace->step_spans.rows[i];
        row->first_launch_ns =
            tp_intervals_within(&both, row->from_ns, row->to_ns);
    }
    tp_intervals_clear(&other);
    tp_intervals_clear(&both);
    return status;
}

void tp_tracks_exposed(struct tp_trace *trace, bool communication, bool less,
                       const struct tp_intervals *alone)
{
    for (size_t i = 0; i < trace->step_spans.count; i++) {
        struct tp_step_span_row *row = &trace->step_spans.rows[i];
        const int64_t ns =
            tp_intervals_within(alone, row->from_ns, row->to_ns);
        *(communication ? &row->exposed_communication_ns
                        : &row->exposed_transfer_ns) += less ? -ns : ns;
    }
}

/* --- critical paths ------------------------------------------------------ */

static enum tp_status add_arrow(struct tp_trace *trace, uint32_t from,
                                uint32_t to, int64_t to_ns,
                                struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    const struct tp_lane *a = &events->lanes[events->lane[from]];
    const struct tp_lane *b = &events->lanes[events->lane[to]];
    if (to_ns < events->start[from]) /* clocks that disagree */
        return TP_OK;
    const enum tp_status status = tp_grow(
        &trace->arrows.rows, &trace->arrows.capacity, trace->arrows.count + 1,
        sizeof *trace->arrows.rows, err);
    if (status == TP_OK)
        trace->arrows.rows[trace->arrows.count++] = (struct tp_arrow_row){
            .from_ns = events->start[from],
            .to_ns = to_ns,
            .from_pid = tp_events_get(events, a->pid),
            .from_tid = tp_events_get(events, a->tid),
            .to_pid = tp_events_get(events, b->pid),
            .to_tid = tp_events_get(events, b->tid)};
    return status;
}

/* What the host does next on the thread of a call that has ended; the call, if
 * nothing. */
static uint32_t next_on_lane(const struct tp_trace *trace, uint32_t call)
{
    const struct tp_events *events = &trace->events;
    const uint32_t *host = trace->index.host;
    const int64_t end = events->start[call] + events->duration[call];
    size_t i;
    TP_PARTITION_POINT(i, trace->index.host_count,
                       events->lane[host[i]] < events->lane[call] ||
                           (events->lane[host[i]] == events->lane[call] &&
                            events->start[host[i]] < end));
    return i < trace->index.host_count &&
                   events->lane[host[i]] == events->lane[call]
               ? host[i]
               : call;
}

/* An arrow where the path goes from the host to the device or back; *device is
 * the device event that it was on. Back it goes to what follows the call: of
 * two slices Perfetto takes the later one for the end, and a call that waits
 * began before what it waits for. */
static enum tp_status cross(struct tp_trace *trace,
                            const struct tp_path_edge *edge, uint32_t *device,
                            struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    const uint32_t event = edge->event;
    uint32_t next;
    switch (edge->kind) {
    case TP_PATH_LAUNCH:
    case TP_PATH_QUEUE:
        return trace->index.call[event] == TP_NO_EVENT
                   ? TP_OK
                   : add_arrow(trace, trace->index.call[event], event,
                               events->start[event], err);
    case TP_PATH_RETURN:
        if (*device == TP_NO_EVENT ||
            events->start[event] + events->duration[event] <=
                events->start[*device])
            return TP_OK;
        next = next_on_lane(trace, event);
        return add_arrow(trace, *device, next, events->start[next], err);
    case TP_PATH_KERNEL:
    case TP_PATH_COPY:
    case TP_PATH_COMMUNICATION:
        *device = event;
        return TP_OK;
    default:
        return TP_OK;
    }
}

enum tp_status tp_tracks_path(struct tp_trace *trace,
                              const struct tp_tracks_way *way,
                              struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    int64_t at = way->from_ns;
    uint32_t device = TP_NO_EVENT;
    if (!trace->annotated)
        return TP_OK;
    enum tp_status status =
        tp_grow(&trace->pieces.rows, &trace->pieces.capacity,
                trace->pieces.count + way->count + 1,
                sizeof *trace->pieces.rows, err);
    for (size_t i = 0; i < way->count && status == TP_OK; i++) {
        const struct tp_path_edge *edge = &way->edges[i];
        trace->pieces.rows[trace->pieces.count++] = (struct tp_piece_row){
            .from_ns = at,
            .ns = edge->ns,
            .step = way->step,
            .spent_on = edge->kind,
            .name = edge->event == TP_NO_EVENT
                        ? ""
                        : tp_events_get(events, events->name[edge->event])};
        at += edge->ns;
        status = cross(trace, edge, &device, err);
    }
    return status;
}

/* --- the queue ----------------------------------------------------------- */

/* Calls of launches and begins of what they launched, each sorted. */
struct waits {
    int64_t *from, *to;
    size_t count;
};

static void find_waits(const struct tp_trace *trace, struct waits *waits)
{
    const struct tp_trace_index *index = &trace->index;
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        if (!tp_trace_is_launched(index, event))
            continue;
        const int64_t from = trace->events.start[index->call[event]];
        const int64_t to = trace->events.start[event];
        if (from >= to)
            continue;
        waits->from[waits->count] = from;
        waits->to[waits->count++] = to;
    }
    if (waits->count > 1) {
        tp_sort_int64(waits->from, waits->count);
        tp_sort_int64(waits->to, waits->count);
    }
}

static enum tp_status add_levels(struct tp_trace *trace,
                                 const struct waits *waits,
                                 struct tp_error *err)
{
    size_t begun = 0, ended = 0;
    int64_t before = 0;
    const enum tp_status status =
        tp_grow(&trace->levels.rows, &trace->levels.capacity,
                2 * waits->count + 1, sizeof *trace->levels.rows, err);
    while (ended < waits->count && status == TP_OK) {
        int64_t at = waits->to[ended];
        if (begun < waits->count && waits->from[begun] < at)
            at = waits->from[begun];
        while (begun < waits->count && waits->from[begun] == at)
            begun++;
        while (ended < waits->count && waits->to[ended] == at)
            ended++;
        const int64_t waiting = (int64_t)(begun - ended);
        if (waiting != before)
            trace->levels.rows[trace->levels.count++] =
                (struct tp_level_row){at, waiting};
        before = waiting;
    }
    return status;
}

enum tp_status tp_tracks_queue(struct tp_trace *trace, struct tp_error *err)
{
    const size_t most = trace->index.device_count + 1;
    if (!trace->annotated)
        return TP_OK;
    struct waits waits = {.from = calloc(most, sizeof *waits.from),
                          .to = calloc(most, sizeof *waits.to)};
    enum tp_status status =
        waits.from && waits.to ? TP_OK : tp_fail_memory(err);
    if (status == TP_OK) {
        find_waits(trace, &waits);
        status = add_levels(trace, &waits, err);
    }
    free(waits.from);
    free(waits.to);
    return status;
}
