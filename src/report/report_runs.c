/* SPDX-License-Identifier: MIT */
#include "report/report_runs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "damage/damage_shape.h"
#include "report/hdf5.h"
#include "report/report_findings.h"
#include "report/report_skipped.h"
#include "report/report_table.h"

/* The files that there always are. */
#define WRITTEN                                  \
    "compare_report.txt, compare_result_*.csv, " \
    "compare_by_call.csv, compare_findings.json, compare.h5"

/* Names are cut there: a line is to stay a line. */
enum { NAME_BYTES = 60 };

static void add_name(const char *name, struct tp_text *text)
{
    tp_text_printable_cut(text, name, NAME_BYTES);
}

static void add_place(int64_t step, int64_t rank, struct tp_text *text)
{
    if (step >= 0)
        tp_text_add(text, "step %" PRId64, step);
    if (rank >= 0)
        tp_text_add(text, "%srank %" PRId64, step >= 0 ? ", " : "", rank);
    if (step < 0 && rank < 0)
        tp_text_add(text, "both");
}

/* "1.2e-03"; "-": not known. */
static void add_error(double error, struct tp_text *text)
{
    if (isnan(error))
        tp_text_add(text, "%9s", "-");
    else
        tp_text_add(text, "%9.2e", error);
}

/* --- the head ------------------------------------------------------------- */

static bool are_equal(const struct tp_comparison *comparison)
{
    const struct tp_compare_counts *counts = &comparison->counts;
    return counts->equal == counts->rows && counts->only_b == 0 &&
           comparison->a.damaged + comparison->b.damaged == 0;
}

static const char *means(enum tp_compare_mode mode)
{
    return mode == TP_COMPARE_TENSOR       ? "element by element"
           : mode == TP_COMPARE_STATISTICS ? "by the statistics of the json"
                                           : "by the checksums of the json";
}

static void add_counts(const struct tp_compare_counts *counts,
                       struct tp_text *text)
{
    tp_text_add(text,
                "Rows of A: %zu; in B, too: %zu; of these equal: %zu; only in "
                "A: %zu; only in B: %zu",
                counts->rows, counts->matched, counts->equal, counts->only_a,
                counts->only_b);
}

static void add_verdict(const struct tp_runs_report *report,
                        struct tp_text *text)
{
    const struct tp_comparison *comparison = report->comparison;
    const struct tp_compare_counts *counts = &comparison->counts;
    if (are_equal(comparison))
        tp_text_add(text, "The runs are equal %s.\n", means(comparison->mode));
    add_counts(counts, text);
    tp_text_add(
        text, "\nBy msprobe's rules: %zu pass, %zu warning, %zu error\n",
        counts->results[TP_COMPARE_PASS], counts->results[TP_COMPARE_WARNING],
        counts->results[TP_COMPARE_ERROR]);
}

void tp_report_runs_head(const struct tp_runs_report *report, bool damaged,
                         struct tp_text *verdict, struct tp_text *sentence)
{
    const struct tp_comparison *comparison = report->comparison;
    if (are_equal(comparison))
        tp_text_add(verdict, "the runs are equal");
    else if (report->findings->count == 0)
        tp_text_add(verdict, "nothing was found");
    tp_text_add(sentence, "Compared %s. ", means(comparison->mode));
    add_counts(&comparison->counts, sentence);
    tp_report_not_all(damaged, sentence);
}

static void add_head(const struct tp_runs_report *report, struct tp_text *text)
{
    tp_text_add(text, "tprof-analyze %s: comparison %s\n  A (NPU)    ",
                report->tool_version, means(report->comparison->mode));
    tp_text_printable(text, report->a);
    tp_text_add(text, "\n  B (Bench)  ");
    tp_text_printable(text, report->b);
    tp_text_add(text, "\n\n");
    add_verdict(report, text);
}

/* --- findings ------------------------------------------------------------- */

void tp_report_runs_findings(const struct tp_dump_findings *findings,
                             bool color, struct tp_text *text)
{
    struct tp_report_told told = {0};
    tp_report_findings_count(findings, text);
    for (size_t i = 0; i < findings->count; i++) {
        tp_report_finding_head(&findings->rows[i], color, text);
        tp_report_finding_prose(&findings->rows[i], "", &told, text);
    }
}

/* --- lists ---------------------------------------------------------------- */

/* Where the step before of the same rank parts, too: what this one starts
 * from. */
static void add_left(const struct tp_runs_report *report, size_t pair,
                     struct tp_text *text)
{
    const struct tp_compare_pair *pairs = report->comparison->pairs;
    const struct tp_dump_place *place = pairs[pair].a.place;
    for (size_t i = pair; i-- > 0;) {
        const struct tp_dump_place *before = pairs[i].a.place;
        if (before->rank != place->rank || before->step >= place->step)
            continue;
        if (tp_compare_parting(report->calls, i))
            tp_text_add(text, "; starts from what step %" PRId64 " left",
                        before->step);
        return;
    }
}

/* Where each step and rank parts. */
static void add_partings(const struct tp_runs_report *report, size_t most,
                         struct tp_text *text)
{
    const struct tp_comparison *comparison = report->comparison;
    const size_t count = comparison->pair_count;
    tp_text_add(text, "\nFirst difference of each step and rank (%zu)\n",
                count);
    for (size_t i = 0; i < count && (!most || i < most); i++) {
        const struct tp_dump_place *place = comparison->pairs[i].a.place;
        const struct tp_compare_call *call =
            tp_compare_parting(report->calls, i);
        tp_text_add(text, "  ");
        add_place(place->step, place->rank, text);
        tp_text_add(text, ": ");
        if (call) {
            add_name(call->name, text);
            const bool tensor = tp_compare_is_tensor(place, 0);
            tp_text_add(text, ", %s %" PRId64 " of %zu%s",
                        tensor ? "tensor" : "call", call->order + 1,
                        place->call_count,
                        tensor       ? ""
                        : call->adds ? ", its results"
                                     : ", an argument");
            add_left(report, i, text);
        } else {
            tp_text_add(text, "none in %zu %s", place->call_count,
                        place->call_count && tp_compare_is_tensor(place, 0)
                            ? "tensors"
                            : "calls");
        }
        tp_text_add(text, "\n");
    }
    tp_report_more(count, most, text);
}

/* What --autodiff says of each step and rank. */
static void add_autodiff(const struct tp_runs_report *report, size_t most,
                         struct tp_text *text)
{
    const struct tp_compare_autodiff *autodiff = report->autodiff;
    if (autodiff->count == 0)
        return;
    tp_text_add(text, "\nOperators computed again (--autodiff)\n");
    for (size_t i = 0; i < autodiff->count && (!most || i < most); i++) {
        const struct tp_dump_place *place =
            report->comparison->pairs[i].a.place;
        const struct tp_divergence *found = &autodiff->searches[i];
        struct tp_text prose = {0};
        tp_text_add(&prose, "  ");
        add_place(place->step, place->rank, &prose);
        if (found->first != SIZE_MAX)
            add_left(report, i, &prose);
        tp_text_add(&prose, ": ");
        tp_text_printable(&prose, found->sentence);
        if (found->judged || found->unsupported)
            tp_text_add(&prose,
                        " Judged: %" PRIu64 " calls; not computed again "
                        "(operator not supported): %" PRIu64 ".",
                        found->judged, found->unsupported);
        tp_text_add(&prose, "\n");
        tp_report_prose(tp_text_get(&prose), 4, text);
        text->failed |= prose.failed;
        tp_text_clear(&prose);
    }
    tp_report_more(autodiff->count, most, text);
}

/* Which elements differ, below the line of a row, if they form a pattern. */
static void add_damage(const struct tp_compare_record *row,
                       struct tp_text *text)
{
    const char *scattered = tp_damage_shapes[TP_DAMAGE_SCATTERED].id;
    struct tp_text prose = {0};
    if (!*row->damage_words || !strcmp(row->damage, scattered))
        return;
    tp_text_add(&prose, "%43s%s\n", "", row->damage_words);
    tp_report_prose(tp_text_get(&prose), 43, text);
    text->failed |= prose.failed;
    tp_text_clear(&prose);
}

static void add_worst(const struct tp_compare_records *records, size_t most,
                      struct tp_text *text)
{
    if (records->worst_count == 0)
        return;
    tp_text_add(text,
                "\nFurthest apart (%zu rows differ)\n"
                "  %9s %9s %9s %-8s name\n",
                records->worst_count, "distance", "relative", "MaxAbsErr",
                "result");
    for (size_t i = 0; i < records->worst_count && (!most || i < most); i++) {
        const struct tp_compare_record *row = &records->rows[records->worst[i]];
        tp_text_add(text, "  ");
        add_error(row->distance, text);
        tp_text_add(text, " ");
        add_error(row->error, text);
        tp_text_add(text, " ");
        add_error(row->max_abs_err, text);
        tp_text_add(text, " %-8s ", row->result);
        tp_text_printable(text, row->name_a);
        if (row->rank > 0)
            tp_text_add(text, " (rank %" PRId64 ")", row->rank);
        tp_text_add(text, "\n");
        add_damage(row, text);
    }
    tp_report_more(records->worst_count, most, text);
}

/* Calls over ranks, those that msprobe's rules do not pass. */
static void add_apis(const struct tp_compare_calls *calls, size_t most,
                     struct tp_text *text)
{
    size_t count = 0;
    while (count < calls->api_count &&
           calls->apis[count].level != TP_COMPARE_PASS)
        count++;
    if (count == 0)
        return;
    tp_text_add(text,
                "\nCalls that do not pass (%zu), over all steps and ranks\n"
                "  %9s %9s %-8s %6s of %-6s name\n",
                count, "arguments", "results", "result", "error", "places");
    for (size_t i = 0; i < count && (!most || i < most); i++) {
        const struct tp_compare_api *api = &calls->apis[i];
        tp_text_add(text, "  ");
        add_error(api->error_in, text);
        tp_text_add(text, " ");
        add_error(api->error_out, text);
        tp_text_add(text, " %-8s %6" PRIu64 " of %-6" PRIu64 " ", api->result,
                    api->errors, api->places);
        tp_text_printable(text, api->name);
        tp_text_add(text, "\n");
    }
    tp_report_more(count, most, text);
}

/* Names without a partner: 'of A' where name_b is "", and the other way. */
static void add_alone(const struct tp_compare_records *records, bool of_b,
                      size_t most, struct tp_text *text)
{
    size_t count = 0;
    for (size_t i = 0; i < records->count; i++) {
        const struct tp_compare_record *row = &records->rows[i];
        const char *name = of_b ? row->name_b : row->name_a;
        if (*(of_b ? row->name_a : row->name_b))
            continue;
        if (count++ == 0)
            tp_text_add(text, "\nOnly in %s\n", of_b ? "B" : "A");
        if (most && count > most)
            continue;
        tp_text_add(text, "  ");
        tp_text_printable(text, name);
        tp_text_add(text, "  %s %s\n", of_b ? row->dtype_b : row->dtype_a,
                    of_b ? row->shape_b : row->shape_a);
    }
    tp_report_more(count, most, text);
}

static void add_notes(const struct tp_notes *notes, const char *side,
                      struct tp_text *text)
{
    for (size_t i = 0; i < notes->count; i++) {
        struct tp_text note = {0};
        tp_text_add(&note, "%s%s", side, notes->texts[i]);
        tp_report_note(tp_text_get(&note), NULL, text);
        text->failed |= note.failed;
        tp_text_clear(&note);
    }
}

static void add_all_notes(const struct tp_comparison *comparison,
                          struct tp_text *text)
{
    const struct tp_dump *a = &comparison->a.dump, *b = &comparison->b.dump;
    if (comparison->notes.count + a->notes.count + b->notes.count +
            comparison->steps_differ ==
        0)
        return;
    tp_text_add(text, "\nNotes\n");
    if (comparison->steps_differ) {
        struct tp_text note = {0};
        tp_text_add(&note,
                    "step %" PRId64 " of A is compared with step %" PRId64
                    " of B, the only one of each",
                    a->places[0].step, b->places[0].step);
        tp_report_note(tp_text_get(&note), NULL, text);
        text->failed |= note.failed;
        tp_text_clear(&note);
    }
    add_notes(&comparison->notes, "", text);
    add_notes(&a->notes, "A: ", text);
    add_notes(&b->notes, "B: ", text);
}

/* --- the whole ------------------------------------------------------------ */

void tp_report_runs_text(const struct tp_runs_report *report, size_t most,
                         bool color, struct tp_text *text)
{
    add_head(report, text);
    tp_report_runs_findings(report->findings, color, text);
    add_partings(report, most, text);
    add_autodiff(report, most, text);
    add_worst(report->records, most, text);
    add_apis(report->calls, most, text);
    add_alone(report->records, false, most, text);
    add_alone(report->records, true, most, text);
    tp_report_skipped(report->skipped->rows, report->skipped->count, most,
                      report->output_dir[0] ? " in compare_report.txt" : "",
                      text);
    add_all_notes(report->comparison, text);
    if (report->figure_count)
        tp_report_figures(report->figures, report->figure_count, text);
    tp_report_written(
        report->output_dir,
        report->autodiff->count ? WRITTEN ", autodiff.csv" : WRITTEN, text);
}

void tp_report_runs_json(const struct tp_runs_report *report,
                         struct tp_text *text)
{
    const struct tp_compare_counts *counts = &report->comparison->counts;
    struct tp_table table;
    tp_compare_findings_table(report->findings, &table);
    tp_text_add(
        text,
        "{\"schema_version\": %d, \"mode\": \"%s\", \"equal\": %s,\n"
        "\"rows\": %zu, \"matched\": %zu, \"equal_rows\": %zu, "
        "\"only_a\": %zu, \"only_b\": %zu,\n"
        "\"pass\": %zu, \"warning\": %zu, \"error\": %zu,\n",
        TP_SCHEMA_VERSION, tp_compare_mode_words[report->comparison->mode],
        are_equal(report->comparison) ? "true" : "false", counts->rows,
        counts->matched, counts->equal, counts->only_a, counts->only_b,
        counts->results[TP_COMPARE_PASS], counts->results[TP_COMPARE_WARNING],
        counts->results[TP_COMPARE_ERROR]);
    tp_report_table_json(&table, "findings", 0, report->findings->count, text);
    tp_text_add(text, ",\n");
    tp_report_skipped_json(report->skipped, text);
    tp_text_add(text, "}\n");
}
