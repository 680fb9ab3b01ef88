/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_OP_INDEX_H
#define TP_REPLAY_OP_INDEX_H

#include "replay/operators.h"

/* What takes values by index, or keeps some of them. */
enum tp_status tp_run_embedding(struct tp_replay_call *replay,
                                const struct tp_operator *operator,
                                struct tp_error * err);
enum tp_status tp_run_gather(struct tp_replay_call *replay,
                             const struct tp_operator *operator,
                             struct tp_error * err);
enum tp_status tp_run_index_select(struct tp_replay_call *replay,
                                   const struct tp_operator *operator,
                                   struct tp_error * err);
enum tp_status tp_run_narrow(struct tp_replay_call *replay,
                             const struct tp_operator *operator,
                             struct tp_error * err);
enum tp_status tp_run_triangle(struct tp_replay_call *replay,
                               const struct tp_operator *operator,
                               struct tp_error * err);
enum tp_status tp_run_topk(struct tp_replay_call *replay,
                           const struct tp_operator *operator,
                           struct tp_error * err);

#endif
