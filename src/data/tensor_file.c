/* SPDX-License-Identifier: MIT */
#include "data/tensor_file.h"

#include <string.h>

enum tp_status tp_tensor_file_skip(struct tp_tensor_file *file,
                                   const char *path,
                                   const struct tp_error *why,
                                   struct tp_error *err)
{
    struct tp_skip *skip = tp_arena_alloc(&file->arena, sizeof *skip);
    const char *reason =
        tp_arena_text(&file->arena, why->message, strlen(why->message));
    if (!skip || !reason)
        return tp_fail_memory(err);
    *skip = (struct tp_skip){.path = path,
                             .code = why->code,
                             .reason = reason,
                             .offset = why->offset};
    struct tp_skip *last = file->last_skip ? file->last_skip : file->skips;
    while (last && last->next)
        last = last->next;
    if (last)
        last->next = skip;
    else
        file->skips = skip;
    file->last_skip = skip;
    return TP_OK;
}
