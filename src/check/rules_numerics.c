/* SPDX-License-Identifier: MIT */
/* Formulas that lose numbers, or are given what they do not want. */
#include "check/check_flow.h"

#define NUMERICS "UNSTABLE FORMULAS"

enum {
    LOG_SOFTMAX,
    LOG_SIGMOID,
    SOFTMAX_BEFORE_CROSS_ENTROPY,
    SIGMOID_BEFORE_BCE_WITH_LOGITS,
    NLL_WITHOUT_LOG
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
    {0}};

/* What a loss is given. */
static void judge_loss(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t input = tp_script_argument(flow->script, call->node, "input", 0);
    uint32_t tags = tp_flow_value(flow, input);
    if (call->role == TP_DOES_CROSS_ENTROPY && (tags & TP_TAG_PROBS))
        tp_flow_add(flow, call->function, &rules[SOFTMAX_BEFORE_CROSS_ENTROPY],
                    "cross_entropy");
    if (call->role == TP_DOES_BCE_LOGITS && (tags & TP_TAG_SIGMOID))
        tp_flow_add(flow, call->function,
                    &rules[SIGMOID_BEFORE_BCE_WITH_LOGITS],
                    "binary_cross_entropy_with_logits");
    if (call->role == TP_DOES_NLL && (tags & TP_TAG_PROBS))
        tp_flow_add(flow, call->function, &rules[NLL_WITHOUT_LOG], "nll_loss");
}

static void judge_log(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t tags = tp_flow_value(flow, tp_flow_operand(flow, call));
    if (tags & TP_TAG_PROBS)
        tp_flow_add(flow, call->function, &rules[LOG_SOFTMAX], "log");
    if (tags & TP_TAG_SIGMOID)
        tp_flow_add(flow, call->function, &rules[LOG_SIGMOID], "log");
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
    default:
        break;
    }
}

const struct tp_check_family tp_check_numerics = {.rules = rules,
                                                  .call = judge_call};
