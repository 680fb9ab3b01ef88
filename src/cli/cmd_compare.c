/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze compare A B: where two dumps, checkpoints or runs part.
 * compare_result_*.csv with msprobe's columns, compare_report.txt,
 * compare_findings.json, compare.h5.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/frame.h"
#include "compare/compare_autodiff.h"
#include "compare/compare_damage.h"
#include "compare/compare_files.h"
#include "compare/compare_sheet.h"
#include "config.h"
#include "figures/compare_figures.h"
#include "report/report_runs.h"

struct session {
    struct tp_frame frame;
    struct tp_compare_options how;
    struct tp_comparison comparison;
    struct tp_compare_calls calls;
    struct tp_compare_records records;
    struct tp_dump_findings findings;
    struct tp_finding_files files;
    struct tp_compare_autodiff autodiff;
    struct tp_skipped_list skipped;
};

/* What to compare, from the options. */
static enum tp_status check(void *session, struct tp_error *err)
{
    struct session *s = session;
    const struct tp_options *options = s->frame.options;
    struct tp_compare_options *how = &s->how;
    enum tp_status status = tp_check_pair(options, err);
    if (status != TP_OK)
        return status;
    how->a = options->inputs[0];
    how->b = options->inputs[1];
    how->mode = options->compare_mode;
    how->fuzzy = options->fuzzy_match;
    how->map = options->map;
    how->read.recover = options->recover;
    how->read.stop = &tp_interrupted;
    return tp_parse_places(options->steps, options->ranks,
                           &how->read.wish.steps, &how->read.wish.ranks, err);
}

static enum tp_status compare(void *session, struct tp_error *err)
{
    struct session *s = session;
    struct tp_progress progress;
    tp_progress_start(&progress, "pairs of tensors", s->frame.options);
    s->how.read.pool = s->frame.pool;
    s->how.progress = tp_progress_update;
    s->how.progress_context = &progress;
    enum tp_status status = tp_compare(&s->how, &s->comparison, err);
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
    struct tp_text name = {0};
    enum tp_status status =
        tp_compare_sheet_make(pair, s->comparison.mode, &sheet, err);
    name_sheet(s, pair, time, &name);
    if (status == TP_OK && name.failed)
        status = tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_output_csv(s->frame.options, tp_text_get(&name),
                               &sheet.table, err);
    tp_compare_sheet_clear(&sheet);
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
    struct tp_table table;
    tp_compare_apis_table(&s->calls, &table);
    return tp_output_csv(s->frame.options, "compare_by_call.csv", &table, err);
}

/* Which operator parts the runs, if that was asked for. */
static enum tp_status find_operator(struct session *s, struct tp_error *err)
{
    const struct tp_divergence_options how = {.stop = &tp_interrupted};
    return s->frame.options->autodiff
               ? tp_compare_autodiff_make(&s->comparison, &how, &s->autodiff,
                                          &s->findings, err)
               : TP_OK;
}

static enum tp_status write_autodiff(struct session *s, struct tp_error *err)
{
    struct tp_table table;
    tp_compare_autodiff_table(&s->autodiff, &table);
    return s->frame.options->autodiff
               ? tp_output_csv(s->frame.options, "autodiff.csv", &table, err)
               : TP_OK;
}

static enum tp_status write_hdf5(struct session *s, struct tp_error *err)
{
    struct tp_table tables[7];
    uint64_t files = 0;
    enum tp_status status =
        tp_compare_finding_files(&s->comparison, &s->findings, &s->files, err);
    if (status != TP_OK)
        return status;
    for (size_t i = 0; i < s->comparison.pair_count; i++)
        files += s->comparison.pairs[i].a.place->file_count +
                 s->comparison.pairs[i].b.place->file_count;
    tp_compare_records_table(&s->records, &tables[0]);
    tp_compare_calls_table(&s->calls, &tables[1]);
    tp_compare_apis_table(&s->calls, &tables[2]);
    tp_compare_findings_table(&s->findings, &tables[3]);
    tp_compare_autodiff_table(&s->autodiff, &tables[4]);
    tp_finding_files_table(&s->files, &tables[5]);
    tp_skipped_table(s->skipped.rows, s->skipped.count, &tables[6]);
    return tp_frame_hdf5(&s->frame, tables, 7, files, 0, err);
}

static enum tp_status draw(void *session, struct tp_error *err)
{
    struct session *s = session;
    const struct tp_compare_figure_input input = {&s->comparison, &s->calls};
    enum tp_status status =
        tp_compare_figures_build(&input, &s->frame.figures, err);
    if (status != TP_OK)
        return status;
    status = tp_output_draw(s->frame.options, &s->frame.figures,
                            &s->comparison.arena, &s->frame.drawn, err);
    if (s->frame.drawn.warning[0])
        tp_notes_add(&s->comparison.notes,
                     tp_arena_format(&s->comparison.arena, "%s",
                                     s->frame.drawn.warning));
    return status;
}

static struct tp_runs_report report_of(const struct session *s)
{
    return (struct tp_runs_report){.comparison = &s->comparison,
                                   .calls = &s->calls,
                                   .records = &s->records,
                                   .findings = &s->findings,
                                   .skipped = &s->skipped,
                                   .autodiff = &s->autodiff,
                                   .figures = s->frame.drawn.lines,
                                   .figure_count = s->frame.drawn.count,
                                   .tool_version = PACKAGE_VERSION,
                                   .output_dir = s->frame.options->output_dir,
                                   .a = s->how.a,
                                   .b = s->how.b};
}

static void replace_figures(struct tp_text *names)
{
    for (const struct tp_compare_figure_info *row = tp_compare_figure_table;
         row->id; row++)
        tp_output_replace_figure(names, TP_COMPARE_FIGURE_CATEGORY, row->id);
}

/* What could not be computed again. */
static void note_unread(struct session *s, const struct tp_divergence *search)
{
    const bool one = search->unread == 1;
    if (search->unread == 0)
        return;
    s->frame.damaged = true;
    tp_notes_add(&s->comparison.notes,
                 tp_arena_format(&s->comparison.arena,
                                 "%" PRIu64 " tensor%s or call%s not computed "
                                 "again, as files could not be read. First: %s",
                                 search->unread, one ? "" : "s",
                                 one ? " was" : "s were",
                                 search->first_unread));
}

/* What could not be read of either side, by whatever stage. */
static enum tp_status list_skipped(struct session *s, struct tp_error *err)
{
    const struct tp_found_list *a = &s->comparison.a.dump.found;
    const struct tp_found_list *b = &s->comparison.b.dump.found;
    s->frame.damaged = tp_found_damaged(a) || tp_found_damaged(b) ||
                       s->comparison.a.damaged || s->comparison.b.damaged ||
                       s->comparison.counts.damaged;
    enum tp_status status = tp_skipped_add_found(&s->skipped, a, err);
    return status == TP_OK ? tp_skipped_add_found(&s->skipped, b, err) : status;
}

/* What follows from the rows of both. */
static enum tp_status judge(void *session, struct tp_error *err)
{
    struct session *s = session;
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
                                   s->frame.pool, &tp_interrupted, err);
    if (status == TP_OK)
        status = list_skipped(s, err);
    for (size_t i = 0; i < s->autodiff.count; i++)
        note_unread(s, &s->autodiff.searches[i]);
    s->frame.worst = tp_dump_findings_worst(&s->findings);
    s->frame.known = status == TP_OK;
    return status;
}

static enum tp_status write_results(void *session, struct tp_error *err)
{
    struct session *s = session;
    replace_figures(&s->frame.replaced);
    enum tp_status status = write_autodiff(s, err);
    if (status == TP_OK)
        status = write_sheets(s, err);
    if (status == TP_OK)
        status = write_calls(s, err);
    if (status == TP_OK)
        status = write_hdf5(s, err);
    return status;
}

static void add_text(const void *session, const struct tp_report_style *style,
                     struct tp_text *text)
{
    const struct tp_runs_report report = report_of(session);
    tp_report_runs_text(&report, style->most, style->color, text);
}

static void add_head(const void *session, struct tp_text *verdict,
                     struct tp_text *sentence)
{
    const struct session *s = session;
    const struct tp_runs_report report = report_of(s);
    tp_report_runs_head(&report, s->frame.damaged, verdict, sentence);
}

static void add_json(const void *session, struct tp_text *text)
{
    const struct tp_runs_report report = report_of(session);
    tp_report_runs_json(&report, text);
}

static bool lost(const void *session)
{
    const struct session *s = session;
    return tp_comparison_lost(&s->comparison) || s->findings.arena.failed ||
           s->files.arena.failed;
}

static void clear(void *session)
{
    struct session *s = session;
    tp_number_set_clear(&s->how.read.wish.steps);
    tp_number_set_clear(&s->how.read.wish.ranks);
    tp_skipped_clear(&s->skipped);
    tp_compare_autodiff_clear(&s->autodiff);
    tp_finding_files_clear(&s->files);
    tp_dump_findings_clear(&s->findings);
    tp_compare_records_clear(&s->records);
    tp_compare_calls_clear(&s->calls);
    tp_comparison_clear(&s->comparison);
}

int tp_cmd_compare(const struct tp_options *options, int argc, char **argv)
{
    static const struct tp_frame_steps steps = {
        .title = "a comparison",
        .hdf5 = "compare.h5",
        .findings = "compare_findings.json",
        .report = "compare_report.txt",
        /* but for the tables of pairs, whose names have the time */
        .others = {"compare_by_call.csv", "autodiff.csv"},
        .check = check,
        .read = compare,
        .judge = judge,
        .write = write_results,
        .draw = draw,
        .head = add_head,
        .text = add_text,
        .json = add_json,
        .lost = lost,
        .clear = clear,
    };
    if (options->match == TP_COMPARE_BY_CONTENT)
        return tp_compare_by_content(options, argc, argv);
    struct session s = {.frame = {.options = options}};
    return tp_frame_run(&steps, &s, argc, argv);
}
