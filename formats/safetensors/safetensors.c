/* SPDX-License-Identifier: MIT */
#include "formats/safetensors/safetensors.h"

#include <string.h>

#include "data/packed_storage.h"
#include "data/range_storage.h"
#include "data/tensor_axes.h"
#include "data/tensor_parts.h"
#include "data/tensor_path.h"

enum tp_status tp_safetensors_tensor(const struct tp_safetensors_entry *entry,
                                     struct tp_storage *storage,
                                     struct tp_arena *arena,
                                     struct tp_tensor *tensor,
                                     struct tp_error *err)
{
    memset(tensor, 0, sizeof *tensor);
    tensor->dtype = tp_safetensors_dtypes[entry->dtype].dtype;
    int64_t *shape = tp_tensor_new_axes(tensor, entry->ndim, arena);
    if (!shape)
        return tp_fail_memory(err);
    for (int i = 0; i < entry->ndim; i++)
        shape[i] = entry->shape[i];
    tp_dense_strides(entry->ndim, shape, shape + entry->ndim);
    tensor->path = tp_tensor_path(arena, entry->name, entry->name_length);
    if (storage && tp_dtype_info(tensor->dtype)->packed)
        storage = tp_packed_storage_new(arena, storage, tensor->dtype);
    tensor->storage = storage;
    if (!storage || !tensor->path)
        return tp_fail_memory(err);
    return tp_tensor_check(tensor, err);
}

static enum tp_status set_tensors(struct tp_tensor_file *file,
                                  const struct tp_safetensors_header *header,
                                  struct tp_error *err)
{
    enum tp_status status = TP_OK;
    file->tensors =
        tp_arena_alloc(&file->arena, header->count * sizeof *file->tensors);
    if (!file->tensors)
        return tp_fail_memory(err);
    for (size_t i = 0; status == TP_OK && i < header->count; i++) {
        const struct tp_safetensors_entry *entry = &header->entries[i];
        if (entry->end > file->bytes.size)
            break; /* the file is cut before the end of it */
        struct tp_range_storage *range =
            tp_range_storage_new(&file->arena, &file->bytes, entry->begin,
                                 entry->end - entry->begin);
        status = tp_safetensors_tensor(entry, range ? &range->base : NULL,
                                       &file->arena, &file->tensors[i], err);
        file->tensor_count += status == TP_OK;
    }
    return status;
}

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    struct tp_safetensors_header header;
    enum tp_status status =
        tp_safetensors_read(&file->bytes, file->metadata,
                            file->metadata_count, &file->arena, &header, err);
    if (status == TP_OK)
        status = set_tensors(file, &header, err);
    if (status == TP_OK && header.end.code != TP_OK)
        status = tp_tensor_file_skip(file, "", &header.end, err);
    return status;
}

/* A length of which 37 bits are zero, and the beginning of an object. */
static int bid(const unsigned char *head, size_t length)
{
    if (length < 10)
        return 0;
    const bool small = head[4] == 0 && head[5] == 0 && head[6] == 0 &&
                       head[7] == 0 && head[3] < 6;
    size_t i = 8;
    while (i < length && (head[i] == ' ' || head[i] == '\n' ||
                          head[i] == '\t' || head[i] == '\r'))
        i++;
    return small && i < length && head[i] == '{' ? 45 : 0;
}

const struct tp_format tp_format_safetensors = {
    .name = "safetensors",
    .help = "safetensors",
    .suffixes = ".safetensors",
    .word = "safetensors",
    .falls_back = true,
    .only_tensors = true,
    .bid = bid,
    .open = open_file,
};
