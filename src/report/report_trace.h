/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_TRACE_H
#define TP_REPORT_REPORT_TRACE_H

#include "base/text.h"
#include "report/report.h"
#include "trace/trace.h"
#include "verdict/judged.h"

/* A run of traces in words, for people and for programs. Texts are appended
 * to a tp_text; nothing is printed here. */

/* What a report is made from. Everything is borrowed. */
struct tp_trace_report {
    const struct tp_trace_run *run;
    const struct tp_trace_judged *judged;
    const struct tp_report_figure *figures;
    size_t figure_count;
    const char *tool_version;
    const char *output_dir;
    const char *const *inputs;
    size_t input_count;
    size_t top;       /* rows of lists of operators and kernels            */
    const char *sort; /* column of the operators: a row of the table below */
};

/* Columns operators can be sorted by, largest first: torch's names. Ended by
 * NULL. */
extern const char *const tp_trace_sort_columns[];

/* The column of this name, '_us' at its end aside, or NULL. */
const char *tp_trace_sort_column(const char *name);

/*
 * The report as text, the verdict first. `most` limits the lists that --top
 * does not (findings, steps, ranks); 0: no limit, and every section.
 */
void tp_trace_report_text(const struct tp_trace_report *report, size_t most,
                          bool color, struct tp_text *text);

/* Operators in the layout of torch's key_averages().table(): `top` rows. */
void tp_trace_report_ops(const struct tp_trace_report *report,
                         struct tp_text *text);

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
