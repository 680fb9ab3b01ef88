/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_OP_REDUCE_H
#define TP_REPLAY_OP_REDUCE_H

#include "replay/operators.h"

/* Sums and the like over axes. */
enum tp_status tp_run_sum(struct tp_replay_call *replay,
                          const struct tp_operator *operator,
                          struct tp_error * err);
enum tp_status tp_run_mean(struct tp_replay_call *replay,
                           const struct tp_operator *operator,
                           struct tp_error * err);
enum tp_status tp_run_norm(struct tp_replay_call *replay,
                           const struct tp_operator *operator,
                           struct tp_error * err);
enum tp_status tp_run_var(struct tp_replay_call *replay,
                          const struct tp_operator *operator,
                          struct tp_error * err);
enum tp_status tp_run_std(struct tp_replay_call *replay,
                          const struct tp_operator *operator,
                          struct tp_error * err);
enum tp_status tp_run_cumsum(struct tp_replay_call *replay,
                             const struct tp_operator *operator,
                             struct tp_error * err);
enum tp_status tp_run_logsumexp(struct tp_replay_call *replay,
                                const struct tp_operator *operator,
                                struct tp_error * err);

/* The largest or, by operator->point, the smallest; all and any by and, or. */
enum tp_status tp_run_extreme(struct tp_replay_call *replay,
                              const struct tp_operator *operator,
                              struct tp_error * err);

#endif
