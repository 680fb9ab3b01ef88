/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_RULE_HOST_H
#define TP_VERDICT_TRACE_RULE_HOST_H

#include "trace/trace.h"

/* What of W operators below 10 us take in a trace without a device; 0 where
 * they are few, or others take most of the operators' time. */
double tp_trace_tiny_operators(const struct tp_trace *trace);

#endif
