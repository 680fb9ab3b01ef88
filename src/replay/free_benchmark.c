/* SPDX-License-Identifier: MIT */
/*
 * The "endless norm" of msprobe's third generation. With o the original result
 * cast to the dtype of the perturbed one p, and t = sqrt(eps) of that dtype,
 *
 *     r = max(|o|, t) / max(|p|, t),   ratio = max(max r, 1 / min r)
 *
 * is consistent up to 1.002 (fp16), 1.004 (bf16) or 1.0002; a product o p below
 * -t^2 is a changed sign. r is computed in the dtype itself, as on a device: in
 * bf16 it has 8 bits, of which the limit is less than one. From 32 MB on
 * msprobe overwrites the ratio with that of the last chunk; the caller says
 * whether. NaN is no difference there; the caller reports it otherwise. One
 * pass.
 */
#include "replay/free_benchmark.h"

#include <math.h>

#include "replay/array.h"
#include "replay/dtype_round.h"
#include "replay/perturb.h"

/* Of dtypes that have no eps. */
static const double other_epsilon = 1e-8;

double tp_benchmark_limit(enum tp_dtype original)
{
    return original == TP_FLOAT16    ? 1.002
           : original == TP_BFLOAT16 ? 1.004
                                     : 1.0002;
}

/* What a quotient of two tensors of a dtype is of. */
static enum tp_dtype quotient_dtype(enum tp_dtype dtype)
{
    return tp_dtype_info(dtype)->kind == TP_CLASS_FLOAT ? dtype : TP_FLOAT32;
}

static double cast(struct tp_benchmark_side side, int64_t i, enum tp_dtype to)
{
    const double value = tp_dtype_round(side.dtype, side.value[i]);
    return to == side.dtype ? value : tp_dtype_round(to, value);
}

/* The least and the largest of what was seen. */
struct range {
    double least_product, least, most;
    bool nan_product;
};

/* o / p, both at least `tolerance` in magnitude. */
static double quotient(double o, double p, double tolerance,
                       enum tp_dtype dtype)
{
    const double a = fabs(o) < tolerance ? tolerance : fabs(o);
    const double b = fabs(p) < tolerance ? tolerance : fabs(p);
    const double r = tp_dtype_round(dtype, a / b);
    return isnan(r) ? 1 : isinf(r) ? tp_dtype_largest(dtype) : r;
}

static struct range measure(struct tp_benchmark_side a,
                            struct tp_benchmark_side b, int64_t count,
                            int64_t first, double tolerance)
{
    struct range range = {INFINITY, INFINITY, 0, false};
    const enum tp_dtype dtype = quotient_dtype(b.dtype);
    const double clamp = tp_dtype_round(dtype, tolerance);
    for (int64_t i = 0; i < count; i++) {
        const double o = cast(a, i, b.dtype), p = cast(b, i, b.dtype);
        const double product = tp_dtype_round(b.dtype, o * p);
        range.nan_product |= isnan(product);
        range.least_product = fmin(range.least_product, product);
        if (i < first)
            continue;
        const double r = quotient(o, p, clamp, dtype);
        range.least = fmin(range.least, r);
        range.most = fmax(range.most, r);
    }
    return range;
}

int64_t tp_benchmark_last_chunk(enum tp_dtype perturbed, int64_t count)
{
    enum { MB = 1 << 20, MOST = 128 };
    const double mb =
        (double)count * (double)tp_dtype_info(perturbed)->size / MB;
    if (mb < 32)
        return 0;
    const int exponent = (int)log2(mb) - 4;
    const int64_t chunks = exponent < 7 ? INT64_C(1) << exponent : MOST;
    /* as torch.tensor_split: the longer ones come first */
    return count - count / chunks;
}

struct tp_benchmark_ratio tp_benchmark_ratio_of(
    struct tp_benchmark_side a, struct tp_benchmark_side b, int64_t count,
    const struct tp_benchmark_rule *rule)
{
    const double epsilon = tp_perturb_epsilon(b.dtype);
    const double tolerance = rule->tolerance > 0
                                 ? rule->tolerance
                                 : sqrt(epsilon > 0 ? epsilon : other_epsilon);
    const struct range range = measure(a, b, count, rule->first, tolerance);
    struct tp_benchmark_ratio ratio = {true, false, 1};
    if (count == 0)
        return ratio;
    /* the least of a tensor with NaN is NaN, and below nothing */
    ratio.flipped =
        !range.nan_product && range.least_product < -(tolerance * tolerance);
    ratio.ratio = fmax(range.most, 1 / range.least);
    ratio.consistent = !ratio.flipped && ratio.ratio <= rule->limit &&
                       ratio.ratio >= 1 / rule->limit;
    return ratio;
}

/* --- to_cpu --------------------------------------------------------------- */

/* Where absolute errors end and relative ones begin. */
static const double small_value = 1;
/* Of the mean error. */
static const double balance_limit = 1e-4;

/* Errors, absolute below 1 and relative above. */
static double error_limit(enum tp_dtype dtype)
{
    return dtype == TP_FLOAT16    ? ldexp(1, -11)
           : dtype == TP_BFLOAT16 ? ldexp(1, -8)
                                  : ldexp(1, -14);
}

static bool is_finite(struct tp_benchmark_side side, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(cast(side, i, side.dtype)))
            return false;
    return true;
}

bool tp_benchmark_single(struct tp_benchmark_side actual,
                         struct tp_benchmark_side golden, int64_t count)
{
    double absolute = 0, relative = 0, balance = 0;
    if (count == 0 || !is_finite(golden, count))
        return true;
    for (int64_t i = 0; i < count; i++) {
        const double g = cast(golden, i, golden.dtype);
        const double value = cast(actual, i, actual.dtype);
        const double a = isfinite(value) ? value : 1; /* as msprobe does */
        if (fabs(a) < small_value)
            absolute = fmax(absolute, fabs(a - g));
        else
            relative = fmax(relative, fabs(a - g) / fabs(g));
        balance += (a - g) / fmax(fabs(g), small_value);
    }
    const double limit = error_limit(actual.dtype);
    return !(absolute > limit) && !(relative > limit) &&
           !(balance / (double)count > balance_limit);
}
