/* SPDX-License-Identifier: MIT */
/*
 * The runs of testdata/divergence, whose plants.json says what each of them
 * changes: the operator that is named, and how bad it is.
 */
#include "tests/unit/support/pt_maker.h"

#include "compare/compare_autodiff.h"

#include <string.h>

#include "base/pool.h"
#include "tests/unit/support/testdata.h"

struct made {
    struct tp_pool *pool;
    struct tp_comparison comparison;
    struct tp_dump_findings findings;
    struct tp_compare_autodiff autodiff;
    struct tp_error err;
    enum tp_status status;
};

static void make_of(struct made *made, const char *a, const char *b,
                    enum tp_compare_mode mode)
{
    const struct tp_divergence_options how = {0};
    *made = (struct made){.status = TP_OK};
    cr_assert_eq(tp_pool_new(2, &made->pool, &made->err), TP_OK);
    const struct tp_compare_options options = {
        .a = a, .b = b, .mode = mode, .read = {.pool = made->pool}};
    cr_assert_eq(tp_compare(&options, &made->comparison, &made->err), TP_OK);
    made->status = tp_compare_autodiff_make(
        &made->comparison, &how, &made->autodiff, &made->findings, &made->err);
}

/* Of testdata. */
static void make(struct made *made, const char *a, const char *b,
                 enum tp_compare_mode mode)
{
    char paths[2][4096];
    testdata_path(a, paths[0], sizeof paths[0]);
    testdata_path(b, paths[1], sizeof paths[1]);
    make_of(made, paths[0], paths[1], mode);
}

static void clear(struct made *made)
{
    tp_compare_autodiff_clear(&made->autodiff);
    tp_dump_findings_clear(&made->findings);
    tp_comparison_clear(&made->comparison);
    tp_pool_free(made->pool);
}

/* The only finding is about this call. */
static void expect_finding(const char *a, const char *b, enum tp_severity level,
                           const char *name)
{
    struct made made;
    make(&made, a, b, TP_COMPARE_TENSOR);
    cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
    cr_assert_eq(made.findings.count, 1, "%s", a);
    const struct tp_dump_finding *finding = &made.findings.rows[0];
    cr_expect_eq(finding->rule, &tp_compare_rules[TP_FINDS_DIVERGENCE]);
    cr_expect_eq(finding->level, level, "%s: %d", a, (int)finding->level);
    cr_expect_str_eq(finding->name, name);
    cr_expect_neq(strstr(finding->evidence, name), NULL, "%s",
                  finding->evidence);
    cr_expect_gt(strlen(finding->suggestion), 0);
    clear(&made);
}

Test(compare_autodiff, the_operator_that_is_off_is_named)
{
    expect_finding("divergence/step1", "divergence/step0", TP_SEVERITY_HIGH,
                   "Functional.softmax.0.forward");
    expect_finding("divergence/step0", "divergence/step1", TP_SEVERITY_HIGH,
                   "Functional.softmax.0.forward");
}

Test(compare_autodiff, other_data_are_no_fault_of_the_operator)
{
    expect_finding("divergence/step3", "divergence/step0", TP_SEVERITY_MEDIUM,
                   "Tensor.masked_fill.0.forward");
}

Test(compare_autodiff, rounding_is_no_finding)
{
    static const char *const twins[] = {"divergence/step2", "divergence/step0"};
    for (size_t i = 0; i < 2; i++) {
        struct made made;
        make(&made, twins[i], "divergence/step0", TP_COMPARE_TENSOR);
        cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
        cr_expect_eq(made.findings.count, 0);
        cr_expect_eq(made.autodiff.count, 1);
        cr_expect_eq(made.autodiff.searches[0].first, SIZE_MAX);
        clear(&made);
    }
}

Test(compare_autodiff, rows_have_their_step)
{
    struct made made;
    struct tp_table table;
    make(&made, "divergence/step1", "divergence/step0", TP_COMPARE_TENSOR);
    cr_assert_eq(made.status, TP_OK);
    tp_compare_autodiff_table(&made.autodiff, &table);
    const struct tp_column *step = tp_table_column(&table, "step");
    const struct tp_column *name = tp_table_column(&table, "api_name");
    const struct tp_column *excess = tp_table_column(&table, "excess_a");
    const struct tp_column *verdict = tp_table_column(&table, "verdict");
    cr_assert(step && name && excess && verdict);
    cr_expect_eq(table.row_count, made.autodiff.searches[0].count);
    size_t found = 0;
    for (size_t i = 0; i < table.row_count; i++) {
        cr_expect_eq(tp_cell_number(&table, i, step), 1);
        if (strcmp(tp_cell_text(&table, i, name),
                   "Functional.softmax.0.forward") != 0)
            continue;
        found++;
        cr_expect_gt(tp_cell_number(&table, i, excess), 3);
        cr_expect_str_eq(tp_cell_text(&table, i, verdict), "added by A");
    }
    cr_expect_eq(found, 1);
    clear(&made);
}

Test(compare_autodiff, needs_tensors)
{
    struct made made;
    make(&made, "divergence/step1", "divergence/step0", TP_COMPARE_STATISTICS);
    cr_expect_eq(made.status, TP_E_UNSUPPORTED);
    cr_expect_neq(strstr(made.err.message, "needs the tensors"), NULL);
    clear(&made);
}

/* --- made dumps ----------------------------------------------------------- */

enum { TERMS = 512, BF16_ONE = 0x3f80, BF16_NAN = 0x7fc0, BF16_SUM = 0x4400 };

/* A place of a run, of one call with these first terms, others being one. */
struct sum {
    const char *run; /* its folder                                          */
    const char *key;
    uint16_t first, result;
    int fp32; /* how many of its two tensors are float32                    */
};

static void put_tensor(const struct maker *maker, const char *name,
                       const uint16_t *values, size_t count, bool fp32)
{
    float wide[TERMS];
    for (size_t i = 0; i < count; i++) {
        const uint32_t code = (uint32_t)values[i] << 16;
        memcpy(&wide[i], &code, sizeof code);
    }
    pt_put(maker, name, fp32 ? &pt_float32 : &pt_bfloat16,
           fp32 ? (const void *)wide : values, count);
}

static void put_run(const struct maker *maker, const struct sum *sum)
{
    static const char item[] =
        "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.%s\", "
        "\"shape\": [%d], \"data_name\": \"%s.%s.0.pt\"}";
    const char *in_dtype = sum->fp32 > 1 ? "float32" : "bfloat16";
    const char *out_dtype = sum->fp32 > 0 ? "float32" : "bfloat16";
    char name[128], in[256], out[256], json[1024];
    uint16_t terms[TERMS];
    for (int i = 0; i < TERMS; i++)
        terms[i] = BF16_ONE;
    terms[0] = sum->first;
    snprintf(in, sizeof in, item, in_dtype, TERMS, sum->key, "input");
    snprintf(out, sizeof out, item, out_dtype, 1, sum->key, "output");
    snprintf(json, sizeof json,
             "{\"task\": \"tensor\", \"level\": \"L1\", \"data\": {"
             "\"%s\": {\"input_args\": [%s], "
             "\"input_kwargs\": {\"dim\": {\"type\": \"int\", \"value\": 0}, "
             "\"keepdim\": {\"type\": \"bool\", \"value\": true}}, "
             "\"output\": [%s]}}}",
             sum->key, in, out);
    snprintf(name, sizeof name, "%s/dump.json", sum->run);
    maker_put(maker, name, json);
    snprintf(name, sizeof name, "%s/dump_tensor_data/%s.input.0.pt", sum->run,
             sum->key);
    put_tensor(maker, name, terms, TERMS, sum->fp32 > 1);
    snprintf(name, sizeof name, "%s/dump_tensor_data/%s.output.0.pt", sum->run,
             sum->key);
    put_tensor(maker, name, &sum->result, 1, sum->fp32 > 0);
}

/* Compares the runs "a" and "b" of a maker. */
static void make_made(struct made *made, const struct maker *maker)
{
    char a[128], b[128];
    maker_path(maker, "a", a, sizeof a);
    maker_path(maker, "b", b, sizeof b);
    make_of(made, a, b, TP_COMPARE_TENSOR);
    cr_assert_eq(made->status, TP_OK, "%s", made->err.message);
}

static const char sum_key[] = "Torch.sum.0.forward";

/* A sum of 512 ones; of A with another first term or result, of B with so many
 * tensors of float32. */
static void expect_sum_of(uint16_t first, uint16_t result, int fp32,
                          enum tp_severity level, const char *verdict,
                          const char *words)
{
    const struct maker maker = maker_begin();
    struct made made;
    put_run(&maker, &(struct sum){"a", sum_key, first, result, 0});
    put_run(&maker, &(struct sum){"b", sum_key, BF16_ONE, BF16_SUM, fp32});
    make_made(&made, &maker);
    cr_assert_eq(made.findings.count, 1);
    cr_expect_eq(made.findings.rows[0].level, level);
    cr_expect_str_eq(
        tp_divergence_words[made.autodiff.searches[0].rows[0].verdict],
        verdict);
    cr_expect_not_null(strstr(made.findings.rows[0].evidence, words), "%s",
                       made.findings.rows[0].evidence);
    clear(&made);
    maker_end(&maker);
}

static void expect_sum(uint16_t first, uint16_t result, enum tp_severity level,
                       const char *verdict, const char *words)
{
    expect_sum_of(first, result, 0, level, verdict, words);
}

/* Rounded to bfloat16 at each step, the sum of ones stays at 256. */
Test(compare_autodiff, what_the_dtype_explains_is_low)
{
    expect_sum(BF16_ONE, 0x4380, TP_SEVERITY_LOW, "low precision",
               "computed in bfloat16 throughout: no fp32 accumulation");
}

/* -65536 is no sum of ones, however it is rounded. */
Test(compare_autodiff, what_no_dtype_explains_is_high)
{
    expect_sum(BF16_ONE, 0xc780, TP_SEVERITY_HIGH, "added by A",
               "of run A adds error of its own");
}

Test(compare_autodiff, an_argument_that_holds_nan)
{
    expect_sum(BF16_NAN, BF16_NAN, TP_SEVERITY_MEDIUM, "other data",
               "argument 0 holds NaN in A, and no earlier call made it");
}

/* Of runs of two precisions other data are expected: where more than half of
 * the tensors have another dtype in B. What adds error is bad all the same. */
Test(compare_autodiff, data_of_another_dtype_are_low)
{
    static const char words[] = "no earlier call made it";
    expect_sum_of(BF16_NAN, BF16_NAN, 1, TP_SEVERITY_MEDIUM, "other data",
                  words);
    expect_sum_of(BF16_NAN, BF16_NAN, 2, TP_SEVERITY_LOW, "other data", words);
    expect_sum_of(BF16_ONE, 0xc780, 2, TP_SEVERITY_HIGH, "added by A",
                  "of run A adds error of its own");
}

/* --- steps and ranks ------------------------------------------------------ */

/* What is wrong in a place of A: nothing, a sum that adds error, one that is
 * rounded at each step, or what another rank sent. */
enum fault { RIGHT, WRONG, LOW, SENT };

struct places {
    enum fault faults[2][2]; /* [step][rank]                                */
    int64_t step, rank;      /* that the finding is about                   */
    const char *name;
    uint64_t count; /* places that have something                           */
};

static void put_place(const struct maker *maker, int step, int rank,
                      enum fault fault)
{
    static const uint16_t results[] = {BF16_SUM, 0xc780, 0x4380, 0x4380};
    char run[64];
    for (int side = 0; side < 2; side++) {
        snprintf(run, sizeof run, "%c/step%d/rank%d", "ab"[side], step, rank);
        put_run(maker,
                &(struct sum){run,
                              fault == SENT ? "Distributed.all_reduce.0.forward"
                                            : sum_key,
                              BF16_ONE, results[side ? RIGHT : fault], 0});
    }
}

static void expect_place(const struct places *places)
{
    const struct maker maker = maker_begin();
    struct made made;
    for (int step = 0; step < 2; step++)
        for (int rank = 0; rank < 2; rank++)
            put_place(&maker, step, rank, places->faults[step][rank]);
    make_made(&made, &maker);
    cr_assert_eq(made.autodiff.count, 4);
    cr_assert_eq(made.findings.count, 1);
    const struct tp_dump_finding *finding = &made.findings.rows[0];
    cr_expect_eq(finding->step, places->step);
    cr_expect_eq(finding->rank, places->rank);
    cr_expect_eq(finding->count, places->count);
    cr_expect_str_eq(finding->name, places->name);
    clear(&made);
    maker_end(&maker);
}

/* Later steps follow from earlier ones. Of a step it is the first rank; but a
 * rank that got it from another one is named only where no other is. */
Test(compare_autodiff, the_earliest_place_that_is_no_victim)
{
    static const char sent[] = "Distributed.all_reduce.0.forward";
    static const struct places places[] = {
        {{{WRONG, WRONG}, {RIGHT, RIGHT}}, 0, 0, sum_key, 2},
        {{{RIGHT, WRONG}, {WRONG, WRONG}}, 0, 1, sum_key, 3},
        {{{RIGHT, RIGHT}, {RIGHT, WRONG}}, 1, 1, sum_key, 1},
        {{{SENT, WRONG}, {RIGHT, RIGHT}}, 0, 1, sum_key, 2},
        {{{SENT, SENT}, {WRONG, RIGHT}}, 0, 0, sent, 3},
        {{{LOW, RIGHT}, {RIGHT, WRONG}}, 1, 1, sum_key, 2},
        {{{RIGHT, LOW}, {LOW, RIGHT}}, 0, 1, sum_key, 2},
        {{{LOW, RIGHT}, {SENT, RIGHT}}, 1, 0, sent, 2},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        expect_place(&places[i]);
}
