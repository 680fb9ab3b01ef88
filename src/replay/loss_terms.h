/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_LOSS_TERMS_H
#define TP_REPLAY_LOSS_TERMS_H

#include "replay/operators.h"

/*
 * The losses that the only result of a loaded forward call is the mean or the
 * sum of, as devices have them in float32 before they add them, and what their
 * sum is divided by. False: it is none of one element,
 * or memory failed. Released with free(tape->values).
 */
bool tp_loss_terms(const struct tp_replay_call *call,
                   const struct tp_operator *row, struct tp_tape *tape);

#endif
