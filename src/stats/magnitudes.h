/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_MAGNITUDES_H
#define TP_STATS_MAGNITUDES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/*
 * The largest magnitude of n codes of 16 bits, a multiple of 8, in the
 * instructions that every processor of its kind has: inlined where a block is
 * looked at, with n a constant.
 */
static inline __attribute__((always_inline)) unsigned tp_largest_magnitude(
    const uint16_t *codes, size_t n)
{
#if defined(__x86_64__)
    const __m128i no_sign = _mm_set1_epi16(0x7fff);
    __m128i most = _mm_setzero_si128(), next;
    for (size_t i = 0; i < n; i += 8) {
        memcpy(&next, codes + i, sizeof next);
        most = _mm_max_epi16(most, _mm_and_si128(next, no_sign));
    }
    most = _mm_max_epi16(most, _mm_srli_si128(most, 8));
    most = _mm_max_epi16(most, _mm_srli_si128(most, 4));
    most = _mm_max_epi16(most, _mm_srli_si128(most, 2));
    return (unsigned)_mm_cvtsi128_si32(most) & 0x7fff;
#else
    unsigned largest = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned magnitude = codes[i] & 0x7fffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
#endif
}

/* The same of 32 codes of 8 bits. */
static inline unsigned tp_largest_byte(const uint8_t *codes)
{
    unsigned largest = 0;
#if defined(__x86_64__)
    const __m128i no_sign = _mm_set1_epi8(0x7f);
    __m128i low, high;
    memcpy(&low, codes, sizeof low);
    memcpy(&high, codes + 16, sizeof high);
    __m128i most =
        _mm_max_epu8(_mm_and_si128(low, no_sign), _mm_and_si128(high, no_sign));
    most = _mm_max_epu8(most, _mm_srli_si128(most, 8));
    most = _mm_max_epu8(most, _mm_srli_si128(most, 4));
    most = _mm_max_epu8(most, _mm_srli_si128(most, 2));
    most = _mm_max_epu8(most, _mm_srli_si128(most, 1));
    largest = (unsigned)_mm_cvtsi128_si32(most) & 0x7f;
#else
    for (int i = 0; i < 32; i++)
        largest = (codes[i] & 0x7fu) > largest ? codes[i] & 0x7fu : largest;
#endif
    return largest;
}

/* How many of a block's codes lie above a limit in magnitude, and how many of
 * these are negative. */
struct tp_above {
    unsigned all, lower;
};

/* Of 16 codes. Blocks differ in whether any does, so no branch asks. */
static inline struct tp_above tp_magnitudes_above(const uint16_t *codes,
                                                  unsigned limit)
{
    struct tp_above above = {0, 0};
#if defined(__x86_64__)
    const __m128i no_sign = _mm_set1_epi16(0x7fff), zero = _mm_setzero_si128();
    const __m128i most = _mm_set1_epi16((short)limit);
    __m128i low, high;
    memcpy(&low, codes, sizeof low);
    memcpy(&high, codes + 8, sizeof high);
    const __m128i signs =
        _mm_packs_epi16(_mm_srai_epi16(low, 15), _mm_srai_epi16(high, 15));
    low = _mm_cmpgt_epi16(_mm_and_si128(low, no_sign), most);
    high = _mm_cmpgt_epi16(_mm_and_si128(high, no_sign), most);
    /* a byte of 1 for each, which are added up by eights */
    const __m128i ones = _mm_sub_epi8(zero, _mm_packs_epi16(low, high));
    const __m128i all = _mm_sad_epu8(ones, zero);
    const __m128i lower = _mm_sad_epu8(_mm_and_si128(ones, signs), zero);
    const __m128i sums = _mm_add_epi64(_mm_unpacklo_epi64(all, lower),
                                       _mm_unpackhi_epi64(all, lower));
    above.all = (unsigned)_mm_cvtsi128_si32(sums);
    above.lower = (unsigned)_mm_cvtsi128_si32(_mm_srli_si128(sums, 8));
#else
    for (int i = 0; i < 16; i++) {
        const unsigned over = (codes[i] & 0x7fffu) > limit;
        above.all += over;
        above.lower += over & codes[i] >> 15;
    }
#endif
    return above;
}

#endif
