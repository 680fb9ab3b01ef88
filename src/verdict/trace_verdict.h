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
 *      Where steps would win more without blocking calls, and SYNC, it is
 *      these (SYNC), as it is where no cause reaches its threshold
 *   5. no single limit; the largest share is named
 *
 * What is lost by 1., 3. or 4. is a cold start where a first step takes longer
 * than the others by half of it (trace_first_step.h). Where some steps take so
 * much longer than most that more than half of it is theirs, the findings say
 * so and the verdict is uneven steps (trace_judge.c).
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

/* The verdict of the run from those of its traces. */
void tp_trace_verdict_of_run(const struct tp_trace_run *run,
                             struct tp_trace_judged *judged);

/* The scenario of memory that is taken and given back all the time, from the
 * driver (the verdict says allocation) or from the allocator's cache. */
#define TP_SCENARIO_CHURN "memory_churn"

/* Whether a verdict names time that is lost: not that all is well, that work
 * takes the time, or that nobody knows. */
bool tp_verdict_is_loss(enum tp_verdict verdict);

#endif
