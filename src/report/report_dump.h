/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_DUMP_H
#define TP_REPORT_REPORT_DUMP_H

#include "data/skipped.h"
#include "dump/dump.h"
#include "dump/dump_findings.h"
#include "dump/dump_tables.h"
#include "report/report_dump_audits.h"

/* What is known of a dump of msprobe, in words. Nothing is printed here. */

/* Everything is borrowed. */
struct tp_dump_report {
    const struct tp_dump *dump;
    const struct tp_dump_findings *findings;
    const struct tp_dump_integrity *integrity;
    const struct tp_dump_tree *tree;
    const struct tp_dump_anomalies *anomalies;
    const struct tp_dump_flow *flow;
    const struct tp_dump_copies *copies;
    const struct tp_skipped_list *skipped;
    const char *tool_version;
    const char *output_dir;
    const char *const *inputs;
    size_t input_count;
};

/* The report as text; `most` limits each list, 0: no limit. `color` marks
 * severities with ANSI colours. */
void tp_report_dump_text(const struct tp_dump_report *report, size_t most,
                         bool color, struct tp_text *text);
/* What a dump comes to, for the head of its page: that nothing was found, if
 * so, and what was looked at. `damaged`: parts of it could not be read. */
void tp_report_dump_head(const struct tp_dump_report *report, bool damaged,
                         struct tp_text *verdict, struct tp_text *sentence);
/* The same as one JSON object. */
void tp_report_dump_json(const struct tp_dump_report *report,
                         struct tp_text *text);
/* The contents of dump_findings.json: {schema_version, findings:
 * [...], skipped: [...]}. */
void tp_report_dump_findings_json(const struct tp_dump_report *report,
                                  struct tp_text *text);

#endif
