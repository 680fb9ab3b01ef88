/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_SPENT_H
#define TP_TRACE_TRACE_SPENT_H

#include "trace/trace.h"

/* What each moment of the typical steps was spent on, for the comparison of
 * two runs (trace_compare_why.h). */

/*
 * trace->spent and trace->spent_steps: every moment of the typical steps once
 * (without steps, of W), so that the rows add up to the steps. A moment belongs
 * to the device event that runs, of several to that which began first; else to
 * what the host is in: an operator or a call, of the main lane before others,
 * else a range or a module; else it is a gap. Needs trace->steps. TP_E_MEMORY.
 */
enum tp_status tp_trace_spent(struct tp_trace *trace, struct tp_error *err);

#endif
