/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_RUN_H
#define TP_TRACE_TRACE_RUN_H

#include <signal.h>

#include "base/pool.h"
#include "base/text.h"
#include "trace/trace.h"

/* From paths to a run: every trace read, turned into rows, and judged. */

struct tp_trace_options {
    const char *const *roots; /* files and directories                     */
    size_t root_count;
    struct tp_trace_limits limits;
    /* Called for every piece that is read, never by two threads at once; may
     * be NULL. Bytes are those of the files. */
    void (*progress)(void *context, uint64_t files_done, uint64_t files_all,
                     uint64_t bytes_done, uint64_t bytes_all);
    void *progress_context;
    const volatile sig_atomic_t *stop;
};

/*
 * Reads what is named: a file as it is, of a directory every file that is
 * named as a trace (tp_trace_is_name). One trace after the other; of each only
 * rows stay in memory. What cannot be read is a row of run->skipped. `run` is
 * zeroed by the caller and released with tp_trace_run_clear, also after a
 * failure: TP_E_NOT_FOUND when a root is not there, TP_E_INTERRUPTED,
 * TP_E_MEMORY.
 */
enum tp_status tp_trace_collect(struct tp_pool *pool,
                                const struct tp_trace_options *options,
                                struct tp_trace_run *run, struct tp_error *err);

/*
 * The part of tp_trace_collect that follows reading: indexes trace->events,
 * fills every row, and releases the events; texts of rows are then the
 * arena's. For tests, too.
 */
enum tp_status tp_trace_analyse(struct tp_trace *trace, struct tp_arena *arena,
                                struct tp_error *err);

/* Orders the traces, compares ranks, judges, applies the rules: all that
 * needs every trace. Called by tp_trace_collect. */
enum tp_status tp_trace_run_finish(struct tp_trace_run *run,
                                   struct tp_error *err);

/* Release everything; empty afterwards. Rows' texts are the run's. */
void tp_trace_clear(struct tp_trace *trace);
void tp_trace_run_clear(struct tp_trace_run *run);

/* A text of the run's arena, worded as printf does; "" when out of memory. */
const char *tp_trace_text(struct tp_trace_run *run, const char *format, ...)
    TP_PRINTF(2, 3);

/* Adds a note, worded as printf does; dropped when out of memory. */
void tp_trace_note(struct tp_trace_run *run, const char *format, ...)
    TP_PRINTF(2, 3);

#endif
