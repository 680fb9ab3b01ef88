/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/trace/trace_reader.h"
#include "fuzz.h"

/*
 * The reader of traces: in one piece by one thread, and in small pieces by
 * several. Both must find the same events, and every number must lead
 * somewhere.
 */

/* The first byte of an input says how small the pieces are. */
enum { SMALLEST = 16, THREADS = 3 };

static struct tp_pool *pool_of(unsigned jobs)
{
    struct tp_pool *pool = NULL;
    fuzz_need(tp_pool_new(jobs, &pool, NULL) == TP_OK, "a pool");
    return pool;
}

static size_t detail_rows(const struct tp_events *events, uint8_t category)
{
    switch (category) {
    case TP_EVENT_KERNEL:
    case TP_EVENT_MEMCPY:
    case TP_EVENT_MEMSET:
        return events->gpu_count;
    case TP_EVENT_MEMORY:
        return events->memory_count;
    case TP_EVENT_SYNC:
        return events->sync_count;
    default:
        return events->comm_count;
    }
}

static void check_event(const struct tp_events *events, size_t i)
{
    fuzz_need(events->category[i] < TP_EVENT_CATEGORIES, "a category");
    fuzz_need(events->name[i] < events->texts.count || events->name[i] == 0,
              "a name");
    fuzz_need(events->lane[i] < events->lane_count, "a lane");
    fuzz_need(events->duration[i] >= 0, "a duration of 0 or more");
    fuzz_need(events->detail[i] == TP_NO_DETAIL ||
                  events->detail[i] <
                      detail_rows(events, events->category[i]),
              "a row of details");
}

static void check(const struct tp_events *events)
{
    for (size_t i = 0; i < events->count; i++)
        check_event(events, i);
    for (size_t i = 0; i < events->gpu_count; i++)
        fuzz_need(events->gpu[i].comm == TP_NO_DETAIL ||
                      events->gpu[i].comm < events->comm_count,
                  "a row of collectives");
    for (size_t i = 0; i < TP_REPAIRS; i++)
        fuzz_need((events->repairs[i] == 0) == (events->first_repair[i] < 0),
                  "the place of the first repair");
    fuzz_need(events->count <= events->seen, "no event twice");
}

static void compare(const struct tp_events *a, const struct tp_events *b)
{
    fuzz_need(a->count == b->count && a->seen == b->seen &&
                  a->lane_count == b->lane_count &&
                  a->truncated_at == b->truncated_at,
              "the same counts");
    for (size_t i = 0; i < a->count; i++) {
        fuzz_need(a->start[i] == b->start[i] &&
                      a->duration[i] == b->duration[i] &&
                      a->correlation[i] == b->correlation[i] &&
                      a->detail[i] == b->detail[i] &&
                      a->category[i] == b->category[i],
                  "the same numbers");
        fuzz_need(strcmp(tp_events_get(a, a->name[i]),
                         tp_events_get(b, b->name[i])) == 0,
                  "the same names");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tp_pool *one, *several;
    struct tp_events whole = {0}, pieces = {0}, again = {0};
    struct tp_error err = {0};
    if (!one) {
        one = pool_of(1);
        several = pool_of(THREADS);
    }
    if (size == 0)
        return 0;
    size_t piece = SMALLEST + (size_t)data[0];
    struct fuzz_guard guard = fuzz_guard_copy(data + 1, size - 1);
    const char *text = (const char *)guard.data;
    enum tp_status status =
        tp_trace_read_memory(text, size - 1, one, &whole, &err);
    fuzz_need((status == TP_OK) == (err.code == TP_OK), "an error is worded");
    if (status == TP_OK)
        check(&whole);
    enum tp_status in_pieces =
        tp_trace_read_pieces(text, size - 1, piece, one, &pieces, &err);
    enum tp_status in_turns =
        tp_trace_read_pieces(text, size - 1, piece, several, &again, &err);
    fuzz_need(in_pieces == in_turns, "the same end for any number of jobs");
    if (in_pieces == TP_OK) {
        check(&pieces);
        compare(&pieces, &again);
    }
    tp_events_clear(&whole);
    tp_events_clear(&pieces);
    tp_events_clear(&again);
    fuzz_guard_free(&guard);
    return 0;
}
