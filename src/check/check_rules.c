/* SPDX-License-Identifier: MIT */
#include "check/check_rules.h"

#include <stddef.h>

const char *const tp_check_lang_words[] = {"en", "zh", NULL};

#define AMP "SCRIPTS UNDER AUTOCAST"
#define SCALER "SCALED GRADIENTS"
#define NUMERICS "UNSTABLE FORMULAS"

const struct tp_check_rule tp_check_rules[TP_CHECK_RULES] = {
    [TP_CHECK_HALF_CALL] = {"half_call",
                            TP_SEVERITY_HIGH,
                            "a cast by .half() or .bfloat16()",
                            "% call detected",
                            {"a cast by hand may go around what AMP protects",
                             "手动类型转换可能绕过AMP保护"},
                            {"remove %, use with autocast()",
                             "删除%，使用with autocast()"},
                            AMP},
    [TP_CHECK_BCE] = {"bce",
                      TP_SEVERITY_HIGH,
                      "binary_cross_entropy, or BCELoss",
                      "% usage",
                      {"this function raises an error under AMP on CUDA",
                       "该函数在AMP中会报错"},
                      {"use binary_cross_entropy_with_logits instead",
                       "改用binary_cross_entropy_with_logits"},
                      AMP},
    [TP_CHECK_LOSS_OUTSIDE_AUTOCAST] =
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
    [TP_CHECK_SOFTMAX_DTYPE] =
        {"softmax_dtype",
         TP_SEVERITY_MEDIUM,
         "softmax without dtype",
         "% without dtype",
         {"in fp16 scores beyond 65504 are Inf, and results below 3e-8 are 0",
          "FP16下可能溢出，小于3e-8的结果变为0"},
         {"pass dtype=torch.float32", "指定dtype=torch.float32"},
         AMP},
    [TP_CHECK_REDUCE_OUTSIDE_AUTOCAST] =
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
    [TP_CHECK_AUTOGRAD_FUNCTION] =
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
    [TP_CHECK_BACKWARD_INSIDE_AUTOCAST] =
        {"backward_inside_autocast",
         TP_SEVERITY_MEDIUM,
         "backward() called inside autocast",
         "% inside autocast",
         {"backward runs each operation in the dtype of its forward; under "
          "autocast that may change",
          "backward应沿用forward的类型，放在autocast内可能改变类型"},
         {"call % behind the with block", "将%移到with代码块之外"},
         AMP},
    [TP_CHECK_DEPRECATED_AUTOCAST] =
        {"deprecated_autocast",
         TP_SEVERITY_LOW,
         "torch.cuda.amp or torch.cpu.amp, deprecated since torch 2.4",
         "% is deprecated",
         {"torch 2.4 and later warn about it", "torch 2.4起会告警"},
         {"use torch.amp with the device as first argument",
          "改用torch.amp，并以设备名为第一个参数"},
         AMP},
    [TP_CHECK_CLIP_WITHOUT_UNSCALE] =
        {"clip_without_unscale",
         TP_SEVERITY_HIGH,
         "gradients clipped while they are scaled",
         "% on scaled gradients",
         {"the gradients still carry the scale of GradScaler, so that the "
          "limit is wrong by this factor",
          "梯度仍带有GradScaler的缩放因子，裁剪阈值相差该倍数"},
         {"call scaler.unscale_(optimizer) before %",
          "在%之前调用scaler.unscale_(optimizer)"},
         SCALER},
    [TP_CHECK_CLIP_BEFORE_UNSCALE] =
        {"clip_before_unscale",
         TP_SEVERITY_HIGH,
         "gradients clipped before unscale_",
         "% before unscale_",
         {"the gradients still carry the scale of GradScaler, so that the "
          "limit is wrong by this factor",
          "梯度仍带有GradScaler的缩放因子，裁剪阈值相差该倍数"},
         {"move unscale_ above %", "将unscale_移到%之前"},
         SCALER},
    [TP_CHECK_STEP_WITHOUT_UPDATE] =
        {"step_without_update",
         TP_SEVERITY_HIGH,
         "a GradScaler that steps and is never updated",
         "% without update()",
         {"the scale is never updated, and the second step() raises an error",
          "缩放因子从不更新，第二次step()会报错"},
         {"call update() once after all steps of an iteration",
          "每次迭代在所有step之后调用一次update()"},
         SCALER},
    [TP_CHECK_STEP_AFTER_SCALED_BACKWARD] =
        {"step_after_scaled_backward",
         TP_SEVERITY_HIGH,
         "optimizer.step() on scaled gradients",
         "% on scaled gradients",
         {"the gradients are multiplied by the scale, and overflow is not "
          "looked for",
          "梯度已乘以缩放因子，且不检查溢出"},
         {"call scaler.step(optimizer) instead", "改用scaler.step(optimizer)"},
         SCALER},
    [TP_CHECK_LOG_SOFTMAX] =
        {"log_softmax",
         TP_SEVERITY_MEDIUM,
         "log of a softmax",
         "% of a softmax",
         {"a probability that rounds to 0 makes it -Inf, its gradient NaN",
          "概率下溢为0时得到-Inf，梯度为NaN"},
         {"use log_softmax", "改用log_softmax"},
         NUMERICS},
    [TP_CHECK_LOG_SIGMOID] =
        {"log_sigmoid",
         TP_SEVERITY_MEDIUM,
         "log of a sigmoid",
         "% of a sigmoid",
         {"a sigmoid that rounds to 0 makes it -Inf, its gradient NaN",
          "sigmoid下溢为0时得到-Inf，梯度为NaN"},
         {"use logsigmoid", "改用logsigmoid"},
         NUMERICS},
    [TP_CHECK_SOFTMAX_BEFORE_CROSS_ENTROPY] =
        {"softmax_before_cross_entropy",
         TP_SEVERITY_HIGH,
         "probabilities given to cross_entropy",
         "% of probabilities",
         {"it wants logits and applies log_softmax itself: with two of them "
          "gradients shrink",
          "该函数内部已做log_softmax，重复softmax会使梯度变小"},
         {"pass the logits", "直接传入logits"},
         NUMERICS},
    [TP_CHECK_SIGMOID_BEFORE_BCE_WITH_LOGITS] =
        {"sigmoid_before_bce_with_logits",
         TP_SEVERITY_HIGH,
         "a sigmoid given to binary_cross_entropy_with_logits",
         "% of a sigmoid",
         {"it wants logits and applies the sigmoid itself: with two of them "
          "no output leaves 0.5 to 0.73",
          "该函数内部已做sigmoid，重复后输出只能在0.5到0.73之间"},
         {"pass the logits", "直接传入logits"},
         NUMERICS},
    [TP_CHECK_NLL_WITHOUT_LOG] =
        {"nll_without_log",
         TP_SEVERITY_MEDIUM,
         "probabilities given to nll_loss",
         "% of probabilities",
         {"it wants their logarithms: the loss is not what its name says",
          "该函数需要对数概率，否则得到的不是负对数似然"},
         {"use log_softmax, or cross_entropy of the logits",
          "改用log_softmax，或对logits使用cross_entropy"},
         NUMERICS},
    [TP_CHECK_DEFAULT_DTYPE_HALF] =
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
};
