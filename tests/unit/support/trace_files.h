/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_TRACE_FILES_H
#define TP_TESTS_TRACE_FILES_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "formats/trace/trace_reader.h"
#include "tests/unit/support/testdata.h"
#include "trace/trace.h"
#include "trace/trace_lists.h"

/*
 * Traces of our making, and what others print about them, are own/...; those
 * of others are read where they lie (testdata.h), and a test that can do
 * nothing without them is skipped, with the reason.
 */

/* Opens a text about traces, or skips the test. */
static inline FILE *trace_file_open(const char *name)
{
    char path[4096];
    trace_data_path(name, path, sizeof path);
    FILE *file = fopen(path, "r");
    if (!file) {
        cr_assert(!trace_data_own(name), "no %s", path);
        cr_skip("no trace of others at %s", path);
    }
    return file;
}

/* Reads and indexes a trace, or skips the test. */
static inline void trace_file_read(const char *name, struct tp_trace *trace)
{
    static char path[4096];
    struct tp_error err = {0};
    struct tp_pool *pool = NULL;
    fclose(trace_file_open(name));
    trace_data_path(name, path, sizeof path);
    *trace = (struct tp_trace){.path = path, .worker = "", .rank = -1};
    cr_assert_eq(tp_pool_new(2, &pool, &err), TP_OK, "%s", err.message);
    cr_assert_eq(tp_trace_read(path, pool, NULL, &trace->events, &err), TP_OK,
                 "%s: %s", name, err.message);
    tp_pool_free(pool);
    cr_assert_eq(tp_trace_index_make(&trace->events, &trace->index, &err),
                 TP_OK, "%s: %s", name, err.message);
}

/* As above, of a JSON text. */
static inline void trace_text_read(const char *json, struct tp_trace *trace)
{
    struct tp_error err = {0};
    struct tp_pool *pool = NULL;
    *trace = (struct tp_trace){.path = "", .worker = "", .rank = -1};
    cr_assert_eq(tp_pool_new(1, &pool, &err), TP_OK, "%s", err.message);
    cr_assert_eq(
        tp_trace_read_memory(json, strlen(json), pool, &trace->events, &err),
        TP_OK, "%s", err.message);
    tp_pool_free(pool);
    cr_assert_eq(tp_trace_index_make(&trace->events, &trace->index, &err),
                 TP_OK, "%s", err.message);
}

/* Releases what the tests make. */
static inline void trace_file_close(struct tp_trace *trace)
{
    tp_trace_clear(trace);
}

#endif
