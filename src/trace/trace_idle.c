/* SPDX-License-Identifier: MIT */
/*
 * What the host does while the device idles. Every idle moment of the window
 * W is charged once, to the first of the causes below that covers it: a call
 * into the driver's allocator outranks the operator it happens in. Counts and
 * total times mislead where this does not: a wait for a busy device costs
 * nothing. Where work that was launched does not begin (trace_queued.c), the
 * host is not to blame, whatever it does.
 *
 * W ends with the last step, so that the synchronisation with which the
 * profiler itself ends is not part of it. A trace without device events is
 * idle throughout: the shares then tell how the host spends W.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "trace/trace.h"
#include "trace/trace_first_launch.h"
#include "trace/trace_frames.h"
#include "trace/trace_queued.h"
#include "trace/trace_rows.h"
#include "trace/trace_sets.h"
#include "trace/trace_tracks.h"

struct causes {
    struct tp_interval window;
    struct tp_intervals sets[TP_IDLE_NONE]; /* moments of W, busy or idle */
    struct tp_intervals idle;
    int64_t busy, blocked_busy; /* ns of W in which the device works, and of
                                   them while the host is blocked            */
    int64_t refill, first_launch; /* ns of idle time                       */
    bool frames;                /* some ask what they are charged with       */
    int64_t *ends; /* of the blocking calls, sorted; calls may be short of
                      the clock's resolution, so that no set holds them */
    size_t end_count, end_capacity;
    struct tp_trace_queued queued;
    struct tp_first_launches first; /* part of launch */
    struct tp_intervals charged[TP_FRAME_IDLES]; /* idle, to frames */
};

static void clear(struct causes *causes)
{
    for (int i = 0; i < TP_IDLE_NONE; i++) {
        tp_intervals_clear(&causes->sets[i]);
    }
    tp_intervals_clear(&causes->idle);
    tp_trace_queued_clear(&causes->queued);
    tp_first_launches_clear(&causes->first);
    for (int i = 0; i < TP_FRAME_IDLES; i++) {
        tp_intervals_clear(&causes->charged[i]);
    }
    free(causes->ends);
}

static enum tp_idle_cause cause_of_call(const struct tp_trace *trace,
                                        uint32_t event)
{
    const uint32_t kinds = trace->index.kinds[trace->events.name[event]];
    if (kinds & TP_NAME_DRIVER_ALLOC) {
        return TP_IDLE_ALLOC;
    }
    if (tp_trace_blocks(trace, event)) {
        return TP_IDLE_BLOCKING;
    }
    return kinds & (TP_NAME_LAUNCH | TP_NAME_COPY_CALL) ? TP_IDLE_LAUNCH
                                                        : TP_IDLE_NONE;
}

/* What a host event stands for; TP_IDLE_NONE: nothing, as a step or other
 * calls. */
static enum tp_idle_cause cause_of(const struct tp_trace *trace, uint32_t event)
{
    const struct tp_events *events = &trace->events;
    const uint32_t kinds = trace->index.kinds[events->name[event]];
    const uint8_t category = events->category[event];
    if (category == TP_EVENT_RUNTIME || category == TP_EVENT_DRIVER) {
        return cause_of_call(trace, event);
    }
    /* Only what the training thread waits for is a wait for data. */
    if ((kinds & TP_NAME_DATALOADER) &&
        events->lane[event] == trace->index.main_lane) {
        return TP_IDLE_DATALOADER;
    }
    /* Old traces have steps as operators. */
    return category == TP_EVENT_CPU_OP && !(kinds & TP_NAME_STEP)
               ? TP_IDLE_CPU_OP
               : TP_IDLE_NONE;
}

static bool is_inside(const struct tp_trace *trace, uint32_t event,
                      struct tp_interval window)
{
    const int64_t from = trace->events.start[event];
    return from < window.to &&
           from + trace->events.duration[event] > window.from;
}

static enum tp_status add_end(struct causes *causes, int64_t end,
                              struct tp_error *err)
{
    const enum tp_status status =
        tp_grow(&causes->ends, &causes->end_capacity, causes->end_count + 1,
                sizeof *causes->ends, err);
    if (!status) {
        causes->ends[causes->end_count++] = end;
    }
    return status;
}

/* Operators, of which there are most, are collected when their turn comes to
 * be charged; the other causes before. */
static bool has_turn(enum tp_idle_cause cause, bool operators)
{
    return cause != TP_IDLE_NONE && (cause == TP_IDLE_CPU_OP) == operators;
}

static enum tp_status collect_causes(const struct tp_trace *trace,
                                     struct causes *causes, bool operators,
                                     struct tp_error *err)
{
    const struct tp_trace_index *index = &trace->index;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < index->host_count && !status; i++) {
        const uint32_t event = index->host[i];
        if (operators && trace->events.category[event] != TP_EVENT_CPU_OP) {
            continue;
        }
        const enum tp_idle_cause cause = cause_of(trace, event);
        if (!has_turn(cause, operators) ||
            !is_inside(trace, event, causes->window)) {
            continue;
        }
        status = tp_intervals_expect(&causes->sets[cause],
                                     index->host_count - i, err);
        if (!status) {
            status = tp_trace_add_event(trace, event, causes->window,
                                        &causes->sets[cause], err);
        }
        if (!status && cause == TP_IDLE_BLOCKING) {
            status = add_end(causes,
                             trace->events.start[event] +
                                 trace->events.duration[event],
                             err);
        }
    }
    for (int i = 0; i < TP_IDLE_NONE; i++) {
        if (has_turn(i, operators)) {
            tp_intervals_unite(&causes->sets[i]);
        }
    }
    if (!operators && causes->end_count > 1) {
        tp_sort_int64(causes->ends, causes->end_count);
    }
    return status;
}

/* What is asked of busy time, but for what is left of W without it. */
static void measure_busy(struct causes *causes, const struct tp_intervals *busy)
{
    const struct tp_intervals *blocking = &causes->sets[TP_IDLE_BLOCKING];
    causes->busy = tp_intervals_length(busy);
    for (size_t i = 0; i < blocking->count; i++) {
        causes->blocked_busy += tp_intervals_within(
            busy, blocking->items[i].from, blocking->items[i].to);
    }
}

static enum tp_status collect_idle(const struct tp_trace *trace,
                                   struct causes *causes, struct tp_error *err)
{
    const struct tp_device_query query = {.classes = TP_DEVICE_ANY,
                                          .within = causes->window};
    struct tp_intervals whole = {0}, busy = {0};
    enum tp_status status = tp_trace_device_set(trace, &query, &busy, err);
    if (!status) {
        status = tp_intervals_add(&whole, causes->window.from,
                                  causes->window.to, err);
    }
    if (!status) {
        status = tp_intervals_subtract(&whole, &busy, &causes->idle, err);
        measure_busy(causes, &busy);
    }
    tp_intervals_clear(&whole);
    tp_intervals_clear(&busy);
    return status;
}

/* Takes what a cause covers from `rest`: *length of it; what it is charged with
 * is left in `charged`, unless that is NULL. */
static enum tp_status charge(const struct tp_intervals *cause,
                             struct tp_intervals *rest,
                             struct tp_intervals *charged, int64_t *length,
                             struct tp_error *err)
{
    struct tp_intervals left = {0};
    enum tp_status status = tp_intervals_subtract(rest, cause, &left, err);
    if (!status && charged) {
        status = tp_intervals_subtract(rest, &left, charged, err);
    }
    *length = tp_intervals_length(rest) - tp_intervals_length(&left);
    tp_intervals_clear(rest);
    *rest = left;
    return status;
}

/*
 * After a wait the queue of the device is empty, so that it idles until the
 * next launch arrives: from the end of the last blocking call that ends in a
 * stretch of idle time to the end of that stretch. Where work is pending it is
 * not empty: these moments are not the wait's.
 */
static int64_t refill_length(const struct causes *causes)
{
    const struct tp_intervals *idle = &causes->idle;
    const struct tp_intervals *queued = &causes->sets[TP_IDLE_QUEUED];
    int64_t length = 0;
    size_t next = 0; /* the first blocking call that ends after the stretch */
    for (size_t i = 0; i < idle->count; i++) {
        const struct tp_interval stretch = idle->items[i];
        while (next < causes->end_count && causes->ends[next] <= stretch.to) {
            next++;
        }
        if (next > 0 && causes->ends[next - 1] >= stretch.from) {
            const int64_t end = causes->ends[next - 1];
            length += stretch.to - end -
                      tp_intervals_within(queued, end, stretch.to);
        }
    }
    return length;
}

/* What of the idle time lies in a set. */
static int64_t idle_within(const struct causes *causes,
                           const struct tp_intervals *set)
{
    int64_t length = 0;
    for (size_t i = 0; i < set->count; i++) {
        length += tp_intervals_within(&causes->idle, set->items[i].from,
                                      set->items[i].to);
    }
    return length;
}

static void fill_row(const struct causes *causes, const int64_t *lengths,
                     struct tp_idle_row *row)
{
    const int64_t window = causes->window.to - causes->window.from;
    const double unit = window > 0 ? 1.0 / (double)window : NAN;
    const struct tp_intervals *blocking = &causes->sets[TP_IDLE_BLOCKING];
    const struct tp_intervals *alloc = &causes->sets[TP_IDLE_ALLOC];
    const struct tp_first_launches *first = &causes->first;
    *row = (struct tp_idle_row){
        .window_us = (double)window / 1e3,
        .busy = (double)causes->busy * unit,
        .queued = (double)lengths[TP_IDLE_QUEUED] * unit,
        .queued_name = causes->queued.name,
        .queued_count = causes->queued.count,
        .queued_name_us = (double)causes->queued.length / 1e3,
        .queued_most = causes->queued.most,
        .first_launch = (double)causes->first_launch * unit,
        .first_launches = first->calls,
        .first_launch_steps = first->steps,
        .first_launch_kernel = first->kernel,
        .first_launch_us = (double)first->total / 1e3,
        .first_launch_max_us = (double)first->longest / 1e3,
        .alloc = (double)lengths[TP_IDLE_ALLOC] * unit,
        .dataloader = (double)lengths[TP_IDLE_DATALOADER] * unit,
        .blocking = (double)lengths[TP_IDLE_BLOCKING] * unit,
        .launch = (double)lengths[TP_IDLE_LAUNCH] * unit,
        .cpu_op = (double)lengths[TP_IDLE_CPU_OP] * unit,
        .none = (double)lengths[TP_IDLE_NONE] * unit,
        .blocked = (double)tp_intervals_length(blocking) * unit,
        .blocked_busy = (double)causes->blocked_busy * unit,
        .refill = (double)causes->refill * unit,
        .blocking_calls = (int64_t)causes->end_count,
        .driver_alloc_us = (double)tp_intervals_length(alloc) / 1e3,
    };
}

/* Whom of those that frames are asked about a cause is charged to. */
static struct tp_intervals *holder(struct causes *causes,
                                   enum tp_idle_cause cause)
{
    if (!causes->frames) {
        return NULL;
    }
    return cause == TP_IDLE_DATALOADER ? &causes->charged[TP_FRAME_LOADER]
           : cause == TP_IDLE_BLOCKING ? &causes->charged[TP_FRAME_BLOCKING]
                                     : NULL;
}

/* Causes of which nobody asks more than what idle time they are charged with:
 * they are those of most events. */
static bool is_asked_once(enum tp_idle_cause cause)
{
    return cause == TP_IDLE_LAUNCH || cause == TP_IDLE_CPU_OP;
}

static enum tp_status split_idle(struct tp_trace *trace, struct causes *causes,
                                 struct tp_error *err)
{
    int64_t lengths[TP_IDLE_CAUSES] = {0};
    struct tp_intervals rest = causes->idle; /* changes its owner */
    const struct tp_intervals nothing = {0};
    enum tp_status status = TP_OK;
    causes->idle = (struct tp_intervals){0};
    for (int i = 0; i < TP_IDLE_NONE && !status; i++) {
        struct tp_intervals own = {0};
        struct tp_intervals *charged = holder(causes, i);
        if (!charged && trace->annotated) {
            charged = &own;
        }
        if (i == TP_IDLE_LAUNCH && causes->frames && causes->busy > 0) {
            /* from here on it is the host's */
            status = tp_intervals_subtract(
                &rest, &nothing, &causes->charged[TP_FRAME_HOST], err);
        }
        if (!status && i == TP_IDLE_CPU_OP) {
            status = collect_causes(trace, causes, true, err);
        }
        if (!status && causes->sets[i].count > 0) {
            status = charge(&causes->sets[i], &rest, charged, &lengths[i],
                            err);
        }
        if (!status && charged) {
            status = tp_tracks_idle(trace, i, charged, err);
        }
        if (is_asked_once(i)) {
            tp_intervals_clear(&causes->sets[i]);
        }
        tp_intervals_clear(&own);
    }
    if (!status) {
        lengths[TP_IDLE_NONE] = tp_intervals_length(&rest);
        fill_row(causes, lengths, &trace->idle);
        status = tp_tracks_idle(trace, TP_IDLE_NONE, &rest, err);
    }
    if (!status && causes->frames && causes->busy == 0) {
        /* without a device operators are the work */
        status = tp_intervals_subtract(&rest, &nothing,
                                       &causes->charged[TP_FRAME_HOST], err);
    }
    tp_intervals_clear(&rest);
    return status;
}

enum tp_status tp_trace_idle(struct tp_trace *trace, struct tp_error *err)
{
    struct causes causes = {.window = tp_trace_window(trace),
                            .frames = tp_trace_has_frames(trace)};
    enum tp_status status = collect_causes(trace, &causes, false, err);
    if (!status) {
        status = collect_idle(trace, &causes, err);
    }
    if (!status) {
        status = tp_first_launches_find(trace, causes.window, &causes.first,
                                        err);
    }
    if (!status) {
        status = tp_trace_queued_find(trace, &causes.idle, &causes.queued, err);
    }
    if (!status) { /* the set changes its owner */
        causes.sets[TP_IDLE_QUEUED] = causes.queued.set;
        causes.queued.set = (struct tp_intervals){0};
        status = tp_tracks_first_launches(trace, &causes.idle,
                                          &causes.first.set, err);
    }
    if (!status) {
        causes.refill = refill_length(&causes);
        causes.first_launch = idle_within(&causes, &causes.first.set);
        status = split_idle(trace, &causes, err);
    }
    if (!status) {
        status = tp_trace_frames(trace, causes.charged, err);
    }
    clear(&causes);
    return status;
}
