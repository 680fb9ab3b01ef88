/* SPDX-License-Identifier: MIT */
/* What is done to gradients while they are scaled. */
#include <string.h>

#include "check/check_flow.h"

#define SCALER "SCALED GRADIENTS"

enum {
    CLIP_WITHOUT_UNSCALE,
    CLIP_BEFORE_UNSCALE,
    STEP_WITHOUT_UPDATE,
    STEP_AFTER_SCALED_BACKWARD,
    FP16_WITHOUT_SCALER,
    SCALER_WITH_BF16,
    UNSCALED_BACKWARD,
    DOUBLE_UNSCALE,
    SCALER_IN_LOOP,
    UPDATE_PER_OPTIMIZER,
    GRADIENT_PENALTY_SCALED,
    ACCUMULATION_NOT_DIVIDED,
    SCALER_STATE_NOT_SAVED
};

static const struct tp_check_rule rules[] = {
    [CLIP_WITHOUT_UNSCALE] =
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
    [CLIP_BEFORE_UNSCALE] =
        {"clip_before_unscale",
         TP_SEVERITY_HIGH,
         "gradients clipped before unscale_",
         "% before unscale_",
         {"the gradients still carry the scale of GradScaler, so that the "
          "limit is wrong by this factor",
          "梯度仍带有GradScaler的缩放因子，裁剪阈值相差该倍数"},
         {"move unscale_ above %", "将unscale_移到%之前"},
         SCALER},
    [STEP_WITHOUT_UPDATE] =
        {"step_without_update",
         TP_SEVERITY_HIGH,
         "a GradScaler that steps and is never updated",
         "% without update()",
         {"the scale is never updated, and the second step() raises an error",
          "缩放因子从不更新，第二次step()会报错"},
         {"call update() once after all steps of an iteration",
          "每次迭代在所有step之后调用一次update()"},
         SCALER},
    [STEP_AFTER_SCALED_BACKWARD] =
        {"step_after_scaled_backward",
         TP_SEVERITY_HIGH,
         "optimizer.step() on scaled gradients",
         "% on scaled gradients",
         {"the gradients are multiplied by the scale, and overflow is not "
          "looked for",
          "梯度已乘以缩放因子，且不检查溢出"},
         {"call scaler.step(optimizer) instead", "改用scaler.step(optimizer)"},
         SCALER},
    [FP16_WITHOUT_SCALER] =
        {"fp16_without_scaler",
         TP_SEVERITY_HIGH,
         "autocast with float16 and a backward() without GradScaler",
         "% in float16 without GradScaler",
         {"gradients below 6e-8 are 0 in float16: without a scale small ones "
          "are lost",
          "FP16下小于6e-8的梯度变为0，没有缩放会丢失小梯度"},
         {"use GradScaler, or autocast with bfloat16",
          "使用GradScaler，或改用bfloat16的autocast"},
         SCALER},
    [SCALER_WITH_BF16] =
        {"scaler_with_bf16",
         TP_SEVERITY_LOW,
         "a GradScaler where autocast uses bfloat16",
         "% with bfloat16",
         {"bfloat16 has the range of float32: the scale saves nothing, and "
          "each step looks for overflow",
          "BF16的范围与FP32相同，缩放没有作用，只增加每步的溢出检查"},
         {"remove %", "删除%"},
         SCALER},
    [UNSCALED_BACKWARD] =
        {"unscaled_backward",
         TP_SEVERITY_HIGH,
         "scaler.step() on gradients that were never scaled",
         "% without scale() before scaler.step()",
         {"scaler.step() divides the gradients by the scale, or raises an "
          "error when nothing was ever scaled",
          "scaler.step()会用缩放因子除梯度，从未缩放过时会报错"},
         {"call scaler.scale(loss).backward()",
          "改为scaler.scale(loss).backward()"},
         SCALER},
    [DOUBLE_UNSCALE] =
        {"double_unscale",
         TP_SEVERITY_MEDIUM,
         "unscale_ called twice for one optimizer in an iteration",
         "second % of the same optimizer",
         {"between two updates unscale_ may be called once per optimizer: the "
          "second raises an error",
          "两次update之间每个优化器只能调用一次unscale_，第二次会报错"},
         {"call unscale_ once, behind the last backward()",
          "只在最后一次backward()之后调用一次unscale_"},
         SCALER},
    [SCALER_IN_LOOP] =
        {"scaler_in_loop",
         TP_SEVERITY_MEDIUM,
         "a GradScaler made anew in each iteration",
         "% made in each iteration",
         {"each iteration begins with the first scale again, 65536 unless it "
          "is given, and never learns from an overflow",
          "每次迭代都从初始缩放因子（默认65536）重新开始，无法根据溢出调整"},
         {"make it once, before the loop", "在循环之前只创建一次"},
         SCALER},
    [UPDATE_PER_OPTIMIZER] =
        {"update_per_optimizer",
         TP_SEVERITY_MEDIUM,
         "update() between the steps of two optimizers",
         "% between two steps",
         {"the scale may change before the second optimizer divides by it: its "
          "gradients are then wrong by this factor",
          "第二个优化器反缩放之前缩放因子可能已改变，其梯度会相差该倍数"},
         {"call update() once after all steps of an iteration",
          "每次迭代在所有step之后调用一次update()"},
         SCALER},
    [GRADIENT_PENALTY_SCALED] =
        {"gradient_penalty_scaled",
         TP_SEVERITY_MEDIUM,
         "a penalty of gradients that are still scaled",
         "% of a scaled loss",
         {"these gradients carry the scale of GradScaler, so that the penalty "
          "made from them changes with it",
          "得到的梯度仍带有缩放因子，由其计算的惩罚项会随之改变"},
         {"multiply them by 1 / scaler.get_scale() first",
          "先将其乘以1 / scaler.get_scale()"},
         SCALER},
    [ACCUMULATION_NOT_DIVIDED] =
        {"accumulation_not_divided",
         TP_SEVERITY_LOW,
         "gradients of several backward() that are added, not averaged",
         "% accumulates without division",
         {"the gradients of all iterations up to the step are added: limits of "
          "clipping and the learning rate see the sum, not the mean",
          "到step为止各次迭代的梯度是相加的，裁剪阈值和学习率面对的是总和而非平"
          "均"},
         {"divide the loss by the number of iterations between two steps",
          "将loss除以两次step之间的迭代次数"},
         SCALER},
    [SCALER_STATE_NOT_SAVED] =
        {"scaler_state_not_saved",
         TP_SEVERITY_LOW,
         "a checkpoint of the optimizer without GradScaler's state",
         "% saved without that of GradScaler",
         {"a run that goes on from here begins with the first scale again and "
          "skips steps until it fits",
          "续训会从初始缩放因子重新开始，调整到位之前会跳过若干步"},
         {"save scaler.state_dict(), too", "同时保存scaler.state_dict()"},
         SCALER},
    {0}};

static void add(struct tp_flow *flow, const struct tp_check_event *event,
                const struct tp_check_rule *rule)
{
    char name[64];
    uint32_t function = flow->at[event->node].child;
    tp_flow_name(flow, function, name);
    tp_flow_add(flow, function, rule, name);
}

/* Clipping of what backward number `from` left, before the scaler's step. */
static void judge_clip(struct tp_flow *flow, size_t from)
{
    const struct tp_check_events *events = &flow->events;
    size_t clip = tp_events_next(flow->script, events, from, TP_STEP_CLIP);
    if (clip == events->count ||
        tp_events_any(events, from, clip, TP_STEP_UNSCALE) ||
        tp_events_any(events, from, clip, TP_STEP_SCALER) ||
        tp_events_any(events, from + 1, clip, TP_STEP_SCALED_BACKWARD))
        return;
    size_t step = tp_events_next(flow->script, events, clip, TP_STEP_SCALER);
    if (step == events->count)
        return;
    size_t unscale =
        tp_events_next(flow->script, events, clip, TP_STEP_UNSCALE);
    if (unscale < step)
        add(flow, &events->at[clip], &rules[CLIP_BEFORE_UNSCALE]);
    else if (!flow->script->has_unscale)
        add(flow, &events->at[clip], &rules[CLIP_WITHOUT_UNSCALE]);
}

static void judge_step(struct tp_flow *flow, size_t from)
{
    const struct tp_check_events *events = &flow->events;
    size_t step = tp_events_next(flow->script, events, from, TP_STEP_OPTIMIZER);
    if (step < events->count &&
        !tp_events_any(events, 0, events->count, TP_STEP_SCALER) &&
        !tp_events_any(events, 0, events->count, TP_STEP_UNSCALE) &&
        !flow->script->has_unscale)
        tp_flow_add(flow, flow->at[events->at[step].node].child,
                    &rules[STEP_AFTER_SCALED_BACKWARD], ".step()");
}

/* Whether backward is called with a loss, as engine.backward(loss), or with
 * gradients: what it does to them is not known. */
static bool is_foreign(const struct tp_flow *flow, size_t event)
{
    uint32_t function = flow->at[flow->events.at[event].node].child;
    uint32_t argument = flow->at[function].next;
    return argument && flow->at[argument].kind != TP_PY_NAMED;
}

/* The object of the method that an event calls. */
static uint32_t object_of(const struct tp_flow *flow, size_t event)
{
    return flow->at[flow->at[flow->events.at[event].node].child].child;
}

/* Whether a block of float16 before an event can lead to it. */
static bool follows_fp16(const struct tp_flow *flow, size_t event)
{
    const struct tp_check_events *events = &flow->events;
    for (size_t i = 0; i < event; i++) {
        if (events->at[i].step == TP_STEP_FP16_AUTOCAST &&
            tp_events_follow(flow->script, events, i, event))
            return true;
    }
    return false;
}

/* A plain backward in a function that has a block of float16, and steps. What
 * a framework does to the gradients is not known. */
static void judge_fp16(struct tp_flow *flow, size_t from)
{
    static const char *const others[] = {
        "scaler", "loss_scale", "deepspeed", "scaler_", "Accelerator",
        "Fabric", "GradScaler", "apex",      NULL};
    const struct tp_check_events *events = &flow->events;
    if (is_foreign(flow, from) || *flow->seen & TP_SEEN_SCALER ||
        !follows_fp16(flow, from) ||
        tp_events_next(flow->script, events, from, TP_STEP_OPTIMIZER) ==
            events->count ||
        tp_flow_knows_any(flow, others))
        return;
    tp_flow_add(flow, flow->at[events->at[from].node].child,
                &rules[FP16_WITHOUT_SCALER], ".backward()");
}

static bool is_parameter_of(const struct tp_flow *flow, uint32_t node,
                            uint32_t function)
{
    size_t length;
    const char *name = tp_script_text(flow->script, node, &length);
    for (uint32_t i = flow->at[function].child; name && function && i;
         i = flow->at[i].next) {
        const struct tp_py_token *token =
            &flow->script->tokens.at[flow->at[i].token];
        if (flow->at[i].kind == TP_PY_PARAMETER && token->length == length &&
            !memcmp(flow->script->tokens.source + token->start, name, length))
            return true;
    }
    return false;
}

/* The same of the functions around it, too. */
static bool is_parameter(const struct tp_flow *flow, uint32_t node)
{
    const struct tp_functions *functions = flow->functions;
    uint32_t inner = flow->scope.function;
    bool found = is_parameter_of(flow, node, inner);
    for (size_t i = 0; inner && !found && i < functions->count; i++) {
        uint32_t outer = functions->at[i].node;
        found = outer < inner && flow->at[outer].end > flow->at[inner].token &&
                is_parameter_of(flow, node, outer);
    }
    return found;
}

/* A plain backward before the scaler's step. That nothing was scaled must be
 * seen: in this function something else is, or nothing in the script. */
static void judge_unscaled(struct tp_flow *flow, size_t from)
{
    const struct tp_check_events *events = &flow->events;
    size_t step = tp_events_next(flow->script, events, from, TP_STEP_SCALER);
    size_t first = from;
    if (step == events->count || is_foreign(flow, from) ||
        is_parameter(flow, object_of(flow, from)))
        return;
    while (first > 0 && events->at[first - 1].step != TP_STEP_SCALER)
        first--;
    if (tp_events_any(events, first, step, TP_STEP_SCALED_BACKWARD) ||
        tp_events_any(events, first, step, TP_STEP_SCALE) ||
        (tp_flow_knows(flow, "scale") &&
         !tp_events_any(events, 0, events->count, TP_STEP_SCALE)))
        return;
    tp_flow_add(flow, flow->at[events->at[from].node].child,
                &rules[UNSCALED_BACKWARD], ".backward()");
}

static uint32_t argument_of(const struct tp_flow *flow, size_t event)
{
    return tp_script_argument(flow->script, flow->events.at[event].node,
                              "optimizer", 0);
}

/* Whether one of two events stands under all branches of the other: then no
 * condition parts them that the source does not show. */
static bool is_within(const struct tp_check_event *a,
                      const struct tp_check_event *b)
{
    unsigned least = a->arms < b->arms ? a->arms : b->arms;
    for (unsigned i = 0; i < least && i < TP_CHECK_ARMS; i++) {
        if (a->arm[i].node != b->arm[i].node)
            return false;
    }
    return true;
}

static void judge_unscale(struct tp_flow *flow, size_t from)
{
    const struct tp_check_events *events = &flow->events;
    size_t second = tp_events_next(flow->script, events, from, TP_STEP_UNSCALE);
    if (second < events->count &&
        !tp_events_any(events, from, second, TP_STEP_UPDATE) &&
        !tp_events_any(events, from, second, TP_STEP_SCALER) &&
        events->at[from].loop == events->at[second].loop &&
        tp_flow_same(flow, object_of(flow, from), object_of(flow, second)) &&
        tp_flow_same(flow, argument_of(flow, from),
                     argument_of(flow, second)) &&
        is_within(&events->at[from], &events->at[second]))
        add(flow, &events->at[second], &rules[DOUBLE_UNSCALE]);
}

/* In a loop over iterations, not one over folds or runs. */
static void judge_made(struct tp_flow *flow, size_t made)
{
    const struct tp_check_events *events = &flow->events;
    for (size_t i = made + 1; i < events->count; i++) {
        const struct tp_check_event *event = &events->at[i];
        if (event->step == TP_STEP_SCALED_BACKWARD && event->loop &&
            event->loop == events->at[made].loop) {
            tp_flow_add(flow, flow->at[events->at[made].node].child,
                        &rules[SCALER_IN_LOOP], "GradScaler");
            return;
        }
    }
}

/* An update with steps of the same scaler before and behind it, and no new
 * gradients between. */
static void judge_update(struct tp_flow *flow, size_t update)
{
    const struct tp_check_events *events = &flow->events;
    size_t before = update;
    while (before > 0 && events->at[before].step != TP_STEP_SCALER)
        before--;
    size_t after = tp_events_next(flow->script, events, update, TP_STEP_SCALER);
    if (after == events->count || events->at[before].step != TP_STEP_SCALER ||
        !tp_events_follow(flow->script, events, before, update) ||
        events->at[update].arms > events->at[before].arms ||
        tp_events_any(events, update, after, TP_STEP_SCALED_BACKWARD) ||
        events->at[before].loop != events->at[after].loop ||
        tp_flow_same(flow, argument_of(flow, before),
                     argument_of(flow, after)) ||
        !tp_flow_same(flow, object_of(flow, before), object_of(flow, after)) ||
        !tp_flow_same(flow, object_of(flow, update), object_of(flow, after)))
        return;
    tp_flow_add(flow, flow->at[events->at[update].node].child,
                &rules[UPDATE_PER_OPTIMIZER], ".update()");
}

/* The condition of a branch has "%", as in "if (i + 1) % 4 == 0". */
static bool is_each_nth(const struct tp_flow *flow, uint32_t node)
{
    if (flow->at[node].op == TP_PY_OP('%'))
        return true;
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (flow->at[i].kind != TP_PY_BODY && is_each_nth(flow, i))
            return true;
    }
    return false;
}

/* Whether anything is divided or multiplied by what may be the number of
 * iterations: any division in the loop, or a mean that is taken elsewhere. */
static bool divides(const struct tp_flow *flow, uint32_t loop)
{
    static const char *const means[] = {"/", "/=", "//", "div", "div_", "mul_"};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        if (tp_flow_mentions(flow, loop, means[i]))
            return true;
    }
    return false;
}

/* Whether another backward of its loop stands before an event. */
static bool is_repeated(const struct tp_flow *flow, size_t backward)
{
    const struct tp_check_event *at = flow->events.at;
    for (size_t i = 0; i < backward; i++) {
        if (at[i].loop == at[backward].loop &&
            (at[i].step == TP_STEP_BACKWARD ||
             at[i].step == TP_STEP_SCALED_BACKWARD))
            return true;
    }
    return false;
}

/* backward in each iteration, the step in each n-th; once per loop. */
static void judge_accumulation(struct tp_flow *flow, size_t from)
{
    const struct tp_check_events *events = &flow->events;
    const struct tp_check_event *backward = &events->at[from];
    size_t step = from + 1;
    while (step < events->count && events->at[step].step != TP_STEP_OPTIMIZER &&
           events->at[step].step != TP_STEP_SCALER)
        step++;
    if (step == events->count || is_foreign(flow, from) || !backward->loop ||
        events->at[step].loop != backward->loop ||
        events->at[step].arms != backward->arms + 1 ||
        events->at[step].arms > TP_CHECK_ARMS ||
        !is_each_nth(flow, events->at[step].arm[backward->arms].node) ||
        is_repeated(flow, from) || divides(flow, backward->loop))
        return;
    tp_flow_add(flow, flow->at[backward->node].child,
                &rules[ACCUMULATION_NOT_DIVIDED], ".backward()");
}

static bool is_scaler(const struct tp_flow *flow, uint32_t node)
{
    if (tp_script_object(flow->script, node) & TP_TAG_SCALER)
        return true;
    return tp_flow_contains(flow, node, "scaler");
}

/* An update anywhere will do for a scaler that others may update: an attribute
 * or an argument; and where nothing is scaled, others do both. */
static void judge_never_updated(struct tp_flow *flow, size_t step)
{
    uint32_t scaler = object_of(flow, step);
    bool is_own = flow->script->has_torch &&
                  flow->at[scaler].kind == TP_PY_NAME &&
                  !is_parameter(flow, scaler);
    bool scales = tp_events_any(&flow->events, 0, flow->events.count,
                                TP_STEP_SCALED_BACKWARD);
    if (is_own ? !(*flow->seen & TP_SEEN_SCALER_UPDATE)
               : !flow->script->has_update && scales)
        tp_flow_add(flow, flow->at[flow->events.at[step].node].child,
                    &rules[STEP_WITHOUT_UPDATE], "scaler.step()");
}

static void judge_event(struct tp_flow *flow, size_t event)
{
    switch (flow->events.at[event].step) {
    case TP_STEP_SCALER:
        judge_never_updated(flow, event);
        break;
    case TP_STEP_SCALED_BACKWARD:
        judge_clip(flow, event);
        judge_step(flow, event);
        judge_accumulation(flow, event);
        break;
    case TP_STEP_BACKWARD:
        judge_fp16(flow, event);
        judge_unscaled(flow, event);
        judge_accumulation(flow, event);
        break;
    case TP_STEP_UNSCALE:
        judge_unscale(flow, event);
        break;
    case TP_STEP_MAKE_SCALER:
        judge_made(flow, event);
        break;
    case TP_STEP_UPDATE:
        judge_update(flow, event);
        break;
    default:
        break;
    }
}

static void judge_function(struct tp_flow *flow, uint32_t node)
{
    (void)node;
    for (size_t i = 0;
         i < flow->events.count && flow->events.count <= TP_CHECK_EVENTS; i++)
        judge_event(flow, i);
}

/* autocast that is known, and all of it with bfloat16. */
static void judge_scaler(struct tp_flow *flow, const struct tp_call *call)
{
    const uint32_t other =
        TP_SEEN_FP16 | TP_SEEN_FP16_AUTOCAST | TP_SEEN_OTHER_AUTOCAST;
    uint32_t enabled =
        tp_script_argument(flow->script, call->node, "enabled", SIZE_MAX);
    tp_flow_note(flow, TP_STEP_MAKE_SCALER, call->node);
    if ((*flow->seen & (TP_SEEN_BF16_AUTOCAST | other)) ==
            TP_SEEN_BF16_AUTOCAST &&
        (!enabled || tp_flow_is(flow, enabled, "True")))
        tp_flow_add(flow, call->function, &rules[SCALER_WITH_BF16],
                    "GradScaler");
}

/* torch.autograd.grad(scaler.scale(loss), ..., create_graph=True). */
static void judge_grad(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t outputs =
        tp_script_argument(flow->script, call->node, "outputs", 0);
    uint32_t graph =
        tp_script_argument(flow->script, call->node, "create_graph", 4);
    if (tp_flow_value(flow, outputs) & TP_TAG_SCALED && graph &&
        tp_flow_is(flow, graph, "True") && !tp_flow_knows(flow, "get_scale") &&
        !tp_flow_knows(flow, "_scale"))
        tp_flow_add(flow, call->function, &rules[GRADIENT_PENALTY_SCALED],
                    "autograd.grad");
}

/* optimizer.state_dict() in a script that has a scaler and saves. */
static void judge_state(struct tp_flow *flow, const struct tp_call *call)
{
    if (*flow->seen & TP_SEEN_SCALER &&
        tp_script_object(flow->script, call->receiver) & TP_TAG_OPTIMIZER &&
        tp_flow_knows(flow, "save") && !(*flow->seen & TP_SEEN_SCALER_STATE))
        tp_flow_add(flow, call->function, &rules[SCALER_STATE_NOT_SAVED],
                    "state of the optimizer");
}

static void judge_call(struct tp_flow *flow, const struct tp_call *call)
{
    switch (call->role) {
    case TP_DOES_MAKE_SCALER:
        judge_scaler(flow, call);
        break;
    case TP_DOES_SCALE:
        if (is_scaler(flow, call->receiver))
            tp_flow_note(flow, TP_STEP_SCALE, call->node);
        break;
    case TP_DOES_UPDATE:
        if (is_scaler(flow, call->receiver))
            tp_flow_note(flow, TP_STEP_UPDATE, call->node);
        break;
    default:
        if (!strcmp(call->path, "torch.autograd.grad"))
            judge_grad(flow, call);
        else if (call->receiver &&
                 tp_flow_is(flow, call->function, "state_dict"))
            judge_state(flow, call);
    }
}

static void learn(struct tp_flow *flow, const struct tp_call *call)
{
    if (!call->receiver)
        return;
    uint32_t seen =
        tp_flow_is(flow, call->function, "update")       ? TP_SEEN_SCALER_UPDATE
        : tp_flow_is(flow, call->function, "state_dict") ? TP_SEEN_SCALER_STATE
                                                         : 0;
    if (seen && is_scaler(flow, call->receiver))
        *flow->seen |= seen;
}

const struct tp_check_family tp_check_scaler = {.rules = rules,
                                                .learn = learn,
                                                .call = judge_call,
                                                .function = judge_function};
