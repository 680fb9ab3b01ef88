/* SPDX-License-Identifier: MIT */
/* Scripts that dump by the PrecisionDebugger of msprobe. */
#include <string.h>

#include "check/check_flow.h"

#define MSPROBE "MSPROBE IN SCRIPTS"

enum {
    DEBUGGER_IN_LOOP,
    DEBUGGER_WITHOUT_MODEL,
    DEBUGGER_WITHOUT_STOP,
    STOP_BEFORE_BACKWARD,
    DUMP_END_ORDER
};

static const struct tp_check_rule rules[] = {
    [DEBUGGER_IN_LOOP] =
        {"debugger_in_loop",
         TP_SEVERITY_HIGH,
         "a PrecisionDebugger that is made in a loop",
         "% made in a loop",
         {"the manual of msprobe forbids it: there is one debugger, and what "
          "later ones ask for is ignored",
          "msprobe手册要求不要在循环中初始化：只存在一个实例，之后的参数均被忽"
          "略"},
         {"make it once, before the loop", "在循环之前只初始化一次"},
         MSPROBE},
    [DEBUGGER_WITHOUT_MODEL] =
        {"debugger_without_model",
         TP_SEVERITY_HIGH,
         "level L0 or mix of msprobe without a model",
         "level % without a model",
         {"at this level msprobe hooks the modules of a model, and raises an "
          "error when it is given none",
          "该级别需要在模型的模块上挂hook，未传入model会报错"},
         {"pass model to PrecisionDebugger or to start(), as the version of "
          "msprobe wants",
          "按msprobe版本，将model传给PrecisionDebugger或start()"},
         MSPROBE},
    [DEBUGGER_WITHOUT_STOP] =
        {"debugger_without_stop",
         TP_SEVERITY_HIGH,
         "start() of msprobe without stop(), or in a loop without step()",
         "start() without %",
         {"json files are written whole by stop(), and iterations are told "
          "apart by step()",
          "json文件在stop()后才写完整，各迭代的数据由step()区分"},
         {"call stop() behind backward(), then step(), in each iteration",
          "每次迭代在backward()之后依次调用stop()和step()"},
         MSPROBE},
    [STOP_BEFORE_BACKWARD] = {"stop_before_backward",
                              TP_SEVERITY_MEDIUM,
                              "stop() of msprobe before backward()",
                              "% before backward()",
                              {"the dump has no data of the backward pass",
                               "不会采集反向数据"},
                              {"move % behind backward()",
                               "将%移到backward()之后"},
                              MSPROBE},
    [DUMP_END_ORDER] =
        {"dump_end_order",
         TP_SEVERITY_MEDIUM,
         "forward_backward_dump_end() not between start() and backward()",
         "% not between start() and backward()",
         {"it ends what is dumped, forward and backward, only when it stands "
          "behind start() and before backward()",
          "只有位于start()之后、backward()之前时，才能限定前反向采集范围"},
         {"move % between start() and backward()",
          "将%移到start()与backward()之间"},
         MSPROBE},
    {0}};

/* Whether a call is a method of a debugger; of the class, too. */
static bool is_method(const struct tp_flow *flow, const struct tp_call *call,
                      const char *name)
{
    if (!call->function || flow->at[call->function].kind != TP_PY_ATTRIBUTE ||
        !tp_flow_is(flow, call->function, name))
        return false;
    return call->receiver ? tp_script_object(flow->script, call->receiver) &
                                TP_TAG_DEBUGGER
                          : !strncmp(call->path, "msprobe.", 8) &&
                                strstr(call->path, ".PrecisionDebugger.");
}

static void judge_made(struct tp_flow *flow, const struct tp_call *call)
{
    uint32_t level = tp_script_argument(flow->script, call->node, "level", 3);
    uint32_t model =
        tp_script_argument(flow->script, call->node, "model", SIZE_MAX);
    bool is_mix = level && tp_flow_is_text(flow, level, "mix");
    if (flow->scope.loop)
        tp_flow_add(flow, call->function, &rules[DEBUGGER_IN_LOOP],
                    "PrecisionDebugger");
    for (uint32_t i = flow->at[call->function].next; i; i = flow->at[i].next) {
        if (flow->at[i].kind == TP_PY_STAR)
            return;
    }
    if (!model && (is_mix || (level && tp_flow_is_text(flow, level, "L0"))) &&
        *flow->seen & TP_SEEN_PROBE_START &&
        !(*flow->seen & TP_SEEN_PROBE_MODEL))
        tp_flow_add(flow, call->function, &rules[DEBUGGER_WITHOUT_MODEL],
                    is_mix ? "mix" : "L0");
}

/* A debugger that has a name of its own: what is an attribute, others may
 * stop. */
static void judge_start(struct tp_flow *flow, const struct tp_call *call)
{
    if (!call->receiver || flow->at[call->receiver].kind != TP_PY_NAME)
        return;
    if (!(*flow->seen & TP_SEEN_PROBE_STOP))
        tp_flow_add(flow, call->function, &rules[DEBUGGER_WITHOUT_STOP],
                    "stop()");
    else if (flow->scope.loop && !(*flow->seen & TP_SEEN_PROBE_STEP))
        tp_flow_add(flow, call->function, &rules[DEBUGGER_WITHOUT_STOP],
                    "step()");
}

static void judge_call(struct tp_flow *flow, const struct tp_call *call)
{
    if (call->role == TP_DOES_MAKE_DEBUGGER) {
        judge_made(flow, call);
    } else if (is_method(flow, call, "start")) {
        judge_start(flow, call);
        tp_flow_note(flow, TP_STEP_PROBE_START, call->node);
    } else if (is_method(flow, call, "stop")) {
        tp_flow_note(flow, TP_STEP_PROBE_STOP, call->node);
    } else if (is_method(flow, call, "forward_backward_dump_end")) {
        tp_flow_note(flow, TP_STEP_PROBE_END, call->node);
    }
}

static bool is_backward(const struct tp_check_event *event)
{
    return event->step == TP_STEP_BACKWARD ||
           event->step == TP_STEP_SCALED_BACKWARD;
}

/* The nearest start, stop or backward before an event; its own number when
 * there is none. */
static size_t before(const struct tp_check_events *events, size_t event)
{
    for (size_t i = event; i-- > 0;) {
        if (events->at[i].step == TP_STEP_PROBE_START ||
            events->at[i].step == TP_STEP_PROBE_STOP ||
            is_backward(&events->at[i]))
            return i;
    }
    return event;
}

/* The same behind it, of those that can follow. */
static size_t behind(const struct tp_flow *flow, size_t event)
{
    const struct tp_check_events *events = &flow->events;
    for (size_t i = event + 1; i < events->count; i++) {
        if ((events->at[i].step == TP_STEP_PROBE_START ||
             events->at[i].step == TP_STEP_PROBE_STOP ||
             is_backward(&events->at[i])) &&
            events->at[i].loop == events->at[event].loop &&
            tp_events_follow(flow->script, events, event, i))
            return i;
    }
    return event;
}

static void judge_stop(struct tp_flow *flow, size_t stop)
{
    const struct tp_check_events *events = &flow->events;
    size_t start = before(events, stop), next = behind(flow, stop);
    if (events->at[start].step == TP_STEP_PROBE_START &&
        is_backward(&events->at[next]))
        tp_flow_add(flow, flow->at[events->at[stop].node].child,
                    &rules[STOP_BEFORE_BACKWARD], "stop()");
}

/* Behind a backward or a stop that came after start, or before start. */
static void judge_end(struct tp_flow *flow, size_t end)
{
    const struct tp_check_events *events = &flow->events;
    size_t last = before(events, end), next = behind(flow, end);
    bool early = events->at[next].step == TP_STEP_PROBE_START;
    if (events->at[last].step == TP_STEP_PROBE_START ||
        (!early && !tp_events_any(events, 0, end, TP_STEP_PROBE_START)))
        return;
    tp_flow_add(flow, flow->at[events->at[end].node].child,
                &rules[DUMP_END_ORDER], "forward_backward_dump_end()");
}

static void judge_function(struct tp_flow *flow, uint32_t node)
{
    (void)node;
    for (size_t i = 0;
         i < flow->events.count && flow->events.count <= TP_CHECK_EVENTS; i++) {
        if (flow->events.at[i].step == TP_STEP_PROBE_STOP)
            judge_stop(flow, i);
        else if (flow->events.at[i].step == TP_STEP_PROBE_END)
            judge_end(flow, i);
    }
}

static void learn(struct tp_flow *flow, const struct tp_call *call)
{
    if (is_method(flow, call, "start"))
        *flow->seen |=
            TP_SEEN_PROBE_START |
            (flow->at[call->function].next ? TP_SEEN_PROBE_MODEL : 0);
    else if (is_method(flow, call, "stop"))
        *flow->seen |= TP_SEEN_PROBE_STOP;
    else if (is_method(flow, call, "step"))
        *flow->seen |= TP_SEEN_PROBE_STEP;
}

const struct tp_check_family tp_check_msprobe = {.rules = rules,
                                                 .learn = learn,
                                                 .call = judge_call,
                                                 .function = judge_function};
