/* SPDX-License-Identifier: MIT */
/*
 * HiFP8 against MXFP8: the values the formats have, the errors of the same
 * tensor in both, the distance from a normal distribution. Grids are drawn over
 * the density per binade, that of the block format at the scale of a block
 * whose largest magnitude is the 99 % quantile. For normality each tensor is
 * standardised by its own mean and std and its histogram spread over 1 600 bins
 * of 0.01 std; the quantile plot and Kolmogorov's distance, the largest gap of
 * the two distribution functions, come from the cumulated bins. Tests that
 * weigh the tails (Anderson-Darling) would tell of the outliers, which other
 * figures show, and little of the rest. Correlations are updated in one pass.
 * O(bins) for each tensor and panel.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures/fig_builders.h"
#include "figures/fig_peers.h"

enum {
    HALF = TP_SUMMARY_BINS / 2, /* bins of one sign                       */
    BINADES = 14,               /* of a panel with grids                  */
    QQ_POINTS = 60,
    QUANTS_MAX = 4
};

/* Rows of the runs that are compared, merged. */
static uint64_t merge_picked(const struct tp_facts *facts,
                             const struct tp_pick *pick,
                             struct tp_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    for (size_t r = 0; r < facts->run->row_count; r++) {
        if (tp_picked(facts, pick, r))
            tp_summary_merge_packed(summary, facts->run->rows[r].packed);
    }
    return summary->moments.n;
}

/* The quant types whose format has 8 bits, at most QUANTS_MAX. */
static size_t fp8_types(const struct tp_facts *facts,
                        int32_t codes[QUANTS_MAX])
{
    size_t count = 0;
    const struct tp_key_values *types = &facts->keys[TP_KEY_QUANT];
    for (size_t t = 0; t < types->count && count < QUANTS_MAX; t++) {
        const struct tp_number *number =
            tp_number_by_quant_type(types->names[t]);
        if (number && number->bits == 8)
            codes[count++] = (int32_t)t;
    }
    return count;
}

/* The nth colour from the last that none of the quant types has; 0 where
 * these have none of their own. */
static unsigned free_colour(const struct tp_fig *fig,
                            const int32_t types[QUANTS_MAX], size_t count,
                            unsigned nth)
{
    unsigned colour = TP_PANEL_SERIES_MAX;
    if (tp_fig_colour(fig, TP_KEY_QUANT, types[0]) == 0)
        return 0;
    for (;; colour--) {
        bool taken = false;
        for (size_t t = 0; t < count; t++)
            taken |= tp_fig_colour(fig, TP_KEY_QUANT, types[t]) == colour;
        if (!taken && nth-- == 0)
            return colour;
    }
}

/* --- densities over the grids ------------------------------------------- */

/* Density of the nonzero elements in percent per binade, from 2^low on. Bins
 * are eighths of a binade: equally wide by value, not on a log axis. */
static double *binade_curve(struct tp_fig *fig,
                            const struct tp_summary *summary, int low,
                            size_t *rows)
{
    double *table = tp_fig_alloc(fig, 16 * BINADES + 2, sizeof *table);
    uint64_t all = summary->moments.n - summary->counts.zero;
    *rows = 0;
    for (int i = 0; i < 8 * BINADES && table; i++) {
        double at = ldexp(1 + (i % 8 + 0.5) / 8, low + i / 8);
        double binades = log2((9 + i % 8) / (8.0 + i % 8));
        unsigned bin = tp_summary_bin(at);
        uint64_t count = summary->bins[bin] + summary->bins[bin + HALF];
        table[2 * *rows] = at;
        table[2 * *rows + 1] = 100 * (double)count / (double)all / binades;
        *rows += 1;
    }
    return table;
}

/* Teeth over reach[0] .. reach[1] at the values of a format, times
 * 2^span[2], in binades span[0] .. span[1] - 1. Gaps are NaN. */
static double *comb(struct tp_fig *fig, const struct tp_number *number,
                    const int span[3], const double reach[2], size_t *rows)
{
    enum { TEETH_MAX = 16 * BINADES };
    double *table = tp_fig_alloc(fig, 6 * TEETH_MAX + 6, sizeof *table);
    size_t n = 0;
    for (int e = span[0]; e < span[1] && table; e++) {
        int own = e - span[2];
        int bits = tp_number_precision(number, own);
        for (int m = 0; bits > 0 && m < 1 << (bits - 1) && n < 3 * TEETH_MAX;
             m++) {
            double value = ldexp(1 + m / ldexp(1, bits - 1), own);
            if (value > number->max || value < number->min_subnormal)
                continue;
            double at = ldexp(value, span[2]);
            const double tooth[6] = {at, reach[0], at, reach[1], at, NAN};
            memcpy(table + 2 * n, tooth, sizeof tooth);
            n += 3;
        }
    }
    *rows = n;
    return table;
}

/* The binade two above that below which all but a hundredth of the elements
 * lie: what an incident adds is not what the grids are for. */
static int top_binade(const struct tp_summary *summary)
{
    uint64_t above = 0, all = summary->moments.n - summary->counts.zero;
    unsigned m = HALF - 1;
    for (; m > 0 && (double)above <= 1e-2 * (double)all; m--)
        above += summary->bins[m] + summary->bins[m + HALF];
    double inner, outer;
    int sign;
    tp_summary_bin_edges(m, &inner, &outer, &sign);
    return ilogb(inner > 0 ? inner : outer) + 2; /* the lowest begins at 0 */
}

static void add_grid_panel(struct tp_fig *fig, const char *title,
                           const struct tp_pick *pick,
                           struct tp_summary *summary)
{
    static const char *const formats[2] = {"hif8", "e4m3"};
    int32_t types[QUANTS_MAX];
    size_t count = fp8_types(fig->facts, types), kept = 0;
    struct tp_panel_series *series =
        tp_fig_alloc(fig, count + 2, sizeof *series);
    double peak = 0;
    if (!series || count == 0 ||
        !merge_picked(fig->facts, pick, summary) ||
        summary->moments.n == summary->counts.zero)
        return;
    int top = top_binade(summary), low = top - BINADES;
    /* a block whose largest magnitude lies at the 99 % quantile */
    const int shifts[2] = {0, top - 2 -
                                  ilogb(tp_number_by_id("e4m3")->max)};
    for (size_t t = 0; t < count; t++) {
        struct tp_pick one = tp_pick_with(*pick, TP_KEY_QUANT, types[t]);
        if (!merge_picked(fig->facts, &one, summary) ||
            summary->moments.n == summary->counts.zero)
            continue;
        struct tp_panel_series *curve = &series[kept++];
        curve->name = fig->facts->keys[TP_KEY_QUANT].names[types[t]];
        curve->colour = tp_fig_colour(fig, TP_KEY_QUANT, types[t]);
        curve->values = binade_curve(fig, summary, low, &curve->rows);
        for (size_t i = 0; curve->values && i < curve->rows; i++)
            peak = fmax(peak, curve->values[2 * i + 1]);
    }
    for (int f = 0; f < 2; f++) {
        const int span[3] = {low, top, shifts[f]};
        const double reach[2] = {peak * (1.04 + 0.12 * f),
                                 peak * (1.12 + 0.12 * f)};
        struct tp_panel_series *teeth = &series[kept++];
        teeth->name = f ? "values of mxfp8_e4m3 (in a block)"
                        : "values of hif8";
        teeth->colour = free_colour(fig, types, count, (unsigned)f);
        teeth->values = comb(fig, tp_number_by_id(formats[f]), span, reach,
                             &teeth->rows);
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_LINES,
        .title = title,
        .x = {.label = "|value| [tensor units, log2]", .scale = TP_SCALE_LOG2,
              .limited = true, .min = ldexp(1, low), .max = ldexp(1, top)},
        .y = {.label = "share per binade [%]", .limited = true,
              .min = 0, .max = 1.28 * peak},
        .series = series,
        .series_count = kept,
    };
    tp_fig_add(fig, &panel);
}

/* Calls `add` for each pass, or once for all tensors. */
static void each_pass(struct tp_fig *fig,
                      void (*add)(struct tp_fig *fig, const char *title,
                                  const struct tp_pick *pick,
                                  struct tp_summary *summary))
{
    const struct tp_key_values *passes = &fig->facts->keys[TP_KEY_PASS];
    struct tp_summary *summary = malloc(sizeof *summary);
    struct tp_pick all = tp_pick_all();
    fig->failed |= !summary;
    if (summary && passes->count == 0)
        add(fig, "all tensors", &all, summary);
    for (size_t p = passes->count; summary && p > 0; p--) {
        struct tp_pick pick =
            tp_pick_with(all, TP_KEY_PASS, (int32_t)(p - 1));
        add(fig, passes->names[p - 1], &pick, summary);
    }
    free(summary);
}

void tp_fig_fp8_grids(struct tp_fig *fig)
{
    each_pass(fig, add_grid_panel);
}

/* --- errors of the same tensor ------------------------------------------ */

/* SQNR of every row under a cast; NaN where there is none. */
static double *sqnr_values(struct tp_fig *fig, size_t cast)
{
    const struct tp_run *run = fig->facts->run;
    double *values = tp_fig_row_values(fig);
    for (size_t r = 0; values && r < run->row_count; r++) {
        struct tp_quant_metrics metrics;
        if (tp_quant_unpack_metrics(run->rows[r].quant, cast, &metrics) &&
            isfinite(metrics.sqnr_db))
            values[r] = metrics.sqnr_db;
    }
    return values;
}

/* Pearson's correlation over picked rows that have both numbers. */
static double correlation(const struct tp_facts *facts,
                          const struct tp_pick *pick, const double *x,
                          const double *y)
{
    double n = 0, mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
    for (size_t r = 0; r < facts->run->row_count; r++) {
        if (!tp_picked(facts, pick, r) || isnan(x[r]) || isnan(y[r]))
            continue;
        double dx = x[r] - mean_x, dy = y[r] - mean_y;
        n++;
        mean_x += dx / n;
        mean_y += dy / n;
        xx += dx * (x[r] - mean_x);
        yy += dy * (y[r] - mean_y);
        xy += dx * (y[r] - mean_y);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

static size_t scaled_cast(const struct tp_quant_plan *plan, const char *format)
{
    size_t i = plan->scaled;
    while (i < plan->count && strcmp(plan->casts[i].format, format))
        i++;
    return i;
}

/* HiF8 (x) against MXFP8 (y). */
static void add_cloud(struct tp_fig *fig, const char *title,
                      const struct tp_pick *pick, size_t hif8)
{
    const struct tp_quant_plan *plan = &fig->facts->run->plan;
    size_t mx = tp_quant_plan_find(plan, tp_number_by_id("mxfp8_e4m3"));
    if (mx == plan->count || hif8 == plan->count)
        return;
    struct tp_metric x = {
        .label = hif8 < plan->scaled ? "SQNR of HiF8 [dB]"
                                     : "SQNR of HiF8 with a scale [dB]",
        .values = sqnr_values(fig, hif8)};
    struct tp_metric y = {.label = "SQNR of MXFP8 E4M3 [dB]",
                          .values = sqnr_values(fig, mx)};
    if (fig->failed)
        return;
    double r = correlation(fig->facts, pick, x.values, y.values);
    struct tp_ask ask = {
        .title = isnan(r) ? title : tp_fig_text(fig, "%s, r = %.2f", title, r),
        .pick = *pick,
        .metric = &x,
    };
    tp_fig_cloud(fig, &ask, &y, true);
}

static void add_clouds(struct tp_fig *fig, const char *title,
                       const struct tp_pick *pick, struct tp_summary *summary)
{
    const struct tp_quant_plan *plan = &fig->facts->run->plan;
    (void)summary;
    add_cloud(fig, title, pick,
              tp_quant_plan_find(plan, tp_number_by_id("hif8")));
    add_cloud(fig, tp_fig_text(fig, "%s, HiF8 scaled", title), pick,
              scaled_cast(plan, "hif8"));
}

void tp_fig_fp8_errors(struct tp_fig *fig)
{
    each_pass(fig, add_clouds);
}

/* --- against a normal distribution --------------------------------------- */

/* A histogram of (x - mean) / std, each tensor by its own. */
enum { Z_BINS = 1600, Z_REACH = 8 };

static double z_edge(size_t bin)
{
    return 2.0 * Z_REACH * (double)bin / Z_BINS - Z_REACH;
}

/* Adds a mass spread evenly over [from, to]; the ends take what is beyond. */
static void add_mass(double *z, double from, double to, double mass)
{
    const double per_unit = Z_BINS / (2.0 * Z_REACH);
    double a = fmin(fmax((from + Z_REACH) * per_unit, 0), Z_BINS - 1e-9);
    double b = fmin(fmax((to + Z_REACH) * per_unit, 0), Z_BINS - 1e-9);
    size_t first = (size_t)a, last = (size_t)b;
    for (size_t i = first; i <= last; i++) {
        double left = fmax(a, (double)i), right = fmin(b, (double)i + 1);
        z[i] += b > a ? mass * (right - left) / (b - a) : mass;
    }
}

static void add_standardised(const struct tp_row *row,
                             struct tp_summary *summary, double *z)
{
    double mean = row->numbers.mean, std = row->numbers.std;
    if (!(std > 0) || !isfinite(std))
        return;
    memset(summary, 0, sizeof *summary);
    tp_summary_merge_packed(summary, row->packed);
    add_mass(z, -mean / std, -mean / std, (double)summary->counts.zero);
    for (unsigned bin = 0; bin < TP_SUMMARY_BINS; bin++) {
        double inner, outer;
        int sign;
        if (!summary->bins[bin])
            continue;
        tp_summary_bin_edges(bin, &inner, &outer, &sign);
        double from = ((sign > 0 ? inner : -outer) - mean) / std;
        double to = ((sign > 0 ? outer : -inner) - mean) / std;
        add_mass(z, from, to, (double)summary->bins[bin]);
    }
}

/* Share of a normal distribution below z. */
static double normal_below(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

/* Turns masses into shares below the upper edge; false without mass. */
static bool accumulate(double *z)
{
    for (size_t i = 1; i < Z_BINS; i++)
        z[i] += z[i - 1];
    double all = z[Z_BINS - 1];
    for (size_t i = 0; i < Z_BINS; i++)
        z[i] /= all;
    return all > 0;
}

/* The largest distance of two distribution functions (Kolmogorov). */
static double distance(const double *below)
{
    double most = 0;
    for (size_t i = 0; i < Z_BINS; i++)
        most = fmax(most, fabs(below[i] - normal_below(z_edge(i + 1))));
    return most;
}

static double z_quantile(const double *below, double level)
{
    size_t i = 0;
    while (i + 1 < Z_BINS && below[i] < level)
        i++;
    double under = i ? below[i - 1] : 0, step = below[i] - under;
    double part = step > 0 ? (level - under) / step : 0;
    return z_edge(i) + part * (z_edge(i + 1) - z_edge(i));
}

static double *qq_table(struct tp_fig *fig, const double *below)
{
    double *table = tp_fig_alloc(fig, 2 * QQ_POINTS + 2, sizeof *table);
    for (int i = 0; i <= QQ_POINTS && table; i++) {
        double z = 6.6 * i / QQ_POINTS - 3.3;
        table[2 * i] = z;
        table[2 * i + 1] = z_quantile(below, normal_below(z));
    }
    return table;
}

static void add_qq_panel(struct tp_fig *fig, const char *title,
                         const struct tp_pick *pick,
                         struct tp_summary *summary)
{
    const struct tp_facts *facts = fig->facts;
    static const double diagonal[] = {-3.3, -3.3, 3.3, 3.3};
    int32_t types[QUANTS_MAX];
    size_t count = fp8_types(facts, types), kept = 0;
    struct tp_panel_series *series =
        tp_fig_alloc(fig, count + 1, sizeof *series);
    double *z = malloc(Z_BINS * sizeof *z);
    fig->failed |= !z;
    for (size_t t = 0; t < count && series && z; t++) {
        struct tp_pick one = tp_pick_with(*pick, TP_KEY_QUANT, types[t]);
        memset(z, 0, Z_BINS * sizeof *z);
        for (size_t r = 0; r < facts->run->row_count; r++) {
            if (tp_picked(facts, &one, r))
                add_standardised(&facts->run->rows[r], summary, z);
        }
        if (!accumulate(z))
            continue;
        series[kept].name = facts->keys[TP_KEY_QUANT].names[types[t]];
        series[kept].colour = tp_fig_colour(fig, TP_KEY_QUANT, types[t]);
        title = tp_fig_text(fig, "%s%s %s D = %.3f", title, kept ? "," : ":",
                            series[kept].name, distance(z));
        series[kept].values = qq_table(fig, z);
        series[kept].rows = series[kept].values ? QQ_POINTS + 1 : 0;
        kept++;
    }
    free(z);
    if (kept)
        series[kept++] = (struct tp_panel_series){
            .name = "normal",
            .values = diagonal,
            .rows = 2,
            .colour = free_colour(fig, types, count, 0)};
    struct tp_panel panel = {
        .kind = TP_PANEL_LINES,
        .title = title,
        .x = {.label = "quantile of a normal distribution [std]"},
        .y = {.label = "quantile of (value - mean) / std [std]"},
        .series = series,
        .series_count = kept,
    };
    if (kept)
        tp_fig_add(fig, &panel);
}

void tp_fig_fp8_normality(struct tp_fig *fig)
{
    each_pass(fig, add_qq_panel);
}
