/* SPDX-License-Identifier: MIT */
/* Values by numpy.einsum of arange(1, ...) in the shapes given. */
#include <criterion/criterion.h>
#include <math.h>

#include "replay/einsum.h"

static struct tp_array make(int dims, const int64_t *shape)
{
    struct tp_array array = {.dims = 0};
    struct tp_error err = {0};
    cr_assert_eq(tp_array_make(&array, dims, shape, &err), TP_OK);
    for (int64_t i = 0; i < array.count; i++)
        array.value[i] = (double)i + 1;
    array.dtype = TP_FLOAT32;
    return array;
}

struct sample {
    const char *equation;
    int dims[3]; /* of operands; -1: no more                                */
    int64_t shapes[3][4];
    int result_dims;
    int64_t result[4];
    double first, last;
};

static const struct sample samples[] = {
    {"ij,jk->ik", {2, 2, -1}, {{2, 3}, {3, 2}}, 2, {2, 2}, 22, 64},
    {"ij,jk", {2, 2, -1}, {{2, 3}, {3, 2}}, 2, {2, 2}, 22, 64},
    {"ij->ji", {2, -1}, {{2, 3}}, 2, {3, 2}, 1, 6},
    {"ii->i", {2, -1}, {{3, 3}}, 1, {3}, 1, 9},
    {"ii", {2, -1}, {{3, 3}}, 0, {0}, 15, 15},
    {"ij->", {2, -1}, {{2, 3}}, 0, {0}, 21, 21},
    {"ba", {2, -1}, {{2, 3}}, 2, {3, 2}, 1, 6},
    {"i,j->ij", {1, 1, -1}, {{2}, {3}}, 2, {2, 3}, 1, 6},
    {"b i k, b k j -> b i j",
     {3, 3, -1},
     {{2, 2, 2}, {2, 2, 2}},
     3,
     {2, 2, 2},
     7,
     106},
    {"...mk,...kn->...mn",
     {3, 2, -1},
     {{2, 2, 2}, {2, 2}},
     3,
     {2, 2, 2},
     7,
     46},
    {"...ij,...jk", {2, 3, -1}, {{2, 2}, {2, 2, 2}}, 3, {2, 2, 2}, 7, 50},
    {"ij,jk,kl->il", {2, 2, 2}, {{2, 2}, {2, 2}, {2, 2}}, 2, {2, 2}, 37, 118},
    {"i,i,i->i", {1, 1, 1}, {{3}, {3}, {3}}, 1, {3}, 1, 27},
    {"ij,kl->jl", {2, 2, -1}, {{2, 2}, {2, 2}}, 2, {2, 2}, 16, 36},
    {"ij,j->i", {2, 1, -1}, {{2, 3}, {1}}, 1, {2}, 6, 15},
};

static enum tp_status start(const struct sample *s, struct tp_array *arrays,
                            struct tp_einsum *einsum)
{
    const struct tp_array *list[3];
    struct tp_error err = {0};
    size_t count = 0;
    for (; count < 3 && s->dims[count] >= 0; count++) {
        arrays[count] = make(s->dims[count], s->shapes[count]);
        list[count] = &arrays[count];
    }
    enum tp_status status =
        tp_einsum_init(einsum, s->equation, list, count, &err);
    einsum->unit = ldexp(1, -24);
    return status;
}

Test(einsum, gives_what_numpy_gives)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sample *s = &samples[i];
        struct tp_array arrays[3] = {{.dims = 0}}, output = {.dims = 0};
        struct tp_einsum einsum;
        struct tp_error err = {0};
        int64_t shape[TP_LIMIT_DIMS];
        cr_assert_eq(start(s, arrays, &einsum), TP_OK, "%s", s->equation);
        const int dims = tp_einsum_shape(&einsum, shape);
        cr_assert_eq(dims, s->result_dims, "%s", s->equation);
        for (int k = 0; k < dims; k++)
            cr_assert_eq(shape[k], s->result[k], "%s", s->equation);
        tp_array_make(&output, dims, shape, &err);
        cr_assert_eq(tp_einsum_run(&einsum, &output, &err), TP_OK);
        cr_assert_float_eq(output.value[0], s->first, 1e-12, "%s: %g",
                           s->equation, output.value[0]);
        cr_assert_float_eq(output.value[output.count - 1], s->last, 1e-12,
                           "%s: %g", s->equation,
                           output.value[output.count - 1]);
        for (int k = 0; k < 3; k++)
            tp_array_clear(&arrays[k]);
        tp_array_clear(&output);
    }
}

/* <g, f(x + d)> - <g, f(x)> = <grad, d>: f is linear in each operand. */
Test(einsum, gradients_are_those_of_a_linear_map)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sample *s = &samples[i];
        struct tp_array arrays[3] = {{.dims = 0}}, output = {.dims = 0};
        struct tp_einsum einsum;
        struct tp_error err = {0};
        int64_t shape[TP_LIMIT_DIMS];
        start(s, arrays, &einsum);
        const int dims = tp_einsum_shape(&einsum, shape);
        tp_array_make(&output, dims, shape, &err);
        tp_einsum_run(&einsum, &output, &err);
        struct tp_array g = make(dims, shape);
        double dot = 0;
        for (int64_t k = 0; k < g.count; k++)
            dot += g.value[k] * output.value[k];
        for (int k = 0; k < einsum.count; k++) {
            struct tp_array grad = make(arrays[k].dims, arrays[k].shape);
            double own = 0;
            for (int64_t j = 0; j < grad.count; j++)
                grad.value[j] = 0;
            cr_assert_eq(tp_einsum_gradient(&einsum, &g, k, &grad, &err),
                         TP_OK);
            for (int64_t j = 0; j < grad.count; j++)
                own += grad.value[j] * arrays[k].value[j];
            cr_assert_float_eq(own, dot, 1e-9 * fabs(dot), "%s: %g %g",
                               s->equation, own, dot);
            tp_array_clear(&grad);
        }
        tp_array_clear(&g);
        tp_array_clear(&output);
        for (int k = 0; k < 3; k++)
            tp_array_clear(&arrays[k]);
    }
}

Test(einsum, that_does_not_fit_is_refused)
{
    static const struct sample wrong[] = {
        {"ij,jk->ik", {2, 2, -1}, {{2, 3}, {2, 2}}, 0, {0}, 0, 0},
        {"ij", {1, -1}, {{2}}, 0, {0}, 0, 0},
        {"i->j", {1, -1}, {{2}}, 0, {0}, 0, 0},
        {"i->ii", {1, -1}, {{2}}, 0, {0}, 0, 0},
        {"i,j->i", {1, -1}, {{2}}, 0, {0}, 0, 0},
        {"i", {1, 1, -1}, {{2}, {2}}, 0, {0}, 0, 0},
        {"i%->i", {1, -1}, {{2}}, 0, {0}, 0, 0},
        {"i-", {1, -1}, {{2}}, 0, {0}, 0, 0},
        {"", {1, -1}, {{2}}, 0, {0}, 0, 0},
        {"i...->i", {2, -1}, {{2, 2}}, 0, {0}, 0, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tp_array arrays[3] = {{.dims = 0}};
        struct tp_einsum einsum;
        const enum tp_status status = start(&wrong[i], arrays, &einsum);
        /* The last one is right: numpy and torch sum what "..." stood for. */
        const bool right = i == sizeof wrong / sizeof *wrong - 1;
        cr_assert_eq(status, right ? TP_OK : TP_E_UNSUPPORTED, "%s",
                     wrong[i].equation);
        for (int k = 0; k < 3; k++)
            tp_array_clear(&arrays[k]);
    }
}
