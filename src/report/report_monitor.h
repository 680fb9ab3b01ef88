/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_MONITOR_H
#define TP_REPORT_REPORT_MONITOR_H

#include "base/text.h"
#include "incidents/incidents.h"

/*
 * What a monitor would have said during the run: a line on the gradient's norm
 * when its baseline is known and every 100 iterations, a line for each alarm.
 * Nothing when no series has a baseline.
 */
void tp_report_monitor(const struct tp_monitor *monitor,
                       const struct tp_incidents *incidents,
                       struct tp_text *text);

/* Lines on alarms, at most so many: first what the whole run bears out, then on
 * the gradient's norm of the whole model, then the others. */
void tp_report_alerts(const struct tp_monitor *monitor,
                      const struct tp_incidents *incidents, size_t most,
                      struct tp_text *text);

#endif
