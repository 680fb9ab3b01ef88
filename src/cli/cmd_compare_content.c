/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze compare A B --match content: which tensors hold the same,
 * whatever they are called. compare_report.txt, compare_findings.json,
 * compare.h5.
 */
#include "cli/frame.h"
#include "compare/content_files.h"
#include "compare/content_match.h"
#include "config.h"
#include "report/report_content.h"

struct session {
    struct tp_frame frame;
    struct tp_number_set steps, ranks;
    struct tp_content content;
    struct tp_content_rows rows;
    struct tp_dump_findings findings;
    struct tp_finding_files files;
    struct tp_skipped_list skipped;
};

static enum tp_status check(void *session, struct tp_error *err)
{
    struct session *s = session;
    const struct tp_options *options = s->frame.options;
    enum tp_status status = tp_check_pair(options, err);
    if (status != TP_OK)
        return status;
    if (options->map || options->fuzzy_match ||
        options->compare_mode != TP_COMPARE_AUTO)
        return tp_fail(err, TP_E_USAGE, -1,
                       "%s is about names; with --match content there are "
                       "none to match",
                       options->map           ? "--map"
                       : options->fuzzy_match ? "--fuzzy_match"
                                              : "--mode");
    return tp_parse_places(options->steps, options->ranks, &s->steps, &s->ranks,
                           err);
}

static enum tp_status match(void *session, struct tp_error *err)
{
    struct session *s = session;
    struct tp_progress progress;
    struct tp_content_options how = {.a = s->frame.options->inputs[0],
                                     .b = s->frame.options->inputs[1],
                                     .steps = &s->steps,
                                     .ranks = &s->ranks};
    tp_progress_start(&progress, "files", s->frame.options);
    how.reading = (struct tp_content_reading){.pool = s->frame.pool,
                                              .stop = &tp_interrupted,
                                              .progress = tp_progress_update,
                                              .progress_context = &progress};
    enum tp_status status = tp_content_compare(&how, &s->content, err);
    tp_progress_end(&progress);
    return status;
}

static enum tp_status write_hdf5(struct session *s, struct tp_error *err)
{
    struct tp_table tables[5];
    enum tp_status status =
        tp_content_finding_files(&s->content, &s->findings, &s->files, err);
    if (status != TP_OK)
        return status;
    tp_content_matches_table(&s->rows, &tables[0]);
    tp_content_alone_table(&s->rows, &tables[1]);
    tp_compare_findings_table(&s->findings, &tables[2]);
    tp_finding_files_table(&s->files, &tables[3]);
    tp_skipped_table(s->skipped.rows, s->skipped.count, &tables[4]);
    const struct tp_content_side *sides = s->content.sides;
    return tp_frame_hdf5(&s->frame, tables, 5,
                         sides[0].found.count + sides[1].found.count, 0, err);
}

static struct tp_content_report report_of(const struct session *s)
{
    return (struct tp_content_report){.content = &s->content,
                                      .rows = &s->rows,
                                      .findings = &s->findings,
                                      .skipped = &s->skipped,
                                      .tool_version = PACKAGE_VERSION,
                                      .output_dir =
                                          s->frame.options->output_dir,
                                      .a = s->frame.options->inputs[0],
                                      .b = s->frame.options->inputs[1]};
}

/* The matches are there: everything that follows from them. */
static enum tp_status write_results(void *session, struct tp_error *err)
{
    struct session *s = session;
    enum tp_status status = tp_content_rows_make(&s->content, &s->rows, err);
    if (status == TP_OK)
        status =
            tp_content_findings_make(&s->content, &s->rows, &s->findings, err);
    for (int i = 0; i < 2; i++) {
        const struct tp_found_list *found = &s->content.sides[i].found;
        if (status == TP_OK)
            status = tp_skipped_add_found(&s->skipped, found, err);
        s->frame.damaged |= tp_found_damaged(found);
    }
    s->frame.worst = tp_dump_findings_worst(&s->findings);
    return status == TP_OK ? write_hdf5(s, err) : status;
}

static void add_text(const void *session, const struct tp_report_style *style,
                     struct tp_text *text)
{
    const struct tp_content_report report = report_of(session);
    tp_report_content_text(&report, style->most, style->color, text);
}

static void add_head(const void *session, struct tp_text *verdict,
                     struct tp_text *sentence)
{
    const struct session *s = session;
    const struct tp_content_report report = report_of(s);
    tp_report_content_head(&report, s->frame.damaged, verdict, sentence);
}

static void add_json(const void *session, struct tp_text *text)
{
    const struct tp_content_report report = report_of(session);
    tp_report_content_json(&report, text);
}

static bool lost(const void *session)
{
    const struct session *s = session;
    return tp_content_lost(&s->content) || s->rows.arena.failed ||
           s->findings.arena.failed || s->files.arena.failed;
}

static void clear(void *session)
{
    struct session *s = session;
    tp_number_set_clear(&s->steps);
    tp_number_set_clear(&s->ranks);
    tp_finding_files_clear(&s->files);
    tp_dump_findings_clear(&s->findings);
    tp_skipped_clear(&s->skipped);
    tp_content_rows_clear(&s->rows);
    tp_content_clear(&s->content);
}

int tp_compare_by_content(const struct tp_options *options, int argc,
                          char **argv)
{
    static const struct tp_frame_steps steps = {
        .title = "a comparison",
        .hdf5 = "compare.h5",
        .findings = "compare_findings.json",
        .report = "compare_report.txt",
        .others = {"compare_by_call.csv"},
        .check = check,
        .read = match,
        .write = write_results,
        .head = add_head,
        .text = add_text,
        .json = add_json,
        .lost = lost,
        .clear = clear,
    };
    struct session s = {.frame = {.options = options}};
    return tp_frame_run(&steps, &s, argc, argv);
}
