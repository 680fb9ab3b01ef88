/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_TRACE_WHAT_IF_H
#define TP_REPORT_REPORT_TRACE_WHAT_IF_H

#include "base/text.h"
#include "verdict/judged.h"

/* What steps would take if something took no time; of each trace, or in short
 * of a run of one trace what wins most. */
void tp_report_what_if(const struct tp_trace_run *run, bool in_short,
                       struct tp_text *text);

/* The same if ranks did not straggle; in short only if that wins something. */
void tp_report_straggling(const struct tp_trace_judged *judged, bool in_short,
                          struct tp_text *text);

#endif
