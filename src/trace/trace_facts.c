/* SPDX-License-Identifier: MIT */
/*
 * What verdict and rules ask beside the rows: counts and sums over the events
 * of a trace, in one walk over each kind of them.
 *
 * Numbers by name are arrays over the interned texts, so nothing is hashed;
 * the step of a moment is found by binary search. Deriving all this from rows
 * would spare the walk, but rows are sums by name without moments. O(n log
 * steps).
 */
#include "trace/trace_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "base/search.h"
#include "trace/trace_host_ops.h"
#include "trace/trace_silent.h"

/* What is counted per name; [texts.count]. */
struct by_name {
    int64_t kernels; /* launched inside operators of this name */
    int64_t kernel_ns;
    int64_t driver_ns; /* in calls of this name                  */
    int64_t orphans;   /* device events of this name without an operator */
    int64_t orphan_ns;
};

enum { DEVICES = 64 };

struct counting {
    struct tp_trace *trace;
    struct by_name *names;
    bool *steady; /* [index.step_count] */
    int64_t half; /* half of the device's events have begun */
    int64_t busy[DEVICES]; /* ns in W                                      */
    int64_t until[DEVICES]; /* that is counted up to here                  */
    int64_t batch; /* the DataLoader's last call ended, and nobody has worked
                      with what it gave; else INT64_MAX */
};

/* The rows of /steps are some of the index's steps, in the same order. */
static void mark_steady(struct counting *c)
{
    const struct tp_trace *trace = c->trace;
    size_t row = 0;
    for (size_t i = 0; i < trace->index.step_count; i++) {
        if (row < trace->steps.count &&
            trace->steps.rows[row].step == trace->index.steps[i].number)
            c->steady[i] = trace->steps.rows[row++].steady != 0;
    }
}

/* The steady step a moment lies in, or NULL. */
static const struct tp_step *steady_step(const struct counting *c, int64_t at)
{
    const struct tp_trace_index *index = &c->trace->index;
    /* after the last step that has begun */
    size_t next;
    TP_PARTITION_POINT(next, index->step_count, index->steps[next].from <= at);
    const struct tp_step *step = next ? &index->steps[next - 1] : NULL;
    return step && at < step->to && c->steady[next - 1] ? step : NULL;
}

static void add_driver_call(struct counting *c, uint32_t event)
{
    struct tp_trace_facts *facts = &c->trace->facts;
    const struct tp_events *events = &c->trace->events;
    const struct tp_step *step = steady_step(c, events->start[event]);
    facts->driver_calls++;
    facts->driver_us += (double)events->duration[event] / 1e3;
    if (events->start[event] >= c->half)
        facts->late_driver_us += (double)events->duration[event] / 1e3;
    c->names[events->name[event]].driver_ns += events->duration[event];
    if (step && facts->steady_driver_calls++ == 0)
        facts->first_driver_step = step->number;
}

/*
 * A batch is what operators or calls follow after the DataLoader, of the main
 * thread: the call that only tells that there are no more is none.
 */
static void add_batch(struct counting *c, uint32_t event, uint32_t kinds)
{
    const struct tp_trace *trace = c->trace;
    const struct tp_events *events = &trace->events;
    const int64_t start = events->start[event];
    if (events->lane[event] != trace->index.main_lane)
        return;
    if (kinds & TP_NAME_DATALOADER) {
        const uint32_t parent = trace->index.parent[event];
        if (parent == TP_NO_EVENT ||
            !(trace->index.kinds[events->name[parent]] & TP_NAME_DATALOADER))
            c->batch = start + events->duration[event];
    } else if (start >= c->batch && !(kinds & TP_NAME_STEP) &&
               events->category[event] != TP_EVENT_ANNOTATION) {
        c->trace->facts.batches++;
        c->batch = INT64_MAX;
    }
}

static void add_host_event(struct counting *c, uint32_t event)
{
    const struct tp_trace *trace = c->trace;
    struct tp_trace_facts *facts = &c->trace->facts;
    const struct tp_events *events = &trace->events;
    const uint32_t kinds = trace->index.kinds[events->name[event]];
    const char *name = tp_events_get(events, events->name[event]);
    facts->host_events++;
    if ((kinds & TP_NAME_DATALOADER) && !*facts->loader)
        facts->loader = name;
    if ((kinds & TP_NAME_SINGLE_TENSOR) && !*facts->single_tensor)
        facts->single_tensor = name;
    if (events->start[event] < facts->from_ns ||
        events->start[event] >= facts->to_ns)
        return;
    if (kinds & TP_NAME_DRIVER_ALLOC)
        add_driver_call(c, event);
    const uint32_t parent = trace->index.parent[event];
    add_batch(c, event, kinds);
    if ((kinds & TP_NAME_EMPTY_OP) &&
        (parent == TP_NO_EVENT ||
         !(trace->index.kinds[events->name[parent]] & TP_NAME_EMPTY_OP)))
        facts->alloc_op_us += (double)events->duration[event] / 1e3;
}

/* A copy through pageable memory, by its direction. */
static void add_pageable(struct counting *c, uint32_t event)
{
    const struct tp_events *events = &c->trace->events;
    struct tp_trace_facts *facts = &c->trace->facts;
    const char *name = tp_events_get(events, events->name[event]);
    const uint32_t call = c->trace->index.call[event];
    struct tp_pageable *sum = strstr(name, "DtoH")   ? &facts->to_host
                              : strstr(name, "HtoD") ? &facts->to_device
                                                     : NULL;
    if (!sum || !strstr(name, "ageable"))
        return;
    sum->copies++;
    if (events->detail[event] != TP_NO_DETAIL &&
        events->gpu[events->detail[event]].bytes > 0)
        sum->bytes = tp_saturate_add(
            sum->bytes, events->gpu[events->detail[event]].bytes);
    if (call != TP_NO_EVENT)
        sum->call_us += (double)events->duration[call] / 1e3;
}

static void add_orphan(struct counting *c, uint32_t event)
{
    const struct tp_events *events = &c->trace->events;
    struct by_name *name = &c->names[events->name[event]];
    c->trace->facts.orphan_us += (double)events->duration[event] / 1e3;
    name->orphans++;
    name->orphan_ns += events->duration[event];
}

/* Events come by start: what is behind all before is new. */
static void add_device(struct counting *c, uint32_t event, int32_t device)
{
    const struct tp_trace *trace = c->trace;
    const int64_t start = trace->events.start[event];
    const int64_t end = start + trace->events.duration[event];
    const int64_t from = start > c->until[device] ? start : c->until[device];
    const int64_t to = end < trace->index.to ? end : trace->index.to;
    c->trace->facts.devices |= (uint64_t)1 << device;
    if (to > from) {
        c->busy[device] += to - from;
        c->until[device] = to;
    }
}

/* The mean busy time of the devices that work. */
static void find_busy(struct counting *c)
{
    struct tp_trace_facts *facts = &c->trace->facts;
    int64_t most = 0, sum = 0;
    for (int i = 0; i < DEVICES; i++)
        most = c->busy[i] > most ? c->busy[i] : most;
    for (int i = 0; i < DEVICES; i++) {
        if (most > 0 && 10 * c->busy[i] >= most) {
            facts->working_devices++;
            sum += c->busy[i];
        }
    }
    facts->device_busy =
        (double)sum / (double)facts->working_devices /
        (double)(facts->to_ns - facts->from_ns);
}

static void add_device_event(struct counting *c, uint32_t event)
{
    const struct tp_trace *trace = c->trace;
    struct tp_trace_facts *facts = &c->trace->facts;
    const struct tp_events *events = &trace->events;
    const uint32_t call = trace->index.call[event];
    const uint32_t op = trace->index.op[event];
    const int32_t device = events->gpu[events->detail[event]].device;
    facts->device_events++;
    facts->device_us += (double)events->duration[event] / 1e3;
    if (op == TP_NO_EVENT)
        add_orphan(c, event);
    if (device >= 0)
        add_device(c, event, device < DEVICES ? device : DEVICES - 1);
    facts->unlinked += call == TP_NO_EVENT;
    if (events->category[event] == TP_EVENT_KERNEL) {
        facts->kernels++;
        if (op == TP_NO_EVENT)
            return;
        c->names[events->name[op]].kernels++;
        c->names[events->name[op]].kernel_ns += events->duration[event];
    } else if (events->category[event] == TP_EVENT_MEMCPY &&
               events->start[event] >= trace->index.from &&
               events->start[event] < trace->index.to) {
        add_pageable(c, event);
    }
}

/* The names with the most kernels and the most time in the driver. */
static void pick_names(struct tp_trace *trace, const struct by_name *names)
{
    struct tp_trace_facts *facts = &trace->facts;
    int64_t driver_ns = -1;
    for (size_t i = 0; i < trace->events.texts.count; i++) {
        const char *text = trace->events.texts.texts[i];
        if (names[i].kernels > facts->top_op_kernels) {
            facts->top_op = text;
            facts->top_op_kernels = names[i].kernels;
            facts->top_op_kernel_us =
                (double)names[i].kernel_ns / 1e3 / (double)names[i].kernels;
        }
        if (names[i].driver_ns > driver_ns && names[i].driver_ns > 0) {
            facts->driver_call = text;
            driver_ns = names[i].driver_ns;
        }
        if (names[i].orphans &&
            (double)names[i].orphan_ns / 1e3 > facts->orphan_name_us) {
            facts->orphan = text;
            facts->orphan_events = names[i].orphans;
            facts->orphan_name_us = (double)names[i].orphan_ns / 1e3;
        }
    }
}

const struct tp_device_properties *
tp_trace_device(const struct tp_trace *trace)
{
    const struct tp_events *events = &trace->events;
    int32_t id = -1;
    for (size_t i = 0; i < trace->index.device_count && id < 0; i++) {
        const uint32_t detail = events->detail[trace->index.device[i]];
        id = detail == TP_NO_DETAIL ? -1 : events->gpu[detail].device;
    }
    for (size_t i = 0; i < events->device_count && id >= 0; i++) {
        if (events->devices[i].id == id)
            return &events->devices[i];
    }
    return NULL;
}

static void find_device(struct tp_trace *trace)
{
    const struct tp_device_properties *device = tp_trace_device(trace);
    if (device && device->name)
        trace->facts.device_name = device->name;
    if (device && device->total_memory > 0)
        trace->facts.device_memory_b = (double)device->total_memory;
}

static enum tp_status find_silent(struct tp_trace *trace, struct tp_error *err)
{
    struct tp_trace_silent silent;
    const enum tp_status status = tp_trace_silent_find(trace, &silent, err);
    if (status != TP_OK)
        return status;
    trace->facts.collectives = silent.collectives;
    trace->facts.silent_collectives = silent.silent;
    trace->facts.silent_collective = silent.name;
    return TP_OK;
}

enum tp_status tp_trace_facts_make(struct tp_trace *trace, struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    const struct tp_trace_index *index = &trace->index;
    struct counting c = {
        .trace = trace,
        .names = calloc(events->texts.count + 1, sizeof *c.names),
        .steady = calloc(index->step_count + 1, sizeof *c.steady),
        .half = index->to,
        .batch = INT64_MAX};
    for (int i = 0; i < DEVICES; i++)
        c.until[i] = index->from;
    if (!c.names || !c.steady) {
        free(c.names);
        free(c.steady);
        return tp_fail_memory(err);
    }
    mark_steady(&c);
    if (index->device_count)
        c.half = events->start[index->device[index->device_count / 2]];
    trace->facts = (struct tp_trace_facts){.from_ns = index->from,
                                           .to_ns = index->to,
                                           .window = index->window,
                                           .empty_steps = index->empty_steps,
                                           .zero_events = index->zero_events,
                                           .loader = "",
                                           .driver_call = "",
                                           .top_op = "",
                                           .orphan = "",
                                           .single_tensor = "",
                                           .silent_collective = "",
                                           .host.tiny = "",
                                           .host.most.name = "",
                                           .host.collective.name = "",
                                           .device_name = "",
                                           .first_driver_step = -1};
    for (size_t i = 0; i < index->host_count; i++)
        add_host_event(&c, index->host[i]);
    for (size_t i = 0; i < index->device_count; i++)
        add_device_event(&c, index->device[i]);
    trace->facts.uncorrelated = index->uncorrelated;
    find_busy(&c);
    for (size_t i = 0; i < events->count; i++) {
        trace->facts.memory_events += events->category[i] == TP_EVENT_MEMORY;
        trace->facts.out_of_memory +=
            events->category[i] == TP_EVENT_OUT_OF_MEMORY;
    }
    find_device(trace);
    pick_names(trace, c.names);
    free(c.names);
    free(c.steady);
    enum tp_status status = find_silent(trace, err);
    if (status == TP_OK && trace->facts.device_events == 0)
        status = tp_trace_host_ops_find(trace, &trace->facts.host, err);
    return status;
}

struct tp_trace_means tp_trace_step_means(const struct tp_trace *traces,
                                          size_t count)
{
    struct tp_trace_means means = {0};
    double step = 0, wait = 0, whole = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < traces[i].steps.count; j++) {
            const struct tp_step_row *row = &traces[i].steps.rows[j];
            if (row->step < 0)
                continue;
            means.all_steps++;
            if (!row->steady && j > 0) { /* trace_steps.c: only ends are */
                means.cut++;
                continue;
            }
            all += row->compute_us;
            if (!row->typical) {
                means.warm_ups += !row->steady;
                means.odd += row->steady != 0;
                continue;
            }
            means.steps++;
            step += row->compute_us;
            wait += row->data_wait_us;
            whole += row->host_us;
        }
    }
    const double us = 1e6 * (double)means.steps;
    means.step_s = means.steps ? step / us : NAN;
    const int64_t whole_steps = means.all_steps - means.cut;
    means.all_steps_s = whole_steps ? all / (1e6 * (double)whole_steps) : NAN;
    bool loaded = false; /* a DataLoader was recorded */
    for (size_t i = 0; i < count; i++)
        loaded |= traces[i].facts.loader[0] != '\0';
    means.data_wait_s = means.steps && loaded ? wait / us : NAN;
    means.profiler_step_s = means.steps ? whole / us : NAN;
    return means;
}

double tp_trace_batches(const struct tp_trace *traces, size_t count)
{
    double batches = 0, steps = 0;
    for (size_t i = 0; i < count; i++) {
        if (!tp_trace_has_steps(&traces[i]))
            continue;
        batches += (double)traces[i].facts.batches;
        steps += (double)traces[i].steps.count;
    }
    return steps > 0 ? batches / steps : 0;
}

bool tp_trace_has_steps(const struct tp_trace *trace)
{
    return trace->steps.count > 0 && trace->steps.rows[0].step >= 0;
}

const struct tp_busy_row *tp_trace_busy_window(const struct tp_trace *trace)
{
    for (size_t i = 0; i < trace->busy.count; i++) {
        if (trace->busy.rows[i].span == TP_BUSY_WINDOW)
            return &trace->busy.rows[i];
    }
    return NULL;
}

double tp_trace_exposed_communication(const struct tp_trace *trace)
{
    const struct tp_busy_row *row = tp_trace_busy_window(trace);
    return row && row->total_us > 0
               ? row->exposed_communication_us / row->total_us
               : 0;
}

double tp_trace_exposed_transfers(const struct tp_trace *trace)
{
    const struct tp_busy_row *row = tp_trace_busy_window(trace);
    return row && row->total_us > 0 ? row->exposed_transfer_us / row->total_us
                                    : 0;
}

double tp_trace_exposed_memory(const struct tp_trace *trace)
{
    const struct tp_busy_row *row = tp_trace_busy_window(trace);
    return row && row->total_us > 0 ? row->exposed_memory_us / row->total_us
                                    : 0;
}
