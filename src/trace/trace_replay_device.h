/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_REPLAY_DEVICE_H
#define TP_TRACE_TRACE_REPLAY_DEVICE_H

#include "trace/trace_replay_build.h"

/* Adds the arcs of device events, and finds replay->origin_ns. TP_E_MEMORY
 * only. */
enum tp_status tp_play_add_device(struct tp_play_build *b,
                                  struct tp_error *err);

#endif
