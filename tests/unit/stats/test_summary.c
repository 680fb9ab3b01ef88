/* SPDX-License-Identifier: MIT */
#include "stats/judge.h"
#include "stats/summary.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "stats/bins.h"
#include "stats/quantile.h"
#include "stats/stats.h"
#include "stats/values.h"
#include "tests/unit/support/xorshift.h"

/*
 * The laws of the summary accumulator, and its numbers against the textbook
 * formulas in extended precision.
 */

/* Values of mixed sign and size, some zero. */
static void fill(double *values, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t r = xorshift(&seed);
        double v = ldexp((double)(int64_t)r, -60 - (int)(seed >> 60));
        values[i] = r % 16 == 0 ? 0 : v;
    }
}

static void summarize(const double *values, size_t n,
                      struct tp_summary *summary)
{
    struct tp_judge judge = tp_judge_of(tp_number_by_id("hif8"));
    struct tp_span span = {TP_FLOAT64, values, n};
    struct tp_values state;
    uint32_t *bins = calloc(TP_SUMMARY_BINS, sizeof *bins);
    memset(&state, 0, sizeof state);
    memset(summary, 0, sizeof *summary);
    tp_values_add(&span, &judge, TP_ISA_UNKNOWN, &state, bins);
    tp_bins_flush(bins, summary->bins);
    free(bins);
    summary->counts = state.counts;
    summary->counts.numel = n;
    summary->counts.judged = n;
    summary->moments = state.moments;
    summary->extrema = state.extrema;
}

static void assert_close(double got, double want, double tolerance,
                         const char *what)
{
    if (isnan(want))
        cr_assert(isnan(got), "%s: %.17g, not NaN", what, got);
    else
        cr_assert(fabs(got - want) <= tolerance * fabs(want),
                  "%s: %.17g, not %.17g", what, got, want);
}

static void assert_same_set(const struct tp_summary *a,
                            const struct tp_summary *b)
{
    cr_assert_eq(memcmp(&a->counts, &b->counts, sizeof a->counts), 0);
    cr_assert_eq(memcmp(&a->extrema, &b->extrema, sizeof a->extrema), 0);
    cr_assert_eq(memcmp(a->bins, b->bins, sizeof a->bins), 0);
    cr_assert_eq(a->moments.n, b->moments.n);
    cr_assert_eq(a->moments.scale, b->moments.scale);
    assert_close(a->moments.mean, b->moments.mean, 1e-12, "mean");
    assert_close(a->moments.m2, b->moments.m2, 1e-13, "m2");
    assert_close(a->moments.m3, b->moments.m3, 1e-10, "m3");
    assert_close(a->moments.m4, b->moments.m4, 1e-12, "m4");
    assert_close(a->moments.sum_abs, b->moments.sum_abs, 1e-14, "sum_abs");
    assert_close(a->moments.sum_squares, b->moments.sum_squares, 1e-14,
                 "sum_squares");
}

enum { MANY = 5000 };

/* Runs of float64 values of every size, and of zeros. */
static void fill_wide(double *values, size_t n, uint64_t seed)
{
    fill(values, n, seed);
    int exponent = 0;
    for (size_t i = 0; i < n; i++) {
        if (i % 611 == 0)
            exponent = (int)(xorshift(&seed) % 2000) - 1000;
        values[i] = i / 600 % 3 == 2 ? 0 : ldexp(values[i], exponent);
    }
}

Test(summary, zero_bytes_are_empty)
{
    static double values[MANY];
    static struct tp_summary some, merged, empty;
    fill(values, MANY, 7);
    summarize(values, MANY, &some);
    merged = some;
    tp_summary_merge(&merged, &empty);
    cr_assert_eq(memcmp(&merged, &some, sizeof some), 0, "x + empty is x");
    memset(&merged, 0, sizeof merged);
    tp_summary_merge(&merged, &some);
    cr_assert_eq(memcmp(&merged, &some, sizeof some), 0, "empty + x is x");
}

Test(summary, any_cut_merges_to_the_whole)
{
    static double values[MANY];
    static struct tp_summary whole, left, right;
    fill(values, MANY, 99);
    summarize(values, MANY, &whole);
    cr_assert_gt(whole.counts.zero, 100);
    cr_assert_gt(whole.counts.underflow, 0);
    for (size_t cut = 0; cut <= MANY; cut += cut < 10 ? 1 : 311) {
        summarize(values, cut, &left);
        summarize(values + cut, MANY - cut, &right);
        tp_summary_merge(&left, &right);
        assert_same_set(&left, &whole);
    }
}

Test(summary, what_is_not_finite_is_nan_or_infinite)
{
    static const double values[] = {INFINITY, 1,         -INFINITY, NAN,
                                    INFINITY, -INFINITY, INFINITY,  -NAN,
                                    DBL_MAX,  0};
    static struct tp_summary all, finite;
    summarize(values, 10, &all);
    summarize(values + 8, 2, &finite);
    cr_expect_eq(tp_counts_infinite(&all.counts), 5);
    cr_expect_eq(tp_counts_nonfinite(&all.counts), 7);
    cr_expect_eq(tp_counts_infinite(&finite.counts), 0);
    cr_expect_eq(tp_counts_nonfinite(&finite.counts), 0);
}

static void cut_in_three(const double *values, size_t first)
{
    static struct tp_summary part[3], left, right;
    summarize(values, first, &part[0]);
    summarize(values + first, 1, &part[1]);
    summarize(values + first + 1, MANY - first - 1, &part[2]);
    left = part[0];
    tp_summary_merge(&left, &part[1]);
    tp_summary_merge(&left, &part[2]);
    right = part[1];
    tp_summary_merge(&right, &part[2]);
    tp_summary_merge(&part[0], &right);
    assert_same_set(&left, &part[0]);
}

Test(summary, merging_is_associative)
{
    static double values[MANY];
    fill(values, MANY, 1234);
    cut_in_three(values, 1000);
}

Test(summary, merging_is_associative_at_any_scale)
{
    static double values[MANY];
    static struct tp_summary whole, left, right;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fill_wide(values, MANY, seed);
        cut_in_three(values, 97 * seed);
        summarize(values, MANY, &whole);
        double amax = fmax(-whole.extrema.min, whole.extrema.max);
        cr_assert_eq(whole.moments.scale, tp_moments_scale(amax));
        summarize(values, 97 * seed, &left);
        summarize(values + 97 * seed, MANY - 97 * seed, &right);
        tp_summary_merge(&left, &right);
        assert_same_set(&left, &whole);
    }
}

/* Two pass formulas of every textbook, in long double. */
static void textbook(const double *v, size_t n, struct tp_numbers *want)
{
    long double sum = 0, l1 = 0, l2 = 0, m2 = 0, m3 = 0, m4 = 0;
    for (size_t i = 0; i < n; i++) {
        sum += v[i];
        l1 += fabsl(v[i]);
        l2 += (long double)v[i] * v[i];
    }
    long double mean = sum / n;
    for (size_t i = 0; i < n; i++) {
        long double d = v[i] - mean;
        m2 += d * d;
        m3 += d * d * d;
        m4 += d * d * d * d;
    }
    want->mean = (double)mean;
    want->std = n > 1 ? (double)sqrtl(m2 / (n - 1)) : NAN;
    want->l1_norm = (double)l1;
    want->l2_norm = (double)sqrtl(l2);
    long double variance = m2 / n;
    want->skewness = (double)(m3 / n / (variance * sqrtl(variance)));
    want->kurtosis = (double)(m4 / n / (variance * variance) - 3);
}

Test(summary, numbers_are_those_of_the_textbook)
{
    static double values[MANY];
    static struct tp_summary summary;
    struct tp_numbers got, want;
    fill(values, MANY, 4321);
    for (size_t n = 2; n <= MANY; n += n < 20 ? 1 : 997) {
        summarize(values, n, &summary);
        tp_summary_numbers(&summary, &got);
        textbook(values, n, &want);
        assert_close(got.mean, want.mean, 1e-13, "mean");
        assert_close(got.std, want.std, 1e-14, "std");
        assert_close(got.l1_norm, want.l1_norm, 1e-14, "l1");
        assert_close(got.l2_norm, want.l2_norm, 1e-14, "l2");
        cr_assert_lt(fabs(got.skewness - want.skewness), 1e-12);
        cr_assert_lt(fabs(got.kurtosis - want.kurtosis), 1e-11);
    }
}

Test(summary, numbers_of_float64_of_any_size_are_those_of_the_textbook)
{
    static double values[MANY];
    static struct tp_summary summary;
    struct tp_numbers got, want;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fill_wide(values, MANY, seed);
        summarize(values, MANY, &summary);
        tp_summary_numbers(&summary, &got);
        textbook(values, MANY, &want);
        assert_close(got.mean, want.mean, 1e-12, "mean");
        assert_close(got.std, want.std, 1e-13, "std");
        assert_close(got.l1_norm, want.l1_norm, 1e-13, "l1");
        assert_close(got.l2_norm, want.l2_norm, 1e-13, "l2");
        assert_close(got.skewness, want.skewness, 1e-9, "skewness");
        assert_close(got.kurtosis, want.kurtosis, 1e-11, "kurtosis");
    }
}

/*
 * By numpy 2 on x86-64, in its 80 bit longdouble: x.mean(), x.std(ddof=1),
 * abs(x).sum(), sqrt((x * x).sum()), and with d = x - x.mean(), v =
 * (d ** 2).mean(): (d ** 3).mean() / v ** 1.5, (d ** 4).mean() / v ** 2 - 3.
 */
static const struct extreme {
    size_t n;
    double values[8];
    double mean, std, l1, l2, skewness, kurtosis;
} extremes[] = {
    {3, {40959.999999999, 40960, 1e300},
     3.3333333333333335083e+299, 5.7735026918962579484e+299,
     1.0000000000000000525e+300, 1.0000000000000000525e+300,
     0.7071067811865475244, -1.5},
    {4, {1e308, -1e308, 1e308, 1.7e308},
     6.7499999999999998745e+307, 1.1644025649805711882e+308,
     INFINITY, INFINITY, /* 4.7e308 and 2.43e308 are beyond a double */
     -0.86644460442953298844, -0.8246239605247798418},
    {2, {5e-324, 1e-310},
     5.0000000000002317575e-311, 7.0710678118651042843e-311,
     1.0000000000000463515e-310, 9.999999999999969449e-311, 0, -2},
    {8, {1e-310, 3e-300, -2e-5, 7, 0, -4e150, 1e300, 2e300},
     3.750000000000000197e+299, 7.440238091428449909e+299,
     3.0000000000000001575e+300, 2.2360679774997898138e+300,
     1.5643042434590071997, 0.8595213319458896988},
};

static void assert_extreme(const struct tp_summary *summary,
                           const struct extreme *want)
{
    struct tp_numbers got;
    tp_summary_numbers(summary, &got);
    assert_close(got.mean, want->mean, 1e-15, "mean");
    assert_close(got.std, want->std, 1e-15, "std");
    if (isinf(want->l1)) {
        cr_assert_eq(got.l1_norm, want->l1);
        cr_assert_eq(got.l2_norm, want->l2);
    } else {
        assert_close(got.l1_norm, want->l1, 1e-15, "l1");
        assert_close(got.l2_norm, want->l2, 1e-15, "l2");
    }
    cr_assert_float_eq(got.skewness, want->skewness, 1e-14);
    cr_assert_float_eq(got.kurtosis, want->kurtosis, 1e-14);
}

Test(summary, float64_near_its_ends)
{
    static struct tp_summary whole, merged, one;
    for (size_t i = 0; i < sizeof extremes / sizeof extremes[0]; i++) {
        const struct extreme *extreme = &extremes[i];
        summarize(extreme->values, extreme->n, &whole);
        assert_extreme(&whole, extreme);
        memset(&merged, 0, sizeof merged);
        for (size_t k = 0; k < extreme->n; k++) {
            summarize(&extreme->values[k], 1, &one);
            tp_summary_merge(&merged, &one);
        }
        assert_extreme(&merged, extreme);
        memset(&merged, 0, sizeof merged);
        for (size_t k = extreme->n; k > 0; k--) {
            summarize(&extreme->values[k - 1], 1, &one);
            tp_summary_merge(&merged, &one);
        }
        assert_extreme(&merged, extreme);
    }
}

Test(summary, the_scale_is_zero_but_for_float64)
{
    cr_assert_eq(tp_moments_scale(0), 0);
    cr_assert_eq(tp_moments_scale(FLT_MAX), 0);
    cr_assert_eq(tp_moments_scale(ldexp(1, -149)), 0);
    cr_assert_eq(tp_moments_scale(18446744073709551615.0), 0);
    for (int e = -1074; e <= 1023; e++) {
        double power = ldexp(1, e);
        int scale = (int)tp_moments_scale(power);
        double scaled = ldexp(power, -scale);
        cr_assert(scaled >= 0x1p-200 && scaled < 0x1p200);
    }
}

/* "-nan" is what printf makes of a NaN with its sign set. */
static void assert_positive_nans(const struct tp_summary *summary)
{
    struct tp_numbers numbers;
    tp_summary_numbers(summary, &numbers);
    for (const struct tp_stat *stat = tp_stats; stat->name; stat++) {
        double value = tp_stat_real(stat, &summary->counts, &numbers);
        cr_assert(!isnan(value) || !signbit(value), "%s", stat->name);
    }
}

Test(summary, no_nan_is_negative)
{
    static struct tp_summary summary;
    assert_positive_nans(&summary);
    const double sets[][3] = {{-NAN, -INFINITY, INFINITY},
                              {-INFINITY, -2.5, -NAN},
                              {-0.1, -0.1, -0.1},
                              {-0.0, 0, -0.0},
                              {-DBL_MAX, DBL_MAX, -DBL_MAX},
                              {5e-324, -5e-324, 5e-324},
                              {1, 1 + DBL_EPSILON, 1}};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        summarize(sets[i], 3, &summary);
        assert_positive_nans(&summary);
        summary.counts.judged = 0;
        assert_positive_nans(&summary);
    }
}

Test(summary, what_does_not_exist_is_nan)
{
    static struct tp_summary summary;
    struct tp_numbers numbers;
    tp_summary_numbers(&summary, &numbers);
    for (const struct tp_stat *stat = tp_stats; stat->name; stat++)
        if (stat->type == TP_STAT_REAL)
            cr_assert(isnan(tp_stat_real(stat, &summary.counts, &numbers)),
                      "%s of nothing", stat->name);
    const double one = -2.5;
    summarize(&one, 1, &summary);
    tp_summary_numbers(&summary, &numbers);
    cr_assert_eq(numbers.mean, -2.5);
    cr_assert_eq(numbers.abs_max, 2.5);
    cr_assert_eq(numbers.l2_norm, 2.5);
    cr_assert_eq(numbers.quantile[3], -2.5);
    cr_assert(isnan(numbers.std) && isnan(numbers.skewness));
    cr_assert(isnan(numbers.kurtosis));
    const double same[3] = {0.1, 0.1, 0.1};
    summarize(same, 3, &summary);
    tp_summary_numbers(&summary, &numbers);
    cr_assert_eq(numbers.mean, 0.1);
    cr_assert_eq(numbers.std, 0);
    cr_assert(isnan(numbers.kurtosis));
}

Test(summary, huge_values_do_not_turn_into_wrong_numbers)
{
    static struct tp_summary summary;
    struct tp_numbers numbers;
    const double huge[4] = {DBL_MAX, DBL_MAX / 2, DBL_MAX, DBL_MAX / 2};
    summarize(huge, 4, &summary);
    tp_summary_numbers(&summary, &numbers);
    assert_close(numbers.mean, DBL_MAX * 0.75, 1e-14, "mean");
    cr_assert_eq(numbers.max, DBL_MAX);
    assert_close(numbers.std, DBL_MAX * 0.25 * sqrt(4.0 / 3), 1e-14, "std");
    cr_assert_float_eq(numbers.skewness, 0, 1e-14);
    cr_assert_float_eq(numbers.kurtosis, -2, 1e-14, "two equal values");
    const double apart[2] = {DBL_MAX, -DBL_MAX};
    static struct tp_summary other;
    summarize(apart, 1, &summary);
    summarize(apart + 1, 1, &other);
    tp_summary_merge(&summary, &other);
    cr_assert_eq(summary.moments.mean, 0);
}

Test(summary, ratios_are_over_what_was_judged)
{
    static struct tp_summary summary;
    struct tp_numbers numbers;
    summary.counts.values = summary.counts.numel = 8;
    summary.counts.judged = 8;
    summary.counts.upper_overflow = 2;
    summary.counts.lower_overflow = 1;
    summary.counts.underflow = 4;
    tp_summary_numbers(&summary, &numbers);
    cr_assert_eq(numbers.upper_overflow_ratio, 0.25);
    cr_assert_eq(numbers.lower_overflow_ratio, 0.125);
    cr_assert_eq(numbers.total_overflow_ratio, 0.375);
    cr_assert_eq(numbers.underflow_ratio, 0.5);
    cr_assert_eq(numbers.subnormal_ratio, 0);
}

/* What the bin is by its definition: truncate to binary32, take 12 bits. */
static unsigned bin_by_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 20;
}

Test(summary, bins_are_the_top_bits_of_binary32)
{
    uint64_t seed = 5;
    for (int i = 0; i < 100000; i++) {
        uint32_t bits = (uint32_t)xorshift(&seed);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value) || value == 0)
            continue;
        unsigned bin = tp_summary_bin(value);
        cr_assert_eq(bin, bin_by_bits(value));
        /* a little towards zero or away stays, or moves the right way */
        double outward = value * (1 + 0x1p-40);
        cr_assert_eq(tp_summary_bin(outward), bin);
        double inner, outer;
        int sign;
        tp_summary_bin_edges(bin, &inner, &outer, &sign);
        cr_assert_eq(sign, value > 0 ? 1 : -1);
        cr_assert(inner <= fabs(value) && fabs(value) < outer);
        if (inner > 0)
            cr_assert_neq(tp_summary_bin(sign * inner * (1 - 0x1p-52)), bin);
        if (outer <= FLT_MAX)
            cr_assert_neq(tp_summary_bin(sign * outer), bin);
    }
    cr_assert_eq(tp_summary_bin(1e300), bin_by_bits(FLT_MAX));
    cr_assert_eq(tp_summary_bin(-1e-300), 2048);
    cr_assert_eq(tp_summary_bin(nextafter(1, 0)), bin_by_bits(1) - 1);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

Test(summary, quantiles_from_bins_are_close)
{
    static double values[MANY];
    static struct tp_summary summary;
    struct tp_numbers numbers;
    fill(values, MANY, 31);
    summarize(values, MANY, &summary);
    tp_summary_numbers(&summary, &numbers);
    qsort(values, MANY, sizeof values[0], ascending);
    for (int i = 0; i < TP_QUANTILES; i++) {
        size_t rank = (size_t)(tp_quantile_levels[i] * (MANY - 1) + 0.5);
        /* within the bin, and the neighbours in rank */
        double slack = 0.125 * fabs(values[rank]) +
                       fabs(values[rank + 1] - values[rank - 1]);
        cr_assert_leq(fabs(numbers.quantile[i] - values[rank]), slack);
    }
}

Test(summary, medians)
{
    double odd[] = {7, -INFINITY, 3}, even[] = {4, 1, 3, -5};
    double wide[] = {INFINITY, 2, INFINITY, INFINITY};
    cr_assert_eq(tp_median(odd, 3), 3);
    cr_assert_eq(tp_median(odd, 1), -INFINITY);
    cr_assert_eq(tp_median(even, 4), 2);
    cr_assert_eq(tp_sorted_median(even, 2), -2); /* they are sorted now */
    cr_assert_eq(tp_median(wide, 4), INFINITY);
    cr_assert(isnan(tp_median(NULL, 0)));
}

Test(summary, packing_keeps_everything)
{
    static double values[MANY];
    static struct tp_summary some, back;
    struct tp_arena arena = {0};
    fill(values, MANY, 77);
    summarize(values, MANY, &some);
    some.bins[0] = 1;
    some.bins[TP_SUMMARY_BINS - 1] = UINT64_MAX;
    const struct tp_packed *packed = tp_summary_pack(&some, &arena);
    cr_assert_not_null(packed);
    cr_assert_lt(packed->bin_bytes, 2048);
    tp_summary_merge_packed(&back, packed);
    cr_assert_eq(memcmp(&back, &some, sizeof some), 0);
    static struct tp_summary twice;
    twice = some;
    tp_summary_merge(&twice, &some);
    tp_summary_merge_packed(&back, packed);
    cr_assert_eq(memcmp(&back, &twice, sizeof twice), 0);
    tp_arena_clear(&arena);
}

Test(summary, the_table_has_the_columns_of_the_contract)
{
    static const char *const columns[] = {
        "numel", "nan", "pos_inf", "neg_inf", "zero", "negative", "min", "max",
        "mean", "std", "abs_max", "abs_min_nonzero", "l1_norm", "l2_norm",
        "skewness", "kurtosis", "q01", "q05", "q25", "q50", "q75", "q95",
        "q99", "upper_overflow_ratio", "lower_overflow_ratio",
        "total_overflow_ratio", "underflow_ratio", "subnormal_ratio"};
    const size_t count = sizeof columns / sizeof columns[0];
    for (size_t i = 0; i < count; i++)
        cr_assert_str_eq(tp_stats[i].name, columns[i]);
    cr_assert_null(tp_stats[count].name);
    cr_assert_null(tp_stat_by_name("median"));
    struct tp_counts counts = {.nan = 3, .negative = UINT64_MAX};
    struct tp_numbers numbers = {.quantile = {1, 2, 3, 4, 5, 6, 7},
                                 .subnormal_ratio = 0.5};
    cr_assert_eq(tp_stat_integer(tp_stat_by_name("nan"), &counts), 3);
    cr_assert_eq(tp_stat_integer(tp_stat_by_name("negative"), &counts),
                 INT64_MAX);
    cr_assert_eq(tp_stat_real(tp_stat_by_name("nan"), &counts, &numbers), 3);
    cr_assert_eq(tp_stat_real(tp_stat_by_name("q99"), &counts, &numbers), 7);
    cr_assert_eq(
        tp_stat_real(tp_stat_by_name("subnormal_ratio"), &counts, &numbers),
        0.5);
}

/* --- thresholds ----------------------------------------------------------- */

/* What "Fixed thresholds" of the manual says, as torch 1.13 rounds: 65519 to
 * 65504 and 65520 to Inf, 2^-25 to 0 and what is above it to 2^-24. */
Test(summary, thresholds_that_the_manual_names)
{
    static const struct {
        const char *format;
        double overflow, zero; /* the least that does, the largest that does */
        double below_normal;   /* so much below it still rounds to it        */
        double normal;
    } want[] = {{"fp16", 65520, 0x1p-25, 0x1p-25, 0x1p-14},
                {"bf16", 0x1.ffp127, 0x1p-134, 0x1p-134, 0x1p-126}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const struct tp_judge judge =
            tp_judge_of(tp_number_by_id(want[i].format));
        cr_assert_eq(judge.overflow, want[i].overflow);
        cr_assert_eq(judge.zero, want[i].zero);
        cr_assert_eq(judge.subnormal, want[i].normal - want[i].below_normal);
    }
    /* the thresholds of monitors, beside ours */
    const struct tp_judge fp16 = tp_judge_of(tp_number_by_id("fp16"));
    const struct tp_judge bf16 = tp_judge_of(tp_number_by_id("bf16"));
    cr_assert(fp16.zero < 4e-8 && 4e-8 < 5.96e-8 && 5.96e-8 < fp16.subnormal);
    cr_assert(bf16.zero < 1.17e-38 && 1.17e-38 < bf16.subnormal);
    cr_assert_float_eq(bf16.subnormal, 1.17e-38, 1e-40);
    cr_assert(65504 < fp16.overflow);
}
