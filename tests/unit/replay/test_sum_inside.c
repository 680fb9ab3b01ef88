/* SPDX-License-Identifier: MIT */
/* Sums inside of norms, softmax, spreads, losses and attention: those in fp16
 * are told, those in float32 and an error of the same size are not; and bf16 in
 * tensors of bf16 is no mistake, however long. */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

#include "replay/replay_explain.h"

enum { ROWS = 24, LENGTH = 768, KEYS = 96, WIDTH = 16 };

enum plant { RIGHT, SEQUENCE, CHUNKS, OFF };

/* How the sums of a plant are added: RIGHT is in float64. */
struct adding {
    enum plant plant;
    enum tp_dtype dtype;
};

static double sum_of(const double *terms, int count, struct adding adding)
{
    const int chunk = adding.plant == CHUNKS ? 16 : 1;
    double sum = 0, part = 0;
    for (int i = 0; i < count; i++) {
        part += terms[i];
        if (adding.plant != SEQUENCE && adding.plant != CHUNKS)
            continue;
        if (i % chunk == chunk - 1 || i == count - 1) {
            sum = tp_dtype_round(adding.dtype, sum + part);
            part = 0;
        }
    }
    return sum + part;
}

/* OFF: wrong by some 1e-3, without a pattern. */
static double off_by(struct adding adding, int i)
{
    return adding.plant == OFF ? 1 + 2e-3 * sin(1.7 * i * i) : 1;
}

static void norm(const double *x, double *made, struct adding adding)
{
    double squares[LENGTH];
    for (int r = 0; r < ROWS; r++, x += LENGTH, made += LENGTH) {
        const double mean = sum_of(x, LENGTH, adding) / LENGTH;
        for (int i = 0; i < LENGTH; i++)
            squares[i] = (x[i] - mean) * (x[i] - mean);
        const double variance = sum_of(squares, LENGTH, adding) / LENGTH;
        for (int i = 0; i < LENGTH; i++)
            made[i] = (x[i] - mean) / sqrt(variance + 1e-5) * off_by(adding, i);
    }
}

static void softmax(const double *x, double *made, struct adding adding)
{
    for (int r = 0; r < ROWS; r++, x += LENGTH, made += LENGTH) {
        double largest = x[0];
        for (int i = 0; i < LENGTH; i++)
            largest = fmax(largest, x[i]);
        for (int i = 0; i < LENGTH; i++)
            made[i] = exp(x[i] - largest);
        const double sum = sum_of(made, LENGTH, adding);
        for (int i = 0; i < LENGTH; i++)
            made[i] = made[i] / sum * off_by(adding, i);
    }
}

static void variance(const double *x, double *made, struct adding adding)
{
    double squares[LENGTH];
    for (int r = 0; r < ROWS; r++, x += LENGTH) {
        const double mean =
            sum_of(x, LENGTH, (struct adding){RIGHT, TP_FLOAT32}) / LENGTH;
        for (int i = 0; i < LENGTH; i++)
            squares[i] = (x[i] - mean) * (x[i] - mean);
        made[r] =
            sum_of(squares, LENGTH, adding) / (LENGTH - 1) * off_by(adding, r);
    }
}

/* Without the largest taken off. */
static void logsumexp(const double *x, double *made, struct adding adding)
{
    double terms[LENGTH];
    for (int r = 0; r < ROWS; r++, x += LENGTH) {
        for (int i = 0; i < LENGTH; i++)
            terms[i] = exp(x[i]);
        made[r] = log(sum_of(terms, LENGTH, adding)) * off_by(adding, r);
    }
}

/* Of what is given as query, key and value. */
static void attention(const double *x, double *made, struct adding adding)
{
    static double terms[KEYS], scores[KEYS];
    for (int q = 0; q < KEYS; q++) {
        double all = 0;
        for (int k = 0; k < KEYS; k++) {
            for (int i = 0; i < WIDTH; i++)
                terms[i] = x[q * WIDTH + i] * x[k * WIDTH + i];
            scores[k] = exp(sum_of(terms, WIDTH, adding) / sqrt(WIDTH));
            all += scores[k];
        }
        for (int i = 0; i < WIDTH; i++) {
            for (int k = 0; k < KEYS; k++)
                terms[k] = scores[k] / all * x[k * WIDTH + i];
            made[q * WIDTH + i] =
                sum_of(terms, KEYS, adding) * off_by(adding, q * WIDTH + i);
        }
    }
}

static void loss(const double *x, double *made, struct adding adding)
{
    static double terms[ROWS * LENGTH];
    for (int i = 0; i < ROWS * LENGTH; i++)
        terms[i] = fabs(x[i] - x[ROWS * LENGTH - 1 - i]);
    *made = sum_of(terms, ROWS * LENGTH, adding) / (ROWS * LENGTH) *
            off_by(adding, 1);
}

static const struct kernel {
    const char *key, *keywords;
    void (*run)(const double *x, double *made, struct adding adding);
    int dims, made_dims, times; /* tensors that are given                   */
    int64_t shape[2], made[2];
} kernels[] = {
    {"Functional.layer_norm.0.forward",
     "\"normalized_shape\": {\"type\": \"int\", \"value\": 768}",
     norm,
     2,
     2,
     1,
     {ROWS, LENGTH},
     {ROWS, LENGTH}},
    {"Functional.softmax.0.forward",
     "\"dim\": {\"type\": \"int\", \"value\": -1}",
     softmax,
     2,
     2,
     1,
     {ROWS, LENGTH},
     {ROWS, LENGTH}},
    {"Torch.var.0.forward",
     "\"dim\": {\"type\": \"int\", \"value\": -1}",
     variance,
     2,
     1,
     1,
     {ROWS, LENGTH},
     {ROWS}},
    {"Torch.logsumexp.0.forward",
     "\"dim\": {\"type\": \"int\", \"value\": -1}",
     logsumexp,
     2,
     1,
     1,
     {ROWS, LENGTH},
     {ROWS}},
    {"Functional.scaled_dot_product_attention.0.forward",
     "",
     attention,
     2,
     2,
     3,
     {KEYS, WIDTH},
     {KEYS, WIDTH}},
    {"Functional.l1_loss.0.forward", "", loss, 2, 0, 2, {ROWS, LENGTH}, {0}}};

enum { KERNELS = sizeof kernels / sizeof *kernels };

/* A result of a dtype, judged and taken apart; whether it is wrong. */
static bool is_wrong(const struct kernel *kernel, enum tp_dtype dtype,
                     struct adding adding, struct tp_explain *explain)
{
    static double x[ROWS * LENGTH], turned[ROWS * LENGTH], made[ROWS * LENGTH];
    const int count = (int)(kernel->shape[0] * kernel->shape[1]);
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    for (int i = 0; i < count; i++)
        x[i] = tp_dtype_round(dtype, 2 * sin(0.37 * i * (i % 1013) + i) +
                                         3 * (i % 64 == 5));
    for (int i = 0; i < count; i++)
        turned[i] = x[count - 1 - i];
    kernel->run(x, made, adding);
    calls_call(&m, kernel->key);
    for (int i = 0; i < kernel->times; i++)
        calls_tensor(&m, dtype, kernel->dims, kernel->shape,
                     kernel->made_dims == 0 && i ? turned : x);
    calls_results(&m, kernel->keywords);
    calls_tensor(&m, dtype, kernel->made_dims, kernel->made, made);
    calls_done(&m);
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    cr_assert_eq(
        tp_replay_judge(&dump.places[0], dump.places[0].calls, &verdict, &err),
        TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_JUDGED, "%s: %s", kernel->key,
                 verdict.reason);
    memset(explain, 0, sizeof *explain);
    if (tp_replay_level_of(&verdict) != TP_REPLAY_EXPLAINED)
        cr_assert_eq(tp_replay_explain(&dump, 0, 0, &verdict, explain, &err),
                     TP_OK);
    const bool wrong = tp_replay_is_wrong(&verdict, explain);
    tp_dump_clear(&dump);
    calls_end(&m);
    return wrong;
}

Test(sum_inside, tells_sums_in_fp16)
{
    struct tp_explain explain;
    for (int i = 0; i < KERNELS; i++)
        for (enum plant plant = SEQUENCE; plant <= CHUNKS; plant++) {
            const struct adding halves = {plant, TP_FLOAT16};
            cr_expect(is_wrong(&kernels[i], TP_FLOAT32, halves, &explain), "%s",
                      kernels[i].key);
            cr_expect_eq(explain.id, TP_EXPLAIN_STEPS, "%s, %d: %s",
                         kernels[i].key, plant, explain.words);
        }
}

Test(sum_inside, accuses_no_sums_in_float32)
{
    struct tp_explain explain;
    for (int i = 0; i < KERNELS; i++)
        for (enum plant plant = RIGHT; plant <= CHUNKS; plant++) {
            const struct adding singles = {plant, TP_FLOAT32};
            cr_expect_not(is_wrong(&kernels[i], TP_FLOAT32, singles, &explain),
                          "%s: %s", kernels[i].key, explain.words);
        }
}

Test(sum_inside, takes_no_other_error_for_fp16)
{
    struct tp_explain explain;
    for (int i = 0; i < KERNELS; i++) {
        const struct adding off = {OFF, TP_FLOAT32};
        is_wrong(&kernels[i], TP_FLOAT32, off, &explain);
        cr_expect_neq(explain.id, TP_EXPLAIN_STEPS, "%s: %s", kernels[i].key,
                      explain.words);
    }
}

Test(sum_inside, accuses_no_sums_in_the_tensors_dtype)
{
    static const enum tp_dtype dtypes[] = {TP_BFLOAT16, TP_FLOAT16};
    struct tp_explain explain;
    for (int i = 0; i < KERNELS; i++)
        for (int d = 0; d < 2; d++)
            for (enum plant plant = RIGHT; plant <= CHUNKS; plant++) {
                const struct adding own = {plant, dtypes[d]};
                cr_expect_not(is_wrong(&kernels[i], dtypes[d], own, &explain),
                              "%s, %d, %d: %s", kernels[i].key, d, plant,
                              explain.words);
            }
}
