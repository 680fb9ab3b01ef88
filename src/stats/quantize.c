/* SPDX-License-Identifier: MIT */
/*
 * What an elementwise cast does to values: counts and error sums, eight doubles
 * at a time. Values come in batches, from the tensor or, with how often each
 * occurs, from the histogram of 8-bit and 16-bit codes; they are scaled,
 * rounded in place (data/round.h) and compared with what they were. The order
 * of all sums is fixed by the batch, so no instruction set changes a bit.
 *
 * Alternative: encoding to the format's codes and decoding again, which no
 * statistic here needs. Only HiF8's hybrid rounding, whose decision lies in the
 * bits of the source, goes value by value.
 *
 * Cost: of a histogram at most 65 536 values whatever the tensor's size, so
 * that a sweep over scales is cheap; else every value, bound by arithmetic.
 */
#include "stats/quantize.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "stats/decode_lanes.h"
#include "stats/judge.h"
#include "stats/quantize_lanes.h"

/* --- the accumulator --------------------------------------------------- */

void tp_quant_merge(struct tp_quant_error *into,
                    const struct tp_quant_error *from, uint64_t times)
{
    const double weight = (double)times;
    if (times == 0)
        return;
    into->values += times * from->values;
    into->nonfinite_in += times * from->nonfinite_in;
    into->nonfinite_out += times * from->nonfinite_out;
    into->upper_overflow += times * from->upper_overflow;
    into->lower_overflow += times * from->lower_overflow;
    into->underflow += times * from->underflow;
    into->subnormal += times * from->subnormal;
    into->summed += times * from->summed;
    into->nonzero += times * from->nonzero;
    into->blocks += times * from->blocks;
    into->saturated_blocks += times * from->saturated_blocks;
    into->nonfinite_blocks += times * from->nonfinite_blocks;
    into->zero_blocks += times * from->zero_blocks;
    into->sum_xx += weight * from->sum_xx;
    into->sum_dd += weight * from->sum_dd;
    into->sum_xq += weight * from->sum_xq;
    into->sum_qq += weight * from->sum_qq;
    into->sum_relative += weight * from->sum_relative;
    if (from->max_abs_error > into->max_abs_error)
        into->max_abs_error = from->max_abs_error;
    if (from->scale_least > into->scale_least)
        into->scale_least = from->scale_least;
    if (from->scale_largest > into->scale_largest)
        into->scale_largest = from->scale_largest;
    if (into->tensor_scale == 0)
        into->tensor_scale = from->tensor_scale;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : NAN;
}

static double sqnr_of(const struct tp_quant_error *e)
{
    if (!(e->sum_xx > 0))
        return NAN;
    return e->sum_dd > 0 ? 10 * log10(e->sum_xx / e->sum_dd) : INFINITY;
}

void tp_quant_metrics_of(const struct tp_quant_error *e,
                         struct tp_quant_metrics *metrics)
{
    /* roots first: the product of two sums may leave the doubles */
    const double length = sqrt(e->sum_xx) * sqrt(e->sum_qq);
    const bool some = e->summed > 0;
    *metrics = (struct tp_quant_metrics){
        .overflow_ratio =
            ratio(e->upper_overflow + e->lower_overflow, e->values),
        .underflow_ratio = ratio(e->underflow, e->values),
        .subnormal_ratio = ratio(e->subnormal, e->values),
        .saturated_block_ratio = ratio(e->saturated_blocks, e->blocks),
        .sqnr_db = sqnr_of(e),
        .mse = some ? e->sum_dd / (double)e->summed : NAN,
        .max_abs_error = some ? e->max_abs_error : NAN,
        .mean_rel_error =
            e->nonzero > 0 ? e->sum_relative / (double)e->nonzero : NAN,
        .cosine = length > 0 ? fmin(e->sum_xq / length, 1) : NAN,
        .scale_min = e->scale_least > 0 ? 256 - e->scale_least : -1,
        .scale_max = (int)e->scale_largest - 1,
    };
}

void tp_hif8_regimes(const struct tp_summary *summary, int tensor_scale,
                     uint64_t count[TP_HIF8_REGIMES])
{
    memset(count, 0, TP_HIF8_REGIMES * sizeof *count);
    for (unsigned bin = 0; bin < TP_SUMMARY_BINS; bin++) {
        /* sign, 8 bits of exponent, 3 of fraction; ties away overflows
         * from 1.25 * 2^15, the edge of a bin */
        const int e = (int)(bin >> 3 & 0xff) - 127 + tensor_scale;
        const int size = e < 0 ? -e : e;
        enum tp_hif8_regime regime = TP_HIF8_BITS3;
        if (e < -23)
            regime = TP_HIF8_BELOW;
        else if (e < -15)
            regime = TP_HIF8_DENORMAL;
        else if (e > 15 || (e == 15 && (bin & 7) >= 2))
            regime = TP_HIF8_ABOVE;
        else if (size > 7)
            regime = TP_HIF8_BITS1;
        else if (size > 3)
            regime = TP_HIF8_BITS2;
        count[regime] += summary->bins[bin];
    }
}

/* --- what is asked ----------------------------------------------------- */

/* Scales beyond this would take values out of the doubles. */
enum { SCALE_MOST = 400 };

int tp_quant_tensor_scale(const struct tp_quant_spec *spec, double amax)
{
    int scale = 0;
    if (spec->number->kind != TP_NUMBER_ELEMENT)
        return 0;
    if (spec->scaled == TP_SCALED_FIXED)
        scale = spec->exponent;
    if (spec->scaled == TP_SCALED_AMAX && amax > 0 && isfinite(amax)) {
        int e;
        frexp(amax, &e);
        scale = spec->exponent - (e - 1);
    }
    return scale < -SCALE_MOST ? -SCALE_MOST
           : scale > SCALE_MOST ? SCALE_MOST
                                : scale;
}

bool tp_quant_applies(const struct tp_quant_spec *spec, enum tp_dtype dtype)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    const bool element = spec->number->kind == TP_NUMBER_ELEMENT;
    if (info->kind == TP_CLASS_INTEGER)
        return false;
    if (info->kind == TP_CLASS_COMPLEX && !element)
        return false;
    return spec->rounding != TP_ROUND_HYBRID || info->code_size <= 4;
}

/* --- batches ----------------------------------------------------------- */

TP_LANES_INLINE void add_kind(const struct tp_quant_batch *batch,
                              enum tp_rounder_kind kind, bool weighted,
                              struct tp_quant_lanes *sums)
{
    struct tp_quant_octet g;
    g.keep = (tp_lane_ints){0} - 1;
    g.weight = (tp_lane_ints){0} + 1;
    for (size_t i = 0; i < batch->n; i += TP_LANES) {
        tp_lane_bits bits;
        memcpy(&bits, batch->x + i, sizeof bits);
        g.a = (tp_lanes)(bits & INT64_MAX);
        g.negative = -(tp_lane_ints)(bits >> 63);
        g.y = g.a * batch->limits.there;
        if (weighted)
            memcpy(&g.weight, batch->weight + i, sizeof g.weight);
        if (batch->given)
            memcpy(&g.q, batch->q + i, sizeof g.q);
        else
            tp_round_lanes(&batch->rounder, kind, &g.y, &g.q);
        tp_quant_add(sums, &batch->limits, &g, weighted);
    }
}

/* What is true of all values of a batch. */
struct range {
    bool plain;  /* none is special or overflows                          */
    bool normal; /* and none is 0 or becomes subnormal                    */
};

TP_LANES_INLINE struct range range_of(const struct tp_quant_batch *batch)
{
    tp_lane_ints plain = (tp_lane_ints){0} - 1, normal = plain;
    for (size_t i = 0; i < batch->n; i += TP_LANES) {
        tp_lane_ints bits;
        memcpy(&bits, batch->x + i, sizeof bits);
        const tp_lanes a = (tp_lanes)(bits & INT64_MAX);
        const tp_lanes y = a * batch->limits.there;
        plain &= y < batch->limits.overflow;
        normal &= y >= batch->limits.min_normal;
    }
    struct range range = {true, true};
    for (int i = 0; i < TP_LANES; i++) {
        range.plain = range.plain && plain[i];
        range.normal = range.normal && plain[i] && normal[i];
    }
    return range;
}

/* As tp_round_lanes, of what is plain: with ties to even a step follows from
 * the exponent where it is. */
TP_LANES_INLINE void round_plain(const struct tp_rounder *rounder,
                                 enum tp_rounder_kind kind, bool normal,
                                 const tp_lanes *y, tp_lanes *q)
{
    if (kind != TP_ROUNDER_EVEN) {
        tp_round_lanes(rounder, kind, y, q);
        return;
    }
    const int64_t one = INT64_C(1) << 52;
    const tp_lane_ints least = (tp_lane_ints){0} + rounder->least * one;
    tp_lane_ints power = (tp_lane_ints)*y & 0x7ff * one;
    if (!normal) {
        const tp_lane_ints below = power < least;
        power = (below & least) | (~below & power);
    }
    const tp_lanes magic = (tp_lanes)(power + (52 - rounder->fraction) * one);
    const tp_lanes t = (*y + magic) - magic;
    const tp_lanes overflowed = rounder->overflowed - (tp_lanes){0};
    *q = TP_SELECT(t > rounder->max, overflowed, t);
}

TP_LANES_INLINE void add_plain(const struct tp_quant_batch *batch,
                               enum tp_rounder_kind kind, bool weighted,
                               struct tp_quant_lanes *sums)
{
    struct tp_quant_octet g;
    for (size_t i = 0; i < batch->n; i += TP_LANES) {
        tp_lane_bits bits;
        memcpy(&bits, batch->x + i, sizeof bits);
        g.a = (tp_lanes)(bits & INT64_MAX);
        g.y = g.a * batch->limits.there;
        round_plain(&batch->rounder, kind, false, &g.y, &g.q);
        if (weighted) {
            memcpy(&g.weight, batch->weight + i, sizeof g.weight);
            tp_quant_add_plain_weighted(sums, &batch->limits, &g);
        } else {
            tp_quant_add_plain(sums, &batch->limits, &g);
        }
    }
}

/* The same sums, where there is nothing to count. */
TP_LANES_INLINE void add_normal(const struct tp_quant_batch *batch,
                                enum tp_rounder_kind kind,
                                struct tp_quant_lanes *sums)
{
    for (size_t i = 0; i < batch->n; i += TP_LANES) {
        tp_lane_bits bits;
        memcpy(&bits, batch->x + i, sizeof bits);
        const tp_lanes a = (tp_lanes)(bits & INT64_MAX);
        const tp_lanes y = a * batch->limits.there;
        tp_lanes q;
        round_plain(&batch->rounder, kind, true, &y, &q);
        tp_quant_add_sums(sums, a, q * batch->limits.back, a);
    }
    sums->nonzero += (int64_t)(batch->n / TP_LANES);
}

TP_LANES_INLINE void add_rounded(const struct tp_quant_batch *batch,
                                 enum tp_rounder_kind kind,
                                 struct tp_quant_lanes *sums)
{
    const struct range range = range_of(batch);
    if (range.normal && !batch->weighted)
        add_normal(batch, kind, sums);
    else if (range.plain && batch->weighted)
        add_plain(batch, kind, true, sums);
    else if (range.plain)
        add_plain(batch, kind, false, sums);
    else
        add_kind(batch, kind, batch->weighted, sums);
}

TP_LANES_INLINE void add_any(const struct tp_quant_batch *batch,
                             struct tp_quant_error *error)
{
    struct tp_quant_lanes sums;
    memset(&sums, 0, sizeof sums);
    if (batch->given)
        add_kind(batch, TP_ROUNDER_EVEN, batch->weighted, &sums);
    else if (batch->kind == TP_ROUNDER_EVEN)
        add_rounded(batch, TP_ROUNDER_EVEN, &sums);
    else if (batch->kind == TP_ROUNDER_TAPERED)
        add_rounded(batch, TP_ROUNDER_TAPERED, &sums);
    else
        add_rounded(batch, TP_ROUNDER_AWAY, &sums);
    tp_quant_close(&sums, batch->values, error);
}

typedef void add_fn(const struct tp_quant_batch *batch,
                    struct tp_quant_error *error);
typedef void decode_fn(enum tp_dtype dtype, const unsigned char *codes,
                       size_t n, double *x);

/* Defines add_ISA and decode_ISA. */
#define BY_ISA(isa, target)                                                  \
    target static void add_##isa(const struct tp_quant_batch *batch,         \
                                 struct tp_quant_error *error)               \
    {                                                                        \
        add_any(batch, error);                                               \
    }                                                                        \
    target static void decode_##isa(enum tp_dtype dtype,                     \
                                    const unsigned char *codes, size_t n,    \
                                    double *x)                               \
    {                                                                        \
        tp_decode_lanes(dtype, codes, n, x);                                 \
    }

BY_ISA(portable, )

#if defined(__x86_64__)
BY_ISA(avx2, TP_TARGET_AVX2)
BY_ISA(avx512, TP_TARGET_AVX512)
#endif

static add_fn *const add_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(add_portable, add_avx2, add_avx512);

static decode_fn *const decode_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(decode_portable, decode_avx2, decode_avx512);

void tp_quant_decode(enum tp_isa isa, enum tp_dtype dtype, const void *codes,
                     size_t n, double *x)
{
    decode_by[isa](dtype, codes, n, x);
}

void tp_quant_batch_add(const struct tp_quant_batch *batch,
                        struct tp_quant_error *error)
{
    add_by[batch->isa](batch, error);
}

void tp_quant_batch_pad(struct tp_quant_batch *batch)
{
    for (; batch->n % TP_LANES != 0; batch->n++) {
        batch->x[batch->n] = 0;
        batch->q[batch->n] = 0;
        batch->weight[batch->n] = 0;
    }
}

/* --- elementwise formats ----------------------------------------------- */

struct tp_quant_limits tp_quant_limits_of(const struct tp_quant_spec *spec,
                                          int scale)
{
    const struct tp_judge judge = tp_judge_of(spec->number);
    struct tp_quant_limits limits = {
        .overflow = judge.overflow,
        .min_normal = spec->number->min_normal,
        .there = ldexp(1, scale),
        .back = ldexp(1, -scale),
    };
    if (spec->rounding == TP_ROUND_EVEN) /* the tie itself goes down */
        limits.overflow = nextafter(judge.overflow, INFINITY);
    return limits;
}

static void batch_init(struct tp_quant_batch *batch, enum tp_isa isa,
                       const struct tp_quant_spec *spec, int scale)
{
    const struct tp_number *number = spec->number;
    assert(number->kind == TP_NUMBER_ELEMENT);
    batch->isa = isa;
    batch->rounder = tp_rounder_of(number, spec->rounding, 0);
    batch->kind = tp_rounder_kind_of(number, spec->rounding);
    batch->limits = tp_quant_limits_of(spec, scale);
    batch->given = spec->rounding == TP_ROUND_HYBRID;
}

/* Rounds what a batch holds as HiF8 hybrids; 8-bit sources as bfloat16, in
 * which all their values are exact. */
static void round_hybrid(struct tp_quant_batch *batch, enum tp_dtype source,
                         int scale)
{
    const struct tp_number *half = tp_number_by_id("fp16");
    for (size_t i = 0; i < batch->n; i++) {
        const float single = (float)batch->x[i];
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        if (source == TP_FLOAT16)
            bits = tp_number_encode(half, TP_ROUND_DEFAULT, batch->x[i]);
        else if (source != TP_FLOAT32)
            bits >>= 16;
        batch->q[i] = fabs(tp_hif8_round_hybrid(
            source == TP_FLOAT32 || source == TP_FLOAT16 ? source
                                                         : TP_BFLOAT16,
            bits, scale));
    }
}

void tp_quant_list(const struct tp_quant_spec *spec, enum tp_dtype dtype,
                   const struct tp_code_list *list,
                   struct tp_quant_error *error)
{
    struct tp_quant_batch batch;
    double amax = 0;
    if (list->length > 0)
        amax = fmax(fabs(list->value[0]), list->value[list->length - 1]);
    const int scale = tp_quant_tensor_scale(spec, amax);
    batch_init(&batch, tp_isa_best(), spec, scale);
    batch.weighted = true;
    for (size_t at = 0; at < list->length; at += batch.n) {
        batch.n = list->length - at;
        batch.n = batch.n < TP_QUANT_BATCH ? batch.n : TP_QUANT_BATCH;
        batch.values = 0;
        memcpy(batch.x, list->value + at, batch.n * sizeof *batch.x);
        for (size_t i = 0; i < batch.n; i++) {
            batch.weight[i] = (int64_t)list->count[at + i];
            batch.values += list->count[at + i];
        }
        tp_quant_batch_pad(&batch);
        if (batch.given)
            round_hybrid(&batch, tp_dtype_info(dtype)->real, scale);
        tp_quant_batch_add(&batch, error);
    }
    const uint64_t infinite = list->pos_inf + list->neg_inf;
    error->values += list->nan + infinite;
    error->nonfinite_in += list->nan + infinite;
    error->upper_overflow += list->pos_inf;
    error->lower_overflow += list->neg_inf;
    error->tensor_scale = scale;
}

void tp_quant_values(const struct tp_quant_spec *spec,
                     const struct tp_quant_rows *rows,
                     struct tp_quant_error *error)
{
    struct tp_quant_batch batch;
    const int scale = tp_quant_tensor_scale(spec, rows->tensor_amax);
    const size_t size = tp_dtype_info(rows->dtype)->size;
    const unsigned char *at = rows->codes;
    batch_init(&batch, tp_isa_known(rows->isa), spec, scale);
    batch.weighted = false;
    error->tensor_scale = scale;
    for (size_t n = rows->rows * rows->row_length; n > 0;) {
        const size_t some = n < TP_QUANT_BATCH ? n : TP_QUANT_BATCH;
        batch.n = some;
        batch.values = some;
        tp_quant_decode(batch.isa, rows->dtype, at, some, batch.x);
        tp_quant_batch_pad(&batch);
        if (batch.given)
            round_hybrid(&batch, rows->dtype, scale);
        tp_quant_batch_add(&batch, error);
        at += some * size;
        n -= some;
    }
}
