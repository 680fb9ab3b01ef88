/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>

#include "stats/decode_lanes.h"

/* Every code at every place of a group, against the tables: value by value,
 * and all NaN alike. */
static int check_codes(enum tp_dtype dtype)
{
    struct tp_decode_8_plan plan;
    unsigned char codes[256 + TP_LANES];
    double x[sizeof codes], wanted[sizeof codes];
    if (!tp_decode_8_plan_of(dtype, &plan))
        return 0;
    for (size_t first = 0; first < TP_LANES; first++) {
        for (size_t i = 0; i < sizeof codes; i++)
            codes[i] = (unsigned char)(i + first);
        const size_t done = tp_decode_8(&plan, codes, 256 + 3, x);
        cr_assert_eq(done, 256);
        tp_dtype_decode(dtype, codes, done, wanted);
        for (size_t i = 0; i < done; i++)
            cr_assert(
                (isnan(x[i]) && isnan(wanted[i])) ||
                    (x[i] == wanted[i] && signbit(x[i]) == signbit(wanted[i])),
                "%s %02x: %a", tp_dtype_info(dtype)->name, codes[i], x[i]);
    }
    return 1;
}

Test(decode_lanes, floating_bytes_decode_as_the_tables_say)
{
    int dtypes = 0;
    for (int dtype = 0; dtype < TP_DTYPE_COUNT; dtype++)
        dtypes += check_codes((enum tp_dtype)dtype);
    cr_assert_eq(dtypes, 7);
}
