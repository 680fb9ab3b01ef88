/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_TRACE_STATE_MERGE_H
#define TP_STATE_TRACE_STATE_MERGE_H

#include <signal.h>

#include "state/trace_state.h"

/* Many states of traces become the records of one run. All-zero bytes are none.
 */
struct tp_trace_merge {
    struct tp_trace_state *states; /* [count]                              */
    size_t count;
    struct tp_trace_records records; /* of all, by path                    */
    size_t twice;                    /* files that were in several states  */
    const char *first_twice;
};

/*
 * Reads states into the arena, which is the run's, and makes merge->records of
 * them: those of the same path, size and digest once. Clear the merge also
 * after a failure: as tp_trace_state_read, and with TP_E_UNSUPPORTED where a
 * run did not come to its end, or TP_E_INTERRUPTED.
 */
enum tp_status tp_trace_merge_read(struct tp_trace_merge *merge,
                                   const char *const *paths, size_t count,
                                   struct tp_arena *arena,
                                   const volatile sig_atomic_t *stop,
                                   struct tp_error *err);
enum tp_status tp_trace_merge_records(struct tp_trace_merge *merge,
                                      struct tp_error *err);

/* Releases what it owns. */
void tp_trace_merge_clear(struct tp_trace_merge *merge);

#endif
