/* SPDX-License-Identifier: MIT */
/*
 * Gradients of normalisation, with h = (x - mean) s, off by eh, g what came
 * times w, u the device's rounding, and what norm.c says of s:
 *
 *     dx:    s (g - mean g - h mean(g h)), or without mean g
 *            |dx| es / s + s (e(mean g) + |h| e(mean g h) + eh |mean g h|
 *            + 4 u (|g| + |mean g| + |h mean g h|))
 *     dw:    sum of g h; db: sum of g, over what has this weight
 *
 * Four passes over each set; memory: the gradients.
 */
#include "replay/operators.h"

#include <math.h>

#include "replay/backward.h"
#include "replay/norm.h"

/* --- gradients: (input, weight, bias) ------------------------------------- */

struct gradients {
    const struct tp_array *given;
    struct tp_array input, weight, bias; /* filled side by side             */
};

/* What a set's gradient has in common. */
struct means {
    double g, gh, g_bound, gh_bound;
};

/* (x - mean) s and how far it is off. */
static double normal_at(const struct tp_norm *norm,
                        const struct tp_norm_scale *scale, int64_t at,
                        double *bound)
{
    const double x = norm->input->value[at], d = x - scale->mean;
    const double h = d * scale->scale;
    *bound = fabs(d) * scale->scale_bound +
             tp_norm_deviation_bound(norm, scale, x) * scale->scale +
             2 * norm->unit * fabs(h);
    return h;
}

static double given_at(const struct tp_norm *norm, const struct gradients *to,
                       int64_t at)
{
    return to->given->value[at] *
           tp_norm_element(norm->weight, tp_norm_place(norm, at), 1);
}

static struct means means_of(const struct tp_norm *norm,
                             const struct tp_norm_set *set,
                             const struct tp_norm_scale *scale,
                             const struct gradients *to)
{
    struct means m = {0};
    const double count = (double)(set->outer * set->inner);
    double size = 0, off = 0;
    if (norm->variance) /* constants */
        return m;
    TP_NORM_SET(set, at)
    {
        double eh;
        const double h = normal_at(norm, scale, at, &eh);
        const double g = given_at(norm, to, at);
        m.g += g;
        m.gh += g * h;
        m.g_bound += fabs(g);
        size += fabs(g * h);
        off += fabs(g) * eh;
    }
    m.g = norm->centered ? m.g / count : 0;
    m.g_bound =
        norm->centered ? norm->unit * (count + 2) * m.g_bound / count : 0;
    m.gh /= count;
    m.gh_bound = (norm->unit * (count + 3) * size + off) / count;
    return m;
}

static void gradient_of_set(const struct tp_norm *norm,
                            const struct tp_norm_set *set,
                            const struct tp_norm_scale *scale,
                            struct gradients *to)
{
    const struct means m = means_of(norm, set, scale, to);
    const double s = scale->scale;
    const double terms =
        (double)(norm->input->count / norm->layout.weights) + 2;
    TP_NORM_SET(set, at)
    {
        double eh;
        const double h = normal_at(norm, scale, at, &eh);
        const double g = given_at(norm, to, at);
        const double part = norm->variance ? 0 : h; /* that mean and s have */
        const double inner = g - m.g - part * m.gh;
        const int64_t k = tp_norm_place(norm, at);
        const double came = to->given->value[at];
        to->input.value[at] = inner * s;
        to->input.bound[at] =
            fabs(inner) * scale->scale_bound +
            s * (m.g_bound + fabs(part) * m.gh_bound +
                 (norm->variance ? 0 : eh * fabs(m.gh)) +
                 4 * norm->unit * (fabs(g) + fabs(m.g) + fabs(part * m.gh)));
        to->weight.value[k] += came * h;
        to->weight.bound[k] +=
            fabs(came) * eh + norm->unit * terms * fabs(came * h);
        to->bias.value[k] += came;
        to->bias.bound[k] += norm->unit * terms * fabs(came);
    }
}

static enum tp_status make_gradients(const struct tp_norm *norm,
                                     struct gradients *to, struct tp_error *err)
{
    const int64_t length[1] = {norm->layout.weights};
    const struct tp_array *input = norm->input;
    enum tp_status status =
        tp_array_make(&to->input, input->dims, input->shape, err);
    if (status == TP_OK)
        status = tp_array_bounds(&to->input, err);
    if (status == TP_OK)
        status = tp_array_make(&to->weight, 1, length, err);
    if (status == TP_OK)
        status = tp_array_bounds(&to->weight, err);
    if (status == TP_OK)
        status = tp_array_make(&to->bias, 1, length, err);
    if (status == TP_OK)
        status = tp_array_bounds(&to->bias, err);
    for (int64_t i = 0;
         status == TP_OK && input->count && i < norm->layout.sets; i++) {
        struct tp_norm_set set;
        struct tp_norm_scale scale;
        tp_norm_scale_of(norm, i, &set, &scale);
        gradient_of_set(norm, &set, &scale, to);
    }
    return status;
}

/* The next gradient is `from`, in the shape of an argument; none without. */
static enum tp_status hand_over(struct tp_backward *backward,
                                const struct tp_array *argument,
                                struct tp_array *from, struct tp_error *err)
{
    struct tp_array *gradient;
    if (!argument)
        return TP_OK;
    enum tp_status status =
        tp_backward_make_like(backward, argument, &gradient, err);
    for (int64_t i = 0; status == TP_OK && i < gradient->count; i++) {
        gradient->value[i] = from->value[i];
        gradient->bound[i] = from->bound[i];
    }
    return status;
}

static enum tp_status back(struct tp_backward *backward,
                           tp_norm_bind_fn *bind_all, struct tp_error *err)
{
    struct tp_norm norm = {.input = NULL};
    struct gradients to = {.given = NULL};
    enum tp_status status = tp_backward_single(backward, &to.given, err);
    if (status == TP_OK && tp_backward_arity(backward) == 1)
        return tp_backward_view(backward, to.given, 0, err);
    if (status == TP_OK)
        status = bind_all(backward->forward, &norm, err);
    if (status == TP_OK && to.given->count != norm.input->count)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = make_gradients(&norm, &to, err);
    if (status == TP_OK)
        status = hand_over(backward, norm.input, &to.input, err);
    if (status == TP_OK)
        status = hand_over(backward, norm.weight, &to.weight, err);
    if (status == TP_OK)
        status = hand_over(backward, norm.bias, &to.bias, err);
    tp_array_clear(&to.input);
    tp_array_clear(&to.weight);
    tp_array_clear(&to.bias);
    return status;
}

static void fill_root(const struct tp_norm *norm, const struct tp_array *given,
                      struct tp_array *made)
{
    for (int64_t i = 0; norm->input->count && i < norm->layout.sets; i++) {
        struct tp_norm_set set;
        struct tp_norm_scale scale;
        tp_norm_scale_of(norm, i, &set, &scale);
        const double off = norm->unit * (double)(set.outer * set.inner + 1);
        TP_NORM_SET(&set, at)
        {
            const double g = given->value[at], x = norm->input->value[at];
            made[0].value[at] = g * scale.scale;
            made[0].bound[at] =
                fabs(g) * (scale.scale_bound + norm->unit * scale.scale);
            made[1].value[i] += g * x;
            made[1].bound[i] += off * fabs(g * x);
        }
    }
}

/* Of x times 1/root: the node's gradients are what came times these. */
static enum tp_status back_root(struct tp_backward *backward,
                                const struct tp_array *given,
                                struct tp_error *err)
{
    struct tp_norm norm = {.input = NULL};
    struct tp_array *input, *root;
    int64_t shape[TP_LIMIT_DIMS], list[TP_LIMIT_DIMS];
    enum tp_status status = tp_norm_bind_rms(backward->forward, &norm, err);
    if (status == TP_OK && given->count != norm.input->count)
        status = tp_replay_fail_shapes(err);
    if (status != TP_OK)
        return status;
    const int dims = norm.input->dims;
    const int rows =
        dims - tp_arg_integers(backward->forward, "normalized_shape", list);
    for (int i = 0; i < dims; i++)
        shape[i] = i < rows ? norm.input->shape[i] : 1;
    status = tp_backward_make(backward, dims, norm.input->shape, &input, err);
    if (status == TP_OK)
        status = tp_backward_make(backward, dims, shape, &root, err);
    if (status == TP_OK)
        fill_root(&norm, given, backward->made);
    return status;
}

TP_BACKWARD(tp_back_layer_norm)
{
    (void)row;
    return back(backward, tp_norm_bind_layer, err);
}

/*
 * A fused kernel has a node with the gradients of input and weight. Elsewhere
 * the last node is that of a product: of x and 1/root, which is shorter than x,
 * or of x/root and the weight. The latter's first gradient has the shape of the
 * fused one's and is not judged, its second is the same.
 */
TP_BACKWARD(tp_back_rms_norm)
{
    const struct tp_array *given;
    (void)row;
    const struct tp_dump_item *second = tp_backward_item(backward, 1);
    const bool weighs = tp_arg_array(backward->forward, "weight") != NULL;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status != TP_OK)
        return status;
    if (!weighs && second && second->kind == TP_DUMP_TENSOR)
        return back_root(backward, given, err);
    status = back(backward, tp_norm_bind_rms, err);
    if (status == TP_OK && weighs)
        backward->made[0].loose = true;
    return status;
}

TP_BACKWARD(tp_back_group_norm)
{
    (void)row;
    return back(backward, tp_norm_bind_group, err);
}

TP_BACKWARD(tp_back_batch_norm)
{
    (void)row;
    return back(backward, tp_norm_bind_batch, err);
}

TP_BACKWARD(tp_back_npu_rms_norm)
{
    (void)row;
    return back(backward, tp_norm_bind_npu_rms, err);
}
