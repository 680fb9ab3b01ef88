/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_MEMO_H
#define TP_TENSORS_MEMO_H

#include <pthread.h>

#include "base/digest.h"
#include "tensors/run.h"

/*
 * What later stages read of tensors again: the result of each such reading, as
 * bytes, by the files and whatever else it follows from. With it a run over
 * files that were all read before reads none of them, and rows of another
 * machine need no files.
 */

struct tp_memo_entry {
    struct tp_digest key;
    const void *bytes; /* of the arena, or of who made the entry           */
    size_t size;
    bool used; /* asked for, or made, in this run                          */
};

struct tp_memo {
    pthread_mutex_t lock;
    struct tp_arena arena;
    struct tp_memo_entry *entries; /* open addressing, a power of two; an
                                      empty slot has no bytes              */
    size_t count, capacity;
    size_t made; /* entries of this run                                    */
};

/* Makes an empty one; release it with tp_memo_clear. */
void tp_memo_init(struct tp_memo *memo);
/* Releases what it owns. */
void tp_memo_clear(struct tp_memo *memo);

/* Begins a key: what is done to the tensor of a row, and of a second one
 * (NULL: of one only). What else it follows from is added by tp_digest. */
struct tp_digest tp_memo_key(const struct tp_run *run, const char *what,
                             const struct tp_row *row,
                             const struct tp_row *second);

/*
 * Copies a result of `size` bytes to `result`; false: it is not there, or of
 * another size. The run may have no memo. Any number of threads, as below.
 */
bool tp_memo_get(const struct tp_run *run, const struct tp_digest *key,
                 void *result, size_t size);

/* The text of a result; NULL: it is not there. It lives as long as the memo. */
const char *tp_memo_text(const struct tp_run *run, const struct tp_digest *key);

/* Keeps a result. What does not fit into memory is forgotten. */
void tp_memo_put(const struct tp_run *run, const struct tp_digest *key,
                 const void *result, size_t size);

/* Adds an entry that was kept before, whose bytes stay where they are.
 * TP_E_MEMORY. */
enum tp_status tp_memo_add(struct tp_memo *memo,
                           const struct tp_memo_entry *entry,
                           struct tp_error *err);

/* Whether what is there is other than what was added, or not all of it was
 * asked for. */
bool tp_memo_has_changed(const struct tp_memo *memo);

#endif
