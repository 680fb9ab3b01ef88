/* SPDX-License-Identifier: MIT */
/* Formulas that lose numbers, or are given what they do not want. */
#include <string.h>

#include "check/check_flow.h"
#include "check/check_purpose.h"
#include "check/check_uses.h"

#define NUMERICS "UNSTABLE FORMULAS"

enum {
    LOG_SOFTMAX,
    LOG_SIGMOID,
    SOFTMAX_BEFORE_CROSS_ENTROPY,
    SIGMOID_BEFORE_BCE_WITH_LOGITS,
    NLL_WITHOUT_LOG,
    SQRT_AT_ZERO,
    DIVIDE_WITHOUT_EPS,
    EXP_WITHOUT_MAX,
    VARIANCE_BY_DIFFERENCE,
    WHERE_NAN_GRADIENT,
    DATA_IN_PLACE
};

static const struct tp_check_rule rules[] = {
    [LOG_SOFTMAX] =
        {"log_softmax",
         TP_SEVERITY_MEDIUM,
         "log of a softmax",
         "% of a softmax",
         {"a probability that rounds to 0 makes it -Inf, its gradient NaN",
          "概率下溢为0时得到-Inf，梯度为NaN"},
         {"use log_softmax", "改用log_softmax"},
         NUMERICS},
    [LOG_SIGMOID] =
        {"log_sigmoid",
         TP_SEVERITY_MEDIUM,
         "log of a sigmoid",
         "% of a sigmoid",
         {"a sigmoid that rounds to 0 makes it -Inf, its gradient NaN",
          "sigmoid下溢为0时得到-Inf，梯度为NaN"},
         {"use logsigmoid", "改用logsigmoid"},
         NUMERICS},
    [SOFTMAX_BEFORE_CROSS_ENTROPY] =
        {"softmax_before_cross_entropy",
         TP_SEVERITY_HIGH,
         "probabilities given to cross_entropy",
         "% of probabilities",
         {"it wants logits and applies log_softmax itself: with two of them "
          "gradients shrink",
          "该函数内部已做log_softmax，重复softmax会使梯度变小"},
         {"pass the logits", "直接传入logits"},
         NUMERICS},
    [SIGMOID_BEFORE_BCE_WITH_LOGITS] =
        {"sigmoid_before_bce_with_logits",
         TP_SEVERITY_HIGH,
         "a sigmoid given to binary_cross_entropy_with_logits",
         "% of a sigmoid",
         {"it wants logits and applies the sigmoid itself: with two of them "
          "no output leaves 0.5 to 0.73",
          "该函数内部已做sigmoid，重复后输出只能在0.5到0.73之间"},
         {"pass the logits", "直接传入logits"},
         NUMERICS},
    [NLL_WITHOUT_LOG] =
        {"nll_without_log",
         TP_SEVERITY_MEDIUM,
         "probabilities given to nll_loss",
         "% of probabilities",
         {"it wants their logarithms: the loss is not what its name says",
          "该函数需要对数概率，否则得到的不是负对数似然"},
         {"use log_softmax, or cross_entropy of the logits",
          "改用log_softmax，或对logits使用cross_entropy"},
         NUMERICS},
    [SQRT_AT_ZERO] =
        {"sqrt_at_zero",
         TP_SEVERITY_MEDIUM,
         "the root of a sum of squares, with nothing added",
         "% of a sum of squares",
         {"where the sum is 0 its gradient is infinite, and times the 0 of the "
          "square it is NaN",
          "和为0时其梯度为无穷大，与平方的梯度0相乘得到NaN"},
         {"add a small number below the root, or use torch.linalg.vector_norm",
          "在根号内加一个小量，或改用torch.linalg.vector_norm"},
         NUMERICS},
    [DIVIDE_WITHOUT_EPS] = {"divide_without_eps",
                            TP_SEVERITY_LOW,
                            "a division by a norm or a sum that may be 0",
                            "division by % without eps",
                            {"where it is 0 the result is NaN or Inf",
                             "除数为0时结果为NaN或Inf"},
                            {"add a small number, or use F.normalize",
                             "加一个小量，或改用F.normalize"},
                            NUMERICS},
    [EXP_WITHOUT_MAX] =
        {"exp_without_max",
         TP_SEVERITY_MEDIUM,
         "a softmax or logsumexp by hand, without its maximum",
         "% of exp without subtracting the maximum",
         {"exp is Inf beyond 88.7 in fp32 and bf16, beyond 11.1 in fp16",
          "exp在FP32和BF16中超过88.7、在FP16中超过11.1即为Inf"},
         {"use softmax, log_softmax or logsumexp",
          "改用softmax、log_softmax或logsumexp"},
         NUMERICS},
    [VARIANCE_BY_DIFFERENCE] =
        {"variance_by_difference",
         TP_SEVERITY_MEDIUM,
         "a variance as the mean of squares less the square of the mean",
         "variance as a difference of two means",
         {"two large numbers that nearly agree leave their rounding errors, "
          "even below 0",
          "两个相近的大数相减只剩舍入误差，甚至为负"},
         {"use torch.var, or subtract the mean before squaring",
          "改用torch.var，或先减去均值再平方"},
         NUMERICS},
    [WHERE_NAN_GRADIENT] =
        {"where_nan_gradient",
         TP_SEVERITY_LOW,
         "torch.where around a log, a root or a quotient of what it tests",
         "% inside torch.where",
         {"torch.where hides the value of the other branch, not its gradient: "
          "Inf times 0 is NaN",
          "torch.where只屏蔽另一分支的值，不屏蔽其梯度：Inf乘0得NaN"},
         {"make the input safe by a torch.where of its own, before %",
          "在%之前先用torch.where将输入替换为安全值"},
         NUMERICS},
    [DATA_IN_PLACE] =
        {"data_in_place",
         TP_SEVERITY_MEDIUM,
         "a change of .data in place, in forward",
         "% in forward",
         {"autograd does not see it: backward uses the changed values, without "
          "an error",
          "autograd感知不到，backward会使用被改动的值且不报错"},
         {"use an operator that is not in place, or torch.no_grad() outside of "
          "forward",
          "改用非原地算子，或在forward之外于torch.no_grad()中修改"},
         NUMERICS},
    {0}};

/* Losses that are wrong themselves, and not by their gradients alone: also
 * where they are only shown. */
static bool is_loss(int rule)
{
    return rule == SOFTMAX_BEFORE_CROSS_ENTROPY ||
           rule == SIGMOID_BEFORE_BCE_WITH_LOGITS || rule == NLL_WITHOUT_LOG;
}

/* Adds a finding, lowered where nothing is trained, or in a class that is no
 * module, of a script that shows no training. `tags`: of what goes in. */
static void add(struct tp_flow *flow, uint32_t node, int rule, const char *what,
                uint32_t tags)
{
    static const char *const scores[] = {"score", NULL};
    bool harms = !tp_flow_only_infers(flow) && !(tags & TP_TAG_CONSTANT);
    if (flow->scope.class_)
        harms =
            harms && tp_flow_trains(flow) && !tp_flow_is_named(flow, scores);
    harms = harms && (is_loss(rule) || !tp_flow_only_shows(flow, node));
    tp_flow_add_as(flow, node, &rules[rule], what,
                   harms ? rules[rule].severity : TP_SEVERITY_LOW);
}

/* The softmax or logsumexp of powers; a script that subtracts in place may
 * have subtracted the maximum, and products of unit vectors are at most 1. */
static void add_powers(struct tp_flow *flow, uint32_t node, const char *what,
                       uint32_t tags)
{
    static const char *const bounds[] = {
        "sub_", "normalize", "l2norm", "l2_norm", "cosine_similarity", NULL};
    if (tp_flow_knows_any(flow, bounds))
        tp_flow_add_as(flow, node, &rules[EXP_WITHOUT_MAX], what,
                       TP_SEVERITY_LOW);
    else
        add(flow, node, EXP_WITHOUT_MAX, what, tags);
}

/* Whether an expression is an operator that some gradient of makes Inf. */
static const char *singular(const struct tp_flow *flow, uint32_t node)
{
    struct tp_call call;
    if (flow->at[node].kind == TP_PY_BINARY) {
        uint32_t second = flow->at[flow->at[node].child].next;
        double number;
        return flow->at[second].op == TP_PY_OP('/') &&
                       !tp_flow_number(flow, second, &number)
                   ? "division"
                   : NULL;
    }
    if (flow->at[node].kind != TP_PY_CALL)
        return NULL;
    tp_call_read(flow->script, node, &call);
    return call.role == TP_DOES_LOG    ? "log"
           : call.role == TP_DOES_SQRT ? "sqrt"
                                       : NULL;
}

/* What such an operator must not have at 0: its operand, or its divisor. */
static uint32_t danger_of(const struct tp_flow *flow, uint32_t node)
{
    struct tp_call call;
    if (flow->at[node].kind == TP_PY_BINARY)
        return flow->at[flow->at[node].child].next;
    tp_call_read(flow->script, node, &call);
    return tp_flow_operand(flow, &call);
}

/* torch.where(x > 0, torch.log(x), 0): what is tested is what is not safe. It
 * is low: mostly x is a count or a mask, which has no gradient, and no name
 * tells. */
static void judge_where(struct tp_flow *flow, const struct tp_call *call)
{
    static const char *const gradients[] = {"backward", "clip", NULL};
    uint32_t test =
        tp_script_argument(flow->script, call->node, "condition", 0);
    if (!call->path[0] || !test || flow->at[test].kind != TP_PY_COMPARE ||
        flow->scope.no_grad || tp_flow_is_named(flow, gradients))
        return;
    uint32_t tested = flow->at[test].child;
    size_t length;
    for (uint32_t i = flow->at[test].next; i; i = flow->at[i].next) {
        const char *what = singular(flow, i);
        if (what && tp_script_text(flow->script, tested, &length) &&
            tp_flow_same(flow, danger_of(flow, i), tested) &&
            !(tp_flow_value(flow, tested) & TP_TAG_CONSTANT))
            tp_flow_add(flow,
                        flow->at[i].kind == TP_PY_CALL ? flow->at[i].child : i,
                        &rules[WHERE_NAN_GRADIENT], what);
    }
}

/* Whether an expression begins with "x.data", which has no gradient. */
static bool is_of_data(const struct tp_flow *flow, uint32_t node)
{
    for (; flow->at[node].kind == TP_PY_CALL ||
           flow->at[node].kind == TP_PY_ATTRIBUTE ||
           flow->at[node].kind == TP_PY_SUBSCRIPT;
         node = flow->at[node].child) {
        if (flow->at[node].kind == TP_PY_ATTRIBUTE &&
            tp_flow_is(flow, node, "data"))
            return true;
    }
    return false;
}

/* Whether the function is a step of an optimizer, or changes what is no
 * parameter, by its arguments and its name. */
static bool is_update(const struct tp_flow *flow)
{
    static const char *const words[] = {"update", "perturb", "cond_fn", NULL};
    return flow->scope.function &&
           (tp_flow_is_named(flow, words) ||
            tp_flow_mentions(flow, flow->scope.function, "lr"));
}

/* Whether a token is a name that ends in "_", and what it names is called. */
static bool is_in_place_call(const struct tp_flow *flow, size_t token)
{
    const struct tp_py_tokens *tokens = &flow->script->tokens;
    const struct tp_py_token *at = &tokens->at[token];
    return at->kind == TP_PY_WORD && at->length > 1 &&
           tokens->source[at->start + at->length - 1] == '_' &&
           !tp_py_token_is(tokens, token - 1, ".") &&
           tp_py_token_is(tokens, token + 1, "(");
}

/* Whether a function outside of classes writes what it computes into its
 * arguments, by names that end in "_": it gives nothing back, or hands the
 * argument to another such function. No gradient is recorded there, and
 * parameters could not be changed so with one. */
static bool is_in_place(const struct tp_flow *flow)
{
    uint32_t function = flow->scope.function, parameter = 0;
    if (!function || flow->scope.class_)
        return false;
    const struct tp_py_tokens *tokens = &flow->script->tokens;
    if (is_in_place_call(flow, flow->at[function].token) &&
        !tp_flow_mentions(flow, function, "return"))
        return true;
    uint32_t body = tp_py_last(&flow->script->tree, function);
    for (size_t t = flow->at[body].token; t + 2 < flow->at[body].end; t++) {
        if (!is_in_place_call(flow, t))
            continue;
        const struct tp_py_token *at = &tokens->at[t + 2];
        for (parameter = tp_function_parameter(flow->script, function, 0);
             parameter; parameter = tp_function_parameter(
                            flow->script, function, parameter)) {
            const struct tp_py_token *name =
                &tokens->at[flow->at[parameter].token];
            if (name->length == at->length &&
                !memcmp(tokens->source + name->start,
                        tokens->source + at->start, at->length))
                return true;
        }
    }
    return false;
}

/* Whether the last part of a name is one of some words, or several of it. */
static bool is_part(const char *text, size_t length, const char *const *words)
{
    for (; *words; words++) {
        size_t size = strlen(*words);
        for (size_t end = length; end >= size && end + 1 >= length; end--) {
            if (!memcmp(text + end - size, *words, size) &&
                (end == length || text[end] == 's') &&
                (size == end || text[end - size - 1] == '_'))
                return true;
        }
    }
    return false;
}

/* Whether a name is that of what no gradient goes through: gradients
 * themselves, what a teacher computed, what comes from a file, and positions.
 */
static bool is_datum(const struct tp_flow *flow, size_t token)
{
    static const char *const places[] = {"pos",  "position", "coord",
                                         "grid", "xyz",      NULL};
    static const char *const words[] = {"grad",   "teacher", "label",
                                        "target", "gt",      "mono",
                                        "audio",  "wav",     "input_values"};
    const struct tp_py_token *at = &flow->script->tokens.at[token];
    const char *text = flow->script->tokens.source + at->start;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i]);
        for (size_t j = 0; j + size <= at->length; j++) {
            if (memcmp(text + j, words[i], size) == 0 &&
                (j == 0 || text[j - 1] == '_'))
                return true;
        }
    }
    return is_part(text, at->length, places);
}

/* Whether all that an expression names is such; functions, attributes, names of
 * arguments and indices are none. */
static bool is_data(const struct tp_flow *flow, uint32_t node)
{
    const struct tp_py_token *at = flow->script->tokens.at;
    uint32_t first = node;
    bool any = false;
    while (flow->at[first].kind == TP_PY_CALL ||
           flow->at[first].kind == TP_PY_ATTRIBUTE ||
           flow->at[first].kind == TP_PY_SUBSCRIPT ||
           flow->at[first].kind == TP_PY_BINARY)
        first = flow->at[first].child;
    int depth = 0; /* of indices */
    for (size_t t = flow->at[first].token; t < flow->at[node].end; t++) {
        depth += tp_py_token_is(&flow->script->tokens, t, "[");
        depth -= tp_py_token_is(&flow->script->tokens, t, "]");
        bool operand = depth <= 0 && at[t].kind == TP_PY_WORD &&
                       !(at[t + 1].kind == TP_PY_OPERATOR &&
                         (at[t + 1].op == '(' || at[t + 1].op == '=')) &&
                       !(t > 0 && at[t - 1].kind == TP_PY_OPERATOR &&
                         at[t - 1].op == '.') &&
                       !tp_py_token_is(&flow->script->tokens, t, "torch") &&
                       !tp_py_token_is(&flow->script->tokens, t, "True");
        if (operand && !is_datum(flow, t))
            return false;
        any |= operand;
    }
    return any;
}

/* Whether the function is one that gradients go through: of the methods of a
 * class many only prepare or measure, by their names; and arrays of numpy have
 * no gradient. */
static bool is_differentiated(const struct tp_flow *flow)
{
    static const char *const words[] = {"forward", "loss",     "train",
                                        "step",    "norm",     "dist",
                                        "simil",   "__call__", NULL};
    static const char *const forwards[] = {"forward", "loss", NULL};
    const struct tp_function *function =
        tp_functions_at(flow->functions, flow->scope.function);
    if (!function)
        return !flow->scope.class_;
    return (!flow->scope.class_ || tp_flow_is_named(flow, words)) &&
           !tp_flow_depends_on(flow, "verbose") &&
           !tp_flow_depends_on(flow, "trainable") &&
           (function->takes_gradients || tp_flow_is_named(flow, forwards) ||
            !tp_flow_mentions(flow, flow->scope.function, "numpy"));
}

/* Optimizers work on numbers without gradients, and so do data. */
static void judge_sqrt(struct tp_flow *flow, uint32_t node, uint32_t operand)
{
    uint32_t tags = tp_flow_value(flow, operand);
    if (!flow->scope.no_grad && tags & TP_TAG_SQUARES &&
        !(tags & TP_TAG_CONSTANT))
        tp_flow_add_as(
            flow, node, &rules[SQRT_AT_ZERO], "sqrt",
            tp_flow_trains(flow) && !tp_flow_derives(flow, "Optimizer") &&
                    !tp_flow_mentions(flow, operand, "axis") && /* numpy's */
                    !is_of_data(flow, operand) && !is_data(flow, operand) &&
                    !is_update(flow) && !is_in_place(flow) &&
                    is_differentiated(flow) && !tp_flow_only_shows(flow, node)
                ? rules[SQRT_AT_ZERO].severity
                : TP_SEVERITY_LOW);
}

static bool is_mean_of_squares(uint32_t tags)
{
    return tags & TP_TAG_SQUARES && tags & TP_TAG_MEAN;
}

static bool is_square_of_mean(uint32_t tags)
{
    return tags & TP_TAG_SQUARE && tags & TP_TAG_MEAN &&
           !(tags & TP_TAG_SQUARES);
}

/* "x / x.norm()", "exp / exp.sum()". */
static void judge_quotient(struct tp_flow *flow, uint32_t left, uint32_t right)
{
    struct tp_call call;
    uint32_t above = tp_flow_value(flow, left),
             below = tp_flow_value(flow, right);
    if (above & TP_TAG_EXP && below & TP_TAG_EXP_SUM) {
        add_powers(flow, right, "softmax", above & below);
        return;
    }
    if (flow->at[right].kind != TP_PY_CALL || above & TP_TAG_POSITIVE ||
        (flow->at[left].kind == TP_PY_CALL &&
         tp_flow_is(flow, flow->at[left].child, "exp")))
        return;
    tp_call_read(flow->script, right, &call);
    if ((call.role == TP_DOES_NORM ||
         (call.role == TP_DOES_REDUCE &&
          tp_flow_is(flow, call.function, "sum"))) &&
        tp_flow_same(flow, left, tp_flow_operand(flow, &call)))
        tp_flow_add(flow, right, &rules[DIVIDE_WITHOUT_EPS],
                    call.role == TP_DOES_NORM ? "norm" : "sum");
}

static void judge_operation(struct tp_flow *flow, uint32_t node)
{
    double number;
    uint32_t left = flow->at[node].child;
    if (flow->at[node].kind != TP_PY_BINARY)
        return;
    for (uint32_t i = flow->at[left].next; i; left = i, i = flow->at[i].next) {
        if (flow->at[i].op == TP_PY_OP('/'))
            judge_quotient(flow, left, i);
        if (flow->at[i].op == TP_PY_OP2('*', '*') &&
            tp_flow_number(flow, i, &number) && number == 0.5)
            judge_sqrt(flow, i, left);
        if (flow->at[i].op == TP_PY_OP('-') &&
            is_mean_of_squares(tp_flow_value(flow, left)) &&
            is_square_of_mean(tp_flow_value(flow, i)) &&
            !tp_flow_mentions(flow, node, "axis")) /* as numpy has it */
            add(flow, i, VARIANCE_BY_DIFFERENCE, "", tp_flow_value(flow, left));
    }
}

/* "x.data" or "x.data[i]", where x is no parameter by its name; 0: none. */
static uint32_t data_of(const struct tp_flow *flow, uint32_t node)
{
    while (flow->at[node].kind == TP_PY_SUBSCRIPT)
        node = flow->at[node].child;
    uint32_t holder = flow->at[flow->at[node].child].child;
    return flow->at[node].kind == TP_PY_ATTRIBUTE &&
                   tp_flow_is(flow, node, "data") &&
                   !tp_flow_contains(flow, holder, "nodes") && /* of a graph: */
                   !tp_flow_contains(flow, holder, "edges")    /* features */
               ? node
               : 0;
}

/* What is a parameter or a buffer by its name may be changed on purpose; what
 * is masked has no gradient behind a softmax, and numbers of words have none.
 */
static void add_data(struct tp_flow *flow, uint32_t node, uint32_t data)
{
    uint32_t root = data;
    while (flow->at[root].child && flow->at[root].kind != TP_PY_NAME)
        root = flow->at[root].child;
    bool parameter = tp_flow_is(flow, root, "self") ||
                     tp_flow_is(flow, node, "masked_fill_") ||
                     tp_flow_is(flow, node, "set_") ||
                     tp_flow_contains(flow, data, ".weight") ||
                     tp_flow_contains(flow, data, ".bias") ||
                     tp_flow_contains(flow, data, "ids.");
    tp_flow_add_as(flow, node, &rules[DATA_IN_PLACE], ".data changed in place",
                   parameter ? TP_SEVERITY_LOW : rules[DATA_IN_PLACE].severity);
}

/* Whether gradients are recorded here: not in an autograd.Function, and not
 * where arrays of numpy come from. */
static bool is_in_forward(const struct tp_flow *flow)
{
    return flow->scope.class_ && flow->scope.function &&
           tp_flow_is(flow, flow->scope.function, "forward") &&
           !flow->scope.no_grad && !tp_flow_derives(flow, "Function") &&
           !tp_flow_mentions(flow, flow->scope.function, "numpy");
}

static void judge_assignment(struct tp_flow *flow, uint32_t node)
{
    uint32_t target = flow->at[node].child;
    if (!is_in_forward(flow) || !data_of(flow, target))
        return;
    if (flow->at[node].kind == TP_PY_AUGMENTED ||
        flow->at[target].kind == TP_PY_SUBSCRIPT)
        add_data(flow, data_of(flow, target), data_of(flow, target));
}

/* "x.data.add_(y)": a method whose name ends in "_". */
static void judge_method(struct tp_flow *flow, const struct tp_call *call)
{
    char name[64];
    if (!call->receiver || !is_in_forward(flow) ||
        !data_of(flow, call->receiver))
        return;
    tp_flow_name(flow, call->function, name);
    size_t length = strlen(name);
    if (length > 1 && name[length - 1] == '_' && name[length - 2] != '_')
        add_data(flow, call->function, data_of(flow, call->receiver));
}

/* What a loss is given, lowered where no gradient goes through it. */
static void judge_loss(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t input = tp_script_argument(flow->script, call->node, "input", 0);
    uint32_t tags = tp_flow_value(flow, input);
    if (call->role == TP_DOES_CROSS_ENTROPY && (tags & TP_TAG_PROBS))
        add(flow, call->function, SOFTMAX_BEFORE_CROSS_ENTROPY, "cross_entropy",
            tags);
    if (call->role == TP_DOES_BCE_LOGITS && (tags & TP_TAG_SIGMOID))
        add(flow, call->function, SIGMOID_BEFORE_BCE_WITH_LOGITS,
            "binary_cross_entropy_with_logits", tags);
    if (call->role == TP_DOES_NLL && (tags & TP_TAG_PROBS))
        add(flow, call->function, NLL_WITHOUT_LOG, "nll_loss", tags);
}

static void judge_log(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t tags = tp_flow_value(flow, tp_flow_operand(flow, call));
    if (tags & TP_TAG_EXP_SUM)
        add_powers(flow, call->function, "logsumexp", tags);
    if (tags & TP_TAG_PROBS)
        add(flow, call->function, LOG_SOFTMAX, "log", tags);
    if (tags & TP_TAG_SIGMOID)
        add(flow, call->function, LOG_SIGMOID, "log", tags);
}

static void judge_call(struct tp_flow *flow, const struct tp_call *call)
{
    switch (call->role) {
    case TP_DOES_LOG:
        judge_log(flow, call);
        break;
    case TP_DOES_CROSS_ENTROPY:
    case TP_DOES_BCE_LOGITS:
    case TP_DOES_NLL:
        judge_loss(flow, call);
        break;
    case TP_DOES_SQRT:
        judge_sqrt(flow, call->function, tp_flow_operand(flow, call));
        break;
    case TP_DOES_WHERE:
        judge_where(flow, call);
        break;
    default:
        judge_method(flow, call);
        break;
    }
}

const struct tp_check_family tp_check_numerics = {.rules = rules,
                                                  .call = judge_call,
                                                  .assignment =
                                                      judge_assignment,
                                                  .operation = judge_operation};
