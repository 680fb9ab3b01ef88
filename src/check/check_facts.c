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

#include <stdlib.h>
#include <string.h>

#define NN "torch.nn.functional."

/* Functions and classes of torch, by path. */
static const struct {
    const char *path;
    enum tp_call_role role;
} paths[] = {
    {"torch.softmax", TP_DOES_SOFTMAX},
    {NN "softmax", TP_DOES_SOFTMAX},
    {"torch.sigmoid", TP_DOES_SIGMOID},
    {NN "sigmoid", TP_DOES_SIGMOID},
    {"torch.log", TP_DOES_LOG},
    {"torch.sum", TP_DOES_REDUCE},
    {"torch.mean", TP_DOES_REDUCE},
    {NN "binary_cross_entropy", TP_DOES_BCE},
    {NN "cross_entropy", TP_DOES_CROSS_ENTROPY},
    {NN "binary_cross_entropy_with_logits", TP_DOES_BCE_LOGITS},
    {NN "nll_loss", TP_DOES_NLL},
    {NN "mse_loss", TP_DOES_LOSS},
    {NN "l1_loss", TP_DOES_LOSS},
    {NN "smooth_l1_loss", TP_DOES_LOSS},
    {NN "kl_div", TP_DOES_LOSS},
    {NN "huber_loss", TP_DOES_LOSS},
    {"torch.nn.BCELoss", TP_DOES_MAKE_BCE},
    {"torch.nn.CrossEntropyLoss", TP_DOES_MAKE_CROSS_ENTROPY},
    {"torch.nn.BCEWithLogitsLoss", TP_DOES_MAKE_BCE_LOGITS},
    {"torch.nn.NLLLoss", TP_DOES_MAKE_NLL},
    {"torch.nn.MSELoss", TP_DOES_MAKE_LOSS},
    {"torch.nn.L1Loss", TP_DOES_MAKE_LOSS},
    {"torch.nn.SmoothL1Loss", TP_DOES_MAKE_LOSS},
    {"torch.nn.KLDivLoss", TP_DOES_MAKE_LOSS},
    {"torch.nn.HuberLoss", TP_DOES_MAKE_LOSS},
    {"torch.nn.utils.clip_grad_norm_", TP_DOES_CLIP},
    {"torch.nn.utils.clip_grad_value_", TP_DOES_CLIP},
    {"torch.nn.utils.clip_grad.clip_grad_norm_", TP_DOES_CLIP},
    {"torch.nn.utils.clip_grad.clip_grad_value_", TP_DOES_CLIP},
    {"torch.autocast", TP_DOES_AUTOCAST},
    {"torch.amp.autocast", TP_DOES_AUTOCAST},
    {"torch.cuda.amp.autocast", TP_DOES_AUTOCAST},
    {"torch.cpu.amp.autocast", TP_DOES_AUTOCAST},
    {"torch.amp.GradScaler", TP_DOES_MAKE_SCALER},
    {"torch.cuda.amp.GradScaler", TP_DOES_MAKE_SCALER},
    {"torch.cpu.amp.GradScaler", TP_DOES_MAKE_SCALER},
    {"torch.no_grad", TP_DOES_NO_GRAD},
    {"torch.inference_mode", TP_DOES_NO_GRAD},
    {"torch.set_default_dtype", TP_DOES_DEFAULT_DTYPE},
};

/* Methods of tensors, of optimisers and of scalers, by name. */
static const struct {
    const char *name;
    enum tp_call_role role;
} methods[] = {
    {"half", TP_DOES_HALF},         {"bfloat16", TP_DOES_HALF},
    {"float", TP_DOES_FLOAT},       {"double", TP_DOES_FLOAT},
    {"softmax", TP_DOES_SOFTMAX},   {"sigmoid", TP_DOES_SIGMOID},
    {"log", TP_DOES_LOG},           {"sum", TP_DOES_REDUCE},
    {"mean", TP_DOES_REDUCE},       {"backward", TP_DOES_BACKWARD},
    {"step", TP_DOES_STEP},         {"scale", TP_DOES_SCALE},
    {"unscale_", TP_DOES_UNSCALE},  {"update", TP_DOES_UPDATE},
    {"view", TP_DOES_KEEP},         {"reshape", TP_DOES_KEEP},
    {"squeeze", TP_DOES_KEEP},      {"unsqueeze", TP_DOES_KEEP},
    {"transpose", TP_DOES_KEEP},    {"permute", TP_DOES_KEEP},
    {"contiguous", TP_DOES_KEEP},   {"flatten", TP_DOES_KEEP},
    {"autocast", TP_DOES_AUTOCAST},
};

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

/* Optimisers and modules are told by their folder. */
static enum tp_call_role role_of_path(const char *path)
{
    if (strncmp(path, "torch.", 6) != 0)
        return TP_DOES_NONE;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!strcmp(paths[i].path, path))
            return paths[i].role;
    }
    if (!strncmp(path, "torch.optim.", 12) && !strchr(path + 12, '.') &&
        path[12] >= 'A' && path[12] <= 'Z')
        return TP_DOES_MAKE_OPTIMIZER;
    if (!strncmp(path, "torch.nn.", 9) && path[9] >= 'A' && path[9] <= 'Z' &&
        !strstr(path, "Loss"))
        return TP_DOES_MAKE_MODULE;
    return TP_DOES_NONE;
}

static enum tp_call_role role_of_object(uint32_t tags)
{
    return tags & TP_TAG_CROSS_ENTROPY ? TP_DOES_CROSS_ENTROPY
           : tags & TP_TAG_BCE_LOGITS  ? TP_DOES_BCE_LOGITS
           : tags & TP_TAG_NLL         ? TP_DOES_NLL
           : tags & TP_TAG_LOSS        ? TP_DOES_LOSS
                                       : TP_DOES_NONE;
}

/* Whether what stands before a method may be a tensor or the like: self is a
 * module, and classes begin with a capital. */
static bool is_value(const struct tp_script *script, uint32_t node)
{
    size_t length;
    const char *text = tp_script_text(script, node, &length);
    return !text || ((length != 4 || memcmp(text, "self", 4) != 0) &&
                     !(text[0] >= 'A' && text[0] <= 'Z'));
}

enum tp_call_role tp_script_role(const struct tp_script *script, uint32_t call,
                                 uint32_t *receiver)
{
    const struct tp_py_node *at = script->tree.at;
    uint32_t function = at[call].child;
    char path[TP_PATH_MAX];
    *receiver = 0;
    if (!function)
        return TP_DOES_NONE;
    tp_script_path(script, function, path);
    if (path[0])
        return role_of_path(path);
    enum tp_call_role role = role_of_object(tp_script_object(script, function));
    if (role != TP_DOES_NONE)
        return role;
    if (at[function].kind == TP_PY_NAME)
        return tp_py_is(&script->tree, function, "autocast") ? TP_DOES_AUTOCAST
                                                             : TP_DOES_NONE;
    if (at[function].kind != TP_PY_ATTRIBUTE)
        return TP_DOES_NONE;
    *receiver = at[function].child;
    if (!is_value(script, *receiver))
        return TP_DOES_NONE;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (tp_py_is(&script->tree, function, methods[i].name))
            return methods[i].role;
    }
    return TP_DOES_NONE;
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
    name->tags |= name->round && name->tags != tags ? TP_TAG_CONFLICT : tags;
    name->round = 1; /* seen */
    return true;
}

/* What a constructor makes. */
static uint32_t made_by(const struct tp_script *script, uint32_t call)
{
    uint32_t receiver;
    switch (tp_script_role(script, call, &receiver)) {
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
    case TP_DOES_AUTOCAST:
        return TP_TAG_AUTOCAST;
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
    if (status == TP_OK && !note_facts(script))
        status = tp_fail_memory(err);
    return status;
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
