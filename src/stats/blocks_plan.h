/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_BLOCKS_PLAN_H
#define TP_STATS_BLOCKS_PLAN_H

#include <string.h>

#include "base/host_device.h"
#include "stats/blocks.h"

/*
 * Private to blocks.c, which makes plans, and to what counts by them
 * (blocks_count.c, tally.c, devices): from the largest magnitude of a block to
 * its limits. Inlined into the loops, since there is one such step per block.
 */

#define TP_INLINE \
    TP_HOST_DEVICE static inline __attribute__((always_inline))

/* Value of a magnitude of the counted dtype (an 8-bit dtype's is bfloat16),
 * which is finite. */
TP_INLINE double tp_block_code_value(const struct tp_block_plan *plan,
                                     uint64_t code)
{
    double value;
    float single;
    uint32_t bits;
    switch (plan->fraction_bits) {
    case 10: /* binary16: its exponent moved to where binary32 has it */
        bits = (uint32_t)code << 13;
        memcpy(&single, &bits, sizeof single);
        return single * 0x1p112f;
    case 7: /* bfloat16 */
        bits = (uint32_t)code << 16;
        memcpy(&single, &bits, sizeof single);
        return single;
    case 23:
        bits = (uint32_t)code;
        memcpy(&single, &bits, sizeof single);
        return single;
    default: memcpy(&value, &code, sizeof value); return value;
    }
}

/* E4M3 code of v >= 0: nearest, ties to even, saturating at 448 (7e). */
TP_INLINE unsigned tp_e4m3_code(float v)
{
    if (v >= 448) {
        return 0x7e;
    }
    if (v < 0x1p-6f) { /* multiples of 2^-9; the shift forces an integer */
        return (unsigned)(int)(v * 0x1p9f + 0x1.8p23f - 0x1.8p23f);
    }
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits += 0x7ffffu + (bits >> 20 & 1);
    return (bits >> 20) - ((127 - 7) << 3);
}

/* The product of the encoding scale and 1/6 comes first, and is rounded. */
TP_INLINE unsigned tp_nvfp4_scale_code(float encode, float block_amax)
{
    const float factor = encode * (1.0f / 6.0f);
    return tp_e4m3_code(block_amax * factor);
}

/* NVFP4 is defined in binary32; what does not fit is its largest value. */
TP_INLINE float tp_to_binary32(double x)
{
    return x > 0x1.fffffep127 ? 0x1.fffffep127f : (float)x;
}

TP_INLINE const struct tp_block_limits *
tp_nvfp4_limits(const struct tp_block_plan *plan, uint64_t largest)
{
    const float amax = tp_to_binary32(tp_block_code_value(plan, largest));
    return &plan->limits[tp_nvfp4_scale_code(plan->encode, amax)];
}

/*
 * Exponent field of a binary16 magnitude plus carry, as if its exponent range
 * had no end: the only source dtype whose subnormals are not all beneath the
 * smallest scale.
 */
TP_HOST_DEVICE static inline int tp_binary16_exponent(uint64_t magnitude,
                                                      uint64_t carry)
{
    int shift = 0;
    while (magnitude << shift < 0x400) {
        shift++;
    }
    return (int)((magnitude << shift) + carry) / 0x400 - shift;
}

/* The scale byte of an MX block whose largest magnitude below the ceiling is
 * `largest`, also the number of its limits. */
TP_INLINE int tp_mx_slot(const struct tp_block_plan *plan, uint64_t largest)
{
    int field;
    if (largest == plan->infinity) {
        return plan->infinite_slot;
    }
    if (plan->fraction_bits == 10 && largest < 0x400 && largest > 0) {
        field = tp_binary16_exponent(largest, plan->carry);
    } else {
        field = (int)((largest + plan->carry) >> plan->fraction_bits);
    }
    const int slot = field + plan->slot_bias;
    return slot < 0                 ? 0
           : slot >= TP_BLOCK_SLOTS ? TP_BLOCK_SLOTS - 1
                                    : slot;
}

TP_INLINE const struct tp_block_limits *
tp_mx_limits(const struct tp_block_plan *plan, uint64_t largest)
{
    return &plan->limits[tp_mx_slot(plan, largest)];
}

TP_INLINE const struct tp_block_limits *
tp_block_limits_of(const struct tp_block_plan *plan, uint64_t largest)
{
    return plan->block == 32 ? tp_mx_limits(plan, largest)
                             : tp_nvfp4_limits(plan, largest);
}

#endif
