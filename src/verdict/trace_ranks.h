/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_RANKS_H
#define TP_VERDICT_TRACE_RANKS_H

#include "verdict/judged.h"

/*
 * Fills judged->ranks, one row per trace in the order of run->traces, and notes
 * what cannot be compared: ranks that are missing or met twice, clocks
 * without a common zero, uneven steps, the slowest collective.
 *
 * Stragglers are whom the others wait for. Collectives are matched over the
 * ranks by kernel, stream, group, step and their order there; those shorter
 * than a hundredth of a step on every rank say nothing about who waits (the
 * limit of Holistic Trace Analysis, which looks at the last one of each step
 * only). How much later than the median rank a rank starts them is added up
 * over a step, and what half of the steps with collectives reach is shared out
 * to all; less than TP_STRAGGLER_LATE of a step makes no straggler.
 *
 * Clocks of machines differ. A collective ends on all ranks at about the same
 * time, so the median over TP_CLOCK_MATCHES matches or more of how much later
 * than the median rank a rank sees them end is what its clock is ahead by. It
 * is taken off, and noted if it matters. Send and receive need not end at one
 * time, and clocks that drift within a trace are not put right. TP_E_MEMORY
 * only.
 */
enum tp_status tp_trace_ranks_make(const struct tp_trace_run *run,
                                   struct tp_trace_judged *judged,
                                   struct tp_error *err);

/* A rank is slow if the ranks differ by 5 % (msprof-analyze, slow rank). */
#define TP_STRAGGLER_LATE 0.05

/* Who is so much as late as the last straggler that is named is noted. */
#define TP_STRAGGLER_NEARLY 0.9

/* Clocks that differ by no more than this part of a step need no word. */
#define TP_CLOCK_PART 0.02

/* Matched collectives that tell how clocks differ. */
enum { TP_CLOCK_MATCHES = 4 };

/* At most so many are named (as HTA), and at most half of the ranks: if most
 * are late, the others are early. */
enum { TP_STRAGGLERS_MAX = 2 };

#endif
