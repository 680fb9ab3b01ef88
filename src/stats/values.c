/* SPDX-License-Identifier: MIT */
/*
 * Statistics of codes too wide to count: blocks of 512 values are decoded to
 * doubles, and all else is a few short loops over the block: what is finite,
 * extrema, bins, sums, then the central sums about the block's own mean. The
 * blocks of a call are merged in order by the pairwise formulas.
 *
 * Alternatives: Welford's update, a division and a chain of dependent steps a
 * value; sums of powers in one pass, which cancel when the mean is large.
 *
 * Cost: memory is read once, the loops find the block in the first level cache;
 * a merge (some forty operations) for 512 values. The number of lanes is part
 * of the definition of the sums, so that every machine gives the same bits:
 * wider vectors take several blocks side by side (values_lanes.inc), some two
 * cycles for 8 values each.
 */
#include "stats/values.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/isa.h"
#include "stats/bins.h"
#include "stats/values_math.h"

/* Independent sums, as many as a vector of any 64-bit processor holds. Their
 * number is part of the definition of the result. */
enum { LANES = 2 };
typedef double lanes __attribute__((vector_size(LANES * 8)));
typedef int64_t lane_bits __attribute__((vector_size(LANES * 8)));

#define INLINE static inline __attribute__((always_inline))

/* Through pointers: such vectors may not be passed by value everywhere. */
INLINE void load(const double *v, lanes *x)
{
    memcpy(x, v, sizeof *x);
}

INLINE void magnitude(const lanes *x, lanes *a)
{
    *a = (lanes)((lane_bits)*x & INT64_MAX);
}

static double fold(const lanes *x)
{
    return (*x)[0] + (*x)[1];
}

static uint64_t fold_count(const lane_bits *x)
{
    return (uint64_t)((*x)[0] + (*x)[1]);
}

static bool all_finite(const double *v, size_t padded)
{
    lanes sum = {0}, x; /* 0 * v is 0, or NaN if v is not finite */
    for (size_t i = 0; i < padded; i += LANES) {
        load(v + i, &x);
        sum += 0 * x;
    }
    return fold(&sum) == 0;
}

/* Counts what is not finite and keeps the rest, in order. */
static size_t keep_finite(double *v, size_t n, struct tp_values *values)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(v[i])) {
            v[kept++] = v[i];
        } else if (isnan(v[i])) {
            values->counts.nan++;
            values->negative_nan += signbit(v[i]) != 0;
        } else {
            values->counts.pos_inf += v[i] > 0;
            values->counts.neg_inf += v[i] < 0;
        }
    }
    return kept;
}

/* Fills the last group of lanes with `value`; returns the padded length. */
static size_t pad(double *v, size_t n, double value)
{
    while (n % LANES)
        v[n++] = value;
    return n;
}

/* In two steps: scales reach +-1200, beyond any power of two in a double. */
static void scale_values(double *v, size_t n, int64_t scale)
{
    double half = ldexp(1, (int)(-scale / 2));
    for (size_t i = 0; i < n; i++)
        v[i] = v[i] * half * half;
}

static void raw_sums(const double *v, size_t padded, size_t n,
                     struct tp_moments *moments)
{
    lanes linear = {0}, absolute = {0}, square = {0}, x, a;
    for (size_t i = 0; i < padded; i += LANES) {
        load(v + i, &x);
        magnitude(&x, &a);
        linear += x;
        absolute += a;
        square += x * x;
    }
    moments->n = n;
    moments->sum_abs = fold(&absolute);
    moments->sum_squares = fold(&square);
    moments->mean = fold(&linear) / (double)n;
}

/* `v` is padded with the mean, which adds nothing. */
static void central_sums(const double *v, size_t padded,
                         struct tp_moments *moments)
{
    lanes s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, d;
    for (size_t i = 0; i < padded; i += LANES) {
        load(v + i, &d);
        d -= moments->mean;
        lanes d2 = d * d;
        s1 += d;
        s2 += d2;
        s3 += d2 * d;
        s4 += d2 * d2;
    }
    moments->m2 = fold(&s2);
    moments->m3 = fold(&s3);
    moments->m4 = fold(&s4);
    tp_shift_mean(moments, fold(&s1) / (double)moments->n);
}

static double smallest_nonzero(const double *v, size_t n)
{
    double small = INFINITY;
    for (size_t i = 0; i < n; i++) {
        double a = fabs(v[i]);
        small = a < small && a > 0 ? a : small;
    }
    return isinf(small) ? 0 : small;
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

/* `v` is padded with one of its values. */
static struct tp_extrema extrema_of(const double *v, size_t padded)
{
    double low[2] = {v[0], v[1]}, high[2] = {v[0], v[1]};
    double small[2] = {fabs(v[0]), fabs(v[1])};
    for (size_t i = 0; i < padded; i += 2) {
        low[0] = lesser(v[i], low[0]);
        low[1] = lesser(v[i + 1], low[1]);
        high[0] = greater(v[i], high[0]);
        high[1] = greater(v[i + 1], high[1]);
        small[0] = lesser(fabs(v[i]), small[0]);
        small[1] = lesser(fabs(v[i + 1]), small[1]);
    }
    struct tp_extrema extrema = {lesser(low[0], low[1]) + 0.0,
                                 greater(high[0], high[1]) + 0.0,
                                 lesser(small[0], small[1])};
    if (extrema.abs_min_nonzero == 0)
        extrema.abs_min_nonzero = smallest_nonzero(v, padded);
    return extrema;
}

/* Overflow and underflow; `extrema` tell when there is nothing to count. */
static bool is_judged(const struct tp_extrema *extrema,
                      const struct tp_judge *judge)
{
    return extrema->max >= judge->overflow ||
           extrema->min <= -judge->overflow ||
           extrema->abs_min_nonzero < judge->subnormal;
}

static void judge_values(const double *v, size_t n,
                         const struct tp_extrema *extrema,
                         const struct tp_judge *judge, struct tp_counts *counts)
{
    if (extrema->max >= judge->overflow || extrema->min <= -judge->overflow) {
        for (size_t i = 0; i < n; i++) {
            counts->upper_overflow += v[i] >= judge->overflow;
            counts->lower_overflow += v[i] <= -judge->overflow;
        }
    }
    if (!(extrema->abs_min_nonzero < judge->subnormal))
        return;
    uint64_t under = 0, sub = 0;
    for (size_t i = 0; i < n; i++) {
        double a = fabs(v[i]);
        under += (a > 0) & (a <= judge->zero);
        sub += (a > 0) & (a < judge->subnormal);
    }
    counts->underflow += under;
    counts->subnormal += sub;
}

/* `v` is padded with infinity, which is neither. */
static void count_signs(const double *v, size_t padded,
                        struct tp_counts *counts)
{
    lane_bits zero = {0}, negative = {0};
    lanes x;
    for (size_t i = 0; i < padded; i += LANES) {
        load(v + i, &x);
        zero -= x == 0; /* a true comparison is -1 */
        negative -= x < 0;
    }
    counts->zero += fold_count(&zero);
    counts->negative += fold_count(&negative);
}

static void count_bins(const double *v, size_t n, uint32_t *bins)
{
    for (size_t i = 0; i < n; i++)
        bins[tp_bin_of(v[i])] += v[i] != 0;
}

/* Takes a block of finite values; v has room for LANES more. */
static void add_block(double *v, size_t n, const struct tp_judge *judge,
                      struct tp_values *values, uint32_t *bins)
{
    struct tp_values block;
    memset(&block, 0, sizeof block);
    if (bins)
        count_bins(v, n, bins);
    count_signs(v, pad(v, n, INFINITY), &block.counts);
    block.extrema = extrema_of(v, pad(v, n, v[n - 1]));
    judge_values(v, n, &block.extrema, judge, &block.counts);
    block.moments.scale = tp_moments_scale(
        greater(-block.extrema.min, block.extrema.max));
    if (block.moments.scale != 0)
        scale_values(v, n, block.moments.scale);
    raw_sums(v, pad(v, n, 0), n, &block.moments);
    if (block.extrema.min == block.extrema.max)
        block.moments.mean = v[0];
    else
        central_sums(v, pad(v, n, block.moments.mean), &block.moments);
    tp_values_merge(values, &block);
}

/* What values are added to, and by what they are judged. */
struct sum {
    enum tp_dtype dtype;
    const struct tp_judge *judge;
    struct tp_values *values;
    uint32_t *bins;
};

/* Adds n codes, in blocks from the first on. */
static void add_codes(const struct sum *sum, const unsigned char *at, size_t n)
{
    const size_t size = tp_dtype_info(sum->dtype)->size;
    double v[TP_VALUE_BLOCK + LANES];
    while (n > 0) {
        size_t batch = n < TP_VALUE_BLOCK ? n : TP_VALUE_BLOCK;
        tp_dtype_decode(sum->dtype, at, batch, v);
        size_t kept = batch;
        if (!all_finite(v, pad(v, batch, 0)))
            kept = keep_finite(v, batch, sum->values);
        sum->values->counts.values += batch;
        if (kept > 0)
            add_block(v, kept, sum->judge, sum->values, sum->bins);
        at += batch * size;
        n -= batch;
    }
}

/* --- several blocks at once ----------------------------------------------- */

#if defined(__x86_64__)
#include <immintrin.h>

enum { PAIR = 8, ROOM = 4 }; /* bytes of two floats; blocks, at most */

INLINE int64_t pair_of(const unsigned char *codes, int block)
{
    int64_t pair;
    memcpy(&pair, codes + (size_t)block * TP_VALUE_BLOCK / 2 * PAIR,
           sizeof pair);
    return pair;
}

typedef int64_t avx512_ints __attribute__((vector_size(64)));
typedef int64_t avx2_ints __attribute__((vector_size(32)));

TP_TARGET_AVX512 static inline __m512d floats_avx512(const unsigned char *codes)
{
    return _mm512_cvtps_pd(_mm256_castsi256_ps(
        _mm256_set_epi64x(pair_of(codes, 3), pair_of(codes, 2),
                          pair_of(codes, 1), pair_of(codes, 0))));
}

TP_TARGET_AVX2 static inline __m256d floats_avx2(const unsigned char *codes)
{
    return _mm256_cvtps_pd(
        _mm_castsi128_ps(_mm_set_epi64x(pair_of(codes, 1), pair_of(codes, 0))));
}

TP_TARGET_AVX2 static inline __m256d doubles_avx2(const unsigned char *codes)
{
    const size_t block = TP_VALUE_BLOCK * sizeof(double);
    __m128d low, high;
    memcpy(&low, codes, sizeof low);
    memcpy(&high, codes + block, sizeof high);
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), high, 1);
}

TP_TARGET_AVX512 static inline __m512d doubles_avx512(
    const unsigned char *codes)
{
    const size_t block = TP_VALUE_BLOCK * sizeof(double);
    return _mm512_insertf64x4(_mm512_castpd256_pd512(doubles_avx2(codes)),
                              doubles_avx2(codes + 2 * block), 1);
}

#define NAME(x) avx512_##x
#define TARGET TP_TARGET_AVX512
#define VEC __m512d
#define VL 8
#define MIN _mm512_min_pd
#define MAX _mm512_max_pd
#define FLOATS floats_avx512
#define DOUBLES doubles_avx512
#include "stats/values_lanes.inc"
#undef NAME
#undef TARGET
#undef VEC
#undef VL
#undef MIN
#undef MAX
#undef FLOATS
#undef DOUBLES

#define NAME(x) avx2_##x
#define TARGET TP_TARGET_AVX2
#define VEC __m256d
#define VL 4
#define MIN _mm256_min_pd
#define MAX _mm256_max_pd
#define FLOATS floats_avx2
#define DOUBLES doubles_avx2
#include "stats/values_lanes.inc"

/* Adds whole blocks as long as there are some; returns how many codes. */
static size_t add_whole(const struct sum *sum, enum tp_isa isa,
                        const unsigned char *codes, size_t n)
{
    const bool wide = sum->dtype == TP_FLOAT64;
    const size_t size = wide ? 8 : 4, bytes = TP_VALUE_BLOCK * size;
    const size_t some = isa == TP_ISA_AVX512 ? avx512_BLOCKS : avx2_BLOCKS;
    const size_t step = some * TP_VALUE_BLOCK;
    double v[ROOM * TP_VALUE_BLOCK];
    struct tp_values blocks[ROOM];
    size_t done = 0;
    for (; done + step <= n; done += step) {
        const unsigned char *at = codes + done * size;
        if (!(isa == TP_ISA_AVX512 ? avx512_take_blocks(at, wide, v, blocks)
                                   : avx2_take_blocks(at, wide, v, blocks))) {
            add_codes(sum, at, step);
            continue;
        }
        if (sum->bins)
            count_bins(v, step, sum->bins);
        for (size_t i = 0; i < some; i++) {
            if (is_judged(&blocks[i].extrema, sum->judge)) {
                tp_dtype_decode(sum->dtype, at + i * bytes, TP_VALUE_BLOCK, v);
                judge_values(v, TP_VALUE_BLOCK, &blocks[i].extrema, sum->judge,
                             &blocks[i].counts);
            }
            tp_values_merge(sum->values, &blocks[i]);
        }
    }
    return done;
}
#else
static size_t add_whole(const struct sum *sum, enum tp_isa isa,
                        const unsigned char *codes, size_t n)
{
    (void)sum, (void)isa, (void)codes, (void)n;
    return 0;
}
#endif

void tp_values_add(const struct tp_span *span, const struct tp_judge *judge,
                   enum tp_isa isa, struct tp_values *values, uint32_t *bins)
{
    const enum tp_isa known = tp_isa_known(isa);
    const unsigned char *codes = span->codes;
    struct tp_values call;
    memset(&call, 0, sizeof call);
    const struct sum sum = {span->dtype, judge, &call, bins};
    size_t done = 0;
    if (known != TP_ISA_PORTABLE &&
        (span->dtype == TP_FLOAT32 || span->dtype == TP_FLOAT64))
        done = add_whole(&sum, known, codes, span->n);
    add_codes(&sum, codes + done * tp_dtype_info(span->dtype)->size,
              span->n - done);
    tp_values_merge(values, &call);
}

void tp_values_merge(struct tp_values *into, const struct tp_values *from)
{
    tp_merge_values(into, from);
}

void tp_values_repeat(struct tp_values *values, uint64_t repeat)
{
    struct tp_counts *counts = &values->counts;
    counts->values *= repeat;
    counts->nan *= repeat;
    counts->pos_inf *= repeat;
    counts->neg_inf *= repeat;
    counts->zero *= repeat;
    counts->negative *= repeat;
    counts->upper_overflow *= repeat;
    counts->lower_overflow *= repeat;
    counts->underflow *= repeat;
    counts->subnormal *= repeat;
    values->negative_nan *= repeat;
    struct tp_moments *moments = &values->moments;
    double times = (double)repeat;
    moments->n *= repeat;
    moments->m2 *= times;
    moments->m3 *= times;
    moments->m4 *= times;
    moments->sum_abs *= times;
    moments->sum_squares *= times;
}

void tp_bins_flush(uint32_t *bins, uint64_t *totals)
{
    for (int i = 0; i < TP_SUMMARY_BINS; i++)
        totals[i] += bins[i];
    memset(bins, 0, TP_SUMMARY_BINS * sizeof *bins);
}
