/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_DIVERGENCE_H
#define TP_REPLAY_DIVERGENCE_H

#include <signal.h>

#include "replay/call_match.h"
#include "replay/divergence_row.h"

/*
 * Where two runs part, call by call: how much of a difference came in with the
 * arguments, and which operator added more than its dtype explains. No
 * tolerance is set: what is explained is the running error bound of each call
 * (replay.h), of each run against its own arguments.
 */

struct tp_divergence_options {
    bool all; /* replay calls, too, that are equal in both runs             */
    const volatile sig_atomic_t *stop; /* nonzero: give up; may be NULL     */
};

/*
 * Goes through the pairs, in their order. What is held in memory is the
 * tensors of one call. `divergence` is zeroed, and cleared also after a
 * failure: TP_E_MEMORY, TP_E_INTERRUPTED.
 */
enum tp_status tp_divergence_find(const struct tp_dump_place *a,
                                  const struct tp_dump_place *b,
                                  const struct tp_call_pairs *pairs,
                                  const struct tp_divergence_options *options,
                                  struct tp_divergence *divergence,
                                  struct tp_error *err);

/* Releases everything; empty afterwards. */
void tp_divergence_clear(struct tp_divergence *divergence);

#endif
