/* SPDX-License-Identifier: MIT */
/*
 * Mistakes in what a kernel was called with: an argument left out, read along
 * the other axis, or a setting with another value. Values that are usual are
 * tried; to solve for the value would find one for any error. Cost: a run of
 * the kernel for each.
 */
#include "replay/explain_tries.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The item of an argument's tensor; call.count: none. */
static size_t item_of(const struct tp_tries *t, const char *name)
{
    const struct tp_array *array = tp_arg_array(&t->call, name);
    return array ? (size_t)(array - t->call.arrays) : t->call.call->count;
}

/* Of addmm and its kin the bias is what a product is added to. */
bool tp_try_bias(struct tp_tries *t)
{
    const char *const name =
        strncmp(t->call.signature, "input,mat1", 10) &&
                strncmp(t->call.signature, "input,batch1", 12)
            ? "bias"
            : "input";
    const size_t item = item_of(t, name);
    if (item == t->call.call->count)
        return false;
    double *zero = calloc((size_t)t->call.arrays[item].count + 1, sizeof *zero);
    const bool fit = zero && tp_tries_fit_with(t, item, zero);
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

bool tp_try_transposed(struct tp_tries *t)
{
    static const char *const names[] = {"weight", "other",  "mat2", "batch2",
                                        "mat1",   "batch1", "input"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t item = item_of(t, names[i]);
        const struct tp_array *array = &t->call.arrays[item];
        if (item == t->call.call->count || array->dims < 2 || array->count == 0)
            continue;
        double *values = malloc((size_t)array->count * sizeof *values);
        if (values)
            read_across(array, values);
        const bool fit = values && tp_tries_fit_with(t, item, values);
        free(values);
        if (fit) {
            TP_SAY(t, "its argument %s was read along the other axis",
                   names[i]);
            return true;
        }
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

static bool fits_setting(struct tp_tries *t, const char *name,
                         const struct tp_json *value)
{
    t->call.override_name = name;
    t->call.override_value = value;
    const bool fit = tp_tries_fit(t);
    t->call.override_name = NULL;
    return fit;
}

bool tp_try_eps(struct tp_tries *t)
{
    static const double others[] = {0,    1e-12, 1e-8, 1e-7, 1e-6, 1e-5,
                                    1e-4, 1e-3,  1e-2, 1e-1, 1};
    if (!takes(t, "eps"))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct tp_json value = {.kind = TP_JSON_REAL, .real = others[i]};
        if (others[i] != tp_arg_real(&t->call, "eps", 1e-5) &&
            fits_setting(t, "eps", &value)) {
            TP_SAY(t, "its eps was %g", others[i]);
            return true;
        }
    }
    return false;
}

/* Settings that are numbers, with values that are usual. */
static bool try_number(struct tp_tries *t)
{
    const struct tp_array *query = tp_arg_array(&t->call, "query");
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
    const bool tanh = !strcmp(tp_arg_text(&t->call, "approximate", ""), "tanh");
    const bool trains = tp_arg_integer(&t->call, "training", 0) != 0;
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
    const bool causal = tp_arg_integer(&t->call, "is_causal", 0) != 0;
    const struct tp_json other = {.kind = TP_JSON_BOOL, .integer = !causal};
    const size_t item = item_of(t, "attn_mask");
    if (takes(t, "is_causal") && item == t->call.call->count &&
        fits_setting(t, "is_causal", &other)) {
        TP_SAY(t, causal ? "its causal mask was not applied"
                         : "a causal mask was applied, which it has not");
        return true;
    }
    if (item == t->call.call->count)
        return false;
    const struct tp_array *mask = &t->call.arrays[item];
    double *open = malloc((size_t)mask->count * sizeof *open + 1);
    for (int64_t i = 0; open && i < mask->count; i++)
        open[i] = mask->dtype == TP_BOOL;
    const bool fit = open && tp_tries_fit_with(t, item, open);
    free(open);
    if (fit)
        TP_SAY(t, "its mask was not applied");
    return fit;
}

/* Only where the result has the same shape along another axis. */
bool tp_try_axis(struct tp_tries *t)
{
    const struct tp_array *input = tp_arg_array(&t->call, "input");
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
