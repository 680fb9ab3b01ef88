/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_SCAN_BLOCKS_H
#define TP_SCAN_SCAN_BLOCKS_H

#include "scan/pass.h"
#include "stats/blocks.h"

/* What a tensor would lose in the block format that is its target. */
struct tp_block_sum {
    const struct tp_block_plan *plan;
    struct tp_block_counts counts;
};

/* Its state is a struct tp_block_sum. */
extern const struct tp_sink tp_sink_blocks;

/* Makes a plan fit, unless it does: one of MX, for values of other tensors of
 * the dtype. One of NVFP4 needs the largest magnitude of this tensor. */
void tp_blocks_plan(struct tp_block_plan *plan, const struct tp_number *number,
                    struct tp_block_rules rules, enum tp_dtype dtype,
                    double amax);

#endif
