/* SPDX-License-Identifier: MIT */
/*
 * The streams of the device: gaps between their events and the queue of
 * launches in front of them, as Holistic Trace Analysis defines both, but in
 * integer nanoseconds.
 *
 * A gap reaches from the end of the event that started before to the start of
 * the next one. It is the host's if the launch had not even begun by then,
 * the device's own below 30 us, other (an event or another stream waited for)
 * from there on. Events that overlap give negative gaps.
 *
 * The queue grows by one when a launch begins and shrinks when its device
 * event starts. Device events whose launch is not in the file, or begins
 * after they do, were in no queue. Of a graph only what begins first was: the
 * rest waits for what is before it in the graph, not for the host's launches.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "trace/trace.h"
#include "trace/trace_rows.h"

enum {
    KERNEL_WAIT_NS = 30000,
    FULL_QUEUE = 1024 /* launches CUDA holds before cudaLaunchKernel waits */
};

/* One device event, so that streams can be told apart by sorting. */
struct entry {
    int32_t device, stream;
    uint32_t event, order; /* order: in index.device, by start */
};

/* Starts of the launches and of their events on one stream. */
struct queue {
    int64_t *launched, *started;
    size_t count;
};

static int by_stream(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    if (x->device != y->device) {
        return x->device < y->device ? -1 : 1;
    }
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    return tp_order_int64(x->order, y->order);
}

/* All device events, stream after stream, each by start; NULL without
 * memory. Owned by the caller. */
static struct entry *sort_streams(const struct tp_trace *trace)
{
    const struct tp_trace_index *index = &trace->index;
    struct entry *entries = malloc((index->device_count + 1) * sizeof *entries);
    if (!entries) {
        return NULL;
    }
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        const uint32_t detail = trace->events.detail[event];
        entries[i] = (struct entry){-1, -1, event, (uint32_t)i};
        if (detail != TP_NO_DETAIL) {
            entries[i].device = trace->events.gpu[detail].device;
            entries[i].stream = trace->events.gpu[detail].stream;
        }
    }
    if (index->device_count > 1) {
        qsort(entries, index->device_count, sizeof *entries, by_stream);
    }
    return entries;
}

/* Charges the gap before an event. */
static void add_gap(const struct tp_trace *trace, uint32_t event,
                    int64_t previous_end, struct tp_stream_row *row)
{
    const int64_t gap = trace->events.start[event] - previous_end;
    const uint32_t call = trace->index.call[event];
    double *wait =
        gap < KERNEL_WAIT_NS ? &row->kernel_wait_us : &row->other_wait_us;
    if (call != TP_NO_EVENT && trace->events.start[call] > previous_end) {
        wait = &row->host_wait_us;
    }
    *wait += (double)gap / 1e3;
}

static void measure_gaps(const struct tp_trace *trace,
                         const struct entry *entries, size_t count,
                         struct tp_stream_row *row)
{
    int64_t busy = 0;
    int64_t latest = INT64_MIN; /* end of all before */
    int64_t previous_end = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t event = entries[i].event;
        const int64_t from = trace->events.start[event];
        const int64_t to = from + trace->events.duration[event];
        if (i > 0) {
            add_gap(trace, event, previous_end, row);
        }
        if (to > latest) {
            busy += to - (from > latest ? from : latest);
            latest = to;
        }
        previous_end = to;
    }
    row->busy_us = (double)busy / 1e3;
}

/* Goes through launches and starts as they happened; a launch comes before a
 * start at the same moment, so that the length is never negative. */
static void measure_queue(struct queue *queue, struct tp_stream_row *row)
{
    size_t i = 0;
    size_t j = 0;
    size_t length = 0;
    double sum = 0;
    int64_t full = 0;
    int64_t before = 0;
    if (queue->count == 0) {
        row->mean_queue = row->max_queue = NAN;
        return;
    }
    tp_sort_int64(queue->launched, queue->count);
    while (j < queue->count) {
        const bool launch =
            i < queue->count && queue->launched[i] <= queue->started[j];
        const int64_t now = launch ? queue->launched[i] : queue->started[j];
        full += length >= FULL_QUEUE ? now - before : 0;
        before = now;
        if (launch) {
            i++;
            length++;
        } else {
            j++;
            length--;
        }
        sum += (double)length;
        if ((double)length > row->max_queue) {
            row->max_queue = (double)length;
        }
    }
    row->mean_queue = sum / (double)(2 * queue->count);
    row->full_queue_us = (double)full / 1e3;
}

static void fill_queue(const struct tp_trace *trace,
                       const struct entry *entries, size_t count,
                       struct queue *queue)
{
    queue->count = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t event = entries[i].event;
        const uint32_t call = trace->index.call[event];
        const int64_t started = trace->events.start[event];
        if (tp_trace_is_launched(&trace->index, event) &&
            trace->events.start[call] <= started) {
            queue->launched[queue->count] = trace->events.start[call];
            queue->started[queue->count++] = started;
        }
    }
}

static enum tp_status add_stream(struct tp_trace *trace,
                                 const struct entry *entries, size_t count,
                                 struct queue *queue, struct tp_error *err)
{
    const enum tp_status status =
        tp_grow(&trace->streams.rows, &trace->streams.capacity,
                trace->streams.count + 1, sizeof *trace->streams.rows, err);
    if (status) {
        return status;
    }
    struct tp_stream_row *row = &trace->streams.rows[trace->streams.count++];
    *row = (struct tp_stream_row){.device = entries->device,
                                  .stream = entries->stream,
                                  .device_events = (int64_t)count};
    measure_gaps(trace, entries, count, row);
    fill_queue(trace, entries, count, queue);
    measure_queue(queue, row);
    return TP_OK;
}

static enum tp_status add_streams(struct tp_trace *trace,
                                  const struct entry *entries,
                                  struct queue *queue, struct tp_error *err)
{
    const size_t count = trace->index.device_count;
    enum tp_status status = TP_OK;
    for (size_t first = 0, next; first < count && !status; first = next) {
        next = first + 1;
        while (next < count && entries[next].device == entries[first].device &&
               entries[next].stream == entries[first].stream) {
            next++;
        }
        status = add_stream(trace, entries + first, next - first, queue, err);
    }
    return status;
}

enum tp_status tp_trace_streams(struct tp_trace *trace, struct tp_error *err)
{
    const size_t room = (trace->index.device_count + 1) * sizeof(int64_t);
    struct queue queue = {.launched = malloc(room), .started = malloc(room)};
    struct entry *entries = sort_streams(trace);
    const enum tp_status status = entries && queue.launched && queue.started
                                      ? add_streams(trace, entries, &queue, err)
                                      : tp_fail_memory(err);
    free(entries);
    free(queue.launched);
    free(queue.started);
    return status;
}
