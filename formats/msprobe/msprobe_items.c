/* SPDX-License-Identifier: MIT */
/*
 * The items of an entry. What may stand in an entry is one table: the key, the
 * place it stands for, and nothing else, so that a generation with other keys
 * is one row more. Lists and objects without a `type` are opened, others are
 * items. Cost: a look at each value.
 */
#include "formats/msprobe/msprobe_items.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

/* Keys of an entry, in the order in which items are listed. */
static const struct part {
    const char *key;
    enum tp_msprobe_place place;
} parts[] = {
    {"input_args", TP_MSPROBE_INPUT},      {"input", TP_MSPROBE_INPUT},
    {"grad_output", TP_MSPROBE_INPUT},     {"input_kwargs", TP_MSPROBE_KWARGS},
    {"parameters", TP_MSPROBE_PARAMETERS}, {"output", TP_MSPROBE_OUTPUT},
    {"grad_input", TP_MSPROBE_OUTPUT},
};

/* Lists one entry. */
struct lister {
    struct tp_arena *arena;
    struct tp_msprobe_items *items;
    struct tp_error *err;
    enum tp_msprobe_place place;
};

void tp_msprobe_items_clear(struct tp_msprobe_items *items)
{
    free(items->items);
    memset(items, 0, sizeof *items);
}

bool tp_msprobe_is_tensor(const char *type)
{
    size_t length = strlen(type), word = strlen("Tensor");
    return length >= word && strcmp(type + length - word, "Tensor") == 0;
}

/* What stands for a value: an object that says its type, {} or null. */
static bool is_item(const struct tp_json *value)
{
    if (value->kind != TP_JSON_OBJECT)
        return value->kind == TP_JSON_NULL;
    const struct tp_json *at = value->first;
    while (at && strcmp(at->key, "type") != 0)
        at = at->next;
    return at || value->count == 0;
}

static enum tp_status add_item(struct lister *lister, const char *argument,
                               const struct tp_json *value)
{
    struct tp_msprobe_items *items = lister->items;
    enum tp_status status =
        tp_grow(&items->items, &items->capacity, items->count + 1,
                sizeof *items->items, lister->err);
    if (status == TP_OK)
        items->items[items->count++] =
            (struct tp_msprobe_item){lister->place, argument, value};
    return status;
}

/* "PREFIX.KEY" or, of an item of a list, "PREFIX.NUMBER"; without a prefix
 * the rest. No longer than labels are, so that a long key does not cost its
 * length for each item below it. NULL without memory. */
static const char *join(struct lister *lister, const char *prefix,
                        const struct tp_json *value, size_t number)
{
    char digits[24];
    size_t at = sizeof digits, head = strlen(prefix);
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    const char *last = value->key ? value->key : digits + at;
    size_t tail = value->key ? strlen(last) : sizeof digits - at;
    size_t dot = head > 0;
    if (head + tail >= TP_LIMIT_LABEL_BYTES) /* nobody's name: keep its end */
        head = dot = 0;
    if (tail > TP_LIMIT_LABEL_BYTES)
        tail = TP_LIMIT_LABEL_BYTES;
    char *joined = tp_arena_alloc(lister->arena, head + dot + tail + 1);
    if (!joined)
        return NULL;
    memcpy(joined, prefix, head);
    memset(joined + head, '.', dot);
    memcpy(joined + head + dot, last, tail);
    return joined;
}

static enum tp_status open_values(struct lister *lister, const char *prefix,
                                  const struct tp_json *value);

static enum tp_status open_value(struct lister *lister, const char *prefix,
                                 const struct tp_json *value)
{
    return is_item(value) ? add_item(lister, prefix, value)
                          : open_values(lister, prefix, value);
}

/* All of a list or an object; as deep as the parser lets a text be. */
static enum tp_status open_values(struct lister *lister, const char *prefix,
                                  const struct tp_json *value)
{
    size_t number = 0;
    enum tp_status status = TP_OK;
    for (const struct tp_json *at = value->first; at && status == TP_OK;
         at = at->next) {
        const char *argument = join(lister, prefix, at, number++);
        status = argument ? open_value(lister, argument, at)
                          : tp_fail_memory(lister->err);
    }
    return status;
}

static bool has_parts(const struct tp_json *entry)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (tp_json_member(entry, parts[i].key))
            return true;
    return false;
}

enum tp_status tp_msprobe_items_list(const struct tp_json *entry,
                                     struct tp_arena *arena,
                                     struct tp_msprobe_items *items,
                                     struct tp_error *err)
{
    struct lister lister = {arena, items, err, TP_MSPROBE_OUTPUT};
    enum tp_status status = TP_OK;
    items->count = 0;
    if (entry->kind == TP_JSON_NULL)
        return TP_OK;
    if (!has_parts(entry)) { /* a variable, or gradients of parameters */
        if (!is_item(entry))
            lister.place = TP_MSPROBE_PARAMETERS;
        return open_value(&lister, "", entry);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct tp_json *part = tp_json_member(entry, parts[i].key);
        lister.place = parts[i].place;
        if (part && part->kind != TP_JSON_NULL && status == TP_OK)
            status = open_values(&lister, "", part);
    }
    return status;
}
