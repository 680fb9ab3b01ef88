/* SPDX-License-Identifier: MIT */
/*
 * What the tensors of a kind share: a series of its own that stands for all of
 * them, so that a change shows which is within the noise of each. Its value is
 * the mean of theirs as they are compared (of logarithms: the geometric mean),
 * weighted by one over the spread of each. Tensors that left their baselines
 * show that by themselves and do not count, so one alone does not move it.
 *
 * It is judged as any other series is, so its noise is measured and not derived
 * from that of its members: those of one batch move together, and to combine
 * their probabilities as if they did not (Fisher) would accuse every batch
 * that is a little harder. A principal component would follow such batches
 * best, but also a single tensor that is off. Cost: one pass of predictions
 * over the members.
 */
#include "series/shared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "series/baseline_retro.h"
#include "series/baseline_zeros.h"

/* --- the series ----------------------------------------------- */

bool tp_shared_same_steps(const struct tp_series_set *set, size_t a, size_t b)
{
    const struct tp_run_series *x = &set->series[a], *y = &set->series[b];
    return x->count == y->count &&
           !memcmp(tp_series_at(set, x), tp_series_at(set, y),
                   x->count * sizeof *set->at);
}

size_t tp_shared_in_step(const struct tp_series_set *set, const size_t *series,
                         size_t count, size_t *model)
{
    size_t n = 0;
    *model = series[0];
    for (size_t i = 1; i < count; i++) {
        if (set->series[series[i]].count > set->series[*model].count)
            *model = series[i];
    }
    for (size_t i = 0; i < count; i++)
        n += tp_shared_same_steps(set, *model, series[i]);
    return n;
}

enum tp_status tp_shared_append(struct tp_series_set *set, size_t model,
                                struct tp_error *err)
{
    struct tp_run_series series = set->series[model];
    size_t more = series.count * series.metric_count;
    enum tp_status status = tp_grow(&set->series, &set->capacity,
                                    set->count + 1, sizeof *set->series, err);
    if (status == TP_OK)
        status = tp_grow(&set->at, &set->point_capacity,
                         set->point_count + series.count, sizeof *set->at, err);
    if (status == TP_OK)
        status = tp_grow(&set->values, &set->value_capacity,
                         set->value_count + more, sizeof *set->values, err);
    if (status != TP_OK)
        return status;
    memcpy(set->at + set->point_count, set->at + series.first,
           series.count * sizeof *set->at);
    for (size_t i = 0; i < more; i++)
        set->values[set->value_count + i] = NAN;
    series.kind = TP_SERIES_SHARED;
    series.path = series.label.layer_type = series.label.component = "";
    series.label.module = "";
    series.label.expert = -1;
    series.label.part = 0;
    series.label.layer_idx = series.label.group_idx = -1;
    series.ordinal = 0;
    series.first = set->point_count;
    series.value = set->value_count;
    set->point_count += series.count;
    set->value_count += more;
    set->series[set->count++] = series;
    return TP_OK;
}

/* --- its values ----------------------------------------------- */

/* Sums over the members; [points]. */
struct sums {
    size_t points, members;
    double *values;  /* straightened and weighted                         */
    double *present; /* how many have a value                             */
    double weight;
};

/* A tensor that is zero as a whole tells that by itself. */
static double straight_at(const struct tp_baseline_series *series, size_t i)
{
    return tp_zeros_at(series, i)
               ? NAN
               : tp_baseline_straight(series->scale, series->value[i]);
}

/* Adds a series in step with the others. A point without a value keeps the
 * last one; before the first, that one. */
static void add(struct sums *sums, const struct tp_baseline_series *series,
                double spread)
{
    double last = NAN, weight = 1 / spread;
    for (size_t i = 0; i < sums->points && !isfinite(last); i++)
        last = straight_at(series, i);
    if (!(spread > 0) || !isfinite(last))
        return;
    sums->members++;
    sums->weight += weight;
    for (size_t i = 0; i < sums->points; i++) {
        double y = straight_at(series, i);
        sums->present[i] += isfinite(y);
        last = isfinite(y) ? y : last;
        sums->values[i] += weight * last;
    }
}

static void conclude(const struct sums *sums, enum tp_baseline_scale scale,
                     double *values)
{
    double most = (double)sums->members;
    for (size_t i = 0; i < sums->points; i++)
        values[i] =
            sums->members >= TP_SHARED_LEAST && 2 * sums->present[i] >= most
                ? tp_baseline_bent(scale, sums->values[i] / sums->weight)
                : NAN;
}

size_t tp_shared_room(size_t points)
{
    return tp_baseline_scratch(points) + 4 * points + 1;
}

void tp_shared_fill(const struct tp_series_set *set,
                    const struct tp_shared_members *members,
                    const struct tp_run_series *shared, double *room)
{
    size_t n = shared->count, like = (size_t)(shared - set->series);
    double *floor = room, *error = room + n, *fit = room + 4 * n;
    struct tp_tails tails = {.errors = {0}};
    for (size_t k = 0; k < shared->metric_count; k++) {
        size_t metric = shared->metric + k;
        struct sums sums = {n, 0, room + 2 * n, room + 3 * n, 0};
        memset(sums.values, 0, 2 * n * sizeof *room);
        for (size_t i = 0; i < members->count; i += members->step) {
            size_t number = members->series[i];
            if (members->left[number] ||
                !tp_shared_same_steps(set, like, number))
                continue;
            struct tp_baseline_series values =
                tp_series_of_metric(set, &set->series[number], metric, floor);
            add(&sums, &values, tp_baseline_look(&values, fit, &tails, error));
        }
        conclude(&sums, tp_series_metrics[metric].scale,
                 tp_series_values(set, shared, metric));
    }
}
