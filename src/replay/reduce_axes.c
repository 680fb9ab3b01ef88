/* SPDX-License-Identifier: MIT */
#include "replay/reduce_axes.h"

static enum tp_status mark_axes(const struct tp_replay_call *replay,
                                struct tp_axes *axes, struct tp_error *err)
{
    int64_t list[TP_LIMIT_DIMS];
    const int count = tp_arg_integers(replay, "dim", list);
    const int dims = axes->input->dims;
    for (int i = 0; i < dims; i++)
        axes->reduced[i] = count == 0;
    for (int i = 0; i < count; i++) {
        const int64_t axis = list[i] < 0 ? list[i] + dims : list[i];
        if ((axis < 0 || axis >= dims) && dims > 0)
            return tp_fail(err, TP_E_UNSUPPORTED, -1,
                           "it reduces an axis that is not there");
        if (dims > 0)
            axes->reduced[axis] = true;
    }
    return TP_OK;
}

enum tp_status tp_axes_find(const struct tp_replay_call *replay,
                            struct tp_axes *axes, struct tp_error *err)
{
    *axes = (struct tp_axes){.count = 1};
    enum tp_status status = tp_arg_tensor(replay, "input", &axes->input, err);
    if (status == TP_OK)
        status = mark_axes(replay, axes, err);
    if (status != TP_OK)
        return status;
    const struct tp_array *input = axes->input;
    const bool keep = tp_arg_integer(replay, "keepdim", 0);
    int64_t step = 1;
    for (int i = 0; i < input->dims; i++) {
        if (!axes->reduced[i] || keep)
            axes->shape[axes->dims++] = axes->reduced[i] ? 1 : input->shape[i];
        if (axes->reduced[i])
            axes->count *= (double)input->shape[i];
    }
    axes->walk.dims = input->dims;
    axes->walk.shape = input->shape;
    tp_array_strides(input, axes->walk.strides[0]);
    for (int i = input->dims; i-- > 0;)
        if (!axes->reduced[i]) {
            axes->walk.strides[1][i] = step;
            step *= input->shape[i];
        }
    axes->cells = step;
    return TP_OK;
}
