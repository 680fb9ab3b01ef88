/* SPDX-License-Identifier: MIT */
/*
 * Which operators start which kernels, and where the time goes between the
 * two: from the start of the operator to the start of the call that launches
 * (Python and dispatch: `launch_delay`), and from there to the start of the
 * kernel (the call and the queue: `runtime_delay`). Operators are the
 * innermost around the call. Holistic Trace Analysis has the same delays, by
 * sequences of kernels of an operator.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/trace.h"
#include "trace/trace_order.h"
#include "trace/trace_rows.h"

/* Sums of delays; a kernel may start before the clock of the host says that
 * its call did, so they may be negative. */
struct delays {
    double launch_ns, runtime_ns;
    int64_t launches, calls;
};

/* The name of the operator, 0 ("") for none, then that of the kernel. */
static uint64_t key_of(const struct tp_trace *trace, uint32_t event)
{
    const uint32_t op = trace->index.op[event];
    const uint64_t op_name = op == TP_NO_EVENT ? 0 : trace->events.name[op];
    return op_name << 32 | trace->events.name[event];
}

static void add_event(const struct tp_trace *trace, uint32_t event,
                      struct tp_op_kernel_row *row, struct delays *delays)
{
    const int64_t *start = trace->events.start;
    const uint32_t call = trace->index.call[event];
    const uint32_t op = trace->index.op[event];
    row->count++;
    row->device_us += (double)trace->events.duration[event] / 1e3;
    if (call != TP_NO_EVENT) {
        delays->runtime_ns += (double)(start[event] - start[call]);
        delays->calls++;
    }
    if (op != TP_NO_EVENT) {
        delays->launch_ns += (double)(start[call] - start[op]);
        delays->launches++;
    }
}

static void finish_row(struct tp_op_kernel_row *row,
                       const struct delays *delays)
{
    row->mean_us = row->device_us / (double)row->count;
    row->launch_delay_us =
        delays->launches ? delays->launch_ns / (double)delays->launches / 1e3
                         : NAN;
    row->runtime_delay_us =
        delays->calls ? delays->runtime_ns / (double)delays->calls / 1e3 : NAN;
}

/* One row for each key of the sorted events. */
static enum tp_status add_rows(struct tp_trace *trace,
                               const struct tp_ordered *items, size_t count,
                               struct tp_error *err)
{
    for (size_t i = 0; i < count;) {
        const uint64_t key = items[i].key;
        struct delays delays = {0};
        struct tp_op_kernel_row row = {
            .op = tp_events_get(&trace->events, (uint32_t)(key >> 32)),
            .kernel = tp_events_get(&trace->events, (uint32_t)key)};
        for (; i < count && items[i].key == key; i++) {
            add_event(trace, items[i].event, &row, &delays);
        }
        finish_row(&row, &delays);
        const enum tp_status status =
            tp_grow(&trace->op_kernels.rows, &trace->op_kernels.capacity,
                    trace->op_kernels.count + 1, sizeof row, err);
        if (status) {
            return status;
        }
        trace->op_kernels.rows[trace->op_kernels.count++] = row;
    }
    return TP_OK;
}

static int by_time(const void *a, const void *b)
{
    const struct tp_op_kernel_row *x = a;
    const struct tp_op_kernel_row *y = b;
    if (x->device_us != y->device_us) {
        return x->device_us > y->device_us ? -1 : 1;
    }
    const int order = strcmp(x->op, y->op);
    return order ? order : strcmp(x->kernel, y->kernel);
}

enum tp_status tp_trace_op_kernels(struct tp_trace *trace, struct tp_error *err)
{
    const struct tp_trace_index *index = &trace->index;
    const size_t count = index->device_count;
    struct tp_ordered *items = malloc((count + 1) * 2 * sizeof *items);
    if (!items) {
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct tp_ordered){key_of(trace, index->device[i]),
                                       index->device[i]};
    }
    tp_order_sort(items, items + count + 1, count);
    const enum tp_status status = add_rows(trace, items, count, err);
    free(items);
    if (!status && trace->op_kernels.count > 1) {
        qsort(trace->op_kernels.rows, trace->op_kernels.count,
              sizeof *trace->op_kernels.rows, by_time);
    }
    return status;
}
