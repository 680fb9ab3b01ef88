/* SPDX-License-Identifier: MIT */
#ifndef TP_INCIDENTS_INCIDENT_H
#define TP_INCIDENTS_INCIDENT_H

#include "incidents/alarm.h"

/*
 * From alarms to causes: an incident is an alarm that others follow. See
 * incident.c for how its origin is chosen.
 */

/* What has one cause. One that nothing follows is a change. */
struct tp_incident {
    size_t origin;       /* alarm                                          */
    int64_t from, to;    /* iterations: the first and the last bad one      */
    size_t first;        /* its first alarm, see tp_alarm.next              */
    size_t members;      /* alarms, the origin's too                        */
    size_t ranks;        /* where the origin's place changed at once        */
    size_t consequences; /* members of other tensors than those             */
    size_t ranks_hit;    /* ranks with any alarm of the incident            */
    size_t ranks_have;   /* ranks that have its place; 0: it has no rank    */
    size_t ranks_all;    /* ranks of that run                               */
    bool alike;          /* nothing but one change on several ranks         */
    bool firm;           /* else the statement is a weak one                */
};

/* Groups sorted alarms into incidents. TP_E_MEMORY only. */
enum tp_status tp_incidents_group(struct tp_incidents *all,
                                  struct tp_error *err);

/* Whether anything but the origin's tensor changed, on whatever rank. */
bool tp_incident_followed(const struct tp_incident *incident);

/* Whether an alarm is its incident's origin or the same on another rank, in the
 * same iteration or, where nothing else changed, in the next. */
bool tp_alarm_at_origin(const struct tp_incidents *all, size_t alarm);

#endif
