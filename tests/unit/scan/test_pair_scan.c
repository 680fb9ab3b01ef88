/* SPDX-License-Identifier: MIT */
/*
 * Pairs of tensors in memory, in all kinds of layouts, against the same values
 * side by side in row-major order.
 */
#include "scan/pair_scan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/xorshift.h"
#include "tests/unit/support/made_axes.h"

struct memory {
    struct tp_storage storage; /* first */
    unsigned char *bytes;
    uint64_t refuse; /* reads from this offset on fail; 0: none does */
};

static enum tp_status read_memory(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer, size_t length,
                                  struct tp_error *err)
{
    const struct memory *memory = (const struct memory *)storage;
    cr_assert(offset <= storage->size && length <= storage->size - offset);
    if (memory->refuse && offset + length > memory->refuse)
        return tp_fail(err, TP_E_DAMAGED, (int64_t)offset, "cut at %d",
                       (int)memory->refuse);
    memcpy(buffer, memory->bytes + offset, length);
    return TP_OK;
}

/* A storage of noise: finite values of either sign, none tiny, the same again
 * after a while. */
static struct memory new_memory(enum tp_dtype dtype, size_t elements,
                                uint64_t seed)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    struct memory memory = {.storage = {.read = read_memory,
                                        .size = elements * info->size,
                                        .file_offset = -1}};
    memory.bytes = malloc(memory.storage.size);
    cr_assert_not_null(memory.bytes);
    const size_t period = 50021, codes = elements * info->parts;
    for (size_t i = 0; i < codes && i < period;) {
        const uint64_t bits = xorshift(&seed);
        unsigned char *code = memory.bytes + i * info->code_size;
        double value;
        memcpy(code, &bits, info->code_size);
        tp_dtype_decode(info->real, code, 1, &value);
        i += fabs(value) < 1e6 && fabs(value) > 1e-4;
    }
    for (size_t i = period; i < codes; i++)
        memcpy(memory.bytes + i * info->code_size,
               memory.bytes + (i - period) * info->code_size, info->code_size);
    return memory;
}

enum { AXES = 3 };

/* A tensor whose axes lie in the storage in the order `places`, the slowest
 * first; NULL: row-major. */
static struct tp_tensor laid_out(enum tp_dtype dtype, const int64_t *shape,
                                 const int *places, struct memory *memory)
{
    struct tp_tensor tensor = {.path = "",
                               .dtype = dtype,
                               .ndim = AXES,
                               .storage = &memory->storage,
                               .numel = 1};
    struct tp_tensor_axes *axes = axes_of(&tensor);
    for (int i = AXES - 1; i >= 0; i--) {
        const int axis = places ? places[i] : i;
        axes->shape[axis] = shape[axis];
        axes->stride[axis] = tensor.numel;
        tensor.numel *= shape[axis];
    }
    return tensor;
}

/* The codes of a tensor in row-major order; to be freed. */
static unsigned char *flat(const struct tp_tensor *tensor)
{
    const size_t size = tp_dtype_info(tensor->dtype)->size;
    const struct memory *memory = (const struct memory *)tensor->storage;
    unsigned char *codes = malloc((size_t)tensor->numel * size);
    cr_assert_not_null(codes);
    for (int64_t i = 0; i < tensor->numel; i++) {
        int64_t at = tensor->offset, rest = i;
        for (int axis = AXES - 1; axis >= 0; axis--) {
            at += rest % tensor->shape[axis] * tensor->stride[axis];
            rest /= tensor->shape[axis];
        }
        memcpy(codes + (size_t)i * size, memory->bytes + (size_t)at * size,
               size);
    }
    return codes;
}

static const struct tp_pair_scale no_scale = {0, 0, 0};
static const struct tp_pair_axis axis = {.low = -1000, .high = 1000};

struct found {
    enum tp_status status;
    struct tp_error err;
    struct tp_pair_sums sums;
    uint64_t cells[TP_PAIR_CELLS * TP_PAIR_CELLS];
};

/* Scans a pair by so many jobs. */
static struct found scan(const struct tp_tensor *x, const struct tp_tensor *y,
                         unsigned jobs)
{
    struct found found = {.status = TP_OK};
    struct tp_pool *pool;
    struct tp_readers readers;
    struct tp_pair_view view;
    cr_assert_eq(tp_pool_new(jobs, &pool, NULL), TP_OK);
    cr_assert_eq(tp_readers_init(&readers, pool, NULL), TP_OK);
    found.status = tp_pair_view_make(x, y, &view, &found.err);
    if (found.status == TP_OK)
        found.status = tp_pair_scan(&readers, 0, &view, &no_scale, &found.sums,
                                    &found.err);
    if (found.status == TP_OK)
        found.status = tp_pair_scan_cells(&readers, 0, &view, &axis,
                                          found.cells, &found.err);
    tp_readers_clear(&readers);
    tp_pool_free(pool);
    return found;
}

/* Compares a scan with the values side by side. */
static void expect_flat(const struct tp_tensor *x, const struct tp_tensor *y)
{
    static uint32_t cells[TP_PAIR_CELLS * TP_PAIR_CELLS];
    const struct tp_dtype_info *info = tp_dtype_info(x->dtype);
    unsigned char *codes_x = flat(x), *codes_y = flat(y);
    const size_t n = (size_t)x->numel * info->parts;
    const struct tp_span left = {info->real, codes_x, n};
    const struct tp_span right = {tp_dtype_info(y->dtype)->real, codes_y, n};
    const struct found found = scan(x, y, 2);
    struct tp_pair_sums sums;
    struct tp_pair_numbers want, got;
    memset(&sums, 0, sizeof sums);
    memset(cells, 0, sizeof cells);
    tp_pair_add(&left, &right, 0, &no_scale, &sums);
    tp_pair_count(&left, &right, &axis, cells);
    tp_pair_numbers(&sums, &no_scale, &want);
    cr_assert_eq(found.status, TP_OK, "%s", found.err.message);
    tp_pair_numbers(&found.sums, &no_scale, &got);
    cr_expect_eq(got.values, want.values);
    cr_expect_eq(got.finite, want.finite);
    cr_expect_eq(got.equal, want.equal);
    cr_expect_float_eq(got.pearson_r, want.pearson_r, 1e-12);
    cr_expect_float_eq(got.cosine, want.cosine, 1e-12);
    cr_expect_float_eq(got.mse, want.mse, 1e-12 * want.mse);
    cr_expect_eq(got.max_abs_diff, want.max_abs_diff);
    cr_expect_eq(got.max_abs_diff_at, want.max_abs_diff_at / info->parts);
    cr_expect_eq(got.max_rel_diff, want.max_rel_diff);
    cr_expect_eq(got.max_rel_diff_at, want.max_rel_diff_at / info->parts);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        cr_expect_eq(found.cells[i], cells[i], "cell %zu", i);
    free(codes_x);
    free(codes_y);
}

static const int64_t shape[AXES] = {7, 130, 45};

Test(pair_scan, dtypes_may_differ)
{
    static const enum tp_dtype dtypes[][2] = {
        {TP_FLOAT32, TP_FLOAT32},  {TP_FLOAT64, TP_BFLOAT16},
        {TP_BFLOAT16, TP_FLOAT64}, {TP_FLOAT16, TP_FLOAT8_E5M2},
        {TP_INT8, TP_FLOAT32},     {TP_COMPLEX64, TP_COMPLEX128}};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        struct memory a = new_memory(dtypes[i][0], 7 * 130 * 45, 3);
        struct memory b = new_memory(dtypes[i][1], 7 * 130 * 45, 4);
        const struct tp_tensor x = laid_out(dtypes[i][0], shape, NULL, &a);
        const struct tp_tensor y = laid_out(dtypes[i][1], shape, NULL, &b);
        expect_flat(&x, &y);
        free(a.bytes);
        free(b.bytes);
    }
}

Test(pair_scan, layouts_do_not_show)
{
    static const int orders[][AXES] = {
        {0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {2, 0, 1}};
    struct memory a = new_memory(TP_FLOAT32, 7 * 130 * 45, 5);
    struct memory b = new_memory(TP_BFLOAT16, 7 * 130 * 45, 6);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const struct tp_tensor x =
                laid_out(TP_FLOAT32, shape, orders[i], &a);
            const struct tp_tensor y =
                laid_out(TP_BFLOAT16, shape, orders[j], &b);
            expect_flat(&x, &y);
        }
    }
    free(a.bytes);
    free(b.bytes);
}

Test(pair_scan, expanded_axes_count_for_all_they_show)
{
    struct memory a = new_memory(TP_FLOAT32, 7 * 130 * 45, 7);
    struct memory b = new_memory(TP_FLOAT32, 7 * 130 * 45, 8);
    for (int both = 0; both < 2; both++) {
        for (int i = 0; i < AXES; i++) {
            struct tp_tensor x = laid_out(TP_FLOAT32, shape, NULL, &a);
            struct tp_tensor y = laid_out(TP_FLOAT32, shape, NULL, &b);
            if (both)
                axes_of(&x)->stride[i] = 0;
            axes_of(&y)->stride[i] = 0;
            expect_flat(&x, &y);
        }
    }
    free(a.bytes);
    free(b.bytes);
}

/* 10^15 pairs, of which 4 are stored: no work. */
Test(pair_scan, what_both_repeat_is_read_once)
{
    struct memory a = new_memory(TP_FLOAT32, 4, 9);
    struct memory b = new_memory(TP_FLOAT32, 4, 10);
    struct tp_tensor x = {.path = "",
                          .dtype = TP_FLOAT32,
                          .ndim = 2,
                          .numel = INT64_C(1000000000000000),
                          .storage = &a.storage};
    *axes_of(&x) =
        (struct tp_tensor_axes){{INT64_C(250000000000000), 4}, {0, 1}};
    struct tp_tensor y = x;
    y.storage = &b.storage;
    struct found found = scan(&x, &y, 1);
    cr_assert_eq(found.status, TP_OK);
    cr_expect_eq(found.sums.values, UINT64_C(1000000000000000));
    cr_expect_lt(found.sums.max_d_at, 4);
    /* as many pairs, of 250 000 000 000 004 elements */
    *axes_of(&x) = (struct tp_tensor_axes){{1 << 20, 1 << 20}, {0, 1}};
    *axes_of(&y) = (struct tp_tensor_axes){{1 << 20, 1 << 20}, {1, 0}};
    x.numel = y.numel = INT64_C(1) << 40;
    found = scan(&x, &y, 1);
    cr_expect_eq(found.status, TP_E_LIMIT);
    free(a.bytes);
    free(b.bytes);
}

Test(pair_scan, jobs_do_not_show)
{
    const int64_t large[AXES] = {3, 1000, 3001}; /* 2 ranges and a bit */
    const size_t n = 3 * 1000 * 3001;
    struct memory a = new_memory(TP_FLOAT32, n, 11);
    struct memory b = new_memory(TP_BFLOAT16, n, 12);
    const struct tp_tensor x = laid_out(TP_FLOAT32, large, NULL, &a);
    const struct tp_tensor y = laid_out(TP_BFLOAT16, large, NULL, &b);
    const struct found one = scan(&x, &y, 1), many = scan(&x, &y, 4);
    cr_assert_eq(one.status, TP_OK);
    cr_assert_eq(many.status, TP_OK);
    cr_expect_eq(memcmp(&one.sums, &many.sums, sizeof one.sums), 0);
    cr_expect_eq(memcmp(one.cells, many.cells, sizeof one.cells), 0);
    free(a.bytes);
    free(b.bytes);
}

Test(pair_scan, the_first_damage_is_told)
{
    const int64_t large[AXES] = {3, 1000, 3001};
    const size_t n = 3 * 1000 * 3001;
    struct memory a = new_memory(TP_FLOAT32, n, 13);
    struct memory b = new_memory(TP_BFLOAT16, n, 14);
    const struct tp_tensor x = laid_out(TP_FLOAT32, large, NULL, &a);
    const struct tp_tensor y = laid_out(TP_BFLOAT16, large, NULL, &b);
    b.refuse = 4 << 20;
    for (unsigned jobs = 1; jobs < 4; jobs++) {
        const struct found found = scan(&x, &y, jobs);
        cr_expect_eq(found.status, TP_E_DAMAGED);
        cr_expect_str_eq(found.err.message, "cut at 4194304");
        cr_expect_leq(found.err.offset, 4 << 20);
    }
    free(a.bytes);
    free(b.bytes);
}

Test(pair_scan, what_does_not_fit_is_refused)
{
    struct memory a = new_memory(TP_FLOAT32, 7 * 130 * 45, 15);
    struct memory b = new_memory(TP_COMPLEX64, 7 * 130 * 45, 16);
    const struct tp_tensor x = laid_out(TP_FLOAT32, shape, NULL, &a);
    const struct tp_tensor y = laid_out(TP_COMPLEX64, shape, NULL, &b);
    struct tp_tensor z = x;
    cr_expect_eq(scan(&x, &y, 1).status, TP_E_UNSUPPORTED);
    axes_of(&z)->shape[0] = 6;
    z.numel = 6 * 130 * 45;
    cr_expect_eq(scan(&x, &z, 1).status, TP_E_UNSUPPORTED);
    free(a.bytes);
    free(b.bytes);
}

Test(pair_scan, no_elements_are_no_numbers)
{
    const int64_t none[AXES] = {7, 0, 45};
    struct memory a = new_memory(TP_FLOAT32, 1, 17);
    const struct tp_tensor x = laid_out(TP_FLOAT32, none, NULL, &a);
    const struct found found = scan(&x, &x, 1);
    cr_expect_eq(found.status, TP_OK);
    cr_expect_eq(found.sums.values, 0);
    free(a.bytes);
}
