/* SPDX-License-Identifier: MIT */
#include "replay/loss_math.h"

#include <math.h>
#include <string.h>

#include "replay/point_math.h"

/* --- losses --------------------------------------------------------------- */

static double smooth_l1(const double *x, double *terms)
{
    const double d = fabs(x[0] - x[1]), beta = x[2];
    const double value = d < beta ? d * d / (2 * beta) : d - beta / 2;
    *terms = d < beta ? 4 * value : 2 * d + beta;
    return value;
}

static double huber(const double *x, double *terms)
{
    const double d = fabs(x[0] - x[1]), delta = x[2];
    const double value = d < delta ? d * d / 2 : delta * (d - delta / 2);
    *terms = d < delta ? 4 * value : 3 * delta * (d + delta);
    return value;
}

/* torch stops logarithms at -100. */
static double entropy(const double *x, double *terms)
{
    const double a = fmax(log(x[0]), -100), b = fmax(log1p(-x[0]), -100);
    const double one = x[1] * a, other = (1 - x[1]) * b;
    *terms = (TP_FUNCTION_ROUNDINGS + 4) * (fabs(one) + fabs(other)) +
             (isfinite(b) ? fabs(1 - x[1]) * x[0] / fmax(1 - x[0], 1e-30) : 0);
    return isnan(x[0]) ? NAN : -(one + other);
}

/* log(1 + e^-x), which does not overflow. */
static double softplus(double x)
{
    return log1p(exp(-fabs(x))) + fmax(-x, 0);
}

/* x[2]: the weight of what is positive. */
static double logit_entropy(const double *x, double *terms)
{
    const double factor = 1 + (x[2] - 1) * x[1], s = softplus(x[0]);
    const double first = (1 - x[1]) * x[0], second = factor * s;
    *terms = 4 * fabs(first) + (TP_FUNCTION_ROUNDINGS + 6) * fabs(second) +
             2 * fabs((x[2] - 1) * x[1] * s);
    return isnan(x[0]) ? NAN : first + second;
}

/* x[2]: the target is a logarithm. */
static double divergence(const double *x, double *terms)
{
    const double t = x[2] != 0 ? exp(x[1]) : x[1];
    const double log_t = x[2] != 0 ? x[1] : log(x[1]);
    const double first = t == 0 ? 0 : t * log_t, second = t * x[0];
    *terms = (TP_FUNCTION_ROUNDINGS + fabs(log_t == -INFINITY ? 0 : log_t)) *
                 (fabs(first) + fabs(second)) +
             2 * (fabs(first) + fabs(second));
    return x[2] != 0 ? t * (x[1] - x[0]) : first - second;
}

/* --- partial derivatives -------------------------------------------------- */

static double square_slope(const double *x, int i, double *terms)
{
    const double d = 2 * (x[0] - x[1]);
    *terms = 2 * fabs(d);
    return i == 0 ? d : -d;
}

static double sign_of(double x)
{
    return isnan(x) ? x : (x > 0) - (x < 0);
}

static double sign_slope(const double *x, int i, double *terms)
{
    *terms = 0;
    return sign_of(x[0] - x[1]) * (i == 0 ? 1 : -1);
}

static double smooth_slope(const double *x, int i, double *terms)
{
    const double d = x[0] - x[1];
    const double slope = fabs(d) < x[2] ? d / x[2] : sign_of(d);
    *terms = 2 * fabs(slope);
    return i == 0 ? slope : -slope;
}

static double huber_slope(const double *x, int i, double *terms)
{
    const double d = x[0] - x[1];
    const double slope = fabs(d) < x[2] ? d : x[2] * sign_of(d);
    *terms = 2 * fabs(slope);
    return i == 0 ? slope : -slope;
}

static double entropy_slope(const double *x, int i, double *terms)
{
    const double least = (double)1e-12F; /* as torch has it                  */
    if (i == 0) {
        const double below = fmax((1 - x[0]) * x[0], least);
        *terms = 6 * (fabs(x[0]) + fabs(x[1])) / below;
        return (x[0] - x[1]) / below;
    }
    const double a = log(x[0]), b = log1p(-x[0]);
    *terms = (TP_FUNCTION_ROUNDINGS + 1) * (fabs(a) + fabs(b)) +
             fabs(x[0]) / fmax(fabs(1 - x[0]), 1e-30);
    return b - a;
}

static double logit_slope(const double *x, int i, double *terms)
{
    const double e = exp(-fabs(x[0]));
    const double rest = x[0] > 0 ? e / (1 + e) : 1 / (1 + e); /* 1 - sigmoid */
    if (i == 0) {
        const double factor = 1 + (x[2] - 1) * x[1];
        *terms = 4 * (1 + fabs(x[1])) +
                 (TP_FUNCTION_ROUNDINGS + 8) * (fabs(factor) + 1);
        return (1 - x[1]) - factor * rest;
    }
    const double more = x[2] == 1 ? 0 : (x[2] - 1) * softplus(x[0]);
    *terms = 2 * fabs(x[0]) + (TP_FUNCTION_ROUNDINGS + 4) * fabs(more);
    return more - x[0];
}

static const struct tp_loss losses[] = {
    {"mse_loss", tp_point_squared_difference, square_slope, "", 0, false},
    {"l1_loss", tp_point_difference, sign_slope, "", 0, true},
    {"smooth_l1_loss", smooth_l1, smooth_slope, "beta", 1, false},
    {"huber_loss", huber, huber_slope, "delta", 1, false},
    {"binary_cross_entropy", entropy, entropy_slope, "", 0, false},
    {"binary_cross_entropy_with_logits", logit_entropy, logit_slope, "", 1,
     false},
    {"kl_div", divergence, NULL, "log_target", 0, true},
};

const struct tp_loss *tp_loss_of(const char *name)
{
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (!strcmp(losses[i].name, name))
            return &losses[i];
    return NULL;
}
