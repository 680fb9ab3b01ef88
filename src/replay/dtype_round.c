/* SPDX-License-Identifier: MIT */
#include "replay/dtype_round.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "data/encode.h"

double tp_dtype_round(enum tp_dtype dtype, double value)
{
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

static double flip_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits ^= 1;
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
    if (dtype == TP_FLOAT64)
        return flip_double(value);
    if (dtype == TP_FLOAT32)
        return flip_float(value);
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
