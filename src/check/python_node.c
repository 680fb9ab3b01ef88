/* SPDX-License-Identifier: MIT */
#include "check/python_node.h"

#include <stdlib.h>

void tp_py_tree_clear(struct tp_py_tree *tree)
{
    free(tree->at);
    *tree = (struct tp_py_tree){0};
}

uint32_t tp_py_child(const struct tp_py_tree *tree, uint32_t node, size_t i)
{
    uint32_t child = tree->at[node].child;
    while (child && i-- > 0)
        child = tree->at[child].next;
    return child;
}

uint32_t tp_py_last(const struct tp_py_tree *tree, uint32_t node)
{
    uint32_t last = 0;
    for (uint32_t i = tree->at[node].child; i; i = tree->at[i].next)
        last = i;
    return last;
}

bool tp_py_is(const struct tp_py_tree *tree, uint32_t node, const char *word)
{
    return tp_py_token_is(tree->tokens, tree->at[node].token, word);
}

uint32_t tp_py_line(const struct tp_py_tree *tree, uint32_t node)
{
    return tree->tokens->at[tree->at[node].token].line;
}
