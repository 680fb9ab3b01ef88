/* SPDX-License-Identifier: MIT */
#include "scan/scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/unit/support/golden_stats.h"
#include "tests/unit/support/words.h"
#include "tests/unit/support/made_axes.h"

/*
 * Whole tensors through tp_scan, against numpy: counts and extrema equal,
 * sums within what extended precision and double may differ in.
 */

enum { GOLDENS = sizeof goldens / sizeof goldens[0] };

/* A storage in memory. */
struct memory_storage {
    struct tp_storage base;
    const unsigned char *bytes;
};

static enum tp_status read_memory(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer, size_t length,
                                  struct tp_error *err)
{
    const struct memory_storage *memory = (const void *)storage;
    if (offset > storage->size || length > storage->size - offset)
        return tp_fail(err, TP_E_DAMAGED, -1, "beyond the storage");
    memcpy(buffer, memory->bytes + offset, length);
    return TP_OK;
}

/* The same as `mix` and `codes` of golden_stats.py. */
static uint64_t mix(uint64_t i)
{
    uint64_t h = i * 0x9e3779b97f4a7c15;
    h ^= h >> 29;
    h *= 0xd1342543de82ef95;
    return h ^ h >> 32;
}

static uint64_t make_code(const struct golden *golden, unsigned width,
                          unsigned fraction, uint64_t i)
{
    uint64_t h = mix(i + 1);
    if (strcmp(golden->recipe, "every") == 0)
        return i * 0x9e3779b1;
    if (strcmp(golden->recipe, "bits") == 0)
        return h >> (64 - width);
    if (strcmp(golden->recipe, "constant") == 0)
        return golden->low;
    uint64_t exponent = golden->low + (h >> 32) % (golden->high - golden->low);
    return (h >> 63) << (width - 1) | exponent << fraction |
           (h & ((UINT64_C(1) << fraction) - 1));
}

static void put(unsigned char *at, size_t size, uint64_t code)
{
    const uint8_t byte = (uint8_t)code;
    const uint16_t half = (uint16_t)code;
    const uint32_t word = (uint32_t)code;
    const void *from = size == 1   ? (const void *)&byte
                       : size == 2 ? (const void *)&half
                       : size == 4 ? (const void *)&word
                                   : (const void *)&code;
    memcpy(at, from, size);
}

static unsigned char *make_bytes(const struct golden *golden,
                                 const struct tp_dtype_info *info, size_t *size)
{
    size_t count = (size_t)(golden->rows * golden->columns) * info->parts;
    unsigned significand = tp_dtype_info(info->real)->significand;
    *size = count * info->code_size;
    unsigned char *bytes = malloc(*size);
    cr_assert(bytes);
    for (size_t i = 0; i < count; i++)
        put(bytes + i * info->code_size, info->code_size,
            make_code(golden, info->code_size * 8u,
                      significand ? significand - 1 : 0, i));
    return bytes;
}

static void scan(const struct golden *golden, unsigned jobs,
                 struct tp_scan_result *result)
{
    enum tp_dtype dtype = tp_dtype_by_name(golden->dtype);
    cr_assert(dtype != TP_DTYPE_COUNT, "%s", golden->dtype);
    struct memory_storage storage = {
        .base = {.read = read_memory, .file_offset = -1}};
    size_t size;
    unsigned char *bytes = make_bytes(golden, tp_dtype_info(dtype), &size);
    storage.bytes = bytes;
    storage.base.size = size;
    struct tp_tensor tensor = {.path = "",
                               .dtype = dtype,
                               .ndim = 2,
                               .storage = &storage.base};
    *axes_of(&tensor) = (struct tp_tensor_axes){{golden->rows, golden->columns},
                                         {golden->columns, 1}};
    struct tp_error err = {0};
    struct tp_pool *pool;
    struct tp_scanner *scanner;
    cr_assert_eq(tp_tensor_check(&tensor, &err), TP_OK, "%s", err.message);
    cr_assert_eq(tp_pool_new(jobs, &pool, &err), TP_OK, "%s", err.message);
    cr_assert_eq(tp_scanner_new(pool, &scanner, &err), TP_OK);
    struct tp_scan_request request = {
        .target = *golden->target ? tp_number_by_id(golden->target) : NULL,
        .scale_rule = scale_rule_of(golden->rule)};
    cr_assert_eq(tp_scan(scanner, &tensor, &request, result, &err), TP_OK, "%s",
                 err.message);
    tp_scanner_free(scanner);
    tp_pool_free(pool);
    free(bytes);
}

static void title(const struct golden *golden, char *text, size_t size)
{
    snprintf(text, size, "%s %s %lld..%lld [%lld,%lld] %s%s%s", golden->dtype,
             golden->recipe, (long long)golden->low, (long long)golden->high,
             (long long)golden->rows, (long long)golden->columns,
             golden->target, *golden->rule ? " " : "", golden->rule);
}

/* Equal within `slack`; NaN equals NaN. */
static void expect_near(const char *title, const char *what, double is,
                        double should, double slack)
{
    bool equal = is == should || (isnan(is) && isnan(should)) ||
                 fabs(is - should) <= slack;
    cr_expect(equal, "%s: %s is %.17g, not %.17g", title, what, is, should);
}

static void expect_counts(const char *title, const struct golden *golden,
                          const struct tp_counts *counts)
{
    const uint64_t is[] = {counts->numel,          counts->nan,
                           counts->pos_inf,        counts->neg_inf,
                           counts->zero,           counts->negative,
                           counts->upper_overflow, counts->lower_overflow,
                           counts->underflow,      counts->subnormal};
    const char *const names[] = {
        "numel",     "nan",      "pos_inf",        "neg_inf",
        "zero",      "negative", "upper_overflow", "lower_overflow",
        "underflow", "subnormal"};
    for (size_t i = 0; i < 10; i++) {
        uint64_t should = i < 6 ? golden->counts[i] : golden->judged[i - 6];
        cr_expect(is[i] == should, "%s: %s is %llu, not %llu", title, names[i],
                  (unsigned long long)is[i], (unsigned long long)should);
    }
    cr_expect_eq(counts->judged, *golden->target ? counts->values : 0, "%s",
                 title);
}

static void expect_numbers(const char *title, const struct golden *golden,
                           const struct tp_scan_result *result)
{
    struct tp_numbers is;
    tp_summary_numbers(&result->summary, &is);
    const double *should = golden->numbers;
    double typical = should[8] / (double)golden->counts[0];
    expect_near(title, "min", is.min, should[0], 0);
    expect_near(title, "max", is.max, should[1], 0);
    expect_near(title, "abs_max", is.abs_max, should[2], 0);
    expect_near(title, "abs_min_nonzero", is.abs_min_nonzero, should[3], 0);
    expect_near(title, "mean", is.mean, should[4], 1e-15 * typical);
    expect_near(title, "std", is.std, should[5],
                1e-14 * should[5] + 1e-15 * should[2]);
    expect_near(title, "skewness", is.skewness, should[6], 1e-12);
    expect_near(title, "kurtosis", is.kurtosis, should[7],
                1e-13 * (10 + fabs(should[7])));
    expect_near(title, "l1_norm", is.l1_norm, should[8], 1e-14 * should[8]);
    expect_near(title, "l2_norm", is.l2_norm, should[9], 1e-14 * should[9]);
    for (int i = 0; i < TP_QUANTILES; i++)
        expect_near(title, "a quantile", result->quantile[i],
                    golden->quantiles[i], 4e-15 * fabs(golden->quantiles[i]));
}

Test(golden, statistics_equal_numpy)
{
    struct tp_scan_result *result = malloc(sizeof *result);
    cr_assert(result);
    for (size_t i = 0; i < GOLDENS; i++) {
        char text[160];
        title(&goldens[i], text, sizeof text);
        scan(&goldens[i], 1, result);
        expect_counts(text, &goldens[i], &result->summary.counts);
        expect_numbers(text, &goldens[i], result);
    }
    free(result);
}

/* Not within rounding: the same bytes. */
Test(golden, jobs_do_not_matter)
{
    struct tp_scan_result *one = malloc(sizeof *one);
    struct tp_scan_result *many = malloc(sizeof *many);
    cr_assert(one && many);
    for (size_t i = 0; i < GOLDENS; i++) {
        char text[160];
        title(&goldens[i], text, sizeof text);
        memset(one, 0, sizeof *one);
        memset(many, 0, sizeof *many);
        scan(&goldens[i], 1, one);
        scan(&goldens[i], 3, many);
        cr_expect(memcmp(one, many, sizeof *one) == 0, "%s", text);
    }
    free(one);
    free(many);
}
