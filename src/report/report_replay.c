/* SPDX-License-Identifier: MIT */
#include "report/report_replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/hdf5.h"
#include "report/report_findings.h"
#include "report/report_skipped.h"
#include "report/report_table.h"

static void add_findings(const struct tp_dump_findings *findings, size_t most,
                         bool color, struct tp_text *text)
{
    struct tp_report_told told = {0};
    tp_report_findings_count(findings, text);
    for (size_t i = 0; i < findings->count && (!most || i < most); i++) {
        const struct tp_dump_finding *finding = &findings->rows[i];
        tp_report_finding_head(finding, color, text);
        if (finding->count > 1)
            tp_text_add(text, ", the worst of %" PRIu64 " such calls",
                        finding->count);
        tp_report_finding_prose(finding, "", &told, text);
    }
    tp_report_more(findings->count, most, text);
}

/* --- coverage ------------------------------------------------------------- */

static uint64_t replayed(const struct tp_replay_counts *counts)
{
    return counts->states[TP_REPLAY_JUDGED];
}

static void add_states(const char *what, const struct tp_replay_counts *counts,
                       struct tp_text *text)
{
    tp_text_add(text, "%s calls (%" PRIu64 "): computed again %" PRIu64, what,
                counts->calls, replayed(counts));
    for (int i = TP_REPLAY_JUDGED + 1; i < TP_REPLAY_STATES; i++)
        if (counts->states[i])
            tp_text_add(text, ", %s %" PRIu64, tp_replay_state_words[i],
                        counts->states[i]);
    tp_text_add(text, "\n");
}

static void add_coverage(const struct tp_replay_results *results,
                         struct tp_text *text)
{
    const struct tp_replay_counts *counts = &results->counts;
    tp_text_add(text, "\n");
    add_states("Forward", counts, text);
    if (results->backward.calls)
        add_states("Backward", &results->backward, text);
    if (counts->modules)
        tp_text_add(text,
                    "  Beside these %" PRIu64
                    " calls of modules, whose operators are among them or were "
                    "not dumped\n",
                    counts->modules);
}

/* Names and reasons of calls in a state; how many there were before. */
static size_t add_reasons(const struct tp_replay_results *results,
                          enum tp_replay_state state, size_t count, size_t most,
                          struct tp_text *text)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct tp_replay_row *row = &results->rows[i];
        if (row->verdict.state != state)
            continue;
        if (count++ == 0)
            tp_text_add(text, "\nNot computed again\n");
        if (most && count > most)
            continue;
        tp_text_add(text, "  ");
        tp_text_printable(text, row->api_name);
        tp_text_add(text, ": ");
        tp_text_printable(text, row->reason);
        tp_text_add(text, "\n");
    }
    return count;
}

/* What is not replayed, damaged files first. */
static void add_absent(const struct tp_replay_results *results, size_t most,
                       struct tp_text *text)
{
    size_t count = add_reasons(results, TP_REPLAY_UNREADABLE, 0, most, text);
    count = add_reasons(results, TP_REPLAY_UNSUPPORTED, count, most, text);
    tp_report_more(count, most, text);
}

/* --- perturbations -------------------------------------------------------- */

/* The counts of the stage that was perturbed. */
static const struct tp_replay_counts *perturbed(
    const struct tp_replay_report *report)
{
    return report->wish->backward ? &report->results->backward
                                  : &report->results->counts;
}

static void add_modes(const struct tp_replay_report *report,
                      struct tp_text *text)
{
    const struct tp_replay_counts *counts = perturbed(report);
    tp_text_add(text, "\nPerturbed%s\n  %-18s %9s %12s\n",
                report->wish->backward ? ", backward" : "", "mode", "calls",
                "inconsistent");
    for (int i = 0; i < TP_PERTURB_MODES; i++)
        if (report->wish->modes[i])
            tp_text_add(text, "  %-18s %9" PRIu64 " %12" PRIu64 "\n",
                        tp_perturb_words[i], counts->runs[i],
                        counts->flagged[i]);
}

/* --- what higher precision would have given ------------------------------- */

static int compare_fixes(const void *a, const void *b)
{
    const struct tp_fix_row *x = *(const struct tp_fix_row *const *)a;
    const struct tp_fix_row *y = *(const struct tp_fix_row *const *)b;
    const double p = x->consumer_change, q = y->consumer_change;
    if (p != q)
        return p > q ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void add_fix(const struct tp_fix_row *row, struct tp_text *text)
{
    tp_text_add(text, "  %9.2g %9.2g %9.2g  ", row->change,
                row->consumer_change, row->rounding);
    tp_text_printable(text, row->api_name);
    tp_text_add(text, " -> ");
    tp_text_printable(text, row->consumer);
    tp_text_add(text, " (");
    tp_text_printable(text, row->argument);
    tp_text_add(text, ")");
    if (row->step >= 0)
        tp_text_add(text, " step %" PRId64, row->step);
    tp_text_add(text, "\n");
}

/* Worst consumers first. */
static void add_fixes(const struct tp_fixes *fixes, size_t most,
                      struct tp_text *text)
{
    if (!fixes)
        return;
    const struct tp_fix_row **order = calloc(fixes->count + 1, sizeof *order);
    text->failed |= !order;
    tp_text_add(text,
                "\nResults that higher precision changes (%" PRIu64
                "); %" PRIu64
                " of them put into the calls that take them, one step on\n",
                fixes->replaced, fixes->consumed);
    if (fixes->count)
        tp_text_add(text, "     change  consumer  rounding  call\n");
    for (size_t i = 0; order && i < fixes->count; i++)
        order[i] = &fixes->rows[i];
    if (order && fixes->count)
        qsort(order, fixes->count, sizeof *order, compare_fixes);
    for (size_t i = 0; order && i < fixes->count && (!most || i < most); i++)
        add_fix(order[i], text);
    free(order);
    tp_report_more(fixes->count, most, text);
}

/* A place of a row in an order by amplification. */
struct ranked {
    double amplification;
    size_t row;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->amplification != y->amplification)
        return x->amplification > y->amplification ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static void add_ranked(const struct tp_replay_results *results,
                       const struct ranked *order, size_t count,
                       struct tp_text *text)
{
    for (size_t i = 0; i < count; i++) {
        const struct tp_replay_row *row = &results->rows[order[i].row];
        tp_text_add(text, "  %13.3g %9.2g %9.2g  ", row->amplification,
                    row->error, row->bound);
        tp_text_printable(text, row->api_name);
        if (row->step >= 0)
            tp_text_add(text, " step %" PRId64, row->step);
        tp_text_add(text, "\n");
    }
}

/* The calls that make most of a rounding. */
static void add_amplifying(const struct tp_replay_results *results, size_t most,
                           struct tp_text *text)
{
    struct ranked *order = calloc(results->count + 1, sizeof *order);
    size_t count = 0;
    text->failed |= !order;
    for (size_t i = 0; order && i < results->count; i++)
        if (results->rows[i].amplification > 1)
            order[count++] = (struct ranked){results->rows[i].amplification, i};
    if (count) {
        qsort(order, count, sizeof *order, compare_ranked);
        tp_text_add(text,
                    "\nWhere a rounding of the arguments grows (%zu)\n"
                    "  %13s %9s %9s  call\n",
                    count, "amplification", "error", "bound");
        add_ranked(results, order, most && count > most ? most : count, text);
        tp_report_more(count, most, text);
    }
    free(order);
}

/* --- the whole ------------------------------------------------------------ */

static void add_notes(const struct tp_notes *notes, struct tp_text *text)
{
    if (notes->count)
        tp_text_add(text, "\nNotes\n");
    for (size_t i = 0; i < notes->count; i++)
        tp_report_note(notes->texts[i], NULL, text);
}

void tp_report_replay_text(const struct tp_replay_report *report, size_t most,
                           bool color, struct tp_text *text)
{
    tp_text_add(text, "tprof-analyze %s: operators computed again in ",
                report->tool_version);
    for (size_t i = 0; i < report->input_count; i++) {
        tp_text_add(text, "%s", i ? ", " : "");
        tp_text_printable(text, report->inputs[i]);
    }
    tp_text_add(text, "\n");
    add_findings(report->findings, most, color, text);
    add_coverage(report->results, text);
    add_modes(report, text);
    add_fixes(report->fixes, most, text);
    add_amplifying(report->results, most, text);
    add_absent(report->results, most, text);
    tp_report_skipped(report->skipped->rows, report->skipped->count, most,
                      report->output_dir[0] ? " in replay_report.txt" : "",
                      text);
    add_notes(&report->dump->notes, text);
    if (report->figure_count)
        tp_report_figures(report->figures, report->figure_count, text);
    tp_report_written(report->output_dir,
                      report->fixes
                          ? "replay_report.txt, free_benchmark.csv, "
                            "replay_coverage.csv, replay_fix.csv, "
                            "replay_findings.json, replay.h5"
                          : "replay_report.txt, free_benchmark.csv, "
                            "replay_coverage.csv, replay_findings.json, "
                            "replay.h5",
                      text);
}

/* "12 of 14 calls computed again, 2 not supported". */
static void add_computed(const struct tp_replay_results *results,
                         struct tp_text *text)
{
    static const char *const words[TP_REPLAY_STATES] = {
        [TP_REPLAY_RANDOM] = "of random results",
        [TP_REPLAY_UNSET] = "of results that nothing has set",
        [TP_REPLAY_UNSUPPORTED] = "not supported",
        [TP_REPLAY_UNREADABLE] = "with tensors that are absent or damaged",
        [TP_REPLAY_OTHER] = "of no operator"};
    const struct tp_replay_counts *forward = &results->counts;
    const struct tp_replay_counts *backward = &results->backward;
    const uint64_t calls = forward->calls + backward->calls;
    tp_text_add(text, "%" PRIu64 " of %" PRIu64 " call%s computed again",
                replayed(forward) + replayed(backward), calls,
                calls == 1 ? "" : "s");
    for (int i = TP_REPLAY_JUDGED + 1; i < TP_REPLAY_STATES; i++) {
        const uint64_t count = forward->states[i] + backward->states[i];
        if (count)
            tp_text_add(text, ", %" PRIu64 " %s", count, words[i]);
    }
}

/* "Torch.log.0.forward of step 1 and 2 other calls". */
static void add_worst(const struct tp_dump_finding *worst, struct tp_text *text)
{
    tp_text_printable(text, worst->name);
    if (worst->step >= 0)
        tp_text_add(text, " of step %" PRId64, worst->step);
    if (worst->rank >= 0)
        tp_text_add(text, ", rank %" PRId64, worst->rank);
    if (worst->count > 1)
        tp_text_add(text, " and %" PRIu64 " other call%s", worst->count - 1,
                    worst->count == 2 ? "" : "s");
}

void tp_report_replay_head(const struct tp_replay_report *report, bool damaged,
                           struct tp_text *verdict, struct tp_text *sentence)
{
    const struct tp_replay_results *results = report->results;
    const bool any = replayed(&results->counts) || replayed(&results->backward);
    if (report->findings->count) {
        tp_text_add(verdict, "%s", report->findings->rows[0].rule->help);
        add_worst(&report->findings->rows[0], sentence);
        tp_text_add(sentence, "; ");
    } else {
        tp_text_add(verdict, "%s", any ? "no result stands out"
                                       : "no call was computed again");
    }
    add_computed(results, sentence);
    tp_report_not_all(damaged, sentence);
}

static void add_modes_json(const struct tp_replay_report *report,
                           struct tp_text *text)
{
    const struct tp_replay_counts *counts = perturbed(report);
    const char *comma = "";
    tp_text_add(text, "\"modes\": {");
    for (int i = 0; i < TP_PERTURB_MODES; i++) {
        if (!report->wish->modes[i])
            continue;
        tp_text_add(
            text,
            "%s\"%s\": {\"calls\": %" PRIu64 ", \"inconsistent\": %" PRIu64 "}",
            comma, tp_perturb_words[i], counts->runs[i], counts->flagged[i]);
        comma = ", ";
    }
    tp_text_add(text, "},\n");
}

void tp_report_replay_json(const struct tp_replay_report *report,
                           struct tp_text *text)
{
    const struct tp_replay_counts *counts = &report->results->counts;
    struct tp_table table;
    tp_replay_findings_table(report->findings, &table);
    tp_text_add(text,
                "{\"schema_version\": %d, \"calls\": %" PRIu64
                ", \"replayed\": %" PRIu64 ", \"modules\": %" PRIu64 ",\n",
                TP_SCHEMA_VERSION, counts->calls, replayed(counts),
                counts->modules);
    add_modes_json(report, text);
    tp_report_table_json(&table, "findings", 0, report->findings->count, text);
    tp_text_add(text, ",\n");
    tp_report_skipped_json(report->skipped, text);
    tp_text_add(text, "}\n");
}
