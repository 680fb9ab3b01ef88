/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_OP_SUMS_H
#define TP_TRACE_TRACE_OP_SUMS_H

#include "trace/trace.h"

/* One operator over all traces of a run: the sums of its rows. */
struct tp_trace_sums {
    struct tp_op_row *rows;
    size_t count;
};

/* Adds up /ops of the traces by name and device type; rows are released with
 * free(). In the order of the names; of one trace as they are. */
enum tp_status tp_trace_sum_ops(const struct tp_trace *traces, size_t count,
                                struct tp_trace_sums *sums,
                                struct tp_error *err);

/* Orders rows of /ops by name, then device type, as strcmp does. */
int tp_trace_compare_ops(const struct tp_op_row *a, const struct tp_op_row *b);

#endif
