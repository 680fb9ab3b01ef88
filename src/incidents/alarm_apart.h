/* SPDX-License-Identifier: MIT */
#ifndef TP_INCIDENTS_ALARM_APART_H
#define TP_INCIDENTS_ALARM_APART_H

#include "incidents/alarm.h"

/* Marks alarms that nothing before them accounts for, and adds those that come
 * up in a series after its first one. TP_E_MEMORY only. */
enum tp_status tp_alarms_apart(struct tp_incidents *all, struct tp_error *err);

#endif
