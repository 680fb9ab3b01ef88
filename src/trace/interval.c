/* SPDX-License-Identifier: MIT */
/*
 * Sets of moments as sorted, disjoint, half-open intervals: union, difference,
 * intersection, length.
 *
 * A set is collected in any order and then united: sorted by start and merged
 * in one walk; operations on two united sets walk both side by side. Events
 * come lane by lane, each in order, so that sorting is merging a few runs. A
 * bitmap over time would need a word for every 64 ns of traces that last
 * minutes, and an interval tree pays only for single updates, which nobody
 * makes. Uniting costs O(n log r) for r runs; every operation is O(n + m).
 */
#include "trace/interval.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"

enum { FIRST = 16 };

/* Not cleared: of room that nothing is in yet the system gives no pages. */
static enum tp_status resize(struct tp_intervals *list, size_t capacity,
                             struct tp_error *err)
{
    void *items = capacity > SIZE_MAX / sizeof *list->items
                      ? NULL
                      : realloc(list->items, capacity * sizeof *list->items);
    if (!items) {
        return tp_fail_memory(err);
    }
    list->items = items;
    list->capacity = capacity;
    return TP_OK;
}

enum tp_status tp_intervals_expect(struct tp_intervals *list, size_t most,
                                   struct tp_error *err)
{
    return list->capacity > 0 || most == 0 ? TP_OK : resize(list, most, err);
}

enum tp_status tp_intervals_add(struct tp_intervals *list, int64_t from,
                                int64_t to, struct tp_error *err)
{
    if (from >= to) {
        return TP_OK;
    }
    struct tp_interval *last =
        list->count > 0 ? &list->items[list->count - 1] : NULL;
    if (last && from >= last->from && from <= last->to) {
        last->to = to > last->to ? to : last->to;
        return TP_OK;
    }
    if (list->count == list->capacity &&
        resize(list, list->capacity ? 2 * list->capacity : FIRST, err)) {
        return TP_E_MEMORY;
    }
    list->items[list->count++] = (struct tp_interval){from, to};
    return TP_OK;
}

static int by_start(const void *a, const void *b)
{
    const struct tp_interval *x = a;
    const struct tp_interval *y = b;
    return tp_order_int64(x->from, y->from);
}

/* Where the run that begins at `at` ends: as long as starts do not fall. */
static size_t run_end(const struct tp_interval *items, size_t at, size_t count)
{
    if (at < count)
        at++;
    while (at < count && items[at].from >= items[at - 1].from)
        at++;
    return at;
}

/* Merges each run of `from` with the one behind it; returns the runs left. */
static size_t merge_pairs(const struct tp_interval *from, size_t count,
                          struct tp_interval *to)
{
    size_t runs = 0, out = 0;
    for (size_t at = 0; at < count; runs++) {
        const size_t middle = run_end(from, at, count);
        const size_t end = run_end(from, middle, count);
        size_t i = at, j = middle;
        while (i < middle || j < end) {
            const bool first =
                j == end || (i < middle && from[i].from <= from[j].from);
            to[out++] = first ? from[i++] : from[j++];
        }
        at = end;
    }
    return runs;
}

static void sort(struct tp_intervals *list)
{
    const size_t count = list->count, bytes = count * sizeof *list->items;
    if (run_end(list->items, 0, count) == count)
        return;
    struct tp_interval *other = malloc(bytes);
    if (!other) {
        qsort(list->items, count, sizeof *list->items, by_start);
        return;
    }
    size_t runs = count;
    struct tp_interval *from = list->items, *to = other;
    while (runs > 1) {
        runs = merge_pairs(from, count, to);
        struct tp_interval *const last = from;
        from = to;
        to = last;
    }
    if (from == other)
        memcpy(list->items, other, bytes);
    free(other);
}

/* Merges what overlaps or touches of what is sorted. */
static void merge_touching(struct tp_intervals *list)
{
    struct tp_interval *last = list->items;
    for (size_t i = 1; i < list->count; i++) {
        const struct tp_interval next = list->items[i];
        if (next.from > last->to) {
            *++last = next;
        } else if (next.to > last->to) {
            last->to = next.to;
        }
    }
    list->count = (size_t)(last - list->items) + 1;
}

void tp_intervals_unite(struct tp_intervals *list)
{
    if (list->count >= 2) {
        sort(list);
        merge_touching(list);
    }
    if (list->capacity > 2 * list->count + FIRST) {
        resize(list, list->count + FIRST, NULL); /* or stays as it is */
    }
}

/* From the back, where there is room that nothing is in yet. */
enum tp_status tp_intervals_join(struct tp_intervals *into,
                                 const struct tp_intervals *set,
                                 struct tp_error *err)
{
    const size_t count = into->count + set->count;
    size_t i = into->count, j = set->count;
    if (set->count == 0) {
        return TP_OK;
    }
    if (count > into->capacity && resize(into, count, err)) {
        return TP_E_MEMORY;
    }
    for (size_t at = count; j > 0; at--) {
        const bool own =
            i > 0 && into->items[i - 1].from > set->items[j - 1].from;
        into->items[at - 1] = own ? into->items[--i] : set->items[--j];
    }
    into->count = count;
    merge_touching(into);
    return TP_OK;
}

int64_t tp_intervals_length(const struct tp_intervals *set)
{
    int64_t length = 0;
    for (size_t i = 0; i < set->count; i++) {
        length += set->items[i].to - set->items[i].from;
    }
    return length;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

enum tp_status tp_intervals_subtract(const struct tp_intervals *a,
                                     const struct tp_intervals *b,
                                     struct tp_intervals *out,
                                     struct tp_error *err)
{
    size_t j = 0;
    out->count = 0;
    enum tp_status status =
        tp_intervals_expect(out, a->count + b->count, err);
    for (size_t i = 0; i < a->count && !status; i++) {
        int64_t from = a->items[i].from;
        const int64_t to = a->items[i].to;
        while (j < b->count && b->items[j].to <= from) {
            j++;
        }
        /* The last hole may reach into the next interval: j stays on it. */
        for (; j < b->count && b->items[j].from < to && !status; j++) {
            status = tp_intervals_add(out, from, b->items[j].from, err);
            from = b->items[j].to;
            if (from >= to) {
                break;
            }
        }
        if (!status) {
            status = tp_intervals_add(out, from, to, err);
        }
    }
    return status;
}

/* The first interval that ends after `moment`. */
static size_t first_after(const struct tp_intervals *set, int64_t moment)
{
    size_t first;
    TP_PARTITION_POINT(first, set->count, set->items[first].to <= moment);
    return first;
}

int64_t tp_intervals_within(const struct tp_intervals *set, int64_t from,
                            int64_t to)
{
    int64_t length = 0;
    for (size_t i = first_after(set, from);
         i < set->count && set->items[i].from < to; i++) {
        const int64_t cut =
            earlier(set->items[i].to, to) - later(set->items[i].from, from);
        length += cut > 0 ? cut : 0;
    }
    return length;
}

void tp_intervals_clear(struct tp_intervals *list)
{
    free(list->items);
    *list = (struct tp_intervals){0};
}
