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
#include <string.h>

#include "replay/point_math.h"

enum { OPERANDS = TP_ARRAY_STEPS };

/* Where the elements of an operand come from. */
struct operand {
    const struct tp_array *array; /* NULL: a number                          */
    double number, rounded;       /* as it is, and in the tensors' dtype     */
};

struct point {
    tp_point_fn *function;
    int count;
    struct operand operands[OPERANDS];
    int dims;
    int64_t shape[TP_LIMIT_DIMS];
    bool inexact; /* a scalar has no equal in the tensors' dtype             */
};

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

/* The name of argument `number` of a signature. */
static void name_of(const char *signature, int number, char *name, size_t size)
{
    while (number-- > 0)
        signature += strcspn(signature, ",") + 1;
    size_t length = strcspn(signature, ",");
    if (length >= size)
        length = size - 1;
    memcpy(name, signature, length);
    name[length] = 0;
}

static enum tp_status bind(const struct tp_replay_call *replay,
                           struct point *point, int i, struct tp_error *err)
{
    char name[32];
    name_of(replay->signature, i, name, sizeof name);
    point->operands[i].array = tp_arg_array(replay, name);
    if (point->operands[i].array)
        return widen(point, point->operands[i].array, err);
    const struct tp_dump_item *item = tp_arg(replay, name);
    const double number = tp_arg_real(replay, name, NAN);
    if (!item || item->kind != TP_DUMP_VALUE ||
        (isnan(number) && strcmp(item->type, "float") != 0))
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

/* The value of an element, and how far it may be off. */
static double value_at(const struct point *point,
                       const struct tp_array_walk *walk, double unit,
                       double *bound)
{
    double x[OPERANDS], y[OPERANDS], terms, other;
    for (int i = 0; i < point->count; i++) {
        const struct operand *operand = &point->operands[i];
        x[i] = operand->array ? operand->array->value[walk->at[i]]
                              : operand->number;
        y[i] = operand->array ? x[i] : operand->rounded;
    }
    const double value = point->function(x, &terms);
    *bound = unit * terms;
    if (point->inexact) {
        const double changed = point->function(y, &other);
        *bound += changed == value ? 0 : fabs(changed - value);
    }
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

TP_KERNEL(tp_run_point)
{
    struct point point = {row->point, row->operands, .dims = 0};
    enum tp_status status = bind_all(replay, &point, point.count, err);
    return status == TP_OK ? compute(replay, &point, err) : status;
}

TP_KERNEL(tp_run_add)
{
    struct point point = {row->point, 2, .dims = 0};
    const double alpha = tp_arg_real(replay, "alpha", 1);
    enum tp_status status = bind_all(replay, &point, 2, err);
    if (status != TP_OK)
        return status;
    if (alpha != 1) {
        point.count = 3;
        set_number(replay, &point, 2, alpha);
        point.function = row->point == tp_point_add ? tp_point_add_scaled
                         : row->point == tp_point_subtract
                             ? tp_point_subtract_scaled
                             : tp_point_reversed_subtract_scaled;
    }
    return compute(replay, &point, err);
}

TP_KERNEL(tp_run_divide)
{
    const char *mode = tp_arg_text(replay, "rounding_mode", "");
    struct point point = {!strcmp(mode, "floor")   ? tp_point_divide_down
                          : !strcmp(mode, "trunc") ? tp_point_divide_short
                                                   : row->point,
                          2, .dims = 0};
    enum tp_status status = bind_all(replay, &point, 2, err);
    return status == TP_OK ? compute(replay, &point, err) : status;
}

/* A limit of clamp that is not given is NaN: none. */
static enum tp_status bind_limit(const struct tp_replay_call *replay,
                                 struct point *point, int i, const char *name,
                                 struct tp_error *err)
{
    if (tp_arg(replay, name))
        return bind(replay, point, i, err);
    point->operands[i].number = point->operands[i].rounded = NAN;
    return TP_OK;
}

TP_KERNEL(tp_run_clamp)
{
    struct point point = {row->point, 3, .dims = 0};
    enum tp_status status = bind(replay, &point, 0, err);
    if (status == TP_OK)
        status = bind_limit(replay, &point, 1, "min", err);
    if (status == TP_OK)
        status = bind_limit(replay, &point, 2, "max", err);
    return status == TP_OK ? compute(replay, &point, err) : status;
}

TP_KERNEL(tp_run_addc)
{
    struct point point = {row->point, 4, .dims = 0};
    enum tp_status status = bind_all(replay, &point, 3, err);
    set_number(replay, &point, 3, tp_arg_real(replay, "value", 1));
    return status == TP_OK ? compute(replay, &point, err) : status;
}

TP_KERNEL(tp_run_gelu)
{
    const bool tanh = !strcmp(tp_arg_text(replay, "approximate", ""), "tanh");
    struct point point = {tanh ? tp_point_gelu_tanh : row->point, 1, .dims = 0};
    enum tp_status status = bind_all(replay, &point, 1, err);
    return status == TP_OK ? compute(replay, &point, err) : status;
}
