/* SPDX-License-Identifier: MIT */
#include "formats/torch/torch_numpy.h"

#include <string.h>

/*
 * How numpy pickles an array. With protocols to 4 it is
 *
 *     _reconstruct(ndarray, (0,), b'b')   and as its state
 *     (1, shape, dtype, is_fortran, elements)
 *
 * and with protocol 5, if it is contiguous, _frombuffer(elements, dtype, shape,
 * order). A dtype is dtype('f4', False, True) with the state (3, '<', ...); of
 * a package that adds types the first argument is its class, which is named as
 * torch names the same type (ml_dtypes.bfloat16).
 */

static const char FROM_BUFFER[] = "_frombuffer";
static const char ML_DTYPES[] = "ml_dtypes.";

static enum tp_status damaged(const struct tp_pickle *pickle, tp_ref at,
                              const char *what, struct tp_error *err)
{
    return tp_fail(err, TP_E_DAMAGED, tp_pickle_offset(pickle, at),
                   "an array of numpy whose %s cannot be understood", what);
}

/* The type that a class of another package stands for. */
static enum tp_status read_class(const char *name, struct tp_numpy_dtype *type,
                                 struct tp_error *err)
{
    const size_t package = sizeof ML_DTYPES - 1;
    *type = (struct tp_numpy_dtype){.dtype = TP_DTYPE_COUNT};
    if (strncmp(name, ML_DTYPES, package) == 0)
        type->dtype = tp_dtype_by_name(name + package);
    if (type->dtype != TP_DTYPE_COUNT)
        return TP_OK;
    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                   "an array of numpy whose elements are %s; they are not read",
                   name);
}

static enum tp_status read_dtype(const struct tp_pickle *pickle, tp_ref dtype,
                                 struct tp_numpy_dtype *type,
                                 struct tp_error *err)
{
    const struct tp_value *call = tp_pickle_value(pickle, dtype);
    if (!call || call->kind != TP_VALUE_CALL)
        return damaged(pickle, dtype, "dtype", err);
    tp_ref first = tp_pickle_item(pickle, call->u.call.args, 0);
    const char *order = "", *code, *name = tp_pickle_callable(pickle, first);
    size_t order_length = 0, length;
    if (tp_pickle_kind(pickle, first) == TP_VALUE_GLOBAL && name)
        return read_class(name, type, err);
    char text[32];
    tp_pickle_text(pickle, tp_pickle_item(pickle, call->u.call.state, 1),
                   &order, &order_length);
    if (!tp_pickle_text(pickle, first, &code, &length) || order_length > 1 ||
        length + order_length >= sizeof text)
        return damaged(pickle, dtype, "dtype", err);
    memcpy(text, order, order_length);
    memcpy(text + order_length, code, length);
    enum tp_status status =
        tp_numpy_dtype_read(text, order_length + length, type, err);
    /* a pickle has the names of types: two bytes without one are none */
    if (status == TP_OK && type->assumed)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "an array of numpy of records; they are not read");
    return status;
}

static enum tp_status read_order(const struct tp_pickle *pickle, tp_ref order,
                                 struct tp_torch_array *array,
                                 struct tp_error *err)
{
    int64_t fortran;
    if (tp_pickle_int(pickle, order, &fortran))
        array->fortran = fortran != 0;
    else if (tp_pickle_is(pickle, order, "F"))
        array->fortran = true;
    else if (!tp_pickle_is(pickle, order, "C"))
        return damaged(pickle, order, "order", err);
    return TP_OK;
}

enum tp_status tp_torch_array_read(const struct tp_pickle *pickle, tp_ref call,
                                   struct tp_torch_array *array,
                                   struct tp_error *err)
{
    const struct tp_value_call *its = &pickle->values[call].u.call;
    const char *name = tp_pickle_callable(pickle, call);
    const char *last = name ? strrchr(name, '.') : NULL;
    const bool buffer = last && strcmp(last + 1, FROM_BUFFER) == 0;
    const tp_ref told = buffer ? its->args : its->state;
    if (tp_pickle_length(pickle, told) < (buffer ? 4 : 5))
        return damaged(pickle, call, "state", err);
    *array = (struct tp_torch_array){
        .shape = tp_pickle_item(pickle, told, buffer ? 2 : 1),
        .bytes = tp_pickle_item(pickle, told, buffer ? 0 : 4)};
    enum tp_status status =
        read_dtype(pickle, tp_pickle_item(pickle, told, buffer ? 1 : 2),
                   &array->type, err);
    return status == TP_OK
               ? read_order(pickle, tp_pickle_item(pickle, told, 3), array, err)
               : status;
}
