/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_TRACE_SECTIONS_H
#define TP_REPORT_REPORT_TRACE_SECTIONS_H

#include "report/trace_report.h"

/* The sections of a report that show rows of tables. `most` is how many traces
 * or rows are shown at most; 0: all. What has no rows is left out. */

/* What the device waited for; the window of some trace has a length. */
void tp_report_idle(const struct tp_trace_run *run, size_t most,
                    struct tp_text *text);

/* What steps cost. */
void tp_report_steps(const struct tp_trace_run *run, size_t most,
                     struct tp_text *text);

/* The ranks beside each other, if there are several traces. */
void tp_report_ranks(const struct tp_trace_report *report, size_t most,
                     struct tp_text *text);

/* How device time is spent. */
void tp_report_busy(const struct tp_trace_run *run, struct tp_text *text);

/* Operators by what else was asked for, if so: `top` rows a trace. */
void tp_report_groups(const struct tp_trace_run *run, size_t top,
                      struct tp_text *text);

/* What the device did, by name, and who started it: `top` rows a trace. */
void tp_report_device_work(const struct tp_trace_run *run, size_t top,
                           struct tp_text *text);

/* Copies and calls that wait for the device, if there is one; memory and
 * collectives. */
void tp_report_lists(const struct tp_trace_run *run, bool device,
                     struct tp_text *text);

#endif
