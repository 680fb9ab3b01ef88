/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_DECODE_LANES_H
#define TP_STATS_DECODE_LANES_H

#include <string.h>

#include "data/dtype.h"
#include "data/dtype_math.h"
#include "data/round.h"

/*
 * As tp_dtype_decode, eight codes at a time where the dtype is one of nearly
 * all dumps: inlined into the loops of each instruction set.
 */

typedef uint16_t tp_code_halves __attribute__((vector_size(TP_LANES * 2)));
typedef uint32_t tp_code_words __attribute__((vector_size(TP_LANES * 4)));
typedef float tp_code_floats __attribute__((vector_size(TP_LANES * 4)));

/* The exponent of binary16 is moved to where binary32 has it, and its bias
 * made up for by a product, which is exact for subnormals too. */
TP_LANES_INLINE void tp_decode_binary16(const tp_code_words *code,
                                        tp_code_floats *value)
{
    const tp_code_words magnitude = (*code & 0x7fff) << 13;
    const tp_code_words special =
        (tp_code_words)(magnitude >= 0x0f800000) & 0x7f800000;
    const tp_code_floats scaled = (tp_code_floats)magnitude * 0x1p112f;
    *value = (tp_code_floats)((tp_code_words)scaled | special |
                              (*code & 0x8000) << 16);
}

TP_LANES_INLINE void tp_decode_16(enum tp_dtype dtype,
                                  const unsigned char *codes, double *x)
{
    tp_code_halves code;
    tp_code_floats value;
    memcpy(&code, codes, sizeof code);
    const tp_code_words wide = __builtin_convertvector(code, tp_code_words);
    if (dtype == TP_BFLOAT16)
        value = (tp_code_floats)(wide << 16);
    else
        tp_decode_binary16(&wide, &value);
    const tp_lanes lanes = __builtin_convertvector(value, tp_lanes);
    memcpy(x, &lanes, sizeof lanes);
}

/* How codes of 8 bits become doubles. */
struct tp_decode_8_plan {
    int shift;            /* of magnitudes, to where doubles have them        */
    uint64_t bias;        /* added to them then                               */
    uint64_t normal;      /* the least code that is not subnormal             */
    uint64_t of_normal;   /* the double of it                                */
    uint64_t seen, full;  /* NaN and infinities: (code & seen) ^ full       */
    uint64_t slack, fill; /* is at most slack; what is set in them         */
};

/* Whether there is a plan for a dtype, which is then made. */
TP_LANES_INLINE bool tp_decode_8_plan_of(enum tp_dtype dtype,
                                         struct tp_decode_8_plan *plan)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    const struct tp_layout layout = tp_layout_of(dtype);
    const int f = layout.fraction_bits;
    const bool fnuz = layout.specials == TP_SPECIALS_FNUZ;
    if (info->size != 1 || info->kind != TP_CLASS_FLOAT ||
        dtype == TP_FLOAT8_E8M0FNU)
        return false;
    *plan = (struct tp_decode_8_plan){
        .shift = 52 - f,
        .bias = (uint64_t)(1023 - layout.bias) << 52,
        .normal = (uint64_t)1 << f,
        .of_normal = (uint64_t)(1024 - layout.bias) << 52,
        .seen = fnuz ? 0xff : 0x7f,
        .full = fnuz ? 0x80 : 0x7f,
        .slack =
            layout.specials == TP_SPECIALS_IEEE ? ((uint64_t)1 << f) - 1 : 0,
        .fill = (uint64_t)(fnuz ? 0xfff : 0x7ff) << (fnuz ? 51 : 52),
    };
    return true;
}

/* Decodes whole groups of 8-bit codes; returns how many codes these are. A
 * subnormal code gets the exponent of the least normal one, whose value is
 * taken away again. Twice as fast as tp_dtype_decode, but only where a vector
 * holds all lanes and shifts each by its own. */
TP_LANES_INLINE size_t tp_decode_8(const struct tp_decode_8_plan *plan,
                                   const unsigned char *codes, size_t n,
                                   double *x)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    const tp_lane_bits at = {56, 48, 40, 32, 24, 16, 8, 0};
#else
    const tp_lane_bits at = {0, 8, 16, 24, 32, 40, 48, 56};
#endif
    size_t i = 0;
    for (; i + TP_LANES <= n; i += TP_LANES) {
        uint64_t eight;
        memcpy(&eight, codes + i, sizeof eight);
        const tp_lane_bits code = ((tp_lane_bits){0} + eight) >> at & 0xff;
        const tp_lane_bits magnitude = code & 0x7f;
        const tp_lane_bits below = (tp_lane_bits)(magnitude < plan->normal);
        const tp_lane_bits bits = (magnitude << plan->shift) + plan->bias +
                                  (below & (uint64_t)1 << 52);
        const tp_lanes number =
            (tp_lanes)bits - (tp_lanes)(below & plan->of_normal);
        const tp_lane_bits special =
            (tp_lane_bits)(((code & plan->seen) ^ plan->full) <= plan->slack);
        const tp_lane_bits value =
            (tp_lane_bits)number | (special & plan->fill) | (code & 0x80) << 56;
        memcpy(x + i, &value, sizeof value);
    }
    return i;
}

TP_LANES_INLINE void tp_decode_32(const unsigned char *codes, double *x)
{
    tp_code_floats value;
    memcpy(&value, codes, sizeof value);
    const tp_lanes lanes = __builtin_convertvector(value, tp_lanes);
    memcpy(x, &lanes, sizeof lanes);
}

/* Decodes n numbers; the dtypes of nearly all dumps by lanes. */
TP_LANES_INLINE void tp_decode_lanes(enum tp_dtype dtype,
                                     const unsigned char *codes, size_t n,
                                     double *x)
{
    const size_t size = tp_dtype_info(dtype)->size;
    size_t i = 0;
    if (dtype == TP_BFLOAT16)
        for (; i + TP_LANES <= n; i += TP_LANES)
            tp_decode_16(TP_BFLOAT16, codes + 2 * i, x + i);
    else if (dtype == TP_FLOAT16)
        for (; i + TP_LANES <= n; i += TP_LANES)
            tp_decode_16(TP_FLOAT16, codes + 2 * i, x + i);
    else if (dtype == TP_FLOAT32)
        for (; i + TP_LANES <= n; i += TP_LANES)
            tp_decode_32(codes + 4 * i, x + i);
    if (i < n)
        tp_dtype_decode(dtype, codes + i * size, n - i, x + i);
}

#endif
