/* SPDX-License-Identifier: MIT */
/*
 * Pairs of tensors in memory, in some layouts, against the same values side by
 * side in row-major order.
 */
#include "scan/difference_scan.h"
#include "tests/unit/support/made_axes.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* A storage of noise whose values are not tiny: as bfloat16 or binary32. */
static struct memory new_memory(size_t size, uint64_t seed)
{
    struct memory memory = {
        .storage = {.read = read_memory, .size = size, .file_offset = -1}};
    memory.bytes = malloc(size);
    cr_assert_not_null(memory.bytes);
    for (size_t i = 0; i < size; i += 2) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        const uint16_t code = (uint16_t)(0x3f00 | (seed >> 40 & 0x80ff));
        memcpy(memory.bytes + i, &code, 2);
    }
    return memory;
}

static struct tp_tensor tensor_of(enum tp_dtype dtype, int64_t rows,
                                  int64_t columns, struct memory *memory)
{
    struct tp_tensor tensor = {.path = "",
                               .dtype = dtype,
                               .ndim = 2,
                               .numel = rows * columns,
                               .storage = &memory->storage};
    *axes_of(&tensor) = (struct tp_tensor_axes){{rows, columns}, {columns, 1}};
    return tensor;
}

struct found {
    enum tp_status status;
    struct tp_error err;
    struct tp_difference_scan scan;
    struct tp_difference_numbers numbers;
};

/* Scans a pair by so many jobs; to be freed. */
static struct found *scan(const struct tp_tensor *x, const struct tp_tensor *y,
                          unsigned jobs)
{
    struct found *found = calloc(1, sizeof *found);
    struct tp_pool *pool;
    struct tp_readers readers;
    struct tp_pair_view view;
    cr_assert_not_null(found);
    cr_assert_eq(tp_pool_new(jobs, &pool, NULL), TP_OK);
    cr_assert_eq(tp_readers_init(&readers, pool, NULL), TP_OK);
    cr_assert_eq(tp_pair_view_make(x, y, &view, NULL), TP_OK);
    found->status =
        tp_difference_scan(&readers, 0, &view, &found->scan, &found->err);
    tp_difference_numbers(&found->scan.plan, &found->scan.difference,
                          found->scan.totals, &found->numbers);
    tp_readers_clear(&readers);
    tp_pool_free(pool);
    return found;
}

enum { ROWS = 300, COLUMNS = 70 };

/* What two layouts of the same elements give is the same but for rounding. */
static void expect_same(const struct found *a, const struct found *b)
{
    cr_assert_eq(a->status, TP_OK);
    cr_assert_eq(b->status, TP_OK);
    cr_expect_eq(a->numbers.values, b->numbers.values);
    cr_expect_eq(a->numbers.differ, b->numbers.differ);
    cr_expect_eq(a->numbers.max_abs, b->numbers.max_abs);
    cr_expect_eq(a->numbers.max_relative, b->numbers.max_relative);
    cr_expect_eq(a->numbers.ulp_p50, b->numbers.ulp_p50);
    cr_expect_eq(a->numbers.ulp_max, b->numbers.ulp_max);
    cr_expect_eq(a->numbers.ks, b->numbers.ks);
    cr_expect_float_eq(a->numbers.cosine, b->numbers.cosine, 1e-13);
    cr_expect_float_eq(a->numbers.l2, b->numbers.l2, 1e-12 * b->numbers.l2);
}

/* One element that differs is found where it is, in any layout. */
Test(difference_scan, layouts_do_not_show)
{
    const size_t n = ROWS * COLUMNS;
    struct memory a = new_memory(2 * n, 1), b = new_memory(2 * n, 1);
    struct memory turned = new_memory(2 * n, 2);
    struct tp_tensor x = tensor_of(TP_BFLOAT16, ROWS, COLUMNS, &a);
    struct tp_tensor y = tensor_of(TP_BFLOAT16, ROWS, COLUMNS, &b);
    b.bytes[2 * (41 * COLUMNS + 7)] ^= 0x10;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < COLUMNS; k++)
            memcpy(turned.bytes + 2 * (k * ROWS + i),
                   b.bytes + 2 * (i * COLUMNS + k), 2);
    struct tp_tensor z = tensor_of(TP_BFLOAT16, ROWS, COLUMNS, &turned);
    *axes_of(&z) = (struct tp_tensor_axes){{ROWS, COLUMNS}, {1, ROWS}};
    struct found *flat = scan(&x, &y, 1), *there = scan(&x, &z, 2);
    struct found *back = scan(&z, &x, 1);
    expect_same(flat, there);
    cr_expect_eq(flat->numbers.differ, 1);
    cr_expect_eq(flat->numbers.first_at, 41 * COLUMNS + 7);
    cr_expect_eq(there->numbers.first_at, 41 * COLUMNS + 7);
    cr_expect_eq(back->numbers.first_at, 41 * COLUMNS + 7);
    free(flat);
    free(there);
    free(back);
    free(a.bytes);
    free(b.bytes);
    free(turned.bytes);
}

Test(difference_scan, expanded_axes_count_for_all_they_show)
{
    struct memory a = new_memory(4 * COLUMNS, 3),
                  b = new_memory(4 * COLUMNS, 4);
    struct tp_tensor x = tensor_of(TP_FLOAT32, 1, COLUMNS, &a);
    struct tp_tensor y = tensor_of(TP_FLOAT32, 1, COLUMNS, &b);
    struct found *once = scan(&x, &y, 1);
    const struct tp_tensor_axes many = {{INT64_C(1) << 40, COLUMNS}, {0, 1}};
    *axes_of(&x) = *axes_of(&y) = many;
    x.numel = y.numel = (INT64_C(1) << 40) * COLUMNS;
    struct found *often = scan(&x, &y, 1);
    cr_expect_eq(often->numbers.values, (uint64_t)x.numel);
    cr_expect_eq(often->numbers.differ, once->numbers.differ << 40);
    cr_expect_eq(often->numbers.ks, once->numbers.ks);
    cr_expect_eq(often->numbers.first_at, once->numbers.first_at);
    cr_expect_eq(often->numbers.max_abs, once->numbers.max_abs);
    cr_expect_float_eq(often->numbers.mean_abs, once->numbers.mean_abs, 1e-12);
    free(once);
    free(often);
    free(a.bytes);
    free(b.bytes);
}

Test(difference_scan, complex_elements_are_two_values)
{
    struct memory a = new_memory(800, 5), b = new_memory(800, 5);
    const struct tp_tensor x = tensor_of(TP_COMPLEX64, 10, 10, &a);
    const struct tp_tensor y = tensor_of(TP_COMPLEX64, 10, 10, &b);
    b.bytes[8 * 57 + 4] ^= 1; /* an imaginary part */
    struct found *found = scan(&x, &y, 1);
    cr_expect_eq(found->numbers.values, 200);
    cr_expect_eq(found->numbers.differ, 1);
    cr_expect_eq(found->numbers.first_at, 57);
    free(found);
    free(a.bytes);
    free(b.bytes);
}

Test(difference_scan, empty_tensors_have_no_numbers)
{
    struct tp_tensor x = {.path = "", .dtype = TP_FLOAT32, .ndim = 1};
    axes_of(&x);
    struct found *found = scan(&x, &x, 1);
    cr_expect_eq(found->status, TP_OK);
    cr_expect_eq(found->numbers.values, 0);
    cr_expect_eq(found->numbers.first_at, -1);
    cr_expect(isnan(found->numbers.cosine));
    free(found);
}

Test(difference_scan, jobs_do_not_show)
{
    const int64_t rows = 3000, columns = 3001; /* 2 ranges and a bit */
    struct memory a = new_memory(4 * 3000 * 3001, 7);
    struct memory b = new_memory(2 * 3000 * 3001, 8);
    const struct tp_tensor x = tensor_of(TP_FLOAT32, rows, columns, &a);
    const struct tp_tensor y = tensor_of(TP_BFLOAT16, rows, columns, &b);
    struct found *one = scan(&x, &y, 1), *many = scan(&x, &y, 4);
    cr_assert_eq(one->status, TP_OK);
    cr_assert_eq(many->status, TP_OK);
    cr_expect_gt(one->numbers.differ, 0);
    cr_expect_eq(memcmp(&one->scan, &many->scan, sizeof one->scan), 0);
    b.refuse = 4 << 20;
    for (unsigned jobs = 1; jobs < 4; jobs++) {
        struct found *cut = scan(&x, &y, jobs);
        cr_expect_eq(cut->status, TP_E_DAMAGED);
        cr_expect_str_eq(cut->err.message, "cut at 4194304");
        free(cut);
    }
    free(one);
    free(many);
    free(a.bytes);
    free(b.bytes);
}
