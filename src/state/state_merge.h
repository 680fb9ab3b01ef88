/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_STATE_MERGE_H
#define TP_STATE_STATE_MERGE_H

#include "scan/dim_rank.h"
#include "state/state.h"

/*
 * Many states become the records of one run. All-zero bytes are none; the arena
 * is the run's.
 */
struct tp_state_merge {
    struct tp_arena *arena;
    struct tp_state *states; /* [count]: own the rows of the records     */
    const char **paths;      /* [count], borrowed                       */
    size_t count, capacity;
    struct tp_records records; /* of all, by path; once they are joined    */
    size_t casts;              /* as that of a state                       */
    size_t twice;              /* files that were in several states        */
    const char *first_twice;
};

/* Adds a state, and what it has of a memo. Fails as tp_state_read, and with
 * TP_E_UNSUPPORTED where its run did not come to its end; the error names the
 * file. */
enum tp_status tp_state_merge_add(struct tp_state_merge *merge,
                                  const char *path, struct tp_memo *memo,
                                  struct tp_error *err);

/*
 * Makes merge->records of all states: sorted by path, those of the same path,
 * size and digest once, with as many indices of axes as one run over all files
 * would have kept. TP_E_MEMORY only.
 */
enum tp_status tp_state_merge_records(struct tp_state_merge *merge,
                                      enum tp_dims_mode dims,
                                      struct tp_error *err);

/* The files of the records, for a run. TP_E_MEMORY only. */
enum tp_status tp_state_merge_files(const struct tp_state_merge *merge,
                                    struct tp_found_list *files,
                                    struct tp_error *err);

/* Releases what it owns. */
void tp_state_merge_clear(struct tp_state_merge *merge);

#endif
