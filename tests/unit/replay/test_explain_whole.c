/* SPDX-License-Identifier: MIT */
/*
 * A part of a result is garbage where steps in its dtype may lose as much: the
 * rest tells whether they have; one of a few may be right by chance.
 */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

#include "replay/replay_explain.h"

enum { ROWS = 48, WIDTH = 512, TILE = 8 };

enum plant { RIGHT, HOLE, NARROW, COPY, STREWN };

static double number(int i)
{
    return tp_dtype_round(TP_BFLOAT16, sin(0.37 * i * (i % 1013) + i));
}

/* Norms of rows in bf16: right, with garbage in a few, with every step in bf16,
 * or with a few of other rows, together or not. */
static bool is_wrong(enum plant plant, struct tp_explain *explain)
{
    static double x[ROWS * WIDTH];
    const int64_t shape[] = {ROWS, WIDTH};
    double made[ROWS];
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    for (int row = 0; row < ROWS; row++) {
        double sum = 0;
        for (int i = row * WIDTH; i < (row + 1) * WIDTH; i++) {
            x[i] = tp_dtype_round(TP_BFLOAT16,
                                  number(i) * (1 + 0.05 * sin(3.0 * row)));
            sum += x[i] * x[i];
            if (plant == NARROW)
                sum = tp_dtype_round(TP_BFLOAT16, sum);
        }
        made[row] = sqrt(sum);
        if (plant == COPY && row >= 20 && row < 20 + TILE)
            made[row] = made[row - 15];
        if (plant == STREWN && row % 6 == 5)
            made[row] = made[row - 5];
        if (plant == HOLE && row >= 20 && row < 20 + TILE)
            made[row] = row == 23 ? made[row] : 9 * number(row);
    }
    calls_call(&m, "Torch.norm.0.forward");
    calls_tensor(&m, TP_BFLOAT16, 2, shape, x);
    calls_value(&m, "{\"type\": \"int\", \"value\": 2}");
    calls_value(&m, "{\"type\": \"int\", \"value\": -1}");
    calls_results(&m, "");
    calls_tensor(&m, TP_BFLOAT16, 1, shape, made);
    calls_done(&m);
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    cr_assert_eq(
        tp_replay_judge(&dump.places[0], dump.places[0].calls, &verdict, &err),
        TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_JUDGED, "%s", verdict.reason);
    memset(explain, 0, sizeof *explain);
    cr_expect_eq(tp_replay_level_of(&verdict) == TP_REPLAY_EXPLAINED,
                 plant == RIGHT);
    if (plant != RIGHT)
        cr_assert_eq(tp_replay_explain(&dump, 0, 0, &verdict, explain, &err),
                     TP_OK);
    tp_dump_clear(&dump);
    calls_end(&m);
    return tp_replay_is_wrong(&verdict, explain);
}

Test(explain_whole, tells_garbage_by_what_is_right_beside_it)
{
    struct tp_explain explain;
    cr_expect_not(is_wrong(RIGHT, &explain));
    cr_expect(is_wrong(HOLE, &explain));
    cr_expect_eq(explain.id, TP_EXPLAIN_REGION, "%s", explain.words);
    cr_expect_eq(strncmp(explain.words, "7 of its 48 elements are wrong", 30),
                 0, "%s", explain.words);
    cr_expect_not(is_wrong(NARROW, &explain), "%s", explain.words);
    cr_expect(is_wrong(COPY, &explain));
    cr_expect_eq(explain.id, TP_EXPLAIN_REGION, "%s", explain.words);
    cr_expect_not(is_wrong(STREWN, &explain), "%s", explain.words);
}
