/* SPDX-License-Identifier: MIT */
/*
 * Figures of two runs of traces: what costs more and what costs less, largest
 * first, and the parts of a step before and after.
 *
 * Bars of changes stand beside each other on one axis, as they add up to the
 * change of the step; the stacks are those of the steps of one run. Linear in
 * the rows that are shown.
 */
#include "figures/trace_compare_figures.h"

#include <math.h>
#include <string.h>

#include "figures/trace_fig.h"
#include "trace/trace_compare_why.h"

enum { CHANGES_SHOWN = 20, ROOT_MAX = 300 };

/* The last element of a path, and the one it is in: "aten::zeros > aten::empty"
 * of a longer one, as several operators call the same. */
static const char *end_of(const char *path, int elements)
{
    const char *at = path + strlen(path);
    for (; at > path; at--) {
        if (!strncmp(at, " > ", 3) && --elements == 0)
            return at + 3;
    }
    return path;
}

/* Two names in the room for both: what one leaves is the other's. */
static const char *two_names(struct tp_fig *fig, bool gap, const char *first,
                             const char *second, size_t room)
{
    const size_t a = strlen(first), b = strlen(second), half = room / 2;
    const size_t most_a = b < half ? room - b : half;
    const size_t most_b = a < half ? room - a : half;
    return tp_fig_text(fig, gap ? "gap: %s .. %s" : "%s (%s)",
                       tp_trace_short_name(fig, first, most_a),
                       tp_trace_short_name(fig, second, most_b));
}

/* What a cause is about: what only one run has, else of its largest row the
 * kernel or call, else the operator. */
static const char *name_of(struct tp_fig *fig,
                           const struct tp_cause_row *cause)
{
    enum { ALL = TP_TRACE_NAME_FULL };
    const struct tp_why_row *row = cause->largest;
    const char *name = *row->test_name ? row->test_name : row->base_name;
    const char *place = *row->path ? end_of(row->path, 1) : "no operator";
    if (cause->root) {
        /* of enumerate(DataLoader)#_SingleProcess.. the end tells more */
        const char *mark = memchr(row->path, '#', cause->root);
        const char *from = mark ? mark + 1 : row->path;
        const size_t length = cause->root - (size_t)(from - row->path);
        const char *root = tp_fig_text(
            fig, "%.*s", (int)(length < ROOT_MAX ? length : ROOT_MAX), from);
        return tp_fig_text(fig, "%s, %s",
                           tp_trace_short_name(fig, root, ALL - 6),
                           cause->test_us > 0 ? "new" : "gone");
    }
    if (cause->members > 1 && row->what == TP_SPENT_DEVICE)
        return tp_fig_text(fig, "%s, %zu places",
                           tp_trace_short_name(fig, name, ALL - 12),
                           cause->members);
    if (row->what == TP_SPENT_GAP)
        return two_names(fig, true, place, name, ALL - 9);
    if (row->what == TP_SPENT_HOST)
        return tp_fig_text(
            fig, "%s, host",
            tp_trace_short_name(fig, end_of(row->path, 2), ALL - 6));
    return two_names(fig, false, name, place, ALL - 3);
}

static void fill(struct tp_fig *fig, const struct tp_cause_row *rows,
                 size_t count, struct tp_panel_series *series)
{
    static const enum tp_trace_colour colours[] = {TP_TRACE_MORE_COLOUR,
                                                   TP_TRACE_LESS_COLOUR};
    for (size_t k = 0; k < 2; k++) {
        double *values = tp_fig_alloc(fig, 2 * count + 1, sizeof *values);
        for (size_t i = 0; values && i < count; i++) {
            const bool more = rows[i].change_us > 0;
            values[2 * i] = (double)i;
            values[2 * i + 1] =
                more == (k == 0) ? rows[i].change_us / 1e3 : NAN;
        }
        series[k] = (struct tp_panel_series){
            .name = tp_trace_colour_of(colours[k])->name,
            .values = values,
            .rows = values ? count : 0,
            .colour = colours[k]};
    }
}

static void build_changes(struct tp_fig *fig,
                          const struct tp_trace_comparison *comparison)
{
    const char *names[CHANGES_SHOWN];
    size_t count = 0;
    while (count < CHANGES_SHOWN && count < comparison->causes.count &&
           comparison->causes.rows[count].change_us != 0 &&
           tp_trace_is_seen(fabs(comparison->causes.rows[count].change_us),
                            fabs(comparison->causes.rows->change_us))) {
        names[count] = name_of(fig, &comparison->causes.rows[count]);
        count++;
    }
    struct tp_panel_series *series = tp_fig_alloc(fig, 2, sizeof *series);
    if (!series || count == 0)
        return;
    fill(fig, comparison->causes.rows, count, series);
    const double change = comparison->why_test_us - comparison->why_base_us;
    const struct tp_panel panel = {
        .kind = TP_PANEL_BARS,
        .title = tp_fig_text(fig,
                             "%zu largest of the changes that add up to %+.4g "
                             "ms a %s",
                             count, change / 1e3, comparison->why_per),
        .x = {.label = "change of time [ms]"},
        .y = tp_fig_named_rows(fig, names, count),
        .series = series,
        .series_count = 2,
    };
    tp_fig_add(fig, &panel);
}

/* The mean of a metric of /compare/steps, ms; 0: there is none. */
static double mean_of(const struct tp_trace_comparison *comparison,
                      const char *metric, bool test)
{
    for (size_t i = 0; i < comparison->steps.count; i++) {
        const struct tp_compare_step_row *row = &comparison->steps.rows[i];
        const double us = test ? row->test : row->base;
        if (!strcmp(row->metric, metric))
            return isnan(us) ? 0 : us / 1e3;
    }
    return 0;
}

static void build_steps(struct tp_fig *fig,
                        const struct tp_trace_comparison *comparison)
{
    enum { PARTS = 7 };
    static const char *const metrics[PARTS] = {
        "cost: kernel", "cost: memcpy", "cost: communication",
        "cost: runtime", "cost: dataloader", "cost: cpu_exec", "cost: other"};
    static const enum tp_trace_colour parts[PARTS] = {
        TP_TRACE_KERNEL_COLOUR, TP_TRACE_COPY_COLOUR, TP_TRACE_COMM_COLOUR,
        TP_TRACE_CALL_COLOUR,   TP_TRACE_LOADER_COLOUR,
        TP_TRACE_OPERATOR_COLOUR, TP_TRACE_NOTHING_COLOUR};
    static const char *const rows[] = {"before", "after"};
    double *values = tp_fig_alloc(fig, 2 * PARTS, sizeof *values);
    for (size_t i = 0; values && i < 2; i++) {
        for (size_t k = 0; k < PARTS; k++)
            values[i * PARTS + k] = mean_of(comparison, metrics[k], i);
        values[i * PARTS + 1] += mean_of(comparison, "cost: memset", i);
    }
    const struct tp_stack stack = {
        .title = "mean of the typical steps, with their device tail",
        .rows = rows,
        .row_count = values ? 2 : 0,
        .parts = parts,
        .part_count = PARTS,
        .values = values,
        .label = "time per step [ms]",
    };
    tp_trace_stack(fig, &stack);
}

const struct tp_trace_compare_figure_info tp_trace_compare_figure_table[] = {
    {"changes", "What costs more after the change, and what less",
     "a change of time", build_changes},
    {"step_cost", "Where the time of a step goes, before and after",
     "steps in both runs", build_steps},
    {NULL, NULL, NULL, NULL},
};

static bool build_one(const struct tp_trace_comparison *comparison,
                      size_t index, struct tp_figure_set *set)
{
    const struct tp_trace_compare_figure_info *info =
        &tp_trace_compare_figure_table[index];
    struct tp_fig fig = {.arena = &set->arenas[index]};
    info->build(&fig, comparison);
    struct tp_figure *figure = &set->figures[index];
    *figure = tp_fig_finish(&fig, info->needs);
    figure->id = info->id;
    figure->category = TP_TRACE_COMPARE_CATEGORY;
    figure->caption = info->caption;
    return !fig.failed;
}

enum tp_status tp_trace_compare_figures_build(
    const struct tp_trace_comparison *comparison, struct tp_figure_set *set,
    struct tp_error *err)
{
    size_t count = 0;
    while (tp_trace_compare_figure_table[count].id)
        count++;
    enum tp_status status = tp_figure_set_init(set, count, err);
    for (size_t i = 0; status == TP_OK && i < count; i++) {
        if (!build_one(comparison, i, set))
            status = tp_fail_memory(err);
    }
    if (status != TP_OK)
        tp_figure_set_clear(set);
    return status;
}
