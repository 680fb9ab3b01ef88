/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_QUANTIZE_LANES_H
#define TP_STATS_QUANTIZE_LANES_H

#include <stdint.h>
#include <string.h>

#include "base/isa.h"
#include "data/round.h"
#include "stats/quantize.h"

/*
 * Private to the quantisation files: the error sums of eight values at a
 * time. Lanes are added up in a fixed shape, so that neither the instruction
 * set nor the number of jobs shows in the result.
 */
struct tp_quant_lanes {
    tp_lanes xx, dd, xq, qq, relative, most;
    tp_lane_ints in, out, upper, lower, underflow, subnormal, nonzero;
};

/* What is the same for many values: limits of the scaled magnitude y, and
 * the factors from x to y and back. */
struct tp_quant_limits {
    double overflow;   /* y >= this overflows                              */
    double min_normal; /* a rounded y below this is subnormal              */
    double there, back;
};

/* The limits of an elementwise format whose values are scaled by 2^scale. */
struct tp_quant_limits tp_quant_limits_of(const struct tp_quant_spec *spec,
                                          int scale);

/* Eight values under way, beside their sign bits (as -1) and weights. */
struct tp_quant_octet {
    tp_lanes a, y, q;      /* |x|; scaled; y rounded                      */
    tp_lane_ints negative;
    tp_lane_ints weight;   /* 1, or how often the value occurs            */
    tp_lane_ints keep;     /* -1, or 0: counted, but in no sum            */
};

/* The error sums of magnitudes and of what they became, in the same units;
 * relative errors are to `whole`, which is a where a is not 0. */
TP_LANES_INLINE void tp_quant_add_sums(struct tp_quant_lanes *sums, tp_lanes a,
                                       tp_lanes q, tp_lanes whole)
{
    const tp_lanes difference = a - q;
    const tp_lanes d = (tp_lanes)((tp_lane_ints)difference & INT64_MAX);
    sums->xx += a * a;
    sums->dd += d * d;
    sums->xq += a * q;
    sums->qq += q * q;
    sums->relative += d / whole;
    sums->most = TP_SELECT(d > sums->most, d, sums->most);
}

/* As tp_quant_add, of values none of which is special, overflows or is left
 * out; the same sums. */
TP_LANES_INLINE void tp_quant_add_plain(struct tp_quant_lanes *sums,
                                        const struct tp_quant_limits *limits,
                                        const struct tp_quant_octet *g)
{
    const tp_lanes one = (tp_lanes){0} + 1, q = g->q * limits->back;
    const tp_lane_ints some = g->a > 0;
    sums->underflow -= some & (g->q == 0);
    sums->subnormal -= some & (g->q < limits->min_normal);
    sums->nonzero -= some;
    tp_quant_add_sums(sums, g->a, q, TP_SELECT(some, g->a, one));
}

/* The same of values that have weights; some may be 0, of values 0. */
TP_LANES_INLINE void tp_quant_add_plain_weighted(
    struct tp_quant_lanes *sums, const struct tp_quant_limits *limits,
    const struct tp_quant_octet *g)
{
    const tp_lanes w = __builtin_convertvector(g->weight, tp_lanes);
    const tp_lanes one = (tp_lanes){0} + 1, q = g->q * limits->back;
    const tp_lane_ints some = g->a > 0;
    const tp_lanes difference = g->a - q;
    const tp_lanes d = (tp_lanes)((tp_lane_ints)difference & INT64_MAX);
    const tp_lane_ints nonzero = some & g->weight;
    sums->underflow += nonzero & (g->q == 0);
    sums->subnormal += nonzero & (g->q < limits->min_normal);
    sums->nonzero += nonzero;
    sums->xx += g->a * g->a * w;
    sums->dd += d * d * w;
    sums->xq += g->a * q * w;
    sums->qq += q * q * w;
    sums->relative += d / TP_SELECT(some, g->a, one) * w;
    sums->most = TP_SELECT(d > sums->most, d, sums->most);
}

/* Adds eight values; unless `weighted`, weights are 1, or 0 where a is 0. */
TP_LANES_INLINE void tp_quant_add(struct tp_quant_lanes *sums,
                                  const struct tp_quant_limits *limits,
                                  const struct tp_quant_octet *g, bool weighted)
{
    const tp_lanes infinite = __builtin_inf() - (tp_lanes){0};
    const tp_lane_ints finite = g->a < infinite;
    const tp_lane_ints over =
        ((g->y >= limits->overflow) | (g->q >= infinite)) & g->weight;
    const tp_lane_ints use = finite & (g->q < infinite) & g->keep;
    const tp_lane_ints some = (g->a > 0) & finite;
    const tp_lanes zero = {0};
    const tp_lanes a = TP_SELECT(use, g->a, zero);
    const tp_lanes q = TP_SELECT(use, g->q * limits->back, zero);
    const tp_lanes difference = a - q;
    const tp_lanes d = (tp_lanes)((tp_lane_ints)difference & INT64_MAX);
    const tp_lanes divisor = TP_SELECT(some & use, a, zero + 1);
    sums->upper += over & ~g->negative;
    sums->lower += over & g->negative;
    sums->in += ~finite & g->weight;
    sums->out += finite & ~use & g->weight;
    sums->underflow += some & (g->q == 0) & g->weight;
    sums->subnormal += some & (g->q < limits->min_normal) & g->weight;
    sums->nonzero += some & use & g->weight;
    tp_lanes terms[] = {a * a, d * d, a * q, q * q, d / divisor};
    if (weighted) {
        const tp_lanes w = __builtin_convertvector(g->weight, tp_lanes);
        for (int i = 0; i < 5; i++)
            terms[i] *= w;
    }
    sums->xx += terms[0];
    sums->dd += terms[1];
    sums->xq += terms[2];
    sums->qq += terms[3];
    sums->relative += terms[4];
    const tp_lane_ints more = (d > sums->most) & (g->weight != 0);
    sums->most = TP_SELECT(more, d, sums->most);
}

static inline double tp_quant_fold(const tp_lanes *v)
{
    const tp_lanes x = *v;
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

static inline uint64_t tp_quant_fold_counts(const tp_lane_ints *v)
{
    int64_t sum = 0;
    for (int i = 0; i < TP_LANES; i++)
        sum += (*v)[i];
    return (uint64_t)sum;
}

/* Adds the lanes, which stand for `values` values, to the outcome. */
static inline void tp_quant_close(const struct tp_quant_lanes *sums,
                                  uint64_t values,
                                  struct tp_quant_error *error)
{
    struct tp_quant_error e = {
        .values = values,
        .nonfinite_in = tp_quant_fold_counts(&sums->in),
        .nonfinite_out = tp_quant_fold_counts(&sums->out),
        .upper_overflow = tp_quant_fold_counts(&sums->upper),
        .lower_overflow = tp_quant_fold_counts(&sums->lower),
        .underflow = tp_quant_fold_counts(&sums->underflow),
        .subnormal = tp_quant_fold_counts(&sums->subnormal),
        .nonzero = tp_quant_fold_counts(&sums->nonzero),
        .sum_xx = tp_quant_fold(&sums->xx),
        .sum_dd = tp_quant_fold(&sums->dd),
        .sum_xq = tp_quant_fold(&sums->xq),
        .sum_qq = tp_quant_fold(&sums->qq),
        .sum_relative = tp_quant_fold(&sums->relative),
        .tensor_scale = error->tensor_scale,
    };
    e.summed = values - e.nonfinite_in - e.nonfinite_out;
    for (int i = 0; i < TP_LANES; i++)
        if (sums->most[i] > e.max_abs_error)
            e.max_abs_error = sums->most[i];
    tp_quant_merge(error, &e, 1);
}

/*
 * A batch of values for tp_quant_batch_add: at most TP_QUANT_BATCH, padded with
 * zeros of weight 0 to a multiple of TP_LANES.
 */
enum { TP_QUANT_BATCH = 512 };

struct tp_quant_batch {
    enum tp_isa isa; /* known                                             */
    struct tp_rounder rounder;
    enum tp_rounder_kind kind;
    struct tp_quant_limits limits;
    bool given;    /* q[] holds the rounded scaled magnitudes already     */
    bool weighted; /* weight[] counts; else every value is one            */
    size_t n;      /* padded                                              */
    uint64_t values; /* sum of the weights                                */
    double x[TP_QUANT_BATCH], q[TP_QUANT_BATCH];
    int64_t weight[TP_QUANT_BATCH];
};

/* As tp_dtype_decode, by the loops of an instruction set, which is known. */
void tp_quant_decode(enum tp_isa isa, enum tp_dtype dtype, const void *codes,
                     size_t n, double *x);

/* Adds the error of a batch. */
void tp_quant_batch_add(const struct tp_quant_batch *batch,
                        struct tp_quant_error *error);

/* Finite magnitudes in NVFP4 blocks of one scale, and how often each occurs. */
struct tp_quant_nvfp4 {
    double tensor_amax;
    unsigned byte; /* E4M3 code of the scale                              */
    size_t n;
    double x[TP_QUANT_BATCH];
    uint64_t count[TP_QUANT_BATCH];
};

/* Adds their error, without counts of blocks and of overflow. */
void tp_quant_nvfp4_add(const struct tp_quant_spec *spec,
                        const struct tp_quant_nvfp4 *values,
                        struct tp_quant_error *error);

/* Pads batch->n to whole lanes; clears what is added. */
void tp_quant_batch_pad(struct tp_quant_batch *batch);

#endif
