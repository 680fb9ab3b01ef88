/* SPDX-License-Identifier: MIT */
#include "stats/difference_msprobe.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/encode.h"

static const struct tp_msprobe_value unsupported = {TP_MSPROBE_UNSUPPORTED,
                                                    NAN};

/* A number as text with so many digits after the point, and back. */
static struct tp_msprobe_value rounded(double number, int digits)
{
    char text[DBL_MAX_10_EXP + 32];
    if (isnan(number))
        return (struct tp_msprobe_value){TP_MSPROBE_NAN, NAN};
    snprintf(text, sizeof text, "%.*f", digits, number);
    return (struct tp_msprobe_value){TP_MSPROBE_NUMBER, strtod(text, NULL)};
}

static struct tp_msprobe_value cosine(const struct tp_difference *sums)
{
    const double x = sqrt(sums->xx), y = sqrt(sums->yy);
    if (sums->values == 1)
        return unsupported;
    if (x <= DBL_EPSILON && y <= DBL_EPSILON)
        return (struct tp_msprobe_value){TP_MSPROBE_NUMBER, 1};
    if (x <= DBL_EPSILON || y <= DBL_EPSILON)
        return (struct tp_msprobe_value){TP_MSPROBE_NAN, NAN};
    const struct tp_msprobe_value value = rounded(sums->xy / (x * y), 12);
    return value.value > 0.9999 ? rounded(value.value, 6) : value;
}

/* Elements counted as 0 on both sides have a relative error of 0. */
static struct tp_msprobe_value share(const struct tp_difference *sums,
                                     uint64_t below)
{
    const uint64_t zeroed = sums->values - sums->finite;
    return rounded((double)(below + zeroed) / (double)sums->values, 12);
}

/* The difference of two numbers without axes, which are subtracted in their
 * own format. */
static double in_own_format(const struct tp_difference_plan *plan,
                            double difference)
{
    if (plan->x == TP_FLOAT16 && plan->y == TP_FLOAT16) {
        const struct tp_number *half = tp_number_by_id("fp16");
        return tp_number_decode(
            half, tp_number_encode(half, TP_ROUND_EVEN, difference));
    }
    return plan->single ? (float)difference : difference;
}

/* The errors of one element that is not finite on both sides. */
static void set_infinite(const struct tp_difference *sums,
                         struct tp_msprobe_value *values)
{
    const bool nan = sums->nan_x || sums->nan_y;
    const double absolute = nan || sums->same_inf ? NAN : INFINITY;
    const double relative = nan || sums->inf_y ? NAN : INFINITY;
    values[TP_MSPROBE_MAX_ABS_ERR] = rounded(absolute, 12);
    values[TP_MSPROBE_MAX_RELATIVE_ERR] = rounded(relative, 12);
}

static void set_scalar(const struct tp_difference_plan *plan,
                       const struct tp_difference *sums,
                       struct tp_msprobe_value *values)
{
    tp_msprobe_set_all(TP_MSPROBE_UNSUPPORTED, values);
    if (sums->finite < sums->values) {
        set_infinite(sums, values);
        return;
    }
    values[TP_MSPROBE_MAX_ABS_ERR] =
        rounded(in_own_format(plan, sums->max_abs), 12);
    values[TP_MSPROBE_MAX_RELATIVE_ERR] = rounded(sums->max_relative, 12);
}

void tp_msprobe_set_all(enum tp_msprobe_reason reason,
                        struct tp_msprobe_value *values)
{
    for (int i = 0; i < TP_MSPROBE_METRICS; i++)
        values[i] = (struct tp_msprobe_value){reason, NAN};
}

void tp_difference_msprobe(const struct tp_difference_plan *plan,
                           const struct tp_difference *difference, bool scalar,
                           struct tp_msprobe_value *values)
{
    const struct tp_difference *sums = difference;
    const uint64_t matched =
        sums->both_nan + sums->same_inf + sums->opposite_inf;
    if (sums->values == 0) {
        tp_msprobe_set_all(TP_MSPROBE_UNSUPPORTED, values);
    } else if (scalar) {
        set_scalar(plan, sums, values);
    } else if (sums->finite + matched < sums->values) {
        tp_msprobe_set_all(TP_MSPROBE_APART, values);
    } else {
        values[TP_MSPROBE_COSINE] = cosine(sums);
        values[TP_MSPROBE_EUC_DIST] =
            (struct tp_msprobe_value){TP_MSPROBE_NUMBER, sqrt(sums->dd)};
        values[TP_MSPROBE_MAX_ABS_ERR] = rounded(sums->max_abs, 12);
        values[TP_MSPROBE_MAX_RELATIVE_ERR] = rounded(sums->max_relative, 12);
        values[TP_MSPROBE_ONE_THOUSANDTH] = share(sums, sums->below_1e_3);
        values[TP_MSPROBE_FIVE_THOUSANDTHS] = share(sums, sums->below_5e_3);
    }
}
