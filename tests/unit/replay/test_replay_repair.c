/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

#include "replay/replay_repair.h"

enum { COUNT = 8, ONES = 1000 };

static const int64_t shape[] = {2, COUNT / 2};

/* One call, with its results as they should be; what of it was repaired. */
struct made {
    const char *key, *keywords;
    const double *x, *y; /* NULL: there is none                             */
    double results[COUNT];
    bool single; /* float32, not bf16                                       */
};

static struct tp_replay_repair repair_of(const struct made *made)
{
    struct calls_maker m = calls_begin();
    struct tp_replay_options options = {
        .wish = {.modes = {[TP_PERTURB_BIT] = true}}};
    struct tp_replay_results results;
    struct tp_dump dump;
    const enum tp_dtype dtype = made->single ? TP_FLOAT32 : TP_BFLOAT16;
    calls_call(&m, made->key);
    calls_tensor(&m, dtype, 2, shape, made->x);
    if (made->y)
        calls_tensor(&m, dtype, 2, shape, made->y);
    calls_results(&m, made->keywords);
    calls_tensor(&m, dtype, 2, shape, made->results);
    calls_done(&m);
    calls_write(&m);
    calls_replay(&m, &options, &dump, &results);
    cr_assert_eq(results.count, 1);
    cr_expect_str_eq(results.rows[0].status, "replayed", "%s: %s", made->key,
                     results.rows[0].reason);
    cr_expect_lt(results.rows[0].excess, 1, "%s", made->key);
    const struct tp_replay_repair repair = results.rows[0].repair;
    tp_replay_results_clear(&results);
    tp_dump_clear(&dump);
    tp_pool_free(options.pool);
    calls_end(&m);
    return repair;
}

/* x - y where they agree but for two bits, and where they do not. */
Test(replay_repair, finds_cancellation)
{
    struct made made = {.key = "Tensor.__sub__.0.forward", .keywords = ""};
    double x[COUNT], y[COUNT], far[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = 1 + (i + 2) * 0x1p-7;
        y[i] = 1 + (i + 1) * 0x1p-7;
        far[i] = -2 - i * 0x1p-6;
        made.results[i] = x[i] - y[i];
    }
    made.x = x;
    made.y = y;
    struct tp_replay_repair repair = repair_of(&made);
    cr_expect_eq(repair.cause, TP_REPAIR_CANCELLATION);
    cr_expect_not_null(strstr(repair.why, "times larger than their sum"));
    made.y = far;
    for (int i = 0; i < COUNT; i++)
        made.results[i] = x[i] - far[i];
    repair = repair_of(&made);
    cr_expect_eq(repair.cause, TP_REPAIR_UNKNOWN);
    cr_expect_str_empty(repair.change);
}

/* Both rows normed with an eps. */
static void norm(const double *x, double eps, double *results)
{
    const int length = COUNT / 2;
    for (int row = 0; row < 2; row++, x += length, results += length) {
        double mean = 0, variance = 0;
        for (int i = 0; i < length; i++)
            mean += x[i] / length;
        for (int i = 0; i < length; i++)
            variance += (x[i] - mean) * (x[i] - mean) / length;
        for (int i = 0; i < length; i++)
            results[i] = (x[i] - mean) / sqrt(variance + eps);
    }
}

/* A row whose variance is a bit of its mean, beside one that is well: a larger
 * eps is tried and named. */
Test(replay_repair, finds_the_eps_that_keeps_the_digits)
{
    double x[COUNT] = {-1, 0.5, 2, 3, 1, 1 + 3 * 0x1p-23, 1, 1 + 3 * 0x1p-23};
    const double wide[COUNT] = {-1, 0.5, 2, 3, 1, 7, -3, 2};
    struct made made = {.key = "Functional.layer_norm.0.forward",
                        .keywords = "\"normalized_shape\": [{\"type\": "
                                    "\"int\", \"value\": 4}], \"eps\": "
                                    "{\"type\": \"float\", \"value\": 1e-12}",
                        .x = x,
                        .single = true};
    norm(x, 1e-12, made.results);
    struct tp_replay_repair repair = repair_of(&made);
    cr_expect_eq(repair.cause, TP_REPAIR_VARIANCE);
    cr_expect_str_eq(repair.change, "An eps of 1e-06 keeps the digits.");
    made.x = wide;
    norm(wide, 1e-12, made.results);
    cr_expect_eq(repair_of(&made).cause, TP_REPAIR_UNKNOWN);
}

static void softmax(const double *x, double *results)
{
    for (int row = 0; row < COUNT; row += COUNT / 2) {
        double sum = 0;
        for (int i = row; i < row + COUNT / 2; i++)
            sum += exp(x[i] - x[row]);
        for (int i = row; i < row + COUNT / 2; i++)
            results[i] = exp(x[i] - x[row]) / sum;
    }
}

/* Logits near 64 have a step of 0.5 in bf16; less their largest they have one
 * of a 64th of that. */
Test(replay_repair, finds_the_step_of_logits)
{
    double x[COUNT], small[COUNT];
    struct made made = {.key = "Functional.softmax.0.forward",
                        .keywords =
                            "\"dim\": {\"type\": \"int\", \"value\": -1}",
                        .x = x};
    for (int i = 0; i < COUNT; i++) {
        x[i] = 64 + i % 3 * 0.5;
        small[i] = i * 0.25;
    }
    softmax(x, made.results);
    struct tp_replay_repair repair = repair_of(&made);
    cr_expect_eq(repair.cause, TP_REPAIR_LOGITS);
    cr_expect_str_eq(repair.why, "Its logits reach 65, where a step of their "
                                 "dtype is 0.5.");
    cr_expect_not_null(strstr(repair.change, "largest logit"));
    made.x = small;
    softmax(small, made.results);
    cr_expect_eq(repair_of(&made).cause, TP_REPAIR_UNKNOWN);
}

Test(replay_repair, knows_logarithms_near_one)
{
    double x[COUNT];
    struct made made = {.key = "Torch.log.0.forward", .keywords = "", .x = x};
    for (int i = 0; i < COUNT; i++) {
        x[i] = 1 + (i % 2 + 1) * 0x1p-7;
        made.results[i] = log(x[i]);
    }
    cr_expect_eq(repair_of(&made).cause, TP_REPAIR_LOGARITHM);
    for (int i = 0; i < COUNT; i++) {
        x[i] = 3 + i;
        made.results[i] = log(x[i]);
    }
    cr_expect_eq(repair_of(&made).cause, TP_REPAIR_UNKNOWN);
}

/* A sum of 1000 ones in bf16 that stands still at 256, and one that does not:
 * chunks of 64 are enough. */
Test(replay_repair, finds_the_sum_that_keeps_the_digits)
{
    static const double sums[] = {256, 1000};
    static const int64_t long_shape[] = {ONES};
    static double ones[ONES];
    for (int i = 0; i < ONES; i++)
        ones[i] = 1;
    for (int i = 0; i < 2; i++) {
        struct calls_maker m = calls_begin();
        struct tp_replay_options options = {.wish = {.modes = {false}}};
        struct tp_replay_results results;
        struct tp_dump dump;
        calls_call(&m, "Torch.sum.0.forward");
        calls_tensor(&m, TP_BFLOAT16, 1, long_shape, ones);
        calls_results(&m, "");
        calls_tensor(&m, TP_BFLOAT16, 0, NULL, &sums[i]);
        calls_done(&m);
        calls_write(&m);
        calls_replay(&m, &options, &dump, &results);
        cr_assert_eq(results.count, 1);
        const struct tp_replay_repair *repair = &results.rows[0].repair;
        if (i == 0) {
            cr_expect_eq(repair->cause, TP_REPAIR_SUM);
            cr_expect_str_eq(results.rows[0].cause, "sum");
            cr_expect_not_null(strstr(repair->why, "1000 terms"));
            cr_expect_not_null(strstr(repair->change, "in chunks of 64"), "%s",
                               repair->change);
        } else {
            cr_expect_eq(repair->cause, TP_REPAIR_UNKNOWN);
        }
        tp_replay_results_clear(&results);
        tp_dump_clear(&dump);
        tp_pool_free(options.pool);
        calls_end(&m);
    }
}
