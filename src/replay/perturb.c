/* SPDX-License-Identifier: MIT */
/*
 * Which tensor: the first positional argument that is a floating tensor or any
 * list, and in it the first tensor that the mode can change; no other one, and
 * no keyword. A device would add eps in the tensor's dtype, so the sum is
 * rounded to it, and so are eps and the number that |x| is compared with. Of
 * most activations eps is below half a step: add_noise then changes nothing,
 * which is msprobe's definition and no mistake of the replay.
 */
#include "replay/perturb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/dtype_round.h"

const char *const tp_perturb_words[TP_PERTURB_MODES + 1] = {
    "improve_precision", "add_noise", "bit_noise", "no_change",
    "change_value",      "to_cpu",    NULL};

bool tp_perturb_improves(enum tp_perturb_mode mode)
{
    return mode == TP_PERTURB_IMPROVE || mode == TP_PERTURB_TO_CPU;
}

double tp_perturb_epsilon(enum tp_dtype dtype)
{
    switch (dtype) {
    case TP_BFLOAT16:
        return 1e-4;
    case TP_FLOAT16:
        return 1e-6;
    case TP_FLOAT32:
        return 1e-8;
    case TP_FLOAT64:
        return 1e-16;
    default:
        return 0;
    }
}

/* --- which argument ------------------------------------------------------- */

static const struct tp_dump_item *item_of(const struct tp_replay_call *replay,
                                          size_t i)
{
    return &replay->place->items[replay->call->first + i];
}

static bool floats(const struct tp_array *array)
{
    return array->value && tp_dtype_info(array->dtype)->kind == TP_CLASS_FLOAT;
}

/* An item of a list, or a list that the json holds as one value. */
static bool is_list(const struct tp_dump_item *item)
{
    return strchr(item->argument, '.') ||
           (item->kind == TP_DUMP_VALUE && item->value &&
            item->value->kind == TP_JSON_LIST);
}

/* Whether two items belong to the same positional argument. */
static bool same_argument(const struct tp_dump_item *a,
                          const struct tp_dump_item *b)
{
    const size_t length = strcspn(a->argument, ".");
    return b->place == TP_MSPROBE_INPUT &&
           length == strcspn(b->argument, ".") &&
           !strncmp(a->argument, b->argument, length);
}

/* The first item of the argument; call->count: there is none. */
static size_t find_argument(const struct tp_replay_call *replay)
{
    size_t i = 0;
    for (; i < replay->call->count; i++) {
        const struct tp_dump_item *item = item_of(replay, i);
        if (item->place == TP_MSPROBE_INPUT &&
            (floats(&replay->arrays[i]) || is_list(item)))
            break;
    }
    return i;
}

/* --- changes -------------------------------------------------------------- */

/* Why a tensor cannot be given noise; NULL: it can. NaN is not below eps. */
static const char *refuse_noise(const struct tp_array *array)
{
    const double epsilon = tp_perturb_epsilon(array->dtype);
    if (epsilon == 0)
        return "no eps is defined for its dtype";
    for (int64_t i = 0; i < array->count; i++)
        if (!(fabs(array->value[i]) < epsilon))
            return NULL;
    return array->count ? "all its values are below eps"
                        : "its tensor is empty";
}

static const char *refuse_swap(const struct tp_array *array)
{
    const int64_t *shape = array->shape;
    if (array->dims == 0)
        return "its tensor is a single number";
    if (array->dims == 1)
        return shape[0] < 2 ? "its tensor has less than two values" : NULL;
    return shape[1] == 0 || shape[0] == 0 || (shape[0] < 2 && shape[1] < 2)
               ? "its tensor has nothing to swap"
               : NULL;
}

static const char *refuse(const struct tp_array *array,
                          enum tp_perturb_mode mode)
{
    return mode == TP_PERTURB_CHANGE ? refuse_swap(array) : refuse_noise(array);
}

static void add_noise(struct tp_array *array)
{
    const enum tp_dtype dtype = array->dtype;
    const double epsilon = tp_perturb_epsilon(dtype);
    const double noise = tp_dtype_round(dtype, epsilon);
    const double least = tp_dtype_round(dtype, sqrt(epsilon));
    for (int64_t i = 0; i < array->count; i++)
        if (fabs(array->value[i]) > least)
            array->value[i] = tp_dtype_round(dtype, array->value[i] + noise);
}

static void flip_bits(struct tp_array *array)
{
    const double least = tp_dtype_least_normal(array->dtype);
    for (int64_t i = 0; i < array->count; i++)
        if (fabs(array->value[i]) > least)
            array->value[i] = tp_dtype_flip_last(array->dtype, array->value[i]);
}

/* x[0] and x[-1] of a vector; else x[0][0] and x[-1][-1], which may be more
 * than a number. */
static void swap_ends(struct tp_array *array)
{
    int64_t size = 1;
    for (int i = 2; i < array->dims; i++)
        size *= array->shape[i];
    double *first = array->value, *last = array->value + array->count - size;
    for (int64_t i = 0; i < size; i++) {
        const double value = first[i];
        first[i] = last[i];
        last[i] = value;
    }
}

static enum tp_status save(struct tp_array *array,
                           struct tp_perturbation *perturbation,
                           struct tp_error *err)
{
    const size_t size = (size_t)array->count * sizeof *array->value;
    perturbation->saved = malloc(size + 1);
    if (!perturbation->saved)
        return tp_fail_memory(err);
    memcpy(perturbation->saved, array->value, size);
    perturbation->array = array;
    return TP_OK;
}

static enum tp_status change(struct tp_array *array, enum tp_perturb_mode mode,
                             struct tp_perturbation *perturbation,
                             struct tp_error *err)
{
    enum tp_status status = save(array, perturbation, err);
    if (status != TP_OK)
        return status;
    perturbation->outcome = TP_PERTURB_APPLIED;
    perturbation->reason = "";
    if (mode == TP_PERTURB_ADD)
        add_noise(array);
    else if (mode == TP_PERTURB_BIT)
        flip_bits(array);
    else
        swap_ends(array);
    return TP_OK;
}

/* Changes the first tensor of the argument that can be. */
static enum tp_status change_first(struct tp_replay_call *replay, size_t from,
                                   enum tp_perturb_mode mode,
                                   struct tp_perturbation *perturbation,
                                   struct tp_error *err)
{
    const struct tp_dump_item *argument = item_of(replay, from);
    perturbation->outcome = TP_PERTURB_CANCELLED;
    perturbation->reason = "no tensor is in its list";
    for (size_t i = from; i < replay->call->count; i++) {
        struct tp_array *array = &replay->arrays[i];
        if (!floats(array) || !same_argument(argument, item_of(replay, i)))
            continue;
        perturbation->reason = refuse(array, mode);
        if (!perturbation->reason)
            return change(array, mode, perturbation, err);
    }
    return TP_OK;
}

static bool has_half(const struct tp_replay_call *replay)
{
    for (size_t i = 0; i < replay->call->count; i++)
        if (replay->arrays[i].value && (replay->arrays[i].dtype == TP_FLOAT16 ||
                                        replay->arrays[i].dtype == TP_BFLOAT16))
            return true;
    return false;
}

enum tp_status tp_perturb_begin(struct tp_replay_call *replay,
                                enum tp_perturb_mode mode,
                                struct tp_perturbation *perturbation,
                                struct tp_error *err)
{
    const size_t argument = find_argument(replay);
    *perturbation =
        (struct tp_perturbation){.outcome = TP_PERTURB_APPLIED, .reason = ""};
    if (argument == replay->call->count) {
        perturbation->outcome = TP_PERTURB_NO_INPUT;
        return TP_OK;
    }
    if (mode == TP_PERTURB_IMPROVE && !has_half(replay)) {
        perturbation->outcome = TP_PERTURB_SKIPPED;
        perturbation->reason = "no tensor of it is of half precision";
    }
    if (mode == TP_PERTURB_ADD || mode == TP_PERTURB_BIT ||
        mode == TP_PERTURB_CHANGE)
        return change_first(replay, argument, mode, perturbation, err);
    return TP_OK;
}

void tp_perturb_end(struct tp_perturbation *perturbation)
{
    if (perturbation->array)
        memcpy(perturbation->array->value, perturbation->saved,
               (size_t)perturbation->array->count *
                   sizeof *perturbation->saved);
    free(perturbation->saved);
    perturbation->saved = NULL;
    perturbation->array = NULL;
}
