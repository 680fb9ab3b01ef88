/* SPDX-License-Identifier: MIT */
#include "report/report_parts.h"

#include <inttypes.h>
#include <string.h>

#include "base/text_wrap.h"

void tp_report_figures(const struct tp_report_figure *figures, size_t count,
                       struct tp_text *text)
{
    size_t drawn = 0;
    for (size_t i = 0; i < count; i++)
        drawn += !*figures[i].reason;
    if (count)
        tp_text_add(text, "\nFigures: %zu of %zu drawn\n", drawn, count);
    for (size_t i = 0; i < count; i++) {
        if (!*figures[i].reason)
            continue;
        tp_text_add(text, "  %s:", figures[i].path);
        size_t from = text->length;
        tp_text_add(text, " not drawn: %s\n", figures[i].reason);
        tp_text_wrap(text, from, 4, NULL);
    }
}

void tp_report_prose(const char *lines, size_t indent, struct tp_text *text)
{
    size_t from = text->length;
    tp_text_add(text, "%s", lines);
    tp_text_wrap(text, from, indent, NULL);
}

void tp_report_note(const char *note, const char *const *paths,
                    struct tp_text *text)
{
    size_t from = text->length;
    tp_text_add(text, "  ");
    tp_text_printable(text, note);
    tp_text_add(text, "\n");
    tp_text_wrap(text, from, 4, paths);
}

void tp_report_written(const char *output_dir, const char *names,
                       struct tp_text *text)
{
    tp_text_add(text, "\nWritten to ");
    tp_text_printable(text, output_dir);
    tp_text_add(text, ":");
    size_t from = text->length;
    tp_text_add(text, " %s\n", names);
    tp_text_wrap(text, from, 4, NULL);
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

void tp_report_level(enum tp_severity level, bool color, struct tp_text *text)
{
    const char *code = level == TP_SEVERITY_HIGH     ? "\x1b[1;31m"
                       : level == TP_SEVERITY_MEDIUM ? "\x1b[33m"
                                                     : "\x1b[2m";
    tp_text_add(text, "  %s%-6s%s", color ? code : "", tp_severity_name(level),
                color ? "\x1b[0m" : "");
}

void tp_report_more(size_t count, size_t most, struct tp_text *text)
{
    if (most && count > most)
        tp_text_add(text, "  ... and %zu more\n", count - most);
}

void tp_report_count(struct tp_text *text, uint64_t count, const char *noun)
{
    tp_text_add(text, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
}

void tp_report_not_all(bool damaged, struct tp_text *text)
{
    if (damaged)
        tp_text_add(text, "; the input is damaged or incomplete, so that this "
                          "is not all of it");
}
