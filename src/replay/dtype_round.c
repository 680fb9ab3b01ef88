/* SPDX-License-Identifier: MIT */
#include "replay/dtype_round.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "data/encode.h"

/* A format of 16 bits: what its significand stores, its least normal exponent,
 * its largest number. */
struct half {
    int bits, least;
    double most;
};

static const struct half *half_of(enum tp_dtype dtype)
{
    static const struct half fp16 = {10, -14, 65504},
                             bf16 = {7, -126, 0x1.fep127};
    return dtype == TP_FLOAT16 ? &fp16 : dtype == TP_BFLOAT16 ? &bf16 : NULL;
}

/* A power of two. */
static double power(int exponent)
{
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Ties to even, on the bits of the double: every element of every replay comes
 * by here, so not by way of the general encoder. */
static double round_half(const struct half *half, double value)
{
    uint64_t bits;
    if (!isfinite(value))
        return value;
    if (fabs(value) < power(half->least)) {
        const double step = 1.5 * power(52 + half->least - half->bits);
        return copysign((value + step) - step, value);
    }
    const int drop = 52 - half->bits;
    memcpy(&bits, &value, sizeof bits);
    bits += (1ULL << (drop - 1)) - 1 + ((bits >> drop) & 1);
    bits &= ~((1ULL << drop) - 1);
    memcpy(&value, &bits, sizeof value);
    return fabs(value) > half->most ? copysign(INFINITY, value) : value;
}

double tp_dtype_round(enum tp_dtype dtype, double value)
{
    const struct half *half = half_of(dtype);
    if (half)
        return round_half(half, value);
    if (dtype == TP_FLOAT64 || tp_dtype_info(dtype)->kind != TP_CLASS_FLOAT)
        return value;
    if (dtype == TP_FLOAT32)
        return (double)(float)value;
    const struct tp_number *number = tp_number_by_dtype(dtype);
    return number
               ? tp_number_decode(
                     number, tp_number_encode(number, TP_ROUND_DEFAULT, value))
               : value;
}

static double flip_double(double value, int bit)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits ^= 1ULL << bit;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

static double flip_float(double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    bits ^= 1;
    memcpy(&single, &bits, sizeof bits);
    return (double)single;
}

double tp_dtype_flip_last(enum tp_dtype dtype, double value)
{
    const struct half *half = half_of(dtype);
    if (dtype == TP_FLOAT64)
        return flip_double(value, 0);
    if (dtype == TP_FLOAT32)
        return flip_float(value);
    if (half && isfinite(value) && fabs(value) >= power(half->least))
        return flip_double(value, 52 - half->bits);
    const struct tp_number *number = tp_number_by_dtype(dtype);
    return tp_number_decode(
        number, tp_number_encode(number, TP_ROUND_DEFAULT, value) ^ 1U);
}

double tp_dtype_least_normal(enum tp_dtype dtype)
{
    return dtype == TP_FLOAT64   ? DBL_MIN
           : dtype == TP_FLOAT16 ? ldexp(1, -14)
                                 : (double)FLT_MIN; /* bf16 has its range */
}

double tp_dtype_step(enum tp_dtype dtype, double value)
{
    int exponent;
    if (value == 0 || !isfinite(value))
        return 0;
    frexp(fmax(fabs(value), tp_dtype_least_normal(dtype)), &exponent);
    return ldexp(1, exponent - tp_dtype_info(dtype)->significand);
}
