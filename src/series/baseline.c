/* SPDX-License-Identifier: MIT */
#include "series/baseline.h"

#include <math.h>
#include <string.h>

#include "series/baseline_parts.h"

static const double HALF_PI = 1.57079632679489662;

const char *tp_change_name(enum tp_change change)
{
    static const char *const names[TP_CHANGES] = {
        [TP_CHANGE_NONE] = "none",   [TP_CHANGE_SPIKE] = "spike",
        [TP_CHANGE_SHIFT] = "shift", [TP_CHANGE_DRIFT] = "drift",
        [TP_CHANGE_VANISH] = "vanish"};
    return names[change];
}

double tp_baseline_straight(enum tp_baseline_scale scale, double value)
{
    if (scale == TP_BASELINE_LOG)
        return value > 0 ? log2(value) : NAN;
    if (scale == TP_BASELINE_RATIO)
        return value >= 0 && value <= 1 ? asin(sqrt(value)) : NAN;
    return value;
}

double tp_baseline_bent(enum tp_baseline_scale scale, double straight)
{
    if (scale == TP_BASELINE_LOG)
        return exp2(straight);
    if (scale == TP_BASELINE_RATIO) {
        double inside = fmin(fmax(straight, 0), HALF_PI);
        return isnan(straight) ? NAN : sin(inside) * sin(inside);
    }
    return straight;
}

/* A spread in units of value is half of what one spread up and one down are
 * apart: solved for the straight one. */
double tp_baseline_deviation(enum tp_baseline_scale scale, double value,
                             double center, double spread)
{
    double straight = spread;
    if (scale == TP_BASELINE_LOG)
        straight = asinh(spread / center) / log(2);
    else if (scale == TP_BASELINE_RATIO && center > 0 && center < 1)
        straight = asin(fmin(spread / sqrt(center * (1 - center)), 1)) / 2;
    return fabs(tp_baseline_straight(scale, value) -
                tp_baseline_straight(scale, center)) /
           straight;
}

double tp_baseline_floor(const struct tp_baseline_series *series, size_t i)
{
    double value = series->value[i];
    double room = series->floor ? series->floor[i] : 0;
    if (series->scale == TP_BASELINE_LOG)
        return log2(1 + room / value);
    if (series->scale == TP_BASELINE_RATIO) {
        /* On the side where the arcsine is less steep. */
        double other = value < 0.5 ? value + room : value - room;
        other = fmin(fmax(other, 0), 1);
        return fabs(asin(sqrt(other)) - asin(sqrt(value)));
    }
    return room;
}

/* Hoare's selection: each round keeps the side that holds the rank. */
double tp_baseline_select(double *values, size_t n, size_t rank)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, k = high;
        while (i <= k) {
            while (values[i] < pivot)
                i++;
            while (values[k] > pivot)
                k--;
            if (i <= k) {
                double moved = values[i];
                values[i++] = values[k];
                values[k] = moved;
                if (k == 0)
                    break;
                k--;
            }
        }
        if (rank <= k)
            high = k;
        else if (rank >= i)
            low = i;
        else
            break;
    }
    return values[rank];
}

size_t tp_baseline_joined(const struct tp_baseline_series *series,
                          const uint8_t *alarm, size_t window)
{
    size_t alarms = 0;
    int64_t last = 0;
    for (size_t i = 0; i < series->count; i++) {
        if (!alarm[i])
            continue;
        alarms += alarms == 0 || series->at[i] - last > (int64_t)window;
        last = series->at[i];
    }
    return alarms;
}

size_t tp_baseline_scratch(size_t count)
{
    /* Eleven numbers a point, as many again for the series seen backwards or
     * at a coarser scale, and the alarms. */
    return 22 * count + count / 8 + 16;
}

void tp_baseline_fit(const struct tp_baseline_series *series,
                     const struct tp_baseline_options *options,
                     double *scratch, struct tp_baseline *baseline,
                     const struct tp_baseline_trace *trace)
{
    *baseline = (struct tp_baseline){.center = NAN, .spread = NAN};
    uint8_t *alarm = (uint8_t *)(scratch + 22 * series->count);
    struct tp_baseline_trace all = trace ? *trace
                                         : (struct tp_baseline_trace){0};
    if (!all.alarm)
        all.alarm = alarm;
    memset(all.alarm, 0, series->count);
    if (options->online)
        tp_baseline_online(series, options, baseline, &all);
    else
        tp_baseline_retro(series, options, scratch, baseline, &all);
    baseline->alarms =
        tp_baseline_joined(series, all.alarm, options->alert_window);
}
