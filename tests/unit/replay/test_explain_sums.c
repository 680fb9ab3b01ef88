/* SPDX-License-Identifier: MIT */
/*
 * Long sums, whose limits hide much: what is wrong in all elements together is
 * told, though each alone may be rounding; and float32, cut or rounded, is not.
 */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

#include "replay/replay_explain.h"

enum { LONG = 4096, ROWS = 12, COLUMNS = 12, CHUNK = 32 };

enum plant {
    RIGHT,   /* in float64, rounded once                                      */
    CUT,     /* float32, each step toward zero, as some accumulators are      */
    HALVES,  /* float32, in chunks whose sums are added in fp16              */
    BFLOATS, /* every step in bf16                                          */
    SCALED,  /* all times 1.02                                               */
    NEARLY,  /* all times 1.004, within what a step in bf16 does             */
    TILE     /* a row of garbage                                             */
};

static double cut(double value)
{
    const float single = (float)value;
    return fabs((double)single) > fabs(value) ? nextafterf(single, 0) : single;
}

static double sum_of(const double *x, const double *w, int length,
                     enum plant plant)
{
    double sum = 0, part = 0;
    for (int i = 0; i < length; i++) {
        part += x[i] * w[i];
        if (plant == CUT)
            part = cut(part);
        if (plant == BFLOATS)
            part = tp_dtype_round(TP_BFLOAT16, part);
        if (plant == HALVES && i % CHUNK == CHUNK - 1) {
            sum = tp_dtype_round(TP_FLOAT16, sum + part);
            part = 0;
        }
    }
    return (sum + part) * (plant == SCALED   ? 1.02
                           : plant == NEARLY ? 1.004
                                             : 1);
}

/* Random enough, of both signs, or about one. */
static double number(int i, bool positive)
{
    const double wave = sin(0.37 * i * (i % 1013) + i);
    return tp_dtype_round(TP_BFLOAT16, positive ? 1 + 0.5 * wave : wave);
}

/* x W^T of a dtype with a mistake, judged and taken apart. */
static enum tp_replay_level judge(enum tp_dtype dtype, int length,
                                  bool positive, enum plant plant,
                                  struct tp_explain *explain, bool *wrong)
{
    static double x[ROWS * LONG], w[COLUMNS * LONG];
    const int64_t left[] = {ROWS, length}, right[] = {COLUMNS, length},
                  out[] = {ROWS, COLUMNS};
    double made[ROWS * COLUMNS];
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    for (int i = 0; i < ROWS * length; i++)
        x[i] = number(i, positive);
    for (int i = 0; i < COLUMNS * length; i++)
        w[i] = number(i + 7, positive);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const double sum = sum_of(x + i / COLUMNS * length,
                                  w + i % COLUMNS * length, length, plant);
        made[i] = tp_dtype_round(
            dtype, plant == TILE && i < COLUMNS ? 3000 * sin(5 * i) : sum);
    }
    calls_call(&m, "Functional.linear.0.forward");
    calls_tensor(&m, dtype, 2, left, x);
    calls_tensor(&m, dtype, 2, right, w);
    calls_results(&m, "");
    calls_tensor(&m, dtype, 2, out, made);
    calls_done(&m);
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    cr_assert_eq(
        tp_replay_judge(&dump.places[0], dump.places[0].calls, &verdict, &err),
        TP_OK);
    memset(explain, 0, sizeof *explain);
    if (tp_replay_level_of(&verdict) != TP_REPLAY_EXPLAINED)
        cr_assert_eq(tp_replay_explain(&dump, 0, 0, &verdict, explain, &err),
                     TP_OK);
    *wrong = tp_replay_is_wrong(&verdict, explain);
    tp_dump_clear(&dump);
    calls_end(&m);
    return tp_replay_level_of(&verdict);
}

Test(explain_sums, tells_fp16_from_what_float32_may_lose)
{
    struct tp_explain explain;
    bool wrong;
    cr_expect_eq(judge(TP_FLOAT32, LONG, false, HALVES, &explain, &wrong),
                 TP_REPLAY_SUSPECT);
    cr_expect(wrong);
    cr_expect_eq(explain.id, TP_EXPLAIN_STEPS, "%s", explain.words);
    for (int positive = 0; positive <= 1; positive++) {
        cr_expect_eq(judge(TP_FLOAT32, LONG, positive, RIGHT, &explain, &wrong),
                     TP_REPLAY_EXPLAINED);
        cr_expect_eq(judge(TP_FLOAT32, LONG, positive, CUT, &explain, &wrong),
                     TP_REPLAY_EXPLAINED);
    }
}

Test(explain_sums, tells_a_factor_that_no_element_shows)
{
    static const int lengths[] = {16, 1024, LONG};
    struct tp_explain explain;
    bool wrong;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        cr_expect_neq(
            judge(TP_BFLOAT16, lengths[i], false, SCALED, &explain, &wrong),
            TP_REPLAY_EXPLAINED);
        cr_expect(wrong);
        cr_expect_eq(explain.id, TP_EXPLAIN_SCALE, "%d: %s", lengths[i],
                     explain.words);
        cr_expect_eq(
            judge(TP_BFLOAT16, lengths[i], false, RIGHT, &explain, &wrong),
            TP_REPLAY_EXPLAINED);
        cr_expect_eq(
            judge(TP_BFLOAT16, lengths[i], false, NEARLY, &explain, &wrong),
            TP_REPLAY_EXPLAINED);
    }
}

/* Sums of positive numbers that stand still in bf16 are no factor. */
Test(explain_sums, accuses_no_sums_in_bf16)
{
    static const int lengths[] = {16, 64, 256, LONG};
    struct tp_explain explain;
    bool wrong;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int positive = 0; positive <= 1; positive++) {
            judge(TP_BFLOAT16, lengths[i], positive, BFLOATS, &explain, &wrong);
            cr_expect_not(wrong, "%d, %d: %s", lengths[i], positive,
                          explain.words);
        }
}

Test(explain_sums, finds_a_tile_where_bf16_has_no_limit)
{
    struct tp_explain explain;
    bool wrong;
    judge(TP_BFLOAT16, LONG, false, TILE, &explain, &wrong);
    cr_expect(wrong);
    cr_expect_eq(explain.id, TP_EXPLAIN_REGION, "%s", explain.words);
}

/* Zeros to which x W is added, with a mistake. */
static enum tp_explain_id cause_of_added(enum plant plant,
                                         struct tp_explain *explain)
{
    enum { SIZE = 512 };
    static double x[ROWS * SIZE], w[SIZE * COLUMNS];
    const int64_t left[] = {ROWS, SIZE}, right[] = {SIZE, COLUMNS},
                  to[] = {COLUMNS}, out[] = {ROWS, COLUMNS};
    double made[ROWS * COLUMNS], zeros[COLUMNS] = {0}, column[SIZE];
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    for (int i = 0; i < ROWS * SIZE; i++)
        x[i] = number(i, false);
    for (int i = 0; i < SIZE * COLUMNS; i++)
        w[i] = number(i + 7, false);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        for (int k = 0; k < SIZE; k++)
            column[k] = w[k * COLUMNS + i % COLUMNS];
        made[i] = plant == TILE && i / COLUMNS == 3
                      ? NAN
                      : sum_of(x + i / COLUMNS * SIZE, column, SIZE, plant);
    }
    calls_call(&m, "Torch.addmm.0.forward");
    calls_tensor(&m, TP_FLOAT32, 1, to, zeros);
    calls_tensor(&m, TP_FLOAT32, 2, left, x);
    calls_tensor(&m, TP_FLOAT32, 2, right, w);
    calls_results(&m, "");
    calls_tensor(&m, TP_FLOAT32, 2, out, made);
    calls_done(&m);
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    cr_assert_eq(
        tp_replay_judge(&dump.places[0], dump.places[0].calls, &verdict, &err),
        TP_OK);
    memset(explain, 0, sizeof *explain);
    if (plant != RIGHT && plant != CUT)
        cr_assert_eq(tp_replay_explain(&dump, 0, 0, &verdict, explain, &err),
                     TP_OK);
    else
        cr_expect_eq(tp_replay_level_of(&verdict), TP_REPLAY_EXPLAINED);
    tp_dump_clear(&dump);
    calls_end(&m);
    return explain->id;
}

Test(explain_sums, knows_the_terms_of_what_is_added_to)
{
    struct tp_explain explain;
    cr_expect_eq(cause_of_added(HALVES, &explain), TP_EXPLAIN_STEPS, "%s",
                 explain.words);
    cr_expect_eq(cause_of_added(TILE, &explain), TP_EXPLAIN_REGION, "%s",
                 explain.words);
    cause_of_added(RIGHT, &explain);
    cause_of_added(CUT, &explain);
}

/* --- losses --------------------------------------------------------------- */

/* The judgement of a mean square of differences of this size, or of what the
 * dump has instead; it is taken apart. */
static const char *judge_loss(enum tp_dtype dtype, double scale, double dumped,
                              struct tp_explain *explain)
{
    enum { COUNT = 4096 };
    static double x[COUNT], y[COUNT];
    const int64_t shape[] = {COUNT};
    double mean = 0;
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    for (int i = 0; i < COUNT; i++) {
        x[i] = scale * number(i, false);
        y[i] = scale * number(i + 7, false);
        mean += (x[i] - y[i]) * (x[i] - y[i]) / COUNT;
    }
    mean = dumped == 0 ? mean : isinf(dumped) ? dumped : mean * dumped;
    calls_call(&m, "Functional.mse_loss.0.forward");
    calls_tensor(&m, dtype, 1, shape, x);
    calls_tensor(&m, dtype, 1, shape, y);
    calls_results(&m, "");
    calls_tensor(&m, dtype, 0, shape, &mean);
    calls_done(&m);
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    cr_assert_eq(
        tp_replay_judge(&dump.places[0], dump.places[0].calls, &verdict, &err),
        TP_OK);
    memset(explain, 0, sizeof *explain);
    if (tp_replay_level_of(&verdict) != TP_REPLAY_EXPLAINED)
        cr_assert_eq(tp_replay_explain(&dump, 0, 0, &verdict, explain, &err),
                     TP_OK);
    const char *judgement = tp_replay_judgement(&verdict, explain);
    tp_dump_clear(&dump);
    calls_end(&m);
    return judgement;
}

/* 4096 squares near 64 add up to more than fp16 has, those near 1 do not. */
Test(explain_sums, knows_what_overflows_in_fp16)
{
    struct tp_explain explain;
    cr_expect_str_eq(judge_loss(TP_FLOAT32, 8, INFINITY, &explain), "wrong");
    cr_expect_eq(explain.id, TP_EXPLAIN_STEPS, "%s", explain.words);
    cr_expect_str_eq(judge_loss(TP_FLOAT32, 1, INFINITY, &explain), "wrong");
    cr_expect_eq(explain.id, TP_EXPLAIN_NOTHING, "%s", explain.words);
    cr_expect_str_eq(judge_loss(TP_FLOAT16, 8, INFINITY, &explain), "narrow");
    cr_expect_str_eq(judge_loss(TP_FLOAT16, 8, 0, &explain), "explained");
    cr_expect_str_eq(judge_loss(TP_FLOAT16, 0.125, INFINITY, &explain),
                     "wrong");
}

/* The worst case of 4096 steps in float32 is 2e-4 off; none is. */
Test(explain_sums, excuses_no_loss_by_the_worst_case)
{
    struct tp_explain explain;
    cr_expect_str_eq(judge_loss(TP_FLOAT32, 1, 1 + 1e-4, &explain), "wrong");
    cr_expect_str_eq(judge_loss(TP_FLOAT32, 1, 1 + 1e-6, &explain),
                     "explained");
    cr_expect_str_eq(judge_loss(TP_FLOAT32, 1, 0, &explain), "explained");
}

/* --- gradients and convolutions ------------------------------------------- */

/* The gradients of x W by sums of chunks in fp16, of x or of W, or of none. */
static bool is_gradient_wrong(int halved, struct tp_explain *explain)
{
    enum { N = 256 };
    static double x[ROWS * N], w[N * N], g[ROWS * N], y[ROWS * N], dx[ROWS * N],
        dw[N * N], a[N], b[N];
    const int64_t wide[] = {ROWS, N}, square[] = {N, N};
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    for (int i = 0; i < ROWS * N; i++) {
        x[i] = number(i, false);
        g[i] = number(i + 3, false);
    }
    for (int i = 0; i < N * N; i++)
        w[i] = number(i + 7, false);
    for (int i = 0; i < ROWS * N; i++) {
        for (int k = 0; k < N; k++)
            a[k] = w[k * N + i % N];
        y[i] = sum_of(x + i / N * N, a, N, RIGHT);
        dx[i] = sum_of(g + i / N * N, w + i % N * N, N,
                       halved == 1 ? HALVES : RIGHT);
    }
    for (int i = 0; i < N * N; i++) {
        for (int k = 0; k < ROWS; k++) {
            a[k] = x[k * N + i / N];
            b[k] = g[k * N + i % N];
        }
        dw[i] = sum_of(a, b, ROWS, RIGHT);
        dw[i] = halved == 2 ? tp_dtype_round(TP_FLOAT16, dw[i]) : dw[i];
    }
    calls_call(&m, "Torch.matmul.0.forward");
    calls_tensor(&m, TP_FLOAT32, 2, wide, x);
    calls_tensor(&m, TP_FLOAT32, 2, square, w);
    calls_results(&m, "");
    calls_tensor(&m, TP_FLOAT32, 2, wide, y);
    calls_done(&m);
    calls_call(&m, "Torch.matmul.0.backward");
    calls_tensor(&m, TP_FLOAT32, 2, wide, g);
    calls_results(&m, "");
    calls_tensor(&m, TP_FLOAT32, 2, wide, dx);
    calls_tensor(&m, TP_FLOAT32, 2, square, dw);
    calls_done(&m);
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    cr_assert_eq(tp_replay_judge(&dump.places[0], &dump.places[0].calls[1],
                                 &verdict, &err),
                 TP_OK);
    memset(explain, 0, sizeof *explain);
    if (tp_replay_level_of(&verdict) != TP_REPLAY_EXPLAINED)
        cr_assert_eq(tp_replay_explain(&dump, 0, 1, &verdict, explain, &err),
                     TP_OK);
    const bool wrong = tp_replay_is_wrong(&verdict, explain);
    tp_dump_clear(&dump);
    calls_end(&m);
    return wrong;
}

Test(explain_sums, knows_the_terms_of_gradients)
{
    struct tp_explain explain;
    for (int halved = 1; halved <= 2; halved++) {
        cr_expect(is_gradient_wrong(halved, &explain));
        cr_expect_eq(explain.id, TP_EXPLAIN_STEPS, "%d: %s", halved,
                     explain.words);
    }
    cr_expect_not(is_gradient_wrong(0, &explain), "%s", explain.words);
}
