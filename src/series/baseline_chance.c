/* SPDX-License-Identifier: MIT */
/*
 * Probabilities of noise with heavy tails. Student's t with a whole number of
 * degrees of freedom is a finite series in atan(z / sqrt(n)), exact and short
 * (Abramowitz and Stegun 26.7.3 and 26.7.4). Where 1 - P has no digits left
 * the density integrated by parts is used, so that logarithms of 10^-50 are
 * right, too; one degree is Cauchy's distribution, which needs neither. The
 * quantile is found by bisection, and Fisher's combination is a finite sum,
 * since its degrees of freedom are even.
 *
 * The incomplete beta function would do for any n, but needs a continued
 * fraction that converges slowly in the middle. Cost: O(n) for n degrees, at
 * most 30.
 */
#include "series/baseline_chance.h"

#include <math.h>
#include <stdbool.h>

static const double HALF_PI = 1.57079632679489662;

/* P(|T| <= z), by the finite series in the angle atan(z / sqrt(n)). */
static double inside(int n, double z)
{
    double angle = atan(z / sqrt(n)), s = sin(angle), c = cos(angle);
    bool odd = n % 2 != 0;
    double term = odd ? s * c : s, sum = odd ? angle : 0;
    for (int k = odd ? 1 : 0; k <= n - 2; k += 2) {
        sum += term;
        term *= c * c * (k + 1) / (k + 2);
    }
    return odd ? sum / HALF_PI : sum;
}

/* log of P(|T| > z). Far out, where 1 - inside has no digits left, the
 * density integrated by parts, which is too much by a part of 2 / n at most. */
double tp_chance_log(int freedom, double z)
{
    if (freedom == 1)
        return log(atan2(1, z) / HALF_PI);
    double n = freedom, outside = 1 - inside(freedom, z);
    if (outside > 1e-9)
        return log(outside);
    double density =
        lgamma((n + 1) / 2) - lgamma(n / 2) - log(2 * HALF_PI * n) / 2;
    return log(2) + density + log(n / ((n - 1) * z)) -
           (n - 1) / 2 * log1p(z * z / n);
}

/* The z whose log_tail is `limit`. */
double tp_chance_limit(int freedom, double limit)
{
    double low = 0, high = 1;
    while (tp_chance_log(freedom, high) > limit)
        high *= 2;
    for (int i = 0; i < 40; i++) {
        double middle = (low + high) / 2;
        if (tp_chance_log(freedom, middle) > limit)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* log of the probability that a product of m uniform numbers is below
 * exp(sum): R. A. Fisher's combination. */
double tp_chance_combined(double sum, size_t m)
{
    double terms = 1, term = 1;
    for (size_t k = 1; k < m; k++) {
        term *= -sum / (double)k;
        terms += term;
    }
    return sum + log(terms);
}
