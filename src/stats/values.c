/* SPDX-License-Identifier: MIT */
#include "stats/values.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "stats/bins.h"

/* Independent sums that the processor can take at the same time. Their
 * number is part of the definition of the result. */
enum { LANES = 8 };

/* Adds up lanes by halves. */
static double fold(double *lane)
{
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

static bool all_finite(const double *v, size_t n)
{
    double lane[LANES] = {0}; /* 0 * v is 0, or NaN if v is not finite */
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += 0 * v[i + (size_t)k];
    for (; i < n; i++)
        lane[0] += 0 * v[i];
    return fold(lane) == 0;
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

/* The mean of values whose sum a double cannot hold. */
static double huge_mean(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] / (double)n;
    return sum;
}

static void raw_sums(const double *v, size_t padded, size_t n,
                     struct tp_moments *moments)
{
    double linear[LANES] = {0}, absolute[LANES] = {0}, square[LANES] = {0};
    for (size_t i = 0; i < padded; i += LANES) {
        for (int k = 0; k < LANES; k++)
            linear[k] += v[i + (size_t)k];
        for (int k = 0; k < LANES; k++)
            absolute[k] += fabs(v[i + (size_t)k]);
        for (int k = 0; k < LANES; k++)
            square[k] += v[i + (size_t)k] * v[i + (size_t)k];
    }
    moments->n = n;
    moments->sum_abs = fold(absolute);
    moments->sum_squares = fold(square);
    moments->mean = fold(linear) / (double)n;
    if (!isfinite(moments->mean))
        moments->mean = huge_mean(v, n);
}

/*
 * Central sums about a mean that is off by `shift` because it was rounded:
 * moves them to the true mean.
 */
static void shift_mean(struct tp_moments *moments, double shift)
{
    if (!isfinite(shift))
        return;
    double n = (double)moments->n, s = shift;
    double m2 = moments->m2, m3 = moments->m3;
    moments->m4 += s * (s * (6 * m2 - 3 * n * s * s) - 4 * m3);
    moments->m3 += s * (2 * n * s * s - 3 * m2);
    moments->m2 -= n * s * s;
    moments->mean += s;
}

/* `v` is padded with the mean, which adds nothing. */
static void central_sums(const double *v, size_t padded,
                         struct tp_moments *moments)
{
    double s1[LANES] = {0}, s2[LANES] = {0}, s3[LANES] = {0}, s4[LANES] = {0};
    double mean = moments->mean;
    for (size_t i = 0; i < padded; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            double d = v[i + (size_t)k] - mean, d2 = d * d;
            s1[k] += d;
            s2[k] += d2;
            s3[k] += d2 * d;
            s4[k] += d2 * d2;
        }
    }
    moments->m2 = fold(s2);
    moments->m3 = fold(s3);
    moments->m4 = fold(s4);
    shift_mean(moments, fold(s1) / (double)moments->n);
}

static struct tp_extrema extrema_of(const double *v, size_t padded)
{
    double low[LANES], high[LANES], small[LANES];
    for (int k = 0; k < LANES; k++) {
        low[k] = high[k] = v[k];
        small[k] = INFINITY;
    }
    for (size_t i = 0; i < padded; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            double x = v[i + (size_t)k];
            double a = x == 0 ? INFINITY : fabs(x);
            low[k] = x < low[k] ? x : low[k];
            high[k] = x > high[k] ? x : high[k];
            small[k] = a < small[k] ? a : small[k];
        }
    }
    for (int k = 1; k < LANES; k++) {
        low[0] = fmin(low[0], low[k]);
        high[0] = fmax(high[0], high[k]);
        small[0] = fmin(small[0], small[k]);
    }
    struct tp_extrema extrema = {low[0] + 0.0, high[0] + 0.0,
                                 isinf(small[0]) ? 0 : small[0]};
    return extrema;
}

static void count_values(const double *v, size_t n,
                         const struct tp_judge *judge,
                         struct tp_counts *counts)
{
    uint64_t zero = 0, negative = 0, upper = 0, lower = 0, under = 0, sub = 0;
    for (size_t i = 0; i < n; i++) {
        double a = fabs(v[i]);
        zero += a == 0;
        negative += v[i] < 0;
        upper += v[i] >= judge->overflow;
        lower += v[i] <= -judge->overflow;
        under += a <= judge->zero;
        sub += a < judge->subnormal;
    }
    /* Zeros are neither: judged with the small ones, taken off again. */
    counts->zero += zero;
    counts->negative += negative;
    counts->upper_overflow += upper;
    counts->lower_overflow += lower;
    counts->underflow += under - zero;
    counts->subnormal += sub - (judge->subnormal > 0 ? zero : 0);
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
    count_bins(v, n, bins);
    count_values(v, n, judge, &block.counts);
    block.extrema = extrema_of(v, pad(v, n, v[n - 1]));
    raw_sums(v, pad(v, n, 0), n, &block.moments);
    if (block.extrema.min == block.extrema.max)
        block.moments.mean = block.extrema.min;
    else
        central_sums(v, pad(v, n, block.moments.mean), &block.moments);
    tp_values_merge(values, &block);
}

void tp_values_add(enum tp_dtype dtype, const void *codes, size_t n,
                   const struct tp_judge *judge, struct tp_values *values,
                   uint32_t *bins)
{
    const unsigned char *at = codes;
    size_t size = tp_dtype_info(dtype)->size;
    double v[TP_VALUE_BLOCK + LANES];
    while (n > 0) {
        size_t batch = n < TP_VALUE_BLOCK ? n : TP_VALUE_BLOCK;
        tp_dtype_decode(dtype, at, batch, v);
        size_t kept = batch;
        if (!all_finite(v, batch))
            kept = keep_finite(v, batch, values);
        values->counts.values += batch;
        if (kept > 0)
            add_block(v, kept, judge, values, bins);
        at += batch * size;
        n -= batch;
    }
}

void tp_values_merge(struct tp_values *into, const struct tp_values *from)
{
    tp_extrema_merge(&into->extrema, into->moments.n, &from->extrema,
                     from->moments.n);
    tp_moments_merge(&into->moments, &from->moments);
    tp_counts_merge(&into->counts, &from->counts);
    into->negative_nan += from->negative_nan;
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
