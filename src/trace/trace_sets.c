/* SPDX-License-Identifier: MIT */
/*
 * When the device, or the host, does something: events of a query as a united
 * set of intervals.
 *
 * Device events are indexed by start, so a set is collected in order and needs
 * no sorting. Sets are made where they are needed instead of kept: each is one
 * walk over the device events, less than what its users then do with it. O(n).
 */
#include "trace/trace_sets.h"

#include <string.h>

struct tp_interval tp_trace_window(const struct tp_trace *trace)
{
    const struct tp_interval window = {trace->index.from, trace->index.to};
    return window.from < window.to ? window : (struct tp_interval){0, 0};
}

enum tp_status tp_trace_add_event(const struct tp_trace *trace, uint32_t event,
                                  struct tp_interval within,
                                  struct tp_intervals *list,
                                  struct tp_error *err)
{
    const int64_t from = trace->events.start[event];
    const int64_t to = from + trace->events.duration[event];
    return tp_intervals_add(list, from > within.from ? from : within.from,
                            to < within.to ? to : within.to, err);
}

enum tp_device_class tp_trace_device_class(const struct tp_trace *trace,
                                           uint32_t event)
{
    if (trace->events.category[event] == TP_EVENT_MEMCPY) {
        return TP_DEVICE_COPY;
    }
    const uint32_t name = trace->events.name[event];
    return trace->index.kinds[name] & TP_NAME_COMM ? TP_DEVICE_COMMUNICATION
                                                   : TP_DEVICE_COMPUTE;
}

/* Whether a device event is a copy within the memory of a device. */
static bool is_inside(const struct tp_trace *trace, uint32_t event)
{
    if (trace->events.category[event] != TP_EVENT_MEMCPY)
        return false;
    const char *name =
        tp_events_get(&trace->events, trace->events.name[event]);
    return strstr(name, "DtoD") || strstr(name, "DeviceToDevice");
}

bool tp_trace_device_is(const struct tp_trace *trace, uint32_t event,
                        const struct tp_device_query *query)
{
    if (query->linked && trace->index.call[event] == TP_NO_EVENT) {
        return false;
    }
    return (tp_trace_device_class(trace, event) & query->classes) &&
           !(query->crossing && is_inside(trace, event));
}

enum tp_status tp_trace_device_set(const struct tp_trace *trace,
                                   const struct tp_device_query *query,
                                   struct tp_intervals *out,
                                   struct tp_error *err)
{
    const struct tp_trace_index *index = &trace->index;
    out->count = 0;
    enum tp_status status = tp_intervals_expect(out, index->device_count, err);
    for (size_t i = 0; i < index->device_count && !status; i++) {
        const uint32_t event = index->device[i];
        if (tp_trace_device_is(trace, event, query)) {
            status = tp_trace_add_event(trace, event, query->within, out, err);
        }
    }
    tp_intervals_unite(out);
    return status;
}

/* "Memcpy DtoH (Device -> Pinned)", "CopyDeviceToHost", "Memcpy HtoD
 * (Pageable -> Device)": the call returns when the copy is done. */
static bool is_waited_for(const char *copy)
{
    return strstr(copy, "DtoH") || strstr(copy, "DeviceToHost") ||
           strstr(copy, "Pageable");
}

bool tp_trace_blocks(const struct tp_trace *trace, uint32_t event)
{
    const struct tp_events *events = &trace->events;
    const uint8_t category = events->category[event];
    if (category != TP_EVENT_RUNTIME && category != TP_EVENT_DRIVER) {
        return false;
    }
    const uint32_t kinds = trace->index.kinds[events->name[event]];
    if (kinds & TP_NAME_BLOCKING) {
        return true;
    }
    const uint32_t copy = trace->index.launched[event];
    return (kinds & TP_NAME_COPY_CALL) && copy != TP_NO_EVENT &&
           events->category[copy] == TP_EVENT_MEMCPY &&
           is_waited_for(tp_events_get(events, events->name[copy]));
}
