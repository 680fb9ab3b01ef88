/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/device_vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/unit/support/cuda_emulator.h"

struct answer here, there;

/* --- scans with and without ----------------------------------------------- */

void bench_begin(struct bench *bench)
{
    char reason[TP_DEVICE_REASON_MAX];
    struct tp_error err = {.code = TP_OK};
    memset(bench, 0, sizeof *bench);
    tp_emulator_begin(&tp_emulator_default);
    bench->session = open_device(1, 0, reason);
    cr_assert_not_null(bench->session, "%s", reason);
    cr_assert_eq(tp_pool_new(1, &bench->pool, &err), TP_OK);
    cr_assert_eq(tp_scanner_new(bench->pool, &bench->host, &err), TP_OK);
    cr_assert_eq(tp_scanner_new(bench->pool, &bench->device, &err), TP_OK);
    tp_scanner_use(bench->device, bench->session);
}

void bench_end(struct bench *bench)
{
    cr_assert_gt(bench->scans, 0);
    cr_assert_str_eq(tp_device_failure(bench->session), "");
    tp_scanner_free(bench->host);
    tp_scanner_free(bench->device);
    tp_pool_free(bench->pool);
    tp_device_close(bench->session);
    cr_assert_eq(tp_emulator_leaks(), 0);
    tp_dims_clear(&here.dims);
    tp_dims_clear(&there.dims);
}

/* Fills `here` and `there`; the device has worked, and they are the same. */
void compare(struct bench *bench, struct tp_tensor *tensor,
             const struct tp_scan_request *request, const char *what)
{
    struct tp_error err = {.code = TP_OK};
    struct tp_scan_request asked = *request;
    uint64_t before = tp_emulator_launches();
    cr_assert_eq(scan_into(bench->host, tensor, &asked, &here, &err), TP_OK,
                 "%s: %s", what, err.message);
    cr_assert_eq(tp_emulator_launches(), before);
    cr_assert_eq(scan_into(bench->device, tensor, &asked, &there, &err), TP_OK,
                 "%s: %s", what, err.message);
    bench->launches = tp_emulator_launches() - before;
    bench->scans++;
    cr_assert(bench->launches > 0 || !tp_emulator_present(),
              "%s: the device did nothing", what);
    assert_same_answer(&here, &there, what, bench->scans);
}

/* --- tensors of vectors --------------------------------------------------- */

void content_begin(struct content *c, enum tp_dtype dtype, const char *name)
{
    snprintf(c->name, sizeof c->name, "%s %s", name,
             tp_dtype_info(dtype)->name);
    c->dtype = dtype;
    c->n = 0;
}

void content_add(struct content *c, uint32_t code, double value)
{
    cr_assert_lt(c->n, MOST);
    c->code[c->n] = code;
    c->value[c->n++] = value;
}

/* IEEE 754 section 3.4: a sign, `width` bits of exponent, the fraction. */
double ieee_value(uint32_t code, int bits, int width)
{
    const int fraction_bits = bits - 1 - width;
    const int bias = (1 << (width - 1)) - 1;
    const int exponent = (int)(code >> fraction_bits) & ((1 << width) - 1);
    const double fraction = code & ((1u << fraction_bits) - 1);
    const double sign = code >> (bits - 1) & 1 ? -1 : 1;
    if (exponent == (1 << width) - 1)
        return fraction > 0 ? NAN : sign * INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, 1 - bias - fraction_bits)
                                 : ldexp(1 + ldexp(fraction, -fraction_bits),
                                         exponent - bias));
}

void add_float(struct content *c, uint32_t bits)
{
    content_add(c, bits, ieee_value(bits, 32, 8));
}

static size_t code_size(enum tp_dtype dtype)
{
    return tp_dtype_info(dtype)->code_size;
}

static void put_code(const struct content *c, size_t i, unsigned char *to)
{
    const size_t size = code_size(c->dtype);
    const uint16_t half = (uint16_t)c->code[i];
    const unsigned char byte = (unsigned char)c->code[i];
    memcpy(to,
           size == 8   ? (const void *)&c->value[i]
           : size == 4 ? (const void *)&c->code[i]
           : size == 2 ? (const void *)&half
                       : (const void *)&byte,
           size);
}

/* A prime number of rows, so that they repeat nowhere in step. */
static size_t rows_for(size_t least)
{
    for (size_t rows = least | 1;; rows += 2) {
        size_t divisor = 3;
        while (rows % divisor != 0 && divisor * divisor <= rows)
            divisor += 2;
        if (rows % divisor != 0 || rows == divisor)
            return rows;
    }
}

/* The caller frees laid->memory.bytes. */
void lay_out(const struct content *c, size_t columns, enum layout layout,
             struct laid *laid)
{
    const size_t size = code_size(c->dtype);
    const size_t least = c->n > LEAST ? c->n : LEAST + 1;
    cr_assert_gt(c->n, 0, "%s", c->name);
    laid->columns = columns;
    laid->rows = rows_for((least + columns - 1) / columns);
    laid->count = laid->rows * columns;
    laid->memory = memory_new(laid->count * size);
    for (size_t i = 0; i < laid->count; i++) {
        const size_t at =
            layout == ROWS ? i : i % columns * laid->rows + i / columns;
        put_code(c, i % c->n, laid->memory.bytes + at * size);
    }
    const int64_t rows = (int64_t)laid->rows, across = (int64_t)columns;
    laid->tensor =
        memory_tensor(&laid->memory, c->dtype, 2,
                      layout == ROWS ? (const int64_t[]){rows, across}
                                     : (const int64_t[]){across, rows},
                      layout == DOWN_TURNED ? TURNED : WHOLE);
}

/* --- what the values say -------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_near(double got, double known, double scale)
{
    return fabs(got - known) <= 1e-12 * scale;
}

/* The quantiles, as numpy.quantile has them. */
static void check_quantiles(const char *name, double *sorted, size_t n)
{
    qsort(sorted, n, sizeof *sorted, by_value);
    for (int i = 0; i < TP_QUANTILES; i++) {
        const double got = there.result.quantile[i];
        const double at = tp_quantile_levels[i] * (double)(n - 1);
        const size_t below = (size_t)at;
        const double low = sorted[below];
        const double high = sorted[below + 1 < n ? below + 1 : below];
        const double known = low + (high - low) * (at - (double)below);
        cr_assert(got >= low && got <= high &&
                      is_near(got, known, fmax(fabs(low), fabs(high))),
                  "%s: quantile %d is %a, not %a", name, i, got, known);
    }
}

static void check_sums(const char *name, const double *x, size_t n)
{
    const struct tp_moments *moments = &there.result.summary.moments;
    long double sum = 0, size = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        size += fabsl(x[i]);
        squares += (long double)x[i] * x[i];
    }
    cr_assert_eq(moments->n, n, "%s", name);
    if (moments->scale != 0)
        return;
    cr_assert(is_near(moments->mean, (double)(sum / n), (double)(size / n)),
              "%s: mean", name);
    cr_assert(is_near(moments->sum_abs, (double)size, (double)size),
              "%s: sum of magnitudes", name);
    cr_assert(is_near(moments->sum_squares, (double)squares, (double)squares),
              "%s: sum of squares", name);
}

/* Counts, extrema, bins, quantiles and sums of the last scan. */
void check_values(const struct content *c, size_t count)
{
    static double finite[ROOM];
    static uint64_t bins[TP_SUMMARY_BINS];
    const struct tp_summary *got = &there.result.summary;
    struct tp_counts known = {0};
    double least = INFINITY;
    size_t n = 0;
    memset(bins, 0, sizeof bins);
    for (size_t i = 0; i < count; i++) {
        const double x = c->value[i % c->n];
        const float single = (float)x;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        known.nan += isnan(x) != 0;
        known.pos_inf += x == INFINITY;
        known.neg_inf += x == -INFINITY;
        if (!isfinite(x))
            continue;
        cr_assert_eq(single, x, "%s has %a", c->name, x);
        known.zero += x == 0;
        known.negative += x < 0;
        bins[bits >> 20] += x != 0;
        least = x != 0 ? fmin(least, fabs(x)) : least;
        finite[n++] = x;
    }
    cr_assert_eq(got->counts.numel, count, "%s", c->name);
    cr_assert_eq(got->counts.values, count, "%s", c->name);
    cr_assert_eq(got->counts.nan, known.nan, "%s", c->name);
    cr_assert_eq(got->counts.pos_inf, known.pos_inf, "%s", c->name);
    cr_assert_eq(got->counts.neg_inf, known.neg_inf, "%s", c->name);
    cr_assert_eq(got->counts.zero, known.zero, "%s", c->name);
    cr_assert_eq(got->counts.negative, known.negative, "%s", c->name);
    cr_assert_eq(memcmp(got->bins, bins, sizeof bins), 0, "%s", c->name);
    check_sums(c->name, finite, n);
    check_quantiles(c->name, finite, n);
    cr_assert_eq(got->extrema.min, finite[0], "%s", c->name);
    cr_assert_eq(got->extrema.max, finite[n - 1], "%s", c->name);
    cr_assert_eq(got->extrema.abs_min_nonzero, isinf(least) ? 0 : least, "%s",
                 c->name);
}

/* --- what becomes of them ------------------------------------------------- */

void fates_add(struct fates *f, size_t i, double q, double normal, bool over)
{
    f->q[i] = q;
    f->normal[i] = normal;
    f->over[i] = over;
}

/* The counts of a whole tensor. */
static struct tp_counts fates_counts(const struct content *c,
                                     const struct fates *f, size_t count)
{
    struct tp_counts known = {0};
    for (size_t i = 0; i < count; i++) {
        const size_t at = i % c->n;
        const double x = c->value[at];
        known.upper_overflow += x > 0 && (f->over[at] || isinf(x));
        known.lower_overflow += x < 0 && (f->over[at] || isinf(x));
        if (!isfinite(x) || x == 0)
            continue;
        known.underflow += f->q[at] == 0;
        known.subnormal += fabs(f->q[at]) < f->normal[at];
    }
    return known;
}

/* What the last scan counted for its target. */
void check_target(const struct content *c, const struct fates *f, size_t count)
{
    const struct tp_counts known = fates_counts(c, f, count);
    const struct tp_counts *got = &there.result.summary.counts;
    cr_assert_eq(got->judged, count, "%s", c->name);
    if (f->known & KNOWS_OVERFLOW) {
        cr_assert_eq(got->upper_overflow, known.upper_overflow,
                     "%s: %llu above, not %llu", c->name,
                     (unsigned long long)got->upper_overflow,
                     (unsigned long long)known.upper_overflow);
        cr_assert_eq(got->lower_overflow, known.lower_overflow, "%s", c->name);
    }
    if (f->known & KNOWS_SMALL) {
        cr_assert_eq(got->underflow, known.underflow, "%s", c->name);
        cr_assert_eq(got->subnormal, known.subnormal, "%s: %llu, not %llu",
                     c->name, (unsigned long long)got->subnormal,
                     (unsigned long long)known.subnormal);
    }
}

/* Blocks of a cast that is known; contents begin anew at a block. */
static void check_blocks(const struct content *c, const struct fates *f,
                         const struct tp_quant_error *got, size_t count)
{
    uint64_t saturated = 0, zero = 0;
    unsigned least = 255, largest = 0;
    for (size_t i = 0; i < count; i += f->block) {
        const size_t at = i % c->n;
        bool over = false, some = false;
        for (size_t j = at; j < at + f->block; j++) {
            over = over || f->over[j];
            some = some || c->value[j] != 0;
        }
        saturated += over;
        zero += !some;
        const unsigned scale = f->scale[at / f->block];
        least = some && scale < least ? scale : least;
        largest = some && scale > largest ? scale : largest;
    }
    cr_assert_eq(got->blocks, count / f->block, "%s", c->name);
    cr_assert_eq(got->zero_blocks, zero, "%s", c->name);
    cr_assert_eq(got->nonfinite_blocks, 0, "%s", c->name);
    cr_assert_eq(got->scale_least, zero < got->blocks ? 256 - least : 0, "%s",
                 c->name);
    cr_assert_eq(got->scale_largest, zero < got->blocks ? largest + 1 : 0, "%s",
                 c->name);
    if (f->known & KNOWS_OVERFLOW)
        cr_assert_eq(got->saturated_blocks, saturated, "%s", c->name);
}

/* A cast of the last scan. */
void check_cast(const struct content *c, const struct fates *f, size_t spec,
                size_t count)
{
    const struct tp_quant_error *got = &there.errors[spec];
    const struct tp_counts known = fates_counts(c, f, count);
    long double squares = 0;
    double furthest = 0;
    uint64_t in = 0, out = 0;
    for (size_t i = 0; i < count; i++) {
        const double x = c->value[i % c->n], q = f->q[i % c->n];
        in += !isfinite(x);
        out += isfinite(x) && !isfinite(q);
        if (!isfinite(x) || !isfinite(q))
            continue;
        furthest = fmax(furthest, fabs(x - q));
        squares += (long double)(x - q) * (x - q);
    }
    cr_assert_eq(got->values, count, "%s", c->name);
    cr_assert_eq(got->nonfinite_in, in, "%s", c->name);
    if (f->known & KNOWS_SMALL) {
        cr_assert_eq(got->underflow, known.underflow, "%s", c->name);
        cr_assert_eq(got->subnormal, known.subnormal, "%s", c->name);
    }
    if (f->known & KNOWS_RESULT) {
        cr_assert_eq(got->nonfinite_out, out, "%s", c->name);
        cr_assert_eq(got->max_abs_error, furthest, "%s", c->name);
        cr_assert(is_near(got->sum_dd, (double)squares, (double)squares),
                  "%s: %a, not %a", c->name, got->sum_dd, (double)squares);
    }
    if (f->block > 1)
        check_blocks(c, f, got, count);
}
