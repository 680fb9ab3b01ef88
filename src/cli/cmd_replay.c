/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze replay DUMP: its operators computed again and perturbed.
 * free_benchmark.csv with msprobe's columns, replay_coverage.csv,
 * replay_report.txt, replay_findings.json, replay.h5.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text_wrap.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "config.h"
#include "dump/dump_read.h"
#include "replay/replay_config.h"
#include "report/csv.h"
#include "report/hdf5.h"
#include "report/report_replay.h"

/* Items of each list on stdout; replay_report.txt holds them all. */
enum { MOST_ON_STDOUT = 10 };

struct session {
    const struct tp_options *options;
    struct tp_text command_line;
    struct tp_pool *pool;
    struct tp_replay_config config;
    struct tp_dump_read_options how;
    struct tp_replay_options wish;
    struct tp_dump dump;
    struct tp_replay_results results;
    struct tp_dump_findings findings;
};

/* --- what to do ----------------------------------------------------------- */

/* The options, then what --config adds. */
static enum tp_status make_config(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->options;
    s->config = (struct tp_replay_config){.pert_mode = options->pert_mode,
                                          .fuzz_stage = options->fuzz_stage,
                                          .fuzz_device = options->fuzz_device,
                                          .handler_type = options->handler_type,
                                          .fuzz_level = options->fuzz_level,
                                          .scope = options->scope,
                                          .list = options->list,
                                          .steps = options->steps,
                                          .ranks = options->ranks};
    enum tp_status status =
        options->config
            ? tp_replay_config_read(options->config, &s->config, err)
            : TP_OK;
    return status == TP_OK
               ? tp_replay_config_check(&s->config, s->wish.modes, err)
               : status;
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

static enum tp_status make_wish(struct session *s, struct tp_error *err)
{
    struct tp_dump_wish *wish = &s->how.wish;
    enum tp_status status = make_config(s, err);
    if (status == TP_OK)
        status = take_names(s, err);
    wish->roots = s->options->inputs;
    wish->root_count = s->options->input_count;
    s->how.recover = s->options->recover;
    s->how.stop = s->wish.stop = &tp_interrupted;
    if (status == TP_OK && s->config.steps)
        status = tp_number_set_parse(&wish->steps, s->config.steps, err);
    if (status == TP_OK && s->config.ranks)
        status = tp_number_set_parse(&wish->ranks, s->config.ranks, err);
    return status;
}

static enum tp_status replay(struct session *s, struct tp_error *err)
{
    enum tp_status status =
        tp_pool_new(tp_options_jobs(s->options), &s->pool, err);
    s->how.pool = s->wish.pool = s->pool;
    if (status == TP_OK)
        status = tp_dump_read(&s->how, &s->dump, err);
    if (status == TP_OK)
        status = tp_replay_dump(&s->dump, &s->wish, &s->results, err);
    if (status == TP_OK)
        status =
            tp_replay_findings_make(&s->dump, &s->results, &s->findings, err);
    return status;
}

/* --- results -------------------------------------------------------------- */

static struct tp_replay_report report_of(const struct session *s)
{
    return (struct tp_replay_report){.dump = &s->dump,
                                     .results = &s->results,
                                     .findings = &s->findings,
                                     .modes = s->wish.modes,
                                     .tool_version = PACKAGE_VERSION,
                                     .output_dir = s->options->output_dir,
                                     .inputs = s->options->inputs,
                                     .input_count = s->options->input_count};
}

static void remove_old_results(const struct session *s)
{
    static const char *const names[] = {
        "free_benchmark.csv", "replay_coverage.csv", "replay_report.txt",
        "replay_findings.json", "replay.h5"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tp_output_remove(s->options, names[i]);
}

/* free_benchmark.csv as msprobe writes it, replay_coverage.csv as we do. */
static enum tp_status write_tables(const struct session *s,
                                   struct tp_error *err)
{
    struct tp_table flags, coverage;
    struct tp_text flags_csv = {0}, coverage_csv = {0};
    tp_replay_flags_table(&s->results, &flags);
    tp_replay_coverage_table(&s->results, &coverage);
    tp_csv_table_crlf(&flags, &flags_csv);
    tp_csv_table(&coverage, &coverage_csv);
    enum tp_status status =
        tp_output_write(s->options, "free_benchmark.csv", &flags_csv, err);
    if (status == TP_OK)
        status = tp_output_write(s->options, "replay_coverage.csv",
                                 &coverage_csv, err);
    tp_text_clear(&flags_csv);
    tp_text_clear(&coverage_csv);
    return status;
}

static enum tp_status write_hdf5(const struct session *s, struct tp_error *err)
{
    struct tp_table tables[3];
    uint64_t files = 0;
    for (size_t i = 0; i < s->dump.place_count; i++)
        files += s->dump.places[i].file_count;
    const struct tp_hdf5_header header = {
        PACKAGE_VERSION, tp_text_get(&s->command_line), files, 0};
    tp_replay_table(&s->results, &tables[0]);
    tp_replay_flags_table(&s->results, &tables[1]);
    tp_replay_findings_table(&s->findings, &tables[2]);
    char *path = tp_file_join(s->options->output_dir, "replay.h5");
    if (!path)
        return tp_fail_memory(err);
    enum tp_status status = tp_hdf5_write(path, &header, tables, 3, err);
    free(path);
    return status;
}

static enum tp_status write_results(struct session *s, struct tp_error *err)
{
    const struct tp_replay_report report = report_of(s);
    struct tp_text text = {.columns = TP_TEXT_COLUMNS}, json = {0};
    remove_old_results(s);
    tp_report_replay_json(&report, &json);
    tp_report_replay_text(&report, 0, false, &text);
    enum tp_status status = write_tables(s, err);
    if (status == TP_OK)
        status = write_hdf5(s, err);
    if (status == TP_OK)
        status =
            tp_output_write(s->options, "replay_findings.json", &json, err);
    if (status == TP_OK) /* last: it says that the others are there */
        status = tp_output_write(s->options, "replay_report.txt", &text, err);
    tp_text_clear(&json);
    tp_text_clear(&text);
    return status;
}

static enum tp_status analyse(struct session *s, struct tp_error *err)
{
    bool existed;
    enum tp_status status = tp_check_options(s->options, "DUMP", err);
    if (status == TP_OK)
        status = make_wish(s, err);
    if (status == TP_OK)
        status = tp_output_prepare(s->options, &existed, err);
    if (status != TP_OK)
        return status;
    status = replay(s, err);
    if (status != TP_OK && !existed)
        rmdir(s->options->output_dir); /* ours, and empty */
    return status == TP_OK ? write_results(s, err) : status;
}

static bool print_result(const struct session *s)
{
    const struct tp_replay_report report = report_of(s);
    struct tp_text text = {.columns = tp_stdout_columns()};
    const bool verbose = s->options->verbose;
    if (s->options->format == TP_FORM_JSON) {
        tp_report_replay_json(&report, &text);
    } else if (!s->options->quiet) {
        if (verbose)
            tp_replay_log(&s->results, &text);
        tp_report_replay_text(&report, verbose ? 0 : MOST_ON_STDOUT,
                              tp_wants_color(), &text);
    }
    return tp_print(&text);
}

static int exit_status(const struct session *s)
{
    if (s->results.counts.states[TP_REPLAY_UNREADABLE])
        return TP_EXIT_DAMAGED;
    return tp_reaches_fail_on(s->options, tp_dump_findings_worst(&s->findings))
               ? TP_EXIT_FINDINGS
               : TP_EXIT_OK;
}

static void session_clear(struct session *s)
{
    tp_text_clear(&s->command_line);
    tp_number_set_clear(&s->how.wish.steps);
    tp_number_set_clear(&s->how.wish.ranks);
    tp_dump_findings_clear(&s->findings);
    tp_replay_results_clear(&s->results);
    tp_dump_clear(&s->dump);
    tp_replay_config_clear(&s->config);
    tp_pool_free(s->pool);
}

int tp_cmd_replay(const struct tp_options *options, int argc, char **argv)
{
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
