/* SPDX-License-Identifier: MIT */
/*
 * Tensors in memory, stored in all kinds of layouts, are read in the order of
 * memory and told by the axes of the tensor; any number of jobs finds the same.
 */
#include "damage/damage_scan.h"

#include "damage/damage_shape.h"
#include "tests/unit/support/damaged.h"
#include "tests/unit/support/made_axes.h"

struct memory {
    struct tp_storage storage; /* first */
    unsigned char *bytes;
    uint64_t refuse; /* reads beyond this offset fail; 0: none does */
};

static enum tp_status read_memory(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer, size_t length,
                                  struct tp_error *err)
{
    const struct memory *memory = (const struct memory *)storage;
    cr_assert(offset <= storage->size && length <= storage->size - offset);
    if (memory->refuse && offset + length > memory->refuse)
        return tp_fail(err, TP_E_DAMAGED, (int64_t)offset, "cut");
    memcpy(buffer, memory->bytes + offset, length);
    return TP_OK;
}

/* A tensor of noise; axes lie in the storage in the order `places`, the slowest
 * first (NULL: row-major). To be freed: memory->bytes. */
static struct tp_tensor make(enum tp_dtype dtype, int ndim,
                             const int64_t *shape, const int *places,
                             struct memory *memory)
{
    struct tp_tensor tensor = {.path = "",
                               .dtype = dtype,
                               .ndim = ndim,
                               .storage = &memory->storage,
                               .numel = 1};
    struct tp_tensor_axes *axes = axes_of(&tensor);
    for (int i = ndim - 1; i >= 0; i--) {
        const int axis = places ? places[i] : i;
        axes->shape[axis] = shape[axis];
        axes->stride[axis] = tensor.numel;
        tensor.numel *= shape[axis];
    }
    const size_t size = tp_dtype_info(dtype)->size;
    *memory = (struct memory){.storage = {.read = read_memory,
                                          .size = (uint64_t)tensor.numel * size,
                                          .file_offset = -1}};
    memory->bytes = malloc(memory->storage.size);
    cr_assert_not_null(memory->bytes);
    uint64_t seed = 4711;
    for (uint64_t i = 0; i < memory->storage.size; i++)
        memory->bytes[i] = (unsigned char)(damaged_noise(&seed) % 32 + 1);
    return tensor;
}

/* Flips all bits of an element, given by its indices. */
static void flip(const struct tp_tensor *tensor, const int64_t *indices)
{
    const struct memory *memory = (const struct memory *)tensor->storage;
    const size_t size = tp_dtype_info(tensor->dtype)->size;
    int64_t at = tensor->offset;
    for (int i = 0; i < tensor->ndim; i++)
        at += indices[i] * tensor->stride[i];
    for (size_t k = 0; k < size; k++)
        memory->bytes[(size_t)at * size + k] ^= 0x55;
}

struct result {
    enum tp_status status;
    struct tp_damage_found found;
    struct tp_damage_shape shape;
    struct tp_text text;
};

/* Of a pair; or of one tensor and its NaN. */
static void scan(const struct tp_tensor *x, const struct tp_tensor *y,
                 unsigned jobs, struct result *result)
{
    struct tp_pool *pool;
    struct tp_readers readers;
    struct tp_error err;
    memset(result, 0, sizeof *result);
    cr_assert_eq(tp_pool_new(jobs, &pool, NULL), TP_OK);
    cr_assert_eq(tp_readers_init(&readers, pool, NULL), TP_OK);
    struct tp_damage_found *found = &result->found;
    result->status =
        y ? tp_damage_scan_pair(&readers, 0, x, y, found, &err)
          : tp_damage_scan(&readers, 0, x, TP_DAMAGE_NAN, found, &err);
    if (result->status == TP_OK) {
        tp_damage_shape_find(&found->plan, &found->damage, found->cells, NULL,
                             &result->shape);
        tp_damage_tell(&found->plan, &found->damage, &result->shape,
                       &result->text);
    }
    tp_readers_clear(&readers);
    tp_pool_free(pool);
}

static void clear(struct result *result)
{
    tp_damage_found_clear(&result->found);
    tp_text_clear(&result->text);
}

static void expect_words(const struct tp_tensor *x, const struct tp_tensor *y,
                         const char *words)
{
    for (unsigned jobs = 1; jobs < 4; jobs++) {
        struct result result;
        scan(x, y, jobs, &result);
        cr_assert_eq(result.status, TP_OK);
        cr_expect_str_eq(tp_text_get(&result.text), words);
        clear(&result);
    }
}

/* The third and fourth index of the last axis of three, in any layout of
 * either tensor. */
Test(damage_scan, layouts)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int64_t shape[3] = {12, 5, 33};
    for (int i = 0; i < 36; i++) {
        struct memory left, right;
        const struct tp_tensor x =
            make(TP_FLOAT16, 3, shape, orders[i / 6], &left);
        const struct tp_tensor y =
            make(TP_FLOAT16, 3, shape, orders[i % 6], &right);
        int64_t at[3];
        for (at[0] = 0; at[0] < 12; at[0]++)
            for (at[1] = 0; at[1] < 5; at[1]++)
                for (at[2] = 0; at[2] < 33; at[2]++) {
                    int64_t from = 0, to = 0;
                    for (int k = 0; k < 3; k++) {
                        from += at[k] * x.stride[k];
                        to += at[k] * y.stride[k];
                    }
                    memcpy(right.bytes + 2 * to, left.bytes + 2 * from, 2);
                    if (at[2] == 3 || at[2] == 4)
                        flip(&y, at);
                }
        expect_words(&x, &y,
                     "columns 3 and 4 of 33 along axis 2: 120 elements, other "
                     "values");
        free(left.bytes);
        free(right.bytes);
    }
}

/* Several ranges of 16 MiB: a stretch across the first border, the rest far
 * behind it. */
Test(damage_scan, ranges)
{
    struct memory left, right;
    const int64_t shape[2] = {5000, 8192};
    const struct tp_tensor x = make(TP_INT8, 2, shape, NULL, &left);
    const struct tp_tensor y = make(TP_INT8, 2, shape, NULL, &right);
    const int64_t border = INT64_C(16) << 20;
    for (int64_t i = border - 1000; i < border + 3096; i++)
        right.bytes[i] ^= 0x55;
    expect_words(&x, &y,
                 "elements 16776216 to 16780311 of 40960000 in memory, 4096 "
                 "bytes or 1 page of 4096: 4096 elements, other values");
    for (int64_t i = border - 1000; i < border + 3096; i++)
        right.bytes[i] ^= 0x55;
    for (int64_t i = 0; i < 5000; i++)
        right.bytes[i * 8192 + 8191] ^= 0x55;
    expect_words(&x, &y,
                 "column 8191 of 8192 along axis 1: 5000 elements, other "
                 "values");
    free(left.bytes);
    free(right.bytes);
}

Test(damage_scan, one_tensor)
{
    struct memory memory;
    const int64_t shape[2] = {40, 50}, at[2] = {7, 9};
    const struct tp_tensor x = make(TP_FLOAT32, 2, shape, NULL, &memory);
    const float nan = __builtin_nanf("");
    memcpy(memory.bytes + (at[0] * 50 + at[1]) * 4, &nan, 4);
    expect_words(&x, NULL, "element [7,9]: 1 element, NaN");
    free(memory.bytes);
}

/* What is stored once and seen many times counts as often. */
Test(damage_scan, expanded)
{
    struct memory memory;
    const int64_t shape[2] = {64, 50};
    struct tp_tensor x = make(TP_FLOAT32, 2, shape, NULL, &memory);
    const float nan = __builtin_nanf("");
    for (int64_t i = 0; i < 64; i++)
        memcpy(memory.bytes + (i * 50 + 9) * 4, &nan, 4);
    x.ndim = 3;
    x.numel *= 8;
    struct tp_tensor_axes *axes = axes_of(&x);
    axes->shape[2] = 8;
    axes->stride[2] = 0;
    expect_words(&x, NULL,
                 "index 9 of 50 along axis 1: 512 elements, all of them NaN");
    free(memory.bytes);
}

/* The imaginary parts of a row: an axis of their own. */
Test(damage_scan, complex)
{
    struct memory left, right;
    const int64_t shape[2] = {40, 64};
    const struct tp_tensor x = make(TP_COMPLEX64, 2, shape, NULL, &left);
    const struct tp_tensor y = make(TP_COMPLEX64, 2, shape, NULL, &right);
    for (size_t i = 0; i < 40 * 64; i++)
        right.bytes[8 * i + 5] ^= 0x55;
    expect_words(&x, &y,
                 "column 1 of 2 along axis 2: 2560 elements, other values");
    free(left.bytes);
    free(right.bytes);
}

Test(damage_scan, failures)
{
    struct memory left, right;
    const int64_t shape[2] = {400, 640}, other[2] = {640, 400};
    const struct tp_tensor x = make(TP_FLOAT32, 2, shape, NULL, &left);
    const struct tp_tensor y = make(TP_FLOAT32, 2, other, NULL, &right);
    struct result result;
    scan(&x, &y, 1, &result);
    cr_expect_eq(result.status, TP_E_UNSUPPORTED);
    clear(&result);
    left.refuse = 600000;
    scan(&x, NULL, 2, &result);
    cr_expect_eq(result.status, TP_E_DAMAGED);
    clear(&result);
    left.refuse = 0; /* nothing is left of it in the readers */
    scan(&x, NULL, 2, &result);
    cr_expect_eq(result.status, TP_OK);
    cr_expect_str_eq(tp_text_get(&result.text), "no element");
    clear(&result);
    free(left.bytes);
    free(right.bytes);
}
