/* SPDX-License-Identifier: MIT */
/*
 * The verdict on a step: the rules of the verdict on a trace, asked about a
 * trace whose window is that step. So there is one set of rules, and steps that
 * are all alike get the verdict of their trace. Constant time.
 */
#include "verdict/trace_step_verdict.h"

#include <math.h>

#include "verdict/trace_verdict.h"

struct tp_idle_row tp_trace_step_idle(const struct tp_trace *trace,
                                      const struct tp_step_span_row *step)
{
    struct tp_idle_row row = trace->idle;
    const int64_t length = step->to_ns - step->from_ns;
    const double unit = length > 0 ? 1.0 / (double)length : NAN;
    int64_t idle = 0;
    for (int i = 0; i < TP_IDLE_CAUSES; i++)
        idle += step->idle_ns[i];
    row.window_us = (double)length / 1e3;
    row.busy = (double)(length - idle) * unit;
    row.queued = (double)step->idle_ns[TP_IDLE_QUEUED] * unit;
    row.alloc = (double)step->idle_ns[TP_IDLE_ALLOC] * unit;
    row.dataloader = (double)step->idle_ns[TP_IDLE_DATALOADER] * unit;
    row.blocking = (double)step->idle_ns[TP_IDLE_BLOCKING] * unit;
    row.launch = (double)step->idle_ns[TP_IDLE_LAUNCH] * unit;
    row.cpu_op = (double)step->idle_ns[TP_IDLE_CPU_OP] * unit;
    row.none = (double)step->idle_ns[TP_IDLE_NONE] * unit;
    row.first_launch = (double)step->first_launch_ns * unit;
    return row;
}

enum tp_verdict tp_trace_step_verdict(const struct tp_trace *trace,
                                      const struct tp_trace_limits *limits,
                                      const struct tp_step_span_row *step,
                                      double *share)
{
    struct tp_busy_row busy = {
        .span = TP_BUSY_WINDOW,
        .total_us = (double)(step->to_ns - step->from_ns) / 1e3,
        .exposed_communication_us =
            (double)step->exposed_communication_ns / 1e3,
        .exposed_transfer_us = (double)step->exposed_transfer_ns / 1e3};
    struct tp_trace alone = *trace;
    alone.idle = tp_trace_step_idle(trace, step);
    alone.busy.rows = &busy;
    alone.busy.count = 1;
    return tp_trace_verdict_pick(&alone, limits, share);
}
