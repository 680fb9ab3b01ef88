/* SPDX-License-Identifier: MIT */
/* Measuring: the schedule of a profiler, and the clock. */
#include <string.h>

#include "check/check_flow.h"

#define TIMING "MEASURING IN SCRIPTS"

enum { PROFILER_LOOP_SHORT, PROFILER_STEP_MISSING, TIMED_WITHOUT_SYNCHRONIZE };

static const struct tp_check_rule rules[] = {
    [PROFILER_LOOP_SHORT] =
        {"profiler_loop_short",
         TP_SEVERITY_MEDIUM,
         "a profiled loop that ends before its schedule",
         "% ends before its schedule",
         {"there are fewer steps than wait + warmup + active: the trace is cut "
          "off, or empty",
          "步数少于wait + warmup + active，trace不完整或为空"},
         {"run more iterations, or lower wait, warmup or active",
          "增加迭代次数，或减小wait、warmup、active"},
         TIMING},
    [PROFILER_STEP_MISSING] =
        {"profiler_step_missing",
         TP_SEVERITY_HIGH,
         "a profiler with a schedule that never steps",
         "% without step()",
         {"the profiler stays at the first step of its schedule, where it "
          "records nothing",
          "profiler停留在schedule的第一步，不会记录任何数据"},
         {"call its step() at the end of each iteration",
          "在每次迭代末尾调用其step()"},
         TIMING},
    [TIMED_WITHOUT_SYNCHRONIZE] =
        {"timed_without_synchronize",
         TP_SEVERITY_MEDIUM,
         "a time that is taken without waiting for the device",
         "% taken without synchronize()",
         {"operators run on the device while the script goes on: the time is "
          "that of handing them over",
          "算子在设备上异步执行，测得的只是下发时间"},
         {"call torch.cuda.synchronize() before both readings of the clock",
          "在两次计时之前都调用torch.cuda.synchronize()"},
         TIMING},
    {0}};

/* Whether a loop is "for ... in range(...)": what it runs is measured whole. */
static bool is_repetition(const struct tp_flow *flow, uint32_t loop)
{
    uint32_t iterable = tp_py_child(&flow->script->tree, loop, 1);
    return flow->at[loop].kind == TP_PY_FOR &&
           flow->at[iterable].kind == TP_PY_CALL &&
           tp_flow_is(flow, flow->at[iterable].child, "range");
}

/* Whether the function names a device. */
static bool has_device(const struct tp_flow *flow)
{
    uint32_t where = flow->scope.function ? flow->scope.function : 1;
    static const char *const words[] = {"cuda",     "npu",       "'cuda'",
                                        "\"cuda\"", "\"npu\"",   "'npu'",
                                        "'cuda:0'", "\"cuda:0\""};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (tp_flow_mentions(flow, where, words[i]))
            return true;
    }
    return false;
}

/* The last event before number `end` that gives a name the time; `end` when
 * there is none. */
static size_t clock_of(const struct tp_flow *flow, uint32_t name, size_t end)
{
    for (size_t i = end; i-- > 0;) {
        const struct tp_check_event *event = &flow->events.at[i];
        if (event->step == TP_STEP_CLOCK &&
            tp_flow_same(flow, flow->at[event->node].child, name))
            return i;
    }
    return end;
}

/* Whether a network ran between two events, and nothing that may wait. */
static bool runs_between(const struct tp_flow *flow, size_t begin, size_t end)
{
    const struct tp_check_events *events = &flow->events;
    bool runs = false;
    for (size_t i = begin + 1; i < end; i++) {
        const struct tp_check_event *event = &events->at[i];
        if (event->step == TP_STEP_WAIT || event->step == TP_STEP_ITEM)
            return false;
        runs |= (event->step == TP_STEP_NETWORK ||
                 event->step == TP_STEP_BACKWARD ||
                 event->step == TP_STEP_SCALED_BACKWARD) &&
                (event->loop == events->at[begin].loop ||
                 is_repetition(flow, event->loop));
    }
    return runs;
}

static bool is_clock(const struct tp_flow *flow, uint32_t node)
{
    char path[TP_PATH_MAX];
    uint32_t function = flow->at[node].child;
    if (flow->at[node].kind != TP_PY_CALL || flow->at[function].next)
        return false;
    tp_script_path(flow->script, function, path);
    return !strcmp(path, "time.time") || !strcmp(path, "time.perf_counter") ||
           !strcmp(path, "time.monotonic");
}

/* "time.time() - begin", or "end - begin". */
static void judge_difference(struct tp_flow *flow, uint32_t node)
{
    uint32_t left = flow->at[node].child, right = flow->at[left].next;
    const struct tp_check_events *events = &flow->events;
    size_t end = events->count;
    if (flow->at[node].kind != TP_PY_BINARY || end > TP_CHECK_EVENTS ||
        flow->at[right].op != TP_PY_OP('-') || flow->at[right].next)
        return;
    if (!is_clock(flow, left)) {
        end = clock_of(flow, left, end);
        if (end == events->count)
            return;
    }
    size_t begin = clock_of(flow, right, end);
    if (begin == end || !runs_between(flow, begin, end) || !has_device(flow) ||
        (end < events->count ? events->at[end].loop : flow->scope.loop) !=
            events->at[begin].loop)
        return;
    tp_flow_add_as(flow, node, &rules[TIMED_WITHOUT_SYNCHRONIZE], "a time",
                   flow->scope.no_grad || tp_flow_depends_on(flow, "cpu")
                       ? TP_SEVERITY_LOW
                       : rules[TIMED_WITHOUT_SYNCHRONIZE].severity);
}

static bool is_profiler_part(const char *path, const char *name)
{
    static const char *const modules[] = {"torch.profiler.",
                                          "torch_npu.profiler."};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        size_t length = strlen(modules[i]);
        if (!strncmp(path, modules[i], length) && !strcmp(path + length, name))
            return true;
    }
    return false;
}

/* The call of schedule that a call of profile is given; 0: none. */
static uint32_t schedule_of(const struct tp_flow *flow, uint32_t node)
{
    struct tp_call call;
    if (flow->at[node].kind != TP_PY_CALL)
        return 0;
    uint32_t schedule =
        tp_script_argument(flow->script, node, "schedule", SIZE_MAX);
    if (flow->at[schedule].kind != TP_PY_CALL)
        return 0;
    tp_call_read(flow->script, node, &call);
    if (!is_profiler_part(call.path, "profile"))
        return 0;
    tp_call_read(flow->script, schedule, &call);
    return is_profiler_part(call.path, "schedule") ? schedule : 0;
}

/* An argument of schedule; without it 0. What is no number is unknown. */
static bool steps_of(const struct tp_flow *flow, uint32_t schedule,
                     const char *name, double *steps)
{
    double value = 0;
    uint32_t argument =
        tp_script_argument(flow->script, schedule, name, SIZE_MAX);
    if (argument && !tp_flow_number(flow, argument, &value))
        return false;
    *steps += value;
    return true;
}

/* What a body does with the profiler's name. */
struct profiled {
    uint32_t name;
    bool steps;    /* its step is called, or given to what calls it     */
    bool escapes;  /* it is given to something that may call it        */
    uint32_t loop; /* the innermost one around step()                 */
};

static void look_for_steps(const struct tp_flow *flow, uint32_t node,
                           uint32_t loop, struct profiled *profiled)
{
    int kind = flow->at[node].kind;
    uint32_t child = flow->at[node].child;
    if (kind == TP_PY_ATTRIBUTE && tp_flow_is(flow, node, "step") &&
        tp_flow_same(flow, child, profiled->name)) {
        profiled->steps = true;
        profiled->loop = loop;
    }
    if (kind == TP_PY_FOR || kind == TP_PY_WHILE)
        loop = node;
    for (uint32_t i = child; i; i = flow->at[i].next) {
        bool is_value = kind != TP_PY_ATTRIBUTE && kind != TP_PY_WITH_ITEM;
        if (is_value && i != profiled->name && flow->at[i].kind == TP_PY_NAME &&
            tp_flow_same(flow, i, profiled->name))
            profiled->escapes = true;
        look_for_steps(flow, i, loop, profiled);
    }
}

/* How often "for x in range(n)" runs, or enumerate of it; 0: unknown. */
static double rounds_of(const struct tp_flow *flow, uint32_t loop)
{
    double rounds = 0;
    uint32_t iterable = tp_py_child(&flow->script->tree, loop, 1);
    if (!is_repetition(flow, loop) ||
        tp_py_child(&flow->script->tree, iterable, 2) ||
        !tp_flow_number(flow, tp_py_child(&flow->script->tree, iterable, 1),
                        &rounds))
        return 0;
    return rounds;
}

/* A profiler with a schedule, its name and where it is used. */
static void judge_profiler(struct tp_flow *flow, uint32_t profile,
                           uint32_t name, uint32_t where)
{
    uint32_t schedule = schedule_of(flow, profile);
    struct profiled profiled = {.name = name};
    double before = 0, steps = 0, once = 0;
    if (!schedule)
        return;
    bool waits = steps_of(flow, schedule, "wait", &before) &&
                 steps_of(flow, schedule, "warmup", &before) &&
                 steps_of(flow, schedule, "skip_first", &before);
    steps = before;
    bool known = waits && steps_of(flow, schedule, "active", &steps) &&
                 !tp_script_argument(flow->script, schedule, "skip_first_wait",
                                     SIZE_MAX);
    look_for_steps(flow, where, 0, &profiled);
    if (profiled.escapes)
        return;
    if (!profiled.steps) {
        if (waits && before > 0)
            tp_flow_add(flow, flow->at[profile].child,
                        &rules[PROFILER_STEP_MISSING], "profile");
        return;
    }
    once = profiled.loop ? rounds_of(flow, profiled.loop) : 0;
    if (known && once > 0 && once < steps)
        tp_flow_add(flow, profiled.loop, &rules[PROFILER_LOOP_SHORT],
                    "profiled loop");
}

static void judge_with(struct tp_flow *flow, uint32_t node)
{
    uint32_t expression = flow->at[node].child;
    judge_profiler(flow, expression, flow->at[expression].next,
                   flow->scope.statement);
}

/* Readings of the clock, and a profiler that begins by its start(). */
static void judge_assignment(struct tp_flow *flow, uint32_t node)
{
    uint32_t target = flow->at[node].child, value = flow->at[target].next;
    if (flow->at[node].kind != TP_PY_ASSIGN)
        return;
    if (is_clock(flow, value))
        tp_flow_note(flow, TP_STEP_CLOCK, node);
    else if (flow->at[target].kind == TP_PY_NAME && schedule_of(flow, value))
        tp_flow_note(flow, TP_STEP_PROFILER, node);
}

/* Behind a function: where the names of its profilers are all used. */
static void judge_function(struct tp_flow *flow, uint32_t node)
{
    for (size_t i = 0;
         i < flow->events.count && flow->events.count <= TP_CHECK_EVENTS; i++) {
        uint32_t target = flow->at[flow->events.at[i].node].child;
        if (flow->events.at[i].step == TP_STEP_PROFILER)
            judge_profiler(flow, flow->at[target].next, target, node);
    }
}

static bool is_network(const struct tp_flow *flow, const struct tp_call *call)
{
    static const char *const names[] = {"model", "net", "module", "network"};
    size_t length;
    if (call->path[0] || call->role != TP_DOES_NONE ||
        !tp_script_text(flow->script, call->function, &length))
        return false;
    if (tp_flow_value(flow, call->function) & TP_TAG_MODULE)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (tp_flow_is(flow, call->function, names[i]))
            return true;
    }
    return false;
}

/* Whether the clock was read, and nothing has waited since. */
static bool is_running(const struct tp_flow *flow)
{
    for (size_t i = flow->events.count; i-- > 0;) {
        if (flow->events.at[i].step == TP_STEP_WAIT)
            return false;
        if (flow->events.at[i].step == TP_STEP_CLOCK)
            return true;
    }
    return false;
}

/* What runs on the device, and what may wait for it: all that is unknown. */
static void judge_call(struct tp_flow *flow, const struct tp_call *call)
{
    static const char *const harmless[] = {
        "range",     "enumerate", "zip",    "len",   "reversed", "tqdm",
        "zero_grad", "train",     "append", "empty", "cuda",     "to"};
    static const char *const waits[] = {"synchronize", "barrier", "wait",
                                        "cpu"};
    uint32_t argument = flow->at[call->function].next;
    bool knows =
        call->role != TP_DOES_NONE || !strncmp(call->path, "torch.", 6);
    if (!is_running(flow) || is_clock(flow, call->node))
        return;
    if (is_network(flow, call)) {
        tp_flow_note(flow, TP_STEP_NETWORK, call->node);
        return;
    }
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        knows |= tp_flow_is(flow, call->function, harmless[i]);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        knows &= !tp_flow_is(flow, call->function, waits[i]);
    if (!knows || tp_flow_contains(flow, argument, "cpu") ||
        tp_flow_is_text(flow, argument, "cpu"))
        tp_flow_note(flow, TP_STEP_WAIT, call->node);
}

const struct tp_check_family tp_check_timing = {.rules = rules,
                                                .call = judge_call,
                                                .assignment = judge_assignment,
                                                .operation = judge_difference,
                                                .with = judge_with,
                                                .function = judge_function};
