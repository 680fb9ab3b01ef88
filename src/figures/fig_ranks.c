/* SPDX-License-Identifier: MIT */
/*
 * Ranks against each other. Each tensor is compared with the median of its
 * peers on all ranks, magnitudes as logarithms; a mean would be pulled along by
 * the one rank that is looked for. A rank stands out when its deviation exceeds
 * a quarter binade and five times the median absolute deviation of the ranks,
 * scaled as that of a normal distribution; a fixed limit would flag all ranks
 * of a noisy run or none. Of two ranks the median tells nothing, so the second
 * is compared with the first. O(rows log rows) for peers, and a median for each
 * group.
 */
#include <math.h>
#include <stdlib.h>

#include "figures/fig_builders.h"
#include "figures/fig_grid.h"
#include "figures/fig_peers.h"
#include "stats/quantile.h"

enum { RANKS_MIN = 3 }; /* of two, neither is the outlier */

/* An outlier deviates by a quarter binade at least, and by five times what
 * the median rank does (1.4826 turns a median into a std). */
static const double least_deviation = 0.25, many_spreads = 5 * 1.4826;

/* --- how far each tensor is from its peers on other ranks ------------- */

enum deviation { DEVIATION_STD, DEVIATION_AMAX, DEVIATION_MEAN };

static const char *const deviation_labels[] = {
    [DEVIATION_STD] = "log2(std / median rank) [binades]",
    [DEVIATION_AMAX] = "log2(amax / median rank) [binades]",
    [DEVIATION_MEAN] = "(mean - median rank) / std [1]",
};

/* %s: the rank that the other one is compared with. */
static const char *const pair_labels[] = {
    [DEVIATION_STD] = "log2(std / std of rank %s) [binades]",
    [DEVIATION_AMAX] = "log2(amax / amax of rank %s) [binades]",
    [DEVIATION_MEAN] = "(mean - mean of rank %s) / its std [1]",
};

/* The median of two is their mean, which tells of neither: then the second
 * one is compared with the first. */
static bool is_pair(const struct tp_facts *facts)
{
    return facts->keys[TP_KEY_RANK].count == 2;
}

/* Peers, and room for a number of each. */
struct group {
    const uint32_t *rows;
    size_t count;
    double *scratch;
};

/* The median over a group of peers, or of two ranks the first one's value,
 * NaN values left out; sizes are compared as logarithms. */
static double group_center(const struct tp_facts *facts,
                           const struct tp_metric *metric,
                           const struct group *group)
{
    size_t kept = 0;
    double *scratch = group->scratch;
    for (size_t i = 0; i < group->count; i++) {
        double value = tp_metric_of_row(metric, facts, group->rows[i]);
        if (metric != &tp_metric_mean)
            value = log2(value);
        bool counts =
            !is_pair(facts) || facts->code[TP_KEY_RANK][group->rows[i]] == 0;
        if (counts && isfinite(value))
            scratch[kept++] = value;
    }
    return tp_median(scratch, kept);
}

static void group_deviation(const struct tp_facts *facts, enum deviation kind,
                            const struct group *group, double *values)
{
    const struct tp_metric *metric =
        kind == DEVIATION_AMAX
            ? &tp_metric_amax
            : kind == DEVIATION_STD ? &tp_metric_std : &tp_metric_mean;
    double center = group_center(facts, metric, group);
    double scale = group_center(facts, &tp_metric_std, group);
    for (size_t i = 0; i < group->count; i++) {
        double value = tp_metric_of_row(metric, facts, group->rows[i]);
        double deviation = kind == DEVIATION_MEAN
                               ? (value - center) / exp2(scale)
                               : log2(value) - center;
        values[group->rows[i]] = isfinite(deviation) ? deviation : NAN;
    }
}

static double *find_deviation(struct tp_fig *fig, enum deviation kind)
{
    struct tp_peers peers;
    double *values = tp_fig_row_values(fig);
    tp_peers_find(fig, &peers);
    double *scratch =
        calloc(fig->facts->run->row_count + 1, sizeof *scratch);
    fig->failed |= !scratch;
    for (size_t g = 0; g < peers.count && !fig->failed; g++) {
        struct group group = {&peers.rows[peers.groups[g]],
                              peers.groups[g + 1] - peers.groups[g], scratch};
        group_deviation(fig->facts, kind, &group, values);
    }
    free(scratch);
    tp_peers_clear(&peers);
    return values;
}

/* --- cells ------------------------------------------------------------ */

/* The median of sorted samples, or the one farthest from zero. */
static double cell_value(const struct tp_sample *samples, size_t n, bool worst)
{
    double first = samples[0].value, last = samples[n - 1].value;
    if (worst)
        return -first > last ? first : last;
    return (samples[(n - 1) / 2].value + samples[n / 2].value) / 2;
}

/* A metric in every cell of x by ranks; NaN where empty. */
static double *cell_values(struct tp_fig *fig, const struct tp_metric *metric,
                           const struct tp_slots *x,
                           const struct tp_slots *ranks, bool worst)
{
    size_t cells = x->count * ranks->count;
    struct tp_ask ask = {.pick = tp_pick_all(), .metric = metric};
    struct tp_samples samples;
    double *values = tp_fig_alloc(fig, cells + 1, sizeof *values);
    for (size_t i = 0; values && i < cells; i++)
        values[i] = NAN;
    tp_fig_sample(fig, &ask, x, ranks, &samples);
    for (size_t i = 0; i < samples.count && !fig->failed;) {
        size_t end = tp_samples_end(&samples, i);
        values[samples.rows[i].cell] =
            cell_value(&samples.rows[i], end - i, worst);
        i = end;
    }
    free(samples.rows);
    return values;
}

/*
 * Flags ranks that stand out: [codes of ranks]. One value per rank, NaN for
 * ranks without; nothing is flagged below RANKS_MIN ranks.
 */
static size_t flag_outliers(struct tp_fig *fig, const double *values,
                            size_t ranks, bool *flagged)
{
    double *sizes = calloc(ranks + 1, sizeof *sizes);
    fig->failed |= !sizes;
    size_t n = 0, found = 0;
    for (size_t i = 0; sizes && i < ranks; i++) {
        if (isfinite(values[i]))
            sizes[n++] = fabs(values[i]);
    }
    if (n >= RANKS_MIN) {
        double limit =
            fmax(least_deviation, many_spreads * tp_median(sizes, n));
        for (size_t i = 0; i < ranks; i++) {
            bool out = fabs(values[i]) > limit;
            flagged[i] |= out;
            found += out;
        }
    }
    free(sizes);
    return found;
}

/* --- figures ---------------------------------------------------------- */

static bool *outlier_ranks(struct tp_fig *fig)
{
    size_t ranks = fig->facts->keys[TP_KEY_RANK].count;
    bool *flagged = tp_fig_alloc(fig, ranks + 1, sizeof *flagged);
    struct tp_slots one = {.key = TP_KEY_COUNT, .count = 1};
    struct tp_slots all = tp_slots_folded(fig, TP_KEY_RANK, ranks);
    for (int kind = DEVIATION_STD; kind <= DEVIATION_AMAX; kind++) {
        struct tp_metric metric = {
            .values = find_deviation(fig, (enum deviation)kind)};
        if (fig->failed)
            return NULL;
        const double *values = cell_values(fig, &metric, &one, &all, false);
        if (values && flagged)
            flag_outliers(fig, values, ranks, flagged);
    }
    return flagged;
}

/* Whether any tensor is on two ranks: others' tensors differ by themselves. */
static bool has_peers(struct tp_fig *fig)
{
    struct tp_peers peers;
    tp_peers_find(fig, &peers);
    const bool any = peers.count > 0;
    tp_peers_clear(&peers);
    return any;
}

void tp_fig_statistics_by_rank(struct tp_fig *fig)
{
    static const struct tp_metric *const metrics[] = {
        &tp_metric_mean, &tp_metric_std, &tp_metric_amax};
    if (!has_peers(fig))
        return;
    const bool *flagged = outlier_ranks(fig);
    struct tp_ask ask = {.pick = tp_pick_all(), .by = TP_KEY_RANK};
    for (int i = 0; i < 3; i++) {
        ask.title =
            tp_fig_text(fig, "%s: median, quartiles, extremes of tensors",
                        metrics[i]->title);
        ask.metric = metrics[i];
        tp_fig_spread(fig, &ask, flagged);
    }
    ask.title = "underflow of all elements";
    ask.metric = &tp_metric_underflow;
    ask.series = TP_KEY_COUNT;
    tp_fig_lines(fig, &ask);
}

/* The panels: a shift of all tensors, and an incident in one of them. */
static const struct view {
    enum deviation kind;
    bool worst;
    const char *title;
} views[] = {
    {DEVIATION_STD, false, "std, median tensor"},
    {DEVIATION_STD, true, "std, worst tensor"},
    {DEVIATION_MEAN, false, "mean, median tensor"},
    {DEVIATION_AMAX, true, "amax, worst tensor"},
};
enum { VIEWS = sizeof views / sizeof *views };

/* Names the cell that deviates most; with enough ranks, whether its rank
 * stands out among the ranks of that column. */
static const char *view_title(struct tp_fig *fig, const struct view *view,
                              enum tp_key x_key, const struct tp_matrix *matrix)
{
    size_t cells = matrix->columns * matrix->rows, worst = cells;
    double worst_size = -1;
    for (size_t i = 0; i < cells; i++) {
        double size = fabs(matrix->values[i]);
        if (size > worst_size) {
            worst = i;
            worst_size = size;
        }
    }
    if (worst == cells || matrix->values[worst] == 0)
        return view->title;
    size_t column = worst % matrix->columns, row = worst / matrix->columns;
    double *ranks = tp_fig_alloc(fig, matrix->rows, sizeof *ranks);
    bool *flagged = tp_fig_alloc(fig, matrix->rows, sizeof *flagged);
    for (size_t r = 0; ranks && r < matrix->rows; r++)
        ranks[r] = matrix->values[r * matrix->columns + column];
    if (ranks && flagged)
        flag_outliers(fig, ranks, matrix->rows, flagged);
    return tp_fig_text(fig, "%s: %s rank %s, %s %s (%+.2g)", view->title,
                       flagged && flagged[row] ? "outlier" : "largest is",
                       matrix->y.tics[row].text,
                       x_key == TP_KEY_LAYER ? "layer" : "iteration",
                       matrix->x.tics[column].text, matrix->values[worst]);
}

/* An axis on which no deviation, zero, shows, with a little air. */
static struct tp_axis axis_with_zero(const char *label, const double *table,
                                     size_t rows)
{
    double low = 0, high = 0;
    for (size_t r = 0; r < rows; r++) {
        low = fmin(low, table[2 * r + 1]);
        high = fmax(high, table[2 * r + 1]);
    }
    double air = 0.05 * (high - low);
    return (struct tp_axis){
        .label = label,
        .limited = high > low,
        .min = low < 0 ? low - air : 0,
        .max = high > 0 ? high + air : 0,
    };
}

/* The deviation of the second of two ranks as a curve. */
static void pair_curve(struct tp_fig *fig, enum tp_key x_key,
                       const struct view *view)
{
    const char *const *ranks = fig->facts->keys[TP_KEY_RANK].names;
    static const struct tp_choice second = {.codes = {1}, .count = 1};
    struct tp_metric metric = {.values = find_deviation(fig, view->kind)};
    struct tp_slots y = tp_slots_chosen(fig, TP_KEY_RANK, &second);
    struct tp_slots x = tp_slots_folded(fig, x_key, TP_PANEL_ROWS_MAX);
    struct tp_panel_series *series = tp_fig_alloc(fig, 1, sizeof *series);
    double *table = tp_fig_alloc(fig, 2 * x.count + 1, sizeof *table);
    if (fig->failed)
        return;
    const double *values = cell_values(fig, &metric, &x, &y, view->worst);
    size_t rows = 0;
    for (size_t i = 0; values && i < x.count; i++) {
        if (!isfinite(values[i]))
            continue;
        table[2 * rows] = tp_slot_number(fig, &x, i);
        table[2 * rows++ + 1] = values[i];
    }
    *series =
        (struct tp_panel_series){.name = "", .values = table, .rows = rows};
    struct tp_panel panel = {
        .kind = TP_PANEL_LINES,
        .title = tp_fig_text(fig, "%s: rank %s against rank %s", view->title,
                             ranks[1], ranks[0]),
        .x = {.label = fig->facts->keys[x_key].axis,
              .scale = TP_SCALE_INTEGER},
        .y = axis_with_zero(
            tp_fig_text(fig, pair_labels[view->kind], ranks[0]), table, rows),
        .series = series,
        .series_count = 1,
    };
    tp_fig_add(fig, &panel);
}

static void rank_matrix(struct tp_fig *fig, enum tp_key x_key)
{
    size_t ranks = fig->facts->keys[TP_KEY_RANK].count;
    if (ranks < 2 || fig->facts->keys[x_key].count == 0)
        return;
    for (size_t v = 0; v < VIEWS && is_pair(fig->facts); v++)
        pair_curve(fig, x_key, &views[v]);
    if (is_pair(fig->facts))
        return;
    struct tp_slots y = tp_slots_folded(fig, TP_KEY_RANK, 64);
    if (fig->failed)
        return;
    struct tp_slots x =
        tp_slots_folded(fig, x_key, TP_PANEL_ROWS_MAX / y.count);
    for (size_t v = 0; v < VIEWS; v++) {
        const struct view *view = &views[v];
        struct tp_metric metric = {.values = find_deviation(fig, view->kind)};
        if (fig->failed)
            return;
        const struct tp_matrix matrix = tp_slots_matrix(
            fig, &x, &y, cell_values(fig, &metric, &x, &y, view->worst));
        if (!fig->failed)
            tp_fig_matrix(
                fig, view_title(fig, view, x_key, &matrix), &matrix,
                tp_fig_signed_colour(&matrix, deviation_labels[view->kind]),
                TP_PALETTE_DEVIATION);
    }
}

void tp_fig_rank_layer_deviation(struct tp_fig *fig)
{
    rank_matrix(fig, TP_KEY_LAYER);
}

void tp_fig_rank_iteration_deviation(struct tp_fig *fig)
{
    rank_matrix(fig, TP_KEY_ITERATION);
}
