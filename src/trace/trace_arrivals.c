/* SPDX-License-Identifier: MIT */
/*
 * When a rank arrives at its collectives: what stays of a trace's device events
 * for the comparison of ranks, when the events are gone. Communication kernels
 * are sorted by name, stream and step of the call that launched them, then by
 * start, and numbered within each step, so that the same number means the same
 * collective on another rank. Keeping the events of all traces until ranks are
 * compared would need no such rows, but all traces in memory at once.
 *
 * O(n log n) for n collectives, and O(log steps) to find the step of each.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "trace/trace.h"
#include "trace/trace_collective.h"
#include "trace/trace_rows.h"

/* One communication kernel. */
struct arrival {
    uint32_t kernel; /* text */
    int32_t stream;
    size_t step;
    size_t place; /* in index.device, so by start */
};

struct arrivals_state {
    struct tp_trace *trace;
    struct arrival *items;
    size_t count, capacity;
};

/* The step that holds a moment; step_count if none does. */
static size_t find_step(const struct tp_trace_index *index, int64_t moment)
{
    /* the first that starts after it */
    size_t next;
    TP_PARTITION_POINT(next, index->step_count,
                       index->steps[next].from <= moment);
    return next > 0 && moment < index->steps[next - 1].to ? next - 1
                                                          : index->step_count;
}

/* Steps are those of the host: that of the call which launched it; without,
 * step_count. */
static enum tp_status collect(struct arrivals_state *state,
                              struct tp_error *err)
{
    const struct tp_trace_index *index = &state->trace->index;
    const struct tp_events *events = &state->trace->events;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < index->device_count && !status; i++) {
        const uint32_t event = index->device[i];
        const uint32_t call = index->call[event];
        if (!(index->kinds[events->name[event]] & TP_NAME_COMM) ||
            events->category[event] != TP_EVENT_KERNEL) {
            continue;
        }
        const size_t step = call == TP_NO_EVENT
                                ? index->step_count
                                : find_step(index, events->start[call]);
        status = tp_grow(&state->items, &state->capacity, state->count + 1,
                         sizeof *state->items, err);
        if (!status) {
            state->items[state->count++] = (struct arrival){
                events->name[event],
                events->gpu[events->detail[event]].stream, step, i};
        }
    }
    return status;
}

/* Order of kernel, stream and step; the rest is no key. */
static int by_key(const struct arrival *x, const struct arrival *y)
{
    int order = tp_order_int64(x->kernel, y->kernel);
    if (!order) {
        order = tp_order_int64(x->stream, y->stream);
    }
    return order ? order : tp_order_size(x->step, y->step);
}

static int by_key_and_place(const void *a, const void *b)
{
    const struct arrival *x = a;
    const struct arrival *y = b;
    const int order = by_key(x, y);
    return order ? order : tp_order_size(x->place, y->place);
}

/* Adds one with what it communicates. */
static enum tp_status add_row(struct tp_trace *trace,
                              const struct arrival *item, int64_t number,
                              struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    const uint32_t event = trace->index.device[item->place];
    struct tp_collective it;
    const enum tp_status status = tp_collective_of(trace, event, &it, err);
    if (status) {
        return status;
    }
    trace->arrivals.rows[trace->arrivals.count++] = (struct tp_arrival_row){
        .kernel = tp_events_get(events, item->kernel),
        .collective = tp_events_get(events, it.name),
        .group_name = tp_events_get(events, it.group_name),
        .group_ranks = tp_events_get(events, it.group_ranks),
        .dtype = tp_events_get(events, it.dtype),
        .group_size = it.group_size,
        .sequence = it.sequence,
        .in_bytes = it.in_bytes,
        .out_bytes = it.out_bytes,
        .stream = item->stream,
        .step = item->step < trace->index.step_count
                    ? trace->index.steps[item->step].number
                    : -1,
        .number = number,
        .start_ns = events->start[event],
        .ns = events->duration[event]};
    return TP_OK;
}

/* Numbers them within kernel, stream and step. */
static enum tp_status keep(struct arrivals_state *state, struct tp_error *err)
{
    struct tp_trace *trace = state->trace;
    int64_t number = 0;
    enum tp_status status =
        tp_grow(&trace->arrivals.rows, &trace->arrivals.capacity,
                state->count + 1, sizeof *trace->arrivals.rows, err);
    for (size_t i = 0; i < state->count && !status; i++) {
        const struct arrival *item = &state->items[i];
        number = i > 0 && by_key(item - 1, item) == 0 ? number + 1 : 0;
        status = add_row(trace, item, number, err);
    }
    return status;
}

enum tp_status tp_trace_arrivals(struct tp_trace *trace, struct tp_error *err)
{
    struct arrivals_state state = {.trace = trace};
    enum tp_status status = collect(&state, err);
    if (!status && state.count > 1) {
        qsort(state.items, state.count, sizeof *state.items,
              by_key_and_place);
    }
    if (!status) {
        status = keep(&state, err);
    }
    free(state.items);
    return status;
}
