/* SPDX-License-Identifier: MIT */
#include "data/tensor_axes.h"

void tp_tensor_open_axes(struct tp_tensor *tensor, struct tp_tensor_axes *axes)
{
    for (int i = 0; i < tensor->ndim; i++) {
        axes->shape[i] = tensor->shape[i];
        axes->stride[i] = tensor->stride[i];
    }
    tensor->shape = axes->shape;
    tensor->stride = axes->stride;
}

int64_t *tp_tensor_new_axes(struct tp_tensor *tensor, int ndim,
                            struct tp_arena *arena)
{
    int64_t *axes =
        tp_arena_alloc(arena, 2 * (size_t)ndim * sizeof *axes);
    tensor->ndim = ndim;
    tensor->shape = axes;
    tensor->stride = axes ? axes + ndim : NULL;
    return axes;
}

enum tp_status tp_tensor_keep_axes(struct tp_tensor *tensor,
                                   struct tp_arena *arena,
                                   struct tp_error *err)
{
    const struct tp_tensor old = *tensor;
    int64_t *axes = tp_tensor_new_axes(tensor, old.ndim, arena);
    if (!axes)
        return tp_fail_memory(err);
    for (int i = 0; i < old.ndim; i++) {
        axes[i] = old.shape[i];
        axes[old.ndim + i] = old.stride[i];
    }
    return TP_OK;
}

void tp_dense_strides(int ndim, const int64_t *shape, int64_t *stride)
{
    int64_t step = 1;
    for (int i = ndim; i-- > 0;) {
        stride[i] = step;
        if (__builtin_mul_overflow(step, shape[i], &step) || step <= 0)
            step = 1;
    }
}

void tp_tensor_squeeze(struct tp_tensor *tensor, struct tp_tensor_axes *axes)
{
    int order[TP_LIMIT_DIMS], count = 0;
    for (int i = 0; i < tensor->ndim; i++)
        if (tensor->shape[i] != 1)
            order[count++] = i;
    tp_tensor_permute(tensor, order, count, axes);
}

void tp_tensor_permute(struct tp_tensor *tensor, const int *order, int count,
                       struct tp_tensor_axes *axes)
{
    tensor->numel = 1;
    for (int i = 0; i < count; i++) {
        axes->shape[i] = tensor->shape[order[i]];
        axes->stride[i] = tensor->stride[order[i]];
        tensor->numel *= axes->shape[i];
    }
    tensor->ndim = count;
    tensor->shape = axes->shape;
    tensor->stride = axes->stride;
}

void tp_tensor_cut(struct tp_tensor *tensor, int axis, int64_t first,
                   int64_t length, struct tp_tensor_axes *axes)
{
    tensor->offset += first * tensor->stride[axis];
    tensor->numel = tensor->numel / tensor->shape[axis] * length;
    tp_tensor_open_axes(tensor, axes);
    axes->shape[axis] = length;
}
