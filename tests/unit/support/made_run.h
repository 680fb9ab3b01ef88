/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_MADE_RUN_H
#define TP_TESTS_MADE_RUN_H

#include <criterion/criterion.h>

#include "base/memory.h"
#include "formats/trace/trace_reader.h"
#include "tests/unit/support/judged_run.h"
#include "tests/unit/support/trace_maker.h"

/* Adds the trace to the run, as tp_trace_collect does with a file. */
static inline void made_run_add(struct judged_run *it,
                                struct trace_maker *maker, const char *name)
{
    struct tp_error err = {0};
    struct tp_pool *pool;
    size_t size;
    const char *json = trace_maker_end(maker, &size);
    cr_assert_eq(tp_grow(&it->run.traces, &it->run.trace_capacity,
                         it->run.trace_count + 1, sizeof *it->run.traces, &err),
                 TP_OK);
    struct tp_trace *trace = &it->run.traces[it->run.trace_count++];
    *trace = (struct tp_trace){.path = name, .worker = "", .span = -1};
    cr_assert_eq(tp_pool_new(1, &pool, &err), TP_OK);
    cr_assert_eq(tp_trace_read_memory(json, size, pool, &trace->events, &err),
                 TP_OK, "%s", err.message);
    for (int r = 0; r < TP_REPAIRS; r++)
        cr_assert_eq(trace->events.repairs[r], 0, "%s", tp_repair_name(r));
    cr_assert_eq(tp_trace_analyse(trace, &it->run.arena, &err), TP_OK);
    tp_pool_free(pool);
    trace_maker_clear(maker);
}

#endif
