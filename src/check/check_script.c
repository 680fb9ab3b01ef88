/* SPDX-License-Identifier: MIT */
#include "check/check_script.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct tp_names *names, const char *text,
                      size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    size_t slot = (size_t)(hash ^ hash >> 32) & (names->capacity - 1);
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
    return name && !(name->tags & TP_TAG_CONFLICT) ? name->tags : 0;
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

bool tp_script_is_half(const struct tp_script *script, uint32_t node, bool wide)
{
    static const char *const halves[] = {"torch.float16", "torch.half",
                                         "torch.bfloat16"};
    static const char *const floats[] = {"torch.float32", "torch.float",
                                         "torch.float64"};
    char path[TP_PATH_MAX];
    tp_script_path(script, node, path);
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        if (!strcmp(path, wide ? floats[i] : halves[i]))
            return true;
    }
    return false;
}

void tp_script_clear(struct tp_script *script)
{
    free(script->imports.slots);
    free(script->objects.slots);
    tp_arena_clear(&script->arena);
    tp_py_tree_clear(&script->tree);
    tp_py_tokens_clear(&script->tokens);
    *script = (struct tp_script){0};
}
