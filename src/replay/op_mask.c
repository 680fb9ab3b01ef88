/* SPDX-License-Identifier: MIT */
/*
 * Elements where a mask is true, in row-major order: those of the input as a
 * vector, or replaced by the first ones of a source. Exact; one walk.
 */
#include "replay/operators.h"

/* The input and its mask, brought to the shape of the input. */
struct masked {
    const struct tp_array *input, *mask;
    struct tp_array_walk walk; /* at[0]: of the mask                        */
    int64_t count;             /* of the elements where it is true          */
};

static enum tp_status bind(const struct tp_replay_call *replay,
                           struct masked *to, struct tp_error *err)
{
    enum tp_status status = tp_arg_tensor(replay, "input", &to->input, err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "mask", &to->mask, err);
    if (status != TP_OK)
        return status;
    to->count = 0;
    to->walk = (struct tp_array_walk){.dims = to->input->dims,
                                      .shape = to->input->shape};
    if (!tp_array_broadcast(to->mask, to->input->dims, to->input->shape,
                            to->walk.strides[0]))
        return tp_replay_fail_shapes(err);
    for (int64_t i = 0; i < to->input->count; i++) {
        to->count += to->mask->value[to->walk.at[0]] != 0;
        tp_array_walk_next(&to->walk);
    }
    return TP_OK;
}

TP_KERNEL(tp_run_masked_select)
{
    struct masked of;
    struct tp_array *output;
    (void)row;
    enum tp_status status = bind(replay, &of, err);
    if (status == TP_OK)
        status = tp_replay_make(replay, 1, &of.count, &output, err);
    for (int64_t i = 0, to = 0; status == TP_OK && i < of.input->count; i++) {
        if (of.mask->value[of.walk.at[0]] != 0)
            output->value[to++] = of.input->value[i];
        tp_array_walk_next(&of.walk);
    }
    return status;
}

TP_KERNEL(tp_run_masked_scatter)
{
    struct masked of;
    struct tp_array *output;
    const struct tp_array *source;
    (void)row;
    enum tp_status status = bind(replay, &of, err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "source", &source, err);
    if (status == TP_OK && source->count < of.count)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_replay_make(replay, of.input->dims, of.input->shape,
                                &output, err);
    for (int64_t i = 0, from = 0; status == TP_OK && i < output->count; i++) {
        const bool taken = of.mask->value[of.walk.at[0]] != 0;
        output->value[i] = taken ? source->value[from++] : of.input->value[i];
        tp_array_walk_next(&of.walk);
    }
    return status;
}
