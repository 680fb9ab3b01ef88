/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_KEEP_TRACES_H
#define TP_CLI_KEEP_TRACES_H

#include "base/lock.h"
#include "cli/keep_state.h"
#include "cli/options.h"
#include "state/trace_state.h"
#include "trace/trace_run.h"

/* --state of traces: what an earlier run kept, and keeping what this one reads.
 */

/* All-zero bytes: none is kept. */
struct tp_kept_traces {
    const struct tp_options *options; /* NULL: none is kept                */
    struct tp_trace_state known;
    struct tp_text shape, roots;
    struct tp_lock lock; /* of the state: that of rank 0                   */
    struct tp_text path; /* where this process keeps what it reads         */
    struct tp_reused reused;
    struct tp_trace_keeper keeper;
    struct tp_kept_file file;
};

/*
 * Reads the state that --state names, if it is there, and what other processes
 * of a run that was cut off left beside it, for a run that is empty yet; writes
 * an empty one otherwise. Until it is cleared no other run can use it. TP_E_IO:
 * another one does; TP_E_USAGE: it was made with other options; else fails as
 * tp_trace_state_read and tp_trace_state_write. Clear it in any case.
 */
enum tp_status tp_kept_traces_open(const struct tp_options *options,
                                   struct tp_trace_run *run,
                                   struct tp_kept_traces *kept,
                                   struct tp_error *err);

/* As tp_kept_failed. */
void tp_kept_traces_failed(const struct tp_kept_traces *kept,
                           enum tp_status status);

/* Says what was known and what was read. */
void tp_kept_traces_text(const struct tp_kept_traces *kept,
                         struct tp_text *text);

/* Releases what was kept, before the run. */
void tp_kept_traces_clear(struct tp_kept_traces *kept);

#endif
