/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_DTYPE_MATH_H
#define TP_DATA_DTYPE_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/host_device.h"
#include "data/dtype.h"

/* Decoding of single codes, for the processor and for devices. */

/* How the codes at the edge of a small floating format are spent. */
enum tp_specials {
    TP_SPECIALS_IEEE, /* top exponent: infinities and NaN           */
    TP_SPECIALS_FN,   /* all ones: NaN; no infinity                 */
    TP_SPECIALS_NONE, /* every code is a number                     */
    TP_SPECIALS_FNUZ  /* only sign bit: NaN; no infinity and no -0  */
};

/* A binary floating format of at most 16 bits. */
struct tp_layout {
    int exponent_bits, fraction_bits, bias;
    enum tp_specials specials;
};

/* The layout of TP_FLOAT16 and of the 8-bit floating dtypes with a sign. */
TP_HOST_DEVICE static inline struct tp_layout
tp_layout_of(enum tp_dtype dtype)
{
    const struct tp_layout fp16 = {5, 10, 15, TP_SPECIALS_IEEE};
    const struct tp_layout e4m3fn = {4, 3, 7, TP_SPECIALS_FN};
    const struct tp_layout e5m2 = {5, 2, 15, TP_SPECIALS_IEEE};
    const struct tp_layout e4m3fnuz = {4, 3, 8, TP_SPECIALS_FNUZ};
    const struct tp_layout e5m2fnuz = {5, 2, 16, TP_SPECIALS_FNUZ};
    switch (dtype) {
    case TP_FLOAT8_E4M3FN:
    case TP_FLOAT6_E3M2FN: /* widened, see struct tp_dtype_info */
    case TP_FLOAT6_E2M3FN:
    case TP_FLOAT4_E2M1FN_X2: return e4m3fn;
    case TP_FLOAT8_E5M2: return e5m2;
    case TP_FLOAT8_E4M3FNUZ: return e4m3fnuz;
    case TP_FLOAT8_E5M2FNUZ: return e5m2fnuz;
    default: return fp16;
    }
}

TP_HOST_DEVICE static inline double tp_double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TP_HOST_DEVICE static inline float tp_float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 2^e of a normal double. */
TP_HOST_DEVICE static inline double tp_power_of_two(int e)
{
    return tp_double_of((uint64_t)(1023 + e) << 52);
}

/* The value of a code of a layout. */
TP_HOST_DEVICE static inline double
tp_small_value(unsigned code, const struct tp_layout *layout)
{
    const int f = layout->fraction_bits;
    const unsigned sign_bit = 1u << (f + layout->exponent_bits);
    const unsigned top = (1u << layout->exponent_bits) - 1;
    const unsigned magnitude = code & (sign_bit - 1);
    const unsigned exponent = magnitude >> f;
    const unsigned fraction = magnitude & ((1u << f) - 1);
    const bool negative = code & sign_bit;
    if (layout->specials == TP_SPECIALS_FNUZ && code == sign_bit) {
        return NAN;
    }
    if (layout->specials == TP_SPECIALS_FN && magnitude == sign_bit - 1) {
        return NAN;
    }
    if (layout->specials == TP_SPECIALS_IEEE && exponent == top) {
        return fraction ? NAN : negative ? -INFINITY : INFINITY;
    }
    double value;
    if (exponent == 0) {
        value = fraction * tp_power_of_two(1 - layout->bias - f);
    } else {
        value = tp_double_of((uint64_t)(1023 + (int)exponent - layout->bias)
                                 << 52 |
                             (uint64_t)fraction << (52 - f));
    }
    return negative ? -value : value;
}

TP_HOST_DEVICE static inline double tp_e8m0_code_value(unsigned code)
{
    return code == 0xff ? NAN : tp_power_of_two((int)code - 127);
}

/* The value of a code of any real dtype; bits above it are 0. As
 * tp_dtype_decode, which is the one for many. */
TP_HOST_DEVICE static inline double tp_code_value(enum tp_dtype dtype,
                                                  uint64_t code)
{
    const uint32_t low = (uint32_t)code;
    struct tp_layout layout;
    switch (dtype) {
    case TP_FLOAT64: return tp_double_of(code);
    case TP_FLOAT32: return tp_float_of(low);
    case TP_BFLOAT16: return tp_float_of(low << 16);
    case TP_FLOAT8_E8M0FNU: return tp_e8m0_code_value(low);
    case TP_UINT8:
    case TP_UINT16:
    case TP_UINT32: return low;
    case TP_UINT64: return (double)code;
    case TP_INT8: return (int8_t)low;
    case TP_INT16: return (int16_t)low;
    case TP_INT32: return (int32_t)low;
    case TP_INT64: return (double)(int64_t)code;
    case TP_BOOL: return code != 0;
    default: layout = tp_layout_of(dtype); return tp_small_value(low, &layout);
    }
}

#endif
