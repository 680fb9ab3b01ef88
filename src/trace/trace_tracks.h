/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_TRACKS_H
#define TP_TRACE_TRACE_TRACKS_H

#include "trace/interval.h"
#include "trace/trace.h"
#include "trace/trace_path_maker.h"

/*
 * Keeps the rows of trace_track_rows.h of traces whose `annotated` is set,
 * while their tables are made. All functions do nothing for other traces, and
 * fail with TP_E_MEMORY only.
 */

/* trace->step_spans, from the index; before the others. */
enum tp_status tp_tracks_steps(struct tp_trace *trace, struct tp_error *err);

/* Adds the idle moments of one cause, a set. */
enum tp_status tp_tracks_idle(struct tp_trace *trace, enum tp_idle_cause why,
                              const struct tp_intervals *charged,
                              struct tp_error *err);

/* Adds to the steps what of `idle` lies in `loading`, both sets. */
enum tp_status tp_tracks_first_launches(struct tp_trace *trace,
                                        const struct tp_intervals *idle,
                                        const struct tp_intervals *loading,
                                        struct tp_error *err);

/* Adds to the steps a set of moments with communication, or with transfers,
 * alone; `less`: takes them off again. */
void tp_tracks_exposed(struct tp_trace *trace, bool communication, bool less,
                       const struct tp_intervals *alone);

/* Adds a critical path of a step, its edges from a moment on. */
struct tp_tracks_way {
    int64_t step, from_ns;
    const struct tp_path_edge *edges;
    size_t count;
};
enum tp_status tp_tracks_path(struct tp_trace *trace,
                              const struct tp_tracks_way *way,
                              struct tp_error *err);

/* trace->levels. */
enum tp_status tp_tracks_queue(struct tp_trace *trace, struct tp_error *err);

#endif
