/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_STATE_IMAGE_H
#define TP_STATE_STATE_IMAGE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/memory.h"
#include "state/state_parts.h"

/*
 * A state as it lies in its file: parts of bytes and of words of 8 bytes, whose
 * meaning is that of state_members.h. The file is
 *
 *     1024 bytes  lines of text: "tprof-analyze state", "schema N",
 *                 "layout ...", "holds traces" if it does, "whole yes|no",
 *                 "bytes N" of the file, "part NAME OFFSET BYTES FULL" for each
 *                 part, which is deflated unless both sizes are equal, and
 *                 "crc32 ..." of all but this line
 *     HDF5        the parts as datasets
 *
 * so that h5py and h5dump read it, as a user block goes before, and we do by
 * its lines, without a library that trusts what it finds.
 */

/* Version of the parts and of their words; bytes of the lines. */
enum { TP_STATE_SCHEMA = 3, TP_STATE_BLOCK = 1024 };

/* Writes the file, aside and renamed. TP_E_IO, TP_E_MEMORY. One thread. */
enum tp_status tp_state_image_write(const char *path,
                                    const struct tp_state_image *image,
                                    struct tp_error *err);

/* Whether a file begins as a state of traces does; false where it cannot be
 * read. */
bool tp_state_image_holds_traces(const char *path);

/* How many rows of tensors, and of how many files, a state says it has; 0 where
 * it cannot be read. What is read then may be others. */
void tp_state_image_counts(const char *path, size_t *rows, size_t *files);

/*
 * Reads a file; what rows point to goes to the arena. TP_E_NOT_FOUND: it is not
 * there, or empty. TP_E_UNSUPPORTED: it is no state, or one of other inputs, of
 * another version or layout; TP_E_DAMAGED: it is cut off or changed. TP_E_IO,
 * TP_E_MEMORY.
 */
enum tp_status tp_state_image_read(const char *path, struct tp_arena *arena,
                                   struct tp_state_image *image,
                                   struct tp_error *err);

#endif
