/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/peaks.h"
#include "tests/unit/support/xorshift.h"

enum { MOST = 700 };

static const enum tp_dtype dtypes[] = {
    TP_FLOAT64,       TP_FLOAT32,        TP_FLOAT16,         TP_BFLOAT16,
    TP_FLOAT8_E4M3FN, TP_FLOAT8_E5M2,    TP_FLOAT8_E4M3FNUZ, TP_FLOAT8_E5M2FNUZ,
    TP_FLOAT6_E3M2FN, TP_FLOAT4_E2M1FN_X2};

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static const enum tp_isa isas[] = {TP_ISA_PORTABLE, TP_ISA_AVX2,
                                   TP_ISA_AVX512};

/* What codes of one slice say, by decoding each. */
static void extremes(enum tp_dtype dtype, const unsigned char *codes,
                     size_t n, size_t step, double *max, double *min)
{
    const size_t size = tp_dtype_info(dtype)->size;
    *max = *min = 0;
    for (size_t i = 0; i < n; i++) {
        double x;
        tp_dtype_decode(dtype, codes + i * step * size, 1, &x);
        *max = x > *max ? x : *max;
        *min = x < *min ? x : *min;
    }
}

/* Codes of all magnitudes with few, many or no signs; none is NaN. */
static void fill(enum tp_dtype dtype, uint64_t *seed, unsigned signs,
                 size_t n, unsigned char *codes)
{
    const size_t size = tp_dtype_info(dtype)->size;
    for (size_t i = 0; i < n; i++) {
        double x;
        do {
            uint64_t bits = xorshift(seed);
            if (xorshift(seed) % 8 == 0)
                bits = xorshift(seed) % 3; /* zeros and subnormals */
            bits &= ~(UINT64_C(1) << (8 * size - 1));
            if (signs && xorshift(seed) % signs == 0)
                bits |= UINT64_C(1) << (8 * size - 1);
            memcpy(codes + i * size, &bits, size);
            tp_dtype_decode(dtype, codes + i * size, 1, &x);
        } while (isnan(x));
    }
}

/* Of n slices, with guards behind them. */
struct kept {
    unsigned char top[8 * MOST + 8], low[8 * MOST + 8];
};

static struct tp_peaks of(struct kept *kept, size_t n, size_t size)
{
    memset(kept, 0, sizeof *kept);
    memset(kept->top + n * size, 0xa5, 8);
    memset(kept->low + n * size, 0xa5, 8);
    return (struct tp_peaks){kept->top, kept->low};
}

static void assert_slices(enum tp_dtype dtype, const struct kept *kept,
                          size_t n, const double *max, const double *min)
{
    const size_t size = tp_dtype_info(dtype)->size;
    const struct tp_peaks peaks = {(unsigned char *)kept->top,
                                   (unsigned char *)kept->low};
    double its_max[MOST], its_min[MOST];
    tp_peaks_values(dtype, &peaks, n, its_max, its_min);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(its_max[i], max[i], "%s: slice %zu of %zu: %g, not %g",
                     tp_dtype_info(dtype)->name, i, n, its_max[i], max[i]);
        cr_assert_eq(its_min[i], min[i], "%s: slice %zu of %zu: %g, not %g",
                     tp_dtype_info(dtype)->name, i, n, its_min[i], min[i]);
    }
    for (size_t i = 0; i < 8; i++)
        cr_assert(kept->top[n * size + i] == 0xa5 &&
                  kept->low[n * size + i] == 0xa5);
}

static void check(enum tp_dtype dtype, const unsigned char *codes, size_t rows,
                  size_t width)
{
    const size_t size = tp_dtype_info(dtype)->size;
    const enum tp_isa best = tp_isa_best();
    double max[2][MOST], min[2][MOST];
    for (size_t r = 0; r < rows; r++)
        extremes(dtype, codes + r * width * size, width, 1, &max[0][r],
                 &min[0][r]);
    for (size_t c = 0; c < width; c++)
        extremes(dtype, codes + c * size, rows, width, &max[1][c], &min[1][c]);
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        static struct kept row, column;
        const struct tp_peaks its = of(&row, rows, size),
                              all = of(&column, width, size);
        const struct tp_peak_rows added = {
            isas[i] < best ? isas[i] : best, size, codes, rows, width};
        tp_peaks_add(&added, &its, &all);
        assert_slices(dtype, &row, rows, max[0], min[0]);
        assert_slices(dtype, &column, width, max[1], min[1]);
        tp_peaks_add(&added, &its, &all); /* which changes nothing */
        assert_slices(dtype, &row, rows, max[0], min[0]);
        assert_slices(dtype, &column, width, max[1], min[1]);
    }
}

/* All widths about the vectors, rows about the four at once, any alignment. */
Test(peaks, are_those_of_decoded_values)
{
    unsigned char *memory = malloc(8 * MOST * 9 + 8);
    uint64_t seed = 5;
    for (int d = 0; d < DTYPES; d++)
        for (size_t width = 0; width < 150; width += 1 + width / 67 * 6)
            for (size_t rows = 0; rows <= 9; rows += 1 + rows / 6 * 2) {
                unsigned char *codes = memory + xorshift(&seed) % 8;
                fill(dtypes[d], &seed, (unsigned)(rows % 3), rows * width,
                     codes);
                check(dtypes[d], codes, rows, width);
            }
    fill(TP_BFLOAT16, &seed, 2, 3 * 700, memory);
    check(TP_BFLOAT16, memory, 3, 700);
    free(memory);
}

Test(peaks, every_code_of_16_and_8_bits)
{
    static const enum tp_dtype some[] = {TP_FLOAT16, TP_BFLOAT16,
                                         TP_FLOAT8_E4M3FN, TP_FLOAT8_E5M2};
    for (int d = 0; d < 4; d++) {
        const size_t size = tp_dtype_info(some[d])->size;
        for (unsigned code = 0; code < 1u << 8 * size; code++) {
            unsigned char codes[8] = {0};
            uint16_t two = (uint16_t)code;
            double x, max, min;
            memcpy(codes, &two, size);
            tp_dtype_decode(some[d], codes, 1, &x);
            if (isnan(x))
                continue;
            struct kept kept;
            const struct tp_peaks peaks = of(&kept, 1, size),
                                  from = {codes, codes};
            tp_peaks_fold(size, &peaks, &from, 1);
            tp_peaks_values(some[d], &peaks, 1, &max, &min);
            cr_assert_eq(max, x > 0 ? x : 0);
            cr_assert_eq(min, x < 0 ? x : 0);
        }
    }
}

Test(peaks, parts_make_the_whole)
{
    enum { N = 333 };
    unsigned char codes[2][8 * N];
    uint64_t seed = 8;
    for (int d = 0; d < DTYPES; d++) {
        const size_t size = tp_dtype_info(dtypes[d])->size;
        static struct kept parts[2], all;
        double max[N], min[N], most[2][1];
        for (int i = 0; i < 2; i++) {
            fill(dtypes[d], &seed, 2, N, codes[i]);
            const struct tp_peaks its = of(&parts[i], N, size), from = {
                codes[i], codes[i]};
            tp_peaks_merge(size, &its, &from, N);
        }
        const struct tp_peaks into = {parts[0].top, parts[0].low},
                              from = {parts[1].top, parts[1].low},
                              one = of(&all, 1, size);
        tp_peaks_merge(size, &into, &from, N);
        for (int i = 0; i < N; i++) {
            double a, b, c, e;
            extremes(dtypes[d], codes[0] + (size_t)i * size, 1, 1, &a, &b);
            extremes(dtypes[d], codes[1] + (size_t)i * size, 1, 1, &c, &e);
            max[i] = fmax(a, c);
            min[i] = fmin(b, e);
        }
        assert_slices(dtypes[d], &parts[0], N, max, min);
        most[0][0] = most[1][0] = 0;
        for (int i = 0; i < N; i++) {
            most[0][0] = fmax(most[0][0], max[i]);
            most[1][0] = fmin(most[1][0], min[i]);
        }
        tp_peaks_fold(size, &one, &into, N);
        assert_slices(dtypes[d], &all, 1, most[0], most[1]);
    }
}

Test(peaks, what_they_apply_to)
{
    cr_assert(tp_peaks_apply(TP_BFLOAT16) && tp_peaks_apply(TP_FLOAT64));
    cr_assert_not(tp_peaks_apply(TP_FLOAT8_E8M0FNU));
    cr_assert_not(tp_peaks_apply(TP_INT16));
    cr_assert_not(tp_peaks_apply(TP_UINT8));
    cr_assert_not(tp_peaks_apply(TP_BOOL));
}
