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

/* Kinds of work as they are told apart, each with its colour. */
static const struct {
    const char *name;
    unsigned kinds; /* bits of enum tp_work_kind */
} groups[] = {
    {"products, convolution", 1u << TP_WORK_GEMM | 1u << TP_WORK_CONVOLUTION},
    {"attention", 1u << TP_WORK_ATTENTION},
    {"normalisation, softmax", 1u << TP_WORK_NORM | 1u << TP_WORK_SOFTMAX},
    {"pointwise", 1u << TP_WORK_POINTWISE},
    {"copy, gather, reduction", 1u << TP_WORK_COPY | 1u << TP_WORK_GATHER |
                                    1u << TP_WORK_REDUCTION},
};
/* With those that are faster than the roof, and the two roofs. */
enum { GROUPS = sizeof groups / sizeof *groups, SERIES = GROUPS + 3 };
_Static_assert((int)SERIES <= (int)TP_PANEL_SERIES_MAX, "colours");

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

/* The rows of a group; g == GROUPS: those that are faster than the roof. */
static void add_points(struct tp_fig *fig, const struct tp_trace *trace,
                       size_t shown, struct tp_panel_series *series, size_t g)
{
    double *values = tp_fig_alloc(fig, 2 * shown + 2, sizeof *values);
    *series = (struct tp_panel_series){.values = values};
    series->name =
        g < GROUPS ? groups[g].name : "faster than the roof";
    series->colour = g < GROUPS ? TP_TRACE_GROUP_COLOUR + (unsigned)g
                                : TP_TRACE_DOUBT_COLOUR;
    for (size_t i = 0; values && i < shown; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        if (!is_shown(row) || (g < GROUPS) == (*row->doubt != '\0') ||
            (g < GROUPS && !(groups[g].kinds >> row->what & 1)))
            continue;
        values[2 * series->rows] = row->intensity;
        values[2 * series->rows++ + 1] = row->tflops;
    }
}

/* Rows of min(peak, intensity times bandwidth), none without a peak; from the
 * least intensity shown to the largest. */
static void add_roof(struct tp_fig *fig, struct tp_panel_series *series,
                     double peak, double gbps, const double range[2])
{
    double *values = tp_fig_alloc(fig, 2 * ROOF_POINTS, sizeof *values);
    *series = (struct tp_panel_series){.values = values};
    for (size_t i = 0; values && peak > 0 && i < ROOF_POINTS; i++) {
        const double x =
            range[0] * pow(range[1] / range[0],
                           (double)i / (ROOF_POINTS - 1));
        values[2 * i] = x;
        values[2 * i + 1] = fmin(peak, x * gbps / 1e3);
        series->rows = i + 1;
    }
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
    size_t used = 0; /* roofs below the points */
    add_roof(fig, &series[used], device->vector_tflops, device->gbps, range);
    series[used].name = tp_fig_text(fig, "roof of vectors: %.4g TFLOP/s",
                                    device->vector_tflops);
    series[used].colour = TP_TRACE_VECTOR_ROOF_COLOUR;
    used += series[used].rows > 0;
    add_roof(fig, &series[used], device->tflops[precision], device->gbps,
             range);
    series[used].name = tp_fig_text(fig, "roof of %s: %.4g TFLOP/s",
                                    tp_precision_word(precision),
                                    device->tflops[precision]);
    series[used].colour = TP_TRACE_PRODUCT_ROOF_COLOUR;
    used += series[used].rows > 0;
    const size_t roofs = used;
    for (size_t g = 0; g <= GROUPS; g++) {
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
        .bounds = roofs,
    };
    tp_fig_add(fig, &panel);
}

/* --- time that the roof explains ----------------------------------------- */

/* Of one operator: what it needs at the roof, more than that, and where no roof
 * is known or what is known of the work is wrong. */
enum part { AT, UNKNOWN, BEYOND, PARTS };
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
    if (row->roof_us > 0 && strcmp(row->doubt, "inputs") != 0) {
        /* faster than the memory: what was in a cache */
        sum.ms[AT] =
            fmin(row->roof_us * (double)row->count, row->device_us) / 1e3;
        sum.ms[BEYOND] = row->device_us / 1e3 - sum.ms[AT];
    } else {
        sum.ms[UNKNOWN] = row->device_us / 1e3;
    }
    return sum;
}

static void time_panel(struct tp_fig *fig, const struct tp_trace_run *run)
{
    static const char *const parts[] = {"what the roof needs", "not known",
                                        "more than it needs"};
    static const enum tp_trace_colour colours[] = {TP_TRACE_KERNEL_COLOUR,
                                                   TP_TRACE_DEVICE_COLOUR,
                                                   TP_TRACE_ABOVE_COLOUR};
    const char *names[BARS];
    double values[BARS * PARTS];
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < run->trace_count; i++)
        count += run->traces[i].roofline.count;
    struct sum *sums = tp_fig_alloc(fig, count + 1, sizeof *sums);
    if (!sums)
        return;
    count = 0;
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t j = 0; j < run->traces[i].roofline.count; j++)
            sums[count++] = sum_of(&run->traces[i].roofline.rows[j]);
    }
    if (count)
        qsort(sums, count, sizeof *sums, by_name);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || strcmp(sums[kept - 1].op, sums[i].op)) {
            sums[kept++] = sums[i];
            continue;
        }
        for (int p = 0; p < PARTS; p++)
            sums[kept - 1].ms[p] += sums[i].ms[p];
    }
    if (kept)
        qsort(sums, kept, sizeof *sums, by_total);
    kept = kept < BARS ? kept : BARS;
    for (size_t i = 0; i < kept; i++) {
        names[i] = sums[i].op;
        memcpy(values + i * PARTS, sums[i].ms, sizeof sums[i].ms);
    }
    const struct tp_stack stack = {
        .title = "time of their kernels",
        .rows = names,
        .row_count = kept,
        .parts = parts,
        .colours = colours,
        .part_count = PARTS,
        .values = values,
        .label = "time [ms]"};
    tp_trace_stack(fig, &stack);
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
