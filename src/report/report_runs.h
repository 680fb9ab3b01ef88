/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_RUNS_H
#define TP_REPORT_REPORT_RUNS_H

#include "compare/compare_autodiff.h"
#include "compare/compare_findings.h"
#include "compare/compare_table.h"
#include "data/skipped.h"
#include "report/report_parts.h"

/* A comparison of two dumps or runs of tensors in words. Nothing is printed
 * here. */

/* Everything is borrowed. */
struct tp_runs_report {
    const struct tp_comparison *comparison;
    const struct tp_compare_calls *calls;
    const struct tp_compare_records *records;
    const struct tp_dump_findings *findings;
    const struct tp_skipped_list *skipped;
    const struct tp_compare_autodiff *autodiff; /* of no searches: not asked */
    const struct tp_report_figure *figures;
    size_t figure_count;
    const char *tool_version, *output_dir;
    const char *a, *b; /* as the user named them                           */
};

/* The report as text; `most` limits each list, 0: no limit. `color` marks
 * severities with ANSI colours. */
void tp_report_runs_text(const struct tp_runs_report *report, size_t most,
                         bool color, struct tp_text *text);

/* What a comparison comes to, for the head of its page: that the runs are
 * equal, or that nothing was found, if so; and what was compared. `damaged`:
 * parts could not be read. */
void tp_report_runs_head(const struct tp_runs_report *report, bool damaged,
                         struct tp_text *verdict, struct tp_text *sentence);

/* The findings: how many, then each. */
void tp_report_runs_findings(const struct tp_dump_findings *findings,
                             bool color, struct tp_text *text);

/* The contents of compare_findings.json: {schema_version, mode, rows, ...,
 * findings: [...]}. */
void tp_report_runs_json(const struct tp_runs_report *report,
                         struct tp_text *text);

#endif
