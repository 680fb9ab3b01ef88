/* SPDX-License-Identifier: MIT */
#include "stats/pair_cells.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

static uint32_t cells[TP_PAIR_CELLS * TP_PAIR_CELLS];

/* The cell of a value on both axes. */
static int cell_of(const struct tp_pair_axis *axis, double value)
{
    const struct tp_span span = {TP_FLOAT64, &value, 1};
    memset(cells, 0, sizeof cells);
    tp_pair_count(&span, &span, axis, cells);
    for (int i = 0; i < TP_PAIR_CELLS; i++) {
        if (cells[i * TP_PAIR_CELLS + i])
            return i;
    }
    return -1;
}

/* Every cell holds the value at its middle. */
static void expect_middles(const struct tp_pair_axis *axis)
{
    for (int i = 0; i < TP_PAIR_CELLS; i++)
        cr_expect_eq(cell_of(axis, tp_pair_middle(axis, i)), i);
}

Test(pair_cells, are_linear_for_values_without_outliers)
{
    const struct tp_pair_axis axis = tp_pair_axis_of(-3, 4, 1);
    cr_assert_not(axis.is_signed);
    expect_middles(&axis);
    cr_expect_eq(cell_of(&axis, -3), 0);
    cr_expect_eq(cell_of(&axis, 4), TP_PAIR_CELLS - 1);
    cr_expect_eq(cell_of(&axis, -99), 0);
    cr_expect_eq(cell_of(&axis, NAN), -1);
}

Test(pair_cells, are_binades_where_some_lie_far_out)
{
    const struct tp_pair_axis axis = tp_pair_axis_of(-1000, 60000, 1);
    cr_assert(axis.is_signed);
    expect_middles(&axis);
    cr_expect_eq(cell_of(&axis, 60000), TP_PAIR_CELLS - 1);
    cr_expect_eq(cell_of(&axis, 0), TP_PAIR_CELLS / 2);
    cr_expect_eq(cell_of(&axis, -1e-30), TP_PAIR_CELLS / 2 - 1);
    /* far from zero the logarithm would help nobody */
    cr_expect_not(tp_pair_axis_of(1e6, 1e6 + 100, 1).is_signed);
}

Test(pair_cells, have_room_for_one_value)
{
    const double values[] = {0, 5, -1e-300, 1e300, DBL_MAX, -DBL_MAX};
    for (size_t i = 0; i < 6; i++) {
        const struct tp_pair_axis axis =
            tp_pair_axis_of(values[i], values[i], 0);
        expect_middles(&axis);
        cr_expect(isfinite(axis.low) && isfinite(axis.high));
        if (fabs(values[i]) < DBL_MAX)
            cr_expect_eq(cell_of(&axis, values[i]), TP_PAIR_CELLS / 2);
    }
}

/* Limits that are further apart than a double goes are an axis as others. */
Test(pair_cells, reach_to_the_largest_numbers)
{
    const struct tp_pair_axis axis = tp_pair_axis_of(-1.5e308, 1.5e308, 1e308);
    cr_assert_not(axis.is_signed);
    expect_middles(&axis);
    for (int i = 0; i < TP_PAIR_CELLS; i++)
        cr_expect(fabs(tp_pair_middle(&axis, i)) < 1.5e308, "%d", i);
    cr_expect_eq(cell_of(&axis, 1.49e308), TP_PAIR_CELLS - 1);
    cr_expect_eq(cell_of(&axis, 1e307), TP_PAIR_CELLS / 2 + 1);
    const struct tp_pair_axis far = tp_pair_axis_of(-1e308, DBL_MAX, 1);
    cr_assert(far.is_signed);
    expect_middles(&far);
}
