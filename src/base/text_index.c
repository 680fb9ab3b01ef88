/* SPDX-License-Identifier: MIT */
/*
 * Open addressing with linear probing, at most half full.
 *
 * Alternative: sorted texts and bisection, which need no room beyond a number
 * each, but some 20 comparisons of texts that mostly begin alike to sort and to
 * find each of a million. Cost: a pass over the text and mostly one comparison;
 * 32 to 64 bytes of slots for each text.
 */
#include "base/text_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct tp_text_slot {
    const char *text; /* NULL: free */
    size_t number;
};

bool tp_text_index_init(struct tp_text_index *index, size_t count)
{
    size_t capacity = 16;
    tp_text_index_clear(index);
    while (capacity / 2 < count && capacity <= SIZE_MAX / 2)
        capacity *= 2;
    index->slots = calloc(capacity, sizeof *index->slots);
    index->capacity = index->slots ? capacity : 0;
    return index->slots != NULL;
}

/* The slot of a text, or the free one where it would be. */
static struct tp_text_slot *slot_of(const struct tp_text_index *index,
                                    const char *text)
{
    const size_t mask = index->capacity - 1;
    size_t at = (size_t)tp_hash_bytes(text, strlen(text)) & mask;
    while (index->slots[at].text && strcmp(index->slots[at].text, text) != 0)
        at = (at + 1) & mask;
    return &index->slots[at];
}

size_t *tp_text_index_put(struct tp_text_index *index, const char *text)
{
    struct tp_text_slot *slot = slot_of(index, text);
    if (!slot->text)
        *slot = (struct tp_text_slot){text, TP_TEXT_NEW};
    return &slot->number;
}

size_t tp_text_index_of(const struct tp_text_index *index, const char *text)
{
    if (index->capacity == 0)
        return TP_TEXT_NEW;
    const struct tp_text_slot *slot = slot_of(index, text);
    return slot->text ? slot->number : TP_TEXT_NEW;
}

void tp_text_index_clear(struct tp_text_index *index)
{
    free(index->slots);
    memset(index, 0, sizeof *index);
}
