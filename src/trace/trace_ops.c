/* SPDX-License-Identifier: MIT */
/*
 * The table torch calls key_averages (torch/autograd/profiler_util.py), to
 * the nanosecond. Rows of the host are operators, annotations and calls; rows
 * of the device are its events.
 *
 * A host event that is the only child of one with the same name is *merged*
 * into it: its children and its own kernels replace the parent's. Self time
 * of the host is the duration without the direct children. Device time of an
 * event is that of its own kernels (index.op: the innermost operator around
 * the launch) and of all its children. Memory is that of the [memory] instants
 * in [start, end], of any thread. Rows are told apart by name, or by name and
 * what was asked for (trace_groups.c).
 *
 * Frames of Python are no rows. Since torch shows them to key_averages, they
 * are in the tree all the same, so that what lies in them is no direct child of
 * the range around; traces of such a torch have frames that name their callers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "trace/trace.h"
#include "trace/trace_merge.h"
#include "trace/trace_order.h"
#include "trace/trace_rows.h"

/* Sums are taken modulo 2^64, so that absurd durations are no overflow. */
struct sums {
    uint64_t cpu_total, cpu_self, device_total, device_self;
    uint64_t cpu_mem, cpu_mem_self, device_mem, device_mem_self;
};

/* What is known of one host event while the tree is gone through. */
struct node {
    uint32_t parent;   /* without dropped events; TP_NO_EVENT               */
    uint32_t merged;   /* the event it is merged into, or itself            */
    uint32_t children; /* direct ones, after merging                        */
    uint64_t device;   /* ns: of its own kernels, then of its children too  */
};

struct taken { /* bytes of the [memory] instants up to a time */
    int64_t at;
    uint64_t cpu, device;
};

struct ops_state {
    struct tp_trace *trace;
    const uint32_t *list; /* events of the tree, parents first: those of the
                             host, and frames where they count             */
    size_t count;
    const uint32_t *around; /* [events.count] the innermost around each    */
    uint32_t *own;          /* list and around, where frames count; NULL   */
    struct node *nodes;     /* [events.count]                               */
    struct taken *memory;   /* by time; [0] is before all                   */
    size_t memory_count;
    struct tp_op_list *made; /* the rows                              */
    const struct tp_op_grouping *grouping; /* NULL: by name alone     */
    struct sums *sums; /* as the rows                                  */
    size_t sums_capacity;
    size_t keys;    /* names, and one for steps; or those of grouping */
    uint32_t *rows; /* [2][keys] host, device; 0: none                */
};

static uint32_t kinds_of(const struct ops_state *state, uint32_t event)
{
    return state->trace->index.kinds[state->trace->events.name[event]];
}

/* Names are compared as they are shown: all steps have one. */
static uint32_t shown_name(const struct ops_state *state, uint32_t event)
{
    return kinds_of(state, event) & TP_NAME_ANY_STEP
               ? (uint32_t)state->trace->events.texts.count
               : state->trace->events.name[event];
}

/* --- the tree ----------------------------------------------------------- */

static bool is_frame(const struct ops_state *state, uint32_t event)
{
    return state->trace->events.category[event] == TP_EVENT_PYTHON;
}

/* The events of the host and frames, in order and nested. */
static enum tp_status nest_frames(struct ops_state *state, struct tp_error *err)
{
    const struct tp_events *events = &state->trace->events;
    const struct tp_trace_index *index = &state->trace->index;
    size_t count = index->host_count;
    for (uint32_t i = 0; i < events->count; i++)
        count += is_frame(state, i);
    state->own = malloc((count + events->count + 1) * sizeof *state->own);
    if (!state->own)
        return tp_fail_memory(err);
    if (index->host_count) {
        memcpy(state->own, index->host, index->host_count * sizeof *state->own);
    }
    count = index->host_count;
    for (uint32_t i = 0; i < events->count; i++) {
        if (is_frame(state, i)) {
            state->own[count++] = i;
        }
    }
    const enum tp_status status = tp_trace_merge_sort(
        events, state->own, count, tp_trace_before_nested, err);
    if (status != TP_OK)
        return status;
    tp_trace_nest(events, state->own, count, state->own + count);
    state->list = state->own;
    state->count = count;
    state->around = state->own + count;
    return TP_OK;
}

/* Parents come before children in index.host. */
static void find_parents(struct ops_state *state)
{
    const struct tp_trace_index *index = &state->trace->index;
    for (size_t i = 0; i < state->count; i++) {
        const uint32_t event = state->list[i];
        uint32_t parent = state->around[event];
        if (parent != TP_NO_EVENT &&
            kinds_of(state, parent) & TP_NAME_DROPPED) {
            parent = state->nodes[parent].parent;
        }
        state->nodes[event].parent = parent;
        if (parent != TP_NO_EVENT &&
            !(kinds_of(state, event) & TP_NAME_DROPPED)) {
            state->nodes[parent].children++;
        }
    }
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        if (index->op[event] != TP_NO_EVENT) {
            state->nodes[index->op[event]].device +=
                (uint64_t)state->trace->events.duration[event];
        }
    }
}

/* One pass from the parents to the children is enough: a merged event leaves
 * its children to its parent before they are looked at. */
static void merge(struct ops_state *state)
{
    for (size_t i = 0; i < state->count; i++) {
        const uint32_t event = state->list[i];
        struct node *node = &state->nodes[event];
        node->merged = event;
        if (node->parent == TP_NO_EVENT ||
            kinds_of(state, event) & TP_NAME_DROPPED) {
            continue;
        }
        node->parent = state->nodes[node->parent].merged;
        struct node *parent = &state->nodes[node->parent];
        if (parent->children == 1 &&
            shown_name(state, event) == shown_name(state, node->parent)) {
            parent->children = node->children;
            parent->device = node->device;
            node->merged = node->parent;
        }
    }
}

/* Whether an event is in the tree when all is merged. */
static bool is_kept(const struct ops_state *state, uint32_t event)
{
    return state->nodes[event].merged == event &&
           !(kinds_of(state, event) & TP_NAME_DROPPED);
}

/* --- memory ------------------------------------------------------------- */

/* Running sums of the instants by time. */
static enum tp_status add_up_memory(struct ops_state *state,
                                    struct tp_error *err)
{
    const struct tp_events *events = &state->trace->events;
    size_t count = 0;
    for (uint32_t i = 0; i < events->count; i++) {
        count += events->category[i] == TP_EVENT_MEMORY;
    }
    struct tp_ordered *items = malloc((count + 1) * 2 * sizeof *items);
    state->memory = calloc(count + 1, sizeof *state->memory);
    if (!items || !state->memory) {
        free(items);
        return tp_fail_memory(err);
    }
    for (uint32_t i = 0; i < events->count; i++) {
        if (events->category[i] == TP_EVENT_MEMORY &&
            events->detail[i] != TP_NO_DETAIL) {
            items[state->memory_count++] =
                (struct tp_ordered){tp_time_key(events->start[i]), i};
        }
    }
    tp_order_sort(items, items + count + 1, state->memory_count);
    for (size_t i = 0; i < state->memory_count; i++) {
        const struct tp_memory_detail *detail =
            &events->memory[events->detail[items[i].event]];
        struct taken *next = &state->memory[i + 1];
        *next = state->memory[i];
        next->at = events->start[items[i].event];
        *(detail->device_type == 0 ? &next->cpu : &next->device) +=
            (uint64_t)detail->bytes;
    }
    free(items);
    return TP_OK;
}

/* The sums of the instants before `at`, or up to it. */
static struct taken memory_until(const struct ops_state *state, int64_t at,
                                 bool inclusive)
{
    const struct taken *next = state->memory + 1;
    size_t i;
    TP_PARTITION_POINT(i, state->memory_count,
                       next[i].at < at || (inclusive && next[i].at == at));
    return state->memory[i];
}

/* The bytes of the instants while an event lasts, both ends included. */
static struct taken memory_of(const struct ops_state *state, uint32_t event)
{
    struct taken taken = {0};
    if (state->memory_count) {
        const struct tp_events *events = &state->trace->events;
        const int64_t start = events->start[event];
        const struct taken before = memory_until(state, start, false);
        taken = memory_until(state, start + events->duration[event], true);
        taken.cpu -= before.cpu;
        taken.device -= before.device;
    }
    return taken;
}

/* --- rows --------------------------------------------------------------- */

static uint32_t *row_slot(const struct ops_state *state, uint32_t event,
                          bool device)
{
    const uint32_t key = state->grouping ? state->grouping->keys[event]
                         : device        ? state->trace->events.name[event]
                                         : shown_name(state, event);
    return &state->rows[(device ? state->keys : 0) + key];
}

/* The row of an event that is the first of its name and group. */
static struct tp_op_row new_row(const struct ops_state *state, uint32_t event,
                                bool device)
{
    const struct tp_events *events = &state->trace->events;
    const uint32_t name =
        device ? events->name[event] : shown_name(state, event);
    return (struct tp_op_row){
        .name = name == events->texts.count ? "ProfilerStep*"
                                            : tp_events_get(events, name),
        .group = state->grouping
                     ? state->grouping->texts[state->grouping->keys[event]]
                     : "",
        .device_type = device ? "CUDA" : "CPU",
        .is_device = device};
}

/* The sums of the row of an event, which is made if new and gets one event
 * more; NULL when memory ran out. */
static struct sums *count_row(struct ops_state *state, uint32_t event,
                              bool device)
{
    struct tp_op_list *made = state->made;
    uint32_t *slot = row_slot(state, event, device);
    if (!*slot) {
        const size_t need = made->count + 1;
        if (tp_grow(&made->rows, &made->capacity, need, sizeof *made->rows,
                    NULL) ||
            tp_grow(&state->sums, &state->sums_capacity, need,
                    sizeof *state->sums, NULL)) {
            return NULL;
        }
        made->rows[made->count++] = new_row(state, event, device);
        *slot = (uint32_t)need;
    }
    made->rows[*slot - 1].count++;
    return &state->sums[*slot - 1];
}

/* The sums of the row of an event that was counted. */
static struct sums *sums_of(const struct ops_state *state, uint32_t event)
{
    return &state->sums[*row_slot(state, event, false) - 1];
}

/* Counts one host event in its row. */
static bool add_row(struct ops_state *state, uint32_t event, uint64_t ns,
                    struct taken memory)
{
    struct sums *sums = count_row(state, event, false);
    if (!sums) {
        return false;
    }
    sums->cpu_total += ns;
    sums->cpu_self += ns;
    sums->device_self += state->nodes[event].device;
    sums->cpu_mem += memory.cpu;
    sums->cpu_mem_self += memory.cpu;
    sums->device_mem += memory.device;
    sums->device_mem_self += memory.device;
    return true;
}

/* Counts one event; its time and memory are not its parent's own. */
static bool add_host(struct ops_state *state, uint32_t event)
{
    const uint32_t around = state->nodes[event].parent;
    const uint64_t ns = (uint64_t)state->trace->events.duration[event];
    const struct taken memory = memory_of(state, event);
    if (!is_frame(state, event) && !add_row(state, event, ns, memory)) {
        return false;
    }
    if (around != TP_NO_EVENT && !is_frame(state, around)) {
        struct sums *parent = sums_of(state, around);
        parent->cpu_self -= ns;
        parent->cpu_mem_self -= memory.cpu;
        parent->device_mem_self -= memory.device;
    }
    return true;
}

static enum tp_status add_hosts(struct ops_state *state, struct tp_error *err)
{
    for (size_t i = 0; i < state->count; i++) { /* parents first */
        const uint32_t event = state->list[i];
        if (is_kept(state, event) && !add_host(state, event)) {
            return tp_fail_memory(err);
        }
    }
    for (size_t i = state->count; i > 0; i--) { /* children first */
        const uint32_t event = state->list[i - 1];
        const struct node *node = &state->nodes[event];
        if (!is_kept(state, event)) {
            continue;
        }
        if (!is_frame(state, event)) {
            sums_of(state, event)->device_total += node->device;
        }
        if (node->parent != TP_NO_EVENT) {
            state->nodes[node->parent].device += node->device;
        }
    }
    return TP_OK;
}

static enum tp_status add_devices(struct ops_state *state, struct tp_error *err)
{
    const struct tp_events *events = &state->trace->events;
    const struct tp_trace_index *index = &state->trace->index;
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        struct sums *sums = count_row(state, event, true);
        if (!sums) {
            return tp_fail_memory(err);
        }
        sums->device_total += (uint64_t)events->duration[event];
        sums->device_self += (uint64_t)events->duration[event];
    }
    return TP_OK;
}

static double to_us(uint64_t ns)
{
    return (double)(int64_t)ns / 1e3;
}

static int by_device_time(const void *a, const void *b)
{
    const struct tp_op_row *x = a;
    const struct tp_op_row *y = b;
    if (x->self_cuda_us != y->self_cuda_us) {
        return x->self_cuda_us > y->self_cuda_us ? -1 : 1;
    }
    if (x->self_cpu_us != y->self_cpu_us) {
        return x->self_cpu_us > y->self_cpu_us ? -1 : 1;
    }
    int order = strcmp(x->name, y->name);
    if (!order) {
        order = strcmp(x->device_type, y->device_type);
    }
    return order ? order : strcmp(x->group, y->group);
}

static void finish_rows(const struct ops_state *state)
{
    for (size_t i = 0; i < state->made->count; i++) {
        struct tp_op_row *row = &state->made->rows[i];
        const struct sums *sums = &state->sums[i];
        row->cpu_total_us = to_us(sums->cpu_total);
        row->self_cpu_us = to_us(sums->cpu_self);
        row->cuda_total_us = to_us(sums->device_total);
        row->self_cuda_us = to_us(sums->device_self);
        row->cpu_mem_b = (int64_t)sums->cpu_mem;
        row->self_cpu_mem_b = (int64_t)sums->cpu_mem_self;
        row->cuda_mem_b = (int64_t)sums->device_mem;
        row->self_cuda_mem_b = (int64_t)sums->device_mem_self;
    }
    if (state->made->count > 1) {
        qsort(state->made->rows, state->made->count, sizeof *state->made->rows,
              by_device_time);
    }
}

static enum tp_status add_up(struct tp_trace *trace,
                             const struct tp_op_grouping *grouping,
                             struct tp_op_list *made, struct tp_error *err)
{
    const size_t keys =
        grouping ? grouping->key_count : trace->events.texts.count + 1;
    struct ops_state state = {
        .trace = trace,
        .made = made,
        .grouping = grouping,
        .keys = keys,
        .list = trace->index.host,
        .count = trace->index.host_count,
        .around = trace->index.parent,
        .nodes = calloc(trace->events.count + 1, sizeof *state.nodes),
        .rows = calloc(2 * keys + 1, sizeof *state.rows),
    };
    enum tp_status status =
        state.nodes && state.rows ? TP_OK : tp_fail_memory(err);
    if (!status) {
        status = add_up_memory(&state, err);
    }
    if (!status && trace->events.callers) {
        status = nest_frames(&state, err);
    }
    if (!status) {
        find_parents(&state);
        merge(&state);
        status = add_hosts(&state, err);
    }
    if (!status) {
        status = add_devices(&state, err);
    }
    if (!status) {
        finish_rows(&state);
    }
    free(state.own);
    free(state.nodes);
    free(state.memory);
    free(state.sums);
    free(state.rows);
    return status;
}

enum tp_status tp_trace_ops(struct tp_trace *trace, struct tp_error *err)
{
    return add_up(trace, NULL, &trace->ops, err);
}

enum tp_status tp_trace_ops_grouped(struct tp_trace *trace,
                                    const struct tp_op_grouping *grouping,
                                    struct tp_error *err)
{
    return add_up(trace, grouping, &trace->op_groups, err);
}
