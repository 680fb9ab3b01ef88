/* SPDX-License-Identifier: MIT */
/* Precision that a script chooses for all that follows. */
#include "check/check_flow.h"

#define AMP "SCRIPTS UNDER AUTOCAST"

enum { DEFAULT_DTYPE_HALF };

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
    {0}};

static void judge_call(struct tp_flow *flow, const struct tp_call *call)
{
    if (call->role == TP_DOES_DEFAULT_DTYPE &&
        tp_script_is_half(flow->script,
                          tp_script_argument(flow->script, call->node, "d", 0),
                          false))
        tp_flow_add(flow, call->function, &rules[DEFAULT_DTYPE_HALF],
                    "set_default_dtype");
}

const struct tp_check_family tp_check_precision = {.rules = rules,
                                                   .call = judge_call};
