/* SPDX-License-Identifier: MIT */
/*
 * Seconds for the baselines and incidents of a large run, from values that
 * are in memory: series that wander, fall as gradients do, or stay, and in
 * one of a hundred a level that shifts. Prints one line:
 *
 *     series [SERIES [ITERATIONS [JOBS [retro|online|rolling]]]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "incidents/incidents.h"
#include "tensors/run.h"

enum { METRICS = 8 }; /* those of a tensor without distortion and drift */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double uniform(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((double)(*state >> 12) + 0.5) * 0x1p-52;
}

/* About normal: the sum of four, scaled. */
static double noise(uint64_t *state)
{
    double sum = -2;
    for (int i = 0; i < 4; i++)
        sum += uniform(state);
    return sum * sqrt(3);
}

static void fill_values(const struct tp_run_series *series, size_t metric,
                        size_t number, uint64_t *state, double *values)
{
    bool is_share = tp_series_metrics[metric].scale == TP_BASELINE_RATIO;
    size_t shift = number % 100 == 99 ? series->count * 3 / 4 : SIZE_MAX;
    double wander = 0, slope = number % 3 == 0 ? -5.0 : 0;
    for (size_t i = 0; i < series->count; i++) {
        double t = (double)i / (double)series->count;
        wander += 0.01 * noise(state);
        double level = slope * t + wander + (i >= shift ? 2 : 0);
        double value = exp2(level + 0.05 * noise(state));
        values[i] = is_share ? fmin(0.01 * value, 1) : value;
        if (!strcmp(tp_series_metrics[metric].name, "nan+inf"))
            values[i] = 0;
    }
}

static int make(struct tp_series_set *set, size_t count, size_t iterations)
{
    static struct tp_row row = {.dtype = TP_BFLOAT16, .target_max = NAN};
    uint64_t state = 88172645463325252u;
    set->series = calloc(count, sizeof *set->series);
    set->at = calloc(count * iterations, sizeof *set->at);
    set->values = calloc(count * iterations * METRICS, sizeof *set->values);
    if (!set->series || !set->at || !set->values)
        return -1;
    set->count = set->capacity = count;
    set->point_count = set->point_capacity = count * iterations;
    set->value_count = set->value_capacity = count * iterations * METRICS;
    for (size_t i = 0; i < count; i++) {
        struct tp_run_series *series = &set->series[i];
        *series = (struct tp_run_series){.label = TP_LABEL_NONE,
                                         .path = "",
                                         .row = &row,
                                         .precision = 8,
                                         .numel = 4096,
                                         .first = i * iterations,
                                         .count = iterations,
                                         .metric_count = METRICS,
                                         .value = i * iterations * METRICS};
        series->label.layer_idx = (int64_t)i;
        for (size_t k = 0; k < iterations; k++)
            set->at[series->first + k] = (int64_t)k;
        for (size_t k = 0; k < METRICS; k++)
            fill_values(series, k, i, &state, tp_series_values(set, series, k));
    }
    return 0;
}

static size_t argument(int argc, char **argv, int index, size_t initial)
{
    return argc > index ? strtoul(argv[index], NULL, 10) : initial;
}

static enum tp_baseline_method method_of(const char *word)
{
    int i = 0;
    while (tp_baseline_method_words[i] &&
           strcmp(tp_baseline_method_words[i], word) != 0)
        i++;
    return tp_baseline_method_words[i] ? (enum tp_baseline_method)i
                                       : TP_BASELINE_RETRO;
}

int main(int argc, char **argv)
{
    size_t count = argument(argc, argv, 1, 10000);
    size_t iterations = argument(argc, argv, 2, 1000);
    unsigned jobs = (unsigned)argument(argc, argv, 3, 2);
    struct tp_run run = {.row_count = 0};
    struct tp_monitor made = {.baseline_count = 0}, *monitor = &made;
    struct tp_incidents incidents = {.alarm_count = 0};
    struct tp_pool *pool;
    monitor->options = (struct tp_baseline_options){
        .method = method_of(argc > 4 ? argv[4] : "retro"),
        .warmup_steps = 100,
        .alert_window = 50,
        .sigma = 3};
    if (make(&monitor->series, count, iterations) ||
        tp_pool_new(jobs, &pool, NULL) != TP_OK)
        return EXIT_FAILURE;
    double start = now();
    if (tp_monitor_fit(monitor, pool, NULL) != TP_OK)
        return EXIT_FAILURE;
    double fitted = now();
    if (tp_incidents_make(&run, monitor, &incidents, NULL) != TP_OK)
        return EXIT_FAILURE;
    printf("%.3f s baselines, %.3f s incidents: %zu alarms, %zu incidents\n",
           fitted - start, now() - fitted, incidents.alarm_count,
           incidents.incident_count);
    tp_pool_free(pool);
    tp_incidents_clear(&incidents);
    tp_monitor_clear(monitor);
    tp_run_clear(&run);
    return EXIT_SUCCESS;
}
