/* SPDX-License-Identifier: MIT */
/*
 * Losses as sums: those that were added in fp16 are told, also where they left
 * its range; those in float32 are not, however long.
 */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

#include "replay/loss_terms.h"
#include "replay/replay_explain.h"

enum { ROWS = 64, CLASSES = 12, PAIRS = 8192 };

enum plant { RIGHT, SINGLE, HALVES, OFF };

static double sum_of(const double *terms, int count, enum plant plant)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum = plant == SINGLE   ? (double)(float)(sum + terms[i])
              : plant == HALVES ? tp_dtype_round(TP_FLOAT16, sum + terms[i])
                                : sum + terms[i];
    return sum * (plant == OFF ? 1.0007 : 1);
}

static bool judge(struct calls_maker *m, struct tp_explain *explain)
{
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    cr_assert_eq(maker_read(&m->maker, "", false, &dump), TP_OK);
    cr_assert_eq(
        tp_replay_judge(dump.places, dump.places[0].calls, &verdict, &err),
        TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_JUDGED, "%s", verdict.reason);
    memset(explain, 0, sizeof *explain);
    if (tp_replay_level_of(&verdict) != TP_REPLAY_EXPLAINED)
        cr_assert_eq(tp_replay_explain(&dump, 0, 0, &verdict, explain, &err),
                     TP_OK);
    const bool wrong = tp_replay_is_wrong(&verdict, explain);
    tp_dump_clear(&dump);
    calls_end(m);
    return wrong;
}

/* A loss of pairs whose difference is `size` and more. */
static bool pairs(const char *key, double size, enum plant plant,
                  struct tp_explain *explain)
{
    static double x[PAIRS], y[PAIRS], terms[PAIRS];
    const int64_t shape[] = {PAIRS};
    const bool square = strstr(key, "mse") != NULL;
    struct calls_maker m = calls_begin();
    for (int i = 0; i < PAIRS; i++) {
        x[i] = tp_dtype_round(TP_BFLOAT16, size * (2 + sin(0.7 * i * i)));
        y[i] = tp_dtype_round(TP_BFLOAT16, size * sin(0.3 * i));
        terms[i] = square ? (x[i] - y[i]) * (x[i] - y[i]) : fabs(x[i] - y[i]);
    }
    const double loss = sum_of(terms, PAIRS, plant) / PAIRS;
    calls_call(&m, key);
    calls_tensor(&m, TP_FLOAT32, 1, shape, x);
    calls_tensor(&m, TP_FLOAT32, 1, shape, y);
    calls_results(&m, "");
    calls_tensor(&m, TP_FLOAT32, 0, shape, &loss);
    calls_done(&m);
    calls_write(&m);
    return judge(&m, explain);
}

Test(loss_terms, tell_fp16_in_long_losses)
{
    static const char *const keys[] = {"Functional.l1_loss.0.forward",
                                       "Functional.mse_loss.0.forward"};
    struct tp_explain explain;
    for (int i = 0; i < 2; i++) {
        const double size = i ? 0.05 : 0.1;
        cr_expect_not(pairs(keys[i], size, RIGHT, &explain), "%s", keys[i]);
        cr_expect_not(pairs(keys[i], size, SINGLE, &explain), "%s", keys[i]);
        cr_expect_not(pairs(keys[i], size, OFF, &explain), "%s: %s", keys[i],
                      explain.words);
        cr_expect(pairs(keys[i], size, HALVES, &explain), "%s", keys[i]);
        cr_expect_eq(explain.id, TP_EXPLAIN_STEPS, "%s", explain.words);
    }
}

/* The sum is beyond 65504, the mean is not. */
Test(loss_terms, tell_fp16_that_was_left)
{
    struct tp_explain explain;
    cr_expect(pairs("Functional.mse_loss.0.forward", 8, HALVES, &explain));
    cr_expect_eq(explain.id, TP_EXPLAIN_STEPS, "%s", explain.words);
    cr_expect_not(pairs("Functional.mse_loss.0.forward", 8, SINGLE, &explain));
}
