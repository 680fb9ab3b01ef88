/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_QUEUED_H
#define TP_TRACE_TRACE_QUEUED_H

#include "trace/interval.h"
#include "trace/trace.h"

/* Moments at which the device idles although work is pending, and the work
 * that ends most of them. */
struct tp_trace_queued {
    struct tp_intervals set;  /* owned                                      */
    const char *name;         /* of the device event; "": there are none    */
    int64_t count;            /* stretches that it ends                     */
    int64_t length;           /* of these, ns                               */
    int64_t most;             /* device events pending at one moment        */
};

/*
 * Work is pending from 100 us after the call that launched it has returned
 * until it begins. Of a graph that is what begins first, as the rest waits for
 * what is before it in the graph. Gaps of `idle`, a set, below 10 us are none:
 * with a full queue a device takes so long from one kernel to the next.
 * `queued` is zeroed by the caller and cleared with tp_trace_queued_clear, also
 * after a failure; texts are the trace's. TP_E_MEMORY only.
 */
enum tp_status tp_trace_queued_find(const struct tp_trace *trace,
                                    const struct tp_intervals *idle,
                                    struct tp_trace_queued *queued,
                                    struct tp_error *err);

/* Releases the set; empty afterwards. */
void tp_trace_queued_clear(struct tp_trace_queued *queued);

#endif
