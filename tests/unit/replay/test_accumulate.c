/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>

#include "replay/accumulate.h"

/* After 256 ones a sum in bf16 stands still: half a step is lost. */
Test(accumulate, loses_what_is_below_half_a_step)
{
    static double ones[1000];
    for (int i = 0; i < 1000; i++)
        ones[i] = 1;
    cr_expect_eq(tp_accumulate(ones, 1000, TP_BFLOAT16, TP_ACCUMULATE_SEQUENCE),
                 256);
    /* 15 chunks of 64 and one of 40: steps of 2 and 4 from 256 and 512 on */
    cr_expect_eq(tp_accumulate(ones, 1000, TP_BFLOAT16, TP_ACCUMULATE_CHUNKS),
                 1000);
    cr_expect_eq(tp_accumulate(ones, 1000, TP_BFLOAT16, TP_ACCUMULATE_KAHAN),
                 1000);
    cr_expect_eq(tp_accumulate(ones, 1000, TP_BFLOAT16, TP_ACCUMULATE_FLOAT32),
                 1000);
    cr_expect_eq(tp_accumulate(ones, 1000, TP_FLOAT16, TP_ACCUMULATE_SEQUENCE),
                 1000);
}

/* torch 2.15: a loop of t = (t.double() + x[i]).to(dtype). */
Test(accumulate, is_what_torch_gives)
{
    static const double x[] = {100, 0.24, 0.24, 0.24, 0.24, 0.24, -100, 3.3};
    cr_expect_eq(tp_accumulate(x, 8, TP_BFLOAT16, TP_ACCUMULATE_SEQUENCE),
                 3.296875);
    cr_expect_eq(tp_accumulate(x, 8, TP_FLOAT16, TP_ACCUMULATE_SEQUENCE),
                 4.55078125);
    cr_expect_eq(tp_accumulate(x, 0, TP_BFLOAT16, TP_ACCUMULATE_KAHAN), 0);
}

static double in_lanes(const double *terms, int count, int lanes)
{
    float sums[64] = {0}, all = 0;
    for (int i = 0; i < count; i++)
        sums[i % lanes] = (float)(sums[i % lanes] + terms[i]);
    for (int i = 0; i < lanes; i++)
        all += sums[i];
    return all;
}

/* Sums of float32 in any order are within it, of like terms as of others; it is
 * far less than the worst case, which is all that other dtypes have. */
Test(accumulate, bounds_what_sums_of_float32_lose)
{
    enum { COUNT = 8192 };
    static double terms[COUNT];
    const double u = ldexp(1, -24);
    for (int kind = 0; kind < 3; kind++) {
        double exact = 0, size = 0;
        for (int i = 0; i < COUNT; i++) {
            terms[i] = kind == 0   ? 1.0 / 3
                       : kind == 1 ? 1 + sin(0.37 * i * (i % 1013) + i)
                                   : sin(0.37 * i * (i % 1013) + i);
            exact += terms[i];
            size += fabs(terms[i]);
        }
        const double bound = tp_accumulate_bound(terms, COUNT, u);
        for (int lanes = 1; lanes <= 64; lanes *= 2)
            cr_expect_leq(fabs(in_lanes(terms, COUNT, lanes) - exact), bound,
                          "%d, %d", kind, lanes);
        if (kind > 0)
            cr_expect_lt(bound, COUNT * u * size / 20, "%d", kind);
    }
    cr_expect_gt(tp_accumulate_bound(terms, 16, ldexp(1, -11)),
                 16 * ldexp(1, -11) * 3);
}
