/* SPDX-License-Identifier: MIT */
#include "stats/codes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "stats/code_key.h"
#include "tests/unit/support/xorshift.h"

/*
 * The code histogram against sorting the decoded values with the C library
 * and summing them in extended precision.
 */

static const enum tp_dtype narrow[] = {
    TP_FLOAT16,         TP_BFLOAT16,        TP_FLOAT8_E4M3FN,
    TP_FLOAT8_E5M2,     TP_FLOAT8_E4M3FNUZ, TP_FLOAT8_E5M2FNUZ,
    TP_FLOAT8_E8M0FNU,  TP_UINT8,           TP_UINT16,
    TP_INT8,            TP_INT16,           TP_BOOL};

enum { NARROW = sizeof narrow / sizeof narrow[0] };

/* A list with room, and tables; static, for they are large. */
static struct tp_code_tables tables;
static double value[TP_CODES];
static uint64_t count[TP_CODES];

static struct tp_code_list empty_list(void)
{
    struct tp_code_list list = {.value = value, .count = count};
    return list;
}

static void count_codes(enum tp_dtype dtype, const void *codes, size_t n)
{
    if (tp_dtype_info(dtype)->size == 1)
        tp_codes_count8(&tables, codes, n);
    else
        tp_codes_count16(&tables, codes, n);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The finite values of the codes, sorted; *n becomes their number. */
static double *sorted_values(enum tp_dtype dtype, const void *codes,
                             size_t *n)
{
    double *all = malloc((*n + 1) * sizeof *all);
    size_t kept = 0;
    tp_dtype_decode(dtype, codes, *n, all);
    for (size_t i = 0; i < *n; i++)
        if (isfinite(all[i]))
            all[kept++] = all[i];
    qsort(all, kept, sizeof *all, ascending);
    *n = kept;
    return all;
}

static void assert_list(enum tp_dtype dtype, const void *codes, size_t n,
                        const struct tp_code_list *list)
{
    size_t finite = n, at = 0;
    double *sorted = sorted_values(dtype, codes, &finite);
    cr_assert_eq(list->finite, finite, "dtype %d", (int)dtype);
    cr_assert_eq(list->finite + list->nan + list->pos_inf + list->neg_inf, n);
    for (size_t i = 0; i < list->length; i++) {
        cr_assert_gt(list->count[i], 0);
        cr_assert(i == 0 || list->value[i - 1] < list->value[i]);
        cr_assert(list->value[i] != 0 || !signbit(list->value[i]));
        for (uint64_t k = 0; k < list->count[i]; k++, at++)
            cr_assert_eq(sorted[at], list->value[i]);
    }
    cr_assert_eq(at, finite);
    free(sorted);
}

static void assert_tables_empty(void)
{
    static const struct tp_code_tables zero;
    cr_assert_eq(memcmp(&tables, &zero, sizeof zero), 0);
}

/* Both ways to a list, with few codes and with many. */
Test(codes, lists_are_the_sorted_values)
{
    static const size_t lengths[] = {0, 1, 2, 3, 7, 300, 4099, 70001};
    uint64_t *totals = malloc(TP_CODES * sizeof *totals);
    uint8_t *codes = malloc(2 * 70001);
    uint64_t seed = 3;
    for (size_t i = 0; i < 2 * 70001; i++)
        codes[i] = (uint8_t)(xorshift(&seed) >> 24);
    for (int d = 0; d < NARROW; d++) {
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            struct tp_code_list list = empty_list();
            count_codes(narrow[d], codes, lengths[l]);
            tp_codes_list_flush(narrow[d], &tables, &list);
            assert_list(narrow[d], codes, lengths[l], &list);
            assert_tables_empty();
            memset(totals, 0, TP_CODES * sizeof *totals);
            count_codes(narrow[d], codes, lengths[l]);
            tp_codes_flush(&tables, totals);
            assert_tables_empty();
            list = empty_list();
            tp_codes_list(narrow[d], totals, &list);
            assert_list(narrow[d], codes, lengths[l], &list);
        }
    }
    free(codes);
    free(totals);
}

/* Entries of the codes, by a table of every code; returns how many. */
static size_t make_entries(const void *codes, size_t size, size_t n,
                           uint32_t *entries)
{
    static uint32_t times[TP_CODES];
    size_t length = 0;
    memset(times, 0, sizeof times);
    for (size_t i = 0; i < n; i++)
        times[size == 1 ? ((const uint8_t *)codes)[i]
                        : ((const uint16_t *)codes)[i]]++;
    for (uint32_t code = 0; code < TP_CODES; code++)
        if (times[code] > 0)
            entries[length++] = code << 16 | (times[code] - 1);
    return length;
}

static void assert_entries(enum tp_dtype dtype, const void *codes, size_t n)
{
    static uint32_t entries[TP_CODES];
    struct tp_code_list list = empty_list();
    size_t length =
        make_entries(codes, tp_dtype_info(dtype)->size, n, entries);
    tp_codes_list_entries(dtype, entries, length, &list);
    assert_list(dtype, codes, n, &list);
}

Test(codes, lists_of_entries_are_the_sorted_values)
{
    static const size_t lengths[] = {0, 1, 2, 31, 4099, 65536};
    static uint16_t codes[TP_CODES], equal[TP_CODES];
    uint64_t seed = 5;
    for (size_t i = 0; i < TP_CODES; i++) {
        codes[i] = (uint16_t)(xorshift(&seed) >> 24);
        equal[i] = 0x8181; /* 65536 times */
    }
    for (int d = 0; d < NARROW; d++) {
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            assert_entries(narrow[d], codes, lengths[l]);
            assert_entries(narrow[d], equal, lengths[l]);
        }
    }
}

Test(codes, specials_are_counted_apart)
{
    static const uint16_t codes[] = {0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81,
                                     0x0000, 0x8000, 0x3f80, 0x0001};
    struct tp_code_list list = empty_list();
    tp_codes_count16(&tables, codes, 9);
    tp_codes_list_flush(TP_BFLOAT16, &tables, &list);
    cr_assert_eq(list.pos_inf, 1);
    cr_assert_eq(list.neg_inf, 1);
    cr_assert_eq(list.nan, 3);
    cr_assert_eq(list.length, 3);
    cr_assert_eq(list.value[0], 0);
    cr_assert_eq(list.count[0], 2, "both zeros");
    cr_assert_eq(list.value[1], 0x1p-133);
    cr_assert_eq(list.value[2], 1);
}

/* The definition of every number, one value at a time. */
static void slow(const double *v, size_t n, struct tp_numbers *want)
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
    want->std = (double)sqrtl(m2 / (n - 1));
    want->l1_norm = (double)l1;
    want->l2_norm = (double)sqrtl(l2);
    want->skewness = (double)(m3 / n / (m2 / n * sqrtl(m2 / n)));
    want->kurtosis = (double)(m4 / n / (m2 / n * (m2 / n)) - 3);
    for (int i = 0; i < TP_QUANTILES; i++) {
        double position = tp_quantile_levels[i] * (double)(n - 1);
        size_t low = (size_t)position;
        size_t high = low + 1 < n ? low + 1 : low;
        double t = position - floor(position);
        want->quantile[i] = v[low] + (v[high] - v[low]) * t;
    }
}

static void assert_close(double got, double want, double tolerance,
                         const char *what)
{
    cr_assert(fabs(got - want) <= tolerance * fabs(want),
              "%s: %.17g, not %.17g", what, got, want);
}

Test(codes, numbers_are_those_of_the_definitions)
{
    uint16_t codes[9973];
    uint64_t seed = 11;
    for (int d = 0; d < NARROW; d++) {
        size_t n = sizeof codes / sizeof codes[0];
        for (size_t i = 0; i < n; i++) /* bfloat16: 2^-32 to 2^31 */
            codes[i] = (uint16_t)(xorshift(&seed) & 0x9fff) | 0x2000;
        static struct tp_summary summary;
        struct tp_numbers got, want;
        double quantile[TP_QUANTILES];
        memset(&summary, 0, sizeof summary);
        struct tp_code_list list = empty_list();
        count_codes(narrow[d], codes, n);
        tp_codes_list_flush(narrow[d], &tables, &list);
        tp_code_list_summarize(&list, NULL, &summary, quantile);
        tp_summary_numbers(&summary, &got);
        double *sorted = sorted_values(narrow[d], codes, &n);
        slow(sorted, n, &want);
        cr_assert_eq(got.min, sorted[0] + 0.0);
        cr_assert_eq(got.max, sorted[n - 1]);
        assert_close(got.mean, want.mean, 1e-13, "mean");
        assert_close(got.std, want.std, 4e-15, "std");
        assert_close(got.l1_norm, want.l1_norm, 4e-15, "l1_norm");
        assert_close(got.l2_norm, want.l2_norm, 4e-15, "l2_norm");
        cr_assert_lt(fabs(got.skewness - want.skewness), 1e-12);
        cr_assert_lt(fabs(got.kurtosis - want.kurtosis), 1e-10);
        for (int i = 0; i < TP_QUANTILES; i++)
            assert_close(quantile[i], want.quantile[i], 1e-15, "quantile");
        cr_assert_eq(summary.counts.judged, 0);
        cr_assert_eq(summary.counts.values, sizeof codes / sizeof codes[0]);
        free(sorted);
    }
}

/* numpy 2: numpy.quantile(x, [.01,.05,.25,.5,.75,.95,.99]) of x = the first n
 * squares 0, 1, 4, 9, ... as int16. */
static const struct {
    size_t n;
    double quantile[TP_QUANTILES];
} squares[] = {
    {1, {0, 0, 0, 0, 0, 0, 0}},
    {2, {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99}},
    {3, {0.02, 0.1, 0.5, 1, 2.5, 3.6999999999999997, 3.94}},
    {7, {0.06, 0.30000000000000004, 2.5, 9, 20.5, 32.69999999999999,
      35.339999999999996}},
    {10, {0.09, 0.45, 5.25, 20.5, 45.75, 73.34999999999998, 79.47}},
    {51, {0.5, 6.5, 156.5, 625, 1406.5, 2256.5, 2450.5}},
    {99, {0.98, 24.1, 600.5, 2401, 5402.5, 8667.699999999999, 9412.9}},
    {100, {0.99, 24.55, 612.75, 2450.5, 5513.25, 8845.449999999999,
      9605.970000000001}},
    {101, {1, 25, 625, 2500, 5625, 9025, 9801}},
    {181, {3.4000000000000004, 81, 2025, 8100, 18225, 29241,
      31755.399999999994}},
};

Test(codes, quantiles_are_those_of_numpy)
{
    int16_t codes[181];
    for (int i = 0; i < 181; i++)
        codes[i] = (int16_t)(i * i);
    for (size_t s = 0; s < sizeof squares / sizeof squares[0]; s++) {
        static struct tp_summary summary;
        double quantile[TP_QUANTILES];
        struct tp_code_list list = empty_list();
        tp_codes_count16(&tables, codes, squares[s].n);
        tp_codes_list_flush(TP_INT16, &tables, &list);
        tp_code_list_summarize(&list, NULL, &summary, quantile);
        for (int i = 0; i < TP_QUANTILES; i++)
            cr_assert_eq(quantile[i], squares[s].quantile[i],
                         "%zu squares: %.17g, not %.17g", squares[s].n,
                         quantile[i], squares[s].quantile[i]);
    }
}

/* Thresholds worked out by hand from the formats' definitions: half a step
 * beyond the largest value, half the smallest one, half a step below the
 * smallest normal one; ties go to even, in HiF8 away from zero. */
static const struct {
    const char *format;
    double overflow;  /* smallest bfloat16 that overflows          */
    double zero;      /* largest bfloat16 that rounds to zero      */
    double subnormal; /* smallest bfloat16 that is a normal number */
} limits[] = {
    {"e4m3", 466, 0x1p-10, 0x1.ep-7},
    {"e5m2", 61440, 0x1p-17, 0x1.cp-15},
    {"hif8", 40960, 0x1.fep-24, 0x1.8p-16},
};

Test(codes, overflow_and_underflow_are_judged_by_the_target)
{
    static uint16_t codes[TP_CODES];
    double decoded;
    for (size_t i = 0; i < TP_CODES; i++)
        codes[i] = (uint16_t)i;
    for (size_t f = 0; f < sizeof limits / sizeof limits[0]; f++) {
        static struct tp_summary summary;
        struct tp_counts want = {.values = 0};
        double quantile[TP_QUANTILES];
        for (size_t i = 0; i < TP_CODES; i++) {
            tp_dtype_decode(TP_BFLOAT16, &codes[i], 1, &decoded);
            double a = fabs(decoded);
            want.upper_overflow += decoded >= limits[f].overflow;
            want.lower_overflow += decoded <= -limits[f].overflow;
            want.underflow += a > 0 && a <= limits[f].zero;
            want.subnormal += a > 0 && a < limits[f].subnormal;
        }
        memset(&summary, 0, sizeof summary);
        struct tp_code_list list = empty_list();
        tp_codes_count16(&tables, codes, TP_CODES);
        tp_codes_list_flush(TP_BFLOAT16, &tables, &list);
        tp_code_list_summarize(&list, tp_number_by_id(limits[f].format),
                               &summary, quantile);
        const struct tp_counts *got = &summary.counts;
        const char *name = limits[f].format;
        cr_assert_eq(got->judged, TP_CODES);
        cr_assert_eq(got->upper_overflow, want.upper_overflow, "%s", name);
        cr_assert_eq(got->lower_overflow, want.lower_overflow, "%s", name);
        cr_assert_eq(got->underflow, want.underflow, "%s", name);
        cr_assert_eq(got->subnormal, want.subnormal, "%s: %d, not %d", name,
                     (int)got->subnormal, (int)want.subnormal);
        cr_assert_eq(got->zero, 2);
        cr_assert_eq(got->pos_inf, 1);
    }
}

Test(codes, keys_order_as_values)
{
    for (int d = 0; d < NARROW; d++) {
        enum tp_code_order order = tp_code_order_of(narrow[d]);
        int bits = 8 * tp_dtype_info(narrow[d])->size;
        double last = -INFINITY;
        for (uint64_t key = 0; key < (uint64_t)1 << bits; key++) {
            uint64_t code = tp_code_of_key(order, bits, key);
            uint16_t wide = (uint16_t)code;
            uint8_t byte = (uint8_t)code;
            double decoded;
            cr_assert_eq(tp_code_key(order, bits, code), key);
            tp_dtype_decode(narrow[d],
                            bits == 8 ? (const void *)&byte : &wide, 1,
                            &decoded);
            if (isnan(decoded))
                continue;
            cr_assert_geq(decoded, last);
            last = decoded;
        }
    }
}

Test(codes, repeating_multiplies_counts)
{
    static const uint16_t codes[] = {0x3f80, 0x4000, 0x7f80, 0x7fff};
    static struct tp_summary summary;
    double quantile[TP_QUANTILES];
    const uint64_t times = 1000000000000;
    struct tp_code_list list = empty_list();
    tp_codes_count16(&tables, codes, 4);
    tp_codes_list_flush(TP_BFLOAT16, &tables, &list);
    tp_code_list_repeat(&list, times);
    tp_code_list_summarize(&list, NULL, &summary, quantile);
    cr_assert_eq(summary.counts.values, 4 * times);
    cr_assert_eq(summary.counts.nan, times);
    cr_assert_eq(summary.counts.pos_inf, times);
    cr_assert_eq(summary.moments.n, 2 * times);
    cr_assert_eq(summary.moments.mean, 1.5);
    cr_assert_eq(summary.moments.m2, 0.25 * 2e12);
    cr_assert_eq(quantile[2], 1);
    cr_assert_eq(quantile[3], 1.5);
    cr_assert_eq(quantile[4], 2);
}
