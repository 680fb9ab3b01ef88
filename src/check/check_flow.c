/* SPDX-License-Identifier: MIT */
/*
 * The walk through a script: statements in the order of the source, with what
 * autocast is at each place and what the names of the function hold. A name
 * holds what was last assigned to it, whatever the branch; another function
 * knows nothing of it. So a rule speaks where the evidence stands in one
 * function, and is silent elsewhere.
 *
 * Alternative: following calls from function to function finds more, and
 * accuses more that is never called so.
 *
 * Cost: linear in the nodes; what a value is, is asked a few levels deep.
 */
#include "check/check_flow.h"

#include <stdlib.h>
#include <string.h>

#include "check/check_order.h"

/* Calls in each other that a value is followed through: x.half().view(...). */
enum { MOST_DEEP = 8 };

struct flow {
    const struct tp_script *script;
    const struct tp_py_node *at;
    struct tp_names names; /* of the function                             */
    uint32_t round;        /* its number: older entries are of others     */
    bool autocast, no_grad;
    struct tp_check_event here; /* where the walk is: arms                */
    struct tp_check_events events;
    struct tp_check_findings *findings;
};

static uint32_t value_of(struct flow *flow, uint32_t node, int deep);

static bool is_word(const struct flow *flow, uint32_t node, const char *word)
{
    return tp_py_is(&flow->script->tree, node, word);
}

static uint32_t tags_of_name(struct flow *flow, uint32_t node)
{
    size_t length;
    const char *text = tp_script_text(flow->script, node, &length);
    const struct tp_name *name = tp_names_find(&flow->names, text, length);
    return name && name->round == flow->round
               ? name->tags
               : tp_script_object(flow->script, node);
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

/* Whether a call runs a network: by what made it, or by its name. */
static bool is_network(const struct flow *flow, uint32_t function)
{
    size_t length;
    const char *text = tp_script_text(flow->script, function, &length);
    if (!text)
        return false;
    if (tp_script_object(flow->script, function) & TP_TAG_MODULE)
        return true;
    return is_word(flow, function, "model") || is_word(flow, function, "net") ||
           is_word(flow, function, "module") ||
           is_word(flow, function, "network");
}

/* ".to(torch.float16)" and the like. */
static uint32_t value_of_cast(struct flow *flow, uint32_t call, int deep)
{
    uint32_t function = flow->at[call].child;
    if (flow->at[function].kind != TP_PY_ATTRIBUTE ||
        !(is_word(flow, function, "to") || is_word(flow, function, "type")))
        return 0;
    uint32_t dtype = tp_script_argument(flow->script, call, "dtype", 0);
    if (dtype && tp_script_is_half(flow->script, dtype, false))
        return TP_TAG_HALF;
    if (dtype && tp_script_is_half(flow->script, dtype, true))
        return TP_TAG_FLOAT;
    return is_word(flow, function, "to") && dtype
               ? value_of(flow, flow->at[function].child, deep + 1) &
                     TP_TAG_AUTOCAST_OUT
               : 0;
}

/* Whether a call names a dtype, or may do so: by "*" or "**". */
static bool has_dtype(const struct flow *flow, uint32_t call, size_t place)
{
    const struct tp_py_node *at = flow->at;
    for (uint32_t a = at[at[call].child].next; a; a = at[a].next) {
        if (at[a].kind == TP_PY_STAR)
            return true;
    }
    return tp_script_argument(flow->script, call, "dtype", place) != 0;
}

/* The tensor that a function or a method works on. */
static uint32_t operand(const struct flow *flow, uint32_t call,
                        uint32_t receiver)
{
    return receiver ? receiver
                    : tp_script_argument(flow->script, call, "input", 0);
}

static uint32_t value_of_call(struct flow *flow, uint32_t call, int deep)
{
    uint32_t receiver;
    switch (tp_script_role(flow->script, call, &receiver)) {
    case TP_DOES_HALF:
        return TP_TAG_HALF;
    case TP_DOES_FLOAT:
        return TP_TAG_FLOAT;
    case TP_DOES_SOFTMAX:
        return TP_TAG_PROBS;
    case TP_DOES_SIGMOID:
        return TP_TAG_SIGMOID;
    case TP_DOES_KEEP:
        return value_of(flow, receiver, deep + 1);
    case TP_DOES_SCALE:
        return tp_script_object(flow->script, receiver) & TP_TAG_SCALER
                   ? TP_TAG_SCALED
                   : 0;
    case TP_DOES_AUTOCAST:
        return TP_TAG_AUTOCAST;
    case TP_DOES_NONE:
        if (flow->autocast && is_network(flow, flow->at[call].child))
            return TP_TAG_AUTOCAST_OUT;
        return value_of_cast(flow, call, deep);
    default:
        return 0;
    }
}

/* Tags of an expression. */
static uint32_t value_of(struct flow *flow, uint32_t node, int deep)
{
    if (deep > MOST_DEEP || !node)
        return 0;
    switch (flow->at[node].kind) {
    case TP_PY_NAME:
    case TP_PY_ATTRIBUTE:
        return tags_of_name(flow, node);
    case TP_PY_SUBSCRIPT:
        return value_of(flow, flow->at[node].child, deep + 1) &
               (TP_TAG_HALF | TP_TAG_AUTOCAST_OUT | TP_TAG_FLOAT);
    case TP_PY_CALL:
        return value_of_call(flow, node, deep);
    default:
        return 0;
    }
}

static void add(struct flow *flow, uint32_t node, enum tp_check_rule_id rule,
                const char *what)
{
    tp_check_add(flow->findings, flow->script, node, rule, what);
}

/* The same, or LOW where nothing is trained. */
static void add_lowered(struct flow *flow, uint32_t node, bool lower,
                        enum tp_check_rule_id rule, const char *what)
{
    struct tp_check_finding as = {.rule = rule,
                                  .severity = tp_check_rules[rule].severity};
    if (lower)
        as.severity = TP_SEVERITY_LOW;
    strncat(as.what, what, sizeof as.what - 1);
    tp_check_add_as(flow->findings, flow->script, node, as);
}

static void note_event(struct flow *flow, enum tp_check_step step,
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

/* Whether an object is an optimiser: by what made it, or by its name. */
static bool is_optimizer(const struct flow *flow, uint32_t node)
{
    size_t length;
    const char *text = tp_script_text(flow->script, node, &length);
    return text &&
           (tp_script_object(flow->script, node) & TP_TAG_OPTIMIZER ||
            contains(text, length, "optim") || is_word(flow, node, "opt"));
}

static void judge_softmax(struct flow *flow, uint32_t call, uint32_t receiver)
{
    uint32_t function = flow->at[call].child;
    char path[TP_PATH_MAX];
    tp_script_path(flow->script, function, path);
    /* F.softmax has one parameter more, torch's fewer, a method no input */
    size_t place = receiver ? 1 : strstr(path, "functional") ? 3 : 2;
    uint32_t tags = value_of(flow, operand(flow, call, receiver), 0);
    if (!has_dtype(flow, call, place) && !(tags & TP_TAG_FLOAT))
        add_lowered(flow, function, flow->autocast || flow->no_grad,
                    TP_CHECK_SOFTMAX_DTYPE, "softmax");
}

static void judge_reduce(struct flow *flow, uint32_t call, uint32_t receiver)
{
    uint32_t function = flow->at[call].child;
    uint32_t tags = value_of(flow, operand(flow, call, receiver), 0);
    if (flow->autocast || flow->no_grad || has_dtype(flow, call, SIZE_MAX) ||
        !(tags & (TP_TAG_HALF | TP_TAG_AUTOCAST_OUT)))
        return;
    add(flow, function, TP_CHECK_REDUCE_OUTSIDE_AUTOCAST,
        is_word(flow, function, "sum") ? "sum" : "mean");
}

/* What a loss is given. */
static void judge_loss(struct flow *flow, uint32_t call, enum tp_call_role role)
{
    uint32_t function = flow->at[call].child;
    uint32_t input = tp_script_argument(flow->script, call, "input", 0);
    uint32_t tags = value_of(flow, input, 0);
    if (role == TP_DOES_CROSS_ENTROPY && (tags & TP_TAG_PROBS))
        add(flow, function, TP_CHECK_SOFTMAX_BEFORE_CROSS_ENTROPY,
            "cross_entropy");
    if (role == TP_DOES_BCE_LOGITS && (tags & TP_TAG_SIGMOID))
        add(flow, function, TP_CHECK_SIGMOID_BEFORE_BCE_WITH_LOGITS,
            "binary_cross_entropy_with_logits");
    if (role == TP_DOES_NLL && (tags & TP_TAG_PROBS))
        add(flow, function, TP_CHECK_NLL_WITHOUT_LOG, "nll_loss");
    if ((tags & TP_TAG_AUTOCAST_OUT) && !flow->autocast && !flow->no_grad)
        add(flow, function, TP_CHECK_LOSS_OUTSIDE_AUTOCAST, "loss");
}

static void judge_log(struct flow *flow, uint32_t call, uint32_t receiver)
{
    uint32_t tags = value_of(flow, operand(flow, call, receiver), 0);
    if (tags & TP_TAG_PROBS)
        add(flow, flow->at[call].child, TP_CHECK_LOG_SOFTMAX, "log");
    if (tags & TP_TAG_SIGMOID)
        add(flow, flow->at[call].child, TP_CHECK_LOG_SIGMOID, "log");
}

static void judge_backward(struct flow *flow, uint32_t function,
                           uint32_t receiver)
{
    if (flow->autocast)
        add(flow, function, TP_CHECK_BACKWARD_INSIDE_AUTOCAST, ".backward()");
    if (value_of(flow, receiver, 0) & TP_TAG_SCALED)
        note_event(flow, TP_STEP_SCALED_BACKWARD, function);
}

static void judge_step(struct flow *flow, uint32_t call, uint32_t receiver)
{
    if (tp_script_object(flow->script, receiver) & TP_TAG_SCALER)
        note_event(flow, TP_STEP_SCALER, flow->at[call].child);
    else if (is_optimizer(flow, receiver))
        note_event(flow, TP_STEP_OPTIMIZER, flow->at[call].child);
}

/* Names that torch warns about. */
static void judge_deprecated(struct flow *flow, uint32_t function)
{
    static const char *const old[] = {
        "torch.cuda.amp.autocast", "torch.cpu.amp.autocast",
        "torch.cuda.amp.GradScaler", "torch.cpu.amp.GradScaler"};
    char path[TP_PATH_MAX];
    tp_script_path(flow->script, function, path);
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        if (!strcmp(path, old[i]))
            add(flow, function, TP_CHECK_DEPRECATED_AUTOCAST, path);
    }
}

static void judge_half(struct flow *flow, uint32_t call)
{
    uint32_t function = flow->at[call].child;
    if (!flow->at[function].next) /* a cast has no argument */
        add_lowered(flow, function, flow->no_grad, TP_CHECK_HALF_CALL,
                    is_word(flow, function, "half") ? ".half()"
                                                    : ".bfloat16()");
}

static void judge_call(struct flow *flow, uint32_t call)
{
    uint32_t receiver, function = flow->at[call].child;
    enum tp_call_role role = tp_script_role(flow->script, call, &receiver);
    switch (role) {
    case TP_DOES_HALF:
        judge_half(flow, call);
        break;
    case TP_DOES_BCE:
        add(flow, function, TP_CHECK_BCE, "binary_cross_entropy");
        break;
    case TP_DOES_MAKE_BCE:
        add(flow, function, TP_CHECK_BCE, "BCELoss");
        break;
    case TP_DOES_SOFTMAX:
        judge_softmax(flow, call, receiver);
        break;
    case TP_DOES_REDUCE:
        judge_reduce(flow, call, receiver);
        break;
    case TP_DOES_LOG:
        judge_log(flow, call, receiver);
        break;
    case TP_DOES_CROSS_ENTROPY:
    case TP_DOES_BCE_LOGITS:
    case TP_DOES_NLL:
    case TP_DOES_LOSS:
        judge_loss(flow, call, role);
        break;
    case TP_DOES_BACKWARD:
        judge_backward(flow, function, receiver);
        break;
    case TP_DOES_STEP:
        judge_step(flow, call, receiver);
        break;
    case TP_DOES_UNSCALE:
        note_event(flow, TP_STEP_UNSCALE, function);
        break;
    case TP_DOES_CLIP:
        note_event(flow, TP_STEP_CLIP, function);
        break;
    case TP_DOES_AUTOCAST:
    case TP_DOES_MAKE_SCALER:
        judge_deprecated(flow, function);
        break;
    case TP_DOES_DEFAULT_DTYPE:
        if (tp_script_is_half(flow->script,
                              tp_script_argument(flow->script, call, "d", 0),
                              false))
            add(flow, function, TP_CHECK_DEFAULT_DTYPE_HALF,
                "set_default_dtype");
        break;
    default:
        break;
    }
}

/* An expression: what is inside comes first, as Python does it. */
static void visit(struct flow *flow, uint32_t node)
{
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next)
        visit(flow, i);
    if (flow->at[node].kind == TP_PY_CALL)
        judge_call(flow, node);
}

static void assign(struct flow *flow, uint32_t target, uint32_t tags)
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
static void assign_all(struct flow *flow, uint32_t target, uint32_t tags)
{
    if (flow->at[target].kind != TP_PY_TUPLE) {
        assign(flow, target, tags);
        return;
    }
    for (uint32_t i = flow->at[target].child; i; i = flow->at[i].next)
        assign(flow, i, 0);
}

static void visit_assignment(struct flow *flow, uint32_t node)
{
    uint32_t value = tp_py_last(&flow->script->tree, node);
    uint32_t tags = value_of(flow, value, 0);
    int kind = flow->at[value].kind;
    bool made = !tags && (kind == TP_PY_CALL || kind == TP_PY_CHOICE);
    visit(flow, value);
    for (uint32_t i = flow->at[node].child; i && i != value;
         i = flow->at[i].next)
        assign_all(flow, i, made ? tp_script_object(flow->script, i) : tags);
}

/* What a "with" item turns autocast to: 1 on, 0 off, -1 as it is. */
static int autocast_of(struct flow *flow, uint32_t expression)
{
    uint32_t receiver;
    if (flow->at[expression].kind != TP_PY_CALL)
        return tags_of_name(flow, expression) & TP_TAG_AUTOCAST ? 1 : -1;
    if (tp_script_role(flow->script, expression, &receiver) != TP_DOES_AUTOCAST)
        return -1;
    uint32_t enabled =
        tp_script_argument(flow->script, expression, "enabled", SIZE_MAX);
    return !enabled || !is_word(flow, enabled, "False");
}

static bool is_no_grad(struct flow *flow, uint32_t expression)
{
    uint32_t receiver;
    return flow->at[expression].kind == TP_PY_CALL &&
           tp_script_role(flow->script, expression, &receiver) ==
               TP_DOES_NO_GRAD;
}

static void visit_body(struct flow *flow, uint32_t body);

static void visit_with(struct flow *flow, uint32_t node)
{
    bool autocast = flow->autocast, no_grad = flow->no_grad;
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_BODY) {
            visit_body(flow, i);
            continue;
        }
        uint32_t expression = flow->at[i].child;
        if (!expression)
            continue;
        visit(flow, i);
        int on = autocast_of(flow, expression);
        flow->autocast = on < 0 ? flow->autocast : on > 0;
        flow->no_grad |= is_no_grad(flow, expression);
    }
    flow->autocast = autocast;
    flow->no_grad = no_grad;
}

static bool is_decorated(const struct flow *flow, uint32_t function,
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

/* A function is a world of its own: its names, its steps, its branches. */
static void visit_function(struct flow *flow, uint32_t node)
{
    struct flow inner = *flow;
    inner.events = (struct tp_check_events){0};
    inner.here = (struct tp_check_event){0};
    inner.autocast = is_decorated(flow, node, "autocast");
    inner.no_grad = is_decorated(flow, node, "no_grad") ||
                    is_decorated(flow, node, "inference_mode");
    inner.round++;
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_BODY)
            visit_body(&inner, i);
        else
            visit(&inner, i);
    }
    tp_check_order(flow->script, &inner.events, flow->findings);
    free(inner.events.at);
    flow->names = inner.names;
    flow->round = inner.round + 1;
}

/* A torch.autograd.Function whose forward says nothing of autocast. */
static void judge_class(struct flow *flow, uint32_t node)
{
    char path[TP_PATH_MAX], name[64] = "";
    bool derives = false;
    uint32_t body = tp_py_last(&flow->script->tree, node), forward = 0;
    for (uint32_t i = flow->at[node].child; i && i != body;
         i = flow->at[i].next) {
        tp_script_path(flow->script, i, path);
        derives |= !strcmp(path, "torch.autograd.Function") ||
                   !strcmp(path, "torch.autograd.function.Function");
    }
    for (uint32_t i = flow->at[body].child; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_FUNCTION && is_word(flow, i, "forward"))
            forward = i;
    }
    if (!derives || !forward || is_decorated(flow, forward, "custom_fwd"))
        return;
    const struct tp_py_token *token =
        &flow->script->tokens.at[flow->at[node].token];
    size_t length =
        token->length < sizeof name ? token->length : sizeof name - 1;
    memcpy(name, flow->script->tokens.source + token->start, length);
    add(flow, node, TP_CHECK_AUTOGRAD_FUNCTION, name);
}

static void visit_branch(struct flow *flow, uint32_t node, uint32_t group)
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
    bool leaves = last && (flow->at[last].kind == TP_PY_RETURN ||
                           flow->at[last].kind == TP_PY_RAISE ||
                           is_word(flow, last, "continue") ||
                           is_word(flow, last, "break"));
    for (size_t i = first; leaves && i < flow->events.count; i++)
        flow->events.at[i].reach = flow->events.count;
}

static void visit_statement(struct flow *flow, uint32_t node, uint32_t group)
{
    switch (flow->at[node].kind) {
    case TP_PY_FUNCTION:
        visit_function(flow, node);
        break;
    case TP_PY_WITH:
        visit_with(flow, node);
        break;
    case TP_PY_ASSIGN:
        visit_assignment(flow, node);
        break;
    case TP_PY_AUGMENTED:
        visit(flow, node);
        assign(flow, flow->at[node].child, 0);
        break;
    case TP_PY_IF:
    case TP_PY_ELIF:
    case TP_PY_ELSE:
    case TP_PY_EXCEPT:
    case TP_PY_CASE:
        visit_branch(flow, node, group);
        break;
    default:
        if (flow->at[node].kind == TP_PY_CLASS)
            judge_class(flow, node);
        if (flow->at[node].kind == TP_PY_FOR)
            assign_all(flow, flow->at[node].child, 0);
        for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
            if (flow->at[i].kind == TP_PY_BODY)
                visit_body(flow, i);
            else
                visit(flow, i);
        }
    }
}

static void visit_body(struct flow *flow, uint32_t body)
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

enum tp_status tp_check_flow(const struct tp_script *script,
                             struct tp_check_findings *findings,
                             struct tp_error *err)
{
    struct flow flow = {.script = script,
                        .at = script->tree.at,
                        .round = 1,
                        .findings = findings};
    visit_body(&flow, 1);
    tp_check_order(script, &flow.events, findings);
    tp_check_sort(findings);
    free(flow.events.at);
    free(flow.names.slots);
    return findings->failed ? tp_fail_memory(err) : TP_OK;
}
