/* SPDX-License-Identifier: MIT */
/*
 * The figures of a comparison. Where runs have thousands of calls a column of
 * the figure stands for some neighbours, and shows the worst of them: what
 * matters is where the error begins, and a mean would hide it. All are made of
 * the sums of calls, whatever their number of elements.
 */
#include "figures/compare_figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures/compare_fig.h"

enum {
    DEPTHS = 240, /* columns of a figure over depth, each with a gap before
                     it, in four series                                   */
    MODULES = 24, /* bars that can be read                                */
    PLACES = 4    /* steps and ranks that have a panel                    */
};

/* --- over depth ----------------------------------------------------------- */

/* The four series of a panel. */
static const struct {
    const char *name;
    bool backward, results;
} depth_series[] = {{"forward, arguments", false, false},
                    {"forward, results", false, true},
                    {"backward, arguments", true, false},
                    {"backward, results", true, true}};

/* Whether a line ends between two calls: what lies between is equal, or of the
 * other pass. Single equal calls are everywhere. */
static bool is_apart(int64_t before, int64_t after, size_t calls)
{
    const int64_t most = calls > 400 ? (int64_t)calls / 50 : 8;
    return after - before > most;
}

/* Fills in the rows of a series: the worst error of each column. */
static size_t add_depths(const struct tp_compare_figure_input *input,
                         size_t pair, int which, double *rows)
{
    const size_t calls = input->comparison->pairs[pair].a.place->call_count;
    size_t count = 0, last = SIZE_MAX;
    int64_t before = 0;
    for (size_t i = 0; i < input->calls->count; i++) {
        const struct tp_compare_call *call = &input->calls->rows[i];
        if (call->pair != pair || !tp_compare_is_judged(call->name) ||
            tp_compare_fig_is_backward(input, call) !=
                depth_series[which].backward)
            continue;
        const double error =
            depth_series[which].results ? call->error_out : call->error_in;
        if (!(error > 0) || isinf(error))
            continue;
        const size_t column = calls > DEPTHS
                                  ? (size_t)call->order * DEPTHS / calls
                                  : (size_t)call->order;
        if (column != last && count && is_apart(before, call->order, calls))
            rows[2 * count++ + 1] = NAN;
        if (column != last)
            rows[2 * count++ + 1] = 0;
        double *row = rows + 2 * (count - 1);
        if (error > row[1]) {
            row[0] = (double)call->order + 1;
            row[1] = error;
        }
        last = column;
        before = call->order;
    }
    return count;
}

static void add_depth_panel(struct tp_fig *fig,
                            const struct tp_compare_figure_input *input,
                            size_t pair)
{
    enum { SERIES = sizeof depth_series / sizeof *depth_series };
    const struct tp_dump_place *place = input->comparison->pairs[pair].a.place;
    struct tp_panel_series *series = tp_fig_alloc(fig, SERIES, sizeof *series);
    size_t count = 0;
    for (int i = 0; series && i < SERIES; i++) {
        double *rows = tp_fig_alloc(fig, 4 * (DEPTHS + 1), sizeof *rows);
        if (!rows)
            return;
        const size_t size = add_depths(input, pair, i, rows);
        if (size)
            series[count++] = (struct tp_panel_series){
                depth_series[i].name, rows, size, (unsigned)i + 1};
    }
    const char *step = "", *rank = "";
    if (place->step >= 0)
        step = tp_fig_text(fig, " step %" PRId64, place->step);
    if (place->rank >= 0)
        rank = tp_fig_text(fig, " rank %" PRId64, place->rank);
    const struct tp_panel panel = {
        .kind = TP_PANEL_LINES,
        .title = tp_fig_text(fig, "A against B%s%s", step, rank),
        .x = {.label = "call of A in its order [1]", .scale = TP_SCALE_INTEGER},
        .y = {.label = "relative error [1, log10]", .scale = TP_SCALE_LOG10},
        .series = series,
        .series_count = count};
    if (count)
        tp_fig_add(fig, &panel);
}

/* The first steps and ranks; those that are alike differ in their numbers. */
static void build_depth(struct tp_fig *fig,
                        const struct tp_compare_figure_input *input)
{
    const size_t pairs = input->comparison->pair_count;
    for (size_t i = 0; i < pairs && fig->count < PLACES; i++)
        add_depth_panel(fig, input, i);
}

/* --- by module ------------------------------------------------------------ */

/* A module or kind of call, and the worst of it. */
struct worst {
    const char *name;
    double in, out;
};

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const struct worst *)left)->name,
                  ((const struct worst *)right)->name);
}

static int compare_errors(const void *left, const void *right)
{
    const struct worst *a = left, *b = right;
    const double of_a = fmax(a->in, a->out), of_b = fmax(b->in, b->out);
    return of_a != of_b ? (of_a > of_b ? -1 : 1) : strcmp(a->name, b->name);
}

/* The module, or without one the type and name of the call. */
static const char *group_name(struct tp_fig *fig,
                              const struct tp_compare_call *call)
{
    if (*call->module)
        return call->module;
    const char *dot = strchr(call->name, '.');
    const size_t length =
        dot ? (size_t)(dot - call->name) + 1 + strcspn(dot + 1, ".")
            : strlen(call->name);
    return tp_fig_text(fig, "%.*s", (int)length, call->name);
}

/* Unknown ones have no bar. */
static double bar_of(double error, double infinite)
{
    return isinf(error) ? infinite : error > 0 ? error : 0;
}

/* Joins groups of the same name; how many are left. */
static size_t join(struct worst *groups, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(groups, count, sizeof *groups, compare_names);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || strcmp(groups[kept - 1].name, groups[i].name) != 0) {
            groups[kept++] = groups[i];
            continue;
        }
        groups[kept - 1].in = fmax(groups[kept - 1].in, groups[i].in);
        groups[kept - 1].out = fmax(groups[kept - 1].out, groups[i].out);
    }
    if (kept)
        qsort(groups, kept, sizeof *groups, compare_errors);
    return kept;
}

static void build_modules(struct tp_fig *fig,
                          const struct tp_compare_figure_input *input)
{
    const struct tp_compare_calls *calls = input->calls;
    struct worst *groups = tp_fig_alloc(fig, calls->count + 1, sizeof *groups);
    const char **names = tp_fig_alloc(fig, MODULES, sizeof *names);
    double *values = tp_fig_alloc(fig, 2 * MODULES, sizeof *values);
    struct tp_panel_series *series = tp_fig_alloc(fig, 2, sizeof *series);
    const double infinite = tp_compare_fig_infinite(calls);
    size_t count = 0;
    if (fig->failed)
        return;
    for (size_t i = 0; i < calls->count; i++) {
        const struct tp_compare_call *call = &calls->rows[i];
        const double in = bar_of(call->error_in, infinite);
        const double out = bar_of(call->error_out, infinite);
        if (tp_compare_is_judged(call->name) && (in > 0 || out > 0))
            groups[count++] = (struct worst){group_name(fig, call), in, out};
    }
    const size_t all = join(groups, count);
    const size_t shown = all < MODULES ? all : MODULES;
    for (size_t i = 0; i < shown; i++) {
        names[i] = groups[i].name;
        values[i] = groups[i].in;
        values[shown + i] = groups[i].out;
    }
    series[0].name = "arguments";
    series[1].name = "results";
    const struct tp_bars bars = {
        .title = tp_fig_text(
            fig, "%s%s",
            shown < all ? tp_fig_text(fig, "worst %zu of %zu", shown, all)
                        : "all that differ",
            infinite > 0 ? tp_fig_text(fig, "; a bar to %g: infinite", infinite)
                         : ""),
        .rows = names,
        .row_count = shown,
        .series = series,
        .series_count = 2,
        .values = values,
        .x = {.label = "largest relative error [1, log10]",
              .scale = TP_SCALE_LOG10}};
    if (shown)
        tp_fig_bars(fig, &bars);
}

/* --- the table ------------------------------------------------------------ */

const struct tp_compare_figure_info tp_compare_figure_table[] = {
    {"divergence_over_depth",
     "How far two runs are apart, call by call (compare)",
     "calls that differ by a number (not checksums)", build_depth},
    {"error_by_module", "Where two runs are furthest apart (compare)",
     "calls that differ by a number (not checksums)", build_modules},
    {"error_gain", "What operators make of differences (compare)",
     "calls whose arguments and results differ", tp_compare_fig_gain},
    {"module_tree", "Which branch of the model differs (compare)",
     "calls that both have", tp_compare_fig_tree},
    {"pairs_scatter", "Which tensors part (compare)",
     "tensors with values or statistics (not checksums)", tp_compare_fig_pairs},
    {NULL, NULL, NULL, NULL},
};

static size_t table_rows(void)
{
    return sizeof tp_compare_figure_table / sizeof *tp_compare_figure_table - 1;
}

enum tp_status tp_compare_figures_build(
    const struct tp_compare_figure_input *input, struct tp_figure_set *set,
    struct tp_error *err)
{
    enum tp_status status = tp_figure_set_init(set, table_rows(), err);
    for (size_t i = 0; status == TP_OK && i < table_rows(); i++) {
        const struct tp_compare_figure_info *info = &tp_compare_figure_table[i];
        struct tp_fig fig = {.arena = &set->arenas[i]};
        info->build(&fig, input);
        struct tp_figure *figure = &set->figures[i];
        *figure = tp_fig_finish(&fig, info->needs);
        figure->id = info->id;
        figure->category = TP_COMPARE_FIGURE_CATEGORY;
        figure->caption = info->caption;
        if (fig.failed)
            status = tp_fail_memory(err);
    }
    if (status != TP_OK)
        tp_figure_set_clear(set);
    return status;
}
