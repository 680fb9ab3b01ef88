/* SPDX-License-Identifier: MIT */
/*
 * The tree of modules, ranges and operators with the device work they start:
 * where /ops and /op_kernels tell names, this tells places. Device work is a
 * leaf below the place of the call that launched it, told from a host event of
 * the same name by a bit of the name's number. Places are numbered after those
 * around them, so that device time is added up from the last to the first.
 * Rows come as they are read: a place, then what is inside, longest device time
 * first.
 *
 * Constant time for an event, and a sort of the places.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "trace/trace_places.h"

#define DEVICE_BIT (UINT32_C(1) << 31)

/* What a place took. */
struct sums {
    int64_t count, host_ns, inside_ns, device_events, device_ns;
    enum tp_tree_kind kind;
};

struct growing {
    struct tp_trace *trace;
    struct tp_trace_places places;
    struct sums *sums; /* [places] */
    size_t sums_capacity;
    uint32_t *order; /* [places] as read, without the root */
};

static const char *const kind_words[TP_TREE_KINDS] = {
    [TP_TREE_MODULE] = "module",     [TP_TREE_RANGE] = "range",
    [TP_TREE_OPERATOR] = "operator", [TP_TREE_KERNEL] = "kernel",
    [TP_TREE_MOVE] = "memory",       [TP_TREE_COMMUNICATION] = "communication",
};

static enum tp_tree_kind kind_of(const struct tp_trace *trace, uint32_t event)
{
    const uint32_t kinds = trace->index.kinds[trace->events.name[event]];
    switch (trace->events.category[event]) {
    case TP_EVENT_PYTHON:
        return TP_TREE_MODULE;
    case TP_EVENT_ANNOTATION:
        return TP_TREE_RANGE;
    case TP_EVENT_CPU_OP:
        return TP_TREE_OPERATOR;
    case TP_EVENT_KERNEL:
        return kinds & TP_NAME_MOVES  ? TP_TREE_MOVE
               : kinds & TP_NAME_COMM ? TP_TREE_COMMUNICATION
                                      : TP_TREE_KERNEL;
    default:
        return TP_TREE_MOVE;
    }
}

/* Room for what all places took. */
static enum tp_status make_room(struct growing *g, struct tp_error *err)
{
    const size_t had = g->sums_capacity, count = g->places.tree.count + 1;
    const enum tp_status status =
        tp_grow(&g->sums, &g->sums_capacity, count, sizeof *g->sums, err);
    if (status == TP_OK && g->sums_capacity > had)
        memset(g->sums + had, 0, (g->sums_capacity - had) * sizeof *g->sums);
    return status;
}

/* Host events; those too deep for a place of their own are part of the one
 * around. */
static void add_host(struct growing *g)
{
    const struct tp_events *events = &g->trace->events;
    for (size_t i = 0; i < g->places.count; i++) {
        const uint32_t event = g->places.list[i];
        const uint32_t around = g->places.parent[event];
        const uint32_t node = g->places.node[event];
        const uint32_t parent =
            around == TP_NO_EVENT ? TP_TREE_ROOT : g->places.node[around];
        if (node == parent)
            continue;
        g->sums[node].kind = kind_of(g->trace, event);
        g->sums[node].count++;
        g->sums[node].host_ns += events->duration[event];
        g->sums[parent].inside_ns += events->duration[event];
    }
}

static enum tp_status add_device(struct growing *g, struct tp_error *err)
{
    const struct tp_events *events = &g->trace->events;
    const struct tp_trace_index *index = &g->trace->index;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < index->device_count && status == TP_OK; i++) {
        const uint32_t event = index->device[i], call = index->call[event];
        const uint32_t place =
            call == TP_NO_EVENT ? TP_TREE_ROOT : g->places.node[call];
        uint32_t node;
        status =
            tp_trace_tree_find(&g->places.tree, place,
                               events->name[event] | DEVICE_BIT, &node, err);
        if (status == TP_OK)
            status = make_room(g, err);
        if (status != TP_OK)
            break;
        if (node != place) {
            g->sums[node].kind = kind_of(g->trace, event);
            g->sums[node].count++;
        }
        g->sums[node].device_events++;
        g->sums[node].device_ns += events->duration[event];
    }
    return status;
}

/* Every place has what is inside of it. */
static void add_up(struct growing *g)
{
    for (size_t i = g->places.tree.count; i-- > 1;) {
        const uint32_t parent = g->places.tree.nodes[i].parent;
        g->sums[parent].device_events += g->sums[i].device_events;
        g->sums[parent].device_ns += g->sums[i].device_ns;
    }
}

/* --- the order of rows -----------------------------------------------------
 */

/* A place, by what it is sorted. */
struct sibling {
    uint32_t node, parent;
    int64_t device_ns, host_ns;
    const char *name;
};

static int by_parent(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    int order = tp_order_int64(x->parent, y->parent);
    if (!order)
        order = tp_order_int64(y->device_ns, x->device_ns);
    if (!order)
        order = tp_order_int64(y->host_ns, x->host_ns);
    if (!order)
        order = strcmp(x->name, y->name);
    return order ? order : tp_order_int64(x->node, y->node);
}

static const char *name_of(const struct growing *g, size_t node)
{
    return tp_events_get(&g->trace->events,
                         g->places.tree.nodes[node].name & ~DEVICE_BIT);
}

/* The children of a place are [first[place], first[place + 1]). */
static void find_children(const struct sibling *sorted, size_t count,
                          uint32_t *first)
{
    size_t next = 0;
    for (size_t place = 0; place <= count; place++) {
        while (next < count && sorted[next].parent < place)
            next++;
        first[place] = (uint32_t)next;
    }
    first[count + 1] = (uint32_t)count;
}

/* Depth first, the last child pushed first. */
static void walk(struct growing *g, const struct sibling *sorted,
                 const uint32_t *first, uint32_t *stack)
{
    size_t depth = 0, count = 0;
    stack[depth++] = TP_TREE_ROOT;
    while (depth > 0) {
        const uint32_t node = stack[--depth];
        if (node != TP_TREE_ROOT)
            g->order[count++] = node;
        for (uint32_t i = first[node + 1]; i-- > first[node];)
            stack[depth++] = sorted[i].node;
    }
}

static enum tp_status make_order(struct growing *g, struct tp_error *err)
{
    const size_t count = g->places.tree.count - 1;
    struct sibling *sorted = malloc((count + 1) * sizeof *sorted);
    uint32_t *first = malloc((count + 2) * sizeof *first);
    uint32_t *stack = malloc((count + 1) * sizeof *stack);
    g->order = malloc((count + 1) * sizeof *g->order);
    const bool good = sorted && first && stack && g->order;
    for (size_t i = 0; i < count && good; i++)
        sorted[i] = (struct sibling){(uint32_t)(i + 1),
                                     g->places.tree.nodes[i + 1].parent,
                                     g->sums[i + 1].device_ns,
                                     g->sums[i + 1].host_ns, name_of(g, i + 1)};
    if (good) {
        if (count > 1)
            qsort(sorted, count, sizeof *sorted, by_parent);
        find_children(sorted, count, first);
        walk(g, sorted, first, stack);
    }
    free(sorted);
    free(first);
    free(stack);
    return good ? TP_OK : tp_fail_memory(err);
}

/* --- rows ------------------------------------------------------------------
 */

static struct tp_tree_row row_of(const struct growing *g, size_t place,
                                 int64_t around)
{
    const uint32_t node = g->order[place];
    const struct sums *sums = &g->sums[node];
    const bool device = g->places.tree.nodes[node].name & DEVICE_BIT;
    return (struct tp_tree_row){
        .place = (int64_t)place,
        .around = around,
        .depth = g->places.tree.nodes[node].depth,
        .kind = kind_words[sums->kind],
        .name = name_of(g, node),
        .count = sums->count,
        .host_us = device ? NAN : (double)sums->host_ns / 1e3,
        .self_host_us =
            device ? NAN : (double)(sums->host_ns - sums->inside_ns) / 1e3,
        .device_events = sums->device_events,
        .device_us = (double)sums->device_ns / 1e3};
}

static enum tp_status make_rows(struct growing *g, struct tp_error *err)
{
    struct tp_trace *trace = g->trace;
    const size_t count = g->places.tree.count - 1;
    int64_t *number = malloc((count + 1) * sizeof *number);
    if (!number)
        return tp_fail_memory(err);
    number[TP_TREE_ROOT] = -1;
    const enum tp_status status =
        tp_grow(&trace->tree.rows, &trace->tree.capacity, count,
                sizeof *trace->tree.rows, err);
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        const uint32_t node = g->order[i];
        number[node] = (int64_t)i;
        trace->tree.rows[trace->tree.count++] =
            row_of(g, i, number[g->places.tree.nodes[node].parent]);
    }
    free(number);
    return status;
}

enum tp_status tp_trace_tree_rows(struct tp_trace *trace, struct tp_error *err)
{
    struct growing g = {.trace = trace};
    if (trace->compared) /* which has places of its own: trace_spent.h */
        return TP_OK;
    enum tp_status status = tp_trace_places_make(trace, &g.places, err);
    if (status == TP_OK)
        status = make_room(&g, err);
    if (status == TP_OK) {
        add_host(&g);
        status = add_device(&g, err);
    }
    if (status == TP_OK && g.places.tree.count > 1) {
        add_up(&g);
        status = make_order(&g, err);
        if (status == TP_OK)
            status = make_rows(&g, err);
    }
    tp_trace_places_clear(&g.places);
    free(g.sums);
    free(g.order);
    return status;
}
