/* SPDX-License-Identifier: MIT */
#include "formats/torch/torch_parts.h"

#include <stdlib.h>
#include <string.h>

/* A path behind a prefix; NULL: out of memory. */
static const char *place(struct tp_arena *arena, const char *prefix,
                         const char *joint, const char *path)
{
    if (!*path || *path == '[')
        joint = "";
    size_t head = strlen(prefix), middle = strlen(joint), tail = strlen(path);
    char *whole = tp_arena_alloc(arena, head + middle + tail + 1);
    if (whole) {
        memcpy(whole, prefix, head);
        memcpy(whole + head, joint, middle);
        memcpy(whole + head + middle, path, tail + 1);
    }
    return whole;
}

enum tp_status tp_torch_parts_add(struct tp_torch_parts *parts,
                                  const struct tp_tensor *tensor,
                                  struct tp_error *err)
{
    enum tp_status status =
        tp_grow(&parts->tensors, &parts->room, parts->count + 1,
                sizeof *parts->tensors, err);
    if (status == TP_OK)
        parts->tensors[parts->count++] = *tensor;
    return status;
}

static enum tp_status take_skips(struct tp_torch_parts *parts,
                                 struct tp_tensor_file *file,
                                 const char *prefix, const char *joint,
                                 struct tp_error *err)
{
    for (struct tp_skip *skip = file->skips; skip; skip = skip->next) {
        skip->path = place(&file->arena, prefix, joint, skip->path);
        if (!skip->path)
            return tp_fail_memory(err);
    }
    if (parts->last)
        parts->last->next = file->skips;
    else
        parts->skips = file->skips;
    if (file->skips)
        parts->last = file->last_skip;
    file->skips = file->last_skip = NULL;
    return TP_OK;
}

enum tp_status tp_torch_parts_take(struct tp_torch_parts *parts,
                                   struct tp_tensor_file *file,
                                   const char *prefix, const char *joint,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < file->tensor_count && status == TP_OK; i++) {
        struct tp_tensor *tensor = &file->tensors[i];
        tensor->path = place(&file->arena, prefix, joint, tensor->path);
        status = tensor->path ? tp_torch_parts_add(parts, tensor, err)
                              : tp_fail_memory(err);
    }
    file->tensors = NULL;
    file->tensor_count = 0;
    return status == TP_OK ? take_skips(parts, file, prefix, joint, err)
                           : status;
}

enum tp_status tp_torch_parts_give(struct tp_torch_parts *parts,
                                   struct tp_tensor_file *file,
                                   struct tp_error *err)
{
    size_t bytes = parts->count * sizeof *file->tensors;
    file->tensors = tp_arena_alloc(&file->arena, bytes);
    if (!file->tensors)
        return tp_fail_memory(err);
    if (bytes)
        memcpy(file->tensors, parts->tensors, bytes);
    file->tensor_count = parts->count;
    file->skips = parts->skips;
    file->last_skip = parts->last;
    tp_torch_parts_clear(parts);
    return TP_OK;
}

void tp_torch_parts_clear(struct tp_torch_parts *parts)
{
    free(parts->tensors);
    memset(parts, 0, sizeof *parts);
}
