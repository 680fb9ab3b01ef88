/* SPDX-License-Identifier: MIT */
/* The words are those of CalcStatsDiff of mindstudio-probe 26.2. */
#include "compare/compare_shift.h"

#include <math.h>

#include <criterion/criterion.h>

static const struct tp_compare_value values[] = {
    {TP_COMPARE_NUMBER, 1.5, "1.5"},
    {TP_COMPARE_NUMBER, 0, "0.0"},
    {TP_COMPARE_NAN, NAN, "Nan"},
    {TP_COMPARE_INF, INFINITY, "inf"},
    {TP_COMPARE_NEGATIVE_INF, -INFINITY, "-inf"},
    {TP_COMPARE_DEVICE, NAN, "cuda:0"},
    {TP_COMPARE_OTHER, NAN, "True"},
    {TP_COMPARE_DEVICE, NAN, "cpu"},
};

static void expect(size_t a, size_t b, const char *difference,
                   const char *relative, double error)
{
    struct tp_arena arena = {0};
    struct tp_compare_shift shift;
    struct tp_error err = {0};
    cr_assert_eq(
        tp_compare_shift_make(&values[a], &values[b], &arena, &shift, &err),
        TP_OK);
    cr_expect_str_eq(shift.difference, difference);
    cr_expect_str_eq(shift.relative, relative);
    cr_expect(isnan(error) ? isnan(shift.error) : shift.error == error);
    tp_arena_clear(&arena);
}

Test(compare_shift, words)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        expect(i, i, "0", "0", 0); /* whatever they are */
    expect(0, 1, "1.5", "inf", INFINITY);
    expect(1, 0, "-1.5", "100.0%", 1);
    expect(0, 2, "Nan", "Nan", NAN);
    expect(3, 2, "Nan", "Nan", NAN);
    expect(3, 0, "inf", "inf", NAN);
    expect(3, 4, "inf", "inf", NAN);
    expect(4, 0, "-inf", "-inf", NAN);
    expect(4, 3, "-inf", "-inf", NAN);
    expect(0, 3, "-inf", "-inf", NAN);
    expect(0, 4, "inf", "inf", NAN);
    expect(0, 5, "Diff", "Diff", NAN);
    expect(6, 2, "Diff", "Diff", NAN);
    expect(5, 6, "Diff", "Diff", NAN);
    expect(5, 7, "N/A", "N/A", NAN);
}

Test(compare_shift, without_a_partner)
{
    struct tp_arena arena = {0};
    struct tp_compare_shift shift;
    struct tp_error err = {0};
    cr_assert_eq(tp_compare_shift_make(&values[0], NULL, &arena, &shift, &err),
                 TP_OK);
    cr_expect_str_eq(shift.difference, "N/A");
    cr_expect_str_eq(shift.relative, "N/A");
    tp_arena_clear(&arena);
}
