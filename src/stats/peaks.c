/* SPDX-License-Identifier: MIT */
/*
 * A matrix of codes, four rows at a time: each vector of codes is compared with
 * the two of its row, which stay in registers, and with the two of its columns,
 * which are loaded and stored once for four rows. No code is decoded, since
 * codes of numbers with a sign bit compare as integers: as signed ones those
 * without a sign above all others, as unsigned ones those with one. A last
 * vector that overlaps the one before takes up the rest of a row: a maximum may
 * be taken of a code twice.
 *
 * Decoded values would need twice to eight times the room and as many steps;
 * codes turned into an order of their own would give the least value of slices
 * without a sign too, for three more steps a vector, and nobody asks for it.
 */
#include "stats/peaks.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    ROWS = 4,   /* whose columns are compared at once                      */
    VECTOR = 16 /* bytes, where nothing wider is known                     */
};

bool tp_peaks_apply(enum tp_dtype dtype)
{
    return tp_dtype_info(dtype)->kind == TP_CLASS_FLOAT &&
           dtype != TP_FLOAT8_E8M0FNU;
}

struct tp_peaks tp_peaks_from(const struct tp_peaks *peaks, size_t size,
                              size_t at)
{
    return (struct tp_peaks){peaks->top + at * size, peaks->low + at * size};
}

/* --- codes of one row ----------------------------------------------------- */

/* Functions for codes of one size, of which `I` and `U` are the integers:
 * n codes to as many slices, or all of them to one. Vectors are those that any
 * 64-bit processor has; the last few codes are taken one by one, and those of
 * 64 bits, which few processors compare in such vectors. */
#define DEFINE_FOR(size, I, U)                                             \
    typedef I signed_##size __attribute__((vector_size(VECTOR)));          \
    typedef U unsigned_##size __attribute__((vector_size(VECTOR)));        \
    static inline void peaks_step_##size(const unsigned char *codes,       \
                                         signed_##size *top,               \
                                         unsigned_##size *low)             \
    {                                                                      \
        signed_##size code;                                                \
        memcpy(&code, codes, VECTOR);                                      \
        const unsigned_##size bits = (unsigned_##size)code;                \
        const signed_##size above = code > *top;                           \
        const unsigned_##size more = (unsigned_##size)(bits > *low);       \
        *top = (code & above) | (*top & ~above);                           \
        *low = (bits & more) | (*low & ~more);                             \
    }                                                                      \
    static inline void peaks_code_##size(const unsigned char *codes,       \
                                         const struct tp_peaks *to)        \
    {                                                                      \
        I code, top;                                                       \
        U low;                                                             \
        memcpy(&code, codes, size);                                        \
        memcpy(&top, to->top, size);                                       \
        memcpy(&low, to->low, size);                                       \
        top = code > top ? code : top;                                     \
        low = (U)code > low ? (U)code : low;                               \
        memcpy(to->top, &top, size);                                       \
        memcpy(to->low, &low, size);                                       \
    }                                                                      \
    static void peaks_each_##size(const unsigned char *codes, size_t n,    \
                                  const struct tp_peaks *to)               \
    {                                                                      \
        size_t i = 0;                                                      \
        for (; (size) < 8 && i + VECTOR / (size) <= n;                     \
             i += VECTOR / (size)) {                                       \
            const struct tp_peaks at = tp_peaks_from(to, size, i);         \
            signed_##size top;                                             \
            unsigned_##size low;                                           \
            memcpy(&top, at.top, VECTOR);                                  \
            memcpy(&low, at.low, VECTOR);                                  \
            peaks_step_##size(codes + (size) * i, &top, &low);             \
            memcpy(at.top, &top, VECTOR);                                  \
            memcpy(at.low, &low, VECTOR);                                  \
        }                                                                  \
        for (; i < n; i++) {                                               \
            const struct tp_peaks at = tp_peaks_from(to, size, i);         \
            peaks_code_##size(codes + (size) * i, &at);                    \
        }                                                                  \
    }                                                                      \
    static void peaks_one_##size(const unsigned char *codes, size_t n,     \
                                 const struct tp_peaks *to)                \
    {                                                                      \
        signed_##size top = {0};                                           \
        unsigned_##size low = {0};                                         \
        size_t i = 0;                                                      \
        for (; (size) < 8 && i + VECTOR / (size) <= n;                     \
             i += VECTOR / (size))                                         \
            peaks_step_##size(codes + (size) * i, &top, &low);             \
        for (size_t k = 0; k < VECTOR; k += size) {                        \
            peaks_code_##size((const unsigned char *)&top + k, to);        \
            peaks_code_##size((const unsigned char *)&low + k, to);        \
        }                                                                  \
        for (; i < n; i++)                                                 \
            peaks_code_##size(codes + (size) * i, to);                     \
    }

DEFINE_FOR(1, int8_t, uint8_t)
DEFINE_FOR(2, int16_t, uint16_t)
DEFINE_FOR(4, int32_t, uint32_t)
DEFINE_FOR(8, int64_t, uint64_t)

typedef void peaks_fn(const unsigned char *codes, size_t n,
                      const struct tp_peaks *to);

/* By the logarithm of the size. */
static peaks_fn *const each_by[] = {peaks_each_1, peaks_each_2, peaks_each_4,
                                    peaks_each_8};
static peaks_fn *const one_by[] = {peaks_one_1, peaks_one_2, peaks_one_4,
                                   peaks_one_8};

static int log_of(size_t size)
{
    assert(size == 1 || size == 2 || size == 4 || size == 8);
    return __builtin_ctzll(size);
}

static void add_portable(const struct tp_peak_rows *added,
                         const struct tp_peaks *rows,
                         const struct tp_peaks *columns)
{
    const unsigned char *codes = added->codes;
    const int kind = log_of(added->size);
    for (size_t r = 0; r < added->rows; r++) {
        const struct tp_peaks row = tp_peaks_from(rows, added->size, r);
        one_by[kind](codes, added->width, &row);
        each_by[kind](codes, added->width, columns);
        codes += added->width * added->size;
    }
}

/* --- vectors of them ------------------------------------------------------ */

#if defined(__x86_64__)
/* AVX2 compares 64 bits, but has no larger of two. */
TP_TARGET_AVX2 static inline __m128i larger_128_epi64(__m128i a, __m128i b)
{
    return _mm_blendv_epi8(b, a, _mm_cmpgt_epi64(a, b));
}

TP_TARGET_AVX2 static inline __m128i larger_128_epu64(__m128i a, __m128i b)
{
    const __m128i sign = _mm_set1_epi64x(INT64_MIN);
    return _mm_blendv_epi8(
        b, a, _mm_cmpgt_epi64(_mm_xor_si128(a, sign), _mm_xor_si128(b, sign)));
}

TP_TARGET_AVX2 static inline __m256i larger_256_epi64(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b));
}

TP_TARGET_AVX2 static inline __m256i larger_256_epu64(__m256i a, __m256i b)
{
    const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
    return _mm256_blendv_epi8(b, a,
                              _mm256_cmpgt_epi64(_mm256_xor_si256(a, sign),
                                                 _mm256_xor_si256(b, sign)));
}

/* The larger codes of a size, a constant, in each lane of two vectors. */
#define LARGER(prefix, wide, sign, size, a, b)            \
    ((size) == 1   ? prefix##_max_ep##sign##8((a), (b))   \
     : (size) == 2 ? prefix##_max_ep##sign##16((a), (b))  \
     : (size) == 4 ? prefix##_max_ep##sign##32((a), (b))  \
                   : wide##_ep##sign##64((a), (b)))

#define LARGER_128(sign, size, a, b) \
    LARGER(_mm, larger_128, sign, size, a, b)

/* Folds the lanes of a row's vectors, and adds them to its slice. Bytes that
 * are shifted in are 0, which changes nothing. */
TP_TARGET_AVX2 static inline __attribute__((always_inline)) void
fold(const __m128i *tops, const __m128i *lows, size_t size,
     const struct tp_peaks *row)
{
    __m128i top = *tops, low = *lows;
    unsigned char codes[2][sizeof top];
    top = LARGER_128(i, size, top, _mm_srli_si128(top, 8));
    low = LARGER_128(u, size, low, _mm_srli_si128(low, 8));
    if (size <= 4) {
        top = LARGER_128(i, size, top, _mm_srli_si128(top, 4));
        low = LARGER_128(u, size, low, _mm_srli_si128(low, 4));
    }
    if (size <= 2) {
        top = LARGER_128(i, size, top, _mm_srli_si128(top, 2));
        low = LARGER_128(u, size, low, _mm_srli_si128(low, 2));
    }
    if (size == 1) {
        top = LARGER_128(i, size, top, _mm_srli_si128(top, 1));
        low = LARGER_128(u, size, low, _mm_srli_si128(low, 1));
    }
    _mm_storeu_si128((__m128i *)codes[0], top);
    _mm_storeu_si128((__m128i *)codes[1], low);
    const struct tp_peaks folded = {codes[0], codes[1]};
    tp_peaks_merge(size, row, &folded, 1);
}

#define NAME(x) avx512_##x
#define TARGET TP_TARGET_AVX512
#define VEC __m512i
#define LOAD _mm512_loadu_si512
#define STORE _mm512_storeu_si512
#define MAX(sign, size, a, b) LARGER(_mm512, _mm512_max, sign, size, a, b)
#include "stats/peaks_rows.inc"
#undef NAME
#undef TARGET
#undef VEC
#undef LOAD
#undef STORE
#undef MAX

#define NAME(x) avx2_##x
#define TARGET TP_TARGET_AVX2
#define VEC __m256i
#define LOAD(from) _mm256_loadu_si256((const void *)(from))
#define STORE(to, x) _mm256_storeu_si256((void *)(to), (x))
#define MAX(sign, size, a, b) LARGER(_mm256, larger_256, sign, size, a, b)
#include "stats/peaks_rows.inc"
#endif

typedef void add_fn(const struct tp_peak_rows *added,
                    const struct tp_peaks *rows,
                    const struct tp_peaks *columns);

static add_fn *const add_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(add_portable, avx2_add, avx512_add);

void tp_peaks_add(const struct tp_peak_rows *added,
                  const struct tp_peaks *rows, const struct tp_peaks *columns)
{
    if (added->width > 0)
        add_by[added->isa](added, rows, columns);
}

/* --- what they say -------------------------------------------------------- */

void tp_peaks_merge(size_t size, const struct tp_peaks *into,
                    const struct tp_peaks *from, size_t n)
{
    const int kind = log_of(size);
    each_by[kind](from->top, n, into);
    each_by[kind](from->low, n, into);
}

void tp_peaks_fold(size_t size, const struct tp_peaks *into,
                   const struct tp_peaks *from, size_t n)
{
    const int kind = log_of(size);
    one_by[kind](from->top, n, into);
    one_by[kind](from->low, n, into);
}

void tp_peaks_values(enum tp_dtype dtype, const struct tp_peaks *peaks,
                     size_t n, double *max, double *min)
{
    tp_dtype_decode(dtype, peaks->top, n, max);
    tp_dtype_decode(dtype, peaks->low, n, min);
    for (size_t i = 0; i < n; i++)
        min[i] = min[i] < 0 ? min[i] : 0;
}
