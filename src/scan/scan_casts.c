/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan/pass.h"

static enum cast_kind kind_of(const struct scan *scan,
                              const struct tp_quant_spec *spec)
{
    bool element = spec->number->kind == TP_NUMBER_ELEMENT;
    if (!tp_quant_applies(spec, scan->tensor->dtype))
        return CAST_NONE;
    if (element)
        return scan->size / scan->parts <= 2 ? CAST_LIST : CAST_VALUES;
    return tp_tally_applies(spec, scan->tensor->dtype) ? CAST_TALLY
                                                       : CAST_BLOCKS;
}

void tp_scan_casts_init(struct scan *scan,
                        const struct tp_scan_request *request)
{
    static const unsigned works[] = {
        [CAST_LIST] = 0,
        [CAST_TALLY] = WORK_TALLY,
        [CAST_VALUES] = WORK_QUANT,
        [CAST_BLOCKS] = WORK_QUANT_BLOCKS,
    };
    struct casts *casts = &scan->casts;
    assert(request->spec_count <= TP_SCAN_SPECS);
    casts->spec = request->specs;
    casts->error = request->errors;
    casts->count = request->spec_count;
    for (size_t i = 0; i < casts->count; i++) {
        casts->kind[i] = kind_of(scan, &casts->spec[i]);
        casts->works |= works[casts->kind[i]];
        if (casts->spec[i].number->block > scan->block &&
            casts->spec[i].number->kind != TP_NUMBER_ELEMENT)
            scan->block = casts->spec[i].number->block;
    }
    if (casts->count > 0)
        memset(casts->error, 0, casts->count * sizeof *casts->error);
}

/* --- tallies ----------------------------------------------------------- */

static bool same_spec(const struct tp_quant_spec *a,
                      const struct tp_quant_spec *b)
{
    return a->number == b->number && a->rule == b->rule &&
           a->nonfinite == b->nonfinite;
}

/* The plan of a cast, of the calling worker; often there is one that fits. */
static bool provide_plan(struct scan *scan, size_t i)
{
    struct worker *worker = &scan->scanner->workers[scan->worker];
    const struct tp_quant_spec *spec = &scan->casts.spec[i];
    bool made = worker->tally_plan[i] != NULL;
    if (!tp_scan_provide(&worker->tally_plan[i], sizeof *worker->tally_plan[i]))
        return false;
    struct tp_tally_plan *plan = worker->tally_plan[i];
    if (!made || plan->blocks.dtype != scan->real ||
        !same_spec(&plan->spec, spec))
        tp_tally_plan_init(plan, spec, scan->real);
    scan->casts.plan[i] = plan;
    return true;
}

enum tp_status tp_scan_casts_begin(struct scan *scan, bool totals)
{
    struct casts *casts = &scan->casts;
    struct worker *worker = &scan->scanner->workers[scan->worker];
    bool ok = true;
    for (size_t i = 0; i < casts->count && ok; i++) {
        if (casts->kind[i] != CAST_TALLY)
            continue;
        ok = provide_plan(scan, i);
        if (ok && totals)
            ok = tp_scan_provide(&casts->total[i], sizeof *casts->total[i]);
        else if (ok)
            ok = tp_scan_provide(&worker->tally[i], sizeof *worker->tally[i]);
    }
    return ok ? TP_OK : tp_fail_memory(scan->err);
}

void tp_scan_casts_clear(struct scan *scan)
{
    for (size_t i = 0; i < scan->casts.count; i++)
        free(scan->casts.total[i]);
}

bool tp_scan_casts_prepare(const struct scan *scan, struct worker *worker)
{
    bool ok = true;
    for (size_t i = 0; i < scan->casts.count && ok; i++)
        if (scan->casts.kind[i] == CAST_TALLY && (scan->work & WORK_TALLY))
            ok = tp_scan_provide(&worker->tally[i], sizeof *worker->tally[i]);
    return ok;
}

void tp_scan_casts_add(struct scan *scan, struct worker *worker)
{
    for (size_t i = 0; i < scan->casts.count; i++)
        if ((scan->work & WORK_TALLY) && scan->casts.total[i])
            tp_tally_flush(worker->tally[i], scan->casts.total[i]);
}

/* --- casts of what is in memory ------------------------------------------ */

void tp_scan_cast_rows(const struct scan *scan, struct gather *gather,
                       const unsigned char *codes, size_t rows,
                       size_t row_length)
{
    const struct casts *casts = &scan->casts;
    struct tp_quant_rows values = {.dtype = scan->real,
                                   .tensor_amax = casts->amax,
                                   .codes = codes,
                                   .rows = rows,
                                   .row_length = row_length};
    if (!(scan->work & (WORK_TALLY | WORK_QUANT_BLOCKS)))
        return;
    for (size_t i = 0; i < casts->count; i++) {
        if (casts->kind[i] == CAST_TALLY && (scan->work & WORK_TALLY))
            tp_tally_rows(casts->plan[i], codes, rows, row_length,
                          gather->worker->tally[i]);
        if (casts->kind[i] == CAST_BLOCKS && (scan->work & WORK_QUANT_BLOCKS))
            tp_quant_blocks(&casts->spec[i], &values, &gather->errors[i]);
    }
}

/* Columns turned to rows together: 32 of them are a cache line of 16-bit
 * codes, and as high as the largest block they fill 8 KiB at most. */
enum { SIDE = 32 };

/* Codes of a matrix, `pitch` codes from row to row. */
struct tile {
    const unsigned char *codes;
    size_t size, pitch, rows, columns;
};

static void turn(const struct tile *tile, unsigned char *turned)
{
    const size_t size = tile->size;
    if (size == 2) {
        const uint16_t *from = (const uint16_t *)(const void *)tile->codes;
        uint16_t *to = (uint16_t *)(void *)turned;
        for (size_t j = 0; j < tile->columns; j++)
            for (size_t i = 0; i < tile->rows; i++)
                *to++ = from[i * tile->pitch + j];
        return;
    }
    for (size_t j = 0; j < tile->columns; j++)
        for (size_t i = 0; i < tile->rows; i++, turned += size)
            memcpy(turned, tile->codes + (i * tile->pitch + j) * size, size);
}

void tp_scan_cast_columns(const struct scan *scan, struct gather *gather,
                          const unsigned char *codes, size_t rows,
                          size_t columns)
{
    union {
        unsigned char bytes[SIDE * SIDE * sizeof(double)];
        double aligned;
    } turned;
    size_t size = scan->size;
    if (!(scan->work & (WORK_TALLY | WORK_QUANT_BLOCKS)))
        return;
    for (size_t i = 0; i < rows; i += SIDE) {
        size_t high = rows - i < SIDE ? rows - i : SIDE;
        for (size_t j = 0; j < columns; j += SIDE) {
            size_t wide = columns - j < SIDE ? columns - j : SIDE;
            struct tile tile = {codes + (i * columns + j) * size, size, columns,
                                high, wide};
            turn(&tile, turned.bytes);
            tp_scan_cast_rows(scan, gather, turned.bytes, wide, high);
        }
    }
}

void tp_scan_cast_values(const struct scan *scan, struct gather *gather,
                         const void *codes, size_t n)
{
    const struct casts *casts = &scan->casts;
    const struct tp_quant_rows values = {.dtype = scan->real,
                                         .tensor_amax = casts->amax,
                                         .codes = codes,
                                         .rows = 1,
                                         .row_length = n};
    if (!(scan->work & WORK_QUANT))
        return;
    for (size_t i = 0; i < casts->count; i++)
        if (casts->kind[i] == CAST_VALUES)
            tp_quant_values(&casts->spec[i], &values, &gather->errors[i]);
}

/* --- results ----------------------------------------------------------- */

void tp_scan_casts_merge(struct scan *scan, const struct tp_quant_error *errors)
{
    for (size_t i = 0; i < scan->casts.count; i++)
        tp_quant_merge(&scan->casts.error[i], &errors[i], scan->walk.repeat);
}

void tp_scan_casts_list(struct scan *scan, const struct tp_code_list *list)
{
    struct casts *casts = &scan->casts;
    struct worker *worker = &scan->scanner->workers[scan->worker];
    for (size_t i = 0; i < casts->count; i++) {
        struct tp_quant_error error = {0};
        if (casts->kind[i] == CAST_LIST) {
            tp_quant_list(&casts->spec[i], scan->real, list, &error);
        } else if (casts->kind[i] == CAST_TALLY) {
            struct tp_tally *tally =
                casts->total[i] ? casts->total[i] : worker->tally[i];
            tp_tally_finish(casts->plan[i], tally, list, worker->lists->scratch,
                            &error);
        }
        tp_quant_merge(&casts->error[i], &error, scan->walk.repeat);
    }
}

enum tp_status tp_scan_casts_direct(struct scan *scan,
                                    const unsigned char *codes)
{
    struct casts *casts = &scan->casts;
    const struct tp_extrema *extrema = &scan->result->summary.extrema;
    unsigned work = casts->works & (WORK_QUANT | WORK_QUANT_BLOCKS);
    if (work == 0)
        return TP_OK;
    casts->amax = fmax(fabs(extrema->min), fabs(extrema->max));
    if (codes) {
        struct tp_quant_error errors[TP_SCAN_SPECS] = {{0}};
        struct gather gather = {.worker = &scan->scanner->workers[scan->worker],
                                .errors = errors};
        scan->work = work;
        tp_scan_cast_values(scan, &gather, codes, (size_t)scan->codes);
        if (work & WORK_QUANT_BLOCKS)
            tp_scan_count_blocks(scan, codes, 0, scan->walk.count, &gather);
        tp_scan_casts_merge(scan, errors);
        return TP_OK;
    }
    if (!(work & WORK_QUANT_BLOCKS) || tp_scan_blocks_fit(scan))
        return tp_scan_read(scan, work);
    enum tp_status status =
        work & WORK_QUANT ? tp_scan_read(scan, WORK_QUANT) : TP_OK;
    return status == TP_OK ? tp_scan_read_tiles(scan, WORK_QUANT_BLOCKS)
                           : status;
}
