/* SPDX-License-Identifier: MIT */
/*
 * normalize, x over its norm along an axis, and cosine_similarity, the sum of
 * products of two such. Norms are sums of powers (op_reduce.c) and tensors of
 * their own on the device, rounded to the tensors' dtype, as quotients and
 * products are; neither is less than eps. Gradients are those of the last node:
 * of a quotient, whose divisor is the norm as often as it is used, and of a
 * sum. One pass for the norms, one for the results; memory: a double a line.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/backward.h"
#include "replay/point_math.h"

/* A tensor seen in a larger shape, and the lines of an axis of that. */
struct side {
    const struct tp_array *array;
    int64_t strides[TP_LIMIT_DIMS];
    double *norm; /* [lines]                                                */
};

struct lines {
    int dims, axis;
    int64_t shape[TP_LIMIT_DIMS], count;
    int64_t length, outer, inner; /* of the axis, and around it             */
};

static void set_lines(struct lines *lines)
{
    lines->count = lines->outer = lines->inner = 1;
    for (int i = 0; i < lines->dims; i++) {
        if (i != lines->axis)
            *(i < lines->axis ? &lines->outer : &lines->inner) *=
                lines->shape[i];
        lines->count *= lines->shape[i];
    }
    lines->length = lines->dims ? lines->shape[lines->axis] : 1;
}

/* The line that element i is in. */
static int64_t line_of(const struct lines *lines, int64_t i)
{
    return i / (lines->length * lines->inner) * lines->inner + i % lines->inner;
}

static struct tp_array_walk walk_of(const struct lines *lines,
                                    const struct side *a, const struct side *b)
{
    struct tp_array_walk walk = {.dims = lines->dims, .shape = lines->shape};
    memcpy(walk.strides[0], a->strides, sizeof walk.strides[0]);
    if (b)
        memcpy(walk.strides[1], b->strides, sizeof walk.strides[1]);
    return walk;
}

/* Norms of all lines, each at least eps. */
static enum tp_status make_norms(const struct lines *lines, struct side *side,
                                 double order, double eps, struct tp_error *err)
{
    const size_t count = (size_t)(lines->outer * lines->inner);
    struct tp_array_walk walk = walk_of(lines, side, NULL);
    side->norm = calloc(count + 1, sizeof *side->norm);
    if (!side->norm)
        return tp_fail_memory(err);
    for (int64_t i = 0; i < lines->count; i++) {
        double *norm = &side->norm[line_of(lines, i)];
        const double x = fabs(side->array->value[walk.at[0]]);
        if (isinf(order))
            *norm = *norm > x || isnan(*norm) ? *norm : x;
        else
            *norm += order == 2 ? x * x : order == 1 ? x : pow(x, order);
        tp_array_walk_next(&walk);
    }
    for (size_t i = 0; i < count; i++) {
        const double sum = side->norm[i];
        const double norm = order == 2                   ? sqrt(sum)
                            : order == 1 || isinf(order) ? sum
                                                         : pow(sum, 1 / order);
        side->norm[i] = norm < eps ? eps : norm;
    }
    return TP_OK;
}

/* --- normalize ------------------------------------------------------------ */

struct normalize {
    struct side x;
    struct lines lines;
    double order, off; /* relative, of a norm                               */
};

static enum tp_status begin(const struct tp_replay_call *call,
                            struct normalize *n, struct tp_error *err)
{
    struct lines *lines = &n->lines;
    enum tp_status status = tp_arg_tensor(call, "input", &n->x.array, err);
    if (status == TP_OK)
        status =
            tp_arg_axis(call, "dim", 1, n->x.array->dims, &lines->axis, err);
    if (status != TP_OK)
        return status;
    n->order = tp_arg_real(call, "p", 2);
    if (!(n->order > 0))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "norms of this order are not replayed");
    lines->dims = n->x.array->dims;
    memcpy(lines->shape, n->x.array->shape, sizeof lines->shape);
    set_lines(lines);
    tp_array_strides(n->x.array, n->x.strides);
    const bool simple = n->order == 1 || n->order == 2;
    const double steps = isinf(n->order) ? 0 : (double)lines->length + 2;
    n->off = call->own +
             tp_replay_gamma(call, steps + (simple || isinf(n->order)
                                                ? 0
                                                : 4 * TP_FUNCTION_ROUNDINGS));
    return make_norms(lines, &n->x, n->order, tp_arg_real(call, "eps", 1e-12),
                      err);
}

TP_KERNEL(tp_run_normalize)
{
    struct normalize n = {.order = 2};
    struct tp_array *output;
    (void)row;
    enum tp_status status = begin(replay, &n, err);
    if (status == TP_OK)
        status = tp_replay_make_bounded(replay, n.lines.dims, n.lines.shape,
                                        &output, err);
    for (int64_t i = 0; status == TP_OK && i < output->count; i++) {
        const double norm = n.x.norm[line_of(&n.lines, i)];
        output->value[i] = n.x.array->value[i] / norm;
        output->bound[i] = (n.off + replay->unit) * fabs(output->value[i]);
    }
    free(n.x.norm);
    return status;
}

/* (x, the norms as they are repeated). */
TP_BACKWARD(tp_back_normalize)
{
    struct normalize n = {.order = 2};
    struct tp_array *made;
    const struct tp_array *given;
    const double own = backward->call->own, unit = backward->call->unit;
    double lost = 0; /* of quotients that are less than their dtype has     */
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = begin(backward->forward, &n, err);
    if (status == TP_OK && given->count != n.lines.count)
        status = tp_replay_fail_shapes(err);
    for (int i = 0; i < 2 && status == TP_OK; i++)
        status = tp_backward_make_like(backward, n.x.array, &made, err);
    made = backward->made;
    if (status == TP_OK)
        lost = tp_dtype_underflow(n.x.array->dtype);
    for (int64_t i = 0; status == TP_OK && i < given->count; i++) {
        const double norm = n.x.norm[line_of(&n.lines, i)];
        const double g = given->value[i], y = n.x.array->value[i] / norm;
        made[0].value[i] = g / norm;
        made[0].bound[i] = (n.off + unit) * fabs(g / norm);
        made[1].value[i] = -g * (y / norm);
        made[1].bound[i] =
            (2 * (n.off + own) + 3 * unit) * fabs(g * (y / norm)) +
            (1 + 1 / norm) * lost * fabs(g);
    }
    free(n.x.norm);
    return status;
}

/* --- cosine_similarity ---------------------------------------------------- */

struct cosine {
    struct side sides[2];
    struct lines lines;
};

/* The shape that both are repeated to. */
static bool set_shape(const struct tp_array *a, const struct tp_array *b,
                      struct lines *lines)
{
    lines->dims = a->dims > b->dims ? a->dims : b->dims;
    for (int i = 0; i < lines->dims; i++) {
        const int k = i - (lines->dims - a->dims);
        const int l = i - (lines->dims - b->dims);
        const int64_t own = k < 0 ? 1 : a->shape[k];
        lines->shape[i] = own == 1 && l >= 0 ? b->shape[l] : own;
    }
    struct tp_array all = {.dims = 0}; /* whether there is room for it      */
    struct tp_error none = {0};
    const bool fits =
        tp_array_make(&all, lines->dims, lines->shape, &none) == TP_OK;
    tp_array_clear(&all);
    return fits;
}

static enum tp_status begin_cosine(const struct tp_replay_call *call,
                                   struct cosine *c, struct tp_error *err)
{
    static const char *const names[2] = {"x1", "x2"};
    struct lines *lines = &c->lines;
    const double eps = tp_arg_real(call, "eps", 1e-8);
    enum tp_status status = TP_OK;
    for (int i = 0; i < 2 && status == TP_OK; i++)
        status = tp_arg_tensor(call, names[i], &c->sides[i].array, err);
    if (status == TP_OK &&
        !set_shape(c->sides[0].array, c->sides[1].array, lines))
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_arg_axis(call, "dim", 1, lines->dims, &lines->axis, err);
    if (status != TP_OK)
        return status;
    set_lines(lines);
    for (int i = 0; i < 2 && status == TP_OK; i++)
        status = tp_array_broadcast(c->sides[i].array, lines->dims,
                                    lines->shape, c->sides[i].strides)
                     ? make_norms(lines, &c->sides[i], 2, eps, err)
                     : tp_replay_fail_shapes(err);
    return status;
}

static void end_cosine(struct cosine *c)
{
    free(c->sides[0].norm);
    free(c->sides[1].norm);
}

/* The shape without the axis. */
static int result_shape(const struct lines *lines, int64_t *shape)
{
    int dims = 0;
    for (int i = 0; i < lines->dims; i++)
        if (i != lines->axis)
            shape[dims++] = lines->shape[i];
    return dims;
}

TP_KERNEL(tp_run_cosine)
{
    struct cosine c = {.lines = {.dims = 0}};
    struct tp_array *output;
    int64_t shape[TP_LIMIT_DIMS];
    (void)row;
    enum tp_status status = begin_cosine(replay, &c, err);
    const int dims = result_shape(&c.lines, shape);
    if (status == TP_OK)
        status = tp_replay_make_bounded(replay, dims, shape, &output, err);
    struct tp_array_walk walk = walk_of(&c.lines, &c.sides[0], &c.sides[1]);
    const double lost =
        status == TP_OK ? tp_dtype_underflow(c.sides[0].array->dtype) : 0;
    const double off = 5 * replay->own +
                       3 * tp_replay_gamma(replay, (double)c.lines.length + 3);
    for (int64_t i = 0; status == TP_OK && i < c.lines.count; i++) {
        const int64_t line = line_of(&c.lines, i);
        const double a =
            c.sides[0].array->value[walk.at[0]] / c.sides[0].norm[line];
        const double b =
            c.sides[1].array->value[walk.at[1]] / c.sides[1].norm[line];
        output->value[line] += a * b;
        output->bound[line] +=
            off * fabs(a * b) + lost * (1 + fabs(a) + fabs(b));
        tp_array_walk_next(&walk);
    }
    end_cosine(&c);
    return status;
}

/* The node is that of the sum: its gradient, once for each term. */
TP_BACKWARD(tp_back_cosine)
{
    struct cosine c = {.lines = {.dims = 0}};
    struct tp_array *gradient;
    const struct tp_array *given;
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = begin_cosine(backward->forward, &c, err);
    if (status == TP_OK && given->count != c.lines.outer * c.lines.inner)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_backward_make(backward, c.lines.dims, c.lines.shape,
                                  &gradient, err);
    for (int64_t i = 0; status == TP_OK && i < gradient->count; i++)
        gradient->value[i] = given->value[line_of(&c.lines, i)];
    end_cosine(&c);
    return status;
}
