/* SPDX-License-Identifier: MIT */
/* Noise has the moments that its name says. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/support/noise.h"

enum { MANY = 200000 };

/* Mean, standard deviation, share of zeros and how neighbours hang
 * together; of logarithms where there are no zeros. */
struct moments {
    double mean, std, zeros, next;
};

static struct moments moments_of(enum noise_kind kind, bool logs)
{
    struct dice dice = dice_of((uint64_t)kind);
    double *x = calloc(MANY, sizeof *x), sum = 0, squares = 0, next = 0;
    size_t zeros = 0;
    cr_assert_not_null(x);
    noise_fill(&dice, kind, MANY, x);
    for (size_t i = 0; i < MANY; i++) {
        cr_assert(x[i] >= 0 && isfinite(x[i]));
        zeros += x[i] == 0;
        x[i] = logs ? log(x[i]) : x[i];
        sum += x[i] / MANY;
    }
    for (size_t i = 0; i < MANY; i++) {
        squares += (x[i] - sum) * (x[i] - sum) / MANY;
        next += i ? (x[i] - sum) * (x[i - 1] - sum) / MANY : 0;
    }
    free(x);
    return (struct moments){sum, sqrt(squares), (double)zeros / MANY,
                            next / squares};
}

Test(noise, has_its_moments)
{
    static const struct {
        enum noise_kind kind;
        bool logs;
        double mean, std, zeros, next;
    } rows[] = {
        {NOISE_NORMAL, false, 1, 0.238, 0, 0},
        {NOISE_LOGNORMAL, true, 0, 0.3, 0, 0},
        {NOISE_LOGNORMAL_WIDE, true, 0, 1, 0, 0},
        {NOISE_STUDENT, true, 0, 0.0693, 0, 0},
        {NOISE_AR, true, 0, 0.1386, 0, 0.9},
        {NOISE_COUNTS, false, 2. / 4096, 1.4142 / 4096, 0.1353, 0},
        {NOISE_QUANTISED, false, 1, 0.0722, 0, 0},
        {NOISE_ZEROS, false, 0.523, 0.570, 0.5, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct moments m = moments_of(rows[i].kind, rows[i].logs);
        const char *name = noise_name(rows[i].kind);
        cr_expect_float_eq(m.mean, rows[i].mean, 0.03 * rows[i].std, "%s: %g",
                           name, m.mean);
        cr_expect_float_eq(m.std / rows[i].std, 1, 0.02, "%s: %g", name, m.std);
        cr_expect_float_eq(m.zeros, rows[i].zeros, 0.005, "%s", name);
        cr_expect_float_eq(m.next, rows[i].next, 0.01, "%s: %g", name, m.next);
    }
}

Test(noise, has_its_trends)
{
    double x[900];
    struct dice dice = dice_of(1);
    noise_fill(&dice, NOISE_DECAY, 900, x);
    cr_expect_float_eq(x[0], 1, 0.3);
    cr_expect_float_eq(x[899] * 30, 1, 0.3);
    noise_fill(&dice, NOISE_STEPS, 900, x);
    cr_expect_float_eq(x[0], 1, 0.06);
    cr_expect_float_eq(x[300], 1.3, 0.06);
    cr_expect_float_eq(x[899], 1.333, 0.06);
}

Test(noise, dice_are_fair)
{
    struct dice dice = dice_of(7);
    double beyond = 0, poisson = 0, binomial = 0;
    for (int i = 0; i < MANY; i++) {
        /* 2.5706 of Student's t with 5 degrees, scaled to deviation 1 */
        beyond += fabs(dice_student(&dice, 5)) > 2.5706 / sqrt(5. / 3);
        poisson += (double)dice_poisson(&dice, 3);
        binomial += (double)dice_binomial(&dice, 4000, 0.001);
    }
    cr_expect_float_eq(beyond / MANY, 0.05, 0.003, "%g", beyond / MANY);
    cr_expect_float_eq(poisson / MANY, 3, 0.02, "%g", poisson / MANY);
    cr_expect_float_eq(binomial / MANY, 4, 0.02, "%g", binomial / MANY);
}
