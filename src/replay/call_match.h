/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_CALL_MATCH_H
#define TP_REPLAY_CALL_MATCH_H

#include "dump/dump.h"

/* Which calls of two runs are the same one. */

/* Places among the calls of a place; SIZE_MAX: none of that run. */
struct tp_call_pair {
    size_t a, b;
};

/* All-zero is empty. */
struct tp_call_pairs {
    struct tp_call_pair *pairs;
    size_t count, capacity;
};

/* Releases the pairs. */
void tp_call_pairs_clear(struct tp_call_pairs *pairs);

/*
 * Pairs the calls of two places in the order in which they ended, by what they
 * call and in which direction; their numbers may differ, as they do behind a
 * call that only one run makes. Calls of one run only stand where they were
 * made. TP_E_MEMORY only.
 */
enum tp_status tp_call_match(const struct tp_dump_place *a,
                             const struct tp_dump_place *b,
                             struct tp_call_pairs *pairs, struct tp_error *err);

#endif
