/* SPDX-License-Identifier: MIT */
#include "scan/pass.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/*
 * Ranges of 16 MiB are what the pool shares out, pieces of 256 KiB what is
 * read and given to each sink while it is in the cache: one call per sink and
 * piece, so that sinks known by pointer alone cost nothing that shows. Sinks
 * of blocks need them whole: a piece begins early, with the block that the one
 * before it ended in, rather than sinks keeping the begun one from piece to
 * piece. Where a row of blocks is larger than that, a second reading goes
 * through tiles, one block high and as wide as fits, read row by row.
 *
 * Parts are merged after a batch of ranges, which bounds memory for tensors of
 * any size; merging as ranges end would need a queue, for a wait that is short
 * against a batch. The order of merges is that of the ranges.
 */

enum {
    /* Ranges between two merges. */
    BATCH_RANGES = 256,
    /* What a part or scratch of a sink is aligned to. */
    ALIGNMENT = 16
};

/* --- readers -------------------------------------------------------------- */

enum tp_status tp_readers_init(struct tp_readers *readers, struct tp_pool *pool,
                               struct tp_error *err)
{
    *readers = (struct tp_readers){
        .pool = pool, .isa = tp_isa_best(), .count = tp_pool_size(pool)};
    readers->reader = calloc(readers->count, sizeof *readers->reader);
    if (!readers->reader) {
        readers->count = 0; /* nothing to clear */
        return tp_fail_memory(err);
    }
    for (unsigned i = 0; i < readers->count; i++)
        readers->reader[i].number = i;
    return TP_OK;
}

void tp_readers_clear(struct tp_readers *readers)
{
    for (unsigned i = 0; i < readers->count; i++) {
        struct tp_reader *reader = &readers->reader[i];
        free(reader->piece);
        free(reader->beside);
        free(reader->walk);
        free(reader->parts.memory);
        for (int j = 0; j < TP_PASS_SINKS; j++)
            free(reader->scratch[j].memory);
    }
    free(readers->reader);
}

enum tp_status tp_readers_go_on(const struct tp_readers *readers,
                                struct tp_error *err)
{
    if (readers->stop && *readers->stop)
        return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    return TP_OK;
}

enum tp_status tp_reader_prepare(struct tp_reader *reader,
                                 const struct tp_walk *walk,
                                 const struct tp_walk *beside,
                                 struct tp_error *err)
{
    const bool dense = walk->dense && (!beside || beside->dense);
    if (tp_provide(&reader->piece, TP_PIECE_BYTES + TP_EARLY_BYTES) &&
        (!beside || tp_provide(&reader->beside, TP_PIECE_BYTES)) &&
        (dense || tp_provide(&reader->walk, TP_CHUNK_BYTES)))
        return TP_OK;
    return tp_fail_memory(err);
}

/* Makes room for `size` bytes; they are all-zero, as those there were. */
static bool provide_scratch(struct tp_scratch *scratch, size_t size)
{
    if (size <= scratch->size)
        return true;
    free(scratch->memory);
    scratch->memory = calloc(1, size);
    scratch->size = scratch->memory ? size : 0;
    return scratch->memory != NULL;
}

/* Releases them: most of their memory was never touched, and need not be. */
static void empty_scratch(struct tp_reader *reader)
{
    for (int i = 0; i < TP_PASS_SINKS; i++) {
        free(reader->scratch[i].memory);
        reader->scratch[i] = (struct tp_scratch){.size = 0};
    }
}

/* --- failures ------------------------------------------------------------- */

void tp_failure_begin(struct tp_failure *failure)
{
    pthread_mutex_init(&failure->lock, NULL);
    failure->at = SIZE_MAX;
    failure->status = TP_OK;
}

void tp_failure_keep(struct tp_failure *failure, size_t at,
                     enum tp_status status, const struct tp_error *err)
{
    pthread_mutex_lock(&failure->lock);
    if (at < failure->at) {
        failure->at = at;
        failure->status = status;
        failure->err = *err;
    }
    pthread_mutex_unlock(&failure->lock);
}

enum tp_status tp_failure_end(struct tp_failure *failure, struct tp_error *err)
{
    pthread_mutex_destroy(&failure->lock);
    if (failure->status != TP_OK && err)
        *err = failure->err;
    return failure->status;
}

/* --- passes --------------------------------------------------------------- */

void tp_pass_init(struct tp_pass *pass, struct tp_readers *readers,
                  unsigned worker, const struct tp_tensor *tensor,
                  struct tp_error *err)
{
    const struct tp_dtype_info *info = tp_dtype_info(tensor->dtype);
    *pass = (struct tp_pass){.readers = readers,
                             .worker = worker,
                             .real = info->real,
                             .size = info->size,
                             .parts = info->parts,
                             .err = err};
    tp_walk_any_order(tensor, &pass->walk);
}

struct tp_span tp_piece_span(const struct tp_pass *pass,
                             const struct tp_piece *piece)
{
    const size_t skip = (size_t)(piece->fresh - piece->begin) * pass->size;
    return (struct tp_span){pass->real, piece->codes + skip,
                            (size_t)(piece->end - piece->fresh) * pass->parts};
}

struct tp_span tp_piece_span_beside(const struct tp_pass *pass,
                                    const struct tp_piece *piece)
{
    const struct tp_beside *beside = pass->beside;
    const size_t skip = (size_t)(piece->fresh - piece->begin) * beside->size;
    return (struct tp_span){beside->real, piece->beside + skip,
                            (size_t)(piece->end - piece->fresh) * pass->parts};
}

struct tp_block_cut tp_piece_blocks(const struct tp_pass *pass,
                                    const struct tp_piece *piece)
{
    return (struct tp_block_cut){.grid = piece->grid,
                                 .codes = piece->codes,
                                 .first = piece->begin,
                                 .end = piece->whole,
                                 .size = pass->size};
}

/* --- one reading ---------------------------------------------------------- */

/* Bytes of an element, both of two: what pieces fit. */
static size_t together(const struct tp_pass *pass)
{
    return pass->size + (pass->beside ? pass->beside->size : 0);
}

/* The larger of two: what ranges fit. */
static size_t widest(const struct tp_pass *pass)
{
    const size_t beside = pass->beside ? pass->beside->size : 0;
    return beside > pass->size ? beside : pass->size;
}

/* Tiles are numbered along the rows of blocks, all of a range's share at a
 * time. */
struct tiles {
    int64_t width;  /* columns of a tile; 0: pieces, no tiles             */
    int64_t across; /* tiles side by side                                 */
    int64_t down;   /* rows of tiles in [length]                          */
    int64_t count;  /* in all                                             */
    int64_t share;  /* of one range                                       */
    bool rows;      /* which is a whole number of rows of tiles           */
};

/* Sinks that are fed together. */
struct run {
    const struct tp_pass *pass;
    size_t count;
    const struct tp_sink_use *uses[TP_PASS_SINKS];
    size_t part_at[TP_PASS_SINKS];
    int slot[TP_PASS_SINKS]; /* of the scratch; -1: none                  */
    bool blocks;
    struct tiles tiles;
    size_t part_bytes; /* of all parts of a range                         */
    size_t ranges, first_range; /* of the batch                           */
    unsigned char *parts;       /* [ranges of a batch][part_bytes]        */
    struct tp_failure *failure;
};

enum which { SINKS_ALL, SINKS_OF_VALUES, SINKS_OF_BLOCKS };

static size_t align(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The sinks of one kind; the slot of a scratch does not depend on it. */
static void choose(struct run *run, const struct tp_sink_use *uses,
                   size_t count, enum which which)
{
    int slot = 0;
    assert(count <= TP_PASS_SINKS);
    for (size_t i = 0; i < count; i++) {
        const struct tp_sink *sink = uses[i].sink;
        const int its = sink->scratch_size ? slot++ : -1;
        if (which != SINKS_ALL && sink->blocks != (which == SINKS_OF_BLOCKS))
            continue;
        run->uses[run->count] = &uses[i];
        run->slot[run->count] = its;
        run->part_at[run->count++] = run->part_bytes;
        run->part_bytes += align(sink->part_size * uses[i].count);
        run->blocks = run->blocks || sink->blocks;
    }
}

static void begin_range(const struct run *run, struct tp_range *range,
                        struct tp_reader *reader, unsigned char *parts)
{
    range->pass = run->pass;
    range->reader = reader;
    range->blocks = run->blocks;
    range->rows = run->tiles.rows;
    range->count = run->count;
    for (size_t i = 0; i < run->count; i++)
        range->sinks[i] =
            (struct tp_range_sink){.sink = run->uses[i]->sink,
                                   .state = run->uses[i]->state,
                                   .part = parts ? parts + run->part_at[i]
                                                 : NULL};
    if (run->part_bytes > 0)
        memset(parts, 0, run->part_bytes);
}

/* Provides the scratch of a range's worker. */
static bool prepare_sinks(const struct run *run, struct tp_range *range)
{
    for (size_t i = 0; i < run->count; i++) {
        if (run->slot[i] < 0)
            continue;
        struct tp_scratch *scratch = &range->reader->scratch[run->slot[i]];
        const struct tp_sink_use *use = run->uses[i];
        if (!provide_scratch(scratch, use->sink->scratch_size * use->count))
            return false;
        range->sinks[i].scratch = scratch->memory;
    }
    return true;
}

static void feed(const struct tp_range *range, const struct tp_piece *piece)
{
    for (size_t i = 0; i < range->count; i++) {
        const struct tp_range_sink *at = &range->sinks[i];
        at->sink->piece(range->pass, piece, at->state, at->part, at->scratch);
    }
}

static void flush(const struct tp_range *range)
{
    for (size_t i = 0; i < range->count; i++) {
        const struct tp_range_sink *at = &range->sinks[i];
        if (at->sink->flush)
            at->sink->flush(at->state, at->scratch);
    }
}

static void merge(const struct run *run, const unsigned char *parts)
{
    for (size_t i = 0; i < run->count; i++)
        if (run->uses[i]->sink->merge)
            run->uses[i]->sink->merge(run->uses[i]->state,
                                      parts + run->part_at[i]);
}

/* --- ranges of pieces ----------------------------------------------------- */

struct tp_piece tp_range_piece(const struct tp_range *range, int64_t first,
                               int64_t end)
{
    const struct tp_pass *pass = range->pass;
    struct tp_piece piece = {.begin = first,
                             .end = end,
                             .fresh = first,
                             .whole = end,
                             .grid = &pass->grid};
    if (!range->blocks)
        return piece;
    piece.begin = tp_block_grid_begin(&pass->grid, first);
    if (end < pass->walk.count)
        piece.whole = tp_block_grid_begin(&pass->grid, end);
    return piece;
}

/* Reads the fresh elements of a piece from the second walk. */
static enum tp_status read_beside(const struct tp_range *range,
                                  struct tp_piece *piece, struct tp_error *err)
{
    struct tp_reader *reader = range->reader;
    piece->beside = reader->beside;
    return tp_of_second(
        tp_walk_read(&range->pass->beside->walk, piece->begin,
                     (size_t)(piece->end - piece->begin), reader->beside,
                     reader->walk, err),
        err);
}

static enum tp_status read_pieces(const struct tp_range *range,
                                  struct tp_error *err)
{
    const struct tp_pass *pass = range->pass;
    struct tp_reader *reader = range->reader;
    const int64_t step = (int64_t)(TP_PIECE_BYTES / together(pass));
    enum tp_status status = TP_OK;
    for (int64_t at = range->first; at < range->end && status == TP_OK;
         at += step) {
        const int64_t end = at + step < range->end ? at + step : range->end;
        struct tp_piece piece = tp_range_piece(range, at, end);
        piece.codes = reader->piece;
        status = tp_readers_go_on(pass->readers, err);
        if (status == TP_OK)
            status = tp_walk_read(&pass->walk, piece.begin,
                                  (size_t)(end - piece.begin), reader->piece,
                                  reader->walk, err);
        if (status == TP_OK && pass->beside)
            status = read_beside(range, &piece, err);
        if (status == TP_OK)
            feed(range, &piece);
    }
    return status;
}

/* --- ranges of tiles ------------------------------------------------------ */

static void make_tiles(struct run *run)
{
    const struct tp_pass *pass = run->pass;
    const struct tp_lines *lines = &pass->grid.lines;
    const int64_t block = pass->grid.block;
    struct tiles *tiles = &run->tiles;
    bool device = pass->device != NULL;
    for (size_t i = 0; i < run->count; i++)
        device = device && run->uses[i]->sink->device;
    tiles->width = (int64_t)(TP_PIECE_BYTES / pass->size) / block;
    tiles->across = (lines->inner + tiles->width - 1) / tiles->width;
    tiles->down = (lines->length + block - 1) / block;
    tiles->count = lines->outer * tiles->down * tiles->across;
    tiles->share = TP_RANGE_BYTES / TP_PIECE_BYTES;
    const int64_t row = block * lines->inner * (int64_t)pass->size;
    tiles->rows = device && (uint64_t)row <= pass->device->row_bytes;
    if (tiles->rows)
        tiles->share = TP_RANGE_BYTES / row * tiles->across;
}

/* The first element of a row of tiles; these follow each other. */
static int64_t row_begin(const struct run *run, int64_t row)
{
    const struct tp_lines *lines = &run->pass->grid.lines;
    return (row / run->tiles.down * lines->length +
            row % run->tiles.down * run->pass->grid.block) *
           lines->inner;
}

/* Rows and columns of a tile, as a grid of their own; returns its first
 * element. */
static int64_t tile_grid(const struct run *run, int64_t tile,
                         struct tp_block_grid *grid)
{
    const struct tiles *tiles = &run->tiles;
    const struct tp_lines *lines = &run->pass->grid.lines;
    const int64_t block = run->pass->grid.block;
    const int64_t column = tile % tiles->across * tiles->width;
    const int64_t strip = tile / tiles->across;
    const int64_t high = lines->length - strip % tiles->down * block;
    const int64_t wide = lines->inner - column;
    grid->block = block;
    grid->lines = (struct tp_lines){
        .outer = 1,
        .length = high < block ? high : block,
        .inner = wide < tiles->width ? wide : tiles->width,
        .constant = 1};
    return row_begin(run, strip) + column;
}

static enum tp_status read_tile(const struct run *run, int64_t tile,
                                const struct tp_range *range,
                                struct tp_error *err)
{
    const struct tp_pass *pass = run->pass;
    struct tp_block_grid grid;
    const int64_t first = tile_grid(run, tile, &grid);
    const int64_t width = grid.lines.inner;
    unsigned char *to = range->reader->piece;
    for (int64_t i = 0; i < grid.lines.length; i++) {
        enum tp_status status = tp_readers_go_on(pass->readers, err);
        if (status == TP_OK)
            status = tp_walk_read(&pass->walk,
                                  first + i * pass->grid.lines.inner,
                                  (size_t)width, to, range->reader->walk, err);
        if (status != TP_OK)
            return status;
        to += (size_t)width * pass->size;
    }
    const int64_t all = grid.lines.length * width;
    const struct tp_piece piece = {.codes = range->reader->piece,
                                   .end = all,
                                   .whole = all,
                                   .grid = &grid};
    feed(range, &piece);
    return TP_OK;
}

/* --- the loop over ranges ------------------------------------------------- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Sets what the range covers: elements, where it is whole rows of tiles. */
static void place_range(const struct run *run, size_t number,
                        struct tp_range *range)
{
    const struct tiles *tiles = &run->tiles;
    const int64_t share = tiles->width
                              ? tiles->share
                              : (int64_t)(TP_RANGE_BYTES / widest(run->pass));
    const int64_t all = tiles->width ? tiles->count : run->pass->walk.count;
    range->first = (int64_t)number * share;
    range->end = least(range->first + share, all);
    if (!tiles->rows)
        return;
    range->first = row_begin(run, range->first / tiles->across);
    range->end = row_begin(run, range->end / tiles->across);
}

static enum tp_status read_range(const struct run *run, size_t number,
                                 const struct tp_range *range,
                                 struct tp_error *err)
{
    const struct tiles *tiles = &run->tiles;
    if (tiles->width == 0)
        return read_pieces(range, err);
    int64_t at = (int64_t)number * tiles->share;
    const int64_t end = least(at + tiles->share, tiles->count);
    enum tp_status status = TP_OK;
    for (; at < end && status == TP_OK; at++)
        status = read_tile(run, at, range, err);
    return status;
}

static void range_task(void *context, size_t index, unsigned worker)
{
    struct run *run = context;
    const struct tp_pass *pass = run->pass;
    struct tp_reader *reader = &pass->readers->reader[worker];
    unsigned char *parts = run->parts + index * run->part_bytes;
    const size_t number = run->first_range + index;
    struct tp_error err = {.code = TP_OK};
    struct tp_range range = {.lock = &run->failure->lock};
    begin_range(run, &range, reader, parts);
    place_range(run, number, &range);
    if (pass->device && (run->tiles.width == 0 || run->tiles.rows)) {
        if (pass->device->range(&range))
            return;
        begin_range(run, &range, reader, parts);
    }
    enum tp_status status = tp_reader_prepare(
        reader, &pass->walk, pass->beside ? &pass->beside->walk : NULL, &err);
    if (status == TP_OK && !prepare_sinks(run, &range))
        status = tp_fail_memory(&err);
    if (status == TP_OK)
        status = read_range(run, number, &range, &err);
    if (status == TP_OK) {
        pthread_mutex_lock(range.lock);
        flush(&range);
        pthread_mutex_unlock(range.lock);
    } else {
        tp_failure_keep(run->failure, number, status, &err);
        empty_scratch(reader);
    }
}

static size_t count_ranges(const struct run *run)
{
    const struct tp_pass *pass = run->pass;
    const uint64_t share = run->tiles.width ? (uint64_t)run->tiles.share
                                            : TP_RANGE_BYTES;
    const uint64_t all = run->tiles.width ? (uint64_t)run->tiles.count
                                          : (uint64_t)pass->walk.count *
                                                widest(pass);
    return (size_t)((all + share - 1) / share);
}

/* Reads for the sinks of a run. */
static enum tp_status read_once(struct run *run)
{
    const struct tp_pass *pass = run->pass;
    const size_t ranges = count_ranges(run);
    const size_t room = ranges < BATCH_RANGES ? ranges : BATCH_RANGES;
    struct tp_failure failure;
    run->parts = malloc(room * run->part_bytes + 1);
    if (!run->parts)
        return tp_fail_memory(pass->err);
    tp_failure_begin(&failure);
    run->failure = &failure;
    for (size_t done = 0; done < ranges && failure.status == TP_OK;) {
        const size_t count = ranges - done < room ? ranges - done : room;
        run->first_range = done;
        tp_pool_for(pass->readers->pool, count, range_task, run);
        for (size_t i = 0; i < count && failure.status == TP_OK; i++)
            merge(run, run->parts + i * run->part_bytes);
        done += count;
    }
    free(run->parts);
    return tp_failure_end(&failure, pass->err);
}

/* Whether blocks are small enough to be taken piece by piece. */
static bool do_blocks_fit(const struct tp_pass *pass,
                          const struct tp_sink_use *uses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (uses[i].sink->blocks)
            return tp_block_grid_fits(&pass->grid, pass->size, TP_EARLY_BYTES);
    return true;
}

enum tp_status tp_pass_run(const struct tp_pass *pass,
                           const struct tp_sink_use *uses, size_t count)
{
    const bool fit = do_blocks_fit(pass, uses, count);
    struct run run = {.pass = pass};
    choose(&run, uses, count, fit ? SINKS_ALL : SINKS_OF_VALUES);
    enum tp_status status = run.count > 0 ? read_once(&run) : TP_OK;
    if (fit || status != TP_OK)
        return status;
    struct run tiled = {.pass = pass};
    choose(&tiled, uses, count, SINKS_OF_BLOCKS);
    make_tiles(&tiled);
    return read_once(&tiled);
}

enum tp_status tp_pass_memory(const struct tp_pass *pass,
                              const struct tp_sink_use *uses, size_t count,
                              const void *codes)
{
    struct tp_reader *reader = &pass->readers->reader[pass->worker];
    struct run run = {.pass = pass};
    struct tp_range range = {.end = pass->walk.count};
    choose(&run, uses, count, SINKS_ALL);
    if (!provide_scratch(&reader->parts, run.part_bytes))
        return tp_fail_memory(pass->err);
    begin_range(&run, &range, reader, reader->parts.memory);
    if (!prepare_sinks(&run, &range))
        return tp_fail_memory(pass->err);
    struct tp_piece piece = tp_range_piece(&range, 0, range.end);
    piece.codes = codes;
    feed(&range, &piece);
    flush(&range);
    merge(&run, reader->parts.memory);
    return TP_OK;
}

bool tp_pass_is_single(const struct tp_pass *pass,
                       const struct tp_sink_use *uses, size_t count)
{
    return !pass->device && do_blocks_fit(pass, uses, count) &&
           (uint64_t)pass->walk.count * pass->size <= TP_RANGE_BYTES;
}

void *tp_pass_scratch(const struct tp_pass *pass,
                      const struct tp_sink_use *uses,
                      const struct tp_sink *sink)
{
    const struct tp_reader *reader = &pass->readers->reader[pass->worker];
    int slot = 0;
    for (; uses->sink != sink; uses++)
        slot += uses->sink->scratch_size > 0;
    return reader->scratch[slot].memory;
}

void tp_pass_empty(const struct tp_pass *pass)
{
    empty_scratch(&pass->readers->reader[pass->worker]);
}
