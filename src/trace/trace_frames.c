/* SPDX-License-Identifier: MIT */
/*
 * Which Python code the host was in: frames of stacks that were recorded
 * (with_stack=True), added up by function.
 *
 * Frames nest on their lane by time, as host events do (trace_index.c). Time
 * and idle time of a frame are those of the frames inside, too; where a
 * function is inside itself the outer one has them. The device idles for the
 * lane that trains, so that idle moments are held against the frames of that
 * lane alone. All frames around a slow one hold as much as it does: to blame is
 * the innermost that still holds half. n log n for the order, then a search in
 * the sorted moments for each frame of the lane.
 */
#include "trace/trace_frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "trace/trace_merge.h"
#include "trace/trace_rows.h"

struct frames_state {
    struct tp_trace *trace;
    const struct tp_intervals *idle; /* [TP_FRAME_IDLES]                    */
    uint32_t *list;                  /* frames in order; [count]            */
    size_t count;
    uint32_t *parent; /* [events.count] the frame around a frame           */
    uint32_t *depth;  /* [events.count] frames around it                    */
    uint32_t *row;    /* [texts.count] row + 1; 0: none                     */
    int64_t *until;   /* [texts.count] end of the function's outermost frame
                         that was met last, on its lane                     */
    uint32_t *lane;   /* [texts.count] that lane + 1                        */
    double *most;     /* [texts.count] idle time of the call that has most  */
};

static size_t count_frames(const struct tp_events *events)
{
    size_t count = 0;
    for (size_t i = 0; i < events->count; i++) {
        count += events->category[i] == TP_EVENT_PYTHON;
    }
    return count;
}

static enum tp_status order_frames(struct frames_state *state,
                                   struct tp_error *err)
{
    const struct tp_events *events = &state->trace->events;
    size_t next = 0;
    for (uint32_t i = 0; i < events->count; i++) {
        if (events->category[i] == TP_EVENT_PYTHON) {
            state->list[next++] = i;
        }
    }
    const enum tp_status status = tp_trace_merge_sort(
        events, state->list, next, tp_trace_before_nested, err);
    if (status == TP_OK) {
        tp_trace_nest(events, state->list, next, state->parent);
    }
    return status;
}

static enum tp_frame_kind kind_of(const char *name)
{
    return strncmp(name, "nn.Module: ", 11) == 0 ? TP_FRAME_MODULE
           : name[0] == '<'                      ? TP_FRAME_BUILTIN
                                                 : TP_FRAME_FUNCTION;
}

static struct tp_frame_row *row_of(struct frames_state *state, uint32_t name)
{
    static const char *const words[TP_FRAME_KINDS] = {
        [TP_FRAME_FUNCTION] = "function",
        [TP_FRAME_BUILTIN] = "built-in",
        [TP_FRAME_MODULE] = "module"};
    struct tp_trace *trace = state->trace;
    if (!state->row[name]) {
        if (tp_grow(&trace->frames.rows, &trace->frames.capacity,
                    trace->frames.count + 1, sizeof *trace->frames.rows,
                    NULL)) {
            return NULL;
        }
        const char *text = tp_events_get(&trace->events, name);
        const enum tp_frame_kind what = kind_of(text);
        trace->frames.rows[trace->frames.count++] = (struct tp_frame_row){
            .name = text, .what = what, .kind = words[what]};
        state->row[name] = (uint32_t)trace->frames.count;
    }
    return &trace->frames.rows[state->row[name] - 1];
}

/* Whether the frame is in no other of the same function. */
static bool is_outermost(struct frames_state *state, uint32_t event)
{
    const struct tp_events *events = &state->trace->events;
    const uint32_t name = events->name[event];
    const uint32_t lane = events->lane[event] + 1;
    if (state->lane[name] == lane &&
        events->start[event] < state->until[name]) {
        return false;
    }
    state->lane[name] = lane;
    state->until[name] = events->start[event] + events->duration[event];
    return true;
}

/* What of a frame's time is idle time of a kind, us. */
static double idle_of(const struct frames_state *state, uint32_t event,
                      enum tp_frame_idle kind)
{
    const struct tp_events *events = &state->trace->events;
    const int64_t from = events->start[event];
    return (double)tp_intervals_within(&state->idle[kind], from,
                                       from + events->duration[event]) /
           1e3;
}

/* A frame of the lane that trains. Its row, and that of the frame around it,
 * are there. */
static void add_idle(struct frames_state *state, uint32_t event, bool outermost)
{
    const uint32_t *names = state->trace->events.name;
    const uint32_t around = state->parent[event];
    struct tp_frame_row *row = row_of(state, names[event]);
    double all = 0;
    for (int kind = 0; kind < TP_FRAME_IDLES; kind++) {
        const double us = idle_of(state, event, kind);
        all += us;
        row->idle_us[kind] += outermost ? us : 0;
        row->self_idle_us[kind] += us;
        if (around != TP_NO_EVENT) {
            row_of(state, names[around])->self_idle_us[kind] -= us;
        }
    }
    if (all > state->most[names[event]]) {
        state->most[names[event]] = all;
        row->depth = state->depth[event];
    }
}

static enum tp_status add_frames(struct frames_state *state,
                                 struct tp_error *err)
{
    const struct tp_events *events = &state->trace->events;
    for (size_t i = 0; i < state->count; i++) { /* parents first */
        const uint32_t event = state->list[i];
        const uint32_t around = state->parent[event];
        const double us = (double)events->duration[event] / 1e3;
        const bool outermost = is_outermost(state, event);
        struct tp_frame_row *row = row_of(state, events->name[event]);
        if (!row) {
            return tp_fail_memory(err);
        }
        row->count++;
        row->total_us += outermost ? us : 0;
        row->self_us += us;
        state->depth[event] = 0;
        if (around != TP_NO_EVENT) {
            state->depth[event] = state->depth[around] + 1;
            row_of(state, events->name[around])->self_us -= us;
        }
        if (events->lane[event] == state->trace->index.main_lane) {
            add_idle(state, event, outermost);
        }
    }
    return TP_OK;
}

static double own_idle(const struct tp_frame_row *row)
{
    double us = 0;
    for (int kind = 0; kind < TP_FRAME_IDLES; kind++) {
        us += row->self_idle_us[kind];
    }
    return us;
}

/* Most idle time in its own code first, then most time there. */
static int compare(const void *left, const void *right)
{
    const struct tp_frame_row *a = left, *b = right;
    int result = tp_order_double(own_idle(b), own_idle(a));
    if (!result) {
        result = tp_order_double(b->self_us, a->self_us);
    }
    return result ? result : strcmp(a->name, b->name);
}

bool tp_trace_has_frames(const struct tp_trace *trace)
{
    return count_frames(&trace->events) > 0;
}

enum tp_status tp_trace_frames(struct tp_trace *trace,
                               const struct tp_intervals idle[TP_FRAME_IDLES],
                               struct tp_error *err)
{
    const size_t events = trace->events.count;
    const size_t names = trace->events.texts.count + 1;
    struct frames_state state = {
        .trace = trace, .idle = idle, .count = count_frames(&trace->events)};
    if (state.count == 0) {
        return TP_OK;
    }
    state.list = malloc(state.count * sizeof *state.list);
    state.parent = malloc(events * sizeof *state.parent);
    state.depth = malloc(events * sizeof *state.depth);
    state.row = calloc(names, sizeof *state.row);
    state.until = calloc(names, sizeof *state.until);
    state.lane = calloc(names, sizeof *state.lane);
    state.most = calloc(names, sizeof *state.most);
    enum tp_status status = state.list && state.parent && state.depth &&
                                    state.row && state.until && state.lane &&
                                    state.most
                                ? order_frames(&state, err)
                                : tp_fail_memory(err);
    if (!status) {
        status = add_frames(&state, err);
    }
    if (!status) {
        qsort(trace->frames.rows, trace->frames.count,
              sizeof *trace->frames.rows, compare);
    }
    free(state.list);
    free(state.parent);
    free(state.depth);
    free(state.row);
    free(state.until);
    free(state.lane);
    free(state.most);
    return status;
}

/* --- blame -------------------------------------------------------------- */

/* Frames of torch, and of what only passes calls on, say nothing of whose code
 * it is. */
static bool is_own(const struct tp_frame_row *row)
{
    static const char *const passing[] = {"torch/", "contextlib.py(",
                                          "functools.py(", "threading.py("};
    if (row->what != TP_FRAME_FUNCTION) {
        return false;
    }
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
        const char *at = strstr(row->name, passing[i]);
        if (at && (at == row->name || at[-1] == '/')) {
            return false;
        }
    }
    return true;
}

static bool is_deeper(const struct tp_frame_row *row,
                      const struct tp_frame_row *kept)
{
    return !kept || row->depth > kept->depth;
}

struct tp_frame_blame tp_trace_blame(const struct tp_trace *trace,
                                     enum tp_frame_idle kind, double total_us)
{
    struct tp_frame_blame blame = {NULL, NULL, NULL};
    for (int pass = 0; pass < 2 && total_us > 0; pass++) {
        for (size_t i = 0; i < trace->frames.count; i++) {
            const struct tp_frame_row *row = &trace->frames.rows[i];
            if (2 * row->idle_us[kind] < total_us) {
                continue;
            }
            if (pass == 0 && is_deeper(row, blame.inner)) {
                blame.inner = row;
            } else if (pass == 1 && row != blame.inner) {
                if (row->what == TP_FRAME_MODULE &&
                    is_deeper(row, blame.module)) {
                    blame.module = row;
                }
                if (is_own(row) && is_deeper(row, blame.caller)) {
                    blame.caller = row;
                }
            }
        }
    }
    return blame;
}
