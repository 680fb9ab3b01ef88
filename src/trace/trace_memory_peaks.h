/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_MEMORY_PEAKS_H
#define TP_TRACE_TRACE_MEMORY_PEAKS_H

#include "trace/trace.h"

/* [memory] events of one device. */
struct tp_memory_list {
    const char *device;
    const uint32_t *items; /* [count] events by start                      */
    size_t count;
    const uint32_t *op;    /* [events.count] innermost operator at each    */
};

/*
 * Adds to trace->memory_peaks what is alive at the highest moments of a device,
 * by what it is and which operator took it. Nothing without addresses.
 * TP_E_MEMORY.
 */
enum tp_status tp_trace_memory_peaks(struct tp_trace *trace,
                                     const struct tp_memory_list *list,
                                     struct tp_error *err);

#endif
