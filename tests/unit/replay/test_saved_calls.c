/* SPDX-License-Identifier: MIT */
/*
 * Files as tensor_saver names them, with values made here: a linear of 2 x 3
 * by 4 x 3, its gradient, and an attention of 4 tokens, a batch of 2, 2 heads
 * of 3. What is computed here in double is what PyTorch's float64 gives.
 */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

#include "replay/saved_calls.h"

enum { ROWS = 2, IN = 3, OUT = 4, S = 4, B = 2, H = 2, D = 3 };

/* A number that depends on where it is. */
static double value(int seed, int i)
{
    return (double)((i * 37 + seed * 101) % 61 - 30) / 16;
}

static void fill(double *x, int count, int seed)
{
    for (int i = 0; i < count; i++)
        x[i] = value(seed, i);
}

/* Saves a tensor under the next counter. */
static void save(struct calls_maker *m, const char *words, const char *name,
                 int dims, const int64_t *shape, const double *x)
{
    char path[256];
    snprintf(path, sizeof path,
             "logs/20260101_000000_%04d_iter003_%s_rank01_group000_%s.pt",
             ++m->items, words, name);
    calls_file(m, path, TP_FLOAT32, dims, shape, x);
}

static void save_linear(struct calls_maker *m, const char *format, double off)
{
    static const int64_t in[] = {ROWS, IN}, weight[] = {OUT, IN},
                         out[] = {ROWS, OUT};
    double x[ROWS * IN], w[OUT * IN], y[ROWS * OUT] = {0};
    char pre[64], post[64];
    snprintf(pre, sizeof pre, "linear_L5_forward_pre_linear_%s", format);
    snprintf(post, sizeof post, "linear_L5_forward_post_linear_%s", format);
    fill(x, ROWS * IN, 1);
    fill(w, OUT * IN, 2);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < OUT; c++)
            for (int k = 0; k < IN; k++)
                y[r * OUT + c] += x[r * IN + k] * w[c * IN + k];
    y[0] += off;
    save(m, pre, "input", 2, in, x);
    save(m, pre, "weight", 2, weight, w);
    save(m, post, "output", 2, out, y);
}

/* Its result is saved without the layer. */
static void save_gradient(struct calls_maker *m)
{
    static const int64_t in[] = {ROWS, IN}, weight[] = {OUT, IN},
                         out[] = {ROWS, OUT};
    double g[ROWS * OUT], w[OUT * IN], y[ROWS * IN] = {0};
    fill(g, ROWS * OUT, 3);
    fill(w, OUT * IN, 2);
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < IN; k++)
            for (int c = 0; c < OUT; c++)
                y[r * IN + k] += g[r * OUT + c] * w[c * IN + k];
    save(m, "linear_L5_backward_pre_linear_bf16", "input", 2, out, g);
    save(m, "linear_L5_backward_pre_linear_bf16", "weight", 2, weight, w);
    save(m, "linear_backward_post_linear_bf16", "output", 2, in, y);
}

/* [s, b, head, d]. */
static int place(int s, int b, int h, int d)
{
    return ((s * B + b) * H + h) * D + d;
}

static void attend(const double *q, const double *k, const double *v,
                   bool causal, double *weights, double *out)
{
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int s = 0; s < S; s++) {
                double *p = weights + ((b * H + h) * S + s) * S, sum = 0;
                for (int t = 0; t < S; t++) {
                    double score = 0;
                    for (int d = 0; d < D; d++)
                        score += q[place(s, b, h, d)] * k[place(t, b, h, d)];
                    p[t] = causal && t > s ? 0 : exp(score / sqrt(D));
                    sum += p[t];
                }
                for (int t = 0; t < S; t++)
                    p[t] /= sum;
                for (int d = 0; d < D; d++) {
                    double *o = &out[place(s, b, h, d)];
                    *o = 0;
                    for (int t = 0; t < S; t++)
                        *o += p[t] * v[place(t, b, h, d)];
                }
            }
}

static void save_attention(struct calls_maker *m, bool causal, bool weighed,
                           double scale)
{
    static const int64_t in[] = {S, B, H, D}, w[] = {B, H, S, S},
                         out[] = {S, B, H * D};
    double q[S * B * H * D], k[S * B * H * D], v[S * B * H * D],
        y[S * B * H * D], weights[B * H * S * S];
    fill(q, S * B * H * D, 4);
    fill(k, S * B * H * D, 5);
    fill(v, S * B * H * D, 6);
    attend(q, k, v, causal, weights, y);
    for (int i = 0; i < S * B * H * D; i++)
        y[i] *= scale;
    save(m, "attention_L6_forward_pre_FA_bf16", "query", 4, in, q);
    save(m, "attention_L6_forward_pre_FA_bf16", "key", 4, in, k);
    save(m, "attention_L6_forward_pre_FA_bf16", "value", 4, in, v);
    if (weighed)
        save(m, "attention_L6_forward_post_FA_bf16", "attention_weights", 4, w,
             weights);
    save(m, "attention_L6_forward_post_FA_bf16", "output", 3, out, y);
}

static enum tp_status read_saved(const struct calls_maker *m, const char *ranks,
                                 struct tp_dump *dump, struct tp_error *err)
{
    char path[512];
    const char *root = path;
    maker_path(&m->maker, "logs", path, sizeof path);
    struct tp_dump_read_options options = {
        .wish = {.roots = &root, .root_count = 1}};
    struct tp_dump_wish *wish = &options.wish;
    memset(dump, 0, sizeof *dump);
    if (ranks)
        cr_assert_eq(tp_number_set_parse(&wish->ranks, ranks, err), TP_OK);
    cr_assert_eq(tp_dump_find(wish, dump, err), TP_E_NOT_FOUND);
    enum tp_status status = tp_saved_calls_read(&options, dump, err);
    tp_number_set_clear(&wish->ranks);
    return status;
}

/* Replays what was saved; `calls` ended by NULL are what is to be there. */
static void replay(struct calls_maker *m, const char *const *calls,
                   struct tp_replay_results *results, struct tp_dump *dump)
{
    struct tp_error err = {0};
    struct tp_replay_options options = {
        .wish = {.modes = {[TP_PERTURB_BIT] = true}}};
    size_t count = 0;
    memset(results, 0, sizeof *results);
    cr_assert_eq(read_saved(m, NULL, dump, &err), TP_OK, "%s", err.message);
    cr_assert_eq(tp_pool_new(1, &options.pool, &err), TP_OK);
    cr_assert_eq(tp_replay_dump(dump, &options, results, &err), TP_OK);
    tp_pool_free(options.pool);
    for (; calls[count]; count++) {
        cr_assert_lt(count, results->count);
        cr_expect_str_eq(results->rows[count].api_name, calls[count]);
        cr_expect_eq(results->rows[count].step, 3);
        cr_expect_eq(results->rows[count].rank, 1);
    }
    cr_expect_eq(results->count, count);
}

static void end(struct calls_maker *m, struct tp_replay_results *results,
                struct tp_dump *dump)
{
    tp_replay_results_clear(results);
    tp_dump_clear(dump);
    calls_end(m);
}

Test(saved_calls, are_put_together_and_right)
{
    static const char *const calls[] = {
        "L5.linear.0.forward",       "L6.core_attention.0.forward",
        "L5.linear.1.forward",       "L6.core_attention.1.forward",
        "L5.linear_dgrad.0.forward", NULL};
    struct calls_maker m = calls_begin();
    struct tp_replay_results results;
    struct tp_dump dump;
    save_linear(&m, "bf16", 0);
    save_attention(&m, true, true, 1);
    save_linear(&m, "bf16", 0);
    save_attention(&m, false, false, 1);
    save_gradient(&m);
    replay(&m, calls, &results, &dump);
    for (size_t i = 0; i < results.count; i++) {
        cr_expect_str_eq(results.rows[i].status, "replayed", "%s: %s",
                         results.rows[i].api_name, results.rows[i].reason);
        cr_expect_leq(results.rows[i].excess, 1, "%s: %g",
                      results.rows[i].api_name, results.rows[i].excess);
        cr_expect_gt(results.rows[i].amplification, 0);
    }
    cr_expect_eq(dump.notes.count, 0);
    end(&m, &results, &dump);
}

/* An element that is wrong is found, unless operands may have been quantised;
 * so is an attention beside whose result half is right. */
Test(saved_calls, are_judged_as_others)
{
    static const char *const calls[] = {"L5.linear.0.forward",
                                        "L5.linear.1.forward",
                                        "L6.core_attention.0.forward", NULL};
    struct calls_maker m = calls_begin();
    struct tp_replay_results results;
    struct tp_dump dump;
    save_linear(&m, "bf16", 0.25);
    save_linear(&m, "mxfp8", 0.25);
    save_attention(&m, true, false, 3);
    replay(&m, calls, &results, &dump);
    cr_expect_str_eq(results.rows[0].status, "replayed");
    cr_expect_gt(results.rows[0].excess, 1);
    cr_expect(
        tp_replay_is_wrong(&results.rows[0].verdict, &results.rows[0].explain));
    cr_expect_str_eq(results.rows[1].status, "unsupported");
    cr_expect_not_null(strstr(results.rows[1].reason, "quantised to mxfp8"));
    cr_expect_str_eq(results.rows[2].status, "unsupported");
    cr_expect_not_null(strstr(results.rows[2].reason, "neither causal nor"));
    end(&m, &results, &dump);
}

/* Operands without a result, and a result without operands. */
Test(saved_calls, are_complete)
{
    static const int64_t shape[] = {2, 2};
    static const double x[4] = {1, 2, 3, 4};
    struct calls_maker m = calls_begin();
    struct tp_error err = {0};
    struct tp_dump dump;
    save(&m, "linear_L5_forward_pre_linear_bf16", "input", 2, shape, x);
    save(&m, "linear_L5_forward_pre_linear_bf16", "input", 2, shape, x);
    save(&m, "attention_L5_forward_pre_FA_bf16", "query", 2, shape, x);
    cr_expect_eq(read_saved(&m, NULL, &dump, &err), TP_E_NOT_FOUND);
    cr_assert_eq(dump.notes.count, 1);
    cr_expect_not_null(strstr(dump.notes.texts[0], "3 calls"), "%s",
                       dump.notes.texts[0]);
    tp_dump_clear(&dump);
    save_linear(&m, "bf16", 0);
    cr_expect_eq(read_saved(&m, "0", &dump, &err), TP_E_NOT_FOUND);
    tp_dump_clear(&dump);
    cr_expect_eq(read_saved(&m, "0,1", &dump, &err), TP_OK);
    cr_assert_eq(dump.place_count, 1);
    /* the second input is that of the linear whose own replaces it */
    cr_expect_eq(dump.places[0].call_count, 1);
    tp_dump_clear(&dump);
    calls_end(&m);
}

/* A file that cannot be read costs its call, not the others. */
Test(saved_calls, survive_a_damaged_file)
{
    static const char *const calls[] = {"L5.linear.0.forward",
                                        "L5.linear.1.forward", NULL};
    struct calls_maker m = calls_begin();
    struct tp_replay_results results;
    struct tp_dump dump;
    save_linear(&m, "bf16", 0);
    save_linear(&m, "bf16", 0);
    maker_put(&m.maker,
              "logs/20260101_000000_0002_iter003_linear_L5_forward_pre_"
              "linear_bf16_rank01_group000_weight.pt",
              "PK\003\004 and no more");
    replay(&m, calls, &results, &dump);
    cr_expect_str_eq(results.rows[0].status, "unreadable");
    cr_expect_str_eq(results.rows[1].status, "replayed");
    end(&m, &results, &dump);
}
