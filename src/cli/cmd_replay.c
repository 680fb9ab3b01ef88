/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze replay DUMP: its operators computed again and perturbed.
 * free_benchmark.csv with msprobe's columns, replay_coverage.csv,
 * replay_report.txt, replay_findings.json, replay.h5 and figures.
 */
#include "cli/frame.h"
#include "config.h"
#include "dump/dump_read.h"
#include "dump/finding_files.h"
#include "figures/replay_figures.h"
#include "replay/replay_config.h"
#include "replay/replay_fix.h"
#include "replay/replay_tables.h"
#include "replay/saved_calls.h"
#include "report/csv.h"
#include "report/report_replay.h"

struct session {
    struct tp_frame frame;
    struct tp_replay_config config;
    struct tp_dump_read_options how;
    struct tp_replay_options wish;
    struct tp_dump dump;
    struct tp_replay_results results;
    struct tp_dump_findings findings;
    struct tp_finding_files files;
    struct tp_skipped_list skipped;
    bool fix; /* handler_type                                              */
    struct tp_fixes fixes;
};

/* --- what to do ----------------------------------------------------------- */

/* The options, then what --config adds. */
static enum tp_status make_config(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->frame.options;
    s->config = (struct tp_replay_config){
        .pert_mode = options->pert_mode,
        .fuzz_stage = options->fuzz_stage,
        .fuzz_device = options->fuzz_device,
        .handler_type = options->handler_type,
        .fuzz_level = options->fuzz_level,
        .scope = options->scope,
        .list = options->list,
        .steps = options->steps,
        .ranks = options->ranks,
        .preheat = options->if_preheat,
        .preheat_step = (int64_t)options->preheat_step,
        .max_sample = (int64_t)options->max_sample,
        .compat = options->compat};
    enum tp_status status =
        options->config
            ? tp_replay_config_read(options->config, &s->config, err)
            : TP_OK;
    struct tp_replay_asked asked;
    if (status == TP_OK)
        status = tp_replay_config_check(&s->config, &asked, err);
    if (status != TP_OK)
        return status;
    s->wish.wish = asked.wish;
    s->wish.preheat_step = asked.preheat_step;
    s->wish.max_sample = asked.max_sample;
    s->fix = asked.fix;
    return TP_OK;
}

static enum tp_status take_names(struct session *s, struct tp_error *err)
{
    struct tp_replay_config *config = &s->config;
    struct tp_replay_options *wish = &s->wish;
    enum tp_status status = TP_OK;
    if (config->scope)
        status = tp_replay_names(config->scope, &config->arena, &wish->scope,
                                 &wish->scope_count, err);
    if (status == TP_OK && config->list)
        status = tp_replay_names(config->list, &config->arena, &wish->list,
                                 &wish->list_count, err);
    return status;
}

static enum tp_status check(void *session, struct tp_error *err)
{
    const struct session *s = session;
    return tp_check_options(s->frame.options, "DUMP", err);
}

/* What is asked for; --config is read. */
static enum tp_status plan(struct session *s, struct tp_error *err)
{
    struct tp_dump_wish *wish = &s->how.wish;
    enum tp_status status = make_config(s, err);
    if (status == TP_OK)
        status = take_names(s, err);
    wish->roots = s->frame.options->inputs;
    wish->root_count = s->frame.options->input_count;
    s->how.recover = s->frame.options->recover;
    s->how.stop = s->wish.stop = &tp_interrupted;
    return status == TP_OK ? tp_parse_places(s->config.steps, s->config.ranks,
                                             &wish->steps, &wish->ranks, err)
                           : status;
}

static enum tp_status replay_calls(struct session *s, struct tp_error *err)
{
    struct tp_progress progress;
    tp_progress_start(&progress, "calls", s->frame.options);
    s->wish.progress = tp_progress_update;
    s->wish.progress_context = &progress;
    enum tp_status status =
        tp_replay_dump(&s->dump, &s->wish, &s->results, err);
    tp_progress_end(&progress);
    return status;
}

static enum tp_status replay(void *session, struct tp_error *err)
{
    struct session *s = session;
    s->how.pool = s->wish.pool = s->frame.pool;
    enum tp_status status = plan(s, err);
    if (status != TP_OK)
        return status;
    status = tp_dump_read(&s->how, &s->dump, err);
    if (status == TP_E_NOT_FOUND &&
        s->dump.place_count + s->dump.unwanted == 0 && s->dump.found.count)
        status = tp_saved_calls_read(&s->how, &s->dump, err);
    if (status == TP_OK)
        status = replay_calls(s, err);
    if (status == TP_OK && s->fix)
        status = tp_fixes_make(&s->dump, &s->wish, &s->results,
                               !s->wish.wish.modes[TP_PERTURB_TO_CPU],
                               &s->fixes, err);
    if (status == TP_OK)
        status =
            tp_replay_findings_make(&s->dump, &s->results, &s->findings, err);
    if (status == TP_OK)
        status = tp_skipped_add_found(&s->skipped, &s->dump.found, err);
    s->frame.damaged = tp_found_damaged(&s->dump.found) ||
                       s->results.counts.states[TP_REPLAY_UNREADABLE] > 0 ||
                       s->results.backward.states[TP_REPLAY_UNREADABLE] > 0;
    s->frame.worst = tp_dump_findings_worst(&s->findings);
    return status;
}

/* --- results -------------------------------------------------------------- */

static enum tp_status draw(void *session, struct tp_error *err)
{
    struct session *s = session;
    enum tp_status status =
        tp_replay_figures_build(&s->results, &s->frame.figures, err);
    if (status != TP_OK)
        return status;
    status = tp_output_draw(s->frame.options, &s->frame.figures, &s->dump.arena,
                            &s->frame.drawn, err);
    if (s->frame.drawn.warning[0])
        tp_notes_add(&s->dump.notes, tp_arena_format(&s->dump.arena, "%s",
                                                     s->frame.drawn.warning));
    return status;
}

static struct tp_replay_report report_of(const struct session *s)
{
    return (struct tp_replay_report){.dump = &s->dump,
                                     .results = &s->results,
                                     .findings = &s->findings,
                                     .skipped = &s->skipped,
                                     .wish = &s->wish.wish,
                                     .fixes = s->fix ? &s->fixes : NULL,
                                     .figures = s->frame.drawn.lines,
                                     .figure_count = s->frame.drawn.count,
                                     .tool_version = PACKAGE_VERSION,
                                     .output_dir = s->frame.options->output_dir,
                                     .inputs = s->frame.options->inputs,
                                     .input_count =
                                         s->frame.options->input_count};
}

static void add_head(const void *session, struct tp_text *verdict,
                     struct tp_text *sentence)
{
    const struct session *s = session;
    const struct tp_replay_report report = report_of(s);
    tp_report_replay_head(&report, s->frame.damaged, verdict, sentence);
}

/* free_benchmark.csv as msprobe writes it, replay_coverage.csv as we do. */
static enum tp_status write_tables(const struct session *s,
                                   struct tp_error *err)
{
    struct tp_table flags, coverage, fixes;
    struct tp_text crlf = {0};
    tp_replay_flags_table(&s->results, &flags);
    tp_replay_coverage_table(&s->results, &coverage);
    tp_csv_table_crlf(&flags, &crlf);
    enum tp_status status =
        tp_output_write(s->frame.options, "free_benchmark.csv", &crlf, err);
    if (status == TP_OK)
        status = tp_output_csv(s->frame.options, "replay_coverage.csv",
                               &coverage, err);
    tp_fixes_table(&s->fixes, &fixes);
    if (status == TP_OK && s->fix)
        status = tp_output_csv(s->frame.options, "replay_fix.csv", &fixes, err);
    tp_text_clear(&crlf);
    return status;
}

static enum tp_status write_hdf5(struct session *s, struct tp_error *err)
{
    struct tp_table tables[6];
    uint64_t files = 0;
    enum tp_status status =
        tp_dump_finding_files(&s->dump, &s->findings, &s->files, err);
    if (status != TP_OK)
        return status;
    for (size_t i = 0; i < s->dump.place_count; i++)
        files += s->dump.places[i].file_count;
    tp_replay_table(&s->results, &tables[0]);
    tp_replay_flags_table(&s->results, &tables[1]);
    tp_replay_findings_table(&s->findings, &tables[2]);
    tp_finding_files_table(&s->files, &tables[3]);
    tp_skipped_table(s->skipped.rows, s->skipped.count, &tables[4]);
    tp_fixes_table(&s->fixes, &tables[5]);
    return tp_frame_hdf5(&s->frame, tables, s->fix ? 6 : 5, files, 0, err);
}

static enum tp_status write_results(void *session, struct tp_error *err)
{
    struct session *s = session;
    for (const struct tp_replay_figure_info *row = tp_replay_figure_table;
         row->id; row++)
        tp_output_replace_figure(&s->frame.replaced, TP_REPLAY_FIGURE_CATEGORY,
                                 row->id);
    enum tp_status status = write_tables(s, err);
    return status == TP_OK ? write_hdf5(s, err) : status;
}

static void add_text(const void *session, const struct tp_report_style *style,
                     struct tp_text *text)
{
    const struct session *s = session;
    const struct tp_replay_report report = report_of(s);
    if (s->frame.options->verbose && !style->file)
        tp_replay_log(&s->results, text);
    tp_report_replay_text(&report, style->most, style->color, text);
}

static void add_json(const void *session, struct tp_text *text)
{
    const struct tp_replay_report report = report_of(session);
    tp_report_replay_json(&report, text);
}

static bool lost(const void *session)
{
    const struct session *s = session;
    return tp_dump_lost(&s->dump) || s->results.arena.failed ||
           s->findings.arena.failed || s->files.arena.failed;
}

static void clear(void *session)
{
    struct session *s = session;
    tp_number_set_clear(&s->how.wish.steps);
    tp_number_set_clear(&s->how.wish.ranks);
    tp_skipped_clear(&s->skipped);
    tp_finding_files_clear(&s->files);
    tp_dump_findings_clear(&s->findings);
    tp_fixes_clear(&s->fixes);
    tp_replay_results_clear(&s->results);
    tp_dump_clear(&s->dump);
    tp_replay_config_clear(&s->config);
}

int tp_cmd_replay(const struct tp_options *options, int argc, char **argv)
{
    static const struct tp_frame_steps steps = {
        .title = "a replay",
        .hdf5 = "replay.h5",
        .findings = "replay_findings.json",
        .report = "replay_report.txt",
        .others = {"free_benchmark.csv", "replay_coverage.csv",
                   "replay_fix.csv"},
        .check = check,
        .read = replay,
        .write = write_results,
        .draw = draw,
        .head = add_head,
        .text = add_text,
        .json = add_json,
        .lost = lost,
        .clear = clear,
    };
    struct session s = {.frame = {.options = options}};
    return tp_frame_run(&steps, &s, argc, argv);
}
