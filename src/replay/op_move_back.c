/* SPDX-License-Identifier: MIT */
/*
 * The gradient of whatever only moves elements, one for all of them: the
 * kernel of the forward call is run on numbers of places instead of elements,
 * so that its result says where each element came from, and the gradient of a
 * place is the sum over all elements that came from there. What is no number of
 * a place is a constant. Cost: a run of the kernel, and an addition an element.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/backward.h"

/* Numbers of places begin here: exact in a double, and no constant that
 * anybody pads with. */
static const double first_place = 4503599627370496.0; /* 2^52 */

/* The places of all arguments that take part, one after the other. */
struct places {
    double *
        *saved; /* [call->count]: elements while their numbers stand there */
    double *sum, *magnitude, *hits; /* [count]                              */
    int64_t count;
};

static void clear(struct places *places)
{
    free(places->saved);
    free(places->sum);
    free(places->magnitude);
    free(places->hits);
}

/* Whether an argument has a gradient: what floats and does not only say the
 * shape or dtype; of those that are joined, all. */
static bool takes_part(const struct tp_replay_call *forward, size_t i)
{
    return forward->arrays[i].value &&
           (tp_arg_is(forward, i, "tensors") ||
            (tp_backward_wants(&forward->arrays[i]) &&
             !tp_arg_is(forward, i, "dims") &&
             !tp_arg_is(forward, i, "other")));
}

static enum tp_status make_places(const struct tp_replay_call *forward,
                                  struct places *places, struct tp_error *err)
{
    for (size_t i = 0; i < forward->call->count; i++)
        if (takes_part(forward, i))
            places->count += forward->arrays[i].count;
    const size_t room = (size_t)places->count + 1;
    places->saved = calloc(forward->call->count + 1, sizeof *places->saved);
    places->sum = calloc(room, sizeof *places->sum);
    places->magnitude = calloc(room, sizeof *places->magnitude);
    places->hits = calloc(room, sizeof *places->hits);
    return places->saved && places->sum && places->magnitude && places->hits
               ? TP_OK
               : tp_fail_memory(err);
}

/* Puts numbers in the stead of elements. */
static enum tp_status number(struct tp_replay_call *forward,
                             struct places *places, struct tp_error *err)
{
    double next = first_place;
    for (size_t i = 0; i < forward->call->count; i++) {
        struct tp_array *array = &forward->arrays[i];
        if (!takes_part(forward, i))
            continue;
        double *numbers = malloc((size_t)(array->count + 1) * sizeof *numbers);
        if (!numbers)
            return tp_fail_memory(err);
        for (int64_t k = 0; k < array->count; k++)
            numbers[k] = next++;
        places->saved[i] = array->value;
        array->value = numbers;
    }
    return TP_OK;
}

static void restore(struct tp_replay_call *forward, const struct places *places)
{
    for (size_t i = 0; i < forward->call->count; i++)
        if (places->saved[i]) {
            free(forward->arrays[i].value);
            forward->arrays[i].value = places->saved[i];
        }
}

static void add(const struct tp_array *from, const struct tp_array *given,
                struct places *places)
{
    for (int64_t i = 0; i < from->count; i++) {
        const double place = from->value[i] - first_place;
        if (!(place >= 0 && place < (double)places->count))
            continue;
        const int64_t at = (int64_t)place;
        places->sum[at] += given->value[i];
        places->magnitude[at] += fabs(given->value[i]);
        places->hits[at]++;
    }
}

static enum tp_status add_results(struct tp_backward *backward,
                                  struct places *places, struct tp_error *err)
{
    const struct tp_replay_call *forward = backward->forward;
    for (size_t k = 0; k < forward->output_count; k++) {
        const struct tp_array *given = tp_backward_given(backward, k);
        if (!given)
            continue;
        if (given->count != forward->outputs[k].count)
            return tp_replay_fail_shapes(err);
        add(&forward->outputs[k], given, places);
    }
    return TP_OK;
}

/* The sums as gradients of the arguments. */
static enum tp_status hand_out(struct tp_backward *backward,
                               const struct places *places,
                               struct tp_error *err)
{
    const struct tp_replay_call *forward = backward->forward;
    enum tp_status status = TP_OK;
    int64_t at = 0;
    for (size_t i = 0; i < forward->call->count && status == TP_OK; i++) {
        struct tp_array *gradient;
        if (!places->saved[i])
            continue;
        status = tp_backward_make_like(backward, &forward->arrays[i], &gradient,
                                       err);
        for (int64_t k = 0; status == TP_OK && k < gradient->count; k++, at++) {
            gradient->value[k] = places->sum[at];
            gradient->bound[k] =
                places->hits[at] > 1
                    ? places->magnitude[at] *
                          tp_replay_gamma(backward->call, places->hits[at])
                    : 0;
        }
    }
    return status;
}

TP_BACKWARD(tp_back_move)
{
    struct tp_replay_call *forward = backward->forward;
    struct places places = {.count = 0};
    tp_replay_outputs_clear(forward);
    enum tp_status status = make_places(forward, &places, err);
    if (status == TP_OK)
        status = number(forward, &places, err);
    if (status == TP_OK)
        status = row->run(forward, row, err);
    if (places.saved)
        restore(forward, &places);
    if (status == TP_OK)
        status = add_results(backward, &places, err);
    if (status == TP_OK)
        status = hand_out(backward, &places, err);
    clear(&places);
    return status;
}

/* An embedding; the row of padding_idx gets none. */
TP_BACKWARD(tp_back_embedding)
{
    enum tp_status status = tp_back_move(backward, row, err);
    if (status != TP_OK || backward->made_count == 0)
        return status;
    struct tp_array *gradient = &backward->made[0];
    const struct tp_replay_call *forward = backward->forward;
    if (!tp_arg(forward, "padding_idx") || gradient->dims != 2)
        return TP_OK;
    int64_t line = tp_arg_integer(forward, "padding_idx", -1);
    if (line < 0)
        line += gradient->shape[0];
    if (line < 0 || line >= gradient->shape[0])
        return TP_OK;
    const size_t size = (size_t)gradient->shape[1] * sizeof *gradient->value;
    memset(gradient->value + line * gradient->shape[1], 0, size);
    memset(gradient->bound + line * gradient->shape[1], 0, size);
    return TP_OK;
}
