/* SPDX-License-Identifier: MIT */
/*
 * Expressions by recursive descent, binary operators by precedence climbing.
 * Operators of one precedence in a row make one flat node, so that a sum of
 * 10^5 terms is no tree of that height; a, a.b, a.b.c do nest, and what is
 * higher than TP_LIMIT_SCRIPT_DEPTH is refused. What Python forbids is mostly
 * read all the same: this is no judge of the grammar.
 *
 * Cost: linear in the tokens.
 */
#include "check/python_parser.h"

#include "base/limits.h"
#include "base/memory.h"

/* Brackets and right-hand operands in each other: each takes some 600 bytes of
 * the stack, and CPython itself stops at 200 brackets. */
enum { MOST_NESTED = 400 };

enum { /* precedence, the lowest first */
       PREC_OR = 1,
       PREC_AND,
       PREC_NOT,
       PREC_COMPARE,
       PREC_BIT_OR,
       PREC_BIT_XOR,
       PREC_BIT_AND,
       PREC_SHIFT,
       PREC_SUM,
       PREC_PRODUCT
};

uint32_t tp_py_node_new(struct tp_py_parser *parser, enum tp_py_kind kind)
{
    struct tp_py_tree *tree = parser->tree;
    if (tree->count == tree->capacity && parser->status == TP_OK)
        parser->status = tp_grow(&tree->at, &tree->capacity, tree->count + 1,
                                 sizeof *tree->at, parser->err);
    if (parser->status != TP_OK)
        tp_py_refuse(parser, "out of memory");
    if (tree->count == tree->capacity)
        return 0;
    tree->at[tree->count] =
        (struct tp_py_node){.token = (uint32_t)parser->pos,
                            .end = (uint32_t)parser->pos + 1,
                            .kind = (uint8_t)kind};
    return (uint32_t)tree->count++;
}

void tp_py_append(struct tp_py_parser *parser, struct tp_py_children *children,
                  uint32_t child)
{
    struct tp_py_node *at = parser->tree->at;
    if (!child || !children->parent)
        return;
    struct tp_py_node *parent = &at[children->parent];
    if (children->last)
        at[children->last].next = child;
    else
        parent->child = child;
    children->last = child;
    parent->end = (uint32_t)parser->pos;
    if (parent->height <= at[child].height)
        parent->height = (uint16_t)(at[child].height + 1);
    if (parent->height > TP_LIMIT_SCRIPT_DEPTH && parent->kind < TP_PY_MODULE)
        tp_py_refuse(parser, "an expression that nests too deep");
}

uint32_t tp_py_node_over(struct tp_py_parser *parser, enum tp_py_kind kind,
                         uint32_t child)
{
    struct tp_py_children over = {tp_py_node_new(parser, kind), 0};
    if (child && over.parent)
        parser->tree->at[over.parent].token = parser->tree->at[child].token;
    tp_py_append(parser, &over, child);
    return over.parent;
}

void tp_py_refuse(struct tp_py_parser *parser, const char *why)
{
    if (!parser->wrong)
        parser->wrong = why;
}

bool tp_py_at_op(const struct tp_py_parser *parser, uint16_t op)
{
    const struct tp_py_token *token = &parser->at[parser->pos];
    return token->kind == TP_PY_OPERATOR && token->op == op;
}

bool tp_py_at_word(const struct tp_py_parser *parser, enum tp_py_keyword word)
{
    const struct tp_py_token *token = &parser->at[parser->pos];
    return token->kind == TP_PY_KEYWORD && token->op == word;
}

bool tp_py_take_op(struct tp_py_parser *parser, uint16_t op)
{
    bool there = tp_py_at_op(parser, op);
    parser->pos += there;
    return there;
}

bool tp_py_take_word(struct tp_py_parser *parser, enum tp_py_keyword word)
{
    bool there = tp_py_at_word(parser, word);
    parser->pos += there;
    return there;
}

void tp_py_want_op(struct tp_py_parser *parser, uint16_t op)
{
    if (!tp_py_take_op(parser, op))
        tp_py_refuse(parser, "a statement that is not Python");
}

static bool deeper(struct tp_py_parser *parser)
{
    if (parser->depth >= MOST_NESTED)
        tp_py_refuse(parser, "an expression that nests too deep");
    else
        parser->depth++;
    return !parser->wrong;
}

/* The end of a node whose last token was passed just now. */
static uint32_t closed(struct tp_py_parser *parser, uint32_t node)
{
    if (node)
        parser->tree->at[node].end = (uint32_t)parser->pos;
    return node;
}

static uint32_t read_binary(struct tp_py_parser *parser, int least);

/* Whether "for" or "async for" is next: then it is a comprehension. */
static bool at_clause(const struct tp_py_parser *parser)
{
    const struct tp_py_token *token = &parser->at[parser->pos];
    return tp_py_at_word(parser, TP_KW_FOR) ||
           (tp_py_at_word(parser, TP_KW_ASYNC) &&
            token[1].kind == TP_PY_KEYWORD && token[1].op == TP_KW_FOR);
}

/* "for x in y if z ..."; its parts become children. */
static void read_clauses(struct tp_py_parser *parser,
                         struct tp_py_children *children)
{
    while (!parser->wrong) {
        if (tp_py_take_word(parser, TP_KW_IF)) {
            tp_py_append(parser, children, read_binary(parser, PREC_OR));
            if (tp_py_take_op(parser, TP_PY_OP2(':', '=')))
                tp_py_append(parser, children, tp_py_read_one(parser));
        } else if (at_clause(parser)) {
            tp_py_take_word(parser, TP_KW_ASYNC);
            parser->pos++;
            tp_py_append(parser, children, tp_py_read_target(parser));
            if (!tp_py_take_word(parser, TP_KW_IN))
                tp_py_refuse(parser, "a \"for\" without \"in\"");
            tp_py_append(parser, children, read_binary(parser, PREC_OR));
        } else {
            break;
        }
    }
}

/* An expression that may be a comprehension's element. */
static uint32_t read_element(struct tp_py_parser *parser)
{
    uint32_t one = tp_py_read_one(parser);
    if (!at_clause(parser))
        return one;
    uint32_t node = tp_py_node_over(parser, TP_PY_COMPREHENSION, one);
    struct tp_py_children children = {node, one};
    read_clauses(parser, &children);
    return node;
}

/* "*x" or "**x"; of a target, what follows is no comparison. */
static uint32_t read_star(struct tp_py_parser *parser, bool target)
{
    uint32_t node = tp_py_node_new(parser, TP_PY_STAR);
    struct tp_py_children children = {node, 0};
    parser->pos++;
    tp_py_append(parser, &children,
                 target ? read_binary(parser, PREC_BIT_OR)
                        : tp_py_read_one(parser));
    return node;
}

static bool at_star(const struct tp_py_parser *parser)
{
    return tp_py_at_op(parser, '*') || tp_py_at_op(parser, TP_PY_OP2('*', '*'));
}

void tp_py_read_arguments(struct tp_py_parser *parser,
                          struct tp_py_children *call)
{
    while (!parser->wrong && !tp_py_at_op(parser, ')')) {
        const struct tp_py_token *next = &parser->at[parser->pos];
        if (at_star(parser)) {
            tp_py_append(parser, call, read_star(parser, false));
        } else if (next->kind == TP_PY_WORD && next[1].kind == TP_PY_OPERATOR &&
                   next[1].op == '=') {
            uint32_t node = tp_py_node_new(parser, TP_PY_NAMED);
            struct tp_py_children named = {node, 0};
            parser->pos += 2;
            tp_py_append(parser, &named, tp_py_read_one(parser));
            tp_py_append(parser, call, node);
        } else {
            tp_py_append(parser, call, read_element(parser));
        }
        if (!tp_py_take_op(parser, ','))
            break;
    }
    tp_py_want_op(parser, ')');
    closed(parser, call->parent);
}

/* Items to the closing bracket: those of a list, a tuple, braces, indices. */
static void read_items(struct tp_py_parser *parser,
                       struct tp_py_children *items, uint16_t end)
{
    while (!parser->wrong && !tp_py_at_op(parser, end)) {
        if (at_star(parser))
            tp_py_append(parser, items, read_star(parser, false));
        else if (!tp_py_at_op(parser, ':'))
            tp_py_append(parser, items, read_element(parser));
        while (!parser->wrong && tp_py_take_op(parser, ':')) {
            bool ends = tp_py_at_op(parser, end) || tp_py_at_op(parser, ',') ||
                        tp_py_at_op(parser, ':');
            if (!ends)
                tp_py_append(parser, items,
                             at_star(parser) ? read_star(parser, false)
                                             : tp_py_read_one(parser));
            if (at_clause(parser)) /* {key: value for ...} */
                read_clauses(parser, items);
        }
        if (!tp_py_take_op(parser, ','))
            break;
    }
    tp_py_want_op(parser, end);
    closed(parser, items->parent);
}

/* "(...)": what is inside, or a tuple. */
static uint32_t read_parentheses(struct tp_py_parser *parser)
{
    size_t begin = parser->pos++;
    uint32_t node = 0;
    if (tp_py_at_word(parser, TP_KW_YIELD)) {
        node = tp_py_read_expression(parser);
        tp_py_want_op(parser, ')');
        return node;
    }
    if (!at_star(parser) && !tp_py_at_op(parser, ')'))
        node = read_element(parser);
    if (node && tp_py_take_op(parser, ')'))
        return node;
    uint32_t tuple = node ? tp_py_node_over(parser, TP_PY_TUPLE, node)
                          : tp_py_node_new(parser, TP_PY_TUPLE);
    if (tuple)
        parser->tree->at[tuple].token = (uint32_t)begin;
    struct tp_py_children items = {tuple, node};
    if (node)
        tp_py_want_op(parser, ',');
    read_items(parser, &items, ')');
    return tuple;
}

/* A field of an f-string: an expression, "=", "!r", fields of its format. */
static void read_fields(struct tp_py_parser *parser,
                        struct tp_py_children *text)
{
    while (!parser->wrong) {
        const struct tp_py_token *token = &parser->at[parser->pos];
        if (token->kind == TP_PY_FIELD) {
            parser->pos++;
            if (!deeper(parser))
                return;
            tp_py_append(parser, text, tp_py_read_expression(parser));
            tp_py_take_op(parser, '=');
            if (tp_py_take_op(parser, '!'))
                parser->pos += parser->at[parser->pos].kind == TP_PY_WORD;
            read_fields(parser, text);
            parser->depth--;
            if (parser->at[parser->pos].kind != TP_PY_FIELD_END)
                tp_py_refuse(parser, "an f-string that cannot be read");
            else
                parser->pos++;
        } else {
            return;
        }
    }
}

static uint32_t read_text(struct tp_py_parser *parser)
{
    struct tp_py_children text = {tp_py_node_new(parser, TP_PY_TEXT), 0};
    while (!parser->wrong) {
        int kind = parser->at[parser->pos].kind;
        if (kind == TP_PY_STRING) {
            parser->pos++;
        } else if (kind == TP_PY_FIELDS_BEGIN) {
            parser->pos++;
            read_fields(parser, &text);
            if (parser->at[parser->pos].kind == TP_PY_FIELDS_END)
                parser->pos++;
            else
                tp_py_refuse(parser, "an f-string that cannot be read");
        } else {
            break;
        }
    }
    return closed(parser, text.parent);
}

static uint32_t read_atom(struct tp_py_parser *parser)
{
    const struct tp_py_token *token = &parser->at[parser->pos];
    if (token->kind == TP_PY_WORD || token->kind == TP_PY_NUMBER) {
        uint32_t node = tp_py_node_new(
            parser, token->kind == TP_PY_WORD ? TP_PY_NAME : TP_PY_CONSTANT);
        parser->pos++;
        return node;
    }
    if (token->kind == TP_PY_STRING || token->kind == TP_PY_FIELDS_BEGIN)
        return read_text(parser);
    if (tp_py_at_op(parser, '('))
        return read_parentheses(parser);
    if (tp_py_at_op(parser, '[') || tp_py_at_op(parser, '{')) {
        bool list = token->op == '[';
        struct tp_py_children items = {
            tp_py_node_new(parser, list ? TP_PY_LIST : TP_PY_BRACES), 0};
        parser->pos++;
        read_items(parser, &items, list ? ']' : '}');
        return items.parent;
    }
    if (tp_py_at_op(parser, TP_PY_OP3('.', '.'))) {
        uint32_t node = tp_py_node_new(parser, TP_PY_CONSTANT);
        parser->pos++;
        return node;
    }
    tp_py_refuse(parser, "a statement that is not Python");
    return 0;
}

/* One of ".name", "(...)", "[...]" behind what stands before it; 0: none. */
static uint32_t read_trailer(struct tp_py_parser *parser, uint32_t object)
{
    size_t begin = parser->pos;
    enum tp_py_kind kind = tp_py_at_op(parser, '.')   ? TP_PY_ATTRIBUTE
                           : tp_py_at_op(parser, '(') ? TP_PY_CALL
                           : tp_py_at_op(parser, '[') ? TP_PY_SUBSCRIPT
                                                      : TP_PY_NOTHING;
    if (kind == TP_PY_NOTHING)
        return 0;
    uint32_t node = tp_py_node_over(parser, kind, object);
    struct tp_py_children children = {node, object};
    parser->pos++;
    if (node)
        parser->tree->at[node].token =
            (uint32_t)(kind == TP_PY_ATTRIBUTE ? parser->pos : begin);
    if (kind == TP_PY_CALL)
        tp_py_read_arguments(parser, &children);
    else if (kind == TP_PY_SUBSCRIPT)
        read_items(parser, &children, ']');
    else if (parser->at[parser->pos].kind == TP_PY_WORD)
        parser->pos++;
    else
        tp_py_refuse(parser, "a statement that is not Python");
    return closed(parser, node);
}

/* An operand: prefix, atom, what follows it, and a power. */
static uint32_t read_unary(struct tp_py_parser *parser)
{
    bool sign = tp_py_at_op(parser, '-') || tp_py_at_op(parser, '+') ||
                tp_py_at_op(parser, '~');
    bool negation = tp_py_at_word(parser, TP_KW_NOT);
    if (!deeper(parser))
        return 0;
    uint32_t node;
    if (sign || negation || tp_py_at_word(parser, TP_KW_AWAIT)) {
        node = tp_py_node_new(parser, TP_PY_UNARY);
        struct tp_py_children children = {node, 0};
        parser->pos++;
        tp_py_append(parser, &children,
                     negation ? read_binary(parser, PREC_COMPARE)
                              : read_unary(parser));
    } else {
        uint32_t next = node = read_atom(parser);
        while (next && !parser->wrong)
            if ((next = read_trailer(parser, node)) != 0)
                node = next;
    }
    if (!parser->wrong && tp_py_take_op(parser, TP_PY_OP2('*', '*'))) {
        struct tp_py_children power = {
            tp_py_node_over(parser, TP_PY_BINARY, node), node};
        uint32_t exponent = read_unary(parser);
        if (exponent)
            parser->tree->at[exponent].op = TP_PY_OP2('*', '*');
        tp_py_append(parser, &power, exponent);
        node = power.parent;
    }
    parser->depth--;
    return node;
}

/* The precedence of the operator that is next, 0 if none is. */
static int precedence(const struct tp_py_parser *parser)
{
    const struct tp_py_token *token = &parser->at[parser->pos];
    if (token->kind == TP_PY_KEYWORD) {
        bool in_next = token->op == TP_KW_NOT &&
                       token[1].kind == TP_PY_KEYWORD &&
                       token[1].op == TP_KW_IN;
        return token->op == TP_KW_OR    ? PREC_OR
               : token->op == TP_KW_AND ? PREC_AND
               : token->op == TP_KW_IN || token->op == TP_KW_IS || in_next
                   ? PREC_COMPARE
                   : 0;
    }
    if (token->kind != TP_PY_OPERATOR)
        return 0;
    switch (token->op) {
    case '<':
    case '>':
    case TP_PY_OP2('=', '='):
    case TP_PY_OP2('!', '='):
    case TP_PY_OP2('<', '='):
    case TP_PY_OP2('>', '='):
        return PREC_COMPARE;
    case '|':
        return PREC_BIT_OR;
    case '^':
        return PREC_BIT_XOR;
    case '&':
        return PREC_BIT_AND;
    case TP_PY_OP2('<', '<'):
    case TP_PY_OP2('>', '>'):
        return PREC_SHIFT;
    case '+':
    case '-':
        return PREC_SUM;
    case '*':
    case '/':
    case '%':
    case '@':
    case TP_PY_OP2('/', '/'):
        return PREC_PRODUCT;
    default:
        return 0;
    }
}

/* Passes an operator; "not in" and "is not" are one. */
static uint16_t take_operator(struct tp_py_parser *parser)
{
    const struct tp_py_token *token = &parser->at[parser->pos++];
    if (token->kind == TP_PY_KEYWORD &&
        (token->op == TP_KW_NOT || token->op == TP_KW_IS) &&
        (tp_py_at_word(parser, TP_KW_IN) || tp_py_at_word(parser, TP_KW_NOT)))
        parser->pos++;
    return token->kind == TP_PY_KEYWORD ? 0 : token->op;
}

static uint32_t read_binary(struct tp_py_parser *parser, int least)
{
    uint32_t left = read_unary(parser);
    struct tp_py_children chain = {0, 0};
    int level = 0, next;
    while (!parser->wrong && (next = precedence(parser)) >= least && next) {
        if (next != level) {
            left = tp_py_node_over(parser,
                                   next == PREC_COMPARE ? TP_PY_COMPARE
                                   : next <= PREC_AND   ? TP_PY_LOGIC
                                                        : TP_PY_BINARY,
                                   left);
            chain = (struct tp_py_children){
                left, left ? parser->tree->at[left].child : 0};
            level = next;
        }
        uint16_t op = take_operator(parser);
        uint32_t right = read_binary(parser, next + 1);
        if (right)
            parser->tree->at[right].op = op;
        tp_py_append(parser, &chain, right);
    }
    return left;
}

void tp_py_read_parameters(struct tp_py_parser *parser,
                           struct tp_py_children *function, uint16_t end)
{
    while (!parser->wrong && !tp_py_at_op(parser, end)) {
        bool marks = tp_py_take_op(parser, '*') || tp_py_take_op(parser, '/') ||
                     tp_py_take_op(parser, TP_PY_OP2('*', '*'));
        if (parser->at[parser->pos].kind == TP_PY_WORD) {
            uint32_t node = tp_py_node_new(parser, TP_PY_PARAMETER);
            struct tp_py_children parts = {node, 0};
            parser->pos++;
            if (end == ')' && tp_py_take_op(parser, ':'))
                tp_py_append(parser, &parts,
                             at_star(parser) ? read_star(parser, false)
                                             : tp_py_read_one(parser));
            if (tp_py_take_op(parser, '='))
                tp_py_append(parser, &parts, tp_py_read_one(parser));
            tp_py_append(parser, function, node);
        } else if (!marks) {
            tp_py_refuse(parser, "parameters that are not Python");
        }
        if (!tp_py_take_op(parser, ','))
            break;
    }
    tp_py_want_op(parser, end);
}

static uint32_t read_lambda(struct tp_py_parser *parser)
{
    struct tp_py_children lambda = {tp_py_node_new(parser, TP_PY_LAMBDA), 0};
    parser->pos++;
    tp_py_read_parameters(parser, &lambda, ':');
    tp_py_append(parser, &lambda, tp_py_read_one(parser));
    return lambda.parent;
}

uint32_t tp_py_read_one(struct tp_py_parser *parser)
{
    if (!deeper(parser))
        return 0;
    uint32_t node;
    if (tp_py_at_word(parser, TP_KW_LAMBDA)) {
        node = read_lambda(parser);
    } else if (at_star(parser)) {
        node = read_star(parser, false);
    } else {
        node = read_binary(parser, PREC_OR);
        bool walrus = tp_py_at_op(parser, TP_PY_OP2(':', '='));
        if (!parser->wrong && (walrus || tp_py_at_word(parser, TP_KW_IF))) {
            struct tp_py_children parts = {
                tp_py_node_over(parser, walrus ? TP_PY_WALRUS : TP_PY_CHOICE,
                                node),
                node};
            parser->pos++;
            if (!walrus) {
                tp_py_append(parser, &parts, read_binary(parser, PREC_OR));
                if (!tp_py_take_word(parser, TP_KW_ELSE))
                    tp_py_refuse(parser, "an \"if\" without \"else\"");
            }
            tp_py_append(parser, &parts, tp_py_read_one(parser));
            node = parts.parent;
        }
    }
    parser->depth--;
    return node;
}

static bool ends_expression(const struct tp_py_parser *parser)
{
    const struct tp_py_token *token = &parser->at[parser->pos];
    return token->kind == TP_PY_LINE_END || token->kind == TP_PY_END ||
           token->kind == TP_PY_FIELD_END ||
           (token->kind == TP_PY_OPERATOR &&
            (token->op == ')' || token->op == ']' || token->op == '}' ||
             token->op == '=' || token->op == ':' || token->op == ';' ||
             token->op == '!'));
}

static uint32_t read_target(struct tp_py_parser *parser)
{
    return read_binary(parser, PREC_BIT_OR);
}

/* Items with commas between: of a target, or any. */
static uint32_t read_list(struct tp_py_parser *parser, bool target)
{
    uint32_t (*one)(struct tp_py_parser *) =
        target ? read_target : tp_py_read_one;
    uint32_t node = at_star(parser) ? read_star(parser, target) : one(parser);
    if (parser->wrong || !tp_py_at_op(parser, ','))
        return node;
    struct tp_py_children items = {tp_py_node_over(parser, TP_PY_TUPLE, node),
                                   node};
    while (!parser->wrong && tp_py_take_op(parser, ',') &&
           !ends_expression(parser) && !tp_py_at_word(parser, TP_KW_IN))
        tp_py_append(parser, &items,
                     at_star(parser) ? read_star(parser, target) : one(parser));
    return items.parent;
}

uint32_t tp_py_read_expression(struct tp_py_parser *parser)
{
    if (!tp_py_at_word(parser, TP_KW_YIELD))
        return read_list(parser, false);
    struct tp_py_children yield = {tp_py_node_new(parser, TP_PY_YIELD), 0};
    parser->pos++;
    tp_py_take_word(parser, TP_KW_FROM);
    if (!ends_expression(parser))
        tp_py_append(parser, &yield, read_list(parser, false));
    return yield.parent;
}

uint32_t tp_py_read_target(struct tp_py_parser *parser)
{
    return read_list(parser, true);
}
