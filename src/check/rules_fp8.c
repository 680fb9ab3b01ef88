/* SPDX-License-Identifier: MIT */
/* FP8 and MX: shapes, formats and scales, as transformer_engine and torch want
 * them. */
#include <stdio.h>
#include <string.h>

#include "check/check_flow.h"
#include "check/check_purpose.h"

#define FP8 "SCRIPTS IN EIGHT BITS"

enum {
    FP8_DIMS_NOT_16,
    MX_DIM_NOT_32,
    E4M3_BACKWARD,
    FP8_CAST_WITHOUT_SCALE,
    AMAX_HISTORY_1,
    FP8_HEAD
};

static const struct tp_check_rule rules[] = {
    [FP8_DIMS_NOT_16] = {"fp8_dims_not_16",
                         TP_SEVERITY_HIGH,
                         "a layer in FP8 whose sizes are no multiples of 16",
                         "% in FP8",
                         {"products in FP8 want sizes that are multiples of "
                          "16: an error, or a layer that is not in FP8",
                          "FP8矩阵乘要求维度为16的倍数，否则报错或不以FP8计算"},
                         {"pad it to a multiple of 16, or leave it out of FP8",
                          "补齐到16的倍数，或不对该层使用FP8"},
                         FP8},
    [MX_DIM_NOT_32] =
        {"mx_dim_not_32",
         TP_SEVERITY_MEDIUM,
         "a layer in MXFP8 whose sizes are no multiples of 32",
         "% in MXFP8",
         {"MX formats share a scale in blocks of 32: another size is refused",
          "MX格式每32个元素共享一个缩放因子，其他维度会被拒绝"},
         {"pad it to a multiple of 32", "补齐到32的倍数"},
         FP8},
    [E4M3_BACKWARD] =
        {"e4m3_backward",
         TP_SEVERITY_MEDIUM,
         "gradients in E4M3",
         "%",
         {"gradients spread further than E4M3 holds: 2^-9 to 448, where E5M2 "
          "has 2^-16 to 57344",
          "梯度的分布超出E4M3的范围（2^-9到448），E5M2为2^-16到57344"},
         {"use the format HYBRID: E4M3 forward, E5M2 for gradients",
          "改用HYBRID格式：前向E4M3，梯度E5M2"},
         FP8},
    [FP8_CAST_WITHOUT_SCALE] =
        {"fp8_cast_without_scale",
         TP_SEVERITY_HIGH,
         "a tensor cast to FP8 as it is",
         "cast to % without a scale",
         {"E4M3 ends at 448 and is 0 below 2^-10, E5M2 at 57344: what is "
          "beyond is lost",
          "E4M3最大448、小于2^-10为0，E5M2最大57344，超出部分丢失"},
         {"multiply by a scale before the cast and keep it for the product",
          "转换前乘以缩放因子，并在矩阵乘中使用它"},
         FP8},
    [AMAX_HISTORY_1] = {"amax_history_1",
                        TP_SEVERITY_LOW,
                        "a delayed scale from one iteration only",
                        "amax_history_len=1",
                        {"the scale follows the last iteration alone: one "
                         "larger maximum overflows",
                         "缩放因子只取决于上一次迭代，最大值一旦变大即上溢"},
                        {"use a longer history, as 1024",
                         "使用更长的历史，如1024"},
                        FP8},
    [FP8_HEAD] = {"fp8_head",
                  TP_SEVERITY_MEDIUM,
                  "the first or last layer of a model in FP8",
                  "% in FP8",
                  {"embeddings and the output layer lose most by it: logits "
                   "decide the loss",
                   "词嵌入与输出层对精度最敏感，logits直接决定loss"},
                  {"keep them in 16 bits", "对其保持16位"},
                  FP8},
    {0}};

static uint32_t named(const struct tp_flow *flow, const struct tp_call *call,
                      const char *name, size_t place)
{
    return tp_script_argument(flow->script, call->node, name, place);
}

/* Whether a path ends in "transformer_engine.pytorch.NAME". */
static bool is_engine(const struct tp_call *call, const char *name)
{
    static const char root[] = "transformer_engine.pytorch.";
    return !strncmp(call->path, root, sizeof root - 1) &&
           !strcmp(call->path + sizeof root - 1, name);
}

/* te.Linear(in_features, out_features) and the like. */
static void judge_layer(struct tp_flow *flow, const struct tp_call *call)
{
    char name[64];
    bool odd = false, odd_block = false;
    static const char *const sizes[] = {"in_features", "out_features"};
    if (!(*flow->seen & TP_SEEN_FP8))
        return;
    for (size_t i = 0; i < 2; i++) {
        double size;
        if (!tp_flow_number(flow, named(flow, call, sizes[i], i), &size) ||
            size < 1 || size > 1e9)
            continue;
        odd |= (long)size % 16 != 0;
        odd_block |= (long)size % 32 != 0;
    }
    tp_flow_name(flow, call->function, name);
    if (odd)
        tp_flow_add(flow, call->function, &rules[FP8_DIMS_NOT_16], name);
    else if (odd_block && *flow->seen & TP_SEEN_MX)
        tp_flow_add(flow, call->function, &rules[MX_DIM_NOT_32], name);
}

static bool is_engine_layer(const struct tp_call *call)
{
    return is_engine(call, "Linear") || is_engine(call, "LayerNormLinear");
}

/* "self.lm_head = te.Linear(...)". */
static void judge_assignment(struct tp_flow *flow, uint32_t node)
{
    static const char *const heads[] = {"lm_head", "output_layer", "classifier",
                                        "embed_out", "embedding"};
    struct tp_call call;
    uint32_t target = flow->at[node].child,
             value = tp_py_last(&flow->script->tree, node);
    if (flow->at[value].kind != TP_PY_CALL || !(*flow->seen & TP_SEEN_FP8))
        return;
    tp_call_read(flow->script, value, &call);
    for (size_t i = 0;
         is_engine_layer(&call) && i < sizeof heads / sizeof *heads; i++) {
        if (tp_flow_is(flow, target, heads[i]))
            tp_flow_add(flow, target, &rules[FP8_HEAD], heads[i]);
    }
}

static void judge_recipe(struct tp_flow *flow, const struct tp_call *call)
{
    double length;
    uint32_t format = named(flow, call, "fp8_format", SIZE_MAX);
    if (format && tp_flow_is(flow, format, "E4M3"))
        tp_flow_add_as(
            flow, format, &rules[E4M3_BACKWARD], "gradients in Format.E4M3",
            tp_flow_only_infers(flow) ? TP_SEVERITY_LOW
                                      : rules[E4M3_BACKWARD].severity);
    uint32_t history = named(flow, call, "amax_history_len", SIZE_MAX);
    if (tp_flow_number(flow, history, &length) && length == 1)
        tp_flow_add(flow, history, &rules[AMAX_HISTORY_1], "");
}

/* Whether a tensor is known as what no scale was applied to: a weight or a
 * gradient by its name, or what was computed in more bits. */
static bool is_unscaled(const struct tp_flow *flow, uint32_t node)
{
    uint32_t tags = tp_flow_value(flow, node);
    size_t length;
    if (flow->at[node].kind == TP_PY_ATTRIBUTE &&
        tp_script_text(flow->script, node, &length) &&
        (tp_flow_is(flow, node, "weight") || tp_flow_is(flow, node, "grad")))
        return !tp_flow_contains(flow, node, "scale");
    return tags & (TP_TAG_HALF | TP_TAG_AUTOCAST_OUT) &&
           flow->at[node].kind != TP_PY_BINARY;
}

static void judge_cast(struct tp_flow *flow, const struct tp_call *call)
{
    char dtype[64];
    uint32_t to = named(flow, call, "dtype", 0);
    if (!to || !call->receiver || !(tp_flow_value(flow, to) & TP_TAG_FP8) ||
        !is_unscaled(flow, call->receiver))
        return;
    tp_flow_name(flow, to, dtype);
    tp_flow_add_as(flow, call->function, &rules[FP8_CAST_WITHOUT_SCALE], dtype,
                   tp_flow_trains_here(flow)
                       ? rules[FP8_CAST_WITHOUT_SCALE].severity
                       : TP_SEVERITY_LOW);
}

static void judge_call(struct tp_flow *flow, const struct tp_call *call)
{
    if (call->role == TP_DOES_CAST)
        judge_cast(flow, call);
    if (call->role != TP_DOES_NONE || !call->path[0])
        return;
    if (is_engine_layer(call))
        judge_layer(flow, call);
    if (strstr(call->path, "recipe.") || strstr(call->path, "DelayedScaling"))
        judge_recipe(flow, call);
    if (!strcmp(call->path, "torchao.float8.convert_to_float8_training") &&
        !named(flow, call, "module_filter_fn", SIZE_MAX))
        tp_flow_add(flow, call->function, &rules[FP8_HEAD], "every Linear");
}

const struct tp_check_family tp_check_fp8 = {
    .rules = rules, .call = judge_call, .assignment = judge_assignment};
