/* SPDX-License-Identifier: MIT */
/*
 * A cause is measured, a change is tried. Cancellation: the same operator of
 * the magnitudes of its arguments, over its results, by L2 norms. A variance
 * near zero: the amplification with a larger eps. Logits: that with the largest
 * of each row subtracted before the last bit is turned, as if before rounding.
 * An argument in higher precision: that with the bits of all others turned.
 * The order is that of cost to the one who makes the change: a number in a
 * call, an operation before it, one tensor in float32, all of them. Of sums,
 * the terms of the worst element are added up again in other orders. Cost: a
 * run of the kernel for each try, of few calls.
 */
#include "replay/replay_repair.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/accumulate.h"
#include "replay/dtype_round.h"
#include "replay/sum_terms.h"

const char *const tp_repair_words[TP_REPAIR_CAUSES] = {
    "unknown", "cancellation", "variance", "logits", "logarithm", "sum"};

struct repairer {
    struct tp_replay_call *call;
    const struct tp_operator *operator;
    struct tp_replay_repair *repair;
    double limit;
};

#define WHY(r, ...) \
    snprintf((r)->repair->why, sizeof(r)->repair->why, __VA_ARGS__)
#define CHANGE(r, ...) \
    snprintf((r)->repair->change, sizeof(r)->repair->change, __VA_ARGS__)

/* --- runs ----------------------------------------------------------------- */

/* The results of the call as it is; false: there are none. */
static bool run(struct repairer *r, struct tp_array **arrays, size_t *count)
{
    struct tp_error err = {0};
    const bool ran = tp_replay_did(
        r->call, tp_replay_run(r->call, r->operator, & err));
    *arrays = r->call->outputs;
    *count = r->call->output_count;
    r->call->outputs = NULL;
    r->call->output_count = r->call->output_capacity = 0;
    return ran;
}

static void release(struct tp_array *arrays, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tp_array_clear(&arrays[i]);
    free(arrays);
}

static double norm_of(const struct tp_array *arrays, size_t count)
{
    double size = 0;
    for (size_t i = 0; i < count; i++)
        for (int64_t k = 0; k < arrays[i].count; k++)
            if (isfinite(arrays[i].value[k]))
                size += arrays[i].value[k] * arrays[i].value[k];
    return sqrt(size);
}

static double distance(const struct tp_array *a, const struct tp_array *b,
                       size_t count)
{
    double change = 0;
    for (size_t i = 0; i < count; i++)
        for (int64_t k = 0; k < a[i].count && k < b[i].count; k++) {
            const double d = a[i].value[k] - b[i].value[k];
            if (isfinite(d))
                change += d * d;
        }
    return sqrt(change);
}

/* The amplification of the bits of all arguments but item `but`; SIZE_MAX: of
 * all. NaN: unknown. */
static double amplification(struct repairer *r, size_t but)
{
    struct tp_array *plain, *turned;
    size_t count, turned_count;
    double most = 0, worst = NAN;
    if (!run(r, &plain, &count)) {
        release(plain, count);
        return NAN;
    }
    struct tp_perturbation changes[TP_LIMIT_DIMS * 4];
    size_t made = 0;
    for (size_t i = 0;
         i < r->call->call->count && made < sizeof changes / sizeof *changes;
         i++) {
        struct tp_error err = {0};
        if (i != but && r->call->arrays[i].value &&
            tp_replay_did(r->call, tp_perturb_bits(r->call, i, &changes[made],
                                                   &err)))
            most = fmax(most, changes[made++].relative);
    }
    if (run(r, &turned, &turned_count) && turned_count == count)
        worst = most > 0 ? distance(plain, turned, count) /
                               norm_of(plain, count) / most
                         : 0;
    for (size_t i = made; i-- > 0;)
        tp_perturb_end(&changes[i]);
    release(plain, count);
    release(turned, turned_count);
    return worst;
}

/* --- causes --------------------------------------------------------------- */

static bool is_one_of(const struct repairer *r, const char *names)
{
    const struct tp_msprobe_part name = r->call->call->name.path;
    const size_t skip = name.length > 4 && !strncmp(name.at, "__", 2) ? 2 : 0;
    const size_t length = name.length - 2 * skip;
    for (const char *at = names; *at;) {
        const size_t size = strcspn(at, " ");
        if ((size == length ||
             (size + 1 == length && name.at[skip + size] == '_')) &&
            !strncmp(at, name.at + skip, size))
            return true;
        at += size + (at[size] == ' ');
    }
    return false;
}

/* Magnitudes for all arguments; the subtrahend's negative. */
static void take_magnitudes(struct repairer *r, bool back, double **saved)
{
    const bool subtracts = is_one_of(r, "sub subtract isub rsub mse_loss "
                                        "l1_loss");
    bool first = true;
    for (size_t i = 0; i < r->call->call->count; i++) {
        struct tp_array *array = &r->call->arrays[i];
        if (!array->value || tp_dtype_rounding(array->dtype) == 0)
            continue;
        const size_t size = (size_t)array->count * sizeof *array->value;
        if (!back)
            saved[i] =
                tp_replay_room(r->call, array->count, sizeof *saved[i]);
        if (back && saved[i])
            memcpy(array->value, saved[i], size);
        else if (saved[i])
            memcpy(saved[i], array->value, size);
        for (int64_t k = 0; !back && saved[i] && k < array->count; k++)
            array->value[k] = subtracts && !first ? -fabs(array->value[k])
                                                  : fabs(array->value[k]);
        first = false;
        if (back)
            free(saved[i]);
    }
}

/* How many times larger than its results an operator's terms are. */
static double cancellation(struct repairer *r)
{
    struct tp_array *plain, *large;
    size_t count, large_count;
    double times = NAN;
    double **saved =
        tp_replay_room(r->call, (int64_t)r->call->call->count, sizeof *saved);
    if (!saved)
        return NAN;
    const bool ran = run(r, &plain, &count);
    take_magnitudes(r, false, saved);
    if (run(r, &large, &large_count) && ran && count == large_count)
        times = norm_of(large, count) / norm_of(plain, count);
    take_magnitudes(r, true, saved);
    free(saved);
    release(plain, count);
    release(large, large_count);
    return times;
}

static bool try_sums(struct repairer *r)
{
    if (!is_one_of(r, "add iadd radd sub isub rsub subtract sum mean linear "
                      "matmul mm bmm addmm baddbmm conv1d conv2d conv3d "
                      "cumsum mse_loss l1_loss einsum"))
        return false;
    const double times = cancellation(r);
    if (!(times > r->limit / 4))
        return false;
    r->repair->cause = TP_REPAIR_CANCELLATION;
    WHY(r, "Its terms are %.3g times larger than their sum.", times);
    return true;
}

static bool try_eps(struct repairer *r)
{
    static const double others[] = {1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2};
    if (!is_one_of(r, "layer_norm rms_norm group_norm batch_norm "
                      "npu_rms_norm"))
        return false;
    const double eps = tp_arg_real(r->call, "eps", 1e-5);
    r->repair->cause = TP_REPAIR_VARIANCE;
    WHY(r,
        "A variance that is small beside its mean, or beside its eps of "
        "%g, is its denominator.",
        eps);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct tp_json value = {.kind = TP_JSON_REAL, .real = others[i]};
        if (others[i] <= eps)
            continue;
        r->call->override_name = "eps";
        r->call->override_value = &value;
        const bool keeps = amplification(r, SIZE_MAX) <= r->limit;
        r->call->override_name = NULL;
        if (keeps) {
            CHANGE(r, "An eps of %g keeps the digits.", others[i]);
            break;
        }
    }
    return true;
}

/* Subtracts from each row along an axis its largest element. */
static void subtract_most(struct tp_array *array, int axis)
{
    int64_t inner = 1;
    for (int i = axis + 1; i < array->dims; i++)
        inner *= array->shape[i];
    const int64_t length = array->dims ? array->shape[axis] : 1;
    for (int64_t i = 0; i < array->count; i++) {
        if (i / inner % length)
            continue;
        double most = -INFINITY;
        for (int64_t k = 0; k < length; k++)
            most = fmax(most, array->value[i + k * inner]);
        for (int64_t k = 0; isfinite(most) && k < length; k++)
            array->value[i + k * inner] -= most;
    }
}

static bool try_logits(struct repairer *r)
{
    struct tp_error err = {0};
    struct tp_array *logits = tp_arg_array(r->call, "input");
    double most = 0;
    int axis;
    if (!is_one_of(r, "softmax log_softmax cross_entropy logsumexp") || !logits)
        return false;
    for (int64_t i = 0; i < logits->count; i++)
        if (isfinite(logits->value[i]))
            most = fmax(most, fabs(logits->value[i]));
    r->repair->cause = TP_REPAIR_LOGITS;
    WHY(r, "Its logits reach %.3g, where a step of their dtype is %.2g.", most,
        tp_dtype_step(logits->dtype, most));
    if (is_one_of(r, "cross_entropy logsumexp") ||
        tp_arg_axis(r->call, "dim", -1, logits->dims, &axis, &err) != TP_OK)
        return true;
    const size_t size = (size_t)logits->count * sizeof *logits->value;
    double *saved = tp_replay_room(r->call, logits->count, sizeof *saved);
    if (!saved)
        return true;
    memcpy(saved, logits->value, size);
    subtract_most(logits, axis);
    for (int64_t i = 0; i < logits->count; i++)
        logits->value[i] = tp_dtype_round(logits->dtype, logits->value[i]);
    if (amplification(r, SIZE_MAX) <= r->limit)
        CHANGE(r, "Subtracting the largest logit of each row before they are "
                  "rounded keeps the digits.");
    memcpy(logits->value, saved, size);
    free(saved);
    return true;
}

static bool try_logarithm(struct repairer *r)
{
    if (!is_one_of(r, "log log2 log10"))
        return false;
    r->repair->cause = TP_REPAIR_LOGARITHM;
    WHY(r, "Its arguments are near 1, where a logarithm is near 0.");
    CHANGE(r, "log1p of what is added to 1, before it is, keeps the digits.");
    return true;
}

/* One argument in higher precision, if that is enough. */
static void try_arguments(struct repairer *r)
{
    size_t floats = 0;
    for (size_t i = 0; i < r->call->call->count; i++)
        floats += r->call->arrays[i].value &&
                  tp_perturb_epsilon(r->call->arrays[i].dtype) > 0;
    for (size_t i = 0; floats > 1 && i < r->call->call->count; i++)
        if (r->call->arrays[i].value &&
            tp_perturb_epsilon(r->call->arrays[i].dtype) > 0 &&
            amplification(r, i) <= r->limit) {
            CHANGE(r,
                   "Its argument %.40s made in more bits is enough: those of "
                   "the others may stay.",
                   r->call->place->items[r->call->call->first + i].argument);
            return;
        }
}

enum tp_status tp_repair_condition(const struct tp_dump_place *place,
                                   const struct tp_dump_call *call,
                                   const struct tp_operator *operator,
                                   struct tp_replay_repair * repair,
                                   struct tp_error *err)
{
    struct tp_error own = {0};
    bool lost = false;
    struct tp_replay_call replay = {.place = place,
                                    .call = call,
                                    .signature = operator->signature,
                                    .lost = &lost };
    struct repairer r = {
        .call = &replay, .operator= operator, .repair = repair };
    memset(repair, 0, sizeof *repair);
    enum tp_status status = tp_replay_call_load(&replay, &own);
    replay.anew = true;
    r.limit = tp_perturbed_limit(replay.own);
    if (status == TP_OK && !replay.forward) {
        if (!try_eps(&r) && !try_logits(&r) && !try_logarithm(&r))
            try_sums(&r);
        if (!*repair->change)
            try_arguments(&r);
    }
    tp_replay_call_clear(&replay);
    return status == TP_E_MEMORY || lost ? tp_fail_memory(err) : TP_OK;
}

/* --- sums ----------------------------------------------------------------- */

/* What the schemes give of the terms, relative to their sum. */
static void try_schemes(struct repairer *r, const double *terms, int64_t count,
                        enum tp_dtype dtype)
{
    static const char *const names[TP_ACCUMULATE_SCHEMES] = {
        "one after the other", "in chunks of 64", "with Kahan's correction",
        "in float32"};
    double sum = 0, errors[TP_ACCUMULATE_SCHEMES];
    int best = TP_ACCUMULATE_FLOAT32;
    for (int64_t i = 0; i < count; i++)
        sum += terms[i];
    for (int i = TP_ACCUMULATE_SCHEMES; i-- > 0;) {
        errors[i] = fabs(tp_accumulate(terms, count, dtype,
                                       (enum tp_accumulate_scheme)i) -
                         sum) /
                    fabs(sum);
        if (i != TP_ACCUMULATE_SEQUENCE &&
            errors[i] <= 3 * tp_dtype_rounding(dtype))
            best = i;
    }
    if (!(errors[TP_ACCUMULATE_SEQUENCE] > errors[best]))
        return;
    r->repair->cause = TP_REPAIR_SUM;
    WHY(r,
        "Of the worst element %lld terms are added; one after the other in %s "
        "that is %.2g off.",
        (long long)count, tp_dtype_info(dtype)->name,
        errors[TP_ACCUMULATE_SEQUENCE]);
    CHANGE(r,
           "Adding them %s is %.2g off, which is the cheapest that keeps "
           "the digits.",
           names[best], errors[best]);
}

enum tp_status tp_repair_steps(const struct tp_dump_place *place,
                               const struct tp_dump_call *call,
                               const struct tp_replay_verdict *verdict,
                               struct tp_replay_repair *repair,
                               struct tp_error *err)
{
    const struct tp_operator *operator= verdict->operator;
    struct tp_error own = {0};
    struct tp_addend_list terms = {.count = 0};
    bool lost = false;
    struct tp_replay_call replay = {.place = place,
                                    .call = call,
                                    .signature = operator->signature,
                                    .lost = &lost };
    struct repairer r = {
        .call = &replay, .operator= operator, .repair = repair };
    memset(repair, 0, sizeof *repair);
    enum tp_status status = tp_replay_call_load(&replay, &own);
    if (status == TP_OK)
        status = tp_replay_run(&replay, operator, & own);
    const struct tp_array *input =
        status == TP_OK ? tp_arg_array(&replay, "input") : NULL;
    if (input && verdict->result == 0)
        terms =
            tp_sum_terms(&replay, operator, & replay.outputs[0], verdict->at);
    if (terms.count > 1)
        try_schemes(&r, terms.value, terms.count, input->dtype);
    free(terms.value);
    tp_replay_call_clear(&replay);
    return status == TP_E_MEMORY || lost ? tp_fail_memory(err) : TP_OK;
}
