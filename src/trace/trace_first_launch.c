/* SPDX-License-Identifier: MIT */
/*
 * Launches in which the driver loads code. They pass, so that launches of a
 * run that goes on cannot be judged by them, and a mean over calls cannot tell:
 * one of 14 may have 99 % of the time.
 *
 * Taken for one is the launch that a kernel's name begins with, if it takes
 * over a millisecond. Of 19 public traces two have such calls, 6 to 330 ms
 * long; a first launch without loading takes some 10 us, and one that waits for
 * room in a full queue does so with the device busy. One pass over the device
 * events.
 */
#include "trace/trace_first_launch.h"

#include <stdlib.h>

#include "trace/trace_sets.h"

static const int64_t loads_from = 1000 * 1000; /* ns */

/* The step that begins last before a moment; the count: none. */
static size_t step_at(const struct tp_trace_index *index, int64_t moment)
{
    size_t found = index->step_count;
    for (size_t i = 0; i < index->step_count; i++)
        if (index->steps[i].from <= moment && moment < index->steps[i].to)
            found = i;
    return found;
}

static enum tp_status look_at(const struct tp_trace *trace, uint32_t event,
                              struct tp_interval within,
                              struct tp_first_launches *first, size_t *step,
                              struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    const uint32_t call = trace->index.call[event];
    if (call == TP_NO_EVENT || events->duration[call] <= loads_from ||
        !(trace->index.kinds[events->name[call]] & TP_NAME_LAUNCH) ||
        events->start[call] >= within.to ||
        events->start[call] + events->duration[call] <= within.from)
        return TP_OK;
    first->calls++;
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
        if (new && events->category[event] == TP_EVENT_KERNEL)
            status = look_at(trace, event, within, first, &step, err);
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
