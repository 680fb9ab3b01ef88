/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>

#include "data/encode.h"
#include "replay/dtype_round.h"

/* Expected values: torch 2.15, tensor(x, dtype=float64).to(dtype).tolist(). */
Test(dtype_round, rounds_as_torch_casts)
{
    static const double from[] = {1.0 / 3, 1.00390625, 1.01171875, 3.4e38,
                                  1e-40,   -0.1,       65519,      65520};
    static const double bf16[] = {0x1.56p-2, 1,          0x1.04p0, INFINITY,
                                  0x1p-133,  -0x1.9ap-4, 65536,    65536};
    static const double fp16[] = {0x1.554p-2, 0x1.01p0,    0x1.03p0, INFINITY,
                                  0,          -0x1.998p-4, 65504,    INFINITY};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        cr_expect_eq(tp_dtype_round(TP_BFLOAT16, from[i]), bf16[i], "%g",
                     from[i]);
        cr_expect_eq(tp_dtype_round(TP_FLOAT16, from[i]), fp16[i], "%g",
                     from[i]);
        cr_expect_eq(tp_dtype_round(TP_FLOAT32, from[i]),
                     (double)(float)from[i]);
        cr_expect_eq(tp_dtype_round(TP_FLOAT64, from[i]), from[i]);
        cr_expect_eq(tp_dtype_round(TP_INT64, from[i]), from[i]);
    }
    cr_expect(isnan(tp_dtype_round(TP_BFLOAT16, NAN)));
    cr_expect_eq(tp_dtype_round(TP_FLOAT16, -INFINITY), -INFINITY);
}

/* Expected values: the same torch, bitwise_xor of the codes with 1. */
Test(dtype_round, turns_the_last_bit)
{
    cr_expect_eq(tp_dtype_flip_last(TP_BFLOAT16, 0x1.26p-7), 0x1.24p-7);
    cr_expect_eq(tp_dtype_flip_last(TP_BFLOAT16, -3), -0x1.82p1);
    cr_expect_eq(tp_dtype_flip_last(TP_FLOAT16, 0x1.27p-7), 0x1.274p-7);
    cr_expect_eq(tp_dtype_flip_last(TP_FLOAT16, 1), 0x1.004p0);
    cr_expect_eq(tp_dtype_flip_last(TP_FLOAT32, 0x1.26e978p-7), 0x1.26e97ap-7);
    cr_expect_eq(tp_dtype_flip_last(TP_FLOAT64, 0x1.26e978d4fdf3bp-7),
                 0x1.26e978d4fdf3ap-7);
    /* torch.finfo(dtype).smallest_normal */
    cr_expect_eq(tp_dtype_least_normal(TP_FLOAT16), 6.103515625e-05);
    cr_expect_eq(tp_dtype_least_normal(TP_BFLOAT16), 0x1p-126);
    cr_expect_eq(tp_dtype_least_normal(TP_FLOAT64), 0x1p-1022);
}

/* The short way of 16-bit formats is the general encoder's (test_encode.c):
 * every code, what is between two of them, and a little to either side. */
Test(dtype_round, of_16_bits_is_that_of_the_encoder)
{
    static const enum tp_dtype dtypes[] = {TP_FLOAT16, TP_BFLOAT16};
    for (int d = 0; d < 2; d++)
        for (uint32_t code = 0; code < 1U << 16; code++) {
            const struct tp_number *number = tp_number_by_dtype(dtypes[d]);
            const double a = tp_number_decode(number, code);
            const double b = tp_number_decode(number, (code + 1) & 0xffff);
            if (isnan(a) || isnan(b))
                continue;
            const double from[] = {a, (a + b) / 2, nextafter((a + b) / 2, a),
                                   nextafter((a + b) / 2, b)};
            for (int i = 0; i < 4; i++) {
                const double want = tp_number_decode(
                    number,
                    tp_number_encode(number, TP_ROUND_DEFAULT, from[i]));
                const double got = tp_dtype_round(dtypes[d], from[i]);
                cr_assert(got == want && !signbit(got) == !signbit(want),
                          "%a: %a %a", from[i], got, want);
            }
            if (isfinite(a))
                cr_assert_eq(tp_dtype_flip_last(dtypes[d], a),
                             tp_number_decode(number, code ^ 1U), "%a", a);
        }
}
