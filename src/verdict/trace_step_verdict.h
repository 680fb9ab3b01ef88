/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_STEP_VERDICT_H
#define TP_VERDICT_TRACE_STEP_VERDICT_H

#include "verdict/judged.h"

/*
 * What limits one step of a trace with device events: the rules of
 * trace_verdict.h over the step in place of W. What is not of one step (whether
 * allocations or loading of code go on, the share of short kernels) is that of
 * the trace. *share: of the step.
 */
enum tp_verdict tp_trace_step_verdict(const struct tp_trace *trace,
                                      const struct tp_trace_limits *limits,
                                      const struct tp_step_span_row *step,
                                      double *share);

/* The idle row of one step: the shares by cause, and of the device's work. */
struct tp_idle_row tp_trace_step_idle(const struct tp_trace *trace,
                                      const struct tp_step_span_row *step);

#endif
