/* SPDX-License-Identifier: MIT */
/* What releases and kernels of torch do differently in half precision: each way
 * is right, and a third one is not. */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

enum { ROWS = 4, LENGTH = 8 };

/* The excess of a call of two bf16 tensors, or one and a number in JSON. */
static double excess_of(const char *key, const double *x, const double *y,
                        const char *keywords, const char *third,
                        const double *made)
{
    const int64_t shape[] = {ROWS, LENGTH};
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    calls_call(&m, key);
    calls_tensor(&m, TP_BFLOAT16, 2, shape, x);
    if (y)
        calls_tensor(&m, TP_BFLOAT16, 2, shape, y);
    if (third)
        calls_value(&m, third);
    calls_results(&m, keywords);
    calls_tensor(&m, TP_BFLOAT16, 2, shape, made);
    calls_done(&m);
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    cr_assert_eq(
        tp_replay_judge(&dump.places[0], dump.places[0].calls, &verdict, &err),
        TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_JUDGED, "%s", verdict.reason);
    tp_dump_clear(&dump);
    calls_end(&m);
    return verdict.excess;
}

static double norm_with(double eps, const char *keywords)
{
    double x[ROWS * LENGTH], made[ROWS * LENGTH];
    for (int i = 0; i < ROWS * LENGTH; i++)
        x[i] = tp_dtype_round(TP_BFLOAT16, 1e-3 * (1 + sin(3 * i)));
    for (int row = 0; row < ROWS; row++) {
        double squares = 0;
        for (int i = 0; i < LENGTH; i++)
            squares += pow(x[row * LENGTH + i], 2) / LENGTH;
        for (int i = 0; i < LENGTH; i++)
            made[row * LENGTH + i] =
                tp_dtype_round(TP_BFLOAT16,
                               x[row * LENGTH + i] / sqrt(squares + eps));
    }
    return excess_of("Functional.rms_norm.0.forward", x, NULL, keywords,
                     "[{\"type\": \"int\", \"value\": 8}]", made);
}

Test(norm, takes_the_eps_of_either_release_where_none_is_given)
{
    const char *given = "\"eps\": {\"type\": \"float\", \"value\": 1e-06}";
    cr_expect_leq(norm_with(0x1p-7, ""), 1);
    cr_expect_leq(norm_with(0x1p-23, ""), 1);
    cr_expect_gt(norm_with(1e-4, ""), 10);
    cr_expect_leq(norm_with(1e-6, given), 1);
    cr_expect_gt(norm_with(0x1p-7, given), 10);
}

/* 2.375 / 0.03173828125 is 74.8, and 75 in bf16. */
Test(norm, cuts_a_quotient_as_it_is_or_rounded)
{
    static const double ways[] = {74, 75, 76};
    double x[ROWS * LENGTH], y[ROWS * LENGTH], made[ROWS * LENGTH];
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        for (int i = 0; i < ROWS * LENGTH; i++) {
            x[i] = 2.375;
            y[i] = 0.03173828125;
            made[i] = ways[way];
        }
        cr_expect_eq(excess_of("Torch.div.0.forward", x, y,
                               "\"rounding_mode\": {\"type\": \"str\", "
                               "\"value\": \"trunc\"}",
                               NULL, made) <= 1,
                     way < 2, "%g", ways[way]);
    }
}
