/* SPDX-License-Identifier: MIT */
/*
 * Products are equations (einsum.h), and so are their gradients: an element is
 * the sum over the letters that it does not have. Which gradient a result is,
 * and whether it is turned, follows from what was computed: the terms have to
 * add up to it. Alternative: to mark terms while the kernel runs, which each
 * kernel would have to know of. Cost: one walk over the terms.
 */
#include "replay/product_terms.h"

#include <math.h>
#include <stdlib.h>

#include "replay/einsum.h"

/* --- forward -------------------------------------------------------------- */

/* Operators of two operands; an equation NULL: torch.matmul's. */
static const struct form {
    tp_kernel_fn *run;
    const char *names[2], *equation;
    bool added; /* to the argument `input`, each with a factor              */
} forms[] = {
    {tp_run_linear, {"input", "weight"}, "...k,nk->...n", false},
    {tp_run_matmul, {"input", "other"}, NULL, false},
    {tp_run_reversed_matmul, {"other", "input"}, NULL, false},
    {tp_run_addmm, {"mat1", "mat2"}, "mk,kn->mn", true},
    {tp_run_baddbmm, {"batch1", "batch2"}, "bmk,bkn->bmn", true},
    {tp_run_addbmm, {"batch1", "batch2"}, "bmk,bkn->mn", true},
    {tp_run_addmv, {"mat", "vec"}, "mk,k->m", true},
};

static const struct form *form_of(const struct tp_operator *row)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].run == row->run)
            return &forms[i];
    return NULL;
}

static bool is_added(const struct tp_operator *row)
{
    const struct form *form = form_of(row);
    return form && form->added;
}

static bool set_form(const struct tp_replay_call *forward,
                     const struct form *form, struct tp_einsum *einsum)
{
    const struct tp_array *sides[2] = {tp_arg_array(forward, form->names[0]),
                                       tp_arg_array(forward, form->names[1])};
    struct tp_error err = {0};
    if (!sides[0] || !sides[1])
        return false;
    const char *equation = form->equation;
    if (!equation)
        equation = tp_matmul_equation(sides[0]->dims, sides[1]->dims);
    return tp_einsum_init(einsum, equation, sides, 2, &err) == TP_OK;
}

static bool set_equation(const struct tp_replay_call *forward,
                         struct tp_einsum *einsum)
{
    const char *equation = tp_arg_text(forward, "equation", NULL);
    const struct tp_array **arrays =
        malloc((forward->call->count + 1) * sizeof *arrays);
    struct tp_error err = {0};
    const bool two =
        arrays && equation && tp_arg_arrays(forward, "operands", arrays) == 2;
    const bool set =
        two && tp_einsum_init(einsum, equation, arrays, 2, &err) == TP_OK;
    free(arrays);
    return set;
}

static bool set_einsum(const struct tp_replay_call *forward,
                       const struct tp_operator *row, struct tp_einsum *einsum)
{
    const struct form *form = form_of(row);
    return form                        ? set_form(forward, form, einsum)
           : row->run == tp_run_einsum ? set_equation(forward, einsum)
                                       : false;
}

/* The element of a tensor that is broadcast to the result's element `at`. */
static double broadcast_at(const struct tp_array *array,
                           const struct tp_array *result, int64_t at)
{
    int64_t index = 0, step = 1;
    for (int i = 0; i < result->dims; i++) {
        const int axis = array->dims - 1 - i;
        const int64_t length = result->shape[result->dims - 1 - i];
        if (axis >= 0 && array->shape[axis] > 1)
            index += at % length * step;
        step *= axis >= 0 ? array->shape[axis] : 1;
        at /= length;
    }
    return array->value[index];
}

bool tp_product_adds(const struct tp_replay_call *call,
                     const struct tp_operator *row)
{
    return !call->forward &&
           (is_added(row) ||
            ((row->run == tp_run_linear || row->run == tp_run_conv) &&
             tp_arg_array(call, "bias")));
}

/* What is added to the products last. */
static double added_at(const struct tp_replay_call *call,
                       const struct tp_operator *row, int64_t at)
{
    const struct tp_array *bias = tp_arg_array(call, "bias");
    return is_added(row) ? tp_arg_real(call, "beta", 1) *
                               broadcast_at(tp_arg_array(call, "input"),
                                            &call->outputs[0], at)
           : row->run == tp_run_conv
               ? bias->value[tp_conv_channel(call, row, at)]
               : bias->value[at % bias->count];
}

static int64_t forward_terms(const struct tp_replay_call *call,
                             const struct tp_operator *row, int64_t at,
                             double **terms)
{
    struct tp_einsum einsum;
    const struct tp_array *to = tp_arg_array(call, "input");
    if (is_added(row) && (!to || !to->count || call->output_count != 1))
        return 0;
    const int64_t count = row->run == tp_run_conv
                              ? tp_conv_terms(call, row, at, terms)
                          : set_einsum(call, row, &einsum)
                              ? tp_einsum_terms(&einsum, at, terms)
                              : 0;
    for (int64_t i = 0; i < count && is_added(row); i++)
        (*terms)[i] *= tp_arg_real(call, "alpha", 1);
    if (count == 0 || !tp_product_adds(call, row))
        return count;
    (*terms)[count] = added_at(call, row, at);
    return count + 1;
}

/* --- backward ------------------------------------------------------------- */

/* The only gradient that came. */
static const struct tp_array *given_to(const struct tp_replay_call *call)
{
    const struct tp_array *given = NULL;
    for (size_t i = 0; i < call->call->count; i++) {
        if (call->arrays[i].value && given)
            return NULL;
        if (call->arrays[i].value)
            given = &call->arrays[i];
    }
    return given;
}

/* Whether a result lies as an operand does, or turned. */
static bool lies_as(const struct tp_array *result,
                    const struct tp_array *operand, bool turned)
{
    bool same = result->dims == operand->dims && (!turned || result->dims == 2);
    for (int i = 0; i < result->dims && same; i++)
        same = result->shape[i] ==
               operand->shape[turned ? result->dims - 1 - i : i];
    return same;
}

static bool adds_up(const double *terms, int64_t count, double value)
{
    double sum = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += terms[i];
        size += fabs(terms[i]);
    }
    return fabs(sum - value) <= 1e-9 * size;
}

static int64_t backward_terms(const struct tp_replay_call *call,
                              const struct tp_operator *row, size_t result,
                              int64_t at, double **terms)
{
    const struct tp_array *given = given_to(call);
    struct tp_einsum einsum;
    const double factor =
        is_added(row) ? tp_arg_real(call->forward, "alpha", 1) : 1;
    if (result >= call->output_count || !given || !form_of(row) ||
        !set_einsum(call->forward, row, &einsum))
        return 0;
    const struct tp_array *output = &call->outputs[result];
    for (int k = 0; k < 4; k++) {
        const int side = k / 2;
        const bool turned = k % 2;
        struct tp_einsum back = einsum;
        if (!lies_as(output, einsum.arrays[side], turned) ||
            !tp_einsum_turn(&back, given, side))
            continue;
        const int64_t columns = turned ? output->shape[1] : 1;
        const int64_t place =
            turned ? at % columns * output->shape[0] + at / columns : at;
        const int64_t count = tp_einsum_terms(&back, place, terms);
        for (int64_t i = 0; i < count; i++)
            (*terms)[i] *= factor;
        if (count && adds_up(*terms, count, output->value[at]))
            return count;
        free(*terms);
        *terms = NULL;
    }
    return 0;
}

int64_t tp_product_terms(const struct tp_replay_call *call,
                         const struct tp_operator *row, size_t result,
                         int64_t at, double **terms)
{
    *terms = NULL;
    return call->forward ? backward_terms(call, row, result, at, terms)
                         : forward_terms(call, row, at, terms);
}
