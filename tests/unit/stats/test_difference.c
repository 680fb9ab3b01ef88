/* SPDX-License-Identifier: MIT */
/*
 * Two tensors element by element, against a slow reference: each number by its
 * definition, sums in long double, distances and distributions by counting and
 * sorting. The same definitions in numpy 2.4 (and fractions for distances) gave
 * the same numbers for all 256 pairs of 16 dtypes.
 */
#include "stats/difference.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/encode.h"

enum { N = 2600 };

static const enum tp_dtype dtypes[] = {
    TP_FLOAT64,       TP_FLOAT32,     TP_FLOAT16, TP_BFLOAT16,
    TP_FLOAT8_E4M3FN, TP_FLOAT8_E5M2, TP_INT8,    TP_UINT16,
    TP_INT32,         TP_INT64,       TP_BOOL};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

struct sample {
    enum tp_dtype x, y;
    size_t n;
    unsigned char code_x[8 * N], code_y[8 * N];
    double from[N], to[N];
};

static uint64_t noise(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The code of a value, or noise; small enough that sums of squares are exact
 * enough to compare. */
static void set_code(enum tp_dtype dtype, double value, uint64_t bits,
                     unsigned char *code)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    const float single = (float)value;
    if (info->size == 8 && info->kind == TP_CLASS_FLOAT)
        memcpy(code, &value, 8);
    else if (dtype == TP_FLOAT32)
        memcpy(code, &single, 4);
    else if (info->kind == TP_CLASS_FLOAT)
        memcpy(code,
               &(uint16_t){(uint16_t)tp_number_encode(
                   tp_number_by_id(info->format), TP_ROUND_EVEN, value)},
               info->size);
    else if (dtype == TP_BOOL)
        *code = bits & 1;
    else
        memcpy(code, &(int64_t){(int64_t)(fabs(value) * 50)}, info->size);
}

/* Values over many binades, of which most differ a little, some much, some not
 * at all, and every hundredth is not finite. */
static struct sample *sample_of(enum tp_dtype x, enum tp_dtype y, size_t n)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1};
    struct sample *s = malloc(sizeof *s);
    uint64_t state = 88172645463325252u + 16 * (unsigned)x + (unsigned)y;
    cr_assert_not_null(s);
    s->x = x;
    s->y = y;
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = noise(&state);
        double a = ldexp((double)(int64_t)noise(&state), -63);
        a = ldexp(a, (int)(bits % 24) - 18);
        double b = a * (1 + ldexp((double)(int64_t)noise(&state), -71));
        b = bits >> 40 & 7 ? b : i % 3 ? a : -2 * b;
        if (i % 100 == 99) {
            a = odd[bits >> 32 & 3];
            b = odd[(bits >> 36) % 6];
        }
        set_code(x, a, bits, s->code_x + i * tp_dtype_info(x)->size);
        set_code(y, b, bits >> (i % 5 == 0),
                 s->code_y + i * tp_dtype_info(y)->size);
    }
    tp_dtype_decode(x, s->code_x, n, s->from);
    tp_dtype_decode(y, s->code_y, n, s->to);
    return s;
}

struct found {
    struct tp_difference_plan plan;
    struct tp_difference sums;
    int64_t totals[TP_DIFFERENCE_CELLS];
    struct tp_difference_numbers numbers;
};

/* Sums of a sample, in calls of `step` that are merged. */
static struct found *find(const struct sample *s, size_t step, enum tp_isa isa)
{
    struct tp_difference_cells *cells = calloc(1, sizeof *cells);
    struct found *found = calloc(1, sizeof *found);
    struct tp_difference *its = calloc(1, sizeof *its);
    cr_assert(cells && found && its);
    tp_difference_plan_make(s->x, s->y, isa, &found->plan);
    for (size_t at = 0; at < s->n; at += step) {
        const size_t n = s->n - at < step ? s->n - at : step;
        const struct tp_difference_spans spans = {
            s->code_x + at * tp_dtype_info(s->x)->size,
            s->code_y + at * tp_dtype_info(s->y)->size, n, (int64_t)at};
        memset(its, 0, sizeof *its);
        tp_difference_add(&found->plan, &spans, its, cells);
        tp_difference_merge(&found->sums, its);
    }
    tp_difference_flush(cells, &found->sums, found->totals);
    tp_difference_close(&found->plan, &found->sums, found->totals);
    tp_difference_numbers(&found->plan, &found->sums, found->totals,
                          &found->numbers);
    free(cells);
    free(its);
    return found;
}

/* --- the reference -------------------------------------------------------- */

static bool is_single(enum tp_dtype dtype)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    return info->kind == TP_CLASS_FLOAT && info->size <= 4;
}

static double relative(const struct sample *s, double x, double y)
{
    if (is_single(s->x) && is_single(s->y)) {
        const float e = y == 0 ? FLT_EPSILON : 0;
        return fabsf((((float)x + e) - ((float)y + e)) / ((float)y + e));
    }
    const double e = y == 0 ? DBL_EPSILON : 0;
    return fabs(((x + e) - (y + e)) / (y + e));
}

/* The number of values of a floating dtype from 0 up to |v|, with its sign: by
 * halving the interval of codes. */
static int64_t steps_of(enum tp_dtype dtype, double v)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    const int significand = info->significand;
    const int least = dtype == TP_FLOAT64         ? -1022
                      : dtype == TP_FLOAT16       ? -14
                      : dtype == TP_FLOAT8_E4M3FN ? -6
                      : dtype == TP_FLOAT8_E5M2   ? -14
                                                  : -126;
    if (v == 0)
        return 0;
    int e = ilogb(v);
    e = e < least ? least : e;
    const double unit = nearbyint(ldexp(fabs(v), significand - 1 - e));
    const int64_t steps =
        (int64_t)unit + ((int64_t)(e - least) << (significand - 1));
    return v < 0 ? -steps : steps;
}

static enum tp_dtype coarser(const struct sample *s)
{
    const int p = tp_dtype_info(s->x)->significand;
    const int q = tp_dtype_info(s->y)->significand;
    return q == 0 || (p > 0 && p < q) ? s->x : s->y;
}

static uint64_t distance(const struct sample *s, double x, double y)
{
    const enum tp_dtype dtype = coarser(s);
    if (tp_dtype_info(dtype)->significand == 0)
        return (uint64_t)fabs(x - y);
    const int64_t a = steps_of(dtype, x), b = steps_of(dtype, y);
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* A value as the distributions see it. */
static double cell(const struct sample *s, double v)
{
    const float single = (float)v;
    uint32_t bits;
    float cut;
    if (s->x == s->y && tp_dtype_info(s->x)->size == 2)
        return v;
    memcpy(&bits, &single, sizeof bits);
    bits &= 0xffff0000;
    memcpy(&cut, &bits, sizeof cut);
    return cut;
}

/* The largest distance of the distribution functions of n sorted values. */
static double ks(const double *x, const double *y, size_t n)
{
    size_t i = 0, k = 0, most = 0;
    while (i < n && k < n) {
        const double at = fmin(x[i], y[k]);
        for (; i < n && x[i] == at; i++)
            continue;
        for (; k < n && y[k] == at; k++)
            continue;
        const size_t apart = i > k ? i - k : k - i;
        most = apart > most ? apart : most;
    }
    return (double)most / (double)n;
}

struct reference {
    size_t finite, apart, differ, low, high, nan_x, inf_y;
    int64_t first_at;
    long double xx, yy, xy, dd, abs_d;
    double max_abs, max_relative, ks;
    double ulp[N], x[N], y[N]; /* of finite ones, sorted */
    uint64_t ulp_max;
};

static void refer_finite(const struct sample *s, size_t i, struct reference *r)
{
    const double x = s->from[i], y = s->to[i], d = fabs(x - y);
    const double rel = relative(s, x, y);
    const uint64_t ulp = distance(s, x, y);
    r->low += rel < (is_single(s->x) && is_single(s->y) ? 1e-3f : 1e-3);
    r->high += rel < (is_single(s->x) && is_single(s->y) ? 5e-3f : 5e-3);
    r->xx += (long double)x * x;
    r->yy += (long double)y * y;
    r->xy += (long double)x * y;
    r->dd += (long double)d * d;
    r->abs_d += d;
    r->max_abs = fmax(r->max_abs, d);
    r->max_relative = fmax(r->max_relative, rel);
    r->x[r->finite] = cell(s, x);
    r->y[r->finite] = cell(s, y);
    r->ulp[r->finite++] = (double)ulp;
    r->ulp_max = ulp > r->ulp_max ? ulp : r->ulp_max;
}

static struct reference *refer(const struct sample *s)
{
    struct reference *r = calloc(1, sizeof *r);
    cr_assert_not_null(r);
    r->first_at = -1;
    for (size_t i = 0; i < s->n; i++) {
        const double x = s->from[i], y = s->to[i];
        r->nan_x += isnan(x) != 0;
        r->inf_y += isinf(y) != 0;
        r->apart += !isnan(x) != !isnan(y) || !isinf(x) != !isinf(y);
        if (!(isnan(x) && isnan(y)) && x != y && r->differ++ == 0)
            r->first_at = (int64_t)i;
        if (isfinite(x) && isfinite(y))
            refer_finite(s, i, r);
    }
    qsort(r->x, r->finite, sizeof *r->x, compare_doubles);
    qsort(r->y, r->finite, sizeof *r->y, compare_doubles);
    qsort(r->ulp, r->finite, sizeof *r->ulp, compare_doubles);
    r->ks = ks(r->x, r->y, r->finite);
    return r;
}

static void expect_near(const struct sample *s, const char *what, double got,
                        long double want)
{
    cr_expect(got == want || (isnan(got) && isnan(want)) ||
                  fabsl(got - want) <= 1e-13L * fabsl(want),
              "%s, %s: %s is %.17g, want %.17Lg", tp_dtype_info(s->x)->name,
              tp_dtype_info(s->y)->name, what, got, want);
}

#define EXPECT_NEAR(what, want) expect_near(s, #what, n->what, want)

/* A quantile is the least distance that so many are within; beyond 15 up to an
 * eighth more. */
static void expect_quantile(const struct sample *s, const struct reference *r,
                            double share, double got)
{
    const double want =
        r->ulp[(size_t)ceil(share * (double)r->finite - 1e-9) - 1];
    const double most = want < 16 ? want : want * 1.125;
    cr_expect(got >= want * (1 - 1e-15) && got <= most,
              "%s, %s: quantile %g is %.17g, want %.17g",
              tp_dtype_info(s->x)->name, tp_dtype_info(s->y)->name, share, got,
              want);
}

static void expect_reference(const struct sample *s, const struct found *found)
{
    const struct tp_difference_numbers *n = &found->numbers;
    struct reference *r = refer(s);
    const long double k = (long double)r->finite;
    cr_assert_gt(r->finite, 0);
    cr_expect_eq(n->values, s->n);
    cr_expect_eq(n->finite, r->finite);
    cr_expect_eq(n->nan_x, r->nan_x);
    cr_expect_eq(n->inf_y, r->inf_y);
    cr_expect_eq(n->nonfinite_apart, r->apart);
    cr_expect_eq(n->differ, r->differ);
    cr_expect_eq(n->first_at, r->first_at);
    cr_expect_eq(n->max_abs, r->max_abs);
    cr_expect_eq(n->max_relative, r->max_relative);
    EXPECT_NEAR(below_1e_3, r->low / k);
    EXPECT_NEAR(below_5e_3, r->high / k);
    EXPECT_NEAR(norm_x, sqrtl(r->xx));
    EXPECT_NEAR(norm_y, sqrtl(r->yy));
    EXPECT_NEAR(l2, sqrtl(r->dd));
    EXPECT_NEAR(mean_abs, r->abs_d / k);
    EXPECT_NEAR(cosine, r->xy / sqrtl(r->xx) / sqrtl(r->yy));
    const long double sqnr = 10 * log10l(r->yy / r->dd);
    cr_expect(n->sqnr_db == sqnr || fabsl(n->sqnr_db - sqnr) <= 1e-12L,
              "SQNR is %.17g, want %.17Lg", n->sqnr_db, sqnr); /* near 0 dB */
    EXPECT_NEAR(ulp_max, r->ulp_max);
    EXPECT_NEAR(ks, r->ks);
    expect_quantile(s, r, 0.5, n->ulp_p50);
    expect_quantile(s, r, 0.99, n->ulp_p99);
    free(r);
}

/* --- tests ---------------------------------------------------------------- */

Test(difference, all_dtypes_are_as_the_reference_says)
{
    for (int i = 0; i < DTYPES; i++) {
        for (int k = 0; k < DTYPES; k++) {
            struct sample *s = sample_of(dtypes[i], dtypes[k], N);
            struct found *found = find(s, N, TP_ISA_UNKNOWN);
            expect_reference(s, found);
            free(found);
            free(s);
        }
    }
}

/* Of 8-bit dtypes every pair of codes, NaN and infinities among them. */
Test(difference, all_pairs_of_codes)
{
    static const enum tp_dtype small[] = {TP_FLOAT8_E4M3FN, TP_FLOAT8_E5M2,
                                          TP_INT8, TP_BOOL};
    enum { SMALL = sizeof small / sizeof *small, ROWS = 8 };
    for (int i = 0; i < SMALL * SMALL; i++) {
        for (unsigned row = 0; row < 256; row += ROWS) {
            struct sample *s =
                sample_of(small[i / SMALL], small[i % SMALL], ROWS * 256);
            for (unsigned k = 0; k < ROWS * 256; k++) {
                s->code_x[k] = (unsigned char)(row + k / 256);
                s->code_y[k] = (unsigned char)k;
            }
            tp_dtype_decode(s->x, s->code_x, s->n, s->from);
            tp_dtype_decode(s->y, s->code_y, s->n, s->to);
            struct found *found = find(s, 1000, TP_ISA_UNKNOWN);
            expect_reference(s, found);
            free(found);
            free(s);
        }
    }
}

/* Blocks that end early, and calls that are merged. */
Test(difference, lengths_and_steps)
{
    static const size_t lengths[] = {2, 7, 8, 9, 511, 512, 513, 1030, N};
    static const enum tp_dtype some[][2] = {
        {TP_BFLOAT16, TP_BFLOAT16}, {TP_FLOAT32, TP_FLOAT32},
        {TP_BFLOAT16, TP_FLOAT32},  {TP_FLOAT16, TP_FLOAT8_E5M2},
        {TP_FLOAT64, TP_FLOAT64},   {TP_FLOAT8_E4M3FN, TP_FLOAT8_E4M3FN},
        {TP_FLOAT16, TP_FLOAT16},   {TP_INT8, TP_FLOAT8_E5M2},
        {TP_INT32, TP_INT32},       {TP_FLOAT8_E5M2, TP_BFLOAT16}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            struct sample *s = sample_of(some[i][0], some[i][1], lengths[k]);
            const size_t steps[] = {lengths[k], 512, 700};
            for (int t = 0; t < 3; t++) {
                struct found *found = find(s, steps[t], TP_ISA_UNKNOWN);
                expect_reference(s, found);
                free(found);
            }
            free(s);
        }
    }
}

/* Elements that are equal are not looked at one by one, where they are many:
 * none, some, about half and all of a block differ, after one that does. */
Test(difference, shares_of_equal_elements)
{
    static const enum tp_dtype some[] = {TP_BFLOAT16, TP_FLOAT16, TP_INT16,
                                         TP_FLOAT32};
    static const unsigned shares[] = {0, 1, 32, 127, 128, 129, 250, 256};
    for (size_t i = 0; i < 4 * sizeof shares / sizeof *shares; i++) {
        const enum tp_dtype dtype = some[i % 4];
        const size_t size = tp_dtype_info(dtype)->size;
        struct sample *s = sample_of(dtype, dtype, N);
        uint64_t state = 88172645463325252u + i;
        for (size_t k = 1; k < N; k++) {
            if ((noise(&state) >> 40) % 256 >= shares[i / 4])
                memcpy(s->code_y + k * size, s->code_x + k * size, size);
        }
        tp_dtype_decode(dtype, s->code_y, N, s->to);
        struct found *found = find(s, 1300, TP_ISA_UNKNOWN);
        struct found *slow = find(s, 1300, TP_ISA_PORTABLE);
        expect_reference(s, found);
        cr_expect_eq(memcmp(&found->sums, &slow->sums, sizeof slow->sums), 0);
        free(found);
        free(slow);
        free(s);
    }
}

Test(difference, instruction_sets_do_not_show)
{
    for (int i = 0; i < DTYPES; i++) {
        for (int k = 0; k < DTYPES; k++) {
            struct sample *s = sample_of(dtypes[i], dtypes[k], N);
            struct found *best = find(s, 1024, tp_isa_best());
            struct found *slow = find(s, 1024, TP_ISA_PORTABLE);
            cr_expect_eq(memcmp(&best->sums, &slow->sums, sizeof best->sums), 0,
                         "%d %d", i, k);
            cr_expect_eq(
                memcmp(best->totals, slow->totals, sizeof best->totals), 0);
            free(best);
            free(slow);
            free(s);
        }
    }
}

/* Equal blocks are not compared, but for one bit of one element. */
Test(difference, one_bit_in_equal_tensors)
{
    for (int i = 0; i < DTYPES; i++) {
        struct sample *s = sample_of(dtypes[i], dtypes[i], N);
        const size_t size = tp_dtype_info(dtypes[i])->size;
        memcpy(s->code_y, s->code_x, sizeof s->code_x);
        struct found *found = find(s, N, TP_ISA_UNKNOWN);
        cr_expect_eq(found->numbers.differ, 0);
        cr_expect_eq(found->numbers.first_at, -1);
        cr_expect_eq(found->numbers.one_minus_cosine, 0);
        cr_expect_eq(found->numbers.below_1e_3, 1);
        cr_expect_eq(found->numbers.ulp_max, 0);
        cr_expect_eq(found->numbers.ks, 0);
        cr_expect_eq(found->numbers.sqnr_db, INFINITY);
        cr_expect_eq(found->sums.xx, found->sums.xy);
        free(found);
        s->code_y[1502 * size] ^= 1;
        found = find(s, N, TP_ISA_UNKNOWN);
        cr_expect_eq(found->numbers.differ, 1);
        cr_expect_eq(found->numbers.first_at, 1502);
        cr_expect_eq(found->numbers.ulp_max, 1);
        free(found);
        free(s);
    }
}

/* Adds pairs of binary32 values. */
static struct found *find_values(const float *x, const float *y, size_t n)
{
    struct sample *s = calloc(1, sizeof *s);
    cr_assert_not_null(s);
    s->x = s->y = TP_FLOAT32;
    s->n = n;
    memcpy(s->code_x, x, n * sizeof *x);
    memcpy(s->code_y, y, n * sizeof *y);
    struct found *found = find(s, n, TP_ISA_UNKNOWN);
    free(s);
    return found;
}

/* Two NaN are equal and so are two zeros. */
Test(difference, what_is_equal)
{
    const float x[] = {NAN, INFINITY, INFINITY, -0.0f, 1, NAN, 0x1p-149f};
    const float y[] = {-NAN, INFINITY, -INFINITY, 0, 1, 1, -0x1p-149f};
    struct found *found = find_values(x, y, 7);
    const struct tp_difference_numbers *n = &found->numbers;
    cr_expect_eq(n->differ, 3);
    cr_expect_eq(n->first_at, 2);
    cr_expect_eq(n->finite, 3);
    cr_expect_eq(n->nonfinite_apart, 1);
    cr_expect_eq(n->ulp_max, 2);
    cr_expect_eq(n->max_abs, 0x1p-148);
    cr_expect_eq(found->sums.opposite_inf, 1);
    cr_expect_eq(found->sums.same_inf, 1);
    cr_expect_eq(found->sums.both_nan, 1);
    free(found);
}

/* The largest distance there is, and errors beyond binary32. */
Test(difference, extremes)
{
    const float x[] = {FLT_MAX, 1}, y[] = {-FLT_MAX, 1};
    struct found *found = find_values(x, y, 2);
    cr_expect_eq(found->numbers.ulp_max, 2.0 * 0x7f7fffff);
    cr_expect_eq(found->numbers.max_abs, 2 * (double)FLT_MAX);
    cr_expect_eq(found->numbers.max_relative, INFINITY);
    cr_expect_eq(found->numbers.ulp_p99, 2.0 * 0x7f7fffff);
    cr_expect_eq(found->numbers.ks, 0.5);
    free(found);
}

Test(difference, numbers_that_do_not_exist)
{
    const float zero[] = {0, 0}, one[] = {1, 1}, nan[] = {NAN, NAN};
    struct found *found = find_values(one, zero, 2);
    cr_expect(isnan(found->numbers.cosine));
    cr_expect_eq(found->numbers.sqnr_db, -INFINITY);
    free(found);
    found = find_values(zero, zero, 2);
    cr_expect(isnan(found->numbers.sqnr_db));
    cr_expect_eq(found->numbers.max_abs, 0);
    free(found);
    found = find_values(nan, one, 2);
    cr_expect(isnan(found->numbers.max_abs));
    cr_expect(isnan(found->numbers.ks));
    cr_expect_eq(found->numbers.differ, 2);
    free(found);
}

Test(difference, repeated_elements_count_as_often)
{
    struct sample *s = sample_of(TP_FLOAT32, TP_FLOAT32, 100);
    struct found *once = find(s, 100, TP_ISA_UNKNOWN);
    struct found *thrice = find(s, 100, TP_ISA_UNKNOWN);
    tp_difference_repeat(&thrice->sums, 3);
    tp_difference_numbers(&thrice->plan, &thrice->sums, NULL, &thrice->numbers);
    cr_expect_eq(thrice->numbers.values, 300);
    cr_expect_eq(thrice->numbers.differ, 3 * once->numbers.differ);
    cr_expect_eq(thrice->numbers.ulp_p50, once->numbers.ulp_p50);
    cr_expect_float_eq(thrice->numbers.mean_abs, once->numbers.mean_abs, 1e-15);
    cr_expect(isnan(thrice->numbers.ks));
    free(once);
    free(thrice);
    free(s);
}
