/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_QUANT_PLAN_H
#define TP_TESTS_QUANT_PLAN_H

#include <criterion/criterion.h>

#include "tensors/cast_plan.h"

/* The plan to simulate these formats, with the usual limits. */
static struct tp_quant_plan plan_of(const char *formats)
{
    const struct tp_quant_options options = {
        .formats = formats, .min_sqnr = 20, .max_underflow = 0.01};
    struct tp_quant_plan plan;
    cr_assert_eq(tp_quant_plan_make(&options, &plan, NULL), TP_OK);
    return plan;
}

#endif
