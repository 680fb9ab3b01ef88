/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_STATE_IMAGE_H
#define TP_STATE_STATE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "state/state_members.h"

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

/* Version of the parts and of their words. */
enum { TP_STATE_SCHEMA = 1 };

/* One part. */
struct tp_state_bytes {
    unsigned char *data; /* aligned to 16                                  */
    size_t size;         /* bytes used                                     */
    size_t capacity;     /* 0: somebody else's                              */
};

struct tp_state_image {
    struct tp_state_bytes parts[TP_STATE_PARTS];
    struct tp_state_bytes deflated; /* room for a part as its file has it  */
    bool whole;  /* as tp_state_header has it                              */
    bool traces; /* of traces, as trace_state.h has them; to be set before an
                    image is read, too                                     */
};

/* Releases all; empty afterwards. */
void tp_state_image_clear(struct tp_state_image *image);

/* Empties it, but keeps its room for the next file: memory that was used before
 * costs a fraction of what the system clears first. */
void tp_state_image_reuse(struct tp_state_image *image);

/* What so many bytes take: up to a multiple of 8. */
size_t tp_state_room(size_t size);

/* Adds bytes to a part, and zeros up to a multiple of 8; the place they got is
 * *at, which may be NULL. TP_E_MEMORY. */
enum tp_status tp_state_bytes_add(struct tp_state_bytes *part,
                                  const void *bytes, size_t size, uint64_t *at,
                                  struct tp_error *err);

/* Room for so many bytes that are to be read; what was there is lost.
 * TP_E_MEMORY. */
enum tp_status tp_state_bytes_room(struct tp_state_bytes *bytes, size_t size,
                                   struct tp_error *err);

/* Gives a part room for what is to be read into it: the arena's, of what rows
 * point to. TP_E_MEMORY. */
enum tp_status tp_state_part_make(struct tp_state_image *image, int part,
                                  size_t size, struct tp_arena *arena,
                                  struct tp_error *err);

/* Writes the file, aside and renamed. TP_E_IO, TP_E_MEMORY. One thread. */
enum tp_status tp_state_image_write(const char *path,
                                    const struct tp_state_image *image,
                                    struct tp_error *err);

/* Whether a file begins as a state of traces does; false where it cannot be
 * read. */
bool tp_state_image_holds_traces(const char *path);

/*
 * Reads a file; what rows point to goes to the arena. TP_E_NOT_FOUND: it is not
 * there. TP_E_UNSUPPORTED: it is no state, or one of other inputs, of another
 * version or layout; TP_E_DAMAGED: it is cut off or changed. TP_E_IO,
 * TP_E_MEMORY.
 */
enum tp_status tp_state_image_read(const char *path, struct tp_arena *arena,
                                   struct tp_state_image *image,
                                   struct tp_error *err);

#endif
