/* SPDX-License-Identifier: MIT */
/*
 * The frame around the kernels of backward calls: what they take, what they
 * make, and which of the gradients they made is which that was dumped. The node
 * lists its arguments in an order of its own and leaves out some, so gradients
 * are matched by position where as many were dumped as made; else each dumped
 * one takes, in order, one of its shape. The first such choice from the left
 * and from the right must be the same, or the match is not known.
 */
#include "replay/backward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/operators.h"

bool tp_backward_wants(const struct tp_array *argument)
{
    return argument && tp_dtype_info(argument->dtype)->kind == TP_CLASS_FLOAT;
}

/* --- what there is -------------------------------------------------------- */

/* The items of a call in a place, and of these number k. */
static const struct tp_dump_item *item_at(const struct tp_replay_call *call,
                                          enum tp_msprobe_place place, size_t k,
                                          size_t *index)
{
    for (size_t i = 0; i < call->call->count; i++) {
        const struct tp_dump_item *item =
            &call->place->items[call->call->first + i];
        if (item->place == place && k-- == 0) {
            *index = i;
            return item;
        }
    }
    return NULL;
}

const struct tp_array *tp_backward_given(const struct tp_backward *backward,
                                         size_t k)
{
    size_t i;
    return item_at(backward->call, TP_MSPROBE_INPUT, k, &i) &&
                   backward->call->arrays[i].value
               ? &backward->call->arrays[i]
               : NULL;
}

enum tp_status tp_backward_single(const struct tp_backward *backward,
                                  const struct tp_array **given,
                                  struct tp_error *err)
{
    *given = tp_backward_given(backward, 0);
    return *given ? TP_OK
                  : tp_fail(err, TP_E_UNSUPPORTED, -1,
                            "the gradient of its result was not dumped");
}

/* Room for all results of the forward call, empty. */
static enum tp_status make_room(struct tp_replay_call *forward,
                                struct tp_error *err)
{
    size_t count = 0;
    while (tp_replay_result(forward, count))
        count++;
    enum tp_status status =
        tp_grow(&forward->outputs, &forward->output_capacity, count + 1,
                sizeof *forward->outputs, err);
    if (status == TP_OK)
        memset(forward->outputs, 0, count * sizeof *forward->outputs);
    forward->output_count = status == TP_OK ? count : 0;
    return status;
}

/* Computes all results of the forward call, or makes room to read them. */
static enum tp_status begin_results(const struct tp_backward *backward,
                                    struct tp_error *err)
{
    struct tp_replay_call *forward = backward->forward;
    if (forward->output_count)
        return TP_OK;
    if (!backward->call->anew)
        return make_room(forward, err);
    return backward->row->run ? backward->row->run(forward, backward->row, err)
                              : tp_fail(err, TP_E_UNSUPPORTED, -1,
                                        "its results cannot be computed again");
}

enum tp_status tp_backward_result(struct tp_backward *backward, size_t k,
                                  const struct tp_array **result,
                                  struct tp_error *err)
{
    struct tp_replay_call *forward = backward->forward;
    enum tp_status status = begin_results(backward, err);
    if (status == TP_OK && k >= forward->output_count)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "the result of its forward call was not dumped");
    if (status != TP_OK)
        return status;
    /* of what may be several values, the device went on with its own */
    if (forward->outputs[k].loose)
        tp_array_clear(&forward->outputs[k]);
    *result = &forward->outputs[k];
    return (*result)->value ? TP_OK
                            : tp_array_read(tp_replay_result(forward, k),
                                            &forward->outputs[k], err);
}

const struct tp_dump_item *tp_backward_item(const struct tp_backward *backward,
                                            size_t k)
{
    size_t index;
    return item_at(backward->call, TP_MSPROBE_OUTPUT, k, &index);
}

size_t tp_backward_arity(const struct tp_backward *backward)
{
    size_t count = 0;
    while (tp_backward_item(backward, count))
        count++;
    return count;
}

bool tp_backward_needs(const struct tp_backward *backward, size_t arity,
                       size_t k)
{
    const struct tp_dump_item *item = tp_backward_item(backward, k);
    return tp_backward_arity(backward) != arity || !item ||
           item->kind == TP_DUMP_TENSOR;
}

/* --- what is made --------------------------------------------------------- */

enum tp_status tp_backward_make(struct tp_backward *backward, int dims,
                                const int64_t *shape,
                                struct tp_array **gradient,
                                struct tp_error *err)
{
    enum tp_status status =
        tp_grow(&backward->made, &backward->made_capacity,
                backward->made_count + 1, sizeof *backward->made, err);
    if (status != TP_OK)
        return status;
    *gradient = &backward->made[backward->made_count++];
    **gradient = (struct tp_array){.dims = 0};
    status = tp_array_make(*gradient, dims, shape, err);
    return status == TP_OK ? tp_array_bounds(*gradient, err) : status;
}

enum tp_status tp_backward_make_like(struct tp_backward *backward,
                                     const struct tp_array *argument,
                                     struct tp_array **gradient,
                                     struct tp_error *err)
{
    return tp_backward_make(backward, argument->dims, argument->shape, gradient,
                            err);
}

enum tp_status tp_backward_view(struct tp_backward *backward,
                                const struct tp_array *given, size_t number,
                                struct tp_error *err)
{
    struct tp_array *gradient;
    const struct tp_dump_item *item = tp_replay_result(backward->call, number);
    if (!item || !item->has_shape)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "no gradient was dumped");
    enum tp_status status =
        tp_backward_make(backward, item->dims, item->shape, &gradient, err);
    if (status == TP_OK && gradient->count != given->count)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "the node behind it is not that of a view");
    for (int64_t i = 0; status == TP_OK && i < given->count; i++) {
        gradient->value[i] = given->value[i];
        gradient->bound[i] = given->bound ? given->bound[i] : 0;
    }
    return status;
}

/* Adds each element of `full` to its cell, and what it may be off. */
static void add_cells(const struct tp_array *full, const int64_t *strides,
                      double rounding, struct tp_array *gradient)
{
    struct tp_array_walk walk = {.dims = full->dims, .shape = full->shape};
    memcpy(walk.strides[0], strides, sizeof walk.strides[0]);
    for (int64_t i = 0; i < full->count; i++) {
        const int64_t at = walk.at[0];
        gradient->value[at] += full->value[i];
        gradient->bound[at] += (full->bound ? full->bound[i] : 0) +
                               rounding * fabs(full->value[i]);
        tp_array_walk_next(&walk);
    }
}

enum tp_status tp_backward_sum_to(struct tp_backward *backward,
                                  const struct tp_array *full, int dims,
                                  const int64_t *shape, struct tp_error *err)
{
    struct tp_array *gradient;
    int64_t strides[TP_LIMIT_DIMS] = {0};
    enum tp_status status =
        tp_backward_make(backward, dims, shape, &gradient, err);
    if (status != TP_OK)
        return status;
    if (!tp_array_broadcast(gradient, full->dims, full->shape, strides))
        return tp_replay_fail_shapes(err);
    const double each =
        gradient->count ? (double)full->count / (double)gradient->count : 0;
    const struct tp_replay_call *call = backward->call;
    add_cells(full, strides,
              each > 1 ? call->own + tp_replay_gamma(call, each) : 0, gradient);
    return TP_OK;
}

/* --- which was dumped ----------------------------------------------------- */

static bool fits(const struct tp_dump_item *item, const struct tp_array *made)
{
    if (!item->has_shape || item->dims != made->dims)
        return false;
    for (int i = 0; i < made->dims; i++)
        if (item->shape[i] != made->shape[i])
            return false;
    return true;
}

/* Gradients of a node as they were dumped, null among them, and which of those
 * made each is; SIZE_MAX: of none. */
struct match {
    const struct tp_backward *backward;
    const struct tp_dump_item **items;
    size_t *made;
    size_t count;
};

static bool is_tensor(const struct match *match, size_t i)
{
    return match->items[i]->kind == TP_DUMP_TENSOR;
}

/* By position. */
static bool match_positions(const struct match *match)
{
    if (match->count != match->backward->made_count)
        return false;
    for (size_t i = 0; i < match->count; i++) {
        if (is_tensor(match, i) &&
            !fits(match->items[i], &match->backward->made[i]))
            return false;
        match->made[i] = i;
    }
    return true;
}

/* In order, each the first that fits from the left. */
static bool match_left(const struct match *match)
{
    size_t next = 0;
    for (size_t i = 0; i < match->count; i++) {
        while (is_tensor(match, i) && next < match->backward->made_count &&
               !fits(match->items[i], &match->backward->made[next]))
            next++;
        if (is_tensor(match, i) && next == match->backward->made_count)
            return false;
        match->made[i] = is_tensor(match, i) ? next++ : SIZE_MAX;
    }
    return true;
}

/* Whether the same comes out from the right. */
static bool is_same_from_right(const struct match *match)
{
    size_t next = match->backward->made_count;
    for (size_t i = match->count; i-- > 0;) {
        if (!is_tensor(match, i))
            continue;
        while (next > 0 &&
               !fits(match->items[i], &match->backward->made[next - 1]))
            next--;
        if (next == 0 || match->made[i] != --next)
            return false;
    }
    return true;
}

/* The gradients that were made become the results, in the order of the dump. */
static enum tp_status place_results(const struct match *match,
                                    struct tp_backward *backward,
                                    struct tp_error *err)
{
    struct tp_replay_call *call = backward->call;
    enum tp_status status =
        tp_grow(&call->outputs, &call->output_capacity, match->count + 1,
                sizeof *call->outputs, err);
    for (size_t i = 0; i < match->count && status == TP_OK; i++) {
        if (!is_tensor(match, i))
            continue;
        if (match->items[i]->element == TP_DTYPE_COUNT)
            return tp_fail(err, TP_E_UNSUPPORTED, -1,
                           "a gradient has a dtype that is not known");
        struct tp_array *made = &backward->made[match->made[i]];
        made->dtype = match->items[i]->element;
        call->outputs[call->output_count++] = *made;
        *made = (struct tp_array){.dims = 0};
    }
    return status;
}

static enum tp_status match_made(const struct match *match,
                                 struct tp_backward *backward,
                                 struct tp_error *err)
{
    if (!match_positions(match) && !match_left(match))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "a gradient has the shape of no argument");
    if (match->count != backward->made_count && !is_same_from_right(match))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "it is not known of which argument a gradient is");
    return place_results(match, backward, err);
}

static enum tp_status match_all(struct tp_backward *backward,
                                struct tp_error *err)
{
    const size_t most = backward->call->call->count + 1;
    struct match match = {backward, calloc(most, sizeof *match.items),
                          calloc(most, sizeof *match.made), 0};
    size_t index;
    enum tp_status status =
        match.items && match.made ? TP_OK : tp_fail_memory(err);
    while (status == TP_OK && (match.items[match.count] =
                                   item_at(backward->call, TP_MSPROBE_OUTPUT,
                                           match.count, &index)))
        match.count++;
    if (status == TP_OK)
        status = match_made(&match, backward, err);
    free(match.items);
    free(match.made);
    return status;
}

/* --- the whole ------------------------------------------------------------ */

static void clear(struct tp_backward *backward)
{
    for (size_t i = 0; i < backward->made_count; i++)
        tp_array_clear(&backward->made[i]);
    free(backward->made);
    tp_replay_outputs_clear(backward->forward);
}

enum tp_status tp_backward_run(struct tp_replay_call *call,
                               const struct tp_operator *row,
                               struct tp_error *err)
{
    struct tp_backward backward = {call, call->forward, row, .made = NULL};
    if (!row->back)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "no gradients of this operator are replayed");
    call->forward->unit = call->unit;
    call->forward->own = call->own;
    enum tp_status status = row->back(&backward, row, err);
    if (status == TP_OK)
        status = match_all(&backward, err);
    clear(&backward);
    return status;
}
