/* SPDX-License-Identifier: MIT */
#include "dump/dump_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool part_is(struct tp_msprobe_part part, const char *word)
{
    return part.length == strlen(word) &&
           memcmp(part.at, word, part.length) == 0;
}

bool tp_dump_call_is(const struct tp_dump_call *call, const char *api)
{
    return call->known && call->name.kind == TP_MSPROBE_API &&
           part_is(call->name.path, api);
}

bool tp_dump_call_is_any(const struct tp_dump_call *call,
                         const char *const *apis)
{
    while (*apis && !tp_dump_call_is(call, *apis))
        apis++;
    return *apis != NULL;
}

bool tp_dump_call_is_communication(const struct tp_dump_call *call)
{
    return call->known && call->name.kind == TP_MSPROBE_API &&
           part_is(call->name.type, "Distributed");
}

/* PyTorch's names: a '_' at the end, or an operator that assigns. */
bool tp_dump_call_in_place(const struct tp_dump_call *call)
{
    static const char *const assigning[] = {
        "__setitem__",  "__iadd__",      "__isub__",
        "__imul__",     "__ipow__",      "__idiv__",
        "__itruediv__", "__ifloordiv__", "__imod__",
        "__iand__",     "__ior__",       "__ixor__",
        "__ilshift__",  "__irshift__",   NULL};
    const struct tp_msprobe_part path = call->name.path;
    if (!call->known || call->name.kind != TP_MSPROBE_API || !path.length)
        return false;
    return tp_dump_call_is_any(call, assigning) ||
           (path.at[path.length - 1] == '_' &&
            !(path.length > 1 && path.at[path.length - 2] == '_'));
}

bool tp_dump_item_is_result(const struct tp_dump_call *call,
                            const struct tp_dump_item *item)
{
    return item->place == TP_MSPROBE_OUTPUT ||
           (call->known && call->name.gradient);
}

int64_t tp_dump_item_numel(const struct tp_dump_item *item)
{
    int64_t numel = 1;
    if (!item->has_shape)
        return -1;
    for (int i = 0; i < item->dims; i++) {
        if (item->shape[i] < 0 ||
            __builtin_mul_overflow(numel, item->shape[i], &numel))
            return -1;
    }
    return numel;
}

/* No file system takes a name of this length, and msprobe makes files of
 * names; with more, a call is that of no other. */
enum { LONGEST_NAME = 4096 };

const struct tp_dump_call *tp_dump_forward_of(const struct tp_dump_place *place,
                                              const struct tp_dump_call *call)
{
    static const char from[] = "backward", to[] = "forward";
    if (!call->known || call->name.direction != TP_BACKWARD ||
        call->name.gradient)
        return NULL;
    const char *at = NULL; /* the last one: modules may be called so, too */
    for (const char *next = call->key; (next = strstr(next, from)); next++)
        at = next;
    if (!at)
        return NULL;
    char key[LONGEST_NAME];
    const int length = snprintf(
        key, sizeof key, "%.*s%s%s",
        (int)(at - call->key < LONGEST_NAME ? at - call->key : LONGEST_NAME),
        call->key, to, at + strlen(from));
    return length >= 0 && length < LONGEST_NAME ? tp_dump_call_of(place, key)
                                                : NULL;
}

/* Whether the path of one module is another's and more. */
static bool is_inside(const struct tp_msprobe_name *inner,
                      const struct tp_msprobe_name *outer)
{
    return inner->kind == TP_MSPROBE_MODULE &&
           inner->path.length > outer->path.length &&
           inner->path.at[outer->path.length] == '.' &&
           memcmp(inner->path.at, outer->path.at, outer->path.length) == 0;
}

bool tp_dump_call_inside(const struct tp_dump_place *place,
                         const struct tp_dump_call *inner,
                         const struct tp_dump_call *module)
{
    const struct tp_dump_node *node = tp_dump_node_of(place, inner->key);
    for (size_t depth = 0; node && depth < place->node_count; depth++) {
        if (!strcmp(node->parent, module->key))
            return true;
        node = tp_dump_node_of(place, node->parent);
    }
    return is_inside(&inner->name, &module->name) &&
           inner->name.direction == module->name.direction;
}

struct tp_msprobe_part tp_dump_call_module(const struct tp_dump_place *place,
                                           const struct tp_dump_call *call)
{
    const struct tp_msprobe_part none = {"", 0};
    struct tp_msprobe_name name = call->name;
    if (call->known && name.kind == TP_MSPROBE_MODULE)
        return name.path;
    const struct tp_dump_node *node = tp_dump_node_of(place, call->key);
    if (place->node_count && !(node && *node->parent)) {
        const struct tp_dump_call *forward = tp_dump_forward_of(place, call);
        node = forward ? tp_dump_node_of(place, forward->key) : NULL;
    }
    return node && tp_msprobe_name_parse(node->parent, strlen(node->parent),
                                         &name)
               ? name.path
               : none;
}

bool tp_dump_item_is_weight(const struct tp_dump_call *call,
                            const struct tp_dump_item *item)
{
    struct tp_msprobe_name name = call->name;
    name.place = item->place;
    name.argument =
        (struct tp_msprobe_part){item->argument, strlen(item->argument)};
    const char *word = tp_msprobe_argument_name(&name);
    return word && (!strcmp(word, "weight") || !strcmp(word, "bias"));
}

bool tp_dump_call_is_module(const struct tp_dump_call *call)
{
    return call->known && call->name.kind == TP_MSPROBE_MODULE &&
           !call->name.gradient;
}

/* Whether a line of a stack is in PyTorch, msprobe or Python's own library. */
static bool is_library(const char *line)
{
    static const char *const marks[] = {"site-packages/", "dist-packages/",
                                        "/msprobe/",      "<frozen ",
                                        "File torch/",    "/torch/nn/modules/"};
    bool library = false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        library |= strstr(line, marks[i]) != NULL;
    return library;
}

struct tp_dump_line tp_dump_line_of(const char *line)
{
    const char *end = strchr(line, '\n');
    size_t head = end ? (size_t)(end - line) : strlen(line);
    while (head > 0 && strchr(", ", line[head - 1]))
        head--;
    const char *code = end ? end + strspn(end, " \n\t") : "";
    return (struct tp_dump_line){line, code, (int)head,
                                 (int)strcspn(code, "\n")};
}

static void add_line(const char *line, struct tp_text *text)
{
    const struct tp_dump_line parts = tp_dump_line_of(line);
    tp_text_add(text, "%.*s%s%.*s", parts.head, parts.place,
                parts.length ? ": " : "", parts.length, parts.code);
}

void tp_dump_call_line(const struct tp_dump_place *place,
                       const struct tp_dump_call *call, struct tp_text *text)
{
    const struct tp_dump_stack *stack = call->stack;
    if (!stack) {
        const struct tp_dump_call *forward = tp_dump_forward_of(place, call);
        stack = forward ? forward->stack : NULL;
    }
    if (!stack || !stack->count)
        return;
    size_t own = 0;
    while (own < stack->count && is_library(stack->lines[own]))
        own++;
    add_line(stack->lines[own < stack->count ? own : 0], text);
}
