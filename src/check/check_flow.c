/* SPDX-License-Identifier: MIT */
/*
 * What is known at one place of a script. A name holds what was last assigned
 * to it, whatever the branch; another function knows nothing of it. So a rule
 * speaks where the evidence stands in one function, and is silent elsewhere.
 *
 * Alternative: following calls from function to function finds more, and
 * accuses more that is never called so.
 *
 * Cost: what a value is, is asked a few levels deep.
 */
#include "check/check_flow.h"

#include <string.h>

/* Calls in each other that a value is followed through: x.half().view(...). */
enum { MOST_DEEP = 8 };

static uint32_t value_of(const struct tp_flow *flow, uint32_t node, int deep);

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

uint32_t tp_flow_operand(const struct tp_flow *flow, const struct tp_call *call)
{
    return call->receiver
               ? call->receiver
               : tp_script_argument(flow->script, call->node, "input", 0);
}

bool tp_flow_has_dtype(const struct tp_flow *flow, const struct tp_call *call,
                       size_t place)
{
    const struct tp_py_node *at = flow->at;
    for (uint32_t a = at[call->function].next; a; a = at[a].next) {
        if (at[a].kind == TP_PY_STAR)
            return true;
    }
    return tp_script_argument(flow->script, call->node, "dtype", place) != 0;
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

bool tp_flow_is_optimizer(const struct tp_flow *flow, uint32_t node)
{
    size_t length;
    return tp_script_text(flow->script, node, &length) &&
           (tp_script_object(flow->script, node) & TP_TAG_OPTIMIZER ||
            tp_flow_contains(flow, node, "optim") ||
            tp_flow_is(flow, node, "opt"));
}

/* Whether a call runs a network: by what made it, or by its name. */
static bool is_network(const struct tp_flow *flow, uint32_t function)
{
    static const char *const names[] = {"model", "net", "module", "network"};
    size_t length;
    if (!tp_script_text(flow->script, function, &length))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (tp_flow_is(flow, function, names[i]))
            return true;
    }
    return tp_script_object(flow->script, function) & TP_TAG_MODULE;
}

static uint32_t value_of_name(const struct tp_flow *flow, uint32_t node)
{
    size_t length;
    const char *text = tp_script_text(flow->script, node, &length);
    const struct tp_name *name = tp_names_find(&flow->names, text, length);
    return name && name->round == flow->round
               ? name->tags
               : tp_script_object(flow->script, node);
}

/* ".to(torch.float16)" and the like. */
static uint32_t value_of_cast(const struct tp_flow *flow,
                              const struct tp_call *call, int deep)
{
    uint32_t function = call->function;
    if (flow->at[function].kind != TP_PY_ATTRIBUTE ||
        !(tp_flow_is(flow, function, "to") ||
          tp_flow_is(flow, function, "type")))
        return 0;
    uint32_t dtype = tp_script_argument(flow->script, call->node, "dtype", 0);
    if (dtype && tp_script_is_half(flow->script, dtype, false))
        return TP_TAG_HALF;
    if (dtype && tp_script_is_half(flow->script, dtype, true))
        return TP_TAG_FLOAT;
    return tp_flow_is(flow, function, "to") && dtype
               ? value_of(flow, flow->at[function].child, deep + 1) &
                     TP_TAG_AUTOCAST_OUT
               : 0;
}

static uint32_t value_of_call(const struct tp_flow *flow, uint32_t node,
                              int deep)
{
    struct tp_call call;
    tp_call_read(flow->script, node, &call);
    switch (call.role) {
    case TP_DOES_HALF:
        return TP_TAG_HALF;
    case TP_DOES_FLOAT:
        return TP_TAG_FLOAT;
    case TP_DOES_SOFTMAX:
        return TP_TAG_PROBS;
    case TP_DOES_SIGMOID:
        return TP_TAG_SIGMOID;
    case TP_DOES_KEEP:
        return value_of(flow, call.receiver, deep + 1);
    case TP_DOES_SCALE:
        return tp_script_object(flow->script, call.receiver) & TP_TAG_SCALER
                   ? TP_TAG_SCALED
                   : 0;
    case TP_DOES_AUTOCAST:
        return TP_TAG_AUTOCAST;
    case TP_DOES_NONE:
        if (flow->scope.autocast && is_network(flow, call.function))
            return TP_TAG_AUTOCAST_OUT;
        return value_of_cast(flow, &call, deep);
    default:
        return 0;
    }
}

static uint32_t value_of(const struct tp_flow *flow, uint32_t node, int deep)
{
    if (deep > MOST_DEEP || !node)
        return 0;
    switch (flow->at[node].kind) {
    case TP_PY_NAME:
    case TP_PY_ATTRIBUTE:
        return value_of_name(flow, node);
    case TP_PY_SUBSCRIPT:
        return value_of(flow, flow->at[node].child, deep + 1) &
               (TP_TAG_HALF | TP_TAG_AUTOCAST_OUT | TP_TAG_FLOAT);
    case TP_PY_CALL:
        return value_of_call(flow, node, deep);
    default:
        return 0;
    }
}

uint32_t tp_flow_value(const struct tp_flow *flow, uint32_t node)
{
    return value_of(flow, node, 0);
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
    struct tp_check_finding finding = {.line = token->line,
                                       .offset = token->start,
                                       .rule = rule,
                                       .severity = severity};
    strncat(finding.what, what, sizeof finding.what - 1);
    tp_check_add(flow->findings, &finding);
}
