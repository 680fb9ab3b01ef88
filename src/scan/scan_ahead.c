/* SPDX-License-Identifier: MIT */
#include "scan/scan_ahead.h"

#include "base/memory.h"
#include "scan/scan_device.h"
#include "stats/select.h"

/*
 * Small tensors of narrow codes, many of which a device counts in one launch:
 * those of one file, which are read into one buffer. It stays until all of
 * them were scanned, so that they are read once. One launch each would take
 * longer than the host takes to count them.
 */

enum { ALIGNMENT = 16 };

static bool is_small_and_narrow(const struct tp_walk *walk)
{
    const struct tp_dtype_info *info = tp_dtype_info(walk->tensor->dtype);
    return walk->count > 0 && info->size / info->parts <= 2 &&
           (uint64_t)walk->count * info->parts <= TP_SELECT_SMALL;
}

/* Reads a tensor to `at`; false when that fails, which tp_scan will tell. */
static bool read_ahead(const struct tp_readers *readers,
                       struct tp_reader *reader, const struct tp_walk *walk,
                       unsigned char *at)
{
    struct tp_error err;
    return tp_readers_go_on(readers, &err) == TP_OK &&
           (walk->dense || tp_provide(&reader->walk, TP_CHUNK_BYTES)) &&
           tp_walk_read(walk, 0, (size_t)walk->count, at, reader->walk, &err) ==
               TP_OK;
}

/* Describes a tensor whose codes lie at `at`. */
static struct tp_device_list list_of(const struct tp_walk *walk,
                                     const unsigned char *at)
{
    const struct tp_dtype_info *info = tp_dtype_info(walk->tensor->dtype);
    return (struct tp_device_list){
        .codes = at,
        .n = (uint32_t)((size_t)walk->count * info->parts),
        .code_size = (uint32_t)(info->size / info->parts)};
}

/* Puts the next small tensors into the buffer, at most `count` of them and as
 * many as fit. Returns how many tensors were looked at. */
static size_t fill(struct tp_ahead *ahead, const struct tp_readers *readers,
                   struct tp_reader *reader, const struct tp_tensor *tensors,
                   size_t count)
{
    const struct tp_device_lane lane = {readers->device, reader->number};
    unsigned char *buffer = tp_device_batch(&lane);
    size_t used = 0, i = 0;
    for (; buffer && i < count && ahead->count < TP_DEVICE_LISTS; i++) {
        struct tp_walk walk;
        tp_walk_any_order(&tensors[i], &walk);
        if (!is_small_and_narrow(&walk))
            continue;
        const struct tp_device_list list = list_of(&walk, buffer + used);
        const size_t bytes = (size_t)list.n * list.code_size;
        if (used + bytes > TP_STAGE_BYTES)
            break;
        if (!read_ahead(readers, reader, &walk, buffer + used))
            continue;
        ahead->tensor[ahead->count] = &tensors[i];
        ahead->list[ahead->count++] = list;
        used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return buffer ? i : count;
}

size_t tp_ahead_count(struct tp_ahead **ahead,
                      const struct tp_readers *readers,
                      struct tp_reader *reader,
                      const struct tp_tensor *tensors, size_t count)
{
    const struct tp_device_lane lane = {readers->device, reader->number};
    if (*ahead)
        (*ahead)->count = (*ahead)->next = 0;
    if (count < 2 || !lane.session ||
        lane.number >= tp_device_lanes(lane.session) ||
        !tp_provide(ahead, sizeof **ahead))
        return count;
    const size_t seen = fill(*ahead, readers, reader, tensors, count);
    if ((*ahead)->count > 0 &&
        !tp_device_lists(&lane, (*ahead)->list, (*ahead)->count))
        (*ahead)->count = 0;
    return seen;
}

const struct tp_device_list *tp_ahead_take(struct tp_ahead *ahead,
                                           const struct tp_tensor *tensor)
{
    if (!ahead || ahead->next == ahead->count ||
        ahead->tensor[ahead->next] != tensor)
        return NULL;
    return &ahead->list[ahead->next++];
}
