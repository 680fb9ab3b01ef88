/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "data/dtype.h"
#include "stats/nvfp4_tally.h"
#include "tests/unit/support/quant_truth.h"
#include "tests/unit/support/xorshift.h"

enum { ROWS = 50, LENGTH = 205, N = ROWS * LENGTH };

struct codes {
    unsigned char code[2 * N];
    double amax;
};

/* A magnitude for each 16, a spread, zeros, and where wanted the odd NaN or
 * infinity. */
static void make(enum tp_dtype dtype, bool special, uint64_t *state,
                 struct codes *codes)
{
    const size_t size = tp_dtype_info(dtype)->size;
    const int fraction = tp_dtype_info(dtype)->significand - 1;
    uint64_t base = 0;
    codes->amax = 0;
    for (size_t i = 0; i < N; i++) {
        if (i % 16 == 0)
            base = xorshift(state);
        uint64_t code =
            base - xorshift(state) % ((xorshift(state) % 12 + 1) << fraction);
        const uint64_t draw = xorshift(state) % 64;
        code = draw == 0 ? 0 : code ^ xorshift(state) << (8 * size - 1);
        double x;
        memcpy(codes->code + i * size, &code, size);
        tp_dtype_decode(dtype, codes->code + i * size, 1, &x);
        if (!isfinite(x) && !special) {
            memset(codes->code + i * size, 0, size);
            x = 0;
        }
        if (isfinite(x))
            codes->amax = fmax(codes->amax, fabs(x));
    }
}

/* Of a tensor in two parts that are merged. */
static struct tp_quant_error tallied(const struct tp_nvfp4_plan *plan,
                                     const struct codes *codes)
{
    const size_t pitch = LENGTH * (size_t)plan->blocks.code_size;
    struct tp_nvfp4_tally *tally = calloc(1, sizeof *tally);
    struct tp_nvfp4_total *total = calloc(1, sizeof *total);
    struct tp_quant_error error = {0};
    for (size_t row = 0; row < ROWS; row += ROWS / 2) {
        tp_nvfp4_tally_rows(
            plan,
            &(struct tp_block_rows){.codes = codes->code + row * pitch,
                                    .rows = ROWS / 2,
                                    .row_length = LENGTH},
            tally, &error);
        tp_nvfp4_tally_flush(tally, total);
    }
    tp_nvfp4_tally_finish(plan, total, &error);
    const unsigned char *bytes = (const unsigned char *)tally;
    for (size_t i = 0; i < sizeof *tally; i++)
        cr_assert_eq(bytes[i], 0);
    free(total);
    free(tally);
    return error;
}

static void check(enum tp_dtype dtype, enum tp_nonfinite nonfinite,
                  bool special, uint64_t *state)
{
    const struct tp_quant_spec spec = {.number = tp_number_by_id("nvfp4"),
                                       .nonfinite = nonfinite};
    static struct codes codes;
    struct tp_nvfp4_plan plan;
    struct tp_quant_error expected = {0};
    make(dtype, special, state, &codes);
    cr_assert(tp_nvfp4_tally_applies(&spec, dtype));
    tp_nvfp4_plan_init(&plan, &spec, dtype, codes.amax);
    tp_quant_blocks(&spec,
                    &(struct tp_quant_rows){.dtype = dtype,
                                            .tensor_amax = codes.amax,
                                            .codes = codes.code,
                                            .rows = ROWS,
                                            .row_length = LENGTH},
                    &expected);
    const struct tp_quant_error got = tallied(&plan, &codes);
    assert_equal(&got, &expected, tp_dtype_info(dtype)->name);
}

Test(nvfp4_tally, casts_are_those_of_the_elements)
{
    static const enum tp_dtype dtypes[] = {TP_BFLOAT16, TP_FLOAT16,
                                           TP_FLOAT8_E4M3FN, TP_FLOAT8_E5M2,
                                           TP_FLOAT8_E5M2FNUZ};
    uint64_t state = 88172645463325252u;
    for (int round = 0; round < 8; round++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (int policy = 0; policy < TP_NONFINITE_COUNT; policy++)
                check(dtypes[d], (enum tp_nonfinite)policy, round % 2, &state);
}

Test(nvfp4_tally, wider_values_and_other_formats_are_not_tallied)
{
    const struct tp_quant_spec nvfp4 = {.number = tp_number_by_id("nvfp4")};
    const struct tp_quant_spec mx = {.number = tp_number_by_id("mxfp4")};
    cr_assert(!tp_nvfp4_tally_applies(&nvfp4, TP_FLOAT32));
    cr_assert(!tp_nvfp4_tally_applies(&nvfp4, TP_INT8));
    cr_assert(!tp_nvfp4_tally_applies(&mx, TP_BFLOAT16));
}
