/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze --tensor_dir DIR: from directories to summary.h5, report.txt,
 * findings.json and figures, and the same summary on stdout.
 */
#include "base/pool.h"
#include "cli/frame.h"
#include "cli/scripts.h"
#include "cli/wait.h"
#include "config.h"
#include "figures/figures.h"
#include "formats/reader.h"
#include "quant/quant_sweep.h"
#include "report/report.h"
#include "report/tables.h"
#include "rules/nonfinite_place.h"
#include "rules/rules.h"
#include "tensors/collect.h"
#include "tensors/coverage.h"
#include "tensors/group.h"
#include "tensors/pairs.h"

/* Everything one run of the command holds. */
struct session {
    struct tp_frame frame;
    struct tp_quant_plan plan;
    struct tp_run run;
    struct tp_groups groups;
    struct tp_quant quant;
    struct tp_pairs pairs;
    struct tp_monitor monitor;
    struct tp_incidents incidents;
    struct tp_findings findings;
    struct tp_check scripts; /* of --scripts */
};

/* Which casts to simulate; words that are not known are usage errors. */
static enum tp_status check(void *session, struct tp_error *err)
{
    struct session *s = session;
    const struct tp_quant_options how = {
        .formats = s->frame.options->formats,
        .rounding = s->frame.options->rounding,
        .mx_scale = s->frame.options->mx_scale,
        .nonfinite = s->frame.options->mx_nonfinite,
        .min_sqnr = s->frame.options->min_sqnr,
        .max_underflow = s->frame.options->max_underflow / 100,
    };
    enum tp_status status = tp_check_options(s->frame.options, "DIR", err);
    return status == TP_OK ? tp_quant_plan_make(&how, &s->plan, err) : status;
}

static enum tp_status collect(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->frame.options;
    struct tp_progress progress;
    tp_progress_start(&progress, "files", options);
    struct tp_collect_options how = {.roots = options->inputs,
                                     .root_count = options->input_count,
                                     .mx_scale = options->mx_scale,
                                     .mx_nonfinite = options->mx_nonfinite,
                                     .block_axis = options->block_axis,
                                     .backward_format =
                                         tp_backward_format(options),
                                     .quant = &s->plan,
                                     .dims = options->dims,
                                     .reduce = options->reduce_dtype,
                                     .parts = options->parts,
                                     .progress = tp_progress_update,
                                     .progress_context = &progress,
                                     .stop = &tp_interrupted};
    enum tp_status status = tp_open_device(options, tp_pool_size(s->frame.pool),
                                           how.quant, &how.device, err);
    if (status == TP_OK)
        status = tp_collect(s->frame.pool, &how, &s->run, err);
    tp_close_device(options, how.device);
    tp_progress_end(&progress);
    return status;
}

static struct tp_pairs_options pairs_options(const struct session *s)
{
    return (struct tp_pairs_options){.which = s->frame.options->pairs,
                                     .pool = s->frame.pool,
                                     .stop = &tp_interrupted};
}

/* The same tensors in several quant types, element by element. */
static enum tp_status compare_pairs(struct session *s, struct tp_error *err)
{
    struct tp_pairs_options how = pairs_options(s);
    struct tp_progress progress;
    tp_progress_start(&progress, "pairs", s->frame.options);
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

static void replace_figures(struct tp_text *names)
{
    for (const struct tp_figure_info *row = tp_figure_table; row->id; row++)
        tp_output_replace_figure(names, row->category, row->id);
}

static enum tp_status write_results(void *session, struct tp_error *err)
{
    struct session *s = session;
    const struct tp_results results = results_of(s);
    struct tp_run_tables tables;
    replace_figures(&s->frame.replaced);
    tp_run_tables_make(&results, &tables);
    return tp_frame_hdf5(&s->frame, tables.tables, TP_RUN_TABLES,
                         s->run.files_read, s->run.bytes_read, err);
}

static struct tp_report report_of(const struct session *s)
{
    return (struct tp_report){.results = results_of(s),
                              .figures = s->frame.drawn.lines,
                              .figure_count = s->frame.drawn.count,
                              .tool_version = PACKAGE_VERSION,
                              .output_dir = s->frame.options->output_dir,
                              .inputs = s->frame.options->inputs,
                              .input_count = s->frame.options->input_count};
}

static enum tp_status draw(void *session, struct tp_error *err)
{
    struct session *s = session;
    const struct tp_figure_input input = {&s->run, &s->quant, &s->pairs,
                                          &s->monitor, &s->incidents};
    const struct tp_pairs_options how = pairs_options(s);
    enum tp_status status = TP_OK;
    if (s->plan.count)
        status = tp_quant_sweeps_make(&s->quant, s->frame.pool, err);
    if (status == TP_OK)
        status = tp_pairs_scatter(&how, &s->pairs, err);
    if (status == TP_OK)
        status =
            tp_figures_build(&input, s->frame.pool, &s->frame.figures, err);
    if (status != TP_OK)
        return status;
    status = tp_output_draw(s->frame.options, &s->frame.figures, &s->run.arena,
                            &s->frame.drawn, err);
    if (s->frame.drawn.warning[0])
        tp_run_note(&s->run, "%s", s->frame.drawn.warning);
    return status;
}

/* What the numbers are over the iterations, and what caused what. */
static enum tp_status monitor(struct session *s, struct tp_error *err)
{
    const struct tp_baseline_options how = {
        .method = s->frame.options->baseline,
        .warmup_steps = (size_t)s->frame.options->warmup_steps,
        .alert_window = (size_t)s->frame.options->alert_window,
        .sigma = s->frame.options->sigma,
    };
    enum tp_status status = tp_coverage_note(&s->run, err);
    if (status == TP_OK)
        status =
            tp_monitor_make(&s->run, &how, s->frame.pool, &s->monitor, err);
    if (status == TP_OK)
        status = tp_incidents_make(&s->run, &s->monitor, &s->incidents, err);
    return status;
}

static enum tp_status find_faults(struct session *s, struct tp_error *err)
{
    const struct tp_rule_input input = {.run = &s->run,
                                        .quant = &s->quant,
                                        .monitor = &s->monitor,
                                        .incidents = &s->incidents,
                                        .findings = &s->findings,
                                        .pool = s->frame.pool,
                                        .stop = &tp_interrupted};
    enum tp_status status = tp_findings_make(&input, err);
    if (status == TP_OK)
        status = tp_nonfinite_place(&s->run, s->frame.pool, &tp_interrupted,
                                    &s->findings, err);
    return status;
}

/* The run is there: everything that follows from it. */
static enum tp_status judge(void *session, struct tp_error *err)
{
    struct session *s = session;
    enum tp_status status = tp_groups_make(&s->run, &s->groups, err);
    if (status == TP_OK)
        status = tp_quant_make(&s->run, &s->quant, err);
    if (status == TP_OK)
        status = compare_pairs(s, err);
    if (status == TP_OK)
        status = monitor(s, err);
    if (status == TP_OK)
        status = find_faults(s, err);
    if (status == TP_OK)
        status = tp_scripts_explain_tensors(&s->scripts, &s->findings, err);
    for (size_t i = 0; i < s->run.skipped_count; i++)
        s->frame.damaged |= s->run.skipped[i].damage;
    s->frame.worst = tp_findings_worst(&s->findings);
    s->frame.known = status == TP_OK;
    return status;
}

static void add_text(const void *session, const struct tp_report_style *style,
                     struct tp_text *text)
{
    const struct tp_report report = report_of(session);
    tp_report_text(&report, style->most, style->color, text);
}

static void add_json(const void *session, struct tp_text *text)
{
    const struct tp_report report = report_of(session);
    tp_report_json(&report, text);
}

static void add_findings(const void *session, struct tp_text *text)
{
    tp_report_findings_json(&((const struct session *)session)->findings, text);
}

/* Says what was looked for and what was there instead. */
static enum tp_status nothing_found(const struct session *s,
                                    struct tp_error *err)
{
    const struct tp_run *run = &s->run;
    const struct tp_skipped *first = run->skipped;
    size_t unusable = 0;
    for (size_t i = 0; i < run->skipped_count; i++)
        unusable += run->skipped[i].damage;
    for (size_t i = 0; i < run->skipped_count && i < TP_MOST_ON_STDOUT; i++)
        tp_print_warning(s->frame.options, "%s%s%s", first[i].file,
                         first[i].file[0] ? ": " : "", first[i].reason);
    struct tp_text suffixes = {0};
    tp_format_suffixes(&suffixes);
    enum tp_status status =
        tp_fail(err, TP_E_NOT_FOUND, -1,
                "no tensor found in %s%s: looked "
                "for files that end in %s or begin as "
                "torch.save writes them (%zu files seen, %zu could not be "
                "used)",
                s->frame.options->inputs[0],
                s->frame.options->input_count > 1 ? " and others" : "",
                tp_text_get(&suffixes), run->files.count, unusable);
    tp_text_clear(&suffixes);
    return status;
}

/* Waits for what is to be read, and reads it. */
static enum tp_status read_inputs(void *session, struct tp_error *err)
{
    struct session *s = session;
    struct tp_text over = {0};
    enum tp_status status = tp_wait_for_run(s->frame.options, &over, err);
    if (over.length)
        tp_print_warning(s->frame.options, "%s", tp_text_get(&over));
    if (status == TP_OK)
        status =
            tp_scripts_read(s->frame.options, s->frame.pool, &s->scripts, err);
    if (status == TP_OK)
        status = collect(s, err);
    if (status == TP_OK && over.length)
        tp_run_note(&s->run, "%s", tp_text_get(&over));
    if (status == TP_OK && s->run.row_count + s->run.aside_count == 0)
        status = nothing_found(s, err);
    if ((status == TP_E_NOT_FOUND || status == TP_E_IO) &&
        s->frame.options->input_from_environment)
        tp_while(err, "reading what " TP_INPUT_VARIABLE " names");
    tp_text_clear(&over);
    return status;
}

static void clear(void *session)
{
    struct session *s = session;
    tp_check_clear(&s->scripts);
    tp_findings_clear(&s->findings);
    tp_incidents_clear(&s->incidents);
    tp_monitor_clear(&s->monitor);
    tp_pairs_clear(&s->pairs);
    tp_quant_clear(&s->quant);
    tp_groups_clear(&s->groups);
    tp_run_clear(&s->run);
}

int tp_cmd_tensors(const struct tp_options *options, int argc, char **argv)
{
    static const struct tp_frame_steps steps = {
        .hdf5 = "summary.h5",
        .findings = "findings.json",
        .report = "report.txt",
        .check = check,
        .read = read_inputs,
        .judge = judge,
        .write = write_results,
        .draw = draw,
        .text = add_text,
        .json = add_json,
        .findings_json = add_findings,
        .clear = clear,
    };
    struct session s = {.frame = {.options = options}};
    return tp_frame_run(&steps, &s, argc, argv);
}
