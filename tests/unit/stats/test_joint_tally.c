/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/joint_tally.h"
#include "tests/unit/support/xorshift.h"

enum { ROWS = 40, LENGTH = 203, N = ROWS * LENGTH, FORMATS = 5 };

static const char *const formats[FORMATS] = {
    "mxfp4", "mxfp8_e4m3", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8_e5m2"};

static const enum tp_dtype dtypes[] = {TP_BFLOAT16, TP_FLOAT16,
                                       TP_FLOAT8_E4M3FN, TP_FLOAT8_E5M2};

/* Blocks of any magnitude with a spread; zeros, and whole blocks of these;
 * and, where wanted, NaN and infinities. */
static void make(enum tp_dtype dtype, bool special, uint64_t *state,
                 unsigned char *codes)
{
    const size_t size = tp_dtype_info(dtype)->size;
    const int fraction = tp_dtype_info(dtype)->significand - 1;
    uint64_t base = 0;
    for (size_t i = 0; i < N; i++) {
        if (i % 32 == 0)
            base = xorshift(state) % 16 == 0 ? 0 : xorshift(state);
        const uint64_t below = xorshift(state) % (9u << fraction);
        uint64_t code = base == 0 ? 0 : base - below;
        code = xorshift(state) % 32 == 0
                   ? 0
                   : code ^ xorshift(state) << (8 * size - 1);
        double x;
        memcpy(codes + i * size, &code, size);
        tp_dtype_decode(dtype, codes + i * size, 1, &x);
        if (!isfinite(x) && (!special || xorshift(state) % 4))
            memset(codes + i * size, 0, size);
    }
}

static void check(enum tp_dtype dtype, enum tp_scale_rule rule,
                  const unsigned char *codes)
{
    const size_t size = tp_dtype_info(dtype)->size;
    struct tp_tally_plan plans[FORMATS], *plan[FORMATS];
    struct tp_joint_tally *joint = calloc(1, sizeof *joint);
    struct tp_tally *wanted = calloc(FORMATS, sizeof *wanted);
    struct tp_tally *tallies = calloc(FORMATS, sizeof *tallies);
    const struct tp_joint_plans of = {plan, FORMATS};
    for (int i = 0; i < FORMATS; i++) {
        const struct tp_quant_spec spec = {
            .number = tp_number_by_id(formats[i]),
            .rule = rule,
            .nonfinite = (enum tp_nonfinite)(i % TP_NONFINITE_COUNT)};
        cr_assert(tp_joint_tally_applies(&spec, dtype));
        plan[i] = &plans[i];
        tp_tally_plan_init(plan[i], &spec, dtype);
        tp_tally_rows(plan[i], codes, ROWS, LENGTH, &wanted[i]);
    }
    for (size_t row = 0; row < ROWS; row += ROWS / 2) {
        const struct tp_block_rows rows = {.codes = codes + row * LENGTH * size,
                                           .rows = ROWS / 2,
                                           .row_length = LENGTH};
        tp_joint_tally_rows(&of, &rows, joint);
        tp_joint_tally_special(&of, &rows, tallies);
        tp_joint_tally_flush(&of, joint, tallies);
    }
    for (int i = 0; i < FORMATS; i++)
        cr_assert(memcmp(&tallies[i], &wanted[i], sizeof *wanted) == 0,
                  "%s of %s", formats[i], tp_dtype_info(dtype)->name);
    const unsigned char *bytes = (const unsigned char *)joint;
    for (size_t i = 0; i < sizeof *joint; i++)
        cr_assert_eq(bytes[i], 0);
    free(joint);
    free(wanted);
    free(tallies);
}

Test(joint_tally, one_count_is_the_tally_of_each_format)
{
    static uint16_t codes[N];
    uint64_t state = 4;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int i = 0; i < 4; i++) {
            make(dtypes[d], i % 2, &state, (unsigned char *)codes);
            check(dtypes[d], i / 2 ? TP_SCALE_CEIL : TP_SCALE_FLOOR,
                  (const unsigned char *)codes);
        }
}

/* Whose scale is by more than the exponent, or whose bytes are in no order. */
Test(joint_tally, other_rules_and_dtypes_are_left_out)
{
    struct tp_quant_spec spec = {.number = tp_number_by_id("mxfp4")};
    cr_assert(tp_joint_tally_applies(&spec, TP_BFLOAT16));
    cr_assert(!tp_joint_tally_applies(&spec, TP_FLOAT32));
    cr_assert(!tp_joint_tally_applies(&spec, TP_FLOAT8_E4M3FNUZ));
    cr_assert(!tp_joint_tally_applies(&spec, TP_FLOAT8_E8M0FNU));
    spec.rule = TP_SCALE_EVEN;
    cr_assert(!tp_joint_tally_applies(&spec, TP_BFLOAT16));
    spec.rule = TP_SCALE_RCEIL;
    cr_assert(!tp_joint_tally_applies(&spec, TP_BFLOAT16));
}
