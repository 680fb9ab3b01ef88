/* SPDX-License-Identifier: MIT */
/*
 * MX casts of binary32, exactly and from integers. As in tally.c, the scale of
 * a block gives two limits, and only codes beyond them are looked at one by
 * one, and added to the bins of what happens to them; all others are rounded to
 * the element's precision whatever the scale, and so is a whole bin at the end.
 * What a class makes of a value is never nearer to it than that rounding, so
 * the extremes of bins, which cannot be taken out again, do no harm.
 *
 * Alternative: rounding every value (quantize_blocks.c), some six nanoseconds
 * each, which is left for tensors with blocks that become NaN, whose values
 * are in no sum, and for subnormals that do not become 0.
 *
 * Cost: some ten vector instructions for 32 codes, a few plain ones for each
 * that is beyond a limit.
 */
#include "stats/float_tally.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/isa.h"
#include "data/dtype_math.h"
#include "stats/blocks_plan.h"
#include "stats/float_bins_math.h"
#include "stats/tally_math.h"
#include "stats/tally_seen.h"

enum { MAGNITUDE = INT32_MAX };

/* --- the few -------------------------------------------------------------- */

static void tally_code(struct tp_float_tally *tally, unsigned class,
                       uint32_t magnitude)
{
    const uint32_t bin = magnitude >> TP_FLOAT_BIN_SHIFT;
    tp_float_bin_add(&tally->bin[class][bin], magnitude);
    tally->used[class][bin / TP_TALLY_LINE] = 1;
}

/* A block whose scale is known. */
struct found {
    const unsigned char *codes;
    int slot;
    uint32_t mask; /* codes above or below the limits of the slot */
};

static uint32_t code_at(const unsigned char *codes, int i)
{
    uint32_t code;
    memcpy(&code, codes + 4 * i, sizeof code);
    return code;
}

/* Takes care of the codes of the mask. */
static void tally_block(const struct tp_tally_plan *plan,
                        const struct found *found, struct tp_float_tally *tally)
{
    const struct tp_block_limits *limits = &plan->blocks.limits[found->slot];
    struct tp_quant_error *counts = &tally->counts;
    const uint64_t infinity = plan->blocks.infinity;
    bool over = false;
    uint32_t most = 0;
    for (uint32_t left = found->mask; left != 0; left &= left - 1) {
        const uint32_t code = code_at(found->codes, __builtin_ctz(left));
        const uint32_t magnitude = code & MAGNITUDE;
        most = magnitude > most ? magnitude : most;
        if (magnitude > limits->finite && magnitude <= infinity) {
            over = true;
            counts->upper_overflow += code == magnitude;
            counts->lower_overflow += code != magnitude;
        }
        if (magnitude < infinity)
            tally_code(tally,
                       magnitude > limits->finite
                           ? (unsigned)TP_TALLY_SATURATED
                           : tp_small_class(plan, found->slot, magnitude),
                       magnitude);
    }
    counts->saturated_blocks += over;
    counts->nonfinite_blocks += most >= infinity;
    tally->lost |= most >= plan->spoils;
}

/* --- the many ------------------------------------------------------------- */

/* At most 32 codes. */
TP_INLINE void block_portable(const struct tp_tally_plan *plan,
                              const unsigned char *codes, int n,
                              struct tp_tally_seen *seen,
                              struct tp_float_tally *tally)
{
    const uint32_t ceiling = (uint32_t)plan->blocks.ceiling;
    uint32_t largest = 0, mask = 0;
    for (int i = 0; i < n; i++) {
        const uint32_t magnitude = code_at(codes, i) & MAGNITUDE;
        if (magnitude < ceiling && magnitude > largest)
            largest = magnitude;
    }
    const int slot = tp_mx_slot(&plan->blocks, largest);
    const struct tp_block_limits *limits = &plan->blocks.limits[slot];
    for (int i = 0; i < n; i++) {
        const uint32_t magnitude = code_at(codes, i) & MAGNITUDE;
        const uint32_t out =
            (magnitude > limits->finite) |
            ((magnitude != 0) & (magnitude <= limits->fewer));
        mask |= out << i;
    }
    tp_tally_see(seen, slot, largest);
    if (mask != 0)
        tally_block(plan, &(struct found){codes, slot, mask}, tally);
}

typedef void rows_fn(const struct tp_tally_plan *plan,
                     const unsigned char *codes, size_t length,
                     struct tp_float_tally *tally);

/* Defines row_ISA: `whole` takes blocks of 32, block_portable the rest. */
#define ROW(isa, target, whole)                                               \
    target static void row_##isa(const struct tp_tally_plan *plan,            \
                                 const unsigned char *codes, size_t length,   \
                                 struct tp_float_tally *tally)                \
    {                                                                         \
        struct tp_tally_seen seen = TP_TALLY_SEEN_NOTHING;                    \
        size_t i = 0;                                                         \
        for (; i + 32 <= length; i += 32)                                     \
            whole(plan, codes + 4 * i, 32, &seen, tally);                     \
        if (i < length)                                                       \
            block_portable(plan, codes + 4 * i, (int)(length - i), &seen,     \
                           tally);                                            \
        tp_tally_add_seen(&seen, &tally->counts);                             \
    }

ROW(portable, , block_portable)

#if defined(__x86_64__)

/* Magnitudes are below 2^31, so signed comparisons serve. */

TP_TARGET_AVX512 static inline uint32_t
outside_16(__m512i magnitude, const struct tp_block_limits *limits)
{
    return _mm512_cmpgt_epi32_mask(magnitude,
                                   _mm512_set1_epi32((int)limits->finite)) |
           _mm512_mask_cmple_epi32_mask(
               _mm512_test_epi32_mask(magnitude, magnitude), magnitude,
               _mm512_set1_epi32((int)limits->fewer));
}

/* A whole block. */
TP_TARGET_AVX512 static inline void
block_avx512(const struct tp_tally_plan *plan, const unsigned char *codes,
             int n, struct tp_tally_seen *seen, struct tp_float_tally *tally)
{
    const __m512i no_sign = _mm512_set1_epi32(MAGNITUDE);
    const __m512i ceiling = _mm512_set1_epi32((int)plan->blocks.ceiling);
    const __m512i low = _mm512_and_si512(_mm512_loadu_si512(codes), no_sign);
    const __m512i high =
        _mm512_and_si512(_mm512_loadu_si512(codes + 64), no_sign);
    const uint32_t largest = (uint32_t)_mm512_reduce_max_epi32(_mm512_max_epi32(
        _mm512_maskz_mov_epi32(_mm512_cmplt_epi32_mask(low, ceiling), low),
        _mm512_maskz_mov_epi32(_mm512_cmplt_epi32_mask(high, ceiling), high)));
    const int slot = tp_mx_slot(&plan->blocks, largest);
    const struct tp_block_limits *limits = &plan->blocks.limits[slot];
    const uint32_t mask =
        outside_16(low, limits) | outside_16(high, limits) << 16;
    (void)n;
    tp_tally_see(seen, slot, largest);
    if (mask != 0)
        tally_block(plan, &(struct found){codes, slot, mask}, tally);
}

ROW(avx512, TP_TARGET_AVX512, block_avx512)

TP_TARGET_AVX2 static inline uint32_t
outside_8(__m256i magnitude, const struct tp_block_limits *limits)
{
    const __m256i finite = _mm256_set1_epi32((int)limits->finite);
    const __m256i fewer = _mm256_set1_epi32((int)limits->fewer);
    const __m256i nonzero =
        _mm256_cmpgt_epi32(magnitude, _mm256_setzero_si256());
    const __m256i out = _mm256_or_si256(
        _mm256_cmpgt_epi32(magnitude, finite),
        _mm256_andnot_si256(_mm256_cmpgt_epi32(magnitude, fewer), nonzero));
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(out));
}

TP_TARGET_AVX2 static inline uint32_t largest_of_8(__m256i v)
{
    __m128i most = _mm_max_epi32(_mm256_castsi256_si128(v),
                                 _mm256_extracti128_si256(v, 1));
    most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0x4e));
    most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(most);
}

/* A whole block. */
TP_TARGET_AVX2 static inline void
block_avx2(const struct tp_tally_plan *plan, const unsigned char *codes, int n,
           struct tp_tally_seen *seen, struct tp_float_tally *tally)
{
    const __m256i no_sign = _mm256_set1_epi32(MAGNITUDE);
    const __m256i ceiling = _mm256_set1_epi32((int)plan->blocks.ceiling);
    __m256i x[4], most = _mm256_setzero_si256();
    memcpy(x, codes, sizeof x);
    for (int i = 0; i < 4; i++) {
        x[i] = _mm256_and_si256(x[i], no_sign);
        most = _mm256_max_epi32(
            most, _mm256_and_si256(x[i], _mm256_cmpgt_epi32(ceiling, x[i])));
    }
    const uint32_t largest = largest_of_8(most);
    const int slot = tp_mx_slot(&plan->blocks, largest);
    const struct tp_block_limits *limits = &plan->blocks.limits[slot];
    uint32_t mask = 0;
    for (int i = 0; i < 4; i++)
        mask |= outside_8(x[i], limits) << 8 * i;
    (void)n;
    tp_tally_see(seen, slot, largest);
    if (mask != 0)
        tally_block(plan, &(struct found){codes, slot, mask}, tally);
}

ROW(avx2, TP_TARGET_AVX2, block_avx2)
#endif

static rows_fn *const row_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(row_portable, row_avx2, row_avx512);

void tp_float_tally_rows(const struct tp_tally_plan *plan, const void *codes,
                         size_t rows, size_t row_length,
                         struct tp_float_tally *tally)
{
    rows_fn *tally_row = row_by[plan->blocks.isa];
    const unsigned char *at = codes;
    for (size_t row = 0; row < rows; row++, at += 4 * row_length)
        tally_row(plan, at, row_length, tally);
}

void tp_float_tally_flush(struct tp_float_tally *from,
                          struct tp_float_tally_total *into)
{
    tp_quant_merge(&into->counts, &from->counts, 1);
    memset(&from->counts, 0, sizeof from->counts);
    into->lost |= from->lost;
    from->lost = false;
    for (int c = 0; c < TP_TALLY_CLASSES; c++) {
        for (size_t line = 0; line < sizeof from->used[c]; line++) {
            const size_t first = line * TP_TALLY_LINE;
            if (!from->used[c][line])
                continue;
            tp_float_bins_flush(&from->bin[c][first], TP_TALLY_LINE,
                                &into->bin[c][first]);
            from->used[c][line] = 0;
            into->used[c][line] = 1;
        }
    }
}

/* --- the outcome ---------------------------------------------------------- */

static void subtract(struct tp_float_bin_total *from,
                     const struct tp_float_bin_total *bin)
{
    from->edge -= bin->edge;
    from->inner -= bin->inner;
    from->sum -= bin->sum;
    from->squares[1] -=
        bin->squares[1] + (from->squares[0] < bin->squares[0]);
    from->squares[0] -= bin->squares[0];
}

static void add(struct tp_float_bin_total *to,
                const struct tp_float_bin_total *bin)
{
    to->edge += bin->edge;
    to->inner += bin->inner;
    to->sum += bin->sum;
    to->squares[0] += bin->squares[0];
    to->squares[1] += bin->squares[1] + (to->squares[0] < bin->squares[0]);
    to->most = bin->most > to->most ? bin->most : to->most;
    to->least = bin->least > to->least ? bin->least : to->least;
}

/* A rounder without ends: to so many fraction bits, -1 meaning to 0 or to the
 * next power of two. */
static struct tp_rounder endless(int fraction)
{
    return (struct tp_rounder){
        .least = 1,
        .most = 1023 + 128,
        .fraction = fraction,
        .max = INFINITY,
        .overflowed = INFINITY,
    };
}

/* How a class rounds the values of the binade of a code. */
static struct tp_rounder rounder_of(const struct tp_number *number,
                                    unsigned class, uint32_t code)
{
    const int lost = (int)class - (int)TP_TALLY_FEWER + 1;
    struct tp_rounder rounder = endless(number->precision - 1 - lost);
    if (class == TP_TALLY_ZERO)
        rounder.max = -1, rounder.overflowed = 0;
    if (class == TP_TALLY_SATURATED) {
        int e, top; /* the largest value, moved to the binade */
        frexp(tp_float_of(code), &e);
        rounder.max = -1;
        rounder.overflowed = ldexp(frexp(number->max, &top), e);
    }
    return rounder;
}

/* Of a bin one binade below the normal ones, those that round up to them with
 * `bits` significant bits: from the middle between the last value and them,
 * the tie included, since they are even. */
static uint64_t that_become_normal(const struct tp_float_bin_total *bin,
                                   uint32_t code, int bits)
{
    int e;
    return frexp(tp_float_of(code), &e) >= 1 - ldexp(1, -bits - 1)
               ? bin->edge + bin->inner
               : 0;
}

static bool finish_bin(struct tp_float_cast *cast,
                       const struct tp_number *number, unsigned class,
                       uint32_t code, const struct tp_float_bin_total *bin)
{
    uint64_t small = 0;
    cast->rounder = rounder_of(number, class, code);
    if (class == TP_TALLY_ZERO || class >= TP_TALLY_FEWER)
        small = bin->edge + bin->inner;
    if (class == TP_TALLY_FEWER)
        small -= that_become_normal(bin, code, number->precision - 1);
    cast->sums.subnormal += small;
    return tp_float_cast_bin(cast, code, bin);
}

/* All of a magnitude: each class, and then the rest. */
static bool finish_magnitude(struct tp_float_cast *cast,
                             const struct tp_number *number,
                             const struct tp_float_tally_total *tally,
                             size_t index, struct tp_float_bin_total *rest)
{
    const uint32_t code = (uint32_t)index << TP_FLOAT_BIN_SHIFT;
    for (unsigned c = 0; c < TP_TALLY_CLASSES; c++) {
        const struct tp_float_bin_total *bin = &tally->bin[c][index];
        if (!tally->used[c][index / TP_TALLY_LINE] ||
            (bin->edge == 0 && bin->inner == 0))
            continue;
        if (!finish_bin(cast, number, c, code, bin))
            return false;
        subtract(rest, bin);
    }
    cast->rounder = endless(number->precision - 1);
    return tp_float_cast_bin(cast, code, rest);
}

bool tp_float_tally_finish(const struct tp_tally_plan *plan,
                           const struct tp_float_tally_total *tally,
                           const struct tp_float_bin_total *bins,
                           struct tp_quant_error *error)
{
    const size_t infinity = plan->blocks.infinity >> TP_FLOAT_BIN_SHIFT;
    /* limits that nothing meets: all is counted by class */
    struct tp_float_cast cast = {
        .kind = TP_ROUNDER_EVEN,
        .limits = {.overflow = INFINITY, .there = 1, .back = 1}};
    if (tally->lost)
        return false;
    for (size_t i = 0; i < TP_FLOAT_TALLY_BINS; i++) {
        struct tp_float_bin_total rest = bins[i];
        add(&rest, &bins[TP_FLOAT_TALLY_BINS + i]);
        if (rest.edge == 0 && rest.inner == 0)
            continue;
        if (i >= infinity) {
            cast.sums.values += rest.edge + rest.inner;
            cast.sums.nonfinite_in += rest.edge + rest.inner;
        } else if (!finish_magnitude(&cast, plan->spec.number, tally, i,
                                     &rest)) {
            return false;
        }
    }
    tp_quant_merge(&cast.sums, &tally->counts, 1);
    tp_quant_merge(error, &cast.sums, 1);
    return true;
}
