/* SPDX-License-Identifier: MIT */
/*
 * Rows as boxes, lines, bands, spreads, bars, histograms and clouds. Boxes and
 * spreads are quantiles of one number over the tensors of a cell, exact, linear
 * between neighbours; bands of elements are those of the merged histograms, as
 * the elements themselves are gone. Bins of histograms and clouds are equal in
 * drawn coordinates, from whole power to whole power on a log axis, and zeros
 * have a bin of their own there. A kernel density would look smoother but show
 * values where there are none, and needs a width for every panel. A signed log
 * axis is cut where 2 % of the magnitudes are smaller, at most 20 binades below
 * the largest. O(rows log rows) a panel, for bands and one merge of a histogram
 * a row.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "figures/fig_grid.h"

enum {
    BOX_ROWS_MAX = 12,  /* names that fit a panel of four              */
    BAND_POINTS_MAX = 240,
    SPREAD_POINTS_MAX = 240,
    HISTOGRAM_BINS = 32,
    CLOUD_BINS = 36,    /* squared below 2 000                         */
    SIGNED_BINADES = 20 /* shown on each side of a signed log axis     */
};

/* A label's values that become series, and their slots. */
struct colours {
    struct tp_choice choice;
    struct tp_slots slots;
    struct tp_panel_series *series; /* [slots.count], named, without rows */
};

static bool choose_series(struct tp_fig *fig, const struct tp_ask *ask,
                          size_t limit, struct colours *colours)
{
    colours->choice = (struct tp_choice){.count = 1, .total = 1};
    if (ask->series != TP_KEY_COUNT)
        tp_choose(fig, &ask->pick, ask->series, limit,
                  &colours->choice);
    colours->slots = tp_slots_chosen(fig, ask->series, &colours->choice);
    colours->series = ask->series == TP_KEY_COUNT
                          ? tp_fig_alloc(fig, 1, sizeof *colours->series)
                          : tp_fig_series(fig, ask->series, &colours->choice);
    if (colours->series && ask->series == TP_KEY_COUNT)
        colours->series->name = "";
    return !fig->failed && colours->slots.count > 0;
}

/* Series without a row would only be a line in the legend. */
static size_t drop_empty(struct tp_panel_series *series, size_t count)
{
    size_t kept = 0;
    for (size_t s = 0; s < count; s++) {
        if (series[s].rows > 0)
            series[kept++] = series[s];
    }
    return kept;
}

/*
 * The exponent at which a signed log axis is cut: small enough for nearly
 * all values, but not for a stray one near zero.
 */
static int inner_exponent(struct tp_fig *fig, const struct tp_panel *panel,
                          unsigned last, int binades)
{
    unsigned columns = tp_panel_info(panel->kind)->columns;
    double *sizes =
        calloc(TP_PANEL_ROWS_MAX * TP_PANEL_COLUMNS_MAX, sizeof *sizes);
    size_t n = 0;
    fig->failed |= !sizes;
    for (size_t s = 0; sizes && s < panel->series_count; s++) {
        const struct tp_panel_series *series = &panel->series[s];
        for (size_t i = 0; i < series->rows * columns; i++) {
            double size = fabs(series->values[i]);
            if (i % columns >= 1 && i % columns <= last &&
                isfinite(size) && size > 0)
                sizes[n++] = size;
        }
    }
    int inner = 0;
    if (n > 0) {
        tp_sort_double(sizes, n);
        int low = ilogb(tp_sorted_quantile(sizes, n, 0.02));
        int high = ilogb(sizes[n - 1]);
        inner = low > high - binades ? low : high - binades;
    }
    free(sizes);
    return inner - 1;
}

static struct tp_axis metric_axis(const struct tp_metric *metric)
{
    return (struct tp_axis){.label = metric->label, .scale = metric->scale};
}

/* Sets where a signed axis is cut, from the columns that lie on it: all from
 * the second on to `last`. */
static void cut_signed(struct tp_fig *fig, struct tp_axis *axis,
                       const struct tp_panel *panel, unsigned last,
                       int binades)
{
    if (axis->scale == TP_SCALE_SIGNED_LOG2)
        axis->inner = inner_exponent(fig, panel, last,
                                     binades ? binades : SIGNED_BINADES);
}

static void box_row(const struct tp_sample *samples, size_t n, double at,
                    double *row)
{
    static const double levels[7] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
    row[0] = at;
    for (int q = 0; q < 7; q++) {
        double place = levels[q] * (double)(n - 1);
        size_t below = (size_t)place;
        size_t above = below + 1 < n ? below + 1 : below;
        double part = place - (double)below;
        row[q + 1] = samples[below].value * (1 - part) +
                     samples[above].value * part;
    }
    row[8] = (double)n;
}

/* Numbers the series that have any sample; returns how many do. */
static size_t place_series(const struct tp_samples *samples, size_t rows,
                           size_t count, double *place)
{
    bool used[TP_PANEL_SERIES_MAX] = {false};
    size_t shown = 0;
    for (size_t i = 0; i < samples->count; i++)
        used[samples->rows[i].cell / rows] = true;
    for (size_t s = 0; s < count; s++) {
        place[s] = (double)shown;
        shown += used[s];
    }
    return shown;
}

void tp_fig_boxes(struct tp_fig *fig, const struct tp_ask *ask)
{
    struct colours colours;
    struct tp_choice rows;
    struct tp_samples samples;
    tp_choose(fig, &ask->pick, ask->by, BOX_ROWS_MAX, &rows);
    if (rows.count == 0 || !choose_series(fig, ask, 6, &colours))
        return;
    size_t count = colours.slots.count;
    struct tp_slots x = tp_slots_chosen(fig, ask->by, &rows);
    tp_fig_sample(fig, ask, &x, &colours.slots, &samples);
    double place[TP_PANEL_SERIES_MAX];
    size_t shown = place_series(&samples, rows.count, count, place);
    for (size_t i = 0; i < samples.count && !fig->failed;) {
        size_t end = tp_samples_end(&samples, i);
        size_t which = samples.rows[i].cell / rows.count;
        double at = (double)(samples.rows[i].cell % rows.count);
        double shift =
            0.8 * (place[which] + 0.5) / (double)shown - 0.4;
        struct tp_panel_series *series = &colours.series[which];
        double *values = (double *)series->values;
        if (!values)
            series->values = values =
                tp_fig_alloc(fig, rows.count * 9, sizeof *values);
        if (values)
            box_row(&samples.rows[i], end - i, at + shift,
                    values + 9 * series->rows++);
        i = end;
    }
    free(samples.rows);
    struct tp_panel panel = {
        .kind = TP_PANEL_BOXES,
        .title = tp_fig_text(fig, "%s%s", ask->title, tp_fig_note(fig, &rows)),
        .x = metric_axis(ask->metric),
        .y = tp_fig_rows(fig, ask->by, &rows),
        .series = colours.series,
        .series_count = drop_empty(colours.series, count),
    };
    cut_signed(fig, &panel.x, &panel, 7, ask->binades);
    tp_fig_add(fig, &panel);
}

void tp_fig_shares(struct tp_fig *fig, const struct tp_shares *shares)
{
    struct tp_pick all = tp_pick_all();
    struct tp_choice choice;
    size_t rows = shares->row_count;
    tp_choose(fig, &all, TP_KEY_QUANT, TP_PANEL_SERIES_MAX, &choice);
    double *values = tp_fig_alloc(fig, rows * choice.count + 1, sizeof *values);
    for (size_t i = 0; values && i < choice.count; i++) {
        struct tp_pick pick = tp_pick_with(all, TP_KEY_QUANT, choice.codes[i]);
        struct tp_counts counts = tp_picked_counts(fig->facts, &pick);
        shares->of(&counts, values + rows * i);
    }
    struct tp_bars bars = {
        .title = shares->title,
        .rows = shares->rows,
        .row_count = rows,
        .series = tp_fig_series(fig, TP_KEY_QUANT, &choice),
        .series_count = choice.count,
        .values = values,
        .x = {.label = "share of elements [1, log10]", .scale = TP_SCALE_LOG10},
    };
    tp_fig_bars(fig, &bars);
}

static const char *fold_note(struct tp_fig *fig, const struct tp_slots *slots)
{
    return slots->fold > 1 ? tp_fig_text(fig, " (%zu per point)", slots->fold)
                           : "";
}

static struct tp_axis number_axis(const struct tp_fig *fig, enum tp_key key)
{
    return (struct tp_axis){.label = fig->facts->keys[key].axis,
                            .scale = TP_SCALE_INTEGER};
}

void tp_fig_lines(struct tp_fig *fig, const struct tp_ask *ask)
{
    struct colours colours;
    if (!choose_series(fig, ask, TP_PANEL_SERIES_MAX, &colours))
        return;
    size_t count = colours.slots.count;
    struct tp_slots x =
        tp_slots_folded(fig, ask->by, TP_PANEL_ROWS_MAX / count);
    double *values = tp_fig_pool(fig, ask, &x, &colours.slots);
    for (size_t s = 0; s < count && values; s++) {
        double *table = tp_fig_alloc(fig, x.count * 2, sizeof *table);
        size_t rows = 0;
        for (size_t i = 0; i < x.count && table; i++) {
            if (!isfinite(values[s * x.count + i]))
                continue;
            table[2 * rows] = tp_slot_number(fig, &x, i);
            table[2 * rows++ + 1] = values[s * x.count + i];
        }
        colours.series[s].values = table;
        colours.series[s].rows = rows;
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_LINES,
        .title = tp_fig_text(fig, "%s%s%s", ask->title,
                             tp_fig_note(fig, &colours.choice),
                             fold_note(fig, &x)),
        .x = number_axis(fig, ask->by),
        .y = metric_axis(ask->metric),
        .series = colours.series,
        .series_count = drop_empty(colours.series, count),
    };
    cut_signed(fig, &panel.y, &panel, 1, ask->binades);
    tp_fig_add(fig, &panel);
}

/* Fills one row of bands from the rows of a cell. */
typedef void band_fn(struct tp_fig *fig, const struct tp_sample *samples,
                     size_t n, struct tp_summary *scratch, double *row);

static void band_of_elements(struct tp_fig *fig,
                             const struct tp_sample *samples, size_t n,
                             struct tp_summary *scratch, double *row)
{
    struct tp_numbers numbers;
    memset(scratch, 0, sizeof *scratch);
    for (size_t i = 0; i < n; i++)
        tp_summary_merge_packed(scratch,
                                fig->facts->run->rows[samples[i].row].packed);
    tp_summary_numbers(scratch, &numbers);
    memcpy(row, numbers.quantile, sizeof numbers.quantile);
}

static void band_of_values(struct tp_fig *fig, const struct tp_sample *samples,
                           size_t n, struct tp_summary *scratch, double *row)
{
    (void)fig;
    (void)scratch;
    for (int q = 0; q < TP_QUANTILES; q++) {
        double place = tp_quantile_levels[q] * (double)(n - 1);
        size_t below = (size_t)place;
        size_t above = below + 1 < n ? below + 1 : below;
        double part = place - (double)below;
        row[q] = samples[below].value * (1 - part) +
                 samples[above].value * part;
    }
}

/* Whether the outer band would squeeze the inner one to a line. */
static bool tails_dominate(const double *table, size_t rows)
{
    double inner = 0, outer = 0;
    for (size_t r = 0; r < rows; r++) {
        const double *row = table + 8 * r;
        inner = fmax(inner, fmax(fabs(row[3]), fabs(row[5])));
        outer = fmax(outer, fmax(fabs(row[1]), fabs(row[7])));
    }
    return outer > 32 * inner;
}

static void add_bands(struct tp_fig *fig, const struct tp_ask *ask,
                      struct tp_axis y, band_fn *fill)
{
    struct tp_slots all = {.key = TP_KEY_COUNT, .count = 1};
    struct tp_slots x = tp_slots_folded(fig, ask->by, BAND_POINTS_MAX);
    struct tp_samples samples;
    struct tp_summary *scratch = malloc(sizeof *scratch);
    double *table = tp_fig_alloc(fig, x.count * 8 + 1, sizeof *table);
    size_t rows = 0;
    fig->failed |= !scratch;
    tp_fig_sample(fig, ask, &x, &all, &samples);
    for (size_t i = 0; i < samples.count && table && scratch;) {
        size_t end = tp_samples_end(&samples, i);
        double *row = table + 8 * rows++;
        row[0] = tp_slot_number(fig, &x, samples.rows[i].cell);
        fill(fig, &samples.rows[i], end - i, scratch, row + 1);
        i = end;
    }
    fig->failed |= !scratch;
    free(scratch);
    free(samples.rows);
    struct tp_panel_series *series = tp_fig_alloc(fig, 1, sizeof *series);
    if (!series)
        return;
    *series =
        (struct tp_panel_series){.name = "", .values = table, .rows = rows};
    struct tp_panel panel = {
        .kind = TP_PANEL_BANDS,
        .title = tp_fig_text(fig, "%s%s", ask->title, fold_note(fig, &x)),
        .x = number_axis(fig, ask->by),
        .y = y,
        .series = series,
        .series_count = 1,
    };
    if (!y.scale && fill == band_of_elements && tails_dominate(table, rows)) {
        panel.y.scale = TP_SCALE_SIGNED_LOG2;
        panel.y.label = "value [tensor units, +-log2]";
    }
    cut_signed(fig, &panel.y, &panel, 7, ask->binades);
    if (rows > 1) /* one point is no band */
        tp_fig_add(fig, &panel);
}

void tp_fig_bands(struct tp_fig *fig, const struct tp_ask *ask)
{
    struct tp_axis y = {.label = "value [tensor units]"};
    add_bands(fig, ask, y, band_of_elements);
}

void tp_fig_metric_bands(struct tp_fig *fig, const struct tp_ask *ask)
{
    add_bands(fig, ask, metric_axis(ask->metric), band_of_values);
}

void tp_fig_spread(struct tp_fig *fig, const struct tp_ask *ask,
                   const bool *flagged)
{
    struct tp_slots all = {.key = TP_KEY_COUNT, .count = 1};
    struct tp_slots x = tp_slots_folded(fig, ask->by, SPREAD_POINTS_MAX);
    struct tp_samples samples;
    struct tp_panel_series *series = tp_fig_alloc(fig, 2, sizeof *series);
    double *tables[2];
    for (int s = 0; s < 2; s++)
        tables[s] = tp_fig_alloc(fig, x.count * 6 + 1, sizeof *tables[s]);
    tp_fig_sample(fig, ask, &x, &all, &samples);
    for (size_t i = 0; i < samples.count && !fig->failed;) {
        size_t end = tp_samples_end(&samples, i);
        double box[9];
        int which = x.fold == 1 && flagged && flagged[samples.rows[i].cell];
        double *row = tables[which] + 6 * series[which].rows++;
        box_row(&samples.rows[i], end - i, 0, box);
        row[0] = tp_slot_number(fig, &x, samples.rows[i].cell);
        row[1] = box[1];
        memcpy(row + 2, box + 3, 3 * sizeof *row);
        row[5] = box[7];
        i = end;
    }
    free(samples.rows);
    if (fig->failed)
        return;
    series[0].name = "median, quartiles and extremes of tensors";
    series[0].values = tables[0];
    series[1].name = "outlier";
    series[1].values = tables[1];
    struct tp_panel panel = {
        .kind = TP_PANEL_SPREAD,
        .title = tp_fig_text(fig, "%s%s", ask->title, fold_note(fig, &x)),
        .x = number_axis(fig, ask->by),
        .y = metric_axis(ask->metric),
        .series = series,
        .series_count = drop_empty(series, 2),
    };
    cut_signed(fig, &panel.y, &panel, 5, ask->binades);
    tp_fig_add(fig, &panel);
}

/* --- histograms and clouds -------------------------------------------- */

/* Equal bins over drawn coordinates; a bin of its own for zeros of a log
 * axis. */
struct bins {
    bool logarithmic;
    double base;      /* 2 or 10 */
    double low, width;
    size_t count;
};

static double straight(const struct bins *bins, double value)
{
    return bins->logarithmic ? log2(value) / log2(bins->base) : value;
}

/* The values' range in `count` bins; false when nothing can be shown. */
static bool lay_bins(const struct tp_metric *metric, const double *values,
                     size_t n, size_t count, struct bins *bins)
{
    double low = INFINITY, high = -INFINITY;
    bool zero = false;
    *bins = (struct bins){
        .logarithmic = metric->scale == TP_SCALE_LOG2 ||
                       metric->scale == TP_SCALE_LOG10,
        .base = metric->scale == TP_SCALE_LOG10 ? 10 : 2,
        .count = count,
    };
    for (size_t i = 0; i < n; i++) {
        zero |= values[i] == 0;
        if (bins->logarithmic && !(values[i] > 0))
            continue;
        low = fmin(low, straight(bins, values[i]));
        high = fmax(high, straight(bins, values[i]));
    }
    if (low > high) {
        low = high = -1;
        if (!zero)
            return false;
    }
    if (bins->logarithmic) { /* as the axis will be: whole powers */
        low = floor(low);
        high = fmax(ceil(high), low + 1);
    }
    bins->width = high > low ? (high - low) / (double)count : 1;
    bins->low = high > low ? low : low - 0.5;
    if (!(high > low))
        bins->count = 1;
    return true;
}

/* The bin of a value; bins->count is the bin of zeros. */
static size_t bin_of(const struct bins *bins, double value)
{
    if (bins->logarithmic && value == 0)
        return bins->count;
    double at = (straight(bins, value) - bins->low) / bins->width;
    size_t bin = at > 0 ? (size_t)at : 0;
    return bin < bins->count ? bin : bins->count - 1;
}

/* What stands in the table for a bin: the value at its middle, or 0. */
static double bin_middle(const struct bins *bins, size_t bin)
{
    double at = bins->low + bins->width * ((double)bin + 0.5);
    if (!bins->logarithmic)
        return at;
    return bin == bins->count ? 0 : pow(bins->base, at);
}

/* Where a bin begins. */
static double bin_edge(const struct bins *bins, double bin)
{
    double at = bins->low + bins->width * bin;
    return bins->logarithmic ? pow(bins->base, at) : at;
}

/* A row where each bin begins and one where the last ends; before them, on
 * log axes, the zeros, as wide as the room that the axis has for them. */
static double *histogram_table(struct tp_fig *fig, const struct bins *bins,
                               const struct tp_sample *samples, size_t n,
                               size_t *rows)
{
    double *table = tp_fig_alloc(fig, 2 * (bins->count + 2), sizeof *table);
    *rows = 0;
    if (!table)
        return NULL;
    size_t zeros = 0, lead = bins->logarithmic ? 1 : 0;
    double *regular = table + 2 * lead;
    for (size_t i = 0; i < n; i++) {
        size_t bin = bin_of(bins, samples[i].value);
        if (bin == bins->count)
            zeros++;
        else
            regular[2 * bin + 1]++;
    }
    for (size_t b = 0; b <= bins->count; b++)
        regular[2 * b] = bin_edge(bins, (double)b);
    if (lead)
        table[1] = (double)zeros; /* at x = 0 */
    *rows = bins->count + 1 + lead;
    return table;
}

void tp_fig_histogram(struct tp_fig *fig, const struct tp_ask *ask)
{
    struct tp_slots all = {.key = TP_KEY_COUNT, .count = 1};
    struct colours colours;
    struct tp_samples samples;
    struct bins bins;
    if (!choose_series(fig, ask, TP_PANEL_SERIES_MAX, &colours))
        return;
    tp_fig_sample(fig, ask, &all, &colours.slots, &samples);
    double *values = tp_fig_alloc(fig, samples.count, sizeof *values);
    for (size_t i = 0; i < samples.count && values; i++)
        values[i] = samples.rows[i].value;
    bool any = values && lay_bins(ask->metric, values, samples.count,
                                  HISTOGRAM_BINS, &bins);
    for (size_t i = 0; i < samples.count && any;) {
        size_t end = tp_samples_end(&samples, i);
        struct tp_panel_series *series = &colours.series[samples.rows[i].cell];
        series->values = histogram_table(fig, &bins, &samples.rows[i], end - i,
                                         &series->rows);
        i = end;
    }
    free(samples.rows);
    struct tp_panel panel = {
        .kind = TP_PANEL_STEPS,
        .title = ask->title,
        .x = metric_axis(ask->metric),
        .y = {.label = "tensors [count, log10]", .scale = TP_SCALE_LOG10},
        .series = colours.series,
        .series_count = drop_empty(colours.series, colours.slots.count),
    };
    tp_fig_add(fig, &panel);
}

/* Pairs of two metrics of one row. */
struct pairs {
    double *x, *y;
    size_t count;
};

static void collect_pairs(struct tp_fig *fig, const struct tp_ask *ask,
                          const struct tp_metric *y_metric,
                          struct pairs *pairs)
{
    const struct tp_facts *facts = fig->facts;
    size_t rows = facts->run->row_count;
    pairs->x = tp_fig_alloc(fig, rows, sizeof *pairs->x);
    pairs->y = tp_fig_alloc(fig, rows, sizeof *pairs->y);
    pairs->count = 0;
    for (size_t r = 0; r < rows && !fig->failed; r++) {
        if (!tp_picked(facts, &ask->pick, r))
            continue;
        double x = tp_metric_of_row(ask->metric, facts, r);
        double y = tp_metric_of_row(y_metric, facts, r);
        if (isfinite(x) && isfinite(y)) {
            pairs->x[pairs->count] = x;
            pairs->y[pairs->count++] = y;
        }
    }
}

static double *cloud_table(struct tp_fig *fig, const struct pairs *pairs,
                           const struct bins *x, const struct bins *y,
                           size_t *rows)
{
    size_t width = x->count + 1, cells = width * (y->count + 1);
    double *counts = tp_fig_alloc(fig, cells, sizeof *counts);
    double *table = tp_fig_alloc(fig, cells * 3, sizeof *table);
    *rows = 0;
    if (!counts || !table)
        return NULL;
    for (size_t i = 0; i < pairs->count; i++)
        counts[bin_of(y, pairs->y[i]) * width + bin_of(x, pairs->x[i])]++;
    for (size_t c = 0; c < cells; c++) {
        if (counts[c] == 0)
            continue;
        double *row = table + 3 * (*rows)++;
        row[0] = bin_middle(x, c % width);
        row[1] = bin_middle(y, c / width);
        row[2] = counts[c];
    }
    return table;
}

void tp_fig_cloud(struct tp_fig *fig, const struct tp_ask *ask,
                  const struct tp_metric *y_metric, bool diagonal)
{
    struct pairs pairs;
    struct bins x, y;
    struct tp_panel_series *series = tp_fig_alloc(fig, 1, sizeof *series);
    collect_pairs(fig, ask, y_metric, &pairs);
    if (fig->failed || pairs.count == 0 ||
        !lay_bins(ask->metric, pairs.x, pairs.count, CLOUD_BINS, &x) ||
        !lay_bins(y_metric, pairs.y, pairs.count, CLOUD_BINS, &y))
        return;
    series->values = cloud_table(fig, &pairs, &x, &y, &series->rows);
    series->name = "";
    struct tp_panel panel = {
        .kind = TP_PANEL_CLOUD,
        .title = tp_fig_text(fig, "%s (%zu tensors)", ask->title, pairs.count),
        .x = metric_axis(ask->metric),
        .y = metric_axis(y_metric),
        .z = {.label = "tensors [count]", .scale = TP_SCALE_LOG10},
        .series = series,
        .series_count = series->values ? 1 : 0,
        .diagonal = diagonal,
        .cell_width = x.width,
        .cell_height = y.width,
    };
    tp_fig_add(fig, &panel);
}
