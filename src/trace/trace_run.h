/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_RUN_H
#define TP_TRACE_TRACE_RUN_H

#include <signal.h>

#include "base/pool.h"
#include "trace/trace.h"

/* From paths to a run: every trace read and turned into rows. */

struct tp_trace_options {
    const char *const *roots; /* files and directories                     */
    size_t root_count;
    /* Called for every piece that is read, never by two threads at once; may
     * be NULL. Bytes are those of the files. */
    void (*progress)(void *context, uint64_t files_done, uint64_t files_all,
                     uint64_t bytes_done, uint64_t bytes_all);
    void *progress_context;
    const volatile sig_atomic_t *stop;
    struct tp_roof_choice roofs; /* of the device; all-zero: as it says    */
    bool compared; /* traces are for a comparison: trace->spent is wanted  */
    bool annotated; /* so is what trace_tracks.h keeps                      */
    struct tp_group_choice group_by;
    /* Whether a name is that of a frame of the scripts of the run, by any
     * thread; NULL: there are no scripts. */
    bool (*is_frame)(const char *name, const void *context);
    const void *frame_context;
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

/* Orders the traces by rank, worker, span and path. Called by
 * tp_trace_collect; for tests, too. */
void tp_trace_run_sort(struct tp_trace_run *run);

/* Whether a text of it was lost for want of memory. */
bool tp_trace_run_lost(const struct tp_trace_run *run);

/* Releases everything; empty afterwards. */
void tp_trace_run_clear(struct tp_trace_run *run);

#endif
