/* SPDX-License-Identifier: MIT */
#include "data/events_finish.h"

#include <stdbool.h>
#include <stdlib.h>

/* Names of a process are said once, on any of its lanes. */
static bool share_process_names(struct tp_events *events)
{
    struct tp_lane *said = calloc(events->texts.count + 1, sizeof *said);
    if (!said)
        return false;
    for (size_t i = 0; i < events->lane_count; i++) {
        const struct tp_lane *lane = &events->lanes[i];
        if (lane->process_name)
            said[lane->pid].process_name = lane->process_name;
        if (lane->process_labels)
            said[lane->pid].process_labels = lane->process_labels;
    }
    for (size_t i = 0; i < events->lane_count; i++) {
        struct tp_lane *lane = &events->lanes[i];
        lane->process_name = said[lane->pid].process_name;
        lane->process_labels = said[lane->pid].process_labels;
    }
    free(said);
    return true;
}

static bool drop_empty_lanes(struct tp_events *events)
{
    uint32_t *number = calloc(events->lane_count + 1, sizeof *number);
    if (!number)
        return false;
    for (size_t i = 0; i < events->count; i++)
        number[events->lane[i]] = 1;
    size_t kept = 0;
    for (size_t i = 0; i < events->lane_count; i++) {
        if (!number[i])
            continue;
        events->lanes[kept] = events->lanes[i];
        number[i] = (uint32_t)kept++;
    }
    for (size_t i = 0; i < events->count; i++)
        events->lane[i] = number[events->lane[i]];
    free(number);
    events->lane_count = kept;
    free(events->lane_slots); /* numbers changed; rebuilt by the next lane */
    events->lane_slots = NULL;
    events->lane_slot_count = 0;
    return true;
}

enum tp_status tp_events_finish(struct tp_events *events, struct tp_error *err)
{
    if (!share_process_names(events) || !drop_empty_lanes(events))
        return tp_fail_memory(err);
    free(events->gpu_recent);
    events->gpu_recent = NULL;
    tp_events_shrink(events);
    return TP_OK;
}
