/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_OP_PRODUCT_H
#define TP_REPLAY_OP_PRODUCT_H

#include "replay/operators.h"

/* Matrix products. */

/* x W^T + b. */
enum tp_status tp_run_linear(struct tp_replay_call *replay,
                             const struct tp_operator *operator,
                             struct tp_error * err);

/* Of vectors, matrices, and stacks of these, as torch.matmul. */
enum tp_status tp_run_matmul(struct tp_replay_call *replay,
                             const struct tp_operator *operator,
                             struct tp_error * err);

/* beta C + alpha A B, of matrices or stacks of as many. */
enum tp_status tp_run_addmm(struct tp_replay_call *replay,
                            const struct tp_operator *operator,
                            struct tp_error * err);

#endif
