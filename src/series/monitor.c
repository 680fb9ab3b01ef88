/* SPDX-License-Identifier: MIT */
/*
 * Baselines of all series. Each is fitted on its own, on any thread; the limit
 * knows how many pairs of series and metric are tested (Bonferroni), which
 * keeps the false alarms of a healthy run as rare as baseline_retro.c says. A
 * quarter of them is left to the few series that tensors share: what they say
 * would be lost among thousands of others.
 *
 * A spike of the gradient's norm of the whole model is looked for by itself
 * (baseline_lone.c), then in the gradients it is made of (suspects.c).
 *
 * A live monitor is fitted beside that, where it is asked for.
 *
 * Drift is a metric of its own: the Jensen-Shannon divergence of a point's
 * distribution over signs and binades from the mean of the healthy points. It
 * is bounded and exists where a bin is empty, unlike the Kullback-Leibler
 * divergence, and sees tails, unlike the distance of Kolmogorov. Cost: the
 * summaries of a tensor's points are unpacked twice, and one fit a metric.
 */
#include "series/monitor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "series/shared.h"
#include "series/suspects.h"
#include "stats/summary.h"
#include "tensors/run.h"

/* --- drift ----------------------------------------------- */

/* Shares by sign and binade, and of zeros: 8 bins of a summary in one. */
enum { BINADES = TP_SUMMARY_BINADES, SHARES = BINADES + 1 };

/* Scratch of one worker; arrays by the longest series. */
struct scratch {
    double *fit, *floor;
    uint8_t *alarm;
    uint64_t binades[BINADES];
    double mean[SHARES], shares[SHARES];
};

/* The finite values of a point as shares; false when there are none. */
static bool shares_of(const struct tp_series_set *set,
                      const struct tp_run_series *series, size_t point,
                      struct scratch *scratch)
{
    size_t count;
    const struct tp_row *const *rows =
        tp_series_rows(set, series, point, &count);
    uint64_t values = 0, zeros = 0;
    memset(scratch->binades, 0, sizeof scratch->binades);
    for (size_t i = 0; i < count; i++) {
        const struct tp_packed *packed = rows[i]->packed;
        if (!packed)
            continue;
        values += packed->moments.n;
        zeros += packed->counts.zero;
        tp_packed_binades(packed, scratch->binades);
    }
    const double n = (double)values;
    if (n == 0)
        return false;
    for (size_t i = 0; i < BINADES; i++)
        scratch->shares[i] = (double)scratch->binades[i] / n;
    scratch->shares[BINADES] = (double)zeros / n;
    return true;
}

/* Jensen-Shannon divergence in bits: 0 to 1. */
static double divergence(const double *p, const double *q)
{
    double sum = 0;
    for (size_t i = 0; i < SHARES; i++) {
        double middle = (p[i] + q[i]) / 2;
        if (p[i] > 0)
            sum += p[i] * log2(p[i] / middle);
        if (q[i] > 0)
            sum += q[i] * log2(q[i] / middle);
    }
    return fmin(fmax(sum / 2, 0), 1);
}

/* --- fitting ----------------------------------------------- */

/* The part of the false alarms that is left to what tensors share. */
static const double SHARED_PART = 0.25;

/* The gradient's norm of the whole model is one number of thousands, and the
 * one that everybody watches: so often is chance told as a spike of it in a
 * healthy run. */
static const double LONE = 1e-3;

/* So often one of its parts is, where it is off. */
static const double TAKES_PART = 0.01;
enum { METRICS = 3 }; /* magnitudes of a tensor: norm, std, abs_max */

/* A loop over the series. */
struct fitter {
    struct tp_monitor *monitor;
    struct scratch *scratch; /* [workers]                                  */
    uint8_t *left;           /* [series]: left its baseline in a metric    */
    size_t first;            /* the series it begins with                 */
};

/* The number of a series' metric among the baselines. */
static size_t number_of(const struct tp_monitor *monitor,
                        const struct tp_run_series *series, size_t metric)
{
    size_t at = monitor->first[series - monitor->series.series];
    return at + metric - series->metric;
}

/* What is fitted, and how. */
struct wanted {
    const struct tp_run_series *series;
    size_t metric;
    enum tp_baseline_method method;
};

static struct tp_baseline fit(const struct tp_monitor *monitor,
                              struct wanted wanted, struct scratch *scratch,
                              const struct tp_baseline_trace *trace)
{
    const struct tp_run_series *series = wanted.series;
    struct tp_baseline baseline;
    struct tp_baseline_series values = tp_series_of_metric(
        &monitor->series, series, wanted.metric, scratch->floor);
    size_t number = (size_t)(series - monitor->series.series);
    struct tp_baseline_options options = monitor->options;
    values.freedom = tp_kinds_freedom(&monitor->kinds, number, wanted.metric);
    values.sparse = monitor->sparse;
    values.suspect = monitor->suspect ? monitor->suspect[number] : 0;
    if (series->kind == TP_SERIES_MODEL)
        options.lone = LONE / fmax((double)monitor->models, 1);
    else if (values.suspect > 0)
        options.lone = TAKES_PART / (double)(METRICS * monitor->suspects);
    options.method = wanted.method;
    if (series->kind == TP_SERIES_SHARED)
        options.tests = monitor->shared_tests;
    tp_baseline_fit(&values, &options, scratch->fit, &baseline, trace);
    return baseline;
}

/* Which points a tensor's drift is measured against: those that its norm and
 * its largest magnitude do not alarm. */
static void find_healthy(const struct tp_monitor *monitor,
                         const struct tp_run_series *series,
                         struct scratch *scratch, uint8_t *bad)
{
    static const char *const names[] = {"l2_norm", "abs_max"};
    const struct tp_baseline_trace trace = {.alarm = scratch->alarm};
    memset(bad, 0, series->count);
    for (size_t k = 0; k < 2; k++) {
        size_t metric = tp_series_metric_by_name(names[k]);
        size_t number = number_of(monitor, series, metric);
        if (monitor->changes[number].kind == TP_CHANGE_NONE)
            continue;
        fit(monitor, (struct wanted){series, metric, TP_BASELINE_RETRO},
            scratch, &trace);
        for (size_t i = 0; i < series->count; i++)
            bad[i] |= scratch->alarm[i];
    }
}

/* The divergence of each point from the mean of the healthy ones. */
static void measure_drift(const struct tp_monitor *monitor,
                          const struct tp_run_series *series, size_t metric,
                          struct scratch *scratch)
{
    const struct tp_series_set *set = &monitor->series;
    double *values = tp_series_values(set, series, metric);
    uint8_t *bad = scratch->alarm + series->count;
    size_t healthy = 0;
    find_healthy(monitor, series, scratch, bad);
    memset(scratch->mean, 0, sizeof scratch->mean);
    for (size_t i = 0; i < series->count; i++) {
        if (bad[i] || !shares_of(set, series, i, scratch))
            continue;
        healthy++;
        for (size_t k = 0; k < SHARES; k++)
            scratch->mean[k] +=
                (scratch->shares[k] - scratch->mean[k]) / (double)healthy;
    }
    for (size_t i = 0; i < series->count; i++)
        values[i] = healthy && shares_of(set, series, i, scratch)
                        ? divergence(scratch->shares, scratch->mean)
                        : NAN;
}

/* What the whole run says and, where that is asked for, a live monitor, which
 * knows nothing of what tensors share. */
static void fit_metric(const struct tp_monitor *monitor,
                       const struct tp_run_series *series, size_t metric,
                       struct scratch *scratch)
{
    size_t number = number_of(monitor, series, metric);
    struct wanted wanted = {series, metric, TP_BASELINE_RETRO};
    monitor->changes[number] = fit(monitor, wanted, scratch, NULL);
    wanted.method = tp_monitor_method(monitor, series);
    monitor->baselines[number] = wanted.method == TP_BASELINE_RETRO
                                     ? monitor->changes[number]
                                     : fit(monitor, wanted, scratch, NULL);
}

static void fit_one(void *context, size_t index, unsigned worker)
{
    struct fitter *f = context;
    const struct tp_monitor *monitor = f->monitor;
    const struct tp_series_set *set = &monitor->series;
    const struct tp_run_series *series = &set->series[f->first + index];
    struct scratch *scratch = &f->scratch[worker];
    size_t drift = tp_series_metric_by_name("drift");
    if (series->kind == TP_SERIES_SHARED)
        tp_kinds_fill(&monitor->kinds, set, f->left, f->first + index,
                      scratch->fit);
    for (size_t k = 0; k < series->metric_count; k++) {
        size_t metric = series->metric + k;
        if (metric == drift && series->row && series->kind == TP_SERIES_TENSOR)
            measure_drift(monitor, series, metric, scratch);
        fit_metric(monitor, series, metric, scratch);
        const struct tp_baseline *change =
            &monitor->changes[number_of(monitor, series, metric)];
        f->left[f->first + index] |= change->kind != TP_CHANGE_NONE;
    }
}

static void fit_suspect(void *context, size_t index, unsigned worker)
{
    struct fitter *f = context;
    if (f->monitor->suspect[f->first + index])
        fit_one(context, index, worker);
}

typedef void fit_index(void *context, size_t index, unsigned worker);

/* Fits series [first, end). */
static void fit_some(struct fitter *f, size_t first, size_t end,
                     struct tp_pool *pool, fit_index *fit_it)
{
    f->first = first;
    if (pool)
        tp_pool_for(pool, end - first, fit_it, f);
    for (size_t i = 0; !pool && i < end - first; i++)
        fit_it(f, i, 0);
}

static bool has_value(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isnan(values[i]))
            return true;
    }
    return false;
}

/* Series times metrics that there are: what the rate of false alarms is
 * controlled over. Drift is not there yet, but will be, and so is what tensors
 * share. */
static void count_tests(struct tp_monitor *monitor)
{
    const struct tp_series_set *set = &monitor->series;
    size_t tests[2] = {0, 0}, drift = tp_series_metric_by_name("drift");
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_run_series *series = &set->series[i];
        bool shared = series->kind == TP_SERIES_SHARED;
        monitor->models += series->kind == TP_SERIES_MODEL;
        for (size_t k = 0; k < series->metric_count; k++) {
            size_t metric = series->metric + k;
            tests[shared] +=
                metric == drift || shared ||
                has_value(tp_series_values(set, series, metric), series->count);
        }
    }
    double part = tests[1] ? SHARED_PART : 0;
    monitor->options.tests = fmax((double)tests[0], 1) / (1 - part);
    monitor->shared_tests = (double)tests[1] / SHARED_PART;
}

/* Iterations in which a tensor was zero as a whole for a while, at places of
 * the run that lie apart; so many are no fault with its consequences. */
enum { PLACES = 3 };

struct places {
    int64_t from[PLACES], to[PLACES];
    size_t count;
};

static void add_place(struct places *places, int64_t from, int64_t to)
{
    for (size_t i = 0; i < places->count; i++) {
        if (from <= places->to[i] + 1 && to + 1 >= places->from[i])
            return;
    }
    if (places->count == PLACES)
        return;
    places->from[places->count] = from;
    places->to[places->count++] = to;
}

/* Adds where a tensor became zero and was alive again. */
static void find_places(const struct tp_series_set *set,
                        const struct tp_run_series *series, size_t metric,
                        struct places *places)
{
    if (series->kind != TP_SERIES_TENSOR ||
        metric - series->metric >= series->metric_count)
        return;
    const double *share = tp_series_values(set, series, metric);
    const int64_t *at = tp_series_at(set, series);
    size_t alive = series->count; /* the last point that was */
    for (size_t i = 0; i < series->count; i++) {
        if (!(share[i] < 1))
            continue;
        size_t zero = alive + 1;
        while (zero < i && share[zero] != 1)
            zero++;
        if (zero < i)
            add_place(places, at[zero], at[i - 1]);
        alive = i;
    }
}

static bool is_sparse(const struct tp_series_set *set)
{
    size_t metric = tp_series_metric_by_name("zero_ratio");
    struct places places = {.count = 0};
    for (size_t i = 0; i < set->count && places.count < PLACES; i++)
        find_places(set, &set->series[i], metric, &places);
    return places.count == PLACES;
}

/* Lists the baselines that stand for anything. */
static enum tp_status list_values(struct tp_monitor *monitor,
                                  struct tp_error *err)
{
    const struct tp_series_set *set = &monitor->series;
    size_t count = monitor->baseline_count, at = 0, values = 0;
    monitor->with_values = calloc(count + 1, sizeof *monitor->with_values);
    monitor->value_row = calloc(count + 1, sizeof *monitor->value_row);
    if (!monitor->with_values || !monitor->value_row)
        return tp_fail_memory(err);
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_run_series *series = &set->series[i];
        for (size_t k = 0; k < series->metric_count; k++, at++) {
            monitor->value_row[at] = values;
            if (!has_value(tp_series_values(set, series, series->metric + k),
                           series->count))
                continue;
            values += series->count;
            monitor->with_values[monitor->with_value_count++] = at;
        }
    }
    monitor->value_row[count] = values;
    return TP_OK;
}

static void scratch_clear(struct scratch *scratch, size_t count)
{
    for (size_t i = 0; scratch && i < count; i++) {
        free(scratch[i].fit);
        free(scratch[i].floor);
        free(scratch[i].alarm);
    }
    free(scratch);
}

/* Scratch for `count` workers and the longest series; NULL without memory. */
static struct scratch *scratch_new(const struct tp_series_set *set,
                                   size_t count)
{
    size_t most = tp_series_longest(set);
    struct scratch *scratch = calloc(count, sizeof *scratch);
    for (size_t i = 0; scratch && i < count; i++) {
        scratch[i].fit = calloc(tp_shared_room(most), sizeof(double));
        scratch[i].floor = calloc(most, sizeof(double));
        scratch[i].alarm = calloc(most, 2);
        if (scratch[i].fit && scratch[i].floor && scratch[i].alarm)
            continue;
        scratch_clear(scratch, count);
        scratch = NULL;
    }
    return scratch;
}

enum tp_status tp_monitor_fit(struct tp_monitor *monitor, struct tp_pool *pool,
                              struct tp_error *err)
{
    struct tp_series_set *set = &monitor->series;
    size_t workers = pool ? tp_pool_size(pool) : 1;
    enum tp_status status = tp_kinds_make(set, pool, &monitor->kinds, err);
    if (status != TP_OK)
        return status;
    monitor->first = calloc(set->count + 1, sizeof *monitor->first);
    monitor->suspect = calloc(set->count + 1, sizeof *monitor->suspect);
    if (!monitor->first || !monitor->suspect)
        return tp_fail_memory(err);
    for (size_t i = 0; i < set->count; i++)
        monitor->first[i + 1] = monitor->first[i] + set->series[i].metric_count;
    monitor->baseline_count = monitor->first[set->count];
    monitor->changes =
        calloc(monitor->baseline_count + 1, sizeof *monitor->changes);
    monitor->baselines =
        monitor->options.method == TP_BASELINE_RETRO
            ? monitor->changes
            : calloc(monitor->baseline_count + 1, sizeof *monitor->baselines);
    count_tests(monitor);
    monitor->sparse = is_sparse(set);
    struct fitter f = {.monitor = monitor,
                       .scratch = scratch_new(set, workers),
                       .left = calloc(set->count + 1, 1)};
    bool ok = monitor->changes && monitor->baselines && f.scratch && f.left;
    size_t shared = set->count;
    while (shared > 0 && set->series[shared - 1].kind == TP_SERIES_SHARED)
        shared--;
    if (ok) {
        fit_some(&f, 0, shared, pool, fit_one);
        monitor->suspects = tp_suspects_find(set, monitor->changes,
                                             monitor->first, monitor->suspect);
        fit_some(&f, 0, monitor->suspects ? shared : 0, pool, fit_suspect);
        fit_some(&f, shared, set->count, pool, fit_one);
    }
    scratch_clear(f.scratch, workers);
    free(f.left);
    if (!ok)
        return tp_fail_memory(err);
    return list_values(monitor, err);
}

const struct tp_baseline *tp_monitor_baseline(const struct tp_monitor *monitor,
                                              size_t series, size_t metric)
{
    const struct tp_run_series *its = &monitor->series.series[series];
    if (metric < its->metric || metric - its->metric >= its->metric_count)
        return NULL;
    return &monitor->baselines[number_of(monitor, its, metric)];
}

const struct tp_baseline *tp_monitor_change(const struct tp_monitor *monitor,
                                            size_t series, size_t metric)
{
    const struct tp_run_series *its = &monitor->series.series[series];
    if (metric < its->metric || metric - its->metric >= its->metric_count)
        return NULL;
    return &monitor->changes[number_of(monitor, its, metric)];
}

enum tp_baseline_method tp_monitor_method(const struct tp_monitor *monitor,
                                          const struct tp_run_series *series)
{
    return series->kind == TP_SERIES_SHARED ? TP_BASELINE_RETRO
                                            : monitor->options.method;
}

static enum tp_status trace_by(const struct tp_monitor *monitor,
                               struct wanted wanted,
                               const struct tp_baseline_trace *trace,
                               struct tp_error *err)
{
    struct scratch *scratch = scratch_new(&monitor->series, 1);
    if (!scratch)
        return tp_fail_memory(err);
    fit(monitor, wanted, scratch, trace);
    scratch_clear(scratch, 1);
    return TP_OK;
}

enum tp_status tp_monitor_trace(const struct tp_monitor *monitor, size_t series,
                                size_t metric,
                                const struct tp_baseline_trace *trace,
                                struct tp_error *err)
{
    const struct tp_run_series *its = &monitor->series.series[series];
    const struct wanted wanted = {its, metric, tp_monitor_method(monitor, its)};
    return trace_by(monitor, wanted, trace, err);
}

enum tp_status tp_monitor_trace_change(const struct tp_monitor *monitor,
                                       size_t series, size_t metric,
                                       const struct tp_baseline_trace *trace,
                                       struct tp_error *err)
{
    const struct wanted wanted = {&monitor->series.series[series], metric,
                                  TP_BASELINE_RETRO};
    return trace_by(monitor, wanted, trace, err);
}

enum tp_status tp_monitor_make(const struct tp_run *run,
                               const struct tp_baseline_options *options,
                               struct tp_pool *pool, struct tp_monitor *monitor,
                               struct tp_error *err)
{
    monitor->options = *options;
    enum tp_status status = tp_series_make(run, &monitor->series, err);
    return status == TP_OK ? tp_monitor_fit(monitor, pool, err) : status;
}

void tp_monitor_clear(struct tp_monitor *monitor)
{
    tp_series_clear(&monitor->series);
    tp_kinds_clear(&monitor->kinds);
    if (monitor->changes != monitor->baselines)
        free(monitor->changes);
    free(monitor->baselines);
    free(monitor->first);
    free(monitor->suspect);
    free(monitor->with_values);
    free(monitor->value_row);
    memset(monitor, 0, sizeof *monitor);
}
