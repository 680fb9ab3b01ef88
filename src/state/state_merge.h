/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_STATE_MERGE_H
#define TP_STATE_STATE_MERGE_H

#include <signal.h>

#include "base/pool.h"
#include "scan/dim_rank.h"
#include "state/state.h"

/* Many states become the records of one run. All-zero bytes are none. */
struct tp_state_merge {
    struct tp_state *states;  /* [count]                                  */
    struct tp_arena *arenas;  /* [count]: and what these point to         */
    const char *const *paths; /* [count], borrowed                        */
    size_t count;
    struct tp_state_words_of_all words;
    struct tp_records records; /* of all, by path, with all rows           */
    size_t files;              /* how many these were                      */
    size_t casts;              /* as that of a state                       */
    size_t twice;              /* files that were in several states        */
    const char *first_twice;
};

/* Reads states, and adds what they have of a memo. */
struct tp_state_merge_from {
    const char *const *paths; /* [count]                                   */
    size_t count;
    struct tp_memo *memo;              /* may be NULL                      */
    const volatile sig_atomic_t *stop; /* nonzero: give up; may be NULL    */
};

/*
 * Fills in the merge, which the caller zeroed and clears with
 * tp_state_merge_clear, also after a failure: as tp_state_read, and with
 * TP_E_UNSUPPORTED where a run did not come to its end, or TP_E_INTERRUPTED;
 * the error names the first such file.
 */
enum tp_status tp_state_merge_read(struct tp_state_merge *merge,
                                   const struct tp_state_merge_from *from,
                                   struct tp_pool *pool, struct tp_error *err);

/*
 * Makes merge->records of all states: sorted by path, those of the same path,
 * size and digest once, with as many indices of axes as one run over all files
 * would have kept. The arena is the run's. TP_E_MEMORY only.
 */
enum tp_status tp_state_merge_records(struct tp_state_merge *merge,
                                      enum tp_dims_mode dims,
                                      struct tp_arena *arena,
                                      struct tp_error *err);

/* The files of the records, for a run, which borrows their paths of the merge.
 * TP_E_MEMORY only. */
enum tp_status tp_state_merge_files(const struct tp_state_merge *merge,
                                    struct tp_found_list *files,
                                    struct tp_error *err);

/* Releases the records, once they were joined to a run: what its rows point to
 * stays. */
void tp_state_merge_drop_records(struct tp_state_merge *merge);

/* Releases what it owns. */
void tp_state_merge_clear(struct tp_state_merge *merge);

#endif
