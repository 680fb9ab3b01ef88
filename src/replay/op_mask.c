/* SPDX-License-Identifier: MIT */
/*
 * Elements where a mask is true, in row-major order: those of the input as a
 * vector, or replaced by the first ones of a source. Exact; one walk. The mask
 * of a dropout is seen from its result: what is not zero was kept, and of an
 * input that is zero it is not known.
 */
#include "replay/operators.h"

#include <math.h>

#include "replay/backward.h"

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

/* g / (1 - p) of what was kept: a number, a product and a result rounded. */
TP_BACKWARD(tp_back_dropout)
{
    const struct tp_array *input, *given, *result;
    struct tp_array *gradient;
    const struct tp_replay_call *forward = backward->forward;
    const double p = tp_arg_real(forward, "p", 0.5);
    (void)row;
    enum tp_status status = tp_arg_tensor(forward, "input", &input, err);
    if (status == TP_OK)
        status = tp_backward_single(backward, &given, err);
    if (status == TP_OK && !tp_arg_integer(forward, "training", 1))
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "it gave its input, whose gradient is that of another "
                         "call");
    if (status == TP_OK)
        status = tp_backward_result(backward, 0, &result, err);
    if (status == TP_OK &&
        (given->count != input->count || result->count != input->count))
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, input, &gradient, err);
    for (int64_t i = 0; status == TP_OK && i < gradient->count; i++) {
        const bool known = input->value[i] != 0;
        const double kept =
            p < 1 ? given->value[i] / (1 - p) : 0 * given->value[i];
        gradient->value[i] = known && result->value[i] == 0 ? 0 : kept;
        gradient->bound[i] =
            (known ? 2 * backward->call->own : 1) * fabs(gradient->value[i]);
    }
    return status;
}
