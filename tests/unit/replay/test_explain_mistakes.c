/* SPDX-License-Identifier: MIT */
/*
 * An eps that nobody has thought of is solved for; a backward call made a
 * mistake in what its forward call was given. Garbage is neither.
 */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

#include "replay/replay_explain.h"

enum { ROWS = 24, WIDTH = 16 };

static double number(int i)
{
    return tp_dtype_round(TP_BFLOAT16, sin(0.37 * i * (i % 1013) + i));
}

/* Judges the last call of the dump, and takes it apart. */
static void judge_last(struct calls_maker *m, struct tp_explain *explain)
{
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    calls_write(m);
    cr_assert_eq(maker_read(&m->maker, "", false, &dump), TP_OK);
    const struct tp_dump_place *place = &dump.places[0];
    const size_t last = place->call_count - 1;
    cr_assert_eq(tp_replay_judge(place, &place->calls[last], &verdict, &err),
                 TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_JUDGED, "%s", verdict.reason);
    cr_assert_eq(tp_replay_level_of(&verdict), TP_REPLAY_UNEXPLAINED);
    cr_assert_eq(tp_replay_explain(&dump, 0, last, &verdict, explain, &err),
                 TP_OK);
    cr_expect(tp_replay_is_wrong(&verdict, explain));
    tp_dump_clear(&dump);
    calls_end(m);
}

/* --- eps ------------------------------------------------------------------ */

/* A layer_norm of rows of any size with another eps than 1e-5, or times a
 * factor, or one row of it. */
static enum tp_explain_id norm_with(double eps, double factor, bool garbage,
                                    struct tp_explain *explain)
{
    const int64_t shape[] = {ROWS, WIDTH};
    double x[ROWS * WIDTH], y[ROWS * WIDTH];
    struct calls_maker m = calls_begin();
    for (int row = 0; row < ROWS; row++) {
        double mean = 0, variance = 0;
        for (int i = row * WIDTH; i < (row + 1) * WIDTH; i++) {
            x[i] = number(i) * pow(2, -row % 8);
            mean += x[i] / WIDTH;
        }
        for (int i = row * WIDTH; i < (row + 1) * WIDTH; i++)
            variance += (x[i] - mean) * (x[i] - mean) / WIDTH;
        for (int i = row * WIDTH; i < (row + 1) * WIDTH; i++)
            y[i] = garbage ? 3 * number(7 * i)
                           : factor * (x[i] - mean) / sqrt(variance + eps);
    }
    calls_call(&m, "Functional.layer_norm.0.forward");
    calls_tensor(&m, TP_FLOAT32, 2, shape, x);
    calls_value(&m, "[{\"type\": \"int\", \"value\": 16}]");
    calls_results(&m, "\"eps\": {\"type\": \"float\", \"value\": 1e-5}");
    calls_tensor(&m, TP_FLOAT32, 2, shape, y);
    calls_done(&m);
    judge_last(&m, explain);
    return explain->id;
}

Test(explain_mistakes, solves_for_an_eps)
{
    struct tp_explain explain;
    cr_expect_eq(norm_with(1e-3, 1, false, &explain), TP_EXPLAIN_EPS);
    cr_expect_eq(norm_with(2.5e-4, 1, false, &explain), TP_EXPLAIN_EPS);
    cr_expect_str_eq(explain.words, "its eps was 0.00025");
    cr_expect_eq(norm_with(1e-5, 0.75, false, &explain), TP_EXPLAIN_SCALE);
    cr_expect_eq(norm_with(1e-5, 1, true, &explain), TP_EXPLAIN_NOTHING, "%s",
                 explain.words);
}

/* npu_rms_norm of an eps, in bf16 and its factor of each row in float32; or
 * this factor alone of that eps. */
static enum tp_explain_id npu_norm_with(double eps, bool alone,
                                        struct tp_explain *explain)
{
    const int64_t shape[] = {ROWS, WIDTH}, width[] = {WIDTH},
                  rows[] = {ROWS, 1};
    double x[ROWS * WIDTH], y[ROWS * WIDTH], weight[WIDTH], factor[ROWS];
    struct calls_maker m = calls_begin();
    for (int i = 0; i < WIDTH; i++)
        weight[i] = tp_dtype_round(TP_BFLOAT16, 1 + 0.1 * number(i));
    for (int row = 0; row < ROWS; row++) {
        double square = 0;
        for (int i = row * WIDTH; i < (row + 1) * WIDTH; i++) {
            x[i] = number(i) / 32;
            square += x[i] * x[i] / WIDTH;
        }
        factor[row] = (float)(1 / sqrt(square + eps));
        const double used = alone ? 1 / sqrt(square + 1e-6) : factor[row];
        for (int i = 0; i < WIDTH; i++)
            y[row * WIDTH + i] = tp_dtype_round(
                TP_BFLOAT16, x[row * WIDTH + i] * used * weight[i]);
    }
    calls_call(&m, "NPU.npu_rms_norm.0.forward");
    calls_tensor(&m, TP_BFLOAT16, 2, shape, x);
    calls_tensor(&m, TP_BFLOAT16, 1, width, weight);
    calls_value(&m, "{\"type\": \"float\", \"value\": 1e-6}");
    calls_results(&m, "");
    calls_tensor(&m, TP_BFLOAT16, 2, shape, y);
    calls_tensor(&m, TP_FLOAT32, 2, rows, factor);
    calls_done(&m);
    judge_last(&m, explain);
    return explain->id;
}

Test(explain_mistakes, solves_for_an_eps_by_the_result_that_knows_it_best)
{
    struct tp_explain explain;
    cr_expect_eq(npu_norm_with(2.3e-4, false, &explain), TP_EXPLAIN_EPS, "%s",
                 explain.words);
    cr_expect_str_eq(explain.words, "its epsilon was 0.00023");
    cr_expect_neq(npu_norm_with(2.3e-4, true, &explain), TP_EXPLAIN_EPS);
}

/* --- backward calls ------------------------------------------------------- */

enum plant { STALE, ACROSS, GARBAGE };

/* x W of a step and its gradients. With ACROSS W is read along the other axis,
 * with STALE it is that of the call before. */
static enum tp_explain_id gradient_with(enum plant plant,
                                        struct tp_explain *explain)
{
    static const char *const keys[] = {
        "Torch.matmul.0.forward", "Torch.matmul.0.backward",
        "Torch.matmul.1.forward", "Torch.matmul.1.backward"};
    const int64_t shape[] = {WIDTH, WIDTH};
    double x[2][WIDTH * WIDTH], w[2][WIDTH * WIDTH], g[2][WIDTH * WIDTH];
    struct calls_maker m = calls_begin();
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < WIDTH * WIDTH; i++) {
            x[n][i] = number(i + 1000 * n);
            w[n][i] = number(i + 1000 * n + 5000);
            g[n][i] = number(i + 1000 * n + 9000);
        }
    for (int k = 0; k < 4; k++) {
        double y[WIDTH * WIDTH] = {0}, dx[WIDTH * WIDTH] = {0},
                         dw[WIDTH * WIDTH] = {0};
        const int n = k / 2, bad = k == 3;
        for (int i = 0; i < WIDTH; i++)
            for (int j = 0; j < WIDTH; j++)
                for (int l = 0; l < WIDTH; l++) {
                    const double right = w[n][j * WIDTH + l];
                    y[i * WIDTH + j] +=
                        x[n][i * WIDTH + l] * w[n][l * WIDTH + j];
                    dw[i * WIDTH + j] +=
                        x[n][l * WIDTH + i] * g[n][l * WIDTH + j];
                    dx[i * WIDTH + j] +=
                        g[n][i * WIDTH + l] *
                        (!bad              ? right
                         : plant == STALE  ? w[0][j * WIDTH + l]
                         : plant == ACROSS ? w[n][l * WIDTH + j]
                                           : number(3 * i + j * l));
                }
        calls_call(&m, keys[k]);
        calls_tensor(&m, TP_FLOAT32, 2, shape, k % 2 ? g[n] : x[n]);
        if (k % 2 == 0)
            calls_tensor(&m, TP_FLOAT32, 2, shape, w[n]);
        calls_results(&m, "");
        calls_tensor(&m, TP_FLOAT32, 2, shape, k % 2 ? dx : y);
        if (k % 2)
            calls_tensor(&m, TP_FLOAT32, 2, shape, dw);
        calls_done(&m);
    }
    judge_last(&m, explain);
    return explain->id;
}

Test(explain_mistakes, knows_what_a_forward_call_was_given)
{
    struct tp_explain explain;
    cr_expect_eq(gradient_with(STALE, &explain), TP_EXPLAIN_STALE);
    cr_expect_str_eq(explain.words, "its argument 1 was that of "
                                    "Torch.matmul.0.forward");
    cr_expect_eq(gradient_with(ACROSS, &explain), TP_EXPLAIN_TRANSPOSED);
    cr_expect_str_eq(explain.words,
                     "its argument other was read along the other axis");
    cr_expect_eq(gradient_with(GARBAGE, &explain), TP_EXPLAIN_NOTHING, "%s",
                 explain.words);
}

/* --- settings of a loss --------------------------------------------------- */

/* A cross_entropy in fp16 that was computed with label_smoothing of 0.2, and
 * then is off by so many roundings. */
static enum tp_explain_id smoothed(double roundings, struct tp_explain *explain)
{
    enum { EXAMPLES = 512, CLASSES = 8 };
    static double logits[EXAMPLES * CLASSES], labels[EXAMPLES * CLASSES];
    const int64_t shape[] = {EXAMPLES, CLASSES};
    struct calls_maker m = calls_begin();
    double loss = 0;
    for (int i = 0; i < EXAMPLES; i++) {
        double sum = 0;
        for (int k = 0; k < CLASSES; k++) {
            logits[i * CLASSES + k] = k == i % CLASSES ? 8 : number(i + k);
            labels[i * CLASSES + k] = k == i % CLASSES;
            sum += exp(logits[i * CLASSES + k]);
        }
        for (int k = 0; k < CLASSES; k++)
            loss += (log(sum) - logits[i * CLASSES + k]) *
                    ((k == i % CLASSES ? 0.8 : 0) + 0.2 / CLASSES) / EXAMPLES;
    }
    loss *= 1 + roundings * ldexp(1, -11);
    calls_call(&m, "Functional.cross_entropy.0.forward");
    calls_tensor(&m, TP_FLOAT16, 2, shape, logits);
    calls_tensor(&m, TP_FLOAT16, 2, shape, labels);
    calls_results(&m, "");
    calls_tensor(&m, TP_FLOAT16, 0, NULL, &loss);
    calls_done(&m);
    judge_last(&m, explain);
    return explain->id;
}

Test(explain_mistakes, guesses_no_smoothing_from_one_number)
{
    struct tp_explain explain;
    cr_expect_eq(smoothed(0, &explain), TP_EXPLAIN_FORMULA, "%s",
                 explain.words);
    cr_expect_neq(smoothed(12, &explain), TP_EXPLAIN_FORMULA, "%s",
                  explain.words);
}
