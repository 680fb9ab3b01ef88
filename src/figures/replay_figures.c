/* SPDX-License-Identifier: MIT */
/*
 * The figures of a replay. Over depth a column of the figure stands for some
 * neighbours and shows the worst of them, as a mean would hide the one call
 * that matters; the line of what is too much is that of the same call. Errors
 * in units of the last place are comparable between dtypes, and what one
 * rounding would give beside them is what nothing can be better than. Quantiles
 * are exact, linear between neighbours. Cost: a sort of the calls.
 */
#include "figures/replay_figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "replay/op_family.h"

enum {
    DEPTHS = 400, /* columns of a figure over depth                        */
    PLACES = 4,   /* steps and ranks that have a panel                     */
    BOX = 9       /* columns of a box                                      */
};

/* --- over depth ----------------------------------------------------------- */

/* Rows of one place, from `from` on. */
struct stretch {
    size_t from, end;
    int64_t last; /* order of its last call                                */
};

static struct stretch stretch_from(const struct tp_replay_results *results,
                                   size_t from)
{
    struct stretch stretch = {from, from, 0};
    while (stretch.end < results->count &&
           results->rows[stretch.end].place == results->rows[from].place)
        stretch.last = results->rows[stretch.end++].order;
    return stretch;
}

/* The worst call of each column, and its limit; how many columns have one. */
static size_t add_columns(const struct tp_replay_results *results,
                          const struct stretch *stretch, double *worst,
                          double *limits)
{
    const int64_t calls = stretch->last + 1;
    const int64_t columns = calls < DEPTHS ? calls : DEPTHS;
    int64_t last = -1;
    size_t count = 0;
    for (size_t i = stretch->from; i < stretch->end; i++) {
        const struct tp_replay_row *row = &results->rows[i];
        const double limit = tp_perturbed_limit(row->rounding);
        const int64_t column =
            (int64_t)((double)row->order / (double)calls * (double)columns);
        if (!(row->amplification > 0) || isinf(row->amplification) ||
            !isfinite(limit))
            continue;
        if (column != last)
            worst[2 * count++ + 1] = 0;
        last = column;
        /* the call that is nearest to its limit, or furthest beyond */
        double *at = &worst[2 * (count - 1)];
        double *line = &limits[2 * (count - 1)];
        if (at[1] > 0 && row->amplification / limit <= at[1] / line[1])
            continue;
        at[0] = line[0] = (double)row->order + 1;
        at[1] = row->amplification;
        line[1] = limit;
    }
    return count;
}

static void add_depth_panel(struct tp_fig *fig,
                            const struct tp_replay_results *results,
                            const struct stretch *stretch)
{
    const struct tp_replay_row *first = &results->rows[stretch->from];
    struct tp_panel_series *series = tp_fig_alloc(fig, 2, sizeof *series);
    double *worst = tp_fig_alloc(fig, 2 * (DEPTHS + 1), sizeof *worst);
    double *limits = tp_fig_alloc(fig, 2 * (DEPTHS + 1), sizeof *limits);
    if (fig->failed)
        return;
    const size_t count = add_columns(results, stretch, worst, limits);
    series[0] = (struct tp_panel_series){"where half of its digits are lost",
                                         limits, count, 2};
    series[1] = (struct tp_panel_series){"a call, the worst of neighbours",
                                         worst, count, 1};
    const char *step = "", *rank = "";
    if (first->step >= 0)
        step = tp_fig_text(fig, " step %" PRId64, first->step);
    if (first->rank >= 0)
        rank = tp_fig_text(fig, " rank %" PRId64, first->rank);
    const struct tp_panel panel = {
        .kind = TP_PANEL_POINTS,
        .title = tp_fig_text(fig, "calls of%s%s",
                             *step || *rank ? step : " the dump", rank),
        .x = {.label = "call in its order [1]", .scale = TP_SCALE_INTEGER},
        .y = {.label = "change of results over that of arguments [1, log10]",
              .scale = TP_SCALE_LOG10},
        .series = series,
        .series_count = 2,
        .bounds = 1};
    if (count > 1)
        tp_fig_add(fig, &panel);
}

static void build_depth(struct tp_fig *fig,
                        const struct tp_replay_results *results)
{
    struct stretch stretch;
    for (size_t i = 0; i < results->count && fig->count < PLACES;
         i = stretch.end) {
        stretch = stretch_from(results, i);
        add_depth_panel(fig, results, &stretch);
    }
}

/* --- by family ------------------------------------------------------------ */

static int compare_numbers(const void *left, const void *right)
{
    return tp_order_double(*(const double *)left, *(const double *)right);
}

static double quantile(const double *sorted, size_t count, double level)
{
    const double at = level * (double)(count - 1);
    const size_t low = (size_t)at;
    const double share = at - (double)low;
    return share > 0 ? sorted[low] + share * (sorted[low + 1] - sorted[low])
                     : sorted[low];
}

/* A box of the numbers, which are sorted. */
static void make_box(double *numbers, size_t count, double row, double *box)
{
    static const double levels[] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    box[0] = row;
    for (int i = 0; i < 7; i++)
        box[i + 1] = quantile(numbers, count, levels[i]);
    box[BOX - 1] = (double)count;
}

/* The errors of a family that are above 0, of results or of one rounding. */
static size_t take_errors(const struct tp_replay_results *results,
                          const char *family, bool rounded, double *numbers)
{
    size_t count = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct tp_replay_row *row = &results->rows[i];
        const double ulp = rounded ? row->ulp_rounded : row->ulp;
        if (row->family == family && row->ulp > 0 && ulp > 0 && isfinite(ulp))
            numbers[count++] = ulp;
    }
    return count;
}

static size_t count_exact(const struct tp_replay_results *results)
{
    size_t count = 0;
    for (size_t i = 0; i < results->count; i++)
        count += results->rows[i].ulp == 0;
    return count;
}

static void build_families(struct tp_fig *fig,
                           const struct tp_replay_results *results)
{
    double *numbers = tp_fig_alloc(fig, results->count + 1, sizeof *numbers);
    double *boxes[2];
    struct tp_tic *tics = tp_fig_alloc(fig, TP_OP_FAMILIES, sizeof *tics);
    struct tp_panel_series *series = tp_fig_alloc(fig, 2, sizeof *series);
    size_t counts[2] = {0, 0}, shown = 0;
    for (int k = 0; k < 2; k++)
        boxes[k] = tp_fig_alloc(fig, BOX * TP_OP_FAMILIES, sizeof *boxes[k]);
    if (fig->failed)
        return;
    for (int i = 0; i < TP_OP_FAMILIES; i++) {
        bool any = false;
        for (int k = 0; k < 2; k++) {
            const size_t count =
                take_errors(results, tp_op_family_words[i], k, numbers);
            if (count == 0)
                continue;
            make_box(numbers, count, (double)shown + (k ? 0.2 : -0.2),
                     boxes[k] + BOX * counts[k]++);
            any = true;
        }
        if (any) {
            tics[shown] = (struct tp_tic){(double)shown, tp_op_family_words[i]};
            shown++;
        }
    }
    series[0] = (struct tp_panel_series){"of the dump", boxes[0], counts[0], 1};
    series[1] =
        (struct tp_panel_series){"of one rounding", boxes[1], counts[1], 3};
    const struct tp_panel panel = {
        .kind = TP_PANEL_BOXES,
        .title =
            tp_fig_text(fig, "errors of calls; %zu exact ones are left out",
                        count_exact(results)),
        .x = {.label = "error against fp64 by L2 norms "
                       "[units in the last place, log10]",
              .scale = TP_SCALE_LOG10},
        .y = {.scale = TP_SCALE_ROWS, .tics = tics, .tic_count = shown},
        .series = series,
        .series_count = counts[1] ? 2 : 1};
    if (counts[0])
        tp_fig_add(fig, &panel);
}

/* --- the table ------------------------------------------------------------ */

const struct tp_replay_figure_info tp_replay_figure_table[] = {
    {"amplification_over_depth", "What calls make of a rounding (replay)",
     "calls that were perturbed", build_depth},
    {"ulp_error_by_family", "How far results are from fp64 (replay)",
     "floating results that are not exact", build_families},
    {NULL, NULL, NULL, NULL},
};

enum tp_status tp_replay_figures_build(const struct tp_replay_results *results,
                                       struct tp_figure_set *set,
                                       struct tp_error *err)
{
    const size_t rows =
        sizeof tp_replay_figure_table / sizeof *tp_replay_figure_table - 1;
    enum tp_status status = tp_figure_set_init(set, rows, err);
    for (size_t i = 0; status == TP_OK && i < rows; i++) {
        const struct tp_replay_figure_info *info = &tp_replay_figure_table[i];
        struct tp_fig fig = {.arena = &set->arenas[i]};
        info->build(&fig, results);
        struct tp_figure *figure = &set->figures[i];
        *figure = tp_fig_finish(&fig, info->needs);
        figure->id = info->id;
        figure->category = TP_REPLAY_FIGURE_CATEGORY;
        figure->caption = info->caption;
        if (fig.failed)
            status = tp_fail_memory(err);
    }
    if (status != TP_OK)
        tp_figure_set_clear(set);
    return status;
}
