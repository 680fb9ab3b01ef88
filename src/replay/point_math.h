/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_POINT_MATH_H
#define TP_REPLAY_POINT_MATH_H

/*
 * Functions of elements for the table of operators. Each gives its value, and
 * the magnitudes that are rounded before it, each as often as it is.
 */

/* Roundings that an elementary function may be off: 4 ulp, the most that the
 * CUDA C++ Programming Guide states for single-precision exp, log, sin, tanh,
 * erf and pow in their documented range. */
enum { TP_FUNCTION_ROUNDINGS = 8 };

#define TP_POINT(name) double tp_point_##name(const double *x, double *terms)

/* Of one element. */
TP_POINT(same);
TP_POINT(negative);
TP_POINT(abs);
TP_POINT(sign);
TP_POINT(square);
TP_POINT(sqrt);
TP_POINT(rsqrt);
TP_POINT(exp);
TP_POINT(exp2);
TP_POINT(expm1);
TP_POINT(log);
TP_POINT(log2);
TP_POINT(log10);
TP_POINT(log1p);
TP_POINT(sin);
TP_POINT(cos);
TP_POINT(tan);
TP_POINT(tanh);
TP_POINT(erf);
TP_POINT(sigmoid);
TP_POINT(silu);
TP_POINT(gelu);
TP_POINT(gelu_tanh);
TP_POINT(relu);
TP_POINT(reciprocal);
TP_POINT(floor);
TP_POINT(ceil);
TP_POINT(trunc);
TP_POINT(not );
TP_POINT(isnan);
TP_POINT(isinf);
TP_POINT(isfinite);
TP_POINT(asin);
TP_POINT(acos);
TP_POINT(atan);
TP_POINT(sinh);
TP_POINT(cosh);
TP_POINT(asinh);
TP_POINT(acosh);
TP_POINT(atanh);
TP_POINT(erfc);
TP_POINT(round);
TP_POINT(frac);
TP_POINT(flipped);

#define TP_SELU_ALPHA 1.6732632423543772848170429916717
#define TP_SELU_SCALE 1.0507009873554804934193349852946

/* Of an element and its parameters. */
TP_POINT(leaky_relu);
TP_POINT(elu);
TP_POINT(selu);
TP_POINT(celu);
TP_POINT(softplus);
TP_POINT(log_sigmoid);
TP_POINT(mish);
TP_POINT(hardtanh);
TP_POINT(relu6);
TP_POINT(hardsigmoid);
TP_POINT(hardswish);
TP_POINT(softsign);
TP_POINT(tanhshrink);
TP_POINT(hardshrink);
TP_POINT(softshrink);
TP_POINT(threshold);

/* Of two. */
TP_POINT(multiply);
TP_POINT(divide);
TP_POINT(divide_down);
TP_POINT(divide_short);
TP_POINT(reversed_divide);
TP_POINT(power);
TP_POINT(reversed_power);
TP_POINT(maximum);
TP_POINT(minimum);
TP_POINT(remainder);
TP_POINT(fmod);
TP_POINT(atan2);
TP_POINT(equal);
TP_POINT(unequal);
TP_POINT(less);
TP_POINT(at_most);
TP_POINT(greater);
TP_POINT(at_least);
TP_POINT(and);
TP_POINT(or);
TP_POINT(xor);
TP_POINT(bits_and);
TP_POINT(bits_or);
TP_POINT(bits_xor);
TP_POINT(fmax);
TP_POINT(fmin);
TP_POINT(reversed_divide_down);
TP_POINT(reversed_remainder);
TP_POINT(hypot);
TP_POINT(log_add);
TP_POINT(second);
TP_POINT(difference);
TP_POINT(squared_difference);

/* Of three: the last one of add and subtract is alpha. */
TP_POINT(add);
TP_POINT(subtract);
TP_POINT(reversed_subtract);
TP_POINT(lerp);
TP_POINT(where);
TP_POINT(fill);
TP_POINT(clamp);

/* Of four: the last one is the factor. */
TP_POINT(add_product);
TP_POINT(add_quotient);

#endif
