/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan/scan.h"
#include "tests/unit/support/xorshift.h"
#include "tests/unit/support/made_axes.h"

/*
 * Casts of tensors of every layout, as a scan simulates them, against the
 * same casts of a plain copy whose lines lie in rows.
 */

struct memory {
    struct tp_storage storage; /* first */
    unsigned char *bytes;
};

static enum tp_status read_memory(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer,
                                  size_t length, struct tp_error *err)
{
    const struct memory *memory = (const struct memory *)(const void *)storage;
    (void)err;
    cr_assert(offset <= storage->size && length <= storage->size - offset);
    memcpy(buffer, memory->bytes + offset, length);
    return TP_OK;
}

/* Magnitudes of 2^-14 to 2^10, with zeros and the odd infinity and NaN. */
static double some_value(uint64_t *state, bool special)
{
    const uint64_t r = xorshift(state);
    const double m = 1 + (double)(r >> 40) * 0x1p-24;
    const double x = ldexp(m, (int)(r % 25) - 14);
    if (special && (r >> 5) % 4096 == 0)
        return r & 32 ? INFINITY : NAN;
    return (r >> 5) % 8 == 1 ? 0 : r & 16 ? -x : x;
}

static void store(enum tp_dtype dtype, double x, unsigned char *at)
{
    const float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    const uint16_t upper = (uint16_t)(bits >> 16);
    const unsigned char byte = (unsigned char)(bits >> 24);
    switch (dtype) {
    case TP_FLOAT64: memcpy(at, &x, sizeof x); break;
    case TP_FLOAT32: memcpy(at, &single, sizeof single); break;
    case TP_BFLOAT16: memcpy(at, &upper, sizeof upper); break;
    default: *at = byte; /* any byte will do */
    }
}

static const char *const formats[] = {
    "hif8", "e4m3", "e5m2", "bf16", "fp16", "mxfp8_e4m3", "mxfp8_e5m2",
    "mxfp6_e2m3", "mxfp4", "nvfp4", "hif8"};

enum { SPECS = sizeof formats / sizeof *formats };

/* Of number 5 and of the target; all other specs have the first one, floor. */
static enum tp_scale_rule rule_of_one = TP_SCALE_RCEIL;

static void make_specs(struct tp_quant_spec specs[SPECS])
{
    for (int i = 0; i < SPECS; i++)
        specs[i] = (struct tp_quant_spec){
            .number = tp_number_by_id(formats[i])};
    specs[5].rule = rule_of_one;
    specs[6].nonfinite = TP_NONFINITE_ELEMENT;
    specs[SPECS - 1].scaled = TP_SCALED_AMAX;
    specs[SPECS - 1].exponent = 3;
}

static struct tp_scan_result result;

static void scan(struct tp_tensor *tensor, unsigned jobs, int axis,
                 struct tp_quant_error errors[SPECS])
{
    struct tp_pool *pool;
    struct tp_scanner *scanner;
    struct tp_error err = {.code = TP_OK};
    struct tp_quant_spec specs[SPECS];
    make_specs(specs);
    memset(errors, 0xee, SPECS * sizeof *errors);
    const struct tp_scan_request request = {
        .target = tp_number_by_id("mxfp8_e4m3"),
        .scale_rule = rule_of_one,
        .specs = specs,
        .spec_count = SPECS,
        .block_axis = axis,
        .errors = errors};
    cr_assert_eq(tp_tensor_check(tensor, &err), TP_OK, "%s", err.message);
    cr_assert_eq(tp_pool_new(jobs, &pool, &err), TP_OK);
    cr_assert_eq(tp_scanner_new(pool, &scanner, &err), TP_OK);
    cr_assert_eq(tp_scan(scanner, tensor, &request, &result, &err), TP_OK,
                 "%s", err.message);
    tp_scanner_free(scanner);
    tp_pool_free(pool);
}

/* The elements of a tensor, the lines along `axis` in rows. */
static unsigned char *plain_rows(const struct tp_tensor *t, int axis,
                                 size_t *rows)
{
    const size_t size = tp_dtype_info(t->dtype)->size;
    const struct memory *memory =
        (const struct memory *)(const void *)t->storage;
    unsigned char *copy = malloc((size_t)t->numel * size), *to = copy;
    int64_t index[TP_LIMIT_DIMS] = {0};
    *rows = (size_t)(t->numel / t->shape[axis]);
    for (size_t row = 0; row < *rows; row++) {
        int64_t at = t->offset;
        for (int i = 0; i < t->ndim; i++)
            at += index[i] * t->stride[i];
        for (int64_t j = 0; j < t->shape[axis]; j++, to += size)
            memcpy(to, memory->bytes +
                           (size_t)(at + j * t->stride[axis]) * size, size);
        for (int i = t->ndim - 1; i >= 0; i--) {
            if (i == axis)
                continue;
            if (++index[i] < t->shape[i])
                break;
            index[i] = 0;
        }
    }
    return copy;
}

static void assert_like(const struct tp_quant_error *got,
                        const struct tp_quant_error *plain, const char *what)
{
    struct tp_quant_error exact = *got;
    const double *a = &got->sum_xx, *b = &plain->sum_xx;
    /* the sums, which differ in order; that of relative errors is an expansion
     * where it comes from bins (stats/float_bins.h) */
    for (int i = 0; i < 5; i++)
        cr_assert(fabs(a[i] - b[i]) <= (i < 4 ? 1e-12 : 1e-6) * fabs(b[i]),
                  "sum %d of %s: %.17g, not %.17g", i, what, a[i], b[i]);
    memcpy(&exact.sum_xx, &plain->sum_xx, 5 * sizeof(double));
    cr_assert_eq(memcmp(&exact, plain, sizeof exact), 0, "counts of %s", what);
}

static void check(struct tp_tensor *tensor, int axis_from_last)
{
    struct tp_quant_error one[SPECS], three[SPECS];
    struct tp_quant_spec specs[SPECS];
    make_specs(specs);
    scan(tensor, 1, axis_from_last, one);
    scan(tensor, 3, axis_from_last, three);
    cr_assert_eq(memcmp(one, three, sizeof one), 0, "jobs are seen");
    const int axis = tensor->ndim - 1 - axis_from_last;
    size_t rows;
    unsigned char *plain = plain_rows(tensor, axis, &rows);
    const double amax = fmax(fabs(result.summary.extrema.min),
                             fabs(result.summary.extrema.max));
    for (int i = 0; i < SPECS; i++) {
        struct tp_quant_error expected = {0};
        const struct tp_quant_rows values = {
            .dtype = tensor->dtype,
            .tensor_amax = amax,
            .codes = plain,
            .rows = rows,
            .row_length = (size_t)tensor->shape[axis]};
        if (specs[i].number->kind == TP_NUMBER_ELEMENT)
            tp_quant_values(&specs[i], &values, &expected);
        else
            tp_quant_blocks(&specs[i], &values, &expected);
        assert_like(&one[i], &expected, formats[i]);
    }
    /* the target's counts are those of its cast, number 5 */
    const struct tp_counts *counts = &result.summary.counts;
    cr_assert_eq(counts->upper_overflow, one[5].upper_overflow);
    cr_assert_eq(counts->lower_overflow, one[5].lower_overflow);
    cr_assert_eq(counts->underflow, one[5].underflow);
    cr_assert_eq(counts->subnormal, one[5].subnormal);
    free(plain);
}

static void check_shape(enum tp_dtype dtype, int ndim, const int64_t *shape,
                        int axis, bool turned)
{
    const size_t size = tp_dtype_info(dtype)->size;
    struct tp_tensor tensor = {.path = "", .dtype = dtype, .ndim = ndim};
    struct memory memory = {.storage = {.read = read_memory}};
    uint64_t state = 88172645463325252u + (uint64_t)shape[0];
    int64_t n = 1;
    struct tp_tensor_axes *axes = axes_of(&tensor);
    for (int i = 0; i < ndim; i++) { /* turned: the first axis is fastest */
        const int at = turned ? i : ndim - 1 - i;
        axes->shape[at] = shape[at];
        axes->stride[at] = n;
        n *= shape[at];
    }
    memory.storage.size = (uint64_t)n * size;
    memory.bytes = malloc(memory.storage.size);
    for (int64_t i = 0; i < n; i++)
        store(dtype, some_value(&state, true), memory.bytes + (size_t)i * size);
    tensor.storage = &memory.storage;
    check(&tensor, axis);
    free(memory.bytes);
}

Test(casts, small_tensors)
{
    static const enum tp_dtype dtypes[] = {TP_BFLOAT16, TP_FLOAT32,
                                           TP_FLOAT64, TP_FLOAT8_E5M2};
    for (int d = 0; d < 4; d++) {
        for (int axis = 0; axis < 2; axis++) {
            check_shape(dtypes[d], 2, (int64_t[]){30, 77}, axis, false);
            check_shape(dtypes[d], 2, (int64_t[]){70, 64}, axis, true);
            check_shape(dtypes[d], 3, (int64_t[]){5, 33, 40}, axis, false);
        }
        check_shape(dtypes[d], 1, (int64_t[]){1}, 0, false);
    }
}

Test(casts, tensors_of_many_pieces)
{
    check_shape(TP_BFLOAT16, 2, (int64_t[]){513, 777}, 0, false);
    check_shape(TP_BFLOAT16, 2, (int64_t[]){513, 777}, 1, false);
    check_shape(TP_FLOAT32, 2, (int64_t[]){300, 1025}, 0, true);
    check_shape(TP_FLOAT32, 2, (int64_t[]){70, 5000}, 1, false);
    check_shape(TP_FLOAT8_E5M2, 2, (int64_t[]){1000, 513}, 0, true);
}

Test(casts, tensors_of_many_ranges)
{
    check_shape(TP_BFLOAT16, 2, (int64_t[]){2100, 4097}, 0, false);
    check_shape(TP_BFLOAT16, 2, (int64_t[]){2100, 4097}, 1, false);
    check_shape(TP_FLOAT32, 2, (int64_t[]){1500, 3001}, 0, false);
}

/* MX formats of one rule are counted together. */
Test(casts, formats_that_share_their_rule)
{
    rule_of_one = TP_SCALE_FLOOR;
    check_shape(TP_BFLOAT16, 2, (int64_t[]){513, 777}, 0, false);
    check_shape(TP_BFLOAT16, 2, (int64_t[]){2100, 4097}, 1, false);
    check_shape(TP_FLOAT8_E5M2, 2, (int64_t[]){1000, 513}, 0, true);
    check_shape(TP_FLOAT8_E4M3FNUZ, 2, (int64_t[]){1000, 513}, 1, false);
}

Test(casts, repeats_count_and_other_dtypes_do_not)
{
    struct tp_quant_error plain[SPECS], errors[SPECS];
    struct memory memory = {.storage = {.read = read_memory, .size = 128}};
    uint64_t state = 12345;
    memory.bytes = malloc(128);
    for (size_t i = 0; i < 64; i++)
        store(TP_BFLOAT16, some_value(&state, false), memory.bytes + 2 * i);
    struct tp_tensor tensor = {.path = "", .dtype = TP_BFLOAT16, .ndim = 2,
                               .storage = &memory.storage};
    struct tp_tensor_axes *axes = axes_of(&tensor);
    *axes = (struct tp_tensor_axes){{1, 64}, {64, 1}};
    scan(&tensor, 1, 0, plain);
    axes->shape[0] = 1000;
    axes->stride[0] = 0;
    scan(&tensor, 1, 0, errors);
    for (int i = 0; i < SPECS; i++) {
        struct tp_quant_error thousand = {0};
        cr_assert_eq(plain[i].values, 64);
        tp_quant_merge(&thousand, &plain[i], 1000);
        assert_like(&errors[i], &thousand, formats[i]);
    }
    tensor.dtype = TP_INT16;
    memset(plain, 0, sizeof plain);
    scan(&tensor, 1, 0, errors);
    cr_assert_eq(memcmp(errors, plain, sizeof plain), 0);
    tensor.dtype = TP_COMPLEX32;
    axes->shape[1] = 32;
    scan(&tensor, 1, 0, errors);
    for (int i = 0; i < SPECS; i++) {
        const struct tp_number *number = tp_number_by_id(formats[i]);
        cr_assert_eq(errors[i].values,
                     number->kind == TP_NUMBER_ELEMENT ? 64000 : 0);
    }
    free(memory.bytes);
}
