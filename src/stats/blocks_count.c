/* SPDX-License-Identifier: MIT */
/*
 * Counts overflow, underflow and subnormals of blocks on the codes as stored:
 * the largest magnitude of a block chooses a row of the plan, with whose
 * limits all its magnitudes are then compared, as integers. Codes of 16 bits,
 * which nearly all dumps hold, have loops by hand (a block of 32 is one vector
 * of AVX-512 or two of AVX2); all else is a template for each width that the
 * compiler vectorises. Codes of one byte are widened to bfloat16 first.
 *
 * Blocks down the columns are counted in tiles, a block high and a few vectors
 * wide. The alternative, to transpose first, reads and writes everything once
 * more; only the simulated casts need it.
 *
 * Cost: two looks at each code, the second from the cache, and one row of
 * limits a block (32 bytes of a table of 8 KiB).
 */
#include "stats/blocks.h"

#include <assert.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/isa.h"
#include "stats/blocks_plan.h"

/* Columns counted side by side: two vectors of AVX-512 at 16 bits. */
enum { STRIP = 64 };

/* GCC 12 at -O3 sums counts of 16 bits wrongly, so they have 32. */
#define CODE uint16_t
#define COUNT uint32_t
#define NAME(x) x##_16
#include "stats/blocks_kernel.inc"
#define CODE uint32_t
#define COUNT uint32_t
#define NAME(x) x##_32
#include "stats/blocks_kernel.inc"
#define CODE uint64_t
#define COUNT uint64_t
#define NAME(x) x##_64
#include "stats/blocks_kernel.inc"

/* What is asked of the loops of one instruction set. */
struct job {
    const struct tp_block_plan *plan;
    const void *codes;
    size_t rows, length; /* rows of length; or length rows of `columns` */
    size_t columns;      /* 0: blocks along rows                        */
};

/* The loop for the width of the codes. */
#define BY_WIDTH(loop, ...)                                                    \
    do {                                                                       \
        switch (plan->width) {                                                 \
        case 2: loop##_16(plan, codes, __VA_ARGS__); break;                    \
        case 4: loop##_32(plan, codes, __VA_ARGS__); break;                    \
        default: loop##_64(plan, codes, __VA_ARGS__);                          \
        }                                                                      \
    } while (0)

/* Picks the loop by width and block, so that the length of a block is a
 * constant in each; inlined once per instruction set. */
TP_INLINE void count_any(const struct job *job, struct tp_block_counts *counts)
{
    const struct tp_block_plan *plan = job->plan;
    const void *codes = job->codes;
    if (job->columns != 0) {
        BY_WIDTH(count_columns, job->length, job->columns, counts);
    } else if (plan->block == 32) {
        BY_WIDTH(count_rows, job->rows, job->length, 32, counts);
    } else {
        BY_WIDTH(count_rows, job->rows, job->length, 16, counts);
    }
}

typedef void count_fn(const struct job *job, struct tp_block_counts *counts);

static void count_portable(const struct job *job,
                           struct tp_block_counts *counts)
{
    count_any(job, counts);
}

#if defined(__x86_64__)

/*
 * 16-bit codes, which nearly all dumps hold, by hand: a block of 32 is one
 * vector of AVX-512 or two of AVX2, and what is counted comes out as bits of
 * a word. Magnitudes are below 2^15, so signed comparisons serve. Lanes
 * beyond a short block are zero and count nowhere.
 */

#define AVX512 TP_TARGET_AVX512
#define AVX2 TP_TARGET_AVX2

/* Adds what the words say: bits that overflow, those with a sign, ... */
TP_INLINE void add_words(uint32_t over, uint32_t sign, uint32_t zeros,
                         uint32_t smalls, struct tp_block_counts *counts)
{
    const uint32_t lower = (uint32_t)__builtin_popcount(over & sign);
    counts->upper_overflow += (uint32_t)__builtin_popcount(over) - lower;
    counts->lower_overflow += lower;
    counts->underflow += (uint32_t)__builtin_popcount(zeros);
    counts->subnormal += (uint32_t)__builtin_popcount(smalls);
}

/* The largest of eight words below 2^15: the least of their complements. */
AVX2 static inline unsigned largest_of_8(__m128i v)
{
    const __m128i least =
        _mm_minpos_epu16(_mm_xor_si128(v, _mm_set1_epi16(-1)));
    return 0xffffu & ~(unsigned)_mm_cvtsi128_si32(least);
}

AVX2 static inline unsigned largest_of_16(__m256i v)
{
    return largest_of_8(_mm_max_epi16(_mm256_castsi256_si128(v),
                                      _mm256_extracti128_si256(v, 1)));
}

/* Limits, one in each lane. */
struct limits_512 {
    __m512i finite, zero, small;
};

struct limits_256 {
    __m256i finite, zero, small;
};

/* Where magnitudes are no values, and where they count for no scale. */
struct ends_512 {
    __m512i infinity, ceiling;
};

struct ends_256 {
    __m256i infinity, ceiling;
};

AVX512 static inline void count_512(__m512i code,
                                    const struct limits_512 *limits,
                                    __m512i infinity, uint32_t *over,
                                    struct tp_block_counts *counts)
{
    const __m512i magnitude =
        _mm512_and_si512(code, _mm512_set1_epi16(0x7fff));
    const __mmask32 nonzero = _mm512_test_epi16_mask(magnitude, magnitude);
    *over = _mm512_cmpgt_epi16_mask(magnitude, limits->finite) &
            _mm512_cmple_epi16_mask(magnitude, infinity);
    add_words(*over, _mm512_movepi16_mask(code),
              _mm512_mask_cmple_epi16_mask(nonzero, magnitude, limits->zero),
              _mm512_mask_cmple_epi16_mask(nonzero, magnitude,
                                           limits->small),
              counts);
}

/* Magnitudes that count for the scale; 0 elsewhere. */
AVX512 static inline __m512i counted_512(__m512i code, __m512i ceiling)
{
    const __m512i magnitude =
        _mm512_and_si512(code, _mm512_set1_epi16(0x7fff));
    return _mm512_maskz_mov_epi16(
        _mm512_cmplt_epi16_mask(magnitude, ceiling), magnitude);
}

AVX512 static inline struct ends_512
ends_of_512(const struct tp_block_plan *plan)
{
    return (struct ends_512){_mm512_set1_epi16((short)plan->infinity),
                             _mm512_set1_epi16((short)plan->ceiling)};
}

AVX512 static inline void block_512(const struct tp_block_plan *plan,
                                    __m512i code, const struct ends_512 *ends,
                                    struct tp_block_counts *counts)
{
    const __m512i counted = counted_512(code, ends->ceiling);
    const struct tp_block_limits *limits = tp_mx_limits(
        plan, largest_of_16(_mm256_max_epi16(
                  _mm512_castsi512_si256(counted),
                  _mm512_extracti64x4_epi64(counted, 1))));
    const struct limits_512 spread = {
        _mm512_set1_epi16((short)limits->finite),
        _mm512_set1_epi16((short)limits->zero),
        _mm512_set1_epi16((short)limits->small),
    };
    uint32_t over;
    count_512(code, &spread, ends->infinity, &over, counts);
    counts->blocks++;
    counts->saturated += over != 0;
}

AVX512 static void rows_512(const struct tp_block_plan *plan,
                            const uint16_t *codes, size_t rows,
                            size_t row_length,
                            struct tp_block_counts *counts)
{
    const struct ends_512 ends = ends_of_512(plan);
    struct tp_block_counts sum = {0};
    for (size_t row = 0; row < rows; row++, codes += row_length) {
        size_t i = 0;
        for (; i + 32 <= row_length; i += 32) {
            block_512(plan, _mm512_loadu_si512(codes + i), &ends, &sum);
        }
        if (i < row_length) {
            const __mmask32 some = (1u << (row_length - i)) - 1;
            block_512(plan, _mm512_maskz_loadu_epi16(some, codes + i), &ends,
                      &sum);
        }
    }
    tp_block_counts_merge(counts, &sum, 1);
}

/* The words of a comparison of 16 lanes each: one bit per lane, in an order
 * that is the same for every pair packed like this. */
AVX2 static inline uint32_t word_of(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(_mm256_packs_epi16(low, high));
}

/* Lanes of `magnitude` that are nonzero and at most `limit`. */
AVX2 static inline __m256i up_to_256(__m256i magnitude, __m256i limit)
{
    const __m256i zero = _mm256_setzero_si256();
    return _mm256_andnot_si256(_mm256_cmpgt_epi16(magnitude, limit),
                               _mm256_cmpgt_epi16(magnitude, zero));
}

/* Lanes that overflow: above `finite`, but not NaN. */
AVX2 static inline __m256i over_256(__m256i magnitude, __m256i finite,
                                    __m256i infinity)
{
    return _mm256_andnot_si256(_mm256_cmpgt_epi16(magnitude, infinity),
                               _mm256_cmpgt_epi16(magnitude, finite));
}

AVX2 static inline __m256i magnitude_256(__m256i code)
{
    return _mm256_and_si256(code, _mm256_set1_epi16(0x7fff));
}

AVX2 static inline __m256i counted_256(__m256i code, __m256i ceiling)
{
    const __m256i magnitude = magnitude_256(code);
    return _mm256_and_si256(magnitude,
                            _mm256_cmpgt_epi16(ceiling, magnitude));
}

/* Counts 32 codes of two blocks (or of one, or of 32 columns). */
AVX2 static inline uint32_t count_256(const __m256i code[2],
                                      const struct limits_256 limits[2],
                                      __m256i infinity,
                                      struct tp_block_counts *counts)
{
    const __m256i low = magnitude_256(code[0]);
    const __m256i high = magnitude_256(code[1]);
    const uint32_t over =
        word_of(over_256(low, limits[0].finite, infinity),
                over_256(high, limits[1].finite, infinity));
    add_words(over,
              word_of(_mm256_srai_epi16(code[0], 15),
                      _mm256_srai_epi16(code[1], 15)),
              word_of(up_to_256(low, limits[0].zero),
                      up_to_256(high, limits[1].zero)),
              word_of(up_to_256(low, limits[0].small),
                      up_to_256(high, limits[1].small)),
              counts);
    return over;
}

AVX2 static inline struct limits_256
spread_256(const struct tp_block_limits *limits)
{
    return (struct limits_256){
        _mm256_set1_epi16((short)limits->finite),
        _mm256_set1_epi16((short)limits->zero),
        _mm256_set1_epi16((short)limits->small),
    };
}

AVX2 static inline struct ends_256
ends_of_256(const struct tp_block_plan *plan)
{
    return (struct ends_256){_mm256_set1_epi16((short)plan->infinity),
                             _mm256_set1_epi16((short)plan->ceiling)};
}

/* Counts 32 codes: one MX block, or `blocks` (1 or 2) of NVFP4. */
AVX2 static inline void blocks_256(const struct tp_block_plan *plan,
                                   const uint16_t *codes, int blocks,
                                   const struct ends_256 *ends,
                                   struct tp_block_counts *counts)
{
    const __m256i code[2] = {
        _mm256_loadu_si256((const __m256i *)(const void *)codes),
        _mm256_loadu_si256((const __m256i *)(const void *)(codes + 16)),
    };
    const __m256i low = counted_256(code[0], ends->ceiling);
    const __m256i high = counted_256(code[1], ends->ceiling);
    struct limits_256 limits[2];
    if (plan->block == 32) {
        const unsigned largest = largest_of_16(_mm256_max_epi16(low, high));
        limits[0] = limits[1] = spread_256(tp_mx_limits(plan, largest));
    } else {
        limits[0] = spread_256(tp_nvfp4_limits(plan, largest_of_16(low)));
        limits[1] = spread_256(tp_nvfp4_limits(plan, largest_of_16(high)));
    }
    const uint32_t over = count_256(code, limits, ends->infinity, counts);
    counts->blocks += (unsigned)blocks;
    if (plan->block == 32) {
        counts->saturated += over != 0;
    } else {
        /* packing interleaves the two vectors by eights */
        counts->saturated += (over & 0x00ff00ffu) != 0;
        counts->saturated += (over & 0xff00ff00u) != 0;
    }
}

AVX2 static void rows_256(const struct tp_block_plan *plan,
                          const uint16_t *codes, size_t rows,
                          size_t row_length, struct tp_block_counts *counts)
{
    const struct ends_256 ends = ends_of_256(plan);
    const size_t block = (size_t)plan->block;
    struct tp_block_counts sum = {0};
    for (size_t row = 0; row < rows; row++, codes += row_length) {
        size_t i = 0;
        for (; i + 32 <= row_length; i += 32) {
            blocks_256(plan, codes + i, (int)(32 / block), &ends, &sum);
        }
        if (i < row_length) {
            const size_t left = row_length - i;
            uint16_t rest[32] = {0};
            memcpy(rest, codes + i, left * sizeof *rest);
            blocks_256(plan, rest, (int)((left + block - 1) / block),
                       &ends, &sum);
        }
    }
    tp_block_counts_merge(counts, &sum, 1);
}

/* Blocks down 32 neighbouring columns; limits gathered column by column. */
struct column_limits {
    uint16_t finite[32], zero[32], small[32];
};

TP_INLINE void gather_limits(const struct tp_block_plan *plan,
                             const uint16_t largest[32],
                             struct column_limits *limits)
{
    for (int i = 0; i < 32; i++) {
        const struct tp_block_limits *column =
            tp_block_limits_of(plan, largest[i]);
        limits->finite[i] = (uint16_t)column->finite;
        limits->zero[i] = (uint16_t)column->zero;
        limits->small[i] = (uint16_t)column->small;
    }
}

/* Rows of up to 32 codes, `pitch` codes apart; at most a block of them. */
struct tile {
    const uint16_t *codes;
    size_t pitch, height;
    uint32_t some; /* a bit for each column there is */
};

AVX512 static void columns_512(const struct tp_block_plan *plan,
                               const struct tile *tile,
                               struct tp_block_counts *counts)
{
    const uint16_t *codes = tile->codes;
    const size_t pitch = tile->pitch, height = tile->height;
    const __mmask32 some = tile->some;
    const struct ends_512 ends = ends_of_512(plan);
    __m512i top = _mm512_setzero_si512();
    for (size_t row = 0; row < height; row++) {
        const __m512i code =
            _mm512_maskz_loadu_epi16(some, codes + row * pitch);
        top = _mm512_max_epi16(top, counted_512(code, ends.ceiling));
    }
    uint16_t largest[32];
    struct column_limits gathered;
    _mm512_storeu_si512(largest, top);
    gather_limits(plan, largest, &gathered);
    const struct limits_512 limits = {
        _mm512_loadu_si512(gathered.finite),
        _mm512_loadu_si512(gathered.zero),
        _mm512_loadu_si512(gathered.small),
    };
    uint32_t saturated = 0;
    for (size_t row = 0; row < height; row++) {
        uint32_t over;
        count_512(_mm512_maskz_loadu_epi16(some, codes + row * pitch),
                  &limits, ends.infinity, &over, counts);
        saturated |= over;
    }
    counts->blocks += (unsigned)__builtin_popcount(some);
    counts->saturated += (unsigned)__builtin_popcount(saturated);
}

AVX2 static inline __m256i load_256(const uint16_t *codes)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)codes);
}

AVX2 static void columns_256(const struct tp_block_plan *plan,
                             const uint16_t *codes, size_t pitch,
                             size_t height, struct tp_block_counts *counts)
{
    const struct ends_256 ends = ends_of_256(plan);
    __m256i top[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (size_t row = 0; row < height; row++) {
        for (int i = 0; i < 2; i++) {
            const __m256i code = load_256(codes + row * pitch + 16 * i);
            top[i] = _mm256_max_epi16(top[i], counted_256(code, ends.ceiling));
        }
    }
    uint16_t largest[32];
    struct column_limits gathered;
    memcpy(largest, top, sizeof largest);
    gather_limits(plan, largest, &gathered);
    struct limits_256 limits[2];
    for (int i = 0; i < 2; i++) {
        limits[i].finite = load_256(gathered.finite + 16 * i);
        limits[i].zero = load_256(gathered.zero + 16 * i);
        limits[i].small = load_256(gathered.small + 16 * i);
    }
    uint32_t saturated = 0;
    for (size_t row = 0; row < height; row++) {
        const __m256i code[2] = {load_256(codes + row * pitch),
                                 load_256(codes + row * pitch + 16)};
        saturated |= count_256(code, limits, ends.infinity, counts);
    }
    counts->blocks += 32;
    counts->saturated += (unsigned)__builtin_popcount(saturated);
}

/* Splits a matrix into tiles of a block by 32 columns. */
AVX512 static void all_columns_512(const struct job *job,
                                   struct tp_block_counts *counts)
{
    const size_t block = (size_t)job->plan->block;
    const uint16_t *codes = job->codes;
    struct tp_block_counts sum = {0};
    for (size_t row = 0; row < job->length; row += block) {
        const size_t left = job->length - row;
        for (size_t i = 0; i < job->columns; i += 32) {
            const size_t n = job->columns - i;
            const struct tile tile = {
                .codes = codes + row * job->columns + i,
                .pitch = job->columns,
                .height = left < block ? left : block,
                .some = n < 32 ? (1u << n) - 1 : UINT32_MAX,
            };
            columns_512(job->plan, &tile, &sum);
        }
    }
    tp_block_counts_merge(counts, &sum, 1);
}

AVX2 static void all_columns_256(const struct job *job,
                                 struct tp_block_counts *counts)
{
    const size_t block = (size_t)job->plan->block;
    const uint16_t *codes = job->codes;
    struct tp_block_counts sum = {0};
    for (size_t row = 0; row < job->length; row += block) {
        const size_t left = job->length - row;
        const size_t height = left < block ? left : block;
        const uint16_t *line = codes + row * job->columns;
        size_t i = 0;
        for (; i + 32 <= job->columns; i += 32) {
            columns_256(job->plan, line + i, job->columns, height, &sum);
        }
        if (i < job->columns) {
            count_strip_16(job->plan, line + i, job->columns, (int)height,
                           (int)(job->columns - i), &sum);
        }
    }
    tp_block_counts_merge(counts, &sum, 1);
}

AVX2 static void count_avx2(const struct job *job,
                            struct tp_block_counts *counts)
{
    if (job->plan->width != 2) {
        count_any(job, counts);
    } else if (job->columns != 0) {
        all_columns_256(job, counts);
    } else {
        rows_256(job->plan, job->codes, job->rows, job->length, counts);
    }
}

AVX512 static void count_avx512(const struct job *job,
                                struct tp_block_counts *counts)
{
    if (job->plan->width != 2) {
        count_any(job, counts);
    } else if (job->columns != 0) {
        all_columns_512(job, counts);
    } else if (job->plan->block == 32) {
        rows_512(job->plan, job->codes, job->rows, job->length, counts);
    } else {
        rows_256(job->plan, job->codes, job->rows, job->length, counts);
    }
}
#endif

static count_fn *const count_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(count_portable, count_avx2, count_avx512);

/* Codes of one byte are widened in pieces of this many, 8 KiB on the stack;
 * a multiple of every block, and of a strip times every block. */
enum { PIECE = 4096 };

static void widen(const struct tp_block_plan *plan,
                  const unsigned char *codes, size_t n, uint16_t *wide)
{
    for (size_t i = 0; i < n; i++) {
        wide[i] = plan->widened[codes[i]];
    }
}

static void count_bytes(const struct tp_block_plan *plan,
                        const unsigned char *codes, size_t rows,
                        size_t row_length, struct tp_block_counts *counts)
{
    count_fn *count = count_by[plan->isa];
    uint16_t wide[PIECE];
    for (size_t row = 0; row < rows; row++, codes += row_length) {
        for (size_t i = 0; i < row_length; i += PIECE) {
            const size_t n = row_length - i < PIECE ? row_length - i : PIECE;
            widen(plan, codes + i, n, wide);
            count(
                &(struct job){
                    .plan = plan, .codes = wide, .rows = 1, .length = n},
                counts);
        }
    }
}

void tp_blocks_count(const struct tp_block_plan *plan, const void *codes,
                     size_t rows, size_t row_length,
                     struct tp_block_counts *counts)
{
    if (plan->code_size == 1) {
        count_bytes(plan, codes, rows, row_length, counts);
        return;
    }
    count_by[plan->isa](
        &(struct job){
            .plan = plan, .codes = codes, .rows = rows, .length = row_length},
        counts);
}

/* One block of rows, one strip of columns at a time. */
static void count_bytes_across(const struct tp_block_plan *plan,
                               const unsigned char *codes, size_t length,
                               size_t columns,
                               struct tp_block_counts *counts)
{
    count_fn *count = count_by[plan->isa];
    const size_t block = (size_t)plan->block;
    uint16_t wide[PIECE];
    for (size_t row = 0; row < length; row += block) {
        const size_t height = length - row < block ? length - row : block;
        for (size_t i = 0; i < columns; i += STRIP) {
            const size_t n = columns - i < STRIP ? columns - i : STRIP;
            for (size_t j = 0; j < height; j++) {
                widen(plan, codes + (row + j) * columns + i, n, wide + j * n);
            }
            count(&(struct job){.plan = plan,
                                .codes = wide,
                                .length = height,
                                .columns = n},
                  counts);
        }
    }
}

void tp_blocks_count_across(const struct tp_block_plan *plan,
                            const void *codes, size_t length, size_t columns,
                            struct tp_block_counts *counts)
{
    if (columns == 0) {
        return;
    }
    if (plan->code_size == 1) {
        count_bytes_across(plan, codes, length, columns, counts);
        return;
    }
    count_by[plan->isa](
        &(struct job){
            .plan = plan, .codes = codes, .length = length, .columns = columns},
        counts);
}
