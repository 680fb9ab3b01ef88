/* SPDX-License-Identifier: MIT */
/*
 * How long the operators of the host take themselves, one by one: where there
 * is no device, operators so short that what calls them takes the time.
 *
 * Sums by name do not tell that: an operator may be short in one place and long
 * in another. Linear in the host events.
 */
#include "trace/trace_host_ops.h"

#include <stdlib.h>

/* Below it an operator is tiny, ns: what a kernel of a device is, too; calling
 * one takes 1 to 5 us, of which the profiler has about one. */
static const int64_t tiny_ns = 10 * 1000;

static bool is_operator(const struct tp_trace *trace, uint32_t event)
{
    const uint32_t kinds = trace->index.kinds[trace->events.name[event]];
    return trace->events.category[event] == TP_EVENT_CPU_OP &&
           !(kinds & (TP_NAME_STEP | TP_NAME_DATALOADER));
}

/* Time of each operator without those inside. */
static void find_self(const struct tp_trace *trace, int64_t *self)
{
    const struct tp_events *events = &trace->events;
    const struct tp_trace_index *index = &trace->index;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        if (!is_operator(trace, event))
            continue;
        self[event] += events->duration[event];
        uint32_t around = index->parent[event];
        while (around != TP_NO_EVENT && !is_operator(trace, around))
            around = index->parent[around];
        if (around != TP_NO_EVENT)
            self[around] -= events->duration[event];
    }
}

struct by_name {
    int64_t ns, count;
};

static void add_up(const struct tp_trace *trace, const int64_t *self,
                   struct by_name *names, struct tp_trace_host_ops *ops)
{
    const struct tp_events *events = &trace->events;
    const struct tp_trace_index *index = &trace->index;
    int64_t most = 0;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        const int64_t start = events->start[event];
        if (!is_operator(trace, event) || start < index->from ||
            start >= index->to)
            continue;
        ops->operators++;
        ops->self_us += (double)self[event] / 1e3;
        if (self[event] >= tiny_ns)
            continue;
        struct by_name *name = &names[events->name[event]];
        name->ns += self[event];
        name->count++;
        ops->tiny_us += (double)self[event] / 1e3;
        if (name->ns < most)
            continue;
        most = name->ns;
        ops->tiny = tp_events_get(events, events->name[event]);
        ops->tiny_count = name->count;
    }
}

enum tp_status tp_trace_host_ops_find(const struct tp_trace *trace,
                                      struct tp_trace_host_ops *ops,
                                      struct tp_error *err)
{
    int64_t *self = calloc(trace->events.count + 1, sizeof *self);
    struct by_name *names =
        calloc(trace->events.texts.count + 1, sizeof *names);
    *ops = (struct tp_trace_host_ops){.tiny = ""};
    if (self && names) {
        find_self(trace, self);
        add_up(trace, self, names, ops);
    }
    const bool made = self && names;
    free(self);
    free(names);
    return made ? TP_OK : tp_fail_memory(err);
}
