/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_OPS_H
#define TP_REPORT_REPORT_OPS_H

#include "report/trace_report.h"

/* Columns operators can be sorted by, largest first: torch's names. Ended by
 * NULL. */
extern const char *const tp_trace_sort_columns[];

/* The column of this name, '_us' at its end aside, or NULL. */
const char *tp_trace_sort_column(const char *name);

/* Operators in the layout of torch's key_averages().table(): `top` rows. */
void tp_trace_report_ops(const struct tp_trace_report *report,
                         struct tp_text *text);

#endif
