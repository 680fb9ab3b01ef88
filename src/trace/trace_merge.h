/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_MERGE_H
#define TP_TRACE_TRACE_MERGE_H

#include <stdbool.h>

#include "data/events.h"

/*
 * Sorting all events of a trace, of which there may be so many that sixteen
 * bytes each for keys (trace_order.h) are too much: four suffice here.
 */

/* Whether an event comes before another. */
typedef bool tp_trace_before(const struct tp_events *events, uint32_t a,
                             uint32_t b);

/* By start. */
tp_trace_before tp_trace_before_start;

/* By lane, start, longest first, calls after others. */
tp_trace_before tp_trace_before_nested;

/* By correlation. */
tp_trace_before tp_trace_before_correlation;

/* Sorts a list of `count` events; equal ones keep their order. TP_E_MEMORY
 * only. */
enum tp_status tp_trace_merge_sort(const struct tp_events *events,
                                   uint32_t *list, size_t count,
                                   tp_trace_before *before,
                                   struct tp_error *err);

#endif
