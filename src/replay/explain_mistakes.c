/* SPDX-License-Identifier: MIT */
/*
 * Mistakes in what a kernel was called with: an argument left out, read along
 * the other axis, or a setting with another value. Values that are usual are
 * tried; to solve for the value would find one for nearly any error of few
 * elements. An eps is solved for, once all else has failed, where there are
 * many: one number that makes all of them right is no chance. Arguments of a
 * backward call are those of its forward call. Cost: a run of the kernel for
 * each, and some hundred to solve.
 */
#include "replay/explain_tries.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/op_family.h"

/* An argument's tensor; NULL: there is none. */
static struct tp_array *array_of(struct tp_tries *t, const char *name)
{
    return tp_arg_array(tp_tries_subject(t), name);
}

/* Of addmm and its kin the bias is what a product is added to. */
bool tp_try_bias(struct tp_tries *t)
{
    static const char *const sums[] = {"input,mat", "input,batch1",
                                       "input,vec1"};
    const char *name = "bias";
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (!strncmp(t->call.signature, sums[i], strlen(sums[i])))
            name = "input";
    struct tp_array *array = array_of(t, name);
    if (!array)
        return false;
    double *zero = tp_replay_room(&t->call, array->count, sizeof *zero);
    const bool fit = zero && tp_tries_fit_with(t, array, zero);
    free(zero);
    if (fit)
        TP_SAY(t, "its %s was left out", name);
    return fit;
}

/* The last two axes in memory as if they were the other way round. */
static void read_across(const struct tp_array *array, double *values)
{
    const int64_t rows = array->shape[array->dims - 2];
    const int64_t columns = array->shape[array->dims - 1];
    for (int64_t i = 0; i < array->count; i++) {
        const int64_t block = i / (rows * columns), k = i % (rows * columns);
        const int64_t row = k / columns, column = k % columns;
        values[i] = array->value[block * rows * columns + column * rows + row];
    }
}

static bool fits_across(struct tp_tries *t, struct tp_array *array)
{
    if (!array || !array->value || array->dims < 2 || array->count == 0)
        return false;
    double *values = tp_replay_room(&t->call, array->count, sizeof *values);
    if (values)
        read_across(array, values);
    const bool fit = values && tp_tries_fit_with(t, array, values);
    free(values);
    return fit;
}

bool tp_try_transposed(struct tp_tries *t)
{
    static const char *const names[] = {"weight", "other",  "mat2", "batch2",
                                        "mat1",   "batch1", "mat",  "input"};
    struct tp_replay_call *const call = tp_tries_subject(t);
    if (tp_op_family_of(t->verdict->operator) != TP_OP_PRODUCT)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fits_across(t, array_of(t, names[i]))) {
            TP_SAY(t, "its argument %s was read along the other axis",
                   names[i]);
            return true;
        }
    for (size_t i = 0; i < call->call->count; i++)
        if (tp_arg_is(call, i, "operands") &&
            fits_across(t, &call->arrays[i])) {
            TP_SAY(t, "its argument %.30s was read along the other axis",
                   call->place->items[call->call->first + i].argument);
            return true;
        }
    return false;
}

/* Whether the operator knows an argument. */
static bool takes(const struct tp_tries *t, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = t->call.signature; (at = strstr(at, name)); at++)
        if ((at == t->call.signature || at[-1] == ',') &&
            strchr(",=", at[length]))
            return true;
    return false;
}

static void set(struct tp_tries *t, const char *name,
                const struct tp_json *value)
{
    struct tp_replay_call *const call = tp_tries_subject(t);
    call->override_name = value ? name : NULL;
    call->override_value = value;
    t->call.anew = value != NULL;
}

static bool fits_setting(struct tp_tries *t, const char *name,
                         const struct tp_json *value)
{
    set(t, name, value);
    const bool fit = tp_tries_fit(t);
    set(t, name, NULL);
    return fit;
}

static const char *name_of_eps(const struct tp_tries *t)
{
    return takes(t, "eps") ? "eps" : takes(t, "epsilon") ? "epsilon" : NULL;
}

static bool fits_eps(struct tp_tries *t, const char *name, double eps)
{
    const struct tp_json value = {.kind = TP_JSON_REAL, .real = eps};
    if (eps == tp_arg_real(tp_tries_subject(t), name, 1e-5) ||
        !fits_setting(t, name, &value))
        return false;
    TP_SAY(t, "its %s was %.4g", name, eps);
    return true;
}

bool tp_try_eps(struct tp_tries *t)
{
    static const double others[] = {0,    1e-12, 1e-8, 1e-7, 1e-6, 1e-5,
                                    1e-4, 1e-3,  1e-2, 1e-1, 1};
    const char *const name = name_of_eps(t);
    for (size_t i = 0; name && i < sizeof others / sizeof *others; i++)
        if (fits_eps(t, name, others[i]))
            return true;
    return false;
}

/* What is left of the error with an eps of 10^power, in roundings: what those
 * of a result in few bits leave is nothing to one in many. */
static double off_with(struct tp_tries *t, const char *name, double power)
{
    const struct tp_json value = {.kind = TP_JSON_REAL, .real = pow(10, power)};
    double off;
    set(t, name, &value);
    tp_tries_run(t, &off);
    set(t, name, NULL);
    return t->call.output_count == t->count ? tp_tries_misfit(t) : INFINITY;
}

/* The error has one valley, as each element goes one way with eps. The factor
 * of a row may be kept in few bits, as another eps would have it, too. */
bool tp_try_any_eps(struct tp_tries *t)
{
    enum { LEAST = 16, STEPS = 60, ROUNDINGS = 3 };
    const char *const name = name_of_eps(t);
    double low = -13, high = 3;
    if (!name || t->dumped[t->verdict->result].count < LEAST ||
        (t->strict && !(t->verdict->relative > ROUNDINGS * t->call.own)))
        return false;
    for (int i = 0; i < STEPS; i++) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (off_with(t, name, a) <= off_with(t, name, b))
            high = b;
        else
            low = a;
    }
    return fits_eps(t, name, pow(10, (low + high) / 2));
}

/* Settings that are numbers, with values that are usual. One result of sums in
 * few bits, whose limits are wide, is near to one of them by chance. */
static bool try_number(struct tp_tries *t)
{
    enum { MANY = 16 };
    if (t->dumped[t->verdict->result].count < MANY && t->call.unit > t->unit)
        return false;
    const struct tp_array *query = array_of(t, "query");
    const double width =
        query && query->dims ? (double)query->shape[query->dims - 1] : 1;
    const struct {
        const char *name;
        double value;
    } settings[] = {{"label_smoothing", 0},     {"label_smoothing", 0.05},
                    {"label_smoothing", 0.1},   {"label_smoothing", 0.2},
                    {"scale", 1 / sqrt(width)}, {"scale", 1},
                    {"scale", 1 / width},       {"scale", sqrt(width)}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const struct tp_json value = {.kind = TP_JSON_REAL,
                                      .real = settings[i].value};
        if (takes(t, settings[i].name) &&
            fits_setting(t, settings[i].name, &value)) {
            TP_SAY(t, "its %s was %.6g", settings[i].name, settings[i].value);
            return true;
        }
    }
    return false;
}

bool tp_try_formula(struct tp_tries *t)
{
    const struct tp_replay_call *const call = tp_tries_subject(t);
    const bool tanh = !strcmp(tp_arg_text(call, "approximate", ""), "tanh");
    const bool trains = tp_arg_integer(call, "training", 0) != 0;
    const struct tp_json other = {.kind = TP_JSON_STRING,
                                  .text = tanh ? "none" : "tanh"};
    const struct tp_json mode = {.kind = TP_JSON_BOOL, .integer = !trains};
    if (t->verdict->operator->run == tp_run_gelu &&
        fits_setting(t, "approximate", &other)) {
        TP_SAY(t, "it was computed with approximate=%s", other.text);
        return true;
    }
    if (takes(t, "training") && fits_setting(t, "training", &mode)) {
        TP_SAY(t, "it was computed as %s training",
               trains ? "outside of" : "in");
        return true;
    }
    return try_number(t);
}

bool tp_try_mask(struct tp_tries *t)
{
    const bool causal =
        tp_arg_integer(tp_tries_subject(t), "is_causal", 0) != 0;
    const struct tp_json other = {.kind = TP_JSON_BOOL, .integer = !causal};
    struct tp_array *const mask = array_of(t, "attn_mask");
    if (takes(t, "is_causal") && !mask &&
        fits_setting(t, "is_causal", &other)) {
        TP_SAY(t, causal ? "its causal mask was not applied"
                         : "a causal mask was applied, which it has not");
        return true;
    }
    if (!mask)
        return false;
    double *open = tp_replay_room(&t->call, mask->count, sizeof *open);
    for (int64_t i = 0; open && i < mask->count; i++)
        open[i] = mask->dtype == TP_BOOL;
    const bool fit = open && tp_tries_fit_with(t, mask, open);
    free(open);
    if (fit)
        TP_SAY(t, "its mask was not applied");
    return fit;
}

/* Only where the result has the same shape along another axis. */
bool tp_try_axis(struct tp_tries *t)
{
    const struct tp_array *input = array_of(t, "input");
    if (!input || !takes(t, "dim"))
        return false;
    for (int axis = 0; axis < input->dims; axis++) {
        const struct tp_json value = {
            .kind = TP_JSON_INTEGER, .integer = axis, .real = axis};
        if (fits_setting(t, "dim", &value)) {
            TP_SAY(t, "it was computed along axis %d", axis);
            return true;
        }
    }
    return false;
}
