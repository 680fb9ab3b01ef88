/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>

#include "base/limits.h"
#include "replay/array.h"

Test(array, has_strides_of_its_shape)
{
    struct tp_array array = {.dims = 0};
    struct tp_error err = {0};
    const int64_t shape[] = {2, 3, 4};
    int64_t strides[TP_LIMIT_DIMS];
    cr_assert_eq(tp_array_make(&array, 3, shape, &err), TP_OK);
    cr_assert_eq(array.count, 24);
    tp_array_strides(&array, strides);
    cr_assert_eq(strides[0], 12);
    cr_assert_eq(strides[1], 4);
    cr_assert_eq(strides[2], 1);
    tp_array_clear(&array);
}

Test(array, refuses_what_no_memory_holds)
{
    struct tp_array array = {.dims = 0};
    struct tp_error err = {0};
    const int64_t huge[] = {INT64_MAX, INT64_MAX}, none[] = {INT64_MAX, 0},
                  negative[] = {4, -1}, empty[] = {1 << 20, 0};
    cr_assert_eq(tp_array_make(&array, 2, huge, &err), TP_E_UNSUPPORTED);
    cr_assert_eq(tp_array_make(&array, 2, negative, &err), TP_E_UNSUPPORTED);
    cr_assert_eq(tp_array_make(&array, 2, none, &err), TP_E_UNSUPPORTED);
    cr_assert_eq(tp_array_make(&array, 2, empty, &err), TP_OK);
    cr_assert_eq(array.count, 0);
    tp_array_clear(&array);
}

Test(array, repeats_axes_of_one)
{
    struct tp_array array = {.dims = 0};
    struct tp_error err = {0};
    const int64_t shape[] = {3, 1}, wide[] = {2, 3, 4}, other[] = {2, 2, 4};
    int64_t strides[TP_LIMIT_DIMS];
    cr_assert_eq(tp_array_make(&array, 2, shape, &err), TP_OK);
    cr_assert(tp_array_broadcast(&array, 3, wide, strides));
    cr_assert_eq(strides[0], 0);
    cr_assert_eq(strides[1], 1);
    cr_assert_eq(strides[2], 0);
    cr_assert_not(tp_array_broadcast(&array, 3, other, strides));
    cr_assert_not(tp_array_broadcast(&array, 1, wide, strides));
    tp_array_clear(&array);
}

Test(array, walks_in_row_major_order)
{
    const int64_t shape[] = {2, 3};
    const int64_t want[] = {0, 2, 4, 1, 3, 5}; /* of the transposed one      */
    struct tp_array_walk walk = {.dims = 2, .shape = shape};
    walk.strides[0][0] = 1;
    walk.strides[0][1] = 2;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 6; i++) {
            cr_assert_eq(walk.at[0], want[i]);
            tp_array_walk_next(&walk);
        }
}

Test(array, knows_the_end_of_dtypes)
{
    cr_assert_eq(tp_dtype_rounding(TP_BFLOAT16), ldexp(1, -8));
    cr_assert_eq(tp_dtype_rounding(TP_FLOAT16), ldexp(1, -11));
    cr_assert_eq(tp_dtype_rounding(TP_FLOAT32), ldexp(1, -24));
    cr_assert_eq(tp_dtype_rounding(TP_INT64), 0);
    cr_assert_eq(tp_dtype_largest(TP_FLOAT16), 65504);
    cr_assert_eq(tp_dtype_underflow(TP_FLOAT16), ldexp(1, -25));
}

Test(array, says_where_no_file_has_the_tensor)
{
    struct tp_dump_item item = tp_dump_item_none;
    struct tp_array array = {.dims = 0};
    struct tp_error err = {0};
    const int64_t shape[] = {0, 3};
    cr_assert_eq(tp_array_read(&item, &array, &err), TP_E_NOT_FOUND);
    item.has_shape = true; /* msprobe saves none of these                    */
    item.dims = 2;
    item.shape = shape;
    item.element = TP_FLOAT32;
    cr_assert_eq(tp_array_read(&item, &array, &err), TP_OK);
    cr_assert_eq(array.count, 0);
    cr_assert_eq(array.dims, 2);
    tp_array_clear(&array);
}
