/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_STATE_PARTS_H
#define TP_STATE_STATE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "state/state_members.h"

/* The memory of the parts of a state: bytes, and words of 8 bytes, whose
 * meaning is that of state_members.h. */

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

/* Where a part lies in the file; it is deflated where that made it smaller. */
struct tp_state_place {
    uint64_t offset, size;
    uint64_t full; /* bytes of the part itself                             */
};

/* The name of a part, in the file and its lines. */
const char *tp_state_part_name(int part);

/* Bytes of a unit of a part: a row of words, a word, or a byte. */
size_t tp_state_part_unit(int part);

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

/*
 * Of a part of words (tp_state_members_of) whose structs stand one behind the
 * other: puts it member by member, all of one behind the other, as a state has
 * it. What is alike stands together then, which deflates to a third, and is
 * read without a step. TP_E_MEMORY.
 */
enum tp_status tp_state_part_turn(struct tp_state_image *image, int part,
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

#endif
