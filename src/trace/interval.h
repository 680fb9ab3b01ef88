/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_INTERVAL_H
#define TP_TRACE_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Sets of moments: half-open intervals [from, to) of integer nanoseconds.
 * A *set* is sorted, disjoint, and without empty or touching intervals. Every
 * share of time in a trace is a length of such a set over the length of a
 * named window.
 */
struct tp_interval {
    int64_t from, to;
};

/* All-zero bytes are the empty set. */
struct tp_intervals {
    struct tp_interval *items;
    size_t count, capacity;
};

/* Adds an interval at the end; empty and reversed ones are left out. One that
 * starts inside the last (as nested calls do) only lengthens it. The list is
 * a set only after tp_intervals_unite. */
enum tp_status tp_intervals_add(struct tp_intervals *list, int64_t from,
                                int64_t to, struct tp_error *err);

/* Makes room for as many intervals as may be added to a list that has no room
 * yet, so that it need not be moved as it grows: what nothing is added to is
 * no memory, and tp_intervals_unite returns it. */
enum tp_status tp_intervals_expect(struct tp_intervals *list, size_t most,
                                   struct tp_error *err);

/* Makes a set of the list: sorts and merges what overlaps or touches. */
void tp_intervals_unite(struct tp_intervals *list);

/* Adds a set to a set, with no room but for what both have. */
enum tp_status tp_intervals_join(struct tp_intervals *into,
                                 const struct tp_intervals *set,
                                 struct tp_error *err);

/* Length of a set, ns. */
int64_t tp_intervals_length(const struct tp_intervals *set);

/* out = a without b. `out` is emptied first, is not a or b. */
enum tp_status tp_intervals_subtract(const struct tp_intervals *a,
                                     const struct tp_intervals *b,
                                     struct tp_intervals *out,
                                     struct tp_error *err);

/* Length of the part of a set inside [from, to). O(log n + hits). */
int64_t tp_intervals_within(const struct tp_intervals *set, int64_t from,
                            int64_t to);

/* Releases; empty afterwards. */
void tp_intervals_clear(struct tp_intervals *list);

#endif
