/* SPDX-License-Identifier: MIT */
/* What goes around autocast, or breaks under it. */
#include <string.h>

#include "check/check_flow.h"

#define AMP "SCRIPTS UNDER AUTOCAST"

enum {
    HALF_CALL,
    BCE,
    LOSS_OUTSIDE_AUTOCAST,
    SOFTMAX_DTYPE,
    REDUCE_OUTSIDE_AUTOCAST,
    AUTOGRAD_FUNCTION,
    BACKWARD_INSIDE_AUTOCAST,
    DEPRECATED_AUTOCAST
};

static const struct tp_check_rule rules[] = {
    [HALF_CALL] = {"half_call",
                   TP_SEVERITY_HIGH,
                   "a cast by .half() or .bfloat16()",
                   "% call detected",
                   {"a cast by hand may go around what AMP protects",
                    "手动类型转换可能绕过AMP保护"},
                   {"remove %, use with autocast()",
                    "删除%，使用with autocast()"},
                   AMP},
    [BCE] = {"bce",
             TP_SEVERITY_HIGH,
             "binary_cross_entropy, or BCELoss",
             "% usage",
             {"this function raises an error under AMP on CUDA",
              "该函数在AMP中会报错"},
             {"use binary_cross_entropy_with_logits instead",
              "改用binary_cross_entropy_with_logits"},
             AMP},
    [LOSS_OUTSIDE_AUTOCAST] =
        {"loss_outside_autocast",
         TP_SEVERITY_HIGH,
         "a loss of what autocast made, computed behind its block",
         "% outside autocast",
         {"its input comes from autocast in 16 bits, and so the loss is "
          "computed in 16 bits",
          "输入来自autocast，为16位类型，loss因此以16位精度计算"},
         {"compute the loss inside the with autocast() block",
          "将loss计算移入with autocast()代码块内"},
         AMP},
    [SOFTMAX_DTYPE] =
        {"softmax_dtype",
         TP_SEVERITY_MEDIUM,
         "softmax without dtype",
         "% without dtype",
         {"in fp16 scores beyond 65504 are Inf, and results below 3e-8 are 0",
          "FP16下可能溢出，小于3e-8的结果变为0"},
         {"pass dtype=torch.float32", "指定dtype=torch.float32"},
         AMP},
    [REDUCE_OUTSIDE_AUTOCAST] =
        {"reduce_outside_autocast",
         TP_SEVERITY_MEDIUM,
         "sum or mean of a 16-bit tensor outside autocast",
         "% of a 16-bit tensor outside autocast",
         {"the result is rounded to 16 bits, and in fp16 it is Inf beyond "
          "65504",
          "结果以16位保存，失去FP32保护，FP16下超过65504即为Inf"},
         {"pass dtype=torch.float32, or call .float() first",
          "指定dtype=torch.float32，或先调用.float()"},
         AMP},
    [AUTOGRAD_FUNCTION] =
        {"autograd_function",
         TP_SEVERITY_MEDIUM,
         "a torch.autograd.Function without custom_fwd",
         "autograd.Function % without custom_fwd",
         {"under autocast its inputs have whatever dtype they have, and its "
          "backward another state of autocast",
          "autocast下输入类型不确定，backward与forward的autocast状态可能不同"},
         {"decorate forward with custom_fwd, backward with custom_bwd",
          "用custom_fwd装饰forward，用custom_bwd装饰backward"},
         AMP},
    [BACKWARD_INSIDE_AUTOCAST] =
        {"backward_inside_autocast",
         TP_SEVERITY_MEDIUM,
         "backward() called inside autocast",
         "% inside autocast",
         {"backward runs each operation in the dtype of its forward; under "
          "autocast that may change",
          "backward应沿用forward的类型，放在autocast内可能改变类型"},
         {"call % behind the with block", "将%移到with代码块之外"},
         AMP},
    [DEPRECATED_AUTOCAST] =
        {"deprecated_autocast",
         TP_SEVERITY_LOW,
         "torch.cuda.amp or torch.cpu.amp, deprecated since torch 2.4",
         "% is deprecated",
         {"torch 2.4 and later warn about it", "torch 2.4起会告警"},
         {"use torch.amp with the device as first argument",
          "改用torch.amp，并以设备名为第一个参数"},
         AMP},
    {0}};

/* A cast has no argument. */
static void judge_half(struct tp_flow *flow, const struct tp_call *call)
{
    if (flow->at[call->function].next)
        return;
    tp_flow_add_as(
        flow, call->function, &rules[HALF_CALL],
        tp_flow_is(flow, call->function, "half") ? ".half()" : ".bfloat16()",
        flow->scope.no_grad ? TP_SEVERITY_LOW : rules[HALF_CALL].severity);
}

static void judge_softmax(struct tp_flow *flow, const struct tp_call *call)
{
    /* F.softmax has one parameter more, torch's fewer, a method no input */
    size_t place = call->receiver                     ? 1
                   : strstr(call->path, "functional") ? 3
                                                      : 2;
    uint32_t tags = tp_flow_value(flow, tp_flow_operand(flow, call));
    if (tp_flow_has_dtype(flow, call, place) || tags & TP_TAG_FLOAT)
        return;
    tp_flow_add_as(flow, call->function, &rules[SOFTMAX_DTYPE], "softmax",
                   flow->scope.autocast || flow->scope.no_grad
                       ? TP_SEVERITY_LOW
                       : rules[SOFTMAX_DTYPE].severity);
}

static void judge_reduce(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t tags = tp_flow_value(flow, tp_flow_operand(flow, call));
    if (flow->scope.autocast || flow->scope.no_grad ||
        tp_flow_has_dtype(flow, call, SIZE_MAX) ||
        !(tags & (TP_TAG_HALF | TP_TAG_AUTOCAST_OUT)))
        return;
    tp_flow_add(flow, call->function, &rules[REDUCE_OUTSIDE_AUTOCAST],
                tp_flow_is(flow, call->function, "sum") ? "sum" : "mean");
}

static void judge_loss(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t input = tp_script_argument(flow->script, call->node, "input", 0);
    if ((tp_flow_value(flow, input) & TP_TAG_AUTOCAST_OUT) &&
        !flow->scope.autocast && !flow->scope.no_grad)
        tp_flow_add(flow, call->function, &rules[LOSS_OUTSIDE_AUTOCAST],
                    "loss");
}

/* Names that torch warns about. */
static void judge_deprecated(struct tp_flow *flow, const struct tp_call *call)
{
    static const char *const old[] = {
        "torch.cuda.amp.autocast", "torch.cpu.amp.autocast",
        "torch.cuda.amp.GradScaler", "torch.cpu.amp.GradScaler"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        if (!strcmp(call->path, old[i]))
            tp_flow_add(flow, call->function, &rules[DEPRECATED_AUTOCAST],
                        call->path);
    }
}

static void judge_call(struct tp_flow *flow, const struct tp_call *call)
{
    switch (call->role) {
    case TP_DOES_HALF:
        judge_half(flow, call);
        break;
    case TP_DOES_BCE:
        tp_flow_add(flow, call->function, &rules[BCE], "binary_cross_entropy");
        break;
    case TP_DOES_MAKE_BCE:
        tp_flow_add(flow, call->function, &rules[BCE], "BCELoss");
        break;
    case TP_DOES_SOFTMAX:
        judge_softmax(flow, call);
        break;
    case TP_DOES_REDUCE:
        judge_reduce(flow, call);
        break;
    case TP_DOES_CROSS_ENTROPY:
    case TP_DOES_BCE_LOGITS:
    case TP_DOES_NLL:
    case TP_DOES_LOSS:
        judge_loss(flow, call);
        break;
    case TP_DOES_BACKWARD:
        if (flow->scope.autocast)
            tp_flow_add(flow, call->function, &rules[BACKWARD_INSIDE_AUTOCAST],
                        ".backward()");
        break;
    case TP_DOES_AUTOCAST:
    case TP_DOES_MAKE_SCALER:
        judge_deprecated(flow, call);
        break;
    default:
        break;
    }
}

/* A torch.autograd.Function whose forward says nothing of autocast. */
static void judge_class(struct tp_flow *flow, uint32_t node)
{
    char path[TP_PATH_MAX], name[64];
    bool derives = false;
    uint32_t body = tp_py_last(&flow->script->tree, node), forward = 0;
    for (uint32_t i = flow->at[node].child; i && i != body;
         i = flow->at[i].next) {
        tp_script_path(flow->script, i, path);
        derives |= !strcmp(path, "torch.autograd.Function") ||
                   !strcmp(path, "torch.autograd.function.Function");
    }
    for (uint32_t i = flow->at[body].child; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_FUNCTION &&
            tp_flow_is(flow, i, "forward"))
            forward = i;
    }
    if (!derives || !forward || tp_flow_decorated(flow, forward, "custom_fwd"))
        return;
    tp_flow_name(flow, node, name);
    tp_flow_add(flow, node, &rules[AUTOGRAD_FUNCTION], name);
}

const struct tp_check_family tp_check_amp = {
    .rules = rules, .call = judge_call, .class_ = judge_class};
