/* SPDX-License-Identifier: MIT */
/*
 * Statements by the indentation that the lexer found. The parts of an if, a
 * try or a loop with else are siblings, each with its own body: then one that
 * is missing, or that cannot be read, takes nothing else with it. On a
 * statement that is wrong the reader goes on behind its line, and with the
 * body below it.
 *
 * Soft keywords (match, case, type) are told by what follows them; patterns
 * of "case" are passed over, as what looks like a call there is none.
 *
 * Cost: linear in the tokens, 24 bytes of memory a node.
 */
#include "check/python_tree.h"

#include "check/python_parser.h"

static void read_statement(struct tp_py_parser *parser,
                           struct tp_py_children *body, bool in_match);

static int kind_at(const struct tp_py_parser *parser, size_t ahead)
{
    size_t last = parser->tree->tokens->count - 1;
    size_t at = parser->pos + ahead;
    return parser->at[at < last ? at : last].kind;
}

static bool at_name(const struct tp_py_parser *parser, const char *word)
{
    return kind_at(parser, 0) == TP_PY_WORD &&
           tp_py_token_is(parser->tree->tokens, parser->pos, word);
}

/* Whether the line that begins here ends with ':'. */
static bool opens_block(const struct tp_py_parser *parser)
{
    size_t i = parser->pos;
    while (parser->at[i].kind != TP_PY_LINE_END &&
           parser->at[i].kind != TP_PY_END)
        i++;
    return i > parser->pos + 1 && parser->at[i - 1].kind == TP_PY_OPERATOR &&
           parser->at[i - 1].op == ':';
}

/* Passes tokens to the end of the line, or to ':' outside of brackets. */
static void pass_pattern(struct tp_py_parser *parser)
{
    int depth = 0;
    for (;; parser->pos++) {
        const struct tp_py_token *token = &parser->at[parser->pos];
        if (token->kind == TP_PY_LINE_END || token->kind == TP_PY_END)
            return;
        if (token->kind == TP_PY_KEYWORD && token->op == TP_KW_IF)
            return;
        if (token->kind != TP_PY_OPERATOR)
            continue;
        if (token->op == ':' && depth == 0)
            return;
        depth += token->op == '(' || token->op == '[' || token->op == '{';
        depth -= token->op == ')' || token->op == ']' || token->op == '}';
    }
}

/* Type parameters of a function or class, "[T: int]", have no calls. */
static void pass_type_parameters(struct tp_py_parser *parser)
{
    int depth = 0;
    if (!tp_py_at_op(parser, '['))
        return;
    do {
        depth += tp_py_at_op(parser, '[');
        depth -= tp_py_at_op(parser, ']');
        parser->pos++;
    } while (depth > 0 && kind_at(parser, 0) != TP_PY_LINE_END &&
             kind_at(parser, 0) != TP_PY_END);
}

static void read_indented(struct tp_py_parser *parser,
                          struct tp_py_children *body, bool in_match)
{
    parser->pos++;
    while (kind_at(parser, 0) != TP_PY_DEDENT &&
           kind_at(parser, 0) != TP_PY_END)
        read_statement(parser, body, in_match);
    parser->pos += kind_at(parser, 0) == TP_PY_DEDENT;
}

static void read_simple_line(struct tp_py_parser *parser,
                             struct tp_py_children *body);

/* ":" and what follows it, below or on the same line. */
static void read_body(struct tp_py_parser *parser,
                      struct tp_py_children *parent)
{
    tp_py_want_op(parser, ':');
    if (parser->wrong)
        return;
    bool in_match = parser->tree->at[parent->parent].kind == TP_PY_MATCH;
    struct tp_py_children body = {tp_py_node_new(parser, TP_PY_BODY), 0};
    if (kind_at(parser, 0) != TP_PY_LINE_END)
        read_simple_line(parser, &body);
    else if (kind_at(parser, 1) == TP_PY_INDENT) {
        parser->pos++;
        read_indented(parser, &body, in_match);
    } else {
        tp_py_refuse(parser, "a block without statements");
    }
    if (body.parent)
        parser->tree->at[body.parent].end = (uint32_t)parser->pos;
    tp_py_append(parser, parent, body.parent);
}

/* Passes a name; refuses what is there instead, and stays before it. */
static void pass_name(struct tp_py_parser *parser, const char *why)
{
    if (kind_at(parser, 0) == TP_PY_WORD)
        parser->pos++;
    else
        tp_py_refuse(parser, why);
}

static uint32_t read_dotted(struct tp_py_parser *parser)
{
    static const char why[] = "an import without a name";
    uint32_t node = tp_py_node_new(parser, TP_PY_NAME);
    pass_name(parser, why);
    while (!parser->wrong && tp_py_take_op(parser, '.')) {
        node = tp_py_node_over(parser, TP_PY_ATTRIBUTE, node);
        if (node)
            parser->tree->at[node].token = (uint32_t)parser->pos;
        pass_name(parser, why);
        if (node)
            parser->tree->at[node].end = (uint32_t)parser->pos;
    }
    return node;
}

static uint32_t read_alias(struct tp_py_parser *parser)
{
    struct tp_py_children alias = {tp_py_node_new(parser, TP_PY_ALIAS), 0};
    tp_py_append(parser, &alias, read_dotted(parser));
    if (tp_py_take_word(parser, TP_KW_AS))
        tp_py_append(parser, &alias, read_dotted(parser));
    return alias.parent;
}

static uint32_t read_import(struct tp_py_parser *parser)
{
    bool from = tp_py_at_word(parser, TP_KW_FROM), relative = false;
    struct tp_py_children node = {
        tp_py_node_new(parser, from ? TP_PY_IMPORT_FROM : TP_PY_IMPORT), 0};
    parser->pos++;
    if (from) {
        while (tp_py_take_op(parser, '.') ||
               tp_py_take_op(parser, TP_PY_OP3('.', '.')))
            relative = true;
        uint32_t module =
            tp_py_at_word(parser, TP_KW_IMPORT) ? 0 : read_dotted(parser);
        if (!relative)
            tp_py_append(parser, &node, module);
        else
            tp_py_append(parser, &node, tp_py_node_new(parser, TP_PY_NOTHING));
        if (!tp_py_take_word(parser, TP_KW_IMPORT))
            tp_py_refuse(parser, "\"from\" without \"import\"");
        if (tp_py_take_op(parser, '*'))
            return node.parent;
    }
    bool open = from && tp_py_take_op(parser, '(');
    do {
        if (open && tp_py_at_op(parser, ')'))
            break;
        tp_py_append(parser, &node, read_alias(parser));
    } while (!parser->wrong && tp_py_take_op(parser, ','));
    if (open)
        tp_py_want_op(parser, ')');
    return node.parent;
}

/* Whether the next token is "=" with an operator before it, as "+=". */
static bool at_augmented(const struct tp_py_parser *parser)
{
    const struct tp_py_token *token = &parser->at[parser->pos];
    if (token->kind != TP_PY_OPERATOR || token->op < 256)
        return false;
    char last = parser->tree->tokens->source[token->start + token->length - 1];
    return last == '=' && token->op != TP_PY_OP2('=', '=') &&
           token->op != TP_PY_OP2('!', '=') &&
           token->op != TP_PY_OP2('<', '=') &&
           token->op != TP_PY_OP2('>', '=') && token->op != TP_PY_OP2(':', '=');
}

/* An expression, or an assignment of one of the three kinds. */
static uint32_t read_assignment(struct tp_py_parser *parser)
{
    uint32_t begin = (uint32_t)parser->pos;
    uint32_t first = tp_py_read_expression(parser);
    enum tp_py_kind kind = tp_py_at_op(parser, '=')   ? TP_PY_ASSIGN
                           : tp_py_at_op(parser, ':') ? TP_PY_ANNOTATED
                           : at_augmented(parser)     ? TP_PY_AUGMENTED
                                                      : TP_PY_EXPRESSION;
    struct tp_py_children node = {tp_py_node_over(parser, kind, first), first};
    if (node.parent) /* "(a).b = c" begins at '(' */
        parser->tree->at[node.parent].token = begin;
    if (kind == TP_PY_AUGMENTED) {
        parser->pos++;
        tp_py_append(parser, &node, tp_py_read_expression(parser));
    }
    if (kind == TP_PY_ANNOTATED) {
        parser->pos++;
        tp_py_append(parser, &node, tp_py_read_one(parser));
    }
    while (!parser->wrong && tp_py_take_op(parser, '='))
        tp_py_append(parser, &node, tp_py_read_expression(parser));
    return node.parent;
}

/* "return", "raise", "assert", "del" and the like, with their expressions. */
static uint32_t read_with_keyword(struct tp_py_parser *parser)
{
    static const struct {
        enum tp_py_keyword word;
        enum tp_py_kind kind;
    } kinds[] = {{TP_KW_RETURN, TP_PY_RETURN},
                 {TP_KW_RAISE, TP_PY_RAISE},
                 {TP_KW_ASSERT, TP_PY_ASSERT},
                 {TP_KW_DEL, TP_PY_DELETE}};
    enum tp_py_kind kind = TP_PY_SIMPLE;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        kind = tp_py_at_word(parser, kinds[i].word) ? kinds[i].kind : kind;
    struct tp_py_children node = {tp_py_node_new(parser, kind), 0};
    parser->pos++;
    if (kind == TP_PY_SIMPLE) {
        while (kind_at(parser, 0) == TP_PY_WORD || tp_py_at_op(parser, ','))
            parser->pos++;
        return node.parent;
    }
    if (kind_at(parser, 0) != TP_PY_LINE_END && !tp_py_at_op(parser, ';'))
        tp_py_append(parser, &node, tp_py_read_expression(parser));
    if (kind == TP_PY_RAISE && tp_py_take_word(parser, TP_KW_FROM))
        tp_py_append(parser, &node, tp_py_read_one(parser));
    return node.parent;
}

static void check_version(struct tp_py_parser *parser)
{
    int next = kind_at(parser, 1);
    if ((at_name(parser, "print") || at_name(parser, "exec")) &&
        (next == TP_PY_STRING || next == TP_PY_WORD || next == TP_PY_NUMBER))
        tp_py_refuse(parser, "a statement of Python 2");
}

static uint32_t read_simple(struct tp_py_parser *parser)
{
    const struct tp_py_token *token = &parser->at[parser->pos];
    check_version(parser);
    if (token->kind == TP_PY_KEYWORD) {
        switch (token->op) {
        case TP_KW_FROM:
        case TP_KW_IMPORT:
            return read_import(parser);
        case TP_KW_RETURN:
        case TP_KW_RAISE:
        case TP_KW_ASSERT:
        case TP_KW_DEL:
        case TP_KW_PASS:
        case TP_KW_BREAK:
        case TP_KW_CONTINUE:
        case TP_KW_GLOBAL:
        case TP_KW_NONLOCAL:
            return read_with_keyword(parser);
        default:
            break;
        }
    }
    if (at_name(parser, "type") && kind_at(parser, 1) == TP_PY_WORD) {
        parser->pos += 2;
        pass_type_parameters(parser);
        tp_py_want_op(parser, '=');
        return tp_py_node_over(parser, TP_PY_EXPRESSION,
                               tp_py_read_one(parser));
    }
    return read_assignment(parser);
}

/* Goes on behind a statement that is wrong, and says so. */
static void give_up(struct tp_py_parser *parser, size_t begin,
                    struct tp_py_children *body)
{
    const struct tp_py_token *token = &parser->at[begin];
    tp_py_problem_add(&parser->tree->problem, token->line, token->start,
                      parser->wrong);
    parser->wrong = parser->status == TP_OK ? NULL : parser->wrong;
    parser->depth = 0;
    if (parser->pos < begin + 1)
        parser->pos = begin;
    while (kind_at(parser, 0) != TP_PY_LINE_END &&
           kind_at(parser, 0) != TP_PY_INDENT &&
           kind_at(parser, 0) != TP_PY_DEDENT &&
           kind_at(parser, 0) != TP_PY_END)
        parser->pos++;
    struct tp_py_children node = {tp_py_node_new(parser, TP_PY_UNREADABLE), 0};
    if (node.parent)
        parser->tree->at[node.parent].token = (uint32_t)begin;
    parser->pos += kind_at(parser, 0) == TP_PY_LINE_END;
    if (kind_at(parser, 0) == TP_PY_INDENT) {
        struct tp_py_children inner = {tp_py_node_new(parser, TP_PY_BODY), 0};
        read_indented(parser, &inner, false);
        tp_py_append(parser, &node, inner.parent);
    }
    tp_py_append(parser, body, node.parent);
}

static void read_simple_line(struct tp_py_parser *parser,
                             struct tp_py_children *body)
{
    do {
        if (kind_at(parser, 0) == TP_PY_LINE_END)
            break;
        uint32_t node = read_simple(parser);
        if (parser->wrong)
            return;
        tp_py_append(parser, body, node);
    } while (tp_py_take_op(parser, ';'));
    if (kind_at(parser, 0) != TP_PY_LINE_END)
        tp_py_refuse(parser, "a statement that is not Python");
    else
        parser->pos++;
}

static void read_function(struct tp_py_parser *parser,
                          struct tp_py_children *node)
{
    if (node->parent)
        parser->tree->at[node->parent].token = (uint32_t)parser->pos;
    pass_name(parser, "a function without a name");
    pass_type_parameters(parser);
    tp_py_want_op(parser, '(');
    tp_py_read_parameters(parser, node, ')');
    if (tp_py_take_op(parser, TP_PY_OP2('-', '>')))
        tp_py_append(parser, node, tp_py_read_one(parser));
    read_body(parser, node);
}

static void read_class(struct tp_py_parser *parser, struct tp_py_children *node)
{
    if (node->parent)
        parser->tree->at[node->parent].token = (uint32_t)parser->pos;
    pass_name(parser, "a class without a name");
    pass_type_parameters(parser);
    if (tp_py_take_op(parser, '('))
        tp_py_read_arguments(parser, node);
    read_body(parser, node);
}

static void read_with(struct tp_py_parser *parser, struct tp_py_children *node)
{
    size_t begin = parser->pos;
    bool open = tp_py_take_op(parser, '(');
    if (open) { /* items in brackets, if "as" or ',' is there: try */
        int depth = 1;
        bool as = false;
        size_t i = parser->pos;
        for (; depth > 0 && parser->at[i].kind != TP_PY_LINE_END &&
               parser->at[i].kind != TP_PY_END;
             i++) {
            const struct tp_py_token *t = &parser->at[i];
            bool op = t->kind == TP_PY_OPERATOR;
            as |=
                depth == 1 && ((op && t->op == ',') ||
                               (t->kind == TP_PY_KEYWORD && t->op == TP_KW_AS));
            depth += op && (t->op == '(' || t->op == '[' || t->op == '{');
            depth -= op && (t->op == ')' || t->op == ']' || t->op == '}');
        }
        open = as && parser->at[i].kind == TP_PY_OPERATOR &&
               parser->at[i].op == ':';
        parser->pos = open ? parser->pos : begin;
    }
    do {
        if (open && tp_py_at_op(parser, ')'))
            break;
        struct tp_py_children item = {tp_py_node_new(parser, TP_PY_WITH_ITEM),
                                      0};
        tp_py_append(parser, &item, tp_py_read_one(parser));
        if (tp_py_take_word(parser, TP_KW_AS))
            tp_py_append(parser, &item, tp_py_read_one(parser));
        tp_py_append(parser, node, item.parent);
    } while (!parser->wrong && tp_py_take_op(parser, ','));
    if (open)
        tp_py_want_op(parser, ')');
    read_body(parser, node);
}

static void read_for(struct tp_py_parser *parser, struct tp_py_children *node)
{
    tp_py_append(parser, node, tp_py_read_target(parser));
    if (!tp_py_take_word(parser, TP_KW_IN))
        tp_py_refuse(parser, "a \"for\" without \"in\"");
    tp_py_append(parser, node, tp_py_read_expression(parser));
    read_body(parser, node);
}

static void read_except(struct tp_py_parser *parser,
                        struct tp_py_children *node)
{
    tp_py_take_op(parser, '*');
    if (!tp_py_at_op(parser, ':'))
        tp_py_append(parser, node, tp_py_read_expression(parser));
    if (tp_py_take_word(parser, TP_KW_AS))
        parser->pos += kind_at(parser, 0) == TP_PY_WORD;
    read_body(parser, node);
}

/* A statement with a body, from behind its keyword. */
static void read_compound(struct tp_py_parser *parser, enum tp_py_kind kind,
                          struct tp_py_children *node)
{
    switch (kind) {
    case TP_PY_FUNCTION:
        read_function(parser, node);
        break;
    case TP_PY_CLASS:
        read_class(parser, node);
        break;
    case TP_PY_FOR:
        read_for(parser, node);
        break;
    case TP_PY_WITH:
        read_with(parser, node);
        break;
    case TP_PY_EXCEPT:
        read_except(parser, node);
        break;
    case TP_PY_CASE:
        pass_pattern(parser);
        if (tp_py_take_word(parser, TP_KW_IF))
            tp_py_append(parser, node, tp_py_read_one(parser));
        read_body(parser, node);
        break;
    default: /* if, elif, while, match: an expression; else, try, finally */
        if (!tp_py_at_op(parser, ':'))
            tp_py_append(parser, node, tp_py_read_expression(parser));
        read_body(parser, node);
    }
}

/* The compound statement that begins here; TP_PY_NOTHING if none does. */
static enum tp_py_kind compound_kind(const struct tp_py_parser *parser,
                                     bool in_match)
{
    static const struct {
        enum tp_py_keyword word;
        enum tp_py_kind kind;
    } kinds[] = {{TP_KW_DEF, TP_PY_FUNCTION},   {TP_KW_CLASS, TP_PY_CLASS},
                 {TP_KW_IF, TP_PY_IF},          {TP_KW_ELIF, TP_PY_ELIF},
                 {TP_KW_ELSE, TP_PY_ELSE},      {TP_KW_FOR, TP_PY_FOR},
                 {TP_KW_WHILE, TP_PY_WHILE},    {TP_KW_WITH, TP_PY_WITH},
                 {TP_KW_TRY, TP_PY_TRY},        {TP_KW_EXCEPT, TP_PY_EXCEPT},
                 {TP_KW_FINALLY, TP_PY_FINALLY}};
    if (kind_at(parser, 0) == TP_PY_KEYWORD) {
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            if (tp_py_at_word(parser, kinds[i].word))
                return kinds[i].kind;
        }
    }
    if (in_match && at_name(parser, "case"))
        return TP_PY_CASE;
    if (at_name(parser, "match") && opens_block(parser))
        return TP_PY_MATCH;
    return TP_PY_NOTHING;
}

/* "@name" lines above a function or a class. */
static void read_decorators(struct tp_py_parser *parser,
                            struct tp_py_children *node)
{
    while (!parser->wrong && tp_py_take_op(parser, '@')) {
        struct tp_py_children one = {tp_py_node_new(parser, TP_PY_DECORATOR),
                                     0};
        tp_py_append(parser, &one, tp_py_read_one(parser));
        tp_py_append(parser, node, one.parent);
        if (kind_at(parser, 0) != TP_PY_LINE_END)
            tp_py_refuse(parser, "a decorator that is not Python");
        else
            parser->pos++;
    }
}

static void read_statement(struct tp_py_parser *parser,
                           struct tp_py_children *body, bool in_match)
{
    size_t begin = parser->pos;
    struct tp_py_children node = {0, 0};
    if (tp_py_at_op(parser, '@')) {
        node.parent = tp_py_node_new(parser, TP_PY_FUNCTION);
        read_decorators(parser, &node);
    }
    if (tp_py_at_word(parser, TP_KW_ASYNC))
        parser->pos++;
    enum tp_py_kind kind = compound_kind(parser, in_match);
    if (kind != TP_PY_NOTHING && !parser->wrong) {
        if (!node.parent)
            node.parent = tp_py_node_new(parser, kind);
        if (node.parent)
            parser->tree->at[node.parent].kind = (uint8_t)kind;
        parser->pos++;
        read_compound(parser, kind, &node);
        if (!parser->wrong)
            tp_py_append(parser, body, node.parent);
    } else if (node.parent) {
        tp_py_refuse(parser, "a decorator above neither function nor class");
    } else if (!parser->wrong) {
        read_simple_line(parser, body);
    }
    if (parser->wrong)
        give_up(parser, begin, body);
}

enum tp_status tp_py_parse(const struct tp_py_tokens *tokens,
                           struct tp_py_tree *tree, struct tp_error *err)
{
    *tree = (struct tp_py_tree){.tokens = tokens};
    struct tp_py_parser parser = {.at = tokens->at, .tree = tree, .err = err};
    tp_py_node_new(&parser, TP_PY_NOTHING); /* number 0 stands for none */
    struct tp_py_children module = {tp_py_node_new(&parser, TP_PY_MODULE), 0};
    while (parser.status == TP_OK && kind_at(&parser, 0) != TP_PY_END) {
        size_t begin = parser.pos;
        read_statement(&parser, &module, false);
        parser.pos += parser.pos == begin; /* a DEDENT that closes nothing */
    }
    return parser.status;
}
