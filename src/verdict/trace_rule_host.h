/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_RULE_HOST_H
#define TP_VERDICT_TRACE_RULE_HOST_H

#include "trace/trace.h"
#include "verdict/judged.h"

/* What of W operators below 10 us take in a trace without a device; 0 where
 * they are few, or others take most of the operators' time. */
double tp_trace_tiny_operators(const struct tp_trace *trace);

/* Shares of W in which an operator runs that is no collective, nothing but
 * collectives do, or nothing is recorded; 0 in a trace with a device. */
double tp_trace_host_works(const struct tp_trace *trace);
double tp_trace_host_communicates(const struct tp_trace *trace);
double tp_trace_host_outside(const struct tp_trace *trace);

/* The verdict on a trace without a device, in a sentence. */
const char *tp_trace_host_words(struct tp_trace_judged *judged,
                                const struct tp_trace *trace,
                                enum tp_verdict verdict, double share);

#endif
