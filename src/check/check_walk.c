/* SPDX-License-Identifier: MIT */
/*
 * The walk through a script: statements in the order of the source, with what
 * surrounds each place and what the names of the function hold; the families
 * of rules are called on the way. A script that imports torch or msprobe is
 * walked twice: first to learn what functions are given and return, and what
 * the script does at all, then for the rules. So facts go one call deep, no
 * deeper.
 *
 * Cost: linear in the nodes, times what the families ask.
 */
#include "check/check_walk.h"

#include <stdlib.h>
#include <string.h>

#include "check/check_flow.h"
#include "check/check_purpose.h"
#include "check/check_uses.h"

/* Calls one function of each family that has it. */
#define EACH_FAMILY(name, ...)                                       \
    for (const struct tp_check_family *const *f = tp_check_families; \
         *f && !flow->learns; f++) {                                 \
        *flow->guessed = false;                                      \
        if ((*f)->name)                                              \
            (*f)->name(__VA_ARGS__);                                 \
    }

/* Steps on gradients. */
static void note_step(struct tp_flow *flow, const struct tp_call *call)
{
    switch (call->role) {
    case TP_DOES_BACKWARD:
        tp_flow_note(flow,
                     tp_flow_value(flow, call->receiver) & TP_TAG_SCALED
                         ? TP_STEP_SCALED_BACKWARD
                         : TP_STEP_BACKWARD,
                     call->node);
        break;
    case TP_DOES_STEP:
        if (tp_script_object(flow->script, call->receiver) & TP_TAG_SCALER ||
            (flow->at[call->function].next && /* step(optimizer) */
             tp_flow_contains(flow, call->receiver, "scaler")))
            tp_flow_note(flow, TP_STEP_SCALER, call->node);
        else if (tp_flow_is_optimizer(flow, call->receiver))
            tp_flow_note(flow, TP_STEP_OPTIMIZER, call->node);
        break;
    case TP_DOES_UNSCALE:
        tp_flow_note(flow, TP_STEP_UNSCALE, call->node);
        break;
    case TP_DOES_CLIP:
        tp_flow_note(flow, TP_STEP_CLIP, call->node);
        break;
    default:
        break;
    }
}

static void assign_text(struct tp_flow *flow, const char *text, size_t length,
                        uint32_t tags)
{
    struct tp_name *name = tp_names_add(&flow->names, text, length);
    if (!name) {
        flow->findings->failed = true;
        return;
    }
    name->tags = tags;
    name->round = flow->round;
}

static void assign(struct tp_flow *flow, uint32_t target, uint32_t tags)
{
    size_t length;
    const char *text = tp_script_text(flow->script, target, &length);
    if (text)
        assign_text(flow, text, length, tags);
}

/* Networks that nothing trains, as teachers and encoders: anywhere in the
 * script they are frozen. */
static void learn_frozen(struct tp_flow *flow, uint32_t node)
{
    size_t length;
    const char *text = tp_script_text(flow->script, node, &length);
    if (text && !tp_names_add(flow->frozen, text, length))
        flow->findings->failed = true;
}

/* "model.eval()", "model.train()", "model.requires_grad_(False)". */
static void note_mode(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t argument = flow->at[call->function].next;
    if (call->role != TP_DOES_KEEP)
        return;
    if (argument && tp_flow_is(flow, argument, "False") &&
        tp_flow_is(flow, call->function, "requires_grad_"))
        assign(flow, call->receiver,
               tp_flow_value(flow, call->receiver) | TP_TAG_CONSTANT);
    if (flow->learns && argument && tp_flow_is(flow, argument, "False") &&
        (tp_flow_is(flow, call->function, "requires_grad_") ||
         tp_flow_is(flow, call->function, "train")))
        learn_frozen(flow, call->receiver);
    if (!argument && tp_flow_is(flow, call->function, "eval"))
        flow->scope.evaluates = true;
    else if (!argument && tp_flow_is(flow, call->function, "train"))
        flow->scope.evaluates = false;
}

/* What a call of one of the script's own functions gives it. */
static void learn_arguments(struct tp_flow *flow, const struct tp_call *call)
{
    struct tp_function *function =
        tp_functions_called(flow->functions, flow->script, call);
    if (!function)
        return;
    int number = 0;
    function->calls++;
    function->is_under_autocast = flow->scope.autocast;
    function->is_under_no_grad = flow->scope.no_grad;
    function->autocast = flow->scope.autocast_dtype;
    for (uint32_t i = flow->at[call->function].next; i; i = flow->at[i].next) {
        uint32_t value = i;
        int place = number++;
        if (flow->at[i].kind == TP_PY_STAR)
            break;
        if (flow->at[i].kind == TP_PY_NAMED) {
            const struct tp_py_token *name =
                &flow->script->tokens.at[flow->at[i].token];
            value = flow->at[i].child;
            place = tp_function_argument(
                flow->script, function->node,
                flow->script->tokens.source + name->start, name->length);
        }
        if (place >= 0 && place < TP_FUNCTION_ARGUMENTS)
            function->argument[place] =
                tp_flow_value(flow, value) & ~(uint32_t)TP_TAG_CONSTANT;
    }
}

/* "loss.backward()", "self.manual_backward(loss)", "optimizer.zero_grad()". */
static void learn_gradients(struct tp_flow *flow, const struct tp_call *call)
{
    if (flow->at[call->function].kind != TP_PY_ATTRIBUTE ||
        !(tp_flow_is(flow, call->function, "backward") ||
          tp_flow_is(flow, call->function, "manual_backward") ||
          tp_flow_is(flow, call->function, "zero_grad")))
        return;
    struct tp_function *function =
        tp_functions_at(flow->functions, flow->scope.function);
    if (function)
        function->takes_gradients = true;
}

/* What the script does somewhere. */
static void learn_from_call(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t dtype;
    learn_arguments(flow, call);
    learn_gradients(flow, call);
    tp_flow_spare(flow, call);
    for (const struct tp_check_family *const *f = tp_check_families; *f; f++) {
        if ((*f)->learn)
            (*f)->learn(flow, call);
    }
    switch (call->role) {
    case TP_DOES_HALF:
    case TP_DOES_CAST:
        if (tp_flow_value(flow, call->node) & TP_TAG_FP16)
            *flow->seen |= TP_SEEN_FP16;
        break;
    case TP_DOES_AUTOCAST:
        dtype = tp_flow_autocast_dtype(flow, call);
        if (tp_flow_is_off(flow, call->node))
            break;
        *flow->seen |= TP_SEEN_AUTOCAST |
                       (dtype == TP_TAG_FP16   ? TP_SEEN_FP16_AUTOCAST
                        : dtype == TP_TAG_BF16 ? TP_SEEN_BF16_AUTOCAST
                                               : TP_SEEN_OTHER_AUTOCAST);
        break;
    case TP_DOES_MAKE_SCALER:
        *flow->seen |= TP_SEEN_SCALER;
        break;
    case TP_DOES_BACKWARD:
        *flow->seen |= TP_SEEN_BACKWARD;
        if (tp_flow_value(flow, call->receiver) & TP_TAG_SCALED)
            *flow->seen |= TP_SEEN_SCALER;
        break;
    case TP_DOES_KEEP:
        if (flow->at[call->function].next)
            break;
        if (tp_flow_is(flow, call->function, "eval"))
            *flow->seen |= TP_SEEN_EVAL;
        else if (tp_flow_is(flow, call->function, "train"))
            *flow->seen |= TP_SEEN_TRAIN;
        break;
    case TP_DOES_MAKE_OPTIMIZER:
        *flow->seen |= TP_SEEN_TRAIN;
        break;
    default:
        if (call->receiver &&
            (tp_flow_is(flow, call->function, "make_generation_fast_") ||
             tp_flow_is(flow, call->function, "prepare_for_inference_")))
            *flow->seen |= TP_SEEN_EVAL;
        if (call->receiver && tp_flow_is(flow, call->function, "zero_grad"))
            *flow->seen |= TP_SEEN_TRAIN;
        *flow->seen |= strstr(call->path, "fp8_autocast") ? TP_SEEN_FP8 : 0;
        *flow->seen |= strstr(call->path, "MXFP8BlockScaling") ? TP_SEEN_MX : 0;
    }
}

/* What a function returns; of several values, what is true of all. */
static void learn_result(struct tp_flow *flow, uint32_t node)
{
    uint32_t value = flow->at[node].child;
    struct tp_function *function =
        flow->scope.function ? tp_functions_find(flow->functions, flow->script,
                                                 flow->scope.function)
                             : NULL;
    if (!function || !value)
        return;
    uint32_t tags = tp_flow_value(flow, value);
    function->result = function->returns ? function->result & tags : tags;
    function->returns = true;
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
        note_mode(flow, &call);
        if (flow->learns)
            learn_from_call(flow, &call);
        EACH_FAMILY(call, flow, &call)
        break;
    }
    case TP_PY_BRACES:
        EACH_FAMILY(braces, flow, node)
        break;
    case TP_PY_BINARY:
    case TP_PY_UNARY:
    case TP_PY_COMPARE:
        EACH_FAMILY(operation, flow, node)
        break;
    default:
        break;
    }
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

/* The same with tags for what is taken apart, too: "for i, (x, y) in ...". */
static void assign_items_of(struct tp_flow *flow, uint32_t target,
                            uint32_t tags)
{
    if (flow->at[target].kind != TP_PY_TUPLE) {
        assign(flow, target, tags);
        return;
    }
    for (uint32_t i = flow->at[target].child; i; i = flow->at[i].next)
        assign_items_of(flow, i, tags);
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

/* Whether an augmented assignment is "-=". */
static bool subtracts(const struct tp_flow *flow, uint32_t node)
{
    uint32_t target = flow->at[node].child;
    size_t token = flow->at[target].end;
    return tp_py_token_is(&flow->script->tokens, token, "-=");
}

/* "x += y", "x: int = y": what x holds is not followed; of "x -= y", perhaps
 * its maximum, no more than that. */
static void visit_other_assignment(struct tp_flow *flow, uint32_t node)
{
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next)
        visit(flow, i);
    EACH_FAMILY(assignment, flow, node)
    if (flow->at[node].kind == TP_PY_AUGMENTED)
        assign(flow, flow->at[node].child,
               subtracts(flow, node) ? TP_TAG_SHIFTED : 0);
}

/* What a "with" item changes; of "a if x else b", what one of them does. */
static void enter(struct tp_flow *flow, uint32_t expression)
{
    if (flow->at[expression].kind == TP_PY_CHOICE) {
        enter(flow, flow->at[expression].child);
        enter(flow, tp_py_last(&flow->script->tree, expression));
        return;
    }
    uint32_t tags = tp_flow_value(flow, expression);
    if (flow->at[expression].kind == TP_PY_CALL) {
        struct tp_call call;
        tp_call_read(flow->script, expression, &call);
        flow->scope.no_grad |= call.role == TP_DOES_NO_GRAD;
    }
    if (!(tags & TP_TAG_AUTOCAST))
        return;
    bool off = tp_flow_is_off(flow, expression);
    flow->scope.autocast = !off;
    flow->scope.autocast_off = off;
    flow->scope.autocast_asked = tp_flow_is_off_by_default(flow, expression);
    flow->scope.autocast_dtype = off ? 0 : tags & (TP_TAG_FP16 | TP_TAG_BF16);
    if (flow->scope.autocast_dtype == TP_TAG_FP16)
        tp_flow_note(flow, TP_STEP_FP16_AUTOCAST, expression);
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

/* "@torch.autocast(...)"; custom_fwd(cast_inputs=...) runs with it off. */
static void begin_decorated(struct tp_flow *flow, uint32_t decorator)
{
    if (flow->at[decorator].kind != TP_PY_CALL) {
        flow->scope.autocast |= tp_flow_is(flow, decorator, "autocast");
        return;
    }
    enter(flow, decorator);
    if (tp_flow_is(flow, flow->at[decorator].child, "custom_fwd") &&
        tp_script_argument(flow->script, decorator, "cast_inputs", SIZE_MAX)) {
        flow->scope.autocast = false;
        flow->scope.autocast_off = true;
    }
}

/* What a function knows when it begins: its arguments, where it is called
 * from, what its decorators say. */
static void begin_function(struct tp_flow *flow, uint32_t node)
{
    const struct tp_function *function =
        tp_functions_find(flow->functions, flow->script, node);
    bool known = function && function->calls == 1;
    struct tp_scope *scope = &flow->scope;
    *scope = (struct tp_scope){.function = node, .class_ = scope->class_};
    if (known && function->is_under_autocast) {
        scope->autocast = true;
        scope->autocast_dtype = function->autocast;
    }
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_DECORATOR && flow->at[i].child)
            begin_decorated(flow, flow->at[i].child);
    }
    scope->no_grad = (known && function->is_under_no_grad) ||
                     tp_flow_decorated(flow, node, "no_grad") ||
                     tp_flow_decorated(flow, node, "inference_mode");
    uint32_t parameter = 0;
    for (int i = 0; known && i < TP_FUNCTION_ARGUMENTS; i++) {
        parameter = tp_function_parameter(flow->script, node, parameter);
        if (!parameter)
            break;
        const struct tp_py_token *name =
            &flow->script->tokens.at[flow->at[parameter].token];
        if (function->argument[i])
            assign_text(flow, flow->script->tokens.source + name->start,
                        name->length, function->argument[i] | TP_TAG_GUESS);
    }
}

/* A function is a world of its own: its names, its steps, its branches. */
static void visit_function(struct tp_flow *flow, uint32_t node)
{
    struct tp_flow inner = *flow;
    inner.events = (struct tp_check_events){0};
    inner.here = (struct tp_check_event){0};
    inner.round = ++inner.rounds;
    begin_function(&inner, node);
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_BODY)
            visit_body(&inner, i);
        else
            visit(&inner, i);
    }
    EACH_FAMILY(function, &inner, node)
    free(inner.events.at);
    flow->names = inner.names;
    flow->rounds = inner.rounds;
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
    uint32_t last = 0, test = flow->at[node].child;
    bool never =
        test && flow->at[node].kind != TP_PY_ELSE &&
        (tp_flow_is(flow, test, "False") || tp_flow_is(flow, test, "0"));
    for (uint32_t i = test; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_BODY) {
            if (!never)
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

/* "model.half()" alone: a module, which changes itself. */
static void cast_in_place(struct tp_flow *flow, uint32_t node)
{
    struct tp_call call;
    uint32_t expression = flow->at[node].child;
    if (flow->at[expression].kind != TP_PY_CALL)
        return;
    tp_call_read(flow->script, expression, &call);
    if (call.role == TP_DOES_HALF || call.role == TP_DOES_FLOAT ||
        call.role == TP_DOES_CAST)
        assign(flow, call.receiver,
               tp_flow_value(flow, expression) | TP_TAG_MODULE);
}

static void visit_class(struct tp_flow *flow, uint32_t node)
{
    uint32_t before = flow->scope.class_;
    EACH_FAMILY(class_, flow, node)
    flow->scope.class_ = node;
    visit_parts(flow, node);
    flow->scope.class_ = before;
}

/* Targets of a loop: batches of data have no gradient. */
static void assign_items(struct tp_flow *flow, uint32_t node)
{
    static const char *const loads[] = {"loader", "batches", "dataset", "dl"};
    const struct tp_py_node *at = flow->at;
    uint32_t target = at[node].child, iterable = at[target].next, tags = 0;
    if (at[iterable].kind == TP_PY_CALL && at[at[iterable].child].next &&
        (tp_flow_is(flow, at[iterable].child, "enumerate") ||
         tp_flow_is(flow, at[iterable].child, "tqdm")))
        iterable = at[at[iterable].child].next;
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        if (tp_flow_contains(flow, iterable, loads[i]))
            tags = TP_TAG_CONSTANT;
    }
    assign_items_of(flow, target, tags);
}

/* "for p in model.parameters(): p.requires_grad = False". */
static void learn_loop(struct tp_flow *flow, uint32_t node)
{
    struct tp_call call;
    uint32_t iterable = tp_py_child(&flow->script->tree, node, 1);
    if (!flow->learns || flow->at[node].kind != TP_PY_FOR ||
        flow->at[iterable].kind != TP_PY_CALL)
        return;
    tp_call_read(flow->script, iterable, &call);
    if (call.receiver &&
        (tp_flow_is(flow, call.function, "parameters") ||
         tp_flow_is(flow, call.function, "named_parameters")) &&
        tp_flow_mentions(flow, node, "requires_grad") &&
        tp_flow_mentions(flow, node, "False") &&
        !tp_flow_mentions(flow, node, "if"))
        learn_frozen(flow, call.receiver);
}

static void visit_loop(struct tp_flow *flow, uint32_t node)
{
    uint32_t before = flow->scope.loop;
    learn_loop(flow, node);
    if (flow->at[node].kind == TP_PY_FOR)
        assign_items(flow, node);
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
    case TP_PY_EXPRESSION:
        visit_parts(flow, node);
        cast_in_place(flow, node);
        break;
    case TP_PY_RETURN:
        visit_parts(flow, node);
        if (flow->learns)
            learn_result(flow, node);
        break;
    default:
        visit_parts(flow, node);
    }
}

/* Statements of a body, but those that cannot run, behind what leaves it. */
static void visit_body(struct tp_flow *flow, uint32_t body)
{
    uint32_t group = 0;
    for (uint32_t i = flow->at[body].child, last = 0;
         i && !(last && leaves(flow, last)); last = i, i = flow->at[i].next) {
        int kind = flow->at[i].kind;
        if (kind != TP_PY_ELIF && kind != TP_PY_ELSE && kind != TP_PY_EXCEPT &&
            kind != TP_PY_CASE)
            group = i;
        visit_statement(flow, i, group);
    }
}

/* One pass. */
static void walk(struct tp_flow *flow)
{
    flow->round = flow->rounds = 1;
    flow->scope = (struct tp_scope){0};
    flow->here = (struct tp_check_event){0};
    visit_body(flow, 1);
    EACH_FAMILY(function, flow, 1)
    EACH_FAMILY(file, flow)
    free(flow->events.at);
    free(flow->names.slots);
    flow->events = (struct tp_check_events){0};
    flow->names = (struct tp_names){0};
}

enum tp_status tp_check_walk(const struct tp_script *script, const char *path,
                             struct tp_check_findings *findings,
                             struct tp_error *err)
{
    struct tp_functions functions = {0};
    struct tp_names words = {0}, frozen = {0}, spared = {0};
    uint32_t seen = tp_path_infers(path) ? TP_SEEN_INFERENCE : 0;
    bool guessed = false;
    struct tp_flow flow = {.script = script,
                           .at = script->tree.at,
                           .functions = &functions,
                           .seen = &seen,
                           .words = &words,
                           .frozen = &frozen,
                           .spared = &spared,
                           .guessed = &guessed,
                           .learns = true,
                           .findings = findings};
    enum tp_status status = tp_functions_read(script, &functions, err);
    if (status == TP_OK && script->has_torch)
        walk(&flow);
    flow.learns = false;
    if (status == TP_OK)
        walk(&flow);
    tp_check_sort(findings);
    tp_functions_clear(&functions);
    free(words.slots);
    free(frozen.slots);
    free(spared.slots);
    return status == TP_OK && findings->failed ? tp_fail_memory(err) : status;
}
