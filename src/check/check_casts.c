/* SPDX-License-Identifier: MIT */
#include "check/check_casts.h"

#include <string.h>

#include "check/check_flow.h"
#include "check/check_purpose.h"

/* Whether what is cast is loaded here and given away, not kept: it is for a
 * test of a network that was saved. */
static bool is_loaded(const struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t made = call->receiver, kept = flow->scope.statement;
    return flow->at[made].kind == TP_PY_CALL &&
           tp_flow_contains(flow, flow->at[made].child, "load") &&
           !(flow->at[kept].kind == TP_PY_ASSIGN &&
             tp_py_last(&flow->script->tree, kept) == call->node);
}

/* Whether what is cast is then frozen, or cast back: "x.half().eval()". */
static bool is_frozen_then(const struct tp_flow *flow,
                           const struct tp_call *call)
{
    uint32_t node = flow->at[flow->scope.statement].child;
    if (flow->at[flow->scope.statement].kind == TP_PY_ASSIGN)
        node = tp_py_last(&flow->script->tree, flow->scope.statement);
    bool frozen = false;
    while (node != call->node && flow->at[node].kind == TP_PY_CALL) {
        uint32_t function = flow->at[node].child;
        uint32_t argument = flow->at[function].next;
        if (flow->at[function].kind != TP_PY_ATTRIBUTE)
            return false;
        frozen |= argument ? tp_flow_is(flow, function, "requires_grad_") &&
                                 tp_flow_is(flow, argument, "False")
                           : tp_flow_is(flow, function, "eval") ||
                                 tp_flow_is(flow, function, "float");
        node = flow->at[function].child;
    }
    return frozen && node == call->node;
}

/* Whether a function that widens what it is given gives back what it was. */
static bool is_restored(const struct tp_flow *flow)
{
    return flow->scope.function &&
           (tp_flow_depends_on(flow, "fp16") ||
            tp_flow_depends_on(flow, "fp32")) &&
           tp_flow_mentions(flow, flow->scope.function, "float");
}

/* Whether a tensor is cast that a constructor makes: of a buffer, as a table of
 * frequencies. Networks there are attributes, or told by their names. */
static bool is_buffer(const struct tp_flow *flow, const struct tp_call *call)
{
    return flow->scope.function && tp_flow_derives(flow, "Module") &&
           tp_flow_is(flow, flow->scope.function, "__init__") &&
           flow->at[call->receiver].kind == TP_PY_NAME &&
           !tp_flow_is_network(flow, call->receiver);
}

/* Whether a model has the width that its own configuration names. */
static bool is_configured(const struct tp_flow *flow)
{
    return flow->scope.function && tp_flow_depends_on(flow, "config.") &&
           tp_flow_derives(flow, "Model") &&
           tp_flow_is(flow, flow->scope.function, "__init__");
}

/* Whether a class is made to train in 16 bits, and keeps what that takes. */
static bool is_mixed_class(const struct tp_flow *flow)
{
    static const char *const words[] = {"AMP", "Amp", "FP16", "Float16",
                                        "MixedPrecision"};
    char name[64] = "";
    if (flow->scope.class_)
        tp_flow_name(flow, flow->scope.class_, name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(name, words[i]) || tp_flow_derives(flow, words[i]))
            return true;
    }
    return false;
}

bool tp_cast_is_meant(const struct tp_flow *flow, const struct tp_call *call)
{
    static const char *const words[] = {"half", "bfloat16", "bf16", "fp16",
                                        "cast", "compress", NULL};
    struct tp_call inner;
    if (tp_flow_only_infers(flow) || tp_flow_is_named(flow, words) ||
        tp_flow_depends_on(flow, "dtype") ||
        tp_flow_depends_on(flow, "float16") ||
        tp_flow_depends_on(flow, "quantized") || is_restored(flow) ||
        tp_flow_keeps_copies(flow) || is_buffer(flow, call) ||
        is_configured(flow) || is_mixed_class(flow) ||
        tp_flow_value(flow, call->receiver) &
            (TP_TAG_FLOAT | TP_TAG_CONSTANT | TP_TAG_FP8) ||
        tp_flow_is_data(flow, call->receiver) ||
        tp_flow_is_frozen(flow, call->receiver) || is_loaded(flow, call) ||
        is_frozen_then(flow, call))
        return true;
    for (uint32_t made = call->receiver; flow->at[made].kind == TP_PY_CALL;
         made = inner.receiver) {
        tp_call_read(flow->script, made, &inner);
        if (tp_flow_is(flow, inner.function, "super") ||
            tp_flow_is(flow, inner.function, "deepcopy") ||
            (!strncmp(inner.path, "torch.", 6) &&
             !strchr(inner.path + 6, '.') && inner.role == TP_DOES_NONE))
            return true;
    }
    return false;
}
