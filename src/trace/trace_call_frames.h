/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_CALL_FRAMES_H
#define TP_TRACE_TRACE_CALL_FRAMES_H

#include "trace/trace.h"

/*
 * Sets the frames of syncs and of pageable copies: the frame of Python, or of
 * record_function, in which most of their time was spent. Each call counts for
 * the innermost frame around it on its lane whose name is_frame takes. After
 * the rows, before the events go; texts are borrowed from these. TP_E_MEMORY
 * only.
 */
enum tp_status tp_trace_call_frames_make(struct tp_trace *trace,
                                         bool (*is_frame)(const char *name,
                                                          const void *context),
                                         const void *context,
                                         struct tp_error *err);

#endif
