/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_STRAGGLING_H
#define TP_VERDICT_TRACE_STRAGGLING_H

#include "verdict/judged.h"

/*
 * judged->straggling: how long steps would take if ranks did not straggle, by
 * playing the ranks together: each does what it did between its collectives
 * (trace_segments.h), and a collective of kinds that wait begins with its last
 * rank. A rank does not straggle if what it does itself before a collective
 * takes no longer than with the median of the other ranks of its group. Of each
 * rank alone, then of all at once.
 *
 * Nothing where the ranks' replays are not of the same steps, or no collectives
 * of theirs match; judged->members has been made. TP_E_MEMORY only.
 */
enum tp_status tp_trace_straggling_make(const struct tp_trace_run *run,
                                        struct tp_trace_judged *judged,
                                        struct tp_error *err);

/* What a step would win if a rank did not straggle (-1: none did), of it; NaN
 * where that has no row. */
double tp_straggling_won(const struct tp_trace_judged *judged, int64_t rank);

/* Whether a rank that is marked as straggler is one by its own doing, as far as
 * the steps of all ranks could be played together: something is won if none
 * straggles, and by this one alone, unless by none of those that are marked. */
bool tp_straggling_is_own(const struct tp_trace_judged *judged,
                          const struct tp_rank_row *rank);

#endif
