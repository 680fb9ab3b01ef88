/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_TALLY_SEEN_H
#define TP_STATS_TALLY_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/blocks_plan.h"
#include "stats/quantize.h"

/*
 * What the tallies of integers (stats/tally.c) and of binary32
 * (stats/float_tally.c) count of every block of an MX cast: in registers, and
 * put to the rest of the counts once for a piece.
 */
struct tp_tally_seen {
    uint64_t blocks, zero_blocks;
    int least, largest; /* slots of blocks that are not zero */
};

#define TP_TALLY_SEEN_NOTHING {.least = 256, .largest = -1}

/* A block whose largest magnitude has this code, and whose scale this slot. */
TP_INLINE void tp_tally_see(struct tp_tally_seen *seen, int slot,
                            uint32_t largest)
{
    const bool zero = largest == 0;
    const int low = zero ? 256 : slot, high = zero ? -1 : slot;
    seen->blocks++;
    seen->zero_blocks += zero;
    seen->least = low < seen->least ? low : seen->least;
    seen->largest = high > seen->largest ? high : seen->largest;
}

static inline void tp_tally_add_seen(const struct tp_tally_seen *seen,
                                     struct tp_quant_error *counts)
{
    const struct tp_quant_error piece = {
        .blocks = seen->blocks,
        .zero_blocks = seen->zero_blocks,
        .scale_least = (uint16_t)(256 - seen->least),
        .scale_largest = (uint16_t)(seen->largest + 1),
    };
    tp_quant_merge(counts, &piece, 1);
}

#endif
