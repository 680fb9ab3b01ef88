/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_TRACE_PEAKS_H
#define TP_REPORT_REPORT_TRACE_PEAKS_H

#include "base/text.h"
#include "trace/trace.h"

/* What is alive when most memory of each device is taken: by kind, then the
 * `top` operators that took most of it (0: all). Nothing without such rows. */
void tp_report_memory_peaks(const struct tp_trace_run *run, size_t top,
                            struct tp_text *text);

#endif
