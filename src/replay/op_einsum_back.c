/* SPDX-License-Identifier: MIT */
/*
 * Gradients of einsum's last node, which is by the equation: where axes are
 * summed, of several operands the view of a product, of one a sum, whose
 * summed axes are the last; where none is, of one operand its axes in another
 * order, of two their product element by element, with axes of length 1 where
 * an operand has none. Cost: a pass over the result.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>

#include "replay/backward.h"
#include "replay/einsum.h"

static enum tp_status fail_node(struct tp_error *err)
{
    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                   "the node behind its equation is not known");
}

static int place_of(const struct tp_einsum_labels *labels, int label)
{
    for (int i = 0; i < labels->count; i++)
        if (labels->label[i] == label)
            return i;
    return -1;
}

static bool sums(const struct tp_einsum *e)
{
    for (int i = 0; i < e->count; i++)
        for (int k = 0; k < e->operands[i].count; k++)
            if (place_of(&e->output, e->operands[i].label[k]) < 0)
                return true;
    return false;
}

/* Whether an operand has the same label twice: a diagonal is taken of it. */
static bool is_diagonal(const struct tp_einsum_labels *labels)
{
    for (int i = 0; i < labels->count; i++)
        if (place_of(labels, labels->label[i]) != i)
            return true;
    return false;
}

/* What came, repeated along the axes that the node summed. */
static enum tp_status back_sum(struct tp_backward *backward,
                               const struct tp_array *given,
                               struct tp_error *err)
{
    struct tp_array *gradient;
    const struct tp_dump_item *item = tp_replay_result(backward->call, 0);
    if (!item || !item->has_shape)
        return fail_node(err);
    enum tp_status status =
        tp_backward_make(backward, item->dims, item->shape, &gradient, err);
    if (status != TP_OK || gradient->count == 0)
        return status;
    if (given->count == 0 || gradient->count % given->count)
        return tp_replay_fail_shapes(err);
    const int64_t each = gradient->count / given->count;
    for (int64_t i = 0; i < gradient->count; i++)
        gradient->value[i] = given->value[i / each];
    return TP_OK;
}

static enum tp_status back_single(struct tp_backward *backward,
                                  const struct tp_einsum *e,
                                  const struct tp_array *given,
                                  struct tp_error *err)
{
    struct tp_array *gradient;
    if (tp_backward_arity(backward) != 1)
        return fail_node(err);
    if (sums(e))
        return back_sum(backward, given, err);
    if (is_diagonal(&e->operands[0]))
        return given->dims == 1 ? tp_backward_view(backward, given, 0, err)
                                : fail_node(err);
    enum tp_status status =
        tp_backward_make_like(backward, e->arrays[0], &gradient, err);
    return status == TP_OK ? tp_einsum_gradient(e, given, 0, gradient, err)
                           : status;
}

/* --- two operands, element by element ------------------------------------- */

enum { LEFT, RIGHT, LEFT_MADE, RIGHT_MADE };

/* The next gradient is that of operand `side`, as the product has its axes;
 * the walk goes through both. */
static enum tp_status make_side(struct tp_backward *backward,
                                const struct tp_einsum *e, int side,
                                struct tp_array_walk *walk,
                                struct tp_error *err)
{
    struct tp_array *gradient;
    int64_t shape[TP_LIMIT_DIMS], own[TP_LIMIT_DIMS];
    const struct tp_array *array = e->arrays[side];
    tp_array_strides(array, own);
    for (int i = 0; i < e->output.count; i++) {
        const int at = place_of(&e->operands[side], e->output.label[i]);
        shape[i] = at < 0 ? 1 : array->shape[at];
        walk->strides[side][i] = shape[i] == 1 ? 0 : own[at];
    }
    enum tp_status status =
        tp_backward_make(backward, e->output.count, shape, &gradient, err);
    return status == TP_OK &&
                   !tp_array_broadcast(gradient, walk->dims, walk->shape,
                                       walk->strides[LEFT_MADE + side])
               ? tp_replay_fail_shapes(err)
               : status;
}

static void add_product(double given, double other, double gamma,
                        struct tp_array *made, int64_t at)
{
    made->value[at] += given * other;
    made->bound[at] += gamma * fabs(given * other);
}

static enum tp_status back_product(struct tp_backward *backward,
                                   const struct tp_einsum *e,
                                   const struct tp_array *given,
                                   struct tp_error *err)
{
    struct tp_array_walk walk = {.dims = given->dims, .shape = given->shape};
    enum tp_status status = TP_OK;
    if (is_diagonal(&e->operands[0]) || is_diagonal(&e->operands[1]))
        return fail_node(err);
    for (int i = 0; i < 2 && status == TP_OK; i++)
        status = make_side(backward, e, i, &walk, err);
    if (status != TP_OK)
        return status;
    /* What is summed is a tensor of its own, rounded to its dtype. */
    const double gamma =
        backward->call->own +
        tp_replay_gamma(backward->call, (double)given->count + 1);
    for (int64_t i = 0; i < given->count; i++) {
        const double g = given->value[i];
        add_product(g, e->arrays[1]->value[walk.at[RIGHT]], gamma,
                    &backward->made[0], walk.at[LEFT_MADE]);
        add_product(g, e->arrays[0]->value[walk.at[LEFT]], gamma,
                    &backward->made[1], walk.at[RIGHT_MADE]);
        tp_array_walk_next(&walk);
    }
    return TP_OK;
}

/* --- the whole ------------------------------------------------------------ */

static enum tp_status back_equation(struct tp_backward *backward,
                                    const struct tp_einsum *e,
                                    struct tp_error *err)
{
    const struct tp_array *given;
    int64_t shape[TP_LIMIT_DIMS];
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status != TP_OK)
        return status;
    bool same = tp_einsum_shape(e, shape) == given->dims;
    for (int i = 0; same && i < given->dims; i++)
        same = given->shape[i] == shape[i];
    if (!same)
        return tp_replay_fail_shapes(err);
    if (e->count == 1)
        return back_single(backward, e, given, err);
    if (sums(e) && tp_backward_arity(backward) == 1)
        return tp_backward_view(backward, given, 0, err);
    return !sums(e) && e->count == 2 && tp_backward_arity(backward) == 2
               ? back_product(backward, e, given, err)
               : fail_node(err);
}

TP_BACKWARD(tp_back_einsum)
{
    const struct tp_replay_call *forward = backward->forward;
    const char *equation = tp_arg_text(forward, "equation", NULL);
    const struct tp_array **arrays =
        malloc((forward->call->count + 1) * sizeof *arrays);
    struct tp_einsum einsum;
    (void)row;
    if (!arrays)
        return tp_fail_memory(err);
    const size_t count = tp_arg_arrays(forward, "operands", arrays);
    enum tp_status status =
        equation
            ? tp_einsum_init(&einsum, equation, arrays, count, err)
            : tp_fail(err, TP_E_UNSUPPORTED, -1, "its equation is no text");
    einsum.unit = backward->call->unit;
    einsum.own = backward->call->own;
    if (status == TP_OK)
        status = back_equation(backward, &einsum, err);
    free(arrays);
    return status;
}
