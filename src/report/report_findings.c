/* SPDX-License-Identifier: MIT */
#include "report/report_findings.h"

#include <inttypes.h>

void tp_report_findings_count(const struct tp_dump_findings *findings,
                              struct tp_text *text)
{
    size_t counts[TP_SEVERITY_HIGH + 1] = {0};
    for (size_t i = 0; i < findings->count; i++)
        counts[findings->rows[i].level]++;
    tp_report_finding_counts(counts, text);
}

void tp_report_finding_head(const struct tp_dump_finding *finding, bool color,
                            struct tp_text *text)
{
    tp_report_level(finding->level, color, text);
    tp_text_add(text, "  %s: ", finding->rule->id);
    tp_text_printable(text, finding->name);
    if (finding->step >= 0)
        tp_text_add(text, " step %" PRId64, finding->step);
    if (finding->rank >= 0)
        tp_text_add(text, " rank %" PRId64, finding->rank);
}

/* A line of its own below a finding. */
static void add_sentence(const char *sentence, struct tp_text *prose)
{
    if (!*sentence)
        return;
    tp_text_add(prose, "%9s", "");
    tp_text_printable(prose, sentence);
    tp_text_add(prose, "\n");
}

void tp_report_finding_prose(const struct tp_dump_finding *finding,
                             const char *more, struct tp_report_told *told,
                             struct tp_text *text)
{
    struct tp_text prose = {0};
    add_sentence(finding->evidence, &prose);
    add_sentence(more, &prose);
    add_sentence(finding->suggestion, &prose);
    tp_text_add(text, "\n");
    tp_report_prose(tp_text_get(&prose), 9, text);
    tp_report_guide(told, finding->rule->guide, text);
    text->failed |= prose.failed;
    tp_text_clear(&prose);
}
