/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_FLOAT_SAMPLES_H
#define TP_TESTS_FLOAT_SAMPLES_H

#include <math.h>
#include <stdint.h>

#include "tests/unit/support/gaussian.h"
#include "tests/unit/support/xorshift.h"

/* binary32 values of the kinds that sums by bins might get wrong. */
enum float_sample {
    SAMPLE_NORMAL,
    SAMPLE_HEAVY,     /* of a Cauchy distribution                      */
    SAMPLE_WIDE,      /* of 60 binades                                 */
    SAMPLE_TIES,      /* in the middle between values of most formats  */
    SAMPLE_BF16,      /* without low bits                              */
    SAMPLE_CONSTANT,  /* 1/3                                           */
    SAMPLE_BELOW,     /* one ulp below a value of every format         */
    SAMPLE_LARGE,     /* up to the largest                             */
    SAMPLE_ZEROS,     /* many, of both signs                           */
    SAMPLE_TINY,      /* some subnormal, most near 1                   */
    SAMPLE_SUBNORMAL, /* only                                          */
    SAMPLE_SPECIAL,   /* some NaN and infinities                       */
    SAMPLES
};

static inline float float_sample(enum float_sample kind, uint64_t *state)
{
    double x[2];
    gaussian_random(state, x, 2);
    const uint64_t draw = xorshift(state);
    const float normal = (float)x[0];
    uint32_t bits;
    float value;
    switch (kind) {
    case SAMPLE_HEAVY: return (float)(x[0] / x[1]);
    case SAMPLE_WIDE: return ldexpf(normal, (int)(draw % 60) - 40);
    case SAMPLE_TIES: return (float)((int64_t)(draw % 2048) - 1024) / 64;
    case SAMPLE_BF16:
        memcpy(&bits, &normal, sizeof bits);
        bits &= 0xffff0000;
        memcpy(&value, &bits, sizeof value);
        return value;
    case SAMPLE_CONSTANT: return 1.0F / 3;
    case SAMPLE_BELOW: return nextafterf(1, 0);
    case SAMPLE_LARGE: return normal * 0x1p124F;
    case SAMPLE_ZEROS: return draw % 4 ? draw % 2 ? 0.0F : -0.0F : normal;
    case SAMPLE_TINY: return draw % 3 ? normal : normal * 0x1p-132F;
    case SAMPLE_SUBNORMAL: return normal * 0x1p-136F;
    case SAMPLE_SPECIAL:
        return draw % 997 == 0   ? NAN
               : draw % 983 == 0 ? INFINITY
               : draw % 971 == 0 ? -INFINITY
                                 : normal;
    default: return normal;
    }
}

#endif
