/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_INPUT_H
#define TP_TRACE_TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * The JSON of a trace as one stream: the bytes of the file, or, when it
 * begins with the magic of gzip, what its members inflate to.
 */
struct tp_trace_input {
    struct tp_bytes bytes;
    uint64_t at;                  /* next byte of the file to take      */
    struct tp_trace_gzip *gzip;   /* NULL: plain                        */
    bool ended;
    bool cut;                     /* gzip ended too early, or is broken */
    bool followed;                /* by what is neither gzip nor zeros  */
    bool bad_checksum, bad_length; /* of the gzip that was inflated last */
};

/* Opens a file. TP_E_IO; close also after a failure. */
enum tp_status tp_trace_input_open(struct tp_trace_input *input,
                                   const char *path, struct tp_error *err);

/* Reads from memory, which is borrowed. */
enum tp_status tp_trace_input_view(struct tp_trace_input *input,
                                   const char *data, size_t size,
                                   struct tp_error *err);

/*
 * Reads up to `room` bytes; fewer only at the end, after which `ended` is
 * set. Gzip that breaks off sets `cut` and counts as the end, and so does a
 * member that does not fit its checksum or length; TP_E_DAMAGED when nothing
 * at all came out of it.
 */
enum tp_status tp_trace_input_read(struct tp_trace_input *input, char *to,
                                   size_t room, size_t *got,
                                   struct tp_error *err);

/* Releases everything. Accepts a zeroed or closed object. */
void tp_trace_input_close(struct tp_trace_input *input);

#endif
