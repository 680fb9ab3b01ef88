/* SPDX-License-Identifier: MIT */
/*
 * Elements that go to places by index: into a copy of the input, along one
 * axis, in the stead of what is there or added to it. scatter has an index for
 * each element; index_add, index_copy and index_fill one for each place of the
 * axis. Where two different elements are put into one place it is not defined
 * which stays, and the call is not replayed. Gradients are those of torch: of
 * the source what came for its places, also of elements that did not stay.
 * Cost: a step an element.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/backward.h"

/* The arguments, and a walk over all elements that go somewhere: at[0] is that
 * of the index, at[1] of the source, at[2] the place without its axis. */
struct scatter {
    const struct tp_array *input, *index, *source; /* source NULL: a number */
    double number, factor;
    bool adds;
    int axis;
    int64_t stride; /* of the axis                                        */
    int64_t shape[TP_LIMIT_DIMS], count;
    struct tp_array_walk walk;
};

static const char *source_name(const struct tp_replay_call *call)
{
    return tp_arg(call, "src") ? "src" : "source";
}

/* The source, or the number that is put. */
static enum tp_status bind_source(const struct tp_replay_call *call,
                                  struct scatter *to, struct tp_error *err)
{
    const char *name = source_name(call);
    to->source = tp_arg_array(call, name);
    to->factor = tp_arg_real(call, "alpha", 1);
    to->number = tp_arg_real(call, tp_arg(call, "value") ? "value" : name, NAN);
    if (to->source && to->source->dims == 0 && to->index->dims != 0) {
        to->number = to->source->value[0];
        to->source = NULL;
    }
    if (!to->source && !tp_arg(call, "value") && !tp_arg(call, name))
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "its number is not said");
    return tp_arg(call, "reduce")
               ? tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "what reduces as it scatters is not replayed")
               : TP_OK;
}

/* Which elements there are: as the index says, or the input's with the axis as
 * long as the index. */
static enum tp_status set_walk(struct scatter *to, bool each,
                               struct tp_error *err)
{
    int64_t own[TP_LIMIT_DIMS], index[TP_LIMIT_DIMS], source[TP_LIMIT_DIMS];
    const int dims = to->input->dims;
    if (each ? to->index->dims != dims : to->index->dims > 1)
        return tp_replay_fail_shapes(err);
    tp_array_strides(to->input, own);
    tp_array_strides(to->index, index);
    if (to->source)
        tp_array_strides(to->source, source);
    to->stride = own[to->axis];
    to->walk = (struct tp_array_walk){.dims = dims, .shape = to->shape};
    to->count = 1;
    for (int i = 0; i < dims; i++) {
        to->shape[i] = each            ? to->index->shape[i]
                       : i == to->axis ? to->index->count
                                       : to->input->shape[i];
        if ((i != to->axis && to->shape[i] > to->input->shape[i]) ||
            (to->source &&
             (to->source->dims != dims || to->shape[i] > to->source->shape[i])))
            return tp_replay_fail_shapes(err);
        to->count *= to->shape[i];
        to->walk.strides[0][i] = each ? index[i] : i == to->axis;
        to->walk.strides[1][i] = to->source ? source[i] : 0;
        to->walk.strides[2][i] = i == to->axis ? 0 : own[i];
    }
    return TP_OK;
}

static enum tp_status bind(const struct tp_replay_call *call,
                           const struct tp_operator *row, struct scatter *to,
                           struct tp_error *err)
{
    const bool each = !strncmp(row->names, "scatter", 7);
    *to = (struct scatter){.adds = strstr(row->names, "_add") != NULL};
    enum tp_status status = tp_arg_tensor(call, "input", &to->input, err);
    if (status == TP_OK)
        status = tp_arg_tensor(call, "index", &to->index, err);
    if (status == TP_OK)
        status = tp_arg_axis(call, "dim", INT64_MIN / 2, to->input->dims,
                             &to->axis, err);
    if (status == TP_OK && to->input->dims == 0)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "an input without axes is not replayed");
    if (status == TP_OK)
        status = bind_source(call, to, err);
    return status == TP_OK ? set_walk(to, each, err) : status;
}

/* The place of the element at which the walk stands; -1: there is none. */
static int64_t place_of(const struct scatter *to)
{
    const int64_t length = to->input->shape[to->axis];
    const double index = to->index->value[to->walk.at[0]];
    if (!(index >= (double)-length && index < (double)length))
        return -1;
    const int64_t at = (int64_t)index + (index < 0 ? length : 0);
    return to->walk.at[2] + at * to->stride;
}

/* --- forward -------------------------------------------------------------- */

/* Puts all elements; `hits` of each place. */
static enum tp_status put(struct scatter *to, double unit, double *hits,
                          struct tp_array *output, struct tp_error *err)
{
    for (int64_t i = 0; i < to->count; i++) {
        const int64_t at = place_of(to);
        const double v =
            to->source ? to->source->value[to->walk.at[1]] : to->number;
        if (at < 0)
            return tp_fail(err, TP_E_UNSUPPORTED, -1,
                           "an index is outside of its axis");
        if (!to->adds && hits[at] > 0 && output->value[at] != v)
            return tp_fail(err, TP_E_UNSUPPORTED, -1,
                           "several elements go to one place, and which stays "
                           "is not defined");
        hits[at]++;
        if (to->adds) {
            output->value[at] += to->factor * v;
            output->bound[at] += fabs(to->factor * v) * (1 + unit);
        } else
            output->value[at] = v;
        tp_array_walk_next(&to->walk);
    }
    return TP_OK;
}

/* What was added up to: the magnitudes become what their sum may be off. */
static void set_bounds(const struct scatter *to,
                       const struct tp_replay_call *replay, const double *hits,
                       struct tp_array *output)
{
    for (int64_t i = 0; to->adds && i < output->count; i++)
        output->bound[i] =
            hits[i] > 0 ? (output->bound[i] + fabs(to->input->value[i])) *
                              tp_replay_gamma(replay, hits[i] + 1)
                        : 0;
}

TP_KERNEL(tp_run_scatter)
{
    struct scatter to;
    struct tp_array *output;
    enum tp_status status = bind(replay, row, &to, err);
    if (status == TP_OK)
        status = tp_replay_make_bounded(replay, to.input->dims, to.input->shape,
                                        &output, err);
    if (status != TP_OK)
        return status;
    double *hits = calloc((size_t)output->count + 1, sizeof *hits);
    if (!hits)
        return tp_fail_memory(err);
    memcpy(output->value, to.input->value,
           (size_t)output->count * sizeof *output->value);
    status = put(&to, replay->unit, hits, output, err);
    set_bounds(&to, replay, hits, output);
    free(hits);
    return status;
}

/* --- backward ------------------------------------------------------------- */

/* Of the input: what came, but where its elements were replaced. */
static enum tp_status back_input(struct tp_backward *backward,
                                 struct scatter *to,
                                 const struct tp_array *given,
                                 struct tp_error *err)
{
    struct tp_array *gradient;
    enum tp_status status =
        tp_backward_make_like(backward, to->input, &gradient, err);
    if (status != TP_OK)
        return status;
    memcpy(gradient->value, given->value,
           (size_t)given->count * sizeof *given->value);
    for (int64_t i = 0; i < to->count; i++) {
        const int64_t at = place_of(to);
        if (at >= 0 && !to->adds)
            gradient->value[at] = 0;
        tp_array_walk_next(&to->walk);
    }
    return TP_OK;
}

/* Of the source: what came for its places. */
static enum tp_status back_source(struct tp_backward *backward,
                                  struct scatter *to,
                                  const struct tp_array *given,
                                  struct tp_error *err)
{
    struct tp_array *gradient;
    enum tp_status status =
        tp_backward_make_like(backward, to->source, &gradient, err);
    for (int64_t i = 0; status == TP_OK && i < to->count; i++) {
        const int64_t at = place_of(to), from = to->walk.at[1];
        if (at >= 0) {
            gradient->value[from] = to->factor * given->value[at];
            gradient->bound[from] =
                to->factor == 1
                    ? 0
                    : backward->call->unit * fabs(gradient->value[from]);
        }
        tp_array_walk_next(&to->walk);
    }
    return status;
}

TP_BACKWARD(tp_back_scatter)
{
    struct scatter to;
    const struct tp_array *given;
    enum tp_status status = bind(backward->forward, row, &to, err);
    if (status == TP_OK)
        status = tp_backward_single(backward, &given, err);
    if (status == TP_OK && given->count != to.input->count)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = back_input(backward, &to, given, err);
    return status == TP_OK && to.source ? back_source(backward, &to, given, err)
                                        : status;
}
