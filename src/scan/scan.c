/* SPDX-License-Identifier: MIT */
#include "scan/scan.h"

#include <libdeflate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan/pass.h"
#include "stats/quantile.h"

enum tp_status tp_scanner_new(struct tp_pool *pool, struct tp_scanner **scanner,
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

void tp_scanner_stop_on(struct tp_scanner *scanner,
                        const volatile sig_atomic_t *stop)
{
    scanner->stop = stop;
}

void tp_scanner_use(struct tp_scanner *scanner,
                    struct tp_device_session *device)
{
    scanner->device = device;
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
        free(worker->plan);
        for (int j = 0; j < TP_SCAN_SPECS; j++) {
            free(worker->tally[j]);
            free(worker->tally_plan[j]);
        }
        free(worker->ranker[0]);
        free(worker->ranker[1]);
        free(worker->ahead);
    }
    free(scanner);
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
    struct tp_tensor bytes = {.path = "",
                              .dtype = TP_UINT8,
                              .ndim = 1,
                              .shape = {(int64_t)scan->tensor->storage->size},
                              .stride = {1},
                              .numel = (int64_t)scan->tensor->storage->size,
                              .storage = scan->tensor->storage};
    struct scan check = {.scanner = scan->scanner,
                         .tensor = &bytes,
                         .size = 1,
                         .parts = 1,
                         .failed = SIZE_MAX,
                         .err = scan->err};
    tp_walk_any_order(&bytes, &check.walk);
    pthread_mutex_init(&check.lock, NULL);
    enum tp_status status = tp_scan_read(&check, WORK_CRC);
    pthread_mutex_destroy(&check.lock);
    if (status == TP_OK)
        status = judge_crc(&check, check.crc);
    return status;
}

/* --- from counts to the result ----------------------------------------- */

static void finish_list(struct scan *scan, struct tp_code_list *list)
{
    tp_scan_casts_list(scan, list);
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

/*
 * Makes the plan of the calling worker fit. An MX plan often does already;
 * NVFP4 scales by the largest magnitude of the whole tensor.
 */
static enum tp_status plan_blocks(struct scan *scan)
{
    struct worker *worker = &scan->scanner->workers[scan->worker];
    if (!tp_scan_provide(&worker->plan, sizeof *worker->plan))
        return tp_fail_memory(scan->err);
    struct tp_block_plan *plan = worker->plan;
    const struct tp_extrema *extrema = &scan->result->summary.extrema;
    double amax = fmax(fabs(extrema->min), fabs(extrema->max));
    if (scan->blockwise->kind != TP_NUMBER_MX ||
        plan->number != scan->blockwise || plan->rule != scan->rule ||
        plan->dtype != scan->real)
        tp_block_plan_init(plan, scan->blockwise, scan->rule, scan->real, amax);
    scan->plan = plan;
    return TP_OK;
}

static struct tp_code_list list_in(struct lists *lists)
{
    struct tp_code_list list = {.value = lists->value, .count = lists->count};
    return list;
}

/* --- the kinds of tensors ---------------------------------------------- */

/* At most SMALL_CODES values, in memory; and their codes, if a device has
 * counted them. */
static enum tp_status small_codes(struct scan *scan, struct worker *worker,
                                  const struct tp_device_list *counted)
{
    struct tp_code_list list = list_in(worker->lists);
    struct gather gather = {.worker = worker};
    if (scan->casts.works & WORK_TALLY) {
        enum tp_status status = tp_scan_casts_begin(scan, false);
        if (status != TP_OK)
            return status;
        scan->work = WORK_TALLY;
        tp_scan_count_blocks(scan, scan->small, 0, scan->walk.count, &gather);
    }
    if (counted) {
        tp_codes_list_entries(scan->real, counted->entries, counted->length,
                              &list);
    } else {
        tp_scan_count_codes(scan, worker, scan->small, (size_t)scan->codes);
        tp_codes_list_flush(scan->real, &worker->tables->codes, &list);
    }
    finish_list(scan, &list);
    return TP_OK;
}

static void small_values(struct scan *scan, struct worker *worker)
{
    struct tp_span span = {scan->real, scan->small, (size_t)scan->codes};
    struct tp_ranks ranks;
    double ordered[TP_RANKS] = {0};
    tp_values_add(&span, &scan->judge, &scan->values, worker->bins);
    tp_bins_flush(worker->bins, scan->result->summary.bins);
    tp_ranks_of(scan->values.moments.n, scan->walk.repeat, &ranks);
    /* the lists have room for 2 * TP_SELECT_SMALL keys */
    tp_select_small(&span, &scan->values, &ranks, worker->lists->count,
                    ordered);
    finish_values(scan, &ranks, ordered);
}

/* What blocks make of them: counts for the target, and casts. */
static enum tp_status small_blocks(struct scan *scan, struct worker *worker)
{
    enum tp_status status = TP_OK;
    struct gather gather = {.worker = worker};
    if (scan->blockwise) {
        status = plan_blocks(scan);
        if (status != TP_OK)
            return status;
        scan->work = WORK_BLOCKS;
        tp_scan_count_blocks(scan, scan->small, 0, scan->walk.count, &gather);
        scan->blocks = gather.blocks;
        finish_blocks(scan);
    }
    return tp_scan_casts_direct(scan, scan->small);
}

/* At most SMALL_CODES values: read once, then everything in memory. */
static enum tp_status scan_small(struct scan *scan, bool crc,
                                 const struct tp_device_list *counted)
{
    struct worker *worker = &scan->scanner->workers[scan->worker];
    size_t elements = (size_t)scan->walk.count;
    bool narrow = scan->size / scan->parts <= 2;
    scan->work = narrow ? WORK_CODES : 0;
    enum tp_status status = tp_scan_prepare(scan, worker, scan->err);
    if (status != TP_OK)
        return status;
    if (!tp_scan_provide(&worker->lists, sizeof *worker->lists))
        return tp_fail_memory(scan->err);
    scan->small = counted ? counted->codes : worker->piece;
    if (!counted)
        status = tp_walk_read(&scan->walk, 0, elements, worker->piece,
                              worker->walk, scan->err);
    if (status == TP_OK && crc)
        status = judge_crc(
            scan, libdeflate_crc32(0, scan->small, elements * scan->size));
    if (status == TP_OK && narrow)
        status = small_codes(scan, worker, counted);
    else if (status == TP_OK)
        small_values(scan, worker);
    return status == TP_OK ? small_blocks(scan, worker) : status;
}

/* Many values of 8 or 16 bits: one reading. A single range runs here and now,
 * and leaves its counts in the tables of this worker. */
static enum tp_status scan_codes(struct scan *scan, unsigned work)
{
    bool tally = scan->casts.works & WORK_TALLY;
    bool tiles = tally && !tp_scan_blocks_fit(scan);
    bool single = !tiles && !scan->scanner->device &&
                  (uint64_t)scan->walk.count * scan->size <= RANGE_BYTES;
    enum tp_status status = TP_OK;
    if (!single) {
        scan->totals = calloc(TP_CODES, sizeof *scan->totals);
        if (!scan->totals)
            return tp_fail_memory(scan->err);
    }
    if (tally)
        status = tp_scan_casts_begin(scan, !single);
    work |= WORK_CODES | (tally && !tiles ? WORK_TALLY : 0);
    if (status == TP_OK)
        status = tp_scan_read(scan, work);
    if (status == TP_OK && tiles)
        status = tp_scan_read_tiles(scan, WORK_TALLY);
    struct worker *worker = &scan->scanner->workers[scan->worker];
    if (status == TP_OK &&
        !tp_scan_provide(&worker->lists, sizeof *worker->lists)) {
        tp_scan_empty(worker);
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
        status = tp_scan_read(scan, WORK_SELECT);
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
    enum tp_status status = tp_scan_read(scan, work | WORK_VALUES);
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

/* Blocks that could not go along with the first reading. */
static enum tp_status read_blocks(struct scan *scan)
{
    enum tp_status status = plan_blocks(scan);
    if (status != TP_OK)
        return status;
    return tp_scan_blocks_fit(scan) ? tp_scan_read(scan, WORK_BLOCKS)
                                    : tp_scan_read_tiles(scan, WORK_BLOCKS);
}

static enum tp_status scan_large(struct scan *scan, bool crc)
{
    /* MX blocks need nothing but themselves and go along, NVFP4 needs the
     * largest value first. */
    bool along = scan->blockwise && scan->blockwise->kind == TP_NUMBER_MX &&
                 tp_scan_blocks_fit(scan);
    unsigned work = (crc ? WORK_CRC : 0) | (along ? WORK_BLOCKS : 0);
    enum tp_status status = along ? plan_blocks(scan) : TP_OK;
    if (status == TP_OK)
        status = scan->size / scan->parts <= 2 ? scan_codes(scan, work)
                                               : scan_values(scan, work);
    if (status == TP_OK && crc)
        status = judge_crc(scan, scan->crc);
    if (status == TP_OK && scan->blockwise && !along)
        status = read_blocks(scan);
    if (status == TP_OK && scan->blockwise)
        finish_blocks(scan);
    return status == TP_OK ? tp_scan_casts_direct(scan, NULL) : status;
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
    scan->rule = asked->scale_rule;
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
    tp_scan_casts_init(scan, asked);
    bool mx = scan->blockwise && scan->blockwise->kind == TP_NUMBER_MX;
    if (mx || scan->block == 0)
        scan->block = mx ? 32 : 16;
    int axis = tensor->ndim - 1 - asked->block_axis;
    tp_walk_lines(tensor, axis > 0 ? axis : 0, &scan->lines);
}

enum tp_status tp_scan(struct tp_scanner *scanner, struct tp_tensor *tensor,
                       const struct tp_scan_request *request,
                       struct tp_scan_result *result, struct tp_error *err)
{
    struct scan scan;
    memset(&scan, 0, sizeof scan);
    scan.scanner = scanner;
    scan.tensor = tensor;
    scan.result = result;
    scan.err = err;
    memset(result, 0, sizeof *result);
    set_up(&scan, request);
    if (tensor->numel == 0) {
        for (int i = 0; i < TP_QUANTILES; i++)
            result->quantile[i] = NAN;
        return request->dims ? tp_scan_dims(&scan, request, NULL) : TP_OK;
    }
    struct worker *worker = &scanner->workers[request->worker];
    const struct tp_device_list *counted =
        request->ahead ? tp_scan_take_ahead(worker, tensor) : NULL;
    bool crc = must_check(tensor->storage);
    bool crc_apart = crc && !covers_storage(&scan);
    enum tp_status status = TP_OK;
    if (crc_apart)
        status = check_storage(&scan);
    pthread_mutex_init(&scan.lock, NULL);
    if (status == TP_OK && scan.codes <= SMALL_CODES)
        status = scan_small(&scan, crc && !crc_apart, counted);
    else if (status == TP_OK)
        status = scan_large(&scan, crc && !crc_apart);
    if (status == TP_OK && request->dims)
        status = tp_scan_dims(&scan, request, scan.small);
    pthread_mutex_destroy(&scan.lock);
    tp_scan_casts_clear(&scan);
    result->summary.counts.numel = (uint64_t)tensor->numel;
    return status;
}
