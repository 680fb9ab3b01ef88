/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_TRACE_JSON_H
#define TP_REPORT_REPORT_TRACE_JSON_H

#include "report/trace_report.h"

/* A run of traces for programs. */

/*
 * The metrics as one JSON object, for --output_json and --format json: over
 * all traces, then per rank, with the findings. The manual has its members.
 */
void tp_trace_report_json(const struct tp_trace_report *report,
                          struct tp_text *text);

/* The contents of trace_findings.json: {schema_version, verdict, scenario,
 * findings: [...], notes: [...]}. */
void tp_trace_findings_json(const struct tp_trace_report *report,
                            struct tp_text *text);

#endif
