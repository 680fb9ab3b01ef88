/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_TRACE_H
#define TP_REPORT_REPORT_TRACE_H

#include "report/trace_report.h"

/* A run of traces in words. The text is appended to a tp_text; nothing is
 * printed here. */

/*
 * The report as text, the verdict first. `most` limits the lists that --top
 * does not (findings, steps, ranks); 0: no limit, and every section.
 */
void tp_trace_report_text(const struct tp_trace_report *report, size_t most,
                          bool color, struct tp_text *text);

#endif
