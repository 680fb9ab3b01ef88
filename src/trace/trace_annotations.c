/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a step cost that the user, or torch, gave a name:
 * record_function, ProfilerStep, Optimizer.step, nccl ranges, and their
 * projections on the streams of the device.
 *
 * Device work belongs to the annotations around the call that started it, on
 * the thread of the call, as the profiler itself has it when it projects them.
 * Kernels of the backward pass are started by threads of autograd: they belong
 * to no annotation of the main thread.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/trace.h"
#include "trace/trace_rows.h"

/* One annotation of the host and the device work started in it. */
struct range {
    uint32_t event, outer; /* outer: the range around it; 0: none */
    uint64_t self_ns, ns;  /* ns: with the ranges inside         */
    int64_t self_events, events;
    bool repeats; /* in another of the same name, which has it all */
};

struct annotations_state {
    struct tp_trace *trace;
    uint32_t *inside;     /* [events.count] the innermost range, 0: none  */
    struct range *ranges; /* [0] takes what belongs to none               */
    size_t count;
    uint32_t *row;  /* [texts.count] row + 1, for host or device; 0: none  */
    uint32_t *open; /* [texts.count] ranges of the name around the current */
};

static bool is_annotation(const struct tp_trace *trace, uint32_t event)
{
    const uint8_t category = trace->events.category[event];
    return category == TP_EVENT_ANNOTATION ||
           (category == TP_EVENT_CPU_OP &&
            trace->index.kinds[trace->events.name[event]] &
                TP_NAME_ANNOTATIONS);
}

static size_t count_ranges(const struct tp_trace *trace)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->index.host_count; i++) {
        count += is_annotation(trace, trace->index.host[i]);
    }
    return count;
}

/* Leaves the ranges that do not reach around `outer`. */
static void leave_ranges(struct annotations_state *state, uint32_t from,
                         uint32_t outer)
{
    for (; from != outer && from != 0; from = state->ranges[from].outer) {
        const uint32_t event = state->ranges[from].event;
        state->open[state->trace->events.name[event]]--;
    }
}

/* Parents come before children, so one pass finds what is around each. */
static void find_ranges(struct annotations_state *state)
{
    const struct tp_trace_index *index = &state->trace->index;
    uint32_t last = 0;
    state->count = 1;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        const uint32_t parent = index->parent[event];
        const uint32_t outer =
            parent == TP_NO_EVENT ? 0 : state->inside[parent];
        state->inside[event] = outer;
        if (is_annotation(state->trace, event)) {
            leave_ranges(state, last, outer);
            last = (uint32_t)state->count++;
            state->inside[event] = last;
            state->ranges[last] = (struct range){
                .event = event,
                .outer = outer,
                .repeats = state->open[state->trace->events.name[event]]++ > 0,
            };
        }
    }
}

static void add_device_work(struct annotations_state *state)
{
    const struct tp_trace_index *index = &state->trace->index;
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        if (index->call[event] != TP_NO_EVENT) {
            struct range *range =
                &state->ranges[state->inside[index->call[event]]];
            range->self_ns += (uint64_t)state->trace->events.duration[event];
            range->self_events++;
        }
    }
    for (size_t i = state->count; i-- > 1;) { /* inner ones first */
        struct range *range = &state->ranges[i];
        struct range *outer = &state->ranges[range->outer];
        range->ns += range->self_ns;
        range->events += range->self_events;
        outer->ns += range->ns;
        outer->events += range->events;
    }
}

/* The row of a name, made if new; NULL when memory ran out. */
static struct tp_annotation_row *find_row(struct annotations_state *state,
                                          uint32_t name, bool is_host)
{
    struct tp_trace *trace = state->trace;
    if (!state->row[name]) {
        if (tp_grow(&trace->annotations.rows, &trace->annotations.capacity,
                    trace->annotations.count + 1,
                    sizeof *trace->annotations.rows, NULL)) {
            return NULL;
        }
        trace->annotations.rows[trace->annotations.count++] =
            (struct tp_annotation_row){
                .name = tp_events_get(&trace->events, name),
                .where = is_host ? "host" : "device",
                .is_host = is_host};
        state->row[name] = (uint32_t)trace->annotations.count;
    }
    return &trace->annotations.rows[state->row[name] - 1];
}

static void add_duration(struct tp_annotation_row *row, int64_t ns)
{
    const double us = (double)ns / 1e3;
    row->count++;
    row->total_us += us;
    row->max_us = us > row->max_us ? us : row->max_us;
}

static enum tp_status add_host_rows(struct annotations_state *state,
                                    struct tp_error *err)
{
    const struct tp_events *events = &state->trace->events;
    for (size_t i = 1; i < state->count; i++) {
        const struct range *range = &state->ranges[i];
        struct tp_annotation_row *row =
            find_row(state, events->name[range->event], true);
        if (!row) {
            return tp_fail_memory(err);
        }
        add_duration(row, events->duration[range->event]);
        if (!range->repeats) {
            row->device_events += range->events;
            row->device_us += (double)range->ns / 1e3;
        }
        row->self_device_events += range->self_events;
        row->self_device_us += (double)range->self_ns / 1e3;
    }
    return TP_OK;
}

static enum tp_status add_device_rows(struct annotations_state *state,
                                      struct tp_error *err)
{
    const struct tp_events *events = &state->trace->events;
    memset(state->row, 0, events->texts.count * sizeof *state->row);
    for (size_t i = 0; i < events->count; i++) {
        if (events->category[i] != TP_EVENT_GPU_ANNOTATION) {
            continue;
        }
        struct tp_annotation_row *row =
            find_row(state, events->name[i], false);
        if (!row) {
            return tp_fail_memory(err);
        }
        add_duration(row, events->duration[i]);
        row->device_events = row->self_device_events = -1;
        row->device_us = row->self_device_us = NAN;
    }
    return TP_OK;
}

/* Host before device; the most expensive to the device, then to the host,
 * first. */
static int by_cost(const void *a, const void *b)
{
    const struct tp_annotation_row *x = a;
    const struct tp_annotation_row *y = b;
    if (x->is_host != y->is_host) {
        return x->is_host ? -1 : 1;
    }
    if (!isnan(x->device_us) && x->device_us != y->device_us) {
        return x->device_us > y->device_us ? -1 : 1;
    }
    if (x->total_us != y->total_us) {
        return x->total_us > y->total_us ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

static void finish_rows(struct tp_trace *trace)
{
    for (size_t i = 0; i < trace->annotations.count; i++) {
        struct tp_annotation_row *row = &trace->annotations.rows[i];
        row->mean_us = row->total_us / (double)row->count;
    }
    if (trace->annotations.count > 1) {
        qsort(trace->annotations.rows, trace->annotations.count,
              sizeof *trace->annotations.rows, by_cost);
    }
}

enum tp_status tp_trace_annotations(struct tp_trace *trace,
                                    struct tp_error *err)
{
    const size_t texts = trace->events.texts.count;
    struct annotations_state state = {
        .trace = trace,
        .inside = calloc(trace->events.count + 1, sizeof *state.inside),
        .ranges = calloc(count_ranges(trace) + 1, sizeof *state.ranges),
        .row = calloc(texts + 1, sizeof *state.row),
        .open = calloc(texts + 1, sizeof *state.open),
    };
    enum tp_status status =
        state.inside && state.ranges && state.row && state.open
            ? TP_OK
            : tp_fail_memory(err);
    if (!status) {
        find_ranges(&state);
        add_device_work(&state);
        status = add_host_rows(&state, err);
    }
    if (!status) {
        status = add_device_rows(&state, err);
    }
    if (!status) {
        finish_rows(trace);
    }
    free(state.inside);
    free(state.ranges);
    free(state.row);
    free(state.open);
    return status;
}
