/* SPDX-License-Identifier: MIT */
/*
 * Arrays that double, and arenas: blocks from which pieces are cut one after
 * the other, released all at once. What a reader finds in a file has no owner
 * but the file, so nothing is freed piece by piece.
 *
 * Alternative: malloc for each text and node: a header each, and a walk over
 * all of them to free them.
 *
 * Cost: rounding up to 16 bytes and clearing, a block at a time; blocks double
 * up to 1 MiB.
 */
#define _DEFAULT_SOURCE /* madvise */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

/* Bytes of an array from which on it grows by an eighth: what it has too much
 * is felt, while the system moves its pages rather than copies them. */
static const size_t LARGE = (size_t)1 << 24;

struct tp_arena_block {
    struct tp_arena_block *older;
    size_t size;
    _Alignas(ALIGN) unsigned char bytes[];
};

enum tp_status tp_grow(void *array, size_t *capacity, size_t need, size_t size,
                       struct tp_error *err)
{
    if (need <= *capacity)
        return TP_OK;
    size_t room = *capacity ? *capacity : 16;
    while (room < need && room <= SIZE_MAX / 2)
        room += room / (room < LARGE / size ? 1 : 8);
    if (room < need || room > SIZE_MAX / size)
        return tp_fail_memory(err);
    void *old, *grown;
    memcpy(&old, array, sizeof old);
    /* calloc takes the system's pages as zeros */
    grown = old ? realloc(old, room * size) : calloc(room, size);
    if (!grown)
        return tp_fail_memory(err);
    if (old)
        memset((char *)grown + *capacity * size, 0, (room - *capacity) * size);
    memcpy(array, &grown, sizeof grown);
    *capacity = room;
    return TP_OK;
}

bool tp_provide(void *memory, size_t size)
{
    void *made;
    memcpy(&made, memory, sizeof made);
    if (made)
        return true;
    made = calloc(1, size);
    memcpy(memory, &made, sizeof made);
    return made != NULL;
}

void tp_memory_ready(void *memory, size_t size)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)memory, rest = first % page;
    const uintptr_t skip = rest ? page - rest : 0;
    const size_t whole = size > skip ? (size - skip) / page * page : 0;
    if (whole)
        madvise((char *)memory + skip, whole, MADV_POPULATE_WRITE);
#else
    (void)memory;
    (void)size;
#endif
}

/* Blocks double up to 1 MiB, so an arena wastes at most half of itself. */
static bool add_block(struct tp_arena *arena, size_t size)
{
    size_t room = arena->capacity ? arena->capacity * 2 : FIRST_BLOCK;
    if (room > LARGEST_BLOCK)
        room = LARGEST_BLOCK;
    if (room < size)
        room = size;
    if (room > SIZE_MAX - sizeof(struct tp_arena_block))
        return false;
    struct tp_arena_block *block = calloc(1, sizeof *block + room);
    if (!block)
        return false;
    block->older = arena->blocks;
    block->size = room;
    arena->blocks = block;
    arena->used = 0;
    arena->capacity = room;
    arena->total += room;
    return true;
}

void *tp_arena_alloc(struct tp_arena *arena, size_t size)
{
    size_t rounded = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (size > SIZE_MAX - ALIGN ||
        ((!arena->blocks || rounded > arena->capacity - arena->used) &&
         !add_block(arena, rounded))) {
        arena->failed = true;
        return NULL;
    }
    void *memory = arena->blocks->bytes + arena->used;
    arena->used += rounded;
    return memory;
}

char *tp_arena_text(struct tp_arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? tp_arena_alloc(arena, length + 1) : NULL;
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

/* Frees all blocks but the newest. */
static void free_older(struct tp_arena *arena)
{
    struct tp_arena_block *newest = arena->blocks;
    while (newest && newest->older) {
        struct tp_arena_block *old = newest->older;
        newest->older = old->older;
        arena->total -= old->size;
        free(old);
    }
}

void tp_arena_reset(struct tp_arena *arena)
{
    struct tp_arena_block *newest = arena->blocks;
    if (!newest)
        return;
    free_older(arena);
    memset(newest->bytes, 0, arena->used);
    arena->used = 0;
}

void tp_arena_clear(struct tp_arena *arena)
{
    free_older(arena);
    free(arena->blocks);
    memset(arena, 0, sizeof *arena);
}
