/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "trace/trace_merge.h"

enum { COUNT = 3000, LANES = 2 };

/* Numbers that do not repeat soon. */
static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* `kinds` different starts in a row, turned back to the first each time. */
static void fill(struct tp_events *events, uint32_t kinds, bool random)
{
    uint32_t state = 7;
    cr_assert_eq(tp_events_reserve(events, COUNT, NULL), TP_OK);
    events->count = COUNT;
    events->lane_count = LANES;
    for (uint32_t i = 0; i < COUNT; i++) {
        events->start[i] = random ? next(&state) % kinds : i % kinds;
        events->duration[i] = next(&state) % 3;
        events->lane[i] = next(&state) % LANES;
        events->correlation[i] = next(&state) % 10 - 1;
        events->category[i] =
            next(&state) % 2 ? TP_EVENT_RUNTIME : TP_EVENT_CPU_OP;
    }
}

/* Each event in its place: none that comes later comes before it, and of equal
 * ones the list has the first number first. Insertion from the front is the
 * reference. */
static void check(const struct tp_events *events, tp_trace_before *before)
{
    uint32_t sorted[COUNT], wanted[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        size_t at = i;
        for (; at > 0 && before(events, i, wanted[at - 1]); at--)
            wanted[at] = wanted[at - 1];
        wanted[at] = i;
        sorted[i] = i;
    }
    cr_assert_eq(tp_trace_merge_sort(events, sorted, COUNT, before, NULL),
                 TP_OK);
    for (size_t i = 0; i < COUNT; i++)
        cr_assert_eq(sorted[i], wanted[i], "place %zu: %u, not %u", i,
                     sorted[i], wanted[i]);
}

Test(trace_merge, every_order_is_that_of_insertion)
{
    static const uint32_t kinds[] = {1, 2, 7, 50, COUNT};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int random = 0; random < 2; random++) {
            struct tp_events events = {0};
            fill(&events, kinds[k], random);
            check(&events, tp_trace_before_start);
            check(&events, tp_trace_before_nested);
            check(&events, tp_trace_before_correlation);
            tp_events_clear(&events);
        }
    }
}

Test(trace_merge, nothing_and_one_event_are_in_order)
{
    struct tp_events events = {0};
    uint32_t one = 0;
    fill(&events, 1, false);
    cr_assert_eq(
        tp_trace_merge_sort(&events, NULL, 0, tp_trace_before_start, NULL),
        TP_OK);
    cr_assert_eq(
        tp_trace_merge_sort(&events, &one, 1, tp_trace_before_start, NULL),
        TP_OK);
    cr_assert_eq(one, 0);
    tp_events_clear(&events);
}

/* What is put first is not known from the order alone: by hand. */
Test(trace_merge, longer_events_and_operators_come_first)
{
    struct tp_events events = {0};
    uint32_t list[] = {0, 1, 2, 3};
    static const uint32_t wanted[] = {3, 2, 1, 0};
    fill(&events, 1, false);
    for (uint32_t i = 0; i < 4; i++) {
        events.lane[i] = 0;
        events.start[i] = 5;
        events.duration[i] = i == 3 ? 9 : 4;
        events.category[i] = TP_EVENT_CPU_OP;
    }
    events.category[1] = TP_EVENT_DRIVER;
    events.lane[0] = 1;
    cr_assert_eq(
        tp_trace_merge_sort(&events, list, 4, tp_trace_before_nested, NULL),
        TP_OK);
    cr_assert_arr_eq(list, wanted, sizeof list);
    tp_events_clear(&events);
}
