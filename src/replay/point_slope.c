/* SPDX-License-Identifier: MIT */
#include "replay/point_slope.h"

#include <math.h>
#include <stdbool.h>

#include "replay/point_math.h"

static const double root_half = 0.70710678118654752440; /* 1 / sqrt(2) */
static const double two_over_root_pi = 1.12837916709551257390;
static const double log_2 = 0.69314718055994530942;
static const double log_10 = 2.30258509299404568402;

/* A slope that so many roundings of its size lead to, and so many tensors. */
static double rough(double slope, double steps, double tensors, double *terms)
{
    terms[0] = steps * fabs(slope);
    terms[1] = tensors * fabs(slope);
    return slope;
}

static double exact(double slope, double *terms)
{
    return rough(slope, 0, 0, terms);
}

/* The gradient as it is, or none. */
static double mask(bool handed, double *terms)
{
    const double slope = exact(handed, terms);
    if (!handed)
        terms[0] = TP_SLOPE_MASKED;
    return slope;
}

/* As much at a kink. */
static double kink(double slope, double *terms)
{
    exact(slope, terms);
    terms[0] = TP_SLOPE_KINK;
    return slope;
}

/* Handed on between two limits; a NaN as the kernel pleases. */
static double band(double x, double low, double high, double *terms)
{
    return x == low || x == high || isnan(x) ? kink(0, terms)
                                             : mask(x > low && x < high, terms);
}

/* Handed on outside of these. */
static double outside(double x, double limit, double *terms)
{
    return fabs(x) == limit || isnan(x) ? kink(0, terms)
                                        : mask(fabs(x) > limit, terms);
}

/* Slopes of one expression of x[0] and y. */
#define SLOPE(name, slope, steps, tensors)          \
    TP_SLOPE(name)                                  \
    {                                               \
        (void)x, (void)y, (void)i;                  \
        return rough(slope, steps, tensors, terms); \
    }
#define MASK(name, handed)          \
    TP_SLOPE(name)                  \
    {                               \
        (void)x, (void)y, (void)i;  \
        return mask(handed, terms); \
    }

enum { F = TP_FUNCTION_ROUNDINGS };

/* --- one element ---------------------------------------------------------- */

SLOPE(one, 1, 0, 0)
MASK(none, false)
SLOPE(negative, -1, 0, 0)
SLOPE(abs, (x[0] > 0) - (x[0] < 0), 0, 0)
SLOPE(square, 2 * x[0], 0, 0)
SLOPE(sqrt, 1 / (2 * y), 2, 0)
SLOPE(rsqrt, -0.5 * y * y * y, 2, 1)
SLOPE(exp, y, 0, 0)
SLOPE(exp2, y *log_2, 1, 1)
SLOPE(expm1, y + 1, 0, 1)
SLOPE(log, 1 / x[0], 2, 0)
SLOPE(log2, 1 / (x[0] * log_2), 2, 1)
SLOPE(log10, 1 / (x[0] * log_10), 2, 1)
SLOPE(log1p, 1 / (x[0] + 1), 2, 1)
SLOPE(tan, 1 + y * y, 2, 2)
SLOPE(tanh, 1 - y * y, 2 / fmax(1e-300, fabs(1 - y * y)), 0)
SLOPE(sigmoid, (1 - y) * y, 2, 0)
MASK(relu, !(y <= 0))
SLOPE(reciprocal, -y *y, 1, 1)

TP_SLOPE(sin)
{
    (void)y, (void)i;
    terms[0] = F;
    terms[1] = fabs(cos(x[0]));
    return cos(x[0]);
}

TP_SLOPE(cos)
{
    (void)y, (void)i;
    terms[0] = F * fmin(1, fabs(x[0]));
    terms[1] = fabs(sin(x[0]));
    return -sin(x[0]);
}

/* 2 / sqrt(pi) e^(-x^2): x^2 and the exponential are tensors. */
TP_SLOPE(erf)
{
    (void)y, (void)i;
    const double square = x[0] * x[0];
    return rough(two_over_root_pi * exp(-square), F + square, 2 + square,
                 terms);
}

/* s (1 + x (1 - s)); as sigmoid, each s may be off by what -x is rounded. */
TP_SLOPE(silu)
{
    (void)y, (void)i;
    const double s = 1 / (1 + exp(-x[0]));
    const double part = x[0] * (1 - s);
    terms[0] = s * (1 + fabs(part)) * (2 * F + 2 * fmin(fabs(x[0]), 1e3));
    terms[1] = 0;
    return s * (1 + part);
}

/* The distribution and x times its density. */
TP_SLOPE(gelu)
{
    (void)y, (void)i;
    const double z = x[0] * root_half, e = erf(z);
    const double density = 0.5 * two_over_root_pi * root_half * exp(-z * z);
    terms[0] = 0.5 * (F + 5) + /* as in the function: erf as if near 1 */
               fabs(x[0]) * density * (F + 6 + 2 * z * z);
    terms[1] = 0;
    return 0.5 * (1 + e) + x[0] * density;
}

/* (1 + t) / 2 + x / 2 (1 - t^2) z', z' = sqrt(2/pi) (1 + 3 k x^2). */
TP_SLOPE(gelu_tanh)
{
    (void)y, (void)i;
    const double factor = two_over_root_pi * root_half, k = 0.044715;
    const double square = x[0] * x[0];
    const double z = factor * (x[0] + k * square * x[0]), t = tanh(z);
    const double steep = factor * (1 + 3 * k * square);
    const double bend = fmax(0, 1 - t * t);
    const double half = 0.5 * fabs(x[0]) * steep;
    terms[0] =
        0.5 * ((F + 1) * fabs(t) + 4 + 7 * fabs(z) * bend) +
        half * (6 * bend + 2 * (F + 1) * t * t + 14 * fabs(z) * fabs(t) * bend);
    terms[1] = 0;
    return 0.5 * (1 + t) + 0.5 * x[0] * bend * steep;
}

SLOPE(asin, 1 / sqrt(1 - x[0] * x[0]),
      2 + 2 / fmax(1e-300, fabs(1 - x[0] * x[0])),
      2 + 2 / fmax(1e-300, fabs(1 - x[0] * x[0])))
SLOPE(acos, -1 / sqrt(1 - x[0] * x[0]),
      2 + 2 / fmax(1e-300, fabs(1 - x[0] * x[0])),
      2 + 2 / fmax(1e-300, fabs(1 - x[0] * x[0])))
SLOPE(atan, 1 / (1 + x[0] * x[0]), 2, 2)
SLOPE(sinh, cosh(x[0]), F, 1)
SLOPE(cosh, sinh(x[0]), F, 1)
SLOPE(asinh, 1 / sqrt(1 + x[0] * x[0]), 4, 3)
SLOPE(acosh, 1 / sqrt(x[0] * x[0] - 1),
      2 + 2 * x[0] * x[0] / fmax(1e-300, fabs(x[0] * x[0] - 1)),
      2 + 2 * x[0] * x[0] / fmax(1e-300, fabs(x[0] * x[0] - 1)))
SLOPE(atanh, 1 / (1 - x[0] * x[0]), 2 + 2 / fmax(1e-300, fabs(1 - x[0] * x[0])),
      2 + 2 / fmax(1e-300, fabs(1 - x[0] * x[0])))
SLOPE(erfc, -two_over_root_pi *exp(-x[0] * x[0]), F + x[0] * x[0],
      2 + x[0] * x[0])

/* --- one, with parameters ------------------------------------------------- */

SLOPE(leaky_relu, x[0] > 0 ? 1 : x[1], 0, 0)

TP_SLOPE(prelu)
{
    (void)y;
    if (x[0] > 0)
        return i == 0 ? exact(1, terms) : mask(false, terms);
    return exact(x[1 - i], terms);
}

/* Of what is below zero, which in place starts from the result: y + alpha. */
static double below(double slope, double y, double roundings, double *terms)
{
    terms[0] = roundings * fabs(slope) + 2 * fabs(y);
    terms[1] = fabs(y);
    return slope;
}

TP_SLOPE(elu)
{
    (void)i;
    return x[0] > 0 ? exact(1, terms)
                    : below(x[1] * exp(x[0]), y, F + 2, terms);
}

TP_SLOPE(selu)
{
    (void)i;
    return x[0] > 0 ? rough(TP_SELU_SCALE, 1, 0, terms)
                    : below(TP_SELU_SCALE * TP_SELU_ALPHA * exp(x[0]), y, F + 2,
                            terms);
}

/* torch divides by an alpha in fp32. */
TP_SLOPE(celu)
{
    (void)i;
    const double inverse = 1 / (double)(float)x[1], z = x[0] * inverse;
    return x[0] > 0 ? exact(1, terms)
                    : below(x[1] * inverse * exp(z), y / x[1],
                            F + 2 + fmin(fabs(z), 1e3), terms);
}

#define KINKED(name, slope)        \
    TP_SLOPE(name)                 \
    {                              \
        (void)x, (void)y, (void)i; \
        return slope;              \
    }

KINKED(hardtanh, band(x[0], x[1], x[2], terms))
KINKED(relu6, band(x[0], 0, 6, terms))
KINKED(hardshrink, outside(x[0], x[1], terms))
KINKED(softshrink, outside(x[0], x[1], terms))
KINKED(threshold,
       x[0] == x[1] || isnan(x[0]) ? kink(0, terms) : mask(x[0] > x[1], terms))

/* z / (z + 1), z = e^(beta x). */
TP_SLOPE(softplus)
{
    (void)y, (void)i;
    const double z = exp(x[0] * x[1]);
    if (x[0] * x[1] > x[2])
        return exact(1, terms);
    return rough(z / (z + 1), F + 3 + fmin(fabs(x[0] * x[1]), 1e3), 0, terms);
}

/* 1 / (1 + e^x), of negative x as 1 - z / (1 + z). */
TP_SLOPE(log_sigmoid)
{
    (void)y, (void)i;
    const double slope = 1 / (1 + exp(x[0]));
    return rough(slope, 2 * F + 4, 0, terms);
}

/* t + x s (1 - t^2), t = tanh(log(1 + e^x)), s the sigmoid of x. */
TP_SLOPE(mish)
{
    (void)y, (void)i;
    const double s = 1 / (1 + exp(-x[0]));
    const double t = tanh(log1p(exp(x[0]))), bend = 1 - t * t;
    terms[0] =
        3 * F * fabs(t) + fabs(x[0] * s) * (fabs(bend) * 3 * F + 4 * F * t * t);
    terms[1] = 0;
    return t + x[0] * s * bend;
}

/* torch has a sixth in fp32. */
TP_SLOPE(hardsigmoid)
{
    (void)y, (void)i;
    if (fabs(x[0]) == 3 || isnan(x[0]))
        return kink(0, terms);
    return fabs(x[0]) < 3 ? rough(1.0f / 6, 1, 0, terms) : mask(false, terms);
}

TP_SLOPE(hardswish)
{
    (void)y, (void)i;
    if (fabs(x[0]) == 3)
        return kink(x[0] > 0, terms);
    if (fabs(x[0]) > 3)
        return mask(x[0] > 0, terms);
    terms[0] = fabs(x[0]) + 0.5;
    terms[1] = 0;
    return x[0] / 3 + 0.5;
}

/* --- two ------------------------------------------------------------------ */

TP_SLOPE(fmax)
{
    (void)y;
    const bool first = x[0] >= x[1] || isnan(x[1]);
    return x[0] == x[1] || (isnan(x[0]) && isnan(x[1]))
               ? kink(0.5, terms)
               : mask(first == (i == 0), terms);
}

TP_SLOPE(fmin)
{
    (void)y;
    const bool first = x[0] <= x[1] || isnan(x[1]);
    return x[0] == x[1] || (isnan(x[0]) && isnan(x[1]))
               ? kink(0.5, terms)
               : mask(first == (i == 0), terms);
}

/* The element over the result. */
TP_SLOPE(hypot)
{
    return rough(x[i] / y, 2, 1, terms);
}

/* 1 / (1 + e^(b - a)). */
TP_SLOPE(log_add)
{
    (void)y;
    const double off = x[1 - i] - x[i];
    const double size = isfinite(off) ? fabs(off) : 0;
    return rough(1 / (1 + exp(off)), F + 3 + size, 3 + size, terms);
}

/* a + alpha b and so on; the last operand is alpha. */
TP_SLOPE(add)
{
    (void)y;
    return exact(i == 0 ? 1 : x[2], terms);
}

TP_SLOPE(subtract)
{
    (void)y;
    return exact(i == 0 ? 1 : -x[2], terms);
}

TP_SLOPE(reversed_subtract)
{
    (void)y;
    return exact(i == 0 ? -x[2] : 1, terms);
}

TP_SLOPE(multiply)
{
    (void)y;
    return exact(x[1 - i], terms);
}

/* g / b, and -g ((a / b) / b). */
TP_SLOPE(divide)
{
    (void)y;
    return i == 0 ? rough(1 / x[1], 2, 0, terms)
                  : rough(-(x[0] / x[1]) / x[1], 2, 2, terms);
}

/* torch multiplies b by 1 / a, and the node is that of the product: what comes
 * out is the gradient of 1 / a. */
TP_SLOPE(reversed_divide)
{
    (void)y, (void)i;
    return exact(x[1], terms);
}

/* b^e by b, e b^(e - 1), and by e, b^e log b. */
static double by_base(double base, double exponent, double *terms)
{
    if (exponent == 0)
        return mask(false, terms);
    const bool simple = exponent == 1 || exponent == 2;
    return rough(exponent * pow(base, exponent - 1), simple ? 0 : F + 1,
                 simple ? 0 : 2, terms);
}

static double by_exponent(double base, double exponent, double y, double *terms)
{
    if (base == 0 && exponent >= 0)
        return mask(false, terms);
    return rough(y * log(base), F + 1, 2, terms);
}

TP_SLOPE(power)
{
    return i == 0 ? by_base(x[0], x[1], terms)
                  : by_exponent(x[0], x[1], y, terms);
}

TP_SLOPE(reversed_power)
{
    return i == 1 ? by_base(x[1], x[0], terms)
                  : by_exponent(x[1], x[0], y, terms);
}

/* Half to each of equals. */
TP_SLOPE(maximum)
{
    (void)y;
    return x[0] == x[1] ? exact(0.5, terms) : mask(!(x[i] < x[1 - i]), terms);
}

TP_SLOPE(minimum)
{
    (void)y;
    return x[0] == x[1] ? exact(0.5, terms) : mask(!(x[i] > x[1 - i]), terms);
}

TP_SLOPE(remainder)
{
    (void)y;
    double none;
    return exact(i == 0 ? 1 : -tp_point_divide_down(x, &none), terms);
}

/* Kernels round the quotient to the tensors' dtype before they cut it: one
 * that is nearer to an integer than that is cut to either side. */
TP_SLOPE(fmod)
{
    (void)y;
    const double quotient = x[0] / x[1];
    const double off = fabs(quotient - nearbyint(quotient));
    exact(0, terms);
    if (i == 1 && off > 0)
        terms[1] = fabs(quotient) / off;
    return i == 0 ? 1 : -trunc(quotient);
}

/* b / (a^2 + b^2) and -a / (a^2 + b^2). */
TP_SLOPE(atan2)
{
    (void)y;
    const double square = x[0] * x[0] + x[1] * x[1];
    if (square == 0)
        return exact(0, terms);
    return rough((i == 0 ? x[1] : -x[0]) / square, 4, 4, terms);
}

/* --- three and four ------------------------------------------------------- */

TP_SLOPE(lerp)
{
    (void)y;
    return rough(i == 0   ? 1 - x[2]
                 : i == 1 ? x[2]
                          : x[1] - x[0],
                 i != 1, i != 1, terms);
}

TP_SLOPE(where)
{
    (void)y;
    return mask((x[0] != 0) == (i == 1), terms);
}

TP_SLOPE(fill)
{
    (void)y;
    return mask((x[1] != 0) == (i == 2), terms);
}

/* Limits that are NaN are not there. */
TP_SLOPE(clamp)
{
    (void)y;
    const bool low = x[0]<x[1], high = x[0]> x[2];
    if (x[0] == x[1] || x[0] == x[2] || x[1] == x[2])
        return kink(i == 0, terms);
    if (isnan(x[0]))
        return kink(0, terms);
    return i == 0   ? mask(!low && !high, terms)
           : i == 1 ? mask(low && !(x[2] < x[1]), terms)
                    : mask(high || x[2] < x[1], terms);
}

TP_SLOPE(clamp_min)
{
    (void)y;
    return x[0] == x[1] || isnan(x[0]) ? kink(0.5, terms)
                                       : mask((x[0] > x[1]) == (i == 0), terms);
}

TP_SLOPE(clamp_max)
{
    (void)y;
    return x[0] == x[1] || isnan(x[0]) ? kink(0.5, terms)
                                       : mask((x[0] < x[1]) == (i == 0), terms);
}

/* a + v b c. */
TP_SLOPE(add_product)
{
    (void)y;
    return i == 0 ? exact(1, terms)
                  : rough(x[3] * x[3 - i], x[3] != 1, x[3] != 1, terms);
}

/* a + v b / c. */
TP_SLOPE(add_quotient)
{
    (void)y;
    return i == 0   ? exact(1, terms)
           : i == 1 ? rough(x[3] / x[2], 2, 1, terms)
                    : rough(-x[3] * x[1] / (x[2] * x[2]), 4, 3, terms);
}
