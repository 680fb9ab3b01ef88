/* SPDX-License-Identifier: MIT */
/*
 * Communication by collective, group and type of the elements. A trace
 * without device work has the ranges of the host instead ("gloo:all_reduce").
 *
 * Bandwidth as nccl-tests define it: the algorithm's is the larger side of
 * the message over the time, the bus' multiplies by what one link must carry
 * at least. A kernel that waits for other ranks does so inside its duration,
 * so both are lower bounds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "trace/trace.h"
#include "trace/trace_collective.h"
#include "trace/trace_cover.h"
#include "trace/trace_rows.h"
#include "trace/trace_sets.h"

/* One communication; texts of equal numbers are equal, -1: not recorded. */
struct comm {
    uint32_t collective, kernel, group, dtype; /* texts */
    int64_t group_size;
    int64_t in_bytes, out_bytes;
    int64_t ns, exposed_ns;
};

struct comms_state {
    struct tp_trace *trace;
    struct tp_cover compute;
    struct comm *comms;
    size_t count, capacity;
};

/* --- collecting --------------------------------------------------------- */

static enum tp_status add_comm(struct comms_state *state,
                               const struct comm *comm, struct tp_error *err)
{
    const enum tp_status status =
        tp_grow(&state->comms, &state->capacity, state->count + 1,
                sizeof *state->comms, err);
    if (!status) {
        state->comms[state->count++] = *comm;
    }
    return status;
}

static enum tp_status add_kernel(struct comms_state *state, uint32_t event,
                                 struct tp_error *err)
{
    struct tp_events *events = &state->trace->events;
    const int64_t from = events->start[event];
    const int64_t ns = events->duration[event];
    struct tp_collective it;
    const enum tp_status status =
        tp_collective_of(state->trace, event, &it, err);
    if (status != TP_OK) {
        return status;
    }
    const struct comm comm = {
        .collective = it.name,
        .kernel = events->name[event],
        .group = it.group_ranks ? it.group_ranks : it.group_name,
        .dtype = it.dtype,
        .group_size = it.group_size,
        .in_bytes = it.in_bytes,
        .out_bytes = it.out_bytes,
        .ns = ns,
        .exposed_ns = ns - tp_cover_within(&state->compute, from, from + ns)};
    return add_comm(state, &comm, err);
}

static enum tp_status collect_kernels(struct comms_state *state,
                                      struct tp_error *err)
{
    const struct tp_trace_index *index = &state->trace->index;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < index->device_count && !status; i++) {
        const uint32_t event = index->device[i];
        if (tp_trace_device_class(state->trace, event) ==
            TP_DEVICE_COMMUNICATION) {
            status = add_kernel(state, event, err);
        }
    }
    return status;
}

/* Nothing of a device hides them, so they are exposed in full. */
static enum tp_status collect_ranges(struct comms_state *state,
                                     struct tp_error *err)
{
    const struct tp_trace_index *index = &state->trace->index;
    struct tp_events *events = &state->trace->events;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < index->host_count && !status; i++) {
        const uint32_t event = index->host[i];
        const uint32_t name = events->name[event];
        if (!(index->kinds[name] & TP_NAME_COLLECTIVE)) {
            continue;
        }
        const uint32_t kind = tp_collective_named(events, name);
        const struct comm comm = {.collective = kind,
                                  .kernel = name,
                                  .group_size = -1,
                                  .in_bytes = -1,
                                  .out_bytes = -1,
                                  .ns = events->duration[event],
                                  .exposed_ns = events->duration[event]};
        status = kind == TP_NO_DETAIL ? tp_fail_memory(err)
                                      : add_comm(state, &comm, err);
    }
    return status;
}

/* --- rows --------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct comm *x = a;
    const struct comm *y = b;
    int order = tp_order_int64(x->kernel, y->kernel);
    if (!order) {
        order = tp_order_int64(x->collective, y->collective);
    }
    if (!order) {
        order = tp_order_int64(x->group, y->group);
    }
    if (!order) {
        order = tp_order_int64(x->dtype, y->dtype);
    }
    return order ? order : tp_order_int64(x->group_size, y->group_size);
}

static int by_time(const void *a, const void *b)
{
    const struct tp_comm_row *x = a;
    const struct tp_comm_row *y = b;
    if (x->total_us != y->total_us) {
        return x->total_us > y->total_us ? -1 : 1;
    }
    int order = strcmp(x->kernel, y->kernel);
    if (!order) {
        order = strcmp(x->collective, y->collective);
    }
    if (!order) {
        order = strcmp(x->group, y->group);
    }
    if (!order) {
        order = strcmp(x->dtype, y->dtype);
    }
    return order ? order : tp_order_int64(x->group_size, y->group_size);
}

/* Of `sum`, -1 is nothing yet; stays at the most a number can hold. */
static int64_t add_bytes(int64_t sum, int64_t bytes)
{
    if (sum < 0) {
        return bytes;
    }
    return bytes > INT64_MAX - sum ? INT64_MAX : sum + bytes;
}

/* Adds up communications of one key. */
static struct tp_comm_row make_row(const struct tp_events *events,
                                   const struct comm *comms, size_t count)
{
    struct tp_comm_row row = {
        .collective = tp_events_get(events, comms->collective),
        .kernel = tp_events_get(events, comms->kernel),
        .group = tp_events_get(events, comms->group),
        .dtype = tp_events_get(events, comms->dtype),
        .group_size = comms->group_size,
        .count = (int64_t)count,
        .in_bytes = -1,
        .out_bytes = -1};
    int64_t longest = 0;
    double ns = 0, exposed_ns = 0, larger = 0, sized_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct comm *comm = &comms[i];
        ns += (double)comm->ns;
        exposed_ns += (double)comm->exposed_ns;
        longest = comm->ns > longest ? comm->ns : longest;
        if (comm->in_bytes < 0 || comm->out_bytes < 0) {
            continue;
        }
        row.in_bytes = add_bytes(row.in_bytes, comm->in_bytes);
        row.out_bytes = add_bytes(row.out_bytes, comm->out_bytes);
        larger +=
            (double)tp_collective_bytes(comm->in_bytes, comm->out_bytes);
        sized_ns += (double)comm->ns;
    }
    row.total_us = ns / 1e3;
    row.mean_us = row.total_us / (double)count;
    row.max_us = (double)longest / 1e3;
    row.exposed_us = exposed_ns / 1e3;
    /* bytes per ns are GB/s */
    row.algorithm_gbps = sized_ns > 0 ? larger / sized_ns : NAN;
    row.bus_gbps = row.algorithm_gbps *
                   tp_collective_bus_factor(row.collective, row.group_size);
    return row;
}

static enum tp_status make_rows(struct comms_state *state,
                                struct tp_error *err)
{
    struct tp_trace *trace = state->trace;
    enum tp_status status = TP_OK;
    if (state->count > 1) {
        qsort(state->comms, state->count, sizeof *state->comms, by_key);
    }
    for (size_t first = 0, end; first < state->count && !status;
         first = end) {
        for (end = first + 1;
             end < state->count &&
             by_key(&state->comms[first], &state->comms[end]) == 0;
             end++) {
        }
        status = tp_grow(&trace->comms.rows, &trace->comms.capacity,
                         trace->comms.count + 1, sizeof *trace->comms.rows,
                         err);
        if (!status) {
            trace->comms.rows[trace->comms.count++] = make_row(
                &trace->events, &state->comms[first], end - first);
        }
    }
    if (trace->comms.count > 1) {
        qsort(trace->comms.rows, trace->comms.count,
              sizeof *trace->comms.rows, by_time);
    }
    return status;
}

enum tp_status tp_trace_comms(struct tp_trace *trace, struct tp_error *err)
{
    const struct tp_device_query query = {.classes = TP_DEVICE_COMPUTE,
                                          .within = TP_EVER};
    struct comms_state state = {.trace = trace};
    enum tp_status status =
        tp_trace_device_set(trace, &query, &state.compute.set, err);
    if (!status) {
        status = tp_cover_make(&state.compute, err);
    }
    if (!status) {
        status = trace->index.device_count ? collect_kernels(&state, err)
                                           : collect_ranges(&state, err);
    }
    if (!status) {
        status = make_rows(&state, err);
    }
    tp_cover_clear(&state.compute);
    free(state.comms);
    return status;
}
