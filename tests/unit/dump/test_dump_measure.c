/* SPDX-License-Identifier: MIT */
#include "dump/dump_measure.h"
#include "tests/unit/support/made_axes.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Statistics and checksums of tensors in memory against those that numpy,
 * zlib and a fold of 64-bit words in Python gave. */

struct memory {
    struct tp_storage storage; /* first */
    const void *bytes;
};

static enum tp_status read_memory(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer, size_t length,
                                  struct tp_error *err)
{
    const struct memory *memory = (const struct memory *)storage;
    cr_assert(offset <= storage->size && length <= storage->size - offset);
    (void)err;
    memcpy(buffer, (const unsigned char *)memory->bytes + offset, length);
    return TP_OK;
}

static struct memory memory_of(const void *bytes, size_t size)
{
    return (struct memory){
        {.read = read_memory, .size = size, .file_offset = -1}, bytes};
}

/* A row-major tensor of up to two axes; -1: there is no such axis. */
static struct tp_tensor tensor_of(struct memory *memory, enum tp_dtype dtype,
                                  int64_t rows, int64_t columns)
{
    struct tp_tensor tensor = {
        .path = "", .dtype = dtype, .storage = &memory->storage};
    tensor.ndim = (rows >= 0) + (columns >= 0);
    struct tp_tensor_axes *axes = axes_of(&tensor);
    axes->shape[0] = rows;
    axes->shape[1] = columns;
    axes->stride[0] = columns >= 0 ? columns : 1;
    axes->stride[1] = 1;
    return tensor;
}

static enum tp_status measure_by(unsigned jobs, struct tp_tensor *tensor,
                                 struct tp_dump_measure *measure)
{
    static const struct tp_dump_wanted all = {true, true, true};
    struct tp_pool *pool;
    struct tp_readers readers;
    struct tp_error err = {0};
    cr_assert_eq(tp_tensor_check(tensor, &err), TP_OK, "%s", err.message);
    cr_assert_eq(tp_pool_new(jobs, &pool, &err), TP_OK);
    cr_assert_eq(tp_readers_init(&readers, pool, &err), TP_OK);
    enum tp_status status =
        tp_dump_measure(&readers, 0, tensor, &all, measure, &err);
    cr_expect_eq(status, err.code);
    tp_readers_clear(&readers);
    tp_pool_free(pool);
    return status;
}

static struct tp_dump_measure measure(struct tp_tensor *tensor)
{
    struct tp_dump_measure result;
    cr_assert_eq(measure_by(1, tensor, &result), TP_OK);
    return result;
}

Test(dump_measure, a_large_tensor_by_any_number_of_threads)
{
    enum { N = 5000003 };
    float *x = malloc(N * sizeof *x);
    struct tp_dump_measure first = {.values = 0};
    for (int64_t i = 0; i < N; i++)
        x[i] = (float)(i * 2654435761 % 1000003) / 1000.0f - 300.0f;
    for (unsigned jobs = 1; jobs <= 3; jobs++) {
        struct memory memory = memory_of(x, N * sizeof *x);
        struct tp_tensor tensor = tensor_of(&memory, TP_FLOAT32, N, -1);
        struct tp_dump_measure m;
        cr_assert_eq(measure_by(jobs, &tensor, &m), TP_OK);
        cr_expect_eq(m.values, N);
        cr_expect_eq(m.nan + m.pos_inf + m.neg_inf, 0);
        cr_expect_eq(m.max, (double)700.002f);
        cr_expect_eq(m.min, -300);
        cr_expect_float_eq(m.mean, 200.001073643353, 1e-9);
        cr_expect_float_eq(m.mean_abs, 290.00107271455107, 1e-9);
        cr_expect_float_eq(m.norm, 785284.4878288448, 1e-6);
        cr_expect_eq(m.crc, 0x1e6f79a7);
        cr_expect_eq(m.xor_words, UINT64_C(0xbc10cb433ab98d18));
        if (jobs == 1)
            first = m;
        cr_expect_eq(memcmp(&m, &first, sizeof m), 0, "%u threads", jobs);
    }
    free(x);
}

Test(dump_measure, bf16_as_it_is_and_as_float32)
{
    static const uint16_t codes[] = {0x3f80, 0xc020, 0x3e20, 0x4040, 0x8000};
    struct memory memory = memory_of(codes, sizeof codes);
    struct tp_tensor tensor = tensor_of(&memory, TP_BFLOAT16, 5, -1);
    const struct tp_dump_measure m = measure(&tensor);
    cr_expect_eq(m.max, 3);
    cr_expect_eq(m.min, -2.5);
    cr_expect_eq(m.mean, 1.65625 / 5);
    cr_expect_eq(m.crc, 0xdee7c6a5);
    cr_expect_eq(m.wide_crc, 0x9df0e0af);
    cr_expect_eq(m.xor_words, UINT64_C(0x40403e20c020bf80));
}

Test(dump_measure, the_known_checksum_of_nine_digits)
{
    struct memory memory = memory_of("123456789", 9);
    struct tp_tensor tensor = tensor_of(&memory, TP_UINT8, 9, -1);
    const struct tp_dump_measure m = measure(&tensor);
    cr_expect_eq(m.crc, 0xcbf43926);
    cr_expect_eq(m.xor_words, UINT64_C(0x3837363534333231) ^ '9');
    cr_expect_eq(m.mean, 53);
}

Test(dump_measure, what_is_not_finite)
{
    const double values[] = {1, NAN, -INFINITY, 4, INFINITY, -2, INFINITY};
    struct memory memory = memory_of(values, sizeof values);
    struct tp_tensor tensor = tensor_of(&memory, TP_FLOAT64, 7, -1);
    const struct tp_dump_measure m = measure(&tensor);
    cr_expect_eq(m.nan, 1);
    cr_expect_eq(m.pos_inf, 2);
    cr_expect_eq(m.neg_inf, 1);
    cr_expect_eq(m.max, INFINITY);
    cr_expect_eq(m.min, -INFINITY);
    cr_expect_eq(m.mean, 1);
    cr_expect_float_eq(m.norm, sqrt(21), 1e-15);
}

Test(dump_measure, nothing_finite_and_nothing)
{
    const float mask[] = {-INFINITY, -INFINITY};
    struct memory memory = memory_of(mask, sizeof mask);
    struct tp_tensor tensor = tensor_of(&memory, TP_FLOAT32, 2, -1);
    struct tp_dump_measure m = measure(&tensor);
    cr_expect_eq(m.max, -INFINITY);
    cr_expect_eq(m.min, -INFINITY);
    cr_expect(isnan(m.mean));
    tensor = tensor_of(&memory, TP_FLOAT32, 0, 3);
    tensor.storage = NULL;
    m = measure(&tensor);
    cr_expect_eq(m.values, 0);
    cr_expect(isnan(m.max));
    cr_expect(m.has_crc);
    cr_expect_eq(m.crc, 0);
}

Test(dump_measure, complex_numbers_by_magnitude)
{
    const float z[] = {3, 4, -1, 0, 0.5f, -0.5f};
    struct memory memory = memory_of(z, sizeof z);
    struct tp_tensor tensor = tensor_of(&memory, TP_COMPLEX64, 3, -1);
    const struct tp_dump_measure m = measure(&tensor);
    cr_expect_eq(m.values, 3);
    cr_expect_eq(m.max, 5);
    cr_expect_float_eq(m.min, sqrt(0.5), 1e-15);
    cr_expect_float_eq(m.mean, (6 + sqrt(0.5)) / 3, 1e-15);
    cr_expect_eq(m.crc, 0x15fc54c6);
}

Test(dump_measure, bytes_in_the_order_of_indices)
{
    const float x[] = {0, 1, 2, 3, 4, 5};
    struct memory memory = memory_of(x, sizeof x);
    struct tp_tensor tensor = tensor_of(&memory, TP_FLOAT32, 2, 3);
    cr_expect_eq(measure(&tensor).crc, 0x91e79017);
    struct tp_tensor_axes *axes = axes_of(&tensor);
    axes->shape[0] = 3;
    axes->shape[1] = 2;
    axes->stride[0] = 1;
    axes->stride[1] = 3;
    const struct tp_dump_measure m = measure(&tensor);
    cr_expect_eq(m.crc, 0x5fcfa77a);
    cr_expect_eq(m.mean, 2.5);
}

Test(dump_measure, elements_that_repeat)
{
    const float two = 2;
    struct memory memory = memory_of(&two, sizeof two);
    struct tp_tensor tensor = tensor_of(&memory, TP_FLOAT32, 4, 3);
    struct tp_tensor_axes *axes = axes_of(&tensor);
    axes->stride[0] = axes->stride[1] = 0;
    struct tp_dump_measure m = measure(&tensor);
    cr_expect(m.has_crc);
    cr_expect_eq(m.crc, 0x0e4aa82d);
    cr_expect_float_eq(m.norm, sqrt(48), 1e-14);
    axes->shape[0] = INT64_C(1) << 40; /* no one writes 12 TB for a CRC */
    m = measure(&tensor);
    cr_expect_not(m.has_crc);
    cr_expect_eq(m.max, 2);
    cr_expect_eq(m.mean, 2);
}

Test(dump_measure, a_container_with_another_checksum)
{
    struct memory memory = memory_of("123456789", 9);
    struct tp_tensor tensor = tensor_of(&memory, TP_UINT8, 9, -1);
    struct tp_tensor_axes *axes = axes_of(&tensor);
    struct tp_dump_measure m;
    memory.storage.has_crc32 = true;
    memory.storage.crc32 = 0xcbf43926;
    cr_expect_eq(measure_by(1, &tensor, &m), TP_OK);
    memory.storage.crc_checked = false;
    memory.storage.crc32++;
    cr_expect_eq(measure_by(1, &tensor, &m), TP_E_DAMAGED);
    axes->shape[0] = 3; /* also of a part that is shown */
    cr_expect_eq(measure_by(1, &tensor, &m), TP_E_DAMAGED);
    axes->shape[0] = 2;
    axes->stride[0] = 4;
    cr_expect_eq(measure_by(1, &tensor, &m), TP_E_DAMAGED);
}
