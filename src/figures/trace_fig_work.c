/* SPDX-License-Identifier: MIT */
/*
 * What the work is: operators and kernels, how long they last, the device and
 * its memory over time. Times of equal names are added up over all traces by
 * sorting the names, then sorted by time: O(n log n), without the table a hash
 * would need. Durations are
 * shown by number and by time, since most kernels are short and most time is in
 * the long ones. One or two traces are curves over time, more are rows of a
 * map, of means in 80 equal pieces.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures/trace_fig.h"
#include "trace/trace_lists.h"

enum { BARS_MAX = 20 };

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

static struct named self_cuda(const void *row)
{
    const struct tp_op_row *op = row;
    return (struct named){op->is_device ? NULL : op->name, op->self_cuda_us};
}

static struct named self_cpu(const void *row)
{
    const struct tp_op_row *op = row;
    return (struct named){op->is_device ? NULL : op->name, op->self_cpu_us};
}

static struct named device_time(const void *row)
{
    const struct tp_kernel_row *kernel = row;
    return (struct named){kernel->name, kernel->total_us};
}

/* What `take` makes of the rows of a list of all traces; rows it gives no name
 * are left out. */
static struct named_list times(struct tp_fig *fig,
                               const struct tp_trace_run *run,
                               enum tp_trace_list which,
                               struct named (*take)(const void *row))
{
    size_t total = 0, count;
    for (size_t i = 0; i < run->trace_count; i++) {
        tp_trace_list_rows(&run->traces[i], which, &count);
        total += count;
    }
    struct named_list list = {
        tp_fig_alloc(fig, total + 1, sizeof *list.items), 0};
    for (size_t i = 0; i < run->trace_count && list.items; i++) {
        const char *row =
            tp_trace_list_rows(&run->traces[i], which, &count);
        for (; count > 0; count--, row += tp_trace_lists[which].row_size) {
            const struct named item = take(row);
            if (item.name)
                list.items[list.count++] = item;
        }
    }
    merge_names(&list);
    return list;
}

/* Bars of the names with most time, in `colour`; `room` bytes for a name. */
static void add_bars(struct tp_fig *fig, const char *title,
                     const struct named_list *list,
                     enum tp_trace_colour colour, size_t room)
{
    const char *names[BARS_MAX], *shown[BARS_MAX];
    const size_t most = list->count < BARS_MAX ? list->count : BARS_MAX;
    double *values = tp_fig_alloc(fig, 2 * most + 1, sizeof *values);
    struct tp_panel_series *series = tp_fig_alloc(fig, 1, sizeof *series);
    size_t rows = 0;
    if (!values || !series || most == 0)
        return;
    for (; rows < most &&
           tp_trace_is_seen(list->items[rows].us, list->items[0].us);
         rows++) {
        names[rows] = list->items[rows].name;
        values[2 * rows] = (double)rows;
        values[2 * rows + 1] = list->items[rows].us / 1e3;
    }
    tp_trace_short_names(fig, names, rows, room, shown);
    *series =
        (struct tp_panel_series){.name = tp_trace_colour_of(colour)->name,
                                 .values = values,
                                 .rows = rows,
                                 .colour = colour};
    const struct tp_panel panel = {
        .kind = TP_PANEL_BARS,
        .title = rows < list->count
                     ? tp_fig_text(fig, "%s (%zu of %zu)", title, rows,
                                   list->count)
                     : title,
        .x = {.label = "time [ms]"},
        .y = tp_fig_named_rows(fig, shown, rows),
        .series = series,
        .series_count = 1,
    };
    tp_fig_add(fig, &panel);
}

static const char *of_all(const struct tp_trace_run *run)
{
    return run->trace_count > 1 ? ", all traces" : "";
}

void tp_trace_fig_operators(struct tp_fig *fig, const struct tp_trace_run *run)
{
    struct named_list cuda = times(fig, run, TP_TRACE_OPS, self_cuda);
    struct named_list cpu = times(fig, run, TP_TRACE_OPS, self_cpu);
    add_bars(fig, tp_fig_text(fig, "self CUDA time%s", of_all(run)), &cuda,
             TP_TRACE_DEVICE_COLOUR, TP_TRACE_NAME_HALF);
    add_bars(fig, tp_fig_text(fig, "self CPU time%s", of_all(run)), &cpu,
             TP_TRACE_HOST_COLOUR, TP_TRACE_NAME_HALF);
}

void tp_trace_fig_top_kernels(struct tp_fig *fig,
                              const struct tp_trace_run *run)
{
    struct named_list kernels =
        times(fig, run, TP_TRACE_KERNELS, device_time);
    add_bars(fig, tp_fig_text(fig, "kernels, copies and sets%s", of_all(run)),
             &kernels, TP_TRACE_DEVICE_COLOUR, TP_TRACE_NAME_FULL);
}

/* --- durations of kernels ---------------------------------------------- */

/* Where a bin of the histogram begins, us; see TP_KERNEL_BINS. */
static double bin_begin(size_t bin)
{
    return exp2((double)((int)bin - 1) / 2);
}

/* Powers of four; those outside of a panel are not drawn. */
static const struct tp_tic tics[] = {
    {1, "1 us"},        {4, "4 us"},        {16, "16 us"},
    {64, "64 us"},      {256, "256 us"},    {1024, "1 ms"},
    {4096, "4.1 ms"},   {16384, "16 ms"},   {65536, "66 ms"},
    {262144, "262 ms"}, {1048576, "1 s"}};

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
        tp_fig_alloc(fig, 4 * (TP_KERNEL_BINS + 3), sizeof *values);
    struct tp_panel_series *series = tp_fig_alloc(fig, 2, sizeof *series);
    if (!values || !series || all_count == 0)
        return;
    double *second = values + 2 * (TP_KERNEL_BINS + 3);
    size_t n = 1;
    values[0] = second[0] = bin_begin(first); /* opens the outline */
    values[1] = second[1] = 0;
    for (size_t b = first; b <= last + 1; b++, n++) {
        bool beyond = b > last; /* closes it */
        values[2 * n] = second[2 * n] = bin_begin(b);
        values[2 * n + 1] = beyond ? 0 : 100 * count[b] / all_count;
        second[2 * n + 1] =
            beyond || !(all_us > 0) ? 0 : 100 * us[b] / all_us;
    }
    series[0] = (struct tp_panel_series){
        .name = tp_trace_colour_of(TP_TRACE_NUMBER_COLOUR)->name,
        .values = values,
        .rows = n,
        .colour = TP_TRACE_NUMBER_COLOUR};
    series[1] = (struct tp_panel_series){
        .name = tp_trace_colour_of(TP_TRACE_DURATION_COLOUR)->name,
        .values = second,
        .rows = n,
        .colour = TP_TRACE_DURATION_COLOUR};
    const struct tp_panel panel = {
        .kind = TP_PANEL_STEPS,
        .title = tp_fig_text(fig, "%.0f kernels, %.4g ms together", all_count,
                             all_us / 1e3),
        .x = {.label = "duration, two bins per octave",
              .scale = TP_SCALE_LOG2,
              .tics = tics,
              .tic_count = sizeof tics / sizeof *tics},
        .y = {.label = "share in each bin [%]"},
        .series = series,
        .series_count = 2,
    };
    tp_fig_add(fig, &panel);
}

/* --- over time --------------------------------------------------------- */

/* A curve as a series: time in units of `us` against scaled values. */
static struct tp_panel_series curve(struct tp_fig *fig,
                                    const struct tp_curve *points, double us,
                                    double scale)
{
    double *values = tp_fig_alloc(fig, 2 * points->count + 1, sizeof *values);
    for (size_t i = 0; values && i < points->count; i++) {
        values[2 * i] = points->rows[i].at_us / us;
        values[2 * i + 1] = points->rows[i].value * scale;
    }
    return (struct tp_panel_series){.values = values,
                                    .rows = values ? points->count : 0};
}

static bool has_utilisation(const struct tp_trace *trace)
{
    return trace->utilisation.count > 0;
}

/* The time axis of curves; milliseconds where seconds would be fractions. */
struct clock {
    const char *label;
    double us; /* of a unit */
};

static struct clock clock_for(const struct tp_trace_run *run,
                              const struct tp_trace_choice *choice)
{
    double longest = 0;
    for (size_t i = 0; i < choice->count; i++)
        longest = fmax(longest,
                       run->traces[choice->traces[i]].idle.window_us);
    return longest < 1e6
               ? (struct clock){"time since the window began [ms]", 1e3}
               : (struct clock){"time since the window began [s]", 1e6};
}

/* Few traces are curves. */
static void busy_curves(struct tp_fig *fig, const struct tp_trace_run *run,
                        const struct tp_trace_choice *choice)
{
    struct clock clock = clock_for(run, choice);
    struct tp_panel_series *busy =
        tp_fig_alloc(fig, choice->count + 1, sizeof *busy);
    struct tp_panel_series *queue =
        tp_fig_alloc(fig, choice->count + 1, sizeof *queue);
    if (!busy || !queue)
        return;
    for (size_t i = 0; i < choice->count; i++) {
        const struct tp_trace *trace = &run->traces[choice->traces[i]];
        busy[i] = curve(fig, &trace->utilisation, clock.us, 100);
        queue[i] = curve(fig, &trace->queue, clock.us, 1);
        busy[i].name = queue[i].name =
            tp_trace_label(fig, run, choice->traces[i]);
        busy[i].colour = queue[i].colour = TP_TRACE_FIRST_COLOUR + (unsigned)i;
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_LINES,
        .title = "device busy (kernels, copies, sets) in equal pieces of time",
        .x = {.label = clock.label},
        .y = {.label = "busy [%]", .limited = true, .min = 0, .max = 100},
        .series = busy,
        .series_count = choice->count,
    };
    tp_fig_add(fig, &panel);
    panel.title =
        "launched and not yet started (all streams), mean of each piece";
    panel.y = (struct tp_axis){.label = "queue length [launches]"};
    panel.series = queue;
    tp_fig_add(fig, &panel);
}

/* Means of a curve in `columns` equal pieces of `length` us; NaN: none. */
static void fold_curve(const struct tp_curve *points, double length,
                       size_t columns, double *means)
{
    for (size_t c = 0; c < columns; c++) {
        double sum = 0, n = 0;
        for (size_t i = 0; i < points->count; i++) {
            double at = points->rows[i].at_us / length * (double)columns;
            if (at >= (double)c && at < (double)c + 1) {
                sum += points->rows[i].value;
                n++;
            }
        }
        means[c] = n > 0 ? sum / n : NAN;
    }
}

/* Many traces are rows of a map. */
static void busy_map(struct tp_fig *fig, const struct tp_trace_run *run,
                     const struct tp_trace_choice *choice)
{
    enum { COLUMNS = 80 };
    struct clock clock = clock_for(run, choice);
    double means[COLUMNS], length = 0;
    const char *names[TP_TRACE_ROWS_MAX];
    double *cells =
        tp_fig_alloc(fig, 3 * choice->count * COLUMNS, sizeof *cells);
    struct tp_panel_series *series = tp_fig_alloc(fig, 1, sizeof *series);
    for (size_t i = 0; i < choice->count; i++)
        length =
            fmax(length, run->traces[choice->traces[i]].idle.window_us);
    size_t n = 0;
    for (size_t r = 0; cells && series && r < choice->count; r++) {
        const struct tp_trace *trace = &run->traces[choice->traces[r]];
        names[r] = tp_trace_label(fig, run, choice->traces[r]);
        fold_curve(&trace->utilisation, length * 1.0001, COLUMNS, means);
        for (size_t c = 0; c < COLUMNS; c++) {
            if (isnan(means[c]))
                continue;
            cells[3 * n] = ((double)c + 0.5) * length / COLUMNS / clock.us;
            cells[3 * n + 1] = (double)r;
            cells[3 * n++ + 2] = 100 * means[c];
        }
    }
    if (fig->failed)
        return;
    *series = (struct tp_panel_series){.name = "", .values = cells, .rows = n};
    const struct tp_panel panel = {
        .kind = TP_PANEL_HEAT,
        .title = "device busy (kernels, copies, sets); grey: not recorded",
        .x = {.label = clock.label,
              .limited = true,
              .min = 0,
              .max = length / clock.us},
        .y = tp_fig_named_rows(fig, names, choice->count),
        .z = {.label = "busy [%]", .limited = true, .min = 0, .max = 100},
        .palette = TP_PALETTE_BUSY,
        .series = series,
        .series_count = 1,
        .cell_width = length / COLUMNS / clock.us,
        .cell_height = 1,
    };
    tp_fig_add(fig, &panel);
}

void tp_trace_fig_utilisation(struct tp_fig *fig,
                              const struct tp_trace_run *run)
{
    enum { CURVES_MAX = 2 };
    struct tp_trace_choice choice;
    tp_trace_choose(run, has_utilisation, TP_TRACE_ROWS_MAX, &choice);
    if (choice.count > CURVES_MAX)
        busy_map(fig, run, &choice);
    else if (choice.count > 0)
        busy_curves(fig, run, &choice);
}

static bool has_memory(const struct tp_trace *trace)
{
    return trace->allocated.count > 0;
}

static double peak_of(const struct tp_curve *points)
{
    double peak = 0;
    for (size_t i = 0; i < points->count; i++)
        peak = fmax(peak, points->rows[i].value);
    return peak;
}

void tp_trace_fig_memory(struct tp_fig *fig, const struct tp_trace_run *run)
{
    enum { PANELS = 4 };
    struct tp_trace_choice choice;
    tp_trace_choose(run, has_memory, PANELS, &choice);
    struct clock clock = clock_for(run, &choice);
    for (size_t i = 0; i < choice.count; i++) {
        const struct tp_trace *trace = &run->traces[choice.traces[i]];
        struct tp_panel_series *series = tp_fig_alloc(fig, 2, sizeof *series);
        if (!series)
            return;
        const struct tp_trace_amount unit = tp_trace_amount_for(
            fmax(peak_of(&trace->allocated), peak_of(&trace->reserved)));
        series[0] = curve(fig, &trace->allocated, clock.us, 1 / unit.bytes);
        series[1] = curve(fig, &trace->reserved, clock.us, 1 / unit.bytes);
        series[0].colour = TP_TRACE_ALLOCATED_COLOUR;
        series[1].colour = TP_TRACE_RESERVED_COLOUR;
        for (int k = 0; k < 2; k++)
            series[k].name = tp_trace_colour_of(series[k].colour)->name;
        const struct tp_panel panel = {
            .kind = TP_PANEL_STEPS, /* it stays until the next event */
            .title = tp_fig_text(
                fig, "%s: %s", tp_trace_label(fig, run, choice.traces[i]),
                trace->memory.count ? trace->memory.rows[0].device : ""),
            .x = {.label = clock.label},
            .y = {.label = unit.label},
            .series = series,
            /* the host has no reserve */
            .series_count = peak_of(&trace->reserved) > 0 ? 2 : 1,
        };
        tp_fig_add(fig, &panel);
    }
}
