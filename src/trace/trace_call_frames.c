/* SPDX-License-Identifier: MIT */
/*
 * Calls and frames nest on their lane, so one sweep in the order of lane and
 * start, with a stack of the frames that are open, gives each call its
 * innermost one. Frames that do not count, as those of libraries, never enter.
 *
 * Alternative: a search for each call among all frames, which for a recursion
 * walks back over all that have ended. Cost: sorting the frames that count,
 * then one pass over them and the events of the host for each row of /syncs, of
 * which there are some ten.
 */
#include "trace/trace_call_frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "trace/trace_sets.h"

struct open_frame {
    uint32_t lane, name;
    int64_t from, to;
};

struct sweep {
    struct tp_trace *trace;
    struct open_frame *frames; /* by lane, start, longest first            */
    size_t count, capacity;
    size_t *open; /* numbers of frames                                     */
    size_t depth;
    double *spent; /* [texts.count], by name of the frame, ns              */
};

static int by_lane_and_start(const void *a, const void *b)
{
    const struct open_frame *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->from != y->from)
        return tp_order_int64(x->from, y->from);
    return tp_order_int64(y->to, x->to);
}

/* Frames that count; whether a name does is asked once. */
static enum tp_status collect(struct sweep *sweep,
                              bool (*is_frame)(const char *name,
                                               const void *context),
                              const void *context, struct tp_error *err)
{
    const struct tp_events *events = &sweep->trace->events;
    enum { UNKNOWN, COUNTS, NOT };
    uint8_t *asked = calloc(events->texts.count + 1, 1);
    enum tp_status status = asked ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < events->count && status == TP_OK; i++) {
        const uint32_t name = events->name[i];
        if (events->category[i] != TP_EVENT_PYTHON &&
            events->category[i] != TP_EVENT_ANNOTATION)
            continue;
        if (asked[name] == UNKNOWN)
            asked[name] =
                is_frame(tp_events_get(events, name), context) ? COUNTS : NOT;
        if (asked[name] == NOT)
            continue;
        status = tp_grow(&sweep->frames, &sweep->capacity, sweep->count + 1,
                         sizeof *sweep->frames, err);
        if (status == TP_OK)
            sweep->frames[sweep->count++] = (struct open_frame){
                .lane = events->lane[i],
                .name = name,
                .from = events->start[i],
                .to = events->start[i] + events->duration[i]};
    }
    free(asked);
    if (sweep->count > 0)
        qsort(sweep->frames, sweep->count, sizeof *sweep->frames,
              by_lane_and_start);
    return status;
}

static bool is_around(const struct open_frame *frame, uint32_t lane, int64_t at)
{
    return frame->lane == lane && frame->from <= at && at <= frame->to;
}

/* Whether an event is one of the calls of a row of /syncs; of none: a copy
 * through pageable memory. */
static bool is_call(const struct tp_trace *trace, uint32_t event,
                    const struct tp_sync_row *row)
{
    const struct tp_events *events = &trace->events;
    const uint32_t made = trace->index.launched[event];
    const uint32_t op = trace->index.op[event];
    if (!row)
        return made != TP_NO_EVENT &&
               events->category[made] == TP_EVENT_MEMCPY &&
               strstr(tp_events_get(events, events->name[made]), "Pageable");
    return tp_trace_blocks(trace, event) &&
           !strcmp(tp_events_get(events, events->name[event]), row->call) &&
           !strcmp(op == TP_NO_EVENT ? ""
                                     : tp_events_get(events, events->name[op]),
                   row->op);
}

/* Leaves the frames that are not around a moment of a lane. */
static void leave(struct sweep *sweep, uint32_t lane, int64_t at)
{
    while (sweep->depth > 0 &&
           !is_around(&sweep->frames[sweep->open[sweep->depth - 1]], lane, at))
        sweep->depth--;
}

/* Gives each call to the innermost frame around its start. */
static void sweep_calls(struct sweep *sweep, const struct tp_sync_row *row)
{
    const struct tp_trace_index *index = &sweep->trace->index;
    const struct tp_events *events = &sweep->trace->events;
    size_t next = 0;
    sweep->depth = 0;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i], lane = events->lane[event];
        const int64_t at = events->start[event];
        for (; next < sweep->count; next++) {
            const struct open_frame *frame = &sweep->frames[next];
            if (frame->lane > lane || (frame->lane == lane && frame->from > at))
                break;
            leave(sweep, frame->lane, frame->from);
            sweep->open[sweep->depth++] = next;
        }
        leave(sweep, lane, at);
        if (sweep->depth > 0 && is_call(sweep->trace, event, row))
            sweep->spent[sweep->frames[sweep->open[sweep->depth - 1]].name] +=
                (double)events->duration[event] + 1;
    }
}

/* The frame in which most time was spent in calls; "" without. */
static const char *worst_frame(struct sweep *sweep,
                               const struct tp_sync_row *row)
{
    const struct tp_events *events = &sweep->trace->events;
    uint32_t most = 0;
    memset(sweep->spent, 0, events->texts.count * sizeof *sweep->spent);
    sweep_calls(sweep, row);
    for (uint32_t i = 1; i < events->texts.count; i++)
        most = sweep->spent[i] > sweep->spent[most] ? i : most;
    return tp_events_get(events, most);
}

enum tp_status tp_trace_call_frames_make(struct tp_trace *trace,
                                    bool (*is_frame)(const char *name,
                                                     const void *context),
                                    const void *context, struct tp_error *err)
{
    struct sweep sweep = {.trace = trace};
    enum tp_status status = collect(&sweep, is_frame, context, err);
    if (status == TP_OK && sweep.count > 0) {
        sweep.open = malloc(sweep.count * sizeof *sweep.open);
        sweep.spent =
            calloc(trace->events.texts.count + 1, sizeof *sweep.spent);
        if (!sweep.open || !sweep.spent)
            status = tp_fail_memory(err);
    }
    if (status == TP_OK && sweep.count > 0) {
        for (size_t i = 0; i < trace->syncs.count; i++)
            trace->syncs.rows[i].frame =
                worst_frame(&sweep, &trace->syncs.rows[i]);
        trace->facts.copy_frame = worst_frame(&sweep, NULL);
    }
    free(sweep.frames);
    free(sweep.open);
    free(sweep.spent);
    return status;
}
