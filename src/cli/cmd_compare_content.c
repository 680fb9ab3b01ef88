/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze compare A B --match content: which tensors hold the same,
 * whatever they are called. compare_report.txt, compare_findings.json,
 * compare.h5.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/text_wrap.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "compare/content_match.h"
#include "config.h"
#include "report/hdf5.h"
#include "report/report_content.h"

/* Items of each list on stdout; compare_report.txt holds them all. */
enum { MOST_ON_STDOUT = 10 };

struct session {
    const struct tp_options *options;
    struct tp_text command_line;
    struct tp_number_set steps, ranks;
    struct tp_pool *pool;
    struct tp_content content;
    struct tp_content_rows rows;
    struct tp_dump_findings findings;
};

static enum tp_status check_options(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->options;
    if (options->input_count != 2)
        return tp_fail(err, TP_E_USAGE, -1,
                       "compare takes two paths, A and B; %zu were given",
                       options->input_count);
    if (options->map || options->fuzzy_match ||
        options->compare_mode != TP_COMPARE_AUTO)
        return tp_fail(err, TP_E_USAGE, -1,
                       "%s is about names; with --match content there are "
                       "none to match",
                       options->map           ? "--map"
                       : options->fuzzy_match ? "--fuzzy_match"
                                              : "--mode");
    enum tp_status status =
        options->steps ? tp_number_set_parse(&s->steps, options->steps, err)
                       : TP_OK;
    if (status == TP_OK && options->ranks)
        status = tp_number_set_parse(&s->ranks, options->ranks, err);
    return status;
}

static enum tp_status match(struct session *s, struct tp_error *err)
{
    struct tp_progress progress;
    struct tp_content_options how = {.a = s->options->inputs[0],
                                     .b = s->options->inputs[1],
                                     .steps = &s->steps,
                                     .ranks = &s->ranks};
    enum tp_status status =
        tp_pool_new(tp_options_jobs(s->options), &s->pool, err);
    if (status != TP_OK)
        return status;
    tp_progress_start(&progress, "files", s->options);
    how.reading = (struct tp_content_reading){.pool = s->pool,
                                              .stop = &tp_interrupted,
                                              .progress = tp_progress_update,
                                              .progress_context = &progress};
    status = tp_content_compare(&how, &s->content, err);
    tp_progress_end(&progress);
    return status;
}

static enum tp_status write_hdf5(struct session *s, struct tp_error *err)
{
    struct tp_table tables[3];
    const struct tp_hdf5_header header = {
        PACKAGE_VERSION, tp_text_get(&s->command_line),
        s->content.sides[0].found.count + s->content.sides[1].found.count, 0};
    tp_content_matches_table(&s->rows, &tables[0]);
    tp_content_alone_table(&s->rows, &tables[1]);
    tp_compare_findings_table(&s->findings, &tables[2]);
    char *path = tp_file_join(s->options->output_dir, "compare.h5");
    if (!path)
        return tp_fail_memory(err);
    enum tp_status status = tp_hdf5_write(path, &header, tables, 3, err);
    free(path);
    return status;
}

static struct tp_content_report report_of(const struct session *s)
{
    return (struct tp_content_report){.content = &s->content,
                                      .rows = &s->rows,
                                      .findings = &s->findings,
                                      .tool_version = PACKAGE_VERSION,
                                      .output_dir = s->options->output_dir,
                                      .a = s->options->inputs[0],
                                      .b = s->options->inputs[1]};
}

static enum tp_status write_reports(struct session *s, struct tp_error *err)
{
    const struct tp_content_report report = report_of(s);
    struct tp_text text = {.columns = TP_TEXT_COLUMNS}, json = {0};
    tp_report_content_json(&report, &json);
    tp_report_content_text(&report, 0, false, &text);
    enum tp_status status =
        tp_output_write(s->options, "compare_findings.json", &json, err);
    if (status == TP_OK) /* last: it says that the others are there */
        status = tp_output_write(s->options, "compare_report.txt", &text, err);
    tp_text_clear(&json);
    tp_text_clear(&text);
    return status;
}

/* The matches are there: everything that follows from them. */
static enum tp_status write_results(struct session *s, struct tp_error *err)
{
    static const char *const old[] = {"compare.h5", "compare_report.txt",
                                      "compare_findings.json",
                                      "compare_by_call.csv"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        tp_output_remove(s->options, old[i]);
    enum tp_status status = tp_content_rows_make(&s->content, &s->rows, err);
    if (status == TP_OK)
        status =
            tp_content_findings_make(&s->content, &s->rows, &s->findings, err);
    if (status == TP_OK)
        status = write_hdf5(s, err);
    return status == TP_OK ? write_reports(s, err) : status;
}

static enum tp_status analyse(struct session *s, struct tp_error *err)
{
    bool existed;
    enum tp_status status = check_options(s, err);
    if (status == TP_OK)
        status = tp_output_prepare(s->options, &existed, err);
    if (status != TP_OK)
        return status;
    status = match(s, err);
    if (status != TP_OK && !existed)
        rmdir(s->options->output_dir); /* ours, and empty */
    return status == TP_OK ? write_results(s, err) : status;
}

static bool print_result(const struct session *s)
{
    const struct tp_content_report report = report_of(s);
    struct tp_text text = {.columns = tp_stdout_columns()};
    if (s->options->format == TP_FORM_JSON)
        tp_report_content_json(&report, &text);
    else if (!s->options->quiet)
        tp_report_content_text(&report,
                               s->options->verbose ? 0 : MOST_ON_STDOUT,
                               tp_wants_color(), &text);
    return tp_print(&text);
}

static int exit_status(const struct session *s)
{
    if (s->content.sides[0].damaged + s->content.sides[1].damaged > 0)
        return TP_EXIT_DAMAGED;
    return tp_reaches_fail_on(s->options, tp_dump_findings_worst(&s->findings))
               ? TP_EXIT_FINDINGS
               : TP_EXIT_OK;
}

int tp_compare_by_content(const struct tp_options *options, int argc,
                          char **argv)
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
    tp_text_clear(&s.command_line);
    tp_number_set_clear(&s.steps);
    tp_number_set_clear(&s.ranks);
    tp_dump_findings_clear(&s.findings);
    tp_content_rows_clear(&s.rows);
    tp_content_clear(&s.content);
    tp_pool_free(s.pool);
    return result;
}
