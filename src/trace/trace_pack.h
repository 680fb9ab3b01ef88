/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_PACK_H
#define TP_TRACE_TRACE_PACK_H

#include "base/text.h"
#include "trace/trace.h"

/*
 * What stays of a trace once its events are gone, as bytes: for a state, and
 * for another process of the run. Texts are numbers there. What the user said
 * of the device is not among it, nor what follows from the path of the file.
 */

/* Adds the bytes of a trace, whose texts were kept; `number` gives a text its
 * number, false: no memory. TP_E_MEMORY only. */
enum tp_status tp_trace_pack(const struct tp_trace *trace,
                             bool (*number)(void *context, const char *text,
                                            uint64_t *number),
                             void *context, struct tp_text *bytes,
                             struct tp_error *err);

/* Texts by their numbers; bytes to read. */
struct tp_trace_packed {
    const unsigned char *bytes;
    size_t size;
    const char *const *texts;
    size_t text_count;
};

/* Fills in an empty trace, to be cleared also after a failure. TP_E_DAMAGED
 * where the bytes are no trace, TP_E_MEMORY. */
enum tp_status tp_trace_unpack(const struct tp_trace_packed *packed,
                               struct tp_trace *trace, struct tp_error *err);

/* A number that changes with the layout of what is packed. */
uint64_t tp_trace_pack_layout(void);

#endif
