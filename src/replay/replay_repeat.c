/* SPDX-License-Identifier: MIT */
/*
 * Digests of 64 bits tell calls apart: of 10^6 calls two that are not equal
 * have the same one with a chance of 3 in 10^8. Sorted by them, equal calls
 * stand side by side.
 */
#include "replay/replay_repeat.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t digest, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ at[i]) * 0x100000001b3ULL;
    return digest;
}

static uint64_t mix_text(uint64_t digest, const char *text)
{
    return text ? mix(digest, text, strlen(text) + 1) : mix(digest, "", 1);
}

static uint64_t mix_json(uint64_t digest, const struct tp_json *value)
{
    digest = mix(digest, &value->kind, sizeof value->kind);
    digest = mix(digest, &value->integer, sizeof value->integer);
    digest = mix(digest, &value->real, sizeof value->real);
    digest = mix_text(digest, value->text);
    for (const struct tp_json *at = value->first; at; at = at->next)
        digest = mix_json(mix_text(digest, at->key), at);
    return digest;
}

uint64_t tp_repeat_given(const struct tp_replay_call *call)
{
    const struct tp_msprobe_name *name = &call->call->name;
    uint64_t digest =
        mix(0xcbf29ce484222325ULL, name->path.at, name->path.length);
    for (size_t i = 0; i < call->call->count; i++) {
        const struct tp_dump_item *item =
            &call->place->items[call->call->first + i];
        const struct tp_array *array = &call->arrays[i];
        if (item->place == TP_MSPROBE_OUTPUT)
            continue;
        if (item->kind == TP_DUMP_NOTHING && item->empty)
            return 0; /* something msprobe does not record                  */
        digest = mix_text(digest, item->argument);
        if (array->value) {
            digest = mix(digest, &array->digest, sizeof array->digest);
            digest = mix(digest, array->shape,
                         (size_t)array->dims * sizeof *array->shape);
        } else if (item->value) {
            digest = mix_json(digest, item->value);
        }
        digest = mix_text(digest, item->type);
    }
    if (call->forward) {
        const uint64_t forward = tp_repeat_given(call->forward);
        if (!forward)
            return 0;
        digest = mix(digest, &forward, sizeof forward);
    }
    return digest ? digest : 1;
}

struct place {
    uint64_t given;
    size_t index;
};

static int compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->given != y->given)
        return x->given < y->given ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

enum tp_status tp_repeats_find(struct tp_repeat *repeats, size_t count,
                               struct tp_error *err)
{
    struct place *order = calloc(count + 1, sizeof *order);
    if (!order)
        return tp_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct place){repeats[i].given, i};
        repeats[i].first = SIZE_MAX;
        repeats[i].differs = false;
    }
    qsort(order, count, sizeof *order, compare);
    for (size_t i = 1, first = 0; i < count; i++) {
        if (order[i].given != order[first].given || order[i].given == 0) {
            first = i;
            continue;
        }
        struct tp_repeat *repeat = &repeats[order[i].index];
        repeat->first = order[first].index;
        repeat->differs = repeat->made != repeats[repeat->first].made;
    }
    free(order);
    return TP_OK;
}
