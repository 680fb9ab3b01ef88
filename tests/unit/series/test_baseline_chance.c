/* SPDX-License-Identifier: MIT */
#include "series/baseline_chance.h"

#include <criterion/criterion.h>
#include <math.h>

/* Two-sided quantiles of Student's t as tables print them. */
Test(baseline_chance, tails_are_those_of_the_tables)
{
    static const struct {
        int freedom;
        double p, z;
    } table[] = {
        {5, 0.05, 2.5706},  {5, 0.001, 6.8688},  {7, 0.05, 2.3646},
        {7, 0.001, 5.4079}, {10, 0.05, 2.2281},  {10, 0.001, 4.5869},
        {30, 0.05, 2.0423}, {30, 0.001, 3.6460},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double p = exp(tp_chance_log(table[i].freedom, table[i].z));
        cr_expect_float_eq(p / table[i].p, 1, 3e-4, "row %zu: %g", i, p);
        double z = tp_chance_limit(table[i].freedom, log(table[i].p));
        cr_expect_float_eq(z, table[i].z, 2e-4, "row %zu: %g", i, z);
    }
    /* one degree is Cauchy's distribution, to the end of its tail */
    for (double z = 1e-3; z < 1e300; z *= 10) {
        double p = z > 1e3 ? 1 / z / acos(0) : 1 - atan(z) / acos(0);
        cr_expect_float_eq(exp(tp_chance_log(1, z)) / p, 1, 1e-6, "%g", z);
    }
    cr_expect_eq(exp(tp_chance_log(1, INFINITY)), 0);
    /* both ways to compute it meet */
    for (double z = 5; z < 1e6; z *= 1.05) {
        double here = tp_chance_log(30, z);
        double next = tp_chance_log(30, z * 1.05);
        cr_expect(next < here && here - next < 1.6, "%g", z);
    }
    /* two even numbers: P(ab < q) = q - q log q */
    cr_expect_float_eq(exp(tp_chance_combined(log(0.1), 2)),
                       0.1 - 0.1 * log(0.1), 1e-12);
}
