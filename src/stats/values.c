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
 * of the definition of the sums, so that every machine gives the same bits.
 */
#include "stats/values.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

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

void tp_values_add(const struct tp_span *span, const struct tp_judge *judge,
                   struct tp_values *values, uint32_t *bins)
{
    const unsigned char *at = span->codes;
    size_t size = tp_dtype_info(span->dtype)->size, n = span->n;
    double v[TP_VALUE_BLOCK + LANES];
    struct tp_values call;
    memset(&call, 0, sizeof call);
    while (n > 0) {
        size_t batch = n < TP_VALUE_BLOCK ? n : TP_VALUE_BLOCK;
        tp_dtype_decode(span->dtype, at, batch, v);
        size_t kept = batch;
        if (!all_finite(v, pad(v, batch, 0)))
            kept = keep_finite(v, batch, &call);
        call.counts.values += batch;
        if (kept > 0)
            add_block(v, kept, judge, &call, bins);
        at += batch * size;
        n -= batch;
    }
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
