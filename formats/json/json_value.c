/* SPDX-License-Identifier: MIT */
#include "formats/json/json_value.h"

#include <string.h>

const struct tp_json *tp_json_member(const struct tp_json *object,
                                     const char *key)
{
    const struct tp_json *found = NULL;
    if (!object || object->kind != TP_JSON_OBJECT)
        return NULL;
    for (const struct tp_json *at = object->first; at; at = at->next)
        if (*at->key == *key && strcmp(at->key, key) == 0) /* mostly others */
            found = at;
    return found;
}

void tp_json_members(const struct tp_json *object, const char *const *keys,
                     size_t count, const struct tp_json **found)
{
    size_t next = 0; /* key behind the one that was found last */
    for (size_t i = 0; i < count; i++)
        found[i] = NULL;
    if (!object || object->kind != TP_JSON_OBJECT)
        return;
    for (const struct tp_json *at = object->first; at; at = at->next)
        for (size_t tried = 0; tried < count; tried++, next++) {
            next = next < count ? next : 0;
            if (*at->key != *keys[next] || strcmp(at->key, keys[next]) != 0)
                continue;
            found[next++] = at;
            break;
        }
}

const char *tp_json_text(const struct tp_json *object, const char *key,
                         const char *absent)
{
    const struct tp_json *member = tp_json_member(object, key);
    return member && member->kind == TP_JSON_STRING ? member->text : absent;
}

static struct tp_json *copy_value(const struct tp_json *value,
                                  struct tp_arena *arena)
{
    struct tp_json *copy = tp_arena_alloc(arena, sizeof *copy), **link;
    if (!copy)
        return NULL;
    *copy = *value;
    copy->next = NULL;
    if (value->text &&
        !(copy->text = tp_arena_text(arena, value->text, value->length)))
        return NULL;
    if (value->key &&
        !(copy->key = tp_arena_text(arena, value->key, strlen(value->key))))
        return NULL;
    link = &copy->first;
    for (const struct tp_json *at = value->first; at; at = at->next) {
        *link = copy_value(at, arena);
        if (!*link)
            return NULL;
        link = &(*link)->next;
    }
    return copy;
}

enum tp_status tp_json_copy(const struct tp_json *value, struct tp_arena *arena,
                            const struct tp_json **copy, struct tp_error *err)
{
    *copy = copy_value(value, arena);
    return *copy ? TP_OK : tp_fail_memory(err);
}

bool tp_json_is_number(const struct tp_json *value)
{
    return value &&
           (value->kind == TP_JSON_INTEGER || value->kind == TP_JSON_REAL);
}
