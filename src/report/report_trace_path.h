/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_TRACE_PATH_H
#define TP_REPORT_REPORT_TRACE_PATH_H

#include "analyze/trace.h"
#include "base/text.h"

/* What the critical paths of a trace were spent on, by kind, and with `top`
 * names; "" without any. The heading is the caller's. */
void tp_report_path(const struct tp_trace *trace, size_t top,
                    struct tp_text *text);

#endif
