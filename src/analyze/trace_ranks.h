/* SPDX-License-Identifier: MIT */
#ifndef TP_ANALYZE_TRACE_RANKS_H
#define TP_ANALYZE_TRACE_RANKS_H

#include "analyze/trace.h"

/*
 * Fills run->ranks, one row per trace in the order of run->traces, and notes
 * what cannot be compared: ranks that are missing or met twice, clocks
 * without a common zero, uneven steps, the slowest collective.
 *
 * Stragglers are found as Holistic Trace Analysis does: of the collectives of
 * each step the last on each stream; of these the one whose duration differs
 * most between ranks; whoever starts it late is waited for. Unlike there, a
 * rank less than TP_STRAGGLER_LATE of a step behind the first is none.
 * TP_E_MEMORY only.
 */
enum tp_status tp_trace_ranks(struct tp_trace_run *run, struct tp_error *err);

/* A rank is slow if the ranks differ by 5 % (msprof-analyze, slow rank). */
#define TP_STRAGGLER_LATE 0.05

/* At most so many are named (as HTA), and at most half of the ranks: if most
 * are late, the others are early. */
enum { TP_STRAGGLERS_MAX = 2 };

#endif
