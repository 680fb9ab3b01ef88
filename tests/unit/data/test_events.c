/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <malloc.h>

#include "data/events.h"

/* The allocator says how large the columns are. */
static void expect_room(const struct tp_events *events)
{
    const size_t n = events->capacity;
    cr_assert_geq(malloc_usable_size(events->start), n * sizeof *events->start);
    cr_assert_geq(malloc_usable_size(events->duration),
                  n * sizeof *events->duration);
    cr_assert_geq(malloc_usable_size(events->correlation),
                  n * sizeof *events->correlation);
    cr_assert_geq(malloc_usable_size(events->name), n * sizeof *events->name);
    cr_assert_geq(malloc_usable_size(events->lane), n * sizeof *events->lane);
    cr_assert_geq(malloc_usable_size(events->detail),
                  n * sizeof *events->detail);
    cr_assert_geq(malloc_usable_size(events->category), n);
}

/* Arrays of wide elements grow by an eighth where those of narrow ones still
 * double; from two million events on that matters. */
Test(events, every_column_has_room_for_as_many_events_as_there_may_be)
{
    struct tp_events events = {0};
    for (size_t count = 1; count < 3000000; count = events.capacity) {
        events.count = count - 1;
        cr_assert_eq(tp_events_reserve(&events, 2, NULL), TP_OK);
        cr_assert_gt(events.capacity, count);
        expect_room(&events);
    }
    tp_events_clear(&events);
}
