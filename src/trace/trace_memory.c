/* SPDX-License-Identifier: MIT */
/*
 * Memory per device, from the profiler's [memory] instants: every allocation
 * and every free that the allocator of a device hands out or takes back, most
 * of them from its cache. Accelerators come first, then the host.
 *
 * An allocation is short-lived if its address is freed again within 1 ms or
 * by the innermost operator that asked for it: such buffers could be kept.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/trace.h"
#include "trace/trace_memory_peaks.h"
#include "trace/trace_order.h"
#include "trace/trace_rows.h"

enum {
    SHORT_LIVED_NS = 1000000,
    CURVE_PIECES = 249 /* two extremes each, and both ends: 500 points */
};

struct memory_state {
    struct tp_trace *trace;
    uint32_t *items; /* [count] MEMORY events by device, then start */
    size_t count;
    uint32_t *op; /* [events.count] innermost operator at the instant */
    struct tp_ordered *sorted, *scratch; /* [count] */
};

static const struct tp_memory_detail *detail_of(
    const struct memory_state *state, uint32_t event)
{
    const struct tp_events *events = &state->trace->events;
    return &events->memory[events->detail[event]];
}

/* --- orders ------------------------------------------------------------- */

/* c10::DeviceType 0 is the host and comes last. */
static uint64_t device_key(const struct tp_memory_detail *detail)
{
    return (uint64_t)((uint32_t)detail->device_type - 1) << 32 |
           (uint32_t)detail->device_id;
}

/* The MEMORY events by device, start, place in file. */
static enum tp_status order_events(struct memory_state *state,
                                   struct tp_error *err)
{
    const struct tp_events *events = &state->trace->events;
    for (uint32_t i = 0; i < events->count; i++) {
        state->count += events->category[i] == TP_EVENT_MEMORY &&
                        events->detail[i] != TP_NO_DETAIL;
    }
    state->items = malloc((state->count + 1) * sizeof *state->items);
    state->sorted = malloc((state->count + 1) * sizeof *state->sorted);
    state->scratch = malloc((state->count + 1) * sizeof *state->scratch);
    if (!state->items || !state->sorted || !state->scratch) {
        return tp_fail_memory(err);
    }
    size_t count = 0;
    for (uint32_t i = 0; i < events->count; i++) {
        if (events->category[i] == TP_EVENT_MEMORY &&
            events->detail[i] != TP_NO_DETAIL) {
            state->sorted[count++] =
                (struct tp_ordered){tp_time_key(events->start[i]), i};
        }
    }
    tp_order_sort(state->sorted, state->scratch, count);
    for (size_t i = 0; i < count; i++) {
        struct tp_ordered *item = &state->sorted[i];
        item->key = device_key(detail_of(state, item->event));
    }
    tp_order_sort(state->sorted, state->scratch, count);
    for (size_t i = 0; i < count; i++) {
        state->items[i] = state->sorted[i].event;
    }
    return TP_OK;
}

/* --- operators ---------------------------------------------------------- */

/* What lies around a moment: the event, or one it is in, that has not ended.
 * Moments of a lane only grow, so that each event is left once. */
static uint32_t leave_ended(const struct tp_trace *trace, uint32_t top,
                            int64_t moment)
{
    const struct tp_events *events = &trace->events;
    while (top != TP_NO_EVENT &&
           events->start[top] + events->duration[top] < moment) {
        top = trace->index.parent[top];
    }
    return top;
}

static uint32_t operator_of(const struct tp_trace *trace, uint32_t event)
{
    const uint32_t name = event == TP_NO_EVENT ? 0 : trace->events.name[event];
    if (event == TP_NO_EVENT) {
        return TP_NO_EVENT;
    }
    return trace->events.category[event] == TP_EVENT_CPU_OP &&
                   !(trace->index.kinds[name] & TP_NAME_STEP)
               ? event
               : trace->index.op[event];
}

/* The instants, by lane and start, against the host events, sorted alike. */
static enum tp_status find_operators(struct memory_state *state,
                                     struct tp_error *err)
{
    const struct tp_trace *trace = state->trace;
    const struct tp_events *events = &trace->events;
    const struct tp_trace_index *index = &trace->index;
    struct tp_ordered *items = state->sorted;
    state->op = malloc((events->count + 1) * sizeof *state->op);
    if (!state->op) {
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < state->count; i++) {
        const uint32_t event = state->items[i];
        items[i] =
            (struct tp_ordered){tp_time_key(events->start[event]), event};
    }
    tp_order_sort(items, state->scratch, state->count);
    for (size_t i = 0; i < state->count; i++) {
        items[i].key = events->lane[items[i].event];
    }
    tp_order_sort(items, state->scratch, state->count);
    size_t next = 0;
    uint32_t top = TP_NO_EVENT;
    for (size_t i = 0; i < state->count; i++) {
        const uint32_t event = items[i].event, lane = events->lane[event];
        if (i == 0 || lane != events->lane[items[i - 1].event]) {
            top = TP_NO_EVENT;
        }
        while (next < index->host_count &&
               (events->lane[index->host[next]] < lane ||
                (events->lane[index->host[next]] == lane &&
                 events->start[index->host[next]] <= events->start[event]))) {
            const uint32_t host = index->host[next++];
            top = events->lane[host] == lane ? host : TP_NO_EVENT;
        }
        top = leave_ended(trace, top, events->start[event]);
        state->op[event] = operator_of(trace, top);
    }
    return TP_OK;
}

/* --- one device --------------------------------------------------------- */

/* Allocations of known address that are given back soon, as a share of all
 * with an address; NaN if no address is recorded. */
static double short_lived(const struct memory_state *state,
                          const uint32_t *items, size_t count)
{
    const struct tp_events *events = &state->trace->events;
    struct tp_ordered *sorted = state->sorted;
    size_t known = 0, all = 0, brief = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tp_memory_detail *detail = detail_of(state, items[i]);
        if (detail->address) {
            sorted[known++] = (struct tp_ordered){detail->address, items[i]};
        }
    }
    tp_order_sort(sorted, state->scratch, known);
    for (size_t i = 0; i < known; i++) {
        const uint32_t event = sorted[i].event;
        if (detail_of(state, event)->bytes <= 0) {
            continue;
        }
        all++;
        if (i + 1 == known || sorted[i + 1].key != sorted[i].key ||
            detail_of(state, sorted[i + 1].event)->bytes >= 0) {
            continue;
        }
        const uint32_t freed = sorted[i + 1].event;
        brief += events->start[freed] - events->start[event] <=
                     SHORT_LIVED_NS ||
                 (state->op[event] != TP_NO_EVENT &&
                  state->op[event] == state->op[freed]);
    }
    return all > 0 ? (double)brief / (double)all : NAN;
}

/* Falls of total reserved that are followed by rises: memory given back to
 * the driver only to be asked for again. NaN where it is not recorded. */
static double reserved_swings(const struct memory_state *state,
                              const uint32_t *items, size_t count)
{
    int64_t last = -1, swings = 0;
    bool fell = false;
    for (size_t i = 0; i < count; i++) {
        const int64_t now = detail_of(state, items[i])->total_reserved;
        if (now < 0) {
            continue;
        }
        if (last >= 0 && now < last) {
            fell = true;
        } else if (now > last && fell) {
            swings++;
            fell = false;
        }
        last = now;
    }
    return last >= 0 ? (double)swings : NAN;
}

/* The row's counts and peaks. */
static void count_events(const struct memory_state *state,
                         const uint32_t *items, size_t count,
                         struct tp_memory_row *row)
{
    const struct tp_trace_index *index = &state->trace->index;
    const int64_t *start = state->trace->events.start;
    int64_t allocated = -1, reserved = -1, in_steps = 0;
    double in_steps_b = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tp_memory_detail *detail = detail_of(state, items[i]);
        const double bytes = (double)detail->bytes;
        row->allocations += detail->bytes > 0;
        row->frees += detail->bytes < 0;
        if (detail->bytes > 0) {
            const int64_t moment = start[items[i]];
            const bool inside = moment >= index->from && moment < index->to;
            row->allocated_b += bytes;
            in_steps += inside;
            in_steps_b += inside ? bytes : 0;
        }
        allocated = detail->total_allocated > allocated
                        ? detail->total_allocated
                        : allocated;
        reserved = detail->total_reserved > reserved ? detail->total_reserved
                                                     : reserved;
    }
    const double steps = (double)index->step_count;
    row->events = (int64_t)count;
    row->peak_allocated_b = allocated >= 0 ? (double)allocated : NAN;
    row->peak_reserved_b = reserved >= 0 ? (double)reserved : NAN;
    row->allocations_per_step = steps > 0 ? (double)in_steps / steps : NAN;
    row->allocated_per_step_b = steps > 0 ? in_steps_b / steps : NAN;
    row->turnover =
        allocated > 0 ? row->allocated_per_step_b / (double)allocated : NAN;
}

/* "cpu", "cuda:0": type and number as torch writes them. */
static const char *device_name(struct tp_arena *arena,
                               const struct tp_memory_detail *detail)
{
    static const char *const types[] = {
        "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
        "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
        "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",
        "privateuseone"};
    const int32_t type = detail->device_type;
    char text[64];
    const bool named =
        type >= 0 && (size_t)type < sizeof types / sizeof *types;
    int length = named ? snprintf(text, sizeof text, "%s", types[type])
                       : snprintf(text, sizeof text, "device type %" PRId32,
                                  type);
    if (detail->device_id >= 0) {
        length += snprintf(text + length, sizeof text - (size_t)length,
                           ":%" PRId32, detail->device_id);
    }
    return tp_arena_text(arena, text, (size_t)length);
}

static enum tp_status add_device(struct memory_state *state,
                                 const uint32_t *items, size_t count,
                                 struct tp_error *err)
{
    struct tp_trace *trace = state->trace;
    struct tp_memory_row row = {
        .device = device_name(&trace->events.arena, detail_of(state, *items)),
        .is_host = detail_of(state, *items)->device_type == 0};
    if (!row.device ||
        tp_grow(&trace->memory.rows, &trace->memory.capacity,
                trace->memory.count + 1, sizeof *trace->memory.rows, NULL)) {
        return tp_fail_memory(err);
    }
    count_events(state, items, count, &row);
    row.short_lived = short_lived(state, items, count);
    row.reserved_swings = reserved_swings(state, items, count);
    trace->memory.rows[trace->memory.count++] = row;
    const struct tp_memory_list list = {row.device, items, count, state->op};
    return tp_trace_memory_peaks(trace, &list, err);
}

/* --- curves ------------------------------------------------------------- */

struct sampler {
    struct tp_curve *curve;
    int64_t zero; /* start of W */
};

static enum tp_status add_point(const struct sampler *sampler, int64_t moment,
                                int64_t value, struct tp_error *err)
{
    struct tp_curve *curve = sampler->curve;
    const enum tp_status status =
        tp_grow(&curve->rows, &curve->capacity, curve->count + 1,
                sizeof *curve->rows, err);
    if (!status) {
        curve->rows[curve->count++] =
            (struct tp_moment){(double)(moment - sampler->zero) / 1e3,
                               (double)value};
    }
    return status;
}

static int64_t total_of(const struct memory_state *state, uint32_t event,
                        bool reserved)
{
    const struct tp_memory_detail *detail = detail_of(state, event);
    return reserved ? detail->total_reserved : detail->total_allocated;
}

/* Lowest and highest total of items [first, end), in the order of time. */
static enum tp_status sample_piece(const struct memory_state *state,
                                   const struct sampler *sampler,
                                   const size_t range[2], bool reserved,
                                   struct tp_error *err)
{
    const int64_t *start = state->trace->events.start;
    size_t low = range[1], high = range[1];
    for (size_t i = range[0]; i < range[1]; i++) {
        const int64_t total = total_of(state, state->items[i], reserved);
        if (total < 0) {
            continue;
        }
        if (low == range[1] ||
            total < total_of(state, state->items[low], reserved)) {
            low = i;
        }
        if (high == range[1] ||
            total > total_of(state, state->items[high], reserved)) {
            high = i;
        }
    }
    const size_t early = low < high ? low : high;
    const size_t late = low < high ? high : low;
    enum tp_status status = TP_OK;
    if (early < range[1]) {
        status = add_point(sampler, start[state->items[early]],
                           total_of(state, state->items[early], reserved),
                           err);
    }
    if (late < range[1] && late != early && !status) {
        status =
            add_point(sampler, start[state->items[late]],
                      total_of(state, state->items[late], reserved), err);
    }
    return status;
}

/* The extremes in equal pieces of time of the first `count` items, with the
 * first and the last total as they are. */
static enum tp_status sample(struct memory_state *state, size_t count,
                             bool reserved, struct tp_error *err)
{
    struct tp_trace *trace = state->trace;
    const int64_t *start = trace->events.start;
    const struct sampler sampler = {
        reserved ? &trace->reserved : &trace->allocated, trace->index.from};
    const int64_t from = start[state->items[0]];
    const int64_t length = start[state->items[count - 1]] - from;
    enum tp_status status =
        sample_piece(state, &sampler, (size_t[]){0, 1}, reserved, err);
    size_t first = 1;
    for (int piece = 1; piece <= CURVE_PIECES && !status; piece++) {
        const int64_t to = from + (int64_t)((double)length * piece /
                                            CURVE_PIECES);
        size_t end = first;
        while (end + 1 < count &&
               (piece == CURVE_PIECES || start[state->items[end]] < to)) {
            end++;
        }
        status = sample_piece(state, &sampler, (size_t[]){first, end},
                              reserved, err);
        first = end;
    }
    if (!status && first < count) {
        status = sample_piece(state, &sampler, (size_t[]){first, count},
                              reserved, err);
    }
    return status;
}

/* --- all ---------------------------------------------------------------- */

static enum tp_status make_rows(struct memory_state *state,
                                struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t first = 0, end; first < state->count && !status;
         first = end) {
        const uint64_t key = device_key(detail_of(state, state->items[first]));
        for (end = first + 1;
             end < state->count &&
             device_key(detail_of(state, state->items[end])) == key;
             end++) {
        }
        status = add_device(state, state->items + first, end - first, err);
        if (!status && first == 0) {
            status = sample(state, end, false, err);
        }
        if (!status && first == 0) {
            status = sample(state, end, true, err);
        }
    }
    return status;
}

enum tp_status tp_trace_memory(struct tp_trace *trace, struct tp_error *err)
{
    struct memory_state state = {.trace = trace};
    enum tp_status status = order_events(&state, err);
    if (!status && state.count) {
        status = find_operators(&state, err);
    }
    if (!status && state.count) {
        status = make_rows(&state, err);
    }
    free(state.items);
    free(state.op);
    free(state.sorted);
    free(state.scratch);
    return status;
}
