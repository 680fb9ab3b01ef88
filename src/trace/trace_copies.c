/* SPDX-License-Identifier: MIT */
/*
 * Copies and sets of device memory by name, which is direction and kind of
 * memory: "Memcpy HtoD (Pageable -> Device)". Each event is added to the row of
 * its name; what its call cost the host is added once, with the first event of
 * the call. The bandwidth of a row is the bytes of all its copies over their
 * time; the mean of the bandwidths of copies would give one of a few bytes as
 * much weight as the largest. Copies without recorded bytes are left out of it.
 *
 * O(events), and a sort of the rows; 4 bytes for each text.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/trace.h"
#include "trace/trace_rows.h"

/* Sums of one row, ns: integers, exact up to 104 days together. */
struct sums {
    double ns, call_ns;
    double sized_ns; /* of the copies whose bytes are recorded */
};

struct copies_state {
    struct tp_trace *trace;
    struct sums *sums; /* as the rows */
    size_t sums_capacity;
    uint32_t *row; /* [texts.count] row + 1; 0: none */
};

/* The row of an event's name, made if new; row + 1, 0 without memory. */
static uint32_t find_row(struct copies_state *state, uint32_t event)
{
    struct tp_trace *trace = state->trace;
    const uint32_t name = trace->events.name[event];
    if (!state->row[name]) {
        const size_t need = trace->copies.count + 1;
        if (tp_grow(&trace->copies.rows, &trace->copies.capacity, need,
                    sizeof *trace->copies.rows, NULL) ||
            tp_grow(&state->sums, &state->sums_capacity, need,
                    sizeof *state->sums, NULL)) {
            return 0;
        }
        trace->copies.rows[trace->copies.count++] =
            (struct tp_copy_row){.kind = tp_events_get(&trace->events, name)};
        state->row[name] = (uint32_t)need;
    }
    return state->row[name];
}

/* What the host spent inside the copying call, for its first event only. A
 * graph's launch is no copying call: it starts other work as well. */
static double call_length(const struct tp_trace *trace, uint32_t event)
{
    const struct tp_trace_index *index = &trace->index;
    const uint32_t call = index->call[event];
    if (call == TP_NO_EVENT || index->launched[call] != event ||
        !(index->kinds[trace->events.name[call]] & TP_NAME_COPY_CALL)) {
        return 0;
    }
    return (double)trace->events.duration[call];
}

static enum tp_status add_events(struct copies_state *state,
                                 struct tp_error *err)
{
    const struct tp_trace *trace = state->trace;
    const struct tp_events *events = &trace->events;
    for (size_t i = 0; i < trace->index.device_count; i++) {
        const uint32_t event = trace->index.device[i];
        if (events->category[event] != TP_EVENT_MEMCPY &&
            events->category[event] != TP_EVENT_MEMSET) {
            continue;
        }
        const uint32_t row = find_row(state, event);
        if (!row) {
            return tp_fail_memory(err);
        }
        struct tp_copy_row *copy = &trace->copies.rows[row - 1];
        struct sums *sums = &state->sums[row - 1];
        const int64_t bytes = events->gpu[events->detail[event]].bytes;
        const double ns = (double)events->duration[event];
        copy->count++;
        sums->ns += ns;
        sums->call_ns += call_length(trace, event);
        if (bytes >= 0) {
            copy->bytes = bytes > INT64_MAX - copy->bytes
                              ? INT64_MAX
                              : copy->bytes + bytes;
            sums->sized_ns += ns;
        }
    }
    return TP_OK;
}

static int by_time(const void *a, const void *b)
{
    const struct tp_copy_row *x = a;
    const struct tp_copy_row *y = b;
    if (x->total_us != y->total_us) {
        return x->total_us > y->total_us ? -1 : 1;
    }
    return strcmp(x->kind, y->kind);
}

static void finish_rows(const struct copies_state *state)
{
    struct tp_trace *trace = state->trace;
    for (size_t i = 0; i < trace->copies.count; i++) {
        struct tp_copy_row *copy = &trace->copies.rows[i];
        const struct sums *sums = &state->sums[i];
        copy->total_us = sums->ns / 1e3;
        copy->call_us = sums->call_ns / 1e3;
        /* bytes per ns are GB/s */
        copy->bandwidth_gbps =
            sums->sized_ns > 0 ? (double)copy->bytes / sums->sized_ns
                               : NAN;
    }
    if (trace->copies.count > 1) {
        qsort(trace->copies.rows, trace->copies.count,
              sizeof *trace->copies.rows, by_time);
    }
}

enum tp_status tp_trace_copies(struct tp_trace *trace, struct tp_error *err)
{
    struct copies_state state = {
        .trace = trace,
        .row = calloc(trace->events.texts.count + 1, sizeof *state.row),
    };
    enum tp_status status =
        state.row ? add_events(&state, err) : tp_fail_memory(err);
    if (!status) {
        finish_rows(&state);
    }
    free(state.sums);
    free(state.row);
    return status;
}
