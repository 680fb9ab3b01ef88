/* SPDX-License-Identifier: MIT */
/*
 * Launches in which the driver loads code. They pass, so that launches of a
 * run that goes on cannot be judged by them, and a mean over calls cannot tell:
 * one of 14 may have 99 % of the time.
 *
 * Taken for one is the launch that a kernel's name begins with, if it takes
 * over a millisecond, and over four times the median of launches that load
 * nothing, those of kernels that ran before: where every launch takes 5 ms, the
 * first ones are as the others. Of 19 public traces two have such calls, 6 to
 * 330 ms long; a first launch without loading takes some 10 us, and one that
 * waits for room in a full queue does so with the device busy. One pass over
 * the device events, and one more with a sort where a launch is that long.
 */
#include "trace/trace_first_launch.h"

#include <stdlib.h>

#include "base/order.h"
#include "trace/trace_sets.h"

static const int64_t loads_from = 1000 * 1000; /* ns */
static const int64_t loads_times = 4; /* a choice: the two traces have 600 */

/* While launches are looked at. */
struct search {
    const struct tp_trace *trace;
    struct tp_interval within;
    struct tp_first_launches *first;
    int64_t least; /* that a launch takes that loads code; 0: not known yet */
};

/* The step that begins last before a moment; the count: none. */
static size_t step_at(const struct tp_trace_index *index, int64_t moment)
{
    size_t found = index->step_count;
    for (size_t i = 0; i < index->step_count; i++)
        if (index->steps[i].from <= moment && moment < index->steps[i].to)
            found = i;
    return found;
}

static bool is_launch(const struct tp_trace *trace, uint32_t event)
{
    const uint32_t call = trace->index.call[event];
    return trace->events.category[event] == TP_EVENT_KERNEL &&
           call != TP_NO_EVENT &&
           (trace->index.kinds[trace->events.name[call]] & TP_NAME_LAUNCH);
}

static int by_length(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return tp_order_int64(*a, *b);
}

/* The median of launches of kernels that ran before; 0: there are none. */
static enum tp_status find_typical(const struct tp_trace *trace,
                                   int64_t *typical, struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    const struct tp_trace_index *index = &trace->index;
    bool *seen = calloc(events->texts.count + 1, sizeof *seen);
    int64_t *lengths = calloc(index->device_count + 1, sizeof *lengths);
    size_t count = 0;
    *typical = 0;
    for (size_t i = 0; seen && lengths && i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        if (!is_launch(trace, event))
            continue;
        if (seen[events->name[event]])
            lengths[count++] = events->duration[index->call[event]];
        seen[events->name[event]] = true;
    }
    const bool made = seen && lengths;
    if (made && count) {
        qsort(lengths, count, sizeof *lengths, by_length);
        *typical = lengths[count / 2];
    }
    free(seen);
    free(lengths);
    return made ? TP_OK : tp_fail_memory(err);
}

static enum tp_status look_at(struct search *search, uint32_t event,
                              size_t *step, struct tp_error *err)
{
    const struct tp_trace *trace = search->trace;
    const struct tp_events *events = &trace->events;
    const struct tp_interval within = search->within;
    struct tp_first_launches *first = search->first;
    const uint32_t call = trace->index.call[event];
    if (!is_launch(trace, event) || events->duration[call] <= loads_from ||
        events->start[call] >= within.to ||
        events->start[call] + events->duration[call] <= within.from)
        return TP_OK;
    if (!search->least) {
        enum tp_status status = find_typical(trace, &search->least, err);
        if (status != TP_OK)
            return status;
        search->least = search->least * loads_times + 1;
    }
    if (events->duration[call] < search->least)
        return TP_OK;
    first->calls++;
    first->total += events->duration[call];
    *step = step_at(&trace->index, events->start[call]);
    if (events->duration[call] > first->longest) {
        first->longest = events->duration[call];
        first->kernel = tp_events_get(events, events->name[event]);
    }
    return tp_trace_add_event(trace, call, within, &first->set, err);
}

enum tp_status tp_first_launches_find(const struct tp_trace *trace,
                                      struct tp_interval within,
                                      struct tp_first_launches *first,
                                      struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    const struct tp_trace_index *index = &trace->index;
    const size_t names = events->texts.count;
    struct search search = {.trace = trace, .within = within, .first = first};
    /* of names, and of steps and what is in none */
    bool *seen = calloc(names + index->step_count + 1, sizeof *seen);
    enum tp_status status = TP_OK;
    first->kernel = "";
    if (!seen)
        return tp_fail_memory(err);
    for (size_t i = 0; i < index->device_count && status == TP_OK; i++) {
        const uint32_t event = index->device[i];
        const bool new = !seen[events->name[event]];
        seen[events->name[event]] = true;
        size_t step = index->step_count;
        if (new)
            status = look_at(&search, event, &step, err);
        first->steps += step < index->step_count && !seen[names + step];
        seen[names + step] = true;
    }
    tp_intervals_unite(&first->set);
    free(seen);
    return status;
}

void tp_first_launches_clear(struct tp_first_launches *first)
{
    tp_intervals_clear(&first->set);
    *first = (struct tp_first_launches){.kernel = ""};
}
