/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_SAID_SHAPE_H
#define TP_REPLAY_SAID_SHAPE_H

#include "replay/replay_call.h"

/*
 * What the arguments of a call say of the shape of its result, where a kernel
 * makes that of the shape that was dumped. False: they contradict it. Arguments
 * that msprobe does not record, or that are tensors, say nothing.
 */

/* Of reshape, squeeze and the like; of all others it is that of the input. */
bool tp_said_view(const struct tp_replay_call *replay,
                  const struct tp_array *input, const struct tp_array *output);

/* Of expand, expand_as and broadcast_to. */
bool tp_said_expand(const struct tp_replay_call *replay,
                    const struct tp_array *input,
                    const struct tp_array *output);

/* Of repeat and tile. */
bool tp_said_repeat(const struct tp_replay_call *replay,
                    const struct tp_array *input,
                    const struct tp_array *output);

/* That part `number` of an axis of n elements has `length` of them: of split,
 * chunk, tensor_split. */
bool tp_said_part(const struct tp_replay_call *replay, int64_t n,
                  int64_t number, int64_t length);

/* Of zeros, ones, full, and their forms that end in _like. */
bool tp_said_constant(const struct tp_replay_call *replay,
                      const struct tp_array *output);

/* One integer for each of so many axes, or one for all; of those that are not
 * said -1. */
void tp_said_each(const struct tp_replay_call *replay, const char *name,
                  int axes, int64_t *list);

/* Whether two tensors have the same shape. */
bool tp_said_same(const struct tp_array *a, const struct tp_array *b);

#endif
