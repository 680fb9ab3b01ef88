/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze trace --trace_dir DIR: from profiler traces to trace.h5,
 * trace_report.txt, trace_findings.json and figures, with the verdict on
 * stdout, and with --annotate to the trace with tracks; with --compare, to
 * trace_compare.h5, .txt, .json and figures.
 */
#include <string.h>

#include "cli/annotated.h"
#include "cli/journal.h"
#include "cli/scripts.h"
#include "cli/targets.h"
#include "cli/trace_session.h"
#include "figures/trace_compare_figures.h"
#include "report/report_compare.h"
#include "state/trace_gather.h"
#include "trace/trace_compare.h"
#include "trace/trace_compare_names.h"
#include "trace/trace_compare_why.h"
#include "verdict/trace_change.h"
#include "verdict/trace_judge.h"

/* Operators in trace_compare.txt. */
enum { TOP_IN_REPORT = 100 };

/* A comparison: of the run of the session, which is before, and another. */
struct session {
    struct tp_trace_session one;
    struct tp_trace_run after;
    struct tp_trace_judged judged_after;
    struct tp_trace_comparison comparison;
    struct tp_trace_changes changes;
    struct tp_text change, cause; /* of the comparison, in short */
};

/* What a state does not keep is not for a run that has one. */
static enum tp_status check_state(const struct tp_options *options,
                                  struct tp_error *err)
{
    const char *other = options->compare    ? "compare"
                        : options->annotate ? "annotate"
                        : options->scripts  ? "scripts"
                                            : NULL;
    if (!options->state || !other)
        return TP_OK;
    return tp_fail(err, TP_E_USAGE, -1,
                   "--state keeps nothing that --%s needs: give one of them",
                   other);
}

/* What the options mean; words that are not known are usage errors. */
static enum tp_status check(void *session, struct tp_error *err)
{
    struct tp_trace_session *s = session;
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
    if (options->compare && options->scripts)
        return tp_fail(err, TP_E_USAGE, -1,
                       "--compare has no findings that scripts explain: no "
                       "--scripts");
    enum tp_status status = tp_annotated_check(options, err);
    if (status == TP_OK)
        status = check_state(options, err);
    return status == TP_OK ? tp_trace_plan(s, err) : status;
}

/* What the processes of a world need to read together. */
struct team {
    struct tp_journal journal;
    struct tp_trace_team how;
};

static void team_reading(void *context, const char *path, unsigned worker)
{
    struct team *team = context;
    tp_journal_reading(&team->journal, path, worker);
}

static enum tp_status team_gather(void *context,
                                  struct tp_trace_records *records,
                                  struct tp_error *err)
{
    const struct team *team = context;
    return tp_trace_gather(team->how.world, records, err);
}

static void team_open(struct team *team, const struct tp_options *options)
{
    *team =
        (struct team){.how = {options->world, team_reading, team_gather, team}};
    if (options->world)
        tp_journal_open(&team->journal, options);
}

static enum tp_status collect(struct tp_trace_session *s,
                              const char *const *roots, size_t count,
                              struct tp_trace_run *run, struct tp_error *err)
{
    const struct tp_options *options = s->frame.options;
    struct tp_progress progress;
    struct team team;
    tp_progress_start(&progress, "files", options);
    team_open(&team, options);
    struct tp_trace_options how = {
        .roots = roots,
        .root_count = count,
        .progress = tp_progress_update,
        .progress_context = &progress,
        .stop = &tp_interrupted,
        .roofs = s->roofs,
        .compared = options->compare,
        .annotated = options->annotate != NULL,
        .group_by = {options->group_by, (size_t)options->stack_depth},
        .is_frame = options->scripts ? tp_scripts_is_frame : NULL,
        .frame_context = &s->scripts,
        .team = options->world ? &team.how : NULL};
    enum tp_status status = TP_OK;
    if (options->state) {
        status = tp_kept_traces_open(options, run, &s->kept, err);
        how.keeper = &s->kept.keeper;
    }
    if (status == TP_OK)
        status = tp_trace_collect(s->frame.pool, &how, run, err);
    tp_journal_close(&team.journal);
    tp_progress_end(&progress);
    tp_trace_see_damage(s, run);
    return status;
}

/* Files that could not be used; one may have several rows, which follow each
 * other. */
static size_t skipped_files(const struct tp_trace_run *run)
{
    const struct tp_trace_skipped *rows = run->skipped.rows;
    size_t files = 0;
    for (size_t i = 0; i < run->skipped.count; i++)
        files += i == 0 || !*rows[i].file ||
                 strcmp(rows[i].file, rows[i - 1].file) != 0;
    return files;
}

/* Says what was looked for and what was there instead. */
static enum tp_status nothing_found(const struct tp_trace_session *s,
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
    tp_kept_traces_failed(&s->kept, TP_E_NOT_FOUND);
    return tp_fail(err, TP_E_NOT_FOUND, -1,
                   "no trace found in %s: looked for files that end in "
                   ".json, .json.gz or .json.tmp and hold traceEvents, as "
                   "tensorboard_trace_handler writes them (%zu file%s seen, "
                   "%zu could not be used)",
                   where, run->files.count, run->files.count == 1 ? "" : "s",
                   skipped_files(run));
}

static enum tp_status read_traces(void *session, struct tp_error *err)
{
    struct tp_trace_session *s = session;
    const struct tp_options *options = s->frame.options;
    enum tp_status status =
        tp_scripts_read(options, s->frame.pool, &s->scripts, err);
    if (status == TP_OK)
        status =
            collect(s, options->inputs, options->input_count, &s->run, err);
    if (status == TP_E_INTERRUPTED)
        tp_kept_traces_failed(&s->kept, status);
    if (options->world && options->world->rank > 0)
        return status;
    if (status == TP_OK && s->run.trace_count == 0)
        status = nothing_found(s, &s->run, options->inputs[0], err);
    if (status == TP_OK)
        status = tp_annotated_plan(options, &s->run, err);
    if (status == TP_OK)
        status = tp_targets_check_traces("--output_json", options->output_json,
                                         &s->run, err);
    if (status == TP_OK)
        status = tp_trace_judge(&s->run, &s->limits, &s->judged, err);
    if (status == TP_OK)
        status =
            tp_scripts_explain_trace(&s->scripts, &s->run, &s->judged, err);
    tp_trace_sum_up(s);
    return status;
}

/* Reads both sides and holds them against each other. */
static enum tp_status compare(void *session, struct tp_error *err)
{
    struct session *s = session;
    const struct tp_options *options = s->one.frame.options;
    struct tp_trace_run *const runs[] = {&s->one.run, &s->after};
    struct tp_trace_judged *const judged[] = {&s->one.judged, &s->judged_after};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < 2 && status == TP_OK; i++) {
        status = collect(&s->one, &options->inputs[i], 1, runs[i], err);
        if (status == TP_OK && runs[i]->trace_count == 0)
            status = nothing_found(&s->one, runs[i], options->inputs[i], err);
        if (status == TP_OK)
            status = tp_trace_judge(runs[i], &s->one.limits, judged[i], err);
    }
    if (status == TP_OK)
        status = tp_trace_compare(&s->one.run, &s->after, &s->comparison, err);
    if (status == TP_OK)
        status =
            tp_trace_compare_why(&s->one.run, &s->after, &s->comparison, err);
    if (status == TP_OK)
        status =
            tp_trace_compare_names(&s->one.run, &s->after, &s->comparison, err);
    if (status == TP_OK)
        status = tp_trace_changes_make(&s->one.run, &s->after, &s->comparison,
                                       &s->changes, err);
    s->one.frame.worst = tp_trace_changes_worst(&s->changes);
    return status;
}

static enum tp_status write_comparison(void *session, struct tp_error *err)
{
    struct session *s = session;
    struct tp_table tables[TP_COMPARE_TABLES + 1];
    for (const struct tp_trace_compare_figure_info *row =
             tp_trace_compare_figure_table;
         row->id; row++)
        tp_output_replace_figure(&s->one.frame.replaced,
                                 TP_TRACE_COMPARE_CATEGORY, row->id);
    tp_trace_compare_tables(&s->comparison, tables);
    tables[TP_COMPARE_TABLES] = tp_trace_changes_table(&s->changes);
    return tp_frame_hdf5(&s->one.frame, tables, TP_COMPARE_TABLES + 1,
                         s->one.run.trace_count + s->after.trace_count,
                         s->one.run.bytes_read + s->after.bytes_read, err);
}

static enum tp_status draw_comparison(void *session, struct tp_error *err)
{
    struct session *s = session;
    enum tp_status status = tp_trace_compare_figures_build(
        &s->comparison, &s->one.frame.figures, err);
    if (status != TP_OK)
        return status;
    return tp_output_draw(s->one.frame.options, &s->one.frame.figures,
                          &s->one.run.arena, &s->one.frame.drawn, err);
}

static struct tp_compare_report comparison_of(const struct session *s)
{
    return (struct tp_compare_report){
        .comparison = &s->comparison,
        .changes = &s->changes,
        .base = &s->one.run,
        .test = &s->after,
        .base_verdict = &s->one.judged.verdict,
        .test_verdict = &s->judged_after.verdict,
        .base_path = s->one.frame.options->inputs[0],
        .test_path = s->one.frame.options->inputs[1],
        .top = s->one.frame.options->verbose
                   ? 0
                   : (size_t)s->one.frame.options->top};
}

/* What the comparison comes to, for the head of its page. */
static enum tp_status tell_change(void *session, struct tp_error *err)
{
    struct session *s = session;
    const struct tp_compare_report report = comparison_of(s);
    tp_compare_report_head(&report, &s->change, &s->cause);
    if (*s->changes.scatter)
        tp_text_add(&s->cause, "; %s", s->changes.scatter);
    if (s->change.length) {
        s->one.frame.verdict = tp_text_get(&s->change);
        s->one.frame.sentence = tp_text_get(&s->cause);
    }
    return s->change.failed || s->cause.failed ? tp_fail_memory(err) : TP_OK;
}

static void add_comparison(const void *session,
                           const struct tp_report_style *style,
                           struct tp_text *text)
{
    struct tp_compare_report report = comparison_of(session);
    report.color = style->color;
    if (style->file && report.top)
        report.top = TOP_IN_REPORT;
    tp_compare_report_text(&report, text);
}

static void add_comparison_json(const void *session, struct tp_text *text)
{
    const struct tp_compare_report report = comparison_of(session);
    tp_compare_report_json(&report, text);
}

static enum tp_status write_annotated(const void *session, struct tp_error *err)
{
    const struct tp_trace_session *s = session;
    return tp_annotated_write(s->frame.options, &s->run, &s->judged, err);
}

static bool lost_comparison(const void *session)
{
    const struct session *s = session;
    return tp_trace_lost(&s->one) || tp_trace_run_lost(&s->after) ||
           tp_trace_judged_lost(&s->judged_after);
}

static void clear_comparison(void *session)
{
    struct session *s = session;
    tp_trace_comparison_clear(&s->comparison);
    tp_trace_changes_clear(&s->changes);
    tp_trace_session_clear(&s->one);
    tp_text_clear(&s->change);
    tp_text_clear(&s->cause);
    tp_trace_judged_clear(&s->judged_after);
    tp_trace_run_clear(&s->after);
}

int tp_cmd_trace(const struct tp_options *options, int argc, char **argv)
{
    static const struct tp_frame_steps one = {
        .title = "traces",
        .hdf5 = "trace.h5",
        .beside = true,
        .findings = "trace_findings.json",
        .report = "trace_report.txt",
        .check = check,
        .read = read_traces,
        .write = tp_trace_write,
        .draw = tp_trace_draw,
        .elsewhere = write_annotated,
        .text = tp_trace_text,
        .json = tp_trace_json,
        .findings_json = tp_trace_findings,
        .lost = tp_trace_lost,
        .clear = tp_trace_session_clear,
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
        .lost = lost_comparison,
        .clear = clear_comparison,
    };
    struct session s = {.one = {.frame = {.options = options}}};
    return tp_frame_run(options->compare ? &two : &one, &s, argc, argv);
}
