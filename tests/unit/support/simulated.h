/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_SIMULATED_H
#define TP_TESTS_SIMULATED_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "series/monitor.h"
#include "tests/unit/support/noise.h"

/* A run of one number of one tensor in every layer, by simulation, and its
 * baselines. */

struct simulated {
    enum noise_kind noise;
    size_t layers, points;
    double together; /* part of the variance that layers have in common    */
    /* what is wrong, in spreads of the logarithm */
    double off;
    size_t from, to; /* in these points                                   */
    size_t hit;      /* layers, the first ones                             */
};

/* What came of it. */
struct simulated_alarms {
    size_t tensors, shared; /* series that left their baseline             */
    bool exact;             /* one of them by a point at most from `from` */
};

/* log2 of a kind's noise has this standard deviation, in the middle. */
static inline double simulated_spread(enum noise_kind noise)
{
    switch (noise) {
    case NOISE_NORMAL:
        return 0.35;
    case NOISE_LOGNORMAL:
    case NOISE_ZEROS:
        return 0.3 / log(2);
    case NOISE_LOGNORMAL_WIDE:
        return 1 / log(2);
    case NOISE_AR:
        return 0.2;
    default:
        return 0.1;
    }
}

/* A layer's noise, mixed with what all have in common; what cannot be mixed,
 * shares and zeros, is one or the other. */
static inline void simulated_fill(const struct simulated *it,
                                  const double *common, struct dice *dice,
                                  double *value)
{
    noise_fill(dice, it->noise, it->points, value);
    for (size_t i = 0; i < it->points; i++) {
        double a = common[i], b = value[i];
        if (noise_is_share(it->noise) || it->noise == NOISE_ZEROS)
            value[i] = it->together > 0.5 ? a : b;
        else if (it->together > 0)
            value[i] = exp(sqrt(it->together) * log(a) +
                           sqrt(1 - it->together) * log(b));
    }
}

/* Makes the series; false: out of memory. */
static inline bool simulated_make(const struct simulated *it, uint64_t seed,
                                  struct tp_series_set *set)
{
    size_t n = it->points;
    size_t metric = tp_series_metric_by_name(
        noise_is_share(it->noise) ? "underflow_ratio" : "l2_norm");
    struct dice dice = dice_of(seed);
    double *common = calloc(n, sizeof *common);
    set->series = calloc(it->layers, sizeof *set->series);
    set->at = calloc(it->layers * n, sizeof *set->at);
    set->values = calloc(it->layers * n, sizeof *set->values);
    if (!common || !set->series || !set->at || !set->values) {
        free(common);
        return false;
    }
    set->count = set->capacity = it->layers;
    set->point_count = set->point_capacity = it->layers * n;
    set->value_count = set->value_capacity = it->layers * n;
    noise_fill(&dice, it->noise, n, common);
    for (size_t k = 0; k < it->layers; k++) {
        set->series[k] = (struct tp_run_series){.label = TP_LABEL_NONE,
                                                .path = "",
                                                .precision = 24,
                                                .numel = 4096,
                                                .first = k * n,
                                                .count = n,
                                                .metric = metric,
                                                .metric_count = 1,
                                                .value = k * n};
        set->series[k].label.layer_idx = (int64_t)k;
        simulated_fill(it, common, &dice, set->values + k * n);
        for (size_t i = 0; i < n; i++) {
            set->at[k * n + i] = (int64_t)i;
            if (k < it->hit && i >= it->from && i < it->to)
                set->values[k * n + i] *=
                    exp2(it->off * simulated_spread(it->noise));
        }
    }
    free(common);
    return true;
}

/* Simulates a run and judges it; false: out of memory. */
static inline bool simulated_judge(const struct simulated *it, uint64_t seed,
                                   struct simulated_alarms *alarms)
{
    struct tp_monitor monitor = {
        .options = {.warmup_steps = 100, .alert_window = 50, .sigma = 3}};
    bool ok = simulated_make(it, seed, &monitor.series) &&
              tp_monitor_fit(&monitor, NULL, NULL) == TP_OK;
    *alarms = (struct simulated_alarms){0};
    for (size_t i = 0; ok && i < monitor.series.count; i++) {
        const struct tp_run_series *series = &monitor.series.series[i];
        const struct tp_baseline *b =
            tp_monitor_baseline(&monitor, i, series->metric);
        if (b->kind == TP_CHANGE_NONE)
            continue;
        alarms->tensors += i < it->layers;
        alarms->shared += i >= it->layers;
        alarms->exact |= b->first + 1 >= it->from && b->first <= it->from + 1;
    }
    tp_monitor_clear(&monitor);
    return ok;
}

#endif
