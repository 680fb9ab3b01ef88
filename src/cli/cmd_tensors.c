/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze --tensor_dir DIR: from directories to summary.h5, report.txt,
 * findings.json and figures, and the same summary on stdout.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/pool.h"
#include "base/text_wrap.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/wait.h"
#include "config.h"
#include "figures/figures.h"
#include "formats/reader.h"
#include "quant/quant_sweep.h"
#include "report/hdf5.h"
#include "report/report.h"
#include "report/tables.h"
#include "rules/nonfinite_place.h"
#include "rules/rules.h"
#include "tensors/collect.h"
#include "tensors/coverage.h"
#include "tensors/group.h"
#include "tensors/pairs.h"

/* Items of each list on stdout; report.txt holds them all. */
enum { MOST_ON_STDOUT = 10 };

/* Everything one run of the command holds. */
struct session {
    const struct tp_options *options;
    struct tp_text command_line;
    struct tp_pool *pool;
    struct tp_quant_plan plan;
    struct tp_run run;
    struct tp_groups groups;
    struct tp_quant quant;
    struct tp_pairs pairs;
    struct tp_monitor monitor;
    struct tp_incidents incidents;
    struct tp_findings findings;
    struct tp_figure_set figures;
    struct tp_report_figure *figure_lines;
    size_t figure_count;
    bool judged; /* all is known, whatever becomes of the files */
};

/* Which casts to simulate; words that are not known are usage errors. */
static enum tp_status plan_quant(struct session *s, struct tp_error *err)
{
    const struct tp_quant_options how = {
        .formats = s->options->formats,
        .rounding = s->options->rounding,
        .mx_scale = s->options->mx_scale,
        .nonfinite = s->options->mx_nonfinite,
        .min_sqnr = s->options->min_sqnr,
        .max_underflow = s->options->max_underflow / 100,
    };
    return tp_quant_plan_make(&how, &s->plan, err);
}

static enum tp_status collect(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->options;
    struct tp_progress progress;
    tp_progress_start(&progress, "files", options);
    struct tp_collect_options how = {
        .roots = options->inputs,
        .root_count = options->input_count,
        .mx_scale = options->mx_scale,
        .mx_nonfinite = options->mx_nonfinite,
        .block_axis = options->block_axis,
        .backward_format = tp_backward_format(options),
        .quant = &s->plan,
        .dims = options->dims,
        .reduce = options->reduce_dtype,
        .progress = tp_progress_update,
        .progress_context = &progress,
        .stop = &tp_interrupted};
    enum tp_status status =
        tp_pool_new(tp_options_jobs(options), &s->pool, err);
    if (status == TP_OK)
        status = tp_open_device(options, tp_pool_size(s->pool), how.quant,
                                &how.device, err);
    if (status == TP_OK)
        status = tp_collect(s->pool, &how, &s->run, err);
    tp_close_device(options, how.device);
    tp_progress_end(&progress);
    return status;
}

static struct tp_pairs_options pairs_options(const struct session *s)
{
    return (struct tp_pairs_options){.which = s->options->pairs,
                                     .pool = s->pool,
                                     .stop = &tp_interrupted};
}

/* The same tensors in several quant types, element by element. */
static enum tp_status compare_pairs(struct session *s, struct tp_error *err)
{
    struct tp_pairs_options how = pairs_options(s);
    struct tp_progress progress;
    tp_progress_start(&progress, "pairs", s->options);
    how.progress = tp_progress_update;
    how.progress_context = &progress;
    enum tp_status status = tp_pairs_make(&s->run, &how, &s->pairs, err);
    tp_progress_end(&progress);
    return status;
}

static struct tp_results results_of(const struct session *s)
{
    return (struct tp_results){.run = &s->run,
                               .groups = &s->groups,
                               .quant = &s->quant,
                               .pairs = &s->pairs,
                               .monitor = &s->monitor,
                               .incidents = &s->incidents,
                               .findings = &s->findings};
}

static enum tp_status write_hdf5(struct session *s, struct tp_error *err)
{
    const struct tp_results results = results_of(s);
    struct tp_run_tables tables;
    tp_run_tables_make(&results, &tables);
    const struct tp_hdf5_header header = {PACKAGE_VERSION,
                                          tp_text_get(&s->command_line),
                                          s->run.files_read, s->run.bytes_read};
    char *path = tp_file_join(s->options->output_dir, "summary.h5");
    if (!path)
        return tp_fail_memory(err);
    enum tp_status status =
        tp_hdf5_write(path, &header, tables.tables, TP_RUN_TABLES, err);
    free(path);
    return status;
}

static struct tp_report report_of(const struct session *s)
{
    return (struct tp_report){.results = results_of(s),
                              .figures = s->figure_lines,
                              .figure_count = s->figure_count,
                              .tool_version = PACKAGE_VERSION,
                              .output_dir = s->options->output_dir,
                              .inputs = s->options->inputs,
                              .input_count = s->options->input_count};
}

static enum tp_status write_reports(const struct session *s,
                                    struct tp_error *err)
{
    struct tp_report report = report_of(s);
    struct tp_text text = {.columns = TP_TEXT_COLUMNS}, json = {0};
    tp_report_text(&report, 0, false, &text);
    tp_report_findings_json(&s->findings, &json);
    enum tp_status status =
        tp_output_write(s->options, "findings.json", &json, err);
    if (status == TP_OK) /* last: it says that the others are there */
        status = tp_output_write(s->options, "report.txt", &text, err);
    tp_text_clear(&text);
    tp_text_clear(&json);
    return status;
}

static enum tp_status draw(struct session *s, struct tp_error *err)
{
    if (s->options->no_plots)
        return TP_OK;
    const struct tp_figure_input input = {
        &s->run, &s->quant, &s->pairs, &s->monitor, &s->incidents};
    const struct tp_pairs_options how = pairs_options(s);
    enum tp_status status = TP_OK;
    if (s->plan.count)
        status = tp_quant_sweeps_make(&s->quant, s->pool, err);
    if (status == TP_OK)
        status = tp_pairs_scatter(&how, &s->pairs, err);
    if (status == TP_OK)
        status = tp_figures_build(&input, s->pool, &s->figures, err);
    if (status != TP_OK)
        return status;
    struct tp_drawn drawn;
    status =
        tp_output_draw(s->options, &s->figures, &s->run.arena, &drawn, err);
    if (drawn.warning[0])
        tp_run_note(&s->run, "%s", drawn.warning);
    s->figure_lines = drawn.lines;
    s->figure_count = drawn.count;
    return status;
}

/* Results of an earlier run in this folder go first, so that what is there
 * after an interruption is of one run. */
static void remove_old_results(const struct session *s)
{
    static const char *const names[] = {"summary.h5", "report.txt",
                                        "findings.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tp_output_remove(s->options, names[i]);
    for (const struct tp_figure_info *row = tp_figure_table; row->id; row++)
        tp_output_remove_figure(s->options, row->category, row->id);
}

/* What the numbers are over the iterations, and what caused what. */
static enum tp_status monitor(struct session *s, struct tp_error *err)
{
    const struct tp_baseline_options how = {
        .method = s->options->baseline,
        .warmup_steps = (size_t)s->options->warmup_steps,
        .alert_window = (size_t)s->options->alert_window,
        .sigma = s->options->sigma,
    };
    enum tp_status status = tp_coverage_note(&s->run, err);
    if (status == TP_OK)
        status = tp_monitor_make(&s->run, &how, s->pool, &s->monitor, err);
    if (status == TP_OK)
        status =
            tp_incidents_make(&s->run, &s->monitor, &s->incidents, err);
    return status;
}

static enum tp_status find_faults(struct session *s, struct tp_error *err)
{
    const struct tp_rule_input input = {.run = &s->run,
                                        .quant = &s->quant,
                                        .monitor = &s->monitor,
                                        .incidents = &s->incidents,
                                        .findings = &s->findings};
    enum tp_status status = tp_findings_make(&input, err);
    if (status == TP_OK)
        status = tp_nonfinite_place(&s->run, s->pool, &tp_interrupted,
                                    &s->findings, err);
    return status;
}

/* The run is there: everything that follows from it. */
static enum tp_status write_results(struct session *s, struct tp_error *err)
{
    enum tp_status status = tp_groups_make(&s->run, &s->groups, err);
    if (status == TP_OK)
        status = tp_quant_make(&s->run, &s->quant, err);
    if (status == TP_OK)
        status = compare_pairs(s, err);
    if (status == TP_OK)
        status = monitor(s, err);
    if (status == TP_OK)
        status = find_faults(s, err);
    s->judged = status == TP_OK;
    if (status == TP_OK) {
        remove_old_results(s);
        status = write_hdf5(s, err);
    }
    if (status != TP_OK)
        return status;
    if (!tp_interrupted)
        status = draw(s, err);
    if (status == TP_OK && tp_interrupted)
        status = tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    if (status != TP_OK && status != TP_E_IO)
        return status;
    /* of a disk too full for the rest they are worth most, and small */
    struct tp_error other = {0};
    enum tp_status reported = write_reports(s, status == TP_OK ? err : &other);
    if (status != TP_OK && reported != TP_OK)
        tp_print_error(&other);
    return status == TP_OK ? reported : status;
}

static bool print_result(const struct session *s)
{
    struct tp_report report = report_of(s);
    struct tp_text text = {.columns = tp_stdout_columns()};
    if (s->options->format == TP_FORM_JSON)
        tp_report_json(&report, &text);
    else if (!s->options->quiet)
        tp_report_text(&report, s->options->verbose ? 0 : MOST_ON_STDOUT,
                       tp_wants_color(), &text);
    return tp_print(&text);
}

static int exit_status(const struct session *s)
{
    for (size_t i = 0; i < s->run.skipped_count; i++) {
        if (s->run.skipped[i].damage)
            return TP_EXIT_DAMAGED;
    }
    return tp_reaches_fail_on(s->options, tp_findings_worst(&s->findings))
               ? TP_EXIT_FINDINGS
               : TP_EXIT_OK;
}

/* Says what was looked for and what was there instead. */
static enum tp_status nothing_found(const struct session *s,
                                    struct tp_error *err)
{
    const struct tp_run *run = &s->run;
    const struct tp_skipped *first = run->skipped;
    for (size_t i = 0; i < run->skipped_count && i < MOST_ON_STDOUT; i++)
        tp_print_warning(s->options, "%s%s%s", first[i].file,
                         first[i].file[0] ? ": " : "", first[i].reason);
    struct tp_text suffixes = {0};
    tp_format_suffixes(&suffixes);
    enum tp_status status =
        tp_fail(err, TP_E_NOT_FOUND, -1,
                "no tensor found in %s%s: looked "
                "for files that end in %s or begin as "
                "torch.save writes them (%zu files seen, %zu could not be "
                "used)",
                s->options->inputs[0],
                s->options->input_count > 1 ? " and others" : "",
                tp_text_get(&suffixes), run->files.count, run->skipped_count);
    tp_text_clear(&suffixes);
    return status;
}

/* Waits for what is to be read, and reads it. */
static enum tp_status read_inputs(struct session *s, struct tp_error *err)
{
    struct tp_text over = {0};
    enum tp_status status = tp_wait_for_run(s->options, &over, err);
    if (over.length)
        tp_print_warning(s->options, "%s", tp_text_get(&over));
    if (status == TP_OK)
        status = collect(s, err);
    if (status == TP_OK && over.length)
        tp_run_note(&s->run, "%s", tp_text_get(&over));
    if (status == TP_OK && s->run.row_count == 0)
        status = nothing_found(s, err);
    if ((status == TP_E_NOT_FOUND || status == TP_E_IO) &&
        s->options->input_from_environment)
        tp_while(err, "reading what " TP_INPUT_VARIABLE " names");
    tp_text_clear(&over);
    return status;
}

static enum tp_status analyse(struct session *s, struct tp_error *err)
{
    enum tp_status status = tp_check_options(s->options, "DIR", err);
    if (status == TP_OK)
        status = plan_quant(s, err);
    if (status != TP_OK)
        return status;
    bool existed;
    status = tp_output_prepare(s->options, &existed, err);
    if (status == TP_OK)
        status = read_inputs(s, err);
    if (status == TP_OK)
        return write_results(s, err);
    if (!existed)
        rmdir(s->options->output_dir); /* ours, and empty */
    return status;
}

static void session_clear(struct session *s)
{
    tp_text_clear(&s->command_line);
    tp_figure_set_clear(&s->figures);
    tp_findings_clear(&s->findings);
    tp_incidents_clear(&s->incidents);
    tp_monitor_clear(&s->monitor);
    tp_pairs_clear(&s->pairs);
    tp_quant_clear(&s->quant);
    tp_groups_clear(&s->groups);
    free(s->figure_lines);
    tp_run_clear(&s->run);
    tp_pool_free(s->pool);
}

int tp_cmd_tensors(const struct tp_options *options, int argc, char **argv)
{
    struct session s = {.options = options};
    struct tp_error err = {0};
    tp_note_command_line(argc, argv, &s.command_line);
    enum tp_status status = analyse(&s, &err);
    int result;
    if (status != TP_OK) {
        if (status == TP_E_IO && s.judged) /* what no file could take */
            print_result(&s);
        tp_print_error(&err);
        result = tp_exit_of(status);
    } else {
        result = print_result(&s) ? exit_status(&s) : TP_EXIT_FAILED;
    }
    session_clear(&s);
    return result;
}
