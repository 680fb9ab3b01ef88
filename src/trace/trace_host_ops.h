/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_HOST_OPS_H
#define TP_TRACE_TRACE_HOST_OPS_H

#include "trace/trace.h"

/* Operators that begin in W, by their time without the operators inside. */
struct tp_trace_host_ops {
    int64_t operators;
    double self_us;       /* of all                                        */
    double tiny_us;       /* of those below 10 us                          */
    const char *tiny;     /* the one with most of that, or ""; ...         */
    int64_t tiny_count;   /* ... so many of it are below 10 us             */
};

/* Fills `ops`; texts are the trace's. TP_E_MEMORY only. */
enum tp_status tp_trace_host_ops_find(const struct tp_trace *trace,
                                      struct tp_trace_host_ops *ops,
                                      struct tp_error *err);

#endif
