/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_PYTHON_LEX_H
#define TP_CHECK_PYTHON_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Source text of Python 3 to tokens. */

enum tp_py_token_kind {
    TP_PY_END,      /* the last token, always there                   */
    TP_PY_LINE_END, /* of a logical line                              */
    TP_PY_INDENT,
    TP_PY_DEDENT,
    TP_PY_WORD,    /* an identifier                                  */
    TP_PY_KEYWORD, /* op: enum tp_py_keyword                         */
    TP_PY_NUMBER,
    TP_PY_STRING,       /* with prefix and quotes                         */
    TP_PY_OPERATOR,     /* op: TP_PY_OP...                                */
    TP_PY_FIELDS_BEGIN, /* an f-string or t-string: prefix and quote      */
    TP_PY_FIELD,        /* '{' in it; tokens of the expression follow     */
    TP_PY_FIELD_END,    /* its '}'                                        */
    TP_PY_FIELDS_END    /* the closing quote                              */
};

/* In the order of the words in python_lex.c. */
enum tp_py_keyword {
    TP_KW_AND,
    TP_KW_AS,
    TP_KW_ASSERT,
    TP_KW_ASYNC,
    TP_KW_AWAIT,
    TP_KW_BREAK,
    TP_KW_CLASS,
    TP_KW_CONTINUE,
    TP_KW_DEF,
    TP_KW_DEL,
    TP_KW_ELIF,
    TP_KW_ELSE,
    TP_KW_EXCEPT,
    TP_KW_FINALLY,
    TP_KW_FOR,
    TP_KW_FROM,
    TP_KW_GLOBAL,
    TP_KW_IF,
    TP_KW_IMPORT,
    TP_KW_IN,
    TP_KW_IS,
    TP_KW_LAMBDA,
    TP_KW_NONLOCAL,
    TP_KW_NOT,
    TP_KW_OR,
    TP_KW_PASS,
    TP_KW_RAISE,
    TP_KW_RETURN,
    TP_KW_TRY,
    TP_KW_WHILE,
    TP_KW_WITH,
    TP_KW_YIELD,
    TP_KEYWORDS
};

/* An operator by its characters: one, two, or three ("**=", "..."), of which
 * the first two then tell the rest. */
#define TP_PY_OP(a) ((uint16_t)(a))
#define TP_PY_OP2(a, b) ((uint16_t)((a) | (b) << 8))
#define TP_PY_OP3(a, b) ((uint16_t)((a) | (b) << 8 | 0x8000))

struct tp_py_token {
    uint32_t start, length; /* bytes of the source                        */
    uint32_t line;          /* from 1, where it begins                    */
    uint16_t op;
    uint8_t kind; /* enum tp_py_token_kind                      */
};

/* The first thing that is wrong, of how many. */
struct tp_py_problem {
    uint32_t line, count;
    bool elsewhere;   /* on other lines something is, too                 */
    size_t offset;    /* byte of the source                               */
    const char *what; /* a constant sentence                              */
};

/* Tokens of one source; all-zero bytes are none. */
struct tp_py_tokens {
    const char *source; /* borrowed                                       */
    struct tp_py_token *at;
    size_t count, capacity;
    struct tp_py_problem problem;
};

/*
 * Makes the tokens of `length` bytes of source, which must outlive them. What
 * is not Python is passed over up to where tokens can begin again, and noted
 * in `problem`. Fails with TP_E_MEMORY, and TP_E_LIMIT for a source beyond
 * TP_LIMIT_SCRIPT_BYTES. Release with tp_py_tokens_clear, also after a failure.
 */
enum tp_status tp_py_lex(const char *source, size_t length,
                         struct tp_py_tokens *tokens, struct tp_error *err);

/* Releases the tokens, not the source. */
void tp_py_tokens_clear(struct tp_py_tokens *tokens);

/* Whether the text of a token is `word`. */
bool tp_py_token_is(const struct tp_py_tokens *tokens, size_t token,
                    const char *word);

/* Notes a problem. */
void tp_py_problem_add(struct tp_py_problem *problem, uint32_t line,
                       size_t offset, const char *what);

#endif
