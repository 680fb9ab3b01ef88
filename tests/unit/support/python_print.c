/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/python_print.h"

#include <stdlib.h>

/* Of each call the line it ends in and its number of arguments. */
static void print_calls(const struct tp_py_tree *tree, FILE *out)
{
    const struct tp_py_node *at = tree->at;
    for (size_t i = 1; i < tree->count; i++) {
        unsigned arguments = 0;
        if (at[i].kind != TP_PY_CALL)
            continue;
        for (uint32_t a = at[at[i].child].next; a; a = at[a].next)
            arguments++;
        fprintf(out, "%u %u\n", tree->tokens->at[at[i].end - 1].line,
                arguments);
    }
}

/* The items of "with" around a statement. */
struct items {
    struct {
        unsigned line, number;
        const char *target;
    } at[256];
    size_t count;
};

static void print_statement(const struct tp_py_tree *tree, uint32_t node,
                            struct items *items, FILE *out);

static void print_bodies(const struct tp_py_tree *tree, uint32_t node,
                         struct items *items, FILE *out)
{
    for (uint32_t i = tree->at[node].child; i; i = tree->at[i].next) {
        if (tree->at[i].kind != TP_PY_BODY)
            continue;
        for (uint32_t s = tree->at[i].child; s; s = tree->at[s].next)
            print_statement(tree, s, items, out);
    }
}

/* A statement's line, and of each item around it the line of its "with", its
 * number there, and whether it has a target. */
static void print_statement(const struct tp_py_tree *tree, uint32_t node,
                            struct items *items, FILE *out)
{
    int kind = tree->at[node].kind;
    size_t before = items->count;
    bool is_part = kind == TP_PY_ELSE || kind == TP_PY_EXCEPT ||
                   kind == TP_PY_FINALLY || kind == TP_PY_CASE;
    for (size_t i = 0; i < items->count && !is_part; i++)
        fprintf(out, "%u in %u:%u%s\n", tp_py_line(tree, node),
                items->at[i].line, items->at[i].number, items->at[i].target);
    for (uint32_t i = tree->at[node].child; i && kind == TP_PY_WITH;
         i = tree->at[i].next) {
        if (tree->at[i].kind != TP_PY_WITH_ITEM)
            continue;
        if (items->count == sizeof items->at / sizeof *items->at)
            abort();
        items->at[items->count].line = tp_py_line(tree, node);
        items->at[items->count].number = (unsigned)(items->count - before);
        items->at[items->count++].target =
            tree->at[tree->at[i].child].next ? " as" : "";
    }
    print_bodies(tree, node, items, out);
    items->count = before;
}

static void print_withs(const struct tp_py_tree *tree, FILE *out)
{
    struct items items = {.count = 0};
    for (uint32_t s = tree->at[1].child; s; s = tree->at[s].next)
        print_statement(tree, s, &items, out);
}

static void print_token(const struct tp_py_tree *tree, uint32_t node, FILE *out)
{
    const struct tp_py_token *token = &tree->tokens->at[tree->at[node].token];
    fprintf(out, "%.*s", (int)token->length,
            tree->tokens->source + token->start);
}

static void print_name(const struct tp_py_tree *tree, uint32_t node, FILE *out)
{
    switch (tree->at[node].kind) {
    case TP_PY_NAME:
        print_token(tree, node, out);
        break;
    case TP_PY_ATTRIBUTE:
        print_name(tree, tree->at[node].child, out);
        fputc('.', out);
        print_token(tree, node, out);
        break;
    case TP_PY_SUBSCRIPT:
        print_name(tree, tree->at[node].child, out);
        fputs("[]", out);
        break;
    case TP_PY_CALL:
        print_name(tree, tree->at[node].child, out);
        fputs("()", out);
        break;
    default:
        fputc('?', out);
    }
}

/* Each name that a target gives something to. */
static void print_target(const struct tp_py_tree *tree, uint32_t node,
                         const char *how, unsigned line, FILE *out)
{
    switch (tree->at[node].kind) {
    case TP_PY_TUPLE:
    case TP_PY_LIST:
    case TP_PY_STAR:
        for (uint32_t i = tree->at[node].child; i; i = tree->at[i].next)
            print_target(tree, i, how, line, out);
        break;
    default:
        fprintf(out, "%u %s ", line, how);
        print_name(tree, node, out);
        fputc('\n', out);
    }
}

static void print_assignments(const struct tp_py_tree *tree, FILE *out)
{
    const struct tp_py_node *at = tree->at;
    for (uint32_t i = 1; i < tree->count; i++) {
        unsigned line = tp_py_line(tree, i);
        uint32_t first = at[i].child, last = tp_py_last(tree, i);
        switch (at[i].kind) {
        case TP_PY_ASSIGN:
            for (uint32_t t = first; t != last; t = at[t].next)
                print_target(tree, t, "=", line, out);
            break;
        case TP_PY_AUGMENTED:
            print_target(tree, first, "op=", line, out);
            break;
        case TP_PY_ANNOTATED:
            print_target(tree, first, ":", line, out);
            break;
        case TP_PY_WALRUS:
            print_target(tree, first, ":=", line, out);
            break;
        case TP_PY_FOR:
            print_target(tree, first, "for", line, out);
            break;
        case TP_PY_WITH:
            for (uint32_t item = first; item != last; item = at[item].next) {
                uint32_t target = at[at[item].child].next;
                if (target)
                    print_target(tree, target, "as", line, out);
            }
            break;
        default:
            break;
        }
    }
}

const struct python_kind python_kinds[] = {{"calls", print_calls},
                                           {"withs", print_withs},
                                           {"assignments", print_assignments},
                                           {NULL, NULL}};
