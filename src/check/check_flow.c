/* SPDX-License-Identifier: MIT */
/*
 * What is known at one place of a script. A name holds what was last assigned
 * to it, whatever the branch. Another function knows nothing of it, but what
 * check_calls learned: arguments of the only call, and results. So a rule
 * speaks where the evidence stands, and is silent elsewhere.
 *
 * Widths follow torch's promotion: a number changes none, float32 wins over
 * 16 bits, and what is unknown makes the result unknown. Under autocast the
 * lists of amp_ops decide. What follows from a formula, as "a sum of
 * squares", is a tag, too, so that names that change later do no harm.
 *
 * Cost: what a value is, is asked a few levels deep.
 */
#include "check/check_flow.h"

#include <string.h>

#include "base/text.h"

/* Calls in each other that a value is followed through: x.half().view(...). */
enum { MOST_DEEP = 8 };

/* What a function of a tensor keeps of it, and what a cast changes. */
#define INHERITED \
    (TP_TAG_WIDTH | TP_TAG_AUTOCAST_OUT | TP_TAG_GUESS | TP_TAG_CONSTANT)
#define WIDTH_OR_ORIGIN (TP_TAG_WIDTH | TP_TAG_AUTOCAST_OUT)

static uint32_t value_of(const struct tp_flow *flow, uint32_t node, int deep);

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

uint32_t tp_flow_autocast_dtype(const struct tp_flow *flow,
                                const struct tp_call *call)
{
    uint32_t dtype = tp_script_argument(flow->script, call->node, "dtype", 1);
    uint32_t device =
        tp_script_argument(flow->script, call->node, "device_type", 0);
    if (dtype)
        return value_of(flow, dtype, 0) & (TP_TAG_FP16 | TP_TAG_BF16);
    if (strstr(call->path, ".cuda.") || tp_flow_is_text(flow, device, "cuda"))
        return TP_TAG_FP16; /* the default there */
    return strstr(call->path, ".cpu.") || tp_flow_is_text(flow, device, "cpu")
               ? TP_TAG_BF16
               : 0;
}

/* The argument of autocast that turns it off, or 0. */
static uint32_t enabled_of(const struct tp_flow *flow, uint32_t node)
{
    struct tp_call call;
    if (flow->at[node].kind != TP_PY_CALL)
        return 0;
    tp_call_read(flow->script, node, &call);
    /* the old autocasts have no device in front */
    size_t place =
        strstr(call.path, ".cuda.") || strstr(call.path, ".cpu.") ? 0 : 2;
    return call.role == TP_DOES_AUTOCAST
               ? tp_script_argument(flow->script, node, "enabled", place)
               : 0;
}

bool tp_flow_is_off(const struct tp_flow *flow, uint32_t node)
{
    struct tp_call call;
    uint32_t enabled = enabled_of(flow, node);
    if (flow->at[node].kind != TP_PY_CALL)
        return false;
    tp_call_read(flow->script, node, &call);
    uint32_t dtype = tp_script_argument(flow->script, node, "dtype", 1);
    return call.role == TP_DOES_AUTOCAST &&
           ((enabled && tp_flow_is(flow, enabled, "False")) ||
            (dtype && tp_flow_is(flow, dtype, "float32")));
}

bool tp_flow_is_off_by_default(const struct tp_flow *flow, uint32_t node)
{
    size_t length;
    uint32_t parameter = 0, enabled = enabled_of(flow, node);
    const char *text = tp_script_text(flow->script, enabled, &length);
    while (flow->scope.function && text &&
           flow->at[enabled].kind == TP_PY_NAME) {
        parameter = tp_function_parameter(flow->script, flow->scope.function,
                                          parameter);
        if (!parameter)
            break;
        const struct tp_py_token *name =
            &flow->script->tokens.at[flow->at[parameter].token];
        uint32_t value = tp_py_last(&flow->script->tree, parameter);
        if (name->length == length && value &&
            tp_flow_is(flow, value, "False") &&
            !memcmp(flow->script->tokens.source + name->start, text, length))
            return true;
    }
    return false;
}

bool tp_flow_is_optimizer(const struct tp_flow *flow, uint32_t node)
{
    size_t length;
    if (!tp_script_text(flow->script, node, &length))
        return false;
    if (tp_script_object(flow->script, node) & TP_TAG_OPTIMIZER)
        return true;
    *flow->guessed = true;
    return tp_flow_contains(flow, node, "optim") ||
           tp_flow_is(flow, node, "opt");
}

static uint32_t value_of_name(const struct tp_flow *flow, uint32_t node)
{
    size_t length;
    const char *text = tp_script_text(flow->script, node, &length);
    const struct tp_name *name = tp_names_find(&flow->names, text, length);
    if (name && name->round == flow->round)
        return name->tags;
    uint32_t tags = tp_script_object(flow->script, node);
    uint32_t width = tags || !text ? 0 : tp_script_dtype(flow->script, node);
    return width ? width | TP_TAG_DTYPE : tags;
}

bool tp_flow_is_network(const struct tp_flow *flow, uint32_t node)
{
    static const char *const names[] = {"model", "net", "module", "network"};
    size_t length;
    if (!tp_script_text(flow->script, node, &length))
        return false;
    if (value_of_name(flow, node) & TP_TAG_MODULE)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (tp_flow_is(flow, node, names[i])) {
            *flow->guessed = true;
            return true;
        }
    }
    return false;
}

/* Whether a framework wraps the networks of the script, whose autocast then
 * gives back fp32. */
static bool is_wrapped(const struct tp_flow *flow)
{
    return tp_flow_knows(flow, "Accelerator") ||
           tp_flow_knows(flow, "accelerator") ||
           tp_flow_knows(flow, "Fabric") || tp_flow_knows(flow, "fabric");
}

/* What a call of a network gives; 0: it is none. */
static uint32_t value_of_network(const struct tp_flow *flow, uint32_t function)
{
    if (!tp_flow_is_network(flow, function) ||
        (flow->scope.autocast && is_wrapped(flow)))
        return 0;
    uint32_t tags = value_of_name(flow, function);
    uint32_t guess = tags & TP_TAG_MODULE ? 0 : TP_TAG_GUESS;
    return guess | (flow->scope.autocast
                        ? TP_TAG_AUTOCAST_OUT | flow->scope.autocast_dtype
                        : tags & TP_TAG_WIDTH);
}

/* The width of what two operands give. */
static uint32_t join(uint32_t left, uint32_t right)
{
    const uint32_t dtypes = TP_TAG_FP16 | TP_TAG_BF16;
    uint32_t guess =
        ((left | right) & TP_TAG_GUESS) | (left & right & TP_TAG_CONSTANT);
    if ((left | right) & TP_TAG_FLOAT)
        return TP_TAG_FLOAT | guess;
    if (left & right & TP_TAG_HALF && left & right & dtypes)
        return TP_TAG_HALF | (left & right & dtypes) | guess;
    if ((left & dtypes) && (right & dtypes) && !(left & right & dtypes))
        return TP_TAG_FLOAT | guess; /* float16 with bfloat16 */
    return left & right & TP_TAG_HALF ? TP_TAG_HALF | guess
                                      : guess & TP_TAG_CONSTANT;
}

/* What the dtype argument of a call gives: 0 without one; *found: whether
 * there is one. */
static uint32_t dtype_of(const struct tp_flow *flow, uint32_t call, bool *found)
{
    uint32_t dtype = tp_script_argument(flow->script, call, "dtype", SIZE_MAX);
    if (!dtype)
        dtype = tp_script_argument(flow->script, call, "torch_dtype", SIZE_MAX);
    *found = dtype != 0;
    uint32_t tags = dtype ? value_of(flow, dtype, 0) : 0;
    return tags & TP_TAG_DTYPE ? tags & TP_TAG_WIDTH : 0;
}

/* Whether an argument of to() is a device, by its name or as a text. */
static bool is_device(const struct tp_flow *flow, uint32_t node)
{
    return flow->at[node].kind == TP_PY_TEXT ||
           flow->at[node].kind == TP_PY_CONSTANT ||
           tp_flow_contains(flow, node, "device") ||
           tp_flow_contains(flow, node, "rank") ||
           tp_flow_contains(flow, node, "cuda");
}

/* ".to(torch.float16)" and the like; another dtype that is not known leaves
 * the rest of what is known. */
static uint32_t value_of_cast(const struct tp_flow *flow,
                              const struct tp_call *call, int deep)
{
    uint32_t tags = value_of(flow, call->receiver, deep + 1);
    for (uint32_t i = flow->at[call->function].next; i; i = flow->at[i].next) {
        uint32_t argument =
            flow->at[i].kind == TP_PY_NAMED ? flow->at[i].child : i;
        uint32_t dtype = value_of(flow, argument, deep + 1);
        if (dtype & TP_TAG_DTYPE)
            return (tags & ~(uint32_t)(WIDTH_OR_ORIGIN)) |
                   (dtype & TP_TAG_WIDTH);
        if (flow->at[i].kind != TP_PY_NAMED && !is_device(flow, argument))
            tags &= ~(uint32_t)WIDTH_OR_ORIGIN;
    }
    return tags;
}

/* A function of an operand that autocast may run in fp32. */
static uint32_t widened(const struct tp_flow *flow, uint32_t operand)
{
    return flow->scope.autocast ? TP_TAG_FLOAT | (operand & TP_TAG_CONSTANT)
                                : operand & INHERITED;
}

static bool is_minus_infinity(const struct tp_flow *flow, uint32_t node)
{
    if (flow->at[node].kind == TP_PY_UNARY && tp_flow_is(flow, node, "-")) {
        uint32_t what = flow->at[node].child;
        if (tp_flow_is(flow, what, "inf"))
            return true;
        return flow->at[what].kind == TP_PY_CALL &&
               tp_flow_is_text(flow, tp_py_child(&flow->script->tree, what, 1),
                               "inf");
    }
    return node && flow->at[node].kind == TP_PY_CALL &&
           tp_flow_is_text(flow, tp_py_child(&flow->script->tree, node, 1),
                           "-inf");
}

/* Whether the operand of exp is the logarithm of a probability by its name: at
 * most 0. */
static bool is_logarithm(const struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t node = tp_flow_operand(flow, call);
    return tp_flow_contains(flow, node, "logprob") ||
           tp_flow_contains(flow, node, "log_prob");
}

/* Elementwise functions and sums. */
static uint32_t value_of_formula(const struct tp_flow *flow,
                                 const struct tp_call *call, int deep)
{
    bool typed;
    uint32_t in = value_of(flow, tp_flow_operand(flow, call), deep + 1);
    uint32_t dtype = dtype_of(flow, call->node, &typed);
    uint32_t wide = typed ? dtype : widened(flow, in);
    uint32_t same = typed ? dtype : in & INHERITED;
    double number;
    switch (call->role) {
    case TP_DOES_SOFTMAX:
        return TP_TAG_PROBS | TP_TAG_POSITIVE | wide;
    case TP_DOES_SIGMOID:
        return TP_TAG_SIGMOID | TP_TAG_POSITIVE | same;
    case TP_DOES_EXP:
        return wide | TP_TAG_POSITIVE |
               (in & (TP_TAG_SHIFTED | TP_TAG_SIGMOID | TP_TAG_PROBS) ||
                        is_logarithm(flow, call)
                    ? 0
                    : TP_TAG_EXP);
    case TP_DOES_WIDEN:
        return wide |
               (tp_flow_is(flow, call->function, "log_softmax") ? TP_TAG_SHIFTED
                                                                : 0);
    case TP_DOES_SQUARE:
        if (tp_flow_is(flow, call->function, "square"))
            return same | TP_TAG_SQUARE | (in & TP_TAG_MEAN);
        if (!tp_flow_number(flow,
                            tp_script_argument(flow->script, call->node,
                                               "exponent",
                                               call->receiver ? 0 : 1),
                            &number) ||
            number != 2)
            return wide;
        return wide | TP_TAG_SQUARE | (in & TP_TAG_MEAN);
    case TP_DOES_REDUCE: {
        uint32_t squares = in & TP_TAG_SQUARE ? TP_TAG_SQUARES : 0;
        if (tp_flow_is(flow, call->function, "mean"))
            return same | squares | TP_TAG_MEAN;
        return wide | squares | (in & TP_TAG_EXP ? TP_TAG_EXP_SUM : 0);
    }
    case TP_DOES_NORM:
    case TP_DOES_CUMULATE:
    case TP_DOES_LOG:
        return wide;
    case TP_DOES_MASKED_FILL:
        return same |
               (is_minus_infinity(
                    flow, tp_script_argument(flow->script, call->node, "value",
                                             call->receiver ? 1 : 2))
                    ? TP_TAG_MASKED
                    : 0);
    default:
        return same;
    }
}

static uint32_t value_of_product(const struct tp_flow *flow, uint32_t left,
                                 uint32_t right)
{
    if (!flow->scope.autocast)
        return join(left, right);
    return TP_TAG_AUTOCAST_OUT | TP_TAG_HALF | flow->scope.autocast_dtype;
}

static uint32_t value_of_multiply(const struct tp_flow *flow,
                                  const struct tp_call *call, int deep)
{
    uint32_t left = tp_flow_operand(flow, call);
    uint32_t right =
        tp_py_child(&flow->script->tree, call->node, call->receiver ? 1 : 2);
    return value_of_product(flow, value_of(flow, left, deep + 1),
                            value_of(flow, right, deep + 1));
}

/* Whether a call makes a tensor of numbers that the script names or draws, and
 * nothing asks for gradients: what is computed of these trains nothing. */
static bool is_given(const struct tp_flow *flow, const struct tp_call *call)
{
    static const char *const makers[] = {
        "tensor",     "rand",        "randn",      "randint", "rand_like",
        "randn_like", "FloatTensor", "LongTensor", NULL};
    const char *name = call->path + sizeof "torch." - 1;
    if (strncmp(call->path, "torch.", sizeof "torch." - 1) != 0 ||
        tp_flow_knows(flow, "requires_grad") ||
        tp_flow_knows(flow, "requires_grad_"))
        return false;
    return tp_text_is_one_of(name, makers);
}

/* A call without a role: of the script's own functions, of networks, of what
 * makes tensors. */
static uint32_t value_of_other(const struct tp_flow *flow,
                               const struct tp_call *call)
{
    bool typed;
    const struct tp_function *function =
        tp_functions_called(flow->functions, flow->script, call);
    if (function)
        return function->returns && function->result
                   ? function->result | TP_TAG_GUESS
                   : 0;
    if (!strcmp(call->path, "copy.deepcopy")) /* a teacher, an average */
        return (value_of(flow, flow->at[call->function].next, 1) & INHERITED) |
               TP_TAG_CONSTANT;
    uint32_t network = value_of_network(flow, call->function);
    if (network)
        return network;
    uint32_t width = dtype_of(flow, call->node, &typed);
    if (width && tp_flow_is(flow, call->function, "from_pretrained"))
        return width | TP_TAG_MODULE;
    return (!strncmp(call->path, "torch.", 6) ? width : 0) |
           (is_given(flow, call) ? TP_TAG_CONSTANT : 0);
}

static uint32_t value_of_call(const struct tp_flow *flow, uint32_t node,
                              int deep)
{
    bool typed;
    struct tp_call call;
    tp_call_read(flow->script, node, &call);
    uint32_t in = call.role == TP_DOES_HALF || call.role == TP_DOES_FLOAT ||
                          call.role == TP_DOES_KEEP
                      ? value_of(flow, call.receiver, deep + 1)
                      : 0;
    switch (call.role) {
    case TP_DOES_HALF:
        return (in & ~(uint32_t)WIDTH_OR_ORIGIN) | TP_TAG_HALF |
               (tp_flow_is(flow, call.function, "half") ? TP_TAG_FP16
                                                        : TP_TAG_BF16);
    case TP_DOES_FLOAT:
        return (in & ~(uint32_t)WIDTH_OR_ORIGIN) | TP_TAG_FLOAT;
    case TP_DOES_CAST:
        return value_of_cast(flow, &call, deep);
    case TP_DOES_KEEP:
        return tp_flow_is(flow, call.function, "detach") ? in | TP_TAG_CONSTANT
                                                         : in;
    case TP_DOES_SCALE:
        return tp_script_object(flow->script, call.receiver) & TP_TAG_SCALER
                   ? TP_TAG_SCALED
                   : 0;
    case TP_DOES_AUTOCAST:
        return TP_TAG_AUTOCAST | tp_flow_autocast_dtype(flow, &call);
    case TP_DOES_MULTIPLY:
        return value_of_multiply(flow, &call, deep);
    case TP_DOES_MAKE_MODULE:
    case TP_DOES_MAKE_NORM: {
        uint32_t width = dtype_of(flow, node, &typed);
        return width ? width | TP_TAG_MODULE |
                           (call.role == TP_DOES_MAKE_NORM ? TP_TAG_NORM : 0)
                     : 0;
    }
    case TP_DOES_CROSS_ENTROPY:
    case TP_DOES_BCE_LOGITS:
    case TP_DOES_NLL:
    case TP_DOES_LOSS:
        return widened(
            flow,
            value_of(flow, tp_script_argument(flow->script, node, "input", 0),
                     deep + 1));
    case TP_DOES_MAKE_DATA_PARALLEL:
        return TP_TAG_MODULE | TP_TAG_DATA_PARALLEL;
    case TP_DOES_ARANGE:
        return dtype_of(flow, node, &typed);
    case TP_DOES_NONE:
        return value_of_other(flow, &call);
    case TP_DOES_SOFTMAX:
    case TP_DOES_SIGMOID:
    case TP_DOES_LOG:
    case TP_DOES_EXP:
    case TP_DOES_SQRT:
    case TP_DOES_SQUARE:
    case TP_DOES_REDUCE:
    case TP_DOES_NORM:
    case TP_DOES_CUMULATE:
    case TP_DOES_TRIGONOMETRY:
    case TP_DOES_WIDEN:
    case TP_DOES_CLAMP:
    case TP_DOES_MASKED_FILL:
    case TP_DOES_KEEP_WIDTH:
        return value_of_formula(flow, &call, deep);
    default:
        return 0;
    }
}

static bool has_op(const struct tp_flow *flow, uint32_t operand, char op)
{
    return flow->at[operand].op == TP_PY_OP(op);
}

/* "x ** y". */
static uint32_t value_of_power(const struct tp_flow *flow, uint32_t base,
                               int deep)
{
    double exponent;
    uint32_t in = value_of(flow, base, deep + 1);
    if (!tp_flow_number(flow, flow->at[base].next, &exponent))
        return 0;
    return widened(flow, in) |
           (exponent == 2 ? TP_TAG_SQUARE | (in & TP_TAG_MEAN) : 0);
}

/* "a op b op c" of one precedence: the width is that of all. What may be
 * at most 0: a tensor less another, perhaps its maximum, and a negative
 * multiple of a square. */
static uint32_t value_of_binary(const struct tp_flow *flow, uint32_t node,
                                int deep)
{
    double number = 0;
    uint32_t first = flow->at[node].child, second = flow->at[first].next;
    if (flow->at[second].op == TP_PY_OP2('*', '*'))
        return value_of_power(flow, first, deep);
    uint32_t in = value_of(flow, first, deep + 1), width = in & INHERITED;
    uint32_t formula = in & TP_TAG_SHIFTED, all = 0;
    bool only_numbers = tp_flow_number(flow, first, &number);
    bool negative = number < 0 || (flow->at[first].kind == TP_PY_UNARY &&
                                   tp_flow_is(flow, first, "-"));
    for (uint32_t i = second; i; i = flow->at[i].next) {
        if (tp_flow_number(flow, i, &number))
            continue;
        uint32_t right = value_of(flow, i, deep + 1);
        all |= right;
        width = has_op(flow, i, '@') ? value_of_product(flow, width, right)
                : only_numbers       ? right & INHERITED
                                     : join(width, right);
        only_numbers = false;
        if (has_op(flow, i, '-'))
            formula |= TP_TAG_SHIFTED;
    }
    if (has_op(flow, second, '*') && !flow->at[second].next &&
        tp_flow_same(flow, first, second))
        formula |= TP_TAG_SQUARE | (in & TP_TAG_MEAN);
    if (has_op(flow, second, '*') && negative && all & TP_TAG_SQUARE)
        formula |= TP_TAG_SHIFTED;
    return width | formula;
}

/* "-x" of a square is at most 0. */
static uint32_t value_of_unary(const struct tp_flow *flow, uint32_t node,
                               int deep)
{
    uint32_t child = flow->at[node].child;
    uint32_t in = value_of(flow, child, deep + 1);
    if (!tp_flow_is(flow, node, "-"))
        return 0;
    return (in & INHERITED) |
           (in & (TP_TAG_SQUARE | TP_TAG_SQUARES) ? TP_TAG_SHIFTED : 0);
}

/* Tags of an expression. */
static uint32_t value_of(const struct tp_flow *flow, uint32_t node, int deep)
{
    if (deep > MOST_DEEP || !node)
        return 0;
    switch (flow->at[node].kind) {
    case TP_PY_NAME:
    case TP_PY_ATTRIBUTE:
        return value_of_name(flow, node);
    case TP_PY_SUBSCRIPT:
        return value_of(flow, flow->at[node].child, deep + 1) & INHERITED;
    case TP_PY_CALL:
        return value_of_call(flow, node, deep);
    case TP_PY_BINARY:
        return value_of_binary(flow, node, deep);
    case TP_PY_UNARY:
        return value_of_unary(flow, node, deep);
    case TP_PY_COMPARE:
        return TP_TAG_CONSTANT;
    default:
        return 0;
    }
}

uint32_t tp_flow_value(const struct tp_flow *flow, uint32_t node)
{
    uint32_t tags = value_of(flow, node, 0);
    if (tags & TP_TAG_GUESS)
        *flow->guessed = true;
    return tags;
}
