/* SPDX-License-Identifier: MIT */
/*
 * Calls that keep the host until the device has caught up, by what made them.
 * The cause is the outermost reason a user can act on: `.item()` stays
 * `.item()` though a copy inside it does the waiting. Whether an operator
 * *could* wait tells nothing (aten::item of a host tensor does not), so only
 * calls make rows. What a wait costs is the part during which no device event
 * runs; the rest would have passed anyway.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "trace/trace.h"
#include "trace/trace_cover.h"
#include "trace/trace_rows.h"
#include "trace/trace_sets.h"

static const char *const cause_names[TP_SYNC_CAUSES] = {
    [TP_SYNC_ITEM] = "item",
    [TP_SYNC_COPY] = "copy",
    [TP_SYNC_COPY_TO_HOST] = "copy DtoH",
    [TP_SYNC_COPY_TO_DEVICE] = "copy HtoD",
    [TP_SYNC_OPTIMIZER] = "optimizer",
    [TP_SYNC_OPERATOR] = "operator",
    [TP_SYNC_EXPLICIT] = "explicit",
    [TP_SYNC_PROFILER] = "profiler",
};

/* One blocking call; texts of equal numbers are equal. */
struct wait {
    uint32_t call, op; /* texts */
    enum tp_sync_cause cause;
    int64_t ns, idle_ns;
};

struct syncs_state {
    struct tp_trace *trace;
    struct tp_cover busy;
    uint32_t *around; /* [events.count] kinds of an event and all around it */
    uint32_t closing; /* the profiler's own call */
    uint32_t last_copy;    /* device event of the last copying call, */
    uint32_t last_copy_op; /* and the operator that made the call    */
    struct wait *waits;
    size_t wait_count, wait_capacity;
};

/* --- causes ------------------------------------------------------------- */

/* Parents come before what they contain. */
static enum tp_status collect_around(struct syncs_state *state,
                                     struct tp_error *err)
{
    const struct tp_trace_index *index = &state->trace->index;
    const struct tp_events *events = &state->trace->events;
    state->around = malloc((events->count + 1) * sizeof *state->around);
    if (!state->around) {
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        const uint32_t parent = index->parent[event];
        state->around[event] = index->kinds[events->name[event]] |
                               (parent == TP_NO_EVENT ? 0
                                                      : state->around[parent]);
    }
    return TP_OK;
}

static bool waits_for_device(const char *name)
{
    return strstr(name, "DeviceSynchronize") || strstr(name, "CtxSynchronize");
}

/*
 * When it stops, the profiler waits for the device once: the last such call
 * outside of every operator, if it follows the last step; without steps, if
 * no operator or annotation starts after it.
 */
static uint32_t find_closing(const struct tp_trace *trace)
{
    const struct tp_trace_index *index = &trace->index;
    const struct tp_events *events = &trace->events;
    uint32_t closing = TP_NO_EVENT;
    int64_t after = index->step_count ? index->to : INT64_MIN;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        const uint8_t category = events->category[event];
        if (category != TP_EVENT_RUNTIME && category != TP_EVENT_DRIVER) {
            if (!index->step_count && events->start[event] > after) {
                after = events->start[event];
            }
        } else if (index->op[event] == TP_NO_EVENT &&
                   (closing == TP_NO_EVENT ||
                    events->start[event] > events->start[closing]) &&
                   waits_for_device(
                       tp_events_get(events, events->name[event]))) {
            closing = event;
        }
    }
    return closing != TP_NO_EVENT && events->start[closing] >= after
               ? closing
               : TP_NO_EVENT;
}

/* Direction of the copy a call made or, for a call that waits for an earlier
 * one of the same operator, of that. */
static enum tp_sync_cause copy_cause(const struct syncs_state *state,
                                     uint32_t event)
{
    const struct tp_trace_index *index = &state->trace->index;
    const struct tp_events *events = &state->trace->events;
    uint32_t copy = index->launched[event];
    if (copy == TP_NO_EVENT && state->last_copy_op == index->op[event]) {
        copy = state->last_copy;
    }
    if (copy == TP_NO_EVENT) {
        return TP_SYNC_COPY;
    }
    const char *name = tp_events_get(events, events->name[copy]);
    if (strstr(name, "DtoH") || strstr(name, "DeviceToHost")) {
        return TP_SYNC_COPY_TO_HOST;
    }
    return strstr(name, "HtoD") || strstr(name, "HostToDevice")
               ? TP_SYNC_COPY_TO_DEVICE
               : TP_SYNC_COPY;
}

static enum tp_sync_cause cause_of(const struct syncs_state *state,
                                   uint32_t event)
{
    const uint32_t around = state->around[event];
    if (event == state->closing) {
        return TP_SYNC_PROFILER;
    }
    if (around & TP_NAME_ITEM) {
        return TP_SYNC_ITEM;
    }
    if (around & TP_NAME_COPY_OP) {
        return copy_cause(state, event);
    }
    if (around & TP_NAME_OPTIMIZER) {
        return TP_SYNC_OPTIMIZER;
    }
    return state->trace->index.op[event] == TP_NO_EVENT ? TP_SYNC_EXPLICIT
                                                        : TP_SYNC_OPERATOR;
}

/* --- rows --------------------------------------------------------------- */

static enum tp_status add_wait(struct syncs_state *state, uint32_t event,
                               struct tp_error *err)
{
    const struct tp_events *events = &state->trace->events;
    const uint32_t op = state->trace->index.op[event];
    const int64_t from = events->start[event];
    const int64_t ns = events->duration[event];
    const enum tp_status status =
        tp_grow(&state->waits, &state->wait_capacity, state->wait_count + 1,
                sizeof *state->waits, err);
    if (!status) {
        state->waits[state->wait_count++] = (struct wait){
            .call = events->name[event],
            .op = op == TP_NO_EVENT ? 0 : events->name[op],
            .cause = cause_of(state, event),
            .ns = ns,
            .idle_ns = ns - tp_cover_within(&state->busy, from, from + ns)};
    }
    return status;
}

static enum tp_status collect_waits(struct syncs_state *state,
                                    struct tp_error *err)
{
    const struct tp_trace_index *index = &state->trace->index;
    const struct tp_events *events = &state->trace->events;
    enum tp_status status = TP_OK;
    state->last_copy = TP_NO_EVENT;
    for (size_t i = 0; i < index->host_count && !status; i++) {
        const uint32_t event = index->host[i];
        if (tp_trace_blocks(state->trace, event)) {
            status = add_wait(state, event, err);
        }
        const uint32_t made = index->launched[event];
        if (made != TP_NO_EVENT && events->category[made] == TP_EVENT_MEMCPY) {
            state->last_copy = made;
            state->last_copy_op = index->op[event];
        }
    }
    return status;
}

static int by_key(const void *a, const void *b)
{
    const struct wait *x = a;
    const struct wait *y = b;
    if (x->call != y->call) {
        return x->call < y->call ? -1 : 1;
    }
    if (x->op != y->op) {
        return x->op < y->op ? -1 : 1;
    }
    return tp_order_int64(x->cause, y->cause);
}

static int by_time(const void *a, const void *b)
{
    const struct tp_sync_row *x = a;
    const struct tp_sync_row *y = b;
    if (x->total_us != y->total_us) {
        return x->total_us > y->total_us ? -1 : 1;
    }
    int order = strcmp(x->call, y->call);
    if (!order) {
        order = strcmp(x->op, y->op);
    }
    return order ? order : strcmp(x->cause, y->cause);
}

/* Adds up the waits [first, end), which have one key. */
static enum tp_status add_row(struct syncs_state *state, size_t first,
                              size_t end, struct tp_error *err)
{
    struct tp_trace *trace = state->trace;
    const struct wait *wait = &state->waits[first];
    double ns = 0, idle_ns = 0; /* integers, exact up to 104 days */
    for (size_t i = first; i < end; i++) {
        ns += (double)state->waits[i].ns;
        idle_ns += (double)state->waits[i].idle_ns;
    }
    const enum tp_status status =
        tp_grow(&trace->syncs.rows, &trace->syncs.capacity,
                trace->syncs.count + 1, sizeof *trace->syncs.rows, err);
    if (!status) {
        trace->syncs.rows[trace->syncs.count++] = (struct tp_sync_row){
            .call = tp_events_get(&trace->events, wait->call),
            .why = wait->cause,
            .cause = cause_names[wait->cause],
            .op = tp_events_get(&trace->events, wait->op),
            .count = (int64_t)(end - first),
            .total_us = ns / 1e3,
            .idle_us = idle_ns / 1e3};
    }
    return status;
}

static enum tp_status make_rows(struct syncs_state *state,
                                struct tp_error *err)
{
    struct tp_trace *trace = state->trace;
    enum tp_status status = TP_OK;
    if (state->wait_count > 1) {
        qsort(state->waits, state->wait_count, sizeof *state->waits, by_key);
    }
    for (size_t first = 0, end; first < state->wait_count && !status;
         first = end) {
        for (end = first + 1;
             end < state->wait_count &&
             by_key(&state->waits[first], &state->waits[end]) == 0;
             end++) {
        }
        status = add_row(state, first, end, err);
    }
    if (trace->syncs.count > 1) {
        qsort(trace->syncs.rows, trace->syncs.count,
              sizeof *trace->syncs.rows, by_time);
    }
    return status;
}

enum tp_status tp_trace_syncs(struct tp_trace *trace, struct tp_error *err)
{
    const struct tp_device_query query = {.classes = TP_DEVICE_ANY,
                                          .within = TP_EVER};
    struct syncs_state state = {.trace = trace};
    enum tp_status status =
        tp_trace_device_set(trace, &query, &state.busy.set, err);
    if (!status) {
        status = tp_cover_make(&state.busy, err);
    }
    if (!status) {
        status = collect_around(&state, err);
    }
    if (!status) {
        state.closing = find_closing(trace);
        status = collect_waits(&state, err);
    }
    if (!status) {
        status = make_rows(&state, err);
    }
    tp_cover_clear(&state.busy);
    free(state.around);
    free(state.waits);
    return status;
}
