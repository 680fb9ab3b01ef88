/* SPDX-License-Identifier: MIT */
/* What changed, in words: a sentence for each kind of change, the rest, and
 * nothing where nothing changed. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_compare_why.h"
#include "trace/trace_compare_causes.h"
#include "trace/trace_compare_why.h"

static struct tp_compare_step_row step = {.metric = "step", .change = 1000};

/* One that a run or both have; NULL: none. */
static struct tp_compare_row *kernels;

/* A row of a place; the change is what the sides differ by. */
static struct tp_why_row row(enum tp_spent what, enum tp_why_change how,
                             const char *base, const char *test, double us)
{
    return (struct tp_why_row){
        .what = what, .how = how, .path = "aten::linear > aten::addmm",
        .base_name = base, .test_name = test,
        .base_inputs = "[[32, 64]] [\"float\"]",
        .test_inputs = how == TP_WHY_RESHAPED ? "[[64, 64]] [\"float\"]"
                                              : "[[32, 64]] [\"float\"]",
        .base_per_step = how == TP_WHY_ADDED ? 0 : 2,
        .test_per_step = how == TP_WHY_MORE ? 4 : 2,
        .base_us = how == TP_WHY_ADDED ? 0 : 100,
        .test_us = how == TP_WHY_ADDED ? us : 100 + us,
        .change_us = us};
}

static void expect(const struct tp_why_row *rows, size_t count,
                   const char *const *words)
{
    struct tp_trace_comparison comparison = {
        .steps = {.rows = &step, .count = 1},
        .why = {.rows = (struct tp_why_row *)rows, .count = count},
        .kernels = {.rows = kernels, .count = kernels != NULL},
        .why_per = "step"};
    struct tp_text text = {.columns = 400};
    for (size_t i = 0; i < count; i++) {
        comparison.why_base_us += rows[i].base_us;
        comparison.why_test_us += rows[i].test_us;
    }
    cr_assert_eq(tp_trace_compare_causes(&comparison, NULL), TP_OK);
    tp_compare_why_text(&comparison, true, 0, &text);
    free(comparison.causes.rows);
    for (; *words; words++)
        cr_expect(strstr(tp_text_get(&text), *words), "%s not in %s", *words,
                  tp_text_get(&text));
    tp_text_clear(&text);
}

Test(report_compare_why, sentences)
{
    static const struct {
        enum tp_spent what;
        enum tp_why_change how;
        const char *base, *test, *words;
    } cases[] = {
        {TP_SPENT_DEVICE, TP_WHY_SLOWER, "gemm", "gemm",
         "gemm takes 0.55 ms each instead of 0.05 (2 a step), in aten::linear "
         "> aten::addmm"},
        {TP_SPENT_DEVICE, TP_WHY_MORE, "gemm", "gemm",
         "gemm runs 4 times a step instead of 2"},
        {TP_SPENT_DEVICE, TP_WHY_REPLACED, "gemm_a", "gemm_b",
         "aten::linear > aten::addmm runs gemm_b, 1.100 ms a step, instead of "
         "gemm_a, 0.100 ms"},
        {TP_SPENT_DEVICE, TP_WHY_RESHAPED, "gemm", "gemm",
         "is given [[64, 64]] instead of [[32, 64]]: gemm takes 1.100 ms a "
         "step instead of 0.100"},
        {TP_SPENT_DEVICE, TP_WHY_ADDED, "", "gemm",
         "only after: gemm, 2 a step, in aten::linear > aten::addmm"},
        {TP_SPENT_HOST, TP_WHY_SLOWER, "", "",
         "the host is in aten::linear > aten::addmm of [[32, 64]] with the GPU "
         "idle for 1.100 ms a step instead of 0.100"},
        {TP_SPENT_WAIT, TP_WHY_SLOWER, "cudaStreamSynchronize",
         "cudaStreamSynchronize",
         "the host waits in cudaStreamSynchronize, in aten::linear"},
        {TP_SPENT_GAP, TP_WHY_SLOWER, "aten::relu", "aten::relu",
         "between aten::linear > aten::addmm and aten::relu nothing is "
         "recorded, with the GPU idle, for 1.100 ms a step"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tp_why_row rows[] = {
            row(cases[i].what, cases[i].how, cases[i].base, cases[i].test,
                1000),
            row(TP_SPENT_DEVICE, TP_WHY_SLOWER, "k", "k", 1)};
        const char *const words[] = {
            cases[i].words, "+1.000 ms", "+0.001 ms  in 1 further causes",
            "-0.001 ms  in nothing of these: the residual", NULL};
        expect(rows, 2, words);
    }
}

/* Rows of one cause are one line with their sum. */
Test(report_compare_why, several_of_one_cause)
{
    struct tp_why_row rows[] = {
        row(TP_SPENT_DEVICE, TP_WHY_SLOWER, "gemm", "gemm", 1000),
        row(TP_SPENT_DEVICE, TP_WHY_SLOWER, "gemm", "gemm", 500),
        row(TP_SPENT_HOST, TP_WHY_ADDED, "", "", 300),
        row(TP_SPENT_HOST, TP_WHY_ADDED, "", "", 200)};
    const char *const words[] = {
        "+1.500 ms  gemm takes 1.700 ms a step instead of 0.200, most in "
        "aten::linear > aten::addmm; 2 places in all",
        "+0.500 ms  only after: f and all that it calls, 0.500 ms a step (2 "
        "changes, the largest 0.300 ms, in f > g)",
        NULL};
    rows[1].path = "aten::matmul > aten::addmm";
    rows[2].path = "f > g";
    rows[3].path = "f";
    rows[2].base_per_step = rows[3].base_per_step = 0;
    expect(rows, 4, words);
}

/* What both runs have somewhere is not told as only in one of them; how many
 * further names a sum is of is told. */
Test(report_compare_why, what_is_elsewhere_in_both)
{
    struct tp_compare_row kernel = {
        .name = "gemm", .base_count = 1, .test_count = 4};
    struct tp_why_row added =
        row(TP_SPENT_DEVICE, TP_WHY_ADDED, "", "gemm", 1000);
    for (int64_t both = 0; both < 2; both++) {
        const char *const words[] = {
            both ? "ms  in this place only after: gemm and 3 others, 2 a step, "
                   "in aten::linear > aten::addmm"
                 : "ms  only after: gemm, 2 a step, in aten::linear",
            NULL};
        kernel.base_count = both;
        added.others = both ? 3 : 0;
        kernels = &kernel;
        expect(&added, 1, words);
        kernels = NULL;
    }
}

/* The same of an operator with all that it calls. */
Test(report_compare_why, a_whole_that_is_elsewhere_in_both)
{
    struct tp_why_row rows[] = {row(TP_SPENT_HOST, TP_WHY_ADDED, "", "", 300),
                                row(TP_SPENT_HOST, TP_WHY_ADDED, "", "", 200)};
    struct tp_compare_row op = {.name = "f", .test_count = 4};
    rows[0].path = "f > g";
    rows[1].path = "f";
    for (int64_t both = 0; both < 2; both++) {
        const char *const words[] = {
            both ? "ms  in this place only after: f and all that it calls"
                 : "ms  only after: f and all that it calls",
            NULL};
        op.base_count = both;
        kernels = &op;
        expect(rows, 2, words);
        kernels = NULL;
    }
}

Test(report_compare_why, nothing_changed)
{
    const struct tp_why_row rows[] = {
        row(TP_SPENT_DEVICE, TP_WHY_UNCHANGED, "k", "k", 0)};
    const char *const words[] = {"0.100 ms instead of 0.100: +0.000 ms",
                                 "nothing changed by 1 % of a step or more",
                                 "the residual", NULL};
    step.change = 0;
    expect(rows, 1, words);
}

/* The largest change is a part of the whole only where it is less. */
Test(report_compare_why, the_head_has_the_right_relation)
{
#define UNDONE " ms in all; the largest change, in part undone by others, "
    static const struct {
        double first, second;
        const char *words;
    } cases[] = {{600, 400, "+1.000 ms, of which +0.600 ms: "},
                 {-600, -400, "-1.000 ms, of which -0.600 ms: "},
                 {1500, -500, "+1.000" UNDONE "+1.500"},
                 {-2000, 1900, "-0.100" UNDONE "-2.000"},
                 {-80, 79, "-0.001" UNDONE "-0.080"},
                 {900, 0, "+0.900 ms, of which +0.900 ms: "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_why_row rows[] = {
            row(TP_SPENT_DEVICE, TP_WHY_SLOWER, "a", "a", cases[i].first),
            row(TP_SPENT_DEVICE, TP_WHY_SLOWER, "b", "b", cases[i].second)};
        struct tp_trace_comparison comparison = {
            .steps = {.rows = &step, .count = 1},
            .why = {.rows = rows, .count = 2},
            .why_base_us = 200,
            .why_test_us = 200 + cases[i].first + cases[i].second,
            .why_per = "step"};
        struct tp_text change = {0}, cause = {0};
        cr_assert_eq(tp_trace_compare_causes(&comparison, NULL), TP_OK);
        tp_compare_why_head(&comparison, true, &change, &cause);
        cr_expect_eq(strncmp(tp_text_get(&cause), cases[i].words,
                             strlen(cases[i].words)),
                     0, "%s", tp_text_get(&cause));
        free(comparison.causes.rows);
        tp_text_clear(&change);
        tp_text_clear(&cause);
    }
}

/* Sums of unlike numbers of steps are means of different moments. */
Test(report_compare_why, says_how_many_steps_the_means_are_of)
{
    struct tp_why_row all = row(TP_SPENT_DEVICE, TP_WHY_SLOWER, "gemm", "gemm",
                                1000);
    for (int base = 1; base < 3; base++) {
        struct tp_text change = {.columns = 400}, cause = {.columns = 400};
        struct tp_trace_comparison comparison = {
            .steps = {.rows = &step, .count = 1},
            .why = {.rows = &all, .count = 1}, .why_per = "step",
            .why_base_us = 100, .why_test_us = 1100,
            .why_base_count = base, .why_test_count = 1};
        cr_assert_eq(tp_trace_compare_causes(&comparison, NULL), TP_OK);
        tp_compare_why_head(&comparison, true, &change, &cause);
        cr_expect_str_eq(tp_text_get(&change),
                         base == 1 ? "a step takes 1.100 ms instead of 0.100"
                                   : "a step takes 1.100 ms instead of 0.100 "
                                     "(a mean of 1 step instead of 2)");
        free(comparison.causes.rows);
        tp_text_clear(&change);
        tp_text_clear(&cause);
    }
}
