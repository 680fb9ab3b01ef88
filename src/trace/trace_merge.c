/* SPDX-License-Identifier: MIT */
/*
 * Sorting events by merging the stretches that are in order already. Profilers
 * write the events of a thread, or of a whole trace, mostly by time, so there
 * are few stretches; of k stretches every event is copied log2 k times, and of
 * none of them more than log2 n. Only numbers of events move: their times stay
 * in the columns. A radix sort takes 16 bytes an event, twice.
 * O(n log k) time, four bytes an event.
 */
#include "trace/trace_merge.h"

#include <stdlib.h>
#include <string.h>

static bool is_call(const struct tp_events *events, uint32_t event)
{
    return events->category[event] == TP_EVENT_RUNTIME ||
           events->category[event] == TP_EVENT_DRIVER;
}

bool tp_trace_before_start(const struct tp_events *events, uint32_t a,
                           uint32_t b)
{
    return events->start[a] < events->start[b];
}

bool tp_trace_before_nested(const struct tp_events *events, uint32_t a,
                            uint32_t b)
{
    if (events->lane[a] != events->lane[b])
        return events->lane[a] < events->lane[b];
    if (events->start[a] != events->start[b])
        return events->start[a] < events->start[b];
    if (events->duration[a] != events->duration[b])
        return events->duration[a] > events->duration[b];
    return is_call(events, a) < is_call(events, b);
}

bool tp_trace_before_correlation(const struct tp_events *events, uint32_t a,
                                 uint32_t b)
{
    return events->correlation[a] < events->correlation[b];
}

/* A list that is being sorted. */
struct sorting {
    const struct tp_events *events;
    tp_trace_before *before;
    size_t count;
};

/* The end of the stretch that is in order and begins at `first`. */
static size_t end_of_run(const struct sorting *s, const uint32_t *list,
                         size_t first)
{
    size_t end = first + 1;
    while (end < s->count && !s->before(s->events, list[end], list[end - 1]))
        end++;
    return end < s->count ? end : s->count;
}

/* Merges two neighbouring stretches; of equal events those of the first come
 * first. */
static void merge(const struct sorting *s, const uint32_t *first,
                  const uint32_t *middle, const uint32_t *end, uint32_t *to)
{
    const uint32_t *a = first, *b = middle;
    while (a < middle && b < end)
        *to++ = s->before(s->events, *b, *a) ? *b++ : *a++;
    memcpy(to, a, (size_t)(middle - a) * sizeof *to);
    to += middle - a;
    memcpy(to, b, (size_t)(end - b) * sizeof *to);
}

/* Merges every second stretch with the one behind it; whether there was only
 * one. Stretches are found anew each time: a list of their ends would take as
 * much as the events, at worst. */
static bool merge_pairs(const struct sorting *s, const uint32_t *from,
                        uint32_t *to)
{
    size_t first = 0;
    while (first < s->count) {
        const size_t middle = end_of_run(s, from, first);
        if (first == 0 && middle == s->count)
            return true;
        const size_t end =
            middle < s->count ? end_of_run(s, from, middle) : middle;
        merge(s, from + first, from + middle, from + end, to + first);
        first = end;
    }
    return false;
}

/* Sorts, with room for as many. */
static void sort(const struct sorting *s, uint32_t *list, uint32_t *scratch)
{
    uint32_t *from = list, *to = scratch;
    while (!merge_pairs(s, from, to)) {
        uint32_t *const swap = from;
        from = to;
        to = swap;
    }
    if (from != list)
        memcpy(list, from, s->count * sizeof *list);
}

/* Sorts by lane, and within each: lanes take turns in a file, which leaves
 * stretches of all of them short. `ends` are zeroes for every lane and one. */
static void sort_lanes(const struct sorting *s, uint32_t *list,
                       uint32_t *scratch, size_t *ends)
{
    const uint32_t *lane = s->events->lane;
    const size_t lanes = s->events->lane_count;
    for (size_t i = 0; i < s->count; i++)
        ends[lane[list[i]] + 1]++;
    for (size_t i = 0; i < lanes; i++)
        ends[i + 1] += ends[i];
    for (size_t i = 0; i < s->count; i++)
        scratch[ends[lane[list[i]]]++] = list[i];
    memcpy(list, scratch, s->count * sizeof *list);
    for (size_t i = 0, first = 0; i < lanes; first = ends[i++]) {
        const struct sorting one = {s->events, s->before, ends[i] - first};
        if (one.count > 1)
            sort(&one, list + first, scratch + first);
    }
}

enum tp_status tp_trace_merge_sort(const struct tp_events *events,
                                   uint32_t *list, size_t count,
                                   tp_trace_before *before,
                                   struct tp_error *err)
{
    const struct sorting s = {events, before, count};
    if (count < 2 || end_of_run(&s, list, 0) == count)
        return TP_OK;
    const bool lanes = before == tp_trace_before_nested;
    uint32_t *scratch = malloc(count * sizeof *scratch);
    size_t *ends = lanes ? calloc(events->lane_count + 2, sizeof *ends) : NULL;
    const bool made = scratch && (ends || !lanes);
    if (made && lanes)
        sort_lanes(&s, list, scratch, ends);
    else if (made)
        sort(&s, list, scratch);
    free(scratch);
    free(ends);
    return made ? TP_OK : tp_fail_memory(err);
}
