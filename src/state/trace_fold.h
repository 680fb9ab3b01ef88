/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_TRACE_FOLD_H
#define TP_STATE_TRACE_FOLD_H

#include "state/trace_state.h"

/*
 * Adds to a state of traces, which was read from `path`, what stands beside
 * that file (state_fold.h); *sides is in how many files. Fails as
 * tp_trace_state_read, and with TP_E_UNSUPPORTED where they were made with
 * other options.
 */
enum tp_status tp_trace_fold(const char *path, struct tp_trace_state *state,
                             size_t *sides, struct tp_error *err);

#endif
