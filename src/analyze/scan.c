/* SPDX-License-Identifier: MIT */
#include "analyze/scan.h"

#include <assert.h>
#include <libdeflate.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/limits.h"
#include "stats/blocks.h"
#include "stats/codes.h"
#include "stats/quantile.h"
#include "stats/select.h"
#include "stats/values.h"

/*
 * A scan is one or more readings of the tensor in storage order. A reading is
 * a loop over ranges on the pool, a range a loop over pieces that stay in the
 * second level cache while they are checked and counted. Ranges are a fixed
 * grid, integers are added under a lock in any order, and what is not exact
 * is kept per range and merged in order; so the number of jobs is not seen.
 *
 * Tensors of at most one range never leave their thread, and those of at most
 * SMALL_CODES values are read once and sorted in memory.
 */

enum {
    /* Half the smallest second level cache of current server cores. */
    PIECE_BYTES = 256 << 10,
    /* What one thread takes at a time. Its tables are then added to the
     * totals, which costs as much as counting 400 KiB. */
    RANGE_BYTES = 16 << 20,
    /* Ranges between two merges: bounds memory for tensors of any size. */
    WAVE_RANGES = 256,
    /* Up to so many real numbers a tensor is read once, and wide ones are
     * sorted in memory. */
    SMALL_CODES = TP_SELECT_SMALL,
    /* A piece may begin up to this many bytes early, at the begin of a block
     * of a block format. */
    EARLY_BYTES = PIECE_BYTES / 4
};

/* Tables of a worker; all-zero between two ranges, whichever kind was used. */
union tables {
    struct tp_code_tables codes;
    union tp_select_tables select;
};

/* Sorted lists, or scratch for sorting: used when a tensor is finished. */
struct lists {
    double value[TP_CODES];
    uint64_t count[TP_CODES];
};

/* Scratch of one worker. Pointers are NULL until first needed. */
struct worker {
    unsigned char *piece;   /* PIECE_BYTES + EARLY_BYTES                  */
    void *walk;             /* TP_CHUNK_BYTES, for strided views          */
    union tables *tables;
    struct lists *lists;
    uint32_t *bins;         /* [TP_SUMMARY_BINS], all-zero between ranges */
};

struct tp_scanner {
    struct tp_pool *pool;
    unsigned size;
    struct worker workers[];
};

/* What a range leaves for the merge in order. */
struct part {
    uint32_t crc;
    uint64_t crc_bytes;
    struct tp_values values;
};

/* What a reading does with the pieces. */
enum work {
    WORK_CRC = 1,    /* CRC-32 of the bytes read                          */
    WORK_CODES = 2,  /* histogram of 8-bit or 16-bit codes into totals    */
    WORK_VALUES = 4, /* moments and top digits of wider ones              */
    WORK_SELECT = 8, /* further digits                                    */
    WORK_BLOCKS = 16 /* block format counts                               */
};

/* One scan. */
struct scan {
    struct tp_scanner *scanner;
    struct tp_tensor *tensor;
    struct tp_scan_result *result;
    unsigned worker;      /* of the calling task                          */
    enum tp_dtype real;   /* dtype of one real number                     */
    size_t size;          /* bytes of an element                          */
    size_t parts;         /* real numbers in an element                   */
    uint64_t codes;       /* real numbers the walk visits                 */
    const struct tp_number *target;    /* elementwise, or NULL            */
    const struct tp_number *blockwise; /* block format, or NULL           */
    enum tp_scale_rule rule;
    struct tp_judge judge;
    struct tp_walk walk;
    struct tp_lines lines;
    struct tp_block_plan plan;

    /* of the reading under way */
    unsigned work;
    size_t first_range;   /* of the wave                                  */
    const struct tp_select *select;
    struct part *wave;    /* [WAVE_RANGES]                                */
    pthread_mutex_t lock; /* for what follows                             */
    uint64_t *totals;     /* NULL: counts stay in the worker's tables      */
    struct tp_block_counts blocks;
    size_t failed;        /* range of *err; SIZE_MAX: none                */
    enum tp_status status;
    struct tp_error *err;

    /* merged from the waves */
    uint32_t crc;
    struct tp_values values;
};

enum tp_status tp_scanner_new(struct tp_pool *pool,
                              struct tp_scanner **scanner,
                              struct tp_error *err)
{
    unsigned size = tp_pool_size(pool);
    struct tp_scanner *made =
        calloc(1, sizeof *made + size * sizeof made->workers[0]);
    if (!made)
        return tp_fail_memory(err);
    made->pool = pool;
    made->size = size;
    *scanner = made;
    return TP_OK;
}

void tp_scanner_free(struct tp_scanner *scanner)
{
    if (!scanner)
        return;
    for (unsigned i = 0; i < scanner->size; i++) {
        struct worker *worker = &scanner->workers[i];
        free(worker->piece);
        free(worker->walk);
        free(worker->tables);
        free(worker->lists);
        free(worker->bins);
    }
    free(scanner);
}

/* Makes *memory, if it is not there: `size` zeroed bytes. */
static bool provide(void *memory, size_t size)
{
    void *made;
    memcpy(&made, memory, sizeof made);
    if (made)
        return true;
    made = calloc(1, size);
    memcpy(memory, &made, sizeof made);
    return made != NULL;
}

/* Provides what a reading of this scan needs of a worker. */
static enum tp_status prepare_worker(const struct scan *scan,
                                     struct worker *worker,
                                     struct tp_error *err)
{
    bool tables = scan->work & (WORK_CODES | WORK_VALUES | WORK_SELECT);
    if (provide(&worker->piece, PIECE_BYTES + EARLY_BYTES) &&
        (scan->walk.dense || provide(&worker->walk, TP_CHUNK_BYTES)) &&
        (!tables || provide(&worker->tables, sizeof *worker->tables)) &&
        provide(&worker->bins, TP_SUMMARY_BINS * sizeof *worker->bins))
        return TP_OK;
    return tp_fail_memory(err);
}

/* --- block formats ----------------------------------------------------- */

/* The last element at or before `at` with which a block begins. */
static int64_t block_begin(const struct scan *scan, int64_t at)
{
    const struct tp_lines *lines = &scan->lines;
    int64_t block = scan->plan.block, plane = lines->length * lines->inner;
    int64_t row = at % plane / lines->inner;
    return at - at % plane + row / block * block * lines->inner;
}

/* Whether blocks are small enough to be counted piece by piece. */
static bool blocks_fit_pieces(const struct scan *scan)
{
    uint64_t slab = (uint64_t)scan->lines.inner * scan->size;
    return slab <= EARLY_BYTES / (uint64_t)scan->plan.block;
}

/* Counts the blocks of elements [first, end), which begin and end blocks;
 * inner is 1. */
static void count_along(const struct scan *scan, const unsigned char *codes,
                        int64_t first, int64_t end,
                        struct tp_block_counts *counts)
{
    int64_t length = scan->lines.length;
    if (length % scan->plan.block == 0 && scan->lines.constant == 1) {
        tp_blocks_count(&scan->plan, codes, 1, (size_t)(end - first), counts);
        return;
    }
    while (first < end) {
        int64_t left = length - first % length, rows = 1;
        if (left > end - first)
            left = end - first;
        else if (left == length)
            rows = (end - first) / length;
        tp_blocks_count(&scan->plan, codes, (size_t)rows, (size_t)left,
                        counts);
        codes += (size_t)(rows * left) * scan->size;
        first += rows * left;
    }
}

/* The same where lines run across: inner is above 1. */
static void count_across(const struct scan *scan, const unsigned char *codes,
                         int64_t first, int64_t end,
                         struct tp_block_counts *counts)
{
    int64_t inner = scan->lines.inner, length = scan->lines.length;
    while (first < end) {
        int64_t rows = length - first / inner % length;
        if (rows > (end - first) / inner)
            rows = (end - first) / inner;
        tp_blocks_count_across(&scan->plan, codes, (size_t)rows,
                               (size_t)inner, counts);
        codes += (size_t)(rows * inner) * scan->size;
        first += rows * inner;
    }
}

static void count_blocks(const struct scan *scan, const unsigned char *codes,
                         int64_t first, int64_t end,
                         struct tp_block_counts *counts)
{
    if (scan->lines.inner == 1)
        count_along(scan, codes, first, end, counts);
    else
        count_across(scan, codes, first, end, counts);
}

/* --- one piece, one range ---------------------------------------------- */

/* What a range gathers before it takes the lock. */
struct gather {
    struct worker *worker;
    struct part *part;
    struct tp_block_counts blocks;
};

static void count_piece(const struct scan *scan, const void *codes,
                        size_t elements, struct gather *gather)
{
    size_t n = elements * scan->parts;
    union tables *tables = gather->worker->tables;
    if (scan->work & WORK_CRC) {
        size_t bytes = elements * scan->size;
        gather->part->crc =
            libdeflate_crc32(gather->part->crc, codes, bytes);
        gather->part->crc_bytes += bytes;
    }
    if (scan->work & WORK_CODES) {
        if (scan->size == scan->parts)
            tp_codes_count8(&tables->codes, codes, n);
        else
            tp_codes_count16(&tables->codes, codes, n);
    }
    if (scan->work & WORK_VALUES) {
        bool bins = scan->real != TP_FLOAT32; /* tp_select_top_bins */
        tp_values_add(scan->real, codes, n, &scan->judge,
                      &gather->part->values,
                      bins ? gather->worker->bins : NULL);
        tp_select_count_top(scan->real, codes, n, &tables->select);
    }
    if (scan->work & WORK_SELECT)
        tp_select_count(scan->select, codes, n, &tables->select);
}

/* Reads and counts elements [first, end), at most PIECE_BYTES. */
static enum tp_status do_piece(const struct scan *scan, int64_t first,
                               int64_t end, struct gather *gather,
                               struct tp_error *err)
{
    bool blocks = scan->work & WORK_BLOCKS;
    int64_t early = blocks ? block_begin(scan, first) : first;
    unsigned char *codes = gather->worker->piece;
    enum tp_status status =
        tp_walk_read(&scan->walk, early, (size_t)(end - early), codes,
                     gather->worker->walk, err);
    if (status != TP_OK)
        return status;
    count_piece(scan, codes + (size_t)(first - early) * scan->size,
                (size_t)(end - first), gather);
    if (blocks) {
        bool last = end == scan->walk.count;
        count_blocks(scan, codes, early, last ? end : block_begin(scan, end),
                     &gather->blocks);
    }
    return TP_OK;
}

/* Adds what a range counted to the totals of the scan. */
static void add_to_totals(struct scan *scan, struct gather *gather)
{
    union tables *tables = gather->worker->tables;
    pthread_mutex_lock(&scan->lock);
    if ((scan->work & WORK_CODES) && scan->totals)
        tp_codes_flush(&tables->codes, scan->totals);
    if (scan->work & WORK_VALUES) {
        tp_select_flush_top(&tables->select, scan->totals);
        tp_bins_flush(gather->worker->bins, scan->result->summary.bins);
    }
    if (scan->work & WORK_SELECT)
        tp_select_flush(scan->select, &tables->select, scan->totals);
    tp_block_counts_merge(&scan->blocks, &gather->blocks, 1);
    pthread_mutex_unlock(&scan->lock);
}

/* Keeps the error of the first range that failed, so that the message does
 * not depend on the number of jobs. */
static void keep_error(struct scan *scan, size_t range, enum tp_status status,
                       const struct tp_error *err)
{
    pthread_mutex_lock(&scan->lock);
    if (range < scan->failed) {
        scan->failed = range;
        scan->status = status;
        if (scan->err)
            *scan->err = *err;
    }
    pthread_mutex_unlock(&scan->lock);
}

static enum tp_status do_range(struct scan *scan, size_t range,
                               struct gather *gather, struct tp_error *err)
{
    int64_t step = (int64_t)(PIECE_BYTES / scan->size);
    int64_t at = (int64_t)range * (int64_t)(RANGE_BYTES / scan->size);
    int64_t end = at + (int64_t)(RANGE_BYTES / scan->size);
    end = end < scan->walk.count ? end : scan->walk.count;
    enum tp_status status = prepare_worker(scan, gather->worker, err);
    for (; status == TP_OK && at < end; at += step) {
        int64_t stop = at + step < end ? at + step : end;
        status = do_piece(scan, at, stop, gather, err);
    }
    return status;
}

/* Leaves the tables of a worker all-zero after a failure. */
static void empty_tables(struct worker *worker)
{
    if (worker->tables)
        memset(worker->tables, 0, sizeof *worker->tables);
    if (worker->bins)
        memset(worker->bins, 0, TP_SUMMARY_BINS * sizeof *worker->bins);
}

static void range_task(void *context, size_t index, unsigned worker)
{
    struct scan *scan = context;
    struct gather gather = {.worker = &scan->scanner->workers[worker],
                            .part = &scan->wave[index]};
    struct tp_error err = {.code = TP_OK};
    size_t range = scan->first_range + index;
    memset(gather.part, 0, sizeof *gather.part);
    enum tp_status status = do_range(scan, range, &gather, &err);
    if (status == TP_OK) {
        add_to_totals(scan, &gather);
    } else {
        keep_error(scan, range, status, &err);
        empty_tables(gather.worker);
    }
}

/* --- a reading --------------------------------------------------------- */

static void merge_wave(struct scan *scan, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct part *part = &scan->wave[i];
        if (scan->work & WORK_CRC)
            scan->crc = (uint32_t)crc32_combine(scan->crc, part->crc,
                                                (z_off_t)part->crc_bytes);
        if (scan->work & WORK_VALUES)
            tp_values_merge(&scan->values, &part->values);
    }
}

/* Reads the whole tensor once and does `work`. */
static enum tp_status read_all(struct scan *scan, unsigned work)
{
    uint64_t bytes = (uint64_t)scan->walk.count * scan->size;
    size_t ranges = (size_t)((bytes + RANGE_BYTES - 1) / RANGE_BYTES);
    size_t room = ranges < WAVE_RANGES ? ranges : WAVE_RANGES;
    scan->work = work;
    scan->wave = malloc((room + 1) * sizeof *scan->wave);
    if (!scan->wave)
        return tp_fail_memory(scan->err);
    for (size_t done = 0; done < ranges && scan->status == TP_OK;) {
        size_t count = ranges - done < room ? ranges - done : room;
        scan->first_range = done;
        tp_pool_for(scan->scanner->pool, count, range_task, scan);
        merge_wave(scan, count);
        done += count;
    }
    free(scan->wave);
    return scan->status;
}

/* --- checksums --------------------------------------------------------- */

static bool must_check(const struct tp_storage *storage)
{
    return storage && storage->has_crc32 && !storage->crc_checked;
}

/* Whether reading the tensor reads each byte of its storage once, as it is
 * stored. */
static bool covers_storage(const struct scan *scan)
{
    const struct tp_tensor *tensor = scan->tensor;
    return scan->walk.dense && tensor->offset == 0 && !tensor->conjugated &&
           !tensor->negated && !tensor->storage->big_endian &&
           (uint64_t)scan->walk.count * scan->size == tensor->storage->size;
}

static enum tp_status judge_crc(struct scan *scan, uint32_t computed)
{
    struct tp_storage *storage = scan->tensor->storage;
    if (computed != storage->crc32)
        return tp_fail(scan->err, TP_E_DAMAGED, storage->file_offset,
                       "wrong CRC-32: stored %08x, computed %08x",
                       (unsigned)storage->crc32, (unsigned)computed);
    storage->crc_checked = true;
    return TP_OK;
}

/*
 * Verifies a storage that the tensor shows only in part, or in another order:
 * reads it as a tensor of bytes.
 */
static enum tp_status check_storage(const struct scan *scan)
{
    struct tp_tensor bytes = {.path = "", .dtype = TP_UINT8, .ndim = 1,
                              .shape = {(int64_t)scan->tensor->storage->size},
                              .stride = {1},
                              .numel = (int64_t)scan->tensor->storage->size,
                              .storage = scan->tensor->storage};
    struct scan check = {.scanner = scan->scanner, .tensor = &bytes,
                         .size = 1, .parts = 1, .failed = SIZE_MAX,
                         .err = scan->err};
    tp_walk_any_order(&bytes, &check.walk);
    pthread_mutex_init(&check.lock, NULL);
    enum tp_status status = read_all(&check, WORK_CRC);
    pthread_mutex_destroy(&check.lock);
    if (status == TP_OK)
        status = judge_crc(&check, check.crc);
    return status;
}

/* --- wide blocks --------------------------------------------------------- */

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
};

static enum tp_status do_tile(const struct tiles *tiles, int64_t tile,
                              struct gather *gather, struct tp_error *err)
{
    const struct scan *scan = tiles->scan;
    const struct tp_lines *lines = &scan->lines;
    int64_t column = tile % tiles->across * tiles->width;
    int64_t strip = tile / tiles->across;
    int64_t row = strip % tiles->down * scan->plan.block;
    int64_t plane = strip / tiles->down;
    int64_t rows = lines->length - row, width = lines->inner - column;
    rows = rows < scan->plan.block ? rows : scan->plan.block;
    width = width < tiles->width ? width : tiles->width;
    for (int64_t i = 0; i < rows; i++) {
        int64_t first = (plane * lines->length + row + i) * lines->inner;
        unsigned char *to =
            gather->worker->piece + (size_t)(i * width) * scan->size;
        enum tp_status status =
            tp_walk_read(&scan->walk, first + column, (size_t)width, to,
                         gather->worker->walk, err);
        if (status != TP_OK)
            return status;
    }
    tp_blocks_count_across(&scan->plan, gather->worker->piece, (size_t)rows,
                           (size_t)width, &gather->blocks);
    return TP_OK;
}

static void tiles_task(void *context, size_t index, unsigned worker)
{
    const struct tiles *tiles = context;
    struct scan *scan = tiles->scan;
    struct gather gather = {.worker = &scan->scanner->workers[worker]};
    struct tp_error err = {.code = TP_OK};
    int64_t at = (int64_t)index * tiles->share, end = at + tiles->share;
    end = end < tiles->count ? end : tiles->count;
    enum tp_status status = prepare_worker(scan, gather.worker, &err);
    for (; status == TP_OK && at < end; at++)
        status = do_tile(tiles, at, &gather, &err);
    if (status == TP_OK)
        add_to_totals(scan, &gather);
    else
        keep_error(scan, index, status, &err);
}

static enum tp_status read_tiles(struct scan *scan)
{
    const struct tp_lines *lines = &scan->lines;
    int64_t block = scan->plan.block;
    struct tiles tiles = {.scan = scan};
    tiles.width = (int64_t)(PIECE_BYTES / scan->size) / block;
    tiles.across = (lines->inner + tiles.width - 1) / tiles.width;
    tiles.down = (lines->length + block - 1) / block;
    tiles.count = lines->outer * tiles.down * tiles.across;
    tiles.share = RANGE_BYTES / PIECE_BYTES;
    scan->work = WORK_BLOCKS;
    int64_t ranges = (tiles.count + tiles.share - 1) / tiles.share;
    tp_pool_for(scan->scanner->pool, (size_t)ranges, tiles_task, &tiles);
    return scan->status;
}

/* --- from counts to the result ----------------------------------------- */

static void finish_list(struct scan *scan, struct tp_code_list *list)
{
    tp_code_list_repeat(list, scan->walk.repeat);
    tp_code_list_summarize(list, scan->target, &scan->result->summary,
                           scan->result->quantile);
}

static void finish_values(struct scan *scan, const struct tp_ranks *ranks,
                          const double *ordered)
{
    struct tp_summary *summary = &scan->result->summary;
    tp_ranks_quantiles(ranks, ordered, scan->result->quantile);
    tp_values_repeat(&scan->values, scan->walk.repeat);
    summary->counts = scan->values.counts;
    summary->moments = scan->values.moments;
    summary->extrema = scan->values.extrema;
    for (int i = 0; i < TP_SUMMARY_BINS && scan->walk.repeat > 1; i++)
        summary->bins[i] *= scan->walk.repeat;
    tp_judge_close(scan->target, &summary->counts);
}

static void finish_blocks(struct scan *scan)
{
    struct tp_counts *counts = &scan->result->summary.counts;
    uint64_t repeat = scan->walk.repeat;
    counts->judged = counts->values;
    counts->upper_overflow = scan->blocks.upper_overflow * repeat;
    counts->lower_overflow = scan->blocks.lower_overflow * repeat;
    counts->underflow = scan->blocks.underflow * repeat;
    counts->subnormal = scan->blocks.subnormal * repeat;
}

/* NVFP4 scales by the largest magnitude of the whole tensor. */
static void plan_blocks(struct scan *scan)
{
    const struct tp_extrema *extrema = &scan->result->summary.extrema;
    double amax = fmax(fabs(extrema->min), fabs(extrema->max));
    tp_block_plan_init(&scan->plan, scan->blockwise, scan->rule, scan->real,
                       amax);
}

static struct tp_code_list list_in(struct lists *lists)
{
    struct tp_code_list list = {.value = lists->value, .count = lists->count};
    return list;
}

/* --- the kinds of tensors ---------------------------------------------- */

/* At most SMALL_CODES values: read once, then everything in memory. */
static enum tp_status scan_small(struct scan *scan, bool crc)
{
    struct worker *worker = &scan->scanner->workers[scan->worker];
    size_t elements = (size_t)scan->walk.count;
    size_t n = (size_t)scan->codes;
    bool narrow = scan->size / scan->parts <= 2;
    scan->work = narrow ? WORK_CODES : 0;
    enum tp_status status = prepare_worker(scan, worker, scan->err);
    if (status != TP_OK)
        return status;
    if (!provide(&worker->lists, sizeof *worker->lists))
        return tp_fail_memory(scan->err);
    const unsigned char *codes = worker->piece;
    status = tp_walk_read(&scan->walk, 0, elements, worker->piece,
                          worker->walk, scan->err);
    if (status == TP_OK && crc)
        status = judge_crc(scan, libdeflate_crc32(0, codes,
                                                  elements * scan->size));
    if (status != TP_OK)
        return status;
    if (narrow) {
        struct tp_code_list list = list_in(worker->lists);
        if (scan->size == scan->parts)
            tp_codes_count8(&worker->tables->codes, codes, n);
        else
            tp_codes_count16(&worker->tables->codes, codes, n);
        tp_codes_list_flush(scan->real, &worker->tables->codes, &list);
        finish_list(scan, &list);
    } else {
        struct tp_ranks ranks;
        double ordered[TP_RANKS] = {0};
        tp_values_add(scan->real, codes, n, &scan->judge, &scan->values,
                      worker->bins);
        tp_bins_flush(worker->bins, scan->result->summary.bins);
        tp_ranks_of(scan->values.moments.n, scan->walk.repeat, &ranks);
        /* the lists have room for 2 * TP_SELECT_SMALL keys */
        tp_select_small(scan->real, codes, n, &scan->values, &ranks,
                        worker->lists->count, ordered);
        finish_values(scan, &ranks, ordered);
    }
    if (scan->blockwise) {
        plan_blocks(scan);
        count_blocks(scan, codes, 0, scan->walk.count, &scan->blocks);
        finish_blocks(scan);
    }
    return TP_OK;
}

/* Many values of 8 or 16 bits: one reading. A single range runs here and now,
 * and leaves its counts in the tables of this worker. */
static enum tp_status scan_codes(struct scan *scan, unsigned work)
{
    bool single = (uint64_t)scan->walk.count * scan->size <= RANGE_BYTES;
    if (!single) {
        scan->totals = calloc(TP_CODES, sizeof *scan->totals);
        if (!scan->totals)
            return tp_fail_memory(scan->err);
    }
    enum tp_status status = read_all(scan, work | WORK_CODES);
    struct worker *worker = &scan->scanner->workers[scan->worker];
    if (status == TP_OK && !provide(&worker->lists, sizeof *worker->lists)) {
        empty_tables(worker);
        status = tp_fail_memory(scan->err);
    }
    if (status == TP_OK) {
        struct tp_code_list list = list_in(worker->lists);
        if (single)
            tp_codes_list_flush(scan->real, &worker->tables->codes, &list);
        else
            tp_codes_list(scan->real, scan->totals, &list);
        finish_list(scan, &list);
    }
    free(scan->totals);
    return status;
}

/* Finds the order statistics of wide values: further readings. */
static enum tp_status select_values(struct scan *scan,
                                    const struct tp_ranks *ranks,
                                    double *ordered)
{
    struct tp_select *select = malloc(sizeof *select);
    if (!select)
        return tp_fail_memory(scan->err);
    enum tp_status status = TP_OK;
    tp_select_begin(select, scan->real, &scan->values, ranks, scan->totals);
    scan->select = select;
    while (select->next != TP_SELECT_DONE && status == TP_OK) {
        memset(scan->totals, 0, TP_SELECT_ROOM * sizeof *scan->totals);
        status = read_all(scan, WORK_SELECT);
        tp_select_learn(select, scan->totals);
    }
    if (status == TP_OK)
        tp_select_values(select, ordered);
    free(select);
    return status;
}

/* Many values of 32 or 64 bits: two or three readings. */
static enum tp_status scan_values(struct scan *scan, unsigned work)
{
    scan->totals = calloc(TP_SELECT_ROOM, sizeof *scan->totals);
    if (!scan->totals)
        return tp_fail_memory(scan->err);
    struct tp_ranks ranks;
    double ordered[TP_RANKS] = {0};
    enum tp_status status = read_all(scan, work | WORK_VALUES);
    if (status == TP_OK && scan->real == TP_FLOAT32)
        tp_select_top_bins(scan->totals, &scan->values.counts,
                           scan->result->summary.bins);
    tp_ranks_of(scan->values.moments.n, scan->walk.repeat, &ranks);
    if (status == TP_OK && ranks.n > 0)
        status = select_values(scan, &ranks, ordered);
    if (status == TP_OK)
        finish_values(scan, &ranks, ordered);
    free(scan->totals);
    return status;
}

static enum tp_status scan_large(struct scan *scan, bool crc)
{
    /* MX blocks need nothing but themselves and go along, NVFP4 needs the
     * largest value first. */
    bool along = scan->blockwise && scan->blockwise->kind == TP_NUMBER_MX;
    if (along)
        plan_blocks(scan);
    along = along && blocks_fit_pieces(scan);
    unsigned work = (crc ? WORK_CRC : 0) | (along ? WORK_BLOCKS : 0);
    enum tp_status status = scan->size / scan->parts <= 2
                                ? scan_codes(scan, work)
                                : scan_values(scan, work);
    if (status == TP_OK && crc)
        status = judge_crc(scan, scan->crc);
    if (status == TP_OK && scan->blockwise && !along) {
        plan_blocks(scan);
        status = blocks_fit_pieces(scan) ? read_all(scan, WORK_BLOCKS)
                                         : read_tiles(scan);
    }
    if (status == TP_OK && scan->blockwise)
        finish_blocks(scan);
    return status;
}

/* Judging is for floating values; blocks, for real ones. */
static void set_target(struct scan *scan, const struct tp_scan_request *asked)
{
    enum tp_dtype_class kind = tp_dtype_info(scan->tensor->dtype)->kind;
    const struct tp_number *target = asked->target;
    if (kind == TP_CLASS_INTEGER || !target)
        target = NULL;
    else if (target->kind == TP_NUMBER_ELEMENT)
        scan->target = target;
    else if (kind == TP_CLASS_FLOAT)
        scan->blockwise = target;
    scan->judge = tp_judge_of(scan->target);
    scan->rule = tp_scale_rule_by_name(asked->scale_rule);
    if (scan->rule == TP_SCALE_COUNT)
        scan->rule = TP_SCALE_FLOOR;
}

static void set_up(struct scan *scan, const struct tp_scan_request *asked)
{
    const struct tp_tensor *tensor = scan->tensor;
    const struct tp_dtype_info *info = tp_dtype_info(tensor->dtype);
    scan->worker = asked->worker;
    scan->size = info->size;
    scan->parts = info->parts;
    scan->real = info->real;
    scan->failed = SIZE_MAX;
    set_target(scan, asked);
    tp_walk_any_order(tensor, &scan->walk);
    scan->codes = (uint64_t)scan->walk.count * scan->parts;
    if (scan->blockwise)
        tp_walk_lines(tensor, tensor->ndim > 0 ? tensor->ndim - 1 : 0,
                      &scan->lines);
}

enum tp_status tp_scan(struct tp_scanner *scanner, struct tp_tensor *tensor,
                       const struct tp_scan_request *request,
                       struct tp_scan_result *result, struct tp_error *err)
{
    struct scan scan;
    memset(&scan, 0, offsetof(struct scan, plan));
    memset(&scan.work, 0, sizeof scan - offsetof(struct scan, work));
    scan.scanner = scanner;
    scan.tensor = tensor;
    scan.result = result;
    scan.err = err;
    memset(result, 0, sizeof *result);
    set_up(&scan, request);
    if (tensor->numel == 0) {
        for (int i = 0; i < TP_QUANTILES; i++)
            result->quantile[i] = NAN;
        return TP_OK;
    }
    bool crc = must_check(tensor->storage);
    bool crc_apart = crc && !covers_storage(&scan);
    enum tp_status status = TP_OK;
    if (crc_apart)
        status = check_storage(&scan);
    pthread_mutex_init(&scan.lock, NULL);
    if (status == TP_OK && scan.codes <= SMALL_CODES)
        status = scan_small(&scan, crc && !crc_apart);
    else if (status == TP_OK)
        status = scan_large(&scan, crc && !crc_apart);
    pthread_mutex_destroy(&scan.lock);
    result->summary.counts.numel = (uint64_t)tensor->numel;
    return status;
}
