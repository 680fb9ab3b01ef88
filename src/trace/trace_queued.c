/* SPDX-License-Identifier: MIT */
/*
 * Idle time that is no doing of the host: work that it launched long before
 * does not begin, as it waits for another stream, for other ranks or for work
 * that was not recorded. In a stretch of such time nothing begins, so pending
 * work only grows, and what begins at its end is what all waited for.
 *
 * The length of the queue alone (HTA's queue length) does not tell that: it is
 * as long where the device is busy with other work. O(n log n) in the device
 * events.
 */
#include "trace/trace_queued.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"

/* Launched work is pending when it could have begun this long before, ns: above
 * what launches take by far, so that clocks of host and device that disagree by
 * some microseconds make no difference. */
static const int64_t pending_after = 100 * 1000;

/* From one kernel to the next a device with a full queue takes 1 to 5 us, ns;
 * of 8 500 such gaps of public traces one in 200 takes longer than this. */
static const int64_t turnover = 10 * 1000;

/* When pending work has become that, and when it begins; each sorted. */
struct pending {
    int64_t *from, *to;
    size_t count;
};

static void clear(struct pending *pending)
{
    free(pending->from);
    free(pending->to);
}

static enum tp_status collect(const struct tp_trace *trace,
                              struct pending *pending, struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    const struct tp_trace_index *index = &trace->index;
    pending->from = calloc(index->device_count + 1, sizeof *pending->from);
    pending->to = calloc(index->device_count + 1, sizeof *pending->to);
    if (!pending->from || !pending->to)
        return tp_fail_memory(err);
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        const uint32_t call = index->call[event];
        if (!tp_trace_is_launched(index, event))
            continue;
        const int64_t from =
            events->start[call] + events->duration[call] + pending_after;
        if (from >= events->start[event])
            continue;
        pending->from[pending->count] = from;
        pending->to[pending->count++] = events->start[event];
    }
    return TP_OK;
}

/* The moments of `idle` at which something is pending. */
static enum tp_status intersect(const struct tp_intervals *idle,
                                const struct pending *pending,
                                struct tp_intervals *set, struct tp_error *err)
{
    struct tp_intervals work = {0}, long_gaps = {0}, others = {0};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < pending->count && status == TP_OK; i++)
        status = tp_intervals_add(&work, pending->from[i], pending->to[i], err);
    tp_intervals_unite(&work);
    for (size_t i = 0; i < idle->count && status == TP_OK; i++) {
        const struct tp_interval gap = idle->items[i];
        if (gap.to - gap.from >= turnover)
            status = tp_intervals_add(&long_gaps, gap.from, gap.to, err);
    }
    if (status == TP_OK)
        status = tp_intervals_subtract(&long_gaps, &work, &others, err);
    if (status == TP_OK)
        status = tp_intervals_subtract(&long_gaps, &others, set, err);
    tp_intervals_clear(&work);
    tp_intervals_clear(&long_gaps);
    tp_intervals_clear(&others);
    return status;
}

/* How many of sorted numbers are below `limit`. */
static size_t below(const int64_t *sorted, size_t count, int64_t limit)
{
    size_t low = 0;
    while (count > 0) {
        const size_t half = count / 2;
        if (sorted[low + half] < limit) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

/* What begins at the end of stretches, by name. */
struct ender {
    int64_t count, length;
};

static void name_most(const struct tp_trace *trace, struct ender *enders,
                      struct tp_trace_queued *queued)
{
    const struct tp_events *events = &trace->events;
    const struct tp_trace_index *index = &trace->index;
    size_t next = 0;
    for (size_t i = 0; i < queued->set.count; i++) {
        const struct tp_interval stretch = queued->set.items[i];
        while (next < index->device_count &&
               events->start[index->device[next]] < stretch.to)
            next++;
        if (next == index->device_count) /* W ends before */
            break;
        const uint32_t name = events->name[index->device[next]];
        enders[name].count++;
        enders[name].length += stretch.to - stretch.from;
        if (enders[name].length <= queued->length)
            continue;
        queued->name = tp_events_get(events, name);
        queued->count = enders[name].count;
        queued->length = enders[name].length;
    }
}

static enum tp_status describe(const struct tp_trace *trace,
                               struct pending *pending,
                               struct tp_trace_queued *queued,
                               struct tp_error *err)
{
    struct ender *enders =
        calloc(trace->events.texts.count + 1, sizeof *enders);
    if (!enders)
        return tp_fail_memory(err);
    name_most(trace, enders, queued);
    free(enders);
    if (pending->count) {
        tp_sort_int64(pending->from, pending->count);
        tp_sort_int64(pending->to, pending->count);
    }
    for (size_t i = 0; i < queued->set.count; i++) {
        const int64_t end = queued->set.items[i].to;
        const size_t now = below(pending->from, pending->count, end) -
                           below(pending->to, pending->count, end);
        if ((int64_t)now > queued->most)
            queued->most = (int64_t)now;
    }
    return TP_OK;
}

enum tp_status tp_trace_queued_find(const struct tp_trace *trace,
                                    const struct tp_intervals *idle,
                                    struct tp_trace_queued *queued,
                                    struct tp_error *err)
{
    struct pending pending = {.count = 0};
    queued->name = "";
    enum tp_status status = collect(trace, &pending, err);
    if (status == TP_OK)
        status = intersect(idle, &pending, &queued->set, err);
    if (status == TP_OK)
        status = describe(trace, &pending, queued, err);
    clear(&pending);
    return status;
}

void tp_trace_queued_clear(struct tp_trace_queued *queued)
{
    tp_intervals_clear(&queued->set);
    *queued = (struct tp_trace_queued){.name = ""};
}
