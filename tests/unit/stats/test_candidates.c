/* SPDX-License-Identifier: MIT */
#include "stats/candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/unit/support/xorshift.h"

static const enum tp_isa isas[] = {TP_ISA_PORTABLE, TP_ISA_AVX2,
                                   TP_ISA_AVX512};

enum { N = 200003, SPECIAL = 20 };

/* Sums of twelve random numbers, some of them not finite. */
static void fill(enum tp_dtype dtype, double shift, void *codes)
{
    uint64_t state = 11;
    for (size_t i = 0; i < N; i++) {
        double x = shift - 6;
        for (int k = 0; k < 12; k++)
            x += (double)(xorshift(&state) >> 11) * 0x1p-53;
        if (i % (N / SPECIAL) == 0)
            x = i % 3 == 0 ? -INFINITY : i % 3 == 1 ? -(double)NAN : INFINITY;
        if (dtype == TP_FLOAT32)
            ((float *)codes)[i] = (float)x;
        else
            ((double *)codes)[i] = x;
    }
}

static void count_top(enum tp_dtype dtype, const void *codes, size_t n,
                      uint64_t *totals)
{
    static union tp_select_tables tables;
    const struct tp_span span = {dtype, codes, n};
    memset(totals, 0, TP_SELECT_TOP * sizeof *totals);
    tp_select_count_top(&span, &tables);
    tp_select_flush_top(&tables, totals);
}

static double value_at(enum tp_dtype dtype, const void *codes, size_t i)
{
    return dtype == TP_FLOAT32 ? ((const float *)codes)[i]
                               : ((const double *)codes)[i];
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_kept(const struct tp_candidates *candidates,
                    const struct tp_kept_codes *kept, double x)
{
    uint64_t i = 0;
    while (i < kept->length &&
           value_at(candidates->dtype, kept->codes, i) != x)
        i++;
    return i < kept->length;
}

/* What is kept, by every loop, holds the quantiles of all, which are sorted,
 * and is a small part. */
static void check(enum tp_dtype dtype, double shift)
{
    static double codes[N], values[N];
    static struct tp_candidates candidates;
    struct tp_kept_codes *kept = calloc(3, sizeof *kept);
    uint64_t *totals = malloc(TP_SELECT_TOP * sizeof *totals);
    size_t n = 0;
    fill(dtype, shift, codes);
    count_top(dtype, codes, N, totals);
    cr_assert(tp_candidates_plan(&candidates, dtype, totals, N));
    for (int i = 0; i < 3; i++) {
        const struct tp_span span = {dtype, codes, N};
        tp_candidates_keep(&candidates, &span, isas[i], &kept[i]);
        cr_assert_eq(kept[i].length, kept[0].length);
        cr_assert_eq(memcmp(kept[i].codes, kept[0].codes,
                            kept[0].length * (size_t)candidates.bits / 8),
                     0, "%d", i);
    }
    cr_assert_leq(kept[0].length, N / 8);
    for (size_t i = 0; i < N; i++) {
        values[n] = value_at(dtype, codes, i);
        n += isfinite(values[n]) != 0;
    }
    qsort(values, n, sizeof *values, ascending);
    for (int i = 0; i < TP_QUANTILES; i++) {
        const size_t at = (size_t)(tp_quantile_levels[i] * (double)(n - 1));
        cr_assert(is_kept(&candidates, &kept[0], values[at]), "q%d", i);
        cr_assert(is_kept(&candidates, &kept[0], values[at + 1]), "q%d", i);
    }
    free(totals);
    free(kept);
}

Test(candidates, hold_the_quantiles)
{
    check(TP_FLOAT32, 0);
    check(TP_FLOAT32, 3);
    check(TP_FLOAT32, -3);
    check(TP_FLOAT64, 0);
}

Test(candidates, of_few_values_or_too_many_there_are_none)
{
    static float codes[N];
    static struct tp_candidates candidates;
    uint64_t *totals = malloc(TP_SELECT_TOP * sizeof *totals);
    for (size_t i = 0; i < N; i++)
        codes[i] = i % 3 == 0 ? 1.5f : -2;
    count_top(TP_FLOAT32, codes, N, totals);
    cr_assert_not(tp_candidates_plan(&candidates, TP_FLOAT32, totals, N));
    fill(TP_FLOAT32, 0, codes);
    count_top(TP_FLOAT32, codes, N, totals);
    cr_assert(tp_candidates_plan(&candidates, TP_FLOAT32, totals, N));
    cr_assert_not(tp_candidates_plan(&candidates, TP_FLOAT32, totals,
                                     UINT64_C(1) << 40));
    for (size_t i = 0; i < N; i++)
        codes[i] = NAN;
    count_top(TP_FLOAT32, codes, N, totals);
    cr_assert_not(tp_candidates_plan(&candidates, TP_FLOAT32, totals, N));
    free(totals);
}

/* More than there is room for are counted, and nothing behind is written. */
Test(candidates, beyond_the_room_are_counted)
{
    enum { MANY = TP_CANDIDATES_ROOM + 1000 };
    static struct tp_candidates candidates;
    double *codes = malloc(MANY * sizeof *codes);
    uint64_t *totals = malloc(TP_SELECT_TOP * sizeof *totals);
    fill(TP_FLOAT64, 0, codes);
    count_top(TP_FLOAT64, codes, N, totals);
    cr_assert(tp_candidates_plan(&candidates, TP_FLOAT64, totals, N));
    for (size_t i = 0; i < MANY; i++)
        codes[i] = 0; /* the median */
    for (int i = 0; i < 3; i++) {
        struct tp_kept_codes *kept = calloc(1, sizeof *kept);
        const struct tp_span span = {TP_FLOAT64, codes, MANY};
        tp_candidates_keep(&candidates, &span, isas[i], kept);
        cr_assert_eq(kept->length, MANY);
        free(kept);
    }
    free(totals);
    free(codes);
}

/* A selection of something else is not held. */
Test(candidates, tell_what_they_do_not_have)
{
    static float codes[N];
    static struct tp_candidates candidates;
    static struct tp_select select;
    uint64_t *totals = malloc(TP_SELECT_TOP * sizeof *totals);
    struct tp_values values = {.counts.neg_inf = 0};
    struct tp_ranks ranks;
    fill(TP_FLOAT32, 0, codes);
    count_top(TP_FLOAT32, codes, N, totals);
    cr_assert(tp_candidates_plan(&candidates, TP_FLOAT32, totals, N));
    tp_ranks_of(N - 2 * SPECIAL, 1, &ranks);
    values.counts.neg_inf = SPECIAL;
    tp_select_begin(&select, TP_FLOAT32, &values, &ranks, totals);
    cr_assert(tp_candidates_have(&candidates, &select));
    ranks.rank[13] = N / 2 + N / 10;
    tp_select_begin(&select, TP_FLOAT32, &values, &ranks, totals);
    cr_assert_not(tp_candidates_have(&candidates, &select));
    free(totals);
}
