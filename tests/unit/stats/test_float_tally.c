/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "stats/float_tally.h"
#include "tests/unit/support/float_samples.h"
#include "tests/unit/support/quant_truth.h"

enum { ROWS = 60, LENGTH = 300, N = ROWS * LENGTH };

struct sample {
    float x[N];
    struct tp_float_bin_total totals[TP_FLOAT_BINS];
};

/* The magnitude of a row is its own. */
static struct sample *make(enum float_sample kind, uint64_t *state)
{
    struct sample *made = calloc(1, sizeof *made);
    struct tp_float_bin *bins = calloc(TP_FLOAT_BINS, sizeof *bins);
    for (size_t i = 0; i < N; i++)
        made->x[i] = ldexpf(float_sample(kind, state),
                            kind == SAMPLE_WIDE ? (int)(i / LENGTH) : 0);
    tp_float_bins_add(&(struct tp_span){TP_FLOAT32, made->x, N},
                      TP_ISA_UNKNOWN, bins);
    tp_float_bins_flush(bins, TP_FLOAT_BINS, made->totals);
    free(bins);
    return made;
}

static struct tp_quant_error truth_of(const struct tp_quant_spec *spec,
                                      const struct sample *sample)
{
    struct truth t = {.xx = 0};
    double x[32];
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < LENGTH; i += 32) {
            const size_t n = LENGTH - i < 32 ? LENGTH - i : 32;
            for (size_t j = 0; j < n; j++)
                x[j] = sample->x[row * LENGTH + i + j];
            truth_block(&t, spec, x, n);
        }
    truth_close(&t);
    return t.e;
}

/* Tallied by each instruction set, in two halves that are merged; false:
 * tallies cannot tell. */
static bool check(const struct tp_quant_spec *spec, const struct sample *sample)
{
    struct tp_tally_plan plan;
    struct tp_float_tally *tally = calloc(1, sizeof *tally);
    struct tp_quant_error first = {0};
    bool told = true;
    tp_tally_plan_init(&plan, spec, TP_FLOAT32);
    for (int isa = 0; isa < ISAS && told; isa++) {
        use_isa(isas[isa]);
        plan.blocks.isa = tp_isa_best();
        struct tp_float_tally_total *total = calloc(1, sizeof *total);
        struct tp_quant_error got = {0};
        for (size_t row = 0; row < ROWS; row += ROWS / 2) {
            tp_float_tally_rows(&plan, sample->x + row * LENGTH, ROWS / 2,
                                LENGTH, tally);
            tp_float_tally_flush(tally, total);
        }
        told = tp_float_tally_finish(&plan, total, sample->totals, &got);
        cr_assert(told || got.values == 0);
        if (isa == 0)
            first = got;
        cr_assert_eq(memcmp(&first, &got, sizeof got), 0, "%s", isas[isa]);
        free(total);
    }
    if (told) {
        const struct tp_quant_error expected = truth_of(spec, sample);
        assert_near(&first, &expected, 1e-6, spec->number->id);
    }
    const unsigned char *bytes = (const unsigned char *)tally;
    for (size_t i = 0; i < sizeof *tally; i++)
        cr_assert_eq(bytes[i], 0);
    free(tally);
    return told;
}

/* How many of all MX casts were told. */
static int check_all(const struct sample *sample, enum tp_nonfinite nonfinite)
{
    int told = 0;
    for (const struct tp_number *number = tp_number_formats; number->id;
         number++)
        for (int rule = 0; rule < TP_SCALE_COUNT; rule++)
            if (number->kind == TP_NUMBER_MX)
                told += check(&(struct tp_quant_spec){.number = number,
                                                      .rule = rule,
                                                      .nonfinite = nonfinite},
                              sample);
    return told;
}

enum { CASTS = 5 * TP_SCALE_COUNT };

Test(float_tally, casts_to_blocks_are_what_the_definitions_say)
{
    uint64_t state = 88172645463325252u;
    for (enum float_sample kind = 0; kind < SAMPLE_TINY; kind++) {
        struct sample *sample = make(kind, &state);
        cr_assert_eq(check_all(sample, TP_NONFINITE_BLOCK), CASTS,
                     "sample %d", (int)kind);
        free(sample);
    }
}

Test(float_tally, blocks_that_become_nan_are_left_to_others)
{
    uint64_t state = 362436069;
    struct sample *sample = make(SAMPLE_SPECIAL, &state);
    cr_assert_eq(check_all(sample, TP_NONFINITE_BLOCK), 0);
    cr_assert_eq(check_all(sample, TP_NONFINITE_ELEMENT), CASTS);
    cr_assert_eq(check_all(sample, TP_NONFINITE_TORCHAO), 0);
    free(sample);
}

Test(float_tally, subnormals_are_told_or_left_to_others)
{
    uint64_t state = 521288629;
    struct sample *tiny = make(SAMPLE_TINY, &state);
    struct sample *subnormal = make(SAMPLE_SUBNORMAL, &state);
    cr_assert_eq(check_all(tiny, TP_NONFINITE_BLOCK), CASTS);
    cr_assert_lt(check_all(subnormal, TP_NONFINITE_BLOCK), CASTS);
    free(subnormal);
    free(tiny);
}
