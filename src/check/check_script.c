/* SPDX-License-Identifier: MIT */
#include "check/check_script.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static size_t slot_of(const struct tp_names *names, const char *text,
                      size_t length)
{
    size_t slot = (size_t)tp_hash_bytes(text, length) & (names->capacity - 1);
    while (names->slots[slot].text &&
           (names->slots[slot].length != length ||
            memcmp(names->slots[slot].text, text, length) != 0))
        slot = (slot + 1) & (names->capacity - 1);
    return slot;
}

struct tp_name *tp_names_find(const struct tp_names *names, const char *text,
                              size_t length)
{
    if (names->capacity == 0 || !text)
        return NULL;
    struct tp_name *name = &names->slots[slot_of(names, text, length)];
    return name->text ? name : NULL;
}

static bool grow(struct tp_names *names)
{
    struct tp_names more = {.capacity =
                                names->capacity ? 2 * names->capacity : 64};
    more.slots = calloc(more.capacity, sizeof *more.slots);
    if (!more.slots)
        return false;
    for (size_t i = 0; i < names->capacity; i++) {
        const struct tp_name *name = &names->slots[i];
        if (name->text)
            more.slots[slot_of(&more, name->text, name->length)] = *name;
    }
    more.count = names->count;
    free(names->slots);
    *names = more;
    return true;
}

struct tp_name *tp_names_add(struct tp_names *names, const char *text,
                             size_t length)
{
    if (2 * (names->count + 1) > names->capacity && !grow(names))
        return NULL;
    struct tp_name *name = &names->slots[slot_of(names, text, length)];
    if (!name->text) {
        *name = (struct tp_name){.text = text, .length = (uint32_t)length};
        names->count++;
    }
    return name;
}

const char *tp_script_text(const struct tp_script *script, uint32_t node,
                           size_t *length)
{
    const struct tp_py_node *at = script->tree.at;
    const struct tp_py_token *tokens = script->tokens.at;
    uint32_t root = node;
    *length = 0;
    while (at[root].kind == TP_PY_ATTRIBUTE)
        root = at[root].child;
    if (!node || at[root].kind != TP_PY_NAME)
        return NULL;
    const struct tp_py_token *last = &tokens[at[node].token];
    uint32_t start = tokens[at[root].token].start;
    *length = last->start + last->length - start;
    return script->tokens.source + start;
}

void tp_script_path(const struct tp_script *script, uint32_t node,
                    char path[TP_PATH_MAX])
{
    size_t length, root = 0;
    const char *text = tp_script_text(script, node, &length);
    path[0] = '\0';
    if (!text)
        return;
    while (root < length && text[root] != '.' && text[root] != ' ')
        root++;
    const struct tp_name *import = tp_names_find(&script->imports, text, root);
    size_t before = import && import->path ? strlen(import->path) : 0;
    if (before == 0 || before + length - root >= TP_PATH_MAX)
        return;
    memcpy(path, import->path, before);
    memcpy(path + before, text + root, length - root);
    path[before + length - root] = '\0';
}

uint32_t tp_script_object(const struct tp_script *script, uint32_t node)
{
    size_t length;
    const char *text = tp_script_text(script, node, &length);
    const struct tp_name *name = tp_names_find(&script->objects, text, length);
    return name && name->round == 1 ? name->tags : 0;
}

uint32_t tp_script_argument(const struct tp_script *script, uint32_t call,
                            const char *name, size_t place)
{
    const struct tp_py_node *at = script->tree.at;
    uint32_t found = 0;
    size_t i = 0;
    for (uint32_t a = at[at[call].child].next; a; a = at[a].next, i++) {
        if (at[a].kind == TP_PY_NAMED) {
            if (tp_py_is(&script->tree, a, name))
                return at[a].child;
        } else if (i == place) {
            found = a;
        }
    }
    return found;
}

uint32_t tp_script_dtype(const struct tp_script *script, uint32_t node)
{
    static const struct {
        const char *name;
        uint32_t width;
    } dtypes[] = {{"float16", TP_TAG_HALF | TP_TAG_FP16},
                  {"half", TP_TAG_HALF | TP_TAG_FP16},
                  {"HalfTensor", TP_TAG_HALF | TP_TAG_FP16},
                  {"cuda.HalfTensor", TP_TAG_HALF | TP_TAG_FP16},
                  {"bfloat16", TP_TAG_HALF | TP_TAG_BF16},
                  {"BFloat16Tensor", TP_TAG_HALF | TP_TAG_BF16},
                  {"cuda.BFloat16Tensor", TP_TAG_HALF | TP_TAG_BF16},
                  {"float32", TP_TAG_FLOAT},
                  {"float", TP_TAG_FLOAT},
                  {"float64", TP_TAG_FLOAT},
                  {"double", TP_TAG_FLOAT},
                  {"float8_e4m3fn", TP_TAG_FP8},
                  {"float8_e4m3fnuz", TP_TAG_FP8},
                  {"float8_e5m2", TP_TAG_FP8},
                  {"float8_e5m2fnuz", TP_TAG_FP8}};
    char path[TP_PATH_MAX];
    const struct tp_py_token *last =
        &script->tokens.at[script->tree.at[node].token];
    if (!strchr("fhHbBd", script->tokens.source[last->start]))
        return 0; /* most names are none of them */
    tp_script_path(script, node, path);
    if (strncmp(path, "torch.", 6) != 0)
        return 0;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (!strcmp(path + 6, dtypes[i].name))
            return dtypes[i].width;
    }
    return 0;
}

void tp_script_clear(struct tp_script *script)
{
    free(script->imports.slots);
    free(script->objects.slots);
    free(script->calls);
    free(script->call_of);
    tp_arena_clear(&script->arena);
    tp_py_tree_clear(&script->tree);
    tp_py_tokens_clear(&script->tokens);
    *script = (struct tp_script){0};
}
