/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_H
#define TP_REPORT_REPORT_H

#include "base/text.h"
#include "report/report_parts.h"
#include "report/tables.h"

/*
 * A run in words, for people and for programs. Texts are appended to a
 * tp_text; nothing is printed here.
 */

/* What a report is made from. Everything is borrowed. */
struct tp_report {
    struct tp_results results;
    const struct tp_report_figure *figures;
    size_t figure_count;
    const char *tool_version;
    const char *output_dir; /* "": no files are written                   */
    const char *const *inputs;
    size_t input_count;
};

/*
 * The report as text. `most` limits each list (findings, worst tensors,
 * skipped files); 0: no limit. `color` marks severities with ANSI colours.
 */
void tp_report_text(const struct tp_report *report, size_t most, bool color,
                    struct tp_text *text);

/* What a run comes to, for the head of its page: that nothing was found, if so,
 * and what was looked at. `damaged`: parts could not be read. */
void tp_report_head(const struct tp_report *report, bool damaged,
                    struct tp_text *verdict, struct tp_text *sentence);

/* The same as one JSON object (the columns of findings.json included). */
void tp_report_json(const struct tp_report *report, struct tp_text *text);

/* The contents of findings.json: {schema_version, findings: [...]}. */
void tp_report_findings_json(const struct tp_findings *findings,
                             struct tp_text *text);

/* One tensor, every statistic and what its axes are like, as text. */
void tp_report_tensor_text(const struct tp_row *row, struct tp_text *text);

/* The same as a JSON object with the columns of /tensors, and "dims". */
void tp_report_tensor_json(const struct tp_row *row, struct tp_text *text);

#endif
