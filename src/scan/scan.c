/* SPDX-License-Identifier: MIT */
#include "scan/scan.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "scan/pass.h"
#include "scan/scan_ahead.h"
#include "scan/scan_blocks.h"
#include "scan/scan_casts.h"
#include "scan/scan_codes.h"
#include "scan/scan_crc.h"
#include "scan/scan_device.h"
#include "scan/scan_dims.h"
#include "scan/scan_peaks.h"
#include "scan/scan_tallies.h"
#include "scan/scan_values.h"
#include "stats/quantile.h"

/*
 * A scan is a first reading, which feeds all that needs nothing but the values
 * (first_sinks); for wide values those that select their order statistics; and
 * a last one for what depends on the largest magnitude (last_sinks). A further
 * accumulator has its state in struct scan, a line in one of these, and a line
 * where its result is taken (finish_...). Whatever follows from few numbers (a
 * list of codes that occur, merged parts) is computed at the end of each.
 * Tensors of at most SMALL_CODES values are read once into memory, where the
 * same sinks are fed, and do not leave their thread. Fewer readings would need
 * memory for the tensor, or numbers that are not exact.
 */

enum {
    /* Up to so many real numbers a tensor is read once, and wide ones are
     * sorted in memory. */
    SMALL_CODES = TP_SELECT_SMALL
};

static_assert((int)TP_SCAN_SPECS == (int)TP_CASTS, "casts of a scan");

/* Sorted lists, or scratch for sorting: used when a tensor is finished. */
struct lists {
    double value[TP_CODES];
    uint64_t count[TP_CODES];
    uint64_t scratch[TP_CODES]; /* for tallies                            */
};

/* What a worker keeps from tensor to tensor, beside its reader. Pointers are
 * NULL until first needed. */
struct worker {
    struct lists *lists;
    struct tp_block_plan *plan;                 /* the last one made here   */
    struct tp_tally_plan *tally_plan[TP_CASTS]; /* likewise, of each cast   */
    struct tp_dim_ranker *ranker[2]; /* not used by tasks inside a scan    */
    struct tp_ahead *ahead;
};

struct tp_scanner {
    struct tp_readers readers;
    struct worker workers[];
};

/* One scan. */
struct scan {
    struct tp_pass pass;
    struct worker *worker; /* of the calling task                         */
    const struct tp_scan_request *asked;
    struct tp_scan_result *result;
    const struct tp_number *target;    /* elementwise, or NULL            */
    const struct tp_number *blockwise; /* block format, or NULL           */
    struct tp_block_rules rules;
    bool narrow;                /* values of 8 or 16 bits                 */
    const unsigned char *small; /* all of a small tensor, in memory       */
    const struct tp_device_list *counted; /* its codes, by a device        */

    /* the states of sinks */
    struct tp_crc crc;
    struct tp_code_sum codes;
    struct tp_value_sum values;
    struct tp_block_sum blocks;
    struct tp_tallies tallies;
    struct tp_nvfp4_tallies nvfp4;
    struct tp_casts casts;
    struct tp_peak_sum peaks;
};

/* --- scanners ------------------------------------------------------------- */

enum tp_status tp_scanner_new(struct tp_pool *pool, struct tp_scanner **scanner,
                              struct tp_error *err)
{
    unsigned size = tp_pool_size(pool);
    struct tp_scanner *made =
        calloc(1, sizeof *made + size * sizeof made->workers[0]);
    if (!made)
        return tp_fail_memory(err);
    if (tp_readers_init(&made->readers, pool, err) != TP_OK) {
        free(made);
        return TP_E_MEMORY;
    }
    *scanner = made;
    return TP_OK;
}

void tp_scanner_stop_on(struct tp_scanner *scanner,
                        const volatile sig_atomic_t *stop)
{
    scanner->readers.stop = stop;
}

void tp_scanner_use(struct tp_scanner *scanner,
                    struct tp_device_session *device)
{
    scanner->readers.device = device;
}

struct tp_device_options tp_scan_device_options(unsigned workers)
{
    return (struct tp_device_options){.lanes = workers,
                                      .range = TP_RANGE_BYTES,
                                      .stage = TP_STAGE_BYTES + TP_EARLY_BYTES,
                                      .call = TP_PIECE_BYTES};
}

size_t tp_scan_ahead(struct tp_scanner *scanner,
                     const struct tp_tensor *tensors, size_t count,
                     unsigned worker)
{
    return tp_ahead_count(&scanner->workers[worker].ahead, &scanner->readers,
                          &scanner->readers.reader[worker], tensors, count);
}

void tp_scanner_free(struct tp_scanner *scanner)
{
    if (!scanner)
        return;
    for (unsigned i = 0; i < scanner->readers.count; i++) {
        struct worker *worker = &scanner->workers[i];
        free(worker->lists);
        free(worker->plan);
        for (int j = 0; j < TP_CASTS; j++)
            free(worker->tally_plan[j]);
        free(worker->ranker[0]);
        free(worker->ranker[1]);
        free(worker->ahead);
    }
    tp_readers_clear(&scanner->readers);
    free(scanner);
}

/* --- which sinks ---------------------------------------------------------- */

/* The uses of sinks by one reading. */
struct sinks {
    struct tp_sink_use use[TP_PASS_SINKS];
    size_t count;
};

static void put(struct sinks *sinks, bool wanted, const struct tp_sink *sink,
                void *state, size_t count)
{
    assert(sinks->count < TP_PASS_SINKS);
    if (wanted && count > 0)
        sinks->use[sinks->count++] = (struct tp_sink_use){sink, state, count};
}

/* MX blocks need nothing but themselves and go along with the first reading,
 * NVFP4 needs the largest value first. */
static bool do_blocks_go_along(const struct scan *scan)
{
    return scan->blockwise && scan->blockwise->kind == TP_NUMBER_MX;
}

/* What needs nothing but the values. */
static struct sinks first_sinks(struct scan *scan)
{
    struct sinks sinks = {.count = 0};
    put(&sinks, scan->crc.along, &tp_sink_crc, &scan->crc, 1);
    put(&sinks, scan->narrow && !scan->counted, &tp_sink_codes, &scan->codes,
        1);
    put(&sinks, !scan->narrow, &tp_sink_values, &scan->values, 1);
    put(&sinks, scan->casts.of_kind[TP_CAST_ALONG] > 0, &tp_sink_cast_along,
        &scan->casts, scan->casts.count);
    put(&sinks, scan->casts.bins, &tp_sink_cast_bins, &scan->casts, 1);
    put(&sinks, scan->casts.bins, &tp_sink_bin_tallies, &scan->tallies,
        scan->tallies.count);
    put(&sinks, do_blocks_go_along(scan), &tp_sink_blocks, &scan->blocks, 1);
    put(&sinks, scan->narrow, &tp_sink_tallies, &scan->tallies,
        scan->casts.of_kind[TP_CAST_TALLY]);
    put(&sinks, scan->tallies.joint, &tp_sink_joint, &scan->tallies, 1);
    put(&sinks, scan->peaks.memory, &tp_sink_peaks, &scan->peaks,
        tp_peak_units(&scan->peaks));
    return sinks;
}

/* What needs the largest magnitude: counts, which a device can do, and casts,
 * which it cannot. */
static struct sinks last_sinks(struct scan *scan, bool counts, bool casts)
{
    struct sinks sinks = {.count = 0};
    struct tp_casts *its = &scan->casts;
    put(&sinks, counts && scan->blockwise && !do_blocks_go_along(scan),
        &tp_sink_blocks, &scan->blocks, 1);
    put(&sinks, casts && its->of_kind[TP_CAST_VALUES] > 0,
        &tp_sink_cast_values, its, its->count);
    put(&sinks, casts && its->of_kind[TP_CAST_NVFP4] > 0, &tp_sink_nvfp4,
        &scan->nvfp4, scan->nvfp4.count);
    put(&sinks, casts && its->of_kind[TP_CAST_BLOCKS] > 0,
        &tp_sink_cast_blocks, its, its->count);
    return sinks;
}

static enum tp_status feed(struct scan *scan, const struct sinks *sinks)
{
    if (sinks->count == 0)
        return TP_OK;
    return scan->small ? tp_pass_memory(&scan->pass, sinks->use, sinks->count,
                                        scan->small)
                       : tp_pass_run(&scan->pass, sinks->use, sinks->count);
}

/* --- from counts to the result -------------------------------------------- */

static double amax_of(const struct scan *scan)
{
    const struct tp_extrema *extrema = &scan->result->summary.extrema;
    return fmax(fabs(extrema->min), fabs(extrema->max));
}

static void finish_list(struct scan *scan, struct tp_code_list *list,
                        struct tp_tally *tallies)
{
    tp_casts_list(&scan->casts, list);
    tp_tallies_finish(&scan->tallies, &scan->casts, list, tallies,
                      scan->worker->lists->scratch);
    tp_code_list_repeat(list, scan->pass.walk.repeat);
    tp_code_list_summarize(list, scan->target, &scan->result->summary,
                           scan->result->quantile);
}

static void finish_values(struct scan *scan, const struct tp_ranks *ranks,
                          const double *ordered)
{
    struct tp_summary *summary = &scan->result->summary;
    const uint64_t repeat = scan->pass.walk.repeat;
    tp_ranks_quantiles(ranks, ordered, scan->result->quantile);
    tp_values_repeat(&scan->values.values, repeat);
    summary->counts = scan->values.values.counts;
    summary->moments = scan->values.values.moments;
    summary->extrema = scan->values.values.extrema;
    for (int i = 0; i < TP_SUMMARY_BINS && repeat > 1; i++)
        summary->bins[i] *= repeat;
    tp_judge_close(scan->target, &summary->counts);
}

static void finish_blocks(struct scan *scan)
{
    struct tp_counts *counts = &scan->result->summary.counts;
    const struct tp_block_counts *blocks = &scan->blocks.counts;
    const uint64_t repeat = scan->pass.walk.repeat;
    if (!scan->blockwise)
        return;
    counts->judged = counts->values;
    counts->upper_overflow = blocks->upper_overflow * repeat;
    counts->lower_overflow = blocks->lower_overflow * repeat;
    counts->underflow = blocks->underflow * repeat;
    counts->subnormal = blocks->subnormal * repeat;
}

/* --- the kinds of tensors ------------------------------------------------- */

static enum tp_status judge_crc(const struct scan *scan)
{
    return scan->crc.along ? tp_crc_judge(&scan->crc, &scan->pass) : TP_OK;
}

/* The list of the codes that occur, from wherever they were counted, which is
 * empty then. */
static struct tp_code_list list_codes(const struct scan *scan,
                                      const struct sinks *sinks)
{
    const enum tp_dtype real = scan->pass.real;
    struct lists *lists = scan->worker->lists;
    struct tp_code_list list = {.value = lists->value, .count = lists->count};
    if (scan->counted)
        tp_codes_list_entries(real, scan->counted->entries,
                              scan->counted->length, &list);
    else if (scan->codes.totals)
        tp_codes_list(real, scan->codes.totals, &list);
    else
        tp_codes_list_flush(
            real, tp_pass_scratch(&scan->pass, sinks->use, &tp_sink_codes),
            &list);
    return list;
}

/* Values of 8 or 16 bits, by one reading. What is small or a single range
 * leaves its counts in the scratch of this worker. */
static enum tp_status scan_codes(struct scan *scan)
{
    const struct tp_pass *pass = &scan->pass;
    scan->tallies.joint = !scan->small && tp_tallies_joint(&scan->casts, pass);
    const struct sinks sinks = first_sinks(scan);
    const bool stays =
        scan->small || (!scan->tallies.joint &&
                        tp_pass_is_single(pass, sinks.use, sinks.count));
    if (!tp_provide(&scan->worker->lists, sizeof *scan->worker->lists))
        return tp_fail_memory(pass->err);
    if (!stays) {
        scan->codes.totals = calloc(TP_CODES, sizeof *scan->codes.totals);
        if (!scan->codes.totals)
            return tp_fail_memory(pass->err);
    }
    enum tp_status status =
        tp_tallies_begin(&scan->tallies, &scan->casts,
                         scan->worker->tally_plan, !stays, pass->err);
    if (status == TP_OK)
        status = feed(scan, &sinks);
    if (status == TP_OK)
        status = judge_crc(scan);
    if (status == TP_OK) {
        struct tp_code_list list = list_codes(scan, &sinks);
        finish_list(scan, &list,
                    stays && scan->tallies.count > 0
                        ? tp_pass_scratch(pass, sinks.use, &tp_sink_tallies)
                        : NULL);
    } else {
        tp_pass_empty(pass);
    }
    free(scan->codes.totals);
    tp_tallies_clear(&scan->tallies);
    return status;
}

/* The order statistics: of small tensors by sorting. */
static enum tp_status select_values(struct scan *scan,
                                    const struct tp_ranks *ranks,
                                    double *ordered)
{
    const struct tp_pass *pass = &scan->pass;
    const struct tp_span span = {pass->real, scan->small,
                                 (size_t)pass->walk.count * pass->parts};
    if (!scan->small)
        return ranks->n > 0 ? tp_values_select(pass, &scan->values, ranks,
                                               ordered)
                            : TP_OK;
    if (!tp_provide(&scan->worker->lists, sizeof *scan->worker->lists))
        return tp_fail_memory(pass->err);
    /* the lists have room for 2 * TP_SELECT_SMALL keys */
    tp_select_small(&span, &scan->values.values, ranks,
                    scan->worker->lists->count, ordered);
    return TP_OK;
}

/* Values of 32 or 64 bits: two or three readings. */
static enum tp_status scan_values(struct scan *scan)
{
    struct tp_value_sum *sum = &scan->values;
    const struct sinks sinks = first_sinks(scan);
    struct tp_ranks ranks;
    double ordered[TP_RANKS] = {0};
    sum->judge = tp_judge_of(scan->target);
    sum->bins = scan->result->summary.bins;
    if (!scan->small) {
        sum->totals = calloc(TP_SELECT_ROOM, sizeof *sum->totals);
        if (!sum->totals)
            return tp_fail_memory(scan->pass.err);
    }
    sum->binned = sum->totals && scan->casts.bins;
    if (sum->totals)
        tp_values_foresee(&scan->pass, sum);
    enum tp_status status = feed(scan, &sinks);
    if (status == TP_OK && sum->binned)
        tp_values_from_bins(sum, scan->casts.bins);
    if (status == TP_OK && sum->totals && scan->pass.real == TP_FLOAT32)
        tp_select_top_bins(sum->totals, &sum->values.counts, sum->bins);
    tp_ranks_of(sum->values.moments.n, scan->pass.walk.repeat, &ranks);
    if (status == TP_OK)
        status = select_values(scan, &ranks, ordered);
    if (status == TP_OK)
        status = judge_crc(scan);
    if (status == TP_OK)
        finish_values(scan, &ranks, ordered);
    tp_values_forget(sum);
    free(sum->totals);
    return status;
}

/* --- scans ---------------------------------------------------------------- */

/* Has all of a small tensor in memory, where it is not yet. */
static enum tp_status read_small(struct scan *scan)
{
    struct tp_pass *pass = &scan->pass;
    struct tp_reader *reader = &pass->readers->reader[pass->worker];
    if (scan->counted) {
        scan->small = scan->counted->codes;
        return TP_OK;
    }
    enum tp_status status =
        tp_reader_prepare(reader, &pass->walk, NULL, pass->err);
    if (status == TP_OK)
        status = tp_walk_read(&pass->walk, 0, (size_t)pass->walk.count,
                              reader->piece, reader->walk, pass->err);
    scan->small = reader->piece;
    return status;
}

/* Makes the plan of the worker fit. */
static enum tp_status plan_blocks(struct scan *scan)
{
    struct worker *worker = scan->worker;
    if (!tp_provide(&worker->plan, sizeof *worker->plan))
        return tp_fail_memory(scan->pass.err);
    tp_blocks_plan(worker->plan, scan->blockwise, scan->rules, scan->pass.real,
                   amax_of(scan));
    scan->blocks.plan = worker->plan;
    return TP_OK;
}

static enum tp_status begin_bins(struct scan *scan)
{
    const enum tp_status status =
        tp_casts_begin_bins(&scan->casts, scan->pass.err);
    return status != TP_OK
               ? status
               : tp_tallies_begin(&scan->tallies, &scan->casts,
                                  scan->worker->tally_plan, false,
                                  scan->pass.err);
}

/* What follows when the largest magnitude is known. */
static enum tp_status scan_last(struct scan *scan)
{
    enum tp_status status = TP_OK;
    if (scan->blockwise && !do_blocks_go_along(scan))
        status = plan_blocks(scan);
    scan->casts.amax = amax_of(scan);
    if (status == TP_OK && scan->casts.bins) {
        tp_casts_finish_bins(&scan->casts);
        tp_tallies_finish_bins(&scan->tallies, &scan->casts);
    }
    if (status == TP_OK)
        status = tp_nvfp4_begin(&scan->nvfp4, &scan->casts, scan->pass.err);
    const bool apart = scan->pass.device != NULL;
    const struct sinks sinks = last_sinks(scan, true, !apart);
    if (status == TP_OK)
        status = feed(scan, &sinks);
    const struct sinks others = last_sinks(scan, false, apart);
    if (status == TP_OK)
        status = feed(scan, &others);
    if (status == TP_OK)
        tp_nvfp4_finish(&scan->nvfp4, &scan->casts);
    tp_nvfp4_clear(&scan->nvfp4);
    finish_blocks(scan);
    return status;
}

/* Begins what may spare statistics by index a reading. */
static enum tp_status begin_peaks(struct scan *scan)
{
    const struct tp_scan_request *asked = scan->asked;
    return asked->dims && asked->dims_notable &&
                   tp_dims_analysed(scan->pass.walk.tensor) > 0
               ? tp_peaks_begin(&scan->peaks, &scan->pass, scan->small)
               : TP_OK;
}

static enum tp_status scan_dims(struct scan *scan)
{
    const bool finite =
        tp_counts_nonfinite(&scan->result->summary.counts) == 0;
    const struct tp_dims_scan asked = {.pass = &scan->pass,
                                       .summary = &scan->result->summary,
                                       .codes = scan->small,
                                       .ranker = scan->worker->ranker,
                                       .room = scan->asked->dims,
                                       .keep = scan->asked->dims_keep,
                                       .peaks = scan->peaks.memory && finite
                                                    ? &scan->peaks
                                                    : NULL,
                                       .reduce = scan->asked->dims_reduce};
    return scan->asked->dims ? tp_scan_dims(&asked) : TP_OK;
}

static enum tp_status scan_all(struct scan *scan)
{
    const struct tp_pass *pass = &scan->pass;
    enum tp_status status = TP_OK;
    scan->crc = tp_crc_of(pass);
    if (scan->crc.apart)
        status = tp_crc_check_apart(pass);
    if (status == TP_OK &&
        (uint64_t)pass->walk.count * pass->parts <= SMALL_CODES)
        status = read_small(scan);
    if (status == TP_OK && do_blocks_go_along(scan))
        status = plan_blocks(scan);
    if (status == TP_OK)
        status = begin_peaks(scan);
    if (status == TP_OK && !scan->narrow)
        status = begin_bins(scan);
    if (status == TP_OK)
        status = scan->narrow ? scan_codes(scan) : scan_values(scan);
    if (status == TP_OK)
        status = scan_last(scan);
    free(scan->casts.bins);
    scan->casts.bins = NULL;
    tp_tallies_clear(&scan->tallies);
    if (status == TP_OK)
        status = scan_dims(scan);
    tp_peaks_clear(&scan->peaks);
    return status;
}

/* Judging is for floating values; blocks, for real ones. */
static void set_target(struct scan *scan, enum tp_dtype dtype)
{
    const enum tp_dtype_class kind = tp_dtype_info(dtype)->kind;
    const struct tp_number *target = scan->asked->target;
    if (kind == TP_CLASS_INTEGER || !target)
        return;
    if (target->kind == TP_NUMBER_ELEMENT)
        scan->target = target;
    else if (kind == TP_CLASS_FLOAT)
        scan->blockwise = target;
}

static void set_up(struct scan *scan, const struct tp_tensor *tensor)
{
    const struct tp_scan_request *asked = scan->asked;
    struct tp_pass *pass = &scan->pass;
    const int axis = tensor->ndim - 1 - asked->block_axis;
    set_target(scan, tensor->dtype);
    scan->rules = (struct tp_block_rules){asked->scale_rule, asked->nonfinite};
    scan->narrow = pass->size / pass->parts <= 2;
    if (pass->readers->device)
        pass->device = &tp_scan_device;
    tp_walk_lines(tensor, axis > 0 ? axis : 0, &pass->grid.lines);
    pass->grid.block = do_blocks_go_along(scan) ? 32 : 16;
    tp_casts_init(&scan->casts, asked->specs, asked->spec_count, asked->errors,
                  pass);
}

enum tp_status tp_scan(struct tp_scanner *scanner, struct tp_tensor *tensor,
                       const struct tp_scan_request *request,
                       struct tp_scan_result *result, struct tp_error *err)
{
    struct scan scan;
    memset(&scan, 0, sizeof scan);
    memset(result, 0, sizeof *result);
    scan.worker = &scanner->workers[request->worker];
    scan.asked = request;
    scan.result = result;
    tp_pass_init(&scan.pass, &scanner->readers, request->worker, tensor, err);
    set_up(&scan, tensor);
    if (tensor->numel == 0) {
        for (int i = 0; i < TP_QUANTILES; i++)
            result->quantile[i] = NAN;
        return scan_dims(&scan);
    }
    if (request->ahead)
        scan.counted = tp_ahead_take(scan.worker->ahead, tensor);
    enum tp_status status = scan_all(&scan);
    result->summary.counts.numel = (uint64_t)tensor->numel;
    return status;
}
