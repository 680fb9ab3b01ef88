/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_MEMORY_H
#define TP_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * Memory: checked growth of arrays and an arena for what lives together.
 * Sizes that come from a file are checked by the caller against
 * base/limits.h before they get here.
 */

/*
 * Makes room for `need` elements of `size` bytes in the array *array with
 * room for *capacity. Grows by doubling, when it is large by an eighth; old
 * elements are kept, new ones are zero. On failure nothing changes. *array is
 * released with free().
 */
enum tp_status tp_grow(void *array, size_t *capacity, size_t need, size_t size,
                       struct tp_error *err);

/* Makes *memory, a pointer, point to `size` zeroed bytes unless it points to
 * something; false when out of memory. Released with free(). */
bool tp_provide(void *memory, size_t size);

/*
 * Asks the system for the pages of memory that is about to be written for the
 * first time, all of a call at once: one by one they cost a fifth more. Some
 * 100 kB at a time are still in the cache when they are written. What is there
 * stays; a system that cannot do it does nothing. Any number of threads.
 */
void tp_memory_ready(void *memory, size_t size);

/*
 * An arena: many small allocations that end together. All-zero bytes are an
 * empty arena. Not for use by two threads at once.
 */
struct tp_arena {
    struct tp_arena_block *blocks; /* newest first */
    size_t used;                   /* bytes used of the newest block */
    size_t capacity;               /* bytes of the newest block      */
    size_t total;                  /* bytes taken from the system    */
    bool failed; /* to give memory, once or more, until it is cleared: for
                    who words many texts and looks once, at the end   */
};

/*
 * Zeroed memory of `size` bytes, aligned to 16, owned by the arena; NULL when
 * the system has none. Size 0 gives a valid pointer.
 */
void *tp_arena_alloc(struct tp_arena *arena, size_t size);

/* A NUL-terminated copy of `length` bytes in the arena; NULL as above. */
char *tp_arena_text(struct tp_arena *arena, const char *text, size_t length);

/*
 * Empties the arena for reuse and keeps at most its newest block, so that a
 * worker that reads many small files does not go to the system each time.
 */
void tp_arena_reset(struct tp_arena *arena);

/* Releases everything; the arena is empty afterwards and may be reused. */
void tp_arena_clear(struct tp_arena *arena);

#endif
