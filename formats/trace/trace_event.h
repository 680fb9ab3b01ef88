/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_EVENT_H
#define TP_TRACE_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/events.h"

/* Between the parser and the columns: one event of the file. */

/* Bytes of somebody else; `data` is NULL when the key was not there. */
struct tp_event_text {
    const char *data;
    size_t size;
};

/* The arguments that are kept of any event. Whether they mean something
 * depends on the category, which may come later in the object. */
struct tp_trace_arguments {
    struct tp_gpu_detail gpu; /* of kernels and copies, and cuda_sync */
    struct tp_memory_detail memory;
    int64_t correlation;
    int64_t in_elements, out_elements, group_size, sequence;
    struct tp_event_text collective, dtype, group_name, group_ranks, comms_id;
    struct tp_event_text sync_kind, name, labels;
    struct tp_event_text inputs[TP_INPUT_LISTS]; /* JSON, as it stands     */
    struct tp_event_text stack; /* frames of Python, "inner;outer;"         */
    int64_t autograd, forward; /* as in struct tp_op_inputs                 */
    bool callers; /* the last three are wanted                            */
    bool comm; /* some key of a collective was there */
    bool caller; /* so was the one of who called a frame of Python */
    bool used; /* something differs from tp_trace_arguments_init */
};

/* Times are the text of the file: decimal microseconds. */
struct tp_trace_event {
    char phase; /* 0: not said */
    struct tp_event_text category, name, pid, tid, start, duration;
    struct tp_trace_arguments args;
    bool callers; /* of the parser, see struct tp_trace_watch              */
};

/* What the event before had: most often the next one has the same. All-zero
 * is nothing. */
struct tp_event_before {
    char pid[32], tid[32], category[24];
    size_t pid_size, tid_size, category_size;
    uint32_t lane;
    bool lane_known;
    uint8_t category_number;
};

/* Everything absent. */
void tp_trace_arguments_init(struct tp_trace_arguments *args);

/* Makes an event that was used before absent again; its arguments must have
 * been initialised once. */
void tp_trace_event_init(struct tp_trace_event *event);

/*
 * Adds to `events` what is kept of one event: complete events, instants about
 * memory, names of lanes; repairs are counted at `offset`. *memory must be
 * forgotten when `events` is reset. False when memory ran out.
 */
bool tp_trace_keep(struct tp_events *events,
                   struct tp_event_before *memory,
                   struct tp_trace_event *event, int64_t offset);

#endif
