/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_WHAT_IF_H
#define TP_TRACE_TRACE_WHAT_IF_H

#include "trace/trace_path_maker.h"

/*
 * trace->what_if: how long steps would take if something took no time, by
 * playing them again (trace_replay.h, with what that assumes). Of the step of
 * median time, or the last typical one of a rank among others, with the typical
 * ones beside it up to TP_WHAT_IF_EVENTS host events; without steps of the
 * whole trace. Of a `kept` trace both, lone_what_if the first. TP_E_MEMORY
 * only.
 */
enum tp_status tp_what_if_make(struct tp_trace *trace,
                               struct tp_path_maker *maker,
                               struct tp_error *err);

/* What stays of a trace that was `kept`, once it is known whether it is alone:
 * then it has the rows that it would have had if that had been known. */
void tp_what_if_settle(struct tp_trace *trace, bool alone);

/* Host events that are played: some 3 MB, and a small part of the time that
 * reading such a trace takes. */
enum { TP_WHAT_IF_EVENTS = 1 << 13 };

/* "dataloader", ...: what takes no time, as the columns of /idle are called. */
const char *tp_what_if_name(enum tp_what_if_change change);

#endif
