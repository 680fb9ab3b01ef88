/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_REPLAY_H
#define TP_REPORT_REPORT_REPLAY_H

#include "base/text.h"
#include "data/skipped.h"
#include "replay/replay_findings.h"
#include "replay/replay_fix.h"
#include "report/report_parts.h"

/* The replay of a dump in words. Nothing is printed here. */

/* Everything is borrowed. */
struct tp_replay_report {
    const struct tp_dump *dump;
    const struct tp_replay_results *results;
    const struct tp_dump_findings *findings;
    const struct tp_skipped_list *skipped;
    const struct tp_perturb_wish *wish;
    const struct tp_fixes *fixes; /* NULL: nothing was replaced            */
    const struct tp_report_figure *figures;
    size_t figure_count;
    const char *tool_version, *output_dir;
    const char *const *inputs;
    size_t input_count;
};

/* The report as text; `most` limits each list, 0: no limit. `color` marks
 * severities with ANSI colours. */
void tp_report_replay_text(const struct tp_replay_report *report, size_t most,
                           bool color, struct tp_text *text);

/* What a replay comes to, for the head of its page: the worst of its findings
 * or that there is none, and of which calls that holds. `damaged`: parts of the
 * dump could not be read. */
void tp_report_replay_head(const struct tp_replay_report *report, bool damaged,
                           struct tp_text *verdict, struct tp_text *sentence);

/* The contents of replay_findings.json: {schema_version, calls, ...,
 * findings: [...]}. */
void tp_report_replay_json(const struct tp_replay_report *report,
                           struct tp_text *text);

#endif
