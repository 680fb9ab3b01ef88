/* SPDX-License-Identifier: MIT */
#ifndef TP_TEST_MADE_AXES_H
#define TP_TEST_MADE_AXES_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "data/tensor_axes.h"

/* Axes of tensors that tests make and change, kept until the program ends. */

static struct tp_arena made_axes_arena;

__attribute__((destructor)) static inline void made_axes_clear(void)
{
    tp_arena_clear(&made_axes_arena);
}

/* New axes for the tensor alone, to write: as it has them, or zeros. */
static inline struct tp_tensor_axes *axes_of(struct tp_tensor *tensor)
{
    struct tp_tensor_axes *axes =
        tp_arena_alloc(&made_axes_arena, sizeof *axes);
    cr_assert_not_null(axes);
    *axes = (struct tp_tensor_axes){{0}, {0}};
    if (tensor->shape && tensor->stride)
        tp_tensor_open_axes(tensor, axes);
    tensor->shape = axes->shape;
    tensor->stride = axes->stride;
    return axes;
}

#endif
