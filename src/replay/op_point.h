/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_OP_POINT_H
#define TP_REPLAY_OP_POINT_H

#include "replay/operators.h"

/* Operators of one element at a time, with broadcasting. */

/* Computes operator->point of the first operands of the signature. Their
 * numbers may be tensors or scalars; alpha and value scale the last one. */
enum tp_status tp_run_point(struct tp_replay_call *replay,
                            const struct tp_operator *operator,
                            struct tp_error * err);

/* Those whose function depends on an argument. */
enum tp_status tp_run_add(struct tp_replay_call *replay,
                          const struct tp_operator *operator,
                          struct tp_error * err);
enum tp_status tp_run_divide(struct tp_replay_call *replay,
                             const struct tp_operator *operator,
                             struct tp_error * err);
enum tp_status tp_run_clamp(struct tp_replay_call *replay,
                            const struct tp_operator *operator,
                            struct tp_error * err);
enum tp_status tp_run_addc(struct tp_replay_call *replay,
                           const struct tp_operator *operator,
                           struct tp_error * err);
enum tp_status tp_run_gelu(struct tp_replay_call *replay,
                           const struct tp_operator *operator,
                           struct tp_error * err);

#endif
