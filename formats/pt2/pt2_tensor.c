/* SPDX-License-Identifier: MIT */
#include "formats/pt2/pt2_tensor.h"
#include "data/tensor_axes.h"

#include <inttypes.h>

/* torch.export's schema, version 8: torch/_export/serde/schema.py. */
enum { SCALAR_TYPES = 36, STRIDED = 7 };

#define NO_DTYPE TP_DTYPE_COUNT

static enum tp_dtype dtype_of(int64_t number)
{
    static const uint8_t dtypes[SCALAR_TYPES] = {
        [0] = NO_DTYPE,
        [1] = TP_UINT8,
        [2] = TP_INT8,
        [3] = TP_INT16,
        [4] = TP_INT32,
        [5] = TP_INT64,
        [6] = TP_FLOAT16,
        [7] = TP_FLOAT32,
        [8] = TP_FLOAT64,
        [9] = TP_COMPLEX32,
        [10] = TP_COMPLEX64,
        [11] = TP_COMPLEX128,
        [12] = TP_BOOL,
        [13] = TP_BFLOAT16,
        /* between are what torch has no tensors of in such archives */
        [14] = NO_DTYPE,
        [15] = NO_DTYPE,
        [16] = NO_DTYPE,
        [17] = NO_DTYPE,
        [18] = NO_DTYPE,
        [19] = NO_DTYPE,
        [20] = NO_DTYPE,
        [21] = NO_DTYPE,
        [22] = NO_DTYPE,
        [23] = NO_DTYPE,
        [24] = NO_DTYPE,
        [25] = NO_DTYPE,
        [26] = NO_DTYPE,
        [27] = NO_DTYPE,
        [28] = TP_UINT16,
        [29] = TP_FLOAT8_E4M3FN,
        [30] = TP_FLOAT8_E5M2,
        [31] = TP_FLOAT8_E4M3FNUZ,
        [32] = TP_FLOAT8_E5M2FNUZ,
        [33] = TP_FLOAT8_E8M0FNU,
        [34] = TP_UINT32,
        [35] = TP_UINT64,
    };
    return number < 0 || number >= SCALAR_TYPES ? NO_DTYPE
                                                : (enum tp_dtype)dtypes[number];
}

static bool is_integer(const struct tp_json *value)
{
    return value && value->kind == TP_JSON_INTEGER;
}

/* The number of {"as_int": n}. */
static enum tp_status read_int(const struct tp_json *value, const char *what,
                               int64_t *number, struct tp_error *err)
{
    const struct tp_json *known = tp_json_member(value, "as_int");
    if (is_integer(known)) {
        *number = known->integer;
        return TP_OK;
    }
    if (tp_json_member(value, "as_expr"))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its %s is symbolic: the program leaves it open", what);
    return tp_fail(err, TP_E_DAMAGED, -1, "its %s is no integer", what);
}

static enum tp_status read_list(const struct tp_json *list, const char *what,
                                int64_t dims[TP_LIMIT_DIMS], int *count,
                                struct tp_error *err)
{
    if (!list || list->kind != TP_JSON_LIST)
        return tp_fail(err, TP_E_DAMAGED, -1, "its %s is no list", what);
    if (list->count > TP_LIMIT_DIMS)
        return tp_fail(err, TP_E_LIMIT, -1, "it has %zu dimensions",
                       list->count);
    enum tp_status status = TP_OK;
    *count = 0;
    for (const struct tp_json *item = list->first; item && status == TP_OK;
         item = item->next)
        status = read_int(item, what, &dims[(*count)++], err);
    return status;
}

static enum tp_status read_kind(const struct tp_json *meta,
                                struct tp_tensor *tensor, struct tp_error *err)
{
    const struct tp_json *dtype = tp_json_member(meta, "dtype");
    const struct tp_json *layout = tp_json_member(meta, "layout");
    if (!is_integer(dtype))
        return tp_fail(err, TP_E_DAMAGED, -1, "its dtype is no integer");
    tensor->dtype = dtype_of(dtype->integer);
    if (tensor->dtype == NO_DTYPE)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its dtype is number %" PRId64
                       " of torch.export's schema, which is not read",
                       dtype->integer);
    if (is_integer(layout) && layout->integer != STRIDED)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its layout is number %" PRId64
                       " of torch.export's schema; strided tensors are read",
                       layout->integer);
    return TP_OK;
}

enum tp_status tp_pt2_tensor_read(const struct tp_json *meta,
                                  struct tp_arena *arena,
                                  struct tp_tensor *tensor,
                                  struct tp_error *err)
{
    struct tp_tensor_axes axes;
    int strides = 0;
    if (!meta || meta->kind != TP_JSON_OBJECT)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "an object that is no tensor");
    enum tp_status status = read_kind(meta, tensor, err);
    if (status == TP_OK)
        status = read_list(tp_json_member(meta, "sizes"), "size", axes.shape,
                           &tensor->ndim, err);
    if (status == TP_OK)
        status = read_list(tp_json_member(meta, "strides"), "stride",
                           axes.stride, &strides, err);
    if (status == TP_OK)
        status = read_int(tp_json_member(meta, "storage_offset"),
                          "storage offset", &tensor->offset, err);
    if (status == TP_OK && strides != tensor->ndim)
        status = tp_fail(err, TP_E_DAMAGED, -1,
                         "it has %d dimensions but %d strides", tensor->ndim,
                         strides);
    if (status != TP_OK)
        return status;
    tensor->shape = axes.shape;
    tensor->stride = axes.stride;
    return tp_tensor_keep_axes(tensor, arena, err);
}
