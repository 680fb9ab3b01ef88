/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_POINT_SLOPE_H
#define TP_REPLAY_POINT_SLOPE_H

/*
 * Partial derivatives of the functions of point_math.h, in the form in which
 * torch's derivatives.yaml computes them: which of them starts from the result,
 * what is masked and what multiplied (an infinite gradient times zero is NaN),
 * how many tensors of the operands' dtype lie between. operators.h says what
 * x, y, i and terms are.
 */

/* In terms[0]: the gradient is not handed on, whatever it is. */
#define TP_SLOPE_MASKED (-1.0)

/* The element is at a kink, where torch's versions and kernels differ: all
 * between none and the whole gradient is right. */
#define TP_SLOPE_KINK (-2.0)

#define TP_SLOPE(name) \
    double tp_slope_##name(const double *x, double y, int i, double *terms)

/* Of one element. */
TP_SLOPE(one);
TP_SLOPE(none);
TP_SLOPE(negative);
TP_SLOPE(abs);
TP_SLOPE(square);
TP_SLOPE(sqrt);
TP_SLOPE(rsqrt);
TP_SLOPE(exp);
TP_SLOPE(exp2);
TP_SLOPE(expm1);
TP_SLOPE(log);
TP_SLOPE(log2);
TP_SLOPE(log10);
TP_SLOPE(log1p);
TP_SLOPE(sin);
TP_SLOPE(cos);
TP_SLOPE(tan);
TP_SLOPE(tanh);
TP_SLOPE(erf);
TP_SLOPE(sigmoid);
TP_SLOPE(silu);
TP_SLOPE(gelu);
TP_SLOPE(gelu_tanh);
TP_SLOPE(relu);
TP_SLOPE(reciprocal);
TP_SLOPE(asin);
TP_SLOPE(acos);
TP_SLOPE(atan);
TP_SLOPE(sinh);
TP_SLOPE(cosh);
TP_SLOPE(asinh);
TP_SLOPE(acosh);
TP_SLOPE(atanh);
TP_SLOPE(erfc);
TP_SLOPE(leaky_relu);
TP_SLOPE(elu);
TP_SLOPE(selu);
TP_SLOPE(celu);
TP_SLOPE(softplus);
TP_SLOPE(log_sigmoid);
TP_SLOPE(mish);
TP_SLOPE(hardtanh);
TP_SLOPE(relu6);
TP_SLOPE(hardsigmoid);
TP_SLOPE(hardswish);
TP_SLOPE(hardshrink);
TP_SLOPE(softshrink);
TP_SLOPE(threshold);

/* Of two and more. */
TP_SLOPE(fmax);
TP_SLOPE(fmin);
TP_SLOPE(hypot);
TP_SLOPE(log_add);
TP_SLOPE(add);
TP_SLOPE(subtract);
TP_SLOPE(reversed_subtract);
TP_SLOPE(multiply);
TP_SLOPE(divide);
TP_SLOPE(reversed_divide);
TP_SLOPE(power);
TP_SLOPE(reversed_power);
TP_SLOPE(maximum);
TP_SLOPE(minimum);
TP_SLOPE(remainder);
TP_SLOPE(fmod);
TP_SLOPE(atan2);
TP_SLOPE(lerp);
TP_SLOPE(where);
TP_SLOPE(fill);
TP_SLOPE(clamp);
TP_SLOPE(clamp_min);
TP_SLOPE(clamp_max);
TP_SLOPE(add_product);
TP_SLOPE(add_quotient);

#endif
