/* SPDX-License-Identifier: MIT */
#include "cli/trace_session.h"

#include <string.h>

#include "config.h"
#include "figures/trace_figures.h"
#include "report/report_ops.h"
#include "report/report_trace.h"
#include "report/report_trace_json.h"
#include "trace/trace_tables.h"
#include "verdict/trace_judge.h"
#include "verdict/trace_verdict.h"
#include "verdict/verdict_tables.h"

/* Operators in trace_report.txt, as key_averages().table() has. */
enum { TOP_IN_REPORT = 100 };

enum tp_status tp_trace_plan(struct tp_trace_session *s, struct tp_error *err)
{
    const struct tp_options *options = s->frame.options;
    s->limits = tp_trace_limits_default();
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < options->thresholds.count && status == TP_OK; i++)
        status =
            tp_trace_limits_set(&s->limits, options->thresholds.texts[i], err);
    if (status == TP_OK && options->gpu)
        status = tp_roof_choose(&s->roofs, options->gpu, err);
    for (size_t i = 0; i < options->peaks.count && status == TP_OK; i++)
        status = tp_roof_set(&s->roofs, options->peaks.texts[i], err);
    if (status != TP_OK || !options->sort)
        return status;
    s->sort = tp_trace_sort_column(options->sort);
    if (s->sort)
        return TP_OK;
    struct tp_text names = {0};
    for (const char *const *name = tp_trace_sort_columns; *name; name++)
        tp_text_add(&names, " %s", *name);
    status = tp_fail(err, TP_E_USAGE, -1,
                     "--sort: no column \"%s\"; there "
                     "are:%s",
                     options->sort, tp_text_get(&names));
    tp_text_clear(&names);
    return status;
}

/* Without device times, operators are ordered by what the host spent. */
static const char *sort_of(const struct tp_trace_session *s)
{
    if (s->sort)
        return s->sort;
    for (size_t i = 0; i < s->run.trace_count; i++) {
        if (s->run.traces[i].facts.device_events)
            return tp_trace_sort_column("self_cuda_time_total");
    }
    return tp_trace_sort_column("self_cpu_time_total");
}

static struct tp_trace_report report_of(const struct tp_trace_session *s,
                                        size_t top)
{
    return (struct tp_trace_report){.run = &s->run,
                                    .judged = &s->judged,
                                    .figures = s->frame.drawn.lines,
                                    .figure_count = s->frame.drawn.count,
                                    .tool_version = PACKAGE_VERSION,
                                    .output_dir = s->frame.options->output_dir,
                                    .inputs = s->frame.options->inputs,
                                    .input_count =
                                        s->frame.options->input_count,
                                    .top = top,
                                    .sort = sort_of(s)};
}

static void replace_figures(struct tp_text *names)
{
    for (const struct tp_trace_figure_info *row = tp_trace_figure_table;
         row->id; row++)
        tp_output_replace_figure(names, TP_TRACE_FIGURE_CATEGORY, row->id);
}

enum tp_status tp_trace_write(void *session, struct tp_error *err)
{
    struct tp_trace_session *s = session;
    struct tp_trace_tables traces;
    struct tp_table tables[TP_TRACE_TABLES + TP_JUDGED_TABLES];
    const size_t judged =
        s->run.trace_count > 1 ? TP_JUDGED_TABLES : TP_JUDGED_OF_ONE;
    replace_figures(&s->frame.replaced);
    tp_trace_tables_make(&s->run, &traces);
    memcpy(tables, traces.tables, TP_TRACE_JOINED * sizeof *tables);
    tp_judged_tables_make(&s->judged, tables + TP_TRACE_JOINED);
    tables[TP_TRACE_JOINED + judged] = traces.tables[TP_TRACE_SKIPPED];
    return tp_frame_hdf5(&s->frame, tables, TP_TRACE_JOINED + judged + 1,
                         s->run.trace_count, s->run.bytes_read, err);
}

enum tp_status tp_trace_draw(void *session, struct tp_error *err)
{
    struct tp_trace_session *s = session;
    enum tp_status status =
        tp_trace_figures_build(&s->run, &s->frame.figures, err);
    if (status != TP_OK)
        return status;
    status = tp_output_draw(s->frame.options, &s->frame.figures, &s->run.arena,
                            &s->frame.drawn, err);
    if (s->frame.drawn.warning[0])
        tp_judge_note(&s->judged, "%s", s->frame.drawn.warning);
    return status;
}

void tp_trace_sum_up(struct tp_trace_session *s)
{
    s->frame.worst = tp_trace_judged_worst(&s->judged);
    s->frame.verdict = tp_trace_verdict_table[s->judged.verdict.verdict].id;
    s->frame.sentence = s->judged.verdict.sentence;
}

void tp_trace_see_damage(struct tp_trace_session *s,
                         const struct tp_trace_run *run)
{
    for (size_t i = 0; i < run->skipped.count; i++)
        s->frame.damaged |= run->skipped.rows[i].damage;
}

void tp_trace_text(const void *session, const struct tp_report_style *style,
                   struct tp_text *text)
{
    const struct tp_trace_session *s = session;
    const size_t top = (size_t)s->frame.options->top;
    const struct tp_trace_report report =
        report_of(s, style->file && top < TOP_IN_REPORT ? TOP_IN_REPORT : top);
    tp_trace_report_text(&report, style->most, style->color, text);
    if (!style->file)
        tp_kept_traces_text(&s->kept, text);
}

void tp_trace_json(const void *session, struct tp_text *text)
{
    const struct tp_trace_session *s = session;
    const struct tp_trace_report report = report_of(s, s->frame.options->top);
    tp_trace_report_json(&report, text);
}

void tp_trace_findings(const void *session, struct tp_text *text)
{
    const struct tp_trace_session *s = session;
    const struct tp_trace_report report = report_of(s, s->frame.options->top);
    tp_trace_findings_json(&report, text);
}

bool tp_trace_lost(const void *session)
{
    const struct tp_trace_session *s = session;
    return tp_trace_run_lost(&s->run) || tp_trace_judged_lost(&s->judged);
}

void tp_trace_session_clear(void *session)
{
    struct tp_trace_session *s = session;
    tp_check_clear(&s->scripts);
    tp_trace_judged_clear(&s->judged);
    tp_kept_traces_clear(&s->kept);
    tp_trace_run_clear(&s->run);
}
