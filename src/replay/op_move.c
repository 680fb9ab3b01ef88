/* SPDX-License-Identifier: MIT */
/*
 * Movement: every element of a result is one of the input, exactly; a walk
 * with the input's strides in the result's order. Where the arguments only say
 * the shape, it is the one that was dumped. A change of the dtype is the only
 * rounding there is, and who judges adds it.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/backward.h"
#include "replay/said_shape.h"

/* A value as an element of a dtype: integers lose what is behind the point. */
static double fitted(double value, enum tp_dtype dtype)
{
    if (dtype == TP_BOOL)
        return value != 0;
    return tp_dtype_info(dtype)->kind == TP_CLASS_INTEGER ? trunc(value)
                                                          : value;
}

/* Copies the elements that strides lead to, from `first` on. */
static void copy(const double *from, const int64_t *strides,
                 struct tp_array *output)
{
    struct tp_array_walk walk = {.dims = output->dims, .shape = output->shape};
    for (int i = 0; i < output->dims; i++)
        walk.strides[0][i] = strides[i];
    for (int64_t at = 0; at < output->count; at++) {
        output->value[at] = fitted(from[walk.at[0]], output->dtype);
        tp_array_walk_next(&walk);
    }
}

TP_KERNEL(tp_run_same)
{
    const struct tp_array *input;
    struct tp_array *output;
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = tp_replay_make_like_dumped(replay, &output, err);
    if (status == TP_OK &&
        (output->count != input->count || !tp_said_view(replay, input, output)))
        return tp_replay_fail_result(err);
    for (int64_t i = 0; status == TP_OK && i < output->count; i++)
        output->value[i] = fitted(input->value[i], output->dtype);
    return status;
}

/* The gradient in the order of the input. */
TP_BACKWARD(tp_back_same)
{
    const struct tp_array *given;
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    return status == TP_OK ? tp_backward_view(backward, given, 0, err) : status;
}

/* What gives its input back if there is nothing to do, and then has no node:
 * the gradient that was dumped is that of whoever made the input. */
TP_BACKWARD(tp_back_convert)
{
    const struct tp_array *input, *result;
    enum tp_status status =
        tp_arg_tensor(backward->forward, "input", &input, err);
    if (status == TP_OK)
        status = tp_backward_result(backward, 0, &result, err);
    if (status == TP_OK && input->dtype == result->dtype &&
        input->dims == result->dims)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "it may have given its input, whose gradient is that "
                         "of another call");
    return status == TP_OK ? tp_back_same(backward, row, err) : status;
}

/* The result whose axis i is axis order[i] of the input. */
static enum tp_status run_order(struct tp_replay_call *replay,
                                const struct tp_array *input, const int *order,
                                struct tp_error *err)
{
    struct tp_array *output;
    int64_t own[TP_LIMIT_DIMS], shape[TP_LIMIT_DIMS], strides[TP_LIMIT_DIMS];
    tp_array_strides(input, own);
    for (int i = 0; i < input->dims; i++) {
        shape[i] = input->shape[order[i]];
        strides[i] = own[order[i]];
    }
    enum tp_status status =
        tp_replay_make(replay, input->dims, shape, &output, err);
    if (status == TP_OK)
        copy(input->value, strides, output);
    return status;
}

TP_KERNEL(tp_run_transpose)
{
    const struct tp_array *input;
    int order[TP_LIMIT_DIMS], a = 0, b = 0;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    const bool short_form = !strcmp(row->names, "t");
    if (status == TP_OK && short_form)
        b = input->dims - 1;
    else if (status == TP_OK) {
        status =
            tp_arg_axis(replay, "dim0", INT64_MIN / 2, input->dims, &a, err);
        if (status == TP_OK)
            status = tp_arg_axis(replay, "dim1", INT64_MIN / 2, input->dims, &b,
                                 err);
    }
    if (status != TP_OK)
        return status;
    for (int i = 0; i < input->dims; i++)
        order[i] = i;
    if (input->dims > 1) {
        order[a] = b;
        order[b] = a;
    }
    return run_order(replay, input, order, err);
}

/* Axes by number, all different; false: not so. */
static bool are_axes(int64_t *list, int count, int dims)
{
    bool seen[TP_LIMIT_DIMS] = {false};
    for (int i = 0; i < count; i++) {
        list[i] += list[i] < 0 ? dims : 0;
        if (list[i] < 0 || list[i] >= dims || seen[list[i]])
            return false;
        seen[list[i]] = true;
    }
    return true;
}

TP_KERNEL(tp_run_permute)
{
    const struct tp_array *input;
    int64_t list[TP_LIMIT_DIMS];
    int order[TP_LIMIT_DIMS];
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status != TP_OK)
        return status;
    if (tp_arg_integers(replay, "dims", list) != input->dims ||
        !are_axes(list, input->dims, input->dims))
        return tp_replay_fail_shapes(err);
    for (int i = 0; i < input->dims; i++)
        order[i] = (int)list[i];
    return run_order(replay, input, order, err);
}

/* movedim(input, source, destination): the others stay in their order. */
TP_KERNEL(tp_run_movedim)
{
    const struct tp_array *input;
    int64_t from[TP_LIMIT_DIMS], to[TP_LIMIT_DIMS];
    int order[TP_LIMIT_DIMS];
    bool moved[TP_LIMIT_DIMS] = {false};
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status != TP_OK)
        return status;
    const int count = tp_arg_integers(replay, "source", from);
    if (count != tp_arg_integers(replay, "destination", to) ||
        !are_axes(from, count, input->dims) ||
        !are_axes(to, count, input->dims))
        return tp_replay_fail_shapes(err);
    for (int i = 0; i < input->dims; i++)
        order[i] = -1;
    for (int i = 0; i < count; i++) {
        order[to[i]] = (int)from[i];
        moved[from[i]] = true;
    }
    for (int i = 0, next = 0; i < input->dims; i++) {
        if (order[i] >= 0)
            continue;
        while (moved[next])
            next++;
        order[i] = next++;
    }
    return run_order(replay, input, order, err);
}

TP_KERNEL(tp_run_expand)
{
    const struct tp_array *input;
    struct tp_array *output;
    int64_t strides[TP_LIMIT_DIMS];
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = tp_replay_make_like_dumped(replay, &output, err);
    if (status != TP_OK)
        return status;
    if (!tp_array_broadcast(input, output->dims, output->shape, strides) ||
        !tp_said_expand(replay, input, output))
        return tp_replay_fail_result(err);
    copy(input->value, strides, output);
    return TP_OK;
}

TP_KERNEL(tp_run_repeat)
{
    const struct tp_array *input;
    struct tp_array *output;
    int64_t own[TP_LIMIT_DIMS];
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = tp_replay_make_like_dumped(replay, &output, err);
    if (status != TP_OK)
        return status;
    const int ahead = output->dims - input->dims;
    for (int i = 0; i < output->dims; i++)
        if (ahead < 0 ||
            (i >= ahead && (input->shape[i - ahead] == 0
                                ? output->shape[i] != 0
                                : output->shape[i] % input->shape[i - ahead])))
            return tp_replay_fail_result(err);
    if (!tp_said_repeat(replay, input, output))
        return tp_replay_fail_result(err);
    tp_array_strides(input, own);
    struct tp_array_walk walk = {.dims = output->dims, .shape = output->shape};
    for (int64_t at = 0; at < output->count; at++) {
        int64_t from = 0;
        for (int i = ahead; i < output->dims; i++)
            from += walk.index[i] % input->shape[i - ahead] * own[i - ahead];
        output->value[at] = input->value[from];
        tp_array_walk_next(&walk);
    }
    return TP_OK;
}

/* --- joining -------------------------------------------------------------- */

/* Puts a tensor into the result, where its axis begins at `first`. */
static void put(const struct tp_array *part, int axis, int64_t first,
                struct tp_array *output)
{
    int64_t strides[TP_LIMIT_DIMS];
    struct tp_array_walk walk = {.dims = part->dims, .shape = part->shape};
    tp_array_strides(output, strides);
    for (int i = 0; i < part->dims; i++)
        walk.strides[0][i] = strides[i];
    const int64_t begin = first * strides[axis];
    for (int64_t at = 0; at < part->count; at++) {
        output->value[begin + walk.at[0]] =
            fitted(part->value[at], output->dtype);
        tp_array_walk_next(&walk);
    }
}

/* An old rule: an empty vector goes with everything. */
static bool is_nothing(const struct tp_array *array)
{
    return array->dims == 1 && array->count == 0;
}

static bool fits_along(const struct tp_array *part, int axis,
                       const struct tp_array *output)
{
    if (part->dims != output->dims)
        return false;
    for (int i = 0; i < part->dims; i++)
        if (i != axis && part->shape[i] != output->shape[i])
            return false;
    return true;
}

/* Parts one after the other along an axis of the result. */
static enum tp_status join(const struct tp_array **parts, size_t count,
                           int axis, struct tp_array *output,
                           struct tp_error *err)
{
    int64_t first = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_nothing(parts[i]))
            continue;
        if (!fits_along(parts[i], axis, output) ||
            first + parts[i]->shape[axis] > output->shape[axis])
            return tp_replay_fail_shapes(err);
        put(parts[i], axis, first, output);
        first += parts[i]->shape[axis];
    }
    return first == output->shape[axis] ? TP_OK : tp_replay_fail_shapes(err);
}

/* As many results' elements lie between neighbours of one part. */
static enum tp_status stack(const struct tp_array **parts, size_t count,
                            int axis, struct tp_array *output,
                            struct tp_error *err)
{
    int64_t strides[TP_LIMIT_DIMS];
    if (output->shape[axis] != (int64_t)count)
        return tp_replay_fail_shapes(err);
    tp_array_strides(output, strides);
    const int64_t inner = strides[axis];
    for (size_t k = 0; k < count; k++) {
        if (parts[k]->count * (int64_t)count != output->count)
            return tp_replay_fail_shapes(err);
        for (int64_t i = 0; i < parts[k]->count; i++)
            output->value[(i / inner * (int64_t)count + (int64_t)k) * inner +
                          i % inner] =
                fitted(parts[k]->value[i], output->dtype);
    }
    return TP_OK;
}

/* How parts become one result along an axis. */
typedef enum tp_status tp_unite_fn(const struct tp_array **parts, size_t count,
                                   int axis, struct tp_array *output,
                                   struct tp_error *err);

static enum tp_status run_parts(struct tp_replay_call *replay,
                                tp_unite_fn *unite, struct tp_error *err)
{
    struct tp_array *output;
    int axis;
    const struct tp_array **parts =
        calloc(replay->call->count + 1, sizeof *parts);
    if (!parts)
        return tp_fail_memory(err);
    const size_t count = tp_arg_arrays(replay, "tensors", parts);
    enum tp_status status = tp_replay_make_like_dumped(replay, &output, err);
    if (status == TP_OK)
        status = tp_arg_axis(replay, "dim", 0, output->dims, &axis, err);
    if (status == TP_OK && output->dims == 0)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = unite(parts, count, axis, output, err);
    free(parts);
    return status;
}

TP_KERNEL(tp_run_cat)
{
    (void)row;
    return run_parts(replay, join, err);
}

TP_KERNEL(tp_run_stack)
{
    (void)row;
    return run_parts(replay, stack, err);
}

/* --- parting -------------------------------------------------------------- */

/* One result: `length` of the axis from `first` on. */
static enum tp_status take(const struct tp_array *input, int axis,
                           int64_t first, int64_t length,
                           struct tp_array *output, struct tp_error *err)
{
    int64_t own[TP_LIMIT_DIMS], strides[TP_LIMIT_DIMS];
    const bool drops = output->dims == input->dims - 1;
    tp_array_strides(input, own);
    if (first + length > input->shape[axis])
        return tp_replay_fail_shapes(err);
    for (int i = 0, k = 0; i < input->dims; i++) {
        if (drops && i == axis)
            continue;
        if (output->shape[k] != (i == axis ? length : input->shape[i]))
            return tp_replay_fail_shapes(err);
        strides[k++] = own[i];
    }
    copy(input->value + first * own[axis], strides, output);
    return TP_OK;
}

TP_KERNEL(tp_run_split)
{
    const struct tp_array *input;
    struct tp_array *output;
    int axis;
    int64_t first = 0;
    const bool single = !strcmp(row->names, "unbind");
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = tp_arg_axis(replay, "dim", 0, input->dims, &axis, err);
    if (status == TP_OK && input->dims == 0)
        status = tp_replay_fail_shapes(err);
    while (status == TP_OK && tp_replay_result(replay, replay->output_count)) {
        status = tp_replay_make_like_dumped(replay, &output, err);
        if (status != TP_OK)
            break;
        const int64_t number = (int64_t)replay->output_count - 1;
        if (output->dims != input->dims - single)
            return tp_replay_fail_result(err);
        const int64_t length = single ? 1 : output->shape[axis];
        if (!single &&
            !tp_said_part(replay, input->shape[axis], number, length))
            return tp_replay_fail_result(err);
        status = take(input, axis, first, length, output, err);
        first += length;
    }
    return status == TP_OK && first != input->shape[axis]
               ? tp_replay_fail_result(err)
               : status;
}

/* --- constants ------------------------------------------------------------ */

TP_KERNEL(tp_run_constant)
{
    struct tp_array *output;
    const bool full = !strncmp(row->names, "full", 4);
    const double value = full ? tp_arg_real(replay, "fill_value", NAN)
                              : !strncmp(row->names, "ones", 4);
    if (full && !tp_arg(replay, "fill_value"))
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "its number is not said");
    enum tp_status status = tp_replay_make_like_dumped(replay, &output, err);
    if (status == TP_OK && !tp_said_constant(replay, output))
        return tp_replay_fail_result(err);
    for (int64_t i = 0; status == TP_OK && i < output->count; i++)
        output->value[i] = fitted(value, output->dtype);
    return status;
}

/* A 1 in the place that each number says; how many places, the dump says where
 * the arguments do not. */
TP_KERNEL(tp_run_one_hot)
{
    const struct tp_array *input;
    struct tp_array *output;
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = tp_replay_make_like_dumped(replay, &output, err);
    if (status != TP_OK)
        return status;
    const int64_t places = output->dims ? output->shape[output->dims - 1] : 0;
    const int64_t said = tp_arg_integer(replay, "num_classes", -1);
    if (output->dims != input->dims + 1 ||
        output->count != input->count * places || (said >= 0 && said != places))
        return tp_replay_fail_result(err);
    for (int64_t i = 0; i < input->count; i++) {
        const double place = input->value[i];
        if (!(place >= 0 && place < (double)places))
            return tp_replay_fail_shapes(err);
        output->value[i * places + (int64_t)place] = 1;
    }
    return TP_OK;
}

/* Whether an argument is a number, or not given. */
static bool is_number(const struct tp_replay_call *replay, const char *name)
{
    return !tp_arg_is_hidden(replay, name) &&
           (!tp_arg(replay, name) || !isnan(tp_arg_real(replay, name, NAN)));
}

/* arange(end), arange(start, end), arange(start, end, step); computed as
 * start + i step, whose product and sum are rounded. */
TP_KERNEL(tp_run_arange)
{
    struct tp_array *output;
    (void)row;
    const bool two = tp_arg(replay, "end") != NULL;
    const double start = two ? tp_arg_real(replay, "start", 0) : 0;
    const double end = tp_arg_real(replay, two ? "end" : "start", NAN);
    const double step = tp_arg_real(replay, "step", 1);
    if (!is_number(replay, "start") || !is_number(replay, "end") ||
        !is_number(replay, "step") || isnan(end))
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "its numbers are not said");
    enum tp_status status = tp_replay_make_like_dumped(replay, &output, err);
    if (status == TP_OK && !(ceil((end - start) / step) == output->count))
        return tp_replay_fail_result(err);
    if (status == TP_OK)
        status = tp_array_bounds(output, err);
    for (int64_t i = 0; status == TP_OK && i < output->count; i++) {
        output->value[i] = fitted(start + (double)i * step, output->dtype);
        if (tp_dtype_rounding(output->dtype) > 0)
            output->bound[i] =
                replay->unit * (fabs(start) + 2 * fabs((double)i * step));
    }
    return status;
}
