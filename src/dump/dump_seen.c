/* SPDX-License-Identifier: MIT */
#include "dump/dump_seen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define NONE ((size_t)-1)

/* The bits of a statistic; any NaN is one. */
static uint64_t bits_of(const struct tp_dump_number *number)
{
    uint64_t bits = 0;
    if (number->kind == TP_JSON_NULL)
        return 1;
    if (isnan(number->real))
        return 2;
    memcpy(&bits, &number->real, sizeof bits);
    return bits;
}

static uint64_t key_of(const struct tp_dump_item *item)
{
    uint64_t key = tp_hash_next(tp_hash_begin(), (uint64_t)item->element);
    key = tp_hash_next(key, (uint64_t)tp_dump_item_numel(item));
    for (int i = 0; i < TP_DUMP_STATS; i++)
        key = tp_hash_next(key, bits_of(&item->stats[i]));
    return tp_hash_end(key);
}

enum tp_status tp_seen_init(struct tp_seen *seen, size_t most,
                            struct tp_error *err)
{
    *seen = (struct tp_seen){.slot_count = 1};
    while (seen->slot_count / 2 < most) /* half of them stay empty */
        seen->slot_count *= 2;
    seen->slots = calloc(seen->slot_count, sizeof *seen->slots);
    if (!seen->slots)
        return tp_fail_memory(err);
    return tp_grow(&seen->list, &seen->capacity, most ? most : 1,
                   sizeof *seen->list, err);
}

void tp_seen_clear(struct tp_seen *seen)
{
    free(seen->list);
    free(seen->slots);
    memset(seen, 0, sizeof *seen);
}

/* The slot of a key, which may be empty. */
static size_t *slot_of(const struct tp_seen *seen, uint64_t key)
{
    size_t at = key & (seen->slot_count - 1);
    while (seen->slots[at] && seen->list[seen->slots[at] - 1].key != key)
        at = (at + 1) & (seen->slot_count - 1);
    return &seen->slots[at];
}

void tp_seen_add(struct tp_seen *seen, const struct tp_dump_item *item,
                 enum tp_seen_kind kind, size_t origin)
{
    uint64_t key = key_of(item);
    size_t *slot = slot_of(seen, key);
    seen->list[seen->count++] = (struct tp_seen_item){
        item, kind, origin, *slot ? *slot - 1 : NONE, key};
    *slot = seen->count;
}

const struct tp_seen_item *tp_seen_find(const struct tp_seen *seen,
                                        const struct tp_dump_item *item)
{
    const size_t *slot = slot_of(seen, key_of(item));
    const struct tp_seen_item *newest = NULL;
    for (size_t i = *slot ? *slot - 1 : NONE; i != NONE;
         i = seen->list[i].before) {
        const struct tp_seen_item *one = &seen->list[i];
        if (!newest)
            newest = one;
        if (!*item->md5 || !*one->item->md5)
            return newest;
        if (!strcmp(item->md5, one->item->md5))
            return one;
    }
    return newest;
}
