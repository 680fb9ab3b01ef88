/* SPDX-License-Identifier: MIT */
/* Precision that a script chooses for all that follows. */
#include <stdio.h>
#include <string.h>

#include "check/check_flow.h"
#include "check/check_purpose.h"

#define AMP "SCRIPTS UNDER AUTOCAST"
#define SETUP "PRECISION SETTINGS"

enum {
    DEFAULT_DTYPE_HALF,
    TF32_ON,
    MATMUL_MEDIUM,
    REDUCED_PRECISION_REDUCTION,
    REDUCE_IN_HALF,
    FP16_AND_BF16,
    STATIC_LOSS_SCALE
};

static const struct tp_check_rule rules[] = {
    [DEFAULT_DTYPE_HALF] =
        {"default_dtype_half",
         TP_SEVERITY_HIGH,
         "16 bits as the default dtype",
         "% with a 16-bit dtype",
         {"what is made without a dtype is 16 bits wide, the weights that AMP "
          "keeps in fp32 among it",
          "未指定dtype的张量均为16位，包括AMP本应保持FP32的权重"},
         {"leave the default at float32, use with autocast()",
          "保持默认float32，使用with autocast()"},
         AMP},
    [TF32_ON] = {"tf32_on",
                 TP_SEVERITY_LOW,
                 "TF32 for products of fp32 matrices",
                 "%",
                 {"products of fp32 keep 11 significant bits of their inputs",
                  "FP32矩阵乘的输入只保留11位有效位"},
                 {"leave it off where fp32 is meant, as in a reference run",
                  "需要真正FP32之处（如基准对比）保持关闭"},
                 SETUP},
    [MATMUL_MEDIUM] = {"matmul_medium",
                       TP_SEVERITY_MEDIUM,
                       "set_float32_matmul_precision(\"medium\")",
                       "% is \"medium\"",
                       {"products of fp32 may be computed in bfloat16, with 8 "
                        "significant bits",
                        "FP32矩阵乘可能以bfloat16计算，仅8位有效位"},
                       {"use \"high\" or \"highest\"",
                        "改用\"high\"或\"highest\""},
                       SETUP},
    [REDUCED_PRECISION_REDUCTION] =
        {"reduced_precision_reduction",
         TP_SEVERITY_LOW,
         "sums within matrix products in 16 bits",
         "%",
         {"partial sums of a split product are rounded to 16 bits",
          "分块矩阵乘的部分和会以16位舍入"},
         {"set it to False", "设为False"},
         SETUP},
    [REDUCE_IN_HALF] = {"reduce_in_half",
                        TP_SEVERITY_MEDIUM,
                        "gradients of ranks summed in 16 bits",
                        "%",
                        {"each rank that is added rounds the sum again, and in "
                         "fp16 it is Inf beyond 65504",
                         "每累加一个rank就舍入一次，FP16下超过65504即为Inf"},
                        {"reduce in fp32", "以FP32进行规约"},
                        SETUP},
    [FP16_AND_BF16] =
        {"fp16_and_bf16",
         TP_SEVERITY_HIGH,
         "fp16 and bf16 at once",
         "% with fp16 and bf16",
         {"the two exclude each other: an error before training begins",
          "二者互斥，训练开始前即报错"},
         {"choose one of them", "只保留其中一个"},
         SETUP},
    [STATIC_LOSS_SCALE] =
        {"static_loss_scale",
         TP_SEVERITY_MEDIUM,
         "a loss scale that does not adapt",
         "% is a fixed loss scale",
         {"what fits the first iterations overflows or vanishes later: "
          "gradients grow and shrink by orders of magnitude",
          "梯度量级随训练变化，固定缩放因子迟早上溢或下溢"},
         {"use dynamic loss scaling", "使用动态损失缩放"},
         SETUP},
    {0}};

/* Flags of torch that a script sets. */
static const struct {
    const char *path;
    int rule;
    const char *what;
} flags[] = {
    {"torch.backends.cuda.matmul.allow_tf32", TF32_ON, "allow_tf32 = True"},
    {"torch.backends.cudnn.allow_tf32", TF32_ON, "allow_tf32 = True"},
    {"torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
     REDUCED_PRECISION_REDUCTION,
     "allow_fp16_reduced_precision_reduction = True"},
    {"torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
     REDUCED_PRECISION_REDUCTION,
     "allow_bf16_reduced_precision_reduction = True"},
    {"torch.backends.cuda.matmul.allow_fp16_accumulation",
     REDUCED_PRECISION_REDUCTION, "allow_fp16_accumulation = True"},
};

static void judge_assignment(struct tp_flow *flow, uint32_t node)
{
    char path[TP_PATH_MAX];
    uint32_t target = flow->at[node].child,
             value = tp_py_last(&flow->script->tree, node);
    if (flow->at[node].kind != TP_PY_ASSIGN ||
        flow->at[target].kind != TP_PY_ATTRIBUTE ||
        !tp_flow_is(flow, value, "True"))
        return;
    tp_script_path(flow->script, target, path);
    for (size_t i = 0; path[0] && i < sizeof flags / sizeof *flags; i++) {
        if (!strcmp(path, flags[i].path))
            tp_flow_add(flow, target, &rules[flags[i].rule], flags[i].what);
    }
}

static bool is_true(const struct tp_flow *flow, uint32_t node)
{
    return node && tp_flow_is(flow, node, "True");
}

static uint32_t named(const struct tp_flow *flow, const struct tp_call *call,
                      const char *name)
{
    return tp_script_argument(flow->script, call->node, name, SIZE_MAX);
}

/* Whether mmengine raises an error instead: it takes a float for a fixed scale,
 * no integer. */
static bool is_refused(const struct tp_flow *flow, const struct tp_call *call,
                       uint32_t scale)
{
    const struct tp_py_token *token =
        &flow->script->tokens.at[flow->at[scale].token];
    const char *text = flow->script->tokens.source + token->start;
    uint32_t type = named(flow, call, "type");
    return !memchr(text, '.', token->length) &&
           !memchr(text, 'e', token->length) &&
           (tp_flow_is(flow, call->function, "AmpOptimWrapper") ||
            (type && (tp_flow_is_text(flow, type, "AmpOptimWrapper") ||
                      tp_flow_is(flow, type, "AmpOptimWrapper"))));
}

/* A number that GradScaler never reaches: the scale then only falls. */
#define NEVER 1e6

/* Loss scales that are numbers: of apex, of FP16_Optimizer; a GradScaler that
 * does not grow. */
static void judge_scale(struct tp_flow *flow, const struct tp_call *call)
{
    static const char *const names[] = {"loss_scale", "static_loss_scale"};
    double value;
    char text[64];
    if (call->role == TP_DOES_MAKE_SCALER &&
        tp_flow_number(flow, named(flow, call, "growth_interval"), &value) &&
        value >= NEVER) {
        tp_flow_add(flow, call->function, &rules[STATIC_LOSS_SCALE],
                    "growth_interval");
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t scale = named(flow, call, names[i]);
        if (!tp_flow_number(flow, scale, &value) || value <= 1)
            continue;
        snprintf(text, sizeof text, "%s=%g", names[i], value);
        tp_flow_add_as(flow, scale, &rules[STATIC_LOSS_SCALE], text,
                       is_refused(flow, call, scale)
                           ? TP_SEVERITY_LOW
                           : rules[STATIC_LOSS_SCALE].severity);
    }
}

/* Hooks of DistributedDataParallel, and policies of FSDP. */
static void judge_reduction(struct tp_flow *flow, const struct tp_call *call)
{
    static const char *const hooks[] = {"fp16_compress_hook",
                                        "bf16_compress_hook"};
    if (tp_flow_is(flow, call->function, "register_comm_hook")) {
        uint32_t hook = tp_script_argument(flow->script, call->node, "hook", 1);
        for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
            if (hook && tp_flow_is(flow, hook, hooks[i]))
                tp_flow_add(flow, hook, &rules[REDUCE_IN_HALF], hooks[i]);
        }
    }
    if (tp_flow_is(flow, call->function, "MixedPrecision") ||
        tp_flow_is(flow, call->function, "MixedPrecisionPolicy")) {
        uint32_t dtype = named(flow, call, "reduce_dtype");
        if (dtype && tp_flow_value(flow, dtype) & TP_TAG_HALF)
            tp_flow_add(flow, dtype, &rules[REDUCE_IN_HALF],
                        "reduce_dtype in 16 bits");
    }
}

/* {"fp16": {"enabled": True}, "bf16": {"enabled": True}}, as of DeepSpeed. */
static bool is_enabled(const struct tp_flow *flow, uint32_t braces,
                       const char *key)
{
    for (uint32_t i = flow->at[braces].child; i; i = flow->at[i].next) {
        if (tp_flow_is_text(flow, i, key))
            return is_true(flow, flow->at[i].next) ||
                   (flow->at[i].next &&
                    flow->at[flow->at[i].next].kind == TP_PY_BRACES &&
                    is_enabled(flow, flow->at[i].next, "enabled"));
    }
    return false;
}

/* Whether the script turns to TF32 behind a place: the last setting counts. */
static bool is_overridden(const struct tp_flow *flow, uint32_t node)
{
    const struct tp_py_tokens *tokens = &flow->script->tokens;
    for (size_t t = flow->at[node].end; t + 2 < tokens->count; t++) {
        if (tp_py_token_is(tokens, t, "matmul") &&
            tp_py_token_is(tokens, t + 2, "allow_tf32"))
            return true;
    }
    return false;
}

/* The precision of products in fp32; of those on MPS it is no setting. */
static void judge_precision(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t level =
        tp_script_argument(flow->script, call->node, "precision", 0);
    if (tp_flow_is_text(flow, level, "medium"))
        tp_flow_add_as(flow, call->function, &rules[MATMUL_MEDIUM],
                       "set_float32_matmul_precision",
                       is_overridden(flow, call->node) ||
                               tp_flow_depends_on(flow, "mps") ||
                               *flow->seen & TP_SEEN_INFERENCE
                           ? TP_SEVERITY_LOW
                           : rules[MATMUL_MEDIUM].severity);
    if (tp_flow_is_text(flow, level, "high"))
        tp_flow_add(flow, call->function, &rules[TF32_ON],
                    "set_float32_matmul_precision(\"high\")");
}

static void judge_call(struct tp_flow *flow, const struct tp_call *call)
{
    char name[64];
    if (call->role == TP_DOES_MAKE_SCALER)
        judge_scale(flow, call);
    if (call->role == TP_DOES_DEFAULT_DTYPE &&
        tp_flow_value(flow,
                      tp_script_argument(flow->script, call->node, "d", 0)) &
            TP_TAG_HALF)
        tp_flow_add_as(flow, call->function, &rules[DEFAULT_DTYPE_HALF],
                       "set_default_dtype",
                       tp_flow_only_infers(flow) || tp_flow_only_tries(flow)
                           ? TP_SEVERITY_LOW
                           : rules[DEFAULT_DTYPE_HALF].severity);
    if (call->role != TP_DOES_NONE || !flow->at[call->function].next)
        return;
    if (!strcmp(call->path, "torch.set_float32_matmul_precision"))
        judge_precision(flow, call);
    judge_reduction(flow, call);
    judge_scale(flow, call);
    if (is_true(flow, named(flow, call, "fp16")) &&
        is_true(flow, named(flow, call, "bf16"))) {
        tp_flow_name(flow, call->function, name);
        tp_flow_add(flow, call->function, &rules[FP16_AND_BF16], name);
    }
}

static void judge_braces(struct tp_flow *flow, uint32_t node)
{
    if (is_enabled(flow, node, "fp16") && is_enabled(flow, node, "bf16"))
        tp_flow_add(flow, node, &rules[FP16_AND_BF16], "configuration");
}

const struct tp_check_family tp_check_precision = {.rules = rules,
                                                   .call = judge_call,
                                                   .assignment =
                                                       judge_assignment,
                                                   .braces = judge_braces};
