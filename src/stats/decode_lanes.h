/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_DECODE_LANES_H
#define TP_STATS_DECODE_LANES_H

#include <string.h>

#include "data/dtype.h"
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
