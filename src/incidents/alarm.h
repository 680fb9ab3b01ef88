/* SPDX-License-Identifier: MIT */
#ifndef TP_INCIDENTS_ALARM_H
#define TP_INCIDENTS_ALARM_H

#include "tensors/run.h"

/*
 * Alarms: the first change of each series, in the order of the data's flow.
 * They are named by their numbers in monitor->alarms.
 */

/* Makes monitor->alarms and alarm_of from its baselines, sorted, none in an
 * incident yet. TP_E_MEMORY only. */
enum tp_status tp_alarms_make(struct tp_monitor *monitor, struct tp_error *err);

/* The part of it that lets alarms begin together that may have (alarm_align.c):
 * sets their points, iterations, values and deviations. */
enum tp_status tp_alarms_align(struct tp_monitor *monitor,
                               struct tp_error *err);

/* The series that an alarm is of. */
const struct tp_run_series *tp_alarm_series(const struct tp_monitor *monitor,
                                            size_t alarm);

/* Whether it is a tensor's, not a sum's over several tensors. */
bool tp_alarm_of_tensor(const struct tp_monitor *monitor, size_t alarm);

/* The first point of a series that is not before an iteration; its count:
 * none. */
size_t tp_series_point_at(const struct tp_series_set *set,
                          const struct tp_run_series *series,
                          int64_t iteration);

/* Whether one tensor comes before another of its rank in an iteration. */
bool tp_series_upstream(const struct tp_series_set *set,
                        const struct tp_run_series *a,
                        const struct tp_run_series *b, int64_t iteration);

/* Whether another rank, from its last point before the alarm to the one where
 * that shows or the next, moved half as far in the same direction, though
 * perhaps not beyond its own limit. `peer` is the other rank's series. */
bool tp_alarm_moved(const struct tp_monitor *monitor,
                    const struct tp_alarm *alarm,
                    const struct tp_run_series *peer);

/* The series of an alarm's place, [*first, *end) of the set: its own, those of
 * other ranks and ordinals; of sums all. */
void tp_alarm_place(const struct tp_monitor *monitor,
                    const struct tp_alarm *alarm, size_t *first, size_t *end);

/* Orders runs, that is quantisation types. */
int tp_series_compare_runs(const struct tp_run_series *a,
                           const struct tp_run_series *b);

#endif
