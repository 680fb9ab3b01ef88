/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_FRAMES_H
#define TP_TRACE_TRACE_FRAMES_H

#include "trace/interval.h"
#include "trace/trace.h"

/* Whether there are any frames. */
bool tp_trace_has_frames(const struct tp_trace *trace);

/* trace->frames: functions of Python, whose idle times are those of the given
 * moments. Empty where no stacks were recorded. TP_E_MEMORY only. */
enum tp_status
tp_trace_frames(struct tp_trace *trace,
                const struct tp_intervals idle[TP_FRAME_IDLES],
                struct tp_error *err);

/* Who is to blame for idle time of a kind: frames with at least half of it. */
struct tp_frame_blame {
    const struct tp_frame_row *inner;  /* the innermost; NULL: there is none */
    const struct tp_frame_row *caller; /* around it: the innermost in a file
                                          that is not of torch; NULL         */
    const struct tp_frame_row *module; /* the innermost nn.Module; NULL      */
};

/* `total_us`: all idle time of the kind. Rows are those of trace->frames. */
struct tp_frame_blame tp_trace_blame(const struct tp_trace *trace,
                                     enum tp_frame_idle kind, double total_us);

#endif
