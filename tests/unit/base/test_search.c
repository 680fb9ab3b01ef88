/* SPDX-License-Identifier: MIT */
#include "base/search.h"

#include <criterion/criterion.h>

/* Every place in lists of every length, by counting. */
Test(search, partition_point)
{
    enum { MOST = 40 };
    for (size_t count = 0; count <= MOST; count++) {
        for (size_t place = 0; place <= count; place++) {
            size_t i = 12345, evaluations = 0;
            TP_PARTITION_POINT(i, count, (evaluations++, i < place));
            cr_expect_eq(i, place);
            cr_expect_leq(evaluations, (size_t)6);
        }
    }
}
