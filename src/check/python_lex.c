/* SPDX-License-Identifier: MIT */
/*
 * Tokens of Python 3 in one pass over the bytes. A stack of levels holds what
 * is open: brackets, literal parts of f-strings, their replacement fields and
 * format specifications; so fields hold any expression, with any quotes (PEP
 * 701). Lines end a statement only where nothing is open. Bytes from 0x80 on
 * belong to names, whatever the encoding.
 *
 * Alternatives: the parser of libpython, which needs its standard library at
 * run time and knows no syntax newer than itself; the grammar of tree-sitter,
 * 3 MB of generated tables.
 *
 * Cost: a byte is looked at once or twice; 16 bytes of memory a token.
 */
#include "check/python_lex.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/memory.h"

/* As in CPython: more are an error there, too. */
enum { MOST_INDENTS = 100, TAB = 8 };

enum level_kind {
    LEVEL_BRACKET, /* ( [ {                                               */
    LEVEL_TEXT,    /* the literal part of an f-string                     */
    LEVEL_FIELD,   /* the expression of a replacement field               */
    LEVEL_SPEC     /* its format specification, text again                */
};

struct level {
    uint8_t kind;
    char open; /* the bracket, or the quote                              */
    bool triple, raw;
    uint32_t line;
    size_t offset;
};

struct lexer {
    const char *begin, *p, *end;
    uint32_t line;
    struct tp_py_tokens *out;
    struct level *levels;
    size_t depth, capacity;
    unsigned indents[MOST_INDENTS];
    size_t indent;
    bool at_line_start;
    struct tp_error *err;
    enum tp_status status;
};

static const char *const keywords[] = {
    "and",      "as",       "assert", "async", "await",  "break",  "class",
    "continue", "def",      "del",    "elif",  "else",   "except", "finally",
    "for",      "from",     "global", "if",    "import", "in",     "is",
    "lambda",   "nonlocal", "not",    "or",    "pass",   "raise",  "return",
    "try",      "while",    "with",   "yield"};

_Static_assert(sizeof keywords / sizeof *keywords == TP_KEYWORDS,
               "one word each");

void tp_py_problem_add(struct tp_py_problem *problem, uint32_t line,
                       size_t offset, const char *what)
{
    const bool first = problem->count++ == 0;
    problem->elsewhere |= !first && line != problem->line;
    if (!first && line >= problem->line)
        return;
    problem->line = line;
    problem->offset = offset;
    problem->what = what;
}

static void complain(struct lexer *lex, const char *what)
{
    tp_py_problem_add(&lex->out->problem, lex->line,
                      (size_t)(lex->p - lex->begin), what);
}

static void emit(struct lexer *lex, enum tp_py_token_kind kind,
                 const char *start, uint16_t op)
{
    struct tp_py_tokens *out = lex->out;
    if (out->count == out->capacity && lex->status == TP_OK)
        lex->status = tp_grow(&out->at, &out->capacity, out->count + 1,
                              sizeof *out->at, lex->err);
    if (lex->status != TP_OK)
        return;
    out->at[out->count++] =
        (struct tp_py_token){.start = (uint32_t)(start - lex->begin),
                             .length = (uint32_t)(lex->p - start),
                             .line = lex->line,
                             .op = op,
                             .kind = (uint8_t)kind};
}

static void push(struct lexer *lex, struct level level)
{
    if (lex->depth == lex->capacity && lex->status == TP_OK)
        lex->status = tp_grow(&lex->levels, &lex->capacity, lex->depth + 1,
                              sizeof *lex->levels, lex->err);
    if (lex->status == TP_OK)
        lex->levels[lex->depth++] = level;
}

static struct level *top(struct lexer *lex)
{
    return lex->depth > 0 ? &lex->levels[lex->depth - 1] : NULL;
}

/* Sets of bytes, a bit each: most bytes are only passed over, and a look at a
 * bit takes a third of the time of comparisons. */
#define BIT(c) (UINT64_C(1) << ((c)&63))

/* 0-9, A-Z, _, a-z, and all from 0x80 on. */
static const uint64_t words[4] = {UINT64_C(0x03ff000000000000),
                                  UINT64_C(0x07fffffe87fffffe), UINT64_MAX,
                                  UINT64_MAX};

/* What is more than itself in a string. */
static const uint64_t stops[4] = {BIT('\n') | BIT('\r') | BIT('"') | BIT('\''),
                                  BIT('\\') | BIT('{') | BIT('}'), 0, 0};

static bool is_in(const uint64_t set[4], char c)
{
    unsigned char byte = (unsigned char)c;
    return set[byte >> 6] >> (byte & 63) & 1;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_in(words, c);
}

static char peek(const struct lexer *lex, size_t ahead)
{
    return (size_t)(lex->end - lex->p) > ahead ? lex->p[ahead] : '\0';
}

/* Passes what is only itself in a string. */
static void pass_plain(struct lexer *lex)
{
    const char *p = lex->p, *end = lex->end;
    while (p < end && !is_in(stops, *p))
        p++;
    lex->p = p;
}

/* Passes a byte that may end a line: "\n", "\r\n" or "\r". */
static void step(struct lexer *lex)
{
    char c = *lex->p++;
    if (c == '\n' || (c == '\r' && peek(lex, 0) != '\n'))
        lex->line++;
}

static void end_line(struct lexer *lex)
{
    const struct tp_py_tokens *out = lex->out;
    int last = out->count > 0 ? out->at[out->count - 1].kind : TP_PY_LINE_END;
    if (last != TP_PY_LINE_END && last != TP_PY_INDENT && last != TP_PY_DEDENT)
        emit(lex, TP_PY_LINE_END, lex->p, 0);
    lex->at_line_start = true;
}

static void skip_comment(struct lexer *lex)
{
    const char *p = lex->p, *end = lex->end;
    while (p < end && *p != '\n' && *p != '\r')
        p++;
    lex->p = p;
}

/* Columns of white space at the begin of a line. */
static unsigned measure_indent(struct lexer *lex)
{
    unsigned column = 0;
    for (; lex->p < lex->end; lex->p++) {
        if (*lex->p == ' ')
            column++;
        else if (*lex->p == '\t')
            column = (column / TAB + 1) * TAB;
        else if (*lex->p == '\f')
            column = 0;
        else
            break;
    }
    return column;
}

static void set_indent(struct lexer *lex, unsigned column)
{
    if (column > lex->indents[lex->indent]) {
        if (lex->indent + 1 == MOST_INDENTS) {
            complain(lex, "over 100 levels of indentation");
            return;
        }
        lex->indents[++lex->indent] = column;
        emit(lex, TP_PY_INDENT, lex->p, 0);
    }
    while (column < lex->indents[lex->indent]) {
        lex->indent--;
        emit(lex, TP_PY_DEDENT, lex->p, 0);
    }
    if (column > lex->indents[lex->indent]) {
        complain(lex, "an indentation that fits no line above");
        lex->indents[lex->indent] = lex->indent ? column : 0;
    }
}

/* Indentation counts where a statement begins: not in empty lines. */
static void begin_line(struct lexer *lex)
{
    unsigned column = measure_indent(lex);
    char c = peek(lex, 0);
    lex->at_line_start = false;
    if (lex->p < lex->end && c != '#' && c != '\n' && c != '\r' && c != '\\')
        set_indent(lex, column);
}

/* What is open has no end: a statement is lost. */
static void close_all(struct lexer *lex)
{
    const struct level *first = lex->levels;
    if (lex->depth > 0)
        tp_py_problem_add(&lex->out->problem, first->line, first->offset,
                          first->kind == LEVEL_BRACKET
                              ? "a bracket that is never closed"
                              : "a string that does not end");
    lex->depth = 0;
}

/* A word that is no part of an expression ends what was left open. */
static bool ends_brackets(const struct lexer *lex, const char *start, int word)
{
    while (start > lex->begin && (start[-1] == ' ' || start[-1] == '\t'))
        start--;
    if (start > lex->begin && start[-1] != '\n' && start[-1] != '\r')
        return false;
    switch (word) {
    case TP_KW_ASSERT:
    case TP_KW_BREAK:
    case TP_KW_CLASS:
    case TP_KW_CONTINUE:
    case TP_KW_DEF:
    case TP_KW_DEL:
    case TP_KW_EXCEPT:
    case TP_KW_FINALLY:
    case TP_KW_GLOBAL:
    case TP_KW_IMPORT:
    case TP_KW_NONLOCAL:
    case TP_KW_PASS:
    case TP_KW_RAISE:
    case TP_KW_RETURN:
    case TP_KW_TRY:
    case TP_KW_WHILE:
    case TP_KW_WITH:
        return true;
    default:
        return false;
    }
}

/* The first keyword from each letter on: a look at all of them for each word
 * would take half of the time of the lexer. */
static const uint8_t first_from[] = {
    ['a' - 'a'] = TP_KW_AND,    ['b' - 'a'] = TP_KW_BREAK,
    ['c' - 'a'] = TP_KW_CLASS,  ['d' - 'a'] = TP_KW_DEF,
    ['e' - 'a'] = TP_KW_ELIF,   ['f' - 'a'] = TP_KW_FINALLY,
    ['g' - 'a'] = TP_KW_GLOBAL, ['i' - 'a'] = TP_KW_IF,
    ['l' - 'a'] = TP_KW_LAMBDA, ['n' - 'a'] = TP_KW_NONLOCAL,
    ['o' - 'a'] = TP_KW_OR,     ['p' - 'a'] = TP_KW_PASS,
    ['r' - 'a'] = TP_KW_RAISE,  ['t' - 'a'] = TP_KW_TRY,
    ['w' - 'a'] = TP_KW_WHILE,  ['y' - 'a'] = TP_KW_YIELD};

static int find_keyword(const char *word, size_t length)
{
    if (length < 2 || length > 8 || word[0] < 'a' || word[0] > 'y')
        return -1;
    for (int i = first_from[word[0] - 'a'];
         i < TP_KEYWORDS && keywords[i][0] <= word[0]; i++) {
        if (keywords[i][1] == word[1] &&
            strncmp(keywords[i], word, length) == 0 && !keywords[i][length])
            return i;
    }
    return -1;
}

/* The rest of a plain string, from behind its opening quote. */
static void pass_string(struct lexer *lex, char quote, bool triple)
{
    const uint32_t line = lex->line;
    const size_t offset = (size_t)(lex->p - lex->begin);
    for (pass_plain(lex); lex->p < lex->end; pass_plain(lex)) {
        char c = *lex->p;
        if (c == '\\' && lex->p + 1 < lex->end) {
            bool pair = lex->p[1] == '\r' && peek(lex, 2) == '\n';
            lex->p++;
            step(lex);
            lex->p += pair;
            lex->line += pair;
        } else if (c == quote && !triple) {
            lex->p++;
            return;
        } else if (c == quote && peek(lex, 1) == quote &&
                   peek(lex, 2) == quote) {
            lex->p += 3;
            return;
        } else if (!triple && (c == '\n' || c == '\r')) {
            break;
        } else {
            step(lex);
        }
    }
    tp_py_problem_add(&lex->out->problem, line, offset,
                      "a string that does not end");
}

/* Letters that stand before a quote; *fields: one makes it an f-string. */
static bool is_prefix(const char *word, size_t length, bool *fields, bool *raw)
{
    *fields = *raw = false;
    for (size_t i = 0; i < length; i++) {
        char c = word[i] | ' '; /* in lower case */
        if (c == 'f' || c == 't')
            *fields = true;
        else if (c == 'r')
            *raw = true;
        else if (c != 'b' && c != 'u')
            return false;
    }
    return length <= 2;
}

static void lex_string(struct lexer *lex, const char *start, bool fields,
                       bool raw)
{
    char quote = *lex->p;
    uint32_t line = lex->line;
    bool triple = peek(lex, 1) == quote && peek(lex, 2) == quote;
    lex->p += triple ? 3 : 1;
    if (fields) {
        emit(lex, TP_PY_FIELDS_BEGIN, start, 0);
        push(lex, (struct level){LEVEL_TEXT, quote, triple, raw, line,
                                 (size_t)(start - lex->begin)});
        return;
    }
    pass_string(lex, quote, triple);
    emit(lex, TP_PY_STRING, start, 0);
    if (lex->status == TP_OK)
        lex->out->at[lex->out->count - 1].line = line;
}

static void lex_word(struct lexer *lex)
{
    const char *start = lex->p;
    bool fields, raw;
    const char *p = start, *end = lex->end;
    while (p < end && is_word(*p))
        p++;
    lex->p = p;
    size_t length = (size_t)(lex->p - start);
    if ((peek(lex, 0) == '"' || peek(lex, 0) == '\'') &&
        is_prefix(start, length, &fields, &raw)) {
        lex_string(lex, start, fields, raw);
        return;
    }
    int word = find_keyword(start, length);
    if (word >= 0 && lex->depth > 0 && ends_brackets(lex, start, word)) {
        close_all(lex);
        lex->p = start;
        end_line(lex);
        while (lex->p > lex->begin && (lex->p[-1] == ' ' || lex->p[-1] == '\t'))
            lex->p--;
        return; /* the line begins again, with its indentation */
    }
    emit(lex, word >= 0 ? TP_PY_KEYWORD : TP_PY_WORD, start,
         (uint16_t)(word >= 0 ? word : 0));
}

static void pass_digits(struct lexer *lex)
{
    while (is_digit(peek(lex, 0)) || peek(lex, 0) == '_')
        lex->p++;
}

static void lex_number(struct lexer *lex)
{
    const char *start = lex->p;
    if (*start == '0' && peek(lex, 1) && strchr("xXoObB", peek(lex, 1))) {
        lex->p += 2;
        while (is_word(peek(lex, 0)))
            lex->p++;
    } else {
        pass_digits(lex);
        if (peek(lex, 0) == '.') {
            lex->p++;
            pass_digits(lex);
        }
        char sign = peek(lex, 1);
        size_t ahead = sign == '+' || sign == '-' ? 2 : 1;
        if ((peek(lex, 0) | ' ') == 'e' && is_digit(peek(lex, ahead))) {
            lex->p += ahead;
            pass_digits(lex);
        }
        if ((peek(lex, 0) | ' ') == 'j')
            lex->p++;
    }
    emit(lex, TP_PY_NUMBER, start, 0);
}

static void close_bracket(struct lexer *lex, char c)
{
    const struct level *level = top(lex);
    const char *start = lex->p - 1;
    if (level && level->kind == LEVEL_FIELD && c == '}') {
        lex->depth--;
        emit(lex, TP_PY_FIELD_END, start, 0);
        return;
    }
    char open = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (level && level->kind == LEVEL_BRACKET && level->open == open)
        lex->depth--;
    else
        complain(lex, "a closing bracket that fits no opening one");
    emit(lex, TP_PY_OPERATOR, start, TP_PY_OP(c));
}

static void lex_operator(struct lexer *lex)
{
    const char *start = lex->p;
    char c = *lex->p++, next = peek(lex, 0);
    struct level *level = top(lex);
    bool in_field = level && level->kind == LEVEL_FIELD;
    if (c == '(' || c == '[' || c == '{') {
        push(lex, (struct level){LEVEL_BRACKET, c, false, false, lex->line,
                                 (size_t)(start - lex->begin)});
    } else if (c == ')' || c == ']' || c == '}') {
        close_bracket(lex, c);
        return;
    } else if (c == ':' && in_field) {
        push(lex, (struct level){LEVEL_SPEC, 0, false, false, lex->line,
                                 (size_t)(start - lex->begin)});
        return;
    } else if (c == '.' && next == '.' && peek(lex, 1) == '.') {
        lex->p += 2;
        emit(lex, TP_PY_OPERATOR, start, TP_PY_OP3('.', '.'));
        return;
    } else if (!c) {
        lex->p = start;
        complain(lex, "a NUL byte");
        lex->p++;
        return;
    } else if ((c == next && strchr("*/<>", c)) ||
               (next == '=' && strchr("=!<>+-*/%@&|^:", c)) ||
               (c == '-' && next == '>') || (c == '<' && next == '>')) {
        lex->p++;
        bool third = c == next && c != '=' && peek(lex, 0) == '=';
        lex->p += third;
        emit(lex, TP_PY_OPERATOR, start,
             third ? TP_PY_OP3(c, next) : TP_PY_OP2(c, next));
        return;
    } else if (!strchr("+-*/%@&|^~<>=.,:;", c) && !(c == '!' && in_field)) {
        lex->p = start;
        complain(lex, c == '`' ? "a backquote: this is Python 2"
                               : "a character that Python has no use for");
        lex->p++;
        return;
    }
    emit(lex, TP_PY_OPERATOR, start, TP_PY_OP(c));
}

static void lex_token(struct lexer *lex)
{
    char c = *lex->p;
    if (c == ' ' || c == '\t' || c == '\f') {
        do
            lex->p++;
        while (peek(lex, 0) == ' ');
    } else if (c == '\n' || c == '\r') {
        if (lex->depth == 0)
            end_line(lex);
        step(lex);
    } else if (c == '#') {
        skip_comment(lex);
    } else if (c == '\\' && (peek(lex, 1) == '\n' || peek(lex, 1) == '\r')) {
        lex->p += peek(lex, 1) == '\r' && peek(lex, 2) == '\n' ? 2 : 1;
        step(lex);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(lex, 1)))) {
        lex_number(lex);
    } else if (is_word(c)) {
        lex_word(lex);
    } else if (c == '"' || c == '\'') {
        lex_string(lex, lex->p, false, false);
    } else {
        lex_operator(lex);
    }
}

/* Ends the f-string that the top level is in, as it was, or as it must be. */
static void end_fields(struct lexer *lex, size_t quotes)
{
    const char *start = lex->p;
    while (lex->depth > 0 && top(lex)->kind != LEVEL_TEXT)
        lex->depth--;
    if (lex->depth > 0)
        lex->depth--;
    lex->p += quotes;
    emit(lex, TP_PY_FIELDS_END, start, 0);
}

/* The level whose quote ends the text: the top one or, of a format
 * specification, the next text below. */
static const struct level *text_level(const struct lexer *lex)
{
    size_t i = lex->depth;
    while (i > 1 && lex->levels[i - 1].kind != LEVEL_TEXT)
        i--;
    return &lex->levels[i - 1];
}

static void pass_escape(struct lexer *lex, bool raw)
{
    char next = peek(lex, 1);
    lex->p++;
    if (!raw && next == 'N' && peek(lex, 1) == '{') {
        while (lex->p < lex->end && *lex->p != '}' && *lex->p != '\n')
            lex->p++;
    } else if (next == '\r' && peek(lex, 1) == '\n') {
        lex->p++;
        step(lex);
        return;
    } else if (next == '{' || next == '}') {
        return;
    }
    if (lex->p < lex->end)
        step(lex);
}

static void lex_brace(struct lexer *lex, bool spec)
{
    const char *start = lex->p;
    char c = *lex->p++;
    if (!spec && peek(lex, 0) == c) {
        lex->p++;
    } else if (c == '{') {
        emit(lex, TP_PY_FIELD, start, 0);
        push(lex, (struct level){LEVEL_FIELD, c, false, false, lex->line,
                                 (size_t)(start - lex->begin)});
    } else if (spec) {
        lex->depth -= 2; /* the specification, and its field */
        emit(lex, TP_PY_FIELD_END, start, 0);
    } else {
        complain(lex, "a single '}' in an f-string");
    }
}

/* Text of an f-string or of a specification, up to what ends it. */
static void lex_text(struct lexer *lex)
{
    struct level text = *text_level(lex);
    bool spec = top(lex)->kind == LEVEL_SPEC;
    size_t depth = lex->depth;
    while (lex->p < lex->end && lex->depth == depth && lex->status == TP_OK) {
        char c = *lex->p;
        if (c == '\\') {
            pass_escape(lex, text.raw);
        } else if (c == '{' || c == '}') {
            lex_brace(lex, spec);
        } else if (c == text.open &&
                   (!text.triple || (peek(lex, 1) == c && peek(lex, 2) == c))) {
            if (spec)
                complain(lex, "a field of an f-string that is not closed");
            end_fields(lex, text.triple ? 3 : 1);
        } else if (!text.triple && (c == '\n' || c == '\r')) {
            complain(lex, "a string that does not end");
            end_fields(lex, 0);
        } else {
            step(lex);
            pass_plain(lex);
        }
    }
}

static void lex_all(struct lexer *lex)
{
    while (lex->p < lex->end && lex->status == TP_OK) {
        const struct level *level = top(lex);
        if (level && (level->kind == LEVEL_TEXT || level->kind == LEVEL_SPEC)) {
            lex_text(lex);
        } else {
            if (lex->at_line_start && !level)
                begin_line(lex);
            if (lex->p < lex->end)
                lex_token(lex);
        }
    }
    close_all(lex);
    end_line(lex);
    set_indent(lex, 0);
    emit(lex, TP_PY_END, lex->p, 0);
}

enum tp_status tp_py_lex(const char *source, size_t length,
                         struct tp_py_tokens *tokens, struct tp_error *err)
{
    static const char bom[] = "\xef\xbb\xbf";
    if (length > TP_LIMIT_SCRIPT_BYTES)
        return tp_fail(err, TP_E_LIMIT, -1, "a script of over %zu MiB",
                       TP_LIMIT_SCRIPT_BYTES >> 20);
    struct lexer lex = {.begin = source,
                        .p = source,
                        .end = source + length,
                        .line = 1,
                        .out = tokens,
                        .at_line_start = true,
                        .err = err};
    *tokens = (struct tp_py_tokens){.source = source};
    if (length >= 3 && memcmp(source, bom, 3) == 0)
        lex.p += 3;
    lex_all(&lex);
    free(lex.levels);
    return lex.status;
}

void tp_py_tokens_clear(struct tp_py_tokens *tokens)
{
    free(tokens->at);
    *tokens = (struct tp_py_tokens){0};
}

bool tp_py_token_is(const struct tp_py_tokens *tokens, size_t token,
                    const char *word)
{
    const struct tp_py_token *t = &tokens->at[token];
    const char *text = tokens->source + t->start;
    if (t->length > 0 && *text != *word) /* mostly */
        return false;
    size_t length = strlen(word);
    return t->length == length && memcmp(text, word, length) == 0;
}
