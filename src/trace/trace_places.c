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

/* Parents come before children. */
static enum tp_status make_nodes(const struct tp_trace *trace,
                                 struct tp_trace_places *places,
                                 struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    places->node = calloc(events->count + 1, sizeof *places->node);
    if (!places->node)
        return tp_fail_memory(err);
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < places->count && status == TP_OK; i++) {
        const uint32_t event = places->list[i], around = places->parent[event];
        const uint32_t parent =
            around == TP_NO_EVENT ? TP_TREE_ROOT : places->node[around];
        places->node[event] = parent;
        if (!tp_place_is_call(events, event) && !tp_place_is_step(trace, event))
            status =
                tp_trace_tree_find(&places->tree, parent, events->name[event],
                                   &places->node[event], err);
    }
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
