/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_OP_CONV_H
#define TP_REPLAY_OP_CONV_H

#include "replay/operators.h"

/* Convolutions of one to three axes, and pooling of as many. */
enum tp_status tp_run_conv(struct tp_replay_call *replay,
                           const struct tp_operator *operator,
                           struct tp_error * err);
enum tp_status tp_run_max_pool(struct tp_replay_call *replay,
                               const struct tp_operator *operator,
                               struct tp_error * err);
enum tp_status tp_run_adaptive_average(struct tp_replay_call *replay,
                                       const struct tp_operator *operator,
                                       struct tp_error * err);

#endif
