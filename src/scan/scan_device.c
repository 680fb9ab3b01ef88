/* SPDX-License-Identifier: MIT */
#include "scan/scan_device.h"

#include "base/memory.h"

/*
 * A range done by a device. The host reads stages of 4 MiB into pinned memory,
 * sends them, and has each sink start what counts them; while the device does,
 * it reads the next one. Each worker has a lane of its own, so that nobody
 * waits for others. A strided view is sent as it is stored and gathered on the
 * device, which reads faster than the host does; unless so little of it is
 * shown that copying the rest would take longer. Sinks that are light (the
 * checksum, casts by values) stay with the host, which has the codes in its
 * cache.
 *
 * A range is all or nothing: what was counted is taken at its end, and after
 * any failure the host does the range again. Pieces with a device of their own
 * would lose that, and wait for each launch.
 */

enum {
    /* Each matrix of blocks down columns is a launch of some microseconds; the
     * host counts a range in a millisecond or two. */
    MOST_LAUNCHES = 64,
    /* Views that show less than this share of what lies between their elements
     * are gathered by the host: copying the rest would take longer. */
    LEAST_SHARE = 4
};

bool tp_scan_device_lane(const struct tp_readers *readers,
                         const struct tp_reader *reader,
                         struct tp_device_lane *lane)
{
    lane->session = readers->device;
    lane->number = reader->number;
    return lane->session && lane->number < tp_device_lanes(lane->session) &&
           !*tp_device_failure(lane->session);
}

/* --- reading -------------------------------------------------------------- */

/* Whether elements can be sent as they are stored, and gathered on the
 * device. */
static bool can_be_gathered(const struct tp_walk *walk)
{
    const struct tp_tensor *tensor = walk->tensor;
    return !walk->dense && !tensor->conjugated && !tensor->negated &&
           !tensor->storage->big_endian;
}

/* What is stored between the first and the last of some elements. */
struct cover {
    int64_t begin, end;
};

static struct cover cover_of(const struct tp_stage *stage)
{
    struct cover c;
    tp_walk_cover(stage->walk, stage->first, stage->end - stage->first,
                  &c.begin, &c.end);
    return c;
}

/* Reads bytes of the storage. */
static enum tp_status read_stored(const struct tp_readers *readers,
                                  const struct tp_stage *stage,
                                  const struct cover *cover,
                                  unsigned char *buffer)
{
    const struct tp_storage *storage = stage->walk->tensor->storage;
    uint64_t at = (uint64_t)cover->begin * stage->size;
    const uint64_t end = (uint64_t)cover->end * stage->size;
    struct tp_error err = {.code = TP_OK};
    enum tp_status status = TP_OK;
    while (at < end && status == TP_OK) {
        size_t n = end - at < TP_PIECE_BYTES ? (size_t)(end - at)
                                             : TP_PIECE_BYTES;
        status = tp_readers_go_on(readers, &err);
        if (status == TP_OK)
            status = storage->read(storage, at, buffer, n, &err);
        at += n;
        buffer += n;
    }
    return status;
}

/* Gives elements [begin, end) to the light sinks. */
static void feed_light(const struct tp_stage *stage, int64_t begin, int64_t end,
                       const unsigned char *codes)
{
    const struct tp_range *range = stage->range;
    const int64_t fresh = begin > stage->fresh ? begin : stage->fresh;
    const struct tp_piece piece = {.codes = codes,
                                   .begin = begin,
                                   .end = end,
                                   .fresh = fresh,
                                   .whole = begin};
    for (size_t i = 0; range && fresh < end && i < range->count; i++) {
        const struct tp_range_sink *at = &range->sinks[i];
        if (at->sink->light)
            at->sink->piece(range->pass, &piece, at->state, at->part, NULL);
    }
}

/* Reads elements, in pieces that are still in the cache for light sinks; of
 * fresh ones the pieces that the host would have, since sums round. */
static enum tp_status read_elements(const struct tp_readers *readers,
                                    struct tp_reader *reader,
                                    const struct tp_stage *stage,
                                    unsigned char *buffer)
{
    const int64_t step = (int64_t)(TP_PIECE_BYTES / stage->size);
    struct tp_error err = {.code = TP_OK};
    enum tp_status status = TP_OK;
    for (int64_t at = stage->first, stop; at < stage->end && status == TP_OK;
         at = stop) {
        stop = (at < stage->fresh ? stage->fresh : at) + step;
        stop = stop < stage->end ? stop : stage->end;
        unsigned char *to = buffer + (size_t)(at - stage->first) * stage->size;
        status = tp_readers_go_on(readers, &err);
        if (status == TP_OK)
            status = tp_walk_read(stage->walk, at, (size_t)(stop - at), to,
                                  reader->walk, &err);
        if (status == TP_OK)
            feed_light(stage, at, stop, to);
    }
    return status;
}

/* Has the device gather what was sent as it is stored. */
static bool gather(const struct tp_stage *stage, const struct cover *cover,
                   const struct tp_device_lane *lane)
{
    const struct tp_walk *walk = stage->walk;
    const int64_t size = (int64_t)stage->size;
    const struct tp_device_view view = {
        .size = (int)size,
        .ndim = walk->ndim,
        .origin = (walk->tensor->offset - cover->begin) * size,
        .shape = walk->shape,
        .stride = walk->stride};
    return tp_device_gather(lane, &view, (uint64_t)stage->first,
                            (uint64_t)(stage->end - stage->first));
}

const unsigned char *tp_scan_device_send(const struct tp_readers *readers,
                                         struct tp_reader *reader,
                                         const struct tp_stage *stage,
                                         const struct tp_device_lane *lane)
{
    const int64_t n = stage->end - stage->first;
    const struct cover cover = cover_of(stage);
    const int64_t covered = cover.end - cover.begin;
    const bool stored = can_be_gathered(stage->walk) &&
                        covered <= LEAST_SHARE * n &&
                        (uint64_t)covered * stage->size <=
                            TP_STAGE_BYTES + TP_EARLY_BYTES;
    unsigned char *buffer = tp_device_stage(lane);
    if (!buffer || (!stage->walk->dense &&
                    !tp_provide(&reader->walk, TP_CHUNK_BYTES)))
        return NULL;
    if ((stored ? read_stored(readers, stage, &cover, buffer)
                : read_elements(readers, reader, stage, buffer)) != TP_OK)
        return NULL;
    if (!tp_device_send(lane, (size_t)(stored ? covered : n) * stage->size))
        return NULL;
    return !stored || gather(stage, &cover, lane) ? buffer : NULL;
}

/* --- counting ------------------------------------------------------------- */

/* Whether the blocks of a range need few launches. */
static bool are_few_launches(const struct tp_pass *pass)
{
    const struct tp_lines *lines = &pass->grid.lines;
    const uint64_t plane =
        (uint64_t)lines->length * (uint64_t)lines->inner * pass->size;
    uint64_t bytes = (uint64_t)pass->walk.count * pass->size;
    bytes = bytes < TP_RANGE_BYTES ? bytes : TP_RANGE_BYTES;
    return lines->inner == 1 || bytes / MOST_LAUNCHES <= plane;
}

/* Whether the lane can feed all sinks but the light ones, of which there is
 * one at least. */
static bool can(const struct tp_range *range, const struct tp_device_lane *lane)
{
    size_t fed = 0;
    for (size_t i = 0; i < range->count; i++) {
        const struct tp_range_sink *at = &range->sinks[i];
        if (at->sink->light && !can_be_gathered(&range->pass->walk))
            continue;
        if (!at->sink->device || !at->sink->device->can(at->state, lane))
            return false;
        fed++;
    }
    return fed > 0 && (!range->blocks || are_few_launches(range->pass));
}

/* Sends elements [first, end) and has them counted. */
static bool do_stage(const struct tp_range *range, int64_t first, int64_t end,
                     const struct tp_device_lane *lane)
{
    const struct tp_pass *pass = range->pass;
    struct tp_piece piece = tp_range_piece(range, first, end);
    const struct tp_stage stage = {.walk = &pass->walk,
                                   .size = pass->size,
                                   .first = piece.begin,
                                   .end = end,
                                   .fresh = first,
                                   .range = range};
    piece.codes = tp_scan_device_send(pass->readers, range->reader, &stage,
                                      lane);
    bool ok = piece.codes != NULL;
    for (size_t i = 0; i < range->count && ok; i++) {
        const struct tp_range_sink *at = &range->sinks[i];
        if (!at->sink->light)
            ok = at->sink->device->piece(pass, &piece, at->state, lane);
    }
    return ok;
}

/* Adds what the device counted. */
static void take(const struct tp_range *range,
                 const struct tp_device_lane *lane)
{
    pthread_mutex_lock(range->lock);
    for (size_t i = 0; i < range->count; i++) {
        const struct tp_range_sink *at = &range->sinks[i];
        if (!at->sink->light)
            at->sink->device->take(at->state, at->part, lane);
    }
    pthread_mutex_unlock(range->lock);
}

/* Where a stage ends that begins at `at`: of a view that the device gathers
 * it is as large as what is sent for it allows. */
static int64_t stage_end(const struct tp_range *range, int64_t at)
{
    const struct tp_pass *pass = range->pass;
    const int64_t piece = (int64_t)(TP_PIECE_BYTES / pass->size);
    const int64_t most = (int64_t)(TP_STAGE_BYTES / pass->size);
    const int64_t end = at + most < range->end ? at + most : range->end;
    struct tp_stage stage = {.walk = &pass->walk, .first = at};
    if (range->rows)
        return end < range->end ? tp_block_grid_begin(&pass->grid, end) : end;
    if (!can_be_gathered(&pass->walk))
        return end;
    for (int64_t n = most; n >= most / LEAST_SHARE && n >= piece; n -= piece) {
        stage.end = at + n < range->end ? at + n : range->end;
        const struct cover cover = cover_of(&stage);
        if (cover.end - cover.begin <= most)
            return stage.end;
    }
    return end;
}

static bool do_range(const struct tp_range *range)
{
    struct tp_device_lane lane;
    if (!tp_scan_device_lane(range->pass->readers, range->reader, &lane) ||
        !can(range, &lane))
        return false;
    bool ok = tp_device_begin(&lane);
    for (int64_t at = range->first, end; ok && at < range->end; at = end) {
        end = stage_end(range, at);
        ok = do_stage(range, at, end, &lane);
    }
    /* also when something failed: it waits */
    ok = tp_device_end(&lane) && ok;
    if (ok)
        take(range, &lane);
    return ok;
}

const struct tp_pass_device tp_scan_device = {.range = do_range,
                                            .row_bytes = TP_STAGE_BYTES};
