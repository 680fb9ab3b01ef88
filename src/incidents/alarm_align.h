/* SPDX-License-Identifier: MIT */
#ifndef TP_INCIDENTS_ALARM_ALIGN_H
#define TP_INCIDENTS_ALARM_ALIGN_H

#include "incidents/alarm.h"

/* Lets alarms begin together that may have: sets their points, iterations,
 * values and deviations. TP_E_MEMORY only. */
enum tp_status tp_alarms_align(struct tp_incidents *all, struct tp_error *err);

#endif
