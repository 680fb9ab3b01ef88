/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_VERDICT_H
#define TP_VERDICT_TRACE_VERDICT_H

#include "verdict/judged.h"

/*
 * What limits a trace, by the first of these that holds over its window W;
 * limits in capitals are thresholds of verdict/trace_limits.h:
 *
 *   1. no device events: of what reaches its threshold what takes most of W:
 *      data loading where steps wait for the DataLoader for DATALOADER of their
 *      time; communication where for COMMUNICATION nothing runs but a
 *      collective; tiny operators where operators below 10 us take
 *      TINY_OPERATORS, else CPU-bound where operators take CPU_BUSY; host-bound
 *      where nothing is recorded for HOST; else, and in a trace without steps
 *      of fewer than DEVICE_EVENTS operators, CPU only; unknown where the trace
 *      is cut
 *   2. the device is busy for GPU_BUSY of W, and neither communication nor
 *      copies are exposed as in 3.: GPU-bound, which is healthy; unknown in a
 *      trace without steps that has fewer than DEVICE_EVENTS
 *   3. of the causes that reach their threshold, the one with most of W: the
 *      device idles with work pending (QUEUED), behind driver allocations
 *      (ALLOC; a cold start when no steady step has any, or in a trace without
 *      steps when they are over before half of the device's work), behind
 *      first launches that load code (FIRST_LAUNCH, a cold start), behind the
 *      DataLoader (DATALOADER), behind blocking calls (SYNC), or communication
 *      (COMMUNICATION) or copies to or from the device (COPIES) are exposed
 *   4. it idles behind launches, operators and nothing recorded for HOST of
 *      W, and longer than for the cause of 3: launch-bound when kernels below
 *      10 us have TINY_KERNELS of the kernels' time, else host-bound; unknown
 *      without host events
 *   5. no single limit; the largest share is named
 */

/* A row of the table of verdicts. */
struct tp_trace_verdict_info {
    const char *id;       /* "data loading"                                */
    const char *scenario; /* for programs, unless the findings tell better */
    const char *help;
};

/* The rows, [enum tp_verdict], ended by one whose id is NULL. */
extern const struct tp_trace_verdict_info tp_trace_verdict_table[];

/*
 * Judges each trace and the run: fills verdicts and verdict. The run's is
 * the one of most of its traces, of the slowest where that is a tie. The
 * ranks have been compared. TP_E_MEMORY only.
 */
enum tp_status tp_trace_verdicts_make(const struct tp_trace_run *run,
                                      struct tp_trace_judged *judged,
                                      struct tp_error *err);

/* The line that holds for a trace; *share: of W, or of what its rows `idle` and
 * `busy` are of. */
enum tp_verdict tp_trace_verdict_pick(const struct tp_trace *trace,
                                      const struct tp_trace_limits *limits,
                                      double *share);

/* The scenario of memory that is taken and given back all the time, from the
 * driver (the verdict says allocation) or from the allocator's cache. */
#define TP_SCENARIO_CHURN "memory_churn"

/* What of W the device idles behind launches, but for first ones that load
 * code, operators and nothing recorded (line 4). */
double tp_trace_host_share(const struct tp_trace *trace);

/* Where the host is when it is in no operator and no call: in Python, if frames
 * say so. */
const char *tp_trace_unrecorded_words(const struct tp_trace *trace);

/* Whether code is loaded in most steps, of four or more, so that it is no
 * start-up. */
bool tp_trace_keeps_loading(const struct tp_trace *trace);

/* Whether driver allocations are more than start-up (line 3). */
bool tp_trace_keeps_allocating(const struct tp_trace *trace);

#endif
