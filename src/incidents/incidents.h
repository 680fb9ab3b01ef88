/* SPDX-License-Identifier: MIT */
#ifndef TP_INCIDENTS_INCIDENTS_H
#define TP_INCIDENTS_INCIDENTS_H

#include "incidents/alarm.h"
#include "incidents/explain.h"
#include "incidents/incident.h"

/*
 * From baselines to causes. Series that left their baselines are alarms; an
 * incident is an alarm that others follow.
 */

/*
 * Makes alarms and incidents of a monitor whose baselines are there. Run and
 * monitor are borrowed and have to stay where they are. `incidents` is zeroed
 * by the caller and released with tp_incidents_clear, also after a failure
 * (TP_E_MEMORY only).
 */
enum tp_status tp_incidents_make(const struct tp_run *run,
                                 const struct tp_monitor *monitor,
                                 struct tp_incidents *incidents,
                                 struct tp_error *err);

/* Releases what it owns; it is empty afterwards. */
void tp_incidents_clear(struct tp_incidents *incidents);

#endif
