/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_COMPARE_WHY_H
#define TP_REPORT_REPORT_COMPARE_WHY_H

#include "base/text.h"
#include "trace/trace_compare.h"

/* The share of a step from which on a change is told. */
#define TP_WHY_TOLD 0.01

/*
 * Why a step takes longer, or less long, in sentences: the largest changes
 * first, at most `top` (0: all), each with what it costs; then what the others
 * add up to, so that all of it is the change of the step. `device`: a device
 * was recorded.
 */
void tp_compare_why_text(const struct tp_trace_comparison *comparison,
                         bool device, size_t top, struct tp_text *text);

/* The same in short: what a step takes now and before, and the largest cause,
 * or that nothing changed much. Nothing where there are no causes. */
void tp_compare_why_head(const struct tp_trace_comparison *comparison,
                         bool device, struct tp_text *change,
                         struct tp_text *cause);

#endif
