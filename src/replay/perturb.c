/* SPDX-License-Identifier: MIT */
/*
 * msprobe's rules. Which tensor: the first positional argument that is a
 * floating tensor or any list, and in it the first tensor that the mode can
 * change; no other one, and no keyword. A device would add eps in the tensor's
 * dtype, so the sum is rounded to it, and so are eps and the number that |x| is
 * compared with. Of most activations eps is below half a step: add_noise then
 * changes nothing, which is msprobe's definition and no mistake of the replay.
 *
 * Our own rules change every floating tensor, keywords and weights, too; noise
 * is the larger of eps and a step of the number, and where eps would be more
 * than its root of the number, a step. What is zero stays zero, as it was not
 * rounded: padding and masks. The relative change is kept, for what comes out
 * is held against it.
 */
#include "replay/perturb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/dtype_round.h"

const char *const tp_perturb_words[TP_PERTURB_MODES + 1] = {
    "improve_precision", "add_noise", "bit_noise", "no_change",
    "change_value",      "to_cpu",    NULL};

const char *const tp_perturb_compat_words[] = {"none", "msprobe",
                                               "msprobe_chunk", NULL};

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

/* The tensors that go in: those of the call, then of its forward call. */
static size_t count_of(const struct tp_replay_call *replay)
{
    return replay->call->count +
           (replay->forward ? replay->forward->call->count : 0);
}

static struct tp_array *array_at(struct tp_replay_call *replay, size_t i)
{
    return i < replay->call->count
               ? &replay->arrays[i]
               : &replay->forward->arrays[i - replay->call->count];
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

/* x + the larger of eps and a step; a step where eps is much of x. */
static void add_steps(struct tp_array *array)
{
    const enum tp_dtype dtype = array->dtype;
    const double epsilon = tp_perturb_epsilon(dtype);
    const double least = sqrt(epsilon);
    for (int64_t i = 0; i < array->count; i++) {
        const double x = array->value[i];
        const double step = tp_dtype_step(dtype, x);
        if (x == 0 || !isfinite(x))
            continue;
        array->value[i] = tp_dtype_round(
            dtype, x + (fabs(x) > least ? fmax(step, epsilon) : step));
    }
}

/* Near the end of normal numbers there are too few bits for one of them to be a
 * rounding; the code next to infinity is NaN. */
static void turn_bits(struct tp_array *array)
{
    const double least = 2 * tp_dtype_least_normal(array->dtype);
    for (int64_t i = 0; i < array->count; i++) {
        const double x = array->value[i];
        if (fabs(x) > least && isfinite(x))
            array->value[i] = tp_dtype_flip_last(array->dtype, x);
    }
}

static enum tp_status save(struct tp_array *array,
                           struct tp_perturbation *perturbation,
                           struct tp_error *err)
{
    const size_t size = (size_t)array->count * sizeof *array->value;
    struct tp_perturbed_array *changed =
        realloc(perturbation->changed,
                (perturbation->count + 1) * sizeof *perturbation->changed);
    double *saved = malloc(size + 1);
    if (changed)
        perturbation->changed = changed;
    if (!changed || !saved) {
        free(saved);
        return tp_fail_memory(err);
    }
    memcpy(saved, array->value, size);
    changed[perturbation->count++] = (struct tp_perturbed_array){array, saved};
    return TP_OK;
}

/* How far a tensor is from what it held. */
static double relative_change(const struct tp_perturbed_array *changed)
{
    double change = 0, size = 0;
    for (int64_t i = 0; i < changed->array->count; i++) {
        const double x = changed->saved[i], y = changed->array->value[i];
        if (!isfinite(x) || !isfinite(y))
            continue;
        change += (y - x) * (y - x);
        size += x * x;
    }
    return size > 0 ? sqrt(change / size) : 0;
}

typedef void change_fn(struct tp_array *array);

static enum tp_status change(struct tp_array *array, change_fn *fn,
                             struct tp_perturbation *perturbation,
                             struct tp_error *err)
{
    enum tp_status status = save(array, perturbation, err);
    if (status != TP_OK)
        return status;
    fn(array);
    perturbation->outcome = TP_PERTURB_APPLIED;
    perturbation->reason = "";
    perturbation->relative =
        fmax(perturbation->relative,
             relative_change(&perturbation->changed[perturbation->count - 1]));
    return TP_OK;
}

static change_fn *const msprobe_changes[TP_PERTURB_MODES] = {
    [TP_PERTURB_ADD] = add_noise,
    [TP_PERTURB_BIT] = flip_bits,
    [TP_PERTURB_CHANGE] = swap_ends};

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
            return change(array, msprobe_changes[mode], perturbation, err);
    }
    return TP_OK;
}

/* Changes every floating tensor that can be. */
static enum tp_status change_all(struct tp_replay_call *replay,
                                 enum tp_perturb_mode mode,
                                 struct tp_perturbation *perturbation,
                                 struct tp_error *err)
{
    static change_fn *const changes[TP_PERTURB_MODES] = {
        [TP_PERTURB_ADD] = add_steps,
        [TP_PERTURB_BIT] = turn_bits,
        [TP_PERTURB_CHANGE] = swap_ends};
    enum tp_status status = TP_OK;
    perturbation->outcome = TP_PERTURB_NO_INPUT;
    for (size_t i = 0; i < count_of(replay) && status == TP_OK; i++) {
        struct tp_array *array = array_at(replay, i);
        if (!floats(array))
            continue;
        const char *reason = mode == TP_PERTURB_CHANGE ? refuse_swap(array)
                             : array->count == 0       ? "its tensor is empty"
                             : !tp_perturb_epsilon(array->dtype)
                                 ? "its dtype has no step here"
                                 : NULL;
        if (!reason)
            status = change(array, changes[mode], perturbation, err);
        else if (perturbation->count == 0) {
            perturbation->outcome = TP_PERTURB_CANCELLED;
            perturbation->reason = reason;
        }
    }
    return status;
}

static bool is_half(const struct tp_array *array)
{
    return array->value &&
           (array->dtype == TP_FLOAT16 || array->dtype == TP_BFLOAT16);
}

/* Whether a tensor that goes in is one of these. */
static bool has(struct tp_replay_call *replay,
                bool (*is)(const struct tp_array *array))
{
    for (size_t i = 0; i < count_of(replay); i++)
        if (is(array_at(replay, i)))
            return true;
    return false;
}

/* msprobe's backward: the tensors of the forward call that want a gradient come
 * first, then the gradients that go in. */
static enum tp_status change_backward(struct tp_replay_call *replay,
                                      enum tp_perturb_mode mode,
                                      struct tp_perturbation *perturbation,
                                      struct tp_error *err)
{
    const struct tp_replay_call *forward = replay->forward;
    struct tp_array *array = NULL;
    for (size_t i = 0; i < forward->call->count && !array; i++)
        if (floats(&forward->arrays[i]) &&
            item_of(forward, i)->requires_grad == 1)
            array = &forward->arrays[i];
    for (size_t i = 0; i < replay->call->count && !array; i++)
        if (floats(&replay->arrays[i]))
            array = &replay->arrays[i];
    perturbation->outcome = TP_PERTURB_CANCELLED;
    perturbation->reason =
        array ? refuse(array, mode) : "no tensor of it floats";
    return perturbation->reason
               ? TP_OK
               : change(array, msprobe_changes[mode], perturbation, err);
}

enum tp_status tp_perturb_begin(struct tp_replay_call *replay,
                                enum tp_perturb_mode mode,
                                enum tp_perturb_compat compat,
                                struct tp_perturbation *perturbation,
                                struct tp_error *err)
{
    const bool own = compat == TP_COMPAT_NONE;
    const size_t argument = find_argument(replay);
    *perturbation =
        (struct tp_perturbation){.outcome = TP_PERTURB_APPLIED, .reason = ""};
    if (own || replay->forward ? !has(replay, floats)
                               : argument == replay->call->count) {
        perturbation->outcome = TP_PERTURB_NO_INPUT;
        return TP_OK;
    }
    if (mode == TP_PERTURB_IMPROVE && !has(replay, is_half)) {
        perturbation->outcome = TP_PERTURB_SKIPPED;
        perturbation->reason = "no tensor of it is of half precision";
    }
    if (mode != TP_PERTURB_ADD && mode != TP_PERTURB_BIT &&
        mode != TP_PERTURB_CHANGE)
        return TP_OK;
    if (own)
        return change_all(replay, mode, perturbation, err);
    return replay->forward
               ? change_backward(replay, mode, perturbation, err)
               : change_first(replay, argument, mode, perturbation, err);
}

enum tp_status tp_perturb_bits(struct tp_replay_call *replay, size_t item,
                               struct tp_perturbation *perturbation,
                               struct tp_error *err)
{
    enum tp_status status = TP_OK;
    *perturbation = (struct tp_perturbation){.reason = ""};
    for (size_t i = 0; i < count_of(replay) && status == TP_OK; i++) {
        struct tp_array *array = array_at(replay, i);
        if (floats(array) && tp_perturb_epsilon(array->dtype) > 0 &&
            (item == SIZE_MAX || item == i))
            status = change(array, turn_bits, perturbation, err);
    }
    return status;
}

void tp_perturb_end(struct tp_perturbation *perturbation)
{
    for (size_t i = perturbation->count; i-- > 0;) {
        struct tp_perturbed_array *changed = &perturbation->changed[i];
        memcpy(changed->array->value, changed->saved,
               (size_t)changed->array->count * sizeof *changed->saved);
        free(changed->saved);
    }
    free(perturbation->changed);
    perturbation->changed = NULL;
    perturbation->count = 0;
}
