/* SPDX-License-Identifier: MIT */
#include "compare/compare_group.h"

#include <criterion/criterion.h>

Test(compare_group, equal_texts_have_one_number)
{
    const char *const texts[] = {"b", "a", "", "b", "ab", "a"};
    const size_t expected[] = {0, 1, 2, 0, 3, 1}; /* as they come */
    size_t groups[6], count = 7;
    struct tp_error err = {0};
    cr_assert_eq(tp_compare_group(texts, 6, groups, &count, &err), TP_OK);
    cr_expect_eq(count, 4);
    cr_expect_arr_eq(groups, expected, sizeof expected);
    cr_assert_eq(tp_compare_group(texts, 0, groups, &count, &err), TP_OK);
    cr_expect_eq(count, 0);
}
