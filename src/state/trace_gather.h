/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_TRACE_GATHER_H
#define TP_STATE_TRACE_GATHER_H

#include "base/world.h"
#include "trace/trace_record.h"

/*
 * Rank 0: fills in the records that the others of a world have, from one after
 * the other. Another rank: sends its own that are done. As the world fails, or
 * TP_E_MEMORY.
 */
enum tp_status tp_trace_gather(const struct tp_world *world,
                               struct tp_trace_records *records,
                               struct tp_error *err);

#endif
