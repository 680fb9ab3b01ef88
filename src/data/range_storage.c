/* SPDX-License-Identifier: MIT */
#include "data/range_storage.h"

#include <inttypes.h>

static enum tp_status range_read(const struct tp_storage *storage,
                                 uint64_t offset, void *buffer, size_t length,
                                 struct tp_error *err)
{
    const struct tp_range_storage *range =
        (const struct tp_range_storage *)storage;
    if (offset > storage->size || length > storage->size - offset)
        return tp_fail(
            err, TP_E_DAMAGED, (int64_t)(range->start + storage->size),
            "the storage ends after %" PRIu64
            " bytes, but %zu bytes from byte %" PRIu64 " of it are needed",
            storage->size, length, offset);
    return tp_bytes_read(&range->bytes, range->start + offset, buffer, length,
                         err);
}

struct tp_range_storage *tp_range_storage_new(struct tp_arena *arena,
                                              const struct tp_bytes *bytes,
                                              uint64_t start, uint64_t size)
{
    struct tp_range_storage *range = tp_arena_alloc(arena, sizeof *range);
    if (!range)
        return NULL;
    if (start > bytes->size)
        start = bytes->size;
    if (size > bytes->size - start)
        size = bytes->size - start;
    range->base.read = range_read;
    range->base.size = size;
    range->base.file_offset = (int64_t)start;
    range->bytes = *bytes;
    range->start = start;
    return range;
}

const struct tp_range_storage *
tp_range_storage_of(const struct tp_storage *storage)
{
    return storage && storage->read == range_read
               ? (const struct tp_range_storage *)storage
               : NULL;
}
