/* SPDX-License-Identifier: MIT */
/*
 * A set of texts: open addressing with linear probing, at most half full, by
 * the hash of hash.h. Slots hold pointers only; hashes are worked out
 * again when the set doubles.
 *
 * Alternative: a sorted array or a tree, whose every step compares texts that
 * mostly begin alike.
 *
 * Cost: one pass over the text and mostly one comparison; 16 to 32 bytes of
 * slots for each text.
 */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static const char **slot_of(const struct tp_intern *set, const char *text)
{
    size_t slot =
        (size_t)tp_hash_bytes(text, strlen(text)) & (set->capacity - 1);
    while (set->slots[slot] && strcmp(set->slots[slot], text))
        slot = (slot + 1) & (set->capacity - 1);
    return &set->slots[slot];
}

static int grow(struct tp_intern *set)
{
    struct tp_intern bigger = {.capacity =
                                   set->capacity ? 2 * set->capacity : 256};
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return -1;
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i])
            *slot_of(&bigger, set->slots[i]) = set->slots[i];
    }
    bigger.count = set->count;
    free(set->slots);
    *set = bigger;
    return 0;
}

const char *tp_intern(struct tp_intern *set, struct tp_arena *arena,
                      const char *text)
{
    if (2 * (set->count + 1) > set->capacity && grow(set) < 0)
        return NULL;
    const char **slot = slot_of(set, text);
    if (!*slot) {
        *slot = tp_arena_text(arena, text, strlen(text));
        set->count += *slot != NULL;
    }
    return *slot;
}

void tp_intern_clear(struct tp_intern *set)
{
    free(set->slots);
    memset(set, 0, sizeof *set);
}
