/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "stats/float_bins.h"
#include "tests/unit/support/float_samples.h"
#include "tests/unit/support/quant_truth.h"

enum { N = 20000 };

struct sample {
    float x[N];
    double amax;
    struct tp_float_bin_total totals[TP_FLOAT_BINS];
};

/* In two parts that are merged, unaligned. */
static struct sample *make(enum float_sample kind, uint64_t *state)
{
    struct sample *made = calloc(1, sizeof *made);
    struct tp_float_bin *bins = calloc(TP_FLOAT_BINS, sizeof *bins);
    unsigned char *codes = malloc(4 * N + 1);
    for (size_t i = 0; i < N; i++) {
        made->x[i] = float_sample(kind, state);
        if (isfinite(made->x[i]))
            made->amax = fmax(made->amax, fabsf(made->x[i]));
    }
    memcpy(codes + 1, made->x, 4 * N);
    for (size_t first = 0; first < N; first += N / 2) {
        const struct tp_span span = {TP_FLOAT32, codes + 1 + 4 * first, N / 2};
        tp_float_bins_add(&span, TP_ISA_UNKNOWN, bins);
        tp_float_bins_flush(bins, TP_FLOAT_BINS, made->totals);
    }
    for (size_t i = 0; i < TP_FLOAT_BINS; i++)
        cr_assert(bins[i].sum == 0 && bins[i].edge == 0);
    free(codes);
    free(bins);
    return made;
}

static struct tp_quant_error from_values(const struct sample *sample,
                                         const struct tp_quant_spec *spec)
{
    struct tp_quant_error error = {0};
    tp_quant_values(spec,
                    &(struct tp_quant_rows){.dtype = TP_FLOAT32,
                                            .tensor_amax = sample->amax,
                                            .codes = sample->x,
                                            .rows = 1,
                                            .row_length = N},
                    &error);
    return error;
}

static struct tp_quant_error truth_of(const struct sample *sample,
                                      const struct tp_quant_spec *spec)
{
    const int s = tp_quant_tensor_scale(spec, sample->amax);
    struct truth t = {.xx = 0};
    for (size_t i = 0; i < N; i++) {
        const double x = sample->x[i], y = ldexp(x, s);
        const double q = tp_number_round(spec->number, y);
        truth_add(&t, spec->number, x, y, q, ldexp(q, -s));
    }
    truth_close(&t);
    return t.e;
}

/* How many casts followed from the bins. */
static int check(const struct sample *sample, struct tp_quant_spec spec)
{
    struct tp_quant_error got = {0};
    if (!tp_float_bins_suit(&spec))
        return 0;
    if (!tp_float_bins_cast(sample->totals, &spec, sample->amax, &got)) {
        cr_assert_eq(got.values, 0);
        return 0;
    }
    struct tp_quant_error expected = from_values(sample, &spec);
    cr_assert_eq(got.tensor_scale, expected.tensor_scale);
    assert_near(&got, &expected, 1e-6, spec.number->id);
    /* what is narrower than 8 bits saturates, which tp_number_round does not */
    if (spec.rounding == TP_ROUND_DEFAULT && spec.number->bits >= 8) {
        expected = truth_of(sample, &spec);
        assert_near(&got, &expected, 1e-6, spec.number->id);
    }
    return 1;
}

static int check_all(const struct sample *sample)
{
    static const enum tp_rounding roundings[] = {
        TP_ROUND_DEFAULT, TP_ROUND_SATURATE, TP_ROUND_EVEN};
    int casts = 0;
    for (const struct tp_number *number = tp_number_formats; number->id;
         number++)
        for (int r = 0; r < (number->ties_away ? 3 : 2); r++)
            for (int scaled = TP_SCALED_NOT; scaled <= TP_SCALED_AMAX; scaled++)
                casts += check(sample, (struct tp_quant_spec){
                                           .number = number,
                                           .rounding = roundings[r],
                                           .scaled = scaled,
                                           .exponent = 7});
    return casts;
}

/* All elementwise formats but fp16, whose boundaries lie inside bins. */
enum { CASTS = 3 * (2 * 8 + 3) };

Test(float_bins, casts_are_those_of_the_values)
{
    uint64_t state = 88172645463325252u;
    for (enum float_sample kind = 0; kind < SAMPLE_TINY; kind++) {
        struct sample *sample = make(kind, &state);
        cr_assert_eq(check_all(sample), CASTS, "sample %d", (int)kind);
        free(sample);
    }
    struct sample *special = make(SAMPLE_SPECIAL, &state);
    cr_assert_eq(check_all(special), CASTS);
    free(special);
}

Test(float_bins, subnormals_that_do_not_become_0_are_left_to_others)
{
    uint64_t state = 362436069;
    struct sample *tiny = make(SAMPLE_TINY, &state);
    const int casts = check_all(tiny);
    /* all to 8 bits and 6, but none to bf16 */
    cr_assert_eq(casts, CASTS - 3 * 2, "%d", casts);
    free(tiny);
    struct sample *subnormal = make(SAMPLE_SUBNORMAL, &state);
    const struct tp_quant_spec amax = {.number = tp_number_by_id("e4m3"),
                                       .scaled = TP_SCALED_AMAX};
    struct tp_quant_error error = {0};
    cr_assert(!tp_float_bins_cast(subnormal->totals, &amax, subnormal->amax,
                                  &error));
    cr_assert_eq(error.values, 0);
    free(subnormal);
}

Test(float_bins, all_instruction_sets_count_the_same)
{
    static struct tp_float_bin expected[TP_FLOAT_BINS], got[TP_FLOAT_BINS];
    static float x[N];
    uint64_t state = 2463534242;
    for (enum float_sample kind = 0; kind < SAMPLES; kind++) {
        for (size_t i = 0; i < N; i++)
            x[i] = float_sample(kind, &state);
        const struct tp_span span = {TP_FLOAT32, x, N - kind};
        memset(expected, 0, sizeof expected);
        tp_float_bins_add(&span, TP_ISA_PORTABLE, expected);
        for (enum tp_isa isa = TP_ISA_AVX2; isa <= tp_isa_best(); isa++) {
            memset(got, 0, sizeof got);
            tp_float_bins_add(&span, isa, got);
            cr_assert_arr_eq(got, expected, sizeof got, "sample %d, %s",
                             (int)kind, tp_isa_name(isa));
        }
    }
}

Test(float_bins, a_spread_that_doubles_would_lose_is_kept)
{
    /* 2^20 times an ulp below 1, and once two ulps below */
    struct tp_float_bin_total *totals = calloc(TP_FLOAT_BINS, sizeof *totals);
    struct tp_float_bin *bins = calloc(TP_FLOAT_BINS, sizeof *bins);
    const float x[] = {0x1.fffffep-1F, 0x1.fffffcp-1F};
    const double u = 0x1p-24;
    const size_t n = 1 << 20;
    for (size_t i = 0; i <= n; i++)
        tp_float_bins_add(&(struct tp_span){TP_FLOAT32, &x[i == n], 1},
                          TP_ISA_UNKNOWN, bins);
    tp_float_bins_flush(bins, TP_FLOAT_BINS, totals);
    const struct tp_quant_spec spec = {.number = tp_number_by_id("e4m3")};
    struct tp_quant_error error = {0};
    cr_assert(tp_float_bins_cast(totals, &spec, x[0], &error));
    const double expected = ((double)n + 4) * u * u;
    cr_assert(fabs(error.sum_dd - expected) <= 1e-11 * expected, "%.17g",
              error.sum_dd / expected);
    cr_assert_eq(error.max_abs_error, 2 * u);
    free(bins);
    free(totals);
}
