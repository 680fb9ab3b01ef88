/* SPDX-License-Identifier: MIT */
#include "base/order.h"

#include <criterion/criterion.h>

Test(order, extremes)
{
    cr_expect(tp_order_int64(INT64_MIN, INT64_MAX) < 0);
    cr_expect(tp_order_int64(INT64_MAX, INT64_MIN) > 0);
    cr_expect(tp_order_uint64(0, UINT64_MAX) < 0);
    cr_expect(tp_order_size(SIZE_MAX, 0) > 0);
    cr_expect_eq(tp_order_double(-0.0, 0.0), 0);
    cr_expect_eq(tp_order_text("a", "a"), 0);
    cr_expect(tp_order_text("a", "b") < 0);
    const int list[2] = {0};
    cr_expect(tp_order_place(&list[0], &list[1]) < 0);
    cr_expect_eq(tp_order_place(list, list), 0);
}

Test(order, sorts)
{
    int64_t integers[] = {3, INT64_MIN, 0, INT64_MAX, -1};
    tp_sort_int64(integers, 5);
    size_t sizes[] = {SIZE_MAX, 0, 7};
    tp_sort_size(sizes, 3);
    double reals[] = {1e300, -1e-300, 0, -1e300};
    tp_sort_double(reals, 4);
    for (int i = 1; i < 5; i++)
        cr_expect(integers[i - 1] < integers[i]);
    for (int i = 1; i < 3; i++)
        cr_expect(sizes[i - 1] < sizes[i]);
    for (int i = 1; i < 4; i++)
        cr_expect(reals[i - 1] < reals[i]);
    tp_sort_int64(NULL, 0);
    tp_sort_size(NULL, 0);
    tp_sort_double(NULL, 0);
    const char *texts[] = {"b", "", "a", "ab"};
    tp_sort_text(texts, 4);
    for (int i = 1; i < 4; i++)
        cr_expect(strcmp(texts[i - 1], texts[i]) < 0);
    tp_sort_text(NULL, 0);
}

Test(order, each_text_once)
{
    const char *texts[] = {"b", "a", "ab", "b", "", "a", "b"};
    const char *const want[] = {"", "a", "ab", "b"};
    cr_assert_eq(tp_sort_text_once(texts, 7), 4);
    for (int i = 0; i < 4; i++)
        cr_expect_str_eq(texts[i], want[i]);
    cr_expect_eq(tp_sort_text_once(texts, 0), 0);
}
