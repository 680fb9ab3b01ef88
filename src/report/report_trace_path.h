/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_TRACE_PATH_H
#define TP_REPORT_REPORT_TRACE_PATH_H

#include "base/text.h"
#include "trace/trace.h"

/* What the critical paths of each trace were spent on, by kind and with `top`
 * names: a section of the report, "" where there are none. */
void tp_report_paths(const struct tp_trace_run *run, size_t top,
                     struct tp_text *text);

#endif
