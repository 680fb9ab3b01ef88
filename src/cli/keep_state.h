/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_KEEP_STATE_H
#define TP_CLI_KEEP_STATE_H

#include "base/lock.h"
#include "cli/options.h"
#include "state/state.h"
#include "tensors/collect.h"

/* --state: what an earlier run kept, and keeping what this one reads. */

/* What became of the file of a state. */
struct tp_kept_file {
    bool made;    /* by this run, of nothing yet                           */
    bool written; /* with what was read                                    */
    bool left;    /* as it was: nothing was found to read                  */
    size_t files; /* that it has                                           */
};

/* All-zero bytes: none is kept. */
struct tp_kept {
    const struct tp_options *options; /* NULL: none is kept                */
    struct tp_state known;
    struct tp_memo memo;
    struct tp_text shape, roots;
    struct tp_lock lock; /* of the state: that of rank 0                   */
    struct tp_text path; /* where this process keeps what it reads          */
    struct tp_reused reused;
    struct tp_collect_keeper keeper;
    struct tp_kept_file file;
    size_t before;  /* files that were known                                */
    size_t written; /* results of the memo that were                       */
};

/*
 * Reads the state that --state names, if it is there, for a run that is empty
 * yet; writes an empty one otherwise, so that it is not learned at the end that
 * this cannot be. Until it is cleared no other run can use it. TP_E_IO: another
 * one does; TP_E_USAGE: it was made with other options; else fails as
 * tp_state_read and tp_state_write. Clear it in any case.
 */
enum tp_status tp_kept_open(const struct tp_options *options,
                            struct tp_run *run, struct tp_kept *kept,
                            struct tp_error *err);

/* Keeps what later stages read since the last call; a failure is a warning. */
void tp_kept_results(struct tp_kept *kept);

/* Says, as warnings, what became of the state of a run that found nothing, or
 * was interrupted. */
void tp_kept_failed(const struct tp_kept *kept, enum tp_status status);

/* Says what was known and what was read. */
void tp_kept_text(const struct tp_kept *kept, struct tp_text *text);

/* Releases what was kept, once the run is over. */
void tp_kept_clear(struct tp_kept *kept);

/* What states of tensors and of traces have in common: where this process keeps
 * what it reads, and what is said of that; `rest` follows. */
void tp_kept_path(const struct tp_options *options, struct tp_text *path);
void tp_reused_text(const struct tp_reused *reused, const char *state,
                    const char *rest, struct tp_text *text);
void tp_kept_file_failed(const struct tp_options *options,
                         const struct tp_kept_file *file,
                         const struct tp_reused *reused, enum tp_status status);

/* Takes the lock of a state, and removes what processes that were killed while
 * they wrote it left beside it. As tp_lock_take. */
enum tp_status tp_kept_lock(const char *path, struct tp_lock *lock,
                            struct tp_error *err);

/* Removes a state that this run made and put nothing in, which a merge would
 * take for that of a run that was cut off; then gives the lock. */
void tp_kept_end(const struct tp_options *options,
                 const struct tp_kept_file *file, struct tp_lock *lock);

/* Adds to why a state cannot be used what to do about it. */
void tp_kept_advise(struct tp_error *err, const char *path);

/* The first difference of options that shape rows, TP_E_USAGE; `theirs` are
 * those of `what`. */
enum tp_status tp_compare_shapes(const char *ours, const char *theirs,
                                 const char *what, struct tp_error *err);

#endif
