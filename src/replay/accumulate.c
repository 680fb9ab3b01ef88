/* SPDX-License-Identifier: MIT */
/*
 * Addends that are less than half a step of the sum are lost: after 2^p equal
 * ones a sum in a dtype of p bits stands still. Chunks keep partial sums small
 * (their number is what matters, as in Blanchard, Higham and Mary, 2020),
 * Kahan's sum keeps what was lost; both are emulated here step by step, as a
 * device that rounds to the dtype would do. Cost: a rounding for each step.
 */
#include "replay/accumulate.h"

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
