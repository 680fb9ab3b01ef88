/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "data/tensor.h"
#include "tests/unit/support/made_axes.h"
#include "tests/unit/support/xorshift.h"

/*
 * The oracle is the definition of a strided view: the element at index
 * (i0, i1, ...) is storage[offset + i0 * stride0 + i1 * stride1 + ...].
 */

struct memory_storage {
    struct tp_storage storage; /* first, so that it can be cast back */
    const unsigned char *bytes;
    uint64_t reads, bytes_read;
};

static enum tp_status read_memory(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer,
                                  size_t length, struct tp_error *err)
{
    struct memory_storage *memory = (struct memory_storage *)storage;
    if (offset > storage->size || length > storage->size - offset) {
        return tp_fail(err, TP_E_DAMAGED, (int64_t)offset, "past the end");
    }
    memcpy(buffer, memory->bytes + offset, length);
    memory->reads++;
    memory->bytes_read += length;
    return TP_OK;
}

static struct memory_storage memory_storage(const void *bytes, size_t size)
{
    return (struct memory_storage){
        .storage = {.read = read_memory, .size = size, .file_offset = 1000},
        .bytes = bytes,
    };
}

static struct tp_tensor view(struct memory_storage *memory,
                             enum tp_dtype dtype, int ndim,
                             const int64_t *shape, const int64_t *stride,
                             int64_t offset)
{
    struct tp_tensor tensor = {
        .path = "",
        .dtype = dtype,
        .ndim = ndim,
        .offset = offset,
        .storage = &memory->storage,
    };
    struct tp_tensor_axes *axes = axes_of(&tensor);
    memcpy(axes->shape, shape, (size_t)ndim * sizeof *shape);
    memcpy(axes->stride, stride, (size_t)ndim * sizeof *stride);
    return tensor;
}

/* Place in the storage of the element with row-major number `k`. */
static int64_t place_of(const struct tp_tensor *tensor, int64_t k)
{
    int64_t place = tensor->offset;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        place += k % tensor->shape[i] * tensor->stride[i];
        k /= tensor->shape[i];
    }
    return place;
}

static enum tp_status check(struct tp_tensor tensor)
{
    struct tp_error err = {0};
    const enum tp_status status = tp_tensor_check(&tensor, &err);
    cr_assert(status == TP_OK || strlen(err.message) > 10);
    return status;
}

Test(tensor, check_finds_what_lies_outside)
{
    static const unsigned char bytes[48];
    struct memory_storage memory = memory_storage(bytes, sizeof bytes);
    const int64_t shape[] = {2, 3}, stride[] = {3, 1}, far[] = {10, 1};
    cr_assert_eq(check(view(&memory, TP_FLOAT64, 2, shape, stride, 0)),
                 TP_OK);
    cr_assert_eq(check(view(&memory, TP_FLOAT64, 2, shape, stride, 1)),
                 TP_E_DAMAGED);
    cr_assert_eq(check(view(&memory, TP_FLOAT32, 2, shape, stride, 6)),
                 TP_OK);
    cr_assert_eq(check(view(&memory, TP_FLOAT32, 2, shape, far, 0)),
                 TP_E_DAMAGED);
    cr_assert_eq(check(view(&memory, TP_FLOAT64, 0, shape, stride, 5)),
                 TP_OK);
    cr_assert_eq(check(view(&memory, TP_FLOAT64, 0, shape, stride, 6)),
                 TP_E_DAMAGED);
    cr_assert_eq(check(view(&memory, TP_FLOAT64, 0, shape, stride, -1)),
                 TP_E_DAMAGED);
    struct tp_tensor deep = view(&memory, TP_FLOAT64, 0, shape, stride, 0);
    deep.ndim = TP_LIMIT_DIMS + 1;
    cr_assert_eq(check(deep), TP_E_DAMAGED);
}

Test(tensor, check_survives_absurd_numbers)
{
    static const unsigned char bytes[4096];
    struct memory_storage memory = memory_storage(bytes, sizeof bytes);
    const int64_t big[] = {INT64_C(1) << 40, INT64_C(1) << 40};
    const int64_t zeros[] = {0, 0}, ones[] = {1, 1};
    const int64_t minus[] = {1, -1}, shape[] = {3, 3};
    const int64_t huge[] = {INT64_MAX, INT64_MAX};
    cr_assert_eq(check(view(&memory, TP_INT8, 2, big, zeros, 0)),
                 TP_E_DAMAGED);
    cr_assert_eq(check(view(&memory, TP_INT8, 2, shape, huge, 0)),
                 TP_E_DAMAGED);
    cr_assert_eq(check(view(&memory, TP_INT8, 1, ones, zeros, INT64_MAX)),
                 TP_E_DAMAGED);
    cr_assert_eq(check(view(&memory, TP_INT8, 2, shape, minus, 8)),
                 TP_E_UNSUPPORTED);
    cr_assert_eq(check(view(&memory, TP_INT8, 2, minus, ones, 0)),
                 TP_E_DAMAGED);
    /* 10^12 elements of one stored byte: legal, an expanded view. */
    cr_assert_eq(check(view(&memory, TP_INT8, 1, big, zeros, 0)), TP_OK);
    /* The same number from 2047 bytes by sliding: refused. */
    const int64_t slide[] = {1024, 1024, 1 << 20};
    const int64_t by_one[] = {1, 1, 0};
    cr_assert_eq(check(view(&memory, TP_INT8, 3, slide, by_one, 0)), TP_OK);
    const int64_t slides[] = {1024, 1024, 1024, 1024};
    const int64_t by_ones[] = {1, 1, 1, 1};
    cr_assert_eq(check(view(&memory, TP_INT8, 4, slides, by_ones, 0)),
                 TP_E_LIMIT);
    /* An empty tensor asks nothing of its storage. */
    struct tp_tensor empty = view(&memory, TP_INT8, 2, zeros, huge, 9999999);
    empty.storage = NULL;
    cr_assert_eq(check(empty), TP_OK);
}

Test(tensor, an_expanded_view_is_counted_not_walked)
{
    static const unsigned char bytes[2] = {1, 2};
    struct memory_storage memory = memory_storage(bytes, sizeof bytes);
    const int64_t shape[] = {1000000, 1000000000}, stride[] = {0, 0};
    struct tp_tensor tensor =
        view(&memory, TP_BFLOAT16, 2, shape, stride, 0);
    cr_assert_eq(tp_tensor_check(&tensor, NULL), TP_OK);
    cr_assert_eq(tensor.numel, INT64_C(1000000000000000));
    struct tp_walk walk;
    tp_walk_any_order(&tensor, &walk);
    cr_assert_eq(walk.count, 1);
    cr_assert_eq(walk.repeat, UINT64_C(1000000000000000));
    cr_assert(walk.dense);
    tp_walk_ordered(&tensor, &walk);
    cr_assert_eq(walk.count, INT64_C(1000000000000000));
    static unsigned char scratch[TP_CHUNK_BYTES];
    unsigned char codes[6] = {0};
    cr_assert_eq(tp_walk_read(&walk, walk.count - 3, 3, codes, scratch, NULL),
                 TP_OK);
    cr_assert_arr_eq(codes, ((unsigned char[]){1, 2, 1, 2, 1, 2}), 6);
}

static const enum tp_dtype by_size[] = {
    TP_INT8, TP_BFLOAT16, TP_FLOAT32, TP_FLOAT64, TP_COMPLEX128,
};

/* A random view: axes permuted, stepped, expanded or overlapping. */
static struct tp_tensor random_view(uint64_t *state,
                                    struct memory_storage *memory)
{
    struct tp_tensor tensor = {.path = "", .storage = &memory->storage};
    tensor.dtype = by_size[xorshift(state) % 5];
    tensor.ndim = (int)(xorshift(state) % 6);
    tensor.offset = (int64_t)(xorshift(state) % 100);
    int order[6] = {0, 1, 2, 3, 4, 5};
    for (int i = tensor.ndim - 1; i > 0; i--) {
        const int j = (int)(xorshift(state) % (unsigned)(i + 1));
        const int kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    int64_t stride = 1;
    struct tp_tensor_axes *axes = axes_of(&tensor);
    for (int i = 0; i < tensor.ndim; i++) {
        const int axis = order[i];
        axes->shape[axis] = 1 + (int64_t)(xorshift(state) % 9);
        const int step = (int)(xorshift(state) % 8);
        axes->stride[axis] = step == 0   ? 0
                              : step == 1 ? stride * 3
                              : step == 2 ? (stride + 1) / 2
                                          : stride;
        stride = axes->stride[axis] ? axes->stride[axis] * axes->shape[axis]
                                    : stride;
    }
    return tensor;
}

static void fill(unsigned char *bytes, size_t n)
{
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (unsigned char)(xorshift(&state) >> 20);
    }
}

enum { STORAGE_BYTES = 4 << 20 };

/* Reads the walk in random pieces; the caller releases the result. */
static unsigned char *read_in_pieces(const struct tp_walk *walk,
                                     uint64_t *state)
{
    static unsigned char scratch[TP_CHUNK_BYTES];
    const size_t size = tp_dtype_info(walk->tensor->dtype)->size;
    unsigned char *codes = malloc((size_t)walk->count * size + 1);
    for (int64_t done = 0; done < walk->count;) {
        int64_t n = 1 + (int64_t)(xorshift(state) % (uint64_t)walk->count);
        n = n > walk->count - done ? walk->count - done : n;
        cr_assert_eq(tp_walk_read(walk, done, (size_t)n,
                                  codes + (size_t)done * size, scratch, NULL),
                     TP_OK);
        done += n;
    }
    return codes;
}

Test(tensor, ordered_walks_follow_the_definition)
{
    static unsigned char bytes[STORAGE_BYTES];
    fill(bytes, sizeof bytes);
    struct memory_storage memory = memory_storage(bytes, sizeof bytes);
    uint64_t state = 1;
    int seen = 0;
    for (int round = 0; round < 3000; round++) {
        struct tp_tensor tensor = random_view(&state, &memory);
        if (tp_tensor_check(&tensor, NULL) != TP_OK) {
            continue;
        }
        seen++;
        const size_t size = tp_dtype_info(tensor.dtype)->size;
        struct tp_walk walk;
        tp_walk_ordered(&tensor, &walk);
        cr_assert_eq(walk.count, tensor.numel);
        unsigned char *codes = read_in_pieces(&walk, &state);
        for (int64_t k = 0; k < tensor.numel; k++) {
            const size_t place = (size_t)place_of(&tensor, k);
            cr_assert_arr_eq(codes + (size_t)k * size, bytes + place * size,
                             size);
        }
        free(codes);
    }
    cr_assert_gt(seen, 2500);
}

static int compare_u8(const void *a, const void *b)
{
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

Test(tensor, any_order_walks_visit_the_same_elements)
{
    static unsigned char bytes[STORAGE_BYTES];
    fill(bytes, sizeof bytes);
    struct memory_storage memory = memory_storage(bytes, sizeof bytes);
    uint64_t state = 5;
    for (int round = 0; round < 1000; round++) {
        struct tp_tensor tensor = random_view(&state, &memory);
        tensor.dtype = TP_INT8;
        if (tp_tensor_check(&tensor, NULL) != TP_OK) {
            continue;
        }
        struct tp_walk walk;
        tp_walk_any_order(&tensor, &walk);
        const size_t repeat = walk.repeat;
        cr_assert_eq((size_t)walk.count * repeat, (size_t)tensor.numel);
        unsigned char *codes = read_in_pieces(&walk, &state);
        unsigned char *expected = malloc((size_t)tensor.numel);
        for (int64_t k = 0; k < tensor.numel; k++) {
            expected[k] = bytes[place_of(&tensor, k)];
        }
        qsort(codes, (size_t)walk.count, 1, compare_u8);
        qsort(expected, (size_t)tensor.numel, 1, compare_u8);
        for (size_t k = 0; k < (size_t)tensor.numel; k++) {
            cr_assert_eq(codes[k / repeat], expected[k]);
        }
        free(expected);
        free(codes);
    }
}

/* Checks that element (o, i, c) of the walk belongs to one line per (o, c)
 * of the original tensor, at place i. Bytes of the storage are numbers. */
static void check_lines(const struct tp_tensor *tensor, int axis,
                        uint64_t *state)
{
    struct tp_walk walk;
    struct tp_lines lines;
    tp_walk_any_order(tensor, &walk);
    tp_walk_lines(tensor, axis, &lines);
    cr_assert_eq(lines.outer * lines.length * lines.inner, walk.count);
    cr_assert_eq(lines.length * lines.constant, tensor->shape[axis]);
    int32_t *codes = (int32_t *)(void *)read_in_pieces(&walk, state);
    for (int64_t o = 0; o < lines.outer; o++) {
        for (int64_t c = 0; c < lines.inner; c++) {
            const int64_t first = o * lines.length * lines.inner + c;
            for (int64_t i = 0; i < lines.length; i++) {
                cr_assert_eq(codes[first + i * lines.inner] - codes[first],
                             i * tensor->stride[axis]);
            }
        }
    }
    free(codes);
}

Test(tensor, lines_lie_where_they_are_said_to)
{
    static int32_t numbers[STORAGE_BYTES / 4];
    for (int i = 0; i < STORAGE_BYTES / 4; i++) {
        numbers[i] = i;
    }
    struct memory_storage memory = memory_storage(numbers, sizeof numbers);
    uint64_t state = 7;
    for (int round = 0; round < 1000; round++) {
        struct tp_tensor tensor = random_view(&state, &memory);
        tensor.dtype = TP_INT32;
        if (tp_tensor_check(&tensor, NULL) == TP_OK && tensor.ndim > 0) {
            check_lines(&tensor, (int)(xorshift(&state) % tensor.ndim), &state);
        }
    }
}

/* Bytes of the storage are numbers. */
static void check_cover(const struct tp_walk *walk, int64_t first, int64_t n)
{
    static unsigned char scratch[TP_CHUNK_BYTES];
    int32_t *codes = malloc((size_t)n * sizeof *codes);
    int64_t begin, end, least = INT64_MAX, most = 0;
    tp_walk_cover(walk, first, n, &begin, &end);
    cr_assert_eq(tp_walk_read(walk, first, (size_t)n, codes, scratch, NULL),
                 TP_OK);
    for (int64_t i = 0; i < n; i++) {
        least = codes[i] < least ? codes[i] : least;
        most = codes[i] > most ? codes[i] : most;
    }
    cr_assert(begin <= least && most < end);
    cr_assert(begin >= walk->tensor->offset);
    cr_assert_leq((uint64_t)end * 4, walk->tensor->storage->size);
    if (walk->dense || n == 1 || n == walk->count) {
        cr_assert_eq(begin, least);
        cr_assert_eq(end, most + 1);
    }
    free(codes);
}

Test(tensor, a_cover_holds_its_elements)
{
    static int32_t numbers[STORAGE_BYTES / 4];
    for (int i = 0; i < STORAGE_BYTES / 4; i++) {
        numbers[i] = i;
    }
    struct memory_storage memory = memory_storage(numbers, sizeof numbers);
    uint64_t state = 11;
    for (int round = 0; round < 3000; round++) {
        struct tp_tensor tensor = random_view(&state, &memory);
        struct tp_walk walk;
        tensor.dtype = TP_INT32;
        if (tp_tensor_check(&tensor, NULL) != TP_OK) {
            continue;
        }
        tp_walk_any_order(&tensor, &walk);
        const uint64_t count = (uint64_t)walk.count;
        const int64_t first = (int64_t)(xorshift(&state) % count);
        const int64_t left = walk.count - first;
        check_cover(&walk, first,
                    1 + (int64_t)(xorshift(&state) % (uint64_t)left));
        check_cover(&walk, first, 1);
        check_cover(&walk, 0, walk.count);
    }
}

Test(tensor, a_large_transposed_view_is_read_in_few_pieces)
{
    static uint16_t numbers[STORAGE_BYTES / 2];
    for (int i = 0; i < STORAGE_BYTES / 2; i++) {
        numbers[i] = (uint16_t)(i * 7 ^ i >> 5);
    }
    struct memory_storage memory = memory_storage(numbers, sizeof numbers);
    /* 2048 x 1024, stored column by column */
    const int64_t shape[] = {2048, 1024}, stride[] = {1, 2048};
    struct tp_tensor tensor =
        view(&memory, TP_BFLOAT16, 2, shape, stride, 0);
    cr_assert_eq(tp_tensor_check(&tensor, NULL), TP_OK);
    struct tp_walk walk;
    tp_walk_any_order(&tensor, &walk);
    cr_assert(walk.dense);
    tp_walk_ordered(&tensor, &walk);
    cr_assert(!walk.dense);
    static unsigned char scratch[TP_CHUNK_BYTES];
    static uint16_t codes[512 * 1024];
    const int64_t first = 100 * 1024 + 17; /* not at a row's begin */
    cr_assert_eq(tp_walk_read(&walk, first, 512 * 1024, codes, scratch, NULL),
                 TP_OK);
    for (int64_t k = 0; k < 512 * 1024; k++) {
        cr_assert_eq(codes[k], numbers[place_of(&tensor, first + k)]);
    }
    cr_assert_lt(memory.reads, 20);
}

/* Reads the whole view at once, and in random pieces. */
static void check_long_lines(const struct tp_tensor *tensor,
                             const unsigned char *bytes)
{
    struct tp_walk walk;
    tp_walk_ordered(tensor, &walk);
    static unsigned char scratch[TP_CHUNK_BYTES];
    unsigned char *whole = malloc((size_t)tensor->numel);
    cr_assert_eq(tp_walk_read(&walk, 0, (size_t)tensor->numel, whole,
                              scratch, NULL),
                 TP_OK);
    uint64_t state = 11;
    unsigned char *pieces = read_in_pieces(&walk, &state);
    for (int64_t k = 0; k < tensor->numel; k++) {
        cr_assert_eq(whole[k], bytes[place_of(tensor, k)]);
        cr_assert_eq(pieces[k], whole[k]);
    }
    free(pieces);
    free(whole);
}

Test(tensor, lines_longer_than_the_scratch_are_read_in_groups)
{
    static unsigned char bytes[STORAGE_BYTES];
    fill(bytes, sizeof bytes);
    struct memory_storage memory = memory_storage(bytes, sizeof bytes);
    const int64_t shape[] = {2, 700000};
    const int64_t apart[] = {1400001, 2}, overlapping[] = {1000, 2};
    struct tp_tensor tensor = view(&memory, TP_INT8, 2, shape, apart, 3);
    cr_assert_eq(tp_tensor_check(&tensor, NULL), TP_OK);
    check_long_lines(&tensor, bytes);
    tensor = view(&memory, TP_INT8, 2, shape, overlapping, 3);
    cr_assert_eq(tp_tensor_check(&tensor, NULL), TP_OK);
    check_long_lines(&tensor, bytes);
}

Test(tensor, a_small_view_does_not_read_its_storage)
{
    static unsigned char bytes[STORAGE_BYTES];
    struct memory_storage memory = memory_storage(bytes, sizeof bytes);
    const int64_t shape[] = {4, 3}, stride[] = {1 << 18, 1};
    struct tp_tensor tensor = view(&memory, TP_INT32, 2, shape, stride, 5);
    cr_assert_eq(tp_tensor_check(&tensor, NULL), TP_OK);
    struct tp_walk walk;
    tp_walk_any_order(&tensor, &walk);
    static unsigned char scratch[TP_CHUNK_BYTES];
    int32_t codes[12];
    cr_assert_eq(tp_walk_read(&walk, 0, 12, codes, scratch, NULL), TP_OK);
    cr_assert_leq(memory.bytes_read, 48);
}

Test(tensor, foreign_byte_order_signs_and_conjugation)
{
    static const unsigned char big[] = {
        0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0, /* 1 - 2i */
        0x40, 0x40, 0, 0, 0x40, 0x80, 0, 0, /* 3 + 4i */
    };
    struct memory_storage memory = memory_storage(big, sizeof big);
    memory.storage.big_endian = true;
    const int64_t shape[] = {2}, stride[] = {1};
    struct tp_tensor tensor =
        view(&memory, TP_COMPLEX64, 1, shape, stride, 0);
    cr_assert_eq(tp_tensor_check(&tensor, NULL), TP_OK);
    float parts[4];
    struct tp_walk walk;
    tp_walk_ordered(&tensor, &walk);
    cr_assert_eq(tp_walk_read(&walk, 0, 2, parts, NULL, NULL), TP_OK);
    cr_assert_arr_eq(parts, ((float[]){1, -2, 3, 4}), sizeof parts);
    tensor.conjugated = true;
    cr_assert_eq(tp_walk_read(&walk, 0, 2, parts, NULL, NULL), TP_OK);
    cr_assert_arr_eq(parts, ((float[]){1, 2, 3, -4}), sizeof parts);
    tensor.negated = true;
    cr_assert_eq(tp_walk_read(&walk, 0, 2, parts, NULL, NULL), TP_OK);
    cr_assert_arr_eq(parts, ((float[]){-1, -2, -3, 4}), sizeof parts);
}

Test(tensor, negation_of_integers_and_of_formats_without_minus_zero)
{
    const int16_t numbers[] = {0, 1, -300, INT16_MIN};
    struct memory_storage memory = memory_storage(numbers, sizeof numbers);
    const int64_t shape[] = {4}, stride[] = {1};
    struct tp_tensor tensor = view(&memory, TP_INT16, 1, shape, stride, 0);
    tensor.negated = true;
    cr_assert_eq(tp_tensor_check(&tensor, NULL), TP_OK);
    struct tp_walk walk;
    tp_walk_ordered(&tensor, &walk);
    int16_t codes[4];
    cr_assert_eq(tp_walk_read(&walk, 0, 4, codes, NULL, NULL), TP_OK);
    cr_assert_arr_eq(codes, ((int16_t[]){0, -1, 300, INT16_MIN}), 8);
    static const unsigned char fnuz[] = {0x00, 0x80, 0x12, 0x92};
    memory = memory_storage(fnuz, sizeof fnuz);
    tensor.dtype = TP_FLOAT8_E4M3FNUZ;
    unsigned char bytes[4];
    cr_assert_eq(tp_walk_read(&walk, 0, 4, bytes, NULL, NULL), TP_OK);
    cr_assert_arr_eq(bytes, ((unsigned char[]){0, 0x80, 0x92, 0x12}), 4);
}

Test(tensor, a_storage_that_ends_early_is_an_error_not_a_crash)
{
    static const unsigned char bytes[64];
    struct memory_storage memory = memory_storage(bytes, sizeof bytes);
    const int64_t shape[] = {4, 4}, stride[] = {1, 4};
    struct tp_tensor tensor = view(&memory, TP_FLOAT32, 2, shape, stride, 0);
    cr_assert_eq(tp_tensor_check(&tensor, NULL), TP_OK);
    memory.storage.size = 60; /* as if the file had shrunk since */
    struct tp_walk walk;
    tp_walk_ordered(&tensor, &walk);
    static unsigned char scratch[TP_CHUNK_BYTES];
    float codes[16];
    struct tp_error err = {0};
    cr_assert_eq(tp_walk_read(&walk, 0, 16, codes, scratch, &err),
                 TP_E_DAMAGED);
}
