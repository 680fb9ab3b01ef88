/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_PYTHON_NODE_H
#define TP_CHECK_PYTHON_NODE_H

#include "check/python_lex.h"

/* What a tree of Python consists of. */

enum tp_py_kind {
    TP_PY_NOTHING,
    /* expressions; token: the first one unless said otherwise            */
    TP_PY_NAME,
    TP_PY_CONSTANT,  /* a number, or "..."                             */
    TP_PY_TEXT,      /* strings side by side; children: their fields   */
    TP_PY_ATTRIBUTE, /* object; token: the attribute's name            */
    TP_PY_CALL,      /* function, arguments; token: '('                */
    TP_PY_NAMED,     /* name=value of a call: value; token: the name   */
    TP_PY_STAR,      /* *x or **x                                      */
    TP_PY_SUBSCRIPT, /* object, indices; token: '['                    */
    TP_PY_SLICE,
    TP_PY_UNARY,  /* token: the operator, not, or await             */
    TP_PY_BINARY, /* operands of one precedence; op of each but the
                     first: what stands before it                   */
    TP_PY_LOGIC,  /* and, or                                        */
    TP_PY_COMPARE,
    TP_PY_CHOICE, /* value if condition else other: in this order   */
    TP_PY_LAMBDA,
    TP_PY_WALRUS, /* name, value                                    */
    TP_PY_YIELD,
    TP_PY_COMPREHENSION,
    TP_PY_TUPLE,
    TP_PY_LIST,
    TP_PY_BRACES,
    /* statements; token: the first one unless said otherwise             */
    TP_PY_MODULE, /* statements                                     */
    TP_PY_BODY,   /* statements of what is its parent               */
    TP_PY_EXPRESSION,
    TP_PY_ASSIGN,      /* targets, value                                 */
    TP_PY_ANNOTATED,   /* target, annotation, value if there is one      */
    TP_PY_AUGMENTED,   /* target, value                                  */
    TP_PY_IMPORT,      /* modules: TP_PY_ALIAS                           */
    TP_PY_IMPORT_FROM, /* module or nothing (relative), names            */
    TP_PY_ALIAS,       /* dotted name, new name if there is one          */
    TP_PY_DECORATOR,   /* expression                                     */
    TP_PY_FUNCTION,    /* decorators, parameters, body; token: its name  */
    TP_PY_PARAMETER,   /* token: the name                                */
    TP_PY_CLASS,       /* decorators, bases, body; token: its name       */
    TP_PY_IF,
    TP_PY_ELIF,
    TP_PY_ELSE,
    TP_PY_FOR, /* target, iterable, body                         */
    TP_PY_WHILE,
    TP_PY_WITH,      /* TP_PY_WITH_ITEM..., body                       */
    TP_PY_WITH_ITEM, /* expression, target if there is one             */
    TP_PY_TRY,
    TP_PY_EXCEPT,
    TP_PY_FINALLY,
    TP_PY_MATCH,
    TP_PY_CASE,
    TP_PY_RETURN,
    TP_PY_RAISE,
    TP_PY_ASSERT,
    TP_PY_DELETE,
    TP_PY_SIMPLE,    /* pass, break, continue, global, nonlocal        */
    TP_PY_UNREADABLE /* a statement that is lost; its body is not      */
};

struct tp_py_node {
    uint32_t token;
    uint32_t child, next; /* nodes; 0: none                               */
    uint32_t end;         /* the token behind its last one                */
    uint16_t op, height;
    uint8_t kind; /* enum tp_py_kind                              */
};

/* A tree: at[1] is the module. All-zero bytes are none. */
struct tp_py_tree {
    const struct tp_py_tokens *tokens; /* borrowed                        */
    struct tp_py_node *at;
    size_t count, capacity;
    struct tp_py_problem problem;
};

/* Releases the tree, not the tokens. */
void tp_py_tree_clear(struct tp_py_tree *tree);

/* Child number i of a node, 0 if there is none. */
uint32_t tp_py_child(const struct tp_py_tree *tree, uint32_t node, size_t i);

/* The last child of a node, 0 if there is none. */
uint32_t tp_py_last(const struct tp_py_tree *tree, uint32_t node);

/* Whether the token of a node is `word`. */
bool tp_py_is(const struct tp_py_tree *tree, uint32_t node, const char *word);

/* Line of a node's token. */
uint32_t tp_py_line(const struct tp_py_tree *tree, uint32_t node);

#endif
