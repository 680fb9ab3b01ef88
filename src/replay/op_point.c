/* SPDX-License-Identifier: MIT */
/*
 * Elementwise operators: the operands are brought to the common shape by
 * strides, 0 where they repeat, and a function of the table computes each
 * element in fp64. Its bound is unit * (the magnitudes that are rounded on the
 * way). A scalar may be rounded to the tensors' dtype before it is used (frame-
 * works differ), so where that changes it, the bound is also as large as what
 * it changes in the result. One pass; no memory but the result.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/backward.h"
#include "replay/dtype_round.h"
#include "replay/point_math.h"
#include "replay/point_slope.h"

enum { OPERANDS = TP_ARRAY_STEPS };

/* Where the elements of an operand come from. */
struct operand {
    const struct tp_array *array; /* NULL: a number                          */
    double number, rounded;       /* as it is, and in the tensors' dtype     */
};

struct point {
    tp_point_fn *function;
    tp_slope_fn *slope;
    int count;
    struct operand operands[OPERANDS];
    int dims;
    int64_t shape[TP_LIMIT_DIMS];
    bool inexact; /* a scalar has no equal in the tensors' dtype             */
    bool cuts;    /* a quotient, which kernels round to `dtype` before it is
                     cut to an integer                                      */
    enum tp_dtype dtype;
};

static struct point point_of(const struct tp_operator *row)
{
    return (struct point){row->point, row->slope, row->operands, .dims = 0};
}

static int64_t count_of(const struct point *point)
{
    int64_t count = 1;
    for (int i = 0; i < point->dims; i++)
        count *= point->shape[i];
    return count;
}

/* The nearest number with the significand of a dtype whose rounding this is. */
static double round_to(double value, double rounding)
{
    int exponent;
    if (rounding == 0 || !isfinite(value) || value == 0)
        return value;
    const double fraction = frexp(value, &exponent);
    return ldexp(nearbyint(fraction / rounding) * rounding, exponent);
}

static void set_number(const struct tp_replay_call *replay, struct point *point,
                       int i, double number)
{
    struct operand *operand = &point->operands[i];
    operand->number = number;
    operand->rounded = round_to(number, replay->own);
    point->inexact |= operand->number != operand->rounded;
}

static enum tp_status widen(struct point *point, const struct tp_array *array,
                            struct tp_error *err)
{
    const int ahead = array->dims - point->dims;
    if (ahead > 0) {
        memmove(point->shape + ahead, point->shape,
                (size_t)point->dims * sizeof *point->shape);
        for (int i = 0; i < ahead; i++)
            point->shape[i] = 1;
        point->dims = array->dims;
    }
    for (int i = 0; i < array->dims; i++) {
        int64_t *length = &point->shape[point->dims - array->dims + i];
        if (*length != array->shape[i] && *length != 1 && array->shape[i] != 1)
            return tp_replay_fail_shapes(err);
        if (*length == 1)
            *length = array->shape[i];
    }
    return TP_OK;
}

/* The name of argument `number` of a signature. Returns its default; NAN: it
 * has none, or that of a limit that is not there. */
static double name_of(const char *signature, int number, char *name,
                      size_t size, bool *optional)
{
    while (number-- > 0)
        signature += strcspn(signature, ",") + 1;
    size_t length = strcspn(signature, ",=");
    *optional = signature[length] == '=';
    const double absent =
        *optional ? strtod(signature + length + 1, NULL) : NAN;
    if (length >= size)
        length = size - 1;
    memcpy(name, signature, length);
    name[length] = 0;
    return absent;
}

static enum tp_status bind(const struct tp_replay_call *replay,
                           struct point *point, int i, struct tp_error *err)
{
    char name[32];
    bool optional;
    const double absent =
        name_of(replay->signature, i, name, sizeof name, &optional);
    point->operands[i].array = tp_arg_array(replay, name);
    if (point->operands[i].array)
        return widen(point, point->operands[i].array, err);
    const struct tp_dump_item *item = tp_arg(replay, name);
    const double number = tp_arg_real(replay, name, item ? NAN : absent);
    if (item ? item->kind != TP_DUMP_VALUE ||
                   (isnan(number) && strcmp(item->type, "float") != 0)
             : !optional)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its argument %s is no number", name);
    set_number(replay, point, i, number);
    return TP_OK;
}

static enum tp_status bind_all(const struct tp_replay_call *replay,
                               struct point *point, int count,
                               struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (int i = 0; i < count && status == TP_OK; i++)
        status = bind(replay, point, i, err);
    return status;
}

/* --- computing ------------------------------------------------------------ */

/* The operands of an element, with scalars as they are and rounded. */
static void operands_at(const struct point *point,
                        const struct tp_array_walk *walk, double *x,
                        double *rounded)
{
    for (int i = 0; i < point->count; i++) {
        const struct operand *operand = &point->operands[i];
        x[i] = operand->array ? operand->array->value[walk->at[i]]
                              : operand->number;
        rounded[i] = operand->array ? x[i] : operand->rounded;
    }
}

/* The value of an element, and how far it may be off. */
static double value_at(const struct point *point,
                       const struct tp_array_walk *walk, double unit,
                       double *bound)
{
    double x[OPERANDS], y[OPERANDS], terms, other;
    operands_at(point, walk, x, y);
    const double value = point->function(x, &terms);
    *bound = unit * terms;
    if (point->inexact) {
        const double changed = point->function(y, &other);
        *bound += changed == value ? 0 : fabs(changed - value);
    }
    const double cut =
        point->cuts ? trunc(tp_dtype_round(point->dtype, x[0] / x[1])) : value;
    if (isfinite(cut))
        *bound += fabs(cut - value);
    return value;
}

/* Integers beyond this are not exact in a double. */
static const double most_exact = 9007199254740992.0; /* 2^53 */

static enum tp_status fit_integer(double *value, enum tp_dtype dtype,
                                  struct tp_error *err)
{
    if (tp_dtype_info(dtype)->kind != TP_CLASS_INTEGER)
        return TP_OK;
    if (dtype == TP_BOOL)
        *value = *value != 0;
    *value = trunc(*value);
    if (!(fabs(*value) < most_exact))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "integers beyond 2^53 are not replayed");
    return TP_OK;
}

static enum tp_status compute(struct tp_replay_call *replay,
                              const struct point *point, struct tp_error *err)
{
    struct tp_array *output;
    struct tp_array_walk walk = {.dims = point->dims, .shape = point->shape};
    enum tp_status status =
        tp_replay_make_bounded(replay, point->dims, point->shape, &output, err);
    for (int i = 0; i < point->count && status == TP_OK; i++)
        if (point->operands[i].array)
            tp_array_broadcast(point->operands[i].array, point->dims,
                               point->shape, walk.strides[i]);
    for (int64_t at = 0; status == TP_OK && at < output->count; at++) {
        output->value[at] =
            value_at(point, &walk, replay->unit, &output->bound[at]);
        status = fit_integer(&output->value[at], output->dtype, err);
        tp_array_walk_next(&walk);
    }
    return status;
}

static enum tp_status run(struct tp_replay_call *replay, struct point point,
                          struct tp_error *err)
{
    enum tp_status status = bind_all(replay, &point, point.count, err);
    return status == TP_OK ? compute(replay, &point, err) : status;
}

TP_KERNEL(tp_run_point)
{
    return run(replay, point_of(row), err);
}

/* --- gradients ------------------------------------------------------------ */

/* The gradient of one operand in the making. */
struct partial {
    const struct point *point;
    const struct tp_replay_call *call;
    const struct tp_array *given, *result;
    int which;
};

/* What the products of what goes in lose where they are below the normal
 * numbers of a dtype, relative. */
static double lost_below(const struct partial *part, const double *x, double y,
                         double given)
{
    const enum tp_dtype dtype = part->given->dtype;
    double least = 1, own = fabs(given) > 0 ? fmin(1, fabs(given)) : 1;
    for (int i = 0; i < part->point->count; i++)
        if (fabs(x[i]) > 0)
            least = fmin(least, fabs(x[i]));
    if (fabs(y) > 0)
        least = fmin(least, fabs(y));
    return fmin(1, 4 * tp_dtype_underflow(dtype) /
                       (least * fmin(least * least, own)));
}

/* An element, and how far it may be off. */
static double gradient_at(const struct partial *part, int64_t at,
                          const struct tp_array_walk *walk, double *bound)
{
    double x[OPERANDS], rounded[OPERANDS], terms[2], other[2];
    const struct point *point = part->point;
    const double given = part->given->value[at], y = part->result->value[at];
    operands_at(point, walk, x, rounded);
    const double slope = point->slope(x, y, part->which, terms);
    *bound = 0;
    if (terms[0] == TP_SLOPE_MASKED)
        return 0;
    const double value = given * slope;
    *bound = fabs(given);
    if (terms[0] == TP_SLOPE_KINK)
        return value;
    *bound = fabs(given) *
             (part->call->unit * terms[0] + part->call->own * terms[1]);
    if (terms[0] > 0)
        *bound += part->call->unit * fabs(value);
    if (terms[1] > 0 && part->given->dtype == TP_FLOAT16)
        *bound += lost_below(part, x, y, given) * fabs(value);
    if (point->inexact) {
        const double changed =
            given * point->slope(rounded, y, part->which, other);
        *bound += changed == value ? 0 : fabs(changed - value);
    }
    return value;
}

static void fill(const struct partial *part, struct tp_array *full)
{
    const struct point *point = part->point;
    struct tp_array_walk walk = {.dims = point->dims, .shape = point->shape};
    for (int i = 0; i < point->count; i++)
        if (point->operands[i].array)
            tp_array_broadcast(point->operands[i].array, point->dims,
                               point->shape, walk.strides[i]);
    for (int64_t at = 0; at < full->count; at++) {
        full->value[at] = gradient_at(part, at, &walk, &full->bound[at]);
        tp_array_walk_next(&walk);
    }
}

/* The gradient of an operand, summed over what was repeated. */
static enum tp_status add_gradient(struct tp_backward *backward,
                                   const struct partial *part,
                                   struct tp_error *err)
{
    struct tp_array full = {.dims = 0};
    const struct point *point = part->point;
    const struct tp_array *operand = point->operands[part->which].array;
    enum tp_status status =
        tp_array_make(&full, point->dims, point->shape, err);
    if (status == TP_OK)
        status = tp_array_bounds(&full, err);
    if (status == TP_OK) {
        fill(part, &full);
        status = tp_backward_sum_to(backward, &full, operand->dims,
                                    operand->shape, err);
    }
    tp_array_clear(&full);
    return status;
}

static enum tp_status back(struct tp_backward *backward, struct point point,
                           struct tp_error *err)
{
    struct partial part = {.point = &point, .call = backward->call};
    enum tp_status status = tp_backward_single(backward, &part.given, err);
    if (status == TP_OK)
        status = bind_all(backward->forward, &point, point.count, err);
    if (status == TP_OK)
        status = tp_backward_result(backward, 0, &part.result, err);
    const int64_t count = status == TP_OK ? count_of(&point) : 0;
    if (status == TP_OK &&
        (part.given->count != count || part.result->count != count))
        status = tp_replay_fail_shapes(err);
    for (; part.which < point.count && status == TP_OK; part.which++)
        if (tp_backward_wants(point.operands[part.which].array))
            status = add_gradient(backward, &part, err);
    return status;
}

TP_BACKWARD(tp_back_point)
{
    return back(backward, point_of(row), err);
}

/* --- with a word ---------------------------------------------------------- */

static struct point divide_of(const struct tp_replay_call *replay,
                              const struct tp_operator *row)
{
    const char *mode = tp_arg_text(replay, "rounding_mode", "");
    struct point point = point_of(row);
    if (!*mode)
        return point;
    point.function =
        !strcmp(mode, "floor") ? tp_point_divide_down : tp_point_divide_short;
    point.slope = tp_slope_none;
    const struct tp_dump_item *result = tp_replay_result(replay, 0);
    point.cuts = !strcmp(mode, "trunc") && result &&
                 result->element < TP_DTYPE_COUNT;
    point.dtype = point.cuts ? result->element : TP_FLOAT64;
    return point;
}

TP_KERNEL(tp_run_divide)
{
    return run(replay, divide_of(replay, row), err);
}

TP_BACKWARD(tp_back_divide)
{
    return back(backward, divide_of(backward->forward, row), err);
}

static struct point gelu_of(const struct tp_replay_call *replay,
                            const struct tp_operator *row)
{
    struct point point = point_of(row);
    if (!strcmp(tp_arg_text(replay, "approximate", ""), "tanh")) {
        point.function = tp_point_gelu_tanh;
        point.slope = tp_slope_gelu_tanh;
    }
    return point;
}

TP_KERNEL(tp_run_gelu)
{
    return run(replay, gelu_of(replay, row), err);
}

TP_BACKWARD(tp_back_gelu)
{
    return back(backward, gelu_of(backward->forward, row), err);
}

/* Of a bool, not; else all bits. */
TP_KERNEL(tp_run_invert)
{
    const struct tp_array *input = tp_arg_array(replay, "input");
    struct point point = point_of(row);
    if (input && input->dtype == TP_BOOL)
        point.function = tp_point_not;
    return run(replay, point, err);
}

/* The weight of prelu is one for all or one a channel, axis 1: as torch views
 * it, in as many axes as the input, whose shape its gradient has, too. */
static void view_channels(const struct tp_replay_call *call)
{
    const struct tp_array *input = tp_arg_array(call, "input");
    struct tp_array *weight = tp_arg_array(call, "weight");
    if (!input || !weight || weight->dims != 1 || input->dims == 1 ||
        (input->dims == 0 && weight->count != 1))
        return;
    weight->dims = input->dims;
    for (int i = 0; i < input->dims; i++)
        weight->shape[i] = i == 1 ? weight->count : 1;
}

TP_KERNEL(tp_run_prelu)
{
    view_channels(replay);
    return run(replay, point_of(row), err);
}

TP_BACKWARD(tp_back_prelu)
{
    view_channels(backward->forward);
    return back(backward, point_of(row), err);
}

/* --- nan_to_num ----------------------------------------------------------- */

/* A finite number for each that is none: 0 and the ends of the input's dtype
 * unless others are said. */
TP_KERNEL(tp_run_nan_to_num)
{
    const struct tp_array *input;
    struct tp_array *output;
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status =
            tp_replay_make(replay, input->dims, input->shape, &output, err);
    if (status != TP_OK)
        return status;
    const double most = tp_dtype_largest(input->dtype);
    const double nan = tp_arg_real(replay, "nan", 0);
    const double ends[2] = {tp_arg_real(replay, "posinf", most),
                            tp_arg_real(replay, "neginf", -most)};
    for (int64_t i = 0; i < input->count; i++) {
        const double x = input->value[i];
        output->value[i] = isnan(x) ? nan : isinf(x) ? ends[x < 0] : x;
    }
    return TP_OK;
}

/* What is replaced has no slope. */
TP_BACKWARD(tp_back_nan_to_num)
{
    const struct tp_array *input, *given;
    struct tp_array *gradient;
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = tp_arg_tensor(backward->forward, "input", &input, err);
    if (status == TP_OK && given->count != input->count)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, input, &gradient, err);
    for (int64_t i = 0; status == TP_OK && i < input->count; i++)
        gradient->value[i] =
            given->value[i] * (isfinite(input->value[i]) ? 1 : 0);
    return status;
}
