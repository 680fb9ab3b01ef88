/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_TRACE_WHAT_IF_H
#define TP_REPORT_REPORT_TRACE_WHAT_IF_H

#include "base/text.h"
#include "trace/trace.h"

/* What steps would take if something took no time; of each trace, or in short
 * of a run of one trace what wins most. */
void tp_report_what_if(const struct tp_trace_run *run, bool in_short,
                       struct tp_text *text);

#endif
