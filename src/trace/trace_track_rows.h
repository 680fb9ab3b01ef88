/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_TRACK_ROWS_H
#define TP_TRACE_TRACE_TRACK_ROWS_H

#include <stdint.h>

/*
 * Rows of no table: the moments that tables are sums of, for an annotated trace
 * (report/annotate.h). Times are ns as the file has them.
 */

/* What an idle moment is charged to, in order of priority. */
enum tp_idle_cause {
    TP_IDLE_QUEUED,
    TP_IDLE_ALLOC,
    TP_IDLE_DATALOADER,
    TP_IDLE_BLOCKING,
    TP_IDLE_LAUNCH,
    TP_IDLE_CPU_OP,
    TP_IDLE_NONE, /* none of them */
    TP_IDLE_CAUSES
};

/* An idle stretch; sums by cause are /idle. */
struct tp_stretch_row {
    int64_t from_ns, ns;
    enum tp_idle_cause why;
};

/* An edge of a critical path, in the order of the path; sums are
 * /critical_path. Below 0 where the clocks of host and device disagree. */
struct tp_piece_row {
    int64_t from_ns, ns, step;
    int spent_on;     /* enum tp_path_kind                                 */
    const char *name; /* of the event it is charged to; ""                 */
};

/* Where a critical path leaves a row of the trace for another one: moments
 * inside an event of each. */
struct tp_arrow_row {
    int64_t from_ns, to_ns;
    const char *from_pid, *from_tid, *to_pid, *to_tid; /* as the lanes'    */
};

/* Launches that wait, from this moment on; mean is mean_queue. */
struct tp_level_row {
    int64_t at_ns, waiting;
};

/* A step with what is needed to judge it alone. */
struct tp_step_span_row {
    int64_t step, from_ns, to_ns;
    int64_t idle_ns[TP_IDLE_CAUSES];
    int64_t first_launch_ns; /* idle behind calls that load code           */
    int64_t exposed_communication_ns, exposed_transfer_ns;
};

#endif
