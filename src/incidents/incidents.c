/* SPDX-License-Identifier: MIT */
#include "incidents/incidents.h"

#include <stdlib.h>
#include <string.h>

#include "incidents/alarm_align.h"
#include "incidents/alarm_apart.h"

enum tp_status tp_incidents_make(const struct tp_run *run,
                                 const struct tp_monitor *monitor,
                                 struct tp_incidents *incidents,
                                 struct tp_error *err)
{
    incidents->run = run;
    incidents->monitor = monitor;
    enum tp_status status = tp_alarms_find(incidents, err);
    if (status == TP_OK)
        status = tp_alarms_align(incidents, err);
    if (status == TP_OK)
        status = tp_alarms_apart(incidents, err);
    if (status == TP_OK)
        status = tp_alarms_sort(incidents, err);
    if (status == TP_OK)
        status = tp_incidents_group(incidents, err);
    return status == TP_OK ? tp_incidents_explain(incidents, err) : status;
}

void tp_incidents_clear(struct tp_incidents *incidents)
{
    free(incidents->alarms);
    free(incidents->alarm_of);
    free(incidents->incidents);
    free(incidents->explained);
    memset(incidents, 0, sizeof *incidents);
}
