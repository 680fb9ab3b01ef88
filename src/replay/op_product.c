/* SPDX-License-Identifier: MIT */
/*
 * Products, each as an equation (einsum.h). A device that accumulates in any
 * order with rounding u is off by at most gamma_(k+1) sum|a b| (Higham,
 * Accuracy and Stability, 3.5: k products, k - 1 additions; one more for what
 * is added to the sum). Where something is added, the product may first be
 * rounded to its dtype: own * |sum|. The bound is the worst case, sqrt(k) times
 * what is usual: it accuses nobody who rounds as said.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>

#include "replay/addends.h"

/* Makes the next result from tensors of the call. */
static enum tp_status run_equation(struct tp_replay_call *replay,
                                   const char *equation,
                                   const struct tp_array *const *arrays,
                                   size_t count, struct tp_array **output,
                                   struct tp_error *err)
{
    struct tp_einsum einsum;
    int64_t shape[TP_LIMIT_DIMS];
    enum tp_status status =
        tp_einsum_init(&einsum, equation, arrays, count, err);
    if (status != TP_OK)
        return status;
    einsum.unit = replay->unit;
    einsum.own = replay->own;
    const int dims = tp_einsum_shape(&einsum, shape);
    status = tp_replay_make_bounded(replay, dims, shape, output, err);
    if (status == TP_OK)
        tp_addends_of_product(*output, &einsum, 1);
    return status == TP_OK ? tp_einsum_run(&einsum, *output, err) : status;
}

/* The same of two arguments. */
static enum tp_status run_pair(struct tp_replay_call *replay,
                               const char *const *names, const char *equation,
                               struct tp_array **output, struct tp_error *err)
{
    const struct tp_array *sides[2];
    enum tp_status status = tp_arg_tensor(replay, names[0], &sides[0], err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, names[1], &sides[1], err);
    if (status == TP_OK && !equation)
        equation = tp_matmul_equation(sides[0]->dims, sides[1]->dims);
    return status == TP_OK
               ? run_equation(replay, equation, sides, 2, output, err)
               : status;
}

const char *tp_matmul_equation(int left, int right)
{
    return left == 1 && right == 1 ? "k,k->"
           : left == 1             ? "k,...kn->...n"
           : right == 1            ? "...mk,k->...m"
                                   : "...mk,...kn->...mn";
}

TP_KERNEL(tp_run_matmul)
{
    static const char *const names[2] = {"input", "other"};
    struct tp_array *output;
    (void)row;
    return run_pair(replay, names, NULL, &output, err);
}

TP_KERNEL(tp_run_reversed_matmul)
{
    static const char *const names[2] = {"other", "input"};
    struct tp_array *output;
    (void)row;
    return run_pair(replay, names, NULL, &output, err);
}

TP_KERNEL(tp_run_outer)
{
    static const char *const names[2] = {"input", "vec2"};
    struct tp_array *output;
    (void)row;
    return run_pair(replay, names, "i,j->ij", &output, err);
}

TP_KERNEL(tp_run_einsum)
{
    const char *equation = tp_arg_text(replay, "equation", NULL);
    const struct tp_array **arrays =
        malloc((replay->call->count + 1) * sizeof *arrays);
    struct tp_array *output;
    (void)row;
    if (!arrays)
        return tp_fail_memory(err);
    const size_t count = tp_arg_arrays(replay, "operands", arrays);
    enum tp_status status =
        equation
            ? run_equation(replay, equation, arrays, count, &output, err)
            : tp_fail(err, TP_E_UNSUPPORTED, -1, "its equation is no text");
    free(arrays);
    return status;
}

/* --- products and a vector ------------------------------------------------ */

void tp_add_bias(const struct tp_replay_call *replay,
                 const struct tp_array *bias, struct tp_array *output)
{
    const int64_t n = bias->count;
    tp_addends_add(output, 1, bias, 1, 1);
    for (int64_t at = 0; at < output->count; at++) {
        const double b = bias->value[at % n];
        output->bound[at] += replay->own * fabs(output->value[at]) +
                             tp_replay_gamma(replay, 2) * fabs(b);
        output->value[at] += b;
    }
}

static enum tp_status add_bias_of(struct tp_replay_call *replay, int64_t count,
                                  struct tp_array *output, struct tp_error *err)
{
    const struct tp_array *bias = tp_arg_array(replay, "bias");
    if (bias && bias->count != count)
        return tp_replay_fail_shapes(err);
    if (bias && count)
        tp_add_bias(replay, bias, output);
    return TP_OK;
}

TP_KERNEL(tp_run_linear)
{
    static const char *const names[2] = {"input", "weight"};
    const struct tp_array *weight = tp_arg_array(replay, "weight");
    const bool vector = weight && weight->dims == 1;
    struct tp_array *output;
    (void)row;
    enum tp_status status = run_pair(
        replay, names, vector ? "...k,k->..." : "...k,nk->...n", &output, err);
    return status == TP_OK
               ? add_bias_of(replay, vector ? 1 : weight->shape[0], output, err)
               : status;
}

TP_KERNEL(tp_run_bilinear)
{
    const struct tp_array *arrays[3];
    struct tp_array *output;
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input1", &arrays[0], err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "input2", &arrays[2], err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "weight", &arrays[1], err);
    if (status == TP_OK)
        status = run_equation(replay, "...i,oij,...j->...o", arrays, 3, &output,
                              err);
    return status == TP_OK
               ? add_bias_of(replay, arrays[1]->shape[0], output, err)
               : status;
}

/* --- products and a matrix ------------------------------------------------ */

/* C may repeat. With beta 0 it is ignored, whatever it holds. */
static enum tp_status add_matrix(const struct tp_replay_call *replay,
                                 const struct tp_array *added,
                                 struct tp_array *output, struct tp_error *err)
{
    const double alpha = tp_arg_real(replay, "alpha", 1);
    const double beta = tp_arg_real(replay, "beta", 1);
    struct tp_array_walk walk = {.dims = output->dims, .shape = output->shape};
    if (!tp_array_broadcast(added, output->dims, output->shape,
                            walk.strides[0]))
        return tp_replay_fail_shapes(err);
    tp_addends_add(output, alpha, beta == 0 ? NULL : added, beta, 0);
    for (int64_t at = 0; at < output->count; at++) {
        const double c = beta == 0 ? 0 : beta * added->value[walk.at[0]];
        const double product = alpha * output->value[at];
        output->bound[at] =
            fabs(alpha) * output->bound[at] +
            (replay->own + tp_replay_gamma(replay, 2)) * fabs(product) +
            (beta == 1 ? tp_replay_gamma(replay, 2) : 2 * replay->own) *
                fabs(c);
        output->value[at] = product + c;
        tp_array_walk_next(&walk);
    }
    return TP_OK;
}

static enum tp_status run_added(struct tp_replay_call *replay,
                                const char *const *names, const char *equation,
                                struct tp_error *err)
{
    const struct tp_array *added;
    struct tp_array *output;
    enum tp_status status = tp_arg_tensor(replay, "input", &added, err);
    if (status == TP_OK)
        status = run_pair(replay, names, equation, &output, err);
    return status == TP_OK ? add_matrix(replay, added, output, err) : status;
}

TP_KERNEL(tp_run_addmm)
{
    static const char *const names[2] = {"mat1", "mat2"};
    (void)row;
    return run_added(replay, names, "mk,kn->mn", err);
}

TP_KERNEL(tp_run_baddbmm)
{
    static const char *const names[2] = {"batch1", "batch2"};
    (void)row;
    return run_added(replay, names, "bmk,bkn->bmn", err);
}

TP_KERNEL(tp_run_addbmm)
{
    static const char *const names[2] = {"batch1", "batch2"};
    (void)row;
    return run_added(replay, names, "bmk,bkn->mn", err);
}

TP_KERNEL(tp_run_addmv)
{
    static const char *const names[2] = {"mat", "vec"};
    (void)row;
    return run_added(replay, names, "mk,k->m", err);
}

TP_KERNEL(tp_run_addr)
{
    static const char *const names[2] = {"vec1", "vec2"};
    (void)row;
    return run_added(replay, names, "i,j->ij", err);
}
