/* SPDX-License-Identifier: MIT */
#include "scan/pass.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/limits.h"

/* Makes *memory, if it is not there: `size` zeroed bytes. */
bool tp_scan_provide(void *memory, size_t size)
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
enum tp_status tp_scan_prepare(const struct scan *scan, struct worker *worker,
                               struct tp_error *err)
{
    bool tables = scan->work & (WORK_CODES | WORK_VALUES | WORK_SELECT);
    if (tp_scan_provide(&worker->piece, PIECE_BYTES + EARLY_BYTES) &&
        (scan->walk.dense || tp_scan_provide(&worker->walk, TP_CHUNK_BYTES)) &&
        (!tables || tp_scan_provide(&worker->tables, sizeof *worker->tables)) &&
        tp_scan_casts_prepare(scan, worker) &&
        tp_scan_provide(&worker->bins, TP_SUMMARY_BINS * sizeof *worker->bins))
        return TP_OK;
    return tp_fail_memory(err);
}

/* Leaves the tables of a worker all-zero after a failure. */
void tp_scan_empty(struct worker *worker)
{
    if (worker->tables)
        memset(worker->tables, 0, sizeof *worker->tables);
    if (worker->bins)
        memset(worker->bins, 0, TP_SUMMARY_BINS * sizeof *worker->bins);
    for (int i = 0; i < TP_SCAN_SPECS; i++)
        if (worker->tally[i])
            memset(worker->tally[i], 0, sizeof *worker->tally[i]);
}

void tp_scan_count_codes(const struct scan *scan, struct worker *worker,
                         const void *codes, size_t n)
{
    if (scan->size == scan->parts)
        tp_codes_count8(&worker->tables->codes, codes, n);
    else
        tp_codes_count16(&worker->tables->codes, codes, n);
}

static void count_piece(const struct scan *scan, const void *codes,
                        size_t elements, struct gather *gather)
{
    size_t n = elements * scan->parts;
    struct tp_span span = {scan->real, codes, n};
    if (scan->work & WORK_CRC) {
        size_t bytes = elements * scan->size;
        gather->part->crc = libdeflate_crc32(gather->part->crc, codes, bytes);
        gather->part->crc_bytes += bytes;
    }
    if (scan->work & WORK_CODES)
        tp_scan_count_codes(scan, gather->worker, codes, n);
    if (scan->work & WORK_VALUES) {
        bool bins = scan->real != TP_FLOAT32; /* tp_select_top_bins */
        tp_values_add(&span, &scan->judge, &gather->part->values,
                      bins ? gather->worker->bins : NULL);
        tp_select_count_top(&span, &gather->worker->tables->select);
    }
    if (scan->work & WORK_SELECT)
        tp_select_count(scan->select, &span, &gather->worker->tables->select);
    tp_scan_cast_values(scan, gather, codes, n);
}

/* Reads and counts elements [first, end), at most PIECE_BYTES. */
static enum tp_status do_piece(const struct scan *scan, int64_t first,
                               int64_t end, struct gather *gather,
                               struct tp_error *err)
{
    bool blocks = scan->work & WORK_ANY_BLOCKS;
    int64_t early = blocks ? tp_scan_block_begin(scan, first) : first;
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
        tp_scan_count_blocks(scan, codes, early,
                             last ? end : tp_scan_block_begin(scan, end),
                             gather);
    }
    return TP_OK;
}

static enum tp_status do_range(struct scan *scan, size_t range,
                               struct gather *gather, struct tp_error *err)
{
    int64_t step = (int64_t)(PIECE_BYTES / scan->size);
    int64_t at = (int64_t)range * (int64_t)(RANGE_BYTES / scan->size);
    int64_t end = at + (int64_t)(RANGE_BYTES / scan->size);
    end = end < scan->walk.count ? end : scan->walk.count;
    enum tp_status status = tp_scan_prepare(scan, gather->worker, err);
    for (; status == TP_OK && at < end; at += step) {
        int64_t stop = at + step < end ? at + step : end;
        status = tp_scan_go_on(scan->scanner, err);
        if (status == TP_OK)
            status = do_piece(scan, at, stop, gather, err);
    }
    return status;
}

/* Adds what a range counted to the totals of the scan. */
void tp_scan_add(struct scan *scan, struct gather *gather)
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
    tp_scan_casts_add(scan, gather->worker);
    pthread_mutex_unlock(&scan->lock);
}

/* Keeps the error of the first range that failed, so that the message does
 * not depend on the number of jobs. */
void tp_scan_keep_error(struct scan *scan, size_t range, enum tp_status status,
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

static void range_task(void *context, size_t index, unsigned worker)
{
    struct scan *scan = context;
    struct gather gather = {.worker = &scan->scanner->workers[worker],
                            .part = &scan->wave[index]};
    struct tp_error err = {.code = TP_OK};
    size_t range = scan->first_range + index;
    size_t casts = scan->casts.count;
    struct tp_quant_error *errors = scan->wave_errors + index * casts;
    memset(gather.part, 0, sizeof *gather.part);
    memset(errors, 0, casts * sizeof *errors);
    gather.part->errors = errors;
    gather.errors = errors;
    struct scan_lane lane;
    if (tp_scan_lane(scan, gather.worker, &lane) &&
        tp_scan_device_can(scan, &lane) &&
        tp_scan_range_there(scan, range, &gather, &lane))
        return;
    enum tp_status status = do_range(scan, range, &gather, &err);
    if (status == TP_OK) {
        tp_scan_add(scan, &gather);
    } else {
        tp_scan_keep_error(scan, range, status, &err);
        tp_scan_empty(gather.worker);
    }
}

static void merge_wave(struct scan *scan, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct part *part = &scan->wave[i];
        if (scan->work & WORK_CRC)
            scan->crc = (uint32_t)crc32_combine(scan->crc, part->crc,
                                                (z_off_t)part->crc_bytes);
        if (scan->work & WORK_VALUES)
            tp_values_merge(&scan->values, &part->values);
        tp_scan_casts_merge(scan, part->errors);
    }
}

/* Reads the whole tensor once and does `work`. */
enum tp_status tp_scan_read(struct scan *scan, unsigned work)
{
    uint64_t bytes = (uint64_t)scan->walk.count * scan->size;
    size_t ranges = (size_t)((bytes + RANGE_BYTES - 1) / RANGE_BYTES);
    size_t room = ranges < WAVE_RANGES ? ranges : WAVE_RANGES;
    scan->work = work;
    scan->wave = malloc((room + 1) * sizeof *scan->wave);
    scan->wave_errors =
        malloc((room * scan->casts.count + 1) * sizeof *scan->wave_errors);
    if (!scan->wave || !scan->wave_errors) {
        free(scan->wave);
        free(scan->wave_errors);
        return tp_fail_memory(scan->err);
    }
    for (size_t done = 0; done < ranges && scan->status == TP_OK;) {
        size_t count = ranges - done < room ? ranges - done : room;
        scan->first_range = done;
        tp_pool_for(scan->scanner->pool, count, range_task, scan);
        merge_wave(scan, count);
        done += count;
    }
    free(scan->wave);
    free(scan->wave_errors);
    return scan->status;
}
