/* SPDX-License-Identifier: MIT */
/* What is done to gradients while they are scaled. */
#include "check/check_flow.h"

#define SCALER "SCALED GRADIENTS"

enum {
    CLIP_WITHOUT_UNSCALE,
    CLIP_BEFORE_UNSCALE,
    STEP_WITHOUT_UPDATE,
    STEP_AFTER_SCALED_BACKWARD
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

static void judge_function(struct tp_flow *flow, uint32_t node)
{
    const struct tp_check_events *events = &flow->events;
    (void)node;
    if (events->count > TP_CHECK_EVENTS)
        return;
    for (size_t i = 0; i < events->count; i++) {
        if (events->at[i].step == TP_STEP_SCALER && !flow->script->has_update)
            tp_flow_add(flow, flow->at[events->at[i].node].child,
                        &rules[STEP_WITHOUT_UPDATE], "scaler.step()");
        if (events->at[i].step != TP_STEP_SCALED_BACKWARD)
            continue;
        judge_clip(flow, i);
        judge_step(flow, i);
    }
}

const struct tp_check_family tp_check_scaler = {.rules = rules,
                                                .function = judge_function};
