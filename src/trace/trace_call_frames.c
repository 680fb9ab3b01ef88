/* SPDX-License-Identifier: MIT */
/*
 * Calls and the frames that count nest on their lane as host events do
 * (tp_trace_nest), so that the first frame upwards from a call is its innermost
 * one. Frames that do not count, as those of libraries, never enter, nor do
 * other events: a ProfilerStep that crosses a frame would end it.
 *
 * Alternative: a search for each call among all frames, which for a recursion
 * walks back over all that have ended. Cost: sorting frames and calls, then a
 * pass over the calls for each row of /syncs, of which there are some ten.
 */
#include "trace/trace_call_frames.h"

#include <stdlib.h>
#include <string.h>

#include "trace/trace_merge.h"
#include "trace/trace_sets.h"

struct nesting {
    struct tp_trace *trace;
    uint32_t *list; /* frames that count, calls that wait or copy; in order */
    size_t count, frames;
    uint32_t *around; /* [events.count] the innermost of the list           */
    double *spent;    /* [texts.count] ns, by name of the frame             */
};

/* A copy through pageable memory. */
static bool is_pageable(const struct tp_trace *trace, uint32_t event)
{
    const struct tp_events *events = &trace->events;
    const uint32_t made = trace->index.launched[event];
    return made != TP_NO_EVENT && events->category[made] == TP_EVENT_MEMCPY &&
           strstr(tp_events_get(events, events->name[made]), "Pageable");
}

/* Whether an event is one of the calls of a row of /syncs; of none: a copy
 * through pageable memory. */
static bool is_call(const struct tp_trace *trace, uint32_t event,
                    const struct tp_sync_row *row)
{
    const struct tp_events *events = &trace->events;
    const uint32_t op = trace->index.op[event];
    if (!row)
        return is_pageable(trace, event);
    return tp_trace_blocks(trace, event) &&
           !strcmp(tp_events_get(events, events->name[event]), row->call) &&
           !strcmp(op == TP_NO_EVENT ? ""
                                     : tp_events_get(events, events->name[op]),
                   row->op);
}

static bool may_be_frame(const struct tp_events *events, uint32_t event)
{
    return events->category[event] == TP_EVENT_PYTHON ||
           events->category[event] == TP_EVENT_ANNOTATION;
}

/* Frames that count; whether a name does is asked once. */
static enum tp_status collect_frames(struct nesting *nesting,
                                     bool (*is_frame)(const char *name,
                                                      const void *context),
                                     const void *context, struct tp_error *err)
{
    const struct tp_events *events = &nesting->trace->events;
    enum { UNKNOWN, COUNTS, NOT };
    uint8_t *asked = calloc(events->texts.count + 1, 1);
    if (!asked)
        return tp_fail_memory(err);
    for (uint32_t i = 0; i < events->count; i++) {
        const uint32_t name = events->name[i];
        if (!may_be_frame(events, i))
            continue;
        if (asked[name] == UNKNOWN)
            asked[name] =
                is_frame(tp_events_get(events, name), context) ? COUNTS : NOT;
        if (asked[name] == COUNTS)
            nesting->list[nesting->count++] = i;
    }
    nesting->frames = nesting->count;
    free(asked);
    return TP_OK;
}

static enum tp_status nest(struct nesting *nesting, struct tp_error *err)
{
    const struct tp_trace *trace = nesting->trace;
    for (size_t i = 0; i < trace->index.host_count; i++) {
        const uint32_t event = trace->index.host[i];
        if (tp_trace_blocks(trace, event) || is_pageable(trace, event))
            nesting->list[nesting->count++] = event;
    }
    const enum tp_status status =
        tp_trace_merge_sort(&trace->events, nesting->list, nesting->count,
                            tp_trace_before_nested, err);
    if (status == TP_OK)
        tp_trace_nest(&trace->events, nesting->list, nesting->count,
                      nesting->around);
    return status;
}

/* The frame in which most time was spent in calls; "" without. */
static const char *worst_frame(struct nesting *nesting,
                               const struct tp_sync_row *row)
{
    const struct tp_events *events = &nesting->trace->events;
    uint32_t most = 0;
    memset(nesting->spent, 0, events->texts.count * sizeof *nesting->spent);
    for (size_t i = 0; i < nesting->count; i++) {
        const uint32_t event = nesting->list[i];
        if (may_be_frame(events, event) || !is_call(nesting->trace, event, row))
            continue;
        uint32_t frame = nesting->around[event];
        while (frame != TP_NO_EVENT && !may_be_frame(events, frame))
            frame = nesting->around[frame]; /* a call around a call */
        if (frame != TP_NO_EVENT)
            nesting->spent[events->name[frame]] +=
                (double)events->duration[event] + 1;
    }
    for (uint32_t i = 1; i < events->texts.count; i++)
        most = nesting->spent[i] > nesting->spent[most] ? i : most;
    return tp_events_get(events, most);
}

enum tp_status tp_trace_call_frames_make(struct tp_trace *trace,
                                         bool (*is_frame)(const char *name,
                                                          const void *context),
                                         const void *context,
                                         struct tp_error *err)
{
    const size_t events = trace->events.count;
    struct nesting nesting = {
        .trace = trace,
        .list = malloc((events + 1) * sizeof *nesting.list),
        .around = malloc((events + 1) * sizeof *nesting.around),
        .spent = calloc(trace->events.texts.count + 1, sizeof *nesting.spent)};
    enum tp_status status =
        nesting.list && nesting.around && nesting.spent
            ? collect_frames(&nesting, is_frame, context, err)
            : tp_fail_memory(err);
    if (status == TP_OK && nesting.frames > 0)
        status = nest(&nesting, err);
    if (status == TP_OK && nesting.frames > 0) {
        for (size_t i = 0; i < trace->syncs.count; i++)
            trace->syncs.rows[i].frame =
                worst_frame(&nesting, &trace->syncs.rows[i]);
        trace->facts.copy_frame = worst_frame(&nesting, NULL);
    }
    free(nesting.list);
    free(nesting.around);
    free(nesting.spent);
    return status;
}
