/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_STATE_H
#define TP_STATE_STATE_H

#include "tensors/memo.h"
#include "tensors/record.h"

/*
 * A state: a file that keeps what a run read, record by record, for a later run
 * that reads the rest, and for a merge with what other machines read.
 */

/* What is said of the run. Texts are borrowed. */
struct tp_state_header {
    const char *options; /* those that shape rows: lines "name=value"      */
    const char *roots;   /* what was to be read: lines                     */
    bool whole;          /* all of it was                                  */
};

/* Words that states which are read at a time share, under a lock. */
struct tp_state_words_of_all {
    pthread_mutex_t lock;
    struct tp_intern texts;
    struct tp_arena arena;
};

/* One that was read; all-zero bytes with an arena for the records: empty. */
struct tp_state {
    char *options, *roots;
    bool whole;
    struct tp_state_words_of_all *shared; /* borrowed; NULL: words are those of
                                             the records                   */
    struct tp_row *row_room; /* borrowed: where its rows go, if they are no
                                more than this; NULL: they get their own   */
    size_t row_room_count;
    struct tp_record *record_room; /* and its records, in the same way     */
    size_t record_room_count;
    size_t casts; /* its rows have casts below this of their plan          */
    struct tp_records records; /* done, all of them; sorted by path        */
};

/* Releases what it owns, which the arena's memory is not. */
void tp_state_clear(struct tp_state *state);

/* Releases its records, whose rows and all else are taken. */
void tp_state_drop_items(struct tp_state *state);

/*
 * Writes the records, which are done and have their digests, and what a memo
 * (NULL: none) has. Aside and renamed: what is at `path` stays whole whenever
 * the process ends. TP_E_IO, TP_E_MEMORY. One state at a time.
 */
enum tp_status tp_state_write(const char *path,
                              const struct tp_state_header *header,
                              const struct tp_records *records,
                              const struct tp_memo *memo, struct tp_error *err);

/* Writes a state again with what the memo has by now, of what was used. */
enum tp_status tp_state_keep_memo(const char *path, const struct tp_memo *memo,
                                  struct tp_error *err);

/*
 * Reads a state into `state`, whose records have an arena, and adds what it has
 * of a memo. Texts are interned with those of state->records.texts. Fails as
 * tp_state_image_read; the error names the file. Any number of threads with
 * states and arenas of their own.
 */
enum tp_status tp_state_read(const char *path, struct tp_state *state,
                             struct tp_memo *memo, struct tp_error *err);

/* The same by way of an image, whose room is used for one state after the
 * other; tp_state_image_clear releases it at last. */
struct tp_state_image;
enum tp_status tp_state_read_by(struct tp_state_image *image, const char *path,
                                struct tp_state *state, struct tp_memo *memo,
                                struct tp_error *err);

/* The same to an image, which tp_state_image_clear releases in any case, and of
 * one, which is used up. */
enum tp_status tp_state_encode(const struct tp_state_header *header,
                               const struct tp_records *records,
                               const struct tp_memo *memo,
                               struct tp_state_image *image,
                               struct tp_error *err);
enum tp_status tp_state_decode(struct tp_state_image *image,
                               struct tp_state *state, struct tp_memo *memo,
                               struct tp_error *err);

#endif
