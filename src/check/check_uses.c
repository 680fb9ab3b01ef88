/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a value. From its statement the way goes down to the node:
 * what is passed may end it, as item() or print() do. A statement that gives
 * the value a name hands the question to the places where its function has that
 * name: each of them must end it. Objects are known by the last part of their
 * name, anywhere in the script.
 *
 * Alternative: chains of definitions and uses over a control flow graph; one
 * name for two values makes no wrong finding here, it keeps one.
 * Cost: the tokens of the function for each question.
 */
#include "check/check_uses.h"

#include <string.h>

#include "check/check_flow.h"
#include "check/check_purpose.h"

static bool is_one(const struct tp_flow *flow, size_t token,
                   const char *const *words)
{
    for (; *words; words++) {
        if (tp_py_token_is(&flow->script->tokens, token, *words))
            return true;
    }
    return false;
}

/* Methods and functions that give no gradient on. */
static const char *const ends[] = {"item",    "detach", "tolist",
                                   "numpy",   "argmax", "argmin",
                                   "argsort", "round",  NULL};
static const char *const shows[] = {
    "print",    "info",       "debug",      "log",
    "log_dict", "float",      "add_scalar", "add_scalars",
    "warning",  "isnan",      "isinf",      "add_histogram",
    "format",   "log_scalar", "isfinite",   NULL};

static bool is_end(const struct tp_flow *flow, uint32_t node)
{
    if (flow->at[node].kind == TP_PY_COMPARE)
        return true;
    if (flow->at[node].kind != TP_PY_CALL)
        return false;
    uint32_t function = flow->at[node].child;
    size_t name = flow->at[function].token;
    if (flow->at[function].kind == TP_PY_ATTRIBUTE && is_one(flow, name, ends))
        return true;
    struct tp_call call;
    tp_call_read(flow->script, node, &call);
    return call.role == TP_DOES_NONE && is_one(flow, name, shows);
}

/* Whether the way from a statement to a node, or to the token, ends it. */
static bool ends_on_way(const struct tp_flow *flow, uint32_t from, size_t token)
{
    while (from) {
        uint32_t into = 0;
        if (is_end(flow, from))
            return true;
        for (uint32_t i = flow->at[from].child; i; i = flow->at[i].next) {
            if (flow->at[i].kind == TP_PY_BODY)
                break;
            if (flow->at[i].end > token) {
                into = i;
                break;
            }
        }
        if (into && flow->at[into].token == token &&
            flow->at[into].kind == TP_PY_NAME)
            return false;
        from = into;
    }
    return false;
}

/* The statement of a body that has a token; 0: none. */
static uint32_t statement_at(const struct tp_flow *flow, uint32_t body,
                             size_t token)
{
    uint32_t found = 0;
    while (body) {
        uint32_t next = 0;
        for (uint32_t i = flow->at[body].child; i; i = flow->at[i].next) {
            if (flow->at[i].end > token) {
                next = i;
                break;
            }
        }
        if (!next)
            return found;
        if (flow->at[body].kind == TP_PY_BODY)
            found = next;
        else if (flow->at[next].kind != TP_PY_BODY)
            return found; /* in the head of a statement */
        body = next;
    }
    return found;
}

/* Whether a token is a name that stands for a value: no attribute, no name of
 * an argument, nothing that is assigned. */
static bool is_use(const struct tp_flow *flow, size_t token, const char *text,
                   size_t length)
{
    const struct tp_py_token *at = flow->script->tokens.at;
    return at[token].kind == TP_PY_WORD && at[token].length == length &&
           !memcmp(flow->script->tokens.source + at[token].start, text,
                   length) &&
           !tp_py_token_is(&flow->script->tokens, token - 1, ".") &&
           !tp_py_token_is(&flow->script->tokens, token + 1, "=");
}

/* No more is looked at, so that each question costs little. */
enum { MOST_TOKENS = 8192, MOST_USES = 32, MOST_SEARCHED = 1 << 16 };

/* Whether all uses of a name behind a token, of which there are some, end what
 * it stands for. */
static bool only_ends(const struct tp_flow *flow, uint32_t target,
                      size_t behind)
{
    uint32_t function = flow->scope.function;
    uint32_t body = tp_py_last(&flow->script->tree, function);
    const struct tp_py_token *name =
        &flow->script->tokens.at[flow->at[target].token];
    const char *text = flow->script->tokens.source + name->start;
    int uses = 0;
    size_t end = flow->at[function].end;
    if (end - behind > MOST_TOKENS)
        return false;
    for (size_t t = behind; t < end; t++) {
        if (!is_use(flow, t, text, name->length))
            continue;
        uint32_t statement = statement_at(flow, body, t);
        if (statement && flow->at[statement].kind == TP_PY_ASSIGN &&
            tp_flow_same(flow, flow->at[statement].child, target))
            continue; /* the same name goes on */
        if (!statement || ++uses > MOST_USES ||
            !ends_on_way(flow, statement, t))
            return false;
    }
    return uses > 0;
}

bool tp_flow_only_shows(const struct tp_flow *flow, uint32_t node)
{
    uint32_t statement = flow->scope.statement;
    size_t token = flow->at[node].token;
    if (ends_on_way(flow, statement, token))
        return true;
    if (!flow->scope.function || flow->at[statement].kind != TP_PY_ASSIGN)
        return false;
    uint32_t target = flow->at[statement].child;
    return flow->at[target].kind == TP_PY_NAME &&
           only_ends(flow, target, flow->at[statement].end);
}

void tp_flow_spare(struct tp_flow *flow, const struct tp_call *call)
{
    const struct tp_py_token *name =
        &flow->script->tokens.at[flow->at[call->function].token];
    if (!flow->scope.autocast_off && !flow->scope.autocast_asked &&
        !tp_flow_is_aside(flow))
        return;
    struct tp_name *entry = tp_names_add(
        flow->spared, flow->script->tokens.source + name->start, name->length);
    if (entry)
        entry->tags++;
    else
        flow->findings->failed = true;
}

/* Whether "self." and a name stand at a token. */
static bool is_own(const struct tp_py_tokens *tokens, size_t token,
                   const struct tp_py_token *name)
{
    const struct tp_py_token *at = &tokens->at[token];
    return token > 1 && at->kind == TP_PY_WORD && at->length == name->length &&
           !memcmp(tokens->source + at->start, tokens->source + name->start,
                   name->length) &&
           tp_py_token_is(tokens, token - 1, ".") &&
           tp_py_token_is(tokens, token - 2, "self");
}

/* Whether a token is a name, and what it names neither assigned nor only moved
 * to a device. */
static bool is_used(const struct tp_py_tokens *tokens, size_t token)
{
    return !tp_py_token_is(tokens, token + 1, "=") &&
           !(tp_py_token_is(tokens, token + 1, ".") &&
             (tp_py_token_is(tokens, token + 2, "to") ||
              tp_py_token_is(tokens, token + 2, "cuda")));
}

/* Whether an attribute of the class at hand is used: as "self.name", but in
 * classes beside it that set one of that name, or as that of an object. */
static bool uses_attribute(const struct tp_flow *flow, uint32_t target)
{
    const struct tp_py_tokens *tokens = &flow->script->tokens;
    const struct tp_py_token *name = &tokens->at[flow->at[target].token];
    const char *text = tokens->source + name->start;
    size_t here = flow->at[target].token, t = 2;
    if (!flow->scope.class_ || !is_own(tokens, here, name) ||
        tokens->count > MOST_SEARCHED)
        return true;
    for (uint32_t i = flow->at[1].child; i; i = flow->at[i].next) {
        bool uses = false, sets = false;
        for (; t < flow->at[i].end; t++) {
            const struct tp_py_token *at = &tokens->at[t];
            if (at->length != name->length ||
                memcmp(tokens->source + at->start, text, name->length) != 0)
                continue;
            bool own = is_own(tokens, t, name);
            if (is_used(tokens, t) && !own)
                return true;
            uses |= is_used(tokens, t);
            sets |= own && tp_py_token_is(tokens, t + 1, "=");
        }
        bool holds = flow->at[i].token <= here && here < flow->at[i].end;
        if (uses && (holds || !sets || flow->at[i].kind != TP_PY_CLASS))
            return true;
    }
    return false;
}

bool tp_flow_uses_made(const struct tp_flow *flow)
{
    uint32_t statement = flow->scope.statement;
    const struct tp_py_tokens *tokens = &flow->script->tokens;
    uint32_t target = flow->at[statement].child;
    if ((flow->at[statement].kind != TP_PY_ASSIGN &&
         flow->at[statement].kind != TP_PY_ANNOTATED) ||
        (flow->at[target].kind != TP_PY_NAME &&
         flow->at[target].kind != TP_PY_ATTRIBUTE))
        return true;
    const struct tp_py_token *name = &tokens->at[flow->at[target].token];
    const char *text = tokens->source + name->start;
    const struct tp_name *spared =
        tp_names_find(flow->spared, text, name->length);
    return tp_flow_count(flow, text, name->length) >
               (spared ? spared->tags : 0) &&
           (flow->at[target].kind != TP_PY_ATTRIBUTE ||
            uses_attribute(flow, target));
}
