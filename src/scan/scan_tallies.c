/* SPDX-License-Identifier: MIT */
#include "scan/scan_tallies.h"

#include <stdlib.h>

#include "base/memory.h"
#include "cuda/session.h"

/*
 * A cast to MX blocks as integers: the histogram of codes and a tally of the
 * few codes that their block's scale treats in another way give the error of
 * the tensor (stats/tally.h). So it goes along with the first reading, is
 * exact, and merges in any order, where simulating each value would cost a
 * reading more, and round. A tally takes 1.8 MB of each worker and of the
 * totals, of which little is touched; a single range has no totals. Where some
 * format is so narrow that most codes are treated in another way, one count by
 * the exponent of a block serves all formats (stats/joint_tally.h). Of binary32
 * the sums by leading bits take the place of the histogram, and a tally takes
 * 13 MB, of which as little is touched.
 */

static bool fits(const struct tp_tally_plan *plan,
                 const struct tp_quant_spec *spec, enum tp_dtype dtype)
{
    return plan->blocks.dtype == dtype && plan->spec.number == spec->number &&
           plan->spec.rule == spec->rule &&
           plan->spec.nonfinite == spec->nonfinite;
}

/* Makes *plan that of a cast; often it is. */
static bool provide_plan(struct tp_tally_plan **plan,
                         const struct tp_quant_spec *spec, enum tp_dtype dtype)
{
    const bool made = *plan != NULL;
    if (!tp_provide(plan, sizeof **plan))
        return false;
    if (!made || !fits(*plan, spec, dtype))
        tp_tally_plan_init(*plan, spec, dtype);
    return true;
}

enum tp_status tp_tallies_begin(struct tp_tallies *tallies,
                                const struct tp_casts *casts,
                                struct tp_tally_plan *plans[TP_CASTS],
                                bool totals, struct tp_error *err)
{
    *tallies = (struct tp_tallies){.joint = tallies->joint};
    for (size_t i = 0; i < casts->count; i++) {
        if (casts->kind[i] != TP_CAST_TALLY &&
            casts->kind[i] != TP_CAST_BIN_TALLY)
            continue;
        if (!provide_plan(&plans[i], &casts->spec[i], casts->real))
            return tp_fail_memory(err);
        tallies->plan[tallies->count] = plans[i];
        tallies->cast[tallies->count++] = i;
    }
    if (casts->of_kind[TP_CAST_BIN_TALLY] > 0) {
        tallies->bins = calloc(tallies->count, sizeof *tallies->bins);
        return tallies->bins ? TP_OK : tp_fail_memory(err);
    }
    if (totals && tallies->count > 0) {
        tallies->totals = calloc(tallies->count, sizeof *tallies->totals);
        if (!tallies->totals)
            return tp_fail_memory(err);
    }
    return TP_OK;
}

void tp_tallies_clear(struct tp_tallies *tallies)
{
    free(tallies->totals);
    free(tallies->bins);
    tallies->totals = NULL;
    tallies->bins = NULL;
}

void tp_tallies_finish(const struct tp_tallies *tallies,
                       struct tp_casts *casts,
                       const struct tp_code_list *list,
                       struct tp_tally *scratch, uint64_t *room)
{
    struct tp_tally *from = tallies->totals ? tallies->totals : scratch;
    for (size_t i = 0; i < tallies->count; i++) {
        struct tp_quant_error error = {0};
        tp_tally_finish(tallies->plan[i], &from[i], list, room, &error);
        tp_quant_merge(&casts->error[tallies->cast[i]], &error, casts->repeat);
    }
}

void tp_tallies_finish_bins(const struct tp_tallies *tallies,
                            struct tp_casts *casts)
{
    for (size_t i = 0; i < tallies->count; i++) {
        struct tp_quant_error error = {0};
        const size_t cast = tallies->cast[i];
        if (tp_float_tally_finish(tallies->plan[i], &tallies->bins[i],
                                  casts->bins, &error))
            tp_quant_merge(&casts->error[cast], &error, casts->repeat);
        else
            tp_casts_become(casts, cast, TP_CAST_BLOCKS);
    }
}

/* From as many values: going through pairs costs as much as tallying some
 * hundred thousand values. */
enum { JOINT_VALUES = 1 << 18 };

bool tp_tallies_joint(const struct tp_casts *casts, const struct tp_pass *pass)
{
    const struct tp_quant_spec *first = NULL;
    bool narrow = false;
    if (pass->device || pass->walk.count < JOINT_VALUES)
        return false;
    for (size_t i = 0; i < casts->count; i++) {
        const struct tp_quant_spec *spec = &casts->spec[i];
        if (casts->kind[i] != TP_CAST_TALLY)
            continue;
        first = first ? first : spec;
        if (!tp_joint_tally_applies(spec, casts->real) ||
            spec->rule != first->rule)
            return false;
        narrow = narrow || spec->number->bits < 8;
    }
    return narrow;
}

/* --- the sinks ------------------------------------------------------------ */

static struct tp_joint_plans plans_of(const struct tp_tallies *tallies)
{
    return (struct tp_joint_plans){tallies->plan, tallies->count};
}

static void take_piece(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, void *part, void *scratch)
{
    const struct tp_tallies *tallies = state;
    const struct tp_joint_plans plans = plans_of(tallies);
    const struct tp_block_cut cut = tp_piece_blocks(pass, piece);
    struct tp_tally *tally = scratch;
    struct tp_block_turner turner;
    struct tp_block_rows rows;
    (void)part;
    tp_block_turner_begin(&turner, &cut);
    while (tp_block_turner_next(&turner, &rows)) {
        if (tallies->joint) {
            tp_joint_tally_special(&plans, &rows, tally);
            continue;
        }
        for (size_t i = 0; i < tallies->count; i++)
            tp_tally_rows(tallies->plan[i], rows.codes, rows.rows,
                          rows.row_length, &tally[i]);
    }
}

static void flush(void *state, void *scratch)
{
    const struct tp_tallies *tallies = state;
    struct tp_tally *tally = scratch;
    for (size_t i = 0; i < tallies->count && tallies->totals; i++)
        tp_tally_flush(&tally[i], &tallies->totals[i]);
}

/* The lane's tallies have the same numbers. */
static bool can(const void *state, const struct tp_device_lane *lane)
{
    const struct tp_tallies *tallies = state;
    return tallies->totals && tp_device_tallies(lane, tallies->count);
}

typedef bool tally_fn(const struct tp_device_lane *lane, size_t tally,
                      const struct tp_tally_plan *plan,
                      const struct tp_block_rows *rows);

static bool send_blocks(const struct tp_block_cut *of,
                        const struct tp_tallies *tallies,
                        const struct tp_device_lane *lane, tally_fn *tally)
{
    struct tp_block_cut cut = *of;
    struct tp_block_rows rows;
    bool ok = true;
    while (ok && tp_block_cut_next(&cut, &rows))
        for (size_t i = 0; i < tallies->count && ok; i++)
            ok = tally(lane, i, tallies->plan[i], &rows);
    return ok;
}

static bool send_piece(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, const struct tp_device_lane *lane)
{
    const struct tp_block_cut cut = tp_piece_blocks(pass, piece);
    return send_blocks(&cut, state, lane, tp_device_tally);
}

static void take_device(void *state, void *part,
                        const struct tp_device_lane *lane)
{
    const struct tp_tallies *tallies = state;
    (void)part;
    for (size_t i = 0; i < tallies->count; i++)
        tp_device_take_tally(lane, i, &tallies->totals[i]);
}

static const struct tp_sink_device device = {can, send_piece, take_device};

const struct tp_sink tp_sink_tallies = {.scratch_size = sizeof(struct tp_tally),
                                        .blocks = true,
                                        .piece = take_piece,
                                        .flush = flush,
                                        .device = &device};

static void take_joint(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, void *part, void *scratch)
{
    const struct tp_joint_plans plans = plans_of(state);
    const struct tp_block_cut cut = tp_piece_blocks(pass, piece);
    struct tp_block_turner turner;
    struct tp_block_rows rows;
    (void)part;
    tp_block_turner_begin(&turner, &cut);
    while (tp_block_turner_next(&turner, &rows))
        tp_joint_tally_rows(&plans, &rows, scratch);
}

static void flush_joint(void *state, void *scratch)
{
    const struct tp_tallies *tallies = state;
    const struct tp_joint_plans plans = plans_of(tallies);
    tp_joint_tally_flush(&plans, scratch, tallies->totals);
}

const struct tp_sink tp_sink_joint = {.scratch_size =
                                          sizeof(struct tp_joint_tally),
                                      .blocks = true,
                                      .piece = take_joint,
                                      .flush = flush_joint};

static void take_bins(const struct tp_pass *pass, const struct tp_piece *piece,
                      const void *state, void *part, void *scratch)
{
    const struct tp_tallies *tallies = state;
    const struct tp_block_cut cut = tp_piece_blocks(pass, piece);
    struct tp_float_tally *tally = scratch;
    struct tp_block_turner turner;
    struct tp_block_rows rows;
    (void)part;
    tp_block_turner_begin(&turner, &cut);
    while (tp_block_turner_next(&turner, &rows))
        for (size_t i = 0; i < tallies->count; i++)
            tp_float_tally_rows(tallies->plan[i], rows.codes, rows.rows,
                                rows.row_length, &tally[i]);
}

static void flush_bins(void *state, void *scratch)
{
    const struct tp_tallies *tallies = state;
    struct tp_float_tally *tally = scratch;
    for (size_t i = 0; i < tallies->count; i++)
        tp_float_tally_flush(&tally[i], &tallies->bins[i]);
}

static bool can_bins(const void *state, const struct tp_device_lane *lane)
{
    const struct tp_tallies *tallies = state;
    return tp_device_float_tallies(lane, tallies->count);
}

static bool send_bins(const struct tp_pass *pass, const struct tp_piece *piece,
                      const void *state, const struct tp_device_lane *lane)
{
    const struct tp_block_cut cut = tp_piece_blocks(pass, piece);
    return send_blocks(&cut, state, lane, tp_device_float_tally);
}

static void take_device_bins(void *state, void *part,
                             const struct tp_device_lane *lane)
{
    const struct tp_tallies *tallies = state;
    (void)part;
    for (size_t i = 0; i < tallies->count; i++)
        tp_device_take_float_tally(lane, i, &tallies->bins[i]);
}

static const struct tp_sink_device device_bins = {can_bins, send_bins,
                                                  take_device_bins};

const struct tp_sink tp_sink_bin_tallies = {
    .scratch_size = sizeof(struct tp_float_tally),
    .blocks = true,
    .piece = take_bins,
    .flush = flush_bins,
    .device = &device_bins};

/* --- NVFP4 ---------------------------------------------------------------- */

enum tp_status tp_nvfp4_begin(struct tp_nvfp4_tallies *tallies,
                              const struct tp_casts *casts,
                              struct tp_error *err)
{
    const size_t count = casts->of_kind[TP_CAST_NVFP4];
    *tallies = (struct tp_nvfp4_tallies){.count = 0};
    if (count == 0)
        return TP_OK;
    tallies->plan = calloc(count, sizeof *tallies->plan);
    tallies->total = calloc(count, sizeof *tallies->total);
    tallies->special = calloc(count, sizeof *tallies->special);
    if (!tallies->plan || !tallies->total || !tallies->special)
        return tp_fail_memory(err);
    for (size_t i = 0; i < casts->count; i++) {
        if (casts->kind[i] != TP_CAST_NVFP4)
            continue;
        tp_nvfp4_plan_init(&tallies->plan[tallies->count], &casts->spec[i],
                           casts->real, casts->amax);
        tallies->cast[tallies->count++] = i;
    }
    return TP_OK;
}

void tp_nvfp4_finish(const struct tp_nvfp4_tallies *tallies,
                     struct tp_casts *casts)
{
    for (size_t i = 0; i < tallies->count; i++) {
        struct tp_quant_error error = tallies->special[i];
        tp_nvfp4_tally_finish(&tallies->plan[i], &tallies->total[i], &error);
        tp_quant_merge(&casts->error[tallies->cast[i]], &error, casts->repeat);
    }
}

void tp_nvfp4_clear(struct tp_nvfp4_tallies *tallies)
{
    free(tallies->plan);
    free(tallies->total);
    free(tallies->special);
    *tallies = (struct tp_nvfp4_tallies){.count = 0};
}

static void take_nvfp4(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, void *part, void *scratch)
{
    const struct tp_nvfp4_tallies *tallies = state;
    const struct tp_block_cut cut = tp_piece_blocks(pass, piece);
    struct tp_nvfp4_tally *tally = scratch;
    struct tp_quant_error *special = part;
    struct tp_block_turner turner;
    struct tp_block_rows rows;
    tp_block_turner_begin(&turner, &cut);
    while (tp_block_turner_next(&turner, &rows))
        for (size_t i = 0; i < tallies->count; i++)
            tp_nvfp4_tally_rows(&tallies->plan[i], &rows, &tally[i],
                                &special[i]);
}

static void flush_nvfp4(void *state, void *scratch)
{
    const struct tp_nvfp4_tallies *tallies = state;
    struct tp_nvfp4_tally *tally = scratch;
    for (size_t i = 0; i < tallies->count; i++)
        tp_nvfp4_tally_flush(&tally[i], &tallies->total[i]);
}

static void merge_nvfp4(void *state, const void *part)
{
    const struct tp_nvfp4_tallies *tallies = state;
    const struct tp_quant_error *special = part;
    for (size_t i = 0; i < tallies->count; i++)
        tp_quant_merge(&tallies->special[i], &special[i], 1);
}

const struct tp_sink tp_sink_nvfp4 = {
    .scratch_size = sizeof(struct tp_nvfp4_tally),
    .part_size = sizeof(struct tp_quant_error),
    .blocks = true,
    .piece = take_nvfp4,
    .flush = flush_nvfp4,
    .merge = merge_nvfp4};
