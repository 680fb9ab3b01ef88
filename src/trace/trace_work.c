/* SPDX-License-Identifier: MIT */
/*
 * Which operator a device event is work of. The innermost around the launch is
 * often a part only: aten::convolution calls cudnn's and adds the bias,
 * aten::layer_norm calls native_layer_norm. So the way up is gone to the
 * outermost operator whose work is known as a whole, or which starts kernels
 * itself, as upsampling does beside a copy; of torch's own only, since regions
 * that torch.compile made start kernels, too, and hold all others. Names are
 * looked up once each. O(depth) for a device event.
 */
#include "trace/trace_work.h"

#include <stdlib.h>
#include <string.h>

enum tp_status tp_trace_work_init(struct tp_trace_work *work,
                                  const struct tp_trace *trace,
                                  struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    const size_t names = events->texts.count + 1;
    *work = (struct tp_trace_work){
        .trace = trace,
        .inputs = calloc(events->count + 1, sizeof *work->inputs),
        .models = calloc(names, sizeof *work->models),
        .asked = calloc(names, sizeof *work->asked),
        .direct = calloc(events->count + 1, sizeof *work->direct)};
    if (!work->inputs || !work->models || !work->asked || !work->direct)
        return tp_fail_memory(err);
    for (size_t i = 0; i < events->op_input_count; i++)
        work->inputs[events->op_inputs[i].event] = events->op_inputs[i].inputs;
    for (size_t i = 0; i < trace->index.device_count; i++) {
        const uint32_t op = trace->index.op[trace->index.device[i]];
        if (op != TP_NO_EVENT)
            work->direct[op] = true;
    }
    return TP_OK;
}

void tp_trace_work_clear(struct tp_trace_work *work)
{
    free(work->inputs);
    free(work->models);
    free(work->asked);
    free(work->direct);
    memset(work, 0, sizeof *work);
}

static const struct tp_work_model *model_of(struct tp_trace_work *work,
                                            uint32_t op)
{
    const struct tp_events *events = &work->trace->events;
    const uint32_t name = events->name[op];
    if (!work->asked[name]) {
        work->asked[name] = true;
        work->models[name] = tp_work_find(tp_events_get(events, name));
    }
    return work->models[name];
}

static bool is_torch(const struct tp_trace_work *work, uint32_t op)
{
    const struct tp_events *events = &work->trace->events;
    return !strncmp(tp_events_get(events, events->name[op]), "aten::", 6);
}

uint32_t tp_trace_work_owner(struct tp_trace_work *work, uint32_t event)
{
    const struct tp_trace_index *index = &work->trace->index;
    const uint8_t *category = work->trace->events.category;
    const uint32_t innermost = index->op[event];
    uint32_t owner = innermost;
    for (uint32_t op = innermost; op != TP_NO_EVENT; op = index->parent[op]) {
        if (category[op] != TP_EVENT_CPU_OP)
            continue;
        const struct tp_work_model *model = model_of(work, op);
        if ((model && tp_work_is_whole(model)) ||
            (work->direct[op] && is_torch(work, op)))
            owner = op;
    }
    return owner;
}

void tp_trace_work_args(const struct tp_trace_work *work, uint32_t op,
                        struct tp_op_args *args)
{
    const struct tp_text_table *inputs = &work->trace->events.inputs;
    const uint32_t text = work->inputs[op];
    tp_op_args_read(text < inputs->count ? inputs->texts[text] : "", args);
}

struct tp_work tp_trace_work_of(struct tp_trace_work *work, uint32_t op,
                                const struct tp_op_args *args)
{
    return tp_work_of(model_of(work, op), args);
}
