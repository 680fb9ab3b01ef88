/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_UNTIMED_H
#define TP_VERDICT_TRACE_UNTIMED_H

#include "trace/trace.h"
#include "verdict/judged.h"

/* Events whose durations are not known: what can be said in spite of them. */

struct tp_untimed {
    int64_t lost;   /* no duration that can be read: left out              */
    int64_t zeroed; /* a negative one, which counts as 0                   */
    int64_t all;    /* events of the kind in the file                      */
};

/* Of kernels, copies and memsets. */
struct tp_untimed tp_trace_untimed_device(const struct tp_trace *trace);

/* Whether so many of them have none that shares of idle time say nothing. */
bool tp_trace_is_untimed(const struct tp_trace *trace);

/* "3 of 80 device events have ..", also of the host's; "" where all have one.
 * Owned by `judged`. */
const char *tp_trace_untimed_words(struct tp_trace_judged *judged,
                                   const struct tp_trace *trace);

/* What is said of a trace that has no device event left. */
const char *tp_trace_no_gpu_words(const struct tp_trace *trace);

#endif
