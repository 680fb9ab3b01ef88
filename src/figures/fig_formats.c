/* SPDX-License-Identifier: MIT */
/*
 * Elements against number formats. What a format would do to them is read from
 * the merged histogram of each tensor name: its thresholds (zero, subnormal,
 * normal, overflow) sort the bins, and one inside a bin splits it as if the bin
 * were evenly filled. Casting every element again would be exact, but the
 * elements are gone; what the target format really did was counted by the scan
 * and is a figure of its own. Quantiles of magnitudes interpolate in the same
 * histogram. One merge of a histogram for each tensor, then bins x formats for
 * each name.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/number.h"
#include "figures/fig_builders.h"
#include "figures/fig_peers.h"

/* What becomes of an element in a format. NaN comes last: it is not among the
 * elements of a histogram. */
enum regime { ZERO, UNDERFLOW, SUBNORMAL, NORMAL, OVERFLOW, NOT_A_NUMBER,
              REGIMES };

static const char *const regime_names[REGIMES] = {
    "zero already", "underflow", "subnormal", "normal", "overflow", "NaN"};

/* Shares of the regimes, one row per tensor name. */
struct shares {
    struct tp_choice rows;
    double (*of)[REGIMES]; /* [rows.count]                 */
    int regimes;           /* that can occur: the first ones */
};

enum { NAMES_MAX = 14, NAMES_OF_FOUR = 12 }; /* panels */

/* --- stacked bars ----------------------------------------------------- */

static void add_shares(struct tp_fig *fig, const char *title,
                       const struct shares *shares)
{
    size_t n = shares->rows.count;
    struct tp_panel_series *series = tp_fig_alloc(fig, REGIMES, sizeof *series);
    for (int g = 0; g < shares->regimes && series; g++) {
        double *table = tp_fig_alloc(fig, 3 * n + 1, sizeof *table);
        for (size_t r = 0; r < n && table; r++) {
            double from = 0;
            for (int k = 0; k < g; k++)
                from += shares->of[r][k];
            table[3 * r] = (double)r;
            table[3 * r + 1] = from;
            table[3 * r + 2] = from + shares->of[r][g];
        }
        series[g] = (struct tp_panel_series){
            .name = regime_names[g], .values = table, .rows = table ? n : 0};
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_SHARES,
        .title = title,
        .x = {.label = "share of elements [1]",
              .limited = true, .min = 0, .max = 1},
        .y = tp_fig_rows(fig, TP_KEY_NAME, &shares->rows),
        .series = series,
        .series_count = series ? (size_t)shares->regimes : 0,
    };
    tp_fig_add(fig, &panel);
}

/* The part of a bin [inner, outer) below a threshold, evenly spread. */
static double part_below(double inner, double outer, double threshold)
{
    double part = (threshold - inner) / (outer - inner);
    return part < 0 ? 0 : part > 1 ? 1 : part;
}

/* Sorts a histogram into regimes; thresholds inside a bin split it. */
static void sort_bins(const struct tp_summary *summary,
                      const struct tp_number *number, double shares[REGIMES])
{
    struct tp_thresholds limits;
    tp_number_thresholds(number, &limits);
    double all = (double)summary->moments.n;
    memset(shares, 0, REGIMES * sizeof *shares);
    shares[ZERO] = (double)summary->counts.zero / all;
    for (unsigned bin = 0; bin < TP_SUMMARY_BINS; bin++) {
        double inner, outer, share = (double)summary->bins[bin] / all;
        int sign;
        if (summary->bins[bin] == 0)
            continue;
        tp_summary_bin_edges(bin, &inner, &outer, &sign);
        double under = part_below(inner, outer, limits.zero);
        double small = part_below(inner, outer, limits.subnormal);
        double fits = part_below(inner, outer, limits.overflow);
        small = small > under ? small : under;
        fits = fits > small ? fits : small;
        shares[UNDERFLOW] += share * under;
        shares[SUBNORMAL] += share * (small - under);
        shares[NORMAL] += share * (fits - small);
        shares[OVERFLOW] += share * (1 - fits);
    }
}

/* Merges all tensors of a name. */
static void merge_name(const struct tp_facts *facts, struct tp_pick pick,
                       int32_t name, struct tp_summary *summary)
{
    pick = tp_pick_with(pick, TP_KEY_NAME, name);
    memset(summary, 0, sizeof *summary);
    for (size_t r = 0; r < facts->run->row_count; r++) {
        if (tp_picked(facts, &pick, r))
            tp_summary_merge_packed(summary, facts->run->rows[r].packed);
    }
}

void tp_fig_regimes(struct tp_fig *fig)
{
    static const char *const formats[] = {"hif8", "e5m2", "e4m3", "fp16"};
    enum { FORMATS = sizeof formats / sizeof *formats };
    struct shares shares[FORMATS];
    struct tp_choice names;
    struct tp_pick all = tp_pick_all();
    struct tp_summary *summary = malloc(sizeof *summary);
    fig->failed |= !summary;
    tp_choose(fig, &all, TP_KEY_NAME, NAMES_OF_FOUR, &names);
    for (int f = 0; f < FORMATS; f++) {
        shares[f].rows = names;
        shares[f].regimes = NOT_A_NUMBER;
        shares[f].of =
            tp_fig_alloc(fig, names.count + 1, sizeof *shares[f].of);
    }
    fig->failed |= !summary;
    for (size_t i = 0; i < names.count && !fig->failed; i++) {
        merge_name(fig->facts, all, names.codes[i], summary);
        for (int f = 0; f < FORMATS; f++)
            sort_bins(summary, tp_number_by_id(formats[f]), shares[f].of[i]);
    }
    free(summary);
    for (int f = 0; f < FORMATS && !fig->failed; f++)
        add_shares(fig,
                   tp_fig_text(fig, "%s%s", formats[f],
                               tp_fig_note(fig, &names)),
                   &shares[f]);
}

/* The counts the scan took against the target format, block scales and all. */
static void measured_shares(const struct tp_facts *facts,
                            const struct tp_pick *pick, double *shares)
{
    struct tp_counts counts = {0};
    for (size_t r = 0; r < facts->run->row_count; r++) {
        const struct tp_counts *its = &facts->run->rows[r].packed->counts;
        if (tp_picked(facts, pick, r) && its->judged)
            tp_counts_merge(&counts, its);
    }
    double n = counts.judged ? (double)counts.judged : NAN;
    shares[ZERO] = (double)counts.zero / n;
    shares[UNDERFLOW] = (double)counts.underflow / n;
    shares[SUBNORMAL] = (double)counts.subnormal / n;
    /* what underflows is among the subnormals, by their definition */
    if (counts.subnormal >= counts.underflow)
        shares[SUBNORMAL] -= shares[UNDERFLOW];
    shares[OVERFLOW] =
        (double)(counts.upper_overflow + counts.lower_overflow) / n;
    shares[NOT_A_NUMBER] = (double)counts.nan / n;
    shares[NORMAL] = 1 - shares[ZERO] - shares[UNDERFLOW] -
                     shares[SUBNORMAL] - shares[OVERFLOW] -
                     shares[NOT_A_NUMBER];
}

void tp_fig_measured_loss(struct tp_fig *fig)
{
    const struct tp_facts *facts = fig->facts;
    struct tp_pick all = tp_pick_all();
    struct tp_choice quants;
    tp_choose(fig, &all, TP_KEY_QUANT, 4, &quants);
    for (size_t q = 0; q < quants.count; q++) {
        struct tp_pick pick =
            tp_pick_with(all, TP_KEY_QUANT, quants.codes[q]);
        struct shares shares = {.regimes = REGIMES};
        tp_choose(fig, &pick, TP_KEY_NAME, NAMES_MAX, &shares.rows);
        shares.of =
            tp_fig_alloc(fig, shares.rows.count + 1, sizeof *shares.of);
        for (size_t i = 0; i < shares.rows.count && shares.of; i++) {
            struct tp_pick one =
                tp_pick_with(pick, TP_KEY_NAME, shares.rows.codes[i]);
            measured_shares(facts, &one, shares.of[i]);
        }
        if (shares.of)
            add_shares(fig,
                       tp_fig_text(
                           fig, "%s%s",
                           facts->keys[TP_KEY_QUANT].names[quants.codes[q]],
                           tp_fig_note(fig, &shares.rows)),
                       &shares);
    }
}

/* --- ranges ----------------------------------------------------------- */

static const char *const range_formats[] = {"bf16", "fp16", "hif8", "e5m2",
                                            "e4m3"};
enum { RANGE_FORMATS = sizeof range_formats / sizeof *range_formats };

/* The magnitude below which `level` of the nonzero elements lie, within a
 * bin of the histogram. */
static double magnitude_quantile(const struct tp_summary *summary,
                                 double level)
{
    const unsigned half = TP_SUMMARY_BINS / 2;
    uint64_t total = 0, below = 0;
    for (unsigned m = 0; m < TP_SUMMARY_BINS; m++)
        total += summary->bins[m];
    double wanted = level * (double)total;
    for (unsigned m = 0; m < half; m++) {
        uint64_t mass = summary->bins[m] + summary->bins[half + m];
        if (mass > 0 && (double)(below + mass) >= wanted) {
            double inner, outer;
            int sign;
            double part = (wanted - (double)below) / (double)mass;
            tp_summary_bin_edges(m, &inner, &outer, &sign);
            return inner + (outer - inner) * part;
        }
        below += mass;
    }
    return NAN;
}

static void magnitude_box(const struct tp_summary *summary, double at,
                          double *row)
{
    static const double levels[5] = {0.05, 0.25, 0.5, 0.75, 0.95};
    row[0] = at;
    row[1] = summary->extrema.abs_min_nonzero;
    for (int q = 0; q < 5; q++)
        row[q + 2] = magnitude_quantile(summary, levels[q]);
    row[7] = fmax(fabs(summary->extrema.min), fabs(summary->extrema.max));
    row[8] = (double)summary->moments.n;
}

/* A format as a box: normal values inside, subnormals on the line. */
static void format_box(const struct tp_number *number, double at, double *row)
{
    row[0] = at;
    row[1] = row[2] = number->min_subnormal;
    row[3] = row[4] = number->min_normal;
    row[5] = row[6] = row[7] = number->max;
    row[8] = 1;
}

/* A row per name and, in another colour, one per format. */
static void add_ranges(struct tp_fig *fig, const char *title,
                       struct tp_pick pick, struct tp_summary *summary)
{
    struct tp_choice names;
    tp_choose(fig, &pick, TP_KEY_NAME, NAMES_MAX, &names);
    struct tp_axis rows = tp_fig_rows(fig, TP_KEY_NAME, &names);
    size_t n = names.count, all = n + RANGE_FORMATS;
    struct tp_tic *tics = tp_fig_alloc(fig, all, sizeof *tics);
    double *tensors = tp_fig_alloc(fig, 9 * n + 1, sizeof *tensors);
    double *formats = tp_fig_alloc(fig, 9 * RANGE_FORMATS, sizeof *formats);
    struct tp_panel_series *series = tp_fig_alloc(fig, 2, sizeof *series);
    if (fig->failed || n == 0)
        return;
    memcpy(tics, rows.tics, n * sizeof *tics);
    for (size_t i = 0; i < n; i++) {
        merge_name(fig->facts, pick, names.codes[i], summary);
        magnitude_box(summary, (double)i, tensors + 9 * i);
    }
    for (size_t f = 0; f < RANGE_FORMATS; f++) {
        const struct tp_number *number = tp_number_by_id(range_formats[f]);
        format_box(number, (double)(n + f), formats + 9 * f);
        tics[n + f] = (struct tp_tic){(double)(n + f), number->id};
    }
    series[0] = (struct tp_panel_series){"nonzero elements", tensors, n, 0};
    series[1] = (struct tp_panel_series){
        "range of the format (line: subnormal)", formats, RANGE_FORMATS, 0};
    struct tp_panel panel = {
        .kind = TP_PANEL_BOXES,
        .title = tp_fig_text(fig, "%s%s", title, tp_fig_note(fig, &names)),
        .x = {.label = "|value| [tensor units, log2]",
              .scale = TP_SCALE_LOG2},
        .y = {.scale = TP_SCALE_ROWS, .tics = tics, .tic_count = all},
        .series = series,
        .series_count = 2,
    };
    /* bf16 reaches 2^127: its row may leave the picture */
    double low = magnitude_quantile(summary, 0.5), high = low;
    for (size_t i = 0; i < 9 * n; i++) {
        if (i % 9 >= 1 && i % 9 <= 7 && tensors[i] > 0) {
            low = i % 9 >= 2 ? fmin(low, tensors[i]) : low;
            high = fmax(high, tensors[i]);
        }
    }
    panel.x.limited = true;
    panel.x.min = exp2(floor(log2(fmin(low, exp2(-24)))) - 1);
    panel.x.max = exp2(ceil(log2(fmax(high, exp2(17)))) + 1);
    tp_fig_add(fig, &panel);
}

void tp_fig_range_against_formats(struct tp_fig *fig)
{
    const struct tp_facts *facts = fig->facts;
    struct tp_summary *summary = malloc(sizeof *summary);
    struct tp_pick all = tp_pick_all();
    struct tp_choice passes;
    fig->failed |= !summary;
    tp_choose(fig, &all, TP_KEY_PASS, 2, &passes);
    if (summary && passes.count == 0)
        add_ranges(fig, "all tensors", all, summary);
    for (size_t p = passes.count; summary && p > 0; p--)
        add_ranges(fig, facts->keys[TP_KEY_PASS].names[passes.codes[p - 1]],
                   tp_pick_with(all, TP_KEY_PASS, passes.codes[p - 1]),
                   summary);
    free(summary);
}

/* --- 8-bit runs ------------------------------------------------------- */

static bool is_fp8(const struct tp_row *row)
{
    return row->target && row->target->bits == 8;
}

/* 1 for rows whose target is an 8-bit float, else NaN. */
static struct tp_metric fp8_member(struct tp_fig *fig)
{
    double *values = tp_fig_row_values(fig);
    for (size_t r = 0; values && r < fig->facts->run->row_count; r++) {
        if (is_fp8(&fig->facts->run->rows[r]))
            values[r] = 1;
    }
    return (struct tp_metric){.values = values};
}

/* The ends of the unscaled formats, for a panel over magnitudes. */
static void mark_ranges(struct tp_fig *fig, size_t before)
{
    static const struct tp_mark marks[] = {
        {0x1p-22, "hif8 min"},   {0x1p-16, "e5m2 min"},
        {0x1p-9, "e4m3 min"},    {448, "e4m3 max"},
        {0x1p15, "hif8 max"},
    };
    if (fig->count == before)
        return;
    fig->panels[fig->count - 1].marks = marks;
    fig->panels[fig->count - 1].mark_count = sizeof marks / sizeof *marks;
}

/* A density for each pass, the last one first, or one of all tensors, titled
 * `whole`; one of magnitudes shows the ends of the formats. */
static void pass_densities(struct tp_fig *fig, const struct tp_metric *member,
                           enum tp_density kind, const char *word,
                           const char *whole)
{
    const struct tp_key_values *keys = &fig->facts->keys[TP_KEY_PASS];
    struct tp_choice passes;
    struct tp_pick all = tp_pick_all();
    tp_choose(fig, &all, TP_KEY_PASS, 2, &passes);
    for (size_t p = 0; p < (passes.count ? passes.count : 1); p++) {
        struct tp_ask ask = {
            .title = whole,
            .pick = all,
            .series = TP_KEY_QUANT,
            .metric = member,
        };
        if (passes.count) {
            int32_t pass = passes.codes[passes.count - 1 - p];
            ask.pick = tp_pick_with(all, TP_KEY_PASS, pass);
            ask.title = tp_fig_text(fig, "%s, %s", keys->names[pass], word);
        }
        size_t before = fig->count;
        tp_fig_density(fig, &ask, kind);
        if (kind == TP_DENSITY_MAGNITUDE)
            mark_ranges(fig, before);
    }
}

void tp_fig_hifp8_against_mxfp8(struct tp_fig *fig)
{
    struct tp_metric member = fp8_member(fig);
    if (!member.values)
        return;
    pass_densities(fig, &member, TP_DENSITY_MAGNITUDE, "magnitudes",
                   "magnitudes");
    pass_densities(fig, &member, TP_DENSITY_STANDARD, "standardised",
                   "standardised, against a normal distribution");
}

void tp_fig_fp8_statistics(struct tp_fig *fig)
{
    static const struct tp_metric *const metrics[] = {
        &tp_metric_mean, &tp_metric_std, &tp_metric_min, &tp_metric_max};
    const struct tp_facts *facts = fig->facts;
    enum tp_key by =
        facts->keys[TP_KEY_PASS].count ? TP_KEY_PASS : TP_KEY_QUANT;
    for (int i = 0; i < 4; i++) {
        struct tp_metric metric = *metrics[i];
        double *values = tp_fig_row_values(fig);
        for (size_t r = 0; values && r < facts->run->row_count; r++) {
            if (is_fp8(&facts->run->rows[r]))
                values[r] = tp_metric_of_row(metrics[i], facts, r);
        }
        metric.values = values;
        struct tp_ask ask = {
            .title = metric.title,
            .pick = tp_pick_all(),
            .by = by,
            .series = TP_KEY_QUANT,
            .metric = &metric,
        };
        if (values)
            tp_fig_boxes(fig, &ask);
    }
}
