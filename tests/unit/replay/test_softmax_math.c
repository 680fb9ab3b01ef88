/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>

#include "replay/softmax_math.h"

enum { COUNT = 16 };

static void make_line(double *x)
{
    for (int i = 0; i < COUNT; i++)
        x[i] = (double)((i * 37) % 23) - 11.5;
}

/* Softmax step by step in float, in an order of its own. */
static void in_float(const double *x, double *p, double *log_p)
{
    float most = (float)x[0], sum = 0;
    for (int i = 1; i < COUNT; i++)
        most = fmaxf(most, (float)x[i]);
    for (int i = COUNT; i-- > 0;)
        sum += expf((float)x[i] - most);
    for (int i = 0; i < COUNT; i++) {
        p[i] = expf((float)x[i] - most) / sum;
        log_p[i] = (float)x[i] - most - logf(sum);
    }
}

Test(softmax_math, bounds_what_float_does)
{
    double x[COUNT], value[COUNT], bound[COUNT], p[COUNT], log_p[COUNT];
    const struct tp_softmax_line line = {x, NULL, COUNT, 1, ldexp(1, -24)};
    double sum = 0;
    make_line(x);
    in_float(x, p, log_p);
    tp_softmax_line(&line, value, bound);
    for (int i = 0; i < COUNT; i++) {
        sum += value[i];
        cr_assert_leq(fabs(p[i] - value[i]), bound[i]);
        cr_assert_leq(bound[i], 1e-4 * value[i]); /* and is no excuse       */
    }
    cr_assert_float_eq(sum, 1, 1e-14);
    tp_log_softmax_line(&line, value, bound);
    for (int i = 0; i < COUNT; i++) {
        cr_assert_leq(fabs(log_p[i] - value[i]), bound[i] + 4e-6);
        cr_assert_leq(bound[i], 1e-4);
    }
}

/* Scores that are off by d make probabilities off by as much, relative. */
Test(softmax_math, hands_on_the_bounds_of_scores)
{
    const double d = 0.001;
    double x[COUNT], off[COUNT], value[COUNT], bound[COUNT], other[COUNT],
        ignored[COUNT];
    make_line(x);
    for (int i = 0; i < COUNT; i++)
        off[i] = d;
    const struct tp_softmax_line line = {x, off, COUNT, 1, ldexp(1, -24)};
    tp_softmax_line(&line, value, bound);
    for (int i = 0; i < COUNT; i++)
        x[i] += i % 2 ? d : -d;
    const struct tp_softmax_line moved = {x, NULL, COUNT, 1, ldexp(1, -24)};
    tp_softmax_line(&moved, other, ignored);
    for (int i = 0; i < COUNT; i++)
        cr_assert_leq(fabs(other[i] - value[i]), bound[i] * (1 + 4 * d));
}

Test(softmax_math, masks_are_exact)
{
    double x[] = {1, -INFINITY, 2}, value[3], bound[3];
    const struct tp_softmax_line line = {x, NULL, 3, 1, ldexp(1, -24)};
    tp_softmax_line(&line, value, bound);
    cr_assert_eq(value[1], 0);
    cr_assert_eq(bound[1], 0);
    cr_assert_float_eq(value[0] + value[2], 1, 1e-15);
}

Test(softmax_math, of_nothing_but_masks_is_nan)
{
    double x[] = {-INFINITY, -INFINITY}, value[2], bound[2];
    const struct tp_softmax_line line = {x, NULL, 2, 1, ldexp(1, -24)};
    tp_softmax_line(&line, value, bound);
    cr_assert(isnan(value[0]) && isnan(value[1]));
}
