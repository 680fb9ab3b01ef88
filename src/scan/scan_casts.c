/* SPDX-License-Identifier: MIT */
#include "scan/scan_casts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/session.h"
#include "stats/nvfp4_tally.h"
#include "stats/select.h"
#include "stats/tally.h"

/*
 * What other number formats would make of the tensor. Casts of narrow values
 * follow from the histogram of codes (and, to MX blocks, from a tally), and
 * most of binary32 from sums by leading bits, which are exact and need no
 * further reading. Other casts of wide values, and NVFP4, are simulated value
 * by value, in one more reading where a scale depends on the largest magnitude;
 * their sums of errors round, so they are taken piece by piece into the part
 * of a range, and merged in order. It costs some nanoseconds per value and
 * cast.
 */

/* From as many values as there are bins: going through these costs as much as
 * rounding fewer values. */
static bool has_bins(const struct tp_pass *pass)
{
    return pass->real == TP_FLOAT32 &&
           (uint64_t)pass->walk.count * pass->parts >= TP_FLOAT_BINS;
}

/* In memory: going through pairs of scale and magnitude costs more. */
static bool is_small(const struct tp_pass *pass)
{
    return (uint64_t)pass->walk.count <= TP_SELECT_SMALL;
}

static bool needs_amax(const struct tp_quant_spec *spec)
{
    return spec->scaled == TP_SCALED_AMAX;
}

/* By a device, so that the host does not see the values in their order. */
static bool is_gathered(const struct tp_pass *pass)
{
    return pass->device && !pass->walk.dense;
}

static enum tp_cast_kind kind_of(const struct tp_pass *pass,
                                 const struct tp_quant_spec *spec)
{
    const enum tp_dtype dtype = pass->walk.tensor->dtype;
    if (!tp_quant_applies(spec, dtype))
        return TP_CAST_NONE;
    if (spec->number->kind == TP_NUMBER_ELEMENT)
        return pass->size / pass->parts <= 2              ? TP_CAST_LIST
               : has_bins(pass) && tp_float_bins_suit(spec) ? TP_CAST_BINS
               : needs_amax(spec) || is_gathered(pass)      ? TP_CAST_VALUES
                                                            : TP_CAST_ALONG;
    if (tp_tally_applies(spec, dtype))
        return TP_CAST_TALLY;
    if (tp_nvfp4_tally_applies(spec, dtype) && !is_small(pass))
        return TP_CAST_NVFP4;
    return has_bins(pass) && spec->number->kind == TP_NUMBER_MX
               ? TP_CAST_BIN_TALLY
               : TP_CAST_BLOCKS;
}

void tp_casts_init(struct tp_casts *casts, const struct tp_quant_spec *specs,
                   size_t count, struct tp_quant_error *errors,
                   struct tp_pass *pass)
{
    assert(count <= TP_CASTS);
    casts->spec = specs;
    casts->error = errors;
    casts->count = count;
    casts->isa = pass->readers->isa;
    casts->real = pass->real;
    casts->repeat = pass->walk.repeat;
    memset(casts->of_kind, 0, sizeof casts->of_kind);
    for (size_t i = 0; i < count; i++) {
        casts->kind[i] = kind_of(pass, &specs[i]);
        casts->of_kind[casts->kind[i]]++;
        if (specs[i].number->kind != TP_NUMBER_ELEMENT &&
            specs[i].number->block > pass->grid.block)
            pass->grid.block = specs[i].number->block;
    }
    if (count > 0)
        memset(errors, 0, count * sizeof *errors);
}

void tp_casts_become(struct tp_casts *casts, size_t cast,
                     enum tp_cast_kind kind)
{
    casts->of_kind[casts->kind[cast]]--;
    casts->kind[cast] = kind;
    casts->of_kind[kind]++;
}

void tp_casts_list(struct tp_casts *casts, const struct tp_code_list *list)
{
    for (size_t i = 0; i < casts->count; i++) {
        struct tp_quant_error error = {0};
        if (casts->kind[i] != TP_CAST_LIST)
            continue;
        tp_quant_list(&casts->spec[i], casts->real, list, &error);
        tp_quant_merge(&casts->error[i], &error, casts->repeat);
    }
}

/* --- from bins ------------------------------------------------------------ */

enum tp_status tp_casts_begin_bins(struct tp_casts *casts, struct tp_error *err)
{
    if (casts->of_kind[TP_CAST_BINS] == 0 &&
        casts->of_kind[TP_CAST_BIN_TALLY] == 0)
        return TP_OK;
    casts->bins = calloc(TP_FLOAT_BINS, sizeof *casts->bins);
    return casts->bins ? TP_OK : tp_fail_memory(err);
}

void tp_casts_finish_bins(struct tp_casts *casts)
{
    for (size_t i = 0; i < casts->count; i++) {
        struct tp_quant_error error = {0};
        if (casts->kind[i] != TP_CAST_BINS)
            continue;
        if (tp_float_bins_cast(casts->bins, &casts->spec[i], casts->amax,
                               &error))
            tp_quant_merge(&casts->error[i], &error, casts->repeat);
        else
            tp_casts_become(casts, i, TP_CAST_VALUES);
    }
}

static void take_bins(const struct tp_pass *pass, const struct tp_piece *piece,
                      const void *state, void *part, void *scratch)
{
    const struct tp_span span = tp_piece_span(pass, piece);
    (void)state, (void)part;
    tp_float_bins_add(&span, pass->readers->isa, scratch);
}

static void flush_bins(void *state, void *scratch)
{
    const struct tp_casts *casts = state;
    tp_float_bins_flush(scratch, TP_FLOAT_BINS, casts->bins);
}

static bool can_bins(const void *state, const struct tp_device_lane *lane)
{
    (void)state;
    return tp_device_float_bins_room(lane);
}

static bool send_bins(const struct tp_pass *pass, const struct tp_piece *piece,
                      const void *state, const struct tp_device_lane *lane)
{
    const struct tp_span span = tp_piece_span(pass, piece);
    (void)state;
    return tp_device_float_bins(lane, &span);
}

static void take_device_bins(void *state, void *part,
                             const struct tp_device_lane *lane)
{
    const struct tp_casts *casts = state;
    const struct tp_device_results results = {.float_bins = casts->bins};
    (void)part;
    tp_device_take(lane, &results);
}

static const struct tp_sink_device device_bins = {can_bins, send_bins,
                                                  take_device_bins};

const struct tp_sink tp_sink_cast_bins = {
    .scratch_size = TP_FLOAT_BINS * sizeof(struct tp_float_bin),
    .piece = take_bins,
    .flush = flush_bins,
    .device = &device_bins};

/* --- from values ---------------------------------------------------------- */

static void merge(void *state, const void *part)
{
    struct tp_casts *casts = state;
    const struct tp_quant_error *errors = part;
    for (size_t i = 0; i < casts->count; i++)
        tp_quant_merge(&casts->error[i], &errors[i], casts->repeat);
}

static void take_kind(const struct tp_pass *pass, const struct tp_piece *piece,
                      const struct tp_casts *casts, enum tp_cast_kind kind,
                      struct tp_quant_error *errors)
{
    const struct tp_span span = tp_piece_span(pass, piece);
    const struct tp_quant_rows values = {.dtype = casts->real,
                                         .isa = casts->isa,
                                         .tensor_amax = casts->amax,
                                         .codes = span.codes,
                                         .rows = 1,
                                         .row_length = span.n};
    for (size_t i = 0; i < casts->count; i++)
        if (casts->kind[i] == kind)
            tp_quant_values(&casts->spec[i], &values, &errors[i]);
}

static void take_along(const struct tp_pass *pass,
                       const struct tp_piece *piece, const void *state,
                       void *part, void *scratch)
{
    (void)scratch;
    take_kind(pass, piece, state, TP_CAST_ALONG, part);
}

static void take_values(const struct tp_pass *pass,
                        const struct tp_piece *piece, const void *state,
                        void *part, void *scratch)
{
    (void)scratch;
    take_kind(pass, piece, state, TP_CAST_VALUES, part);
}

const struct tp_sink tp_sink_cast_along = {
    .part_size = sizeof(struct tp_quant_error),
    .light = true,
    .piece = take_along,
    .merge = merge};

const struct tp_sink tp_sink_cast_values = {
    .part_size = sizeof(struct tp_quant_error),
    .piece = take_values,
    .merge = merge};

static void take_rows(const struct tp_casts *casts,
                      const struct tp_block_rows *rows,
                      struct tp_quant_error *errors)
{
    const struct tp_quant_rows values = {.dtype = casts->real,
                                         .isa = casts->isa,
                                         .tensor_amax = casts->amax,
                                         .codes = rows->codes,
                                         .rows = rows->rows,
                                         .row_length = rows->row_length};
    for (size_t i = 0; i < casts->count; i++)
        if (casts->kind[i] == TP_CAST_BLOCKS)
            tp_quant_blocks(&casts->spec[i], &values, &errors[i]);
}

static void take_blocks(const struct tp_pass *pass,
                        const struct tp_piece *piece, const void *state,
                        void *part, void *scratch)
{
    const struct tp_block_cut cut = tp_piece_blocks(pass, piece);
    struct tp_block_turner turner;
    struct tp_block_rows rows;
    (void)scratch;
    tp_block_turner_begin(&turner, &cut);
    while (tp_block_turner_next(&turner, &rows))
        take_rows(state, &rows, part);
}

const struct tp_sink tp_sink_cast_blocks = {
    .part_size = sizeof(struct tp_quant_error),
    .blocks = true,
    .piece = take_blocks,
    .merge = merge};
