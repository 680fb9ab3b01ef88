/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_TENSOR_AXES_H
#define TP_DATA_TENSOR_AXES_H

#include "base/memory.h"
#include "data/tensor.h"

/*
 * The axes of tensors, for who makes tensors or views of them. A tensor only
 * points to its axes, since a file may have a million tensors of few axes
 * where TP_LIMIT_DIMS are allowed.
 */

/* Room for the axes of any tensor. */
struct tp_tensor_axes {
    int64_t shape[TP_LIMIT_DIMS], stride[TP_LIMIT_DIMS];
};

/* Gives the tensor axes of the arena, with room for `ndim`, which it sets:
 * returns the shape, and the strides follow it. NULL: out of memory. */
int64_t *tp_tensor_new_axes(struct tp_tensor *tensor, int ndim,
                            struct tp_arena *arena);

/* Copies the tensor's axes to the arena. TP_E_MEMORY only. */
enum tp_status tp_tensor_keep_axes(struct tp_tensor *tensor,
                                   struct tp_arena *arena,
                                   struct tp_error *err);

/* The strides of a dense row-major tensor; 1 where they would overflow: such a
 * tensor is empty, or refused by tp_tensor_check. */
void tp_dense_strides(int ndim, const int64_t *shape, int64_t *stride);

/*
 * Views. Their axes are in `axes`, which lives as long as they do.
 */

/* Copies the tensor's axes, so that they can be changed there. */
void tp_tensor_open_axes(struct tp_tensor *tensor,
                         struct tp_tensor_axes *axes);

/* Drops axes of length 1. */
void tp_tensor_squeeze(struct tp_tensor *tensor, struct tp_tensor_axes *axes);

/* Makes axis order[i] axis i, of the first `count` of them; others have to be
 * of length 1, or repeat elements that are to count once. */
void tp_tensor_permute(struct tp_tensor *tensor, const int *order, int count,
                       struct tp_tensor_axes *axes);

/* Leaves the indices [first, first + length) of an axis. */
void tp_tensor_cut(struct tp_tensor *tensor, int axis, int64_t first,
                   int64_t length, struct tp_tensor_axes *axes);

#endif
