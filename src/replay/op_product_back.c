/* SPDX-License-Identifier: MIT */
/*
 * Gradients of products: each is a product of the result's gradient with the
 * other side, so an equation again (einsum.h), off by gamma of its own length.
 * Which node stands behind a result, torch decides: addmm of two axes and a
 * bias gives (bias, input, weight turned), mm (input, weight turned); with more
 * axes it is the view of what these gave; devices with a linear of their own
 * give (input, weight, bias). How many gradients the node has, and their axes,
 * tell.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>

#include "replay/addends.h"
#include "replay/backward.h"

/* What all gradients of a call are made of. */
struct product_back {
    struct tp_backward *backward;
    const struct tp_array *given;
    struct tp_einsum einsum;
    double factor; /* of the product                                        */
};

static enum tp_status begin(struct product_back *p, const char *equation,
                            const struct tp_array *const *sides, size_t count,
                            struct tp_error *err)
{
    enum tp_status status = tp_backward_single(p->backward, &p->given, err);
    if (status == TP_OK)
        status = tp_einsum_init(&p->einsum, equation, sides, count, err);
    p->einsum.unit = p->backward->call->unit;
    p->einsum.own = p->backward->call->own;
    int64_t shape[TP_LIMIT_DIMS];
    if (status != TP_OK)
        return status;
    const int dims = tp_einsum_shape(&p->einsum, shape);
    bool same = dims == p->given->dims;
    for (int i = 0; same && i < dims; i++)
        same = shape[i] == p->given->shape[i];
    return same ? TP_OK : tp_replay_fail_shapes(err);
}

/* The gradient of a side into what was made for it. */
static enum tp_status fill(const struct product_back *p, int side,
                           struct tp_array *gradient, struct tp_error *err)
{
    const struct tp_einsum turned =
        tp_einsum_turned(&p->einsum, p->given, side);
    enum tp_status status = tp_einsum_run(&turned, gradient, err);
    if (status == TP_OK)
        tp_addends_of_product(gradient, &turned, p->factor);
    if (p->factor == 1)
        return status;
    for (int64_t i = 0; i < gradient->count; i++) {
        gradient->value[i] *= p->factor;
        gradient->bound[i] = fabs(p->factor) * gradient->bound[i] +
                             (p->backward->call->own + p->einsum.unit) *
                                 fabs(gradient->value[i]);
    }
    return status;
}

/* The next gradient is that of a side, number k of so many. */
static enum tp_status add_side(const struct product_back *p, int side,
                               size_t arity, size_t k, struct tp_error *err)
{
    struct tp_array *gradient;
    enum tp_status status = tp_backward_make_like(
        p->backward, p->einsum.arrays[side], &gradient, err);
    return status == TP_OK && tp_backward_needs(p->backward, arity, k)
               ? fill(p, side, gradient, err)
               : status;
}

/* The next gradient is what came, times a factor, summed to an argument. */
static enum tp_status add_given(const struct product_back *p, double factor,
                                const struct tp_array *to, struct tp_error *err)
{
    struct tp_array scaled = {.dims = 0};
    enum tp_status status =
        tp_array_make(&scaled, p->given->dims, p->given->shape, err);
    if (status == TP_OK)
        status = tp_array_bounds(&scaled, err);
    for (int64_t i = 0; status == TP_OK && i < scaled.count; i++) {
        scaled.value[i] = factor * p->given->value[i];
        scaled.bound[i] =
            factor == 1 ? 0 : p->einsum.unit * fabs(scaled.value[i]);
    }
    if (status == TP_OK)
        status =
            tp_backward_sum_to(p->backward, &scaled, to->dims, to->shape, err);
    tp_array_clear(&scaled);
    return status;
}

/* --- two sides ------------------------------------------------------------ */

static enum tp_status find_sides(const struct tp_backward *backward,
                                 const char *const *names,
                                 const struct tp_array **sides,
                                 struct tp_error *err)
{
    enum tp_status status =
        tp_arg_tensor(backward->forward, names[0], &sides[0], err);
    return status == TP_OK
               ? tp_arg_tensor(backward->forward, names[1], &sides[1], err)
               : status;
}

/* A node of one gradient is that of a view. */
static enum tp_status run_view(struct tp_backward *backward,
                               struct tp_error *err)
{
    const struct tp_array *given;
    enum tp_status status = tp_backward_single(backward, &given, err);
    return status == TP_OK ? tp_backward_view(backward, given, 0, err) : status;
}

static enum tp_status back_pair(struct tp_backward *backward,
                                const char *const *names, const char *equation,
                                struct tp_error *err)
{
    const struct tp_array *sides[2];
    struct product_back p = {.backward = backward, .factor = 1};
    if (tp_backward_arity(backward) == 1)
        return run_view(backward, err);
    enum tp_status status = find_sides(backward, names, sides, err);
    if (status == TP_OK && !equation)
        equation = tp_matmul_equation(sides[0]->dims, sides[1]->dims);
    if (status == TP_OK)
        status = begin(&p, equation, sides, 2, err);
    for (int i = 0; i < 2 && status == TP_OK; i++)
        status = add_side(&p, i, 2, (size_t)i, err);
    return status;
}

TP_BACKWARD(tp_back_matmul)
{
    static const char *const names[2] = {"input", "other"};
    (void)row;
    return back_pair(backward, names, NULL, err);
}

TP_BACKWARD(tp_back_reversed_matmul)
{
    static const char *const names[2] = {"other", "input"};
    (void)row;
    return back_pair(backward, names, NULL, err);
}

/* torch multiplies the turned vector with the other: (input as a column,
 * vec2), where the first is a view of the argument. */
TP_BACKWARD(tp_back_outer)
{
    static const char *const names[2] = {"input", "vec2"};
    const struct tp_array *sides[2];
    struct product_back p = {.backward = backward, .factor = 1};
    struct tp_array *gradient;
    (void)row;
    enum tp_status status = find_sides(backward, names, sides, err);
    if (status == TP_OK)
        status = begin(&p, "i,j->ij", sides, 2, err);
    if (status != TP_OK)
        return status;
    const int64_t column[2] = {sides[0]->count, 1};
    const struct tp_dump_item *item = tp_replay_result(backward->call, 0);
    const bool turned = item && item->has_shape && item->dims == 2;
    status = tp_backward_make(backward, turned ? 2 : 1, column, &gradient, err);
    if (status == TP_OK) {
        gradient->dims = 1; /* as the equation has it                        */
        status = fill(&p, 0, gradient, err);
        gradient->dims = turned ? 2 : 1;
    }
    return status == TP_OK ? add_side(&p, 1, 2, 1, err) : status;
}

/* A bias is added to the product; without one it is seen in other axes. */
TP_BACKWARD(tp_back_bilinear)
{
    const struct tp_array *given;
    const struct tp_array *bias = tp_arg_array(backward->forward, "bias");
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status != TP_OK)
        return status;
    if (!bias)
        return run_view(backward, err);
    status = tp_backward_view(backward, given, 0, err);
    return status == TP_OK ? tp_backward_sum_to(backward, given, bias->dims,
                                                bias->shape, err)
                           : status;
}

TP_BACKWARD(tp_back_view)
{
    (void)row;
    if (tp_backward_arity(backward) != 1)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "the node behind it is not that of a view");
    return run_view(backward, err);
}

/* --- linear --------------------------------------------------------------- */

/* How many axes gradient k of the node has; -1: it was not dumped. */
static int axes_of(const struct tp_backward *backward, size_t k)
{
    const struct tp_dump_item *item = tp_backward_item(backward, k);
    return item && item->kind == TP_DUMP_TENSOR && item->has_shape ? item->dims
                                                                   : -1;
}

/* The gradient of [n][k], as it was given to the product: [k][n]. */
static enum tp_status add_turned(const struct product_back *p, size_t arity,
                                 size_t k, struct tp_error *err)
{
    const struct tp_array *weight = p->einsum.arrays[1];
    const int64_t shape[2] = {weight->shape[1], weight->shape[0]};
    struct product_back turned = *p;
    struct tp_einsum_labels *labels = &turned.einsum.operands[1];
    const unsigned char first = labels->label[0];
    struct tp_array *gradient;
    labels->label[0] = labels->label[1];
    labels->label[1] = first;
    enum tp_status status =
        tp_backward_make(p->backward, 2, shape, &gradient, err);
    return status == TP_OK && tp_backward_needs(p->backward, arity, k)
               ? fill(&turned, 1, gradient, err)
               : status;
}

/* Of addmm or mm: the bias, if any, comes first. */
static enum tp_status back_addmm(const struct product_back *p, size_t arity,
                                 const struct tp_array *bias,
                                 struct tp_error *err)
{
    enum tp_status status = bias ? add_given(p, 1, bias, err) : TP_OK;
    if (status == TP_OK)
        status = add_side(p, 0, arity, arity - 2, err);
    return status == TP_OK ? add_turned(p, arity, arity - 1, err) : status;
}

/* Whether (bias, input, weight) fits what was dumped: the end ones tell, else
 * that in the middle, which is as long as the input rather than the weight. */
static bool bias_is_first(const struct tp_backward *backward,
                          const struct tp_array *input,
                          const struct tp_array *weight)
{
    const struct tp_dump_item *middle = tp_backward_item(backward, 1);
    if (axes_of(backward, 0) >= 0 || axes_of(backward, 2) >= 0)
        return axes_of(backward, 0) == 1 || axes_of(backward, 2) == 2;
    return axes_of(backward, 1) == 2 && middle->shape[0] == input->shape[0] &&
           weight->shape[0] != input->shape[0];
}

TP_BACKWARD(tp_back_linear)
{
    static const char *const names[2] = {"input", "weight"};
    const struct tp_array *sides[2];
    const size_t arity = tp_backward_arity(backward);
    struct product_back p = {.backward = backward, .factor = 1};
    (void)row;
    if (arity == 1)
        return run_view(backward, err);
    enum tp_status status = find_sides(backward, names, sides, err);
    if (status == TP_OK && sides[1]->dims != 2)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "the gradient of a weight of one axis is not replayed");
    if (status == TP_OK)
        status = begin(&p, "...k,nk->...n", sides, 2, err);
    if (status != TP_OK)
        return status;
    const struct tp_array *bias = tp_arg_array(backward->forward, "bias");
    const bool two = sides[0]->dims == 2;
    if (arity == 2 && !bias && two)
        return back_addmm(&p, arity, NULL, err);
    if (arity != 3)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "the node behind it is not known");
    if (bias && two && bias_is_first(backward, sides[0], sides[1]))
        return back_addmm(&p, arity, bias, err);
    status = add_side(&p, 0, arity, 0, err);
    if (status == TP_OK)
        status = add_side(&p, 1, arity, 1, err);
    return status == TP_OK && bias ? add_given(&p, 1, bias, err) : status;
}

/* --- products and a matrix ------------------------------------------------ */

static enum tp_status back_added(struct tp_backward *backward,
                                 const char *const *names, const char *equation,
                                 struct tp_error *err)
{
    const struct tp_array *sides[2], *added;
    struct product_back p = {.backward = backward,
                             .factor =
                                 tp_arg_real(backward->forward, "alpha", 1)};
    enum tp_status status = find_sides(backward, names, sides, err);
    if (status == TP_OK)
        status = tp_arg_tensor(backward->forward, "input", &added, err);
    if (status == TP_OK)
        status = begin(&p, equation, sides, 2, err);
    if (status == TP_OK)
        status = add_given(&p, tp_arg_real(backward->forward, "beta", 1), added,
                           err);
    for (int i = 0; i < 2 && status == TP_OK; i++)
        status = add_side(&p, i, 3, (size_t)i + 1, err);
    return status;
}

TP_BACKWARD(tp_back_addmm)
{
    static const char *const names[2] = {"mat1", "mat2"};
    (void)row;
    return back_added(backward, names, "mk,kn->mn", err);
}

TP_BACKWARD(tp_back_baddbmm)
{
    static const char *const names[2] = {"batch1", "batch2"};
    (void)row;
    return back_added(backward, names, "bmk,bkn->bmn", err);
}

TP_BACKWARD(tp_back_addbmm)
{
    static const char *const names[2] = {"batch1", "batch2"};
    (void)row;
    return back_added(backward, names, "bmk,bkn->mn", err);
}

TP_BACKWARD(tp_back_addmv)
{
    static const char *const names[2] = {"mat", "vec"};
    (void)row;
    return back_added(backward, names, "mk,k->m", err);
}

TP_BACKWARD(tp_back_addr)
{
    static const char *const names[2] = {"vec1", "vec2"};
    (void)row;
    return back_added(backward, names, "i,j->ij", err);
}
