/* SPDX-License-Identifier: MIT */
#include "quant/recommend.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/unit/support/quant_plan.h"

/* A group as the recommendation sees it. */
static struct tp_cast_group made(const struct tp_quant_plan *plan,
                                  size_t cast, double sqnr, double underflow)
{
    return (struct tp_cast_group){
        .cast = cast,
        .format = plan->casts[cast].format,
        .tensors = 1,
        .finite = 1,
        .summed = 1,
        .sqnr_worst_db = sqnr,
        .metrics = {.sqnr_db = sqnr, .underflow_ratio = underflow},
    };
}

static struct tp_recommendation advise(const struct tp_quant_plan *plan,
                                       const struct tp_cast_group *groups,
                                       size_t count, struct tp_arena *arena)
{
    const struct tp_recommend_input input = {.plan = plan,
                                             .groups = groups,
                                             .count = count,
                                             .dtype = TP_BFLOAT16,
                                             .arena = arena};
    struct tp_recommendation advice;
    cr_assert_eq(tp_recommend(&input, &advice, NULL), TP_OK);
    return advice;
}

/* hif8 0, e4m3 1, mxfp8_e4m3 2, mxfp4 3, fp16 4; hif8, e4m3, fp16 scaled. */
Test(recommend, takes_the_narrowest_and_then_the_best)
{
    struct tp_quant_plan plan = plan_of("hif8,e4m3,mxfp8_e4m3,mxfp4,fp16");
    struct tp_arena arena = {.blocks = NULL};
    struct tp_cast_group groups[] = {
        made(&plan, 0, 25, 0), made(&plan, 1, 31, 0.02),
        made(&plan, 2, 30, 0), made(&plan, 3, 19, 0),
        made(&plan, 4, 70, 0), made(&plan, 5, 31.5, 0),
    };
    struct tp_recommendation advice = advise(&plan, groups, 6, &arena);
    cr_assert_str_eq(advice.advice, "mxfp8_e4m3", "e4m3 underflows");
    cr_assert_eq(advice.bits, 8);
    cr_assert_str_eq(advice.scaled_format, "hif8");
    cr_assert_not_null(strstr(advice.reason, "30.0 dB"));
    groups[3].metrics.sqnr_db = groups[3].sqnr_worst_db = 20;
    advice = advise(&plan, groups, 6, &arena);
    cr_assert_str_eq(advice.advice, "mxfp4", "the limit itself will do");
    tp_arena_clear(&arena);
}

Test(recommend, scales_when_nothing_else_will_do)
{
    struct tp_quant_plan plan = plan_of("hif8,e4m3,mxfp8_e4m3,mxfp4,fp16");
    struct tp_arena arena = {.blocks = NULL};
    struct tp_cast_group groups[] = {
        made(&plan, 0, 12, 0), made(&plan, 1, 31, 0.2),
        made(&plan, 5, 30, 0), made(&plan, 6, 31, 0)};
    groups[3].tensor_scale_min = -4;
    groups[3].tensor_scale_max = 9;
    struct tp_recommendation advice = advise(&plan, groups, 4, &arena);
    cr_assert_str_eq(advice.advice, "e4m3 scaled");
    cr_assert_str_empty(advice.format);
    cr_assert_not_null(strstr(advice.reason, "2^-4 to 2^9"));
    /* infinities are left out of SQNR, and are worse than any noise */
    groups[3].nonfinite_out = 1;
    advice = advise(&plan, groups, 4, &arena);
    cr_assert_str_eq(advice.advice, "hif8 scaled");
    tp_arena_clear(&arena);
}

Test(recommend, keeps_what_is_stored_and_says_why)
{
    struct tp_quant_plan plan = plan_of("hif8,e4m3,mxfp8_e4m3,mxfp4,fp16");
    struct tp_arena arena = {.blocks = NULL};
    struct tp_cast_group groups[] = {
        made(&plan, 0, 12, 0), made(&plan, 4, 80, 0),
        made(&plan, 5, 18, 0)};
    struct tp_recommendation advice = advise(&plan, groups, 3, &arena);
    cr_assert_str_eq(advice.advice, "keep bfloat16", "fp16 is as wide");
    cr_assert_not_null(strstr(advice.reason, "hif8: 12.0 dB is below 20 dB"));
    cr_assert_not_null(strstr(advice.reason, "hif8 scaled: 18.0 dB"));
    groups[0].metrics.sqnr_db = groups[0].sqnr_worst_db = 40;
    groups[0].metrics.underflow_ratio = 0.02;
    advice = advise(&plan, groups, 3, &arena);
    cr_assert_not_null(strstr(advice.reason, "2 % underflow is above 1 %"));
    tp_arena_clear(&arena);
}

Test(recommend, lets_no_large_tensor_hide_a_small_one)
{
    struct tp_quant_plan plan = plan_of("hif8,e4m3");
    struct tp_arena arena = {.blocks = NULL};
    struct tp_cast_group groups[] = {made(&plan, 0, 31, 0),
                                      made(&plan, 1, 26, 0)};
    groups[0].sqnr_worst_db = 7;
    struct tp_recommendation advice = advise(&plan, groups, 2, &arena);
    cr_assert_str_eq(advice.advice, "e4m3");
    advice = advise(&plan, groups, 1, &arena);
    cr_assert_str_eq(advice.advice, "keep bfloat16");
    cr_assert_str_eq(advice.reason,
                     "hif8: 7.0 dB of the worst tensor is below 20 dB");
    tp_arena_clear(&arena);
}

Test(recommend, needs_finite_elements_and_keeps_infinities)
{
    struct tp_quant_plan plan = plan_of("hif8,e4m3,mxfp8_e5m2");
    struct tp_arena arena = {.blocks = NULL};
    struct tp_cast_group groups[] = {made(&plan, 2, INFINITY, 0),
                                      made(&plan, 1, INFINITY, 0),
                                      made(&plan, 0, 30, 0)};
    for (size_t i = 0; i < 3; i++)
        groups[i].infinite = 3;
    struct tp_recommendation advice = advise(&plan, groups, 3, &arena);
    cr_assert_str_eq(advice.advice, "hif8", "of these it alone has Inf");
    advice = advise(&plan, groups, 2, &arena);
    cr_assert_str_eq(advice.advice, "keep bfloat16");
    cr_assert_not_null(strstr(advice.reason, "3 infinite elements become"),
                       "%s", advice.reason);
    plan.casts[2].spec.nonfinite = TP_NONFINITE_ELEMENT;
    advice = advise(&plan, groups, 2, &arena);
    cr_assert_str_eq(advice.advice, "mxfp8_e5m2", "E5M2 elements have Inf");
    plan.casts[2].spec.number = tp_number_by_id("mxfp8_e4m3");
    advice = advise(&plan, groups, 2, &arena);
    cr_assert_str_eq(advice.advice, "keep bfloat16", "E4M3 elements do not");
    plan.casts[2].spec.nonfinite = TP_NONFINITE_TORCHAO;
    advice = advise(&plan, groups, 2, &arena);
    cr_assert_str_neq(advice.advice, "keep bfloat16", "the scale does");
    for (size_t i = 0; i < 3; i++) {
        groups[i].infinite = groups[i].finite = groups[i].summed = 0;
        groups[i].metrics.sqnr_db = groups[i].sqnr_worst_db = NAN;
    }
    advice = advise(&plan, groups, 3, &arena);
    cr_assert_str_eq(advice.advice, "keep bfloat16");
    cr_assert_str_eq(advice.reason, "no finite elements");
    tp_arena_clear(&arena);
}
