/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_TRACE_LABEL_H
#define TP_REPORT_REPORT_TRACE_LABEL_H

#include "base/text.h"
#include "trace/trace.h"

/* "rank 3", "worker0", or the file: what tells a trace from the others, cut and
 * filled up to `width` unless that is 0. */
void tp_report_trace_label(const struct tp_trace_run *run, size_t i, int width,
                           struct tp_text *text);

#endif
