/* SPDX-License-Identifier: MIT */
/*
 * Values by index: exact. An index outside of its axis cannot have given what
 * was dumped, so such a call is not replayed. Sorting is by value; the indices
 * of equal values may differ and are not judged.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "replay/backward.h"
#include "replay/said_shape.h"

static enum tp_status fail_index(struct tp_error *err)
{
    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                   "an index is outside of its axis");
}

/* The index that an element is, from the end if negative; -1: outside. */
static int64_t index_of(double value, int64_t length)
{
    if (!(value >= (double)-length && value < (double)length))
        return -1;
    const int64_t index = (int64_t)value;
    return index < 0 ? index + length : index;
}

/* Functional.embedding(input, weight, ...), Torch.embedding(weight, indices,
 * ...), whose fourth argument is no norm but a bool. */
static enum tp_status bind_embedding(const struct tp_replay_call *replay,
                                     const struct tp_array **input,
                                     const struct tp_array **weight,
                                     struct tp_error *err)
{
    enum tp_status status = tp_arg_tensor(replay, "input", input, err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "weight", weight, err);
    if (status == TP_OK && tp_backward_wants(*input)) {
        const struct tp_array *indices = *weight;
        *weight = *input;
        *input = indices;
        return TP_OK;
    }
    return status == TP_OK && tp_arg(replay, "max_norm")
               ? tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "embeddings whose norms are limited are not replayed")
               : status;
}

TP_KERNEL(tp_run_embedding)
{
    const struct tp_array *input, *weight;
    struct tp_array *output;
    int64_t shape[TP_LIMIT_DIMS];
    (void)row;
    enum tp_status status = bind_embedding(replay, &input, &weight, err);
    if (status == TP_OK &&
        (weight->dims != 2 || input->dims + 1 > TP_LIMIT_DIMS))
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "embeddings of this form are not replayed");
    if (status != TP_OK)
        return status;
    if (index_of((double)tp_arg_integer(replay, "padding_idx", 0),
                 weight->shape[0]) < 0 &&
        tp_arg(replay, "padding_idx") && weight->shape[0])
        return fail_index(err);
    const int64_t width = weight->shape[1];
    memcpy(shape, input->shape, (size_t)input->dims * sizeof *shape);
    shape[input->dims] = width;
    status = tp_replay_make(replay, input->dims + 1, shape, &output, err);
    for (int64_t i = 0; i < input->count && status == TP_OK; i++) {
        const int64_t line = index_of(input->value[i], weight->shape[0]);
        if (line < 0)
            return fail_index(err);
        memcpy(output->value + i * width, weight->value + line * width,
               (size_t)width * sizeof *output->value);
    }
    return status;
}

/* The arguments of an operator that takes indices along an axis. */
struct indexed {
    const struct tp_array *input, *index;
    int axis;
};

static enum tp_status bind(const struct tp_replay_call *replay,
                           struct indexed *to, struct tp_error *err)
{
    enum tp_status status = tp_arg_tensor(replay, "input", &to->input, err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "index", &to->index, err);
    if (status == TP_OK)
        status = tp_arg_axis(replay, "dim", INT64_MIN / 2, to->input->dims,
                             &to->axis, err);
    if (status == TP_OK && to->input->dims == 0)
        status = fail_index(err);
    return status;
}

TP_KERNEL(tp_run_gather)
{
    struct indexed args;
    struct tp_array *output;
    int64_t own[TP_LIMIT_DIMS];
    (void)row;
    enum tp_status status = bind(replay, &args, err);
    if (status != TP_OK)
        return status;
    const struct tp_array *input = args.input, *index = args.index;
    const int axis = args.axis;
    if (input->dims != index->dims)
        status = fail_index(err);
    for (int i = 0; status == TP_OK && i < input->dims; i++)
        if (i != axis && index->shape[i] > input->shape[i])
            status = fail_index(err);
    if (status == TP_OK)
        status =
            tp_replay_make(replay, index->dims, index->shape, &output, err);
    if (status != TP_OK)
        return status;
    tp_array_strides(input, own);
    struct tp_array_walk walk = {.dims = index->dims, .shape = index->shape};
    for (int i = 0; i < input->dims; i++)
        walk.strides[0][i] = i == axis ? 0 : own[i];
    for (int64_t at = 0; at < index->count; at++) {
        const int64_t place = index_of(index->value[at], input->shape[axis]);
        if (place < 0)
            return fail_index(err);
        output->value[at] = input->value[walk.at[0] + place * own[axis]];
        tp_array_walk_next(&walk);
    }
    return TP_OK;
}

/* Lines of an axis, of which some become those of a result. */
struct lines {
    const double *from;
    double *to;
    int64_t outer, inner; /* elements before and behind the axis         */
    int64_t length, new_length; /* of the axis                               */
};

static struct lines lines_of(const struct tp_array *input, int axis,
                             const struct tp_array *output, int64_t new_length)
{
    struct lines lines = {input->value,       output->value, 1, 1,
                          input->shape[axis], new_length};
    for (int i = 0; i < input->dims; i++)
        if (i != axis)
            *(i < axis ? &lines.outer : &lines.inner) *= input->shape[i];
    return lines;
}

/* Copies index `from` of the axis to index `to` of the result. */
static void copy_index(const struct lines *lines, int64_t from, int64_t to)
{
    const int64_t inner = lines->inner;
    for (int64_t i = 0; i < lines->outer; i++)
        memcpy(lines->to + (i * lines->new_length + to) * inner,
               lines->from + (i * lines->length + from) * inner,
               (size_t)inner * sizeof *lines->to);
}

TP_KERNEL(tp_run_index_select)
{
    struct indexed args;
    struct tp_array *output;
    int64_t shape[TP_LIMIT_DIMS];
    (void)row;
    enum tp_status status = bind(replay, &args, err);
    if (status != TP_OK)
        return status;
    const struct tp_array *input = args.input, *index = args.index;
    const int axis = args.axis;
    memcpy(shape, input->shape, sizeof shape);
    shape[axis] = index->count;
    status = tp_replay_make(replay, input->dims, shape, &output, err);
    if (status != TP_OK)
        return status;
    const struct lines lines = lines_of(input, axis, output, index->count);
    for (int64_t i = 0; output->count && i < index->count; i++) {
        const int64_t from = index_of(index->value[i], input->shape[axis]);
        if (from < 0)
            return fail_index(err);
        copy_index(&lines, from, i);
    }
    return TP_OK;
}

/* narrow(dim, start, length), and select(dim, index), which drops the axis. */
TP_KERNEL(tp_run_narrow)
{
    const struct tp_array *input;
    struct tp_array *output;
    int axis;
    const bool one = strstr(row->signature, "index") != NULL;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status =
            tp_arg_axis(replay, "dim", INT64_MIN / 2, input->dims, &axis, err);
    if (status == TP_OK)
        status = tp_replay_make_like_dumped(replay, &output, err);
    if (status != TP_OK)
        return status;
    const int64_t length = one ? 1 : tp_arg_integer(replay, "length", 0);
    const int64_t lines = input->dims ? input->shape[axis] : 0;
    int64_t first =
        tp_arg_integer(replay, one ? "index" : "start", INT64_MIN / 2);
    first += first < 0 ? lines : 0;
    if (input->dims == 0 || first < 0 || length < 0 || length > lines - first)
        return fail_index(err);
    const struct lines moved = lines_of(input, axis, output, length);
    if (output->dims != input->dims - one ||
        (!one && output->shape[axis] != length) ||
        output->count != moved.outer * length * moved.inner)
        return tp_replay_fail_result(err);
    for (int64_t i = 0; i < length && output->count; i++)
        copy_index(&moved, first + i, i);
    return TP_OK;
}

/* tril keeps column - row <= diagonal, triu >=. */
TP_KERNEL(tp_run_triangle)
{
    const struct tp_array *input;
    struct tp_array *output;
    const int64_t diagonal = tp_arg_integer(replay, "diagonal", 0);
    const bool lower = !strncmp(row->names, "tril", 4);
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK && input->dims < 2)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1, "its input is no matrix");
    if (status == TP_OK)
        status =
            tp_replay_make(replay, input->dims, input->shape, &output, err);
    if (status != TP_OK || input->count == 0)
        return status;
    const int64_t columns = input->shape[input->dims - 1];
    const int64_t rows = input->shape[input->dims - 2];
    for (int64_t i = 0; i < input->count; i++) {
        const int64_t beyond = i % columns - i / columns % rows;
        const bool kept = lower ? beyond <= diagonal : beyond >= diagonal;
        output->value[i] = kept ? input->value[i] : 0;
    }
    return TP_OK;
}
