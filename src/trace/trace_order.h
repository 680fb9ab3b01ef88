/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_ORDER_H
#define TP_TRACE_TRACE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sorting many events by integer keys: stable, in time that no choice of keys
 * can make worse than six passes, and one pass where they are in order already,
 * as profilers mostly write them. Sorting by several keys is sorting by each,
 * the least important first.
 */
struct tp_ordered {
    uint64_t key;
    uint32_t event;
};

/* Sorts by key; equal keys keep their order. `scratch` has room for `count`
 * too. The sorted items are in `items`. */
void tp_order_sort(struct tp_ordered *items, struct tp_ordered *scratch,
                   size_t count);

/* A key that orders signed numbers. */
static inline uint64_t tp_time_key(int64_t value)
{
    return (uint64_t)value ^ (uint64_t)1 << 63;
}

#endif
