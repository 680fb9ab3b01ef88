/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_DEVICE_SCAN_H
#define TP_TESTS_DEVICE_SCAN_H

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "cuda/device.h"
#include "scan/scan.h"
#include "tests/unit/support/made_axes.h"

/*
 * Tensors in memory, and whether scans of them with a device and without give
 * the same bits.
 */

struct memory {
    struct tp_storage storage; /* first */
    unsigned char *bytes;
    uint64_t damaged; /* reading this byte fails; 0: none                 */
};

static inline enum tp_status memory_read(const struct tp_storage *storage,
                                         uint64_t offset, void *buffer,
                                         size_t length, struct tp_error *err)
{
    const struct memory *memory = (const void *)storage;
    cr_assert(offset <= storage->size && length <= storage->size - offset);
    if (memory->damaged && memory->damaged - offset < length)
        return tp_fail(err, TP_E_DAMAGED, (int64_t)offset, "%zu bytes at %llu",
                       length, (unsigned long long)offset);
    memcpy(buffer, memory->bytes + offset, length);
    return TP_OK;
}

/* Bytes not yet written; freed by the caller. */
static inline struct memory memory_new(uint64_t size)
{
    struct memory memory = {
        .storage = {.read = memory_read, .size = size, .file_offset = 64}};
    memory.bytes = malloc(size);
    cr_assert_not_null(memory.bytes);
    return memory;
}

/* How a tensor lies in its storage. */
enum view {
    WHOLE,
    TURNED, /* last two axes exchanged                                   */
    SPREAD, /* first axis of stride 0                                    */
    SLICED, /* part of each row of twice as many, but for the first one  */
    SPARSE  /* every ninth of a row                                      */
};

/* How many times the view the storage is. */
static inline uint64_t view_room(enum view view)
{
    return view == SPARSE ? 9 : view == SLICED ? 2 : 1;
}

/* A view of `memory`, which holds shape[ndim]. */
static inline struct tp_tensor memory_tensor(struct memory *memory,
                                             enum tp_dtype dtype, int ndim,
                                             const int64_t *shape,
                                             enum view view)
{
    struct tp_tensor tensor = {
        .path = "", .dtype = dtype, .ndim = ndim, .storage = &memory->storage};
    struct tp_error err = {.code = TP_OK};
    struct tp_tensor_axes *axes = axes_of(&tensor);
    int64_t stride = view == SPARSE ? 9 : 1;
    for (int i = ndim - 1; i >= 0; i--) {
        axes->shape[i] = shape[i];
        axes->stride[i] = stride;
        stride *= shape[i];
        if (i == ndim - 1 && view == SLICED)
            stride *= 2;
    }
    tensor.offset = view == SLICED;
    if (view == SPREAD)
        axes->stride[0] = 0;
    if (view == TURNED) {
        int i = ndim - 2, j = ndim - 1;
        int64_t length = axes->shape[i], step = axes->stride[i];
        axes->shape[i] = axes->shape[j];
        axes->stride[i] = axes->stride[j];
        axes->shape[j] = length;
        axes->stride[j] = step;
    }
    cr_assert_eq(tp_tensor_check(&tensor, &err), TP_OK, "%s", err.message);
    return tensor;
}

/* Everything a scan gives. All-zero is empty. */
struct answer {
    struct tp_scan_result result;
    struct tp_quant_error errors[TP_SCAN_SPECS];
    struct tp_dims_room dims;
};

/* Scans into `answer`, whose parts the request then points to: casts, and
 * statistics by index if indices are to be kept. */
static inline enum tp_status scan_into(struct tp_scanner *scanner,
                                       struct tp_tensor *tensor,
                                       struct tp_scan_request *request,
                                       struct answer *answer,
                                       struct tp_error *err)
{
    tp_dims_clear(&answer->dims);
    memset(answer, 0, sizeof *answer);
    request->errors = answer->errors;
    request->dims = request->dims_keep ? &answer->dims : NULL;
    return tp_scan(scanner, tensor, request, &answer->result, err);
}

static inline void assert_same_dims(const struct tp_dims *a,
                                    const struct tp_dims *b, const char *what,
                                    size_t number)
{
    cr_assert_eq(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        struct tp_dim_axis one = a->axes[i], other = b->axes[i];
        cr_assert_eq(one.kept, other.kept, "%s %zu: axis %zu", what, number, i);
        cr_assert_eq(
            memcmp(one.worst, other.worst, one.kept * sizeof *one.worst), 0,
            "%s %zu: indices of axis %zu differ", what, number, i);
        one.worst = other.worst = NULL;
        cr_assert_eq(memcmp(&one, &other, sizeof one), 0,
                     "%s %zu: axis %zu differs", what, number, i);
    }
}

/* Bit for bit. */
static inline void assert_same_answer(const struct answer *a,
                                      const struct answer *b, const char *what,
                                      size_t number)
{
    cr_assert_eq(memcmp(&a->result, &b->result, sizeof a->result), 0,
                 "%s %zu: results differ", what, number);
    for (size_t i = 0; i < TP_SCAN_SPECS; i++)
        cr_assert_eq(memcmp(&a->errors[i], &b->errors[i], sizeof a->errors[i]),
                     0, "%s %zu: cast %zu differs", what, number, i);
    assert_same_dims(&a->dims.dims, &b->dims.dims, what, number);
}

/* As scans want it; NULL and a reason where there is none. */
static inline struct tp_device_session *open_device(unsigned lanes,
                                                    uint64_t memory,
                                                    char *reason)
{
    struct tp_device_options how = tp_scan_device_options(lanes);
    how.memory = memory;
    return tp_device_open(&how, reason);
}

#endif
