/* SPDX-License-Identifier: MIT */
#include "replay/point_math.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "replay/array.h"

static const double root_half = 0.70710678118654752440; /* 1 / sqrt(2) */
static const double two_over_root_pi = 1.12837916709551257390;

/* A result that `n` roundings of its own size lead to. */
static double rounded(double value, double n, double *terms)
{
    *terms = n * fabs(value);
    return value;
}

static double function(double value, double *terms)
{
    return rounded(value, TP_FUNCTION_ROUNDINGS, terms);
}

static double exact(double value, double *terms)
{
    *terms = 0;
    return value;
}

/* torch hands NaN on, of either side. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static double smaller(double a, double b)
{
    return isnan(a) || a < b ? a : b;
}

/* --- one element ---------------------------------------------------------- */

TP_POINT(same)
{
    return exact(x[0], terms);
}
TP_POINT(negative)
{
    return exact(-x[0], terms);
}
TP_POINT(abs)
{
    return exact(fabs(x[0]), terms);
}
TP_POINT(sign)
{
    return exact((x[0] > 0) - (x[0] < 0), terms);
}
TP_POINT(square)
{
    return exact(x[0] * x[0], terms);
}
TP_POINT(sqrt)
{
    return rounded(sqrt(x[0]), 2, terms);
}
TP_POINT(rsqrt)
{
    return rounded(1 / sqrt(x[0]), 4, terms);
}
TP_POINT(exp)
{
    return function(exp(x[0]), terms);
}
TP_POINT(exp2)
{
    return function(exp2(x[0]), terms);
}
TP_POINT(expm1)
{
    return function(expm1(x[0]), terms);
}
TP_POINT(log)
{
    return function(log(x[0]), terms);
}
TP_POINT(log2)
{
    return function(log2(x[0]), terms);
}
TP_POINT(log10)
{
    return function(log10(x[0]), terms);
}
TP_POINT(log1p)
{
    return function(log1p(x[0]), terms);
}
TP_POINT(tan)
{
    return function(tan(x[0]), terms);
}
TP_POINT(tanh)
{
    return function(tanh(x[0]), terms);
}
TP_POINT(erf)
{
    /* as 1 - p(x) exp(-x^2): as far off near 0 as near 1 */
    const double value = function(erf(x[0]), terms);
    *terms += 2;
    return value;
}
TP_POINT(relu)
{
    return exact(larger(x[0], 0), terms);
}
TP_POINT(reciprocal)
{
    return rounded(1 / x[0], 2, terms);
}
TP_POINT(floor)
{
    return exact(floor(x[0]), terms);
}
TP_POINT(ceil)
{
    return exact(ceil(x[0]), terms);
}
TP_POINT(trunc)
{
    return exact(trunc(x[0]), terms);
}
TP_POINT(not )
{
    return exact(x[0] == 0, terms);
}
TP_POINT(isnan)
{
    return exact(isnan(x[0]) != 0, terms);
}
TP_POINT(isinf)
{
    return exact(isinf(x[0]) != 0, terms);
}
TP_POINT(isfinite)
{
    return exact(isfinite(x[0]) != 0, terms);
}

TP_POINT(isposinf)
{
    return exact(x[0] == INFINITY, terms);
}

TP_POINT(isneginf)
{
    return exact(x[0] == -INFINITY, terms);
}

TP_POINT(signbit)
{
    return exact(signbit(x[0]) != 0, terms);
}

TP_POINT(asin)
{
    return function(asin(x[0]), terms);
}
TP_POINT(acos)
{
    return function(acos(x[0]), terms);
}
TP_POINT(atan)
{
    return function(atan(x[0]), terms);
}
TP_POINT(sinh)
{
    return function(sinh(x[0]), terms);
}
TP_POINT(cosh)
{
    return function(cosh(x[0]), terms);
}
TP_POINT(asinh)
{
    return function(asinh(x[0]), terms);
}
TP_POINT(acosh)
{
    return function(acosh(x[0]), terms);
}
TP_POINT(atanh)
{
    return function(atanh(x[0]), terms);
}
TP_POINT(erfc)
{
    return function(erfc(x[0]), terms);
}

/* Half to even, as torch. */
TP_POINT(round)
{
    return exact(nearbyint(x[0]), terms);
}
TP_POINT(frac)
{
    return exact(x[0] - trunc(x[0]), terms);
}
TP_POINT(flipped)
{
    return exact((double)~tp_value_integer(x[0]), terms);
}

/* Near zeros of sin and cos the reduction of the argument is absolute. */
TP_POINT(sin)
{
    *terms = TP_FUNCTION_ROUNDINGS * fmin(1, fabs(x[0]));
    return sin(x[0]);
}

TP_POINT(cos)
{
    *terms = TP_FUNCTION_ROUNDINGS;
    return cos(x[0]);
}

/* 1 / (1 + e^-x): the function, an addition, a division; kernels with exp2
 * round x log2(e), too, which the share of e^-x weakens. */
static double sigmoid_roundings(double x)
{
    const double share = x > 0 ? 1 / (1 + exp(x)) : 1;
    return 4 + share * (TP_FUNCTION_ROUNDINGS + 2 * fabs(x));
}

TP_POINT(sigmoid)
{
    return rounded(1 / (1 + exp(-x[0])), sigmoid_roundings(x[0]), terms);
}

TP_POINT(silu)
{
    return rounded(x[0] / (1 + exp(-x[0])), 2 + sigmoid_roundings(x[0]), terms);
}

/* x/2 (1 + erf(x / sqrt 2)): 1 + erf cancels for negative x, and the argument
 * is rounded twice. erf itself, a polynomial in kernels, is as far off as one
 * near 1, also where it is small: 15 % of torch's are over 4 ulp off. */
TP_POINT(gelu)
{
    const double z = x[0] * root_half, e = erf(z);
    const double slope = two_over_root_pi * exp(-z * z);
    *terms = 0.5 * fabs(x[0]) *
             ((TP_FUNCTION_ROUNDINGS + 1) + 4 + 3 * fabs(z) * slope);
    return 0.5 * x[0] * (1 + e);
}

/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): the argument is rounded six
 * times. */
TP_POINT(gelu_tanh)
{
    const double z =
        two_over_root_pi * root_half * (x[0] + 0.044715 * x[0] * x[0] * x[0]);
    const double t = tanh(z);
    *terms =
        0.5 * fabs(x[0]) *
        ((TP_FUNCTION_ROUNDINGS + 1) * fabs(t) + 4 + 7 * fabs(z) * (1 - t * t));
    return 0.5 * x[0] * (1 + t);
}

/* --- one, with parameters ------------------------------------------------- */

TP_POINT(leaky_relu)
{
    return x[0] > 0 ? exact(x[0], terms) : rounded(x[0] * x[1], 1, terms);
}

/* alpha (e^x - 1), of selu times its scale; of celu with x / alpha. */
TP_POINT(elu)
{
    return x[0] > 0
               ? exact(x[0], terms)
               : rounded(x[1] * expm1(x[0]), TP_FUNCTION_ROUNDINGS + 1, terms);
}

TP_POINT(selu)
{
    return x[0] > 0 ? rounded(TP_SELU_SCALE * x[0], 1, terms)
                    : rounded(TP_SELU_SCALE * TP_SELU_ALPHA * expm1(x[0]),
                              TP_FUNCTION_ROUNDINGS + 2, terms);
}

/* The quotient is rounded, which e^z passes on. */
TP_POINT(celu)
{
    const double z = x[0] / x[1];
    if (x[0] > 0)
        return exact(x[0], terms);
    *terms = fabs(x[1]) * ((TP_FUNCTION_ROUNDINGS + 1) * fabs(expm1(z)) +
                           (z == 0 ? 0 : 2 * fabs(z) * exp(z)));
    return x[1] * expm1(z);
}

/* log(1 + e^(beta x)) / beta, and x beyond the threshold. */
TP_POINT(softplus)
{
    const double z = x[0] * x[1];
    if (z > x[2])
        return exact(x[0], terms);
    const double value = log1p(exp(z)) / x[1];
    const double share = 1 / (1 + exp(-z));
    *terms = (TP_FUNCTION_ROUNDINGS + 2) * fabs(value) +
             share * (fabs(z) > 1e3 ? 0 : TP_FUNCTION_ROUNDINGS + fabs(z)) /
                 fabs(x[1]);
    return value;
}

/* min(0, x) - log(1 + e^-|x|). */
TP_POINT(log_sigmoid)
{
    const double low = smaller(x[0], 0), rest = log1p(exp(-fabs(x[0])));
    *terms = (2 * TP_FUNCTION_ROUNDINGS + 1) * rest;
    return low - rest;
}

/* x tanh(log(1 + e^x)). */
TP_POINT(mish)
{
    const double soft = log1p(exp(x[0])), t = tanh(soft);
    *terms = fabs(x[0]) * ((TP_FUNCTION_ROUNDINGS + 1) * fabs(t) +
                           2 * TP_FUNCTION_ROUNDINGS * soft * (1 - t * t));
    if (x[0] == -INFINITY) /* 0 times infinity, as it is computed            */
        *terms = 0;
    return x[0] * t;
}

static double within(double x, double low, double high)
{
    return smaller(larger(x, low), high);
}

TP_POINT(hardtanh)
{
    return exact(within(x[0], x[1], x[2]), terms);
}
TP_POINT(relu6)
{
    return exact(within(x[0], 0, 6), terms);
}
TP_POINT(hardsigmoid)
{
    *terms = x[0] > -3 && x[0] < 3 ? fabs(x[0] + 3) / 2 : 0;
    return within(x[0] + 3, 0, 6) / 6;
}
TP_POINT(hardswish)
{
    const double part = within(x[0] + 3, 0, 6);
    /* beyond 3, too, x 6 / 6 is rounded twice */
    *terms = (x[0] < 3 ? 1.1 : 0.7) * fabs(x[0] * part);
    return x[0] * part / 6;
}
TP_POINT(softsign)
{
    return rounded(x[0] / (1 + fabs(x[0])), 3, terms);
}
TP_POINT(tanhshrink)
{
    *terms = TP_FUNCTION_ROUNDINGS * fabs(tanh(x[0]));
    return x[0] - tanh(x[0]);
}
TP_POINT(hardshrink)
{
    return exact(x[0] >= -x[1] && x[0] <= x[1] ? 0 : x[0], terms);
}
TP_POINT(softshrink)
{
    return exact(x[0] > x[1]    ? x[0] - x[1]
                 : x[0] < -x[1] ? x[0] + x[1]
                                : x[0] * 0,
                 terms);
}
TP_POINT(threshold)
{
    return exact(x[0] <= x[1] ? x[2] : x[0], terms);
}

/* --- two ------------------------------------------------------------------ */

TP_POINT(multiply)
{
    return exact(x[0] * x[1], terms);
}

/* By a scalar often times its reciprocal, which is rounded. */
TP_POINT(divide)
{
    return rounded(x[0] / x[1], 2, terms);
}
/* As Python: the rest is taken off first, so that an infinity has none. */
TP_POINT(divide_down)
{
    const double rest = fmod(x[0], x[1]);
    const bool below = rest != 0 && (x[1] < 0) != (rest < 0);
    const double quotient = (x[0] - rest) / x[1] - below;
    if (x[1] == 0)
        return exact(x[0] / x[1], terms);
    return exact(quotient == 0 ? copysign(0, x[0] / x[1]) : nearbyint(quotient),
                 terms);
}
TP_POINT(divide_short)
{
    return exact(trunc(x[0] / x[1]), terms);
}
TP_POINT(reversed_divide)
{
    return rounded(x[1] / x[0], 2, terms);
}

TP_POINT(power)
{
    const double value = pow(x[0], x[1]);
    return x[1] == 2 || x[1] == 1 || x[1] == 0      ? exact(value, terms)
           : x[1] == 3 || x[1] == -1 || x[1] == 0.5 ? rounded(value, 2, terms)
                                                    : function(value, terms);
}

TP_POINT(reversed_power)
{
    return function(pow(x[1], x[0]), terms);
}
TP_POINT(maximum)
{
    return exact(larger(x[0], x[1]), terms);
}
TP_POINT(minimum)
{
    return exact(smaller(x[0], x[1]), terms);
}
TP_POINT(fmod)
{
    return exact(fmod(x[0], x[1]), terms);
}
TP_POINT(atan2)
{
    return function(atan2(x[0], x[1]), terms);
}
TP_POINT(equal)
{
    return exact(x[0] == x[1], terms);
}
TP_POINT(unequal)
{
    return exact(x[0] != x[1], terms);
}
TP_POINT(less)
{
    return exact(x[0] < x[1], terms);
}
TP_POINT(at_most)
{
    return exact(x[0] <= x[1], terms);
}
TP_POINT(greater)
{
    return exact(x[0] > x[1], terms);
}
TP_POINT(at_least)
{
    return exact(x[0] >= x[1], terms);
}
TP_POINT(and)
{
    return exact(x[0] != 0 && x[1] != 0, terms);
}
TP_POINT(or)
{
    return exact(x[0] != 0 || x[1] != 0, terms);
}
TP_POINT(xor)
{
    return exact((x[0] != 0) != (x[1] != 0), terms);
}

TP_POINT(bits_and)
{
    return exact((double)(tp_value_integer(x[0]) & tp_value_integer(x[1])),
                 terms);
}
TP_POINT(bits_or)
{
    return exact((double)(tp_value_integer(x[0]) | tp_value_integer(x[1])),
                 terms);
}
TP_POINT(bits_xor)
{
    return exact((double)(tp_value_integer(x[0]) ^ tp_value_integer(x[1])),
                 terms);
}

/* A number stands before a NaN. */
TP_POINT(fmax)
{
    return exact(fmax(x[0], x[1]), terms);
}
TP_POINT(fmin)
{
    return exact(fmin(x[0], x[1]), terms);
}

TP_POINT(reversed_divide_down)
{
    const double reversed[2] = {x[1], x[0]};
    return tp_point_divide_down(reversed, terms);
}

TP_POINT(reversed_remainder)
{
    const double reversed[2] = {x[1], x[0]};
    return tp_point_remainder(reversed, terms);
}

TP_POINT(hypot)
{
    return rounded(hypot(x[0], x[1]), 4, terms);
}

/* The larger one, and log(1 + e^-|a - b|). */
TP_POINT(log_add)
{
    if (isinf(x[0]) && x[0] == x[1])
        return exact(x[0], terms);
    const double rest = log1p(exp(-fabs(x[0] - x[1])));
    *terms = 2 * TP_FUNCTION_ROUNDINGS * rest;
    return larger(x[0], x[1]) + rest;
}

TP_POINT(second)
{
    return exact(x[1], terms);
}

TP_POINT(difference)
{
    return rounded(fabs(x[0] - x[1]), 1, terms);
}

TP_POINT(squared_difference)
{
    const double d = x[0] - x[1];
    return rounded(d * d, 3, terms);
}

/* The sign is the divisor's, as in Python. */
TP_POINT(remainder)
{
    const double rest = fmod(x[0], x[1]);
    return exact(rest != 0 && (rest < 0) != (x[1] < 0) ? rest + x[1] : rest,
                 terms);
}

/* --- three and four ------------------------------------------------------- */

/* A factor of 1 leaves what it multiplies. */
static double scaled(double factor, double value, double *terms)
{
    const double product = factor == 1 ? value : factor * value;
    *terms = factor == 1 ? 0 : fabs(product);
    return product;
}

TP_POINT(add)
{
    return x[0] + scaled(x[2], x[1], terms);
}

TP_POINT(subtract)
{
    return x[0] - scaled(x[2], x[1], terms);
}

TP_POINT(reversed_subtract)
{
    return x[1] - scaled(x[2], x[0], terms);
}

/* a + w (b - a), or b - (b - a)(1 - w). */
TP_POINT(lerp)
{
    const double step = x[2] * (x[1] - x[0]);
    *terms = 3 * fabs(step) + fabs(x[1]) + fabs(x[1] - x[0]);
    return x[0] + step;
}

TP_POINT(where)
{
    return exact(x[0] != 0 ? x[1] : x[2], terms);
}
TP_POINT(fill)
{
    return exact(x[1] != 0 ? x[2] : x[0], terms);
}

TP_POINT(clamp)
{
    const double low = isnan(x[1]) ? x[0] : larger(x[0], x[1]);
    return exact(isnan(x[2]) ? low : smaller(low, x[2]), terms);
}

TP_POINT(add_product)
{
    const double product = x[3] * x[1] * x[2];
    *terms = 2 * fabs(product);
    return x[0] + product;
}

TP_POINT(add_quotient)
{
    const double quotient = x[3] * x[1] / x[2];
    *terms = 3 * fabs(quotient);
    return x[0] + quotient;
}
