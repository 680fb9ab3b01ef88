/* SPDX-License-Identifier: MIT */
/*
 * Ranges that a device counts: codes, wide values, blocks. The host reads them
 * into pinned memory and verifies checksums; casts stay with it, too. Each
 * worker has a lane of its own, so while one waits others read and copy.
 */
#include <libdeflate.h>
#include <string.h>

#include "analyze/scan_state.h"

/* Each matrix of blocks down columns is a launch of some microseconds; the host
 * counts a range in a millisecond or two. */
enum { MOST_LAUNCHES = 64 };

struct tp_device_options tp_scan_device_options(unsigned workers)
{
    return (struct tp_device_options){.lanes = workers,
                                      .range = RANGE_BYTES + EARLY_BYTES,
                                      .call = PIECE_BYTES};
}

static unsigned number_of(const struct scan *scan, const struct worker *worker)
{
    return (unsigned)(worker - scan->scanner->workers);
}

/* Whether the blocks of a range need few launches. */
static bool are_few_launches(const struct scan *scan)
{
    uint64_t plane =
        (uint64_t)scan->lines.length * (uint64_t)scan->lines.inner * scan->size;
    uint64_t bytes = (uint64_t)scan->walk.count * scan->size;
    bytes = bytes < RANGE_BYTES ? bytes : RANGE_BYTES;
    return scan->lines.inner == 1 || bytes / MOST_LAUNCHES <= plane;
}

bool tp_scan_has_lane(const struct scan *scan, const struct worker *worker)
{
    struct tp_device_session *device = scan->scanner->device;
    unsigned work = scan->work & (WORK_CODES | WORK_VALUES | WORK_BLOCKS);
    if (!device || !work || (scan->work & WORK_BLOCKS && !scan->plan) ||
        number_of(scan, worker) >= tp_device_lanes(device) ||
        *tp_device_failure(device))
        return false;
    return (!(work & (WORK_CODES | WORK_VALUES)) || scan->totals) &&
           (!(work & WORK_BLOCKS) || are_few_launches(scan));
}

/* Elements of a range, and where blocks that begin in it begin and end. */
struct extent {
    int64_t early, first, end, blocks_end;
};

static struct extent extent_of(const struct scan *scan, size_t range)
{
    int64_t step = (int64_t)(RANGE_BYTES / scan->size);
    struct extent e = {.first = (int64_t)range * step};
    bool blocks = scan->work & WORK_ANY_BLOCKS;
    e.end =
        e.first + step < scan->walk.count ? e.first + step : scan->walk.count;
    e.early = blocks ? tp_scan_block_begin(scan, e.first) : e.first;
    e.blocks_end = blocks && e.end < scan->walk.count
                       ? tp_scan_block_begin(scan, e.end)
                       : e.end;
    return e;
}

static enum tp_status read_range(const struct scan *scan,
                                 const struct extent *e, unsigned char *buffer,
                                 struct gather *gather, struct tp_error *err)
{
    int64_t step = (int64_t)(PIECE_BYTES / scan->size);
    enum tp_status status = tp_scan_prepare(scan, gather->worker, err);
    for (int64_t at = e->early; status == TP_OK && at < e->end; at += step) {
        int64_t stop = at + step < e->end ? at + step : e->end;
        status = tp_scan_go_on(scan->scanner, err);
        if (status == TP_OK)
            status = tp_walk_read(&scan->walk, at, (size_t)(stop - at),
                                  buffer + (size_t)(at - e->early) * scan->size,
                                  gather->worker->walk, err);
    }
    return status;
}

/* Has it counted; false when the device failed. */
static bool count_range(const struct scan *scan, const struct extent *e,
                        const unsigned char *buffer, struct gather *gather)
{
    struct scan_lane lane = {scan->scanner->device,
                             number_of(scan, gather->worker), true};
    const unsigned char *codes =
        buffer + (size_t)(e->first - e->early) * scan->size;
    struct tp_span span = {scan->real, codes,
                           (size_t)(e->end - e->first) * scan->parts};
    lane.ok = tp_device_begin(lane.device, lane.number,
                              (size_t)(e->end - e->early) * scan->size);
    if (lane.ok && scan->work & WORK_CODES)
        lane.ok = tp_device_codes(lane.device, lane.number, &span);
    if (lane.ok && scan->work & WORK_VALUES)
        lane.ok = tp_device_values(lane.device, lane.number, &span,
                                   &scan->judge, scan->real != TP_FLOAT32);
    if (lane.ok && scan->work & WORK_BLOCKS) {
        gather->lane = &lane;
        tp_scan_count_blocks(scan, buffer, e->early, e->blocks_end, gather);
        gather->lane = NULL;
    }
    /* waits also when something failed, for the buffer is used again */
    return tp_device_end(lane.device, lane.number) && lane.ok;
}

/* What the device does not do, piece by piece as without one. */
static void cast_range(const struct scan *scan, const struct extent *e,
                       const unsigned char *buffer, struct gather *gather)
{
    int64_t step = (int64_t)(PIECE_BYTES / scan->size);
    gather->casts_only = true;
    for (int64_t at = e->first; at < e->end; at += step) {
        int64_t stop = at + step < e->end ? at + step : e->end;
        tp_scan_cast_values(scan, gather,
                            buffer + (size_t)(at - e->early) * scan->size,
                            (size_t)(stop - at) * scan->parts);
        if (!(scan->work & WORK_ANY_BLOCKS))
            continue;
        int64_t begin = tp_scan_block_begin(scan, at);
        tp_scan_count_blocks(
            scan, buffer + (size_t)(begin - e->early) * scan->size, begin,
            stop == scan->walk.count ? stop : tp_scan_block_begin(scan, stop),
            gather);
    }
    gather->casts_only = false;
}

bool tp_scan_range_on_device(struct scan *scan, size_t range,
                             struct gather *gather)
{
    struct tp_device_session *device = scan->scanner->device;
    unsigned lane = number_of(scan, gather->worker);
    unsigned char *buffer = tp_device_buffer(device, lane);
    struct extent e = extent_of(scan, range);
    struct tp_error err = {.code = TP_OK};
    /* A failure to read is the host's to find again: it reads other pieces, so
     * what it says would not be what is said here. */
    if (read_range(scan, &e, buffer, gather, &err) != TP_OK ||
        !count_range(scan, &e, buffer, gather))
        return false;
    const unsigned char *codes =
        buffer + (size_t)(e.first - e.early) * scan->size;
    size_t bytes = (size_t)(e.end - e.first) * scan->size;
    if (scan->work & WORK_CRC) {
        gather->part->crc = libdeflate_crc32(0, codes, bytes);
        gather->part->crc_bytes = bytes;
    }
    const struct tp_device_results own = {.values = &gather->part->values,
                                          .blocks = &gather->blocks},
                                   shared = {
                                       .totals = scan->totals,
                                       .bins = scan->result
                                                   ? scan->result->summary.bins
                                                   : NULL};
    tp_device_take(device, lane, &own);
    pthread_mutex_lock(&scan->lock);
    tp_device_take(device, lane, &shared);
    pthread_mutex_unlock(&scan->lock);
    cast_range(scan, &e, buffer, gather);
    return true;
}
