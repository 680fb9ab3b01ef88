/* SPDX-License-Identifier: MIT */
/*
 * Matrix products in fp64, row by column, each of k products. A device that
 * accumulates in any order with rounding u is off by at most
 * gamma_(k+1) sum|a b| (Higham, Accuracy and Stability, 3.5: k products, k - 1
 * additions; one more for what is added to the sum). Where something is added,
 * the product may first be rounded to its dtype: own * |sum|. The bound is the
 * worst case, sqrt(k) times what is usual: it accuses nobody who rounds as
 * said. The right matrix is turned once, so that both run along k; cost 2 m n k
 * multiplications, memory one stack's matrix.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>

/* A and turned B to C: [m][k], [n][k], [m][n]. */
struct product {
    const double *left, *right;
    double *value, *bound;
    int64_t m, n, k;
    double gamma; /* of k + 1 roundings                                     */
};

/* Sums of products and of their magnitudes, in four lanes. */
static void multiply_row(const double *a, const double *b, int64_t k,
                         double *sum, double *magnitude)
{
    double s[4] = {0}, t[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= k; i += 4)
        for (int lane = 0; lane < 4; lane++) {
            const double product = a[i + lane] * b[i + lane];
            s[lane] += product;
            t[lane] += fabs(product);
        }
    for (; i < k; i++) {
        s[0] += a[i] * b[i];
        t[0] += fabs(a[i] * b[i]);
    }
    *sum = (s[0] + s[1]) + (s[2] + s[3]);
    *magnitude = (t[0] + t[1]) + (t[2] + t[3]);
}

static void multiply(const struct product *p)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            const int64_t at = i * p->n + j;
            multiply_row(p->left + i * p->k, p->right + j * p->k, p->k,
                         &p->value[at], &p->bound[at]);
            p->bound[at] *= p->gamma;
        }
}

/* [k][n] to [n][k]. */
static void turn(const double *from, int64_t k, int64_t n, double *to)
{
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < n; j++)
            to[j * k + i] = from[i * n + j];
}

/* --- linear --------------------------------------------------------------- */

/* Adds a vector to each row. */
static void add_bias(const struct tp_replay_call *replay,
                     const struct tp_array *bias, struct tp_array *output)
{
    const int64_t n = bias->count;
    for (int64_t at = 0; at < output->count; at++) {
        const double b = bias->value[at % n];
        output->bound[at] += replay->own * fabs(output->value[at]) +
                             tp_replay_gamma(replay, 2) * fabs(b);
        output->value[at] += b;
    }
}

static enum tp_status run_linear(struct tp_replay_call *replay,
                                 const struct tp_array *input,
                                 const struct tp_array *weight,
                                 struct tp_error *err)
{
    struct tp_array *output;
    int64_t shape[TP_LIMIT_DIMS];
    const int64_t k = input->shape[input->dims - 1];
    const int64_t n = weight->dims == 2 ? weight->shape[0] : 1;
    const int dims = weight->dims == 2 ? input->dims : input->dims - 1;
    for (int i = 0; i < input->dims; i++)
        shape[i] = i < input->dims - 1 ? input->shape[i] : n;
    enum tp_status status =
        tp_replay_make_bounded(replay, dims, shape, &output, err);
    if (status != TP_OK)
        return status;
    const struct product p = {input->value,
                              weight->value,
                              output->value,
                              output->bound,
                              n ? output->count / n : 0,
                              n,
                              k,
                              tp_replay_gamma(replay, (double)k + 1)};
    multiply(&p);
    const struct tp_array *bias = tp_arg_array(replay, "bias");
    if (bias && bias->count != n)
        return tp_replay_fail_shapes(err);
    if (bias && n)
        add_bias(replay, bias, output);
    return TP_OK;
}

TP_KERNEL(tp_run_linear)
{
    const struct tp_array *input, *weight;
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "weight", &weight, err);
    if (status != TP_OK)
        return status;
    if (input->dims < 1 || weight->dims < 1 || weight->dims > 2 ||
        weight->shape[weight->dims - 1] != input->shape[input->dims - 1])
        return tp_replay_fail_shapes(err);
    return run_linear(replay, input, weight, err);
}

/* --- matmul --------------------------------------------------------------- */

/* Stacks of matrices: what of torch.matmul's rules a call needs. */
struct stacks {
    const struct tp_array *left, *right;
    int dims; /* of the stacks                                              */
    int64_t shape[TP_LIMIT_DIMS];
    int64_t steps[2][TP_LIMIT_DIMS]; /* in matrices                         */
    int64_t m, n, k;
    bool row, column; /* a vector on the left, on the right                 */
};

static int64_t axis_of(const struct tp_array *array, int from_end)
{
    return array->dims < from_end ? 1 : array->shape[array->dims - from_end];
}

/* The common shape of the stacks. */
static bool fit_stacks(struct stacks *s)
{
    const int left = s->row ? 0 : s->left->dims - 2;
    const int right = s->column ? 0 : s->right->dims - 2;
    s->dims = left > right ? left : right;
    for (int i = 0; i < s->dims; i++) {
        const int a = i - (s->dims - left), b = i - (s->dims - right);
        const int64_t x = a < 0 ? 1 : s->left->shape[a];
        const int64_t y = b < 0 ? 1 : s->right->shape[b];
        if (x != y && x != 1 && y != 1)
            return false;
        s->shape[i] = x == 1 ? y : x;
    }
    int64_t steps[2] = {1, 1};
    for (int i = s->dims; i-- > 0;) {
        const int a = i - (s->dims - left), b = i - (s->dims - right);
        const int64_t x = a < 0 ? 1 : s->left->shape[a];
        const int64_t y = b < 0 ? 1 : s->right->shape[b];
        s->steps[0][i] = x == 1 ? 0 : steps[0];
        s->steps[1][i] = y == 1 ? 0 : steps[1];
        steps[0] *= x;
        steps[1] *= y;
    }
    return true;
}

static bool fit(struct stacks *s)
{
    if (s->left->dims < 1 || s->right->dims < 1)
        return false;
    s->row = s->left->dims == 1;
    s->column = s->right->dims == 1;
    s->m = s->row ? 1 : axis_of(s->left, 2);
    s->k = axis_of(s->left, 1);
    s->n = s->column ? 1 : axis_of(s->right, 1);
    return s->k == (s->column ? s->right->shape[0] : axis_of(s->right, 2)) &&
           fit_stacks(s);
}

static enum tp_status multiply_stacks(struct tp_replay_call *replay,
                                      const struct stacks *s,
                                      struct tp_array *output,
                                      struct tp_error *err)
{
    struct tp_array_walk walk = {.dims = s->dims, .shape = s->shape};
    const int64_t size = s->m * s->n;
    double *turned = malloc(((size_t)(s->n * s->k) + 1) * sizeof *turned);
    if (!turned)
        return tp_fail_memory(err);
    for (int i = 0; i < s->dims; i++) {
        walk.strides[0][i] = s->steps[0][i];
        walk.strides[1][i] = s->steps[1][i];
    }
    for (int64_t at = 0; at < output->count; at += size) {
        const struct product p = {s->left->value + walk.at[0] * s->m * s->k,
                                  turned,
                                  output->value + at,
                                  output->bound + at,
                                  s->m,
                                  s->n,
                                  s->k,
                                  tp_replay_gamma(replay, (double)s->k + 1)};
        turn(s->right->value + walk.at[1] * s->k * s->n, s->k, s->n, turned);
        multiply(&p);
        tp_array_walk_next(&walk);
    }
    free(turned);
    return TP_OK;
}

static enum tp_status run_product(struct tp_replay_call *replay,
                                  const char *left, const char *right,
                                  struct tp_array **output,
                                  struct tp_error *err)
{
    struct stacks s;
    int64_t shape[TP_LIMIT_DIMS];
    enum tp_status status = tp_arg_tensor(replay, left, &s.left, err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, right, &s.right, err);
    if (status != TP_OK)
        return status;
    if (!fit(&s))
        return tp_replay_fail_shapes(err);
    int dims = s.dims;
    for (int i = 0; i < dims; i++)
        shape[i] = s.shape[i];
    if (!s.row)
        shape[dims++] = s.m;
    if (!s.column)
        shape[dims++] = s.n;
    status = tp_replay_make_bounded(replay, dims, shape, output, err);
    return status == TP_OK ? multiply_stacks(replay, &s, *output, err) : status;
}

TP_KERNEL(tp_run_matmul)
{
    struct tp_array *output;
    (void)row;
    return run_product(replay, "input", "other", &output, err);
}

/* --- addmm ---------------------------------------------------------------- */

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

TP_KERNEL(tp_run_addmm)
{
    const struct tp_array *added;
    struct tp_array *output;
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &added, err);
    if (status == TP_OK)
        status = run_product(replay, "mat1", "mat2", &output, err);
    return status == TP_OK ? add_matrix(replay, added, output, err) : status;
}
