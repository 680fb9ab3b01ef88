/* SPDX-License-Identifier: MIT */
/*
 * Facts by names. Imports give each name a dotted path, wherever they stand
 * in the file; a call's meaning follows from its path, or for methods of
 * unknown objects from the method's name. Objects are remembered by how the
 * program writes them (self.scaler), from what made them; a use can be the
 * evidence, too: what is called as x.scale(loss).backward() is a GradScaler.
 * A name with two meanings has none.
 *
 * Cost: one pass over the nodes, one search of a short table for each call
 * into torch.
 */
#include "check/check_facts.h"

#include <string.h>

#include "check/check_roles.h"

static bool starts_with(const char *text, size_t length, const char *word)
{
    size_t size = strlen(word);
    return length >= size && memcmp(text, word, size) == 0;
}

/* Remembers that `name` stands for "path" or "path.tail". */
static bool add_import(struct tp_script *script, uint32_t name,
                       const char *path, size_t length)
{
    size_t size;
    const char *text = tp_script_text(script, name, &size);
    if (!text || length >= TP_PATH_MAX)
        return true;
    struct tp_name *entry = tp_names_add(&script->imports, text, size);
    if (!entry)
        return false;
    script->has_torch |= starts_with(path, length, "torch") ||
                         starts_with(path, length, "transformer_engine") ||
                         starts_with(path, length, "msprobe");
    if (!entry->path) /* of "try: new, except: old", the new one */
        entry->path = tp_arena_text(&script->arena, path, length);
    return entry->path != NULL;
}

/* "import a.b as c" binds c to a.b; "import a.b" binds a to a. */
static bool note_import(struct tp_script *script, uint32_t statement)
{
    const struct tp_py_node *at = script->tree.at;
    bool fine = true;
    for (uint32_t alias = at[statement].child; alias && fine;
         alias = at[alias].next) {
        size_t length;
        uint32_t name = at[alias].child, as = name ? at[name].next : 0;
        const char *text = tp_script_text(script, name, &length);
        while (!as && name && at[name].kind == TP_PY_ATTRIBUTE)
            name = at[name].child;
        if (!as)
            tp_script_text(script, name, &length);
        fine = !text || add_import(script, as ? as : name, text, length);
    }
    return fine;
}

static bool note_import_from(struct tp_script *script, uint32_t statement)
{
    const struct tp_py_node *at = script->tree.at;
    uint32_t module = at[statement].child;
    size_t length, tail;
    char path[TP_PATH_MAX];
    const char *text = tp_script_text(script, module, &length);
    bool fine = true;
    if (length >= TP_PATH_MAX)
        return true;
    if (text) /* what is relative has a path that nothing else has */
        memcpy(path, text, length);
    path[length++] = '.';
    for (uint32_t alias = at[module].next; alias && fine;
         alias = at[alias].next) {
        uint32_t name = at[alias].child;
        const char *last = tp_script_text(script, name, &tail);
        if (!last || length + tail >= TP_PATH_MAX)
            continue;
        memcpy(path + length, last, tail);
        fine = add_import(script, at[name].next ? at[name].next : name, path,
                          length + tail);
    }
    return fine;
}

static bool add_object(struct tp_script *script, uint32_t node, uint32_t tags)
{
    size_t length;
    const char *text = tp_script_text(script, node, &length);
    if (!text)
        return true;
    struct tp_name *name = tp_names_add(&script->objects, text, length);
    if (!name)
        return false;
    if (name->round == 0 || name->tags != tags)
        name->round++; /* beyond 1 it has none */
    name->tags = tags;
    return true;
}

/* What a constructor makes. */
static uint32_t made_by(const struct tp_script *script, uint32_t node)
{
    struct tp_call call;
    char path[TP_PATH_MAX];
    tp_call_judge(script, node, path, &call);
    switch (call.role) {
    case TP_DOES_MAKE_CROSS_ENTROPY:
        return TP_TAG_CROSS_ENTROPY;
    case TP_DOES_MAKE_BCE_LOGITS:
        return TP_TAG_BCE_LOGITS;
    case TP_DOES_MAKE_NLL:
        return TP_TAG_NLL;
    case TP_DOES_MAKE_LOSS:
        return TP_TAG_LOSS;
    case TP_DOES_MAKE_SCALER:
        return TP_TAG_SCALER;
    case TP_DOES_MAKE_OPTIMIZER:
        return TP_TAG_OPTIMIZER;
    case TP_DOES_MAKE_MODULE:
        return TP_TAG_MODULE;
    case TP_DOES_MAKE_NORM:
        return TP_TAG_MODULE | TP_TAG_NORM;
    case TP_DOES_MAKE_DATA_PARALLEL:
        return TP_TAG_MODULE | TP_TAG_DATA_PARALLEL;
    case TP_DOES_AUTOCAST:
        return TP_TAG_AUTOCAST;
    case TP_DOES_MAKE_DEBUGGER:
        return TP_TAG_DEBUGGER;
    default:
        return 0;
    }
}

/* What an assigned value is; of "a if x else b", what one of them is. */
static uint32_t made_by_value(const struct tp_script *script, uint32_t value)
{
    const struct tp_py_node *at = script->tree.at;
    if (at[value].kind == TP_PY_CALL)
        return made_by(script, value);
    if (at[value].kind != TP_PY_CHOICE)
        return 0;
    uint32_t first = at[value].child, last = tp_py_last(&script->tree, value);
    uint32_t tags = 0;
    if (at[first].kind == TP_PY_CALL)
        tags |= made_by(script, first);
    if (at[last].kind == TP_PY_CALL)
        tags |= made_by(script, last);
    return tags;
}

static bool note_assignment(struct tp_script *script, uint32_t statement)
{
    const struct tp_py_node *at = script->tree.at;
    uint32_t value = tp_py_last(&script->tree, statement);
    uint32_t tags = made_by_value(script, value);
    bool fine = true;
    for (uint32_t target = at[statement].child;
         target && target != value && fine; target = at[target].next) {
        size_t length;
        const char *text = tp_script_text(script, target, &length);
        if (tags || tp_names_find(&script->objects, text, length))
            fine = add_object(script, target, tags);
    }
    return fine;
}

/* x.scale(loss).backward(): then x is a GradScaler. */
static bool note_scaler(struct tp_script *script, uint32_t call)
{
    const struct tp_py_node *at = script->tree.at;
    uint32_t function = at[call].child;
    if (!function || at[function].kind != TP_PY_ATTRIBUTE)
        return true;
    if (tp_py_is(&script->tree, function, "update"))
        script->has_update = true;
    if (tp_py_is(&script->tree, function, "unscale_"))
        script->has_unscale = true;
    uint32_t scaled = at[function].child, scale = at[scaled].child;
    if (!tp_py_is(&script->tree, function, "backward") ||
        at[scaled].kind != TP_PY_CALL || at[scale].kind != TP_PY_ATTRIBUTE ||
        !tp_py_is(&script->tree, scale, "scale"))
        return true;
    uint32_t scaler = at[scale].child;
    return tp_script_object(script, scaler) & TP_TAG_SCALER ||
           add_object(script, scaler, TP_TAG_SCALER);
}

static bool note_facts(struct tp_script *script)
{
    bool fine = true;
    const struct tp_py_tree *tree = &script->tree;
    for (size_t i = 1; i < tree->count && fine; i++) {
        if (tree->at[i].kind == TP_PY_IMPORT)
            fine = note_import(script, (uint32_t)i);
        else if (tree->at[i].kind == TP_PY_IMPORT_FROM)
            fine = note_import_from(script, (uint32_t)i);
    }
    for (size_t i = 1; i < tree->count && fine; i++) {
        if (tree->at[i].kind == TP_PY_ASSIGN)
            fine = note_assignment(script, (uint32_t)i);
        else if (tree->at[i].kind == TP_PY_CALL)
            fine = note_scaler(script, (uint32_t)i);
    }
    return fine;
}

enum tp_status tp_script_read(const char *source, size_t length,
                              struct tp_script *script, struct tp_error *err)
{
    *script = (struct tp_script){0};
    enum tp_status status = tp_py_lex(source, length, &script->tokens, err);
    if (status == TP_OK)
        status = tp_py_parse(&script->tokens, &script->tree, err);
    if (status == TP_OK && !(note_facts(script) && tp_calls_judge(script)))
        status = tp_fail_memory(err);
    return status;
}
