/* SPDX-License-Identifier: MIT */
#include "check/check_place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a condition no more is looked at, so that each finding costs little. */
enum { MOST_CONDITION = 256 };

bool tp_flow_is(const struct tp_flow *flow, uint32_t node, const char *word)
{
    return tp_py_is(&flow->script->tree, node, word);
}

static bool contains(const char *text, size_t length, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= length; i++) {
        if (memcmp(text + i, word, size) == 0)
            return true;
    }
    return false;
}

bool tp_flow_contains(const struct tp_flow *flow, uint32_t node,
                      const char *word)
{
    size_t length;
    const char *text = tp_script_text(flow->script, node, &length);
    return text && contains(text, length, word);
}

void tp_flow_name(const struct tp_flow *flow, uint32_t node, char name[64])
{
    const struct tp_py_token *token =
        &flow->script->tokens.at[flow->at[node].token];
    size_t length = token->length < 63 ? token->length : 63;
    memcpy(name, flow->script->tokens.source + token->start, length);
    name[length] = '\0';
}

/* The source of an expression, NULL for none. */
static const char *source_of(const struct tp_flow *flow, uint32_t node,
                             size_t *length)
{
    const struct tp_py_token *tokens = flow->script->tokens.at;
    uint32_t first = node;
    *length = 0;
    if (!node)
        return NULL;
    while (flow->at[first].kind == TP_PY_ATTRIBUTE ||
           flow->at[first].kind == TP_PY_CALL ||
           flow->at[first].kind == TP_PY_SUBSCRIPT ||
           flow->at[first].kind == TP_PY_BINARY)
        first = flow->at[first].child;
    const struct tp_py_token *begin = &tokens[flow->at[first].token];
    const struct tp_py_token *end = &tokens[flow->at[node].end - 1];
    *length = end->start + end->length - begin->start;
    return flow->script->tokens.source + begin->start;
}

bool tp_flow_same(const struct tp_flow *flow, uint32_t a, uint32_t b)
{
    size_t length, other;
    const char *left = source_of(flow, a, &length);
    const char *right = source_of(flow, b, &other);
    return left && right && length == other && memcmp(left, right, length) == 0;
}

bool tp_flow_is_text(const struct tp_flow *flow, uint32_t node,
                     const char *word)
{
    const struct tp_py_token *token =
        &flow->script->tokens.at[flow->at[node].token];
    size_t length = strlen(word);
    return node && flow->at[node].kind == TP_PY_TEXT &&
           token->length == length + 2 &&
           memcmp(flow->script->tokens.source + token->start + 1, word,
                  length) == 0;
}

bool tp_flow_number(const struct tp_flow *flow, uint32_t node, double *value)
{
    char digits[40], *end;
    double sign = 1;
    while (flow->at[node].kind == TP_PY_UNARY &&
           (tp_flow_is(flow, node, "-") || tp_flow_is(flow, node, "+"))) {
        sign = tp_flow_is(flow, node, "-") ? -sign : sign;
        node = flow->at[node].child;
    }
    const struct tp_py_token *token =
        &flow->script->tokens.at[flow->at[node].token];
    if (!node || flow->at[node].kind != TP_PY_CONSTANT ||
        token->kind != TP_PY_NUMBER)
        return false;
    size_t kept = 0;
    for (size_t i = 0; i < token->length && kept + 1 < sizeof digits; i++) {
        char c = flow->script->tokens.source[token->start + i];
        if (c != '_')
            digits[kept++] = c;
    }
    digits[kept] = '\0';
    *value = sign * strtod(digits, &end);
    return *end == '\0' && isfinite(*value);
}

bool tp_flow_decorated(const struct tp_flow *flow, uint32_t function,
                       const char *word)
{
    for (uint32_t i = flow->at[function].child; i; i = flow->at[i].next) {
        uint32_t name = flow->at[i].child;
        if (flow->at[i].kind != TP_PY_DECORATOR || !name)
            continue;
        while (flow->at[name].kind == TP_PY_CALL)
            name = flow->at[name].child;
        const struct tp_py_token *token =
            &flow->script->tokens.at[flow->at[name].token];
        if (contains(flow->script->tokens.source + token->start, token->length,
                     word))
            return true;
    }
    return false;
}

bool tp_has_part(const char *name, const char *const *words)
{
    for (; *words; words++) {
        const char *found = name;
        while ((found = strstr(found, *words)) != NULL) {
            if (found == name || found[-1] == '_')
                return true;
            found++;
        }
    }
    return false;
}

bool tp_flow_is_named(const struct tp_flow *flow, const char *const *words)
{
    char name[64];
    if (!flow->scope.function)
        return false;
    tp_flow_name(flow, flow->scope.function, name);
    return tp_has_part(name, words);
}

bool tp_flow_depends_on(const struct tp_flow *flow, const char *word)
{
    const struct tp_py_token *tokens = flow->script->tokens.at;
    for (unsigned i = 0; i < flow->here.arms && i < TP_CHECK_ARMS; i++) {
        const struct tp_check_arm *arm = &flow->here.arm[i];
        uint32_t node =
            flow->at[arm->node].kind == TP_PY_ELSE ? arm->group : arm->node;
        uint32_t test = flow->at[node].child;
        if (!test || flow->at[test].kind == TP_PY_BODY)
            continue;
        const struct tp_py_token *last = &tokens[flow->at[test].end - 1];
        size_t begin = tokens[flow->at[node].token].start;
        size_t length = last->start + last->length - begin;
        if (contains(flow->script->tokens.source + begin,
                     length < MOST_CONDITION ? length : MOST_CONDITION, word))
            return true;
    }
    return false;
}

bool tp_flow_mentions(const struct tp_flow *flow, uint32_t node,
                      const char *word)
{
    for (size_t i = flow->at[node].token; i < flow->at[node].end; i++) {
        if (tp_py_token_is(&flow->script->tokens, i, word))
            return true;
    }
    return false;
}

/* The entry of a word, whose tags count it where it is not assigned; NULL: the
 * script has none. */
static const struct tp_name *word_of(const struct tp_flow *flow,
                                     const char *word, size_t length)
{
    const struct tp_py_tokens *tokens = &flow->script->tokens;
    bool learned = flow->words->count > 0;
    for (size_t i = 0; i < tokens->count && !learned; i++) {
        const struct tp_py_token *token = &tokens->at[i];
        if (token->kind != TP_PY_WORD && token->kind != TP_PY_STRING &&
            token->kind != TP_PY_KEYWORD)
            continue;
        struct tp_name *name = tp_names_add(
            flow->words, tokens->source + token->start, token->length);
        if (!name)
            flow->findings->failed = true;
        else if (!tp_py_token_is(tokens, i + 1, "=") &&
                 !tp_py_token_is(tokens, i + 1, ":"))
            name->tags++;
    }
    return tp_names_find(flow->words, word, length);
}

bool tp_flow_knows(const struct tp_flow *flow, const char *word)
{
    return word_of(flow, word, strlen(word)) != NULL;
}

bool tp_flow_knows_any(const struct tp_flow *flow, const char *const *words)
{
    while (*words && !tp_flow_knows(flow, *words))
        words++;
    return *words != NULL;
}

uint32_t tp_flow_count(const struct tp_flow *flow, const char *text,
                       size_t length)
{
    const struct tp_name *name = word_of(flow, text, length);
    return name ? name->tags : 0;
}

void tp_flow_note(struct tp_flow *flow, enum tp_check_step step, uint32_t node)
{
    struct tp_check_events *events = &flow->events;
    if (tp_grow(&events->at, &events->capacity, events->count + 1,
                sizeof *events->at, NULL) != TP_OK) {
        flow->findings->failed = true;
        return;
    }
    struct tp_check_event event = flow->here;
    event.step = step;
    event.node = node;
    event.loop = flow->scope.loop;
    event.reach = SIZE_MAX;
    events->at[events->count++] = event;
}

void tp_flow_add(struct tp_flow *flow, uint32_t node,
                 const struct tp_check_rule *rule, const char *what)
{
    tp_flow_add_as(flow, node, rule, what, rule->severity);
}

void tp_flow_add_as(struct tp_flow *flow, uint32_t node,
                    const struct tp_check_rule *rule, const char *what,
                    enum tp_severity severity)
{
    const struct tp_py_token *token =
        &flow->script->tokens.at[flow->at[node].token];
    struct tp_check_finding finding = {
        .line = token->line,
        .offset = token->start,
        .rule = rule,
        .severity = severity,
        .confidence = *flow->guessed ? TP_CHECK_LIKELY : TP_CHECK_CERTAIN};
    strncat(finding.what, what, sizeof finding.what - 1);
    tp_check_add(flow->findings, &finding);
}
