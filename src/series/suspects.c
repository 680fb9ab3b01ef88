/* SPDX-License-Identifier: MIT */
/*
 * Who took part in a spike of the gradient's norm. Of one number more is known
 * than of thousands: chance has fewer ways to be there. Once that number is
 * off, its parts are asked in that iteration only, so that they need not be as
 * far off as a point that may be anywhere in the run (a hierarchy of tests, as
 * P. Westfall and S. Young combine them: what is healthy as a whole is asked
 * no further, so a healthy run is accused no more often).
 *
 * A tensor that is off by itself and makes the sum what it is leaves nothing to
 * ask. Cost: for each sum that is off a look at all series.
 */
#include "series/suspects.h"

#include <math.h>

#include "series/flow.h"

/* A sum that is off. */
struct spike {
    const struct tp_series_set *set;
    const struct tp_run_series *sum;
    int64_t iteration;
    double norm;
};

static bool is_part(const struct spike *spike,
                    const struct tp_run_series *series)
{
    return series->kind == TP_SERIES_TENSOR &&
           series->label.rank == spike->sum->label.rank &&
           tp_series_is_gradient(&series->label) &&
           tp_series_compare_runs(series, spike->sum) == 0;
}

/* The point of a series in the spike's iteration; its count: none. */
static size_t point_of(const struct spike *spike,
                       const struct tp_run_series *series)
{
    size_t i = tp_series_point_at(spike->set, series, spike->iteration);
    bool there = i < series->count &&
                 tp_series_at(spike->set, series)[i] == spike->iteration;
    return there ? i : series->count;
}

/* Whether the norm of a part left its baseline by then. */
static bool is_off(const struct spike *spike, const struct tp_baseline *changes,
                   const struct tp_run_series *part)
{
    size_t metric = tp_series_metric_by_name("l2_norm") - part->metric;
    return changes[metric].kind != TP_CHANGE_NONE &&
           tp_series_at(spike->set, part)[changes[metric].first] <=
               spike->iteration;
}

/* The part of the norm's square that parts make up which are off. */
static double explained(const struct spike *spike,
                        const struct tp_baseline *changes, const size_t *first)
{
    size_t metric = tp_series_metric_by_name("l2_norm");
    double sum = 0;
    for (size_t i = 0; i < spike->set->count; i++) {
        const struct tp_run_series *series = &spike->set->series[i];
        if (!is_part(spike, series))
            continue;
        size_t point = point_of(spike, series);
        if (point == series->count ||
            !is_off(spike, changes + first[i], series))
            continue;
        double part =
            tp_series_values(spike->set, series, metric)[point] / spike->norm;
        sum += isfinite(part) ? part * part : 1;
    }
    return sum;
}

static size_t ask_parts(const struct spike *spike,
                        const struct tp_baseline *changes, const size_t *first,
                        size_t *suspect)
{
    size_t asked = 0;
    if (explained(spike, changes, first) >= 0.5)
        return 0;
    for (size_t i = 0; i < spike->set->count; i++) {
        const struct tp_run_series *series = &spike->set->series[i];
        if (!is_part(spike, series))
            continue;
        size_t point = point_of(spike, series);
        if (point < series->count &&
            !is_off(spike, changes + first[i], series)) {
            suspect[i] = point + 1;
            asked++;
        }
    }
    return asked;
}

size_t tp_suspects_find(const struct tp_series_set *set,
                        const struct tp_baseline *changes, const size_t *first,
                        size_t *suspect)
{
    size_t asked = 0, metric = tp_series_metric_by_name("grad_norm");
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_run_series *series = &set->series[i];
        const struct tp_baseline *b = &changes[first[i]];
        if (series->kind != TP_SERIES_MODEL || b->kind == TP_CHANGE_NONE ||
            b->kind == TP_CHANGE_DRIFT || b->weak)
            continue;
        const struct spike spike = {
            set, series, tp_series_at(set, series)[b->first],
            tp_series_values(set, series, metric)[b->first]};
        if (spike.norm > 0)
            asked += ask_parts(&spike, changes, first, suspect);
    }
    return asked;
}
