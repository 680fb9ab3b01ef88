/* SPDX-License-Identifier: MIT */
/* What goes around autocast, or breaks under it. */
#include <stdio.h>
#include <string.h>

#include "check/amp_ops.h"
#include "check/check_casts.h"
#include "check/check_flow.h"
#include "check/check_purpose.h"
#include "check/check_uses.h"

#define AMP "SCRIPTS UNDER AUTOCAST"

enum {
    HALF_CALL,
    BCE,
    LOSS_OUTSIDE_AUTOCAST,
    SOFTMAX_DTYPE,
    REDUCE_OUTSIDE_AUTOCAST,
    AUTOGRAD_FUNCTION,
    BACKWARD_INSIDE_AUTOCAST,
    DEPRECATED_AUTOCAST,
    TO_HALF,
    OPTIMIZER_STEP_INSIDE_AUTOCAST,
    HALF_MODEL_AUTOCAST,
    CAST_INSIDE_AUTOCAST,
    NESTED_AUTOCAST,
    DISABLED_AUTOCAST_INPUT,
    FP16_ON_CPU,
    DATA_PARALLEL_AUTOCAST
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
    [TO_HALF] = {"to_half",
                 TP_SEVERITY_HIGH,
                 "a cast by .to(torch.float16) or .type(torch.half)",
                 "% call detected",
                 {"a cast by hand may go around what AMP protects",
                  "手动类型转换可能绕过AMP保护"},
                 {"remove %, use with autocast()",
                  "删除%，使用with autocast()"},
                 AMP},
    [OPTIMIZER_STEP_INSIDE_AUTOCAST] =
        {"optimizer_step_inside_autocast",
         TP_SEVERITY_LOW,
         "an optimizer that steps inside autocast",
         "% inside autocast",
         {"autocast is for forward and loss; operators of the optimizer would "
          "be chosen by it, too",
          "autocast只用于forward和loss，放在其中时优化器的算子类型也会被其改"
          "变"},
         {"call % behind the with block", "将%移到with代码块之外"},
         AMP},
    [HALF_MODEL_AUTOCAST] =
        {"half_model_autocast",
         TP_SEVERITY_HIGH,
         "a model that was cast to 16 bits, run under autocast",
         "% in 16 bits under autocast",
         {"autocast wants weights in fp32 and casts them itself; now no fp32 "
          "weights take the small updates, and GradScaler refuses fp16 "
          "gradients",
          "autocast要求权重为FP32并自行转换，此时没有FP32权重承接小更新，且Grad"
          "Scaler会拒绝FP16梯度"},
         {"do not cast the model, autocast is enough",
          "不要转换模型类型，使用autocast即可"},
         AMP},
    [CAST_INSIDE_AUTOCAST] =
        {"cast_inside_autocast",
         TP_SEVERITY_MEDIUM,
         "a cast to fp32 that autocast takes back",
         "% of a tensor cast to fp32, inside autocast",
         {"autocast casts the inputs of this operator to 16 bits again, "
          "whatever they were",
          "autocast会把该算子的输入重新转为16位，转换为FP32无效"},
         {"put it below with autocast(enabled=False)",
          "将其放入with autocast(enabled=False)中"},
         AMP},
    [NESTED_AUTOCAST] = {"nested_autocast",
                         TP_SEVERITY_LOW,
                         "autocast inside autocast, with another dtype",
                         "% with another dtype inside autocast",
                         {"tensors of both 16-bit dtypes meet, and torch "
                          "promotes them to fp32 or raises an error",
                          "两种16位类型的张量相遇，会被提升为FP32或报错"},
                         {"use one dtype for both", "两处使用同一类型"},
                         AMP},
    [DISABLED_AUTOCAST_INPUT] =
        {"disabled_autocast_input",
         TP_SEVERITY_MEDIUM,
         "a 16-bit output of autocast given to what runs with autocast off",
         "% of a 16-bit tensor with autocast off",
         {"what autocast made is still in 16 bits: with fp32 weights this "
          "raises an error, else it computes in 16 bits",
          "输入仍为autocast产生的16位类型，与FP32权重相遇会报错，否则以16位计"
          "算"},
         {"call .float() on the input first", "先对输入调用.float()"},
         AMP},
    [FP16_ON_CPU] =
        {"fp16_on_cpu",
         TP_SEVERITY_MEDIUM,
         "autocast of the CPU with float16",
         "% with float16 on CPU",
         {"autocast of the CPU is made for bfloat16; older torch turns it off "
          "for float16, with a warning, and float16 needs a GradScaler",
          "CPU的autocast面向bfloat16，旧版torch遇到float16会告警并关闭autocast"
          "，且float16需要GradScaler"},
         {"use dtype=torch.bfloat16", "使用dtype=torch.bfloat16"},
         AMP},
    [DATA_PARALLEL_AUTOCAST] =
        {"data_parallel_autocast",
         TP_SEVERITY_MEDIUM,
         "a DataParallel called under autocast with bfloat16",
         "% is a DataParallel under autocast with bfloat16",
         {"its threads learn that autocast is on, not its dtype: they compute "
          "in float16",
          "其线程只继承autocast开关，不继承类型，实际以float16计算"},
         {"decorate forward with autocast, or use DistributedDataParallel",
          "用autocast装饰forward，或改用DistributedDataParallel"},
         AMP},
    {0}};

/* Whether numbers have the range of float16 here, by evidence. Methods are
 * mostly called from forward, and that under autocast where there is any: there
 * softmax runs in fp32. */
static bool is_fp16(const struct tp_flow *flow, uint32_t tags)
{
    uint32_t seen = *flow->seen;
    if (tags & (TP_TAG_FP16 | TP_TAG_BF16))
        return tags & TP_TAG_FP16;
    if (flow->scope.autocast)
        return false;
    if (!flow->scope.class_)
        return seen & (TP_SEEN_FP16 | TP_SEEN_FP16_AUTOCAST | TP_SEEN_SCALER);
    return seen & TP_SEEN_FP16 &&
           !(seen & (TP_SEEN_AUTOCAST | TP_SEEN_SCALER)) &&
           !tp_flow_knows(flow, "autocast") &&
           !tp_flow_knows(flow, "is_autocast_enabled");
}

static void add_cast(struct tp_flow *flow, const struct tp_call *call, int rule,
                     const char *what)
{
    bool harms = tp_flow_trains_here(flow) && !tp_cast_is_meant(flow, call);
    tp_flow_add_as(flow, call->function, &rules[rule], what,
                   harms ? rules[rule].severity : TP_SEVERITY_LOW);
}

/* A loss that is made here, without a weight, has no tensor to cast:
 * nn.CrossEntropyLoss().cuda().half(). */
static bool casts_nothing(const struct tp_flow *flow,
                          const struct tp_call *call)
{
    struct tp_call inner = *call;
    char path[TP_PATH_MAX];
    while (inner.receiver && flow->at[inner.receiver].kind == TP_PY_CALL) {
        tp_call_judge(flow->script, inner.receiver, path, &inner);
        switch (inner.role) {
        case TP_DOES_MAKE_CROSS_ENTROPY:
        case TP_DOES_MAKE_BCE_LOGITS:
        case TP_DOES_MAKE_BCE:
        case TP_DOES_MAKE_NLL:
        case TP_DOES_MAKE_LOSS:
            return !flow->at[inner.function].next;
        default:
            break;
        }
    }
    return false;
}

/* A cast has no argument. */
static void judge_half(struct tp_flow *flow, const struct tp_call *call)
{
    if (!flow->at[call->function].next && !casts_nothing(flow, call))
        add_cast(flow, call, HALF_CALL,
                 tp_flow_is(flow, call->function, "half") ? ".half()"
                                                          : ".bfloat16()");
}

static void judge_cast(struct tp_flow *flow, const struct tp_call *call)
{
    char what[64], method[64];
    for (uint32_t i = flow->at[call->function].next; i; i = flow->at[i].next) {
        uint32_t value =
            flow->at[i].kind == TP_PY_NAMED ? flow->at[i].child : i;
        uint32_t tags = tp_flow_value(flow, value);
        if (!(tags & TP_TAG_DTYPE) || !(tags & TP_TAG_HALF))
            continue;
        size_t length;
        const char *dtype = tp_script_text(flow->script, value, &length);
        tp_flow_name(flow, call->function, method);
        snprintf(what, sizeof what, ".%.8s(%.*s)", method,
                 dtype ? (int)(length < 48 ? length : 48) : 0,
                 dtype ? dtype : "");
        add_cast(flow, call, TO_HALF, what);
        return;
    }
}

/* Whether the function casts something to fp32, perhaps this. */
static bool may_widen(const struct tp_flow *flow)
{
    uint32_t function = flow->scope.function;
    return function && (tp_flow_mentions(flow, function, "float") ||
                        tp_flow_mentions(flow, function, "float32"));
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
    bool harms = is_fp16(flow, tags) && !flow->scope.autocast &&
                 (tags & TP_TAG_FP16 || tp_flow_trains(flow)) &&
                 !tp_flow_only_infers(flow) &&
                 !tp_flow_depends_on(flow, "dtype") &&
                 !tp_flow_depends_on(flow, "train") &&
                 (tags & TP_TAG_FP16 || !may_widen(flow)) &&
                 !tp_flow_only_shows(flow, call->node);
    tp_flow_add_as(flow, call->function, &rules[SOFTMAX_DTYPE], "softmax",
                   harms ? rules[SOFTMAX_DTYPE].severity : TP_SEVERITY_LOW);
}

static void judge_reduce(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t tags = tp_flow_value(flow, tp_flow_operand(flow, call));
    if (flow->scope.autocast || flow->scope.no_grad ||
        tp_flow_has_dtype(flow, call, SIZE_MAX) ||
        !(tags & (TP_TAG_HALF | TP_TAG_AUTOCAST_OUT)) || tags & TP_TAG_DTYPE)
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

/* A script without functions that calls no backward() tries what it has, and
 * nobody can train with it. */
static bool is_trial(const struct tp_flow *flow)
{
    return flow->script->has_torch && flow->functions->count == 0 &&
           !(*flow->seen & (TP_SEEN_BACKWARD | TP_SEEN_TRAIN | TP_SEEN_SCALER));
}

/* It raises no error with autocast off; and a script that trains, and never in
 * 16 bits, may use it, as may what measures, or takes no gradient. An object
 * that nothing calls raises none. */
static void judge_bce(struct tp_flow *flow, const struct tp_call *call,
                      const char *what)
{
    const uint32_t mixed = TP_SEEN_AUTOCAST | TP_SEEN_SCALER | TP_SEEN_FP16;
    static const char *const measures[] = {"get_nll", "score", NULL};
    bool trains_in_fp32 =
        *flow->seen & TP_SEEN_BACKWARD && !(*flow->seen & mixed);
    bool given =
        call->role == TP_DOES_BCE &&
        tp_flow_value(flow, tp_flow_operand(flow, call)) & TP_TAG_CONSTANT;
    tp_flow_add_as(
        flow, call->function, &rules[BCE], what,
        trains_in_fp32 || given || is_trial(flow) || flow->scope.autocast_off ||
                flow->scope.autocast_asked || tp_flow_only_infers(flow) ||
                tp_flow_is_named(flow, measures) ||
                (call->role == TP_DOES_MAKE_BCE && !tp_flow_uses_made(flow))
            ? TP_SEVERITY_LOW
            : rules[BCE].severity);
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

static void judge_autocast(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t device =
        tp_script_argument(flow->script, call->node, "device_type", 0);
    judge_deprecated(flow, call);
    if (tp_flow_autocast_dtype(flow, call) & TP_TAG_FP16 &&
        (strstr(call->path, ".cpu.") || tp_flow_is_text(flow, device, "cpu")))
        tp_flow_add(flow, call->function, &rules[FP16_ON_CPU], "autocast");
}

/* Whether an expression is itself a cast to fp32. */
static bool is_widening(const struct tp_flow *flow, uint32_t node)
{
    struct tp_call call;
    if (flow->at[node].kind != TP_PY_CALL)
        return false;
    tp_call_read(flow->script, node, &call);
    return (call.role == TP_DOES_FLOAT || call.role == TP_DOES_CAST) &&
           tp_flow_value(flow, node) & TP_TAG_FLOAT;
}

/* An operator on matrices, under autocast, of one that was cast to fp32. */
static void judge_multiply(struct tp_flow *flow, const struct tp_call *call)
{
    char name[64];
    uint32_t first = tp_flow_operand(flow, call);
    uint32_t second =
        tp_py_child(&flow->script->tree, call->node, call->receiver ? 1 : 2);
    if (!flow->scope.autocast ||
        !(is_widening(flow, first) || is_widening(flow, second)))
        return;
    tp_flow_name(flow, call->function, name);
    tp_flow_add(flow, call->function, &rules[CAST_INSIDE_AUTOCAST], name);
}

static void judge_operation(struct tp_flow *flow, uint32_t node)
{
    uint32_t first = flow->at[node].child;
    if (flow->at[node].kind != TP_PY_BINARY || !flow->scope.autocast)
        return;
    for (uint32_t i = flow->at[first].next; i;
         first = i, i = flow->at[i].next) {
        if (flow->at[i].op == TP_PY_OP('@') &&
            (is_widening(flow, first) || is_widening(flow, i)))
            tp_flow_add(flow, i, &rules[CAST_INSIDE_AUTOCAST], "@");
    }
}

/* A module that is called. */
static void judge_module(struct tp_flow *flow, const struct tp_call *call)
{
    char name[64];
    uint32_t tags = tp_flow_value(flow, call->function);
    uint32_t input = flow->at[call->function].next;
    if (!(tags & TP_TAG_MODULE) || !input)
        return;
    tp_flow_name(flow, call->function, name);
    if (flow->scope.autocast && tags & TP_TAG_HALF)
        tp_flow_add_as(flow, call->function, &rules[HALF_MODEL_AUTOCAST], name,
                       *flow->seen & TP_SEEN_BACKWARD &&
                               !(tags & TP_TAG_CONSTANT) &&
                               !tp_flow_is_frozen(flow, call->function) &&
                               !tp_flow_only_infers(flow)
                           ? rules[HALF_MODEL_AUTOCAST].severity
                           : TP_SEVERITY_LOW);
    if (flow->scope.autocast && tags & TP_TAG_DATA_PARALLEL &&
        flow->scope.autocast_dtype == TP_TAG_BF16)
        tp_flow_add(flow, call->function, &rules[DATA_PARALLEL_AUTOCAST], name);
    if (flow->scope.autocast_off && !(tags & TP_TAG_HALF) &&
        tp_flow_value(flow, input) & TP_TAG_AUTOCAST_OUT)
        tp_flow_add(flow, call->function, &rules[DISABLED_AUTOCAST_INPUT],
                    name);
}

static void judge_step(struct tp_flow *flow, const struct tp_call *call)
{
    if (flow->scope.autocast &&
        (tp_script_object(flow->script, call->receiver) & TP_TAG_SCALER ||
         tp_flow_is_optimizer(flow, call->receiver)))
        tp_flow_add(flow, call->function,
                    &rules[OPTIMIZER_STEP_INSIDE_AUTOCAST], ".step()");
}

static void judge_call(struct tp_flow *flow, const struct tp_call *call)
{
    switch (call->role) {
    case TP_DOES_NONE:
        judge_module(flow, call);
        break;
    case TP_DOES_HALF:
        judge_half(flow, call);
        break;
    case TP_DOES_CAST:
        judge_cast(flow, call);
        break;
    case TP_DOES_BCE:
        judge_bce(flow, call, "binary_cross_entropy");
        break;
    case TP_DOES_MAKE_BCE:
        judge_bce(flow, call, "BCELoss");
        break;
    case TP_DOES_SOFTMAX:
        judge_softmax(flow, call);
        break;
    case TP_DOES_REDUCE:
        judge_reduce(flow, call);
        break;
    case TP_DOES_MULTIPLY:
        judge_multiply(flow, call);
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
    case TP_DOES_STEP:
        judge_step(flow, call);
        break;
    case TP_DOES_AUTOCAST:
        judge_autocast(flow, call);
        break;
    case TP_DOES_MAKE_SCALER:
        judge_deprecated(flow, call);
        break;
    default:
        break;
    }
}

static void judge_with(struct tp_flow *flow, uint32_t node)
{
    uint32_t expression = flow->at[node].child;
    uint32_t tags = tp_flow_value(flow, expression);
    uint32_t dtype = tags & (TP_TAG_FP16 | TP_TAG_BF16);
    uint32_t where = flow->at[expression].kind == TP_PY_CALL
                         ? flow->at[expression].child
                         : expression;
    if (tags & TP_TAG_AUTOCAST && flow->scope.autocast && dtype &&
        flow->scope.autocast_dtype && dtype != flow->scope.autocast_dtype &&
        !tp_flow_is_off(flow, expression))
        tp_flow_add(flow, where, &rules[NESTED_AUTOCAST], "autocast");
}

/* Whether an operand is complex: what a transform of torch.fft gives. */
static bool is_complex(const struct tp_flow *flow, uint32_t node)
{
    static const char *const transforms[] = {"fft", "ifft", "rfft", "ihfft"};
    char path[TP_PATH_MAX];
    if (flow->at[node].kind != TP_PY_CALL)
        return false;
    tp_script_path(flow->script, flow->at[node].child, path);
    if (strncmp(path, "torch.fft.", 10) || strstr(path, "freq") ||
        strstr(path, "shift"))
        return false;
    for (size_t i = 0; i < sizeof transforms / sizeof *transforms; i++) {
        if (!strncmp(path + 10, transforms[i], strlen(transforms[i])))
            return true;
    }
    return false;
}

/* Whether a product has only complex operands, which autocast leaves as they
 * are. `first`: of its operands, the text of an einsum among them. */
static bool is_complex_product(const struct tp_flow *flow, uint32_t first)
{
    bool any = false;
    for (uint32_t i = first; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_TEXT)
            continue;
        if (!is_complex(flow, i))
            return false;
        any = true;
    }
    return any;
}

/* Whether anything in an expression or a body multiplies matrices: there two
 * dtypes are an error, and autocast would have chosen one. What else it casts
 * takes either dtype. */
static bool multiplies(const struct tp_flow *flow, uint32_t node)
{
    uint32_t function = flow->at[node].child;
    if (flow->at[node].op == TP_PY_OP('@') &&
        !is_complex_product(flow, function))
        return true;
    if (flow->at[node].kind == TP_PY_CALL &&
        flow->at[function].kind == TP_PY_ATTRIBUTE &&
        !is_complex_product(flow, flow->at[function].next)) {
        char path[TP_PATH_MAX];
        tp_script_path(flow->script, function, path);
        const struct tp_py_token *token =
            &flow->script->tokens.at[flow->at[function].token];
        if ((!path[0] || !strncmp(path, "torch.", 6)) &&
            tp_amp_policy_of(flow->script->tokens.source + token->start,
                             token->length) == TP_AMP_LOWER)
            return true;
    }
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (multiplies(flow, i))
            return true;
    }
    return false;
}

/* Whether a class deals with dtypes or autocast itself, or its script does the
 * latter. */
static bool knows_autocast(const struct tp_flow *flow, uint32_t node)
{
    static const char word[] = "autocast";
    static const char *const casts[] = {"dtype", "to",      "float",
                                        "half",  "type_as", "dequantize"};
    const struct tp_py_tokens *tokens = &flow->script->tokens;
    if (tp_flow_knows(flow, "get_autocast_dtype") ||
        tp_flow_knows(flow, "get_autocast_gpu_dtype"))
        return true;
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        if (tp_flow_mentions(flow, node, casts[i]))
            return true;
    }
    for (uint32_t t = flow->at[node].token; t < flow->at[node].end; t++) {
        const char *text = tokens->source + tokens->at[t].start;
        size_t length = tokens->at[t].length, size = sizeof word - 1;
        if (tokens->at[t].kind != TP_PY_WORD)
            continue;
        for (size_t i = 0; i + size <= length; i++) {
            if (memcmp(text + i, word, size) == 0)
                return true;
        }
    }
    return false;
}

/* A torch.autograd.Function whose forward says nothing of autocast. One with
 * setup_context() has a forward without context, which custom_fwd needs. */
static void judge_class(struct tp_flow *flow, uint32_t node)
{
    char path[TP_PATH_MAX], name[64];
    bool derives = false, splits = false;
    uint32_t body = tp_py_last(&flow->script->tree, node);
    uint32_t forward = 0, backward = 0;
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
        if (flow->at[i].kind == TP_PY_FUNCTION &&
            tp_flow_is(flow, i, "backward"))
            backward = i;
        splits |= flow->at[i].kind == TP_PY_FUNCTION &&
                  tp_flow_is(flow, i, "setup_context");
    }
    if (!derives || !forward || splits ||
        tp_flow_decorated(flow, forward, "custom_fwd"))
        return;
    tp_flow_name(flow, node, name);
    tp_flow_add_as(flow, node, &rules[AUTOGRAD_FUNCTION], name,
                   multiplies(flow, forward) &&
                           (!backward || multiplies(flow, backward)) &&
                           !knows_autocast(flow, body) &&
                           !tp_flow_only_infers(flow)
                       ? rules[AUTOGRAD_FUNCTION].severity
                       : TP_SEVERITY_LOW);
}

const struct tp_check_family tp_check_amp = {.rules = rules,
                                             .call = judge_call,
                                             .operation = judge_operation,
                                             .with = judge_with,
                                             .class_ = judge_class};
