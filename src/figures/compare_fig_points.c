/* SPDX-License-Identifier: MIT */
/*
 * Clouds of single points on two log axes. Points that would lie on each other
 * are one: each series is laid on a grid over the range of all, and of a cell
 * one point stays. Where there are still more than a panel may have the grid
 * is made coarser. A 2-D histogram would show how many there are, but not of
 * which verdict; to draw a random part would lose the few that matter. Cost:
 * a sort of the points for each grid.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "figures/compare_fig.h"

enum {
    FINEST = 160,  /* cells of a side: some pixels each                      */
    COARSEST = 20, /* with a row and a column of zeros for each of SERIES:
                      1 764 points                                           */
    SERIES = 4
};

static_assert((COARSEST + 1) * (COARSEST + 1) * SERIES <= TP_PANEL_ROWS_MAX,
              "the coarsest grid fits into a panel");

struct point {
    double x, y; /* not negative                                           */
    unsigned series;
    int column, row; /* of the grid; -1: zero                              */
};

struct points {
    struct point *at;
    size_t count;
};

/* A series: its name, and its colour in every panel, by which legends are
 * sorted. */
struct kind {
    const char *name;
    unsigned colour;
};

/* --- thinning ------------------------------------------------------------- */

/* The range of a coordinate, as exponents. */
struct range {
    double low, high;
};

static void widen(struct range *range, double value)
{
    if (value > 0) {
        range->low = fmin(range->low, log10(value));
        range->high = fmax(range->high, log10(value));
    }
}

static int cell_of(const struct range *range, double value, int cells)
{
    const double width = range->high - range->low;
    if (!(value > 0))
        return -1;
    if (!(width > 0))
        return 0;
    const int cell = (int)((log10(value) - range->low) / width * cells);
    return cell < cells ? cell : cells - 1;
}

static int compare_points(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    if (a->series != b->series)
        return a->series < b->series ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->x != b->x ? (a->x < b->x ? -1 : 1)
                        : (a->y > b->y) - (a->y < b->y);
}

/* Keeps one point of each cell. */
static void thin(struct points *points, int cells)
{
    struct range x = {INFINITY, -INFINITY}, y = {INFINITY, -INFINITY};
    size_t kept = 0;
    for (size_t i = 0; i < points->count; i++) {
        widen(&x, points->at[i].x);
        widen(&y, points->at[i].y);
    }
    for (size_t i = 0; i < points->count; i++) {
        points->at[i].column = cell_of(&x, points->at[i].x, cells);
        points->at[i].row = cell_of(&y, points->at[i].y, cells);
    }
    if (points->count)
        qsort(points->at, points->count, sizeof *points->at, compare_points);
    for (size_t i = 0; i < points->count; i++) {
        const struct point *point = &points->at[i];
        if (kept && points->at[kept - 1].series == point->series &&
            points->at[kept - 1].column == point->column &&
            points->at[kept - 1].row == point->row)
            continue;
        points->at[kept++] = *point;
    }
    points->count = kept;
}

/* Fills in the series of a panel from thinned points. */
static size_t make_series(struct tp_fig *fig, struct points *points,
                          const struct kind *kinds,
                          struct tp_panel_series *series)
{
    size_t count = 0, i = 0;
    for (int cells = FINEST;
         cells == FINEST || points->count > TP_PANEL_ROWS_MAX; cells /= 2)
        thin(points, cells);
    double *values = tp_fig_alloc(fig, 2 * points->count + 1, sizeof *values);
    while (values && i < points->count) {
        const unsigned which = points->at[i].series;
        const size_t from = i;
        for (; i < points->count && points->at[i].series == which; i++) {
            values[2 * i] = points->at[i].x;
            values[2 * i + 1] = points->at[i].y;
        }
        series[count++] =
            (struct tp_panel_series){kinds[which].name, values + 2 * from,
                                     i - from, kinds[which].colour};
    }
    return count;
}

/* Adds a panel of points, both axes logarithmic. */
static void add_points(struct tp_fig *fig, struct points *points,
                       const struct kind *kinds, struct tp_panel panel)
{
    struct tp_panel_series *series = tp_fig_alloc(fig, SERIES, sizeof *series);
    if (!series)
        return;
    panel.kind = TP_PANEL_POINTS;
    panel.x.scale = panel.y.scale = TP_SCALE_LOG10;
    panel.series = series;
    panel.series_count = make_series(fig, points, kinds, series);
    if (panel.series_count)
        tp_fig_add(fig, &panel);
}

/* --- arguments against results -------------------------------------------- */

static bool has_error(double error)
{
    return error > 0 && isfinite(error);
}

void tp_compare_fig_gain(struct tp_fig *fig,
                         const struct tp_compare_figure_input *input)
{
    static const struct kind kinds[] = {{"forward", 1}, {"backward", 2}};
    const struct tp_compare_calls *calls = input->calls;
    struct points points = {
        tp_fig_alloc(fig, calls->count + 1, sizeof *points.at), 0};
    for (size_t i = 0; points.at && i < calls->count; i++) {
        const struct tp_compare_call *call = &calls->rows[i];
        if (tp_compare_is_judged(call->name) && has_error(call->error_in) &&
            has_error(call->error_out))
            points.at[points.count++] =
                (struct point){call->error_in, call->error_out,
                               tp_compare_fig_is_backward(input, call), 0, 0};
    }
    const struct tp_panel panel = {
        .title = tp_fig_text(fig,
                             "%zu calls; above the line an operator adds to "
                             "the error",
                             points.count),
        .x = {.label = "relative error of arguments [1, log10]"},
        .y = {.label = "relative error of results [1, log10]"},
        .diagonal = true};
    if (points.at)
        add_points(fig, &points, kinds, panel);
}

/* --- pairs of tensors ----------------------------------------------------- */

/* How large a tensor is. */
enum size { NORM, LARGEST };

static double largest(const struct tp_compare_entry *entry)
{
    const struct tp_compare_value *max = &entry->stats[TP_DUMP_MAX];
    const struct tp_compare_value *min = &entry->stats[TP_DUMP_MIN];
    return max->kind == TP_COMPARE_NUMBER && min->kind == TP_COMPARE_NUMBER
               ? fmax(fabs(max->number), fabs(min->number))
               : NAN;
}

/* That of A or of B; NaN: not known. */
static double size_of(const struct tp_compare_pair *pair,
                      const struct tp_compare_line *row, bool of_b,
                      enum size size)
{
    const struct tp_compare_entry *entry =
        of_b ? tp_compare_row_b(pair, row) : tp_compare_row_a(pair, row);
    if (size == LARGEST)
        return largest(entry);
    if (row->elements.compared)
        return of_b ? row->elements.norm_b : row->elements.norm_a;
    const struct tp_compare_value *norm = &entry->stats[TP_DUMP_NORM];
    return norm->kind == TP_COMPARE_NUMBER ? fabs(norm->number) : NAN;
}

/* The pairs of tensors, and what is told of them. */
struct tensors {
    struct points sizes, errors;
    size_t infinite; /* errors                                             */
};

static void add_pair(const struct tp_comparison *comparison,
                     const struct tp_compare_pair *pair,
                     const struct tp_compare_line *row, enum size size,
                     struct tensors *tensors)
{
    const struct tp_compare_entry *a = tp_compare_row_a(pair, row);
    const struct tp_compare_entry *b = tp_compare_row_b(pair, row);
    if (!b || a->item->kind != TP_DUMP_TENSOR ||
        b->item->kind != TP_DUMP_TENSOR ||
        !tp_compare_is_judged(pair->a.place->calls[a->call].key))
        return;
    const bool equal = tp_compare_is_equal(pair, row, comparison->mode);
    const unsigned which = equal ? 0 : 1 + (unsigned)row->result;
    const double of_a = size_of(pair, row, false, size);
    const double of_b = size_of(pair, row, true, size);
    const double error = tp_compare_error(pair, row, comparison->mode);
    if (isfinite(of_a) && isfinite(of_b))
        tensors->sizes.at[tensors->sizes.count++] =
            (struct point){of_b, of_a, which, 0, 0};
    tensors->infinite += isinf(error);
    if (isfinite(of_b) && has_error(error))
        tensors->errors.at[tensors->errors.count++] =
            (struct point){of_b, error, which, 0, 0};
}

static void find_pairs(const struct tp_comparison *comparison, enum size size,
                       struct tensors *tensors)
{
    tensors->sizes.count = tensors->errors.count = tensors->infinite = 0;
    for (size_t i = 0; i < comparison->pair_count; i++)
        for (size_t k = 0; k < comparison->pairs[i].row_count; k++)
            add_pair(comparison, &comparison->pairs[i],
                     &comparison->pairs[i].rows[k], size, tensors);
}

static void add_errors(struct tp_fig *fig, struct tensors *tensors,
                       const struct kind *kinds, const char *of_b)
{
    const char *rest =
        tensors->infinite
            ? tp_fig_text(fig, "; not shown, infinite: %zu", tensors->infinite)
            : "";
    const struct tp_panel panel = {
        .title = tp_fig_text(fig, "tensors that differ: %zu%s",
                             tensors->errors.count, rest),
        .x = {.label = of_b},
        .y = {.label = "relative error [1, log10]"}};
    add_points(fig, &tensors->errors, kinds, panel);
}

void tp_compare_fig_pairs(struct tp_fig *fig,
                          const struct tp_compare_figure_input *input)
{
    static const struct kind kinds[SERIES] = {
        {"equal", 7}, {"pass", 6}, {"warning", 5}, {"error", 2}};
    const struct tp_comparison *comparison = input->comparison;
    const size_t most = comparison->counts.rows + 1;
    struct tensors tensors = {
        .sizes.at = tp_fig_alloc(fig, most, sizeof *tensors.sizes.at),
        .errors.at = tp_fig_alloc(fig, most, sizeof *tensors.errors.at)};
    if (fig->failed)
        return;
    find_pairs(comparison, NORM, &tensors);
    const bool norms = tensors.sizes.count > 0;
    if (!norms)
        find_pairs(comparison, LARGEST, &tensors);
    const char *of_b = norms ? "L2 norm in B [tensor units, log10]"
                             : "largest |x| in B [tensor units, log10]";
    const struct tp_panel panel = {
        .title =
            tp_fig_text(fig, "tensors of both: %zu; equal sizes on the line",
                        tensors.sizes.count),
        .x = {.label = of_b},
        .y = {.label = norms ? "L2 norm in A [tensor units, log10]"
                             : "largest |x| in A [tensor units, log10]"},
        .diagonal = true};
    add_points(fig, &tensors.sizes, kinds, panel);
    add_errors(fig, &tensors, kinds, of_b);
}
