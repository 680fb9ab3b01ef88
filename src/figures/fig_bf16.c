/* SPDX-License-Identifier: MIT */
/*
 * Tensors of bf16: densities, and the shape of their distribution. To compare
 * shapes whatever the range, each tensor is stretched from its min .. max to 0
 * .. 1, and the bins of its histogram spread evenly over 50 equal ones;
 * standardising by mean and std, as the other figures do, would leave outliers
 * far outside. Elements weigh the same, so large tensors count for more. One
 * pass over the histogram of each tensor and pass.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures/fig_builders.h"
#include "figures/fig_peers.h"

enum { UNIT_BINS = 50 };

/* Tensors of bf16 runs; when there are none, those stored as bfloat16. */
static bool is_bf16(const struct tp_row *row, bool run)
{
    return run ? strcmp(row->label.quant_type, "bf16") == 0
               : row->dtype == TP_BFLOAT16;
}

/* values[row] = `of` of bf16 rows, NaN elsewhere; NULL: out of memory. */
static double *bf16_values(struct tp_fig *fig,
                           double (*of)(const struct tp_row *row))
{
    const struct tp_facts *facts = fig->facts;
    bool run = tp_facts_code(facts, TP_KEY_QUANT, "bf16") >= 0;
    double *values = tp_fig_row_values(fig);
    for (size_t r = 0; values && r < facts->run->row_count; r++) {
        if (is_bf16(&facts->run->rows[r], run))
            values[r] = of(&facts->run->rows[r]);
    }
    return values;
}

static double member(const struct tp_row *row)
{
    (void)row;
    return 1;
}

static double elements(const struct tp_row *row)
{
    return (double)row->packed->moments.n;
}

static double raw_density(const struct tp_row *row)
{
    double range = row->numbers.max - row->numbers.min;
    return range > 0 ? (double)row->packed->moments.n / range : NAN;
}

static double variance(const struct tp_row *row)
{
    return row->numbers.std * row->numbers.std;
}

static double skewness(const struct tp_row *row)
{
    return row->numbers.skewness;
}

static double kurtosis(const struct tp_row *row)
{
    return row->numbers.kurtosis;
}

/* --- each tensor stretched to [0, 1] ---------------------------------- */

/* Adds a mass that lies evenly in [from, to] to equal bins of [0, 1]. */
static void spread(double *bins, double from, double to, double mass)
{
    double a = fmax(from, 0) * UNIT_BINS, b = fmin(to, 1) * UNIT_BINS;
    double width = b - a;
    if (!(width > 0)) {
        size_t i = a < UNIT_BINS ? (size_t)a : UNIT_BINS - 1;
        bins[i] += mass;
        return;
    }
    for (size_t i = (size_t)a; i < UNIT_BINS && (double)i < b; i++)
        bins[i] += mass * (fmin(b, (double)i + 1) - fmax(a, (double)i)) / width;
}

/* Adds a tensor, each of whose elements weighs the same. */
static void add_stretched(const struct tp_packed *packed,
                          struct tp_summary *scratch, double *bins)
{
    double low = packed->extrema.min, range = packed->extrema.max - low;
    memset(scratch, 0, sizeof *scratch);
    tp_summary_merge_packed(scratch, packed);
    if (packed->counts.zero)
        spread(bins, -low / range, -low / range, (double)packed->counts.zero);
    for (unsigned bin = 0; bin < TP_SUMMARY_BINS; bin++) {
        double inner, outer;
        int sign;
        if (scratch->bins[bin] == 0)
            continue;
        tp_summary_bin_edges(bin, &inner, &outer, &sign);
        double from = sign > 0 ? inner : -outer, to = sign > 0 ? outer : -inner;
        spread(bins, (from - low) / range, (to - low) / range,
               (double)scratch->bins[bin]);
    }
}

/* One curve per pass, or one of all tensors. */
static double *stretched_curve(struct tp_fig *fig, const double *chosen,
                               const struct tp_pick *pick, size_t *rows)
{
    const struct tp_facts *facts = fig->facts;
    double bins[UNIT_BINS] = {0}, total = 0;
    double *table = tp_fig_alloc(fig, 2 * UNIT_BINS + 2, sizeof *table);
    struct tp_summary *scratch = malloc(sizeof *scratch);
    fig->failed |= !scratch;
    for (size_t r = 0; scratch && r < facts->run->row_count; r++) {
        const struct tp_packed *packed = facts->run->rows[r].packed;
        if (isfinite(chosen[r]) && tp_picked(facts, pick, r) &&
            packed->extrema.max > packed->extrema.min &&
            isfinite(packed->extrema.max - packed->extrema.min))
            add_stretched(packed, scratch, bins);
    }
    free(scratch);
    for (int i = 0; i < UNIT_BINS; i++)
        total += bins[i];
    *rows = table && total > 0 ? UNIT_BINS + 1 : 0;
    for (size_t i = 0; i < *rows; i++) {
        table[2 * i] = (double)i / UNIT_BINS;
        table[2 * i + 1] = i < UNIT_BINS ? bins[i] / total * UNIT_BINS : 0;
    }
    return table;
}

static void add_stretched_panel(struct tp_fig *fig, const double *chosen)
{
    const struct tp_key_values *passes = &fig->facts->keys[TP_KEY_PASS];
    size_t count = passes->count && passes->count < 4 ? passes->count : 1;
    struct tp_panel_series *series = tp_fig_alloc(fig, count, sizeof *series);
    size_t kept = 0;
    for (size_t p = 0; series && p < count; p++) {
        struct tp_pick pick = tp_pick_all();
        if (count == passes->count)
            pick = tp_pick_with(pick, TP_KEY_PASS, (int32_t)p);
        size_t rows;
        const double *table = stretched_curve(fig, chosen, &pick, &rows);
        const char *name = count == passes->count ? passes->names[p] : "all";
        if (rows)
            series[kept++] =
                (struct tp_panel_series){name, table, rows, (unsigned)p + 1};
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_STEPS,
        .title = "each tensor stretched from its min .. max to 0 .. 1",
        .x = {.label = "(value - min) / (max - min) [1]"},
        .y = {.label = "density [1]"},
        .series = series,
        .series_count = kept,
    };
    tp_fig_add(fig, &panel);
}

/* --- figures ---------------------------------------------------------- */

void tp_fig_bf16_density(struct tp_fig *fig)
{
    struct tp_metric chosen = {.values = bf16_values(fig, member)};
    struct tp_metric count = {
        .label = "N = elements of the tensor [count, log2]",
        .scale = TP_SCALE_LOG2,
        .values = bf16_values(fig, elements),
    };
    struct tp_metric density = {
        .label = "N / (max - min) [1/tensor unit, log2]",
        .scale = TP_SCALE_LOG2,
        .values = bf16_values(fig, raw_density),
    };
    struct tp_ask ask = {
        .pick = tp_pick_all(),
        .series = TP_KEY_PASS,
        .metric = &chosen,
    };
    if (fig->failed)
        return;
    if (fig->facts->keys[TP_KEY_PASS].count == 0)
        ask.series = TP_KEY_COUNT;
    tp_fig_density(fig, &ask, TP_DENSITY_SIGNED);
    tp_fig_density(fig, &ask, TP_DENSITY_LINEAR);
    add_stretched_panel(fig, chosen.values);
    ask.title = "raw density";
    ask.metric = &count;
    tp_fig_cloud(fig, &ask, &density, false);
}

void tp_fig_bf16_shape(struct tp_fig *fig)
{
    struct tp_metric metrics[] = {
        {.title = "variance",
         .label = "variance [tensor units^2, log2]",
         .scale = TP_SCALE_LOG2,
         .values = bf16_values(fig, variance)},
        {.title = "skewness",
         .label = "skewness [1]",
         .scale = TP_SCALE_LINEAR,
         .values = bf16_values(fig, skewness)},
        {.title = "excess kurtosis",
         .label = "excess kurtosis (normal: 0) [1, +-log2]",
         .scale = TP_SCALE_SIGNED_LOG2,
         .values = bf16_values(fig, kurtosis)},
    };
    const struct tp_facts *facts = fig->facts;
    bool passes = facts->keys[TP_KEY_PASS].count > 0;
    bool types = facts->keys[TP_KEY_LAYER_TYPE].count > 0;
    /* beside states of an optimizer, which have names of their own */
    int32_t weights = tp_facts_code(facts, TP_KEY_QUANT,
                                    tp_dtype_info(TP_BFLOAT16)->name);
    struct tp_pick pick = facts->states && weights >= 0
                              ? tp_pick_with(tp_pick_all(), TP_KEY_QUANT,
                                             weights)
                              : tp_pick_all();
    for (int i = 0; i < 4 && !fig->failed; i++) {
        const struct tp_metric *metric = &metrics[i < 3 ? i : 2];
        struct tp_ask ask = {
            .title = tp_fig_text(fig, i < 3 ? "%s" : "%s, by tensor name",
                                 metric->title),
            .pick = pick,
            .by = i < 3 && types ? TP_KEY_LAYER_TYPE : TP_KEY_NAME,
            .series = passes ? TP_KEY_PASS : TP_KEY_COUNT,
            .metric = metric,
        };
        tp_fig_boxes(fig, &ask);
    }
}
