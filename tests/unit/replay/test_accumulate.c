/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

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
