/* SPDX-License-Identifier: MIT */
#include "report/report_parts.h"

#include <string.h>

void tp_report_figures(const struct tp_report_figure *figures, size_t count,
                       struct tp_text *text)
{
    size_t drawn = 0;
    for (size_t i = 0; i < count; i++)
        drawn += !*figures[i].reason;
    if (count)
        tp_text_add(text, "\nFigures: %zu of %zu drawn\n", drawn, count);
    for (size_t i = 0; i < count; i++) {
        if (*figures[i].reason)
            tp_text_add(text, "  %s: not drawn: %s\n", figures[i].path,
                        figures[i].reason);
    }
}

void tp_report_finding_counts(const size_t counts[TP_SEVERITY_HIGH + 1],
                              struct tp_text *text)
{
    tp_text_add(text, "\nFindings: %zu high, %zu medium, %zu low\n",
                counts[TP_SEVERITY_HIGH], counts[TP_SEVERITY_MEDIUM],
                counts[TP_SEVERITY_LOW]);
}

void tp_report_guide(struct tp_report_told *told, const char *section,
                     struct tp_text *text)
{
    for (size_t i = 0; i < told->count; i++) {
        if (!strcmp(told->sections[i], section))
            return;
    }
    if (told->count < TP_REPORT_SECTIONS)
        told->sections[told->count++] = section;
    tp_text_add(text, "         see: tprof-guide, %s\n", section);
}

const char *tp_report_color(enum tp_severity level)
{
    return level == TP_SEVERITY_HIGH     ? "\x1b[1;31m"
           : level == TP_SEVERITY_MEDIUM ? "\x1b[33m"
                                         : "\x1b[2m";
}
