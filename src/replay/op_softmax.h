/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_OP_SOFTMAX_H
#define TP_REPLAY_OP_SOFTMAX_H

#include "replay/operators.h"

/* Softmax, its logarithm, and losses that are made of it or of differences. */
enum tp_status tp_run_softmax(struct tp_replay_call *replay,
                              const struct tp_operator *operator,
                              struct tp_error * err);
enum tp_status tp_run_log_softmax(struct tp_replay_call *replay,
                                  const struct tp_operator *operator,
                                  struct tp_error * err);
enum tp_status tp_run_cross_entropy(struct tp_replay_call *replay,
                                    const struct tp_operator *operator,
                                    struct tp_error * err);
enum tp_status tp_run_nll(struct tp_replay_call *replay,
                          const struct tp_operator *operator,
                          struct tp_error * err);

/* The mean or sum of operator->point of two tensors, or all of it. */
enum tp_status tp_run_pair_loss(struct tp_replay_call *replay,
                                const struct tp_operator *operator,
                                struct tp_error * err);

#endif
