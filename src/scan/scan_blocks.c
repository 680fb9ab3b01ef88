/* SPDX-License-Identifier: MIT */
#include "scan/scan_blocks.h"

#include "cuda/session.h"

/*
 * Block counts are integers, but six of them: so they are kept per range and
 * merged with it, which needs no table of the worker. The counting itself is
 * in stats/blocks.c, on rows or straight down columns.
 */

static void take_piece(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, void *part, void *scratch)
{
    const struct tp_block_sum *sum = state;
    struct tp_block_cut cut = tp_piece_blocks(pass, piece);
    struct tp_block_rows rows;
    (void)scratch;
    while (tp_block_cut_next(&cut, &rows)) {
        if (rows.columns)
            tp_blocks_count_across(sum->plan, rows.codes, rows.row_length,
                                   rows.columns, part);
        else
            tp_blocks_count(sum->plan, rows.codes, rows.rows, rows.row_length,
                            part);
    }
}

static void merge(void *state, const void *part)
{
    struct tp_block_sum *sum = state;
    tp_block_counts_merge(&sum->counts, part, 1);
}

static bool can(const void *state, const struct tp_device_lane *lane)
{
    (void)state, (void)lane;
    return true;
}

static bool send_piece(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, const struct tp_device_lane *lane)
{
    const struct tp_block_sum *sum = state;
    struct tp_block_cut cut = tp_piece_blocks(pass, piece);
    struct tp_block_rows rows;
    bool ok = true;
    while (ok && tp_block_cut_next(&cut, &rows))
        ok = tp_device_blocks(lane, sum->plan, &rows);
    return ok;
}

static void take_device(void *state, void *part,
                        const struct tp_device_lane *lane)
{
    const struct tp_device_results results = {.blocks = part};
    (void)state;
    tp_device_take(lane, &results);
}

static const struct tp_sink_device device = {can, send_piece, take_device};

const struct tp_sink tp_sink_blocks = {.part_size =
                                           sizeof(struct tp_block_counts),
                                       .blocks = true,
                                       .piece = take_piece,
                                       .merge = merge,
                                       .device = &device};

void tp_blocks_plan(struct tp_block_plan *plan, const struct tp_number *number,
                    struct tp_block_rules rules, enum tp_dtype dtype,
                    double amax)
{
    if (number->kind != TP_NUMBER_MX || plan->number != number ||
        plan->rules.scale != rules.scale ||
        plan->rules.nonfinite != rules.nonfinite || plan->dtype != dtype)
        tp_block_plan_init(plan, number, rules, dtype, amax);
}
