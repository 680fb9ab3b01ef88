/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_RULE_COSTS_H
#define TP_VERDICT_TRACE_RULE_COSTS_H

#include "trace/trace_frames.h"
#include "verdict/trace_rules.h"

/* The row of /syncs that costs most, with the device idle, else at all; NULL
 * without. */
const struct tp_sync_row *tp_trace_worst_sync(const struct tp_trace *trace);

/* Whether what blocks the host is worth a change: the device idles during at
 * least half of it. A wait for a busy device costs nothing. */
bool tp_trace_blocking_costs(const struct tp_trace *trace);

/* What a step would win if no call waited for the device, of it: nothing where
 * no call waits in the steps that are played again; INFINITY where none could
 * be. */
double tp_trace_won_without_waits(const struct tp_trace *trace);

/* The host inside pageable copies of a direction, % of W, where that costs
 * something and is worth a finding; else 0. */
double tp_trace_pageable_cost(const struct tp_trace_case *it, bool to_host);

/* Whether the DataLoader is known to have workers, as what the report shows as
 * num_workers, else the name of its iterator says. */
bool tp_trace_has_workers(const struct tp_trace *trace);

/* "; 164.20 ms idle in vision.py(178): resize (128 calls), called by
 * vision.py(235): preprocess, in nn.Module: Vision_0"; "" where no frame has
 * half of the idle time of a kind. Owned by the judged. */
const char *tp_trace_frames_words(const struct tp_trace_case *it,
                                  enum tp_frame_idle kind);

/* The innermost function that holds half of the idle time behind the host, and
 * of a builtin the one that calls it; NULL: no frame does. Without a device
 * that is the time outside of operators. */
const struct tp_frame_row *tp_trace_blamed_frame(const struct tp_trace *trace);

/* Where several devices work: how much more of W one of them at least is busy
 * than each is on average; else 0. And in words. */
double tp_trace_turns(const struct tp_trace *trace);
const char *tp_trace_turns_words(struct tp_trace_judged *judged,
                                 const struct tp_trace *trace);

/* What of W the device idles behind launches, but for first ones that load
 * code, operators and nothing recorded (line 4). */
double tp_trace_host_share(const struct tp_trace *trace);

/* Whether code is loaded in most steps, of four or more, so that it is no
 * start-up. */
bool tp_trace_keeps_loading(const struct tp_trace *trace);

/* Idle time of a start-up, of W: memory that is taken and code that is loaded,
 * where that does not go on. */
double tp_trace_start_up_share(const struct tp_trace *trace);

/* Whether driver allocations are more than start-up (line 3). */
bool tp_trace_keeps_allocating(const struct tp_trace *trace);

#endif
