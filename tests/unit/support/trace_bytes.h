/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_TRACE_BYTES_H
#define TP_TESTS_TRACE_BYTES_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/pool.h"
#include "base/text.h"
#include "formats/trace/trace_reader.h"
#include "tests/unit/support/testdata.h"

/* For the tests of the trace reader. The path of a trace (testdata.h); the
 * test is skipped without it. */
static inline void trace_path(const char *name, char *path, size_t size)
{
    trace_data_path(name, path, size);
    if (!trace_data_there(name))
        cr_skip("no trace of others at %s", path);
}

/* The JSON of a trace, inflated by zlib's own file reader. */
static inline struct tp_text trace_bytes(const char *name)
{
    char path[4096], buffer[1 << 16];
    struct tp_text text = {0};
    trace_path(name, path, sizeof path);
    gzFile file = gzopen(path, "rb");
    cr_assert(file != NULL);
    int got;
    while ((got = gzread(file, buffer, sizeof buffer)) > 0)
        tp_text_bytes(&text, buffer, (size_t)got);
    gzclose(file);
    cr_assert(!text.failed && text.length > 0);
    return text;
}

static inline struct tp_pool *trace_pool(unsigned jobs)
{
    struct tp_pool *pool = NULL;
    cr_assert_eq(tp_pool_new(jobs, &pool, NULL), TP_OK);
    return pool;
}

/* Reads `size` bytes in pieces of about `piece` bytes with `jobs` threads. */
static inline enum tp_status trace_read_as(const char *data, size_t size,
                                           size_t piece, unsigned jobs,
                                           struct tp_events *events)
{
    struct tp_pool *pool = trace_pool(jobs);
    struct tp_error err = {0};
    memset(events, 0, sizeof *events);
    enum tp_status status =
        tp_trace_read_pieces(data, size, piece, pool, events, &err);
    tp_pool_free(pool);
    cr_assert_eq(status, err.code);
    return status;
}

/* Reads a text that must be a trace. */
static inline struct tp_events trace_events(const char *data, size_t size)
{
    struct tp_events events;
    cr_assert_eq(trace_read_as(data, size, 1 << 18, 1, &events), TP_OK);
    return events;
}

static inline int64_t trace_sum(const int64_t *column, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (uint64_t)column[i];
    return (int64_t)sum;
}

/* Fails unless both hold the same events, names and details. */
static inline void trace_assert_same(const struct tp_events *a,
                                     const struct tp_events *b)
{
    cr_assert_eq(a->count, b->count);
    cr_assert_eq(a->seen, b->seen);
    cr_assert_eq(a->lane_count, b->lane_count);
    cr_assert_eq(a->texts.count, b->texts.count);
    cr_assert_eq(a->gpu_count, b->gpu_count);
    cr_assert_eq(a->memory_count, b->memory_count);
    cr_assert_eq(a->comm_count, b->comm_count);
    cr_assert_eq(a->sync_count, b->sync_count);
    for (size_t i = 0; i < a->count; i++) {
        cr_assert(a->start[i] == b->start[i] &&
                      a->duration[i] == b->duration[i] &&
                      a->correlation[i] == b->correlation[i] &&
                      a->detail[i] == b->detail[i] &&
                      a->category[i] == b->category[i],
                  "event %zu", i);
        cr_assert_str_eq(tp_events_get(a, a->name[i]),
                         tp_events_get(b, b->name[i]));
        const struct tp_lane *la = &a->lanes[a->lane[i]];
        const struct tp_lane *lb = &b->lanes[b->lane[i]];
        cr_assert_str_eq(tp_events_get(a, la->tid), tp_events_get(b, lb->tid));
        cr_assert_str_eq(tp_events_get(a, la->process_name),
                         tp_events_get(b, lb->process_name));
    }
    for (size_t i = 0; i < a->gpu_count; i++) {
        cr_assert(a->gpu[i].stream == b->gpu[i].stream &&
                  a->gpu[i].bytes == b->gpu[i].bytes &&
                  a->gpu[i].comm == b->gpu[i].comm);
    }
    cr_assert_eq(a->op_input_count, b->op_input_count);
    for (size_t i = 0; i < a->op_input_count; i++) {
        const struct tp_op_inputs *x = &a->op_inputs[i], *y = &b->op_inputs[i];
        cr_assert_eq(x->event, y->event);
        cr_assert_str_eq(tp_events_get_inputs(a, x->inputs),
                         tp_events_get_inputs(b, y->inputs));
    }
}

#endif
