/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "data/events.h"
#include "data/events_gpu.h"

/* Asks for a kernel with so many bytes, which takes part in a collective. */
static uint32_t ask(struct tp_events *events, int64_t bytes, uint32_t comm)
{
    const struct tp_gpu_detail gpu = {.bytes = bytes, .comm = comm};
    cr_assert_eq(tp_grow(&events->gpu, &events->gpu_capacity,
                         events->gpu_count + 1, sizeof *events->gpu, NULL),
                 TP_OK);
    const struct tp_gpu_rows rows = {events->gpu, &events->gpu_count,
                                     &events->gpu_recent};
    return tp_gpu_rows_add(&rows, &gpu);
}

Test(events_gpu, what_repeats_is_one_row)
{
    struct tp_events events = {0};
    for (int64_t i = 0; i < 100000; i++) {
        const uint32_t row = ask(&events, i % 100, TP_NO_DETAIL);
        cr_assert_eq(events.gpu[row].bytes, i % 100);
    }
    cr_assert_lt(events.gpu_count, 1000); /* 100, but for shared places */
    tp_events_clear(&events);
}

Test(events_gpu, what_differs_is_not)
{
    struct tp_events events = {0};
    for (int64_t i = 0; i < 100000; i++)
        cr_assert_eq(ask(&events, i, TP_NO_DETAIL), i);
    tp_events_clear(&events);
}

Test(events_gpu, collectives_share_nothing)
{
    struct tp_events events = {0};
    cr_assert_eq(ask(&events, 1, 0), 0);
    cr_assert_eq(ask(&events, 1, 0), 1);
    cr_assert_eq(ask(&events, 1, TP_NO_DETAIL), 2);
    cr_assert_eq(ask(&events, 1, TP_NO_DETAIL), 2);
    tp_events_clear(&events);
}
