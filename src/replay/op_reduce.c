/* SPDX-License-Identifier: MIT */
/*
 * Reductions over axes: each element of the input is added to its cell of the
 * result, in row-major order, in fp64. A sum of k terms in any order is off by
 * at most gamma_(k-1) sum|x| (Higham, 4.2). A mean may be rounded to its dtype
 * before it is divided; a norm takes the root of a sum of squares, which
 * halves its relative error; a variance is bounded as in op_norm.c. Two passes
 * for variances, else one.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/point_math.h"
#include "replay/reduce_axes.h"

/* A cell of the result. */
struct cell {
    double sum, magnitude, off;
    int64_t seen;
};

/* The result and a cell for each of its elements; cells are freed by who
 * asked. */
static enum tp_status make_cells(struct tp_replay_call *replay,
                                 struct tp_axes *axes, struct tp_array **output,
                                 struct cell **cells, struct tp_error *err)
{
    *cells = NULL;
    enum tp_status status = tp_axes_find(replay, axes, err);
    if (status == TP_OK)
        status = tp_replay_make_bounded(replay, axes->dims, axes->shape, output,
                                        err);
    if (status != TP_OK)
        return status;
    *cells = calloc((size_t)(*output)->count + 1, sizeof **cells);
    return *cells ? TP_OK : tp_fail_memory(err);
}

static void add_sums(struct tp_axes *axes, struct cell *cells)
{
    for (int64_t i = 0; i < axes->input->count; i++) {
        struct cell *cell = &cells[axes->walk.at[1]];
        cell->sum += axes->input->value[i];
        cell->magnitude += fabs(axes->input->value[i]);
        tp_array_walk_next(&axes->walk);
    }
}

/* --- sums ----------------------------------------------------------------- */

/* "sum", or "mean" of as many elements. */
TP_KERNEL(tp_run_sum)
{
    const bool mean = !strcmp(row->names, "mean");
    struct tp_axes axes;
    struct tp_array *output;
    struct cell *cells;
    enum tp_status status = make_cells(replay, &axes, &output, &cells, err);
    if (status == TP_OK) {
        const double divisor = mean ? axes.count : 1;
        const double gamma = tp_replay_gamma(replay, axes.count + mean);
        const bool whole = output->dtype >= TP_UINT8;
        add_sums(&axes, cells);
        for (int64_t i = 0; i < output->count; i++) {
            const double value = cells[i].sum / divisor;
            output->value[i] = value;
            output->bound[i] = gamma * cells[i].magnitude / divisor +
                               (mean ? replay->own * fabs(value) : 0);
            if (whole)
                output->bound[i] = 0;
        }
    }
    free(cells);
    return status;
}

TP_KERNEL(tp_run_cumsum)
{
    const struct tp_array *input;
    struct tp_array *output;
    int axis;
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = tp_arg_axis(replay, "dim", 0, input->dims, &axis, err);
    if (status == TP_OK)
        status = tp_replay_make_bounded(replay, input->dims, input->shape,
                                        &output, err);
    if (status != TP_OK || input->dims == 0 || input->count == 0) {
        if (status == TP_OK && input->count)
            output->value[0] = input->value[0];
        return status;
    }
    int64_t strides[TP_LIMIT_DIMS];
    tp_array_strides(input, strides);
    const int64_t step = strides[axis], length = input->shape[axis];
    for (int64_t i = 0; i < input->count; i++) {
        const int64_t place = i / step % length;
        const double x = input->value[i];
        const double before = place ? output->value[i - step] : 0;
        const double magnitude = place ? output->bound[i - step] : 0;
        output->value[i] = before + x;
        output->bound[i] = magnitude + fabs(x);
    }
    for (int64_t i = 0; i < input->count; i++)
        output->bound[i] *=
            output->dtype >= TP_UINT8
                ? 0
                : tp_replay_gamma(replay, (double)(i / step % length));
    return TP_OK;
}

/* The product of all up to each; rounded once a factor. */
TP_KERNEL(tp_run_cumprod)
{
    const struct tp_array *input;
    struct tp_array *output;
    int64_t strides[TP_LIMIT_DIMS];
    int axis;
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = tp_arg_axis(replay, "dim", 0, input->dims, &axis, err);
    if (status == TP_OK)
        status = tp_replay_make_bounded(replay, input->dims, input->shape,
                                        &output, err);
    if (status != TP_OK || input->count == 0)
        return status;
    tp_array_strides(input, strides);
    const int64_t step = input->dims ? strides[axis] : 1;
    const int64_t length = input->dims ? input->shape[axis] : 1;
    for (int64_t i = 0; i < input->count; i++) {
        const int64_t place = i / step % length;
        output->value[i] =
            place ? output->value[i - step] * input->value[i] : input->value[i];
        if (output->dtype < TP_UINT8)
            output->bound[i] = fabs(output->value[i]) *
                               tp_replay_gamma(replay, (double)place);
    }
    return TP_OK;
}

/* --- norms ---------------------------------------------------------------- */

/* The order of a norm: 2 unless it is said. */
static enum tp_status order_of(const struct tp_replay_call *replay,
                               const struct tp_operator *row, double *order,
                               struct tp_error *err)
{
    const char *name = tp_norm_order_name(row);
    const char *word = tp_arg_text(replay, name, "");
    *order = tp_arg_real(replay, name, 2);
    if (!strcmp(word, "inf"))
        *order = INFINITY;
    if (!strcmp(word, "nuc") || *order == 0 || *order == -INFINITY)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "norms of this order are not replayed");
    return TP_OK;
}

const char *tp_norm_order_name(const struct tp_operator *row)
{
    return strstr(row->signature, ",ord=") ? "ord" : "p";
}

/* torch.linalg.norm(matrix, 2) is another thing than torch.norm(matrix, 2),
 * and both are called Torch.norm. */
static bool is_of_linalg(const struct tp_replay_call *replay)
{
    const struct tp_dump_stack *stack = replay->call->stack;
    for (size_t i = 0; stack && i < stack->count; i++)
        if (strstr(stack->lines[i], "linalg"))
            return true;
    return false;
}

static void add_power(double element, double order, double *sum)
{
    const double x = fabs(element);
    if (isinf(order))
        *sum = *sum > x || isnan(*sum) ? *sum : x;
    else
        *sum += order == 2 ? x * x : order == 1 ? x : pow(x, order);
}

/* A sum of powers, of so many elements. */
struct powers {
    double order, sum, count;
};

/* Element i of the result. */
static void set_norm(const struct tp_replay_call *replay, struct powers powers,
                     struct tp_array *output, int64_t i)
{
    const double order = powers.order, sum = powers.sum;
    const bool simple = order == 1 || order == 2 || isinf(order);
    const double value = order == 2 ? sqrt(sum)
                         : simple   ? sum
                                    : pow(sum, 1 / order);
    const double k = (isinf(order) ? 0 : powers.count + 2) +
                     (simple ? 0 : 4 * TP_FUNCTION_ROUNDINGS);
    output->value[i] = value;
    output->bound[i] = fabs(value) * tp_replay_gamma(replay, k);
}

TP_KERNEL(tp_run_norm)
{
    struct tp_axes axes;
    struct tp_array *output;
    struct cell *cells = NULL;
    double order;
    enum tp_status status = order_of(replay, row, &order, err);
    if (status == TP_OK && is_of_linalg(replay) && tp_arg(replay, "p"))
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "norms of torch.linalg are not replayed");
    if (status == TP_OK)
        status = make_cells(replay, &axes, &output, &cells, err);
    for (int64_t i = 0; status == TP_OK && i < axes.input->count; i++) {
        add_power(axes.input->value[i], order, &cells[axes.walk.at[1]].sum);
        tp_array_walk_next(&axes.walk);
    }
    for (int64_t i = 0; status == TP_OK && i < output->count; i++)
        set_norm(replay, (struct powers){order, cells[i].sum, axes.count},
                 output, i);
    free(cells);
    return status;
}

/* One norm of each tensor of a list. */
TP_KERNEL(tp_run_norms)
{
    double order;
    const struct tp_array **parts =
        calloc(replay->call->count + 1, sizeof *parts);
    if (!parts)
        return tp_fail_memory(err);
    const size_t count = tp_arg_arrays(replay, "tensors", parts);
    enum tp_status status = order_of(replay, row, &order, err);
    if (status == TP_OK && tp_replay_result(replay, count))
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "it gives more norms than it has tensors");
    for (size_t k = 0; status == TP_OK && k < count; k++) {
        struct tp_array *output;
        double sum = 0;
        status = tp_replay_make_bounded(replay, 0, NULL, &output, err);
        for (int64_t i = 0; status == TP_OK && i < parts[k]->count; i++)
            add_power(parts[k]->value[i], order, &sum);
        if (status == TP_OK)
            set_norm(replay,
                     (struct powers){order, sum, (double)parts[k]->count},
                     output, 0);
    }
    free(parts);
    return status;
}

/* --- variances ------------------------------------------------------------ */

/* How many are taken off the count: a number, or unbiased as a bool, which may
 * stand where the axes are not said. */
double tp_variance_correction(const struct tp_replay_call *replay)
{
    const struct tp_dump_item *dim = tp_arg(replay, "dim");
    double number = tp_arg_real(replay, "correction", 1);
    if (dim && dim->value && dim->value->kind == TP_JSON_BOOL)
        number = (double)dim->value->integer;
    return tp_arg_real(replay, "unbiased", number);
}

/* "var", or "std", its root. */
TP_KERNEL(tp_run_variance)
{
    const bool root = !strcmp(row->names, "std");
    struct tp_axes axes;
    struct tp_array *output;
    struct cell *cells;
    enum tp_status status = make_cells(replay, &axes, &output, &cells, err);
    if (status == TP_OK) {
        const double n = axes.count, u = replay->unit;
        const double divisor = fmax(0, n - tp_variance_correction(replay));
        add_sums(&axes, cells);
        for (int64_t i = 0; i < axes.input->count; i++) {
            const int64_t at = axes.walk.at[1];
            const double mean = cells[at].sum / n, x = axes.input->value[i];
            const double d = x - mean;
            output->value[at] += d * d / divisor;
            cells[at].off += 2 * fabs(d) *
                             (u * (cells[at].magnitude + fabs(x) + fabs(mean)));
            tp_array_walk_next(&axes.walk);
        }
        for (int64_t i = 0; i < output->count; i++) {
            const double v = n > 0 ? output->value[i] : NAN;
            const double off = cells[i].off / divisor + (n + 2) * u * v;
            output->value[i] = root ? sqrt(v) : v;
            output->bound[i] = !root ? off
                                     : sqrt(v + off) - sqrt(fmax(0, v - off)) +
                                           2 * u * sqrt(v);
        }
    }
    free(cells);
    return status;
}

/* --- extremes ------------------------------------------------------------- */

/* torch.max(a, b) is torch.maximum(a, b). */
static enum tp_status run_two(struct tp_replay_call *replay,
                              const struct tp_operator *row,
                              struct tp_error *err)
{
    struct tp_array *output;
    const struct tp_array *a, *b;
    enum tp_status status = tp_arg_tensor(replay, "input", &a, err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "dim", &b, err);
    if (status == TP_OK && a->count != b->count)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "the shapes of its arguments differ");
    if (status == TP_OK)
        status = tp_replay_make(replay, a->dims, a->shape, &output, err);
    for (int64_t i = 0; status == TP_OK && i < a->count; i++) {
        const double x[2] = {a->value[i], b->value[i]};
        double terms;
        output->value[i] = row->point(x, &terms);
    }
    return status;
}

/* The place of an element along the only reduced axis, or in the whole. */
static double place_of(const struct tp_axes *axes, int64_t i)
{
    int axis = -1;
    for (int k = 0; k < axes->input->dims; k++)
        if (axes->reduced[k]) {
            if (axis >= 0)
                return (double)i;
            axis = k;
        }
    return axis < 0 ? 0 : (double)axes->walk.index[axis];
}

/* The extreme of each cell into `output`, and the place of the first of it;
 * *equals: of some cell there are several. */
static enum tp_status find_extremes(struct tp_axes *axes, tp_point_fn *choose,
                                    struct tp_array *output, double *places,
                                    bool *equals, struct tp_error *err)
{
    int64_t *seen = calloc((size_t)output->count + 1, sizeof *seen);
    *equals = false;
    if (!seen)
        return tp_fail_memory(err);
    for (int64_t i = 0; i < axes->input->count; i++) {
        const int64_t at = axes->walk.at[1];
        const double x[2] = {output->value[at], axes->input->value[i]};
        double terms;
        const double value = seen[at]++ ? choose(x, &terms) : x[1];
        *equals |= seen[at] > 1 && x[0] == x[1];
        if (seen[at] == 1 || !(value == x[0] || (isnan(x[0]))))
            places[at] = place_of(axes, i);
        output->value[at] = value;
        tp_array_walk_next(&axes->walk);
    }
    free(seen);
    return TP_OK;
}

/* max and min: the extreme, and along an axis also where it is. */
TP_KERNEL(tp_run_extreme)
{
    struct tp_axes axes;
    struct tp_array *output, *indices = NULL;
    if (tp_arg_array(replay, "dim"))
        return run_two(replay, row, err);
    enum tp_status status = tp_axes_find(replay, &axes, err);
    if (status == TP_OK)
        status = tp_replay_make(replay, axes.dims, axes.shape, &output, err);
    if (status == TP_OK && tp_replay_result(replay, 1))
        status = tp_replay_make_indices(replay, &output, &indices, err);
    if (status != TP_OK)
        return status;
    double *places = calloc((size_t)output->count + 1, sizeof *places);
    if (!places)
        return tp_fail_memory(err);
    bool equals;
    status = find_extremes(&axes, row->point, output, places, &equals, err);
    for (int64_t i = 0; indices && i < output->count; i++)
        indices->value[i] = places[i];
    for (int64_t i = 0; output->dtype == TP_BOOL && i < output->count; i++)
        output->value[i] = output->value[i] != 0;
    free(places);
    return status;
}

/* Where the extreme is; not judged where several are equal. */
TP_KERNEL(tp_run_arg)
{
    struct tp_axes axes;
    struct tp_array *output, values = {.dims = 0};
    enum tp_status status = tp_axes_find(replay, &axes, err);
    if (status == TP_OK)
        status = tp_replay_make(replay, axes.dims, axes.shape, &output, err);
    if (status == TP_OK)
        status = tp_array_make(&values, axes.dims, axes.shape, err);
    if (status == TP_OK)
        status = find_extremes(&axes, row->point, &values, output->value,
                               &output->loose, err);
    tp_array_clear(&values);
    return status;
}

TP_KERNEL(tp_run_prod)
{
    struct tp_axes axes;
    struct tp_array *output;
    (void)row;
    enum tp_status status = tp_axes_find(replay, &axes, err);
    if (status == TP_OK)
        status =
            tp_replay_make_bounded(replay, axes.dims, axes.shape, &output, err);
    if (status != TP_OK)
        return status;
    for (int64_t i = 0; i < output->count; i++)
        output->value[i] = 1;
    for (int64_t i = 0; i < axes.input->count; i++) {
        output->value[axes.walk.at[1]] *= axes.input->value[i];
        tp_array_walk_next(&axes.walk);
    }
    for (int64_t i = 0; i < output->count && output->dtype < TP_UINT8; i++)
        output->bound[i] =
            fabs(output->value[i]) * tp_replay_gamma(replay, axes.count);
    return status;
}

/* log(sum(exp(x))) = max + log(sum(exp(x - max))). */
TP_KERNEL(tp_run_logsumexp)
{
    struct tp_axes axes;
    struct tp_array *output;
    struct cell *cells;
    (void)row;
    enum tp_status status = make_cells(replay, &axes, &output, &cells, err);
    if (status == TP_OK) {
        const double u = replay->unit;
        for (int64_t i = 0; i < axes.input->count; i++) {
            struct cell *cell = &cells[axes.walk.at[1]];
            const double x = axes.input->value[i];
            cell->magnitude =
                !cell->seen++ || x > cell->magnitude ? x : cell->magnitude;
            tp_array_walk_next(&axes.walk);
        }
        for (int64_t i = 0; i < axes.input->count; i++) {
            struct cell *cell = &cells[axes.walk.at[1]];
            const double d = axes.input->value[i] - cell->magnitude;
            cell->sum += exp(d);
            cell->off += exp(d) * (2 * fabs(d) + TP_FUNCTION_ROUNDINGS) * u;
            tp_array_walk_next(&axes.walk);
        }
        for (int64_t i = 0; i < output->count; i++) {
            const double l = log(cells[i].sum);
            output->value[i] = cells[i].magnitude + l;
            output->bound[i] = cells[i].off / cells[i].sum + axes.count * u +
                               (TP_FUNCTION_ROUNDINGS + 1) * u * fabs(l);
        }
    }
    free(cells);
    return status;
}
