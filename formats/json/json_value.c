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
        if (strcmp(at->key, key) == 0)
            found = at;
    return found;
}

const char *tp_json_text(const struct tp_json *object, const char *key,
                         const char *absent)
{
    const struct tp_json *member = tp_json_member(object, key);
    return member && member->kind == TP_JSON_STRING ? member->text : absent;
}

bool tp_json_is_number(const struct tp_json *value)
{
    return value &&
           (value->kind == TP_JSON_INTEGER || value->kind == TP_JSON_REAL);
}
