/* SPDX-License-Identifier: MIT */
/*
 * Operators against the machine: a roofline, and where the time beyond the roof
 * is.
 *
 * The first panel has a point for each row of /roofline, of the first trace
 * whose device is known, and the roofs as lines: products at the peak of the
 * precision with most time, all other work at that of vectors. One colour is
 * one kind of work. Rows with next to no time would hide the others: those with
 * 98 % of what is known are shown, the longest first, and all that are faster
 * than their roof. The second panel adds up equal operators of all traces, but
 * for communication, which has no roof. O(n log n) in the rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures/trace_fig.h"
#include "trace/trace_flops.h"
#include "trace/trace_names.h"

enum { BARS = 15, POINTS_MAX = 400 };

/* Of the time of work that is known, so much has points. */
static const double least_shown = 0.98;

/* Kinds of work as they are told apart, each with its colour. */
static const struct {
    enum tp_trace_colour colour;
    unsigned kinds; /* bits of enum tp_work_kind */
} groups[] = {
    {TP_TRACE_PRODUCT_COLOUR, 1u << TP_WORK_GEMM | 1u << TP_WORK_CONVOLUTION},
    {TP_TRACE_ATTENTION_COLOUR, 1u << TP_WORK_ATTENTION},
    {TP_TRACE_NORM_COLOUR, 1u << TP_WORK_NORM | 1u << TP_WORK_SOFTMAX},
    {TP_TRACE_POINTWISE_COLOUR, 1u << TP_WORK_POINTWISE},
    {TP_TRACE_MOVE_COLOUR, 1u << TP_WORK_COPY | 1u << TP_WORK_GATHER |
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

/* Of the rows that can be shown so many of the first are, beside those that are
 * faster than their roof. */
static size_t rows_shown(const struct tp_trace *trace)
{
    double all = 0, sum = 0;
    size_t points = 0, i = 0;
    for (size_t j = 0; j < trace->roofline.count; j++)
        all += is_shown(&trace->roofline.rows[j])
                   ? trace->roofline.rows[j].device_us
                   : 0;
    for (; i < trace->roofline.count && points < POINTS_MAX &&
           sum < least_shown * all;
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

/* The rows of a group, of the first `shown`; g == GROUPS: all that are faster
 * than the roof. */
static void add_points(struct tp_fig *fig, const struct tp_trace *trace,
                       size_t shown, struct tp_panel_series *series, size_t g)
{
    const size_t count = g < GROUPS ? shown : trace->roofline.count;
    double *values = tp_fig_alloc(fig, 2 * count + 2, sizeof *values);
    *series = (struct tp_panel_series){
        .values = values,
        .colour = g < GROUPS ? groups[g].colour : TP_TRACE_DOUBT_COLOUR};
    series->name = tp_trace_colour_of(series->colour)->name;
    for (size_t i = 0; values && i < count && series->rows < POINTS_MAX; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        if (!is_shown(row) || (g < GROUPS) == (*row->doubt != '\0') ||
            (g < GROUPS && !(groups[g].kinds >> row->what & 1)))
            continue;
        values[2 * series->rows] = row->intensity;
        values[2 * series->rows++ + 1] = row->tflops;
    }
}

/* What a device can do, and intensities between which it is drawn. */
struct roof {
    double tflops, gbps, from, to;
};

/* A line of min(peak, intensity times bandwidth) that bends where they meet;
 * false without a peak. */
static bool add_roof(struct tp_fig *fig, struct tp_panel_series *series,
                     enum tp_trace_colour colour, const char *of,
                     const struct roof *roof)
{
    double *values = tp_fig_alloc(fig, 6, sizeof *values);
    const double bend = 1e3 * roof->tflops / roof->gbps;
    const double x[] = {fmin(roof->from, bend), bend, fmax(roof->to, bend)};
    if (!values || !(roof->tflops > 0) || !(roof->gbps > 0))
        return false;
    for (size_t i = 0; i < 3; i++) {
        values[2 * i] = x[i];
        values[2 * i + 1] = fmin(roof->tflops, x[i] * roof->gbps / 1e3);
    }
    *series = (struct tp_panel_series){
        .name =
            tp_fig_text(fig, "%s%s", tp_trace_colour_of(colour)->name, of),
        .values = values,
        .rows = 3,
        .colour = colour};
    return true;
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
    const char *word = tp_precision_word(precision);
    const struct roof vectors = {device->vector_tflops, device->gbps, range[0],
                                 range[1]},
                      products = {device->tflops[precision], device->gbps,
                                  range[0], range[1]};
    size_t used = 0; /* roofs below the points */
    if (device->vector_tflops != device->tflops[precision])
        used += add_roof(fig, &series[used], TP_TRACE_VECTOR_ROOF_COLOUR, "",
                         &vectors);
    const char *of =
        tp_fig_text(fig, " %s%s", word, used ? "" : "; vectors");
    used += add_roof(fig, &series[used], TP_TRACE_PRODUCT_ROOF_COLOUR, of,
                     &products);
    const size_t roofs = used;
    for (size_t g = 0; g <= GROUPS; g++) {
        add_points(fig, trace, shown, &series[used], g);
        used += series[used].rows > 0; /* nor named in the legend */
    }
    const struct tp_panel panel = {
        .kind = TP_PANEL_POINTS,
        .title = tp_fig_text(
            fig, "%s%s%s: %.4g TFLOP/s %s, %.4g vectors, %.4g GB/s",
            *device->name ? device->name : "device of --peak",
            run->trace_count > 1 ? ", " : "",
            run->trace_count > 1 ? tp_trace_label(fig, run, at) : "",
            device->tflops[precision], word, device->vector_tflops,
            device->gbps),
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

/* Rows of operators that compute; *count of them. */
static struct sum *list_sums(struct tp_fig *fig, const struct tp_trace_run *run,
                             size_t *count)
{
    size_t all = 0;
    for (size_t i = 0; i < run->trace_count; i++)
        all += run->traces[i].roofline.count;
    struct sum *sums = tp_fig_alloc(fig, all + 1, sizeof *sums);
    *count = 0;
    for (size_t i = 0; i < run->trace_count && sums; i++) {
        for (size_t j = 0; j < run->traces[i].roofline.count; j++) {
            const struct tp_roof_row *row = &run->traces[i].roofline.rows[j];
            if (!(tp_name_kinds(row->kernel) & TP_NAME_COMM))
                sums[(*count)++] = sum_of(row);
        }
    }
    return sums;
}

/* Adds up equal operators, those with most time first. */
static size_t merge_sums(struct sum *sums, size_t count)
{
    size_t kept = 0;
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
    return kept;
}

static void time_panel(struct tp_fig *fig, const struct tp_trace_run *run)
{
    static const enum tp_trace_colour parts[] = {
        TP_TRACE_NEED_COLOUR, TP_TRACE_ABOVE_COLOUR, TP_TRACE_NO_ROOF_COLOUR};
    const char *names[BARS];
    double values[BARS * PARTS];
    size_t count, shown = 0;
    struct sum *sums = list_sums(fig, run, &count);
    if (!sums)
        return;
    count = merge_sums(sums, count);
    while (shown < count && shown < BARS &&
           tp_trace_is_seen(total(&sums[shown]), total(&sums[0]))) {
        names[shown] =
            tp_trace_short_name(fig, sums[shown].op, TP_TRACE_NAME_HALF);
        memcpy(values + shown * PARTS, sums[shown].ms, sizeof sums[shown].ms);
        shown++;
    }
    const struct tp_stack stack = {
        .title = shown < count
                     ? tp_fig_text(fig, "time of their kernels (%zu of %zu)",
                                   shown, count)
                     : "time of their kernels",
        .rows = names,
        .row_count = shown,
        .parts = parts,
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
