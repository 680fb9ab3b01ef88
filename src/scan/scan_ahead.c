/* SPDX-License-Identifier: MIT */
/*
 * Small tensors of narrow codes, many of which a device counts in one launch:
 * those of one file, which are read into one buffer. It stays until all of
 * them were scanned, so that they are read once.
 */
#include "scan/pass.h"

enum { ALIGNMENT = 16 };

static bool is_small_and_narrow(const struct tp_walk *walk)
{
    const struct tp_dtype_info *info = tp_dtype_info(walk->tensor->dtype);
    return walk->count > 0 && info->size / info->parts <= 2 &&
           (uint64_t)walk->count * info->parts <= SMALL_CODES;
}

/* Reads a tensor to `at`; false when that fails, which tp_scan will tell. */
static bool read_ahead(struct tp_scanner *scanner, struct worker *worker,
                       const struct tp_walk *walk, unsigned char *at)
{
    struct tp_error err;
    return tp_scan_go_on(scanner, &err) == TP_OK &&
           (walk->dense || tp_scan_provide(&worker->walk, TP_CHUNK_BYTES)) &&
           tp_walk_read(walk, 0, (size_t)walk->count, at, worker->walk, &err) ==
               TP_OK;
}

/* Puts the next small tensors into the buffer, at most `count` of them and as
 * many as fit. Returns how many tensors were looked at. */
static size_t fill(struct tp_scanner *scanner, struct worker *worker,
                   const struct tp_tensor *tensors, size_t count,
                   unsigned char *buffer)
{
    struct ahead *ahead = worker->ahead;
    size_t used = 0, i = 0;
    for (; i < count && ahead->count < TP_DEVICE_LISTS; i++) {
        const struct tp_tensor *tensor = &tensors[i];
        const struct tp_dtype_info *info = tp_dtype_info(tensor->dtype);
        struct tp_walk walk;
        tp_walk_any_order(tensor, &walk);
        if (!is_small_and_narrow(&walk))
            continue;
        const size_t bytes = (size_t)walk.count * info->size;
        if (used + bytes > STAGE_BYTES)
            break;
        if (!read_ahead(scanner, worker, &walk, buffer + used))
            continue;
        ahead->tensor[ahead->count] = tensor;
        ahead->list[ahead->count++] = (struct tp_device_list){
            .codes = buffer + used,
            .n = (uint32_t)((size_t)walk.count * info->parts),
            .code_size = (uint32_t)(info->size / info->parts)};
        used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return i;
}

size_t tp_scan_ahead(struct tp_scanner *scanner,
                     const struct tp_tensor *tensors, size_t count,
                     unsigned number)
{
    struct worker *worker = &scanner->workers[number];
    const struct tp_device_lane lane = {scanner->device, number};
    if (worker->ahead)
        worker->ahead->count = worker->ahead->next = 0;
    if (count < 2 || !scanner->device ||
        number >= tp_device_lanes(scanner->device))
        return count;
    unsigned char *buffer = tp_device_batch(&lane);
    if (!buffer || !tp_scan_provide(&worker->ahead, sizeof *worker->ahead))
        return count;
    const size_t seen = fill(scanner, worker, tensors, count, buffer);
    struct ahead *ahead = worker->ahead;
    if (ahead->count > 0 &&
        !tp_device_lists(&lane, ahead->list, ahead->count))
        ahead->count = 0;
    return seen;
}

const struct tp_device_list *tp_scan_take_ahead(struct worker *worker,
                                                const struct tp_tensor *tensor)
{
    struct ahead *ahead = worker->ahead;
    if (!ahead || ahead->next == ahead->count ||
        ahead->tensor[ahead->next] != tensor)
        return NULL;
    return &ahead->list[ahead->next++];
}
