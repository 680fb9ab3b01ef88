/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze compare A B: where two dumps, checkpoints or runs part.
 * compare_result_*.csv with msprobe's columns, compare_report.txt,
 * compare_findings.json, compare.h5.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "compare/compare.h"
#include "compare/compare_sheet.h"
#include "config.h"
#include "report/csv.h"

struct session {
    const struct tp_options *options;
    struct tp_text command_line;
    struct tp_pool *pool;
    struct tp_compare_options how;
    struct tp_comparison comparison;
};

/* What to compare, from the options. */
static enum tp_status make_wish(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->options;
    struct tp_compare_options *how = &s->how;
    if (options->input_count != 2)
        return tp_fail(err, TP_E_USAGE, -1,
                       "compare takes two paths, A and B; %zu were given",
                       options->input_count);
    how->a = options->inputs[0];
    how->b = options->inputs[1];
    how->mode = options->compare_mode;
    how->fuzzy = options->fuzzy_match;
    how->map = options->map;
    how->read.recover = options->recover;
    how->read.stop = &tp_interrupted;
    enum tp_status status = TP_OK;
    if (options->steps)
        status = tp_number_set_parse(&how->read.wish.steps, options->steps, err);
    if (status == TP_OK && options->ranks)
        status = tp_number_set_parse(&how->read.wish.ranks, options->ranks, err);
    return status;
}

static enum tp_status compare(struct session *s, struct tp_error *err)
{
    struct tp_progress progress;
    enum tp_status status =
        tp_pool_new(tp_options_jobs(s->options), &s->pool, err);
    if (status != TP_OK)
        return status;
    tp_progress_start(&progress, "pairs of tensors", s->options);
    s->how.read.pool = s->pool;
    s->how.progress = tp_progress_update;
    s->how.progress_context = &progress;
    status = tp_compare(&s->how, &s->comparison, err);
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
        tp_text_add(name, "_step%lld", (long long)place->step);
    if (place->rank >= 0)
        tp_text_add(name, "_rank%lld", (long long)place->rank);
    tp_text_add(name, "_%s.csv", time);
}

static enum tp_status write_sheet(struct session *s,
                                  const struct tp_compare_pair *pair,
                                  const char *time, struct tp_error *err)
{
    struct tp_compare_sheet sheet;
    struct tp_text text = {0}, name = {0};
    enum tp_status status =
        tp_compare_sheet_make(pair, s->comparison.mode, &sheet, err);
    name_sheet(s, pair, time, &name);
    if (status == TP_OK) {
        tp_csv_table(&sheet.table, &text);
        status = tp_output_write(s->options, tp_text_get(&name), &text, err);
    }
    tp_compare_sheet_clear(&sheet);
    tp_text_clear(&text);
    tp_text_clear(&name);
    return status;
}

static enum tp_status write_results(struct session *s, struct tp_error *err)
{
    char stamp[32] = "";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(stamp, sizeof stamp, "%Y%m%d%H%M%S", &local);
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < s->comparison.pair_count && status == TP_OK; i++)
        status = write_sheet(s, &s->comparison.pairs[i], stamp, err);
    return status;
}

static enum tp_status analyse(struct session *s, struct tp_error *err)
{
    bool existed;
    enum tp_status status = make_wish(s, err);
    if (status == TP_OK)
        status = tp_output_prepare(s->options, &existed, err);
    if (status != TP_OK)
        return status;
    status = compare(s, err);
    if (status != TP_OK && !existed)
        rmdir(s->options->output_dir); /* ours, and empty */
    return status == TP_OK ? write_results(s, err) : status;
}

static void session_clear(struct session *s)
{
    tp_text_clear(&s->command_line);
    tp_number_set_clear(&s->how.read.wish.steps);
    tp_number_set_clear(&s->how.read.wish.ranks);
    tp_comparison_clear(&s->comparison);
    tp_pool_free(s->pool);
}

int tp_cmd_compare(const struct tp_options *options, int argc, char **argv)
{
    struct session s = {.options = options};
    struct tp_error err = {0};
    int result = TP_EXIT_OK;
    tp_note_command_line(argc, argv, &s.command_line);
    enum tp_status status = analyse(&s, &err);
    if (status != TP_OK) {
        tp_print_error(&err);
        result = tp_exit_of(status);
    }
    session_clear(&s);
    return result;
}
