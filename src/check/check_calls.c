/* SPDX-License-Identifier: MIT */
/*
 * Functions by their names. A name that two functions have, as forward in two
 * classes, stands for none. A script may be imported by others that call its
 * functions with other arguments; what its own only call gives is one that is
 * made.
 *
 * Alternative: types of all arguments by iteration to a fixed point, which
 * takes a call graph that Python does not tell.
 *
 * Cost: one pass over the nodes.
 */
#include "check/check_calls.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const struct tp_script *script, uint32_t node,
                           uint32_t *length)
{
    const struct tp_py_token *token =
        &script->tokens.at[script->tree.at[node].token];
    *length = token->length;
    return script->tokens.source + token->start;
}

enum tp_status tp_functions_read(const struct tp_script *script,
                                 struct tp_functions *functions,
                                 struct tp_error *err)
{
    const struct tp_py_tree *tree = &script->tree;
    *functions = (struct tp_functions){0};
    for (uint32_t i = 1; i < tree->count; i++) {
        uint32_t length;
        if (tree->at[i].kind != TP_PY_FUNCTION)
            continue;
        const char *text = text_of(script, i, &length);
        struct tp_name *name = tp_names_add(&functions->names, text, length);
        if (!name ||
            tp_grow(&functions->at, &functions->capacity, functions->count + 1,
                    sizeof *functions->at, err) != TP_OK)
            return tp_fail_memory(err);
        functions->at[functions->count++].node = i;
        name->tags = name->round ? 0 : (uint32_t)functions->count;
        name->round = 1;
    }
    return TP_OK;
}

void tp_functions_clear(struct tp_functions *functions)
{
    free(functions->names.slots);
    free(functions->at);
    *functions = (struct tp_functions){0};
}

static struct tp_function *by_name(const struct tp_functions *functions,
                                   const struct tp_script *script,
                                   uint32_t node)
{
    uint32_t length;
    const char *text = text_of(script, node, &length);
    const struct tp_name *name = tp_names_find(&functions->names, text, length);
    return name && name->tags ? &functions->at[name->tags - 1] : NULL;
}

/* Functions are in the order of their nodes. */
struct tp_function *tp_functions_at(const struct tp_functions *functions,
                                    uint32_t node)
{
    size_t low = 0, high = functions->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (functions->at[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < functions->count && functions->at[low].node == node
               ? &functions->at[low]
               : NULL;
}

struct tp_function *tp_functions_find(const struct tp_functions *functions,
                                      const struct tp_script *script,
                                      uint32_t node)
{
    struct tp_function *function = by_name(functions, script, node);
    return function && function->node == node ? function : NULL;
}

struct tp_function *tp_functions_called(const struct tp_functions *functions,
                                        const struct tp_script *script,
                                        const struct tp_call *call)
{
    const struct tp_py_node *at = script->tree.at;
    if (call->path[0] || !call->function)
        return NULL;
    if (at[call->function].kind == TP_PY_ATTRIBUTE
            ? at[call->receiver].kind != TP_PY_NAME ||
                  !tp_py_is(&script->tree, call->receiver, "self")
            : at[call->function].kind != TP_PY_NAME)
        return NULL;
    return by_name(functions, script, call->function);
}

uint32_t tp_function_parameter(const struct tp_script *script,
                               uint32_t function, uint32_t before)
{
    const struct tp_py_node *at = script->tree.at;
    uint32_t i = before ? at[before].next : at[function].child;
    while (i && (at[i].kind != TP_PY_PARAMETER ||
                 (!before && tp_py_is(&script->tree, i, "self"))))
        i = at[i].next;
    return i;
}

int tp_function_argument(const struct tp_script *script, uint32_t function,
                         const char *name, size_t length)
{
    uint32_t node = 0, size;
    for (int i = 0; i < TP_FUNCTION_ARGUMENTS; i++) {
        node = tp_function_parameter(script, function, node);
        if (!node)
            break;
        const char *text = text_of(script, node, &size);
        if (size == length && memcmp(text, name, length) == 0)
            return i;
    }
    return -1;
}
