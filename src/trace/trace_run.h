/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_RUN_H
#define TP_TRACE_TRACE_RUN_H

#include <signal.h>

#include "base/pool.h"
#include "base/world.h"
#include "trace/trace.h"
#include "trace/trace_record.h"

/* From paths to a run: every trace read and turned into rows. */

/* Keeps what was read, so that a later run need not read it. */
struct tp_trace_keeper {
    struct tp_trace_records *known; /* of an earlier run; used up          */
    struct tp_reused *reused;       /* set before anything is read         */
    double seconds; /* from one call of `keep` to the next, at least       */
    /* Called by one thread at a time with all records that are to be kept,
     * those that are done and not elsewhere, and maybe with others; `whole` at
     * the end: a failure ends the run then. */
    enum tp_status (*keep)(void *context,
                           const struct tp_trace_records *records, bool whole,
                           struct tp_error *err);
    void *context;
};

/* Processes that read the files of a run together. */
struct tp_trace_team {
    const struct tp_world *world;
    /* Told what a worker begins to read; "": no more. Any thread. */
    void (*reading)(void *context, const char *path, unsigned worker);
    /* Once all is read: sends the records that are done and not elsewhere, and
     * at rank 0 fills in those of the others. */
    enum tp_status (*gather)(void *context, struct tp_trace_records *records,
                             struct tp_error *err);
    void *context;
};

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
    const struct tp_trace_keeper *keeper; /* NULL: all is read             */
    const struct tp_trace_team *team; /* NULL: this process reads alone    */
};

/*
 * Reads what is named: a file as it is, of a directory every file that is
 * named as a trace (tp_trace_is_name). One trace after the other; of each only
 * rows stay in memory. What cannot be read is a row of run->skipped. `run` is
 * zeroed by the caller and released with tp_trace_run_clear, also after a
 * failure: TP_E_NOT_FOUND when a root is not there, TP_E_INTERRUPTED,
 * TP_E_MEMORY. In a team only rank 0 has a run afterwards; it fails as its
 * world does, too.
 */
enum tp_status tp_trace_collect(struct tp_pool *pool,
                                const struct tp_trace_options *options,
                                struct tp_trace_run *run, struct tp_error *err);

/*
 * The part of tp_trace_collect that makes one trace: indexes trace->events,
 * fills every row, and releases the events; texts of rows are then the
 * arena's. For tests, too.
 */
enum tp_status tp_trace_analyse(struct tp_trace *trace, struct tp_arena *arena,
                                struct tp_error *err);

/* Whether a text of it was lost for want of memory. */
bool tp_trace_run_lost(const struct tp_trace_run *run);

/* Releases everything; empty afterwards. */
void tp_trace_run_clear(struct tp_trace_run *run);

#endif
