/* SPDX-License-Identifier: MIT */
/*
 * Rows of arguments of device work, shared: training starts the same few
 * hundred kernels with the same arguments again and again, and a row is wider
 * than all columns of its event.
 *
 * A table of the rows that were asked for last, WAYS for each place of a hash,
 * the last one first: what is new takes the place of the last. So a row may be
 * there twice, but time and room are bounded whatever a file holds; a hash
 * table of all rows would need as much as they where no two are equal.
 */
#include "data/events_gpu.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 1 << 10, WAYS = 4 };

/* Arguments but for the collective, which are without gaps. */
enum { SHARED_BYTES = offsetof(struct tp_gpu_detail, comm) };

static size_t place_of(const struct tp_gpu_detail *gpu)
{
    uint64_t hash = 0, words[SHARED_BYTES / 8];
    _Static_assert(SHARED_BYTES % 8 == 0, "whole words");
    memcpy(words, gpu, sizeof words);
    for (size_t i = 0; i < SHARED_BYTES / 8; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (size_t)(hash % PLACES);
}

/* Puts a row first of its place: the one that has these arguments, or `next`;
 * the row. */
static uint32_t choose(const struct tp_gpu_rows *all,
                       const struct tp_gpu_detail *gpu, uint32_t next)
{
    const struct tp_gpu_detail *rows = all->rows;
    uint32_t *recent = &(*all->recent)[place_of(gpu) * WAYS];
    uint32_t chosen = next + 1;
    size_t at = 0;
    while (at < WAYS - 1 && recent[at] &&
           memcmp(&rows[recent[at] - 1], gpu, SHARED_BYTES))
        at++;
    if (recent[at] && !memcmp(&rows[recent[at] - 1], gpu, SHARED_BYTES))
        chosen = recent[at];
    memmove(recent + 1, recent, at * sizeof *recent);
    recent[0] = chosen;
    return chosen - 1;
}

uint32_t tp_gpu_rows_add(const struct tp_gpu_rows *all,
                         const struct tp_gpu_detail *gpu)
{
    const uint32_t next = (uint32_t)*all->count;
    if (!*all->recent)
        *all->recent = calloc((size_t)PLACES * WAYS, sizeof **all->recent);
    if (*all->recent && gpu->comm == TP_NO_DETAIL) {
        const uint32_t row = choose(all, gpu, next);
        if (row != next)
            return row;
    }
    all->rows[next] = *gpu;
    ++*all->count;
    return next;
}
