/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_FLOAT_BINS_MATH_H
#define TP_STATS_FLOAT_BINS_MATH_H

#include "stats/float_bins.h"
#include "stats/quantize_lanes.h"

/* Private to the files that sum binary32 values by bins: float_bins.c, and
 * float_tally.c for blocks. */

/* Adds a code to its bin. */
TP_LANES_INLINE void tp_float_bin_add(struct tp_float_bin *bin, uint32_t code)
{
    const uint32_t end = (uint32_t)1 << TP_FLOAT_BIN_SHIFT;
    const uint64_t low = code & (end - 1);
    if (low == 0) {
        bin->edge++;
        return;
    }
    bin->sum += (UINT64_C(1) << TP_FLOAT_BIN_COUNT) + low;
    bin->squares += low * low;
    if (low > bin->most)
        bin->most = (uint16_t)low;
    if (end - low > bin->least)
        bin->least = (uint16_t)(end - low);
}

/* A cast under way: how values round, what is counted, and the outcome. */
struct tp_float_cast {
    struct tp_rounder rounder;
    enum tp_rounder_kind kind;
    struct tp_quant_limits limits;
    struct tp_quant_error sums;
};

/* Adds the values of a finite bin, which begins at `code`. False: it is one of
 * subnormals that do not become 0; what was added is of no use then. */
bool tp_float_cast_bin(struct tp_float_cast *cast, uint32_t code,
                       const struct tp_float_bin_total *total);

#endif
