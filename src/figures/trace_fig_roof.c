/* SPDX-License-Identifier: MIT */
/*
 * Operators against the machine: a roofline, and where the time beyond the roof
 * is.
 *
 * The first panel has a point for each row of /roofline, of the first trace
 * whose device is known, and the roofs as rows of points: products at the peak
 * of the precision with most time, all other work at that of vectors. One
 * colour is one kind of work. Rows with next to no time would hide the others:
 * those with 99 % of what is known are shown, the longest first. The second
 * panel adds up equal operators of all traces. O(n log n) in the rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures/trace_fig.h"
#include "trace/trace_flops.h"

enum { BARS = 15, ROOF_POINTS = 60, POINTS_MAX = 400 };

/* One colour means one thing in both panels. */
enum { BEYOND_COLOUR = 2, ROOF_COLOUR = 7, UNKNOWN_COLOUR = 8 };

/* Kinds of work as they are told apart. */
static const struct {
    const char *name;
    unsigned kinds; /* bits of enum tp_work_kind */
    unsigned colour;
} groups[] = {
    {"products (GEMM, convolution)",
     1u << TP_WORK_GEMM | 1u << TP_WORK_CONVOLUTION, 1},
    {"attention", 1u << TP_WORK_ATTENTION, 3},
    {"normalisation, softmax", 1u << TP_WORK_NORM | 1u << TP_WORK_SOFTMAX, 4},
    {"pointwise", 1u << TP_WORK_POINTWISE, 5},
    {"copy, gather, reduction", 1u << TP_WORK_COPY | 1u << TP_WORK_GATHER |
                                    1u << TP_WORK_REDUCTION, 6},
};
enum { GROUPS = sizeof groups / sizeof *groups, SERIES = GROUPS + 1 };

static bool is_shown(const struct tp_roof_row *row)
{
    return row->intensity > 0 && row->tflops > 0 && row->roof_us > 0;
}

static bool has_roof(const struct tp_trace *trace)
{
    for (size_t i = 0; i < trace->roofline.count; i++) {
        if (is_shown(&trace->roofline.rows[i]))
            return true;
    }
    return false;
}

/* The rows that are shown: so many of the first. */
static size_t rows_shown(const struct tp_trace *trace)
{
    double all = 0, sum = 0;
    size_t points = 0, i = 0;
    for (size_t j = 0; j < trace->roofline.count; j++)
        all += is_shown(&trace->roofline.rows[j])
                   ? trace->roofline.rows[j].device_us
                   : 0;
    for (; i < trace->roofline.count && points < POINTS_MAX &&
           sum < 0.99 * all;
         i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        sum += is_shown(row) ? row->device_us : 0;
        points += is_shown(row);
    }
    return i;
}

/* The precision of products with most time. */
static enum tp_precision main_precision(const struct tp_trace *trace)
{
    double us[TP_PRECISIONS] = {0};
    int most = TP_PRECISION_FP32;
    for (size_t i = 0; i < trace->roofline.count; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        for (int p = TP_PRECISION_FP64; p < TP_PRECISION_OTHER; p++) {
            if ((row->what == TP_WORK_GEMM ||
                 row->what == TP_WORK_CONVOLUTION ||
                 row->what == TP_WORK_ATTENTION) &&
                !strcmp(row->precision,
                        tp_precision_word((enum tp_precision)p)))
                us[p] += row->device_us;
        }
    }
    for (int p = TP_PRECISION_FP64; p < TP_PRECISION_OTHER; p++)
        most = us[p] > us[most] ? p : most;
    return (enum tp_precision)most;
}

static void add_points(struct tp_fig *fig, const struct tp_trace *trace,
                       size_t shown, struct tp_panel_series *series, size_t g)
{
    double *values = tp_fig_alloc(fig, 2 * shown + 2, sizeof *values);
    *series = (struct tp_panel_series){.name = groups[g].name,
                                       .values = values,
                                       .colour = groups[g].colour};
    for (size_t i = 0; values && i < shown; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        if (!is_shown(row) || !(groups[g].kinds >> row->what & 1))
            continue;
        values[2 * series->rows] = row->intensity;
        values[2 * series->rows++ + 1] = row->tflops;
    }
}

/* min(peak, intensity times bandwidth) of both peaks, from the least intensity
 * shown to the largest. */
static struct tp_panel_series roofs(struct tp_fig *fig,
                                    const struct tp_device_roof *device,
                                    enum tp_precision precision,
                                    const double range[2])
{
    const double peaks[2] = {device->tflops[precision],
                             device->vector_tflops};
    double *values = tp_fig_alloc(fig, 4 * ROOF_POINTS, sizeof *values);
    struct tp_panel_series series = {
        .name = tp_fig_text(fig, "roofs: %s %.4g, vector %.4g TFLOP/s",
                            tp_precision_word(precision), peaks[0], peaks[1]),
        .values = values,
        .colour = ROOF_COLOUR};
    for (size_t i = 0; values && i < 2 * ROOF_POINTS; i++) {
        const double peak = peaks[i / ROOF_POINTS];
        const double at = (double)(i % ROOF_POINTS) / (ROOF_POINTS - 1);
        const double x = range[0] * pow(range[1] / range[0], at);
        if (!(peak > 0))
            continue;
        values[2 * series.rows] = x;
        values[2 * series.rows++ + 1] = fmin(peak, x * device->gbps / 1e3);
    }
    return series;
}

static void roofline_panel(struct tp_fig *fig, const struct tp_trace_run *run,
                           size_t at)
{
    const struct tp_trace *trace = &run->traces[at];
    const struct tp_device_roof *device = &trace->device;
    const enum tp_precision precision = main_precision(trace);
    const size_t shown = rows_shown(trace);
    double range[2] = {1, 1};
    struct tp_panel_series *series =
        tp_fig_alloc(fig, SERIES, sizeof *series);
    if (!series)
        return;
    for (size_t i = 0; i < shown; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        if (is_shown(row)) {
            range[0] = fmin(range[0], row->intensity);
            range[1] = fmax(range[1], row->intensity);
        }
    }
    range[1] = fmax(range[1], 4e3 * device->tflops[precision] / device->gbps);
    series[0] = roofs(fig, device, precision, range); /* below the points */
    size_t used = 1;
    for (size_t g = 0; g < GROUPS; g++) {
        add_points(fig, trace, shown, &series[used], g);
        used += series[used].rows > 0; /* nor named in the legend */
    }
    const struct tp_panel panel = {
        .kind = TP_PANEL_POINTS,
        .title = tp_fig_text(
            fig, "operators and their inputs on %s%s%s",
            *device->name ? device->name : "a device by --peak",
            run->trace_count > 1 ? ", " : "",
            run->trace_count > 1 ? tp_trace_label(fig, run, at) : ""),
        .x = {.label = "arithmetic intensity [FLOP/byte]",
              .scale = TP_SCALE_LOG10},
        .y = {.label = "reached [TFLOP/s]", .scale = TP_SCALE_LOG10},
        .series = series,
        .series_count = used,
    };
    tp_fig_add(fig, &panel);
}

/* --- time beyond the roof ------------------------------------------------ */

/* Of one operator: at the roof, beyond it, and where no roof is known. */
enum part { AT, BEYOND, UNKNOWN, PARTS };
struct sum {
    const char *op;
    double ms[PARTS];
};

static double total(const struct sum *sum)
{
    return sum->ms[AT] + sum->ms[BEYOND] + sum->ms[UNKNOWN];
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sum *)a)->op, ((const struct sum *)b)->op);
}

static int by_total(const void *a, const void *b)
{
    const double x = total(a), y = total(b);
    return x != y ? x > y ? -1 : 1 : by_name(a, b);
}

static struct sum sum_of(const struct tp_roof_row *row)
{
    struct sum sum = {.op = row->op};
    if (row->roof_us > 0) {
        /* faster than the memory: what was in a cache */
        sum.ms[AT] =
            fmin(row->roof_us * (double)row->count, row->device_us) / 1e3;
        sum.ms[BEYOND] = row->device_us / 1e3 - sum.ms[AT];
    } else {
        sum.ms[UNKNOWN] = row->device_us / 1e3;
    }
    return sum;
}

/* Equal operators of all traces, longest first; how many. */
static size_t sum_up(struct tp_fig *fig, const struct tp_trace_run *run,
                     struct sum **sums)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < run->trace_count; i++)
        count += run->traces[i].roofline.count;
    struct sum *list = tp_fig_alloc(fig, count + 1, sizeof *list);
    count = 0;
    for (size_t i = 0; list && i < run->trace_count; i++) {
        for (size_t j = 0; j < run->traces[i].roofline.count; j++)
            list[count++] = sum_of(&run->traces[i].roofline.rows[j]);
    }
    if (count)
        qsort(list, count, sizeof *list, by_name);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || strcmp(list[kept - 1].op, list[i].op)) {
            list[kept++] = list[i];
            continue;
        }
        for (int p = 0; p < PARTS; p++)
            list[kept - 1].ms[p] += list[i].ms[p];
    }
    if (kept)
        qsort(list, kept, sizeof *list, by_total);
    *sums = list;
    return kept;
}

static void time_panel(struct tp_fig *fig, const struct tp_trace_run *run)
{
    static const char *const parts[] = {"at the roof", "beyond the roof",
                                        "roof not known"};
    static const unsigned colours[] = {ROOF_COLOUR, BEYOND_COLOUR,
                                       UNKNOWN_COLOUR};
    const char *names[BARS];
    struct sum *sums;
    size_t count = sum_up(fig, run, &sums);
    struct tp_panel_series *series = tp_fig_alloc(fig, PARTS, sizeof *series);
    double *values = tp_fig_alloc(fig, 3 * BARS * PARTS, sizeof *values);
    count = count < BARS ? count : BARS;
    for (size_t i = 0; series && values && i < count; i++) {
        double from = 0;
        names[i] = sums[i].op;
        for (int p = 0; p < PARTS; p++) {
            double *row = values + 3 * ((size_t)p * BARS + i);
            row[0] = (double)i;
            row[1] = from;
            row[2] = from += sums[i].ms[p];
        }
    }
    for (int p = 0; series && values && p < PARTS; p++)
        series[p] = (struct tp_panel_series){parts[p], values + 3 * p * BARS,
                                             count, colours[p]};
    const struct tp_panel panel = {
        .kind = TP_PANEL_STACKS,
        .title = "kernels of operators: what they need, and more",
        .x = {.label = "time [ms]"},
        .y = tp_fig_named_rows(fig, names, count),
        .series = series,
        .series_count = PARTS};
    if (series && values && count)
        tp_fig_add(fig, &panel);
}

void tp_trace_fig_roofline(struct tp_fig *fig, const struct tp_trace_run *run)
{
    for (size_t i = 0; i < run->trace_count; i++) {
        if (has_roof(&run->traces[i])) {
            roofline_panel(fig, run, i);
            time_panel(fig, run);
            return;
        }
    }
}
