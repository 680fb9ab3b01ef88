/* SPDX-License-Identifier: MIT */
#include "tensors/rank_file.h"

#include <string.h>

#include "base/search.h"

const struct tp_rank_file *tp_rank_file_keep(const struct tp_rank_file *told,
                                             struct tp_intern *texts,
                                             struct tp_arena *arena)
{
    struct tp_rank_file *kept = tp_arena_alloc(arena, sizeof *kept);
    struct tp_layer_shift *shifts =
        tp_arena_alloc(arena, (told->shift_count + 1) * sizeof *shifts);
    size_t *joined =
        tp_arena_alloc(arena, (told->joined_count + 1) * sizeof *joined);
    if (!kept || !shifts || !joined)
        return NULL;
    *kept = (struct tp_rank_file){.name = "",
                                  .shifts = shifts,
                                  .shift_count = told->shift_count,
                                  .joined = joined,
                                  .joined_count = told->joined_count};
    memcpy(joined, told->joined, told->joined_count * sizeof *joined);
    for (size_t i = 0; i < told->shift_count; i++) {
        shifts[i].by = told->shifts[i].by;
        shifts[i].prefix = tp_intern(texts, arena, told->shifts[i].prefix);
        if (!shifts[i].prefix)
            return NULL;
    }
    return kept;
}

bool tp_rank_file_joined(const struct tp_rank_file *told, size_t place)
{
    size_t i = 0;
    if (!told)
        return false;
    TP_PARTITION_POINT(i, told->joined_count, told->joined[i] < place);
    return i < told->joined_count && told->joined[i] == place;
}
