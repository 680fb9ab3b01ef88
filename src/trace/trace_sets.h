/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_SETS_H
#define TP_TRACE_TRACE_SETS_H

#include <stdbool.h>

#include "trace/interval.h"
#include "trace/trace.h"

/*
 * Sets of moments at which the device, or the host, does something. All the
 * tables about time (idle, busy, syncs, collectives) are made of them.
 */

/* Classes of device work; bits. Setting memory is a kernel of the device and
 * counts as computation, copying does not (so does TraceLens). */
enum tp_device_class {
    TP_DEVICE_COMPUTE = 1,
    TP_DEVICE_COMMUNICATION = 2,
    TP_DEVICE_COPY = 4,
    TP_DEVICE_ANY = 7
};

/* Which device events. */
struct tp_device_query {
    unsigned classes;          /* bits of enum tp_device_class              */
    bool linked;               /* only those whose launch is in the file    */
    bool crossing;             /* of copies only those that leave the device or
                                  come to it                                */
    struct tp_interval within; /* cut to this, ns                           */
};

/* All of time: the `within` that cuts nothing. */
#define TP_EVER ((struct tp_interval){INT64_MIN, INT64_MAX})

/* The window W as an interval; empty (0, 0) if the trace has none. */
struct tp_interval tp_trace_window(const struct tp_trace *trace);

/* The class of a device event. */
enum tp_device_class tp_trace_device_class(const struct tp_trace *trace,
                                           uint32_t event);

/* Whether a device event is one of the query's (its `within` aside). */
bool tp_trace_device_is(const struct tp_trace *trace, uint32_t event,
                        const struct tp_device_query *query);

/* The union of the device events of a query. `out` is emptied first. */
enum tp_status tp_trace_device_set(const struct tp_trace *trace,
                                   const struct tp_device_query *query,
                                   struct tp_intervals *out,
                                   struct tp_error *err);

/*
 * Whether a call keeps the host until the device has caught up: the calls of
 * TP_NAME_BLOCKING, and asynchronous copies that are not, because they go to
 * the host or through pageable memory. False for events that are no calls.
 */
bool tp_trace_blocks(const struct tp_trace *trace, uint32_t event);

/* Adds what of an event lies inside `within`. */
enum tp_status tp_trace_add_event(const struct tp_trace *trace, uint32_t event,
                                  struct tp_interval within,
                                  struct tp_intervals *list,
                                  struct tp_error *err);

#endif
