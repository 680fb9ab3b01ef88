/* SPDX-License-Identifier: MIT */
/*
 * The report of a dump as text. Findings come first, in their order. Those of
 * low severity that say the same of many places (rule, quant type, suggestion)
 * are one entry with the first places named; a limit on the list alone would
 * fill it with one cause. At most 32 such heads are remembered, so that each
 * finding is compared with as many at the most. Worst tensors are sorted by
 * values that are not finite, then overflow, then underflow: O(n log n). Lists
 * are cut for a terminal.
 */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/text_wrap.h"
#include "report/report_dims.h"
#include "report/report_monitor.h"
#include "report/report_pairs.h"
#include "report/report_place.h"
#include "report/report_quant.h"
#include "report/report_skipped.h"
#include "stats/stats.h"

/* The labels of a finding. */
struct place {
    const char *quant_type, *layer_type, *operation, *phase, *tensor_name;
    const char *path; /* inside the file */
    int64_t layer_idx, ordinal, rank, iteration, sample_idx;
};

static void add_place(const struct place *place, struct tp_text *text)
{
    const struct tp_label label = {.layer_type = place->layer_type,
                                   .layer_idx = place->layer_idx,
                                   .operation = place->operation,
                                   .phase = place->phase,
                                   .quant_type = place->quant_type,
                                   .tensor_name = place->tensor_name,
                                   .rank = place->rank,
                                   .sample_idx = place->sample_idx,
                                   .iteration = place->iteration};
    tp_report_label(&label, place->path, place->ordinal, text);
}

/* 1234567 -> "1.23 MB"; decimal units, as disks are sold. */
static void add_bytes(struct tp_text *text, uint64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    tp_text_add(text, unit ? "%.3g %s" : "%.0f %s", value, units[unit]);
}

/* The distinct keys of a grouping, as "0 1" or, when long, "0 1 ... 31". */
static void add_keys(const struct tp_report *report, const char *grouping,
                     const char *title, struct tp_text *text)
{
    enum { SHOWN = 12 };
    const struct tp_groups *groups = report->results.groups;
    size_t first = 0, count = 0;
    for (size_t i = 0; i < groups->count; i++) {
        if (strcmp(groups->rows[i].group_by, grouping))
            continue;
        first = count++ ? first : i;
    }
    if (count == 0)
        return;
    tp_text_add(text, "  %-12s", title);
    for (size_t i = 0; i < count; i++) {
        if (count > SHOWN && i >= SHOWN - 1 && i + 1 < count) {
            tp_text_add(text, i == SHOWN - 1 ? " ..." : "");
            continue;
        }
        tp_text_add(text, " ");
        tp_text_printable(text, groups->rows[first + i].key);
    }
    tp_text_add(text, count > SHOWN ? "  (%zu)\n" : "\n", count);
}

/* Rows that only tables have, by what they are. */
static void add_aside(const struct tp_run *run, struct tp_text *text)
{
    size_t counters = 0;
    for (size_t i = 0; i < run->aside_count; i++)
        counters += run->rows[run->row_count + i].label.roles &
                            TP_ROLE_COUNTER
                        ? 1
                        : 0;
    if (run->aside_count > counters)
        tp_text_add(text, " and %zu of codes and scales",
                    run->aside_count - counters);
    if (counters) {
        tp_text_add(text, " and ");
        tp_report_count(text, counters, "counter");
    }
}

static void add_input(const struct tp_report *report, struct tp_text *text)
{
    const struct tp_run *run = report->results.run;
    tp_text_add(text, "Input\n");
    for (size_t i = 0; i < report->input_count; i++) {
        tp_text_add(text, "  ");
        tp_text_printable(text, report->inputs[i]);
        tp_text_add(text, "\n");
    }
    tp_text_add(text, "  ");
    tp_report_count(text, run->files_read, "file");
    tp_text_add(text, " read (");
    add_bytes(text, run->bytes_read);
    tp_text_add(text, "), ");
    tp_report_count(text, run->row_count, "tensor");
    add_aside(run, text);
    tp_text_add(text, ", %zu skipped, ", run->skipped_count);
    tp_report_count(text, run->files_ignored, "other file");
    tp_text_add(text, " ignored\n");
    add_keys(report, "quant_type", "quant types", text);
    add_keys(report, "dtype", "dtypes", text);
    add_keys(report, "layer_type", "layer types", text);
    add_keys(report, "layer_idx", "layers", text);
    add_keys(report, "operation", "operations", text);
    add_keys(report, "tensor_name", "tensors", text);
    add_keys(report, "rank", "ranks", text);
    add_keys(report, "iteration", "iterations", text);
    add_keys(report, "sample_idx", "samples", text);
}

static void add_percent(struct tp_text *text, double ratio)
{
    if (isnan(ratio))
        tp_text_add(text, " %10s", "-");
    else if (ratio == 0)
        tp_text_add(text, " %10s", "0");
    else
        tp_text_add(text, " %8.3g %%", 100 * ratio);
}

static void add_group_line(const struct tp_group *group, int width,
                           struct tp_text *text)
{
    const struct tp_numbers *n = &group->numbers;
    struct tp_text key = {0};
    tp_text_printable(&key, group->key);
    tp_text_add(text, "  %-*s %8" PRIu64 " %11.4g %10.3g %10.3g %10.3g", width,
                tp_text_get(&key), group->tensors, (double)group->counts.numel,
                n->abs_max, n->mean, n->std);
    add_percent(text, n->total_overflow_ratio);
    add_percent(text, n->underflow_ratio);
    tp_text_add(text, " %8" PRIu64 "\n", tp_counts_nonfinite(&group->counts));
    text->failed |= key.failed;
    tp_text_clear(&key);
}

/* Room for the longest key of a grouping; longer ones than most push their
 * line to the right. */
static int key_width(const struct tp_groups *groups, const char *grouping,
                     size_t most)
{
    enum { WIDTH_MIN = 18, WIDTH_MAX = 44 };
    size_t width = WIDTH_MIN, count = 0;
    for (size_t i = 0; i < groups->count && (!most || count < most); i++) {
        if (strcmp(groups->rows[i].group_by, grouping))
            continue;
        const size_t length = strlen(groups->rows[i].key);
        width = length > width ? length : width;
        count++;
    }
    return width < WIDTH_MAX ? (int)width : WIDTH_MAX;
}

static void add_group_table(const struct tp_report *report,
                            const char *grouping, size_t most,
                            struct tp_text *text)
{
    const struct tp_groups *groups = report->results.groups;
    const int width = key_width(groups, grouping, most);
    size_t shown = 0, count = 0;
    for (size_t i = 0; i < groups->count; i++) {
        if (strcmp(groups->rows[i].group_by, grouping))
            continue;
        if (count++ == 0)
            tp_text_add(text,
                        "\nBy %-*s %8s %11s %10s %10s %10s %10s %10s "
                        "%8s\n",
                        width - 1, grouping, "tensors", "elements", "amax",
                        "mean", "std", "overflow", "underflow", "NaN+Inf");
        if (most && shown >= most)
            continue;
        add_group_line(&groups->rows[i], width, text);
        shown++;
    }
    if (shown < count)
        tp_text_add(text, "  ... and %zu more in /groups\n", count - shown);
}

static struct place place_of(const struct tp_finding *finding)
{
    return (struct place){finding->quant_type,
                          finding->layer_type,
                          finding->operation,
                          finding->phase,
                          finding->tensor_name,
                          finding->path,
                          finding->layer_idx,
                          finding->ordinal,
                          finding->rank,
                          finding->iteration,
                          -1};
}

/* Findings of low severity that say the same of many places are one entry,
 * that of the worst; these are the entries written so far. */
enum { HEADS = 32, NAMED = 3 };

struct heads {
    const struct tp_finding *items[HEADS];
    size_t count;
};

static bool is_alike(const struct tp_finding *a, const struct tp_finding *b)
{
    return a->level == TP_SEVERITY_LOW && b->level == TP_SEVERITY_LOW &&
           a->rule == b->rule && !strcmp(a->quant_type, b->quant_type) &&
           !strcmp(a->suggestion, b->suggestion);
}

/* Whether an entry written before stands for a finding, too. */
static bool is_covered(const struct heads *heads,
                       const struct tp_finding *finding)
{
    for (size_t i = 0; i < heads->count; i++) {
        if (is_alike(heads->items[i], finding))
            return true;
    }
    return false;
}

/* A place as one of several: with a line and its own evidence where all are
 * listed. */
static void add_alike_place(const struct tp_finding *finding, bool listed,
                            struct tp_text *text)
{
    struct place place = place_of(finding);
    place.quant_type = "";
    place.rank = place.iteration = -1;
    tp_text_add(text, listed ? "\n           " : " ");
    add_place(&place, text);
    if (listed)
        tp_text_add(text, ": %s", finding->evidence);
}

/* Names the places of the findings after one that are like it, all of them
 * where lists have no limit; returns how many there are. */
static size_t add_alike(const struct tp_findings *findings, size_t head,
                        size_t most, struct tp_text *text)
{
    size_t count = 0, named = 0, from = text->length;
    for (size_t i = head + 1; i < findings->count; i++)
        count += is_alike(&findings->rows[head], &findings->rows[i]);
    if (count == 0)
        return 0;
    tp_text_add(text, "         likewise %zu other place%s:", count,
                count == 1 ? "" : "s");
    for (size_t i = head + 1; i < findings->count; i++) {
        if ((most && named == NAMED) ||
            !is_alike(&findings->rows[head], &findings->rows[i]))
            continue;
        tp_text_add(text, most && named ? "," : "");
        add_alike_place(&findings->rows[i], most == 0, text);
        named++;
    }
    if (named < count)
        tp_text_add(text, ", ... (--verbose lists them)");
    tp_text_add(text, "\n");
    tp_text_wrap(text, from, most ? 9 : 13, NULL);
    return count;
}

/* The file of what stands alone, on a line that never breaks. What is low is
 * said of many. */
static void add_file(const struct tp_finding *finding, struct tp_text *text)
{
    if (finding->level == TP_SEVERITY_LOW || !*finding->file)
        return;
    tp_text_add(text, "         file ");
    tp_text_printable(text, finding->file);
    tp_text_add(text, "\n");
}

/* How a list of findings is written. */
struct listing {
    size_t most; /* entries; 0: all, with all places of each              */
    bool color;
    struct heads heads;
};

/* Writes a finding and those like it; returns how many those are. */
static size_t add_finding(const struct tp_findings *findings, size_t number,
                          struct listing *how, struct tp_text *text)
{
    const struct tp_finding *finding = &findings->rows[number];
    const struct place place = place_of(finding);
    size_t alike = 0;
    tp_report_level(finding->level, how->color, text);
    tp_text_add(text, " %-10s", finding->rule->id);
    add_place(&place, text);
    size_t from = text->length;
    tp_text_add(text, "\n         %s\n", finding->evidence);
    tp_text_wrap(text, from, 9, NULL);
    if (finding->level == TP_SEVERITY_LOW && how->heads.count < HEADS) {
        how->heads.items[how->heads.count++] = finding;
        alike = add_alike(findings, number, how->most, text);
    }
    add_file(finding, text);
    from = text->length;
    tp_text_add(text, "         -> %s\n", finding->suggestion);
    tp_text_wrap(text, from, 12, NULL);
    return 1 + alike;
}

static void add_findings(const struct tp_report *report, size_t most,
                         bool color, struct tp_text *text)
{
    const struct tp_findings *findings = report->results.findings;
    struct listing how = {.most = most, .color = color};
    struct tp_report_told told = {.count = 0};
    size_t counts[TP_SEVERITY_HIGH + 1] = {0}, shown = 0, entries = 0;
    for (size_t i = 0; i < findings->count; i++)
        counts[findings->rows[i].level]++;
    tp_report_finding_counts(counts, text);
    for (size_t i = 0; i < findings->count && (!most || entries < most); i++) {
        if (is_covered(&how.heads, &findings->rows[i]))
            continue;
        shown += add_finding(findings, i, &how, text);
        tp_report_guide(&told, findings->rows[i].rule->guide, text);
        entries++;
    }
    if (shown < findings->count)
        tp_text_add(text, "  ... and %zu more in %s\n", findings->count - shown,
                    report->output_dir[0] ? "findings.json" : "the JSON form");
}

/* What makes a tensor bad, in the order of how bad it is. */
struct badness {
    const struct tp_row *row;
    uint64_t nonfinite;
    double overflow, underflow;
};

static int compare_badness(const void *left, const void *right)
{
    const struct badness *a = left, *b = right;
    if (a->nonfinite != b->nonfinite)
        return a->nonfinite < b->nonfinite ? 1 : -1;
    if (a->overflow != b->overflow)
        return a->overflow < b->overflow ? 1 : -1;
    if (a->underflow != b->underflow)
        return a->underflow < b->underflow ? 1 : -1;
    return tp_order_place(a->row, b->row);
}

/* Tensors with anything to complain about; the caller frees the list. */
static struct badness *bad_tensors(const struct tp_run *run, size_t *count)
{
    struct badness *list = calloc(run->row_count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < run->row_count; i++) {
        const struct tp_row *row = &run->rows[i];
        const struct tp_numbers *n = &row->numbers;
        struct badness bad = {
            row, tp_counts_nonfinite(&row->counts),
            isnan(n->total_overflow_ratio) ? 0 : n->total_overflow_ratio,
            isnan(n->underflow_ratio) ? 0 : n->underflow_ratio};
        if (bad.nonfinite || bad.overflow > 0 || bad.underflow > 0)
            list[(*count)++] = bad;
    }
    if (*count)
        qsort(list, *count, sizeof *list, compare_badness);
    return list;
}

static void add_worst(const struct tp_report *report, size_t most,
                      struct tp_text *text)
{
    enum { WORST_OF_ALL = 50 }; /* the full order is in summary.h5 */
    size_t count;
    struct badness *list = bad_tensors(report->results.run, &count);
    text->failed |= !list;
    most = most ? most : WORST_OF_ALL;
    if (list && count) {
        tp_text_add(text,
                    "\nWorst tensors (of %zu with any loss)\n  %10s %10s "
                    "%10s %10s  tensor\n",
                    count, "NaN+Inf", "overflow", "underflow", "amax");
    }
    for (size_t i = 0; list && i < count && i < most; i++) {
        const struct tp_row *row = list[i].row;
        tp_text_add(text, "  %10" PRIu64, list[i].nonfinite);
        add_percent(text, row->numbers.total_overflow_ratio);
        add_percent(text, row->numbers.underflow_ratio);
        tp_text_add(text, " %10.4g ", row->numbers.abs_max);
        tp_report_place(row, text);
        tp_text_add(text, "\n%48s", "");
        tp_text_printable(text, row->file);
        tp_text_add(text, "\n");
    }
    free(list);
}

/* Files that a note names and that have a space in their path, at most
 * `most`; NULL ends them. */
static void find_named(const struct tp_run *run, const char *note,
                       const char **files, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < run->row_count && count < most; i++) {
        const char *file = run->rows[i].file;
        if (strchr(file, ' ') && strstr(note, file))
            files[count++] = file;
    }
    files[count] = NULL;
}

static void add_notes(const struct tp_run *run, struct tp_text *text)
{
    enum { FILES = 4 };
    const char *files[FILES + 1];
    if (run->notes.count)
        tp_text_add(text, "\nNotes\n");
    for (size_t i = 0; i < run->notes.count; i++) {
        find_named(run, run->notes.texts[i], files, FILES);
        tp_report_note(run->notes.texts[i], files, text);
    }
}

void tp_report_text(const struct tp_report *report, size_t most, bool color,
                    struct tp_text *text)
{
    enum { ALERTS = 5 }; /* what a summary has room for */
    tp_text_add(text, "tprof-analyze %s\n\n", report->tool_version);
    add_input(report, text);
    add_findings(report, most, color, text); /* first what is asked for */
    if (most == 0)
        tp_report_monitor(report->results.monitor, report->results.incidents,
                          text);
    else
        tp_report_alerts(report->results.monitor, report->results.incidents,
                         ALERTS, text);
    add_group_table(report, "quant_type", most, text);
    add_group_table(report, "tensor_name", most, text);
    tp_report_quant(report->results.quant, most, most == 0, text);
    tp_report_pairs(report->results.pairs, most, text);
    add_worst(report, most, text);
    tp_report_skipped(report->results.run->skipped,
                      report->results.run->skipped_count, most,
                      report->output_dir[0] ? " in report.txt" : "", text);
    add_notes(report->results.run, text);
    tp_report_figures(report->figures, report->figure_count, text);
    if (report->output_dir[0])
        tp_report_written(report->output_dir,
                          "summary.h5 report.txt findings.json", text);
}

/* ", 40 iterations": where there are several, and whether. */
static bool add_several(const struct tp_groups *groups, const char *grouping,
                        struct tp_text *text)
{
    size_t count = 0;
    for (size_t i = 0; i < groups->count; i++)
        count += strcmp(groups->rows[i].group_by, grouping) == 0;
    if (count > 1)
        tp_text_add(text, ", %zu %ss", count, grouping);
    return count > 1;
}

void tp_report_head(const struct tp_report *report, bool damaged,
                    struct tp_text *verdict, struct tp_text *sentence)
{
    const struct tp_results *results = &report->results;
    if (results->findings->count == 0)
        tp_text_add(verdict, "nothing was found");
    tp_report_count(sentence, results->run->row_count, "tensor");
    const bool over = add_several(results->groups, "iteration", sentence);
    add_several(results->groups, "rank", sentence);
    tp_text_add(sentence, "; looked for NaN and Inf");
    if (over && results->monitor->baseline_count)
        tp_text_add(sentence, ", for changes over iterations");
    if (results->run->plan.count) {
        tp_text_add(sentence, ", for losses in ");
        tp_report_count(sentence, results->run->plan.count, "number format");
    }
    tp_report_not_all(damaged, sentence);
}

void tp_report_tensor_text(const struct tp_row *row, struct tp_text *text)
{
    tp_text_printable(text, row->file);
    if (row->path[0]) {
        tp_text_add(text, " [");
        tp_text_printable(text, row->path);
        tp_text_add(text, "]");
    }
    tp_text_add(text, "\n  ");
    tp_report_place(row, text);
    const char *rule = tp_row_scale_word(row);
    tp_text_add(text, "\n  %-22s %s %s\n  %-22s %s%s%s\n", "tensor",
                tp_row_dtype_word(row), row->shape, "judged against",
                tp_row_target_word(row), *rule ? ", scale rule " : "", rule);
    for (const struct tp_stat *stat = tp_stats; stat->name; stat++) {
        tp_text_add(text, "  %-22s ", stat->name);
        if (stat->type == TP_STAT_INTEGER)
            tp_text_add(text, "%" PRId64 "\n",
                        tp_stat_integer(stat, &row->counts));
        else
            tp_text_add(text, "%.9g\n",
                        tp_stat_real(stat, &row->counts, &row->numbers));
    }
    tp_report_dims_text(row, text);
}
