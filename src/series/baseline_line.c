/* SPDX-License-Identifier: MIT */
/*
 * The line that predicts a point from the last 16 healthy ones: through the
 * medians of their older and of their newer half, so that a quarter of the
 * points may be arbitrary. The median of all slopes (Theil and Sen) bears a
 * little more and is more efficient in normal noise, but there are 120 of
 * them; least squares bears not a single outlier. The local spread is the
 * median of the absolute errors around the line, times 1.4826.
 *
 * Cost: two medians of eight a point, sorted by insertion.
 */
#include "series/baseline_line.h"

#include <math.h>
#include <string.h>

#include "stats/quantile.h"

/* Turns a median of absolute errors into a standard deviation. */
static const double TO_SIGMA = 1.4826;

static void sort_few(double *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double moved = values[i];
        size_t k = i;
        for (; k > 0 && values[k - 1] > moved; k--)
            values[k] = values[k - 1];
        values[k] = moved;
    }
}

double tp_line_median(double *values, size_t n)
{
    sort_few(values, n);
    return tp_sorted_median(values, n);
}

/* Puts `in` into sorted[TP_LINE_HALF] in place of `out`, which is there. */
static void exchange(double *sorted, double out, double in)
{
    size_t k = 0;
    while (k < TP_LINE_HALF - 1 && sorted[k] != out)
        k++;
    for (; k > 0 && sorted[k - 1] > in; k--)
        sorted[k] = sorted[k - 1];
    for (; k < TP_LINE_HALF - 1 && sorted[k + 1] < in; k++)
        sorted[k] = sorted[k + 1];
    sorted[k] = in;
}

void tp_line_remember(const struct tp_points *p, struct tp_history *h,
                      size_t point)
{
    if (h->count < TP_LINE_WINDOW) {
        h->of[h->count++] = point;
        if (h->count < TP_LINE_WINDOW)
            return;
        for (size_t i = 0; i < TP_LINE_HALF; i++) {
            h->older[i] = p->y[h->of[i]];
            h->newer[i] = p->y[h->of[TP_LINE_HALF + i]];
        }
        sort_few(h->older, TP_LINE_HALF);
        sort_few(h->newer, TP_LINE_HALF);
        return;
    }
    exchange(h->older, p->y[h->of[0]], p->y[h->of[TP_LINE_HALF]]);
    exchange(h->newer, p->y[h->of[TP_LINE_HALF]], p->y[point]);
    memmove(h->of, h->of + 1, (TP_LINE_WINDOW - 1) * sizeof *h->of);
    h->of[TP_LINE_WINDOW - 1] = point;
}

/* Mean time of `n` points. */
static double mean_time(const struct tp_points *p, const size_t *of, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += p->at[of[i]];
    return sum / (double)n;
}

/* The line through a history; h->count > 0. */
struct tp_line tp_line_fit(const struct tp_points *p,
                           const struct tp_history *h)
{
    struct tp_line line = {.used = h->count};
    size_t half = h->count >= TP_LINE_FIRM ? h->count / 2 : 0,
           rest = h->count - half;
    double older = 0, values[TP_LINE_WINDOW];
    if (h->count == TP_LINE_WINDOW) {
        older = tp_sorted_median(h->older, TP_LINE_HALF);
        line.level = tp_sorted_median(h->newer, TP_LINE_HALF);
    } else {
        for (size_t i = 0; i < half; i++)
            values[i] = p->y[h->of[i]];
        if (half > 0)
            older = tp_line_median(values, half);
        for (size_t i = 0; i < rest; i++)
            values[i] = p->y[h->of[half + i]];
        line.level = tp_line_median(values, rest);
    }
    line.mid = mean_time(p, h->of + half, rest);
    line.even = half > 0 ? (older + line.level) / 2 : line.level;
    if (p->flat) {
        line.level = line.even;
    } else if (half > 0) {
        double apart = line.mid - mean_time(p, h->of, half);
        line.slope = (line.level - older) / apart;
        line.reach = 2 * apart;
    }
    return line;
}

double tp_line_predict(const struct tp_line *line, double at)
{
    double ahead = fmin(at - line->mid, line->reach);
    return line->level + line->slope * ahead;
}

/* Robust spread of a history around its line. */
double tp_line_spread(const struct tp_points *p, const struct tp_history *h,
                      const struct tp_line *line)
{
    double values[TP_LINE_WINDOW];
    for (size_t i = 0; i < h->count; i++)
        values[i] = fabs(p->y[h->of[i]] - line->level -
                         line->slope * (p->at[h->of[i]] - line->mid));
    return TO_SIGMA * tp_line_median(values, h->count);
}
