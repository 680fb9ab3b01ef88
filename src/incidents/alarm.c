/* SPDX-License-Identifier: MIT */
/*
 * The first change of each series; with those of alarm_apart.c sorted by run,
 * iteration and the data's flow in it: by the saver's counter or, where that is
 * not known, forward before backward, along the layers, pre before post.
 *
 * Of the metrics of a series the one that shows the change best is kept:
 * surely earlier, then firm, sharp and far. To keep the most significant one
 * would put the origin where a change is largest, which is often far
 * downstream. Counters are used only where all alarms have one: a criterion
 * that changes from pair to pair is no order. Cost: a look at each baseline,
 * O(a log a) for a alarms.
 */
#include "incidents/alarm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "series/flow.h"
#include "tensors/run.h"

/* --- alarms ----------------------------------------------- */

size_t tp_alarm_first_nonfinite(const struct tp_series_set *set,
                                const struct tp_run_series *series)
{
    bool had_none = false;
    for (size_t i = 0; i < series->count; i++) {
        size_t count;
        uint64_t nan = 0, inf = 0;
        const struct tp_row *const *rows =
            tp_series_rows(set, series, i, &count);
        for (size_t k = 0; k < count; k++) {
            nan += rows[k]->counts.nan;
            if (!tp_row_is_mask(rows[k]))
                inf += tp_counts_infinite(&rows[k]->counts);
        }
        if (nan || (inf && had_none))
            return i;
        had_none = had_none || !inf;
    }
    return series->count;
}

enum { TRAINED = 4 };

/*
 * Whether it is what training does to a checkpoint. Parameters and moments move
 * from one checkpoint to the next, and the two or three before tell nothing of
 * how much: there only what grows or shrinks by more than TRAINED is told.
 */
static bool is_training(const struct tp_run_series *series,
                        const struct tp_baseline *baseline, double value)
{
    const struct tp_label *label = &series->label;
    const unsigned kept = TP_ROLE_WEIGHT | TP_ROLE_BIAS | TP_ROLES_OF_MOMENTS |
                          TP_ROLE_MASTER | TP_ROLE_BUFFER;
    const double now = fabs(value), before = fabs(baseline->center);
    return baseline->weak && series->kind == TP_SERIES_TENSOR &&
           *series->path && !*label->operation && (label->roles & kept) &&
           now <= TRAINED * before && before <= TRAINED * now;
}

/* Whether a baseline says that something went wrong. The first NaN and Inf
 * have a rule of their own, but there may be more of them. */
static bool is_change(const struct tp_series_set *set,
                      const struct tp_run_series *series, size_t metric,
                      const struct tp_baseline *baseline)
{
    if (baseline->kind == TP_CHANGE_NONE ||
        (metric == tp_series_metric_by_name("nan+inf") &&
         !(baseline->center > 0)))
        return false;
    const double *values = tp_series_values(set, series, metric);
    return !is_training(series, baseline, values[baseline->first]) &&
           !(tp_series_metrics[metric].only_more &&
             values[baseline->shown] < baseline->center);
}

/* Whether `a` shows a series' change better than `b`: surely earlier or, where
 * that is open, more firmly, more sharply, farther off. */
static bool is_better(const struct tp_baseline *a, const struct tp_baseline *b)
{
    int64_t width = a->onset_to - a->onset_from,
            other = b->onset_to - b->onset_from;
    if (a->onset_to <= b->onset_from || b->onset_to <= a->onset_from)
        return a->onset_to <= b->onset_from;
    if (a->weak != b->weak)
        return !a->weak;
    if ((a->kind == TP_CHANGE_DRIFT) != (b->kind == TP_CHANGE_DRIFT))
        return a->kind != TP_CHANGE_DRIFT;
    if (width != other)
        return width < other;
    if (a->first != b->first)
        return a->first < b->first;
    return a->deviation > b->deviation;
}

static void set_alarm(const struct tp_series_set *set,
                      const struct tp_run_series *series,
                      const struct tp_baseline *baseline,
                      struct tp_alarm *alarm)
{
    size_t at = baseline->first;
    alarm->point = at;
    alarm->iteration = tp_series_at(set, series)[at];
    alarm->after = baseline->onset_from < alarm->iteration
                       ? baseline->onset_from
                       : alarm->iteration - 1;
    alarm->until = baseline->onset_to > alarm->iteration ? baseline->onset_to
                                                         : alarm->iteration;
    alarm->shown = baseline->shown;
    alarm->value = tp_series_values(set, series, alarm->metric)[at];
    alarm->center = baseline->center;
    alarm->spread = baseline->spread;
    alarm->deviation = baseline->deviation;
    alarm->worst = baseline->worst;
    alarm->kind = baseline->kind;
    alarm->weak = baseline->weak;
}

void tp_alarm_set_nonfinite(const struct tp_series_set *set,
                            const struct tp_run_series *series, size_t at,
                            struct tp_alarm *alarm)
{
    const int64_t *iterations = tp_series_at(set, series);
    alarm->metric = tp_series_metric_by_name("nan+inf");
    alarm->point = at;
    alarm->iteration = iterations[at];
    alarm->after = at ? iterations[at - 1] : iterations[at] - 1;
    alarm->until = alarm->iteration;
    alarm->shown = at;
    alarm->value = tp_series_values(set, series, alarm->metric)[at];
    alarm->center = 0;
    alarm->spread = alarm->deviation = alarm->worst = NAN;
    alarm->kind = TP_CHANGE_SHIFT;
    alarm->weak = false;
    alarm->nonfinite = true;
    alarm->last = iterations[series->count - 1];
}

/* The alarm of a series; false when nothing changed. */
static bool find_alarm(const struct tp_monitor *monitor, size_t index,
                       struct tp_alarm *alarm)
{
    const struct tp_series_set *set = &monitor->series;
    const struct tp_run_series *series = &set->series[index];
    const struct tp_baseline *best = NULL;
    *alarm = (struct tp_alarm){.series = index};
    for (size_t k = 0; k < series->metric_count; k++) {
        size_t metric = series->metric + k;
        const struct tp_baseline *baseline =
            tp_monitor_change(monitor, index, metric);
        if (!is_change(set, series, metric, baseline))
            continue;
        alarm->metrics++;
        /* A divergence is never negative and so has no clear beginning. */
        bool vague = metric == tp_series_metric_by_name("drift");
        if (best && (vague || !is_better(baseline, best)))
            continue;
        best = baseline;
        alarm->metric = metric;
    }
    if (best)
        set_alarm(set, series, best, alarm);
    size_t nonfinite = tp_alarm_first_nonfinite(set, series);
    alarm->metrics += nonfinite < series->count;
    if (nonfinite < series->count && (!best || nonfinite <= alarm->point))
        tp_alarm_set_nonfinite(set, series, nonfinite, alarm);
    return alarm->metrics > 0;
}

/* The last iteration at which the alarm's metric was off. */
static enum tp_status find_last(const struct tp_monitor *monitor,
                                struct tp_alarm *alarm, uint8_t *flags,
                                struct tp_error *err)
{
    const struct tp_run_series *series = &monitor->series.series[alarm->series];
    const int64_t *at = tp_series_at(&monitor->series, series);
    alarm->last = alarm->iteration;
    if (alarm->nonfinite || alarm->kind != TP_CHANGE_SPIKE) {
        alarm->last = at[series->count - 1];
        return TP_OK;
    }
    const struct tp_baseline_trace trace = {.alarm = flags};
    memset(flags, 0, series->count);
    enum tp_status status =
        tp_monitor_trace_change(monitor, alarm->series, alarm->metric, &trace,
                                err);
    for (size_t i = alarm->point; i < series->count; i++) {
        if (flags[i])
            alarm->last = at[i];
    }
    return status;
}

enum tp_status tp_alarms_find(struct tp_incidents *all, struct tp_error *err)
{
    const struct tp_series_set *set = &all->monitor->series;
    size_t most = 1;
    for (size_t i = 0; i < set->count; i++)
        most = set->series[i].count > most ? set->series[i].count : most;
    uint8_t *flags = calloc(most, 1);
    all->alarms = calloc(set->count + 1, sizeof *all->alarms);
    all->alarm_of = calloc(set->count + 1, sizeof *all->alarm_of);
    enum tp_status status = flags && all->alarms && all->alarm_of
                                ? TP_OK
                                : tp_fail_memory(err);
    for (size_t i = 0; i < set->count && status == TP_OK; i++) {
        struct tp_alarm *alarm = &all->alarms[all->alarm_count];
        if (!find_alarm(all->monitor, i, alarm))
            continue;
        all->alarm_count++;
        status = find_last(all->monitor, alarm, flags, err);
    }
    free(flags);
    return status;
}

/* --- the data's flow ----------------------------------------------- */

/* An alarm with what it is sorted by. */
struct ordered {
    struct tp_alarm alarm;
    const struct tp_run_series *series;
    int64_t counter; /* of its first bad row; -1: none, or not all have one */
};

static int compare_alarms(const void *left, const void *right)
{
    const struct ordered *a = left, *b = right;
    int result = tp_series_compare_runs(a->series, b->series);
    if (!result)
        result = tp_order_int64(a->alarm.iteration, b->alarm.iteration);
    if (!result) /* sums over tensors come after these */
        result = tp_order_int64(a->series->kind, b->series->kind);
    if (!result)
        result = tp_order_int64(a->counter, b->counter);
    if (!result)
        result = tp_series_compare_flow(a->series, b->series);
    if (!result)
        result = tp_order_int64(a->series->label.rank, b->series->label.rank);
    return result ? result : tp_order_size(a->alarm.series, b->alarm.series);
}

enum tp_status tp_alarms_sort(struct tp_incidents *all, struct tp_error *err)
{
    const struct tp_series_set *set = &all->monitor->series;
    size_t count = all->alarm_count;
    struct ordered *ordered = calloc(count + 1, sizeof *ordered);
    if (!ordered)
        return tp_fail_memory(err);
    bool counted = true;
    for (size_t i = 0; i < count; i++) {
        const struct tp_alarm *alarm = &all->alarms[i];
        const struct tp_run_series *series = &set->series[alarm->series];
        ordered[i] = (struct ordered){
            *alarm, series, tp_series_counter(set, series, alarm->point)};
        counted = counted &&
                  (ordered[i].counter >= 0 || series->kind != TP_SERIES_TENSOR);
    }
    for (size_t i = 0; i < count && !counted; i++)
        ordered[i].counter = -1;
    if (count)
        qsort(ordered, count, sizeof *ordered, compare_alarms);
    for (size_t i = 0; i < set->count; i++)
        all->alarm_of[i] = TP_NONE;
    for (size_t i = 0; i < count; i++) {
        all->alarms[i] = ordered[i].alarm;
        all->alarms[i].incident = TP_NONE;
        if (!ordered[i].alarm.later)
            all->alarm_of[ordered[i].alarm.series] = i;
    }
    free(ordered);
    return TP_OK;
}

/* --- asked of alarms ----------------------------------------------- */

const struct tp_run_series *tp_alarm_series(const struct tp_incidents *all,
                                            size_t alarm)
{
    return &all->monitor->series.series[all->alarms[alarm].series];
}

bool tp_alarm_of_tensor(const struct tp_incidents *all, size_t alarm)
{
    return tp_alarm_series(all, alarm)->kind == TP_SERIES_TENSOR;
}

bool tp_alarm_of_tensors(const struct tp_incidents *all, size_t alarm)
{
    return tp_alarm_series(all, alarm)->kind <= TP_SERIES_SHARED;
}

bool tp_alarm_moved(const struct tp_incidents *all,
                    const struct tp_alarm *alarm,
                    const struct tp_run_series *peer)
{
    const struct tp_series_set *set = &all->monitor->series;
    const struct tp_run_series *its = &set->series[alarm->series];
    const double *value = tp_series_values(set, peer, alarm->metric);
    double worst = tp_series_values(set, its, alarm->metric)[alarm->shown];
    bool log = tp_series_metrics[alarm->metric].scale == TP_BASELINE_LOG;
    double own = log ? log2(worst / alarm->center) : worst - alarm->center;
    size_t i = tp_series_point_at(set, peer, alarm->iteration);
    size_t k =
        tp_series_point_at(set, peer, tp_series_at(set, its)[alarm->shown]);
    if (alarm->nonfinite || !isfinite(own) || i == 0)
        return false;
    for (size_t end = k + 2; k < peer->count && k < end; k++) {
        double step =
            log ? log2(value[k] / value[i - 1]) : value[k] - value[i - 1];
        if ((own < 0 ? -step : step) >= 0.5 * fabs(own))
            return true;
    }
    return false;
}

void tp_alarm_place(const struct tp_incidents *all,
                    const struct tp_alarm *alarm, size_t *first, size_t *end)
{
    const struct tp_series_set *set = &all->monitor->series;
    const struct tp_run_series *own = &set->series[alarm->series];
    *first = 0;
    *end = set->count;
    if (own->kind != TP_SERIES_TENSOR)
        return;
    for (*first = alarm->series; *first > 0; --*first) {
        const struct tp_run_series *last = &set->series[*first - 1];
        if (last->kind != own->kind || !tp_same_place(last->row, own->row))
            break;
    }
    for (*end = alarm->series + 1; *end < set->count; ++*end) {
        const struct tp_run_series *next = &set->series[*end];
        if (next->kind != own->kind || !tp_same_place(next->row, own->row))
            break;
    }
}
