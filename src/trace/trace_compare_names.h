/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_COMPARE_NAMES_H
#define TP_TRACE_TRACE_COMPARE_NAMES_H

#include "trace/trace_compare.h"

/* Fills comparison->named from tp_trace.spent of both runs, largest increase
 * first; tp_trace_compare_why has been made. TP_E_MEMORY only. */
enum tp_status tp_trace_compare_names(const struct tp_trace_run *base,
                                      const struct tp_trace_run *test,
                                      struct tp_trace_comparison *comparison,
                                      struct tp_error *err);

#endif
