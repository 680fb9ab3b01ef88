/* SPDX-License-Identifier: MIT */
/*
 * What steps would win if something took no time: a bar for each change that
 * wins anything, most first, and a panel for each of a few traces. Wins of
 * several changes do not add up, so they are bars beside each other and no
 * stack. O(n log n) for the rows of a trace.
 */
#include <stdlib.h>

#include "figures/trace_fig.h"
#include "trace/trace_facts.h"

enum { BARS_MAX = 12, PANELS = 4 };

/* Below this a bar is not seen. */
static const double least_won = 0.001;

static bool has_any(const struct tp_trace *trace)
{
    return trace->what_if.count > 0;
}

static int by_won(const void *left, const void *right)
{
    const struct tp_what_if_row *const *x = left, *const *y = right;
    const struct tp_what_if_row *a = *x, *b = *y;
    if (a->won != b->won)
        return a->won > b->won ? -1 : 1;
    return (a > b) - (a < b);
}

static const char *name_of(struct tp_fig *fig, const struct tp_what_if_row *row)
{
    static const char *const names[TP_WHAT_IF_CHANGES] = {
        [TP_WHAT_IF_ALLOC] = "no driver allocations",
        [TP_WHAT_IF_LOADER] = "no DataLoader",
        [TP_WHAT_IF_BLOCKING] = "no calls that wait",
        [TP_WHAT_IF_LAUNCH] = "no launch calls",
        [TP_WHAT_IF_LOAD] = "no code to load",
        [TP_WHAT_IF_OPS] = "no operators on the host",
        [TP_WHAT_IF_OUTSIDE] = "no gaps between operators",
        [TP_WHAT_IF_QUEUED] = "no queued work that waits",
        [TP_WHAT_IF_HOST] = "no work on the host",
        [TP_WHAT_IF_COMMUNICATION] = "no communication"};
    if (row->changed == TP_WHAT_IF_OPERATOR)
        return tp_fig_text(fig, "%s, half", row->name);
    return names[row->changed] ? names[row->changed] : row->change;
}

static void add_panel(struct tp_fig *fig, const struct tp_trace_run *run,
                      size_t trace)
{
    const struct tp_trace *it = &run->traces[trace];
    const size_t count = it->what_if.count;
    const struct tp_what_if_row **rows =
        tp_fig_alloc(fig, count, sizeof(void *));
    double *values = tp_fig_alloc(fig, 2 * BARS_MAX, sizeof *values);
    struct tp_panel_series *series = tp_fig_alloc(fig, 1, sizeof *series);
    const char *names[BARS_MAX];
    size_t shown = 0;
    if (!rows || !values || !series)
        return;
    for (size_t i = 0; i < count; i++)
        rows[i] = &it->what_if.rows[i];
    qsort(rows, count, sizeof(void *), by_won);
    for (size_t i = 0; i < count && shown < BARS_MAX; i++) {
        if (!(rows[i]->won >= least_won))
            break;
        names[shown] = name_of(fig, rows[i]);
        values[2 * shown] = (double)shown;
        values[2 * shown + 1] = 100 * rows[i]->won;
        shown++;
    }
    if (shown == 0 || fig->failed)
        return;
    *series = (struct tp_panel_series){
        .name = "",
        .values = values,
        .rows = shown,
        .colour = TP_TRACE_LESS_COLOUR};
    const bool steps = tp_trace_has_steps(it);
    const struct tp_panel panel = {
        .kind = TP_PANEL_BARS,
        .title = tp_fig_text(fig, "%s, %.3f ms %s",
                             tp_trace_label(fig, run, trace),
                             rows[0]->step_us / 1e3,
                             steps ? "a step" : "in all"),
        .x = {.label = steps ? "of the step time [%]" : "of that time [%]"},
        .y = tp_fig_named_rows(fig, names, shown),
        .series = series,
        .series_count = 1,
    };
    tp_fig_add(fig, &panel);
}

void tp_trace_fig_what_if(struct tp_fig *fig, const struct tp_trace_run *run)
{
    struct tp_trace_choice choice;
    tp_trace_choose(run, has_any, PANELS, &choice);
    for (size_t i = 0; i < choice.count; i++)
        add_panel(fig, run, choice.traces[i]);
}
