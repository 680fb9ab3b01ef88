/* SPDX-License-Identifier: MIT */
/*
 * Addends that are less than half a step of the sum are lost: after 2^p equal
 * ones a sum in a dtype of p bits stands still. Chunks keep partial sums small
 * (their number is what matters, as in Blanchard, Higham and Mary, 2020),
 * Kahan's sum keeps what was lost; both are emulated here step by step, as a
 * device that rounds to the dtype would do. Cost: a rounding for each step.
 */
#include "replay/accumulate.h"

#include <math.h>

#include "replay/array.h"
#include "replay/dtype_round.h"

static double in_sequence(const double *terms, int64_t count,
                          enum tp_dtype dtype)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum = tp_dtype_round(dtype, sum + terms[i]);
    return sum;
}

static double in_chunks(const double *terms, int64_t count, enum tp_dtype dtype)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i += TP_ACCUMULATE_CHUNK) {
        const int64_t left = count - i;
        const double part = in_sequence(
            terms + i, left < TP_ACCUMULATE_CHUNK ? left : TP_ACCUMULATE_CHUNK,
            dtype);
        sum = tp_dtype_round(dtype, sum + part);
    }
    return sum;
}

static double by_kahan(const double *terms, int64_t count, enum tp_dtype dtype)
{
    double sum = 0, lost = 0;
    for (int64_t i = 0; i < count; i++) {
        const double term =
            tp_dtype_round(dtype, tp_dtype_round(dtype, terms[i]) - lost);
        const double next = tp_dtype_round(dtype, sum + term);
        lost = tp_dtype_round(dtype, tp_dtype_round(dtype, next - sum) - term);
        sum = next;
    }
    return sum;
}

double tp_accumulate(const double *terms, int64_t count, enum tp_dtype dtype,
                     enum tp_accumulate_scheme scheme)
{
    switch (scheme) {
    case TP_ACCUMULATE_CHUNKS:
        return in_chunks(terms, count, dtype);
    case TP_ACCUMULATE_KAHAN:
        return by_kahan(terms, count, dtype);
    case TP_ACCUMULATE_FLOAT32:
        return tp_dtype_round(dtype, in_sequence(terms, count, TP_FLOAT32));
    default:
        return in_sequence(terms, count, dtype);
    }
}

/* One after the other, in float32: how far it is off, and the squares of the
 * sums on the way. */
struct way {
    double off, squares;
};

static struct way way_of(const double *terms, int64_t count, bool back)
{
    struct way way = {0, 0};
    float sum = 0;
    double exact = 0;
    for (int64_t i = 0; i < count; i++) {
        const double term = terms[back ? count - 1 - i : i];
        sum = (float)(sum + term);
        exact += term;
        way.squares += (double)sum * sum;
    }
    way.off = fabs(sum - exact);
    return way;
}

/*
 * Roundings of a sum S_k are spread evenly over u |S_k| to both sides, so that
 * they add up to a deviation of u sqrt(sum S_k^2 / 3), of which six are taken:
 * one sum in 5e8 is further off. Where terms are alike, roundings are too: then
 * what one order loses tells, twice. One term after the other is the order with
 * the largest sums on the way; lanes and trees add log2(n) roundings.
 */
double tp_accumulate_bound(const double *terms, int64_t count, double unit)
{
    enum { DEVIATIONS = 6, MORE = 4 };
    const double u = tp_dtype_rounding(TP_FLOAT32);
    double size = 0;
    for (int64_t i = 0; i < count; i++)
        size += fabs(terms[i]);
    const double worst = tp_rounding_gamma(unit, (double)count + 1) * size;
    if (unit != u || count < 2)
        return worst;
    const struct way there = way_of(terms, count, false),
                     back = way_of(terms, count, true);
    const double deviation = u * sqrt(fmax(there.squares, back.squares) / 3);
    const double usual =
        (log2((double)count) + MORE) * u * size +
        fmax(DEVIATIONS * deviation, 2 * fmax(there.off, back.off));
    return usual < worst ? usual : worst;
}
