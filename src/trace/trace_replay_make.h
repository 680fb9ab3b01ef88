/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_REPLAY_MAKE_H
#define TP_TRACE_TRACE_REPLAY_MAKE_H

#include "trace/trace_path_maker.h"
#include "trace/trace_replay.h"

/* The graph of the host events that start in [from, to], and all that they
 * launch; times count from `from`. TP_E_MEMORY only; to be cleared also after
 * a failure. */
enum tp_status tp_trace_replay_make(struct tp_path_maker *maker, int64_t from,
                                    int64_t to, struct tp_trace_replay *replay,
                                    struct tp_error *err);

#endif
