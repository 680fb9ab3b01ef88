/* SPDX-License-Identifier: MIT */
#ifndef TP_INCIDENTS_INCIDENT_H
#define TP_INCIDENTS_INCIDENT_H

#include "tensors/run.h"

/*
 * From baselines to causes. Series that left their baselines are alarms; an
 * incident is an alarm that others follow. See incident.c for how its origin
 * is chosen.
 */

/* Makes alarms and incidents of run->monitor, whose baselines are there.
 * TP_E_MEMORY only. */
enum tp_status tp_incidents_make(struct tp_run *run, struct tp_error *err);

/* The part of it that marks rows, monitor->excused (excuse.c). */
enum tp_status tp_incidents_excuse(struct tp_run *run, struct tp_error *err);

/* Whether anything but the origin's tensor changed, on whatever rank. */
bool tp_incident_followed(const struct tp_incident *incident);

/* Whether an alarm is its incident's origin or the same on another rank, in the
 * same iteration or, where nothing else changed, in the next. */
bool tp_alarm_at_origin(const struct tp_monitor *monitor, size_t alarm);

/* Whether a row is a consequence of an incident (its origin included), and
 * so says nothing about the tensor itself. */
bool tp_row_excused(const struct tp_run *run, const struct tp_row *row);

#endif
