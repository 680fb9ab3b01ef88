/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_CONDITION_H
#define TP_REPLAY_REPLAY_CONDITION_H

#include "replay/operators.h"

/*
 * How much the results of a loaded call, which are in call->outputs, change
 * with a rounding of its arguments, by L2 norms; NaN: unknown. Leaves other
 * outputs.
 */
double tp_condition_change(struct tp_replay_call *call,
                           const struct tp_operator *row);

#endif
