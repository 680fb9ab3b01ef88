/* SPDX-License-Identifier: MIT */
/*
 * How values are compared. Magnitudes vary by factors, so they are compared by
 * log2; shares vary less near 0 and 1, which the arcsine of their square root
 * evens out; means and decibels are taken as they are. A power chosen from the
 * data (Box-Cox) would fit better, but differ from run to run.
 *
 * A spread is measured on the straightened values and given in units of value:
 * half of what one spread up and one spread down are apart. O(1) a value.
 */
#include "series/baseline_scale.h"

#include <math.h>

static const double HALF_PI = 1.57079632679489662;

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

double tp_baseline_width(enum tp_baseline_scale scale, double level,
                         double spread)
{
    return (tp_baseline_bent(scale, level + spread) -
            tp_baseline_bent(scale, level - spread)) /
           2;
}

/* tp_baseline_width, solved for the straight spread. */
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
