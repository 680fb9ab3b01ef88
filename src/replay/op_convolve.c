/* SPDX-License-Identifier: MIT */
/*
 * Convolutions and transposed ones, and their gradients: each is one of three
 * sums (convolve.h), and a bias. What goes in is the large side of a
 * convolution, and the small one of a transposed. The lengths of the result are
 * those that were dumped, if the arguments allow them.
 */
#include "replay/operators.h"

#include <math.h>
#include <string.h>

#include "replay/addends.h"
#include "replay/backward.h"

enum { AXES = TP_CONVOLVE_AXES };

struct conv {
    struct tp_convolve c;
    const struct tp_array *input, *weight, *bias;
    int axes;
    bool transposed;
};

/* One number for all axes, or one for each; false: another list. */
static bool set_each(const struct tp_replay_call *call, const char *name,
                     int64_t absent, int axes, int64_t *numbers)
{
    int64_t list[TP_LIMIT_DIMS];
    const int count = tp_arg_integers(call, name, list);
    for (int i = AXES - axes; i < AXES; i++) {
        const int own = i - (AXES - axes);
        numbers[i] = count == 0 ? absent : list[count == 1 ? 0 : own];
        if (numbers[i] < absent || numbers[i] > INT32_MAX)
            return false;
    }
    return count == 0 || count == 1 || count == axes;
}

/* "same" pads to the length of the input; a longer end is not seen from the
 * begin. */
static bool set_padding(const struct tp_replay_call *call, struct conv *conv)
{
    struct tp_convolve *c = &conv->c;
    const char *word = tp_arg_text(call, "padding", "");
    if (!*word)
        return set_each(call, "padding", 0, conv->axes, c->pad);
    for (int i = 0; i < AXES && !strcmp(word, "same"); i++)
        c->pad[i] = c->dilation[i] * (c->kernel[i] - 1) / 2;
    return true;
}

/* Whether windows at all positions of the small side reach over the large one
 * as they do in torch: the last one begins, and no other would. */
static bool fit_lengths(const struct tp_replay_call *call,
                        const struct conv *conv)
{
    const struct tp_convolve *c = &conv->c;
    const bool same = !strcmp(tp_arg_text(call, "padding", ""), "same");
    int64_t behind[AXES]; /* of a transposed one no window ends there       */
    if (!set_each(call, "output_padding", 0, conv->axes, behind))
        return false;
    for (int i = 0; i < AXES - conv->axes; i++)
        behind[i] = 0;
    for (int i = 0; i < AXES; i++) {
        const int64_t reach = c->dilation[i] * (c->kernel[i] - 1) + 1;
        const int64_t free = c->in[i] + 2 * c->pad[i] - reach;
        const int64_t more = free - (c->out[i] - 1) * c->stride[i];
        if (same               ? c->out[i] != c->in[i]
            : conv->transposed ? more != behind[i]
                               : more < 0 || more >= c->stride[i])
            return false;
    }
    return true;
}

/* The lengths of the axes behind `lead` of a shape. */
static void set_lengths(const int64_t *shape, int lead, int axes,
                        int64_t *lengths)
{
    for (int i = 0; i < axes; i++)
        lengths[AXES - axes + i] = shape[lead + i];
}

static bool fit(const struct tp_replay_call *call,
                const struct tp_dump_item *result, struct conv *conv)
{
    struct tp_convolve *c = &conv->c;
    const int lead = conv->input->dims - conv->axes;
    if (conv->axes < 1 || conv->axes > AXES || lead < 1 || lead > 2 ||
        !result->has_shape || result->dims != conv->input->dims)
        return false;
    for (int i = 0; i < AXES; i++) {
        c->in[i] = c->out[i] = c->kernel[i] = 1;
        c->stride[i] = c->dilation[i] = 1;
        c->pad[i] = 0;
    }
    const bool t = conv->transposed;
    const int64_t *from = conv->input->shape, *to = result->shape;
    c->batch = lead == 2 ? from[0] : 1;
    c->large = (t ? to : from)[lead - 1];
    c->small = (t ? from : to)[lead - 1];
    c->groups = tp_arg_integer(call, "groups", 1);
    set_lengths(t ? to : from, lead, conv->axes, c->in);
    set_lengths(t ? from : to, lead, conv->axes, c->out);
    set_lengths(conv->weight->shape, 2, conv->axes, c->kernel);
    return c->groups > 0 && (lead == 1 || to[0] == c->batch) &&
           conv->weight->shape[0] == c->small &&
           conv->weight->shape[1] * c->groups == c->large &&
           c->small % c->groups == 0 && conv->weight->count > 0 &&
           (!conv->bias || conv->bias->count == to[lead - 1]) &&
           set_each(call, "stride", 1, conv->axes, c->stride) &&
           set_each(call, "dilation", 1, conv->axes, c->dilation) &&
           set_padding(call, conv) && fit_lengths(call, conv);
}

/* The arguments of a forward call. */
static enum tp_status bind(const struct tp_replay_call *call,
                           const struct tp_operator *row, struct conv *conv,
                           struct tp_error *err)
{
    const struct tp_dump_item *result = tp_replay_result(call, 0);
    enum tp_status status = tp_arg_tensor(call, "input", &conv->input, err);
    if (status == TP_OK)
        status = tp_arg_tensor(call, "weight", &conv->weight, err);
    if (status != TP_OK)
        return status;
    conv->bias = tp_arg_array(call, "bias");
    conv->transposed = strstr(row->names, "transpose") != NULL;
    conv->axes = conv->weight->dims - 2;
    conv->c.unit = call->unit;
    return result && fit(call, result, conv) ? TP_OK
                                             : tp_replay_fail_shapes(err);
}

/* Adds a number to each channel. */
static void add_bias(const struct tp_replay_call *call,
                     const struct tp_array *bias, int64_t inner,
                     struct tp_array *output)
{
    tp_addends_add(output, 1, bias, 1, inner);
    for (int64_t i = 0; i < output->count; i++) {
        const double b = bias->value[i / inner % bias->count];
        output->bound[i] += call->own * fabs(output->value[i]) +
                            tp_replay_gamma(call, 2) * fabs(b);
        output->value[i] += b;
    }
}

/* Elements of a channel of the result. */
static int64_t inner_of(const struct conv *conv)
{
    const int64_t *lengths = conv->transposed ? conv->c.in : conv->c.out;
    return lengths[0] * lengths[1] * lengths[2];
}

/* The large side from the small one, or the other way round. */
static enum tp_status run_side(const struct tp_convolve *c, bool to_large,
                               const struct tp_array *from,
                               const struct tp_array *weight,
                               struct tp_array *to, struct tp_error *err)
{
    tp_addends_of_convolution(
        to, to_large ? TP_ADDENDS_LARGE : TP_ADDENDS_SMALL, c, from, weight);
    return to_large ? tp_convolve_large(c, from, weight, to, err)
                    : tp_convolve_small(c, from, weight, to, err);
}

TP_KERNEL(tp_run_conv)
{
    struct conv conv = {.axes = 0};
    struct tp_array *output;
    enum tp_status status = bind(replay, row, &conv, err);
    if (status == TP_OK)
        status = tp_replay_make_like_dumped(replay, &output, err);
    if (status == TP_OK)
        status = tp_array_bounds(output, err);
    if (status != TP_OK || output->count == 0)
        return status;
    status = run_side(&conv.c, conv.transposed, conv.input, conv.weight, output,
                      err);
    if (status == TP_OK && conv.bias)
        add_bias(replay, conv.bias, inner_of(&conv), output);
    return status;
}

/* --- gradients: (input, weight, bias) ------------------------------------- */

static enum tp_status add_input(struct tp_backward *backward,
                                const struct conv *conv,
                                const struct tp_array *given,
                                struct tp_error *err)
{
    struct tp_array *gradient;
    enum tp_status status =
        tp_backward_make_like(backward, conv->input, &gradient, err);
    if (status != TP_OK || !tp_backward_needs(backward, 3, 0))
        return status;
    return run_side(&conv->c, !conv->transposed, given, conv->weight, gradient,
                    err);
}

static enum tp_status add_weight(struct tp_backward *backward,
                                 const struct conv *conv,
                                 const struct tp_array *given,
                                 struct tp_error *err)
{
    struct tp_array *gradient;
    enum tp_status status =
        tp_backward_make_like(backward, conv->weight, &gradient, err);
    if (status != TP_OK || !tp_backward_needs(backward, 3, 1))
        return status;
    const struct tp_array *large = conv->transposed ? given : conv->input;
    const struct tp_array *small = conv->transposed ? conv->input : given;
    tp_addends_of_convolution(gradient, TP_ADDENDS_WEIGHT, &conv->c, large,
                              small);
    return tp_convolve_weight(&conv->c, large, small, gradient, err);
}

static enum tp_status sum_bias(struct tp_backward *backward,
                               const struct conv *conv,
                               const struct tp_array *given,
                               struct tp_error *err)
{
    struct tp_array *gradient;
    const int64_t inner = inner_of(conv), count = conv->bias->count;
    const double gamma =
        tp_replay_gamma(backward->call, (double)(inner * conv->c.batch));
    enum tp_status status =
        tp_backward_make_like(backward, conv->bias, &gradient, err);
    for (int64_t i = 0; status == TP_OK && i < given->count; i++) {
        const int64_t at = i / inner % count;
        gradient->value[at] += given->value[i];
        gradient->bound[at] += gamma * fabs(given->value[i]);
    }
    return status;
}

TP_BACKWARD(tp_back_conv)
{
    struct conv conv = {.axes = 0};
    const struct tp_array *given;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = bind(backward->forward, row, &conv, err);
    if (status != TP_OK)
        return status;
    if (tp_backward_arity(backward) == 1)
        return tp_backward_view(backward, given, 0, err);
    if (given->count != conv.c.batch * inner_of(&conv) *
                            (conv.transposed ? conv.c.large : conv.c.small))
        return tp_replay_fail_shapes(err);
    status = add_input(backward, &conv, given, err);
    if (status == TP_OK)
        status = add_weight(backward, &conv, given, err);
    return status == TP_OK && conv.bias ? sum_bias(backward, &conv, given, err)
                                        : status;
}
