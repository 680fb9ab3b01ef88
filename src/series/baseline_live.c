/* SPDX-License-Identifier: MIT */
/*
 * The adaptive threshold of a live monitor, replayed: mean, standard
 * deviation (divided by n), largest and smallest value of a warm-up; from its
 * last value on an alarm is a deviation of more than sigma deviations, a
 * value above twice the largest or below half the smallest. Online they stay
 * what they are after the warm-up; rolling they are those of the last points
 * that were no alarm, so that the monitor follows what changes slowly.
 *
 * Where that says nonsense, the sensible thing is done: values that are not
 * there or infinite are not learnt from, nor is a number of NaN where another
 * point has none; twice and half are asked of values
 * that were never negative only, because of negative numbers the double is
 * less; and where all values are the same, the smallest deviation that means
 * anything is taken for theirs.
 *
 * The window is a queue of two stacks: values that came since the last turn,
 * merged as they come, and those before it, each with what is merged from it
 * on. When these are used up the stacks turn. A sum from which the oldest value
 * is taken off would lose digits, and has no extremes. Deviations are merged as
 * lengths are (hypot), since their squares do not fit beyond 10^154. O(1) a
 * point, whatever the window.
 *
 * How many points noise alone puts beyond the limits is added up beside: values
 * of the window are straightened, since that evens their noise out, and the
 * next one is as far from their mean as Student's t says, with the freedom that
 * so many values leave, or less where tails are heavier (baseline_tails.h).
 */
#include "series/baseline_live.h"

#include <math.h>

#include "series/baseline_chance.h"

/* --- what is normal ----------------------------------------------- */

/* Mergeable; all zero is none. */
struct spread {
    double count, mean, norm; /* norm: of the deviations from the mean   */
};

/* Mergeable, too; all zero is none. */
struct normal {
    struct spread plain, straight; /* straight: of values on their scale  */
    double min, max;
};

static struct spread merge_spreads(const struct spread *a,
                                   const struct spread *b)
{
    double count = a->count + b->count, apart = b->mean - a->mean;
    if (a->count == 0 || b->count == 0)
        return a->count == 0 ? *b : *a;
    double part = b->count / count;
    return (struct spread){
        count, a->mean + apart * part,
        hypot(hypot(a->norm, b->norm), apart * sqrt(a->count * part))};
}

static struct normal merge(const struct normal *a, const struct normal *b)
{
    if (a->plain.count == 0 || b->plain.count == 0)
        return a->plain.count == 0 ? *b : *a;
    return (struct normal){merge_spreads(&a->plain, &b->plain),
                           merge_spreads(&a->straight, &b->straight),
                           fmin(a->min, b->min), fmax(a->max, b->max)};
}

static struct normal normal_of(enum tp_baseline_scale scale, double value)
{
    double straight = tp_baseline_straight(scale, value);
    struct normal one = {{1, value, 0}, {0, 0, 0}, value, value};
    if (isfinite(straight))
        one.straight = (struct spread){1, straight, 0};
    return one;
}

/* The last `capacity` values. */
struct window {
    size_t capacity;
    struct normal *older; /* [capacity]: of a value and those after it    */
    size_t from, end;     /* which of these are left                      */
    double *fresh;        /* [capacity]                                   */
    size_t fresh_count;
    struct normal sum; /* of the fresh ones                            */
    enum tp_baseline_scale scale;
    size_t newest; /* point of the newest                          */
};

static void turn(struct window *w)
{
    struct normal all = {.min = 0};
    for (size_t i = w->fresh_count; i-- > 0;) {
        struct normal one = normal_of(w->scale, w->fresh[i]);
        w->older[i] = all = merge(&one, &all);
    }
    w->from = 0;
    w->end = w->fresh_count;
    w->fresh_count = 0;
    w->sum = (struct normal){.min = 0};
}

static void push(struct window *w, const struct tp_baseline_series *series,
                 size_t point)
{
    struct normal one = normal_of(w->scale, series->value[point]);
    if (w->fresh_count + w->end - w->from == w->capacity) {
        if (w->from == w->end)
            turn(w);
        w->from++;
    }
    w->fresh[w->fresh_count++] = series->value[point];
    w->sum = merge(&w->sum, &one);
    w->newest = point;
}

/* --- the band ----------------------------------------------- */

/* One odd value among ten is exactly three deviations off their mean: that is
 * within the limit, however sums are rounded. */
static const double TIE = 1e-9;

/* The values that are no alarm reach from low to high. */
struct band {
    struct normal normal;
    double spread, low, high;
};

static struct band find_band(const struct tp_baseline_series *series,
                             const struct window *w, double sigma)
{
    const struct normal none = {.min = 0};
    const struct normal *older = w->from < w->end ? &w->older[w->from] : &none;
    struct band band = {.normal = merge(older, &w->sum)};
    const struct normal *normal = &band.normal;
    const struct spread *plain = &normal->plain;
    double std = plain->norm / sqrt(plain->count);
    double floor = series->floor ? series->floor[w->newest] : 0;
    /* rounding leaves some of a constant's mean in its deviations */
    bool constant = std <= 1e-12 * fabs(plain->mean);
    band.spread = constant ? fmax(floor, 1e-300) : std;
    double reach = sigma * band.spread * (1 + TIE);
    band.low = plain->mean - reach;
    band.high = plain->mean + reach;
    if (normal->min >= 0) {
        band.low = fmax(band.low, normal->min / 2);
        band.high = fmin(band.high, normal->max * 2);
    }
    return band;
}

static void trace_band(const struct band *band, size_t i,
                       const struct tp_baseline_trace *trace)
{
    if (trace->expected)
        trace->expected[i] = band->normal.plain.mean;
    if (trace->spread)
        trace->spread[i] = band->spread;
    if (trace->low)
        trace->low[i] = band->low;
    if (trace->high)
        trace->high[i] = band->high;
}

/* What a baseline says, of its first alarm or, without one, of its end. */
static void set_normal(const struct band *band, struct tp_baseline *b)
{
    b->center = band->normal.plain.mean;
    b->spread = band->spread;
    b->min = band->normal.min;
    b->max = band->normal.max;
}

static void see_alarm(const struct tp_baseline_series *series, size_t i,
                      const struct band *band, struct tp_baseline *b)
{
    double away =
        fabs(series->value[i] - band->normal.plain.mean) / band->spread;
    if (b->kind == TP_CHANGE_NONE) {
        set_normal(band, b);
        b->first = b->shown = i;
        b->deviation = away;
        b->onset_to = series->at[i];
        b->onset_from = i > 0 ? series->at[i - 1] : series->at[i];
        b->kind = TP_CHANGE_SPIKE;
    }
    b->worst = fmax(b->worst, away);
    b->beyond++;
}

/* --- chance ----------------------------------------------- */

/* P that the next value lies beyond an edge, so many deviations off the mean of
 * `count` values towards it. A deviation of heavy tails is more than their
 * unit. */
static double beyond(int tails, double count, double z)
{
    tails = tails ? tails : TP_TAILS_HEAVY;
    int freedom = count - 1 < tails ? (int)count - 1 : tails;
    double unit = sqrt(count / (count + 1));
    if (freedom == tails)
        unit *= sqrt(tails / (tails - 2.0));
    if (freedom < 1)
        return 0;
    double outside = exp(tp_chance_log(freedom, fabs(z) * unit)) / 2;
    return z < 0 ? 1 - outside : outside;
}

/* The part of values like those of a window that the band leaves out. */
static double chance_of(const struct tp_baseline_series *series,
                        const struct band *band)
{
    const struct spread *straight = &band->normal.straight;
    double sum = 0, n = straight->count, std = straight->norm / sqrt(n - 1);
    const double edges[] = {band->low, band->high};
    for (int side = 0; side < 2; side++) {
        double edge = tp_baseline_straight(series->scale, edges[side]);
        double z = (side ? 1 : -1) * (edge - straight->mean) / std;
        bool none = !side && edge <= 0 && series->scale == TP_BASELINE_RATIO;
        if (isfinite(z) && !none)
            sum += beyond(series->freedom.side[side], n, z);
    }
    return sum * n / band->normal.plain.count;
}

/* --- the monitor ----------------------------------------------- */

/* Whether values above 0 are errors: some point has none. */
static bool has_errors(const struct tp_baseline_series *series)
{
    bool any = false;
    for (size_t i = 0; i < series->count && series->errors; i++)
        any |= series->value[i] == 0;
    return any;
}

/* Whether a point is learnt from. */
static bool is_learnt(const struct tp_baseline_series *series, bool errors,
                      size_t i)
{
    return isfinite(series->value[i]) && !(errors && series->value[i] > 0);
}

/* Values that the warm-up has: as many as wanted, at most half. */
static size_t count_steps(const struct tp_baseline_series *series,
                          const struct tp_baseline_options *options)
{
    size_t n = 0;
    bool errors = has_errors(series);
    for (size_t i = 0; i < series->count; i++)
        n += is_learnt(series, errors, i);
    return options->warmup_steps < n / 2 ? options->warmup_steps : n / 2;
}

/* The window of a warm-up; `scratch` has room for count values and normals. */
static struct window warm_up(const struct tp_baseline_series *series,
                             const struct tp_baseline_options *options,
                             size_t steps, double *scratch)
{
    bool rolling = options->method == TP_BASELINE_ROLLING;
    struct window window = {.fresh = scratch,
                            .older = (struct normal *)(scratch + series->count),
                            .capacity = steps,
                            .scale = series->scale};
    if (rolling)
        window.capacity = options->alert_window < series->count
                              ? options->alert_window
                              : series->count;
    bool errors = has_errors(series);
    for (size_t i = 0, n = 0; n < steps; i++) {
        if (!is_learnt(series, errors, i))
            continue;
        push(&window, series, i);
        n++;
    }
    return window;
}

void tp_baseline_live(const struct tp_baseline_series *series,
                      const struct tp_baseline_options *options,
                      double *scratch, struct tp_baseline *b,
                      const struct tp_baseline_trace *trace)
{
    size_t steps = count_steps(series, options);
    if (steps == 0)
        return;
    struct window window = warm_up(series, options, steps, scratch);
    struct band band = find_band(series, &window, options->sigma);
    double chance = chance_of(series, &band);
    size_t last = window.newest;
    b->warmup = last + 1;
    b->weak = steps < 3;
    for (size_t i = 0; i < series->count; i++) {
        double value = series->value[i];
        bool alarm = i >= last && (value < band.low || value > band.high);
        trace_band(&band, i, trace);
        trace->alarm[i] = alarm;
        if (alarm)
            see_alarm(series, i, &band, b);
        if (i > last && isfinite(value))
            b->chance += chance;
        if (alarm || i <= last || !isfinite(value) ||
            options->method != TP_BASELINE_ROLLING)
            continue;
        push(&window, series, i);
        band = find_band(series, &window, options->sigma);
        chance = chance_of(series, &band);
    }
    if (b->kind == TP_CHANGE_NONE)
        set_normal(&band, b);
    else if (b->beyond > 1 && trace->alarm[series->count - 1])
        b->kind = TP_CHANGE_SHIFT;
}
