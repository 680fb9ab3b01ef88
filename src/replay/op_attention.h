/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_OP_ATTENTION_H
#define TP_REPLAY_OP_ATTENTION_H

#include "replay/operators.h"

/* torch's scaled_dot_product_attention; with dropout it is not replayed. */
enum tp_status tp_run_attention(struct tp_replay_call *replay,
                                const struct tp_operator *operator,
                                struct tp_error * err);

#endif
