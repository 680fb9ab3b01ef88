/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze dump PATH: whether a dump of msprobe is what was saved, and
 * where the run went wrong. dump_report.txt, dump_findings.json, dump.h5,
 * dump_integrity.csv.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/text_wrap.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/scripts.h"
#include "config.h"
#include "dump/dump_anomaly.h"
#include "dump/dump_check.h"
#include "dump/dump_copies.h"
#include "dump/dump_findings.h"
#include "dump/dump_flow.h"
#include "dump/dump_origin.h"
#include "dump/dump_read.h"
#include "dump/dump_tables.h"
#include "report/csv.h"
#include "report/hdf5.h"
#include "report/report_dump.h"

/* Items of each list on stdout; dump_report.txt holds them all. */
enum { MOST_ON_STDOUT = 10 };

struct session {
    const struct tp_options *options;
    struct tp_text command_line;
    struct tp_pool *pool;
    struct tp_dump_read_options how;
    struct tp_dump dump, crc_dump; /* that of --crc_from                   */
    struct tp_dump_findings findings;
    struct tp_dump_integrity integrity;
    struct tp_dump_tree tree;
    struct tp_dump_anomalies anomalies;
    struct tp_dump_flow flow;
    struct tp_dump_copies copies;
    struct tp_check scripts; /* of --scripts                               */
};

/* What to read, from the options. */
static enum tp_status make_wish(struct session *s, struct tp_error *err)
{
    struct tp_dump_wish *wish = &s->how.wish;
    wish->roots = s->options->inputs;
    wish->root_count = s->options->input_count;
    s->how.recover = s->options->recover;
    s->how.stop = &tp_interrupted;
    enum tp_status status = TP_OK;
    if (s->options->steps)
        status = tp_number_set_parse(&wish->steps, s->options->steps, err);
    if (status == TP_OK && s->options->ranks)
        status = tp_number_set_parse(&wish->ranks, s->options->ranks, err);
    return status;
}

static enum tp_status read_dump(struct session *s, struct tp_error *err)
{
    enum tp_status status =
        tp_pool_new(tp_options_jobs(s->options), &s->pool, err);
    s->how.pool = s->pool;
    if (status == TP_OK)
        status = tp_dump_read(&s->how, &s->dump, err);
    return status;
}

/* Another dump, of which the json is enough. */
static enum tp_status read_crc_dump(struct session *s, struct tp_error *err)
{
    struct tp_dump_read_options how = s->how;
    if (!s->options->crc_from)
        return TP_OK;
    how.wish.roots = &s->options->crc_from;
    how.wish.root_count = 1;
    how.recover = false;
    enum tp_status status = tp_dump_read(&how, &s->crc_dump, err);
    if (status != TP_OK)
        tp_while(err, "reading the dump of --crc_from");
    return status;
}

static enum tp_status check_integrity(struct session *s, struct tp_error *err)
{
    const struct tp_dump_check_options how = {
        .verify = s->options->verify,
        .crc_from = s->options->crc_from ? &s->crc_dump : NULL,
        .pool = s->pool,
        .stop = &tp_interrupted};
    enum tp_status status = read_crc_dump(s, err);
    return status == TP_OK
               ? tp_dump_integrity_check(&s->dump, &how, &s->findings,
                                         &s->integrity, err)
               : status;
}

/* What is wrong with what the dump says. */
static enum tp_status audit(struct session *s, struct tp_error *err)
{
    const bool reads = s->options->verify != TP_VERIFY_NONE;
    enum tp_status status =
        tp_dump_anomalies_find(&s->dump, &s->anomalies, err);
    if (status == TP_OK)
        status = tp_dump_origins_find(&s->dump, &s->anomalies,
                                      reads ? s->pool : NULL, &tp_interrupted,
                                      &s->findings, err);
    if (status == TP_OK && reads)
        status = tp_dump_flow_find(&s->dump, s->pool, &tp_interrupted, &s->flow,
                                   &s->findings, err);
    if (status == TP_OK)
        status = tp_dump_copies_find(&s->dump, &s->copies, &s->findings, err);
    return status;
}

/* What the stages find, in the order of the report. */
static enum tp_status examine(struct session *s, struct tp_error *err)
{
    enum tp_status status = check_integrity(s, err);
    if (status == TP_OK)
        status = audit(s, err);
    if (status != TP_OK)
        return status;
    status = tp_scripts_read(s->options, s->pool, &s->scripts, err);
    if (status == TP_OK)
        status = tp_scripts_explain(&s->scripts, &s->dump, &s->findings, err);
    if (status != TP_OK)
        return status;
    tp_dump_findings_sort(&s->findings);
    return tp_dump_tree_make(&s->dump, &s->findings, &s->tree, err);
}

static struct tp_dump_report report_of(const struct session *s)
{
    return (struct tp_dump_report){.dump = &s->dump,
                                   .findings = &s->findings,
                                   .integrity = &s->integrity,
                                   .tree = &s->tree,
                                   .anomalies = &s->anomalies,
                                   .flow = &s->flow,
                                   .copies = &s->copies,
                                   .tool_version = PACKAGE_VERSION,
                                   .output_dir = s->options->output_dir,
                                   .inputs = s->options->inputs,
                                   .input_count = s->options->input_count};
}

static void remove_old_results(const struct session *s)
{
    static const char *const names[] = {
        "dump.h5",           "dump_report.txt", "dump_integrity.csv",
        "overflow.csv",      "dump_flow.csv",   "dump_copies.csv",
        "dump_findings.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tp_output_remove(s->options, names[i]);
}

/* Tables of the audits. */
enum { AUDITS = 3 };

static void make_audit_tables(const struct session *s,
                              struct tp_table tables[AUDITS])
{
    tp_dump_anomalies_table(&s->anomalies, &tables[0]);
    tp_dump_flow_table(&s->flow, &tables[1]);
    tp_dump_copies_table(&s->copies, &tables[2]);
}

static enum tp_status write_hdf5(const struct session *s, struct tp_error *err)
{
    struct tp_dump_tables tables = {
        &s->dump, &s->integrity, &s->findings, &s->tree, {{0}}};
    const struct tp_hdf5_header header = {
        PACKAGE_VERSION, tp_text_get(&s->command_line), s->integrity.files,
        s->integrity.bytes};
    struct tp_table all[TP_DUMP_TABLES + AUDITS];
    tp_dump_tables_make(&tables);
    memcpy(all, tables.tables, sizeof tables.tables);
    make_audit_tables(s, all + TP_DUMP_TABLES);
    char *path = tp_file_join(s->options->output_dir, "dump.h5");
    if (!path)
        return tp_fail_memory(err);
    enum tp_status status =
        tp_hdf5_write(path, &header, all, sizeof all / sizeof *all, err);
    free(path);
    return status;
}

static enum tp_status write_csv(const struct session *s, struct tp_error *err)
{
    struct tp_dump_finding *rows;
    struct tp_table table;
    struct tp_text text = {0};
    enum tp_status status =
        tp_dump_integrity_table(&s->findings, &rows, &table, err);
    if (status != TP_OK)
        return status;
    tp_csv_table(&table, &text);
    status = tp_output_write(s->options, "dump_integrity.csv", &text, err);
    tp_text_clear(&text);
    free(rows);
    return status;
}

/* One CSV file for each audit. */
static enum tp_status write_audits(const struct session *s,
                                   struct tp_error *err)
{
    static const char *const names[] = {"overflow.csv", "dump_flow.csv",
                                        "dump_copies.csv"};
    struct tp_table tables[AUDITS];
    enum tp_status status = TP_OK;
    make_audit_tables(s, tables);
    for (size_t i = 0; i < AUDITS && status == TP_OK; i++) {
        struct tp_text text = {0};
        tp_csv_table(&tables[i], &text);
        status = tp_output_write(s->options, names[i], &text, err);
        tp_text_clear(&text);
    }
    return status;
}

static enum tp_status write_results(struct session *s, struct tp_error *err)
{
    const struct tp_dump_report report = report_of(s);
    struct tp_text text = {.columns = TP_TEXT_COLUMNS}, json = {0};
    remove_old_results(s);
    tp_report_dump_findings_json(&s->findings, &json);
    tp_report_dump_text(&report, 0, false, &text);
    enum tp_status status = write_hdf5(s, err);
    if (status == TP_OK)
        status = write_csv(s, err);
    if (status == TP_OK)
        status = write_audits(s, err);
    if (status == TP_OK)
        status = tp_output_write(s->options, "dump_findings.json", &json, err);
    if (status == TP_OK) /* last: it says that the others are there */
        status = tp_output_write(s->options, "dump_report.txt", &text, err);
    tp_text_clear(&json);
    tp_text_clear(&text);
    return status;
}

static enum tp_status analyse(struct session *s, struct tp_error *err)
{
    bool existed;
    enum tp_status status = tp_check_options(s->options, "PATH", err);
    if (status == TP_OK)
        status = make_wish(s, err);
    if (status == TP_OK)
        status = tp_output_prepare(s->options, &existed, err);
    if (status != TP_OK)
        return status;
    status = read_dump(s, err);
    if (status == TP_OK)
        status = examine(s, err);
    if (status != TP_OK && !existed)
        rmdir(s->options->output_dir); /* ours, and empty */
    return status == TP_OK ? write_results(s, err) : status;
}

static bool print_result(const struct session *s)
{
    const struct tp_dump_report report = report_of(s);
    struct tp_text text = {.columns = tp_stdout_columns()};
    if (s->options->format == TP_FORM_JSON)
        tp_report_dump_json(&report, &text);
    else if (!s->options->quiet)
        tp_report_dump_text(&report, s->options->verbose ? 0 : MOST_ON_STDOUT,
                            tp_wants_color(), &text);
    return tp_print(&text);
}

static int exit_status(const struct session *s)
{
    if (tp_dump_findings_damage(&s->findings))
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
    tp_check_clear(&s->scripts);
    free(s->tree.rows);
    tp_dump_integrity_clear(&s->integrity);
    tp_dump_copies_clear(&s->copies);
    tp_dump_flow_clear(&s->flow);
    tp_dump_anomalies_clear(&s->anomalies);
    tp_dump_findings_clear(&s->findings);
    tp_dump_clear(&s->crc_dump);
    tp_dump_clear(&s->dump);
    tp_pool_free(s->pool);
}

int tp_cmd_dump(const struct tp_options *options, int argc, char **argv)
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
