/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>

#include "replay/dtype_round.h"
#include "replay/free_benchmark.h"

static struct tp_benchmark_ratio ratio(const double *o, enum tp_dtype of_o,
                                       const double *p, enum tp_dtype of_p,
                                       int64_t count)
{
    const struct tp_benchmark_rule rule = {.limit = tp_benchmark_limit(of_o)};
    return tp_benchmark_ratio_of((struct tp_benchmark_side){o, of_o},
                                 (struct tp_benchmark_side){p, of_p}, count,
                                 &rule);
}

/* Expected values: the rule written with torch 2.15: clamp(abs(o), min=t) /
 * clamp(abs(p), min=t), nan_to_num(nan=1), and max(max, 1 / min). */
Test(free_benchmark, is_the_ratio_that_torch_gives)
{
    static const double o[] = {1, -2.5, 0.3, 1e-5, 700};
    static const double p[] = {1.0078125, -2.5, 0.2998, -3e-5, 703};
    static const double flipped[] = {1, 2.5, 0.3, 1e-5, 700};
    static const struct {
        enum tp_dtype dtype;
        double ratio; /* 0: a sign changes                                  */
    } cases[] = {{TP_BFLOAT16, 1.0078740157480315},
                 {TP_FLOAT16, 1.0078740157480315},
                 {TP_FLOAT32, 1.0078125037543941},
                 {TP_FLOAT64, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const enum tp_dtype dtype = cases[i].dtype;
        struct tp_benchmark_ratio got = ratio(o, dtype, p, dtype, 5);
        cr_expect_not(got.consistent);
        cr_expect_eq(got.flipped, cases[i].ratio == 0);
        if (cases[i].ratio > 0)
            cr_expect_eq(got.ratio, cases[i].ratio, "%.17g", got.ratio);
        cr_expect(ratio(o, dtype, flipped, dtype, 5).flipped);
        cr_expect(ratio(o, dtype, o, dtype, 5).consistent);
        cr_expect_eq(ratio(o, dtype, o, dtype, 5).ratio, 1);
    }
}

Test(free_benchmark, casts_to_the_perturbed_dtype)
{
    static const double o[] = {0.01, 0.5}, p[] = {0.010315, 0.5};
    cr_expect_eq(ratio(o, TP_BFLOAT16, p, TP_FLOAT32, 2).ratio,
                 1.0304936699499705);
    /* indices divide in float32 */
    static const double i[] = {0, 2, 3}, k[] = {2, 2, 3};
    cr_expect_eq(ratio(i, TP_INT64, k, TP_INT64, 3).ratio, 20000.00050524251);
}

/* The same torch: NaN is no difference, infinity is the largest number. */
Test(free_benchmark, does_with_nan_and_inf_as_torch_does)
{
    static const double one[] = {1, 1}, nan[] = {NAN, 1}, sign[] = {NAN, -1},
                        inf[] = {INFINITY, -1}, finite[] = {1, -1};
    cr_expect(ratio(nan, TP_FLOAT32, one, TP_FLOAT32, 2).consistent);
    cr_expect_not(ratio(sign, TP_FLOAT32, one, TP_FLOAT32, 2).flipped);
    cr_expect_eq(ratio(inf, TP_FLOAT32, finite, TP_FLOAT32, 2).ratio,
                 3.4028234663852886e+38);
    cr_expect(ratio(nan, TP_FLOAT32, one, TP_FLOAT32, 0).consistent);
}

/* One step of bf16 is beyond its limit, a third of one is within. */
Test(free_benchmark, has_a_limit_by_dtype)
{
    static const double o[] = {1}, step[] = {1.0078125}, near[] = {1.0026};
    cr_expect_not(ratio(o, TP_BFLOAT16, step, TP_FLOAT32, 1).consistent);
    cr_expect(ratio(o, TP_BFLOAT16, near, TP_FLOAT32, 1).consistent);
    cr_expect_not(ratio(o, TP_FLOAT16, near, TP_FLOAT32, 1).consistent);
    cr_expect_not(ratio(o, TP_FLOAT32, near, TP_FLOAT32, 1).consistent);
}

static bool single(const double *a, enum tp_dtype of_a, const double *g,
                   int64_t count)
{
    return tp_benchmark_single((struct tp_benchmark_side){a, of_a},
                               (struct tp_benchmark_side){g, TP_FLOAT32},
                               count);
}

Test(free_benchmark, judges_to_cpu_by_three_errors)
{
    static const double zero[] = {0, 0}, small[] = {0.0039, -0.0039},
                        large[] = {0.004, -0.004};
    /* 2^-8 is 0.00390625 */
    cr_expect(single(small, TP_BFLOAT16, zero, 2));
    cr_expect_not(single(large, TP_BFLOAT16, zero, 2));
    static const double golden[] = {512, -512}, near[] = {513, -513},
                        far[] = {516, -516};
    /* relative: 2^-9 is within 2^-8, 2^-7 is not */
    cr_expect(single(near, TP_FLOAT32, near, 2));
    cr_expect_not(single(near, TP_FLOAT16, golden, 2));
    cr_expect_not(single(far, TP_BFLOAT16, golden, 2));
    /* the mean, with its sign: 1e-4 */
    static const double above[] = {0.0002, 0.0001}, below[] = {-2e-4, -1e-4};
    cr_expect_not(single(above, TP_FLOAT16, zero, 2));
    cr_expect(single(below, TP_FLOAT16, zero, 2));
    static const double inf[] = {INFINITY, 0};
    cr_expect(single(far, TP_FLOAT32, inf, 2));
    cr_expect_not(single(inf, TP_FLOAT32, zero, 2));
}

/* torch 2.15: tensor_split(x, 2 ** (int(log2(MB)) - 4)), the last one. */
Test(free_benchmark, knows_the_last_chunk)
{
    static const struct {
        enum tp_dtype dtype;
        int64_t count, first;
    } cases[] = {{TP_FLOAT32, 1, 0},
                 {TP_FLOAT32, (32 << 18) - 1, 0},
                 {TP_FLOAT32, 32 << 18, 16 << 18},
                 {TP_BFLOAT16, (64 << 19) + 3, 25165827},
                 {TP_FLOAT32, INT64_C(3000) << 18, 780288000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(
            tp_benchmark_last_chunk(cases[i].dtype, cases[i].count),
            cases[i].first, "case %zu: %lld", i,
            (long long)tp_benchmark_last_chunk(cases[i].dtype, cases[i].count));
}

/* What is ahead of the last chunk has a sign, and no ratio. */
Test(free_benchmark, leaves_out_what_msprobe_overwrites)
{
    static const double o[] = {1, 1, 1, 1}, p[] = {2, 1, 1, 1},
                        sign[] = {-1, 1, 1, 1};
    const struct tp_benchmark_side a = {o, TP_FLOAT32}, b = {p, TP_FLOAT32},
                                   c = {sign, TP_FLOAT32};
    const struct tp_benchmark_rule all = {.limit = 1.0002},
                                   last = {.limit = 1.0002, .first = 2};
    cr_expect_eq(tp_benchmark_ratio_of(a, b, 4, &all).ratio, 2);
    cr_expect(tp_benchmark_ratio_of(a, b, 4, &last).consistent);
    cr_expect(tp_benchmark_ratio_of(a, c, 4, &last).flipped);
}

/* Gradients below 1e-3 are no sign and no ratio. */
Test(free_benchmark, has_another_tolerance_for_gradients)
{
    static const double o[] = {2e-4, -2e-4}, p[] = {4e-4, 1e-4};
    const struct tp_benchmark_side a = {o, TP_FLOAT32}, b = {p, TP_FLOAT32};
    const struct tp_benchmark_rule backward = {
        .limit = 1.0002, .tolerance = TP_BENCHMARK_BACKWARD_TOLERANCE};
    const struct tp_benchmark_rule forward = {.limit = 1.0002};
    cr_expect(tp_benchmark_ratio_of(a, b, 2, &backward).consistent);
    cr_expect(tp_benchmark_ratio_of(a, b, 2, &forward).flipped);
}
