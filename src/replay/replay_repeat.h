/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_REPEAT_H
#define TP_REPLAY_REPLAY_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/replay_call.h"

/* Calls of a dump with equal arguments, which ought to give equal results. */

/* A call. 0: not known, equal to none. */
struct tp_repeat {
    uint64_t given, made; /* digests of what goes in and comes out          */
    size_t first; /* made: the first call with its arguments; SIZE_MAX: none
                     came before                                           */
    bool differs; /* made: from the results of that one                    */
};

/* The digest of what goes into a loaded call: its operator, tensors and
 * values; 0 when something of it was not recorded. */
uint64_t tp_repeat_given(const struct tp_replay_call *call);

/* Finds the calls that repeat an earlier one. TP_E_MEMORY. */
enum tp_status tp_repeats_find(struct tp_repeat *repeats, size_t count,
                               struct tp_error *err);

#endif
