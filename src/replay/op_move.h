/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_OP_MOVE_H
#define TP_REPLAY_OP_MOVE_H

#include "replay/operators.h"

/* What only moves values. Those whose result is the input in its order with
 * another shape or dtype: reshape, to, ... */
enum tp_status tp_run_same(struct tp_replay_call *replay,
                           const struct tp_operator *operator,
                           struct tp_error * err);
enum tp_status tp_run_transpose(struct tp_replay_call *replay,
                                const struct tp_operator *operator,
                                struct tp_error * err);
enum tp_status tp_run_permute(struct tp_replay_call *replay,
                              const struct tp_operator *operator,
                              struct tp_error * err);
enum tp_status tp_run_expand(struct tp_replay_call *replay,
                             const struct tp_operator *operator,
                             struct tp_error * err);
enum tp_status tp_run_repeat(struct tp_replay_call *replay,
                             const struct tp_operator *operator,
                             struct tp_error * err);
enum tp_status tp_run_cat(struct tp_replay_call *replay,
                          const struct tp_operator *operator,
                          struct tp_error * err);
enum tp_status tp_run_stack(struct tp_replay_call *replay,
                            const struct tp_operator *operator,
                            struct tp_error * err);

/* split, chunk, unbind: one result after the other along an axis. */
enum tp_status tp_run_split(struct tp_replay_call *replay,
                            const struct tp_operator *operator,
                            struct tp_error * err);

/* Constants, with operator->point of no element; ones, zeros, full. */
enum tp_status tp_run_constant(struct tp_replay_call *replay,
                               const struct tp_operator *operator,
                               struct tp_error * err);
enum tp_status tp_run_arange(struct tp_replay_call *replay,
                             const struct tp_operator *operator,
                             struct tp_error * err);

#endif
