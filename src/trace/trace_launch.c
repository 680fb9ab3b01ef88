/* SPDX-License-Identifier: MIT */
/*
 * Calls that start device work, by name: how long the host is in them, how long
 * the device works for each, and how long the work waits in between. First the
 * durations of device events are added to the calls that the index has linked
 * them with; then each runtime or driver call that started any is added to the
 * row of its name. The delay is from the end of the call to the start of the
 * first event it launched, never below 0.
 *
 * Adding events to rows directly would need no array of sums, but a call that
 * starts many events (a graph) is short against all of them together, not each.
 * O(events), and a sort of the rows; 8 bytes for each event.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/trace.h"
#include "trace/trace_rows.h"

/* A kernel shorter than its launch cannot be kept up with; calls beyond this
 * waited for something else (the split HTA draws). */
enum { SHORT_CALL_NS = 50000 };

struct launch_state {
    double *device_ns; /* [events.count] of calls: all their device work */
    uint32_t *row;     /* [texts.count] rows, TP_NO_EVENT: none yet      */
};

static void sum_device_work(const struct tp_trace *trace,
                            struct launch_state *state)
{
    const struct tp_trace_index *index = &trace->index;
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        if (index->call[event] != TP_NO_EVENT) {
            state->device_ns[index->call[event]] +=
                (double)trace->events.duration[event];
        }
    }
}

/* The row of a call's name, made if new. */
static enum tp_status find_row(struct tp_trace *trace,
                               struct launch_state *state, uint32_t name,
                               struct tp_launch_row **row, struct tp_error *err)
{
    if (state->row[name] == TP_NO_EVENT) {
        const enum tp_status status = tp_grow(
            &trace->launches.rows, &trace->launches.capacity,
            trace->launches.count + 1, sizeof *trace->launches.rows, err);
        if (status) {
            return status;
        }
        state->row[name] = (uint32_t)trace->launches.count;
        trace->launches.rows[trace->launches.count++] =
            (struct tp_launch_row){.name = tp_events_get(&trace->events, name)};
    }
    *row = &trace->launches.rows[state->row[name]];
    return TP_OK;
}

/* Adds one call; means hold sums until finish_rows. */
static void add_call(const struct tp_trace *trace, uint32_t call,
                     double device_ns, struct tp_launch_row *row)
{
    const struct tp_events *events = &trace->events;
    const int64_t ns = events->duration[call];
    const uint32_t first = trace->index.launched[call];
    const int64_t wait = events->start[first] - (events->start[call] + ns);
    const double delay_us = wait > 0 ? (double)wait / 1e3 : 0;
    const double call_us = (double)ns / 1e3;
    row->count++;
    row->call_us += call_us;
    row->max_call_us = call_us > row->max_call_us ? call_us : row->max_call_us;
    row->mean_device_us += device_ns / 1e3;
    row->mean_delay_us += delay_us;
    if (delay_us > row->max_delay_us) {
        row->max_delay_us = delay_us;
    }
    row->short_kernels += device_ns < (double)ns && ns <= SHORT_CALL_NS;
}

static int by_time(const void *a, const void *b)
{
    const struct tp_launch_row *x = a;
    const struct tp_launch_row *y = b;
    if (x->call_us != y->call_us) {
        return x->call_us > y->call_us ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

static void finish_rows(struct tp_trace *trace)
{
    for (size_t i = 0; i < trace->launches.count; i++) {
        struct tp_launch_row *row = &trace->launches.rows[i];
        row->mean_call_us = row->call_us / (double)row->count;
        row->mean_device_us /= (double)row->count;
        row->mean_delay_us /= (double)row->count;
    }
    if (trace->launches.count > 1) {
        qsort(trace->launches.rows, trace->launches.count,
              sizeof *trace->launches.rows, by_time);
    }
}

static enum tp_status add_calls(struct tp_trace *trace,
                                struct launch_state *state,
                                struct tp_error *err)
{
    const struct tp_trace_index *index = &trace->index;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        const uint8_t category = trace->events.category[event];
        if ((category != TP_EVENT_RUNTIME && category != TP_EVENT_DRIVER) ||
            index->launched[event] == TP_NO_EVENT) {
            continue;
        }
        struct tp_launch_row *row = NULL;
        const enum tp_status status =
            find_row(trace, state, trace->events.name[event], &row, err);
        if (status) {
            return status;
        }
        add_call(trace, event, state->device_ns[event], row);
    }
    return TP_OK;
}

enum tp_status tp_trace_launches(struct tp_trace *trace, struct tp_error *err)
{
    const size_t texts = trace->events.texts.count;
    struct launch_state state = {
        .device_ns = calloc(trace->events.count + 1, sizeof(double)),
        .row = malloc((texts + 1) * sizeof(uint32_t)),
    };
    enum tp_status status = TP_OK;
    if (!state.device_ns || !state.row) {
        status = tp_fail_memory(err);
    } else {
        for (size_t i = 0; i < texts; i++) {
            state.row[i] = TP_NO_EVENT;
        }
        sum_device_work(trace, &state);
        status = add_calls(trace, &state, err);
    }
    if (!status) {
        finish_rows(trace);
    }
    free(state.device_ns);
    free(state.row);
    return status;
}
