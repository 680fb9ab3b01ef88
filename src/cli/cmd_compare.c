/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze compare A B: where two dumps, checkpoints or runs part.
 * compare_result_*.csv with msprobe's columns, compare_report.txt,
 * compare_findings.json, compare.h5.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/text_wrap.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "compare/compare_autodiff.h"
#include "compare/compare_damage.h"
#include "compare/compare_sheet.h"
#include "config.h"
#include "figures/compare_figures.h"
#include "report/csv.h"
#include "report/hdf5.h"
#include "report/report_runs.h"

/* Items of each list on stdout; compare_report.txt holds them all. */
enum { MOST_ON_STDOUT = 10 };

struct session {
    const struct tp_options *options;
    struct tp_text command_line;
    struct tp_pool *pool;
    struct tp_compare_options how;
    struct tp_comparison comparison;
    struct tp_compare_calls calls;
    struct tp_compare_records records;
    struct tp_dump_findings findings;
    struct tp_compare_autodiff autodiff;
    struct tp_figure_set figures;
    struct tp_report_figure *figure_lines;
    size_t figure_count;
};

/* What to compare, from the options. */
static enum tp_status make_wish(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->options;
    struct tp_compare_options *how = &s->how;
    if (options->input_count != 2)
        return tp_fail(err, TP_E_USAGE, -1,
                       "compare takes two paths, A and B; %zu were given",
                       options->input_count);
    how->a = options->inputs[0];
    how->b = options->inputs[1];
    how->mode = options->compare_mode;
    how->fuzzy = options->fuzzy_match;
    how->map = options->map;
    how->read.recover = options->recover;
    how->read.stop = &tp_interrupted;
    enum tp_status status = TP_OK;
    if (options->steps)
        status =
            tp_number_set_parse(&how->read.wish.steps, options->steps, err);
    if (status == TP_OK && options->ranks)
        status =
            tp_number_set_parse(&how->read.wish.ranks, options->ranks, err);
    return status;
}

static enum tp_status compare(struct session *s, struct tp_error *err)
{
    struct tp_progress progress;
    enum tp_status status =
        tp_pool_new(tp_options_jobs(s->options), &s->pool, err);
    if (status != TP_OK)
        return status;
    tp_progress_start(&progress, "pairs of tensors", s->options);
    s->how.read.pool = s->pool;
    s->how.progress = tp_progress_update;
    s->how.progress_context = &progress;
    status = tp_compare(&s->how, &s->comparison, err);
    tp_progress_end(&progress);
    return status;
}

/* compare_result_rank0_20260101120000.csv; several steps are told apart. */
static void name_sheet(const struct session *s,
                       const struct tp_compare_pair *pair, const char *time,
                       struct tp_text *name)
{
    const struct tp_comparison *comparison = &s->comparison;
    const struct tp_dump_place *place = pair->a.place;
    const struct tp_compare_pair *last =
        &comparison->pairs[comparison->pair_count - 1];
    tp_text_add(name, "compare_result");
    if (comparison->pairs[0].a.place->step != last->a.place->step)
        tp_text_add(name, "_step%" PRId64, place->step);
    if (place->rank >= 0)
        tp_text_add(name, "_rank%" PRId64, place->rank);
    else if (place->process >= 0)
        tp_text_add(name, "_proc%" PRId64, place->process);
    tp_text_add(name, "_%s.csv", time);
}

static enum tp_status write_sheet(struct session *s,
                                  const struct tp_compare_pair *pair,
                                  const char *time, struct tp_error *err)
{
    struct tp_compare_sheet sheet;
    struct tp_text text = {0}, name = {0};
    enum tp_status status =
        tp_compare_sheet_make(pair, s->comparison.mode, &sheet, err);
    name_sheet(s, pair, time, &name);
    if (status == TP_OK) {
        tp_csv_table(&sheet.table, &text);
        status = tp_output_write(s->options, tp_text_get(&name), &text, err);
    }
    tp_compare_sheet_clear(&sheet);
    tp_text_clear(&text);
    tp_text_clear(&name);
    return status;
}

static enum tp_status write_sheets(struct session *s, struct tp_error *err)
{
    char stamp[32] = "";
    time_t now = time(NULL);
    struct tm local;
    enum tp_status status = TP_OK;
    if (localtime_r(&now, &local))
        strftime(stamp, sizeof stamp, "%Y%m%d%H%M%S", &local);
    for (size_t i = 0; i < s->comparison.pair_count && status == TP_OK; i++)
        status = write_sheet(s, &s->comparison.pairs[i], stamp, err);
    return status;
}

static enum tp_status write_calls(struct session *s, struct tp_error *err)
{
    struct tp_text text = {0};
    struct tp_table table;
    tp_compare_apis_table(&s->calls, &table);
    tp_csv_table(&table, &text);
    enum tp_status status =
        tp_output_write(s->options, "compare_by_call.csv", &text, err);
    tp_text_clear(&text);
    return status;
}

/* Which operator parts the runs, if that was asked for. */
static enum tp_status find_operator(struct session *s, struct tp_error *err)
{
    const struct tp_divergence_options how = {.stop = &tp_interrupted};
    struct tp_text text = {0};
    struct tp_table table;
    if (!s->options->autodiff)
        return TP_OK;
    enum tp_status status = tp_compare_autodiff_make(
        &s->comparison, &how, &s->autodiff, &s->findings, err);
    if (status != TP_OK)
        return status;
    tp_compare_autodiff_table(&s->autodiff, &table);
    tp_csv_table(&table, &text);
    status = tp_output_write(s->options, "autodiff.csv", &text, err);
    tp_text_clear(&text);
    return status;
}

static enum tp_status write_hdf5(struct session *s, struct tp_error *err)
{
    struct tp_table tables[5];
    uint64_t files = 0;
    for (size_t i = 0; i < s->comparison.pair_count; i++)
        files += s->comparison.pairs[i].a.place->file_count +
                 s->comparison.pairs[i].b.place->file_count;
    const struct tp_hdf5_header header = {
        PACKAGE_VERSION, tp_text_get(&s->command_line), files, 0};
    tp_compare_records_table(&s->records, &tables[0]);
    tp_compare_calls_table(&s->calls, &tables[1]);
    tp_compare_apis_table(&s->calls, &tables[2]);
    tp_compare_findings_table(&s->findings, &tables[3]);
    tp_compare_autodiff_table(&s->autodiff, &tables[4]);
    char *path = tp_file_join(s->options->output_dir, "compare.h5");
    if (!path)
        return tp_fail_memory(err);
    enum tp_status status = tp_hdf5_write(path, &header, tables, 5, err);
    free(path);
    return status;
}

static enum tp_status draw(struct session *s, struct tp_error *err)
{
    const struct tp_compare_figure_input input = {&s->comparison, &s->calls};
    struct tp_drawn drawn;
    if (s->options->no_plots)
        return TP_OK;
    enum tp_status status = tp_compare_figures_build(&input, &s->figures, err);
    if (status != TP_OK)
        return status;
    status = tp_output_draw(s->options, &s->figures, &s->comparison.arena,
                            &drawn, err);
    if (drawn.warning[0])
        tp_notes_add(
            &s->comparison.notes,
            tp_arena_format(&s->comparison.arena, "%s", drawn.warning));
    s->figure_lines = drawn.lines;
    s->figure_count = drawn.count;
    return status;
}

static struct tp_runs_report report_of(const struct session *s)
{
    return (struct tp_runs_report){.comparison = &s->comparison,
                                   .calls = &s->calls,
                                   .records = &s->records,
                                   .findings = &s->findings,
                                   .autodiff = &s->autodiff,
                                   .figures = s->figure_lines,
                                   .figure_count = s->figure_count,
                                   .tool_version = PACKAGE_VERSION,
                                   .output_dir = s->options->output_dir,
                                   .a = s->how.a,
                                   .b = s->how.b};
}

static enum tp_status write_reports(struct session *s, struct tp_error *err)
{
    const struct tp_runs_report report = report_of(s);
    struct tp_text text = {.columns = TP_TEXT_COLUMNS}, json = {0};
    tp_report_runs_json(&report, &json);
    tp_report_runs_text(&report, 0, false, &text);
    enum tp_status status =
        tp_output_write(s->options, "compare_findings.json", &json, err);
    if (status == TP_OK) /* last: it says that the others are there */
        status = tp_output_write(s->options, "compare_report.txt", &text, err);
    tp_text_clear(&json);
    tp_text_clear(&text);
    return status;
}

/* Results of an earlier run go first, but for its tables, whose names have the
 * time. */
static void remove_old_results(const struct session *s)
{
    static const char *const names[] = {"compare.h5", "compare_report.txt",
                                        "compare_findings.json",
                                        "compare_by_call.csv",
                                        "autodiff.csv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tp_output_remove(s->options, names[i]);
    for (const struct tp_compare_figure_info *row = tp_compare_figure_table;
         row->id; row++)
        tp_output_remove_figure(s->options, TP_COMPARE_FIGURE_CATEGORY,
                                row->id);
}

/* The comparison is there: everything that follows from it. */
static enum tp_status write_results(struct session *s, struct tp_error *err)
{
    remove_old_results(s);
    enum tp_status status =
        tp_compare_calls_make(&s->comparison, &s->calls, err);
    if (status == TP_OK)
        status = tp_compare_records_make(&s->comparison, &s->records, err);
    if (status == TP_OK)
        status = tp_compare_findings_make(&s->comparison, &s->calls,
                                          &s->findings, err);
    if (status == TP_OK)
        status = find_operator(s, err);
    if (status == TP_OK)
        status =
            tp_compare_damage_find(&s->comparison, &s->records, &s->findings,
                                   s->pool, &tp_interrupted, err);
    if (status == TP_OK)
        status = write_sheets(s, err);
    if (status == TP_OK)
        status = write_calls(s, err);
    if (status == TP_OK)
        status = write_hdf5(s, err);
    if (status == TP_OK)
        status = draw(s, err);
    return status == TP_OK ? write_reports(s, err) : status;
}

static enum tp_status analyse(struct session *s, struct tp_error *err)
{
    bool existed;
    enum tp_status status = make_wish(s, err);
    if (status == TP_OK)
        status = tp_output_prepare(s->options, &existed, err);
    if (status != TP_OK)
        return status;
    status = compare(s, err);
    if (status != TP_OK && !existed)
        rmdir(s->options->output_dir); /* ours, and empty */
    return status == TP_OK ? write_results(s, err) : status;
}

static bool print_result(const struct session *s)
{
    const struct tp_runs_report report = report_of(s);
    struct tp_text text = {.columns = tp_stdout_columns()};
    if (s->options->format == TP_FORM_JSON)
        tp_report_runs_json(&report, &text);
    else if (!s->options->quiet)
        tp_report_runs_text(&report, s->options->verbose ? 0 : MOST_ON_STDOUT,
                            tp_wants_color(), &text);
    return tp_print(&text);
}

static int exit_status(const struct session *s)
{
    const struct tp_comparison *comparison = &s->comparison;
    if (comparison->a.damaged + comparison->b.damaged +
            comparison->counts.damaged >
        0)
        return TP_EXIT_DAMAGED;
    return tp_reaches_fail_on(s->options, tp_dump_findings_worst(&s->findings))
               ? TP_EXIT_FINDINGS
               : TP_EXIT_OK;
}

static void session_clear(struct session *s)
{
    tp_text_clear(&s->command_line);
    tp_number_set_clear(&s->how.read.wish.steps);
    tp_number_set_clear(&s->how.read.wish.ranks);
    tp_figure_set_clear(&s->figures);
    free(s->figure_lines);
    tp_compare_autodiff_clear(&s->autodiff);
    tp_dump_findings_clear(&s->findings);
    tp_compare_records_clear(&s->records);
    tp_compare_calls_clear(&s->calls);
    tp_comparison_clear(&s->comparison);
    tp_pool_free(s->pool);
}

int tp_cmd_compare(const struct tp_options *options, int argc, char **argv)
{
    if (options->match == TP_COMPARE_BY_CONTENT)
        return tp_compare_by_content(options, argc, argv);
    struct session s = {.options = options};
    struct tp_error err = {0};
    int result;
    tp_note_command_line(argc, argv, &s.command_line);
    enum tp_status status = analyse(&s, &err);
    if (status != TP_OK) {
        tp_print_error(&err);
        result = tp_exit_of(status);
    } else {
        result = print_result(&s) ? exit_status(&s) : TP_EXIT_FAILED;
    }
    session_clear(&s);
    return result;
}
