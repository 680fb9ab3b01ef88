/* SPDX-License-Identifier: MIT */
#ifndef TP_INCIDENTS_ALARM_H
#define TP_INCIDENTS_ALARM_H

#include "series/monitor.h"

/*
 * Alarms: the first change of each series, and those after it that it does not
 * account for (alarm_apart.c), in the order of the data's flow. They are named
 * by their numbers in struct tp_incidents.
 */

struct tp_incident;

/* No alarm, no incident. */
#define TP_NONE SIZE_MAX

/* A change of one series; the first in the metric that shows it best. */
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
    bool apart;      /* nothing earlier accounts for it, see alarm_apart.c  */
    bool later;      /* so, and its series had an alarm before              */
    size_t metrics;  /* how many metrics of the series changed          */
    size_t incident; /* it belongs to                                  */
    size_t next;     /* alarm of the same incident; TP_NONE: the last   */
};

/* What left its baseline, and what caused what. All-zero bytes: nothing did. */
struct tp_incidents {
    const struct tp_run *run;         /* borrowed                          */
    const struct tp_monitor *monitor; /* its baselines, borrowed           */
    struct tp_alarm *alarms;          /* in the order of the data's flow   */
    size_t alarm_count;
    size_t *alarm_of;              /* [series]: its first one, or TP_NONE   */
    struct tp_incident *incidents; /* by first iteration                   */
    size_t incident_count, incident_capacity;
    uint8_t *explained; /* [row of the run]: 1: changed by an incident, so
                           no finding of its own                          */
};

/* Makes alarms and alarm_of from the baselines, by series, none in an incident
 * yet. TP_E_MEMORY only. */
enum tp_status tp_alarms_find(struct tp_incidents *all, struct tp_error *err);

/* The first point of a tensor with a NaN, or with an Inf after one without;
 * series->count: none. */
size_t tp_alarm_first_nonfinite(const struct tp_series_set *set,
                                const struct tp_run_series *series);

/* An alarm at that point. */
void tp_alarm_set_nonfinite(const struct tp_series_set *set,
                            const struct tp_run_series *series, size_t at,
                            struct tp_alarm *alarm);

/* Sorts the alarms by run, iteration and flow. TP_E_MEMORY only. */
enum tp_status tp_alarms_sort(struct tp_incidents *all, struct tp_error *err);

/* The series that an alarm is of. */
const struct tp_run_series *tp_alarm_series(const struct tp_incidents *all,
                                            size_t alarm);

/* Whether it is a tensor's, not a sum's over several tensors. */
bool tp_alarm_of_tensor(const struct tp_incidents *all, size_t alarm);

/* The same, or of what several tensors share. */
bool tp_alarm_of_tensors(const struct tp_incidents *all, size_t alarm);

/* Whether another rank, from its last point before the alarm to the one where
 * that shows or the next, moved half as far in the same direction, though
 * perhaps not beyond its own limit. `peer` is the other rank's series. */
bool tp_alarm_moved(const struct tp_incidents *all,
                    const struct tp_alarm *alarm,
                    const struct tp_run_series *peer);

/* The series of an alarm's place, [*first, *end) of the set: its own, those of
 * other ranks and ordinals; of sums all. */
void tp_alarm_place(const struct tp_incidents *all,
                    const struct tp_alarm *alarm, size_t *first, size_t *end);

#endif
