/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_FIRST_LAUNCH_H
#define TP_TRACE_TRACE_FIRST_LAUNCH_H

#include "trace/interval.h"
#include "trace/trace.h"

/* Calls in which code is loaded, so far as they lie in a window. */
struct tp_first_launches {
    struct tp_intervals set; /* owned                                       */
    int64_t calls;
    int64_t steps;           /* that have some                              */
    int64_t total;           /* ns of these calls, each counted whole       */
    int64_t longest;         /* ns, ...                                     */
    const char *kernel;      /* ... of this kernel; "": there are none      */
};

/*
 * Calls that launch the first kernel of its name in the trace and take over a
 * millisecond: the driver loads its code, or compiles it. `first` is zeroed by
 * the caller and cleared with tp_first_launches_clear, also after a failure;
 * texts are the trace's. TP_E_MEMORY only.
 */
enum tp_status tp_first_launches_find(const struct tp_trace *trace,
                                      struct tp_interval within,
                                      struct tp_first_launches *first,
                                      struct tp_error *err);

/* Releases the set; empty afterwards. */
void tp_first_launches_clear(struct tp_first_launches *first);

#endif
