/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>

#include "stats/decode_lanes.h"

#if defined(__x86_64__)
/* Every code at every place of a group, whole and cut off, against the tables:
 * value by value, and all NaN alike. */
static int check_codes(enum tp_dtype dtype)
{
    struct tp_decode_8_plan plan;
    enum { PLACES = 32 };
    unsigned char codes[256 + PLACES];
    double x[sizeof codes + 1], wanted[sizeof codes];
    if (!tp_decode_8_plan_of(dtype, &plan))
        return 0;
    for (size_t first = 0; first < PLACES; first++) {
        for (size_t i = 0; i < sizeof codes; i++)
            codes[i] = (unsigned char)(i + first);
        const size_t done = 256 + first;
        x[done] = 42;
        tp_decode_8(&plan, codes, done, x);
        cr_assert_eq(x[done], 42);
        tp_dtype_decode(dtype, codes, done, wanted);
        for (size_t i = 0; i < done; i++)
            cr_assert(
                (isnan(x[i]) && isnan(wanted[i])) ||
                    (x[i] == wanted[i] && signbit(x[i]) == signbit(wanted[i])),
                "%s %02x: %a", tp_dtype_info(dtype)->name, codes[i], x[i]);
    }
    return 1;
}

#endif

Test(decode_lanes, floating_bytes_decode_as_the_tables_say)
{
#if defined(__x86_64__)
    int dtypes = 0;
    if (!__builtin_cpu_supports("avx512bw"))
        cr_skip_test("the processor has no AVX-512");
    for (int dtype = 0; dtype < TP_DTYPE_COUNT; dtype++)
        dtypes += check_codes((enum tp_dtype)dtype);
    cr_assert_eq(dtypes, 7);
#else
    cr_skip_test("the processor is no x86-64");
#endif
}
