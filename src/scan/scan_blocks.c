/* SPDX-License-Identifier: MIT */
#include "scan/pass.h"

#include <stdlib.h>

/* The last element at or before `at` with which a block begins. */
int64_t tp_scan_block_begin(const struct scan *scan, int64_t at)
{
    const struct tp_lines *lines = &scan->lines;
    int64_t block = scan->block, plane = lines->length * lines->inner;
    int64_t row = at % plane / lines->inner;
    return at - at % plane + row / block * block * lines->inner;
}

/* Whether blocks are small enough to be counted piece by piece. */
bool tp_scan_blocks_fit(const struct scan *scan)
{
    uint64_t slab = (uint64_t)scan->lines.inner * scan->size;
    return slab <= EARLY_BYTES / (uint64_t)scan->block;
}

/* Does the block work for rows of blocks. */
static void do_rows(const struct scan *scan, const unsigned char *codes,
                    size_t rows, size_t length, struct gather *gather)
{
    const struct tp_device_rows there = {codes, rows, length, 0};
    if (gather->lane) {
        tp_scan_blocks_there(scan, &there, gather->lane);
        return;
    }
    if (scan->work & WORK_BLOCKS)
        tp_blocks_count(scan->plan, codes, rows, length, &gather->blocks);
    tp_scan_cast_rows(scan, gather, codes, rows, length);
}

/* The same where blocks run down columns. */
static void do_columns(const struct scan *scan, const unsigned char *codes,
                       size_t rows, size_t columns, struct gather *gather)
{
    const struct tp_device_rows there = {codes, 1, rows, columns};
    if (gather->lane) {
        tp_scan_blocks_there(scan, &there, gather->lane);
        return;
    }
    if (scan->work & WORK_BLOCKS)
        tp_blocks_count_across(scan->plan, codes, rows, columns,
                               &gather->blocks);
    tp_scan_cast_columns(scan, gather, codes, rows, columns);
}

/* Elements [first, end) begin and end blocks; inner is 1. */
static void count_along(const struct scan *scan, const unsigned char *codes,
                        int64_t first, int64_t end, struct gather *gather)
{
    int64_t length = scan->lines.length;
    if (length % scan->block == 0 && scan->lines.constant == 1) {
        do_rows(scan, codes, 1, (size_t)(end - first), gather);
        return;
    }
    while (first < end) {
        int64_t left = length - first % length, rows = 1;
        if (left > end - first)
            left = end - first;
        else if (left == length)
            rows = (end - first) / length;
        do_rows(scan, codes, (size_t)rows, (size_t)left, gather);
        codes += (size_t)(rows * left) * scan->size;
        first += rows * left;
    }
}

/* The same where lines run across: inner is above 1. */
static void count_across(const struct scan *scan, const unsigned char *codes,
                         int64_t first, int64_t end, struct gather *gather)
{
    int64_t inner = scan->lines.inner, length = scan->lines.length;
    while (first < end) {
        int64_t rows = length - first / inner % length;
        if (rows > (end - first) / inner)
            rows = (end - first) / inner;
        do_columns(scan, codes, (size_t)rows, (size_t)inner, gather);
        codes += (size_t)(rows * inner) * scan->size;
        first += rows * inner;
    }
}

void tp_scan_count_blocks(const struct scan *scan, const unsigned char *codes,
                          int64_t first, int64_t end, struct gather *gather)
{
    if (scan->lines.inner == 1)
        count_along(scan, codes, first, end, gather);
    else
        count_across(scan, codes, first, end, gather);
}

/*
 * Blocks across lines so far apart that a block does not fit a piece: a tile
 * is one block high and as wide as fits, read row by row. Tiles are numbered
 * along the rows, all of a range's share at a time.
 */
struct tiles {
    struct scan *scan;
    int64_t width;  /* columns of a tile                                  */
    int64_t across; /* tiles side by side                                 */
    int64_t down;   /* rows of tiles in [length]                          */
    int64_t count;  /* in all                                             */
    int64_t share;  /* of one range                                       */
    int64_t strips; /* rows of tiles that a device takes at a time; 0: none */
    struct tp_quant_error *errors; /* [range][casts]                      */
};

static enum tp_status do_tile(const struct tiles *tiles, int64_t tile,
                              struct gather *gather, struct tp_error *err)
{
    const struct scan *scan = tiles->scan;
    const struct tp_lines *lines = &scan->lines;
    int64_t column = tile % tiles->across * tiles->width;
    int64_t strip = tile / tiles->across;
    int64_t row = strip % tiles->down * scan->block;
    int64_t plane = strip / tiles->down;
    int64_t rows = lines->length - row, width = lines->inner - column;
    rows = rows < scan->block ? rows : scan->block;
    width = width < tiles->width ? width : tiles->width;
    for (int64_t i = 0; i < rows; i++) {
        int64_t first = (plane * lines->length + row + i) * lines->inner;
        unsigned char *to =
            gather->worker->piece + (size_t)(i * width) * scan->size;
        enum tp_status status = tp_scan_go_on(scan->scanner, err);
        if (status == TP_OK)
            status = tp_walk_read(&scan->walk, first + column, (size_t)width,
                                  to, gather->worker->walk, err);
        if (status != TP_OK)
            return status;
    }
    do_columns(scan, gather->worker->piece, (size_t)rows, (size_t)width,
               gather);
    return TP_OK;
}

/* The first element of a row of tiles; these follow each other. */
static int64_t strip_begin(const struct tiles *tiles, int64_t strip)
{
    const struct tp_lines *lines = &tiles->scan->lines;
    return (strip / tiles->down * lines->length +
            strip % tiles->down * tiles->scan->block) *
           lines->inner;
}

/* Has a device count tiles [at, end), whole rows of them; false when it cannot
 * or failed. */
static bool do_tiles_there(const struct tiles *tiles, int64_t at, int64_t end,
                           struct gather *gather)
{
    struct scan *scan = tiles->scan;
    struct scan_lane lane;
    int64_t strip = at / tiles->across, last = end / tiles->across;
    if (tiles->strips == 0 || !tp_scan_lane(scan, gather->worker, &lane) ||
        !tp_scan_device_can(scan, &lane))
        return false;
    tp_scan_begin_there(gather, &lane);
    for (int64_t stop; lane.ok && strip < last; strip = stop) {
        stop = strip + tiles->strips < last ? strip + tiles->strips : last;
        tp_scan_stage_there(scan, strip_begin(tiles, strip),
                            strip_begin(tiles, stop), gather);
    }
    return tp_scan_end_there(scan, gather);
}

static void tiles_task(void *context, size_t index, unsigned worker)
{
    const struct tiles *tiles = context;
    struct scan *scan = tiles->scan;
    struct gather gather = {.worker = &scan->scanner->workers[worker],
                            .errors =
                                tiles->errors + index * scan->casts.count};
    struct tp_error err = {.code = TP_OK};
    int64_t at = (int64_t)index * tiles->share, end = at + tiles->share;
    end = end < tiles->count ? end : tiles->count;
    if (do_tiles_there(tiles, at, end, &gather))
        return;
    enum tp_status status = tp_scan_prepare(scan, gather.worker, &err);
    for (; status == TP_OK && at < end; at++)
        status = do_tile(tiles, at, &gather, &err);
    if (status == TP_OK)
        tp_scan_add(scan, &gather);
    if (status != TP_OK) {
        tp_scan_keep_error(scan, index, status, &err);
        tp_scan_empty(gather.worker);
    }
}

enum tp_status tp_scan_read_tiles(struct scan *scan, unsigned work)
{
    const struct tp_lines *lines = &scan->lines;
    int64_t block = scan->block;
    struct tiles tiles = {.scan = scan};
    tiles.width = (int64_t)(PIECE_BYTES / scan->size) / block;
    tiles.across = (lines->inner + tiles.width - 1) / tiles.width;
    tiles.down = (lines->length + block - 1) / block;
    tiles.count = lines->outer * tiles.down * tiles.across;
    tiles.share = RANGE_BYTES / PIECE_BYTES;
    if (scan->scanner->device && !(work & WORK_QUANT_BLOCKS)) {
        const int64_t strip = block * lines->inner * (int64_t)scan->size;
        tiles.strips = STAGE_BYTES / strip;
        if (tiles.strips > 0) /* of which a range is a whole number */
            tiles.share = RANGE_BYTES / strip * tiles.across;
    }
    scan->work = work;
    size_t ranges = (size_t)((tiles.count + tiles.share - 1) / tiles.share);
    size_t casts = scan->casts.count;
    tiles.errors = calloc(ranges * casts + 1, sizeof *tiles.errors);
    if (!tiles.errors)
        return tp_fail_memory(scan->err);
    tp_pool_for(scan->scanner->pool, ranges, tiles_task, &tiles);
    for (size_t i = 0; i < ranges && scan->status == TP_OK; i++)
        tp_scan_casts_merge(scan, tiles.errors + i * casts);
    free(tiles.errors);
    return scan->status;
}
