/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze trace --trace_dir DIR: from profiler traces to trace.h5,
 * trace_report.txt, trace_findings.json and figures, with the verdict on
 * stdout, and with --annotate to the trace with tracks; with --compare, to
 * trace_compare.h5, .txt, .json and figures.
 */
#include <string.h>

#include "cli/annotated.h"
#include "cli/frame.h"
#include "cli/scripts.h"
#include "config.h"
#include "figures/trace_compare_figures.h"
#include "figures/trace_figures.h"
#include "report/report_compare.h"
#include "report/report_ops.h"
#include "report/report_trace.h"
#include "report/report_trace_json.h"
#include "trace/trace_compare.h"
#include "trace/trace_compare_why.h"
#include "trace/trace_run.h"
#include "trace/trace_tables.h"
#include "verdict/trace_judge.h"
#include "verdict/trace_verdict.h"
#include "verdict/verdict_tables.h"

/* Operators in trace_report.txt, as key_averages().table() has. */
enum { TOP_IN_REPORT = 100 };

/* Everything one run of the command holds. */
struct session {
    struct tp_frame frame;
    struct tp_trace_limits limits;
    struct tp_roof_choice roofs;
    const char *sort; /* NULL: by device time, if there is any */
    struct tp_trace_run run;
    struct tp_trace_judged judged;
    struct tp_check scripts;   /* of --scripts */
    struct tp_trace_run after; /* --compare: `run` is before */
    struct tp_trace_judged judged_after;
    struct tp_trace_comparison comparison;
    struct tp_text change, cause; /* of the comparison, in short */
};

/* What the options mean; words that are not known are usage errors. */
static enum tp_status check(void *session, struct tp_error *err)
{
    struct session *s = session;
    const struct tp_options *options = s->frame.options;
    if (options->input_count == 0)
        return tp_fail(err, TP_E_USAGE, -1,
                       "nothing to read: name a trace, or a directory with "
                       "traces");
    if (!options->compare && options->input_count == 3 &&
        !strcmp(options->inputs[0], "compare"))
        return tp_fail(err, TP_E_USAGE, -1,
                       "two traces are compared by: trace --compare %s %s",
                       options->inputs[1], options->inputs[2]);
    if (options->compare && options->input_count != 2)
        return tp_fail(err, TP_E_USAGE, -1,
                       "--compare takes two paths, before and after, not %zu",
                       options->input_count);
    if (options->compare && (options->fail_on || options->scripts))
        return tp_fail(err, TP_E_USAGE, -1,
                       "--compare has no findings: no --fail_on or --scripts");
    s->limits = tp_trace_limits_default();
    enum tp_status status = tp_annotated_check(options, err);
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

static enum tp_status collect(struct session *s, const char *const *roots,
                              size_t count, struct tp_trace_run *run,
                              struct tp_error *err)
{
    struct tp_progress progress;
    tp_progress_start(&progress, "files", s->frame.options);
    const struct tp_trace_options how = {
        .roots = roots,
        .root_count = count,
        .progress = tp_progress_update,
        .progress_context = &progress,
        .stop = &tp_interrupted,
        .roofs = s->roofs,
        .compared = s->frame.options->compare,
        .annotated = s->frame.options->annotate != NULL,
        .group_by = {s->frame.options->group_by,
                     (size_t)s->frame.options->stack_depth},
        .is_frame = s->frame.options->scripts ? tp_scripts_is_frame : NULL,
        .frame_context = &s->scripts};
    enum tp_status status = tp_trace_collect(s->frame.pool, &how, run, err);
    tp_progress_end(&progress);
    for (size_t i = 0; i < run->skipped.count; i++)
        s->frame.damaged |= run->skipped.rows[i].damage;
    return status;
}

/* Without device times, operators are ordered by what the host spent. */
static const char *sort_of(const struct session *s)
{
    if (s->sort)
        return s->sort;
    for (size_t i = 0; i < s->run.trace_count; i++) {
        if (s->run.traces[i].facts.device_events)
            return tp_trace_sort_column("self_cuda_time_total");
    }
    return tp_trace_sort_column("self_cpu_time_total");
}

static struct tp_trace_report report_of(const struct session *s, size_t top)
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

static enum tp_status write_results(void *session, struct tp_error *err)
{
    struct session *s = session;
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

static enum tp_status draw(void *session, struct tp_error *err)
{
    struct session *s = session;
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

/* Says what was looked for and what was there instead. */
static enum tp_status nothing_found(const struct session *s,
                                    const struct tp_trace_run *run,
                                    const char *where, struct tp_error *err)
{
    for (size_t i = 0; i < run->skipped.count && i < TP_MOST_ON_STDOUT; i++) {
        const struct tp_trace_skipped *skipped = &run->skipped.rows[i];
        struct tp_text text = {0};
        tp_text_printable(&text, skipped->file);
        tp_text_add(&text, "%s", *skipped->file ? ": " : "");
        tp_text_printable(&text, skipped->reason);
        tp_print_warning(s->frame.options, "%s", tp_text_get(&text));
        tp_text_clear(&text);
    }
    return tp_fail(err, TP_E_NOT_FOUND, -1,
                   "no trace found in %s: looked for files that end in "
                   ".json, .json.gz or .json.tmp and hold traceEvents, as "
                   "tensorboard_trace_handler writes them (%zu files seen, "
                   "%zu could not be used)",
                   where, run->files.count, run->skipped.count);
}

static enum tp_status read_traces(void *session, struct tp_error *err)
{
    struct session *s = session;
    const struct tp_options *options = s->frame.options;
    enum tp_status status =
        tp_scripts_read(options, s->frame.pool, &s->scripts, err);
    if (status == TP_OK)
        status =
            collect(s, options->inputs, options->input_count, &s->run, err);
    if (status == TP_OK && s->run.trace_count == 0)
        status = nothing_found(s, &s->run, options->inputs[0], err);
    if (status == TP_OK)
        status = tp_annotated_plan(options, &s->run, err);
    if (status == TP_OK)
        status = tp_trace_judge(&s->run, &s->limits, &s->judged, err);
    if (status == TP_OK)
        status =
            tp_scripts_explain_trace(&s->scripts, &s->run, &s->judged, err);
    s->frame.worst = tp_trace_judged_worst(&s->judged);
    s->frame.verdict = tp_trace_verdict_table[s->judged.verdict.verdict].id;
    s->frame.sentence = s->judged.verdict.sentence;
    return status;
}

/* Reads both sides and holds them against each other. */
static enum tp_status compare(void *session, struct tp_error *err)
{
    struct session *s = session;
    const struct tp_options *options = s->frame.options;
    struct tp_trace_run *const runs[] = {&s->run, &s->after};
    struct tp_trace_judged *const judged[] = {&s->judged, &s->judged_after};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < 2 && status == TP_OK; i++) {
        status = collect(s, &options->inputs[i], 1, runs[i], err);
        if (status == TP_OK && runs[i]->trace_count == 0)
            status = nothing_found(s, runs[i], options->inputs[i], err);
        if (status == TP_OK)
            status = tp_trace_judge(runs[i], &s->limits, judged[i], err);
    }
    if (status == TP_OK)
        status = tp_trace_compare(&s->run, &s->after, &s->comparison, err);
    if (status == TP_OK)
        status =
            tp_trace_compare_why(&s->run, &s->after, &s->comparison, err);
    return status;
}

static enum tp_status write_comparison(void *session, struct tp_error *err)
{
    struct session *s = session;
    struct tp_table tables[TP_COMPARE_TABLES];
    for (const struct tp_trace_compare_figure_info *row =
             tp_trace_compare_figure_table;
         row->id; row++)
        tp_output_replace_figure(&s->frame.replaced, TP_TRACE_COMPARE_CATEGORY,
                                 row->id);
    tp_trace_compare_tables(&s->comparison, tables);
    return tp_frame_hdf5(&s->frame, tables, TP_COMPARE_TABLES,
                         s->run.trace_count + s->after.trace_count,
                         s->run.bytes_read + s->after.bytes_read, err);
}

static enum tp_status draw_comparison(void *session, struct tp_error *err)
{
    struct session *s = session;
    enum tp_status status = tp_trace_compare_figures_build(
        &s->comparison, &s->frame.figures, err);
    if (status != TP_OK)
        return status;
    return tp_output_draw(s->frame.options, &s->frame.figures, &s->run.arena,
                          &s->frame.drawn, err);
}

static struct tp_compare_report comparison_of(const struct session *s)
{
    return (struct tp_compare_report){
        .comparison = &s->comparison,
        .base = &s->run,
        .test = &s->after,
        .base_verdict = &s->judged.verdict,
        .test_verdict = &s->judged_after.verdict,
        .base_path = s->frame.options->inputs[0],
        .test_path = s->frame.options->inputs[1],
        .top = s->frame.options->verbose ? 0 : (size_t)s->frame.options->top};
}

/* What the comparison comes to, for the head of its page. */
static enum tp_status tell_change(void *session, struct tp_error *err)
{
    struct session *s = session;
    const struct tp_compare_report report = comparison_of(s);
    tp_compare_report_head(&report, &s->change, &s->cause);
    if (s->change.length) {
        s->frame.verdict = tp_text_get(&s->change);
        s->frame.sentence = tp_text_get(&s->cause);
    }
    return s->change.failed || s->cause.failed ? tp_fail_memory(err) : TP_OK;
}

static void add_comparison(const void *session,
                           const struct tp_report_style *style,
                           struct tp_text *text)
{
    struct tp_compare_report report = comparison_of(session);
    if (style->file && report.top)
        report.top = TOP_IN_REPORT;
    tp_compare_report_text(&report, text);
}

static void add_comparison_json(const void *session, struct tp_text *text)
{
    const struct tp_compare_report report = comparison_of(session);
    tp_compare_report_json(&report, text);
}

static enum tp_status write_annotated(const void *session,
                                      struct tp_error *err)
{
    const struct session *s = session;
    return tp_annotated_write(s->frame.options, &s->run, &s->judged, err);
}

static void add_text(const void *session, const struct tp_report_style *style,
                     struct tp_text *text)
{
    const struct session *s = session;
    const size_t top = (size_t)s->frame.options->top;
    const struct tp_trace_report report =
        report_of(s, style->file && top < TOP_IN_REPORT ? TOP_IN_REPORT : top);
    tp_trace_report_text(&report, style->most, style->color, text);
}

static void add_json(const void *session, struct tp_text *text)
{
    const struct session *s = session;
    const struct tp_trace_report report = report_of(s, s->frame.options->top);
    tp_trace_report_json(&report, text);
}

static void add_findings(const void *session, struct tp_text *text)
{
    const struct session *s = session;
    const struct tp_trace_report report = report_of(s, s->frame.options->top);
    tp_trace_findings_json(&report, text);
}

static bool lost(const void *session)
{
    const struct session *s = session;
    return tp_trace_run_lost(&s->run) || tp_trace_run_lost(&s->after) ||
           tp_trace_judged_lost(&s->judged) ||
           tp_trace_judged_lost(&s->judged_after);
}

static void clear(void *session)
{
    struct session *s = session;
    tp_trace_comparison_clear(&s->comparison);
    tp_text_clear(&s->change);
    tp_text_clear(&s->cause);
    tp_check_clear(&s->scripts);
    tp_trace_judged_clear(&s->judged);
    tp_trace_judged_clear(&s->judged_after);
    tp_trace_run_clear(&s->run);
    tp_trace_run_clear(&s->after);
}

int tp_cmd_trace(const struct tp_options *options, int argc, char **argv)
{
    static const struct tp_frame_steps one = {
        .title = "traces",
        .hdf5 = "trace.h5",
        .findings = "trace_findings.json",
        .report = "trace_report.txt",
        .check = check,
        .read = read_traces,
        .write = write_results,
        .draw = draw,
        .elsewhere = write_annotated,
        .text = add_text,
        .json = add_json,
        .findings_json = add_findings,
        .lost = lost,
        .clear = clear,
    };
    static const struct tp_frame_steps two = {
        .title = "a comparison of traces",
        .hdf5 = "trace_compare.h5",
        .findings = "trace_compare.json",
        .report = "trace_compare.txt",
        .check = check,
        .read = compare,
        .judge = tell_change,
        .write = write_comparison,
        .draw = draw_comparison,
        .text = add_comparison,
        .json = add_comparison_json,
        .lost = lost,
        .clear = clear,
    };
    struct session s = {.frame = {.options = options}};
    return tp_frame_run(options->compare ? &two : &one, &s, argc, argv);
}
