/* SPDX-License-Identifier: MIT */
/* Numbers that 16 bits do not hold, and sums that they lose. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/check_flow.h"
#include "check/check_purpose.h"

#define HALF "NUMBERS IN SIXTEEN BITS"

/* Half of the smallest number of float16, 2^-24: less is rounded to 0. */
#define SMALLEST 0x1p-25
#define LARGEST 65504

enum {
    EPS_BELOW_FP16,
    MASK_BELOW_FP16,
    ALL_MASKED_ROW,
    SQUARE_IN_HALF,
    CUMSUM_IN_HALF,
    ARANGE_IN_HALF,
    ROPE_IN_HALF,
    ADAM_EPS_HALF,
    HALF_OPTIMIZER,
    EMA_IN_HALF,
    NORM_LAYER_HALF
};

static const struct tp_check_rule rules[] = {
    [EPS_BELOW_FP16] =
        {"eps_below_fp16",
         TP_SEVERITY_MEDIUM,
         "a small number added to float16 that rounds to 0 there",
         "eps of % in float16",
         {"float16 rounds what is below 3e-8 to 0: it protects from nothing",
          "float16将小于3e-8的数舍入为0，起不到保护作用"},
         {"use 1e-6 or more, or compute it in fp32",
          "使用1e-6以上的值，或以FP32计算"},
         HALF},
    [MASK_BELOW_FP16] =
        {"mask_below_fp16",
         TP_SEVERITY_MEDIUM,
         "masked_fill with a number that float16 does not hold",
         "masked_fill with %",
         {"float16 ends at 65504: torch raises an error for a float16 tensor",
          "float16最大为65504，对float16张量会报错"},
         {"use torch.finfo(x.dtype).min", "改用torch.finfo(x.dtype).min"},
         HALF},
    [ALL_MASKED_ROW] =
        {"all_masked_row",
         TP_SEVERITY_LOW,
         "a softmax of what is masked with -Inf",
         "% of rows masked with -Inf",
         {"a row that is masked as a whole is NaN, and so is its gradient",
          "整行被屏蔽时结果与梯度均为NaN"},
         {"mask with torch.finfo(x.dtype).min",
          "改用torch.finfo(x.dtype).min作为屏蔽值"},
         HALF},
    [SQUARE_IN_HALF] = {"square_in_half",
                        TP_SEVERITY_LOW,
                        "a square in float16",
                        "square in float16",
                        {"it is Inf beyond 255.9 and 0 below 1.7e-4",
                         "绝对值超过255.9时为Inf，小于1.7e-4时为0"},
                        {"call .float() first", "先调用.float()"},
                        HALF},
    [CUMSUM_IN_HALF] = {"cumsum_in_half",
                        TP_SEVERITY_LOW,
                        "cumsum, cumprod or prod in 16 bits",
                        "% in 16 bits",
                        {"each partial result is rounded to 11 bits in "
                         "float16, to 8 in bfloat16",
                         "每个部分结果都会舍入：float16为11位，bfloat16为8位"},
                        {"pass dtype=torch.float32", "指定dtype=torch.float32"},
                        HALF},
    [ARANGE_IN_HALF] = {"arange_in_half",
                        TP_SEVERITY_MEDIUM,
                        "positions counted in 16 bits",
                        "% in 16 bits",
                        {"float16 holds all integers to 2048, bfloat16 to 256: "
                         "positions beyond are rounded to their neighbours",
                         "float16只能精确表示2048以内的整数，bfloat16为256，之"
                         "后相邻位置会变成同一个数"},
                        {"count in integers or fp32, and cast the result",
                         "使用整数或FP32计数，最后再转换"},
                        HALF},
    [ROPE_IN_HALF] =
        {"rope_in_half",
         TP_SEVERITY_MEDIUM,
         "cos or sin of angles in 16 bits",
         "% of 16-bit angles",
         {"an angle beyond 256 has steps of 0.25 in float16, of 2 in bfloat16: "
          "the phase is lost",
          "角度超过256时，float16的间隔为0.25，bfloat16为2，相位丢失"},
         {"compute angles, cos and sin in fp32, and cast the result",
          "以FP32计算角度及cos、sin，最后再转换"},
         HALF},
    [ADAM_EPS_HALF] =
        {"adam_eps_half",
         TP_SEVERITY_HIGH,
         "Adam on float16 parameters with an eps that rounds to 0",
         "% on float16 parameters",
         {"eps rounds to 0 in float16: a gradient whose square is 0 gives 0 / "
          "0, NaN",
          "eps在float16中舍入为0，梯度平方下溢时得到0/0即NaN"},
         {"keep fp32 parameters and use autocast",
          "保持FP32参数并使用autocast"},
         HALF},
    [HALF_OPTIMIZER] =
        {"half_optimizer_without_master",
         TP_SEVERITY_HIGH,
         "an optimizer on 16-bit parameters",
         "% on 16-bit parameters",
         {"an update below 2^-9 of a weight in bfloat16, 2^-12 in float16, "
          "rounds away; no fp32 copy keeps it",
          "小于权重2^-9（bfloat16）或2^-"
          "12（float16）的更新会被舍入丢失，没有FP32副本保留"},
         {"keep fp32 parameters and use autocast, or an optimizer with fp32 "
          "copies",
          "保持FP32参数并使用autocast，或使用带FP32主权重的优化器"},
         HALF},
    [EMA_IN_HALF] = {"ema_in_half",
                     TP_SEVERITY_MEDIUM,
                     "a moving average in 16 bits",
                     "% of a moving average in 16 bits",
                     {"its steps are smaller than half a unit in the last "
                      "place, so that it stays where it is",
                      "每步变化小于半个最低有效位，均值停滞不动"},
                     {"keep the average in fp32", "以FP32保存滑动平均"},
                     HALF},
    [NORM_LAYER_HALF] =
        {"norm_layer_half",
         TP_SEVERITY_MEDIUM,
         "a normalization layer with 16-bit parameters",
         "% in 16 bits",
         {"weights near 1 move in steps of at least 2^-8 in bfloat16, 2^-11 in "
          "float16, and running statistics likewise",
          "接近1的权重的最小步长为2^-8（bfloat16）或2^-"
          "11（float16），运行统计量亦然"},
         {"keep normalization layers in fp32", "归一化层保持FP32"},
         HALF},
    {0}};

/* Whether a number that is added to tags, or is their least, is lost. */
static void judge_eps(struct tp_flow *flow, uint32_t node, uint32_t tensor,
                      uint32_t eps)
{
    double value;
    char text[64];
    if (!tp_flow_number(flow, eps, &value) || value <= 0 || value >= SMALLEST ||
        !(tp_flow_value(flow, tensor) & TP_TAG_FP16))
        return;
    snprintf(text, sizeof text, "%g", value);
    tp_flow_add(flow, node, &rules[EPS_BELOW_FP16], text);
}

static void judge_operation(struct tp_flow *flow, uint32_t node)
{
    double number;
    uint32_t left = flow->at[node].child, second = flow->at[left].next;
    if (flow->at[node].kind != TP_PY_BINARY)
        return;
    if (flow->at[second].op == TP_PY_OP('+')) {
        judge_eps(flow, second, left, second);
        judge_eps(flow, left, second, left);
    }
    if (flow->at[second].op == TP_PY_OP2('*', '*') &&
        tp_flow_number(flow, second, &number) && number == 2 &&
        !flow->scope.autocast && tp_flow_value(flow, left) & TP_TAG_FP16)
        tp_flow_add(flow, second, &rules[SQUARE_IN_HALF], "square");
}

/* Whether tensors here may be float16: known, or the script uses it. */
static bool may_be_fp16(const struct tp_flow *flow, uint32_t tags)
{
    if (tags & (TP_TAG_FP16 | TP_TAG_BF16 | TP_TAG_FLOAT))
        return tags & TP_TAG_FP16;
    return *flow->seen &
           (TP_SEEN_FP16 | TP_SEEN_FP16_AUTOCAST | TP_SEEN_SCALER);
}

static void judge_mask(struct tp_flow *flow, const struct tp_call *call)
{
    double value;
    char text[64];
    uint32_t number = tp_script_argument(flow->script, call->node, "value",
                                         call->receiver ? 1 : 2);
    uint32_t tags = tp_flow_value(flow, tp_flow_operand(flow, call));
    if (!tp_flow_number(flow, number, &value) || fabs(value) <= LARGEST ||
        tags & (TP_TAG_BF16 | TP_TAG_FLOAT))
        return;
    snprintf(text, sizeof text, "%g", value);
    tp_flow_add_as(flow, call->function, &rules[MASK_BELOW_FP16], text,
                   may_be_fp16(flow, tags) ? rules[MASK_BELOW_FP16].severity
                                           : TP_SEVERITY_LOW);
}

/* torch.arange(n, dtype=torch.bfloat16) that counts further than is exact. */
static void judge_arange(struct tp_flow *flow, const struct tp_call *call)
{
    double end;
    uint32_t tags = tp_flow_value(flow, call->node);
    uint32_t first = flow->at[call->function].next,
             second = flow->at[first].next;
    if (!(tags & TP_TAG_HALF) || !first)
        return;
    uint32_t last =
        second && flow->at[second].kind != TP_PY_NAMED ? second : first;
    if (tp_flow_number(flow, last, &end) &&
        end <= (tags & TP_TAG_FP16 ? 2049 : 257))
        return;
    tp_flow_add(flow, call->function, &rules[ARANGE_IN_HALF], "arange");
}

static void judge_half_operand(struct tp_flow *flow, const struct tp_call *call)
{
    char name[64];
    uint32_t tags = tp_flow_value(flow, tp_flow_operand(flow, call));
    tp_flow_name(flow, call->function, name);
    if (!(tags & TP_TAG_HALF) || tags & TP_TAG_DTYPE)
        return;
    if (call->role == TP_DOES_TRIGONOMETRY)
        tp_flow_add(flow, call->function, &rules[ROPE_IN_HALF], name);
    else if (call->role == TP_DOES_CUMULATE && !flow->scope.autocast &&
             !tp_flow_has_dtype(flow, call, SIZE_MAX))
        tp_flow_add(flow, call->function, &rules[CUMSUM_IN_HALF], name);
    else if (call->role == TP_DOES_SQUARE && tags & TP_TAG_FP16 &&
             tp_flow_value(flow, call->node) & TP_TAG_SQUARE &&
             !flow->scope.autocast)
        tp_flow_add(flow, call->function, &rules[SQUARE_IN_HALF], "square");
}

/* The tags of the module whose parameters() stand in an expression. */
static uint32_t parameters_of(const struct tp_flow *flow, uint32_t node,
                              int deep)
{
    struct tp_call call;
    uint32_t tags = 0;
    if (flow->at[node].kind == TP_PY_CALL) {
        tp_call_read(flow->script, node, &call);
        if (call.receiver &&
            (tp_flow_is(flow, call.function, "parameters") ||
             tp_flow_is(flow, call.function, "named_parameters")))
            return tp_flow_value(flow, call.receiver);
    }
    for (uint32_t i = flow->at[node].child; i && deep < 8 && !tags;
         i = flow->at[i].next)
        tags = parameters_of(flow, i, deep + 1);
    return tags;
}

/* Whether an optimizer that is made here can step: the script does it, or hands
 * the optimizer on. */
static bool may_step(const struct tp_flow *flow)
{
    static const char *const words[] = {"step", "fit", "train", "Trainer",
                                        NULL};
    uint32_t function = flow->scope.function;
    return tp_flow_knows_any(flow, words) || flow->scope.class_ ||
           (function && (tp_flow_mentions(flow, function, "return") ||
                         tp_flow_mentions(flow, function, "yield")));
}

static void judge_optimizer(struct tp_flow *flow, const struct tp_call *call)
{
    char name[64];
    double eps = 1e-8; /* the default of Adam and AdamW */
    uint32_t tags = parameters_of(
        flow, tp_script_argument(flow->script, call->node, "params", 0), 0);
    if (!(tags & TP_TAG_HALF))
        return;
    tp_flow_name(flow, call->function, name);
    uint32_t given = tp_script_argument(flow->script, call->node, "eps", 3);
    bool known = !given || tp_flow_number(flow, given, &eps);
    bool is_adam = !strcmp(name, "Adam") || !strcmp(name, "AdamW") ||
                   !strcmp(name, "NAdam") || !strcmp(name, "RAdam") ||
                   !strcmp(name, "RMSprop");
    const struct tp_check_rule *rule =
        &rules[is_adam && known && eps < SMALLEST && tags & TP_TAG_FP16
                   ? ADAM_EPS_HALF
                   : HALF_OPTIMIZER];
    tp_flow_add_as(flow, call->function, rule, name,
                   may_step(flow) && !tp_flow_only_infers(flow) &&
                           !tp_flow_keeps_copies(flow)
                       ? rule->severity
                       : TP_SEVERITY_LOW);
}

/* "average.mul_(0.999).add_(x, alpha=0.001)", "average.lerp_(x, 0.001)". */
static void judge_average(struct tp_flow *flow, const struct tp_call *call)
{
    struct tp_call inner;
    double weight;
    uint32_t average = call->receiver, factor;
    if (tp_flow_is(flow, call->function, "lerp_")) {
        factor = tp_script_argument(flow->script, call->node, "weight", 1);
        if (!tp_flow_number(flow, factor, &weight) || weight > 0.01)
            return;
    } else {
        if (!tp_flow_is(flow, call->function, "add_") ||
            flow->at[average].kind != TP_PY_CALL)
            return;
        tp_call_read(flow->script, average, &inner);
        factor = tp_script_argument(flow->script, inner.node, "other", 0);
        if (!inner.receiver || !tp_flow_is(flow, inner.function, "mul_") ||
            !factor ||
            !(tp_flow_number(flow, factor, &weight)
                  ? weight >= 0.99 && weight < 1
                  : tp_flow_contains(flow, factor, "decay") ||
                        tp_flow_contains(flow, factor, "momentum")))
            return;
        average = inner.receiver;
    }
    if (tp_flow_value(flow, average) & TP_TAG_HALF)
        tp_flow_add(flow, call->function, &rules[EMA_IN_HALF],
                    tp_flow_is(flow, call->function, "lerp_") ? "lerp_"
                                                              : "add_");
}

/* A normalization layer that is made in 16 bits, or cast to them. */
static void judge_norm(struct tp_flow *flow, const struct tp_call *call)
{
    static const char *const asks[] = {"is_", "has_", "check", NULL};
    char name[64];
    uint32_t made = call->node;
    if (call->role == TP_DOES_HALF || call->role == TP_DOES_CAST)
        made = call->receiver;
    if (flow->at[made].kind != TP_PY_CALL ||
        !(tp_flow_value(flow, call->node) & TP_TAG_HALF))
        return;
    struct tp_call maker;
    tp_call_read(flow->script, made, &maker);
    if (maker.role != TP_DOES_MAKE_NORM)
        return;
    tp_flow_name(flow, maker.function, name);
    tp_flow_add_as(flow, call->function, &rules[NORM_LAYER_HALF], name,
                   tp_flow_only_infers(flow) || tp_flow_is_named(flow, asks)
                       ? TP_SEVERITY_LOW
                       : rules[NORM_LAYER_HALF].severity);
}

static void judge_call(struct tp_flow *flow, const struct tp_call *call)
{
    switch (call->role) {
    case TP_DOES_NONE:
        if (call->receiver)
            judge_average(flow, call);
        else if (!strcmp(call->path, "torch.optim.swa_utils.AveragedModel") &&
                 tp_flow_value(
                     flow,
                     tp_script_argument(flow->script, call->node, "model", 0)) &
                     TP_TAG_HALF)
            tp_flow_add(flow, call->function, &rules[EMA_IN_HALF],
                        "AveragedModel");
        break;
    case TP_DOES_SOFTMAX:
        if (tp_flow_value(flow, tp_flow_operand(flow, call)) & TP_TAG_MASKED)
            tp_flow_add(flow, call->function, &rules[ALL_MASKED_ROW],
                        "softmax");
        break;
    case TP_DOES_CLAMP:
        judge_eps(flow, call->function, tp_flow_operand(flow, call),
                  tp_script_argument(flow->script, call->node, "min",
                                     call->receiver ? 0 : 1));
        break;
    case TP_DOES_MASKED_FILL:
        judge_mask(flow, call);
        break;
    case TP_DOES_ARANGE:
        judge_arange(flow, call);
        break;
    case TP_DOES_TRIGONOMETRY:
    case TP_DOES_CUMULATE:
    case TP_DOES_SQUARE:
        judge_half_operand(flow, call);
        break;
    case TP_DOES_MAKE_OPTIMIZER:
        judge_optimizer(flow, call);
        break;
    case TP_DOES_MAKE_NORM:
    case TP_DOES_HALF:
    case TP_DOES_CAST:
        judge_norm(flow, call);
        break;
    default:
        break;
    }
}

const struct tp_check_family tp_check_half = {
    .rules = rules, .call = judge_call, .operation = judge_operation};
