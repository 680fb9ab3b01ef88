/* SPDX-License-Identifier: MIT */
/*
 * The walk through a script: statements in the order of the source, with what
 * surrounds each place and what the names of the function hold; the families
 * of rules are called on the way. A function is a world of its own: its names,
 * its steps, its branches.
 *
 * Cost: linear in the nodes, times what the families ask.
 */
#include "check/check_walk.h"

#include <stdlib.h>

#include "check/check_flow.h"

/* Calls one function of each family that has it. */
#define EACH_FAMILY(name, ...)                                           \
    for (const struct tp_check_family *const *f = tp_check_families; *f; \
         f++) {                                                          \
        if ((*f)->name)                                                  \
            (*f)->name(__VA_ARGS__);                                     \
    }

static void note_event(struct tp_flow *flow, enum tp_check_step step,
                       uint32_t node)
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
    event.reach = SIZE_MAX;
    events->at[events->count++] = event;
}

/* Steps on gradients. */
static void note_step(struct tp_flow *flow, const struct tp_call *call)
{
    switch (call->role) {
    case TP_DOES_BACKWARD:
        if (tp_flow_value(flow, call->receiver) & TP_TAG_SCALED)
            note_event(flow, TP_STEP_SCALED_BACKWARD, call->node);
        break;
    case TP_DOES_STEP:
        if (tp_script_object(flow->script, call->receiver) & TP_TAG_SCALER)
            note_event(flow, TP_STEP_SCALER, call->node);
        else if (tp_flow_is_optimizer(flow, call->receiver))
            note_event(flow, TP_STEP_OPTIMIZER, call->node);
        break;
    case TP_DOES_UNSCALE:
        note_event(flow, TP_STEP_UNSCALE, call->node);
        break;
    case TP_DOES_CLIP:
        note_event(flow, TP_STEP_CLIP, call->node);
        break;
    default:
        break;
    }
}

/* An expression: what is inside comes first, as Python does it. */
static void visit(struct tp_flow *flow, uint32_t node)
{
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next)
        visit(flow, i);
    switch (flow->at[node].kind) {
    case TP_PY_CALL: {
        struct tp_call call;
        tp_call_read(flow->script, node, &call);
        note_step(flow, &call);
        EACH_FAMILY(call, flow, &call)
        break;
    }
    case TP_PY_BINARY:
    case TP_PY_UNARY:
    case TP_PY_COMPARE:
        EACH_FAMILY(operation, flow, node)
        break;
    default:
        break;
    }
}

static void assign(struct tp_flow *flow, uint32_t target, uint32_t tags)
{
    size_t length;
    const char *text = tp_script_text(flow->script, target, &length);
    if (!text)
        return;
    struct tp_name *name = tp_names_add(&flow->names, text, length);
    if (!name) {
        flow->findings->failed = true;
        return;
    }
    name->tags = tags;
    name->round = flow->round;
}

/* Targets of an assignment: names get the value's tags; what is taken apart
 * is unknown. */
static void assign_all(struct tp_flow *flow, uint32_t target, uint32_t tags)
{
    if (flow->at[target].kind != TP_PY_TUPLE) {
        assign(flow, target, tags);
        return;
    }
    for (uint32_t i = flow->at[target].child; i; i = flow->at[i].next)
        assign(flow, i, 0);
}

static void visit_assignment(struct tp_flow *flow, uint32_t node)
{
    uint32_t value = tp_py_last(&flow->script->tree, node);
    uint32_t tags = tp_flow_value(flow, value);
    int kind = flow->at[value].kind;
    bool made = !tags && (kind == TP_PY_CALL || kind == TP_PY_CHOICE);
    visit(flow, value);
    EACH_FAMILY(assignment, flow, node)
    for (uint32_t i = flow->at[node].child; i && i != value;
         i = flow->at[i].next)
        assign_all(flow, i, made ? tp_script_object(flow->script, i) : tags);
}

/* "x += y", "x: int = y": what x holds is not followed. */
static void visit_other_assignment(struct tp_flow *flow, uint32_t node)
{
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next)
        visit(flow, i);
    EACH_FAMILY(assignment, flow, node)
    if (flow->at[node].kind == TP_PY_AUGMENTED)
        assign(flow, flow->at[node].child, 0);
}

/* What a "with" item changes. */
static void enter(struct tp_flow *flow, uint32_t expression)
{
    struct tp_call call;
    if (flow->at[expression].kind != TP_PY_CALL) {
        if (tp_flow_value(flow, expression) & TP_TAG_AUTOCAST)
            flow->scope.autocast = true;
        return;
    }
    tp_call_read(flow->script, expression, &call);
    if (call.role == TP_DOES_NO_GRAD)
        flow->scope.no_grad = true;
    if (call.role == TP_DOES_AUTOCAST) {
        uint32_t enabled =
            tp_script_argument(flow->script, expression, "enabled", SIZE_MAX);
        flow->scope.autocast = !enabled || !tp_flow_is(flow, enabled, "False");
    }
}

static void visit_body(struct tp_flow *flow, uint32_t body);

static void visit_with(struct tp_flow *flow, uint32_t node)
{
    struct tp_scope before = flow->scope;
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_BODY) {
            visit_body(flow, i);
            continue;
        }
        uint32_t expression = flow->at[i].child;
        if (!expression)
            continue;
        visit(flow, i);
        EACH_FAMILY(with, flow, i)
        enter(flow, expression);
    }
    flow->scope = before;
}

static void visit_function(struct tp_flow *flow, uint32_t node)
{
    struct tp_flow inner = *flow;
    inner.events = (struct tp_check_events){0};
    inner.here = (struct tp_check_event){0};
    inner.scope = (struct tp_scope){
        .function = node,
        .class_ = flow->scope.class_,
        .autocast = tp_flow_decorated(flow, node, "autocast"),
        .no_grad = tp_flow_decorated(flow, node, "no_grad") ||
                   tp_flow_decorated(flow, node, "inference_mode")};
    inner.round++;
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_BODY)
            visit_body(&inner, i);
        else
            visit(&inner, i);
    }
    EACH_FAMILY(function, &inner, node)
    free(inner.events.at);
    flow->names = inner.names;
    flow->round = inner.round + 1;
}

static bool leaves(const struct tp_flow *flow, uint32_t statement)
{
    return flow->at[statement].kind == TP_PY_RETURN ||
           flow->at[statement].kind == TP_PY_RAISE ||
           tp_flow_is(flow, statement, "continue") ||
           tp_flow_is(flow, statement, "break");
}

static void visit_branch(struct tp_flow *flow, uint32_t node, uint32_t group)
{
    unsigned arms = flow->here.arms++;
    size_t first = flow->events.count;
    if (arms < TP_CHECK_ARMS)
        flow->here.arm[arms] = (struct tp_check_arm){group, node};
    uint32_t last = 0;
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_BODY) {
            visit_body(flow, i);
            last = tp_py_last(&flow->script->tree, i);
        } else {
            visit(flow, i);
        }
    }
    flow->here.arms = arms;
    bool ends = last && leaves(flow, last);
    for (size_t i = first; ends && i < flow->events.count; i++)
        flow->events.at[i].reach = flow->events.count;
}

static void visit_parts(struct tp_flow *flow, uint32_t node)
{
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_BODY)
            visit_body(flow, i);
        else
            visit(flow, i);
    }
}

static void visit_class(struct tp_flow *flow, uint32_t node)
{
    uint32_t before = flow->scope.class_;
    EACH_FAMILY(class_, flow, node)
    flow->scope.class_ = node;
    visit_parts(flow, node);
    flow->scope.class_ = before;
}

static void visit_loop(struct tp_flow *flow, uint32_t node)
{
    uint32_t before = flow->scope.loop;
    if (flow->at[node].kind == TP_PY_FOR)
        assign_all(flow, flow->at[node].child, 0);
    else
        flow->scope.loop = node;
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_BODY) {
            flow->scope.loop = node;
            visit_body(flow, i);
        } else {
            visit(flow, i);
        }
    }
    flow->scope.loop = before;
}

static void visit_statement(struct tp_flow *flow, uint32_t node, uint32_t group)
{
    flow->scope.statement = node;
    switch (flow->at[node].kind) {
    case TP_PY_FUNCTION:
        visit_function(flow, node);
        break;
    case TP_PY_CLASS:
        visit_class(flow, node);
        break;
    case TP_PY_FOR:
    case TP_PY_WHILE:
        visit_loop(flow, node);
        break;
    case TP_PY_WITH:
        visit_with(flow, node);
        break;
    case TP_PY_ASSIGN:
        visit_assignment(flow, node);
        break;
    case TP_PY_ANNOTATED:
    case TP_PY_AUGMENTED:
        visit_other_assignment(flow, node);
        break;
    case TP_PY_IF:
    case TP_PY_ELIF:
    case TP_PY_ELSE:
    case TP_PY_EXCEPT:
    case TP_PY_CASE:
        visit_branch(flow, node, group);
        break;
    default:
        visit_parts(flow, node);
    }
}

static void visit_body(struct tp_flow *flow, uint32_t body)
{
    uint32_t group = 0;
    for (uint32_t i = flow->at[body].child; i; i = flow->at[i].next) {
        int kind = flow->at[i].kind;
        if (kind != TP_PY_ELIF && kind != TP_PY_ELSE && kind != TP_PY_EXCEPT &&
            kind != TP_PY_CASE)
            group = i;
        visit_statement(flow, i, group);
    }
}

enum tp_status tp_check_walk(const struct tp_script *script,
                             struct tp_check_findings *findings,
                             struct tp_error *err)
{
    struct tp_flow flow = {.script = script,
                           .at = script->tree.at,
                           .round = 1,
                           .findings = findings};
    visit_body(&flow, 1);
    EACH_FAMILY(function, &flow, 1)
    EACH_FAMILY(file, &flow)
    tp_check_sort(findings);
    free(flow.events.at);
    free(flow.names.slots);
    return findings->failed ? tp_fail_memory(err) : TP_OK;
}
