/* SPDX-License-Identifier: MIT */
/*
 * Which change caused which. Alarms are sorted by run, iteration and the
 * data's flow in it: by the saver's counter or, where that is not known,
 * forward before backward, along the layers, pre before post.
 *
 * A change is *firm* when its series has points enough and does not merely
 * drift, or when there is a NaN or Inf that was not there before. A firm change
 * with another one on its rank in the same iteration, or the next that was
 * saved, begins an incident. Its origin is the first change of that iteration
 * in the data's flow, a weak one too: what follows bears it out. Whatever
 * changes in the same run until --alert_window iterations pass without a
 * further one is a consequence.
 *
 * Of what is left, weak changes bear each other out when three of a rank come
 * in one iteration, and drifts that begin within a window of each other are
 * told as one. All other alarms stand alone.
 */
#include "analyze/incident.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- alarms ----------------------------------------------- */

/* The first point of a tensor with a NaN, or with an Inf after one without;
 * series->count: none. */
static size_t first_nonfinite(const struct tp_series_set *set,
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
            inf += rows[k]->counts.pos_inf + rows[k]->counts.neg_inf;
        }
        if (nan || (inf && had_none))
            return i;
        had_none = had_none || !inf;
    }
    return series->count;
}

/* Whether a baseline says that something went wrong. Counts of NaN and Inf
 * have a rule of their own. */
static bool is_change(const struct tp_series_set *set,
                      const struct tp_run_series *series, size_t metric,
                      const struct tp_baseline *baseline)
{
    if (baseline->kind == TP_CHANGE_NONE ||
        metric == tp_series_metric_by_name("nan+inf"))
        return false;
    double value = tp_series_values(set, series, metric)[baseline->first];
    return !(tp_series_metrics[metric].only_more && value < baseline->center);
}

/* Whether `a` shows a series' change better than `b`: earlier, more firmly,
 * farther off. */
static bool is_better(const struct tp_baseline *a, const struct tp_baseline *b)
{
    if (a->first != b->first)
        return a->first < b->first;
    if (a->weak != b->weak)
        return !a->weak;
    if ((a->kind == TP_CHANGE_DRIFT) != (b->kind == TP_CHANGE_DRIFT))
        return a->kind != TP_CHANGE_DRIFT;
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
    alarm->value = tp_series_values(set, series, alarm->metric)[at];
    alarm->center = baseline->center;
    alarm->spread = baseline->spread;
    alarm->deviation = baseline->deviation;
    alarm->kind = baseline->kind;
    alarm->weak = baseline->weak;
}

static void set_nonfinite(const struct tp_series_set *set,
                          const struct tp_run_series *series, size_t at,
                          struct tp_alarm *alarm)
{
    const int64_t *iterations = tp_series_at(set, series);
    alarm->metric = tp_series_metric_by_name("nan+inf");
    alarm->point = at;
    alarm->iteration = iterations[at];
    alarm->after = at ? iterations[at - 1] : iterations[at] - 1;
    alarm->value = tp_series_values(set, series, alarm->metric)[at];
    alarm->center = 0;
    alarm->spread = alarm->deviation = NAN;
    alarm->kind = TP_CHANGE_SHIFT;
    alarm->weak = false;
    alarm->nonfinite = true;
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
            tp_monitor_baseline(monitor, index, metric);
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
    size_t nonfinite = first_nonfinite(set, series);
    alarm->metrics += nonfinite < series->count;
    if (nonfinite < series->count && (!best || nonfinite <= alarm->point))
        set_nonfinite(set, series, nonfinite, alarm);
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
        tp_monitor_trace(monitor, alarm->series, alarm->metric, &trace, err);
    for (size_t i = alarm->point; i < series->count; i++) {
        if (flags[i])
            alarm->last = at[i];
    }
    return status;
}

static enum tp_status add_alarms(struct tp_monitor *monitor,
                                 struct tp_error *err)
{
    const struct tp_series_set *set = &monitor->series;
    size_t most = 1;
    for (size_t i = 0; i < set->count; i++)
        most = set->series[i].count > most ? set->series[i].count : most;
    uint8_t *flags = calloc(most, 1);
    monitor->alarms = calloc(set->count + 1, sizeof *monitor->alarms);
    monitor->alarm_of = calloc(set->count + 1, sizeof *monitor->alarm_of);
    enum tp_status status = flags && monitor->alarms && monitor->alarm_of
                                ? TP_OK
                                : tp_fail_memory(err);
    for (size_t i = 0; i < set->count && status == TP_OK; i++) {
        struct tp_alarm *alarm = &monitor->alarms[monitor->alarm_count];
        if (!find_alarm(monitor, i, alarm))
            continue;
        monitor->alarm_count++;
        status = find_last(monitor, alarm, flags, err);
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

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_runs(const struct tp_run_series *a,
                        const struct tp_run_series *b)
{
    return strcmp(a->label.quant_type, b->label.quant_type);
}

/* Forward along the layers, then backward against them. */
static int compare_flow(const struct tp_run_series *a,
                        const struct tp_run_series *b)
{
    bool back = !strcmp(a->label.operation, "backward");
    int result = back - !strcmp(b->label.operation, "backward");
    if (!result)
        result = back ? order(b->label.layer_idx, a->label.layer_idx)
                      : order(a->label.layer_idx, b->label.layer_idx);
    if (!result)
        result = strcmp(a->label.layer_type, b->label.layer_type);
    if (!result)
        result = order(a->ordinal, b->ordinal);
    if (!result)
        result = -strcmp(a->label.phase, b->label.phase);
    return result ? result : strcmp(a->label.tensor_name, b->label.tensor_name);
}

static int compare_alarms(const void *left, const void *right)
{
    const struct ordered *a = left, *b = right;
    int result = compare_runs(a->series, b->series);
    if (!result)
        result = order(a->alarm.iteration, b->alarm.iteration);
    if (!result) /* sums over tensors come after these */
        result = order(a->series->kind, b->series->kind);
    if (!result)
        result = order(a->counter, b->counter);
    if (!result)
        result = compare_flow(a->series, b->series);
    if (!result)
        result = order(a->series->label.rank, b->series->label.rank);
    return result ? result
                  : (a->alarm.series > b->alarm.series) -
                        (a->alarm.series < b->alarm.series);
}

static int64_t counter_of(const struct tp_series_set *set,
                          const struct tp_alarm *alarm)
{
    size_t count;
    const struct tp_row *const *rows =
        tp_series_rows(set, &set->series[alarm->series], alarm->point, &count);
    return count ? rows[0]->label.counter : -1;
}

static enum tp_status sort_alarms(struct tp_monitor *monitor,
                                  struct tp_error *err)
{
    const struct tp_series_set *set = &monitor->series;
    size_t count = monitor->alarm_count;
    struct ordered *ordered = calloc(count + 1, sizeof *ordered);
    if (!ordered)
        return tp_fail_memory(err);
    bool counted = true;
    for (size_t i = 0; i < count; i++) {
        const struct tp_alarm *alarm = &monitor->alarms[i];
        const struct tp_run_series *series = &set->series[alarm->series];
        ordered[i] = (struct ordered){*alarm, series, counter_of(set, alarm)};
        counted = counted &&
                  (ordered[i].counter >= 0 || series->kind != TP_SERIES_TENSOR);
    }
    for (size_t i = 0; i < count && !counted; i++)
        ordered[i].counter = -1;
    if (count)
        qsort(ordered, count, sizeof *ordered, compare_alarms);
    for (size_t i = 0; i < set->count; i++)
        monitor->alarm_of[i] = TP_NONE;
    for (size_t i = 0; i < count; i++) {
        monitor->alarms[i] = ordered[i].alarm;
        monitor->alarms[i].incident = TP_NONE;
        monitor->alarm_of[ordered[i].alarm.series] = i;
    }
    free(ordered);
    return TP_OK;
}

/* --- incidents ----------------------------------------------- */

static const struct tp_run_series *series_of(const struct tp_monitor *monitor,
                                             size_t alarm)
{
    return &monitor->series.series[monitor->alarms[alarm].series];
}

static bool same_run(const struct tp_monitor *monitor, size_t a, size_t b)
{
    return compare_runs(series_of(monitor, a), series_of(monitor, b)) == 0;
}

static bool is_tensor(const struct tp_monitor *monitor, size_t alarm)
{
    return series_of(monitor, alarm)->kind == TP_SERIES_TENSOR;
}

static bool is_firm(const struct tp_monitor *monitor, size_t alarm)
{
    const struct tp_alarm *its = &monitor->alarms[alarm];
    return is_tensor(monitor, alarm) && !its->weak &&
           its->kind != TP_CHANGE_DRIFT;
}

/* How many other tensors of the rank change when this one does, or up to
 * `later` iterations after it. Stops counting at `enough`. */
static size_t count_followers(const struct tp_monitor *monitor, size_t alarm,
                              int64_t later, size_t enough)
{
    const struct tp_alarm *its = &monitor->alarms[alarm];
    size_t first = alarm, count = 0;
    while (first > 0 && same_run(monitor, first - 1, alarm) &&
           monitor->alarms[first - 1].iteration == its->iteration)
        first--;
    for (size_t i = first; i < monitor->alarm_count && count < enough; i++) {
        const struct tp_alarm *next = &monitor->alarms[i];
        if (!same_run(monitor, i, alarm) ||
            next->iteration > its->iteration + later)
            break;
        count += i != alarm && is_tensor(monitor, i) &&
                 next->incident == TP_NONE &&
                 series_of(monitor, i)->label.rank ==
                     series_of(monitor, alarm)->label.rank;
    }
    return count;
}

/* The first alarm of the firm one's time in the data's flow. */
static size_t find_origin(const struct tp_monitor *monitor, size_t firm)
{
    size_t origin = firm;
    for (size_t i = firm; i-- > 0 && same_run(monitor, i, firm);) {
        const struct tp_alarm *alarm = &monitor->alarms[i];
        if (alarm->iteration <= monitor->alarms[firm].after)
            break;
        if (alarm->incident == TP_NONE && is_tensor(monitor, i) &&
            alarm->kind != TP_CHANGE_DRIFT)
            origin = i;
    }
    return origin;
}

static enum tp_status begin_incident(struct tp_monitor *monitor, size_t origin,
                                     struct tp_error *err)
{
    size_t count = monitor->incident_count;
    enum tp_status status =
        tp_grow(&monitor->incidents, &monitor->incident_capacity, count + 1,
                sizeof *monitor->incidents, err);
    if (status != TP_OK)
        return status;
    struct tp_alarm *alarm = &monitor->alarms[origin];
    monitor->incidents[monitor->incident_count++] =
        (struct tp_incident){.origin = origin,
                             .from = alarm->iteration,
                             .to = alarm->last,
                             .members = 1,
                             .firm = !alarm->weak};
    alarm->incident = count;
    return TP_OK;
}

static void join(struct tp_monitor *monitor, size_t alarm)
{
    struct tp_incident *incident =
        &monitor->incidents[monitor->incident_count - 1];
    struct tp_alarm *its = &monitor->alarms[alarm];
    its->incident = monitor->incident_count - 1;
    incident->to = its->last > incident->to ? its->last : incident->to;
    incident->firm = incident->firm || !its->weak;
    incident->members++;
    incident->consequences += is_tensor(monitor, alarm);
}

static bool is_drift(const struct tp_alarm *alarm)
{
    return alarm->kind == TP_CHANGE_DRIFT;
}

/* Everything from the origin on until the window passes without an alarm; of
 * a drift, only drifts. */
static void spread(struct tp_monitor *monitor, size_t origin)
{
    int64_t window = (int64_t)monitor->options.alert_window;
    int64_t newest = monitor->alarms[origin].iteration;
    bool drifts = is_drift(&monitor->alarms[origin]);
    size_t i = origin + 1;
    while (i > 0 && same_run(monitor, i - 1, origin) &&
           monitor->alarms[i - 1].iteration == newest)
        i--;
    for (; i < monitor->alarm_count && same_run(monitor, i, origin); i++) {
        const struct tp_alarm *alarm = &monitor->alarms[i];
        if (alarm->iteration - newest > window)
            break;
        if (alarm->incident != TP_NONE || (drifts && !is_drift(alarm)))
            continue;
        newest = alarm->iteration;
        join(monitor, i);
    }
}

/* Which alarms begin an incident, in the order in which this is asked. */
static bool begins_firmly(const struct tp_monitor *monitor, size_t alarm)
{
    return is_firm(monitor, alarm) &&
           (monitor->alarms[alarm].nonfinite ||
            count_followers(monitor, alarm, 1, 1) > 0);
}

static bool begins_weakly(const struct tp_monitor *monitor, size_t alarm)
{
    return is_tensor(monitor, alarm) && monitor->alarms[alarm].weak &&
           !is_drift(&monitor->alarms[alarm]) &&
           count_followers(monitor, alarm, 0, 2) == 2;
}

static bool begins_drifting(const struct tp_monitor *monitor, size_t alarm)
{
    return is_drift(&monitor->alarms[alarm]);
}

static enum tp_status group_by(struct tp_monitor *monitor,
                               bool (*begins)(const struct tp_monitor *monitor,
                                              size_t alarm),
                               struct tp_error *err)
{
    enum tp_status status = TP_OK;
    size_t count = monitor->alarm_count;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        if (monitor->alarms[i].incident != TP_NONE || !begins(monitor, i))
            continue;
        size_t origin = begins == begins_firmly ? find_origin(monitor, i) : i;
        status = begin_incident(monitor, origin, err);
        if (status == TP_OK)
            spread(monitor, origin);
    }
    return status;
}

static enum tp_status group_alarms(struct tp_monitor *monitor,
                                   struct tp_error *err)
{
    enum tp_status status = group_by(monitor, begins_firmly, err);
    if (status == TP_OK)
        status = group_by(monitor, begins_weakly, err);
    if (status == TP_OK)
        status = group_by(monitor, begins_drifting, err);
    for (size_t i = 0; i < monitor->alarm_count && status == TP_OK; i++) {
        if (monitor->alarms[i].incident == TP_NONE)
            status = begin_incident(monitor, i, err);
    }
    return status;
}

/* --- ranks ----------------------------------------------- */

static int compare_numbers(const void *left, const void *right)
{
    return order(*(const int64_t *)left, *(const int64_t *)right);
}

/* Sorts numbers and counts the distinct ones. */
static size_t distinct(int64_t *numbers, size_t count)
{
    size_t found = 0;
    if (count)
        qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (size_t i = 0; i < count; i++)
        found += i == 0 || numbers[i] != numbers[i - 1];
    return found;
}

static bool same_place(const struct tp_run_series *a,
                       const struct tp_run_series *b)
{
    return a->kind == b->kind && a->ordinal == b->ordinal && a->row && b->row &&
           tp_same_place(a->row, b->row);
}

/* The ranks of the run that a series belongs to. `ranks` has room for one
 * per series. */
static size_t ranks_of_run(const struct tp_series_set *set,
                           const struct tp_run_series *series, int64_t *ranks)
{
    size_t n = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (compare_runs(&set->series[i], series) == 0)
            ranks[n++] = set->series[i].label.rank;
    }
    return distinct(ranks, n);
}

/* Ranks with alarms of one incident that has several. */
static void count_ranks(struct tp_monitor *monitor, size_t number,
                        int64_t *ranks)
{
    struct tp_incident *incident = &monitor->incidents[number];
    const struct tp_run_series *origin = series_of(monitor, incident->origin);
    size_t n = 0, hit = 0;
    for (size_t i = 0; i < monitor->alarm_count; i++) {
        if (monitor->alarms[i].incident == number)
            ranks[hit++] = series_of(monitor, i)->label.rank;
    }
    incident->ranks_hit = distinct(ranks, hit);
    for (size_t i = 0; i < monitor->alarm_count; i++) {
        const struct tp_alarm *alarm = &monitor->alarms[i];
        if (alarm->incident == number && alarm->iteration == incident->from &&
            same_place(series_of(monitor, i), origin))
            ranks[n++] = series_of(monitor, i)->label.rank;
    }
    incident->ranks = distinct(ranks, n);
}

static enum tp_status count_all_ranks(struct tp_monitor *monitor,
                                      struct tp_error *err)
{
    int64_t *ranks = calloc(monitor->series.count + 1, sizeof *ranks);
    const struct tp_run_series *known = NULL;
    size_t all = 0;
    if (!ranks)
        return tp_fail_memory(err);
    for (size_t i = 0; i < monitor->incident_count; i++) {
        struct tp_incident *incident = &monitor->incidents[i];
        const struct tp_run_series *origin =
            series_of(monitor, incident->origin);
        if (!known || compare_runs(known, origin) != 0)
            all = ranks_of_run(&monitor->series, origin, ranks);
        known = origin;
        incident->ranks_all = all;
        incident->ranks = incident->ranks_hit = 1;
        if (incident->members > 1)
            count_ranks(monitor, i, ranks);
    }
    free(ranks);
    return TP_OK;
}

/* --- what is excused ----------------------------------------------- */

/* Whether an incident explains the losses of what it changed: a drift may be
 * one, and a single weak statement is too little. */
static bool explains(const struct tp_monitor *monitor,
                     const struct tp_incident *incident)
{
    return !is_drift(&monitor->alarms[incident->origin]) &&
           (incident->firm || incident->members > 1);
}

/* The rows of a changed series while its incident lasts. */
static void excuse_series(struct tp_run *run, const struct tp_alarm *alarm)
{
    const struct tp_monitor *monitor = &run->monitor;
    const struct tp_series_set *set = &monitor->series;
    const struct tp_run_series *series = &set->series[alarm->series];
    const struct tp_incident *incident = &monitor->incidents[alarm->incident];
    const int64_t *at = tp_series_at(set, series);
    if (!explains(monitor, incident))
        return;
    for (size_t i = 0; i < series->count; i++) {
        size_t count;
        const struct tp_row *const *rows =
            tp_series_rows(set, series, i, &count);
        if (at[i] < incident->from || at[i] > incident->to)
            continue;
        for (size_t k = 0; k < count; k++)
            monitor->excused[rows[k] - run->rows] = 1;
    }
}

/* A rank of a run while an incident spreads there: what begins then follows
 * from it, though the change was too small for an alarm. */
struct reach {
    const char *quant_type;
    int64_t rank, from, to;
};

static int compare_reach(const void *left, const void *right)
{
    const struct reach *a = left, *b = right;
    int result = strcmp(a->quant_type, b->quant_type);
    if (!result)
        result = order(a->rank, b->rank);
    return result ? result : order(a->from, b->from);
}

/* One reach for each alarm of an incident that has several: from its start to
 * one window after the alarm. Sorted, and joined where they overlap. */
static size_t find_reaches(const struct tp_monitor *monitor,
                           struct reach *reaches)
{
    size_t n = 0, joined = 0;
    for (size_t i = 0; i < monitor->alarm_count; i++) {
        const struct tp_alarm *alarm = &monitor->alarms[i];
        const struct tp_incident *incident =
            &monitor->incidents[alarm->incident];
        const struct tp_label *label = &series_of(monitor, i)->label;
        if (incident->members > 1 && explains(monitor, incident))
            reaches[n++] = (struct reach){
                label->quant_type, label->rank, incident->from,
                alarm->iteration + (int64_t)monitor->options.alert_window};
    }
    if (n)
        qsort(reaches, n, sizeof *reaches, compare_reach);
    for (size_t i = 0; i < n; i++) {
        struct reach *last = joined ? &reaches[joined - 1] : NULL;
        if (last && !strcmp(last->quant_type, reaches[i].quant_type) &&
            last->rank == reaches[i].rank && reaches[i].from <= last->to)
            last->to = reaches[i].to > last->to ? reaches[i].to : last->to;
        else
            reaches[joined++] = reaches[i];
    }
    return joined;
}

/* Whether some reach holds this row: the last one that begins before it. */
static bool is_reached(const struct reach *reaches, size_t count,
                       const struct tp_label *label)
{
    const struct reach wanted = {label->quant_type, label->rank,
                                 label->iteration, 0};
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_reach(&reaches[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    const struct reach *last = &reaches[low - 1];
    return last->rank == label->rank && label->iteration <= last->to &&
           !strcmp(last->quant_type, label->quant_type);
}

static enum tp_status excuse(struct tp_run *run, struct tp_error *err)
{
    struct tp_monitor *monitor = &run->monitor;
    struct reach *reaches = calloc(monitor->alarm_count + 1, sizeof *reaches);
    monitor->excused = calloc(run->row_count + 1, 1);
    if (!reaches || !monitor->excused) {
        free(reaches);
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < monitor->alarm_count; i++)
        excuse_series(run, &monitor->alarms[i]);
    size_t count = find_reaches(monitor, reaches);
    for (size_t i = 0; i < run->row_count && count; i++)
        monitor->excused[i] |= is_reached(reaches, count, &run->rows[i].label);
    free(reaches);
    return TP_OK;
}

bool tp_row_excused(const struct tp_run *run, const struct tp_row *row)
{
    return run->monitor.excused && run->monitor.excused[row - run->rows];
}

enum tp_status tp_incidents_make(struct tp_run *run, struct tp_error *err)
{
    struct tp_monitor *monitor = &run->monitor;
    enum tp_status status = add_alarms(monitor, err);
    if (status == TP_OK)
        status = sort_alarms(monitor, err);
    if (status == TP_OK)
        status = group_alarms(monitor, err);
    if (status == TP_OK)
        status = count_all_ranks(monitor, err);
    return status == TP_OK ? excuse(run, err) : status;
}
