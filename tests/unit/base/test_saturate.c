/* SPDX-License-Identifier: MIT */
/* Sums that stay within 64 bits. */
#include <criterion/criterion.h>

#include "base/saturate.h"

Test(saturate, sums_end_at_the_ends)
{
    cr_expect_eq(tp_saturate_add(2, 3), 5);
    cr_expect_eq(tp_saturate_add(INT64_MAX, INT64_MIN), -1);
    cr_expect_eq(tp_saturate_add(INT64_MAX - 1, 1), INT64_MAX);
    cr_expect_eq(tp_saturate_add(INT64_MAX, 131072), INT64_MAX);
    cr_expect_eq(tp_saturate_add(INT64_MIN, -1), INT64_MIN);
}
