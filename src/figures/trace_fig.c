/* SPDX-License-Identifier: MIT */
/*
 * What the builders of trace figures share. Of more traces than a panel can
 * name, evenly spaced ones with both ends are shown: of many ranks neither the
 * first nor the slowest alone tell how they spread. Stacked bars put the parts
 * of a row one after the other in a fixed order; a part that is zero in all
 * rows is left out, also of the legend, and the others keep their colours.
 * O(traces), and rows x parts^2 for a stack, of at most 24 rows and 8 parts.
 */
#include "figures/trace_fig.h"

#include <string.h>

#include "base/file.h"

_Static_assert(TP_TRACE_COLOURS_END == TP_PANEL_COLOURS + 1,
               "a line type of plots/style.gp for each");

void tp_trace_choose(const struct tp_trace_run *run,
                     bool (*has)(const struct tp_trace *trace), size_t limit,
                     struct tp_trace_choice *choice)
{
    size_t total = 0, seen = 0;
    choice->count = 0;
    if (limit > TP_TRACE_ROWS_MAX)
        limit = TP_TRACE_ROWS_MAX;
    for (size_t i = 0; i < run->trace_count; i++)
        total += !has || has(&run->traces[i]);
    for (size_t i = 0; i < run->trace_count; i++) {
        if (has && !has(&run->traces[i]))
            continue;
        /* The n-th shown is the one nearest to n equal steps. */
        size_t n = choice->count;
        size_t next = total <= limit ? seen
                      : limit < 2    ? 0
                                     : n * (total - 1) / (limit - 1);
        if (n < limit && seen == next)
            choice->traces[choice->count++] = i;
        seen++;
    }
}

static bool is_only_one_of_rank(const struct tp_trace_run *run, size_t trace)
{
    for (size_t i = 0; i < run->trace_count; i++) {
        if (i != trace && run->traces[i].rank == run->traces[trace].rank)
            return false;
    }
    return true;
}

const char *tp_trace_label(struct tp_fig *fig, const struct tp_trace_run *run,
                           size_t trace)
{
    const struct tp_trace *t = &run->traces[trace];
    if (t->rank >= 0 && is_only_one_of_rank(run, trace))
        return tp_fig_text(fig, "rank %lld", (long long)t->rank);
    if (t->worker[0] && t->span >= 0)
        return tp_fig_text(fig, "%s, %lld", t->worker, (long long)t->span);
    return tp_fig_text(fig, "%s", tp_file_base_name(t->path));
}

static double part_of(const struct tp_stack *stack, size_t row, size_t part)
{
    double value = stack->values[row * stack->part_count + part];
    return value > 0 ? value : 0;
}

static bool is_used(const struct tp_stack *stack, size_t part)
{
    for (size_t r = 0; r < stack->row_count; r++) {
        if (part_of(stack, r, part) > 0)
            return true;
    }
    return false;
}

void tp_trace_stack(struct tp_fig *fig, const struct tp_stack *stack)
{
    size_t rows = stack->row_count, parts = stack->part_count, used = 0;
    struct tp_panel_series *series =
        tp_fig_alloc(fig, parts + 1, sizeof *series);
    for (size_t k = 0; k < parts && series; k++) {
        if (!is_used(stack, k)) /* nor named in the legend */
            continue;
        double *table = tp_fig_alloc(fig, 3 * rows + 1, sizeof *table);
        for (size_t r = 0; r < rows && table; r++) {
            double from = 0;
            for (size_t j = 0; j < k; j++)
                from += part_of(stack, r, j);
            table[3 * r] = (double)r;
            table[3 * r + 1] = from;
            table[3 * r + 2] = from + part_of(stack, r, k);
        }
        series[used++] = (struct tp_panel_series){.name = stack->parts[k],
                                                  .values = table,
                                                  .rows = table ? rows : 0,
                                                  .colour = stack->colours[k]};
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_STACKS,
        .title = stack->title,
        .x = {.label = stack->label},
        .y = tp_fig_named_rows(fig, stack->rows, rows),
        .series = series,
        .series_count = used,
    };
    if (rows > 0 && used > 0)
        tp_fig_add(fig, &panel);
}
