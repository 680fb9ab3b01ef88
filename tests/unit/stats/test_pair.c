/* SPDX-License-Identifier: MIT */
/*
 * Two tensors element by element, against testdata/vectors/pairs.csv: exact
 * arithmetic by tests/make_pair_vectors.py, with which numpy's corrcoef agrees
 * to 10^-12. The elements are made here as they are there.
 */
#include "stats/pair.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/csv.h"
#include "tests/unit/support/testdata.h"
#include "tests/unit/support/xorshift.h"

enum { N = 3001, FIELDS = 17 };

static double noise(uint64_t *state)
{
    return ldexp((double)(int64_t)xorshift(state), -63);
}

/* The elements of a case as binary64. */
struct sample {
    double x[N], y[N];
};

static void set(const char *name, size_t i, double u, double v, double *x,
                double *y)
{
    const struct {
        const char *name;
        double x, y;
    } cases[] = {
        {"independent", u, v},
        {"alike", u, u + v * 0x1p-20},
        {"nearly", u, u + v * 0x1p-40},
        {"equal", u, u},
        {"opposite", u, -u},
        {"constant", 0.1, v},
        {"zero", u, 0},
        {"tiny", u * 0x1p-700, (u + v) * 0x1p-702},
        {"huge", u * 0x1p700, (u + v) * 0x1p690},
        {"apart", u * 0x1p-600, (u + v) * 0x1p500},
        {"offset", 1e6 + u, 1e6 + (u + v / 2)},
        {"nonfinite",
         i % 13 == 0  ? -INFINITY
         : i % 7 == 0 ? NAN
                      : u,
         i % 11 == 0 ? INFINITY : u + v * 0x1p-6},
        {"mixed", u, u + v * 0x1p-6},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (strcmp(cases[k].name, name) == 0) {
            *x = cases[k].x;
            *y = cases[k].y;
            return;
        }
    }
    cr_assert_fail("no case %s", name);
}

static void fill(const char *name, struct sample *sample)
{
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < N; i++) {
        const double u = noise(&state), v = noise(&state);
        set(name, i, u, v, &sample->x[i], &sample->y[i]);
    }
}

/* The codes of a case: binary64, or binary32 beside bfloat16. */
struct codes {
    struct tp_span x, y;
    size_t size_x, size_y;
    float single[N];
    uint16_t brain[N];
};

static void encode(const char *name, const struct sample *sample,
                   struct codes *codes)
{
    codes->x = (struct tp_span){TP_FLOAT64, sample->x, N};
    codes->y = (struct tp_span){TP_FLOAT64, sample->y, N};
    if (strcmp(name, "mixed") == 0) {
        for (size_t i = 0; i < N; i++) {
            const float y = (float)sample->y[i];
            uint32_t bits;
            memcpy(&bits, &y, sizeof bits);
            codes->single[i] = (float)sample->x[i];
            codes->brain[i] = (uint16_t)(bits >> 16);
        }
        codes->x = (struct tp_span){TP_FLOAT32, codes->single, N};
        codes->y = (struct tp_span){TP_BFLOAT16, codes->brain, N};
    }
    codes->size_x = tp_dtype_info(codes->x.dtype)->size;
    codes->size_y = tp_dtype_info(codes->y.dtype)->size;
}

static struct tp_span part(const struct tp_span *span, size_t size,
                           size_t first, size_t n)
{
    return (struct tp_span){
        span->dtype, (const unsigned char *)span->codes + first * size, n};
}

static double abs_max(const double *values)
{
    double most = 0;
    for (size_t i = 0; i < N; i++) {
        const double a = fabs(values[i]);
        if (isfinite(a) && a > most)
            most = a;
    }
    return most;
}

/* Sums of a case, in calls of `step` elements that are merged in order. */
static void sum(const char *name, size_t step, struct tp_pair_scale *scale,
                struct tp_pair_sums *sums)
{
    struct sample *sample = malloc(sizeof *sample);
    struct codes *codes = malloc(sizeof *codes);
    cr_assert(sample && codes);
    fill(name, sample);
    encode(name, sample, codes);
    *scale = tp_pair_scale_of(abs_max(sample->x), abs_max(sample->y));
    memset(sums, 0, sizeof *sums);
    for (size_t at = 0; at < N; at += step) {
        const size_t n = N - at < step ? N - at : step;
        const struct tp_span x = part(&codes->x, codes->size_x, at, n);
        const struct tp_span y = part(&codes->y, codes->size_y, at, n);
        struct tp_pair_sums its;
        memset(&its, 0, sizeof its);
        tp_pair_add(&x, &y, (int64_t)at, scale, &its);
        tp_pair_merge(sums, &its);
    }
    free(sample);
    free(codes);
}

/* Whether a number is the one wanted, to a few parts in 10^12; `near` is what
 * may be lost where a number is a small difference. */
static void expect(const char *name, const char *column, double got,
                   const char *text, double near)
{
    const double want = strtod(text, NULL);
    const bool same = (isnan(want) && isnan(got)) || want == got ||
                      fabs(got - want) <= 1e-12 * fabs(want) + near;
    cr_expect(same, "%s: %s is %.17g, want %s", name, column, got, text);
}

/* What pair.c says that 1 - r has to lose. */
static double rounding(double rest)
{
    return 2 * DBL_EPSILON * sqrt(8 * rest);
}

static void compare(char **field, const struct tp_pair_numbers *got)
{
    const char *name = field[0];
    const bool offset = strcmp(name, "offset") == 0;
    const struct {
        const char *column;
        double got, near;
    } columns[] = {
        {"finite", (double)got->finite, 0},
        {"nan", (double)got->nan, 0},
        {"inf", (double)got->inf, 0},
        {"equal", (double)got->equal, 0},
        {"pearson_r", got->pearson_r, 1e-14},
        {"one_minus_r", got->one_minus_r, rounding(got->one_minus_r)},
        {"slope", got->slope, 0},
        {"intercept", got->intercept, offset ? 1e-6 : 1e-16},
        {"cosine", got->cosine, 1e-14},
        {"one_minus_cosine", got->one_minus_cosine,
         rounding(got->one_minus_cosine)},
        {"mse", got->mse, 0},
        {"mean_abs_diff", got->mean_abs_diff, 0},
        {"max_abs_diff", got->max_abs_diff, 0},
        {"max_abs_diff_at", (double)got->max_abs_diff_at, 0},
        {"max_rel_diff", got->max_rel_diff, 0},
        {"max_rel_diff_at", (double)got->max_rel_diff_at, 0},
    };
    cr_expect_eq(got->values, N);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        expect(name, columns[i].column, columns[i].got, field[i + 1],
               columns[i].near);
}

static void compare_all(size_t step)
{
    char path[4096], line[2048], *field[FIELDS];
    size_t rows = 0;
    testdata_path("vectors/pairs.csv", path, sizeof path);
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s", path);
    cr_assert(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file)) {
        struct tp_pair_scale scale;
        struct tp_pair_sums sums;
        struct tp_pair_numbers numbers;
        cr_assert_eq(csv_split(line, field, FIELDS), FIELDS);
        sum(field[0], step, &scale, &sums);
        tp_pair_numbers(&sums, &scale, &numbers);
        compare(field, &numbers);
        rows++;
    }
    fclose(file);
    cr_expect_eq(rows, 13);
}

Test(pair, numbers_are_those_of_exact_arithmetic)
{
    compare_all(N);
}

Test(pair, pieces_merge_to_the_same)
{
    compare_all(1);
    compare_all(700);
}

Test(pair, nothing_is_empty)
{
    const struct tp_pair_scale scale = {0, 0, 0};
    struct tp_pair_sums empty, sums, before;
    struct tp_pair_numbers numbers;
    memset(&empty, 0, sizeof empty);
    tp_pair_numbers(&empty, &scale, &numbers);
    cr_expect_eq(numbers.values, 0);
    cr_expect(isnan(numbers.pearson_r) && isnan(numbers.cosine));
    cr_expect(isnan(numbers.mse) && isnan(numbers.max_abs_diff));
    cr_expect_eq(numbers.max_abs_diff_at, -1);
    struct tp_pair_scale its;
    sum("alike", N, &its, &sums);
    before = sums;
    tp_pair_merge(&sums, &empty);
    cr_expect_eq(memcmp(&sums, &before, sizeof sums), 0);
    tp_pair_merge(&empty, &before);
    cr_expect_eq(empty.finite, before.finite);
    cr_expect_eq(empty.m2_d, before.m2_d);
}

Test(pair, only_nan_is_no_number_either)
{
    const double x[3] = {NAN, INFINITY, NAN}, y[3] = {1, 2, INFINITY};
    const struct tp_pair_scale scale = {0, 0, 0};
    const struct tp_span left = {TP_FLOAT64, x, 3}, right = {TP_FLOAT64, y, 3};
    struct tp_pair_sums sums;
    struct tp_pair_numbers numbers;
    memset(&sums, 0, sizeof sums);
    tp_pair_add(&left, &right, 0, &scale, &sums);
    tp_pair_numbers(&sums, &scale, &numbers);
    cr_expect_eq(numbers.values, 3);
    cr_expect_eq(numbers.nan, 2);
    cr_expect_eq(numbers.inf, 1);
    cr_expect_eq(numbers.finite, 0);
    cr_expect(isnan(numbers.pearson_r) && isnan(numbers.mse));
}

/* The difference of the largest numbers overflows; its share does not. */
Test(pair, largest_numbers_do_no_harm)
{
    const double x[2] = {DBL_MAX, 1}, y[2] = {-DBL_MAX, 2};
    const struct tp_pair_scale scale = tp_pair_scale_of(DBL_MAX, DBL_MAX);
    const struct tp_span left = {TP_FLOAT64, x, 2}, right = {TP_FLOAT64, y, 2};
    struct tp_pair_sums sums;
    struct tp_pair_numbers numbers;
    memset(&sums, 0, sizeof sums);
    tp_pair_add(&left, &right, 0, &scale, &sums);
    tp_pair_numbers(&sums, &scale, &numbers);
    cr_expect_float_eq(numbers.pearson_r, -1, 1e-12);
    cr_expect_float_eq(numbers.cosine, -1, 1e-12);
    cr_expect_eq(numbers.max_rel_diff, 2);
    cr_expect_eq(numbers.max_rel_diff_at, 0);
}

/* One sign of 600 is another, and the difference there overflows: what is
 * beyond a double is infinite, and nothing else is. */
Test(pair, one_difference_beyond_a_double)
{
    double x[600], y[600];
    for (int i = 0; i < 600; i++)
        x[i] = y[i] = i % 2 ? 1e308 : -1e308;
    y[77] = -y[77];
    const struct tp_pair_scale scale = tp_pair_scale_of(1e308, 1e308);
    const struct tp_span left = {TP_FLOAT64, x, 600},
                         right = {TP_FLOAT64, y, 600};
    struct tp_pair_sums sums;
    struct tp_pair_numbers numbers;
    memset(&sums, 0, sizeof sums);
    tp_pair_add(&left, &right, 0, &scale, &sums);
    tp_pair_numbers(&sums, &scale, &numbers);
    cr_expect_float_eq(numbers.cosine, 598 / 600.0, 1e-12);
    cr_expect_float_eq(numbers.one_minus_cosine, 2 / 600.0, 1e-14, "%g",
                       numbers.one_minus_cosine);
    cr_expect_float_eq(numbers.one_minus_r, 1 - numbers.pearson_r, 1e-12, "%g",
                       numbers.one_minus_r);
    cr_expect_float_eq(numbers.mean_abs_diff / 1e305, 2000 / 600.0, 1e-9, "%g",
                       numbers.mean_abs_diff);
    cr_expect(isinf(numbers.mse) && isinf(numbers.max_abs_diff));
    cr_expect_eq(numbers.max_abs_diff_at, 77);
    cr_expect_eq(numbers.max_rel_diff, 2);
}

Test(pair, repeated_elements_count_so_often)
{
    struct tp_pair_scale scale;
    struct tp_pair_sums once, twice;
    struct tp_pair_numbers a, b;
    sum("alike", N, &scale, &once);
    twice = once;
    tp_pair_repeat(&twice, 2);
    tp_pair_numbers(&once, &scale, &a);
    tp_pair_numbers(&twice, &scale, &b);
    cr_expect_eq(b.values, 2 * a.values);
    cr_expect_eq(b.finite, 2 * a.finite);
    cr_expect_float_eq(b.pearson_r, a.pearson_r, 1e-15);
    cr_expect_float_eq(b.mse, a.mse, 1e-15 * a.mse);
    cr_expect_eq(b.max_abs_diff_at, a.max_abs_diff_at);
}
