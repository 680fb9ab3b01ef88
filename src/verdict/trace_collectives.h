/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_COLLECTIVES_H
#define TP_VERDICT_TRACE_COLLECTIVES_H

#include "verdict/judged.h"

/*
 * The collectives of a run over its ranks: fills judged->collectives and
 * judged->collective_sizes, and in the rows of ranks how long each waits and
 * is waited for. judged->ranks has been made, their clocks are known.
 *
 * A collective is matched by kind, process group, sequence number (Seq) and
 * size; with the same of all these, by order. Of kernels that say no sequence
 * number, by group (without: kernel and stream), size, step and order; which
 * of the two a row says. What would be of more ranks than its group has is
 * left out, and noted; so are those of which not all ranks are there at one
 * moment although all must be: they are not the same collective.
 *
 * The last rank to begin waits least, so the shortest duration over the ranks
 * is what communicating took: the latency. Bandwidths are those of nccl-tests:
 * the larger side of the message over the latency, and that times the bus
 * factor of the kind. Both only of kinds in which nobody is done before the
 * last has begun (all-reduce, reduce-scatter, all-gather, all-to-all of equal
 * parts). Clocks that differ by more than TP_CLOCK_PART of a step are put right
 * first. TP_E_MEMORY only.
 */
enum tp_status tp_trace_collectives_make(const struct tp_trace_run *run,
                                         struct tp_trace_judged *judged,
                                         struct tp_error *err);

#endif
