/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "stats/values.h"
#include "tests/unit/support/xorshift.h"

enum { N = 9000 };

enum kind { SPREAD, BITS, TINY, CONSTANT, ZEROS, NEGATIVE_ZERO, KINDS };

/* A code of 4 or 8 bytes at its end. */
static void put(unsigned char *codes, size_t i, bool wide, double x)
{
    const float narrow = (float)x;
    if (wide)
        memcpy(codes + 8 * i, &x, 8);
    else
        memcpy(codes + 4 * i, &narrow, 4);
}

static double draw(enum kind kind, uint64_t *state)
{
    const double x = (double)(int64_t)xorshift(state);
    switch (kind) {
    case SPREAD:
        return ldexp(x, -60 - (int)(xorshift(state) % 20));
    case TINY:
        return ldexp(x, -63 - 140);
    case CONSTANT:
        return -1.25;
    case ZEROS:
        return 0;
    case NEGATIVE_ZERO:
        return x < 0 ? -0.0 : 0;
    default:
        return x;
    }
}

/* Each eighth block of BITS has what a random code is: NaN, infinities, and
 * of doubles magnitudes that need a scale. */
static void fill(unsigned char *codes, bool wide, enum kind kind,
                 uint64_t *state)
{
    for (size_t i = 0; i < N; i++) {
        const uint64_t bits = xorshift(state);
        put(codes, i, wide, draw(kind, state));
        if (kind == BITS && i / TP_VALUE_BLOCK % 8 == 3)
            memcpy(codes + i * (wide ? 8 : 4), &bits, wide ? 8 : 4);
    }
}

static void add(const struct tp_span *span, enum tp_isa isa, const char *target,
                struct tp_values *values, uint32_t *bins)
{
    const struct tp_judge judge =
        tp_judge_of(target ? tp_number_by_id(target) : NULL);
    memset(values, 0, sizeof *values);
    memset(bins, 0, TP_SUMMARY_BINS * sizeof *bins);
    tp_values_add(span, &judge, isa, values, bins);
}

Test(values, several_blocks_at_once_are_those_one_by_one_to_the_bit)
{
    const char *const targets[] = {NULL, "e4m3", "fp16"};
    static unsigned char codes[8 * N + 8];
    static uint32_t wanted_bins[TP_SUMMARY_BINS], bins[TP_SUMMARY_BINS];
    const enum tp_isa best = tp_isa_best();
    uint64_t state = 19;
    for (int i = 0; i < 2 * KINDS * 3; i++) {
        const bool wide = i % 2;
        struct tp_values wanted, values;
        fill(codes, wide, (enum kind)(i / 2 % KINDS), &state);
        const size_t n = N - xorshift(&state) % 600;
        const struct tp_span span = {wide ? TP_FLOAT64 : TP_FLOAT32, codes, n};
        const char *target = targets[i / 2 / KINDS];
        add(&span, TP_ISA_PORTABLE, target, &wanted, wanted_bins);
        for (int isa = TP_ISA_AVX2; isa <= (int)best; isa++) {
            add(&span, (enum tp_isa)isa, target, &values, bins);
            cr_assert(memcmp(&values, &wanted, sizeof values) == 0,
                      "%s, case %d", tp_isa_name((enum tp_isa)isa), i);
            cr_assert(memcmp(bins, wanted_bins, sizeof bins) == 0);
        }
    }
}
