/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_SEGMENTS_H
#define TP_TRACE_TRACE_SEGMENTS_H

#include "trace/trace_path_maker.h"
#include "trace/trace_replay.h"

/*
 * trace->segments: what lies between the collectives of steps that are played,
 * so that several ranks can be played together when their events are gone: for
 * each collective, and for the end of all, how long after the end of an earlier
 * one (or after the begin) it comes at least, by what this rank does itself.
 * Nothing without collectives, or of
 * a trace that is alone. TP_E_MEMORY only.
 */
enum tp_status tp_trace_segments(struct tp_trace *trace,
                                 const struct tp_path_maker *maker,
                                 const struct tp_trace_replay *replay,
                                 struct tp_error *err);

#endif
