/* SPDX-License-Identifier: MIT */
/*
 * What steps would win if something took no time: a bar for each change that
 * wins anything, most first, and a panel for each of a few traces. Wins of
 * several changes do not add up, so they are bars beside each other and no
 * stack. O(n log n) for the rows of a trace.
 */
#include <math.h>
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

/* What takes no time, or half of it. */
static const char *name_of(struct tp_fig *fig, const struct tp_what_if_row *row,
                           size_t room)
{
    static const char *const names[TP_WHAT_IF_CHANGES] = {
        [TP_WHAT_IF_ALLOC] = "driver allocations",
        [TP_WHAT_IF_LOADER] = "DataLoader",
        [TP_WHAT_IF_BLOCKING] = "calls that wait for the GPU",
        [TP_WHAT_IF_LAUNCH] = "launch calls",
        [TP_WHAT_IF_LOAD] = "loading of code",
        [TP_WHAT_IF_OPS] = "operators on the host",
        [TP_WHAT_IF_OUTSIDE] = "host between operators",
        [TP_WHAT_IF_QUEUED] = "waiting of queued work",
        [TP_WHAT_IF_HOST] = "host, but for loading and waiting",
        [TP_WHAT_IF_COMMUNICATION] = "communication"};
    static const char half[] = "half of ";
    if (row->changed == TP_WHAT_IF_OPERATOR)
        return tp_fig_text(
            fig, "%s%s", half,
            tp_trace_short_name(fig, row->name, room - (sizeof half - 1)));
    return names[row->changed] ? names[row->changed] : row->change;
}

/* "rank 0: step 7, 14.2 ms" */
static const char *title_of(struct tp_fig *fig, const struct tp_trace_run *run,
                            size_t trace)
{
    const struct tp_trace *it = &run->traces[trace];
    const struct tp_what_if_row *row = it->what_if.rows;
    const char *label = tp_trace_label(fig, run, trace);
    const double ms = row->step_us / 1e3;
    const char *time = tp_fig_text(fig, "%.*f ms", ms < 10 ? 3 : 1, ms);
    if (!tp_trace_has_steps(it))
        return tp_fig_text(fig, "%s: %s in all", label, time);
    if (row->steps == 1)
        return tp_fig_text(fig, "%s: step %lld, %s", label,
                           (long long)row->first_step, time);
    return tp_fig_text(fig, "%s: %lld steps from %lld on, %s each", label,
                       (long long)row->steps, (long long)row->first_step,
                       time);
}

/* The most that is won in some panel, %: all have one axis. */
static double most_won(const struct tp_trace_run *run,
                       const struct tp_trace_choice *choice)
{
    double most = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const struct tp_trace *it = &run->traces[choice->traces[i]];
        for (size_t k = 0; k < it->what_if.count; k++)
            most = fmax(most, 100 * it->what_if.rows[k].won);
    }
    return most;
}

static void add_panel(struct tp_fig *fig, const struct tp_trace_run *run,
                      const struct tp_trace_choice *choice, size_t place)
{
    const size_t trace = choice->traces[place];
    const struct tp_trace *it = &run->traces[trace];
    const size_t count = it->what_if.count;
    const struct tp_what_if_row **rows =
        tp_fig_alloc(fig, count, sizeof(void *));
    double *values = tp_fig_alloc(fig, 2 * BARS_MAX, sizeof *values);
    struct tp_panel_series *series = tp_fig_alloc(fig, 1, sizeof *series);
    const char *names[BARS_MAX];
    const double most = most_won(run, choice);
    size_t shown = 0;
    if (!rows || !values || !series)
        return;
    for (size_t i = 0; i < count; i++)
        rows[i] = &it->what_if.rows[i];
    qsort(rows, count, sizeof(void *), by_won);
    for (size_t i = 0; i < count && shown < BARS_MAX; i++) {
        if (!(rows[i]->won >= least_won) ||
            !tp_trace_is_seen(100 * rows[i]->won, most))
            break;
        names[shown] = name_of(fig, rows[i],
                               choice->count > 1 ? TP_TRACE_NAME_HALF
                                                 : TP_TRACE_NAME_FULL);
        values[2 * shown] = (double)shown;
        values[2 * shown + 1] = 100 * rows[i]->won;
        shown++;
    }
    if (shown == 0 || fig->failed)
        return;
    *series = (struct tp_panel_series){
        .name = tp_trace_colour_of(TP_TRACE_WON_COLOUR)->name,
        .values = values,
        .rows = shown,
        .colour = TP_TRACE_WON_COLOUR};
    const struct tp_panel panel = {
        .kind = TP_PANEL_BARS,
        .title = title_of(fig, run, trace),
        .x = {.label = tp_trace_has_steps(it) ? "of the step won [%]"
                                              : "of that time won [%]",
              .limited = true,
              .min = 0,
              .max = 1.04 * most},
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
        add_panel(fig, run, &choice, i);
}
