/* SPDX-License-Identifier: MIT */
/*
 * What the work is: operators and kernels, how long they last, the device
 * and its memory over time.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/trace_fig.h"

enum { BARS_MAX = 20, CURVES_MAX = TP_PANEL_SERIES_MAX };

/* --- names and their time ---------------------------------------------- */

/* Time by name, over all traces of the run. */
struct named {
    const char *name;
    double us;
};

struct named_list {
    struct named *items;
    size_t count;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name,
                  ((const struct named *)b)->name);
}

static int compare_times(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    if (x->us != y->us)
        return x->us > y->us ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Adds up equal names; longest first; those without time are left out. */
static void merge_names(struct named_list *list)
{
    size_t kept = 0;
    if (list->count == 0)
        return;
    qsort(list->items, list->count, sizeof *list->items, compare_names);
    for (size_t i = 0; i < list->count; i++) {
        if (kept > 0 &&
            !strcmp(list->items[kept - 1].name, list->items[i].name))
            list->items[kept - 1].us += list->items[i].us;
        else
            list->items[kept++] = list->items[i];
    }
    qsort(list->items, kept, sizeof *list->items, compare_times);
    while (kept > 0 && !(list->items[kept - 1].us > 0))
        kept--;
    list->count = kept;
}

enum op_time { SELF_CUDA, SELF_CPU };

static struct named_list op_times(struct tp_fig *fig,
                                  const struct tp_trace_run *run,
                                  enum op_time which)
{
    size_t total = 0;
    for (size_t i = 0; i < run->trace_count; i++)
        total += run->traces[i].ops.count;
    struct named_list list = {
        tp_fig_alloc(fig, total + 1, sizeof *list.items), 0};
    for (size_t i = 0; i < run->trace_count && list.items; i++) {
        const struct tp_trace *trace = &run->traces[i];
        for (size_t k = 0; k < trace->ops.count; k++) {
            const struct tp_op_row *op = &trace->ops.rows[k];
            if (!strcmp(op->device_type, "CPU"))
                list.items[list.count++] = (struct named){
                    op->name,
                    which == SELF_CUDA ? op->self_cuda_us : op->self_cpu_us};
        }
    }
    merge_names(&list);
    return list;
}

static struct named_list kernel_times(struct tp_fig *fig,
                                      const struct tp_trace_run *run)
{
    size_t total = 0;
    for (size_t i = 0; i < run->trace_count; i++)
        total += run->traces[i].kernels.count;
    struct named_list list = {
        tp_fig_alloc(fig, total + 1, sizeof *list.items), 0};
    for (size_t i = 0; i < run->trace_count && list.items; i++) {
        const struct tp_trace *trace = &run->traces[i];
        for (size_t k = 0; k < trace->kernels.count; k++)
            list.items[list.count++] =
                (struct named){trace->kernels.rows[k].name,
                               trace->kernels.rows[k].total_us};
    }
    merge_names(&list);
    return list;
}

/* Template arguments and parameters make names long and alike; what comes
 * before them tells kernels apart at a glance. */
static const char *short_name(struct tp_fig *fig, const char *name)
{
    enum { SHOWN_MAX = 44 };
    if (!strncmp(name, "void ", 5))
        name += 5;
    size_t length = strlen(name);
    if (length <= SHOWN_MAX)
        return name;
    return tp_fig_text(fig, "%.*s...", SHOWN_MAX - 3, name);
}

static void add_bars(struct tp_fig *fig, const char *title,
                     const struct named_list *list, unsigned colour)
{
    const char *names[BARS_MAX];
    size_t rows = list->count < BARS_MAX ? list->count : BARS_MAX;
    double *values = tp_fig_alloc(fig, 2 * rows + 1, sizeof *values);
    struct tp_series *series = tp_fig_alloc(fig, 1, sizeof *series);
    if (!values || !series || rows == 0)
        return;
    for (size_t i = 0; i < rows; i++) {
        names[i] = short_name(fig, list->items[i].name);
        values[2 * i] = (double)i;
        values[2 * i + 1] = list->items[i].us / 1e3;
    }
    *series = (struct tp_series){
        .name = "", .values = values, .rows = rows, .colour = colour};
    const struct tp_panel panel = {
        .kind = TP_PANEL_BARS,
        .title = rows < list->count
                     ? tp_fig_text(fig, "%s (%zu of %zu)", title, rows,
                                   list->count)
                     : title,
        .x = {.label = "time [ms]"},
        .y = tp_trace_rows_axis(fig, names, rows),
        .series = series,
        .series_count = 1,
    };
    tp_fig_add(fig, &panel);
}

void tp_trace_fig_operators(struct tp_fig *fig, const struct tp_trace_run *run)
{
    const char *all = run->trace_count > 1 ? ", all traces" : "";
    struct named_list cuda = op_times(fig, run, SELF_CUDA);
    struct named_list cpu = op_times(fig, run, SELF_CPU);
    struct named_list kernels = kernel_times(fig, run);
    if (cuda.count > 0)
        add_bars(fig, tp_fig_text(fig, "operators, self CUDA time%s", all),
                 &cuda, 1);
    if (kernels.count > 0)
        add_bars(fig, tp_fig_text(fig, "kernels and copies%s", all), &kernels,
                 2);
    else
        add_bars(fig, tp_fig_text(fig, "operators, self CPU time%s", all),
                 &cpu, 3);
}

/* --- durations of kernels ---------------------------------------------- */

/* Where a bin of the histogram begins, us; see TP_KERNEL_BINS. */
static double bin_begin(size_t bin)
{
    return exp2((double)((int)bin - 1) / 2);
}

void tp_trace_fig_kernels(struct tp_fig *fig, const struct tp_trace_run *run)
{
    double count[TP_KERNEL_BINS] = {0}, us[TP_KERNEL_BINS] = {0};
    double all_count = 0, all_us = 0;
    size_t first = TP_KERNEL_BINS, last = 0;
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t b = 0; b < TP_KERNEL_BINS; b++) {
            count[b] += (double)run->traces[i].kernel_count[b];
            us[b] += run->traces[i].kernel_us[b];
        }
    }
    for (size_t b = 0; b < TP_KERNEL_BINS; b++) {
        all_count += count[b];
        all_us += us[b];
        if (count[b] > 0) {
            first = first < b ? first : b;
            last = b;
        }
    }
    double *values =
        tp_fig_alloc(fig, 4 * (TP_KERNEL_BINS + 2), sizeof *values);
    struct tp_series *series = tp_fig_alloc(fig, 2, sizeof *series);
    if (!values || !series || all_count == 0)
        return;
    double *second = values + 2 * (TP_KERNEL_BINS + 2);
    size_t n = 0;
    for (size_t b = first; b <= last + 1; b++, n++) {
        bool beyond = b > last; /* closes the outline */
        values[2 * n] = second[2 * n] = bin_begin(b);
        values[2 * n + 1] = beyond ? 0 : 100 * count[b] / all_count;
        second[2 * n + 1] =
            beyond || !(all_us > 0) ? 0 : 100 * us[b] / all_us;
    }
    series[0] = (struct tp_series){
        .name = "of all kernels", .values = values, .rows = n, .colour = 2};
    series[1] = (struct tp_series){
        .name = "of all kernel time", .values = second, .rows = n, .colour = 1};
    const struct tp_panel panel = {
        .kind = TP_PANEL_STEPS,
        .title = tp_fig_text(fig, "%.0f kernels, %.4g ms together", all_count,
                             all_us / 1e3),
        .x = {.label = "duration [us], two bins per octave",
              .scale = TP_SCALE_LOG2},
        .y = {.label = "share in each bin [%]"},
        .series = series,
        .series_count = 2,
    };
    tp_fig_add(fig, &panel);
}

/* --- over time --------------------------------------------------------- */

/* A curve as a series: seconds against scaled values. */
static struct tp_series curve(struct tp_fig *fig,
                              const struct tp_curve *points, double scale)
{
    double *values = tp_fig_alloc(fig, 2 * points->count + 1, sizeof *values);
    for (size_t i = 0; values && i < points->count; i++) {
        values[2 * i] = points->rows[i].at_us / 1e6;
        values[2 * i + 1] = points->rows[i].value * scale;
    }
    return (struct tp_series){.values = values,
                              .rows = values ? points->count : 0};
}

static bool has_utilisation(const struct tp_trace *trace)
{
    return trace->utilisation.count > 0;
}

/* Points of a panel are limited, so many traces get few curves. */
static size_t curves_for(const struct tp_trace_run *run)
{
    size_t longest = 1;
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_trace *t = &run->traces[i];
        size_t n = t->utilisation.count > t->queue.count ? t->utilisation.count
                                                         : t->queue.count;
        longest = n > longest ? n : longest;
    }
    size_t fit = TP_PANEL_ROWS_MAX / longest;
    return fit < 1 ? 1 : fit < CURVES_MAX ? fit : CURVES_MAX;
}

void tp_trace_fig_utilisation(struct tp_fig *fig,
                              const struct tp_trace_run *run)
{
    struct tp_trace_choice choice;
    tp_trace_choose(run, has_utilisation, curves_for(run), &choice);
    struct tp_series *busy = tp_fig_alloc(fig, choice.count + 1, sizeof *busy);
    struct tp_series *queue =
        tp_fig_alloc(fig, choice.count + 1, sizeof *queue);
    if (!busy || !queue || choice.count == 0)
        return;
    for (size_t i = 0; i < choice.count; i++) {
        const struct tp_trace *trace = &run->traces[choice.traces[i]];
        busy[i] = curve(fig, &trace->utilisation, 100);
        queue[i] = curve(fig, &trace->queue, 1);
        busy[i].name = queue[i].name =
            tp_trace_label(fig, run, choice.traces[i]);
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_LINES,
        .title = "device busy (kernels, copies, sets) in equal pieces of time",
        .x = {.label = "time since the window began [s]"},
        .y = {.label = "busy [%]", .limited = true, .min = 0, .max = 100},
        .series = busy,
        .series_count = choice.count,
    };
    tp_fig_add(fig, &panel);
    panel.title = "launched and not yet started (all streams)";
    panel.y = (struct tp_axis){.label = "queue length [launches]"};
    panel.series = queue;
    tp_fig_add(fig, &panel);
}

static bool has_memory(const struct tp_trace *trace)
{
    return trace->allocated.count > 0;
}

void tp_trace_fig_memory(struct tp_fig *fig, const struct tp_trace_run *run)
{
    enum { PANELS = 4 };
    struct tp_trace_choice choice;
    const double gib = 1.0 / (1 << 30);
    tp_trace_choose(run, has_memory, PANELS, &choice);
    for (size_t i = 0; i < choice.count; i++) {
        const struct tp_trace *trace = &run->traces[choice.traces[i]];
        struct tp_series *series = tp_fig_alloc(fig, 2, sizeof *series);
        if (!series)
            return;
        series[0] = curve(fig, &trace->allocated, gib);
        series[1] = curve(fig, &trace->reserved, gib);
        series[0].name = "allocated";
        series[1].name = "reserved";
        const struct tp_panel panel = {
            .kind = TP_PANEL_LINES,
            .title = tp_fig_text(
                fig, "%s: %s", tp_trace_label(fig, run, choice.traces[i]),
                trace->memory.count ? trace->memory.rows[0].device : ""),
            .x = {.label = "time since the window began [s]"},
            .y = {.label = "memory [GiB]"},
            .series = series,
            .series_count = series[1].rows > 0 ? 2 : 1,
        };
        tp_fig_add(fig, &panel);
    }
}
