/* SPDX-License-Identifier: MIT */
/*
 * Kernels that one kernel could replace, and what optimizers launch.
 *
 * A chain are kernels of pointwise operators, normalisations and copies within
 * the device that follow each other on a stream with as many elements each, so
 * that the one may go on where the other ended. All of them move their tensors
 * through memory; one kernel instead moves them once, which takes about as long
 * as the longest of them. Whether a kernel reads what the one before wrote is
 * not recorded: equal sizes next to each other are what there is to go by. What
 * optimizers run is left out, as foreach does better there.
 *
 * Chains are found in one walk over the device events by start, and added up by
 * the names of their operators after sorting.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/notes.h"
#include "base/order.h"
#include "base/text.h"
#include "trace/trace_order.h"
#include "trace/trace_work.h"

enum { CHAIN_MAX = 16 }; /* more make a second chain */

/* The chain that grows on a stream. */
struct chain {
    int32_t device, stream;
    uint32_t ops[CHAIN_MAX]; /* names */
    size_t length;
    double elements;
    uint64_t ns, longest;
};

/* One that has ended, with two kernels and more. */
struct found {
    uint64_t hash;
    struct chain chain;
};

/* Device events of one range of an optimizer. */
struct range {
    int64_t first, last;
    uint64_t ns;
    bool seen;
};

struct search {
    struct tp_trace *trace;
    struct tp_trace_work *work;
    const uint32_t *owners;  /* [events.count] of device events            */
    struct tp_work *known;   /* [inputs.count] of pairs seen; see work_of  */
    uint32_t *known_name;    /* [inputs.count] name + 1 it is of; 0: none  */
    struct chain *streams;
    size_t stream_count, stream_capacity;
    struct found *found;
    size_t found_count, found_capacity;
    struct range *ranges;    /* [events.count] of annotations; NULL        */
};

/* --- chains ------------------------------------------------------------- */

/* Inputs mostly belong to operators of one name, so what was worked out last
 * for them is kept. */
static struct tp_work work_of(struct search *s, uint32_t op)
{
    const uint32_t inputs = s->work->inputs[op];
    const uint32_t name = s->trace->events.name[op] + 1;
    if (inputs == 0 || s->known_name[inputs] != name) {
        struct tp_op_args args;
        tp_trace_work_args(s->work, op, &args);
        const struct tp_work work = tp_trace_work_of(s->work, op, &args);
        if (inputs == 0)
            return work;
        s->known[inputs] = work;
        s->known_name[inputs] = name;
    }
    return s->known[inputs];
}

static struct chain *stream_of(struct search *s,
                               const struct tp_gpu_detail *gpu)
{
    for (size_t i = 0; i < s->stream_count; i++) {
        if (s->streams[i].device == gpu->device &&
            s->streams[i].stream == gpu->stream)
            return &s->streams[i];
    }
    if (tp_grow(&s->streams, &s->stream_capacity, s->stream_count + 1,
                sizeof *s->streams, NULL) != TP_OK)
        return NULL;
    s->streams[s->stream_count] =
        (struct chain){.device = gpu->device, .stream = gpu->stream};
    return &s->streams[s->stream_count++];
}

static bool end_chain(struct search *s, struct chain *chain)
{
    uint64_t hash = (uint64_t)chain->elements;
    if (chain->length >= 2) {
        for (size_t i = 0; i < chain->length; i++)
            hash = (hash ^ chain->ops[i]) * UINT64_C(0x9e3779b97f4a7c15);
        if (tp_grow(&s->found, &s->found_capacity, s->found_count + 1,
                    sizeof *s->found, NULL) != TP_OK)
            return false;
        s->found[s->found_count++] = (struct found){hash, *chain};
    }
    chain->length = 0;
    chain->ns = chain->longest = 0;
    return true;
}

/* Whether work is such as a compiler puts into one kernel. */
static bool is_light(const struct tp_work *work)
{
    return work->result > 0 &&
           (work->kind == TP_WORK_POINTWISE || work->kind == TP_WORK_NORM ||
            work->kind == TP_WORK_COPY);
}

static bool in_optimizer(const struct search *s, uint32_t op)
{
    const struct tp_trace_index *index = &s->trace->index;
    for (; op != TP_NO_EVENT; op = index->parent[op]) {
        if (index->kinds[s->trace->events.name[op]] & TP_NAME_OPTIMIZER)
            return true;
    }
    return false;
}

static bool add_to_chain(struct search *s, uint32_t event)
{
    const struct tp_events *events = &s->trace->events;
    struct tp_work work = {.result = 0};
    if (events->detail[event] == TP_NO_DETAIL)
        return true;
    struct chain *chain =
        stream_of(s, &events->gpu[events->detail[event]]);
    const uint32_t op = s->owners[event];
    if (!chain)
        return false;
    if (op != TP_NO_EVENT && events->category[event] == TP_EVENT_KERNEL)
        work = work_of(s, op);
    const bool light = is_light(&work) && !in_optimizer(s, op);
    if ((!light || work.result != chain->elements ||
         chain->length == CHAIN_MAX) &&
        !end_chain(s, chain))
        return false;
    if (!light)
        return true;
    const uint64_t ns = (uint64_t)events->duration[event];
    chain->elements = work.result;
    chain->ops[chain->length++] = events->name[op];
    chain->ns += ns;
    chain->longest = ns > chain->longest ? ns : chain->longest;
    return true;
}

/* By what they are made of. */
static int compare_found(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return 0;
}

/* "aten::mul, aten::add"; of one name in a row how often. */
static const char *name_chain(struct tp_trace *trace, const struct chain *chain)
{
    struct tp_text text = {0};
    for (size_t i = 0, next; i < chain->length; i = next) {
        next = i;
        while (next < chain->length && chain->ops[next] == chain->ops[i])
            next++;
        tp_text_add(&text, "%s%s", i ? ", " : "",
                    tp_events_get(&trace->events, chain->ops[i]));
        if (next - i > 1)
            tp_text_add(&text, " x %zu", next - i);
    }
    return tp_arena_take(&trace->events.arena, &text);
}

static int by_saving(const void *a, const void *b)
{
    const struct tp_fusion_row *x = a, *y = b;
    if (x->saved_us != y->saved_us)
        return x->saved_us > y->saved_us ? -1 : 1;
    const int order = strcmp(x->ops, y->ops);
    return order ? order : tp_order_double(x->elements, y->elements);
}

static enum tp_status add_chains(struct search *s, struct tp_error *err)
{
    struct tp_trace *trace = s->trace;
    if (s->found_count)
        qsort(s->found, s->found_count, sizeof *s->found, compare_found);
    for (size_t i = 0, next; i < s->found_count; i = next) {
        const struct chain *chain = &s->found[i].chain;
        struct tp_fusion_row row = {.ops = name_chain(trace, chain),
                                    .elements = chain->elements,
                                    .kernels = (int64_t)chain->length};
        uint64_t ns = 0, saved = 0;
        for (next = i; next < s->found_count &&
                       s->found[next].hash == s->found[i].hash;
             next++) {
            ns += s->found[next].chain.ns;
            saved += s->found[next].chain.ns - s->found[next].chain.longest;
        }
        row.count = (int64_t)(next - i);
        row.device_us = (double)ns / 1e3;
        row.saved_us = (double)saved / 1e3;
        if (!row.ops ||
            tp_grow(&trace->fusions.rows, &trace->fusions.capacity,
                    trace->fusions.count + 1, sizeof row, NULL) != TP_OK)
            return tp_fail_memory(err);
        trace->fusions.rows[trace->fusions.count++] = row;
    }
    if (trace->fusions.count > 1)
        qsort(trace->fusions.rows, trace->fusions.count,
              sizeof *trace->fusions.rows, by_saving);
    return TP_OK;
}

/* --- optimizers --------------------------------------------------------- */

static bool is_step_of_optimizer(const char *name)
{
    return strncmp(name, "Optimizer.step", 14) == 0;
}

/* Kernels that take many parameters at once. */
static bool takes_many(const char *kernel)
{
    return strstr(kernel, "multi_tensor_apply") != NULL ||
           strstr(kernel, "MultiTensor") != NULL ||
           strstr(kernel, "multi_tensor") != NULL;
}

static struct tp_optimizer_row *row_of(struct tp_trace *trace, const char *name)
{
    for (size_t i = 0; i < trace->optimizers.count; i++) {
        if (trace->optimizers.rows[i].name == name)
            return &trace->optimizers.rows[i];
    }
    if (tp_grow(&trace->optimizers.rows, &trace->optimizers.capacity,
                trace->optimizers.count + 1, sizeof *trace->optimizers.rows,
                NULL) != TP_OK)
        return NULL;
    trace->optimizers.rows[trace->optimizers.count] =
        (struct tp_optimizer_row){.name = name};
    return &trace->optimizers.rows[trace->optimizers.count++];
}

/* The Optimizer.step that an event's call lies in, or TP_NO_EVENT. */
static uint32_t step_around(const struct search *s, uint32_t event)
{
    const struct tp_trace_index *index = &s->trace->index;
    uint32_t at = index->call[event];
    for (; at != TP_NO_EVENT; at = index->parent[at]) {
        if ((index->kinds[s->trace->events.name[at]] & TP_NAME_OPTIMIZER) &&
            is_step_of_optimizer(
                tp_events_get(&s->trace->events, s->trace->events.name[at])))
            break;
    }
    return at;
}

static bool add_to_optimizer(struct search *s, uint32_t event)
{
    const struct tp_events *events = &s->trace->events;
    const uint32_t around = step_around(s, event);
    if (around == TP_NO_EVENT)
        return true;
    struct range *range = &s->ranges[around];
    struct tp_optimizer_row *row =
        row_of(s->trace, tp_events_get(events, events->name[around]));
    if (!row)
        return false;
    const int64_t start = events->start[event];
    const int64_t end = start + events->duration[event];
    if (!range->seen) {
        *range = (struct range){.first = start, .last = start, .seen = true};
        row->count++;
    }
    /* what begins before the last one's end leaves no gap */
    if (start > range->last)
        row->idle_us += (double)(start - range->last) / 1e3;
    range->last = end > range->last ? end : range->last;
    row->device_events++;
    row->device_us += (double)events->duration[event] / 1e3;
    row->many_tensor_events +=
        takes_many(tp_events_get(events, events->name[event]));
    return true;
}

/* --- all ---------------------------------------------------------------- */

static bool has_optimizer(const struct tp_trace *trace)
{
    for (uint32_t i = 0; i < trace->events.texts.count; i++) {
        if ((trace->index.kinds[i] & TP_NAME_OPTIMIZER) &&
            is_step_of_optimizer(tp_events_get(&trace->events, i)))
            return true;
    }
    return false;
}

static enum tp_status walk(struct search *s, struct tp_error *err)
{
    const struct tp_trace_index *index = &s->trace->index;
    const bool inputs = s->trace->events.op_input_count > 0;
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        if ((inputs && !add_to_chain(s, event)) ||
            (s->ranges && !add_to_optimizer(s, event)))
            return tp_fail_memory(err);
    }
    for (size_t i = 0; i < s->stream_count; i++) {
        if (!end_chain(s, &s->streams[i]))
            return tp_fail_memory(err);
    }
    return add_chains(s, err);
}

enum tp_status tp_trace_fusions(struct tp_trace *trace,
                                struct tp_trace_work *work,
                                const uint32_t *owners, struct tp_error *err)
{
    const size_t inputs = trace->events.inputs.count + 1;
    struct search s = {.trace = trace,
                       .work = work,
                       .owners = owners,
                       .known = calloc(inputs, sizeof *s.known),
                       .known_name = calloc(inputs, sizeof *s.known_name)};
    enum tp_status status =
        s.known && s.known_name ? TP_OK : tp_fail_memory(err);
    if (status == TP_OK && has_optimizer(trace)) {
        s.ranges = calloc(trace->events.count + 1, sizeof *s.ranges);
        status = s.ranges ? TP_OK : tp_fail_memory(err);
    }
    if (status == TP_OK)
        status = walk(&s, err);
    free(s.known);
    free(s.known_name);
    free(s.streams);
    free(s.found);
    free(s.ranges);
    return status;
}
