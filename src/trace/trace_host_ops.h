/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_HOST_OPS_H
#define TP_TRACE_TRACE_HOST_OPS_H

#include "trace/trace.h"

/* Fills `ops`; texts are the trace's. TP_E_MEMORY only. */
enum tp_status tp_trace_host_ops_find(const struct tp_trace *trace,
                                      struct tp_trace_host_ops *ops,
                                      struct tp_error *err);

#endif
