/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_COMPARE_CAUSES_H
#define TP_TRACE_TRACE_COMPARE_CAUSES_H

#include "trace/trace_compare.h"

/* Fills comparison->causes from comparison->why: rows that are one cause
 * together, largest change first. TP_E_MEMORY only. */
enum tp_status
tp_trace_compare_causes(struct tp_trace_comparison *comparison,
                        struct tp_error *err);

#endif
