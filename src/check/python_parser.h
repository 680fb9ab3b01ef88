/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_PYTHON_PARSER_H
#define TP_CHECK_PYTHON_PARSER_H

#include "check/python_node.h"

/* What the readers of expressions and of statements share. */

struct tp_py_parser {
    const struct tp_py_token *at; /* of the tokens                        */
    size_t pos;                   /* the next one                         */
    struct tp_py_tree *tree;
    unsigned depth;    /* of brackets and right-hand operands             */
    const char *wrong; /* why the statement cannot be read; NULL          */
    struct tp_error *err;
    enum tp_status status;
};

/* Children while a node is made. */
struct tp_py_children {
    uint32_t parent, last;
};

/* Makes a node of the next token, or says that memory is out; 0 then. */
uint32_t tp_py_node_new(struct tp_py_parser *parser, enum tp_py_kind kind);

/* Makes a node that has one child, and its first token. */
uint32_t tp_py_node_over(struct tp_py_parser *parser, enum tp_py_kind kind,
                         uint32_t child);

/* Appends a child to children->parent; 0 is left out. */
void tp_py_append(struct tp_py_parser *parser, struct tp_py_children *children,
                  uint32_t child);

/* Notes why the statement cannot be read; the first reason stays. */
void tp_py_refuse(struct tp_py_parser *parser, const char *why);

/* Whether the next token is an operator. */
bool tp_py_at_op(const struct tp_py_parser *parser, uint16_t op);

/* Whether it is a keyword. */
bool tp_py_at_word(const struct tp_py_parser *parser, enum tp_py_keyword word);

/* Passes an operator if it is next, and says whether it was. */
bool tp_py_take_op(struct tp_py_parser *parser, uint16_t op);

/* The same for a keyword. */
bool tp_py_take_word(struct tp_py_parser *parser, enum tp_py_keyword word);

/* Passes an operator; refuses what is there instead. */
void tp_py_want_op(struct tp_py_parser *parser, uint16_t op);

/* One expression, without commas; 0 when refused. */
uint32_t tp_py_read_one(struct tp_py_parser *parser);

/* One or several, with commas a tuple; yield, too. */
uint32_t tp_py_read_expression(struct tp_py_parser *parser);

/* What a loop or a del names: no comparison, so that "in" ends it. */
uint32_t tp_py_read_target(struct tp_py_parser *parser);

/* Arguments of a call, from behind '(' to behind ')'. */
void tp_py_read_arguments(struct tp_py_parser *parser,
                          struct tp_py_children *call);

/* Parameters with their defaults and annotations, to what ends them: ')' of a
 * function, ':' of a lambda. */
void tp_py_read_parameters(struct tp_py_parser *parser,
                           struct tp_py_children *function, uint16_t end);

#endif
