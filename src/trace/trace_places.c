/* SPDX-License-Identifier: MIT */
#include "trace/trace_places.h"

#include <stdlib.h>
#include <string.h>

#include "trace/trace_merge.h"

bool tp_place_is_call(const struct tp_events *events, uint32_t event)
{
    return events->category[event] == TP_EVENT_RUNTIME ||
           events->category[event] == TP_EVENT_DRIVER;
}

bool tp_place_is_step(const struct tp_trace *trace, uint32_t event)
{
    return trace->index.kinds[trace->events.name[event]] & TP_NAME_STEP;
}

bool tp_place_is_module(const struct tp_events *events, uint32_t event)
{
    return events->category[event] == TP_EVENT_PYTHON &&
           !strncmp(tp_events_get(events, events->name[event]),
                    "nn.Module: ", 11);
}

/* The list of host events, with modules where there are some. */
static enum tp_status make_list(const struct tp_trace *trace,
                                struct tp_trace_places *places,
                                struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    const struct tp_trace_index *index = &trace->index;
    size_t modules = 0;
    for (uint32_t i = 0; i < events->count; i++)
        modules += tp_place_is_module(events, i);
    places->list = index->host;
    places->parent = index->parent;
    places->count = index->host_count;
    if (!modules)
        return TP_OK;
    const size_t most = places->count + modules;
    places->owned = true;
    places->list = malloc(most * sizeof *places->list);
    places->parent = malloc((events->count + 1) * sizeof *places->parent);
    if (!places->list || !places->parent)
        return tp_fail_memory(err);
    memcpy(places->list, index->host, places->count * sizeof *places->list);
    for (uint32_t i = 0; i < events->count; i++) {
        if (tp_place_is_module(events, i))
            places->list[places->count++] = i;
    }
    const enum tp_status status = tp_trace_merge_sort(
        events, places->list, most, tp_trace_before_nested, err);
    if (status == TP_OK)
        tp_trace_nest(events, places->list, most, places->parent);
    return status;
}

/* How many events each is directly around; NULL: no memory. */
static uint32_t *count_children(const struct tp_trace *trace,
                                const struct tp_trace_places *places)
{
    uint32_t *children = calloc(trace->events.count + 1, sizeof *children);
    for (size_t i = 0; i < places->count && children; i++) {
        const uint32_t around = places->parent[places->list[i]];
        if (around != TP_NO_EVENT)
            children[around]++;
    }
    return children;
}

/* Whether it has a place, and not that of an event around it. */
static bool is_place(const struct tp_trace *trace,
                     const struct tp_trace_places *places,
                     const uint32_t *children, uint32_t event)
{
    const uint32_t around = places->parent[event];
    const uint32_t *name = trace->events.name;
    if (tp_place_is_call(&trace->events, event) ||
        tp_place_is_step(trace, event))
        return false;
    return !places->merge || around == TP_NO_EVENT || children[around] != 1 ||
           name[around] != name[event];
}

bool tp_place_is_merged(const struct tp_trace_places *places,
                        const struct tp_trace *trace, uint32_t event)
{
    const uint32_t around = places->parent[event];
    return around != TP_NO_EVENT &&
           places->node[around] == places->node[event] &&
           !tp_place_is_call(&trace->events, event) &&
           !tp_place_is_step(trace, event);
}

/* Parents come before children. */
static enum tp_status make_nodes(const struct tp_trace *trace,
                                 struct tp_trace_places *places,
                                 struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    uint32_t *children = count_children(trace, places);
    places->node = calloc(events->count + 1, sizeof *places->node);
    enum tp_status status =
        children && places->node ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < places->count && status == TP_OK; i++) {
        const uint32_t event = places->list[i], around = places->parent[event];
        const uint32_t parent =
            around == TP_NO_EVENT ? TP_TREE_ROOT : places->node[around];
        places->node[event] = parent;
        if (is_place(trace, places, children, event))
            status =
                tp_trace_tree_find(&places->tree, parent, events->name[event],
                                   &places->node[event], err);
    }
    free(children);
    return status;
}

enum tp_status tp_trace_places_make(const struct tp_trace *trace,
                                    struct tp_trace_places *places,
                                    struct tp_error *err)
{
    const enum tp_status status = make_list(trace, places, err);
    return status == TP_OK ? make_nodes(trace, places, err) : status;
}

void tp_trace_places_clear(struct tp_trace_places *places)
{
    if (places->owned) {
        free(places->list);
        free(places->parent);
    }
    free(places->node);
    tp_trace_tree_clear(&places->tree);
    *places = (struct tp_trace_places){.count = 0};
}
