/* SPDX-License-Identifier: MIT */
/*
 * The adaptive threshold of a live monitor, replayed: mean, standard
 * deviation (divided by n), largest and smallest value of a warm-up; from its
 * last value on an alarm is a deviation of more than sigma deviations, a
 * value above twice the largest or below half the smallest.
 *
 * Where that says nonsense, the sensible thing is done: values that are not
 * there are not counted; twice and half are asked of values that were never
 * negative only, because of negative numbers the double is less; and where
 * all values are the same, the smallest deviation that means anything is taken
 * for theirs.
 */
#include "series/baseline_online.h"

#include <math.h>

/* What the warm-up establishes. */
struct normal {
    double mean, std, min, max;
};

static size_t count_values(const struct tp_baseline_series *series)
{
    size_t n = 0;
    for (size_t i = 0; i < series->count; i++)
        n += !isnan(series->value[i]);
    return n;
}

/* From the first `steps` values; returns the index of the last of them. */
static size_t establish(const struct tp_baseline_series *series, size_t steps,
                        struct normal *normal)
{
    double sum = 0, squares = 0;
    size_t n = 0, last = 0;
    *normal = (struct normal){.min = INFINITY, .max = -INFINITY};
    for (size_t i = 0; n < steps; i++) {
        if (isnan(series->value[i]))
            continue;
        sum += series->value[i];
        normal->min = fmin(normal->min, series->value[i]);
        normal->max = fmax(normal->max, series->value[i]);
        last = i;
        n++;
    }
    normal->mean = sum / (double)n;
    for (size_t i = 0; i <= last; i++) {
        double away = series->value[i] - normal->mean;
        squares += isnan(away) ? 0 : away * away;
    }
    normal->std = sqrt(squares / (double)n);
    return last;
}

/* The values that are no alarm reach from low to high. */
static void find_band(const struct normal *normal, double spread,
                      double sigma, double *low, double *high)
{
    *low = normal->mean - sigma * spread;
    *high = normal->mean + sigma * spread;
    if (normal->min >= 0) {
        *low = fmax(*low, normal->min / 2);
        *high = fmin(*high, normal->max * 2);
    }
}

static void see(const struct tp_baseline_series *series, size_t i,
                const struct normal *normal, struct tp_baseline *b)
{
    double away = fabs(series->value[i] - normal->mean) / b->spread;
    if (b->kind == TP_CHANGE_NONE) {
        b->first = b->shown = i;
        b->deviation = away;
        b->onset_to = series->at[i];
        b->onset_from = i > 0 ? series->at[i - 1] : series->at[i];
        b->kind = TP_CHANGE_SPIKE;
    }
    b->worst = fmax(b->worst, away);
}

void tp_baseline_online(const struct tp_baseline_series *series,
                        const struct tp_baseline_options *options,
                        struct tp_baseline *b,
                        const struct tp_baseline_trace *trace)
{
    size_t n = count_values(series), half = n / 2;
    size_t steps = options->warmup_steps < half ? options->warmup_steps : half;
    struct normal normal;
    if (steps == 0)
        return;
    size_t last = establish(series, steps, &normal), bad = 0;
    double floor = series->floor ? series->floor[last] : 0, low, high;
    b->warmup = last + 1;
    b->center = normal.mean;
    /* rounding leaves some of a constant's mean in its deviations */
    bool constant = normal.std <= 1e-12 * fabs(normal.mean);
    b->spread = constant ? fmax(floor, 1e-300) : normal.std;
    b->weak = steps < 3;
    find_band(&normal, b->spread, options->sigma, &low, &high);
    for (size_t i = 0; i < series->count; i++) {
        double value = series->value[i];
        bool alarm = i >= last && (value < low || value > high);
        if (trace->expected)
            trace->expected[i] = normal.mean;
        if (trace->low)
            trace->low[i] = low;
        if (trace->high)
            trace->high[i] = high;
        trace->alarm[i] = alarm;
        bad += alarm;
        if (alarm)
            see(series, i, &normal, b);
    }
    if (bad > 1 && trace->alarm[series->count - 1])
        b->kind = TP_CHANGE_SHIFT;
}
