/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>

#include "replay/contract.h"

static struct tp_array make(int dims, const int64_t *shape, double bound)
{
    struct tp_array array = {.dims = 0};
    struct tp_error err = {0};
    cr_assert_eq(tp_array_make(&array, dims, shape, &err), TP_OK);
    for (int64_t i = 0; i < array.count; i++)
        array.value[i] = (double)i + 1;
    if (bound > 0)
        cr_assert_eq(tp_array_bounds(&array, &err), TP_OK);
    for (int64_t i = 0; bound > 0 && i < array.count; i++)
        array.bound[i] = bound;
    return array;
}

/* A stack whose axis is neither first nor last, on the right side turned, and
 * a result in another order than that of the product: numpy.einsum
 * "ibk,kbj->jib" of arange(1, 13) each. */
Test(contract, takes_axes_in_any_order)
{
    static const int64_t left[3] = {2, 3, 2}, right[3] = {2, 3, 2};
    static const int64_t shape[3] = {2, 2, 3};
    static const double expected[12] = {15, 45, 91,  63, 117, 187,
                                        18, 52, 102, 78, 136, 210};
    struct tp_array a = make(3, left, 0), b = make(3, right, 0);
    struct tp_array c = make(3, shape, 1);
    struct tp_error err = {0};
    struct tp_contraction contraction = {
        .left = &a, .right = &b, .output = &c, .unit = ldexp(1, -24)};
    static const struct tp_contract_axis axes[] = {{2, 0, 1, 6, true},
                                                   {2, 6, 0, 3, true},
                                                   {3, 2, 2, 1, true},
                                                   {2, 1, 6, 0, false}};
    for (int i = 0; i < 4; i++)
        cr_assert_eq(tp_contract_add(&contraction, axes[i], &err), TP_OK);
    cr_assert_eq(tp_contract(&contraction, &err), TP_OK);
    for (int i = 0; i < 12; i++)
        cr_assert_eq(c.value[i], expected[i], "%d: %g", i, c.value[i]);
    tp_array_clear(&a);
    tp_array_clear(&b);
    tp_array_clear(&c);
}

/* Sides that are off: sum(e |b|) + sum(|a| f) beside the roundings. */
Test(contract, carries_the_bounds_of_its_sides)
{
    static const int64_t length[1] = {3};
    struct tp_array a = make(1, length, 0.5), b = make(1, length, 0.25);
    struct tp_array c = make(0, length, 0);
    struct tp_error err = {0};
    struct tp_contraction contraction = {.left = &a,
                                         .right = &b,
                                         .output = &c,
                                         .count = 1,
                                         .axes = {{3, 1, 1, 0, false}},
                                         .unit = ldexp(1, -24)};
    cr_assert_eq(tp_array_bounds(&c, &err), TP_OK);
    cr_assert_eq(tp_contract(&contraction, &err), TP_OK);
    cr_assert_eq(c.value[0], 14);
    cr_assert_float_eq(c.bound[0], 0.5 * 6 + 0.25 * 6, 1e-4);
    tp_array_clear(&a);
    tp_array_clear(&b);
    tp_array_clear(&c);
}

Test(contract, refuses_more_axes_than_there_is_room_for)
{
    struct tp_contraction contraction = {.count = TP_CONTRACT_AXES};
    struct tp_error err = {0};
    const struct tp_contract_axis axis = {1, 0, 0, 0, true};
    cr_assert_eq(tp_contract_add(&contraction, axis, &err), TP_E_UNSUPPORTED);
}
