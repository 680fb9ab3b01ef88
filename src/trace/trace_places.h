/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_PLACES_H
#define TP_TRACE_TRACE_PLACES_H

#include "trace/trace.h"
#include "trace/trace_tree.h"

/*
 * Where in the tree of modules, ranges and operators each host event of a trace
 * is. All-zero bytes are none.
 */
struct tp_trace_places {
    uint32_t *list, *parent; /* host events and modules by lane, start,
                                longest first, and the one around each; the
                                index's own where there are no modules     */
    size_t count;
    bool owned;
    bool merge;              /* set before: an operator that is all there is
                                in another of its name is in that one's place,
                                as key_averages() has it                   */
    uint32_t *node;          /* [events.count] its place                   */
    struct tp_trace_tree tree;
};

/* Calls and steps are no places: they are where they are called. TP_E_MEMORY;
 * released with tp_trace_places_clear, also after a failure. */
enum tp_status tp_trace_places_make(const struct tp_trace *trace,
                                    struct tp_trace_places *places,
                                    struct tp_error *err);
void tp_trace_places_clear(struct tp_trace_places *places);

/* Whether an event shares the place of one of its name around it. */
bool tp_place_is_merged(const struct tp_trace_places *places,
                        const struct tp_trace *trace, uint32_t event);

/* Whether an event calls the runtime or the driver. */
bool tp_place_is_call(const struct tp_events *events, uint32_t event);

/* Whether an event is a ProfilerStep. */
bool tp_place_is_step(const struct tp_trace *trace, uint32_t event);

/* Whether an event is a module's, of a trace with stacks. */
bool tp_place_is_module(const struct tp_events *events, uint32_t event);

#endif
