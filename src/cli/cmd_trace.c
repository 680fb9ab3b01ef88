/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze trace --trace_dir DIR: from profiler traces to trace.h5,
 * trace_report.txt, trace_findings.json and figures, with the verdict on
 * stdout.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/pool.h"
#include "base/text_wrap.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "config.h"
#include "figures/trace_figures.h"
#include "report/hdf5.h"
#include "report/report_compare.h"
#include "report/report_ops.h"
#include "report/report_trace.h"
#include "report/report_trace_json.h"
#include "trace/trace_compare.h"
#include "trace/trace_run.h"
#include "trace/trace_tables.h"
#include "verdict/trace_judge.h"
#include "verdict/verdict_tables.h"

enum {
    MOST_ON_STDOUT = 10, /* steps, ranks and traces; the report holds all   */
    TOP_IN_REPORT = 100  /* operators, as key_averages().table() has        */
};

/* Everything one run of the command holds. */
struct session {
    const struct tp_options *options;
    struct tp_text command_line;
    struct tp_pool *pool;
    struct tp_trace_limits limits;
    const char *sort; /* NULL: by device time, if there is any */
    struct tp_trace_run run;
    struct tp_trace_judged judged;
    struct tp_trace_run after; /* --compare: `run` is before */
    struct tp_trace_judged judged_after;
    struct tp_trace_comparison comparison;
    struct tp_figure_set figures;
    struct tp_report_figure *figure_lines;
    size_t figure_count;
};

/* What the options mean; words that are not known are usage errors. */
static enum tp_status check(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->options;
    if (options->input_count == 0)
        return tp_fail(err, TP_E_USAGE, -1,
                       "nothing to read: name a trace, or a directory with "
                       "traces");
    if (options->compare && options->input_count != 2)
        return tp_fail(err, TP_E_USAGE, -1,
                       "--compare takes two paths, before and after, not %zu",
                       options->input_count);
    if (options->compare &&
        (options->output_json || options->fail_on))
        return tp_fail(err, TP_E_USAGE, -1,
                       "--compare writes no file and has no findings: use "
                       "--format json instead of --output_json, and no "
                       "--fail_on");
    s->limits = tp_trace_limits_default();
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < options->threshold_count && status == TP_OK; i++)
        status = tp_trace_limits_set(&s->limits, options->thresholds[i], err);
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
    tp_progress_start(&progress, "files", s->options);
    const struct tp_trace_options how = {.roots = roots,
                                         .root_count = count,
                                         .progress = tp_progress_update,
                                         .progress_context = &progress,
                                         .stop = &tp_interrupted};
    enum tp_status status = tp_trace_collect(s->pool, &how, run, err);
    tp_progress_end(&progress);
    return status;
}

static enum tp_status write_hdf5(struct session *s, struct tp_error *err)
{
    struct tp_trace_tables traces;
    struct tp_table tables[TP_TRACE_TABLES + TP_JUDGED_TABLES];
    tp_trace_tables_make(&s->run, &traces);
    memcpy(tables, traces.tables, TP_TRACE_JOINED * sizeof *tables);
    tp_judged_tables_make(&s->judged, tables + TP_TRACE_JOINED);
    tables[TP_TRACE_JOINED + TP_JUDGED_TABLES] =
        traces.tables[TP_TRACE_SKIPPED];
    const struct tp_hdf5_header header = {
        PACKAGE_VERSION, tp_text_get(&s->command_line), s->run.trace_count,
        s->run.bytes_read};
    char *path = tp_file_join(s->options->output_dir, "trace.h5");
    if (!path)
        return tp_fail_memory(err);
    enum tp_status status =
        tp_hdf5_write(
        path, &header, tables, sizeof tables / sizeof *tables, err);
    free(path);
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
                                    .figures = s->figure_lines,
                                    .figure_count = s->figure_count,
                                    .tool_version = PACKAGE_VERSION,
                                    .output_dir = s->options->output_dir,
                                    .inputs = s->options->inputs,
                                    .input_count = s->options->input_count,
                                    .top = top,
                                    .sort = sort_of(s)};
}

static enum tp_status write_reports(const struct session *s,
                                    struct tp_error *err)
{
    const size_t top =
        s->options->top > TOP_IN_REPORT ? s->options->top : TOP_IN_REPORT;
    const struct tp_trace_report full = report_of(s, top);
    const struct tp_trace_report report = report_of(s, s->options->top);
    struct tp_text text = {.columns = TP_TEXT_COLUMNS}, findings = {0},
                   json = {0};
    tp_trace_report_text(&full, 0, false, &text);
    tp_trace_findings_json(&report, &findings);
    enum tp_status status =
        tp_output_write(s->options, "trace_findings.json", &findings, err);
    if (status == TP_OK && s->options->output_json) {
        tp_trace_report_json(&report, &json);
        status = json.failed
                     ? tp_fail_memory(err)
                     : tp_file_write(s->options->output_json,
                                     tp_text_get(&json), json.length, err);
    }
    if (status == TP_OK) /* last: it says that the others are there */
        status = tp_output_write(s->options, "trace_report.txt", &text, err);
    tp_text_clear(&text);
    tp_text_clear(&findings);
    tp_text_clear(&json);
    return status;
}

static enum tp_status draw(struct session *s, struct tp_error *err)
{
    if (s->options->no_plots)
        return TP_OK;
    enum tp_status status = tp_trace_figures_build(&s->run, &s->figures, err);
    if (status != TP_OK)
        return status;
    struct tp_drawn drawn;
    status =
        tp_output_draw(s->options, &s->figures, &s->run.arena, &drawn, err);
    if (drawn.warning[0])
        tp_judge_note(&s->judged, "%s", drawn.warning);
    s->figure_lines = drawn.lines;
    s->figure_count = drawn.count;
    return status;
}

/* Results of an earlier run in this folder go first, so that what is there
 * after an interruption is of one run. */
static void remove_old_results(const struct session *s)
{
    tp_output_remove(s->options, "trace.h5");
    tp_output_remove(s->options, "trace_report.txt");
    tp_output_remove(s->options, "trace_findings.json");
    for (const struct tp_trace_figure_info *row = tp_trace_figure_table;
         row->id; row++)
        tp_output_remove_figure(s->options, TP_TRACE_FIGURE_CATEGORY, row->id);
}

/* The run is there: everything that follows from it. */
static enum tp_status write_results(struct session *s, struct tp_error *err)
{
    remove_old_results(s);
    enum tp_status status = write_hdf5(s, err);
    if (status != TP_OK)
        return status;
    if (!tp_interrupted)
        status = draw(s, err);
    if (status == TP_OK && tp_interrupted)
        status = tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    if (status != TP_OK && status != TP_E_IO)
        return status;
    /* of a disk too full for the rest they are worth most, and small */
    enum tp_status reported = write_reports(s, status == TP_OK ? err : NULL);
    return status == TP_OK ? reported : status;
}

/* Says what was looked for and what was there instead. */
static enum tp_status nothing_found(const struct session *s,
                                    const struct tp_trace_run *run,
                                    const char *where, struct tp_error *err)
{
    for (size_t i = 0; i < run->skipped.count && i < MOST_ON_STDOUT; i++) {
        const struct tp_trace_skipped *skipped = &run->skipped.rows[i];
        struct tp_text text = {0};
        tp_text_printable(&text, skipped->file);
        tp_text_add(&text, "%s", *skipped->file ? ": " : "");
        tp_text_printable(&text, skipped->reason);
        tp_print_warning(s->options, "%s", tp_text_get(&text));
        tp_text_clear(&text);
    }
    return tp_fail(err, TP_E_NOT_FOUND, -1,
                   "no trace found in %s: looked for files that end in "
                   ".json, .json.gz or .json.tmp and hold traceEvents, as "
                   "tensorboard_trace_handler writes them (%zu files seen, "
                   "%zu could not be used)",
                   where, run->files.count, run->skipped.count);
}

/* Makes the folder of --output_json before the work, as that of the other
 * results; *made is its name where it was not there, to be freed. */
static enum tp_status prepare_json(const char *path, char **made,
                                   struct tp_error *err)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    *made = NULL;
    if (!slash || slash == path)
        return TP_OK;
    char *folder = strndup(path, (size_t)(slash - path));
    if (!folder)
        return tp_fail_memory(err);
    const bool existed = access(folder, F_OK) == 0;
    const enum tp_status status = tp_file_make_directories(folder, err);
    if (status == TP_OK && !existed)
        *made = folder;
    else
        free(folder);
    return status;
}

static enum tp_status analyse(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->options;
    bool existed;
    char *made = NULL;
    enum tp_status status = tp_output_prepare(options, &existed, err);
    if (status == TP_OK)
        status = prepare_json(options->output_json, &made, err);
    if (status == TP_OK)
        status = tp_pool_new(tp_options_jobs(options), &s->pool, err);
    if (status == TP_OK)
        status =
            collect(s, options->inputs, options->input_count, &s->run, err);
    if (status == TP_OK && s->run.trace_count == 0)
        status = nothing_found(s, &s->run, options->inputs[0], err);
    else if (status == TP_OK)
        status = tp_trace_judge(&s->run, &s->limits, &s->judged, err);
    if (status == TP_OK) {
        status = write_results(s, err);
    } else { /* ours, and empty */
        if (made)
            rmdir(made);
        if (!existed)
            rmdir(options->output_dir);
    }
    free(made);
    return status;
}

/* Reads both sides and holds them against each other. */
static enum tp_status compare(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->options;
    struct tp_trace_run *const runs[] = {&s->run, &s->after};
    struct tp_trace_judged *const judged[] = {&s->judged, &s->judged_after};
    enum tp_status status =
        tp_pool_new(tp_options_jobs(options), &s->pool, err);
    for (size_t i = 0; i < 2 && status == TP_OK; i++) {
        status = collect(s, &options->inputs[i], 1, runs[i], err);
        if (status == TP_OK && runs[i]->trace_count == 0)
            status = nothing_found(s, runs[i], options->inputs[i], err);
        if (status == TP_OK)
            status = tp_trace_judge(runs[i], &s->limits, judged[i], err);
    }
    return status == TP_OK
               ? tp_trace_compare(&s->run, &s->after, &s->comparison, err)
               : status;
}

static bool print_comparison(const struct session *s)
{
    const struct tp_compare_report report = {
        .comparison = &s->comparison,
        .base = &s->run,
        .test = &s->after,
        .base_verdict = &s->judged.verdict,
        .test_verdict = &s->judged_after.verdict,
        .base_path = s->options->inputs[0],
        .test_path = s->options->inputs[1],
        .top = s->options->verbose ? 0 : (size_t)s->options->top};
    struct tp_text text = {.columns = tp_stdout_columns()};
    if (s->options->format == TP_FORM_JSON)
        tp_compare_report_json(&report, &text);
    else if (!s->options->quiet)
        tp_compare_report_text(&report, &text);
    return tp_print(&text);
}

static bool print_result(const struct session *s)
{
    const struct tp_trace_report report = report_of(s, s->options->top);
    struct tp_text text = {.columns = tp_stdout_columns()};
    if (s->options->format == TP_FORM_JSON)
        tp_trace_report_json(&report, &text);
    else if (!s->options->quiet)
        tp_trace_report_text(&report, s->options->verbose ? 0 : MOST_ON_STDOUT,
                             tp_wants_color(), &text);
    return tp_print(&text);
}

static bool is_damaged(const struct tp_trace_run *run)
{
    for (size_t i = 0; i < run->skipped.count; i++) {
        if (run->skipped.rows[i].damage)
            return true;
    }
    return false;
}

static int exit_status(const struct session *s)
{
    if (is_damaged(&s->run) || is_damaged(&s->after))
        return TP_EXIT_DAMAGED;
    if (s->options->compare)
        return TP_EXIT_OK;
    return tp_reaches_fail_on(s->options, tp_trace_judged_worst(&s->judged))
               ? TP_EXIT_FINDINGS
               : TP_EXIT_OK;
}

static void session_clear(struct session *s)
{
    tp_text_clear(&s->command_line);
    tp_figure_set_clear(&s->figures);
    free(s->figure_lines);
    tp_trace_comparison_clear(&s->comparison);
    tp_trace_judged_clear(&s->judged);
    tp_trace_judged_clear(&s->judged_after);
    tp_trace_run_clear(&s->run);
    tp_trace_run_clear(&s->after);
    tp_pool_free(s->pool);
}

int tp_cmd_trace(const struct tp_options *options, int argc, char **argv)
{
    struct session s = {.options = options};
    struct tp_error err = {0};
    tp_note_command_line(argc, argv, &s.command_line);
    enum tp_status status = check(&s, &err);
    if (status == TP_OK)
        status = options->compare ? compare(&s, &err) : analyse(&s, &err);
    int result;
    if (status != TP_OK) {
        tp_print_error(&err);
        result = tp_exit_of(status);
    } else {
        bool printed =
            options->compare ? print_comparison(&s) : print_result(&s);
        result = printed ? exit_status(&s) : TP_EXIT_FAILED;
    }
    session_clear(&s);
    return result;
}
