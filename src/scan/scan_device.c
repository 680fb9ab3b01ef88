/* SPDX-License-Identifier: MIT */
/*
 * What a device counts of a scan: codes, wide values, selections, blocks and
 * MX tallies. The host reads them into pinned memory, stage by stage, and
 * verifies checksums. Each worker has a lane of its own.
 */
#include <libdeflate.h>

#include "scan/pass.h"

enum {
    DEVICE_WORK =
        WORK_CODES | WORK_VALUES | WORK_SELECT | WORK_BLOCKS | WORK_TALLY,
    /* Each matrix of blocks down columns is a launch of some microseconds; the
     * host counts a range in a millisecond or two. */
    MOST_LAUNCHES = 64,
    /* Views that show less than this share of what lies between their elements
     * are gathered by the host: copying the rest would take longer. */
    LEAST_SHARE = 4
};

struct tp_device_options tp_scan_device_options(unsigned workers)
{
    return (struct tp_device_options){.lanes = workers,
                                      .range = RANGE_BYTES,
                                      .stage = STAGE_BYTES + EARLY_BYTES,
                                      .call = PIECE_BYTES};
}

bool tp_scan_lane(const struct scan *scan, const struct worker *worker,
                  struct scan_lane *lane)
{
    struct tp_device_session *device = scan->scanner->device;
    lane->at.session = device;
    lane->at.number = (unsigned)(worker - scan->scanner->workers);
    lane->ok = true;
    return device && lane->at.number < tp_device_lanes(device) &&
           !*tp_device_failure(device);
}

/* Whether a cast is tallied in this reading; the lane's tallies are those of
 * such casts, in their order. */
static bool is_tallied(const struct scan *scan, size_t cast)
{
    return scan->work & WORK_TALLY && scan->casts.kind[cast] == CAST_TALLY;
}

static size_t tallies_of(const struct scan *scan)
{
    size_t count = 0;
    for (size_t i = 0; i < scan->casts.count; i++)
        count += is_tallied(scan, i);
    return count;
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

bool tp_scan_device_can(const struct scan *scan, const struct scan_lane *lane)
{
    const unsigned work = scan->work;
    const unsigned counted = WORK_CODES | WORK_VALUES | WORK_SELECT;
    if (!(work & DEVICE_WORK) || work & ~(unsigned)(DEVICE_WORK | WORK_CRC))
        return false;
    if ((work & counted && !scan->totals) ||
        (work & WORK_BLOCKS && !scan->plan))
        return false;
    return (!(work & WORK_ANY_BLOCKS) || are_few_launches(scan)) &&
           tp_device_tallies(&lane->at, tallies_of(scan));
}

/* --- reading -------------------------------------------------------------- */

/* Whether elements can be sent as they are stored, and gathered there. */
static bool can_gather_there(const struct tp_walk *walk)
{
    const struct tp_tensor *tensor = walk->tensor;
    return !walk->dense && !tensor->conjugated && !tensor->negated &&
           !tensor->storage->big_endian;
}

/* What is stored between the first and the last of some elements. */
struct cover {
    int64_t begin, end;
};

static struct cover cover_of(const struct stage *stage)
{
    struct cover c;
    tp_walk_cover(stage->walk, stage->first, stage->end - stage->first,
                  &c.begin, &c.end);
    return c;
}

/* Reads bytes of the storage. */
static enum tp_status read_stored(const struct scan *scan,
                                  const struct stage *stage,
                                  const struct cover *cover,
                                  unsigned char *buffer, struct tp_error *err)
{
    const struct tp_storage *storage = stage->walk->tensor->storage;
    uint64_t at = (uint64_t)cover->begin * scan->size;
    const uint64_t end = (uint64_t)cover->end * scan->size;
    enum tp_status status = TP_OK;
    while (at < end && status == TP_OK) {
        size_t n = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;
        status = tp_scan_go_on(scan->scanner, err);
        if (status == TP_OK)
            status = storage->read(storage, at, buffer, n, err);
        at += n;
        buffer += n;
    }
    return status;
}

/* Reads elements, in pieces that are still in the cache for the checksum. */
static enum tp_status read_elements(const struct scan *scan,
                                    const struct stage *stage,
                                    unsigned char *buffer,
                                    struct worker *worker, struct tp_error *err)
{
    const int64_t step = (int64_t)(PIECE_BYTES / scan->size);
    enum tp_status status = TP_OK;
    for (int64_t at = stage->first; at < stage->end && status == TP_OK;
         at += step) {
        const int64_t stop = at + step < stage->end ? at + step : stage->end;
        unsigned char *to = buffer + (size_t)(at - stage->first) * scan->size;
        status = tp_scan_go_on(scan->scanner, err);
        if (status == TP_OK)
            status = tp_walk_read(stage->walk, at, (size_t)(stop - at), to,
                                  worker->walk, err);
        const int64_t from = at > stage->fresh ? at : stage->fresh;
        if (stage->crc && from < stop)
            *stage->crc = libdeflate_crc32(
                *stage->crc, to + (size_t)(from - at) * scan->size,
                (size_t)(stop - from) * scan->size);
    }
    return status;
}

/* Has the device gather what was sent as it is stored. */
static bool gather_there(const struct scan *scan, const struct stage *stage,
                         const struct cover *cover,
                         const struct scan_lane *lane)
{
    const struct tp_walk *walk = stage->walk;
    const int64_t size = (int64_t)scan->size;
    const struct tp_device_view view = {
        .size = (int)size,
        .ndim = walk->ndim,
        .origin = (walk->tensor->offset - cover->begin) * size,
        .shape = walk->shape,
        .stride = walk->stride};
    return tp_device_gather(&lane->at, &view, (uint64_t)stage->first,
                            (uint64_t)(stage->end - stage->first));
}

const unsigned char *tp_scan_send(const struct scan *scan,
                                  const struct stage *stage,
                                  struct worker *worker, struct scan_lane *lane)
{
    const int64_t n = stage->end - stage->first;
    const struct cover cover = cover_of(stage);
    struct tp_error err = {.code = TP_OK};
    const bool stored = can_gather_there(stage->walk) &&
                        cover.end - cover.begin <= LEAST_SHARE * n &&
                        (uint64_t)(cover.end - cover.begin) * scan->size <=
                            STAGE_BYTES + EARLY_BYTES;
    const int64_t sent = stored ? cover.end - cover.begin : n;
    unsigned char *buffer = lane->ok ? tp_device_stage(&lane->at) : NULL;
    if (!buffer || (!stage->walk->dense &&
                    !tp_scan_provide(&worker->walk, TP_CHUNK_BYTES)))
        return NULL;
    if ((stored ? read_stored(scan, stage, &cover, buffer, &err)
                : read_elements(scan, stage, buffer, worker, &err)) != TP_OK)
        return NULL;
    if (!tp_device_send(&lane->at, (size_t)sent * scan->size))
        return NULL;
    return !stored || gather_there(scan, stage, &cover, lane) ? buffer : NULL;
}

/* --- counting ------------------------------------------------------------- */

void tp_scan_blocks_there(const struct scan *scan,
                          const struct tp_device_rows *rows,
                          struct scan_lane *lane)
{
    const struct casts *casts = &scan->casts;
    size_t tally = 0;
    if (scan->work & WORK_BLOCKS)
        lane->ok = lane->ok && tp_device_blocks(&lane->at, scan->plan, rows);
    for (size_t i = 0; i < casts->count; i++)
        if (is_tallied(scan, i))
            lane->ok = lane->ok && tp_device_tally(&lane->at, tally++,
                                                   casts->plan[i], rows);
}

void tp_scan_stage_there(const struct scan *scan, int64_t first, int64_t end,
                         struct gather *gather)
{
    struct scan_lane *lane = gather->lane;
    const bool blocks = scan->work & WORK_ANY_BLOCKS;
    const struct stage stage = {
        .walk = &scan->walk,
        .first = blocks ? tp_scan_block_begin(scan, first) : first,
        .end = end,
        .fresh = first,
        .crc = scan->work & WORK_CRC ? &gather->part->crc : NULL};
    const unsigned char *codes =
        tp_scan_send(scan, &stage, gather->worker, lane);
    lane->ok = codes != NULL;
    if (!codes)
        return;
    const struct tp_span span = {
        scan->real, codes + (size_t)(first - stage.first) * scan->size,
        (size_t)(end - first) * scan->parts};
    if (scan->work & WORK_CODES)
        lane->ok = tp_device_codes(&lane->at, &span);
    if (scan->work & WORK_VALUES)
        lane->ok = lane->ok && tp_device_values(&lane->at, &span, &scan->judge,
                                                scan->real != TP_FLOAT32);
    if (scan->work & WORK_SELECT)
        lane->ok = lane->ok && tp_device_select(&lane->at, &span, scan->select);
    if (blocks)
        tp_scan_count_blocks(
            scan, codes, stage.first,
            end == scan->walk.count ? end : tp_scan_block_begin(scan, end),
            gather);
}

void tp_scan_begin_there(struct gather *gather, struct scan_lane *lane)
{
    lane->ok = tp_device_begin(&lane->at);
    gather->lane = lane;
}

/* Adds what the device counted. */
static void take(struct scan *scan, struct gather *gather,
                 const struct scan_lane *lane)
{
    struct casts *casts = &scan->casts;
    const struct tp_device_results own = {
        .values = gather->part ? &gather->part->values : NULL};
    const struct tp_device_results shared = {
        .totals = scan->totals,
        .bins = scan->result ? scan->result->summary.bins : NULL,
        .blocks = &scan->blocks};
    size_t tally = 0;
    tp_device_take(&lane->at, &own);
    pthread_mutex_lock(&scan->lock);
    tp_device_take(&lane->at, &shared);
    for (size_t i = 0; i < casts->count; i++)
        if (is_tallied(scan, i))
            tp_device_take_tally(&lane->at, tally++, casts->total[i]);
    pthread_mutex_unlock(&scan->lock);
}

bool tp_scan_end_there(struct scan *scan, struct gather *gather)
{
    const struct scan_lane *lane = gather->lane;
    /* also when something failed: it waits */
    const bool ok = tp_device_end(&lane->at) && lane->ok;
    gather->lane = NULL;
    if (ok)
        take(scan, gather, lane);
    return ok;
}

/* Where a stage ends that begins at `at`: of a view that the device gathers
 * it is as large as what is sent for it allows. */
static int64_t stage_end(const struct scan *scan, int64_t at, int64_t end)
{
    const int64_t piece = (int64_t)(PIECE_BYTES / scan->size);
    const int64_t most = (int64_t)(STAGE_BYTES / scan->size);
    const bool gathers = can_gather_there(&scan->walk);
    struct stage stage = {.walk = &scan->walk, .first = at};
    for (int64_t n = most; gathers && n >= most / LEAST_SHARE && n >= piece;
         n -= piece) {
        stage.end = at + n < end ? at + n : end;
        const struct cover cover = cover_of(&stage);
        if (cover.end - cover.begin <= most)
            return stage.end;
    }
    return at + most < end ? at + most : end;
}

bool tp_scan_range_there(struct scan *scan, size_t range, struct gather *gather,
                         struct scan_lane *lane)
{
    const int64_t step = (int64_t)(RANGE_BYTES / scan->size);
    int64_t at = (int64_t)range * step, end = at + step;
    const int64_t begin = at;
    end = end < scan->walk.count ? end : scan->walk.count;
    tp_scan_begin_there(gather, lane);
    for (int64_t stop; lane->ok && at < end; at = stop) {
        stop = stage_end(scan, at, end);
        tp_scan_stage_there(scan, at, stop, gather);
    }
    gather->part->crc_bytes = (uint64_t)(end - begin) * scan->size;
    if (tp_scan_end_there(scan, gather))
        return true;
    gather->part->crc = 0;
    gather->part->crc_bytes = 0;
    return false;
}
