/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_STATE_NUMBERS_H
#define TP_STATE_STATE_NUMBERS_H

#include "state/state_image.h"
#include "state/state_members.h"

/*
 * What rows point to, as it lies in a state: the same bytes as in memory but
 * for pointers, so that reading a state copies none of it.
 */

/* Gives a text a number. */
struct tp_state_numbering {
    enum tp_status (*number)(void *context, const char *text, uint64_t *number,
                             struct tp_error *err);
    void *context;
};

/* Adds what a member of one of the last kinds points to; *at is its place. */
enum tp_status tp_state_number_add(enum tp_state_kind kind, const void *value,
                                   const struct tp_state_numbering *texts,
                                   struct tp_state_bytes *numbers, uint64_t *at,
                                   struct tp_error *err);

/* Texts by their numbers. */
struct tp_state_words {
    const char **texts;
    size_t count;
};

/* Reads numbers, which stand in the order of the rows. */
struct tp_state_reader {
    struct tp_state_bytes *numbers;
    size_t next;  /* where the next ones have to be                        */
    size_t casts; /* the largest number of a cast, and one                 */
    struct tp_state_words words;
};

/*
 * What stands at the next place, made good for use where it is; NULL: it is
 * not what it should be, or `at` is another place.
 */
const void *tp_state_number_next(struct tp_state_reader *reader,
                                 enum tp_state_kind kind, uint64_t at);

#endif
