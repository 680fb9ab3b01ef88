/* SPDX-License-Identifier: MIT */
/*
 * Collectives that the host calls and that start nothing in the trace: none of
 * the calls in their range has a device event. What such a collective does, and
 * what waits for it, is not recorded, so that idle time next to it has a cause
 * nobody can see.
 *
 * Names of kernels tell less: NCCL before 2.18 runs most collectives in a
 * kernel that is called SendRecv. Host events are in the order of their starts,
 * so that what lies in a range follows it: linear in the host events.
 */
#include "trace/trace_silent.h"

#include <stdlib.h>
#include <string.h>

/* Marks the texts that name such ranges; false: there are none. */
static bool find_names(const struct tp_events *events, int64_t *counts)
{
    static const char prefix[] = "nccl:";
    bool any = false;
    for (size_t i = 0; i < events->texts.count; i++) {
        counts[i] = strncmp(events->texts.texts[i], prefix, sizeof prefix - 1)
                        ? -1
                        : 0;
        any |= counts[i] == 0;
    }
    return any;
}

/* Whether a call in the range at `at` of the host events starts something;
 * *next is where what follows the range begins. */
static bool starts_work(const struct tp_trace *trace, size_t at, size_t *next)
{
    const struct tp_events *events = &trace->events;
    const struct tp_trace_index *index = &trace->index;
    const uint32_t range = index->host[at];
    const int64_t end = events->start[range] + events->duration[range];
    bool starts = false;
    size_t i = at + 1;
    for (; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        if (events->lane[event] != events->lane[range] ||
            events->start[event] >= end)
            break;
        starts |= index->launched[event] != TP_NO_EVENT;
    }
    *next = i;
    return starts;
}

enum tp_status tp_trace_silent_find(const struct tp_trace *trace,
                                    struct tp_trace_silent *silent,
                                    struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    const struct tp_trace_index *index = &trace->index;
    *silent = (struct tp_trace_silent){.name = ""};
    int64_t *counts = malloc((events->texts.count + 1) * sizeof *counts);
    if (!counts)
        return tp_fail_memory(err);
    const size_t host = find_names(events, counts) ? index->host_count : 0;
    for (size_t i = 0, next; i < host; i = next) {
        const uint32_t name = events->name[index->host[i]];
        next = i + 1;
        if (counts[name] < 0)
            continue;
        silent->collectives++;
        if (starts_work(trace, i, &next))
            continue;
        silent->silent++;
        if (++counts[name] > silent->named) {
            silent->named = counts[name];
            silent->name = tp_events_get(events, name);
        }
    }
    free(counts);
    return TP_OK;
}
