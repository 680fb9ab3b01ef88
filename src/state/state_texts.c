/* SPDX-License-Identifier: MIT */
#include "state/state_texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

static struct tp_state_numbered *slot_of(const struct tp_state_numbers *set,
                                         const char *text)
{
    const uint64_t hash = (uint64_t)(uintptr_t)text * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(hash >> 20) & (set->capacity - 1);
    while (set->slots[slot].text && set->slots[slot].text != text)
        slot = (slot + 1) & (set->capacity - 1);
    return &set->slots[slot];
}

static bool make_room(struct tp_state_numbers *set)
{
    if (2 * (set->count + 1) <= set->capacity)
        return true;
    struct tp_state_numbers bigger = {
        .capacity = set->capacity ? 2 * set->capacity : 256};
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i].text)
            *slot_of(&bigger, set->slots[i].text) = set->slots[i];
    }
    free(set->slots);
    set->slots = bigger.slots;
    set->capacity = bigger.capacity;
    return true;
}

/* Texts stand one behind the other, without room between. */
enum tp_status tp_state_text_add(struct tp_state_bytes *part, const char *text,
                                 struct tp_error *err)
{
    const size_t size = strlen(text) + 1;
    if (tp_grow(&part->data, &part->capacity, part->size + size, 1, err) !=
        TP_OK)
        return TP_E_MEMORY;
    memcpy(part->data + part->size, text, size);
    part->size += size;
    return TP_OK;
}

enum tp_status tp_state_text_number(struct tp_state_numbers *set,
                                    const char *text, uint64_t *number,
                                    struct tp_error *err)
{
    if (!make_room(set))
        return tp_fail_memory(err);
    struct tp_state_numbered *slot = slot_of(set, text);
    if (!slot->text) {
        if (tp_state_text_add(set->part, text, err) != TP_OK)
            return TP_E_MEMORY;
        *slot = (struct tp_state_numbered){text, set->count++};
    }
    *number = slot->number;
    return TP_OK;
}

void tp_state_numbers_clear(struct tp_state_numbers *set)
{
    free(set->slots);
    *set = (struct tp_state_numbers){.slots = NULL};
}

/* SIZE_MAX: the last of them does not end. */
static size_t count_texts(const struct tp_state_bytes *part)
{
    size_t count = 0;
    for (size_t at = 0; at < part->size; count++) {
        const unsigned char *end =
            memchr(part->data + at, '\0', part->size - at);
        if (!end)
            return SIZE_MAX;
        at = (size_t)(end + 1 - part->data);
    }
    return count;
}

enum tp_status tp_state_texts_view(const struct tp_state_bytes *part,
                                   struct tp_state_words *texts,
                                   struct tp_error *err)
{
    texts->count = count_texts(part);
    if (texts->count == SIZE_MAX) {
        texts->count = 0;
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "a damaged state: the end of its texts is not what it "
                       "should be");
    }
    texts->texts = calloc(texts->count + 1, sizeof *texts->texts);
    if (!texts->texts)
        return tp_fail_memory(err);
    const char *at = (const char *)part->data;
    for (size_t i = 0; i < texts->count; at += strlen(at) + 1, i++)
        texts->texts[i] = at;
    return TP_OK;
}

enum tp_status tp_state_text_copy(const struct tp_state_bytes *part,
                                  char **text, struct tp_error *err)
{
    if (count_texts(part) != 1)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "a damaged state: its header is not what it should be");
    *text = strdup((const char *)part->data);
    return *text ? TP_OK : tp_fail_memory(err);
}

enum tp_status tp_state_sentences_add(const char ***list, size_t *count,
                                      const char *const *more,
                                      size_t more_count, struct tp_error *err)
{
    const char **all = realloc(*list, (*count + more_count + 1) * sizeof *all);
    if (!all)
        return tp_fail_memory(err);
    *list = all;
    if (more_count)
        memcpy(all + *count, more, more_count * sizeof *all);
    *count = tp_sort_text_once(all, *count + more_count);
    return TP_OK;
}
