/* SPDX-License-Identifier: MIT */
/* Loops that train, and what loads for them. */
#include <string.h>

#include "check/check_flow.h"

#define LOOPS "TRAINING LOOPS"
#define LOADER "torch.utils.data.DataLoader"

enum {
    ZERO_GRAD_MISSING,
    CLIP_AFTER_STEP,
    ITEM_IN_LOOP,
    LOSS_WITH_GRAPH,
    WORKERS_MISSING,
    NON_BLOCKING_WITHOUT_PIN,
    ANOMALY_LEFT_ON
};

static const struct tp_check_rule rules[] = {
    [ZERO_GRAD_MISSING] =
        {"zero_grad_missing",
         TP_SEVERITY_MEDIUM,
         "a loop with backward and step, and no zero_grad in the script",
         "% without zero_grad()",
         {"gradients are added to those of all iterations before",
          "梯度会与之前所有迭代的梯度累加"},
         {"call optimizer.zero_grad() in each iteration",
          "每次迭代调用optimizer.zero_grad()"},
         LOOPS},
    [CLIP_AFTER_STEP] =
        {"clip_after_step",
         TP_SEVERITY_HIGH,
         "gradients clipped behind the step that uses them",
         "% behind step()",
         {"the optimizer has already used the gradients as they were",
          "优化器已使用未裁剪的梯度，裁剪不起作用"},
         {"call % between backward() and step()",
          "在backward()与step()之间调用%"},
         LOOPS},
    [ITEM_IN_LOOP] =
        {"item_in_loop",
         TP_SEVERITY_LOW,
         "item() in each iteration of a training loop",
         "% in each iteration",
         {"it waits until the device has done all that it was given",
          "每次迭代都要等待设备完成全部已提交的计算"},
         {"add up on the device, call % every some hundred iterations",
          "在设备上累加，每隔数百次迭代再调用%"},
         LOOPS},
    [LOSS_WITH_GRAPH] =
        {"loss_with_graph",
         TP_SEVERITY_LOW,
         "losses added up with their graphs",
         "% added up with its graph",
         {"the sum refers to the graph of every iteration, none of which can "
          "be freed: memory grows",
          "累加值引用每次迭代的计算图，均无法释放，内存持续增长"},
         {"add %.detach() instead", "改为累加%.detach()"},
         LOOPS},
    [WORKERS_MISSING] =
        {"workers_missing",
         TP_SEVERITY_MEDIUM,
         "prefetch_factor or persistent_workers without workers",
         "% with num_workers=0",
         {"DataLoader raises an error: without workers there is nothing to "
          "prefetch or to keep",
          "DataLoader会报错：没有工作进程时该选项无效"},
         {"pass num_workers, or remove %", "指定num_workers，或删除%"},
         LOOPS},
    [NON_BLOCKING_WITHOUT_PIN] =
        {"non_blocking_without_pin",
         TP_SEVERITY_LOW,
         "non_blocking copies of batches that are not pinned",
         "% without pin_memory",
         {"from memory that is not pinned the copy waits all the same",
          "源内存未锁页，拷贝仍会等待"},
         {"pass pin_memory=True to DataLoader",
          "为DataLoader指定pin_memory=True"},
         LOOPS},
    [ANOMALY_LEFT_ON] =
        {"anomaly_left_on",
         TP_SEVERITY_LOW,
         "anomaly detection that is always on",
         "% always on",
         {"each operator then keeps a trace of its call and each gradient is "
          "searched for NaN, which makes training slow",
          "每个算子都要记录调用栈并检查梯度中的NaN，训练明显变慢"},
         {"turn it on for the search of an error only", "仅在排查问题时开启"},
         LOOPS},
    {0}};

/* What a method is called on. */
static uint32_t object_of(const struct tp_flow *flow, size_t event)
{
    return flow->at[flow->at[flow->events.at[event].node].child].child;
}

/* The loss of a backward: of engine.backward(loss), too. */
static uint32_t loss_of(const struct tp_flow *flow, size_t event)
{
    uint32_t function = flow->at[flow->events.at[event].node].child;
    uint32_t argument = flow->at[function].next;
    uint32_t object = flow->at[function].child;
    size_t length;
    if (argument && flow->at[argument].kind != TP_PY_NAMED)
        return argument;
    if (tp_script_text(flow->script, object, &length))
        return object;
    /* scaler.scale(loss).backward() */
    return flow->at[object].kind == TP_PY_CALL
               ? tp_py_child(&flow->script->tree, object, 1)
               : 0;
}

static bool is_backward(const struct tp_flow *flow, size_t event)
{
    return flow->events.at[event].step == TP_STEP_BACKWARD ||
           flow->events.at[event].step == TP_STEP_SCALED_BACKWARD;
}

static bool is_step(const struct tp_flow *flow, size_t event)
{
    return flow->events.at[event].step == TP_STEP_OPTIMIZER ||
           flow->events.at[event].step == TP_STEP_SCALER;
}

/* The first event of a loop that `is` says; the count when there is none. */
static size_t first_in_loop(const struct tp_flow *flow, uint32_t loop,
                            bool (*is)(const struct tp_flow *, size_t))
{
    size_t i = 0;
    while (i < flow->events.count &&
           (flow->events.at[i].loop != loop || !is(flow, i)))
        i++;
    return i;
}

/* A backward whose loop steps, in a script that never clears gradients; what
 * is made anew in the loop has none. */
static void judge_zero_grad(struct tp_flow *flow, size_t backward)
{
    static const char *const ways[] = {
        "zero_grad", "zero_grad_", "zero_grads", "set_to_none",
        "zero_",     "LBFGS",      "closure",    NULL};
    uint32_t loop = flow->events.at[backward].loop;
    size_t step = first_in_loop(flow, loop, is_step);
    if (!loop || step == flow->events.count ||
        first_in_loop(flow, loop, is_backward) != backward)
        return;
    for (size_t i = 0; i < flow->events.count; i++) {
        if (flow->events.at[i].step == TP_STEP_MAKE &&
            flow->events.at[i].loop == loop)
            return;
    }
    if (tp_flow_knows_any(flow, ways) ||
        (tp_flow_knows(flow, "grad") && tp_flow_knows(flow, "None")))
        return;
    tp_flow_is_optimizer(flow, object_of(flow, step)); /* by its name? */
    tp_flow_add(flow, flow->at[flow->events.at[step].node].child,
                &rules[ZERO_GRAD_MISSING], ".step()");
}

/* Clipping with a step before it, and neither gradients between nor clipping
 * before. */
static void judge_clip(struct tp_flow *flow, size_t clip)
{
    const struct tp_check_events *events = &flow->events;
    char name[64];
    size_t step = clip;
    while (step > 0 && !is_step(flow, step) && !is_backward(flow, step))
        step--;
    if (!is_step(flow, step) ||
        events->at[step].loop != events->at[clip].loop ||
        tp_events_any(events, 0, step, TP_STEP_CLIP) ||
        !tp_events_follow(flow->script, events, step, clip))
        return;
    tp_flow_name(flow, flow->at[events->at[clip].node].child, name);
    tp_flow_add(flow, flow->at[events->at[clip].node].child,
                &rules[CLIP_AFTER_STEP], name);
}

/* Whether a name, or a chain of attributes, is in an expression. */
static bool has(const struct tp_flow *flow, uint32_t node, uint32_t name)
{
    if (tp_flow_same(flow, node, name))
        return true;
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (has(flow, i, name))
            return true;
    }
    return false;
}

/* Of the loss, in the loop that trains, and under no condition that backward
 * is not. Other tensors may be on the CPU. */
static void judge_item(struct tp_flow *flow, size_t item)
{
    const struct tp_check_event *event = &flow->events.at[item];
    size_t backward = first_in_loop(flow, event->loop, is_backward);
    if (event->loop && backward < flow->events.count &&
        event->arms <= flow->events.at[backward].arms &&
        has(flow, object_of(flow, item), loss_of(flow, backward)))
        tp_flow_add(flow, flow->at[event->node].child, &rules[ITEM_IN_LOOP],
                    ".item()");
}

/* Whether a name is assigned in a loop behind token `from`, before `to`. */
static bool is_assigned(const struct tp_flow *flow, uint32_t node,
                        uint32_t name, const uint32_t tokens[2])
{
    if (flow->at[node].kind == TP_PY_ASSIGN &&
        flow->at[node].token > tokens[0] && flow->at[node].token < tokens[1] &&
        tp_flow_same(flow, flow->at[node].child, name))
        return true;
    for (uint32_t i = flow->at[node].child; i; i = flow->at[i].next) {
        if (is_assigned(flow, i, name, tokens))
            return true;
    }
    return false;
}

/* "total += loss" where loss, as it was given to backward, is not assigned
 * again before, and the total neither begins anew in this loop nor has a
 * backward itself. */
static void judge_kept_loss(struct tp_flow *flow, size_t kept)
{
    const struct tp_check_events *events = &flow->events;
    uint32_t total = flow->at[events->at[kept].node].child;
    uint32_t loss = flow->at[total].next, loop = events->at[kept].loop;
    size_t backward = events->count;
    char name[64];
    for (size_t i = 0; i < events->count; i++) {
        if (is_backward(flow, i) && has(flow, loss_of(flow, i), total))
            return;
        if (is_backward(flow, i) && events->at[i].loop == loop &&
            tp_flow_same(flow, loss_of(flow, i), loss))
            backward = i;
    }
    if (backward == events->count)
        return;
    const uint32_t all[2] = {flow->at[loop].token, flow->at[loop].end};
    const uint32_t between[2] = {flow->at[events->at[backward].node].token,
                                 flow->at[events->at[kept].node].token};
    if (is_assigned(flow, loop, total, all) ||
        is_assigned(flow, loop, loss, between))
        return;
    tp_flow_name(flow, loss, name);
    tp_flow_add(flow, total, &rules[LOSS_WITH_GRAPH], name);
}

static void judge_function(struct tp_flow *flow, uint32_t node)
{
    (void)node;
    for (size_t i = 0;
         i < flow->events.count && flow->events.count <= TP_CHECK_EVENTS; i++) {
        *flow->guessed = false;
        switch (flow->events.at[i].step) {
        case TP_STEP_BACKWARD:
        case TP_STEP_SCALED_BACKWARD:
            judge_zero_grad(flow, i);
            break;
        case TP_STEP_CLIP:
            judge_clip(flow, i);
            break;
        case TP_STEP_ITEM:
            judge_item(flow, i);
            break;
        case TP_STEP_KEEP_LOSS:
            judge_kept_loss(flow, i);
            break;
        default:
            break;
        }
    }
}

/* Whether a call has "*" or "**": anything may be given by it. */
static bool has_star(const struct tp_flow *flow, uint32_t call)
{
    for (uint32_t i = flow->at[flow->at[call].child].next; i;
         i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_STAR)
            return true;
    }
    return false;
}

static void judge_loader(struct tp_flow *flow, const struct tp_call *call)
{
    double workers = 0;
    uint32_t count =
        tp_script_argument(flow->script, call->node, "num_workers", 5);
    uint32_t prefetch = tp_script_argument(flow->script, call->node,
                                           "prefetch_factor", SIZE_MAX);
    uint32_t keep = tp_script_argument(flow->script, call->node,
                                       "persistent_workers", SIZE_MAX);
    if (has_star(flow, call->node) ||
        (count && !tp_flow_number(flow, count, &workers)) || workers != 0)
        return;
    if (keep && tp_flow_is(flow, keep, "True"))
        tp_flow_add(flow, call->function, &rules[WORKERS_MISSING],
                    "persistent_workers");
    else if (prefetch && flow->at[prefetch].kind == TP_PY_CONSTANT &&
             tp_flow_number(flow, prefetch, &workers))
        tp_flow_add(flow, call->function, &rules[WORKERS_MISSING],
                    "prefetch_factor");
}

/* Of what has a name, not of what was just computed, in a script that makes
 * loaders and pins nothing. */
static void judge_copy(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t way =
        tp_script_argument(flow->script, call->node, "non_blocking", SIZE_MAX);
    uint32_t device = flow->at[call->function].next;
    int kind = flow->at[call->receiver].kind;
    if ((kind == TP_PY_NAME || kind == TP_PY_SUBSCRIPT ||
         kind == TP_PY_ATTRIBUTE) &&
        way && tp_flow_is(flow, way, "True") && flow->scope.loop &&
        !tp_flow_is_text(flow, device, "cpu") && *flow->seen & TP_SEEN_LOADER &&
        !tp_flow_knows(flow, "pin_memory"))
        tp_flow_add(flow, call->function, &rules[NON_BLOCKING_WITHOUT_PIN],
                    "non_blocking");
}

/* In a script that trains, under no condition but that it is run. */
static void judge_anomaly(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t mode = tp_script_argument(flow->script, call->node, "mode", 0);
    char name[64];
    for (unsigned i = 0; i < flow->here.arms; i++) {
        if (i >= TP_CHECK_ARMS ||
            !tp_flow_mentions(flow, flow->at[flow->here.arm[i].node].child,
                              "__name__"))
            return;
    }
    if ((mode && !tp_flow_is(flow, mode, "True")) ||
        !(*flow->seen & TP_SEEN_BACKWARD) ||
        tp_script_argument(flow->script, call->node, "check_nan", SIZE_MAX))
        return;
    tp_flow_name(flow, call->function, name);
    tp_flow_add(flow, call->function, &rules[ANOMALY_LEFT_ON], name);
}

static bool is_plus(const struct tp_flow *flow, uint32_t target)
{
    return tp_py_token_is(&flow->script->tokens, flow->at[target].end, "+=");
}

/* What becomes of losses. */
static void judge_assignment(struct tp_flow *flow, uint32_t node)
{
    uint32_t target = flow->at[node].child, value = flow->at[target].next;
    size_t length;
    if (flow->at[node].kind == TP_PY_AUGMENTED && is_plus(flow, target) &&
        flow->scope.loop && !flow->scope.no_grad &&
        tp_script_text(flow->script, value, &length))
        tp_flow_note(flow, TP_STEP_KEEP_LOSS, node);
}

static void judge_call(struct tp_flow *flow, const struct tp_call *call)
{
    if (!strcmp(call->path, LOADER))
        judge_loader(flow, call);
    else if (!strcmp(call->path, "torch.autograd.set_detect_anomaly") ||
             !strcmp(call->path, "torch.autograd.detect_anomaly"))
        judge_anomaly(flow, call);
    else if (call->receiver && (tp_flow_is(flow, call->function, "to") ||
                                tp_flow_is(flow, call->function, "cuda")))
        judge_copy(flow, call);
    if (call->role == TP_DOES_MAKE_MODULE ||
        call->role == TP_DOES_MAKE_OPTIMIZER)
        tp_flow_note(flow, TP_STEP_MAKE, call->node);
    else if (call->receiver && tp_flow_is(flow, call->function, "item"))
        tp_flow_note(flow, TP_STEP_ITEM, call->node);
}

static void learn(struct tp_flow *flow, const struct tp_call *call)
{
    if (!strcmp(call->path, LOADER) && !has_star(flow, call->node))
        *flow->seen |= TP_SEEN_LOADER;
}

const struct tp_check_family tp_check_loop = {.rules = rules,
                                              .learn = learn,
                                              .call = judge_call,
                                              .assignment = judge_assignment,
                                              .function = judge_function};
