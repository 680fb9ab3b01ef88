/* SPDX-License-Identifier: MIT */
#include "report/report_compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text_wrap.h"
#include "report/hdf5.h"
#include "report/report_compare_why.h"
#include "report/report_parts.h"
#include "report/report_table.h"
#include "verdict/trace_verdict.h"

/* Bytes of a name that are shown. */
enum { WIDTH = 120 };

/* One of the two runs. */
struct side {
    const char *path;
    size_t traces;
    int64_t steps;
    const struct tp_trace_verdict *verdict;
};

static struct side base_of(const struct tp_compare_report *report)
{
    return (struct side){report->base_path, report->base->trace_count,
                         report->comparison->base_steps, report->base_verdict};
}

static struct side test_of(const struct tp_compare_report *report)
{
    return (struct side){report->test_path, report->test->trace_count,
                         report->comparison->test_steps, report->test_verdict};
}

static void add_side(const char *what, struct side side, struct tp_text *text)
{
    tp_text_add(text, "%s: ", what);
    tp_text_printable(text, side.path);
    size_t from = text->length;
    tp_text_add(text, " (%zu trace%s, %" PRId64 " step%s): %s: ", side.traces,
                side.traces == 1 ? "" : "s", side.steps,
                side.steps == 1 ? "" : "s",
                tp_trace_verdict_table[side.verdict->verdict].id);
    tp_text_printable(text, side.verdict->sentence);
    tp_text_add(text, "\n");
    tp_text_wrap(text, from, 2, NULL);
}

static void add_steps(const struct tp_trace_comparison *comparison,
                      struct tp_text *text)
{
    tp_text_add(text, "\n%-34s %14s %14s %14s %10s\n",
                "Means of typical steps (see /steps)", "before", "after",
                "change", "after/before");
    for (size_t i = 0; i < comparison->steps.count; i++) {
        const struct tp_compare_step_row *row = &comparison->steps.rows[i];
        const bool neither = (row->base == 0 && row->test == 0) ||
                             (isnan(row->base) && isnan(row->test));
        if (neither)
            continue;
        tp_text_add(text, "  %-28s %-3s %14.3f %14.3f %+14.3f", row->metric,
                    row->unit, row->base, row->test, row->change);
        if (isnan(row->ratio))
            tp_text_add(text, " %10s\n", "-");
        else
            tp_text_add(text, " %10.3f\n", row->ratio);
    }
}

/* Operators have a CPU and a GPU time, kernels one. */
static void add_row(const struct tp_compare_row *row, bool is_op,
                    struct tp_text *text)
{
    tp_text_add(text, "  %+12.1f %12.1f %12.1f", row->change_us, row->base_us,
                row->test_us);
    if (is_op)
        tp_text_add(text, " %+12.1f %12.1f %12.1f", row->change_device_us,
                    row->base_device_us, row->test_device_us);
    tp_text_add(text, " %9.1f %9.1f  %-9s  ", row->base_per_step,
                row->test_per_step, row->change);
    tp_text_printable_cut(text, row->name, WIDTH);
    tp_text_add(text, "\n");
}

static void add_operators(const struct tp_compare_report *report,
                          struct tp_text *text)
{
    const struct tp_trace_comparison *comparison = report->comparison;
    const size_t count = comparison->ops.count;
    tp_text_add(text,
                "\nOperators, us a %s (all of them); largest change first\n"
                "  %12s %12s %12s %12s %12s %12s %9s %9s  %-9s  name\n",
                comparison->per, "self CPU +-", "before", "after",
                "self CUDA +-", "before", "after", "calls", "after", "calls");
    for (size_t i = 0; i < count && !(report->top && i == report->top); i++)
        add_row(&comparison->ops.rows[i], true, text);
    if (report->top && count > report->top)
        tp_text_add(text, "  ... and %zu more: --top N\n", count - report->top);
}

static void add_kernels(const struct tp_compare_report *report,
                        struct tp_text *text)
{
    const struct tp_trace_comparison *comparison = report->comparison;
    const size_t count = comparison->kernels.count;
    if (count == 0)
        return;
    tp_text_add(text,
                "\nDevice work, us a %s; largest change first\n"
                "  %12s %12s %12s %9s %9s  %-9s  name\n",
                comparison->per, "time +-", "before", "after", "runs", "after",
                "runs");
    for (size_t i = 0; i < count && !(report->top && i == report->top); i++)
        add_row(&comparison->kernels.rows[i], false, text);
    if (report->top && count > report->top)
        tp_text_add(text, "  ... and %zu more: --top N\n", count - report->top);
}

static void add_findings(const struct tp_compare_report *report,
                         struct tp_text *text)
{
    const struct tp_trace_changes *changes = report->changes;
    size_t counts[TP_SEVERITY_HIGH + 1] = {0};
    struct tp_report_told told = {.count = 0};
    for (size_t i = 0; i < changes->findings.count; i++)
        counts[changes->findings.rows[i].level]++;
    if (changes->findings.count)
        tp_report_finding_counts(counts, text);
    for (size_t i = 0; i < changes->findings.count; i++) {
        const struct tp_trace_change *row = &changes->findings.rows[i];
        tp_report_level(row->level, report->color, text);
        size_t from = text->length;
        tp_text_add(text, " %s: %s\n", row->rule->id, row->evidence);
        tp_text_wrap(text, from, 9, NULL);
        from = text->length;
        tp_text_add(text, "         -> %s\n", row->suggestion);
        tp_text_wrap(text, from, 12, NULL);
        tp_report_guide(&told, row->rule->guide, text);
    }
}

static bool has_device(const struct tp_compare_report *report)
{
    const struct tp_trace_run *const runs[] = {report->base, report->test};
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < runs[i]->trace_count; k++) {
            if (runs[i]->traces[k].facts.device_events)
                return true;
        }
    }
    return false;
}

void tp_compare_report_head(const struct tp_compare_report *report,
                            struct tp_text *change, struct tp_text *cause)
{
    tp_compare_why_head(report->comparison, has_device(report), change, cause);
}

void tp_compare_report_text(const struct tp_compare_report *report,
                            struct tp_text *text)
{
    add_side("Before", base_of(report), text);
    add_side("After ", test_of(report), text);
    tp_compare_why_text(report->comparison, has_device(report), report->top,
                        text);
    add_findings(report, text);
    add_steps(report->comparison, text);
    add_operators(report, text);
    add_kernels(report, text);
}

static void add_side_json(const char *name, struct side side,
                          struct tp_text *text)
{
    const struct tp_trace_verdict_info *info =
        &tp_trace_verdict_table[side.verdict->verdict];
    tp_text_add(text, " \"%s\": {\"path\": ", name);
    tp_text_json(text, side.path);
    tp_text_add(text,
                ", \"traces\": %zu, \"scenario\": \"%s\", \"verdict\": "
                "\"%s\"},\n",
                side.traces, side.verdict->scenario, info->id);
}

void tp_compare_report_json(const struct tp_compare_report *report,
                            struct tp_text *text)
{
    struct tp_table tables[TP_COMPARE_TABLES];
    tp_trace_compare_tables(report->comparison, tables);
    tp_text_add(text, "{\"schema_version\": %d,\n", TP_SCHEMA_VERSION);
    add_side_json("base", base_of(report), text);
    add_side_json("test", test_of(report), text);
    tp_text_add(text, " \"per\": \"%s\",\n ", report->comparison->per);
    const struct tp_table findings = tp_trace_changes_table(report->changes);
    tp_report_table_json(&findings, "findings", 0, SIZE_MAX, text);
    tp_text_add(text, ",\n ");
    tp_report_table_json(&tables[TP_COMPARE_WHY], "why", 0, SIZE_MAX, text);
    tp_text_add(text, ",\n ");
    tp_report_table_json(&tables[TP_COMPARE_STEPS], "steps", 0, SIZE_MAX, text);
    tp_text_add(text, ",\n ");
    tp_report_table_json(&tables[TP_COMPARE_OPS], "ops", 0, SIZE_MAX, text);
    tp_text_add(text, ",\n ");
    tp_report_table_json(&tables[TP_COMPARE_KERNELS], "kernels", 0, SIZE_MAX,
                         text);
    tp_text_add(text, "}\n");
}
