/* SPDX-License-Identifier: MIT */
#include "cli/tensor_steps.h"

#include "base/pool.h"
#include "cli/scripts.h"
#include "config.h"
#include "figures/figures.h"
#include "quant/quant_sweep.h"
#include "report/tables.h"
#include "rules/nonfinite_place.h"
#include "rules/rules.h"
#include "tensors/coverage.h"

enum tp_status tp_tensor_plan(struct tp_tensor_session *s, struct tp_error *err)
{
    const struct tp_quant_options how = {
        .formats = s->frame.options->formats,
        .rounding = s->frame.options->rounding,
        .mx_scale = s->frame.options->mx_scale,
        .nonfinite = s->frame.options->mx_nonfinite,
        .min_sqnr = s->frame.options->min_sqnr,
        .max_underflow = s->frame.options->max_underflow / 100,
    };
    return tp_quant_plan_make(&how, &s->plan, err);
}

static struct tp_pairs_options pairs_options(const struct tp_tensor_session *s)
{
    return (struct tp_pairs_options){.which = s->frame.options->pairs,
                                     .pool = s->frame.pool,
                                     .stop = &tp_interrupted};
}

/* The same tensors in several quant types, element by element. */
static enum tp_status compare_pairs(struct tp_tensor_session *s,
                                    struct tp_error *err)
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

static struct tp_results results_of(const struct tp_tensor_session *s)
{
    return (struct tp_results){.run = &s->run,
                               .groups = &s->groups,
                               .quant = &s->quant,
                               .pairs = &s->pairs,
                               .monitor = &s->monitor,
                               .incidents = &s->incidents,
                               .findings = &s->findings,
                               .finding_bins = &s->finding_bins,
                               .finding_series = &s->finding_series};
}

static void replace_figures(struct tp_text *names)
{
    for (const struct tp_figure_info *row = tp_figure_table; row->id; row++)
        tp_output_replace_figure(names, row->category, row->id);
}

enum tp_status tp_tensor_write(void *session, struct tp_error *err)
{
    struct tp_tensor_session *s = session;
    const struct tp_results results = results_of(s);
    struct tp_run_tables tables;
    replace_figures(&s->frame.replaced);
    tp_run_tables_make(&results, &tables);
    return tp_frame_hdf5(&s->frame, tables.tables, TP_RUN_TABLES,
                         s->run.files_read, s->run.bytes_read, err);
}

static struct tp_report report_of(const struct tp_tensor_session *s)
{
    return (struct tp_report){.results = results_of(s),
                              .figures = s->frame.drawn.lines,
                              .figure_count = s->frame.drawn.count,
                              .tool_version = PACKAGE_VERSION,
                              .output_dir = s->frame.options->output_dir,
                              .inputs = s->frame.options->inputs,
                              .input_count = s->frame.options->input_count};
}

enum tp_status tp_tensor_draw(void *session, struct tp_error *err)
{
    struct tp_tensor_session *s = session;
    const struct tp_figure_input input = {&s->run, &s->quant, &s->pairs,
                                          &s->monitor, &s->incidents};
    const struct tp_pairs_options how = pairs_options(s);
    enum tp_status status = TP_OK;
    if (s->plan.count)
        status = tp_quant_sweeps_make(&s->quant, &s->run, s->frame.pool, err);
    if (status == TP_OK)
        status = tp_pairs_scatter(&how, &s->pairs, err);
    if (status == TP_OK)
        tp_kept_results(&s->kept);
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
static enum tp_status monitor(struct tp_tensor_session *s, struct tp_error *err)
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

static enum tp_status find_faults(struct tp_tensor_session *s,
                                  struct tp_error *err)
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
enum tp_status tp_tensor_judge(void *session, struct tp_error *err)
{
    struct tp_tensor_session *s = session;
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
    if (status == TP_OK)
        status = tp_finding_bins_make(&s->run, &s->monitor, &s->findings,
                                      &s->finding_bins, err);
    if (status == TP_OK)
        status = tp_finding_series_make(&s->run, &s->monitor, &s->findings,
                                        &s->finding_series, err);
    if (status == TP_OK)
        status = tp_run_skip_again(&s->run, err);
    for (size_t i = 0; i < s->run.skipped_count; i++)
        s->frame.damaged |= s->run.skipped[i].damage;
    s->frame.worst = tp_findings_worst(&s->findings);
    s->frame.known = status == TP_OK;
    if (status == TP_OK)
        tp_kept_results(&s->kept);
    return status;
}

void tp_tensor_text(const void *session, const struct tp_report_style *style,
                    struct tp_text *text)
{
    const struct tp_tensor_session *s = session;
    const struct tp_report report = report_of(s);
    tp_report_text(&report, style->most, style->color, text);
    if (!style->file) /* what was known changes nothing in the results */
        tp_kept_text(&s->kept, text);
}

void tp_tensor_head(const void *session, struct tp_text *verdict,
                    struct tp_text *sentence)
{
    const struct tp_tensor_session *s = session;
    const struct tp_report report = report_of(s);
    tp_report_head(&report, s->frame.damaged, verdict, sentence);
}

void tp_tensor_json(const void *session, struct tp_text *text)
{
    const struct tp_report report = report_of(session);
    tp_report_json(&report, text);
}

void tp_tensor_findings(const void *session, struct tp_text *text)
{
    tp_report_findings_json(
        &((const struct tp_tensor_session *)session)->findings, text);
}

bool tp_tensor_lost(const void *session)
{
    const struct tp_tensor_session *s = session;
    return s->run.arena.failed || s->run.notes.failed ||
           s->quant.arena.failed || s->pairs.arena.failed ||
           s->findings.arena.failed || s->frame.figures.names.failed;
}

void tp_tensor_clear(void *session)
{
    struct tp_tensor_session *s = session;
    tp_check_clear(&s->scripts);
    tp_finding_bins_clear(&s->finding_bins);
    tp_finding_series_clear(&s->finding_series);
    tp_findings_clear(&s->findings);
    tp_incidents_clear(&s->incidents);
    tp_monitor_clear(&s->monitor);
    tp_pairs_clear(&s->pairs);
    tp_quant_clear(&s->quant);
    tp_groups_clear(&s->groups);
    tp_run_clear(&s->run);
    tp_kept_clear(&s->kept);
}
