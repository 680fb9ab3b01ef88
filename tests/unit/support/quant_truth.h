/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_QUANT_TRUTH_H
#define TP_TESTS_QUANT_TRUTH_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "stats/quantize.h"

/* Casts by their definitions: one value at a time, sums in long double. */

static const char *const isas[] = {"portable", "avx2", "avx512"};

enum { ISAS = sizeof isas / sizeof *isas };

static inline void use_isa(const char *name)
{
    setenv("TPROF_ISA", name, 1);
}

struct truth {
    struct tp_quant_error e;
    long double xx, dd, xq, qq, relative;
};

/* Counts x, which becomes q; y is what the element format is given. */
static inline void truth_add(struct truth *t, const struct tp_number *number,
                      double x, double y, double rounded, double q)
{
    struct tp_quant_error *e = &t->e;
    struct tp_thresholds limit;
    tp_number_thresholds(number, &limit);
    const double a = fabs(y);
    const bool over = a > limit.overflow ||
                      (a == limit.overflow && limit.overflow_at);
    e->values++;
    e->upper_overflow += over && x > 0;
    e->lower_overflow += over && x < 0;
    if (!isfinite(x)) {
        e->nonfinite_in++;
        return;
    }
    e->underflow += x != 0 && rounded == 0;
    e->subnormal += x != 0 && fabs(rounded) < number->min_normal;
    if (!isfinite(q)) {
        e->nonfinite_out++;
        return;
    }
    const double d = fabs(x - q);
    e->summed++;
    e->nonzero += x != 0;
    e->max_abs_error = fmax(e->max_abs_error, d);
    t->xx += (long double)x * x;
    t->dd += (long double)d * d;
    t->xq += (long double)x * q;
    t->qq += (long double)q * q;
    t->relative += x != 0 ? (long double)d / fabs(x) : 0;
}

/* An infinity has the exponent of 2^128, of which rceil takes what there is. */
static inline int scale_of(const struct tp_quant_spec *spec, double amax)
{
    int top;
    if (!isinf(amax))
        return tp_scale_exponent(spec->number, spec->rule, amax);
    frexp(spec->number->max, &top);
    return spec->rule == TP_SCALE_RCEIL ? 127 : 129 - top;
}

static inline void truth_block(struct truth *t,
                               const struct tp_quant_spec *spec,
                               const double *x, size_t n)
{
    const bool torchao = spec->nonfinite == TP_NONFINITE_TORCHAO;
    double amax = 0;
    bool special = false, nan = false, over = false;
    for (size_t i = 0; i < n; i++) {
        special |= !isfinite(x[i]);
        nan |= isnan(x[i]);
        if (isfinite(x[i]) || (torchao && isinf(x[i])))
            amax = fmax(amax, fabs(x[i]));
    }
    const int k = scale_of(spec, amax);
    const bool lost =
        torchao ? nan : special && spec->nonfinite == TP_NONFINITE_BLOCK;
    for (size_t i = 0; i < n; i++) {
        const double y = ldexp(x[i], -k);
        const double rounded = tp_number_round(spec->number, y);
        over |= fabs(y) > spec->number->max;
        truth_add(t, spec->number, x[i], y, rounded,
                  lost ? NAN : ldexp(rounded, k));
    }
    t->e.blocks++;
    t->e.saturated_blocks += over;
    t->e.nonfinite_blocks += special;
    t->e.zero_blocks += amax == 0;
    if (amax > 0) {
        const int byte = k + 127;
        t->e.scale_least = (uint16_t)fmax(t->e.scale_least, 256 - byte);
        t->e.scale_largest = (uint16_t)fmax(t->e.scale_largest, byte + 1);
    }
}

static inline void truth_close(struct truth *t)
{
    t->e.sum_xx = (double)t->xx;
    t->e.sum_dd = (double)t->dd;
    t->e.sum_xq = (double)t->xq;
    t->e.sum_qq = (double)t->qq;
    t->e.sum_relative = (double)t->relative;
}

static inline bool near(double got, double expected)
{
    return fabs(got - expected) <= 1e-12 * fabs(expected);
}

/* Counts are equal, sums too but for rounding, and the sum of relative errors
 * to `relative`. */
static inline void assert_near(const struct tp_quant_error *got,
                               const struct tp_quant_error *expected,
                               double relative, const char *what)
{
#define SAME(field)                                                         \
    cr_assert_eq(got->field, expected->field, #field " of %s: %lu, not %lu", \
                 what, (unsigned long)got->field,                           \
                 (unsigned long)expected->field)
    SAME(values);
    SAME(nonfinite_in);
    SAME(nonfinite_out);
    SAME(upper_overflow);
    SAME(lower_overflow);
    SAME(underflow);
    SAME(subnormal);
    SAME(summed);
    SAME(nonzero);
    SAME(blocks);
    SAME(saturated_blocks);
    SAME(nonfinite_blocks);
    SAME(zero_blocks);
    SAME(scale_least);
    SAME(scale_largest);
#undef SAME
#define NEAR(field)                                                         \
    cr_assert(near(got->field, expected->field),                            \
              #field " of %s: %.17g, not %.17g", what, got->field,          \
              expected->field)
    NEAR(sum_xx);
    NEAR(sum_dd);
    NEAR(sum_xq);
    NEAR(sum_qq);
    NEAR(max_abs_error);
#undef NEAR
    cr_assert(fabs(got->sum_relative - expected->sum_relative) <=
                  relative * expected->sum_relative,
              "sum_relative of %s: %.17g, not %.17g", what, got->sum_relative,
              expected->sum_relative);
}

static inline void assert_equal(const struct tp_quant_error *got,
                                const struct tp_quant_error *expected,
                                const char *what)
{
    assert_near(got, expected, 1e-12, what);
}

#endif
