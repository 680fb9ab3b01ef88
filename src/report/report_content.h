/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_CONTENT_H
#define TP_REPORT_REPORT_CONTENT_H

#include "compare/content_findings.h"
#include "data/skipped.h"
#include "report/report_parts.h"

/* A comparison by content in words. Nothing is printed here. */

/* Everything is borrowed. */
struct tp_content_report {
    const struct tp_content *content;
    const struct tp_content_rows *rows;
    const struct tp_dump_findings *findings;
    const struct tp_skipped_list *skipped;
    const char *tool_version, *output_dir;
    const char *a, *b; /* as the user named them                           */
};

/* The report as text; `most` limits each list, 0: no limit. `color` marks
 * severities with ANSI colours. */
void tp_report_content_text(const struct tp_content_report *report, size_t most,
                            bool color, struct tp_text *text);

/* What a comparison comes to, for the head of its page: that nothing was found,
 * if so, and what was. `damaged`: parts could not be read. */
void tp_report_content_head(const struct tp_content_report *report,
                            bool damaged, struct tp_text *verdict,
                            struct tp_text *sentence);

/* The contents of compare_findings.json: {schema_version, match, tensors_a,
 * ..., findings: [...], content_matches: [...], content_alone: [...]}. */
void tp_report_content_json(const struct tp_content_report *report,
                            struct tp_text *text);

#endif
