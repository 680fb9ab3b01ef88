/* SPDX-License-Identifier: MIT */
/*
 * What the host does in a trace without a device: how long its operators take
 * themselves, one by one, and which moments of the window have one on any
 * thread, or only a collective.
 *
 * Sums by name do not tell the first: an operator may be short in one place and
 * long in another; sums over threads not the second: a collective runs beside
 * the operators of a backward pass. An operator around a collective waits for
 * it, so that it is the operators inside that count. O(n log n) in the host
 * events, for the sets of moments.
 */
#include "trace/trace_host_ops.h"

#include <stdlib.h>

#include "trace/interval.h"

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
    int64_t ns, count;         /* of the tiny ones                         */
    int64_t all_ns, all_count; /* of all                                   */
};

static bool is_collective(const struct tp_trace *trace, uint32_t event)
{
    return trace->index.kinds[trace->events.name[event]] & TP_NAME_COLLECTIVE;
}

/* Adds an event to what has its name, and takes that if it has most now. */
static void add_to_name(const struct tp_trace *trace, uint32_t event,
                        int64_t ns, struct by_name *name,
                        struct tp_trace_host_op *most)
{
    const struct tp_events *events = &trace->events;
    name->all_ns += ns;
    name->all_count++;
    if ((double)name->all_ns / 1e3 >= most->us)
        *most = (struct tp_trace_host_op){
            tp_events_get(events, events->name[event]),
            (double)name->all_ns / 1e3, name->all_count};
}

/* Collectives may be annotations; they hold no operators. */
static void add_collective(const struct tp_trace *trace, uint32_t event,
                           struct by_name *names,
                           struct tp_trace_host_ops *ops)
{
    const struct tp_events *events = &trace->events;
    add_to_name(trace, event, events->duration[event],
                &names[events->name[event]], &ops->collective);
}

static void add_up(const struct tp_trace *trace, const int64_t *self,
                   struct by_name *names, struct tp_trace_host_ops *ops)
{
    const struct tp_events *events = &trace->events;
    const struct tp_trace_index *index = &trace->index;
    int64_t most = 0;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        const int64_t start = events->start[event];
        if (start < index->from || start >= index->to)
            continue;
        if (is_collective(trace, event))
            add_collective(trace, event, names, ops);
        if (is_collective(trace, event) || !is_operator(trace, event))
            continue;
        ops->operators++;
        ops->self_us += (double)self[event] / 1e3;
        struct by_name *name = &names[events->name[event]];
        add_to_name(trace, event, self[event], name, &ops->most);
        if (self[event] >= tiny_ns)
            continue;
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

/* --- moments -------------------------------------------------------------- */

/* Marks what is around a collective. */
static void find_waiting(const struct tp_trace *trace, bool *waits)
{
    const struct tp_trace_index *index = &trace->index;
    for (size_t i = 0; i < index->host_count; i++) {
        uint32_t around = index->host[i];
        if (!is_collective(trace, around))
            continue;
        while ((around = index->parent[around]) != TP_NO_EVENT)
            waits[around] = true;
    }
}

struct moments {
    struct tp_intervals working, communicating, others, rest, all;
};

static enum tp_status add_event(const struct tp_trace *trace, uint32_t event,
                                bool waits, struct moments *moments,
                                struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    const uint32_t kinds = trace->index.kinds[events->name[event]];
    const int64_t from = events->start[event];
    const int64_t to = from + events->duration[event];
    struct tp_intervals *set = NULL;
    if (is_collective(trace, event))
        set = &moments->communicating;
    else if (is_operator(trace, event))
        set = waits ? NULL : &moments->working;
    else if ((kinds & TP_NAME_DATALOADER) ||
             events->category[event] == TP_EVENT_RUNTIME ||
             events->category[event] == TP_EVENT_DRIVER)
        set = &moments->others;
    return set ? tp_intervals_add(set, from, to, err) : TP_OK;
}

static enum tp_status measure(const struct tp_trace *trace,
                              struct moments *moments,
                              struct tp_trace_host_ops *ops,
                              struct tp_error *err)
{
    const int64_t from = trace->index.from, to = trace->index.to;
    tp_intervals_unite(&moments->working);
    tp_intervals_unite(&moments->communicating);
    tp_intervals_unite(&moments->others);
    enum tp_status status = tp_intervals_subtract(
        &moments->communicating, &moments->working, &moments->rest, err);
    if (status == TP_OK)
        status = tp_intervals_join(&moments->all, &moments->working, err);
    if (status == TP_OK)
        status =
            tp_intervals_join(&moments->all, &moments->communicating, err);
    if (status == TP_OK)
        status = tp_intervals_join(&moments->all, &moments->others, err);
    ops->working_us =
        (double)tp_intervals_within(&moments->working, from, to) / 1e3;
    ops->communicating_us =
        (double)tp_intervals_within(&moments->rest, from, to) / 1e3;
    ops->outside_us =
        (double)(to - from - tp_intervals_within(&moments->all, from, to)) /
        1e3;
    return status;
}

static enum tp_status find_moments(const struct tp_trace *trace,
                                   const bool *waits,
                                   struct tp_trace_host_ops *ops,
                                   struct tp_error *err)
{
    const struct tp_trace_index *index = &trace->index;
    struct moments moments = {.working = {0}};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < index->host_count && status == TP_OK; i++)
        status = add_event(trace, index->host[i], waits[index->host[i]],
                           &moments, err);
    if (status == TP_OK)
        status = measure(trace, &moments, ops, err);
    tp_intervals_clear(&moments.working);
    tp_intervals_clear(&moments.communicating);
    tp_intervals_clear(&moments.others);
    tp_intervals_clear(&moments.rest);
    tp_intervals_clear(&moments.all);
    return status;
}

enum tp_status tp_trace_host_ops_find(const struct tp_trace *trace,
                                      struct tp_trace_host_ops *ops,
                                      struct tp_error *err)
{
    int64_t *self = calloc(trace->events.count + 1, sizeof *self);
    bool *waits = calloc(trace->events.count + 1, sizeof *waits);
    struct by_name *names =
        calloc(trace->events.texts.count + 1, sizeof *names);
    *ops = (struct tp_trace_host_ops){
        .tiny = "", .most.name = "", .collective.name = ""};
    enum tp_status status =
        self && waits && names ? TP_OK : tp_fail_memory(err);
    if (status == TP_OK) {
        find_self(trace, self);
        add_up(trace, self, names, ops);
        find_waiting(trace, waits);
        status = find_moments(trace, waits, ops, err);
    }
    free(self);
    free(waits);
    free(names);
    return status;
}
