/* SPDX-License-Identifier: MIT */
/*
 * The terms of an element add up to what the kernel makes of it; and with them
 * sums in fp16 are told in each of these operators, but none in float32.
 */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

#include "replay/product_terms.h"
#include "replay/replay_explain.h"

struct given {
    int dims;
    int64_t shape[4];
};

static const struct sample {
    const char *key, *first, *keywords; /* first: a value before the tensors */
    struct given given[3];              /* dims -1: no more                  */
    struct given result;
    struct given gradients[3]; /* of its backward call; dims -1: no more     */
} samples[] = {
    {"Functional.linear.0",
     NULL,
     "",
     {{3, {2, 3, 40}}, {2, {5, 40}}, {1, {5}}},
     {3, {2, 3, 5}},
     {{-1, {0}}}},
    {"Functional.linear.0",
     NULL,
     "",
     {{2, {6, 40}}, {2, {30, 40}}, {-1, {0}}},
     {2, {6, 30}},
     {{2, {6, 40}}, {2, {40, 30}}, {-1, {0}}}},
    {"Torch.matmul.0",
     NULL,
     "",
     {{3, {2, 4, 24}}, {2, {24, 20}}, {-1, {0}}},
     {3, {2, 4, 20}},
     {{-1, {0}}}},
    {"Torch.mm.0",
     NULL,
     "",
     {{2, {32, 24}}, {2, {24, 32}}, {-1, {0}}},
     {2, {32, 32}},
     {{2, {32, 24}}, {2, {24, 32}}, {-1, {0}}}},
    {"Torch.addmm.0",
     NULL,
     "\"alpha\": {\"type\": \"float\", \"value\": 0.5}, "
     "\"beta\": {\"type\": \"float\", \"value\": 2.0}",
     {{1, {6}}, {2, {4, 40}}, {2, {40, 6}}},
     {2, {4, 6}},
     {{-1, {0}}}},
    {"Torch.baddbmm.0",
     NULL,
     "",
     {{3, {2, 3, 5}}, {3, {2, 3, 40}}, {3, {2, 40, 5}}},
     {3, {2, 3, 5}},
     {{-1, {0}}}},
    {"Torch.einsum.0",
     "{\"type\": \"str\", \"value\": \"bhqd,bhkd->bhqk\"}",
     "",
     {{4, {2, 2, 3, 32}}, {4, {2, 2, 4, 32}}, {-1, {0}}},
     {4, {2, 2, 3, 4}},
     {{-1, {0}}}},
    {"Torch.conv2d.0",
     NULL,
     "\"stride\": {\"type\": \"int\", \"value\": 2}, "
     "\"padding\": {\"type\": \"int\", \"value\": 1}, "
     "\"groups\": {\"type\": \"int\", \"value\": 2}",
     {{4, {2, 8, 5, 5}}, {4, {6, 4, 3, 3}}, {1, {6}}},
     {4, {2, 6, 3, 3}},
     {{-1, {0}}}},
    {"Functional.conv1d.0",
     NULL,
     "\"dilation\": {\"type\": \"int\", \"value\": 2}",
     {{3, {2, 12, 9}}, {3, {4, 12, 3}}, {-1, {0}}},
     {3, {2, 4, 5}},
     {{-1, {0}}}},
};

enum { SAMPLES = sizeof samples / sizeof *samples, MOST = 4096 };

/* Random enough, of both signs. */
static void fill(double *x, int64_t count, int seed)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = tp_dtype_round(
            TP_BFLOAT16,
            2 * sin(0.37 * (double)(i * (i % 1013)) + (double)(i + seed)));
}

static void put(struct calls_maker *m, const struct given *given,
                const double *values)
{
    calls_tensor(m, TP_FLOAT32, given->dims, given->shape, values);
}

static void put_numbers(struct calls_maker *m, const struct given *given,
                        int seed)
{
    static double x[MOST];
    fill(x, MOST, seed);
    put(m, given, x);
}

/* The forward call, and a backward one where it has gradients; `made` are the
 * values of the call that is looked at, result after result. */
static void write_calls(struct calls_maker *m, const struct sample *s,
                        const double *made)
{
    static const double none[MOST];
    char key[64];
    const bool back = s->gradients[0].dims >= 0;
    snprintf(key, sizeof key, "%s.forward", s->key);
    calls_call(m, key);
    if (s->first)
        calls_value(m, s->first);
    for (int i = 0; i < 3 && s->given[i].dims >= 0; i++)
        put_numbers(m, &s->given[i], i);
    calls_results(m, s->keywords);
    put(m, &s->result, back || !made ? none : made);
    calls_done(m);
    if (!back) {
        calls_write(m);
        return;
    }
    char backward[64];
    snprintf(backward, sizeof backward, "%s.backward", s->key);
    calls_call(m, backward);
    put_numbers(m, &s->result, 9);
    calls_results(m, "");
    for (int i = 0; i < 3 && s->gradients[i].dims >= 0; i++) {
        put(m, &s->gradients[i], made ? made : none);
        int64_t count = 1;
        for (int k = 0; k < s->gradients[i].dims; k++)
            count *= s->gradients[i].shape[k];
        made += made ? count : 0;
    }
    calls_done(m);
    calls_write(m);
}

/* Sums in chunks of eight, added in fp16. */
static double halves(const double *terms, int64_t count)
{
    double sum = 0, part = 0;
    for (int64_t i = 0; i < count; i++) {
        part += terms[i];
        if (i % 8 == 7 || i == count - 1) {
            sum = tp_dtype_round(TP_FLOAT16, sum + part);
            part = 0;
        }
    }
    return sum;
}

/* Computes the call, looks at the terms of all its elements, and keeps what the
 * first result with terms would be in fp16. */
static void check_terms(const struct sample *s, double *right, double *narrow)
{
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    enum tp_replay_state state;
    write_calls(&m, s, NULL);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    const bool back = s->gradients[0].dims >= 0;
    const struct tp_dump_call *call = &dump.places[0].calls[back];
    const struct tp_operator *row =
        back ? tp_replay_backward_operator(call, &state)
             : tp_replay_operator(call, &state);
    cr_assert(row, "%s", s->key);
    struct tp_replay_call replay = {
        .place = dump.places, .call = call, .signature = row->signature};
    cr_assert_eq(tp_replay_call_load(&replay, &err), TP_OK, "%s", err.message);
    cr_assert_eq(tp_replay_run(&replay, row, &err), TP_OK, "%s", err.message);
    for (size_t result = 0; result < replay.output_count; result++) {
        const struct tp_array *output = &replay.outputs[result];
        for (int64_t at = 0; at < output->count; at++) {
            double *terms, sum = 0;
            const int64_t count =
                tp_product_terms(&replay, row, result, at, &terms);
            cr_assert_gt(count, 5, "%s result %zu", s->key, result);
            for (int64_t i = 0; i < count; i++)
                sum += terms[i];
            cr_assert_float_eq(sum, output->value[at], 1e-10, "%s %zu %d",
                               s->key, result, (int)at);
            *right++ = output->value[at];
            *narrow++ = result == 0 ? halves(terms, count) : *(right - 1);
            free(terms);
        }
    }
    tp_replay_call_clear(&replay);
    tp_dump_clear(&dump);
    calls_end(&m);
}

/* What a result is told to be. */
static bool judge(const struct sample *s, const double *made,
                  struct tp_explain *explain)
{
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    write_calls(&m, s, made);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    const size_t call = s->gradients[0].dims >= 0;
    cr_assert_eq(tp_replay_judge(dump.places, &dump.places[0].calls[call],
                                 &verdict, &err),
                 TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_JUDGED, "%s: %s", s->key,
                 verdict.reason);
    memset(explain, 0, sizeof *explain);
    if (tp_replay_level_of(&verdict) != TP_REPLAY_EXPLAINED)
        cr_assert_eq(
            tp_replay_explain(&dump, 0, call, &verdict, explain, &err), TP_OK);
    const bool wrong = tp_replay_is_wrong(&verdict, explain);
    tp_dump_clear(&dump);
    calls_end(&m);
    return wrong;
}

Test(product_terms, add_up_and_tell_sums_in_fp16)
{
    static double right[MOST], narrow[MOST];
    struct tp_explain explain;
    for (int i = 0; i < SAMPLES; i++) {
        check_terms(&samples[i], right, narrow);
        cr_expect_not(judge(&samples[i], right, &explain), "%s: %s",
                      samples[i].key, explain.words);
        cr_expect(judge(&samples[i], narrow, &explain), "%s", samples[i].key);
        cr_expect_eq(explain.id, TP_EXPLAIN_STEPS, "%s: %s", samples[i].key,
                     explain.words);
    }
}
