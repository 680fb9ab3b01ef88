/* SPDX-License-Identifier: MIT */
/*
 * Sorting events by 64-bit keys: a radix sort, least significant digit first,
 * eleven bits a pass, over the digits in which keys differ at all.
 *
 * It is stable, so sorting by several keys is sorting by each; qsort is
 * neither stable nor bounded by O(n log n) everywhere, and a merge sort
 * compares every pair it merges. One look finds what is in order already, and
 * few items are inserted one by one. O(n) a pass, at most six passes; the
 * counters are 16 KB on the stack.
 */
#include "trace/trace_order.h"

#include <stdbool.h>
#include <string.h>

/* Eleven bits a pass: the counters of a pass stay in the first level cache. */
enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 6 };

static bool is_sorted(const struct tp_ordered *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (items[i - 1].key > items[i].key) {
            return false;
        }
    }
    return true;
}

/* The bits in which keys differ; passes without any are not needed. */
static uint64_t varying(const struct tp_ordered *items, size_t count)
{
    uint64_t bits = 0;
    for (size_t i = 1; i < count; i++) {
        bits |= items[i].key ^ items[0].key;
    }
    return bits;
}

/* One pass of a radix sort, least significant digit first. */
static void scatter(const struct tp_ordered *from, struct tp_ordered *to,
                    size_t count, unsigned shift)
{
    size_t place[DIGITS] = {0};
    for (size_t i = 0; i < count; i++) {
        place[from[i].key >> shift & (DIGITS - 1)]++;
    }
    size_t next = 0;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        const size_t here = place[digit];
        place[digit] = next;
        next += here;
    }
    for (size_t i = 0; i < count; i++) {
        to[place[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
    }
}

/* Few items, where clearing the counters would cost more. */
static void insert(struct tp_ordered *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct tp_ordered item = items[i];
        size_t at = i;
        for (; at > 0 && items[at - 1].key > item.key; at--) {
            items[at] = items[at - 1];
        }
        items[at] = item;
    }
}

enum { FEW = 64 };

void tp_order_sort(struct tp_ordered *items, struct tp_ordered *scratch,
                   size_t count)
{
    if (is_sorted(items, count)) {
        return;
    }
    if (count <= FEW) {
        insert(items, count);
        return;
    }
    const uint64_t bits = varying(items, count);
    struct tp_ordered *from = items, *to = scratch;
    for (unsigned pass = 0; pass < PASSES; pass++) {
        const unsigned shift = pass * DIGIT_BITS;
        if (!(bits >> shift & (DIGITS - 1))) {
            continue;
        }
        scatter(from, to, count, shift);
        struct tp_ordered *const swap = from;
        from = to;
        to = swap;
    }
    if (from != items) {
        memcpy(items, from, count * sizeof *items);
    }
}
