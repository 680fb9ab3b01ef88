/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_MONITOR_H
#define TP_SERIES_MONITOR_H

#include "base/pool.h"
#include "series/kinds.h"
#include "series/series.h"

/*
 * The baselines of all series of a run, and what left them: alarms, grouped
 * into incidents with one origin each.
 */

/* No alarm, no incident. */
#define TP_NONE SIZE_MAX

/* The first change of one series, in the metric that shows it best. */
struct tp_alarm {
    size_t series, metric;
    size_t point;      /* the first bad one, index in the series          */
    int64_t iteration; /* of that point                                  */
    int64_t after;     /* it began later than at this one                 */
    int64_t until;     /* and no later than at this one                   */
    size_t shown;      /* the first point beyond the limit; where a change
                          grows, that is after the first bad one          */
    int64_t last;      /* iteration of the last bad point                 */
    double value, center, spread, deviation;
    double worst; /* the largest deviation, there or later              */
    enum tp_change kind;
    bool weak;       /* too few points for a firm statement             */
    bool nonfinite;  /* NaN, or Inf where there was none                */
    size_t metrics;  /* how many metrics of the series changed          */
    size_t incident; /* it belongs to                                  */
    size_t next;     /* alarm of the same incident; TP_NONE: the last   */
};

/* What has one cause. One that nothing follows is a change. */
struct tp_incident {
    size_t origin;       /* alarm                                          */
    int64_t from, to;    /* iterations: the first and the last bad one      */
    size_t first;        /* its first alarm, see tp_alarm.next              */
    size_t members;      /* alarms, the origin's too                        */
    size_t ranks;        /* where the origin's place changed at once        */
    size_t consequences; /* members of other tensors than those             */
    size_t ranks_hit;    /* ranks with any alarm of the incident            */
    size_t ranks_all;    /* ranks of that run                               */
    bool alike;          /* nothing but one change on several ranks         */
    bool firm;           /* else the statement is a weak one                */
};

struct tp_monitor {
    struct tp_baseline_options options;
    struct tp_series_set series;
    struct tp_kinds kinds;         /* of these                             */
    struct tp_baseline *baselines; /* by series, then its metrics          */
    size_t *first;                 /* [series]: its first baseline         */
    size_t baseline_count;
    size_t *with_values; /* numbers of baselines with any value  */
    size_t with_value_count;
    size_t *value_row;       /* [baselines + 1]: values before each,
                                without those of none                */
    struct tp_alarm *alarms; /* in the order of the data's flow       */
    size_t alarm_count;
    size_t *alarm_of;              /* [series]: its alarm, or TP_NONE       */
    struct tp_incident *incidents; /* by first iteration                   */
    size_t incident_count, incident_capacity;
    uint8_t *excused; /* [row of the run]: 1: changed by an
                         incident, so no finding of its own   */
};

/*
 * Makes series, baselines, alarms and incidents of a run whose rows are
 * there, into run->monitor. Does not depend on the pool's size; `pool` NULL
 * works alone. TP_E_MEMORY only.
 */
enum tp_status tp_monitor_make(struct tp_run *run,
                               const struct tp_baseline_options *options,
                               struct tp_pool *pool, struct tp_error *err);

/* Releases what a monitor owns; it is empty afterwards. */
void tp_monitor_clear(struct tp_monitor *monitor);

/* The part of tp_monitor_make that fits: baselines of all series of
 * monitor->series, by monitor->options; drift of those that have rows.
 * TP_E_MEMORY only. */
enum tp_status tp_monitor_fit(struct tp_monitor *monitor, struct tp_pool *pool,
                              struct tp_error *err);

/* The baseline of a series' metric; NULL when it is not of its kind. */
const struct tp_baseline *tp_monitor_baseline(const struct tp_monitor *monitor,
                                              size_t series, size_t metric);

/* Fits one series again with the band of every point (arrays of the series'
 * count or NULL, see baseline.h). TP_E_MEMORY only. */
enum tp_status tp_monitor_trace(const struct tp_monitor *monitor, size_t series,
                                size_t metric,
                                const struct tp_baseline_trace *trace,
                                struct tp_error *err);

#endif
