/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_OP_NORM_H
#define TP_REPLAY_OP_NORM_H

#include "replay/operators.h"

/* Normalisation over the last axes, the channels of a group, or all but the
 * channel. */
enum tp_status tp_run_layer_norm(struct tp_replay_call *replay,
                                 const struct tp_operator *operator,
                                 struct tp_error * err);
enum tp_status tp_run_rms_norm(struct tp_replay_call *replay,
                               const struct tp_operator *operator,
                               struct tp_error * err);
enum tp_status tp_run_group_norm(struct tp_replay_call *replay,
                                 const struct tp_operator *operator,
                                 struct tp_error * err);
enum tp_status tp_run_batch_norm(struct tp_replay_call *replay,
                                 const struct tp_operator *operator,
                                 struct tp_error * err);

#endif
