/* SPDX-License-Identifier: MIT */
/*
 * Device work by name, and how long kernels last. An event's row is found by
 * the number of its name, since equal names are one text; no hash table is
 * needed. The standard deviation is Welford's, as a sum of squares of ns would
 * lose its digits against the square of the mean. Occupancy and blocks are
 * means weighted by duration, over the events that have them. Histogram, median
 * and the share of short kernels come from all durations, sorted by radix:
 * exact, where a histogram alone would give the median to a bin.
 *
 * O(events), and a sort of the rows; 32 bytes for each device event.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/trace.h"
#include "trace/trace_order.h"
#include "trace/trace_rows.h"

/* Below this a kernel is short: launching one costs the host about as much
 * (TraceLens' default). */
enum { SHORT_NS = 10000 };

/* What a row is made of: sums in ns. */
struct sums {
    uint64_t ns;
    int64_t min, max;
    double mean, squares;     /* Welford: mean, sum of squared deviations */
    double blocks, occupancy; /* sums weighted by duration                */
    double blocks_ns, occupancy_ns; /* their weights                         */
    double blocks_plain, occupancy_plain; /* unweighted, for duration 0      */
    int64_t blocks_count, occupancy_count;
};

struct kernels_state {
    struct tp_trace *trace;
    struct sums *sums; /* as the rows */
    size_t sums_capacity;
    uint32_t *row; /* [texts.count] row + 1; 0: none */
};

static const char *kind_of(const struct tp_trace *trace, uint32_t event)
{
    const uint8_t category = trace->events.category[event];
    const uint32_t kinds = trace->index.kinds[trace->events.name[event]];
    if (category != TP_EVENT_KERNEL || kinds & TP_NAME_MOVES) {
        return "memory";
    }
    return kinds & TP_NAME_COMM ? "communication" : "compute";
}

/* --- rows --------------------------------------------------------------- */

/* The sums of the row of an event, made if new; NULL when memory ran out. */
static struct sums *count_row(struct kernels_state *state, uint32_t event)
{
    struct tp_trace *trace = state->trace;
    uint32_t *slot = &state->row[trace->events.name[event]];
    if (!*slot) {
        const size_t need = trace->kernels.count + 1;
        if (tp_grow(&trace->kernels.rows, &trace->kernels.capacity, need,
                    sizeof *trace->kernels.rows, NULL) ||
            tp_grow(&state->sums, &state->sums_capacity, need,
                    sizeof *state->sums, NULL)) {
            return NULL;
        }
        trace->kernels.rows[trace->kernels.count++] = (struct tp_kernel_row){
            .name = tp_events_get(&trace->events, trace->events.name[event]),
            .kind = kind_of(trace, event)};
        state->sums[need - 1].min = INT64_MAX;
        *slot = (uint32_t)need;
    }
    trace->kernels.rows[*slot - 1].count++;
    return &state->sums[*slot - 1];
}

/* Absent values are negative or NaN; infinite where the profiler did not know
 * the number of multiprocessors. */
static bool is_recorded(float value)
{
    return isfinite(value) && value >= 0;
}

static void add_detail(struct sums *sums, const struct tp_gpu_detail *detail,
                       int64_t ns)
{
    if (is_recorded(detail->blocks_per_sm)) {
        sums->blocks += (double)detail->blocks_per_sm * (double)ns;
        sums->blocks_ns += (double)ns;
        sums->blocks_plain += (double)detail->blocks_per_sm;
        sums->blocks_count++;
    }
    if (is_recorded(detail->occupancy)) {
        sums->occupancy += (double)detail->occupancy * (double)ns;
        sums->occupancy_ns += (double)ns;
        sums->occupancy_plain += (double)detail->occupancy;
        sums->occupancy_count++;
    }
}

static enum tp_status add_events(struct kernels_state *state,
                                 struct tp_error *err)
{
    const struct tp_events *events = &state->trace->events;
    for (size_t i = 0; i < state->trace->index.device_count; i++) {
        const uint32_t event = state->trace->index.device[i];
        const int64_t ns = events->duration[event];
        struct sums *sums = count_row(state, event);
        if (!sums) {
            return tp_fail_memory(err);
        }
        const size_t row = (size_t)(sums - state->sums);
        const double count = (double)state->trace->kernels.rows[row].count;
        const double off = (double)ns - sums->mean;
        sums->ns += (uint64_t)ns;
        sums->min = ns < sums->min ? ns : sums->min;
        sums->max = ns > sums->max ? ns : sums->max;
        sums->mean += off / count;
        sums->squares += off * ((double)ns - sums->mean);
        add_detail(sums, &events->gpu[events->detail[event]], ns);
    }
    return TP_OK;
}

/* Weighted by duration, as the tensorboard plugin does. */
static double weighted(double sum, double weight, double plain, int64_t count)
{
    if (weight > 0) {
        return sum / weight;
    }
    return count > 0 ? plain / (double)count : NAN;
}

static int by_time(const void *a, const void *b)
{
    const struct tp_kernel_row *x = a;
    const struct tp_kernel_row *y = b;
    if (x->total_us != y->total_us) {
        return x->total_us > y->total_us ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

static void finish_rows(const struct kernels_state *state)
{
    struct tp_trace *trace = state->trace;
    double all = 0;
    for (size_t i = 0; i < trace->kernels.count; i++) {
        struct tp_kernel_row *row = &trace->kernels.rows[i];
        const struct sums *sums = &state->sums[i];
        const double count = (double)row->count;
        row->total_us = (double)sums->ns / 1e3;
        row->mean_us = row->total_us / count;
        row->min_us = (double)sums->min / 1e3;
        row->max_us = (double)sums->max / 1e3;
        row->std_us =
            row->count > 1 ? sqrt(sums->squares / (count - 1)) / 1e3 : NAN;
        row->mean_blocks_per_sm =
            weighted(sums->blocks, sums->blocks_ns, sums->blocks_plain,
                     sums->blocks_count);
        row->mean_occupancy =
            weighted(sums->occupancy, sums->occupancy_ns, sums->occupancy_plain,
                     sums->occupancy_count);
        all += row->total_us;
    }
    for (size_t i = 0; i < trace->kernels.count; i++) {
        trace->kernels.rows[i].share =
            all > 0 ? trace->kernels.rows[i].total_us / all : 0;
    }
    if (trace->kernels.count > 1) {
        qsort(trace->kernels.rows, trace->kernels.count,
              sizeof *trace->kernels.rows, by_time);
    }
}

/* --- durations ---------------------------------------------------------- */

/* The bin of a duration: bin b ends before 2^(b/2) us, that is, where the
 * square of the ns reaches 10^6 * 2^b; compared as integers. */
static size_t bin_of(int64_t ns)
{
    const int64_t open = INT64_C(1000) << (TP_KERNEL_BINS - 1) / 2;
    if (ns >= 2 * open) { /* beyond the last edge; the square would not fit */
        return TP_KERNEL_BINS - 1;
    }
    const uint64_t square = (uint64_t)ns * (uint64_t)ns;
    size_t bin = 0;
    while (bin + 1 < TP_KERNEL_BINS && square >= UINT64_C(1000000) << bin) {
        bin++;
    }
    return bin;
}

/* Histogram, median and share of short kernels from the sorted durations. */
static void summarize(struct tp_trace *trace, const struct tp_ordered *items,
                      size_t count)
{
    double all = 0, brief = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t ns = (int64_t)items[i].key;
        const size_t bin = bin_of(ns);
        trace->kernel_count[bin]++;
        trace->kernel_us[bin] += (double)ns / 1e3;
        all += (double)ns;
        brief += ns < SHORT_NS ? (double)ns : 0;
    }
    trace->median_kernel_us = NAN;
    trace->short_share = all > 0 ? brief / all : 0;
    if (count > 0) {
        const double low = (double)items[(count - 1) / 2].key;
        const double high = (double)items[count / 2].key;
        trace->median_kernel_us = (low + high) / 2e3;
    }
}

static enum tp_status measure_durations(struct tp_trace *trace,
                                        struct tp_error *err)
{
    const struct tp_trace_index *index = &trace->index;
    struct tp_ordered *items =
        malloc((index->device_count + 1) * 2 * sizeof *items);
    size_t count = 0;
    if (!items) {
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        if (trace->events.category[event] == TP_EVENT_KERNEL) {
            items[count++] = (struct tp_ordered){
                (uint64_t)trace->events.duration[event], event};
        }
    }
    tp_order_sort(items, items + index->device_count + 1, count);
    summarize(trace, items, count);
    free(items);
    return TP_OK;
}

enum tp_status tp_trace_kernels(struct tp_trace *trace, struct tp_error *err)
{
    struct kernels_state state = {
        .trace = trace,
        .row = calloc(trace->events.texts.count + 1, sizeof *state.row),
    };
    enum tp_status status = state.row ? TP_OK : tp_fail_memory(err);
    if (!status) {
        status = add_events(&state, err);
    }
    if (!status) {
        finish_rows(&state);
        status = measure_durations(trace, err);
    }
    free(state.sums);
    free(state.row);
    return status;
}
