/* SPDX-License-Identifier: MIT */
/*
 * Operators by their names and something else: the shapes of their inputs, the
 * Python frames around them, or the nn.Modules. Each event gets the text that
 * tells it from its namesakes, equal texts one number, and name and number
 * together a row; trace_ops.c adds up as it does without groups, so that the
 * rows are those of torch's key_averages with the same question.
 *
 * Frames around an operator are those of its thread that it lies in, innermost
 * first; all operators under one frame share its text, which is made once.
 * Where the profiler wrote stacks with the operators (verbose ones, and old
 * traces) those count. What autograd runs has the text of the forward operator
 * that it belongs to, by the number that both carry.
 * O(n log n) in events, and only when asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/search.h"
#include "base/text.h"
#include "trace/trace.h"
#include "trace/trace_inputs.h"
#include "trace/trace_merge.h"

struct grouping {
    struct tp_trace *trace;
    struct tp_intern texts;
    const char **text; /* [events.count] of host events, later of frames  */
    uint32_t *list;    /* host events and frames                          */
    size_t count;
    uint32_t *around; /* [events.count] the innermost of the list        */
};

static const char *keep(struct grouping *g, const struct tp_text *text)
{
    return text->failed ? NULL
                        : tp_intern(&g->texts, &g->trace->events.arena,
                                    tp_text_get(text));
}

/* --- shapes ------------------------------------------------------------- */

/* As str(input_shapes) of torch: "[[5, 512], []]". */
static enum tp_status group_by_shape(struct grouping *g, struct tp_error *err)
{
    const struct tp_events *events = &g->trace->events;
    const char **known = calloc(events->inputs.count + 1, sizeof *known);
    struct tp_text text = {0};
    enum tp_status status = known ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < events->op_input_count && status == TP_OK; i++) {
        const struct tp_op_inputs *row = &events->op_inputs[i];
        if (!known[row->inputs]) {
            text.length = 0;
            tp_op_shapes_write(tp_events_get_inputs(events, row->inputs),
                               &text);
            known[row->inputs] = keep(g, &text);
        }
        g->text[row->event] = known[row->inputs];
        if (!known[row->inputs])
            status = tp_fail_memory(err);
    }
    tp_text_clear(&text);
    free(known);
    return status;
}

/* --- frames ------------------------------------------------------------- */

static bool is_frame(const struct grouping *g, uint32_t event)
{
    return g->trace->events.category[event] == TP_EVENT_PYTHON;
}

static const char *name_of(const struct grouping *g, uint32_t event)
{
    return tp_events_get(&g->trace->events, g->trace->events.name[event]);
}

/* Frames that torch leaves out of stacks, as they are its own way into
 * backward and into profiled functions. */
static bool is_hidden(const char *frame)
{
    static const char *const hidden[][2] = {
        {"autograd/__init__", "_make_grads"},
        {"autograd/__init__", "backward"},
        {"torch/tensor", "backward"},
        {"_internal/common_utils", "prof_callable"},
        {"_internal/common_utils", "prof_func_call"},
        {"_internal/common_utils", "prof_meth_call"},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        if (strstr(frame, hidden[i][0]) && strstr(frame, hidden[i][1]))
            return true;
    }
    return false;
}

/* The frames from `frame` out, at most `depth`: "inner; outer". */
static void write_stack(const struct grouping *g, uint32_t frame,
                        struct tp_text *text)
{
    size_t depth = g->trace->group_by.depth;
    for (; frame != TP_NO_EVENT && depth > 0; frame = g->around[frame]) {
        if (!is_frame(g, frame) || is_hidden(name_of(g, frame)))
            continue;
        tp_text_add(text, "%s%s", text->length ? "; " : "", name_of(g, frame));
        depth--;
    }
}

/* The same of a stack that the profiler wrote: "inner;outer;". */
static void cut_stack(const struct grouping *g, const char *stack,
                      struct tp_text *text)
{
    char frame[1024];
    size_t depth = g->trace->group_by.depth;
    while (*stack && depth > 0) {
        const size_t length = strcspn(stack, ";");
        const size_t used = length < sizeof frame ? length : sizeof frame - 1;
        memcpy(frame, stack, used);
        frame[used] = '\0';
        stack += length + (stack[length] == ';');
        if (!used || is_hidden(frame))
            continue;
        tp_text_add(text, "%s%s", text->length ? "; " : "", frame);
        depth--;
    }
}

/* A forward operator, or the stack of one, and its number for autograd. */
struct forward {
    int64_t autograd, start;
    uint32_t event;
};

static int by_autograd(const void *a, const void *b)
{
    const struct forward *x = a, *y = b;
    if (x->autograd != y->autograd)
        return x->autograd < y->autograd ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

static bool is_backward(const struct grouping *g, uint32_t event,
                        const struct tp_op_inputs *row)
{
    static const char around[] = "autograd::engine::evaluate_function";
    static const char leaf[] = "torch::autograd::AccumulateGrad";
    const char *name = name_of(g, event);
    if (!strncmp(name, around, sizeof around - 1))
        return false; /* the engine, not the function */
    return (row && row->backward) || !strncmp(name, leaf, sizeof leaf - 1);
}

/* The text of the first forward operator of a number; "" without. */
static const char *forward_text(const struct grouping *g,
                                const struct forward *forwards, size_t count,
                                int64_t autograd)
{
    size_t i;
    TP_PARTITION_POINT(i, count, forwards[i].autograd < autograd);
    return autograd >= 0 && i < count && forwards[i].autograd == autograd
               ? g->text[forwards[i].event]
               : "";
}

/* What autograd runs gets the stack of the forward operator it belongs to, as
 * in torch: the first of the same number. `rows` are op_inputs by event. */
static void give_backward(struct grouping *g,
                          const struct tp_op_inputs *const *rows,
                          struct forward *forwards, uint32_t *root)
{
    const struct tp_events *events = &g->trace->events;
    size_t count = 0;
    for (size_t i = 0; i < g->count; i++) { /* those around first */
        const uint32_t event = g->list[i], around = g->around[event];
        const struct tp_op_inputs *row = rows[event];
        root[event] = is_backward(g, event, row) ? event
                      : around == TP_NO_EVENT    ? TP_NO_EVENT
                                                 : root[around];
        if (root[event] == TP_NO_EVENT && row && row->autograd >= 0)
            forwards[count++] =
                (struct forward){row->autograd, events->start[event], event};
    }
    if (count)
        qsort(forwards, count, sizeof *forwards, by_autograd);
    for (size_t i = 0; i < g->count; i++) {
        const uint32_t event = g->list[i];
        if (root[event] != TP_NO_EVENT && !is_frame(g, event))
            g->text[event] = forward_text(
                g, forwards, count,
                rows[root[event]] ? rows[root[event]]->autograd : -1);
    }
}

static enum tp_status find_backward(struct grouping *g, struct tp_error *err)
{
    const struct tp_events *events = &g->trace->events;
    const struct tp_op_inputs **rows = calloc(events->count + 1, sizeof *rows);
    struct forward *forwards = malloc((g->count + 1) * sizeof *forwards);
    uint32_t *root = malloc((events->count + 1) * sizeof *root);
    const bool room = rows && forwards && root;
    for (size_t i = 0; room && i < events->op_input_count; i++)
        rows[events->op_inputs[i].event] = &events->op_inputs[i];
    if (room)
        give_backward(g, rows, forwards, root);
    free(rows);
    free(forwards);
    free(root);
    return room ? TP_OK : tp_fail_memory(err);
}

/* Those that the profiler wrote. */
static enum tp_status take_stacks(struct grouping *g, struct tp_error *err)
{
    const struct tp_events *events = &g->trace->events;
    const char **known = calloc(events->inputs.count + 1, sizeof *known);
    struct tp_text text = {0};
    enum tp_status status = known ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < events->op_input_count && status == TP_OK; i++) {
        const struct tp_op_inputs *row = &events->op_inputs[i];
        if (!row->stack)
            continue;
        if (!known[row->stack]) {
            text.length = 0;
            cut_stack(g, tp_events_get_inputs(events, row->stack), &text);
            known[row->stack] =
                text.length || text.failed ? keep(g, &text) : "";
        }
        g->text[row->event] = known[row->stack];
        if (!known[row->stack])
            status = tp_fail_memory(err);
    }
    tp_text_clear(&text);
    free(known);
    return status;
}

/* The modules around from the outermost in: "Net_0/Block_1/Linear_2". */
static void write_modules(const struct grouping *g, uint32_t frame,
                          struct tp_text *text)
{
    enum { DEEPEST = 64 };
    static const char head[] = "nn.Module: ";
    const char *modules[DEEPEST];
    size_t count = 0;
    for (; frame != TP_NO_EVENT; frame = g->around[frame]) {
        const char *name = name_of(g, frame);
        if (count < DEEPEST && is_frame(g, frame) &&
            !strncmp(name, head, sizeof head - 1))
            modules[count++] = name + sizeof head - 1;
    }
    for (; count > 0; count--)
        tp_text_add(text, "%s%s", text->length ? "/" : "", modules[count - 1]);
}

static enum tp_status nest(struct grouping *g, struct tp_error *err)
{
    const struct tp_events *events = &g->trace->events;
    const struct tp_trace_index *index = &g->trace->index;
    size_t count = index->host_count;
    for (uint32_t i = 0; i < events->count; i++)
        count += is_frame(g, i);
    g->list = malloc((count + 1) * sizeof *g->list);
    g->around = malloc((events->count + 1) * sizeof *g->around);
    if (!g->list || !g->around)
        return tp_fail_memory(err);
    if (index->host_count)
        memcpy(g->list, index->host, index->host_count * sizeof *g->list);
    g->count = index->host_count;
    for (uint32_t i = 0; i < events->count; i++) {
        if (is_frame(g, i))
            g->list[g->count++] = i;
    }
    const enum tp_status status = tp_trace_merge_sort(
        events, g->list, g->count, tp_trace_before_nested, err);
    if (status == TP_OK)
        tp_trace_nest(events, g->list, g->count, g->around);
    return status;
}

/* Those around come before those inside. */
static enum tp_status group_by_frames(struct grouping *g, struct tp_error *err)
{
    const bool modules = g->trace->group_by.by == TP_GROUP_MODULE;
    struct tp_text text = {0};
    enum tp_status status = nest(g, err);
    for (size_t i = 0; i < g->count && status == TP_OK; i++) {
        const uint32_t event = g->list[i], around = g->around[event];
        if (!is_frame(g, event)) {
            g->text[event] = around == TP_NO_EVENT ? "" : g->text[around];
            continue;
        }
        text.length = 0;
        if (modules)
            write_modules(g, event, &text);
        else
            write_stack(g, event, &text);
        g->text[event] = text.length || text.failed ? keep(g, &text) : "";
        if (!g->text[event])
            status = tp_fail_memory(err);
    }
    tp_text_clear(&text);
    if (status == TP_OK && !modules)
        status = take_stacks(g, err);
    return status == TP_OK ? find_backward(g, err) : status;
}

/* --- rows --------------------------------------------------------------- */

/* All steps are one row, as in torch. */
static uint32_t row_name(const struct tp_trace *trace, uint32_t event)
{
    const uint32_t name = trace->events.name[event];
    return trace->index.kinds[name] & TP_NAME_ANY_STEP
               ? (uint32_t)trace->events.texts.count
               : name;
}

struct keyed {
    uint32_t name, event;
    const char *text;
};

/* Texts are one copy each, so that equal ones are the same pointer. */
static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->text != y->text)
        return strcmp(x->text, y->text) < 0 ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

/* A key for every event of the host and of devices; the latter were given
 * nothing and stand under no frame. */
static enum tp_status number(struct grouping *g, struct tp_op_grouping *made,
                             struct tp_error *err)
{
    const struct tp_trace *trace = g->trace;
    const size_t count = trace->events.count;
    struct keyed *items = malloc((count + 1) * sizeof *items);
    made->keys = calloc(count + 1, sizeof *made->keys);
    made->texts = malloc((count + 1) * sizeof *made->texts);
    if (!items || !made->keys || !made->texts) {
        free(items);
        return tp_fail_memory(err);
    }
    for (uint32_t i = 0; i < count; i++)
        items[i] = (struct keyed){row_name(trace, i), i, g->text[i]};
    if (count)
        qsort(items, count, sizeof *items, by_key);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || items[i].name != items[i - 1].name ||
            items[i].text != items[i - 1].text)
            made->texts[made->key_count++] = items[i].text;
        made->keys[items[i].event] = (uint32_t)made->key_count - 1;
    }
    free(items);
    return TP_OK;
}

enum tp_status tp_trace_groups(struct tp_trace *trace, struct tp_error *err)
{
    struct tp_op_grouping made = {0};
    if (trace->group_by.by == TP_GROUP_NONE)
        return TP_OK;
    struct grouping g = {
        .trace = trace,
        .text = malloc((trace->events.count + 1) * sizeof *g.text)};
    const bool shapes = trace->group_by.by == TP_GROUP_SHAPE;
    const char *none =
        tp_intern(&g.texts, &trace->events.arena, shapes ? "[]" : "");
    enum tp_status status = g.text && none ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < trace->events.count && status == TP_OK; i++)
        g.text[i] = none;
    if (status == TP_OK)
        status = shapes ? group_by_shape(&g, err) : group_by_frames(&g, err);
    for (size_t i = 0; i < trace->events.count && status == TP_OK; i++)
        g.text[i] = *g.text[i] ? g.text[i] : none;
    if (status == TP_OK)
        status = number(&g, &made, err);
    if (status == TP_OK)
        status = tp_trace_ops_grouped(trace, &made, err);
    tp_intern_clear(&g.texts);
    free(g.text);
    free(g.list);
    free(g.around);
    free(made.keys);
    free(made.texts);
    return status;
}
