/* SPDX-License-Identifier: MIT */
/*
 * Fewer bits, and fewer terms. Bounds say how far fewer bits may be off at
 * most, which explains nearly any error: they count only where the same steps,
 * simulated, are off as much and at the same elements. Alternative: the size of
 * the error alone, which an eps or a stale weight has, too. Cost: three runs of
 * the kernel, and sums of sampled elements.
 */
#include "replay/explain_tries.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/dtype_round.h"
#include "replay/op_family.h"
#include "replay/sum_terms.h"

/* The floating dtype of tensors with a rounding. */
static enum tp_dtype dtype_of(double rounding)
{
    static const enum tp_dtype dtypes[] = {TP_FLOAT16, TP_BFLOAT16,
                                           TP_FLOAT8_E4M3FN, TP_FLOAT8_E5M2};
    size_t i = 0;
    while (i + 1 < sizeof dtypes / sizeof *dtypes &&
           tp_dtype_rounding(dtypes[i]) < rounding)
        i++;
    return dtypes[i];
}

static struct tp_sum sum_of(const struct tp_tries *t, size_t result)
{
    return (struct tp_sum){&t->call,
                           t->verdict->operator, & t->call.outputs[result],
                           &t->dumped[result]};
}

bool tp_tries_sums_in(const struct tp_tries *t, double rounding, bool exactly,
                      bool *known)
{
    bool fits = t->call.output_count == t->count, all = fits;
    for (size_t i = 0; i < t->count && fits; i++) {
        const struct tp_sum sum = sum_of(t, i);
        if (i != t->verdict->result && !(i < 64 && t->beyond_results >> i & 1))
            continue;
        fits = tp_sum_fits(&sum, dtype_of(rounding), exactly, known);
        all &= *known;
    }
    *known = all;
    return fits;
}

/* That none of so many is off is no chance. */
bool tp_tries_sums_spare(const struct tp_tries *t, const uint8_t *marks)
{
    enum { MANY = 8 }; /* e^-8                                               */
    const struct tp_sum sum = sum_of(t, t->verdict->result);
    return t->call.output_count == t->count &&
           tp_sum_spared(&sum, dtype_of(t->call.own), marks) >= MANY;
}

/* A sum in few bits stands still, too, as if the rest had been lost. */
bool tp_try_lost(struct tp_tries *t)
{
    int64_t count;
    bool known;
    if (t->count != 1 || t->call.output_count != 1)
        return false;
    const struct tp_sum sum = sum_of(t, 0);
    const int64_t lost = tp_sum_lost(&sum, &count);
    if (lost == 0 || tp_tries_sums_in(t, t->call.own, true, &known))
        return false;
    TP_SAY(t,
           "the last %" PRId64 " of %" PRId64
           " terms of each sum were left out",
           lost, count);
    return true;
}

/* To so many significant bits, whatever the exponent. */
static double to_bits(double value, int bits)
{
    int exponent;
    if (!isfinite(value) || value == 0)
        return value;
    const double part = frexp(value, &exponent);
    return ldexp(nearbyint(ldexp(part, bits)), exponent - bits);
}

/* What goes into a call, rounded or put back. */
static void round_given(struct tp_replay_call *call, int bits, double **saved,
                        bool back)
{
    for (size_t i = 0; i < call->call->count; i++) {
        struct tp_array *array = &call->arrays[i];
        if (!array->value || tp_dtype_rounding(array->dtype) == 0)
            continue;
        const size_t size = (size_t)array->count * sizeof *array->value;
        if (!back)
            saved[i] = tp_replay_room(call, array->count, sizeof *saved[i]);
        if (!back && saved[i]) {
            memcpy(saved[i], array->value, size);
            for (int64_t k = 0; k < array->count; k++)
                array->value[k] = to_bits(array->value[k], bits);
        } else if (back && saved[i]) {
            memcpy(array->value, saved[i], size);
            free(saved[i]);
        }
    }
    if (call->forward)
        round_given(call->forward, bits, saved + call->call->count, back);
}

/* Whether the recorded errors are those that `simulated` has from `right`: of
 * the same size, and at the same elements. */
static bool is_like(const struct tp_array *right, const double *simulated,
                    int bits, const struct tp_array *dumped)
{
    double product = 0, ours = 0, theirs = 0;
    for (int64_t i = 0; i < right->count; i++) {
        const double v = right->value[i];
        const double e = dumped->value[i] - v;
        const double s =
            (bits ? to_bits(simulated[i], bits) : simulated[i]) - v;
        if (!isfinite(e) || !isfinite(s))
            continue;
        product += e * s;
        ours += s * s;
        theirs += e * e;
    }
    return product > 0.5 * sqrt(ours * theirs) && ours < 9 * theirs &&
           theirs < 9 * ours;
}

/* Whether an error is what rounding all that goes in, what comes out, or both
 * makes. */
static bool is_rounded(struct tp_tries *t, int bits)
{
    const size_t worst = t->verdict->result;
    const size_t count = t->call.call->count +
                         (t->call.forward ? t->call.forward->call->count : 0);
    const struct tp_array *right = &t->call.outputs[worst];
    double **saved = tp_replay_room(&t->call, (int64_t)count, sizeof *saved);
    double *made = tp_replay_room(&t->call, right->count, sizeof *made), off;
    bool like = false;
    if (saved && made && right->count) {
        round_given(&t->call, bits, saved, false);
        tp_tries_run(t, &off);
        const bool ran = t->call.output_count == t->count;
        if (ran)
            memcpy(made, t->call.outputs[worst].value,
                   (size_t)t->dumped[worst].count * sizeof *made);
        round_given(&t->call, bits, saved, true);
        tp_tries_run(t, &off);
        right = &t->call.outputs[worst];
        like = ran && t->call.output_count == t->count &&
               (is_like(right, made, 0, &t->dumped[worst]) ||
                is_like(right, made, bits, &t->dumped[worst]) ||
                is_like(right, right->value, bits, &t->dumped[worst]));
    }
    free(made);
    free(saved);
    return like;
}

/* Rounding makes no NaN, and what few elements of many are is not seen in
 * samples. */
bool tp_tries_may_overflow(const struct tp_tries *t)
{
    enum { SEEN = 64 };
    return isinf(t->verdict->dumped) &&
           t->dumped[t->verdict->result].count <= SEEN;
}

/* Fewer bits between the steps than the tensors have. */
bool tp_try_steps(struct tp_tries *t)
{
    static const struct {
        int bits;
        const char *words;
    } steps[] = {{11, "fp16 or TF32"}, {8, "bf16"}};
    const double unit = t->call.unit;
    bool fit = false;
    const bool beyond =
        !isfinite(t->verdict->dumped) && isfinite(t->verdict->computed);
    if (beyond && !tp_tries_may_overflow(t))
        return false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !fit; i++) {
        bool known;
        double off;
        t->call.unit = ldexp(1, -steps[i].bits);
        fit = t->call.unit > unit && (tp_tries_run(t, &off) || beyond) &&
              (tp_tries_sums_in(t, t->call.unit, false, &known) ||
               (!beyond && is_rounded(t, steps[i].bits)));
        if (fit)
            TP_SAY(t, "every step was rounded to %s", steps[i].words);
    }
    t->call.unit = unit;
    return fit;
}

/* Roundings that a result may be off by norms, of sums that are not known: of
 * attention and norms, whose sums are not what is off, and of products. Others,
 * and gradients, may cancel. */
static double roundings_of(const struct tp_tries *t)
{
    const enum tp_op_family family = tp_op_family_of(t->verdict->operator);
    return t->call.forward                                     ? INFINITY
           : family == TP_OP_ATTENTION || family == TP_OP_NORM ? 6
           : family == TP_OP_PRODUCT                           ? 64
                                                               : INFINITY;
}

/* Beyond what steps in the tensors' own dtype truly lose. */
bool tp_try_unlike(struct tp_tries *t)
{
    bool known;
    if (!t->strict || tp_tries_sums_in(t, t->call.own, false, &known))
        return false;
    if (!known && !(t->verdict->relative >
                    roundings_of(t) * t->call.own + t->verdict->bound))
        return false;
    TP_SAY(t, "its steps in %s would be less off, or elsewhere",
           tp_dtype_info(dtype_of(t->call.own))->name);
    return true;
}
