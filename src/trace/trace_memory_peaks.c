/* SPDX-License-Identifier: MIT */
/*
 * What memory is for, at the moments when most is taken. A JSON trace has no
 * tensors, only addresses: an allocation is told by the phase it is made in and
 * by the phases it outlives. Made before a backward pass and kept into it: an
 * activation (with the batch, where the step makes it). Made in a backward pass
 * and kept for the optimizer: a gradient; else the backward pass' own. Made in
 * Optimizer.step and never given back: optimizer state. What was there before
 * the recording, parameters among it, is one sum: no event tells it apart.
 *
 * torch's own memory profiler follows tensors through the operators, which
 * needs their identities; on training of torch 2.15 both agree to the byte
 * where the phases are marked. Sorting by address pairs allocations and frees:
 * n log n.
 */
#include "trace/trace_memory_peaks.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/saturate.h"
#include "trace/interval.h"
#include "trace/trace_order.h"

enum { PEAKS = 3, ROWS_OF_A_PEAK = 20 };

/* An allocation and its end. */
struct block {
    uint32_t event;
    int64_t from, to;      /* ns; INT64_MAX: not given back                */
    int64_t bytes;
    bool brief;            /* given back by the operator that took it      */
};

/* A moment of most memory. */
struct peak {
    size_t item;           /* of the list                                  */
    int64_t bytes, step;
};

struct peaks_state {
    struct tp_trace *trace;
    const struct tp_memory_list *list;
    struct block *blocks;  /* by address, then start                       */
    size_t count;
    struct tp_intervals backward, step, optimizer; /* optimizer: any part  */
    struct peak peaks[PEAKS];
    size_t peak_count;
};

/* Rows while they are added up. */
struct sum {
    enum tp_memory_kind kind;
    uint32_t op; /* text of its name */
    int64_t bytes, count;
};

static const struct tp_memory_detail *detail_of(const struct tp_trace *trace,
                                                uint32_t event)
{
    return &trace->events.memory[trace->events.detail[event]];
}

/* --- phases --------------------------------------------------------------- */

static bool begins_with(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

static enum tp_status find_phases(struct peaks_state *s, struct tp_error *err)
{
    const struct tp_events *events = &s->trace->events;
    const struct tp_trace_index *index = &s->trace->index;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < index->host_count && status == TP_OK; i++) {
        const uint32_t event = index->host[i];
        const char *name = tp_events_get(events, events->name[event]);
        const int64_t from = events->start[event];
        const int64_t to = from + events->duration[event];
        if (begins_with(name, "autograd::engine::evaluate_function"))
            status = tp_intervals_add(&s->backward, from, to, err);
        if (begins_with(name, "Optimizer.step"))
            status = tp_intervals_add(&s->step, from, to, err);
        if (status == TP_OK && begins_with(name, "Optimizer."))
            status = tp_intervals_add(&s->optimizer, from, to, err);
    }
    tp_intervals_unite(&s->backward);
    tp_intervals_unite(&s->step);
    tp_intervals_unite(&s->optimizer);
    return status;
}

/* Whether a moment is in a set; with its end, for later ones. */
static bool is_in(const struct tp_intervals *set, int64_t moment, int64_t *end)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        const size_t half = low + (high - low) / 2;
        if (set->items[half].to < moment)
            low = half + 1;
        else
            high = half;
    }
    *end = low < set->count ? set->items[low].to : 0;
    return low < set->count && set->items[low].from <= moment;
}

static bool outlives(const struct block *block, const struct tp_intervals *set)
{
    return tp_intervals_within(set, block->from, block->to) > 0;
}

static enum tp_memory_kind kind_of(const struct peaks_state *s,
                                   const struct block *block)
{
    int64_t end;
    const bool kept = block->to == INT64_MAX;
    if (block->brief)
        return TP_MEMORY_TEMPORARY;
    if (is_in(&s->backward, block->from, &end))
        return s->optimizer.count == 0          ? TP_MEMORY_UNKNOWN
               : outlives(block, &s->optimizer) ? TP_MEMORY_GRADIENT
               : kept                           ? TP_MEMORY_UNKNOWN
                                                : TP_MEMORY_BACKWARD;
    if (is_in(&s->step, block->from, &end))
        return kept               ? TP_MEMORY_OPTIMIZER
               : block->to <= end ? TP_MEMORY_TEMPORARY
                                  : TP_MEMORY_UNKNOWN;
    if (kept || s->backward.count == 0)
        return TP_MEMORY_UNKNOWN;
    return outlives(block, &s->backward) ? TP_MEMORY_ACTIVATION
                                         : TP_MEMORY_TEMPORARY;
}

/* --- blocks --------------------------------------------------------------- */

static enum tp_status find_blocks(struct peaks_state *s, struct tp_error *err)
{
    const struct tp_trace *trace = s->trace;
    const struct tp_memory_list *list = s->list;
    struct tp_ordered *sorted = malloc(2 * list->count * sizeof *sorted);
    s->blocks = malloc((list->count + 1) * sizeof *s->blocks);
    if (!sorted || !s->blocks) {
        free(sorted);
        return tp_fail_memory(err);
    }
    size_t known = 0;
    for (size_t i = 0; i < list->count; i++) {
        const uint64_t address = detail_of(trace, list->items[i])->address;
        if (address)
            sorted[known++] = (struct tp_ordered){address, list->items[i]};
    }
    tp_order_sort(sorted, sorted + list->count, known);
    for (size_t i = 0; i < known; i++) {
        const uint32_t event = sorted[i].event;
        const int64_t bytes = detail_of(trace, event)->bytes;
        if (bytes <= 0)
            continue;
        struct block block = {.event = event,
                              .from = trace->events.start[event],
                              .to = INT64_MAX,
                              .bytes = bytes};
        if (i + 1 < known && sorted[i + 1].key == sorted[i].key &&
            detail_of(trace, sorted[i + 1].event)->bytes < 0) {
            const uint32_t freed = sorted[i + 1].event;
            block.to = trace->events.start[freed];
            block.brief = list->op[event] != TP_NO_EVENT &&
                          list->op[event] == list->op[freed];
        }
        s->blocks[s->count++] = block;
    }
    free(sorted);
    return TP_OK;
}

/* --- peaks ---------------------------------------------------------------- */

/* Keeps the highest; of a step there is one. */
static void offer(struct peaks_state *s, struct peak peak)
{
    size_t at = s->peak_count;
    if (s->peak_count < PEAKS)
        s->peak_count++;
    else if (s->peaks[PEAKS - 1].bytes >= peak.bytes)
        return;
    else
        at = PEAKS - 1;
    for (; at > 0 && s->peaks[at - 1].bytes < peak.bytes; at--)
        s->peaks[at] = s->peaks[at - 1];
    s->peaks[at] = peak;
}

/* The highest moment of each step, and of what is outside of all. */
static void find_peaks(struct peaks_state *s)
{
    const struct tp_trace *trace = s->trace;
    const struct tp_trace_index *index = &trace->index;
    struct peak best = {.bytes = -1};
    int64_t tracked = 0, step = -1;
    size_t next = 0;
    for (size_t i = 0; i < s->list->count; i++) {
        const uint32_t event = s->list->items[i];
        const struct tp_memory_detail *detail = detail_of(trace, event);
        const int64_t moment = trace->events.start[event];
        tracked = tp_saturate_add(tracked, detail->bytes);
        const int64_t now =
            detail->total_allocated >= 0 ? detail->total_allocated : tracked;
        while (next < index->step_count && index->steps[next].to <= moment)
            next++;
        const bool inside =
            next < index->step_count && index->steps[next].from <= moment;
        const int64_t number = inside ? index->steps[next].number : -1;
        if (number != step && best.bytes >= 0) {
            offer(s, best);
            best.bytes = -1;
        }
        step = number;
        if (now > best.bytes)
            best = (struct peak){i, now, number};
    }
    if (best.bytes >= 0)
        offer(s, best);
}

static int by_kind(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    const int order = tp_order_int64(x->kind, y->kind);
    return order ? order : tp_order_int64(x->op, y->op);
}

static int by_bytes(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    const int order = tp_order_int64(y->bytes, x->bytes);
    return order ? order : by_kind(a, b);
}

/* Adds up equal ones; largest first. Returns how many are left. */
static size_t merge(struct sum *sums, size_t count)
{
    size_t kept = 0;
    if (count == 0)
        return 0;
    qsort(sums, count, sizeof *sums, by_kind);
    for (size_t i = 0; i < count; i++) {
        if (kept && by_kind(&sums[kept - 1], &sums[i]) == 0) {
            sums[kept - 1].bytes =
                tp_saturate_add(sums[kept - 1].bytes, sums[i].bytes);
            sums[kept - 1].count += sums[i].count;
        } else {
            sums[kept++] = sums[i];
        }
    }
    qsort(sums, kept, sizeof *sums, by_bytes);
    return kept;
}

static const char *const kinds[TP_MEMORY_KINDS] = {
    [TP_MEMORY_ACTIVATION] = "activation",
    [TP_MEMORY_GRADIENT] = "gradient",
    [TP_MEMORY_OPTIMIZER] = "optimizer state",
    [TP_MEMORY_BACKWARD] = "backward",
    [TP_MEMORY_TEMPORARY] = "temporary",
    [TP_MEMORY_BEFORE] = "before the recording",
    [TP_MEMORY_UNKNOWN] = "unknown",
};

static enum tp_status add_row(struct peaks_state *s, size_t number,
                              struct sum sum, const char *op,
                              struct tp_error *err)
{
    struct tp_trace *trace = s->trace;
    const struct peak *peak = &s->peaks[number];
    const int64_t at = trace->events.start[s->list->items[peak->item]];
    if (tp_grow(&trace->memory_peaks.rows, &trace->memory_peaks.capacity,
                trace->memory_peaks.count + 1,
                sizeof *trace->memory_peaks.rows, err) != TP_OK)
        return TP_E_MEMORY;
    trace->memory_peaks.rows[trace->memory_peaks.count++] =
        (struct tp_memory_peak_row){
            .device = s->list->device,
            .peak = (int64_t)number + 1,
            .step = peak->step,
            .at_us = (double)(at - trace->index.from) / 1e3,
            .total_b = peak->bytes,
            .what = sum.kind,
            .kind = kinds[sum.kind],
            .op = op,
            .allocations = sum.count,
            .bytes = sum.bytes};
    return TP_OK;
}

/* The rows of a peak: the largest sums, what is left of each kind, and what no
 * allocation of the trace accounts for. */
static enum tp_status add_rows(struct peaks_state *s, size_t number,
                               const struct sum *sums, size_t count,
                               struct tp_error *err)
{
    struct sum rest[TP_MEMORY_KINDS] = {{.bytes = 0}};
    int64_t before = s->peaks[number].bytes;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        before = tp_saturate_add(before, -sums[i].bytes);
        if (i < ROWS_OF_A_PEAK) {
            status = add_row(s, number, sums[i],
                             tp_events_get(&s->trace->events, sums[i].op), err);
            continue;
        }
        rest[sums[i].kind].kind = sums[i].kind;
        rest[sums[i].kind].bytes =
            tp_saturate_add(rest[sums[i].kind].bytes, sums[i].bytes);
        rest[sums[i].kind].count += sums[i].count;
    }
    for (int k = 0; k < TP_MEMORY_KINDS && status == TP_OK; k++) {
        if (rest[k].count)
            status = add_row(s, number, rest[k], "(others)", err);
    }
    if (before > 0 && status == TP_OK)
        status = add_row(s, number,
                         (struct sum){TP_MEMORY_BEFORE, 0, before, -1}, "",
                         err);
    return status;
}

static enum tp_status describe_peak(struct peaks_state *s, size_t number,
                                    struct sum *sums, struct tp_error *err)
{
    const struct tp_events *events = &s->trace->events;
    const int64_t at =
        events->start[s->list->items[s->peaks[number].item]];
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct block *block = &s->blocks[i];
        const uint32_t op = s->list->op[block->event];
        if (block->from <= at && at < block->to)
            sums[count++] = (struct sum){
                kind_of(s, block), op == TP_NO_EVENT ? 0 : events->name[op],
                block->bytes, 1};
    }
    return add_rows(s, number, sums, merge(sums, count), err);
}

enum tp_status tp_trace_memory_peaks(struct tp_trace *trace,
                                     const struct tp_memory_list *list,
                                     struct tp_error *err)
{
    struct peaks_state s = {.trace = trace, .list = list};
    struct sum *sums = NULL;
    enum tp_status status = find_blocks(&s, err);
    if (status == TP_OK && s.count) {
        status = find_phases(&s, err);
        find_peaks(&s);
        sums = malloc(s.count * sizeof *sums);
        if (status == TP_OK && !sums)
            status = tp_fail_memory(err);
    }
    for (size_t i = 0; i < s.peak_count && status == TP_OK; i++)
        status = describe_peak(&s, i, sums, err);
    free(sums);
    free(s.blocks);
    tp_intervals_clear(&s.backward);
    tp_intervals_clear(&s.step);
    tp_intervals_clear(&s.optimizer);
    return status;
}
