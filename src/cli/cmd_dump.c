/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze dump PATH: whether a dump of msprobe is what was saved, and
 * where the run went wrong. dump_report.txt, dump_findings.json, dump.h5,
 * dump_integrity.csv.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/frame.h"
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
#include "dump/finding_files.h"
#include "report/report_dump.h"

struct session {
    struct tp_frame frame;
    struct tp_dump_read_options how;
    struct tp_dump dump, crc_dump; /* that of --crc_from                   */
    struct tp_dump_findings findings;
    struct tp_finding_files files;
    struct tp_dump_integrity integrity;
    struct tp_dump_tree tree;
    struct tp_dump_anomalies anomalies;
    struct tp_dump_flow flow;
    struct tp_dump_copies copies;
    struct tp_skipped_list skipped;
    struct tp_check scripts; /* of --scripts                               */
};

/* What to read, from the options. */
static enum tp_status check(void *session, struct tp_error *err)
{
    struct session *s = session;
    struct tp_dump_wish *wish = &s->how.wish;
    enum tp_status status = tp_check_options(s->frame.options, "PATH", err);
    if (status != TP_OK)
        return status;
    wish->roots = s->frame.options->inputs;
    wish->root_count = s->frame.options->input_count;
    s->how.recover = s->frame.options->recover;
    s->how.stop = &tp_interrupted;
    return tp_parse_places(s->frame.options->steps, s->frame.options->ranks,
                           &wish->steps, &wish->ranks, err);
}

/* Another dump, of which the json is enough. */
static enum tp_status read_crc_dump(struct session *s, struct tp_error *err)
{
    struct tp_dump_read_options how = s->how;
    if (!s->frame.options->crc_from)
        return TP_OK;
    how.wish.roots = &s->frame.options->crc_from;
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
        .verify = s->frame.options->verify,
        .crc_from = s->frame.options->crc_from ? &s->crc_dump : NULL,
        .pool = s->frame.pool,
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
    const bool reads = s->frame.options->verify != TP_VERIFY_NONE;
    enum tp_status status =
        tp_dump_anomalies_find(&s->dump, &s->anomalies, err);
    if (status == TP_OK)
        status = tp_dump_origins_find(&s->dump, &s->anomalies,
                                      reads ? s->frame.pool : NULL,
                                      &tp_interrupted, &s->findings, err);
    if (status == TP_OK && reads)
        status = tp_dump_flow_find(&s->dump, s->frame.pool, &tp_interrupted,
                                   &s->flow, &s->findings, err);
    if (status == TP_OK)
        status = tp_dump_copies_find(&s->dump, &s->copies, &s->findings, err);
    return status;
}

/* The dump and what the stages find in it, in the order of the report. */
static enum tp_status read_dump(void *session, struct tp_error *err)
{
    struct session *s = session;
    s->how.pool = s->frame.pool;
    enum tp_status status = tp_dump_read(&s->how, &s->dump, err);
    if (status == TP_OK)
        status = check_integrity(s, err);
    if (status == TP_OK)
        status = audit(s, err);
    if (status != TP_OK)
        return status;
    status = tp_scripts_read(s->frame.options, s->frame.pool, &s->scripts, err);
    if (status == TP_OK)
        status = tp_scripts_explain(&s->scripts, &s->dump, &s->findings, err);
    if (status != TP_OK)
        return status;
    tp_dump_findings_sort(&s->findings);
    status = tp_skipped_add_found(&s->skipped, &s->dump.found, err);
    if (status == TP_OK)
        status = tp_skipped_add_found(&s->skipped, &s->crc_dump.found, err);
    if (status != TP_OK)
        return status;
    s->frame.damaged = tp_dump_findings_damage(&s->findings) ||
                       s->flow.unread.count || s->copies.unread.count ||
                       tp_found_damaged(&s->dump.found) ||
                       tp_found_damaged(&s->crc_dump.found);
    s->frame.worst = tp_dump_findings_worst(&s->findings);
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
                                   .skipped = &s->skipped,
                                   .tool_version = PACKAGE_VERSION,
                                   .output_dir = s->frame.options->output_dir,
                                   .inputs = s->frame.options->inputs,
                                   .input_count =
                                       s->frame.options->input_count};
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

static enum tp_status write_hdf5(struct session *s, struct tp_error *err)
{
    struct tp_dump_tables tables = {
        &s->dump, &s->integrity, &s->findings, &s->tree, {{0}}};
    struct tp_table all[TP_DUMP_TABLES + AUDITS + 2];
    enum tp_status status =
        tp_dump_finding_files(&s->dump, &s->findings, &s->files, err);
    if (status != TP_OK)
        return status;
    tp_dump_tables_make(&tables);
    memcpy(all, tables.tables, sizeof tables.tables);
    make_audit_tables(s, all + TP_DUMP_TABLES);
    tp_finding_files_table(&s->files, &all[TP_DUMP_TABLES + AUDITS]);
    tp_skipped_table(s->skipped.rows, s->skipped.count,
                     &all[TP_DUMP_TABLES + AUDITS + 1]);
    return tp_frame_hdf5(&s->frame, all, sizeof all / sizeof *all,
                         s->integrity.files, s->integrity.bytes, err);
}

static enum tp_status write_csv(const struct session *s, struct tp_error *err)
{
    struct tp_dump_finding *rows;
    struct tp_table table;
    enum tp_status status =
        tp_dump_integrity_table(&s->findings, &rows, &table, err);
    if (status != TP_OK)
        return status;
    status = tp_output_csv(s->frame.options, "dump_integrity.csv", &table, err);
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
    for (size_t i = 0; i < AUDITS && status == TP_OK; i++)
        status = tp_output_csv(s->frame.options, names[i], &tables[i], err);
    return status;
}

static enum tp_status write_results(void *session, struct tp_error *err)
{
    struct session *s = session;
    enum tp_status status = write_hdf5(s, err);
    if (status == TP_OK)
        status = write_csv(s, err);
    return status == TP_OK ? write_audits(s, err) : status;
}

static void add_text(const void *session, const struct tp_report_style *style,
                     struct tp_text *text)
{
    const struct tp_dump_report report = report_of(session);
    tp_report_dump_text(&report, style->most, style->color, text);
}

static void add_head(const void *session, struct tp_text *verdict,
                     struct tp_text *sentence)
{
    const struct session *s = session;
    const struct tp_dump_report report = report_of(s);
    tp_report_dump_head(&report, s->frame.damaged, verdict, sentence);
}

static void add_json(const void *session, struct tp_text *text)
{
    const struct tp_dump_report report = report_of(session);
    tp_report_dump_json(&report, text);
}

static void add_findings(const void *session, struct tp_text *text)
{
    const struct tp_dump_report report = report_of(session);
    tp_report_dump_findings_json(&report, text);
}

static bool lost(const void *session)
{
    const struct session *s = session;
    return tp_dump_lost(&s->dump) || tp_dump_lost(&s->crc_dump) ||
           s->integrity.arena.failed || s->copies.arena.failed ||
           s->flow.arena.failed || s->anomalies.arena.failed ||
           s->findings.arena.failed || s->files.arena.failed;
}

static void clear(void *session)
{
    struct session *s = session;
    tp_number_set_clear(&s->how.wish.steps);
    tp_number_set_clear(&s->how.wish.ranks);
    tp_check_clear(&s->scripts);
    tp_skipped_clear(&s->skipped);
    free(s->tree.rows);
    tp_dump_integrity_clear(&s->integrity);
    tp_dump_copies_clear(&s->copies);
    tp_dump_flow_clear(&s->flow);
    tp_dump_anomalies_clear(&s->anomalies);
    tp_finding_files_clear(&s->files);
    tp_dump_findings_clear(&s->findings);
    tp_dump_clear(&s->crc_dump);
    tp_dump_clear(&s->dump);
}

int tp_cmd_dump(const struct tp_options *options, int argc, char **argv)
{
    static const struct tp_frame_steps steps = {
        .title = "a dump",
        .hdf5 = "dump.h5",
        .findings = "dump_findings.json",
        .report = "dump_report.txt",
        .others = {"dump_integrity.csv", "overflow.csv", "dump_flow.csv",
                   "dump_copies.csv"},
        .check = check,
        .read = read_dump,
        .write = write_results,
        .head = add_head,
        .text = add_text,
        .json = add_json,
        .findings_json = add_findings,
        .lost = lost,
        .clear = clear,
    };
    struct session s = {.frame = {.options = options}};
    return tp_frame_run(&steps, &s, argc, argv);
}
