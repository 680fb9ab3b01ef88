/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_MEMBERS_H
#define TP_TRACE_TRACE_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "data/events.h"

/* What a trace says before or behind its events. */
struct tp_trace_members {
    struct tp_text *text; /* "{" members, without the "}"; is written to  */
    int64_t offset;       /* of the brace in the JSON                     */
    bool cut;             /* the file ends too early: the last member may
                             not be whole                                 */
};

/*
 * Reads the members into `events`, with repairs if need be; what cannot be
 * put right is counted as one TP_REPAIR_DROPPED. TP_E_MEMORY.
 */
enum tp_status tp_trace_read_members(const struct tp_trace_members *facts,
                                   struct tp_events *events,
                                   struct tp_error *err);

/* Whether a text is one object and JSON proper; it is not written to. Also
 * false when memory ran out. */
bool tp_trace_is_object(const char *text, size_t length);

#endif
