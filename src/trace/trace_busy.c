/* SPDX-License-Identifier: MIT */
/*
 * How the device spends its time, by three definitions of all of it:
 *
 *   "window"              W, with all device events cut to it
 *   "linked device span"  from the first start to the last end of the device
 *                         events whose launch is in the file (TraceLens)
 *   "device span"         the same over all device events
 *
 * Each length is one of a union, so that what runs at the same time counts
 * once. Exposed communication is what no computation hides, exposed memory
 * what neither computation nor communication hides.
 */
#include <math.h>

#include "base/memory.h"
#include "trace/trace.h"
#include "trace/trace_rows.h"
#include "trace/trace_sets.h"
#include "trace/trace_tracks.h"

/* The unions of one definition. */
struct device_sets {
    struct tp_intervals any, compute, communication, copies, transfers;
    struct tp_intervals scratch[2];
};

static void clear(struct device_sets *sets)
{
    tp_intervals_clear(&sets->any);
    tp_intervals_clear(&sets->compute);
    tp_intervals_clear(&sets->communication);
    tp_intervals_clear(&sets->copies);
    tp_intervals_clear(&sets->transfers);
    tp_intervals_clear(&sets->scratch[0]);
    tp_intervals_clear(&sets->scratch[1]);
}

/* From the first start to the last end of the events of a query; empty
 * without any. */
static struct tp_interval span_of(const struct tp_trace *trace,
                                  const struct tp_device_query *query)
{
    struct tp_interval span = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < trace->index.device_count; i++) {
        const uint32_t event = trace->index.device[i];
        if (!tp_trace_device_is(trace, event, query)) {
            continue;
        }
        const int64_t from = trace->events.start[event];
        const int64_t to = from + trace->events.duration[event];
        span.from = from < span.from ? from : span.from;
        span.to = to > span.to ? to : span.to;
    }
    return span.from < span.to ? span : (struct tp_interval){0, 0};
}

static enum tp_status collect(const struct tp_trace *trace,
                              struct tp_device_query query,
                              struct device_sets *sets, struct tp_error *err)
{
    struct tp_intervals *const parts[] = {&sets->any, &sets->compute,
                                          &sets->communication, &sets->copies};
    static const unsigned classes[] = {TP_DEVICE_ANY, TP_DEVICE_COMPUTE,
                                       TP_DEVICE_COMMUNICATION, TP_DEVICE_COPY};
    enum tp_status status = TP_OK;
    for (int i = 0; i < 4 && !status; i++) {
        query.classes = classes[i];
        status = tp_trace_device_set(trace, &query, parts[i], err);
    }
    query.crossing = true; /* the classes are still those of copies */
    sets->transfers.count = 0;
    return status || sets->copies.count == 0
               ? status
               : tp_trace_device_set(trace, &query, &sets->transfers, err);
}

/* What of communication and copies nothing else hides. */
static enum tp_status expose(struct tp_trace *trace, struct device_sets *sets,
                             struct tp_busy_row *row, struct tp_error *err)
{
    struct tp_intervals *alone = &sets->scratch[0];
    struct tp_intervals *rest = &sets->scratch[1];
    enum tp_status status =
        tp_intervals_subtract(&sets->communication, &sets->compute, alone, err);
    if (status) {
        return status;
    }
    const bool window = row->span == TP_BUSY_WINDOW;
    if (window) {
        tp_tracks_exposed(trace, true, false, alone);
    }
    const int64_t all = tp_intervals_length(&sets->communication);
    const int64_t exposed = tp_intervals_length(alone);
    row->exposed_communication_us = (double)exposed / 1e3;
    row->overlap_us = (double)(all - exposed) / 1e3;
    row->overlap = all > 0 ? (double)(all - exposed) / (double)all : NAN;

    status = tp_intervals_subtract(&sets->copies, &sets->compute, rest, err);
    if (!status) {
        status = tp_intervals_subtract(rest, &sets->communication, alone, err);
        row->exposed_memory_us = (double)tp_intervals_length(alone) / 1e3;
    }
    if (!status) { /* what of it no transfer is on */
        status = tp_intervals_subtract(alone, &sets->transfers, rest, err);
        row->exposed_transfer_us =
            row->exposed_memory_us - (double)tp_intervals_length(rest) / 1e3;
    }
    if (!status && window) {
        tp_tracks_exposed(trace, false, false, alone);
        tp_tracks_exposed(trace, false, true, rest);
    }
    return status;
}

static const char *const span_names[] = {
    [TP_BUSY_WINDOW] = "window",
    [TP_BUSY_LINKED] = "linked device span",
    [TP_BUSY_DEVICE] = "device span",
};

static double microseconds(const struct tp_intervals *set)
{
    return (double)tp_intervals_length(set) / 1e3;
}

static enum tp_status add_row(struct tp_trace *trace, enum tp_busy_span span,
                              const struct tp_device_query *query,
                              struct tp_error *err)
{
    struct device_sets sets = {.any = {0}};
    const int64_t total = query->within.to - query->within.from;
    struct tp_busy_row row = {.span = span, .definition = span_names[span]};
    enum tp_status status = collect(trace, *query, &sets, err);
    if (!status) {
        const int64_t busy = tp_intervals_length(&sets.any);
        row.total_us = (double)total / 1e3;
        row.busy_us = (double)busy / 1e3;
        row.idle_us = (double)(total - busy) / 1e3;
        row.compute_us = microseconds(&sets.compute);
        row.communication_us = microseconds(&sets.communication);
        row.memory_us = microseconds(&sets.copies);
        status = expose(trace, &sets, &row, err);
    }
    if (!status) {
        status = tp_grow(&trace->busy.rows, &trace->busy.capacity,
                         trace->busy.count + 1, sizeof *trace->busy.rows, err);
    }
    if (!status) {
        trace->busy.rows[trace->busy.count++] = row;
    }
    clear(&sets);
    return status;
}

enum tp_status tp_trace_busy(struct tp_trace *trace, struct tp_error *err)
{
    struct tp_device_query window = {.classes = TP_DEVICE_ANY,
                                     .within = tp_trace_window(trace)};
    struct tp_device_query linked = {.classes = TP_DEVICE_ANY, .linked = true};
    struct tp_device_query all = {.classes = TP_DEVICE_ANY};
    linked.within = span_of(trace, &linked);
    all.within = span_of(trace, &all);
    enum tp_status status = add_row(trace, TP_BUSY_WINDOW, &window, err);
    if (!status) {
        status = add_row(trace, TP_BUSY_LINKED, &linked, err);
    }
    if (!status) {
        status = add_row(trace, TP_BUSY_DEVICE, &all, err);
    }
    return status;
}
