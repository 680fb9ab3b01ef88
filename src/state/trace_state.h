/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_TRACE_STATE_H
#define TP_STATE_TRACE_STATE_H

#include "state/state.h"
#include "trace/trace_record.h"

/* A state of traces: a file of the same form as that of tensors, which keeps
 * what stays of each trace before ranks are compared. */

/* One that was read; all-zero bytes with an arena for the records: empty. */
struct tp_trace_state {
    char *options, *roots; /* as of struct tp_state_header                 */
    bool whole;
    struct tp_trace_records records; /* done, all of them; sorted by path  */
};

/* Releases what it owns, which the arena's memory is not. */
void tp_trace_state_clear(struct tp_trace_state *state);

/* Writes those records that are done and not elsewhere, aside and renamed: what
 * is at `path` stays whole whenever the process ends. TP_E_IO, TP_E_MEMORY. */
enum tp_status tp_trace_state_write(const char *path,
                                    const struct tp_state_header *header,
                                    const struct tp_trace_records *records,
                                    struct tp_error *err);

/* Reads a state into one that is empty but for the arena and the texts of its
 * records. Fails as tp_state_image_read; the error names the file. */
enum tp_status tp_trace_state_read(const char *path,
                                   struct tp_trace_state *state,
                                   struct tp_error *err);

/* The same to an image, which tp_state_image_clear releases in any case, and of
 * one. */
struct tp_state_image;
enum tp_status tp_trace_state_encode(const struct tp_state_header *header,
                                     const struct tp_trace_records *records,
                                     struct tp_state_image *image,
                                     struct tp_error *err);
enum tp_status tp_trace_state_decode(const struct tp_state_image *image,
                                     struct tp_trace_state *state,
                                     struct tp_error *err);

#endif
