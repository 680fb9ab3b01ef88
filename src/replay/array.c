/* SPDX-License-Identifier: MIT */
#include "replay/array.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "formats/reader.h"

void tp_array_clear(struct tp_array *array)
{
    free(array->value);
    free(array->bound);
    free(array->addends);
    memset(array, 0, sizeof *array);
}

/* The product of a shape; -1: more than may be held. So is what would be but
 * for a length of 0, of which kernels multiply the others. */
static int64_t count_of(int dims, const int64_t *shape)
{
    int64_t count = 1;
    bool empty = false;
    for (int i = 0; i < dims; i++) {
        empty |= shape[i] == 0;
        if (shape[i] < 0 || shape[i] > TP_LIMIT_REPLAY_VALUES / count)
            return -1;
        count *= shape[i] ? shape[i] : 1;
    }
    return empty ? 0 : count;
}

enum tp_status tp_array_check(int dims, const int64_t *shape,
                              struct tp_error *err)
{
    return count_of(dims, shape) >= 0
               ? TP_OK
               : tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "a tensor of more than %lld elements is not replayed",
                         (long long)TP_LIMIT_REPLAY_VALUES);
}

enum tp_status tp_array_make(struct tp_array *array, int dims,
                             const int64_t *shape, struct tp_error *err)
{
    const int64_t count = count_of(dims, shape);
    if (count < 0)
        return tp_array_check(dims, shape, err);
    array->dims = dims;
    for (int i = 0; i < dims; i++)
        array->shape[i] = shape[i];
    array->count = count;
    array->value = calloc((size_t)count + 1, sizeof *array->value);
    return array->value ? TP_OK : tp_fail_memory(err);
}

enum tp_status tp_array_bounds(struct tp_array *array, struct tp_error *err)
{
    if (!array->bound)
        array->bound = calloc((size_t)array->count + 1, sizeof *array->bound);
    return array->bound ? TP_OK : tp_fail_memory(err);
}

/* --- reading -------------------------------------------------------------- */

/* FNV-1a over words of 8 bytes, mixed once more as its high bits reach no low
 * ones: enough to tell two tensors apart that nobody made equal on purpose. */
static uint64_t digest_bytes(uint64_t digest, const unsigned char *bytes,
                             size_t length)
{
    for (size_t i = 0; i < length; i += sizeof digest) {
        uint64_t word = 0;
        const size_t left = length - i;
        memcpy(&word, bytes + i, left < sizeof word ? left : sizeof word);
        digest = (digest ^ word) * 0x100000001b3ULL;
        digest ^= digest >> 32;
    }
    return digest;
}

static enum tp_status read_values(const struct tp_tensor *tensor,
                                  struct tp_array *array, struct tp_error *err)
{
    const struct tp_dtype_info *info = tp_dtype_info(tensor->dtype);
    unsigned char *codes = malloc(2 * TP_CHUNK_BYTES);
    enum tp_status status = codes ? TP_OK : tp_fail_memory(err);
    struct tp_walk walk;
    const int64_t most = (int64_t)(TP_CHUNK_BYTES / info->size);
    tp_walk_ordered(tensor, &walk);
    array->digest = 0xcbf29ce484222325ULL + (uint64_t)tensor->dtype;
    for (int64_t at = 0; at < array->count && status == TP_OK;) {
        const int64_t left = array->count - at;
        const size_t n = (size_t)(left < most ? left : most);
        status = tp_walk_read(&walk, at, n, codes, codes + TP_CHUNK_BYTES, err);
        if (status != TP_OK)
            break;
        array->digest = digest_bytes(array->digest, codes, n * info->size);
        tp_dtype_decode(tensor->dtype, codes, n, array->value + at);
        at += (int64_t)n;
    }
    free(codes);
    return status;
}

/* Words a failure to read the file of an item: its name, the reason, the byte.
 * What is no file of tensors does not keep what the dump says of it. */
static enum tp_status fail_file(const struct tp_dump_item *item,
                                enum tp_status status,
                                const struct tp_error *own,
                                struct tp_error *err)
{
    const char *name = tp_file_base_name(item->file->path);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(err);
    if (status == TP_E_UNSUPPORTED)
        status = TP_E_DAMAGED;
    return own->offset < 0
               ? tp_fail(err, status, -1, "%s: %s", name, own->message)
               : tp_fail(err, status, own->offset, "%s: %s, at byte %" PRId64,
                         name, own->message, own->offset);
}

/* msprobe writes no file of a tensor without elements. */
static bool is_empty(const struct tp_dump_item *item)
{
    return item->has_shape && item->element < TP_DTYPE_COUNT &&
           count_of(item->dims, item->shape) == 0;
}

/* "[2, 3]"; cut where it is longer than the room. */
static void write_shape(int dims, const int64_t *shape, char *text, size_t room)
{
    size_t used = 1;
    snprintf(text, room, "[");
    for (int i = 0; i < dims && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%" PRId64,
                                 i ? ", " : "", shape[i]);
    if (used < room)
        snprintf(text + used, room - used, "]");
}

/* Whether the file has the shape that the dump says. */
static enum tp_status check_shape(const struct tp_dump_item *item,
                                  const struct tp_tensor *tensor,
                                  struct tp_error *err)
{
    char said[96], own[96];
    bool same = item->dims == tensor->ndim;
    for (int i = 0; same && i < item->dims; i++)
        same = item->shape[i] == tensor->shape[i];
    if (!item->has_shape || same)
        return TP_OK;
    write_shape(item->dims, item->shape, said, sizeof said);
    write_shape(tensor->ndim, tensor->shape, own, sizeof own);
    return tp_fail(err, TP_E_DAMAGED, -1,
                   "%s has the shape %s, the dump says %s of it",
                   tp_file_base_name(item->file->path), own, said);
}

/* Takes the shape and the dtype of a tensor that can be replayed. */
static enum tp_status take_head(const struct tp_dump_item *item,
                                const struct tp_tensor *tensor,
                                struct tp_array *array, struct tp_error *err)
{
    enum tp_status status = check_shape(item, tensor, err);
    if (status != TP_OK)
        return status;
    if (tp_dtype_info(tensor->dtype)->kind == TP_CLASS_COMPLEX)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "complex tensors are not replayed");
    array->dtype = tensor->dtype;
    return tp_array_make(array, tensor->ndim, tensor->shape, err);
}

enum tp_status tp_array_read(const struct tp_dump_item *item,
                             struct tp_array *array, struct tp_error *err)
{
    struct tp_tensor_file file = {0};
    if (!item->file && is_empty(item)) {
        array->dtype = item->element;
        return tp_array_make(array, item->dims, item->shape, err);
    }
    if (!item->file)
        return tp_fail(err, TP_E_NOT_FOUND, -1, "no file has a tensor of it");
    /* what the file is, then what it gives: of a file that can be read, what is
     * wrong with the tensor is the tensor's */
    struct tp_error own = {.code = TP_OK};
    enum tp_status head = TP_OK;
    enum tp_status status = tp_tensor_file_open_found(item->file, &file, &own);
    if (status == TP_OK && item->tensor >= file.tensor_count)
        status = tp_fail(&own, TP_E_DAMAGED, -1, "it has no such tensor");
    if (status == TP_OK)
        head = take_head(item, &file.tensors[item->tensor], array, err);
    if (status == TP_OK && head == TP_OK)
        status = read_values(&file.tensors[item->tensor], array, &own);
    status = tp_tensor_file_end_found(item->file, "", &file, status, &own);
    tp_arena_clear(&file.arena);
    if (status != TP_OK)
        head = fail_file(item, status, &own, err);
    if (head != TP_OK)
        tp_array_clear(array);
    return head;
}

/* --- shapes --------------------------------------------------------------- */

void tp_array_strides(const struct tp_array *array, int64_t *strides)
{
    int64_t step = 1;
    for (int i = array->dims; i-- > 0; step *= array->shape[i])
        strides[i] = step;
}

bool tp_array_broadcast(const struct tp_array *array, int dims,
                        const int64_t *shape, int64_t *strides)
{
    int64_t own[TP_LIMIT_DIMS];
    const int ahead = dims - array->dims;
    if (ahead < 0)
        return false;
    tp_array_strides(array, own);
    for (int i = 0; i < dims; i++) {
        const int k = i - ahead;
        const bool single = k < 0 || array->shape[k] == 1;
        if (!single && array->shape[k] != shape[i])
            return false;
        strides[i] = single ? 0 : own[k];
    }
    return true;
}

void tp_array_walk_next(struct tp_array_walk *walk)
{
    for (int i = walk->dims; i-- > 0;) {
        const bool more = ++walk->index[i] < walk->shape[i];
        for (int k = 0; k < TP_ARRAY_STEPS; k++)
            walk->at[k] += more ? walk->strides[k][i]
                                : -walk->strides[k][i] * (walk->shape[i] - 1);
        if (more)
            return;
        walk->index[i] = 0;
    }
}

/* --- dtypes --------------------------------------------------------------- */

double tp_dtype_rounding(enum tp_dtype dtype)
{
    const int bits = tp_dtype_info(dtype)->significand;
    return bits ? ldexp(1, -bits) : 0;
}

double tp_rounding_gamma(double rounding, double n)
{
    const double share = n * rounding;
    return share < 0.5 ? share / (1 - share) : INFINITY;
}

double tp_dtype_underflow(enum tp_dtype dtype)
{
    switch (dtype) {
    case TP_FLOAT64:
        return DBL_MIN;
    case TP_FLOAT32:
    case TP_BFLOAT16:
        return FLT_MIN;
    case TP_FLOAT16:
        return ldexp(1, -25);
    case TP_FLOAT8_E5M2:
        return ldexp(1, -17);
    case TP_FLOAT8_E5M2FNUZ:
        return ldexp(1, -18);
    case TP_FLOAT8_E4M3FN:
        return ldexp(1, -10);
    case TP_FLOAT8_E4M3FNUZ:
        return ldexp(1, -11);
    default:
        return 0;
    }
}

double tp_dtype_largest(enum tp_dtype dtype)
{
    switch (dtype) {
    case TP_FLOAT32:
        return FLT_MAX;
    case TP_BFLOAT16:
        return ldexp(2 - ldexp(1, -7), 127);
    case TP_FLOAT16:
        return 65504;
    case TP_FLOAT8_E5M2:
    case TP_FLOAT8_E5M2FNUZ:
        return 57344;
    case TP_FLOAT8_E4M3FN:
        return 448;
    case TP_FLOAT8_E4M3FNUZ:
        return 240;
    default:
        return DBL_MAX;
    }
}

int64_t tp_value_integer(double value)
{
    const double end = 0x1p63;
    if (isnan(value))
        return 0;
    return value >= end ? INT64_MAX : value < -end ? INT64_MIN : (int64_t)value;
}
