/* SPDX-License-Identifier: MIT */
/*
 * Curves over the window W for figures: the share of each piece in which the
 * device works, and the mean number of launches that wait in it.
 *
 * Both are means of "how many intervals cover a moment" over equal pieces of
 * W. An interval may span all pieces, so whole pieces are counted by where a
 * run of them begins and ends, and time is linear in the intervals.
 */
#include <math.h>

#include "base/memory.h"
#include "trace/trace.h"
#include "trace/trace_rows.h"
#include "trace/trace_sets.h"

/* More cannot be told apart in a figure. */
enum { PIECES = 500 };

struct pieces {
    struct tp_interval window;
    int64_t width; /* ns; the last piece may be shorter */
    size_t count;
    double partial[PIECES];    /* ns of intervals that begin or end in it */
    int64_t whole[PIECES + 1]; /* change of the number that span it all   */
};

static void cut(struct pieces *pieces, struct tp_interval window)
{
    const int64_t length = window.to - window.from;
    *pieces = (struct pieces){.window = window};
    pieces->width = (length - 1) / PIECES + 1;
    pieces->count = (size_t)((length - 1) / pieces->width + 1);
}

static int64_t border(const struct pieces *pieces, size_t piece)
{
    return piece < pieces->count
               ? pieces->window.from + (int64_t)piece * pieces->width
               : pieces->window.to;
}

/* Adds an interval and returns its length inside the window, ns. */
static int64_t add(struct pieces *pieces, int64_t from, int64_t to)
{
    from = from > pieces->window.from ? from : pieces->window.from;
    to = to < pieces->window.to ? to : pieces->window.to;
    if (from >= to) {
        return 0;
    }
    const size_t first = (size_t)((from - pieces->window.from) / pieces->width);
    const size_t last =
        (size_t)((to - 1 - pieces->window.from) / pieces->width);
    if (first == last) {
        pieces->partial[first] += (double)(to - from);
    } else {
        pieces->partial[first] += (double)(border(pieces, first + 1) - from);
        pieces->partial[last] += (double)(to - border(pieces, last));
        pieces->whole[first + 1]++;
        pieces->whole[last]--;
    }
    return to - from;
}

static enum tp_status emit(const struct pieces *pieces, struct tp_curve *curve,
                           struct tp_error *err)
{
    int64_t whole = 0;
    const enum tp_status status =
        tp_grow(&curve->rows, &curve->capacity, pieces->count,
                sizeof *curve->rows, err);
    for (size_t i = 0; i < pieces->count && !status; i++) {
        const int64_t from = border(pieces, i);
        const double length = (double)(border(pieces, i + 1) - from);
        whole += pieces->whole[i];
        curve->rows[curve->count++] = (struct tp_moment){
            .at_us = ((double)(from - pieces->window.from) + length / 2) / 1e3,
            .value = pieces->partial[i] / length + (double)whole,
        };
    }
    return status;
}

static enum tp_status draw_busy(struct tp_trace *trace, struct pieces *pieces,
                                struct tp_error *err)
{
    const struct tp_device_query query = {.classes = TP_DEVICE_ANY,
                                          .within = pieces->window};
    struct tp_intervals busy = {0};
    enum tp_status status = tp_trace_device_set(trace, &query, &busy, err);
    if (!status) {
        for (size_t i = 0; i < busy.count; i++) {
            add(pieces, busy.items[i].from, busy.items[i].to);
        }
        status = emit(pieces, &trace->utilisation, err);
    }
    tp_intervals_clear(&busy);
    return status;
}

/* The mean length is the time all launches wait together over the length of
 * W; no need to go through the queue as it changes. */
static enum tp_status draw_queue(struct tp_trace *trace, struct pieces *pieces,
                                 struct tp_error *err)
{
    const struct tp_trace_index *index = &trace->index;
    double waited = 0;
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        const uint32_t call = index->call[event];
        if (tp_trace_is_launched(index, event)) {
            waited += (double)add(pieces, trace->events.start[call],
                                  trace->events.start[event]);
        }
    }
    trace->mean_queue =
        waited / (double)(pieces->window.to - pieces->window.from);
    return emit(pieces, &trace->queue, err);
}

enum tp_status tp_trace_curves(struct tp_trace *trace, struct tp_error *err)
{
    const struct tp_interval window = tp_trace_window(trace);
    struct pieces pieces;
    trace->mean_queue = NAN;
    if (window.from >= window.to || trace->index.device_count == 0) {
        return TP_OK;
    }
    cut(&pieces, window);
    enum tp_status status = draw_busy(trace, &pieces, err);
    if (!status) {
        cut(&pieces, window);
        status = draw_queue(trace, &pieces, err);
    }
    return status;
}
