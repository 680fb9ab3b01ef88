/* SPDX-License-Identifier: MIT */
#include "replay/digest_set.h"

#include <stdlib.h>
#include <string.h>

/* The slot that has a digest, or where it belongs. */
static size_t slot_of(const struct tp_digest_set *set, uint64_t digest)
{
    const size_t mask = set->capacity - 1;
    size_t at = (size_t)(digest ^ digest >> 32) & mask;
    while (set->slots[at] && set->slots[at] != digest)
        at = (at + 1) & mask;
    return at;
}

static enum tp_status widen(struct tp_digest_set *set, struct tp_error *err)
{
    struct tp_digest_set wider = {.count = set->count,
                                  .capacity =
                                      set->capacity ? 2 * set->capacity : 64};
    wider.slots = calloc(wider.capacity, sizeof *wider.slots);
    if (!wider.slots)
        return tp_fail_memory(err);
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i])
            wider.slots[slot_of(&wider, set->slots[i])] = set->slots[i];
    free(set->slots);
    *set = wider;
    return TP_OK;
}

enum tp_status tp_digest_set_add(struct tp_digest_set *set, uint64_t digest,
                                 struct tp_error *err)
{
    enum tp_status status =
        2 * set->count >= set->capacity ? widen(set, err) : TP_OK;
    if (status != TP_OK || !digest)
        return status;
    uint64_t *slot = &set->slots[slot_of(set, digest)];
    set->count += !*slot;
    *slot = digest;
    return TP_OK;
}

bool tp_digest_set_has(const struct tp_digest_set *set, uint64_t digest)
{
    return digest && set->capacity && set->slots[slot_of(set, digest)];
}

void tp_digest_set_clear(struct tp_digest_set *set)
{
    free(set->slots);
    memset(set, 0, sizeof *set);
}
