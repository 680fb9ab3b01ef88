/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_DECODE_LANES_H
#define TP_STATS_DECODE_LANES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/isa.h"
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

/* Floating codes of 8 bits as doubles, of which the upper 16 bits tell all. */
struct tp_decode_8_plan {
    uint16_t upper[128]; /* of codes without a sign                        */
    uint16_t minus_zero; /* of 0x80, which may be NaN                      */
};

/* Whether there is a plan for a dtype, which is then made. */
static inline bool tp_decode_8_plan_of(enum tp_dtype dtype,
                                       struct tp_decode_8_plan *plan)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    unsigned char codes[129];
    double x[129];
    uint64_t bits[129];
    if (info->size != 1 || info->kind != TP_CLASS_FLOAT ||
        dtype == TP_FLOAT8_E8M0FNU)
        return false;
    for (int i = 0; i < 129; i++)
        codes[i] = (unsigned char)i;
    tp_dtype_decode(dtype, codes, 129, x);
    memcpy(bits, x, sizeof bits);
    for (int i = 0; i < 128; i++)
        plan->upper[i] = (uint16_t)(bits[i] >> 48);
    plan->minus_zero = (uint16_t)(bits[128] >> 48);
    return true;
}

#if defined(__x86_64__)
/* Stores eight doubles of these upper 16 bits. */
TP_TARGET_AVX512 static inline void tp_decode_8_store(__m128i upper, double *x)
{
    _mm512_storeu_si512(x, _mm512_slli_epi64(_mm512_cvtepu16_epi64(upper), 48));
}

/* Decodes 32 codes: the plan stands in four registers. */
TP_TARGET_AVX512 static inline void
tp_decode_8_group(const struct tp_decode_8_plan *plan,
                  const unsigned char *codes, double *x)
{
    const __m512i code =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)codes));
    const __m512i lower = _mm512_permutex2var_epi16(
        _mm512_loadu_si512(plan->upper), code,
        _mm512_loadu_si512(plan->upper + 32));
    const __m512i higher = _mm512_permutex2var_epi16(
        _mm512_loadu_si512(plan->upper + 64), code,
        _mm512_loadu_si512(plan->upper + 96));
    const __m512i sign = _mm512_set1_epi16((short)0x8000);
    __m512i value = _mm512_mask_mov_epi16(
        lower, _mm512_test_epi16_mask(code, _mm512_set1_epi16(0x40)), higher);
    value = _mm512_or_si512(
        value, _mm512_and_si512(_mm512_slli_epi16(code, 8), sign));
    value = _mm512_mask_mov_epi16(
        value, _mm512_cmpeq_epi16_mask(code, _mm512_set1_epi16(0x80)),
        _mm512_set1_epi16((short)plan->minus_zero));
    tp_decode_8_store(_mm512_castsi512_si128(value), x);
    tp_decode_8_store(_mm512_extracti32x4_epi32(value, 1), x + 8);
    tp_decode_8_store(_mm512_extracti32x4_epi32(value, 2), x + 16);
    tp_decode_8_store(_mm512_extracti32x4_epi32(value, 3), x + 24);
}

/* As tp_dtype_decode of such a dtype, four times as fast. */
TP_TARGET_AVX512 static inline void
tp_decode_8(const struct tp_decode_8_plan *plan, const unsigned char *codes,
            size_t n, double *x)
{
    enum { GROUP = 32 };
    size_t i = 0;
    for (; i + GROUP <= n; i += GROUP)
        tp_decode_8_group(plan, codes + i, x + i);
    if (i == n)
        return;
    unsigned char last[GROUP] = {0};
    double decoded[GROUP];
    memcpy(last, codes + i, n - i);
    tp_decode_8_group(plan, last, decoded);
    memcpy(x + i, decoded, (n - i) * sizeof *x);
}
#endif

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
