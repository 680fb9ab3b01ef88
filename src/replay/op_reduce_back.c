/* SPDX-License-Identifier: MIT */
/*
 * Gradients of reductions: each element of the input from the gradient and the
 * result of its cell, as torch's derivatives.yaml has them. Where the largest
 * of a cell was taken along an axis, the indices that were dumped say which one
 * it was; over several axes equals share. One or two passes over the input.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/backward.h"
#include "replay/point_math.h"
#include "replay/reduce_axes.h"

/* Each element has the gradient of its cell, of a mean its share. */
TP_BACKWARD(tp_back_sum)
{
    const bool mean = !strcmp(row->names, "mean");
    struct tp_axes axes;
    const struct tp_array *given;
    struct tp_array *gradient;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = tp_axes_find(backward->forward, &axes, err);
    if (status == TP_OK && given->count != axes.cells)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, axes.input, &gradient, err);
    for (int64_t i = 0; status == TP_OK && i < gradient->count; i++) {
        gradient->value[i] =
            given->value[axes.walk.at[1]] / (mean ? axes.count : 1);
        gradient->bound[i] =
            mean ? 2 * backward->call->unit * fabs(gradient->value[i]) : 0;
        tp_array_walk_next(&axes.walk);
    }
    return status;
}

/* --- from the result of a cell -------------------------------------------- */

/* What one element gets. */
struct element {
    double x, y, given; /* the element, the result of its cell, its gradient */
    double count;       /* of the cell                                       */
    double parameter;   /* of the operator                                   */
    double unit, own;
};

/* The gradient of an element, and how far it may be off. */
typedef double tp_element_fn(const struct element *e, double *bound);

/* What gradients of a reduction have in common. */
struct reduction {
    struct tp_axes axes;
    const struct tp_array *given, *result;
    struct tp_array *gradient;
};

static enum tp_status begin(struct tp_backward *backward, struct reduction *r,
                            struct tp_error *err)
{
    enum tp_status status = tp_backward_single(backward, &r->given, err);
    if (status == TP_OK)
        status = tp_axes_find(backward->forward, &r->axes, err);
    if (status == TP_OK)
        status = tp_backward_result(backward, 0, &r->result, err);
    if (status == TP_OK &&
        (r->given->count != r->axes.cells || r->result->count != r->axes.cells))
        status = tp_replay_fail_shapes(err);
    return status == TP_OK ? tp_backward_make_like(backward, r->axes.input,
                                                   &r->gradient, err)
                           : status;
}

static enum tp_status each(struct tp_backward *backward, tp_element_fn *make,
                           double parameter, struct tp_error *err)
{
    struct reduction r;
    enum tp_status status = begin(backward, &r, err);
    for (int64_t i = 0; status == TP_OK && i < r.gradient->count; i++) {
        const int64_t at = r.axes.walk.at[1];
        const struct element e = {
            r.axes.input->value[i], r.result->value[at], r.given->value[at],
            r.axes.count,           parameter,           backward->call->unit,
            backward->call->own};
        r.gradient->value[i] = make(&e, &r.gradient->bound[i]);
        tp_array_walk_next(&r.axes.walk);
    }
    return status;
}

/* x |x|^(p - 2) g / y^(p - 1), of 2 x g / y. */
static double by_norm(const struct element *e, double *bound)
{
    const double p = e->parameter;
    const double sign = (e->x > 0) - (e->x < 0);
    const bool simple = p == 1 || p == 2;
    const double value =
        p == 1      ? e->given * sign
        : e->y == 0 ? 0
        : p == 2    ? e->x * (e->given / e->y)
                 : e->given * sign * pow(fabs(e->x), p - 1) / pow(e->y, p - 1);
    *bound = fabs(value) * (simple ? 3 * e->unit + 2 * e->own
                                   : (4 + fabs(p)) * TP_FUNCTION_ROUNDINGS *
                                         (e->unit + e->own));
    return value;
}

TP_BACKWARD(tp_back_norm)
{
    const struct tp_replay_call *forward = backward->forward;
    const char *name = tp_norm_order_name(row);
    const double order = tp_arg_real(forward, name, 2);
    if (*tp_arg_text(forward, name, "") || !isfinite(order) || order <= 0)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "gradients of norms of this order are not replayed");
    return each(backward, by_norm, order, err);
}

/* e^(x - y). */
static double by_logsumexp(const struct element *e, double *bound)
{
    const double off = e->x - e->y, value = e->given * exp(off);
    const double size = isfinite(off) ? fabs(off) : 0;
    *bound = fabs(value) *
             (e->unit * (TP_FUNCTION_ROUNDINGS + size) + e->own * (1 + size));
    return value;
}

TP_BACKWARD(tp_back_logsumexp)
{
    (void)row;
    return each(backward, by_logsumexp, 0, err);
}

/* --- from all of a cell --------------------------------------------------- */

/* Sums over the elements of each cell. */
struct cell {
    double sum, magnitude, product, zeros, equals;
};

static struct cell *sum_cells(struct reduction *r)
{
    struct cell *cells = calloc((size_t)r->axes.cells + 1, sizeof *cells);
    for (int64_t i = 0; cells && i < r->axes.cells; i++)
        cells[i].product = 1;
    for (int64_t i = 0; cells && i < r->axes.input->count; i++) {
        const double x = r->axes.input->value[i];
        struct cell *cell = &cells[r->axes.walk.at[1]];
        const double y = r->result->value[r->axes.walk.at[1]];
        cell->sum += x;
        cell->magnitude += fabs(x);
        cell->product *= x == 0 ? 1 : x;
        cell->zeros += x == 0;
        cell->equals += x == y || (isnan(x) && isnan(y));
        tp_array_walk_next(&r->axes.walk);
    }
    return cells;
}

typedef double tp_cell_fn(const struct element *e, const struct cell *cell,
                          double *bound);

static enum tp_status each_of_cell(struct tp_backward *backward,
                                   tp_cell_fn *make, double parameter,
                                   struct tp_error *err)
{
    struct reduction r;
    enum tp_status status = begin(backward, &r, err);
    struct cell *cells = status == TP_OK ? sum_cells(&r) : NULL;
    if (status == TP_OK && !cells)
        status = tp_fail_memory(err);
    for (int64_t i = 0; status == TP_OK && i < r.gradient->count; i++) {
        const int64_t at = r.axes.walk.at[1];
        const struct element e = {
            r.axes.input->value[i], r.result->value[at], r.given->value[at],
            r.axes.count,           parameter,           backward->call->unit,
            backward->call->own};
        r.gradient->value[i] = make(&e, &cells[at], &r.gradient->bound[i]);
        tp_array_walk_next(&r.axes.walk);
    }
    free(cells);
    return status;
}

/* 2 / (n - correction) (x - mean) g; the mean is a tensor of the input's
 * dtype. */
static double by_variance(const struct element *e, const struct cell *cell,
                          double *bound)
{
    const double factor = 2 / (e->count - e->parameter) * e->given;
    const double mean = cell->sum / e->count, off = e->x - mean;
    *bound = fabs(factor) *
             (e->own * (fabs(mean) + 2 * fabs(off)) +
              e->unit * (cell->magnitude + fabs(mean) + 4 * fabs(off)));
    return factor * off;
}

/* Its root: g / (2 y) comes first. */
static double by_deviation(const struct element *e, const struct cell *cell,
                           double *bound)
{
    struct element of = *e;
    of.given = e->given / (2 * e->y);
    *bound = 0;
    if (e->y == 0)
        return 0;
    const double value = by_variance(&of, cell, bound);
    *bound += 2 * (e->unit + e->own) * fabs(value);
    return value;
}

TP_BACKWARD(tp_back_variance)
{
    return each_of_cell(backward,
                        !strcmp(row->names, "std") ? by_deviation : by_variance,
                        tp_variance_correction(backward->forward), err);
}

/* The product of all others. */
static double by_product(const struct element *e, const struct cell *cell,
                         double *bound)
{
    const double others = cell->zeros == 0                ? e->y / e->x
                          : cell->zeros == 1 && e->x == 0 ? cell->product
                                                          : 0;
    const double value = e->given * others;
    *bound = fabs(value) * (e->unit + e->own) * (e->count + 3);
    return value;
}

TP_BACKWARD(tp_back_prod)
{
    (void)row;
    return each_of_cell(backward, by_product, 0, err);
}

/* Equals share. */
static double by_share(const struct element *e, const struct cell *cell,
                       double *bound)
{
    const bool equal = e->x == e->y || (isnan(e->x) && isnan(e->y));
    const double value = equal ? e->given / cell->equals : 0;
    *bound = 2 * e->unit * fabs(value);
    return value;
}

/* --- from indices --------------------------------------------------------- */

/* A gradient goes to the element that its index names along an axis; where
 * several go to one, as those of cummax do, these are added in the tensors'
 * dtype. */
static enum tp_status to_index(struct tp_backward *backward, int axis,
                               const struct tp_array *input,
                               struct tp_error *err)
{
    const struct tp_array *given, *indices;
    struct tp_array *gradient;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = tp_backward_result(backward, 1, &indices, err);
    if (status == TP_OK && given->count != indices->count)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, input, &gradient, err);
    if (status != TP_OK || given->count == 0)
        return status;
    int64_t inner = 1;
    for (int i = axis + 1; i < input->dims; i++)
        inner *= input->shape[i];
    const int64_t length = input->dims ? input->shape[axis] : 1;
    const int64_t lines = length ? input->count / length : 0;
    if (lines == 0 || given->count % lines)
        return tp_replay_fail_shapes(err);
    const int64_t kept = given->count / lines;
    int64_t *counts = calloc((size_t)input->count, sizeof *counts);
    if (!counts)
        return tp_fail_memory(err);
    for (int64_t i = 0; i < given->count; i++) {
        const double index = indices->value[i];
        if (!(index >= 0 && index < (double)length)) {
            status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                             "an index is outside of its axis");
            break;
        }
        const int64_t at =
            (i / inner / kept * length + (int64_t)index) * inner + i % inner;
        gradient->value[at] += given->value[i];
        gradient->bound[at] += fabs(given->value[i]);
        counts[at]++;
    }
    const double own = backward->call->own;
    for (int64_t i = 0; i < input->count; i++)
        gradient->bound[i] *=
            counts[i] > 1 ? tp_rounding_gamma(own, (double)counts[i] - 1) : 0;
    free(counts);
    return status;
}

TP_BACKWARD(tp_back_indexed)
{
    const struct tp_array *input;
    int axis;
    (void)row;
    enum tp_status status =
        tp_arg_tensor(backward->forward, "input", &input, err);
    if (status == TP_OK)
        status =
            tp_arg_axis(backward->forward, "dim", -1, input->dims, &axis, err);
    return status == TP_OK ? to_index(backward, axis, input, err) : status;
}

/* Of two tensors, along an axis with indices, or shared by equals. */
TP_BACKWARD(tp_back_extreme)
{
    if (tp_arg_array(backward->forward, "dim"))
        return tp_back_point(backward, row, err);
    return tp_replay_result(backward->forward, 1)
               ? tp_back_indexed(backward, row, err)
               : each_of_cell(backward, by_share, 0, err);
}

/* --- along an axis -------------------------------------------------------- */

/* The sum of all gradients behind. */
TP_BACKWARD(tp_back_cumsum)
{
    const struct tp_array *input, *given;
    struct tp_array *gradient;
    int axis;
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = tp_arg_tensor(backward->forward, "input", &input, err);
    if (status == TP_OK)
        status =
            tp_arg_axis(backward->forward, "dim", 0, input->dims, &axis, err);
    if (status == TP_OK && given->count != input->count)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, input, &gradient, err);
    if (status != TP_OK)
        return status;
    int64_t inner = 1;
    for (int i = axis + 1; i < input->dims; i++)
        inner *= input->shape[i];
    const int64_t length = input->dims ? input->shape[axis] : 1;
    for (int64_t i = input->count; i-- > 0;) {
        const int64_t place = i / inner % length;
        const bool last = place + 1 == length;
        gradient->value[i] =
            given->value[i] + (last ? 0 : gradient->value[i + inner]);
        gradient->bound[i] =
            fabs(given->value[i]) + (last ? 0 : gradient->bound[i + inner]);
    }
    for (int64_t i = 0; i < gradient->count; i++)
        gradient->bound[i] *=
            2 * tp_replay_gamma(backward->call, (double)length);
    return TP_OK;
}

/* A line of a cumulative product and its gradients. */
struct cumprod {
    const double *x, *y, *given;
    double *value, *bound;
    int64_t length, step;
    double own, unit, underflow;
};

/* Torch divides the sum of gradients times results behind an element by it,
 * both of the tensors' dtype, where no element is 0. */
static void divide_sums(const struct cumprod *line)
{
    double sum = 0, size = 0;
    for (int64_t k = line->length; k-- > 0;) {
        const int64_t at = k * line->step;
        const double x = line->x[at], term = line->given[at] * line->y[at];
        const double count = (double)(line->length - k);
        sum += term;
        size += fabs(term);
        line->value[at] = sum / x;
        line->bound[at] =
            ((3 * line->own + tp_rounding_gamma(line->unit, count + 2)) * size +
             count * line->underflow) /
            fabs(x);
    }
}

/* The product of all before an element, times the sum over all from it on of
 * their gradients times the factors between: zeros are no case of it. */
static void multiply_out(const struct cumprod *line)
{
    const double off =
        3 * line->own +
        tp_rounding_gamma(line->unit, 2 * (double)line->length + 2);
    double sum = 0, size = 0, product = 1;
    for (int64_t k = line->length; k-- > 0;) {
        const int64_t at = k * line->step;
        const double next = k + 1 < line->length ? line->x[at + line->step] : 0;
        sum = line->given[at] + (k + 1 < line->length ? next * sum : 0);
        size = fabs(line->given[at]) +
               (k + 1 < line->length ? fabs(next) * size : 0);
        line->value[at] = sum;
        line->bound[at] = size;
    }
    for (int64_t k = 0; k < line->length; k++) {
        const int64_t at = k * line->step;
        line->value[at] *= product;
        line->bound[at] = off * fabs(product) * line->bound[at] +
                          (double)line->length * line->underflow;
        product *= line->x[at];
    }
}

static bool has_zero(const struct cumprod *line)
{
    for (int64_t k = 0; k < line->length; k++)
        if (line->x[k * line->step] == 0)
            return true;
    return false;
}

TP_BACKWARD(tp_back_cumprod)
{
    const struct tp_array *input, *given, *result;
    struct tp_array *gradient;
    int axis;
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = tp_backward_result(backward, 0, &result, err);
    if (status == TP_OK)
        status = tp_arg_tensor(backward->forward, "input", &input, err);
    if (status == TP_OK)
        status =
            tp_arg_axis(backward->forward, "dim", 0, input->dims, &axis, err);
    if (status == TP_OK &&
        (given->count != input->count || result->count != input->count))
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, input, &gradient, err);
    if (status != TP_OK || input->count == 0)
        return status;
    int64_t inner = 1;
    for (int i = axis + 1; i < input->dims; i++)
        inner *= input->shape[i];
    const int64_t length = input->dims ? input->shape[axis] : 1;
    for (int64_t i = 0; i < input->count / length; i++) {
        const int64_t at = i / inner * length * inner + i % inner;
        const struct cumprod line = {input->value + at,
                                     result->value + at,
                                     given->value + at,
                                     gradient->value + at,
                                     gradient->bound + at,
                                     length,
                                     inner,
                                     backward->call->own,
                                     backward->call->unit,
                                     tp_dtype_underflow(input->dtype)};
        if (has_zero(&line))
            multiply_out(&line);
        else
            divide_sums(&line);
    }
    return TP_OK;
}
