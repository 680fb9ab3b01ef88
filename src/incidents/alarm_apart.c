/* SPDX-License-Identifier: MIT */
/*
 * Changes that no earlier one of the run accounts for, though they come while
 * it lasts. There are two. A NaN or an Inf, where no tensor that changed has
 * held one in an earlier iteration, nor was ever so large that its square is
 * beyond what its format holds. And a jump of abs_max, within one iteration, so
 * far beyond its baseline that it is 64 times the square of the farthest that
 * any tensor of the run had come: a growth by some factor an iteration, or one
 * that squares itself in each, is no such jump.
 *
 * Both are looked for in what has an alarm, at it and after it; so a series may
 * have several. They belong to no earlier incident, which would hide them.
 * Alternative: to follow the data's flow from each; but what grows overflows
 * in tensors that nobody saved. Cost: O(p log p) for p points of those series
 * at which they are farther off than ever.
 */
#include "incidents/alarm_apart.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "series/flow.h"
#include "tensors/run.h"

/* Binades beyond twice the farthest before, and spreads, of a jump. */
static const double JUMP = 6, FAR_OFF = 10;

/* How far a series has come, in binades above its baseline. */
struct record {
    const struct tp_run_series *series;
    int64_t at;
    double level; /* of the run until then, once they are sorted */
};

/* From when on a NaN of a run has a cause. */
struct cause {
    const struct tp_run_series *series; /* any of the run */
    int64_t from;
};

struct search {
    struct tp_incidents *all;
    size_t capacity; /* of all->alarms */
    size_t metric;   /* abs_max */
    struct record *records;
    size_t record_count, record_capacity;
    struct cause *causes; /* [runs] */
    size_t cause_count, cause_capacity;
};

/* A series with what is asked of it again and again. */
struct watched {
    const struct tp_run_series *series;
    const int64_t *at;
    const double *value;
    const struct tp_baseline *baseline;
    size_t broken; /* its first point with a NaN or Inf; count: none */
};

static struct watched watch(const struct search *s, size_t index)
{
    const struct tp_monitor *monitor = s->all->monitor;
    const struct tp_series_set *set = &monitor->series;
    const struct tp_run_series *series = &set->series[index];
    return (struct watched){series, tp_series_at(set, series),
                            tp_series_values(set, series, s->metric),
                            tp_monitor_change(monitor, index, s->metric),
                            tp_alarm_first_nonfinite(set, series)};
}

/* Binades above the baseline; 0 where there is none. */
static double level_at(const struct watched *w, size_t i)
{
    double center = w->baseline->center;
    return center > 0 ? fmax(log2(w->value[i] / center), 0) : 0;
}

/* Whether a point may lead to an Inf: it has grown, and a product of two such
 * values overflows. What no baseline tells may have grown that far. */
static bool may_overflow(const struct watched *w, size_t i)
{
    const struct tp_row *row = w->series->row;
    const struct tp_number *format =
        tp_number_by_id(tp_dtype_info(row->dtype)->format);
    double most = fmin(format ? format->max : FLT_MAX,
                       isnan(row->target_max) ? INFINITY : row->target_max);
    return !(w->baseline->center > 0) ||
           (level_at(w, i) >= 1 && w->value[i] >= sqrt(most));
}

/* --- what went before ----------------------------------------------- */

static struct cause *cause_of(const struct search *s,
                              const struct tp_run_series *series)
{
    for (size_t i = 0; i < s->cause_count; i++) {
        if (!tp_series_compare_runs(s->causes[i].series, series))
            return &s->causes[i];
    }
    return NULL;
}

static enum tp_status add_cause(struct search *s,
                                const struct tp_run_series *series,
                                int64_t from, struct tp_error *err)
{
    struct cause *cause = cause_of(s, series);
    if (!cause) {
        if (tp_grow(&s->causes, &s->cause_capacity, s->cause_count + 1,
                    sizeof *s->causes, err) != TP_OK)
            return TP_E_MEMORY;
        cause = &s->causes[s->cause_count++];
        *cause = (struct cause){series, from};
    }
    cause->from = from < cause->from ? from : cause->from;
    return TP_OK;
}

static enum tp_status add_record(struct search *s, const struct watched *w,
                                 size_t i, struct tp_error *err)
{
    enum tp_status status =
        tp_grow(&s->records, &s->record_capacity, s->record_count + 1,
                sizeof *s->records, err);
    if (status == TP_OK)
        s->records[s->record_count++] =
            (struct record){w->series, w->at[i], level_at(w, i)};
    return status;
}

/* What an alarm's series was from then on. */
static enum tp_status note(struct search *s, const struct tp_alarm *alarm,
                           struct tp_error *err)
{
    const struct watched w = watch(s, alarm->series);
    bool overflows = false;
    double farthest = 0;
    enum tp_status status = TP_OK;
    for (size_t i = alarm->point; i < w.series->count && status == TP_OK; i++) {
        if (i == w.broken && w.at[i] < INT64_MAX)
            status = add_cause(s, w.series, w.at[i] + 1, err);
        if (status == TP_OK && !overflows && i < w.broken &&
            may_overflow(&w, i)) {
            overflows = true;
            status = add_cause(s, w.series, w.at[i], err);
        }
        if (status == TP_OK && level_at(&w, i) > farthest) {
            farthest = level_at(&w, i);
            status = add_record(s, &w, i, err);
        }
    }
    return status;
}

static int compare_records(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    int result = tp_series_compare_runs(a->series, b->series);
    return result ? result : tp_order_int64(a->at, b->at);
}

static void sort_records(struct search *s)
{
    if (s->record_count)
        qsort(s->records, s->record_count, sizeof *s->records, compare_records);
    for (size_t i = 1; i < s->record_count; i++) {
        struct record *record = &s->records[i];
        if (!tp_series_compare_runs(record->series, record[-1].series))
            record->level = fmax(record->level, record[-1].level);
    }
}

/* How far the run had come before an iteration. */
static double level_before(const struct search *s,
                           const struct tp_run_series *series, int64_t at)
{
    const struct record wanted = {series, at, 0};
    size_t next;
    TP_PARTITION_POINT(next, s->record_count,
                       compare_records(&s->records[next], &wanted) < 0);
    return next > 0 &&
                   !tp_series_compare_runs(s->records[next - 1].series, series)
               ? s->records[next - 1].level
               : 0;
}

/* --- alarms ----------------------------------------------- */

static bool has_no_cause(const struct search *s, const struct watched *w)
{
    const struct cause *cause = cause_of(s, w->series);
    return !cause || w->at[w->broken] < cause->from;
}

static double deviation_at(const struct watched *w, size_t i)
{
    return tp_baseline_deviation(TP_BASELINE_LOG, w->value[i],
                                 w->baseline->center, w->baseline->spread);
}

static bool is_jump(const struct search *s, const struct watched *w, size_t i)
{
    double level = level_at(w, i);
    return !w->baseline->weak && level >= JUMP &&
           deviation_at(w, i) >= FAR_OFF &&
           level >= JUMP + 2 * level_before(s, w->series, w->at[i]);
}

static struct tp_alarm jump_alarm(const struct search *s,
                                  const struct watched *w, size_t at)
{
    double level = level_at(w, at), worst = deviation_at(w, at);
    size_t last = at;
    for (size_t i = at; i < w->series->count; i++) {
        if (level_at(w, i) >= level / 2)
            last = i;
        worst = fmax(worst, deviation_at(w, i));
    }
    return (struct tp_alarm){
        .metric = s->metric,
        .point = at,
        .iteration = w->at[at],
        .after = w->at[at - 1],
        .until = w->at[at],
        .shown = at,
        .last = w->at[last],
        .value = w->value[at],
        .center = w->baseline->center,
        .spread = w->baseline->spread,
        .deviation = deviation_at(w, at),
        .worst = worst,
        .kind = last + 1 < w->series->count ? TP_CHANGE_SPIKE : TP_CHANGE_SHIFT,
    };
}

static enum tp_status add_alarm(struct search *s, struct tp_alarm alarm,
                                size_t series, struct tp_error *err)
{
    struct tp_incidents *all = s->all;
    enum tp_status status =
        tp_grow(&all->alarms, &s->capacity, all->alarm_count + 1,
                sizeof *all->alarms, err);
    alarm.series = series;
    alarm.metrics = 1;
    alarm.apart = alarm.later = true;
    if (status == TP_OK)
        all->alarms[all->alarm_count++] = alarm;
    return status;
}

/* Those of a series after its first alarm has shown and its date is past. */
static enum tp_status add_later(struct search *s, size_t number,
                                struct tp_error *err)
{
    const struct tp_alarm first = s->all->alarms[number];
    const struct watched w = watch(s, first.series);
    enum tp_status status = TP_OK;
    for (size_t i = first.shown + 1; i < w.series->count && status == TP_OK;
         i++) {
        struct tp_alarm alarm = {0};
        if (w.at[i] <= first.until || i <= first.point)
            continue;
        if (i == w.broken && has_no_cause(s, &w))
            tp_alarm_set_nonfinite(&s->all->monitor->series, w.series, i,
                                   &alarm);
        else if (i < w.broken && is_jump(s, &w, i))
            alarm = jump_alarm(s, &w, i);
        else
            continue;
        status = add_alarm(s, alarm, first.series, err);
    }
    return status;
}

enum tp_status tp_alarms_apart(struct tp_incidents *all, struct tp_error *err)
{
    size_t count = all->alarm_count;
    struct search s = {.all = all,
                       .capacity = all->monitor->series.count + 1,
                       .metric = tp_series_metric_by_name("abs_max")};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        if (tp_alarm_of_tensor(all, i))
            status = note(&s, &all->alarms[i], err);
    }
    sort_records(&s);
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        struct tp_alarm *alarm = &all->alarms[i];
        if (!tp_alarm_of_tensor(all, i))
            continue;
        const struct watched w = watch(&s, alarm->series);
        alarm->apart =
            !alarm->weak && (alarm->nonfinite ? has_no_cause(&s, &w)
                                              : is_jump(&s, &w, alarm->point));
        status = add_later(&s, i, err);
    }
    free(s.records);
    free(s.causes);
    return status;
}
