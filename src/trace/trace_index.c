/* SPDX-License-Identifier: MIT */
/*
 * What belongs to what: host events in each other, device events to the call
 * that started them and the operator around it, steps and the window.
 *
 * Nesting follows torch/autograd/profiler_util.py. On one lane events are
 * taken by start, longest first, calls after operators of the same extent; an
 * event ends those on the stack that end before it starts *or before it ends*.
 * So slices that overlap without nesting (clock jumps, negative durations set
 * to 0) become neighbours, and an event of length 0 contains nothing.
 *
 * Launches are linked by correlation only. `External id` is absent or wrong in
 * many traces: kernels and operators of torch 1.13 to 2.0 count differently.
 *
 * Traces of torch up to 1.11 know one category, Operator, for operators and
 * annotations. ProfilerStep, DataLoader and optimizer ranges are told by name
 * and are annotations here as well, so that kernels they start directly belong
 * to no operator in old traces just as in new ones.
 */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "trace/trace_index.h"
#include "trace/trace_merge.h"

/* What is being made. */
struct making {
    const struct tp_events *events;
    struct tp_trace_index *index;
    bool apart; /* events at time 0 are far from all others */
};

static bool is_call(uint8_t category)
{
    return category == TP_EVENT_RUNTIME || category == TP_EVENT_DRIVER;
}

static bool is_host(uint8_t category)
{
    return category == TP_EVENT_CPU_OP || category == TP_EVENT_ANNOTATION ||
           is_call(category);
}

/* Work of a device: it runs on a stream. */
static bool is_device(const struct tp_events *events, uint32_t event)
{
    const uint8_t category = events->category[event];
    const uint32_t detail = events->detail[event];
    return (category == TP_EVENT_KERNEL || category == TP_EVENT_MEMCPY ||
            category == TP_EVENT_MEMSET) &&
           detail != TP_NO_DETAIL && events->gpu[detail].stream >= 0;
}

static bool is_operator(const struct making *making, uint32_t event)
{
    const uint32_t name = making->events->name[event];
    return making->events->category[event] == TP_EVENT_CPU_OP &&
           !(making->index->kinds[name] & TP_NAME_ANNOTATIONS);
}

static int64_t end_of(const struct tp_events *events, uint32_t event)
{
    return events->start[event] + events->duration[event];
}

/* --- time 0 ------------------------------------------------------------- */

/* Clocks of profilers do not begin at 0: what has no time is written with it.
 * Where all else is over an hour later, events at 0 are none. */
static const int64_t far_ns = INT64_C(3600) * 1000000000;

static void find_apart(struct making *making)
{
    const struct tp_events *events = making->events;
    int64_t first = INT64_MAX;
    size_t zeros = 0;
    for (size_t i = 0; i < events->count; i++) {
        if (events->start[i] == 0) {
            zeros++;
        } else if (events->start[i] < first) {
            first = events->start[i];
        }
    }
    making->apart = zeros > 0 && zeros < events->count && first > far_ns;
    making->index->zero_events = making->apart ? (int64_t)zeros : 0;
}

static bool is_apart(const struct making *making, uint32_t event)
{
    return making->apart && making->events->start[event] == 0;
}

/* --- memory ------------------------------------------------------------- */

static void count_kinds(struct making *making)
{
    for (uint32_t i = 0; i < making->events->count; i++) {
        if (!is_apart(making, i)) {
            making->index->host_count += is_host(making->events->category[i]);
            making->index->device_count += is_device(making->events, i);
        }
    }
}

/* `count` links to nothing; NULL when memory ran out. */
static uint32_t *new_links(size_t count)
{
    uint32_t *links = malloc((count + 1) * sizeof *links);
    if (links) {
        memset(links, 0xff, (count + 1) * sizeof *links); /* TP_NO_EVENT */
    }
    return links;
}

static enum tp_status allocate(struct making *making, struct tp_error *err)
{
    struct tp_trace_index *index = making->index;
    const size_t count = making->events->count;
    index->kinds = calloc(making->events->texts.count + 1, sizeof(uint32_t));
    index->host = new_links(index->host_count);
    index->device = new_links(index->device_count);
    index->parent = new_links(count);
    index->op = new_links(count);
    index->call = index->parent;
    index->launched = new_links(count);
    return index->kinds && index->host && index->device && index->parent &&
                   index->op && index->launched
               ? TP_OK
               : tp_fail_memory(err);
}

/* --- orders ------------------------------------------------------------- */

static enum tp_status order_host(struct making *making, struct tp_error *err)
{
    struct tp_trace_index *index = making->index;
    size_t count = 0;
    for (uint32_t i = 0; i < making->events->count; i++) {
        if (is_host(making->events->category[i]) && !is_apart(making, i)) {
            index->host[count++] = i;
        }
    }
    return tp_trace_merge_sort(making->events, index->host, count,
                               tp_trace_before_nested, err);
}

/* Device events by start, place in file. */
static enum tp_status order_device(struct making *making, struct tp_error *err)
{
    const struct tp_events *events = making->events;
    struct tp_trace_index *index = making->index;
    size_t count = 0;
    for (uint32_t i = 0; i < events->count; i++) {
        if (is_device(events, i) && !is_apart(making, i)) {
            index->device[count++] = i;
        }
    }
    return tp_trace_merge_sort(events, index->device, count,
                               tp_trace_before_start, err);
}

/* --- links -------------------------------------------------------------- */

void tp_trace_nest(const struct tp_events *events, const uint32_t *list,
                   size_t count, uint32_t *parent)
{
    /* The links upwards are the stack: an event that ended is left by going
     * to its parent. */
    uint32_t top = TP_NO_EVENT, lane = TP_NO_EVENT;
    for (size_t i = 0; i < count; i++) {
        const uint32_t event = list[i];
        if (events->lane[event] != lane) {
            lane = events->lane[event];
            top = TP_NO_EVENT;
        }
        const int64_t start = events->start[event];
        const int64_t end = end_of(events, event);
        while (top != TP_NO_EVENT &&
               (start >= end_of(events, top) || end > end_of(events, top))) {
            top = parent[top];
        }
        parent[event] = top;
        top = event;
    }
}

/* The operator around each host event; parents come first. */
static void find_operators(struct making *making)
{
    struct tp_trace_index *index = making->index;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t parent = index->parent[index->host[i]];
        if (parent != TP_NO_EVENT) {
            index->op[index->host[i]] =
                is_operator(making, parent) ? parent : index->op[parent];
        }
    }
}

/* Calls that have a correlation, sorted by it; those with the same stay in the
 * order of lanes and time. */
struct calls {
    uint32_t *list;
    size_t count;
    size_t next; /* behind the one that was found last */
};

static enum tp_status order_calls(struct making *making, struct calls *calls,
                                  struct tp_error *err)
{
    const struct tp_events *events = making->events;
    const struct tp_trace_index *index = making->index;
    size_t count = 0;
    for (size_t i = 0; i < index->host_count; i++) {
        count += is_call(events->category[index->host[i]]);
    }
    calls->list = malloc((count + 1) * sizeof *calls->list);
    if (!calls->list) {
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        if (is_call(events->category[event]) &&
            events->correlation[event] >= 0) {
            calls->list[calls->count++] = event;
        }
    }
    return tp_trace_merge_sort(events, calls->list, calls->count,
                               tp_trace_before_correlation, err);
}

/* Whether a call is the first one with a correlation. */
static bool is_first(const struct making *making, const struct calls *calls,
                     size_t call, int64_t correlation)
{
    const int64_t *of = making->events->correlation;
    return call < calls->count && of[calls->list[call]] == correlation &&
           (call == 0 || of[calls->list[call - 1]] < correlation);
}

/* The first call with the correlation of an event; TP_NO_EVENT. Devices do
 * their work mostly in the order of the calls. */
static uint32_t find_call(const struct making *making, struct calls *calls,
                          uint32_t event)
{
    const int64_t *of = making->events->correlation;
    const int64_t correlation = of[event];
    size_t i = calls->next;
    if (correlation < 0) {
        return TP_NO_EVENT;
    }
    if (!is_first(making, calls, i, correlation)) {
        TP_PARTITION_POINT(i, calls->count, of[calls->list[i]] < correlation);
    }
    if (!is_first(making, calls, i, correlation)) {
        return TP_NO_EVENT;
    }
    calls->next = i + 1;
    return calls->list[i];
}

/* Each device event, and each that says what was waited for, to the call with
 * its correlation. Graphs start many with
 * one call; a call met twice (a driver call that the runtime call made has a
 * number of its own) counts once, by the earlier. */
static enum tp_status link_device(struct making *making, struct tp_error *err)
{
    const struct tp_events *events = making->events;
    struct tp_trace_index *index = making->index;
    struct calls calls = {.list = NULL};
    const enum tp_status status = order_calls(making, &calls, err);
    for (size_t i = 0; i < index->device_count && !status; i++) {
        const uint32_t event = index->device[i];
        const uint32_t call = find_call(making, &calls, event);
        index->uncorrelated += events->correlation[event] < 0;
        if (call == TP_NO_EVENT) {
            continue;
        }
        index->call[event] = call;
        index->op[event] = index->op[call];
        if (index->launched[call] == TP_NO_EVENT) {
            index->launched[call] = event;
        }
    }
    for (uint32_t i = 0; i < events->count && events->sync_count && !status;
         i++) {
        if (events->category[i] == TP_EVENT_SYNC) {
            index->call[i] = find_call(making, &calls, i);
        }
    }
    free(calls.list);
    return status;
}

/* --- steps -------------------------------------------------------------- */

/* What speaks for a lane as the one that trains, most decisive first: backward
 * runs on a lane of its own, which may have more operators. */
enum { LANE_STEPS, LANE_MARKS, LANE_EVENTS, LANE_SIGNS };

struct lane {
    size_t signs[LANE_SIGNS]; /* steps; ranges of the DataLoader and the
                                 optimizer; host events                    */
};

static bool is_better(const struct lane *a, const struct lane *b)
{
    int i = 0;
    while (i < LANE_SIGNS - 1 && a->signs[i] == b->signs[i]) {
        i++;
    }
    return a->signs[i] > b->signs[i];
}

/* The lane that trains; the first of equals. */
static enum tp_status find_main_lane(struct making *making,
                                     struct tp_error *err)
{
    const struct tp_events *events = making->events;
    struct tp_trace_index *index = making->index;
    struct lane *lanes = calloc(events->lane_count + 1, sizeof *lanes);
    if (!lanes) {
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        const bool call = is_call(events->category[event]);
        const uint32_t kinds = call ? 0 : index->kinds[events->name[event]];
        size_t *signs = lanes[events->lane[event]].signs;
        signs[LANE_STEPS] += (kinds & TP_NAME_STEP) != 0;
        signs[LANE_MARKS] +=
            (kinds & (TP_NAME_DATALOADER | TP_NAME_OPTIMIZER)) != 0;
        signs[LANE_EVENTS]++;
    }
    index->main_lane = TP_NO_EVENT;
    for (uint32_t i = 0; i < events->lane_count; i++) {
        const uint32_t best = index->main_lane;
        if (lanes[i].signs[LANE_EVENTS] > 0 &&
            (best == TP_NO_EVENT || is_better(&lanes[i], &lanes[best]))) {
            index->main_lane = i;
        }
    }
    free(lanes);
    return TP_OK;
}

/* The steps of the main lane; one inside another (two profilers at once) is
 * none, nor is one that lasts no time, of which no share can be told. The
 * device's projection of the same annotation is no host event. */
static enum tp_status find_steps(struct making *making, struct tp_error *err)
{
    const struct tp_events *events = making->events;
    struct tp_trace_index *index = making->index;
    size_t capacity = 0;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        struct tp_step step = {event, 0, events->start[event],
                               end_of(events, event)};
        if (events->lane[event] != index->main_lane ||
            is_call(events->category[event]) ||
            !(index->kinds[events->name[event]] & TP_NAME_STEP) ||
            (index->step_count &&
             step.to <= index->steps[index->step_count - 1].to)) {
            continue;
        }
        if (step.to <= step.from) {
            index->empty_steps++;
            continue;
        }
        tp_name_step(tp_events_get(events, events->name[event]), &step.number);
        const enum tp_status status = tp_grow(
            &index->steps, &capacity, index->step_count + 1, sizeof step, err);
        if (status) {
            return status;
        }
        index->steps[index->step_count++] = step;
    }
    return TP_OK;
}

/* Lengthens W by events. */
static void cover(struct making *making, const uint32_t *list, size_t count)
{
    struct tp_trace_index *index = making->index;
    for (size_t i = 0; i < count; i++) {
        const int64_t from = making->events->start[list[i]];
        const int64_t to = end_of(making->events, list[i]);
        index->from = i == 0 || from < index->from ? from : index->from;
        index->to = i == 0 || to > index->to ? to : index->to;
    }
}

static void find_window(struct making *making)
{
    struct tp_trace_index *index = making->index;
    if (index->step_count) {
        index->from = index->steps[0].from;
        index->to = index->steps[index->step_count - 1].to;
        index->window = "first to last ProfilerStep";
    } else if (index->device_count) {
        cover(making, index->device, index->device_count);
        index->window = "first to last device event";
    } else {
        cover(making, index->host, index->host_count);
        index->window = "first to last host event";
    }
}

enum tp_status tp_trace_index_make(const struct tp_events *events,
                                   struct tp_trace_index *index,
                                   struct tp_error *err)
{
    struct making making = {.events = events, .index = index};
    *index = (struct tp_trace_index){0};
    find_apart(&making);
    count_kinds(&making);
    enum tp_status status = allocate(&making, err);
    if (!status) {
        for (size_t i = 0; i < events->texts.count; i++) {
            index->kinds[i] = tp_name_kinds(events->texts.texts[i]);
        }
        status = order_host(&making, err);
    }
    if (!status) {
        status = order_device(&making, err);
    }
    if (!status) {
        tp_trace_nest(events, index->host, index->host_count, index->parent);
        find_operators(&making);
        status = link_device(&making, err);
    }
    if (!status) {
        status = find_main_lane(&making, err);
    }
    if (!status) {
        status = find_steps(&making, err);
    }
    if (!status) {
        find_window(&making);
    }
    return status;
}

void tp_trace_index_clear(struct tp_trace_index *index)
{
    free(index->kinds);
    free(index->host);
    free(index->parent);
    free(index->op);
    free(index->launched);
    free(index->device);
    free(index->steps);
    *index = (struct tp_trace_index){0};
}
