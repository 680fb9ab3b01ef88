/* SPDX-License-Identifier: MIT */
/*
 * A table of results by 128 bits of what they follow from: open addressing,
 * at most half full, under one lock. Keys hold the digests of the files'
 * records, so that a result goes with the content it is of, and nothing has to
 * be told when a file changes: nobody asks for the old key, and what nobody
 * asked for is not kept.
 */
#include "tensors/memo.h"

#include <stdlib.h>
#include <string.h>

void tp_memo_init(struct tp_memo *memo)
{
    memset(memo, 0, sizeof *memo);
    pthread_mutex_init(&memo->lock, NULL);
}

void tp_memo_clear(struct tp_memo *memo)
{
    pthread_mutex_destroy(&memo->lock);
    tp_arena_clear(&memo->arena);
    free(memo->entries);
    memset(memo, 0, sizeof *memo);
}

struct tp_digest tp_memo_key(const struct tp_run *run, const char *what,
                             const struct tp_row *row,
                             const struct tp_row *second)
{
    struct tp_digest key = {{0, 0}};
    tp_digest_text(&key, what);
    const struct tp_row *const rows[] = {row, second};
    for (size_t i = 0; i < 2 && rows[i] && run->digests; i++) {
        const struct tp_digest *file = &run->digests[rows[i]->source];
        tp_digest_add(&key, file, sizeof *file);
        tp_digest_number(&key, rows[i]->place);
    }
    return key;
}

/* The slot of a key: its own or the empty one where it goes. */
static struct tp_memo_entry *slot_of(const struct tp_memo *memo,
                                     const struct tp_digest *key)
{
    size_t slot = (size_t)key->word[0] & (memo->capacity - 1);
    while (memo->entries[slot].bytes &&
           !tp_digest_same(&memo->entries[slot].key, key))
        slot = (slot + 1) & (memo->capacity - 1);
    return &memo->entries[slot];
}

static bool make_room(struct tp_memo *memo)
{
    if (2 * (memo->count + 1) <= memo->capacity)
        return true;
    struct tp_memo bigger = {.capacity =
                                 memo->capacity ? 2 * memo->capacity : 64};
    bigger.entries = calloc(bigger.capacity, sizeof *bigger.entries);
    if (!bigger.entries)
        return false;
    for (size_t i = 0; i < memo->capacity; i++) {
        if (memo->entries[i].bytes)
            *slot_of(&bigger, &memo->entries[i].key) = memo->entries[i];
    }
    free(memo->entries);
    memo->entries = bigger.entries;
    memo->capacity = bigger.capacity;
    return true;
}

/* The entry, now used, or NULL. Under the lock. */
static const struct tp_memo_entry *find(struct tp_memo *memo,
                                        const struct tp_digest *key)
{
    struct tp_memo_entry *entry = memo->count ? slot_of(memo, key) : NULL;
    if (!entry || !entry->bytes)
        return NULL;
    entry->used = true;
    return entry;
}

bool tp_memo_get(const struct tp_run *run, const struct tp_digest *key,
                 void *result, size_t size)
{
    struct tp_memo *memo = run->memo;
    if (!memo)
        return false;
    pthread_mutex_lock(&memo->lock);
    const struct tp_memo_entry *entry = find(memo, key);
    const bool there = entry && entry->size == size;
    if (there)
        memcpy(result, entry->bytes, size);
    pthread_mutex_unlock(&memo->lock);
    return there;
}

const char *tp_memo_text(const struct tp_run *run, const struct tp_digest *key)
{
    struct tp_memo *memo = run->memo;
    if (!memo)
        return NULL;
    pthread_mutex_lock(&memo->lock);
    const struct tp_memo_entry *entry = find(memo, key);
    const char *text = entry ? entry->bytes : NULL;
    const bool whole = text && entry->size && !text[entry->size - 1];
    pthread_mutex_unlock(&memo->lock);
    return whole ? text : NULL;
}

void tp_memo_put(const struct tp_run *run, const struct tp_digest *key,
                 const void *result, size_t size)
{
    struct tp_memo *memo = run->memo;
    if (!memo)
        return;
    pthread_mutex_lock(&memo->lock);
    void *copy = make_room(memo) ? tp_arena_alloc(&memo->arena, size) : NULL;
    if (copy) {
        memcpy(copy, result, size);
        struct tp_memo_entry *entry = slot_of(memo, key);
        memo->count += !entry->bytes;
        *entry = (struct tp_memo_entry){*key, copy, size, true};
        memo->made++;
    }
    pthread_mutex_unlock(&memo->lock);
}

enum tp_status tp_memo_add(struct tp_memo *memo,
                           const struct tp_memo_entry *entry,
                           struct tp_error *err)
{
    if (!make_room(memo))
        return tp_fail_memory(err);
    struct tp_memo_entry *slot = slot_of(memo, &entry->key);
    if (!slot->bytes) {
        *slot = *entry;
        memo->count++;
    }
    return TP_OK;
}

bool tp_memo_has_changed(const struct tp_memo *memo)
{
    bool changed = memo->made > 0;
    for (size_t i = 0; i < memo->capacity && !changed; i++)
        changed = memo->entries[i].bytes && !memo->entries[i].used;
    return changed;
}
