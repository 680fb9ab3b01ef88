/* SPDX-License-Identifier: MIT */
/*
 * Steps, their windows and what they cost.
 *
 * The window of a step is the one of PyTorch's tensorboard plugin: it ends
 * with the step on the host, or later, with the last device event launched by
 * a call that lies fully inside the step; it starts with the step, but not
 * before the window of the step before has ended. The first one does not start
 * before the last device event that no step launched and that ended before
 * the step's own began.
 *
 * Each moment of a window is charged once, to the first class in the order of
 * the columns. The plugin knows communication by the host's nccl: ranges only,
 * which say little since torch launches collectives asynchronously; here the
 * kernels of communication belong to it too, so that kernel_us is what
 * computes and communication_us what no computation or copy hides. Together,
 * kernels, copies, sets and communication are what they are there.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/search.h"
#include "trace/interval.h"
#include "trace/trace.h"
#include "trace/trace_order.h"
#include "trace/trace_rows.h"
#include "trace/trace_tracks.h"

enum cost {
    COST_KERNEL,
    COST_MEMCPY,
    COST_MEMSET,
    COST_COMMUNICATION,
    COST_RUNTIME,
    COST_DATALOADER,
    COST_CPU_EXEC,
    COSTS,
    COST_NONE = COSTS
};

/* One step while it is worked on. */
struct span {
    struct tp_step host;
    int64_t from, to;               /* the window                           */
    int64_t device_from, device_to; /* of the events it launched            */
    int64_t launched;
    int64_t charged[COSTS];         /* of the window, ns, to each class     */
    int64_t busy;                   /* of the host's step, ns, the device   */
};

struct steps_state {
    struct tp_trace *trace;
    struct span *spans;
    size_t count;
    struct tp_intervals costs[COSTS]; /* what is still to be charged        */
    struct tp_intervals taken;        /* what has been                      */
    struct tp_intervals waits;        /* DataLoader, main lane              */
};

static int64_t end_of(const struct tp_events *events, uint32_t event)
{
    return events->start[event] + events->duration[event];
}

static bool is_call(uint8_t category)
{
    return category == TP_EVENT_RUNTIME || category == TP_EVENT_DRIVER;
}

/* --- spans -------------------------------------------------------------- */

/* From the first to the last operator, or W where there is none; false in a
 * trace without events. */
static bool whole_trace(const struct tp_trace *trace, struct span *span)
{
    const struct tp_trace_index *index = &trace->index;
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        if (trace->events.category[event] == TP_EVENT_CPU_OP) {
            const int64_t start = trace->events.start[event];
            const int64_t end = end_of(&trace->events, event);
            from = start < from ? start : from;
            to = end > to ? end : to;
        }
    }
    const bool any = from < to;
    span->host = (struct tp_step){TP_NO_EVENT, -1, any ? from : index->from,
                                  any ? to : index->to};
    return span->host.from < span->host.to;
}

static enum tp_status make_spans(struct steps_state *state,
                                 struct tp_error *err)
{
    const struct tp_trace_index *index = &state->trace->index;
    state->spans = calloc(index->step_count + 1, sizeof *state->spans);
    if (!state->spans) {
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < index->step_count; i++) {
        state->spans[i].host = index->steps[i];
    }
    state->count = index->step_count;
    if (state->count == 0 && whole_trace(state->trace, &state->spans[0])) {
        state->count = 1;
    }
    for (size_t i = 0; i < state->count; i++) {
        state->spans[i].device_from = INT64_MAX;
        state->spans[i].device_to = INT64_MIN;
    }
    return TP_OK;
}

/* The step a call lies fully inside, or NULL. Steps are sorted by both ends,
 * as one inside another is none. */
static struct span *find_span(const struct steps_state *state, uint32_t call)
{
    const int64_t from = state->trace->events.start[call];
    size_t next;
    TP_PARTITION_POINT(next, state->count,
                       state->spans[next].host.from <= from);
    struct span *span = next > 0 ? &state->spans[next - 1] : NULL;
    return span && end_of(&state->trace->events, call) <= span->host.to ? span
                                                                        : NULL;
}

static struct span *launched_by(const struct steps_state *state, uint32_t event)
{
    const uint32_t call = state->trace->index.call[event];
    return call == TP_NO_EVENT ? NULL : find_span(state, call);
}

static void assign_device(struct steps_state *state)
{
    const struct tp_trace_index *index = &state->trace->index;
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        struct span *span = launched_by(state, event);
        if (span) {
            const int64_t from = state->trace->events.start[event];
            const int64_t to = end_of(&state->trace->events, event);
            span->device_from =
                from < span->device_from ? from : span->device_from;
            span->device_to = to > span->device_to ? to : span->device_to;
            span->launched++;
        }
    }
}

/* Before which the first window does not start. */
static int64_t earlier_work(const struct steps_state *state)
{
    const struct tp_trace_index *index = &state->trace->index;
    const struct span *first = &state->spans[0];
    int64_t end = first->host.from;
    for (size_t i = 0; first->launched && i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        const int64_t to = end_of(&state->trace->events, event);
        if (to < first->device_from && to > end && !launched_by(state, event)) {
            end = to;
        }
    }
    return end;
}

/*
 * Whether launches tell which step device work belongs to: not where most of
 * it has none in the file. Then the work of a step would pass for work from
 * before the first, and steps are what they are on the host.
 */
static bool launches_known(const struct steps_state *state)
{
    const struct tp_trace_index *index = &state->trace->index;
    size_t linked = 0;
    int64_t launched = 0;
    for (size_t i = 0; i < index->device_count; i++) {
        linked += index->call[index->device[i]] != TP_NO_EVENT;
    }
    for (size_t i = 0; i < state->count; i++) {
        launched += state->spans[i].launched;
    }
    return launched > 0 && 2 * linked >= index->device_count;
}

static void find_windows(struct steps_state *state)
{
    int64_t before = state->count ? earlier_work(state) : 0;
    const bool any = launches_known(state);
    for (size_t i = 0; i < state->count; i++) {
        struct span *span = &state->spans[i];
        span->from = span->host.from;
        span->to = span->host.to;
        if (any) {
            span->from = before > span->from ? before : span->from;
            span->to = span->device_to > span->to ? span->device_to : span->to;
            span->to = span->from > span->to ? span->from : span->to;
            before = span->to;
        }
    }
}

/* --- costs -------------------------------------------------------------- */

static enum cost device_cost(const struct tp_trace *trace, uint32_t event)
{
    const uint32_t kinds = trace->index.kinds[trace->events.name[event]];
    switch (trace->events.category[event]) {
    case TP_EVENT_MEMCPY:
        return COST_MEMCPY;
    case TP_EVENT_MEMSET:
        return COST_MEMSET;
    default:
        return kinds & TP_NAME_MOVES  ? COST_MEMCPY
               : kinds & TP_NAME_COMM ? COST_COMMUNICATION
                                      : COST_KERNEL;
    }
}

static enum cost host_cost(const struct tp_trace *trace, uint32_t event)
{
    const uint32_t kinds = trace->index.kinds[trace->events.name[event]];
    if (is_call(trace->events.category[event])) {
        return COST_RUNTIME;
    }
    if (kinds & TP_NAME_STEP) {
        return COST_NONE;
    }
    return kinds & TP_NAME_DATALOADER   ? COST_DATALOADER
           : kinds & TP_NAME_COLLECTIVE ? COST_COMMUNICATION
                                        : COST_CPU_EXEC;
}

/* Adds the events of one list to the classes that they cost, of those before
 * `end` and from `first` on. */
static enum tp_status add_events(struct steps_state *state, bool device,
                                 enum cost first, enum cost end,
                                 struct tp_error *err)
{
    const struct tp_trace *trace = state->trace;
    const struct tp_trace_index *index = &trace->index;
    const size_t count = device ? index->device_count : index->host_count;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && !status; i++) {
        const uint32_t event = device ? index->device[i] : index->host[i];
        const enum cost cost =
            device ? device_cost(trace, event) : host_cost(trace, event);
        const int64_t from = trace->events.start[event];
        const int64_t to = end_of(&trace->events, event);
        if (cost >= first && cost < end) {
            status = tp_intervals_expect(&state->costs[cost], count - i, err);
        }
        if (cost >= first && cost < end && !status) {
            status = tp_intervals_add(&state->costs[cost], from, to, err);
        }
        if (cost == COST_DATALOADER && cost >= first && cost < end && !status &&
            trace->events.lane[event] == index->main_lane) {
            status = tp_intervals_add(&state->waits, from, to, err);
        }
    }
    return status;
}

/* Takes what was collected of a class. */
static enum tp_status take(struct steps_state *state, enum cost cost,
                           struct tp_error *err)
{
    struct tp_intervals *set = &state->costs[cost];
    tp_intervals_unite(set);
    const enum tp_status status = tp_intervals_join(&state->taken, set, err);
    tp_intervals_clear(set);
    return status;
}

/* Charges every window what a class has beyond those before it: what is taken
 * with it less what was charged already. */
static enum tp_status charge_class(struct steps_state *state, enum cost cost,
                                   struct tp_error *err)
{
    const enum tp_status status = take(state, cost, err);
    for (size_t i = 0; i < state->count && !status; i++) {
        struct span *span = &state->spans[i];
        int64_t rest =
            tp_intervals_within(&state->taken, span->from, span->to);
        for (enum cost before = 0; before < cost; before++) {
            rest -= span->charged[before];
        }
        span->charged[cost] = rest;
    }
    return status;
}

/* Charges the classes in their order: those of the device, then of the host
 * what is collected in two walks, so that not all of them are held at once. */
static enum tp_status charge(struct steps_state *state, struct tp_error *err)
{
    enum tp_status status = add_events(state, true, 0, COSTS, err);
    for (enum cost cost = 0; cost < COST_COMMUNICATION && !status; cost++) {
        status = charge_class(state, cost, err);
    }
    if (!status) {
        status = take(state, COST_COMMUNICATION, err);
    }
    for (size_t i = 0; i < state->count && !status; i++) {
        struct span *span = &state->spans[i];
        span->busy = tp_intervals_within(&state->taken, span->host.from,
                                         span->host.to);
    }
    if (!status) {
        status = add_events(state, false, 0, COST_CPU_EXEC, err);
    }
    tp_intervals_unite(&state->waits);
    for (enum cost cost = COST_COMMUNICATION; cost < COST_CPU_EXEC && !status;
         cost++) {
        status = charge_class(state, cost, err);
    }
    if (!status) {
        status = add_events(state, false, COST_CPU_EXEC, COSTS, err);
    }
    return status ? status : charge_class(state, COST_CPU_EXEC, err);
}

/* --- rows --------------------------------------------------------------- */

/* The start of the first event of host or device. */
static int64_t first_start(const struct tp_trace *trace)
{
    const struct tp_trace_index *index = &trace->index;
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < index->host_count; i++) {
        const int64_t start = trace->events.start[index->host[i]];
        first = start < first ? start : first;
    }
    if (index->device_count > 0 &&
        trace->events.start[index->device[0]] < first) {
        first = trace->events.start[index->device[0]];
    }
    return first;
}

static double within_us(const struct tp_intervals *set, int64_t from,
                        int64_t to)
{
    return (double)tp_intervals_within(set, from, to) / 1e3;
}

static struct tp_step_row make_row(const struct steps_state *state,
                                   const struct span *span, int64_t first)
{
    const struct tp_step *host = &span->host;
    double us[COSTS], charged = 0;
    for (int cost = 0; cost < COSTS; cost++) {
        us[cost] = (double)span->charged[cost] / 1e3;
        charged += us[cost];
    }
    const double host_us = (double)(host->to - host->from) / 1e3;
    const double window_us = (double)(span->to - span->from) / 1e3;
    return (struct tp_step_row){
        .step = host->number,
        .start_us = (double)(host->from - first) / 1e3,
        .host_us = host_us,
        .window_us = window_us,
        .data_wait_us = within_us(&state->waits, host->from, host->to),
        .compute_us =
            window_us - within_us(&state->waits, span->from, host->to),
        .kernel_us = us[COST_KERNEL],
        .memcpy_us = us[COST_MEMCPY],
        .memset_us = us[COST_MEMSET],
        .communication_us = us[COST_COMMUNICATION],
        .runtime_us = us[COST_RUNTIME],
        .dataloader_us = us[COST_DATALOADER],
        .cpu_exec_us = us[COST_CPU_EXEC],
        .other_us = window_us > charged ? window_us - charged : 0,
        .device_events = span->launched,
        .busy = host_us > 0 ? (double)span->busy / 1e3 / host_us : 0,
        .steady = 1,
    };
}

static enum tp_status make_rows(struct steps_state *state, struct tp_error *err)
{
    struct tp_trace *trace = state->trace;
    const int64_t first = first_start(trace);
    const enum tp_status status =
        tp_grow(&trace->steps.rows, &trace->steps.capacity, state->count,
                sizeof *trace->steps.rows, err);
    for (size_t i = 0; i < state->count && !status; i++) {
        trace->steps.rows[trace->steps.count++] =
            make_row(state, &state->spans[i], first);
    }
    return status;
}

static double host_of(const struct tp_step_row *row)
{
    return row->host_us;
}

static double compute_of(const struct tp_step_row *row)
{
    return row->compute_us;
}

/* The median of a time over the steady steps, or over all; *count of them. */
static enum tp_status find_median(const struct tp_trace *trace, bool steady,
                                  double (*value)(const struct tp_step_row *),
                                  size_t *count, double *median,
                                  struct tp_error *err)
{
    const size_t all = trace->steps.count;
    struct tp_ordered *items = malloc((all + 1) * 2 * sizeof *items);
    if (!items) {
        return tp_fail_memory(err);
    }
    size_t n = 0;
    for (size_t i = 0; i < all; i++) {
        const struct tp_step_row *row = &trace->steps.rows[i];
        if (row->steady || !steady) { /* whole ns, so that keys sort */
            items[n++] = (struct tp_ordered){
                .key = value(row) > 0 ? (uint64_t)(1e3 * value(row) + 0.5) : 0};
        }
    }
    tp_order_sort(items, items + all + 1, n);
    *count = n;
    *median =
        n ? ((double)items[(n - 1) / 2].key + (double)items[n / 2].key) / 2e3
          : 0;
    free(items);
    return TP_OK;
}

/*
 * Steady steps that say how long a step takes: not those whose time is off
 * the median by more than half of it, as that of a first step is in which the
 * device falls behind the host, and that of one with a checkpoint. Odd ones
 * are a minority: where half of the steps would be, all count.
 */
static enum tp_status mark_typical(struct tp_trace *trace,
                                   struct tp_error *err)
{
    double median = 0;
    size_t count = 0;
    const enum tp_status status =
        find_median(trace, true, compute_of, &count, &median, err);
    size_t left = 0;
    for (size_t i = 0; i < trace->steps.count && !status; i++) {
        struct tp_step_row *row = &trace->steps.rows[i];
        row->typical = row->steady && row->compute_us <= 1.5 * median &&
                       row->compute_us >= 0.5 * median;
        left += row->typical != 0;
    }
    for (size_t i = 0; i < trace->steps.count && 2 * left <= count; i++) {
        trace->steps.rows[i].typical = trace->steps.rows[i].steady;
    }
    return status;
}

/*
 * Steps that do not count: a first one that takes more than twice the median
 * (workers start, memory is taken), and at the end those without device work
 * and then one with less than 0.8 of its predecessor's, which the end of the
 * recording cut (both rules are the plugin's). One always counts.
 */
static enum tp_status mark_steady(struct steps_state *state,
                                  struct tp_error *err)
{
    struct tp_step_row *rows = state->trace->steps.rows;
    double median = 0;
    size_t last = state->count;
    while (last > 0 && rows[last - 1].device_events == 0) {
        rows[--last].steady = 0;
    }
    if (last == 0) { /* the host only: nothing was cut */
        for (size_t i = 0; i < state->count; i++) {
            rows[i].steady = 1;
        }
        last = state->count;
    } else if (last > 1 && (double)rows[last - 1].device_events <
                               0.8 * (double)rows[last - 2].device_events) {
        rows[--last].steady = 0;
    }
    size_t count;
    const enum tp_status status =
        find_median(state->trace, false, host_of, &count, &median, err);
    if (!status && last > 1 && rows[0].host_us > 2 * median) {
        rows[0].steady = 0;
    }
    return status;
}

static enum tp_status make_steps(struct steps_state *state,
                                 struct tp_error *err)
{
    enum tp_status status = make_spans(state, err);
    if (!status) {
        assign_device(state);
        find_windows(state);
        status = charge(state, err);
    }
    if (!status) {
        status = make_rows(state, err);
    }
    if (!status) {
        status = mark_steady(state, err);
    }
    return status ? status : mark_typical(state->trace, err);
}

enum tp_status tp_trace_steps(struct tp_trace *trace, struct tp_error *err)
{
    struct steps_state state = {.trace = trace};
    enum tp_status status = make_steps(&state, err);
    if (!status) {
        status = tp_tracks_steps(trace, err);
    }
    for (int cost = 0; cost < COSTS; cost++) {
        tp_intervals_clear(&state.costs[cost]);
    }
    tp_intervals_clear(&state.taken);
    tp_intervals_clear(&state.waits);
    free(state.spans);
    return status;
}
