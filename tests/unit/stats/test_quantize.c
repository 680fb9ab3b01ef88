/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stats/quantize.h"
#include "stats/tally.h"
#include "tests/unit/support/gaussian.h"
#include "tests/unit/support/quant_truth.h"
#include "tests/unit/support/xorshift.h"

/* --- data -------------------------------------------------------------- */

struct codes {
    enum tp_dtype dtype;
    size_t rows, length, n;
    unsigned char *code;
    double *value;
    double amax;
};

/* Random codes: a magnitude per 16, a spread, and the odd special. */
static struct codes random_codes(uint64_t *state, enum tp_dtype dtype,
                                 bool special)
{
    struct codes c = {.dtype = dtype};
    const int width = tp_dtype_info(dtype)->size;
    const int fraction = tp_dtype_info(dtype)->significand - 1;
    c.rows = 1 + xorshift(state) % 40;
    c.length = 1 + xorshift(state) % 300;
    c.n = c.rows * c.length;
    c.code = malloc(c.n * 8);
    c.value = malloc(c.n * sizeof *c.value);
    uint64_t base = 0;
    for (size_t i = 0; i < c.n; i++) {
        if (i % 16 == 0) {
            base = xorshift(state);
        }
        uint64_t code =
            base - xorshift(state) % ((xorshift(state) % 12 + 1) << fraction);
        switch (xorshift(state) % 64) {
        case 0:
            code = xorshift(state);
            break;
        case 1: code = 0; break;
        case 2:
            code = special ? (uint64_t)-1 << fraction : base;
            break;
        case 3:
            code = xorshift(state) & ((UINT64_C(2) << fraction) - 1);
            break;
        default: break;
        }
        code ^= xorshift(state) << (8 * width - 1);
        memcpy(c.code + i * (size_t)width, &code, (size_t)width);
    }
    tp_dtype_decode(dtype, c.code, c.n, c.value);
    for (size_t i = 0; i < c.n; i++) {
        if (!special && width >= 4 && !(fabs(c.value[i]) < 1e150)) {
            memset(c.code + i * (size_t)width, 0, (size_t)width);
            c.value[i] = 0;
        }
        if (isfinite(c.value[i])) {
            c.amax = fmax(c.amax, fabs(c.value[i]));
        }
    }
    return c;
}

static void codes_free(struct codes *c)
{
    free(c->code);
    free(c->value);
}

struct listed {
    struct tp_code_list list;
    double value[TP_CODES];
    uint64_t count[TP_CODES], scratch[TP_CODES];
};

static struct listed *list_of(const struct codes *c)
{
    struct listed *l = calloc(1, sizeof *l);
    struct tp_code_tables *tables = calloc(1, sizeof *tables);
    l->list.value = l->value;
    l->list.count = l->count;
    if (tp_dtype_info(c->dtype)->size == 1) {
        tp_codes_count8(tables, c->code, c->n);
    } else {
        tp_codes_count16(tables, c->code, c->n);
    }
    tp_codes_list_flush(c->dtype, tables, &l->list);
    free(tables);
    return l;
}

/* --- tests ------------------------------------------------------------- */

static const enum tp_dtype narrow[] = {
    TP_BFLOAT16, TP_FLOAT16, TP_FLOAT8_E4M3FN, TP_FLOAT8_E5M2,
    TP_FLOAT8_E5M2FNUZ};
static const enum tp_dtype wide[] = {TP_FLOAT32, TP_FLOAT64};

static struct truth truth_of_blocks(const struct tp_quant_spec *spec,
                                    const struct codes *c)
{
    struct truth t = {.xx = 0};
    for (size_t row = 0; row < c->rows; row++) {
        for (size_t i = 0; i < c->length; i += 32) {
            const size_t left = c->length - i;
            truth_block(&t, spec, c->value + row * c->length + i,
                        left < 32 ? left : 32);
        }
    }
    truth_close(&t);
    return t;
}

static void check_tally(const struct tp_quant_spec *spec,
                        const struct codes *c,
                        const struct tp_quant_error *expected)
{
    struct tp_tally_plan plan;
    struct tp_quant_error first = {0};
    struct listed *l = list_of(c);
    tp_tally_plan_init(&plan, spec, c->dtype);
    for (int isa = 0; isa < ISAS; isa++) {
        use_isa(isas[isa]);
        plan.blocks.isa = tp_isa_best();
        struct tp_tally *one = calloc(2, sizeof *one), *two = one + 1;
        struct tp_quant_error got = {0};
        /* in two halves, one of them flushed into the other */
        const size_t half = c->rows / 2;
        const size_t pitch = c->length * tp_dtype_info(c->dtype)->size;
        tp_tally_rows(&plan, c->code, half, c->length, one);
        tp_tally_rows(&plan, c->code + half * pitch, c->rows - half,
                      c->length, two);
        tp_tally_flush(two, one);
        tp_tally_finish(&plan, one, &l->list, l->scratch, &got);
        assert_equal(&got, expected, spec->number->id);
        if (isa == 0) {
            first = got;
        }
        cr_assert_eq(memcmp(&first, &got, sizeof got), 0, "%s", isas[isa]);
        struct tp_tally *empty = calloc(1, sizeof *empty);
        cr_assert_eq(memcmp(one, empty, sizeof *empty), 0);
        cr_assert_eq(memcmp(two, empty, sizeof *empty), 0);
        free(empty);
        free(one);
    }
    free(l);
}

static void check_blocks(const struct tp_quant_spec *spec,
                         const struct codes *c,
                         const struct tp_quant_error *expected)
{
    struct tp_quant_error first = {0};
    for (int isa = 0; isa < ISAS; isa++) {
        use_isa(isas[isa]);
        struct tp_quant_error got = {0};
        tp_quant_blocks(spec,
                        &(struct tp_quant_rows){.dtype = c->dtype,
                                                .tensor_amax = c->amax,
                                                .codes = c->code,
                                                .rows = c->rows,
                                                .row_length = c->length},
                        &got);
        if (expected) {
            assert_equal(&got, expected, spec->number->id);
        }
        if (isa == 0) {
            first = got;
        }
        cr_assert_eq(memcmp(&first, &got, sizeof got), 0, "%s", isas[isa]);
    }
}

Test(quantize, blocks_are_what_the_definitions_say)
{
    uint64_t state = 88172645463325252u;
    for (int round = 0; round < 160; round++) {
        const enum tp_dtype dtype = round % 4 == 3 ? wide[round / 4 % 2]
                                                   : narrow[round % 5];
        const struct tp_number *number = tp_number_formats + 10 + round % 5;
        cr_assert_eq(number->kind, TP_NUMBER_MX);
        const struct tp_quant_spec spec = {
            .number = number,
            .rule = (enum tp_scale_rule)(xorshift(&state) % 4),
            .nonfinite =
                (enum tp_nonfinite)(xorshift(&state) % TP_NONFINITE_COUNT),
        };
        struct codes c = random_codes(&state, dtype, dtype != TP_FLOAT64);
        const struct truth t = truth_of_blocks(&spec, &c);
        check_blocks(&spec, &c, &t.e);
        if (tp_tally_applies(&spec, dtype)) {
            check_tally(&spec, &c, &t.e);
        }
        codes_free(&c);
    }
}

/* 1e-30 beside 1e8 has a block scale of 0; infinity times 0 is NaN, but an
 * infinity in such a block is too large all the same. */
Test(quantize, infinities_overflow_where_the_scale_of_nvfp4_is_zero)
{
    float x[32] = {[0] = 1e8f, [16] = 1e-30f, [17] = INFINITY,
                   [18] = -INFINITY, [19] = -INFINITY, [20] = NAN};
    const struct tp_quant_spec spec = {.number = tp_number_by_id("nvfp4"),
                                       .nonfinite = TP_NONFINITE_ELEMENT};
    const struct tp_quant_rows rows = {.dtype = TP_FLOAT32,
                                       .tensor_amax = 1e8f,
                                       .codes = (unsigned char *)x,
                                       .rows = 1,
                                       .row_length = 32};
    for (int isa = 0; isa < ISAS; isa++) {
        use_isa(isas[isa]);
        struct tp_quant_error got = {0};
        tp_quant_blocks(&spec, &rows, &got);
        cr_assert_eq(got.upper_overflow, 1);
        cr_assert_eq(got.lower_overflow, 2);
        cr_assert_eq(got.saturated_blocks, 1);
        cr_assert_eq(got.underflow, 1);
        cr_assert_eq(got.nonfinite_in, 4);
        cr_assert_eq(got.nonfinite_out, 0);
        cr_assert_eq(got.summed, 28);
    }
}

Test(quantize, elements_are_what_the_definitions_say)
{
    uint64_t state = 521288629546311u;
    for (int round = 0; round < 120; round++) {
        const enum tp_dtype dtype = round % 4 == 3 ? wide[round / 4 % 2]
                                                   : narrow[round % 5];
        const int scale =
            round % 3 == 0 ? (int)(xorshift(&state) % 30) - 15 : 0;
        const struct tp_quant_spec spec = {
            .number = tp_number_formats + round % 10,
            .scaled = scale ? TP_SCALED_FIXED : TP_SCALED_NOT,
            .exponent = scale,
        };
        cr_assert_eq(spec.number->kind, TP_NUMBER_ELEMENT);
        struct codes c = random_codes(&state, dtype, dtype != TP_FLOAT64);
        struct truth t = {.xx = 0};
        for (size_t i = 0; i < c.n; i++) {
            const double y = ldexp(c.value[i], scale);
            double rounded = tp_number_round(spec.number, y);
            if (spec.number->bits < 8 && isinf(rounded)) {
                rounded = copysign(spec.number->max, y);
            }
            truth_add(&t, spec.number, c.value[i], y, rounded,
                      ldexp(rounded, -scale));
        }
        truth_close(&t);
        struct tp_quant_error first = {0};
        for (int isa = 0; isa < ISAS; isa++) {
            use_isa(isas[isa]);
            struct tp_quant_error got = {0};
            tp_quant_values(&spec,
                            &(struct tp_quant_rows){.dtype = dtype,
                                                    .codes = c.code,
                                                    .rows = 1,
                                                    .row_length = c.n},
                            &got);
            assert_equal(&got, &t.e, spec.number->id);
            if (isa == 0) {
                first = got;
            }
            cr_assert_eq(memcmp(&first, &got, sizeof got), 0);
            if (tp_dtype_info(dtype)->size <= 2) {
                struct listed *l = list_of(&c);
                struct tp_quant_error listed = {0};
                tp_quant_list(&spec, dtype, &l->list, &listed);
                assert_equal(&listed, &t.e, spec.number->id);
                free(l);
            }
        }
        codes_free(&c);
    }
}

/* --- published figures ------------------------------------------------- */

/* The same with 2^24 random samples is part of check-exhaustive. */
Test(quantize, sqnr_of_normal_values)
{
    struct gaussian direct = {.tolerance = 0.06, .samples = 1 << 16,
                              .rare = 1e-2};
    struct gaussian blocks = {.tolerance = 0.06, .samples = 1 << 18};
    use_isa("");
    cr_assert(gaussian_direct(&direct) && gaussian_blocks(&blocks));
    cr_assert_geq(direct.rows, 400);
    cr_assert_eq(direct.wrong, 0, "furthest %g dB", direct.furthest);
    cr_assert_eq(blocks.rows, 48);
    cr_assert_eq(blocks.wrong, 0, "furthest %g dB", blocks.furthest);
}
