/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/pt_maker.h"

#include <math.h>

#include "base/text.h"
#include "replay/dtype_round.h"
#include "replay/replay_findings.h"
#include "tests/unit/support/calls_maker.h"
#include "tests/unit/support/testdata.h"

/* A dump of one call with two vectors, or one, of a dtype. */
enum { COUNT = 64 };

struct made_call {
    const char *status;          /* that the call is to have                */
    const char *key, *arguments; /* what follows the tensors, in JSON       */
    enum tp_dtype dtype;
    double inputs[2][COUNT], output[COUNT];
    int input_count;
};

static void put(const struct maker *maker, const struct made_call *call,
                const char *item, const double *values, struct tp_text *json)
{
    char path[256];
    uint16_t bf16[COUNT];
    float float32[COUNT];
    const bool half = call->dtype == TP_BFLOAT16;
    for (int i = 0; i < COUNT; i++) {
        uint32_t bits;
        float32[i] = (float)values[i];
        memcpy(&bits, &float32[i], sizeof bits);
        bf16[i] = (uint16_t)(bits >> 16); /* values are of the dtype */
    }
    tp_text_add(json,
                "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.%s\", "
                "\"shape\": [%d], \"data_name\": \"%s.%s.pt\"}",
                half ? "bfloat16" : "float32", COUNT, call->key, item);
    snprintf(path, sizeof path, "step0/rank0/dump_tensor_data/%s.%s.pt",
             call->key, item);
    pt_put(maker, path, half ? &pt_bfloat16 : &pt_float32,
           half ? (const void *)bf16 : float32, COUNT);
}

/* Writes and reads it, and what is found; cleared by the caller. */
static void find(const struct made_call *call,
                 struct tp_dump_findings *findings)
{
    const struct maker maker = maker_begin();
    struct tp_text json = {0};
    struct tp_dump dump;
    struct tp_replay_results results = {.count = 0};
    struct tp_replay_options options = {.pool = NULL};
    struct tp_error err = {0};
    tp_text_add(&json,
                "{\"task\": \"tensor\", \"level\": \"L1\", \"data\": {\"%s\": "
                "{\"input_args\": [",
                call->key);
    for (int i = 0; i < call->input_count; i++) {
        tp_text_add(&json, "%s", i ? ", " : "");
        put(&maker, call, i ? "input.1" : "input.0", call->inputs[i], &json);
    }
    tp_text_add(&json, "%s], \"input_kwargs\": {}, \"output\": [",
                call->arguments);
    put(&maker, call, "output.0", call->output, &json);
    tp_text_add(&json, "]}}}");
    maker_put(&maker, "step0/rank0/dump.json", tp_text_get(&json));
    cr_assert_eq(maker_read(&maker, "", false, &dump), TP_OK);
    cr_assert_eq(tp_pool_new(1, &options.pool, &err), TP_OK);
    cr_assert_eq(tp_replay_dump(&dump, &options, &results, &err), TP_OK);
    cr_assert_eq(results.count, 1);
    cr_assert_str_eq(results.rows[0].status, call->status, "%s",
                     results.rows[0].reason);
    memset(findings, 0, sizeof *findings);
    cr_assert_eq(tp_replay_findings_make(&dump, &results, findings, &err),
                 TP_OK);
    for (size_t i = 0; i < findings->count; i++)
        findings->rows[i].name = call->key; /* the dump goes now */
    tp_replay_results_clear(&results);
    tp_pool_free(options.pool);
    tp_dump_clear(&dump);
    tp_text_clear(&json);
    maker_end(&maker);
}

static void expect(const struct made_call *call, enum tp_replay_finding_id id,
                   enum tp_severity level)
{
    struct tp_dump_findings findings;
    find(call, &findings);
    cr_assert_eq(findings.count, 1);
    cr_expect_eq(findings.rows[0].rule, &tp_replay_rules[id]);
    cr_expect_eq(findings.rows[0].level, level);
    cr_expect_eq(findings.rows[0].step, 0);
    cr_expect_eq(findings.rows[0].count, 1);
    cr_expect_neq(*findings.rows[0].evidence, '\0');
    cr_expect_neq(*findings.rows[0].suggestion, '\0');
    cr_expect_eq(tp_dump_findings_worst(&findings), (int)level);
    tp_dump_findings_clear(&findings);
}

static void expect_none(const struct made_call *call)
{
    struct tp_dump_findings findings;
    find(call, &findings);
    cr_expect_eq(findings.count, 0, "%s",
                 findings.count ? findings.rows[0].evidence : "");
    cr_expect_eq(tp_dump_findings_worst(&findings), 0);
    tp_dump_findings_clear(&findings);
}

/* A product, of which a block may hold what is left from another call. */
static struct made_call product(void)
{
    struct made_call call = {.status = "replayed",
                             .key = "Torch.mul.0.forward",
                             .arguments = "",
                             .dtype = TP_FLOAT32,
                             .input_count = 2};
    for (int i = 0; i < COUNT; i++) {
        call.inputs[0][i] = (float)sin(i + 1);
        call.inputs[1][i] = (float)cos(3 * i);
        call.output[i] = (float)(call.inputs[0][i] * call.inputs[1][i]);
    }
    return call;
}

Test(replay_findings, names_a_wrong_result)
{
    struct made_call call = product();
    for (int i = 40; i < 48; i++)
        call.output[i] = 0.25;
    expect(&call, TP_REPLAY_WRONG, TP_SEVERITY_HIGH);
}

Test(replay_findings, has_nothing_against_a_right_one)
{
    struct made_call call = product();
    expect_none(&call);
    /* nor against one that is a rounding off */
    call.output[5] = nextafterf((float)call.output[5], 2);
    expect_none(&call);
}

/* Sums of bf16, each kept in float32 or in bf16 itself: there 0.24 is less
 * than half a step of 100, and lost. */
static struct made_call sums(bool narrow)
{
    struct made_call call = {.status = "replayed",
                             .key = "Torch.cumsum.0.forward",
                             .arguments = ", {\"type\": \"int\", \"value\": 0}",
                             .dtype = TP_BFLOAT16,
                             .input_count = 1};
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        call.inputs[0][i] = tp_dtype_round(TP_BFLOAT16, i ? 0.24 : 100);
        sum += call.inputs[0][i];
        sum = narrow ? tp_dtype_round(TP_BFLOAT16, sum) : (double)(float)sum;
        call.output[i] = tp_dtype_round(TP_BFLOAT16, sum);
    }
    return call;
}

Test(replay_findings, names_steps_in_the_dtype_of_the_tensors)
{
    const struct made_call call = sums(true);
    expect(&call, TP_REPLAY_NARROW, TP_SEVERITY_MEDIUM);
}

Test(replay_findings, has_nothing_against_sums_in_float32)
{
    const struct made_call call = sums(false);
    expect_none(&call);
}

/* Squares of a number, as float32. */
static struct made_call squares(double x)
{
    struct made_call call = {.status = "replayed",
                             .key = "Torch.mul.0.forward",
                             .arguments = "",
                             .dtype = TP_FLOAT32,
                             .input_count = 2};
    for (int i = 0; i < COUNT; i++) {
        call.inputs[0][i] = call.inputs[1][i] = i ? 1 : (float)x;
        call.output[i] =
            tp_dtype_round(TP_FLOAT32, call.inputs[0][i] * call.inputs[1][i]);
    }
    return call;
}

Test(replay_findings, names_what_only_the_dtype_makes_infinite)
{
    const struct made_call call = squares(1e20);
    expect(&call, TP_REPLAY_OVERFLOW, TP_SEVERITY_MEDIUM);
}

/* 1e36 is a number of float32; infinity was one before. */
Test(replay_findings, has_nothing_against_large_or_infinite_arguments)
{
    const struct made_call large = squares(1e18), infinite = squares(INFINITY);
    expect_none(&large);
    expect_none(&infinite);
}

/* A mask of p = 0.25 with 64 elements, of which so many are zero. */
static struct made_call masked(int zeros, double scale)
{
    struct made_call call = {.status = "random",
                             .key = "Functional.dropout.0.forward",
                             .arguments =
                                 ", {\"type\": \"float\", \"value\": 0.25}, "
                                 "{\"type\": \"bool\", \"value\": true}",
                             .dtype = TP_FLOAT32,
                             .input_count = 1};
    for (int i = 0; i < COUNT; i++) {
        call.inputs[0][i] = (float)(1 + sin(i) / 2);
        call.output[i] = i < zeros ? 0 : (float)(call.inputs[0][i] * scale);
    }
    return call;
}

/* 1 / (1 - p) is 4 / 3; about 16 of 64 are zero. Of
 * Binomial(64, 0.25) 52 or more have a chance of 5.5e-21, 28 or more of
 * 0.0008 (Python, math.comb). */
Test(replay_findings, names_a_mask_that_is_none)
{
    const struct made_call scale = masked(16, 1), share = masked(52, 4.0 / 3);
    expect(&scale, TP_REPLAY_DROPOUT, TP_SEVERITY_HIGH);
    expect(&share, TP_REPLAY_DROPOUT, TP_SEVERITY_HIGH);
}

Test(replay_findings, has_nothing_against_a_mask)
{
    const struct made_call usual = masked(16, 4.0 / 3),
                           rare = masked(28, 4.0 / 3);
    expect_none(&usual);
    expect_none(&rare);
}

/* A difference of numbers that are equal to so many bits. */
static struct made_call difference(int bits)
{
    struct made_call call = {.status = "replayed",
                             .key = "Tensor.__sub__.0.forward",
                             .arguments = "",
                             .dtype = TP_FLOAT32,
                             .input_count = 2};
    for (int i = 0; i < COUNT; i++) {
        const double x = (float)(1.5 + 0.4 * sin(i));
        call.inputs[0][i] = x;
        call.inputs[1][i] = (float)(x + ldexp(cos(i), -bits));
        call.output[i] = (float)(call.inputs[0][i] - call.inputs[1][i]);
    }
    return call;
}

/* Half of 24 bits are 12. */
Test(replay_findings, names_what_cancels)
{
    const struct made_call call = difference(15);
    expect(&call, TP_REPLAY_CONDITION, TP_SEVERITY_LOW);
}

Test(replay_findings, lets_pass_what_cancels_little)
{
    const struct made_call call = difference(8);
    expect_none(&call);
}

/* Two calls whose results are wrong, the second by more. */
static void make_two(struct calls_maker *m)
{
    static const char *const names[] = {"Torch.exp.0.forward",
                                        "Torch.sin.0.forward"};
    const int64_t shape[] = {COUNT};
    double x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = (double)(float)(0.1 + 0.01 * i);
    for (int call = 0; call < 2; call++) {
        for (int i = 0; i < COUNT; i++)
            y[i] = (double)(float)(call ? 2 * sin(x[i]) : 1.02 * exp(x[i]));
        calls_call(m, names[call]);
        calls_tensor(m, TP_FLOAT32, 1, shape, x);
        calls_results(m, "");
        calls_tensor(m, TP_FLOAT32, 1, shape, y);
        calls_done(m);
    }
    calls_write(m);
}

Test(replay_findings, begin_with_the_wrong_result_that_came_first)
{
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_replay_results results = {.count = 0};
    struct tp_replay_options options = {.pool = NULL};
    struct tp_dump_findings findings = {.count = 0};
    struct tp_error err = {0};
    make_two(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    cr_assert_eq(tp_pool_new(1, &options.pool, &err), TP_OK);
    cr_assert_eq(tp_replay_dump(&dump, &options, &results, &err), TP_OK);
    cr_assert_eq(tp_replay_findings_make(&dump, &results, &findings, &err),
                 TP_OK);
    cr_assert_eq(findings.count, 2);
    cr_expect_str_eq(findings.rows[0].name, "Torch.exp.0.forward");
    cr_expect_gt(findings.rows[1].excess, findings.rows[0].excess);
    tp_dump_findings_clear(&findings);
    tp_replay_results_clear(&results);
    tp_pool_free(options.pool);
    tp_dump_clear(&dump);
    calls_end(&m);
}
