/* SPDX-License-Identifier: MIT */
/*
 * Block formats by the values: of tensors too wide for tallies of codes, and
 * NVFP4, whose scales are not powers of two. A block is decoded and held in
 * vectors of eight doubles; its largest magnitude gives the scale, and each
 * value is rounded in place by an element format moved to that scale
 * (MX), or multiplied in binary32 as hardware does it (NVFP4).
 *
 * Alternative: tally.c, which looks at few codes only, but needs a power of two
 * for a scale and a histogram of all codes.
 *
 * Cost: a block is read once and walked twice, the second time from registers;
 * bound by the arithmetic of the error sums.
 */
#include "stats/quantize.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "stats/blocks_plan.h"
#include "stats/decode_lanes.h"
#include "stats/quantize_lanes.h"

enum { MOST_LANES = 32 / TP_LANES };

/* What the blocks of one call have in common. */
struct blocks {
    const struct tp_quant_spec *spec;
    struct tp_rounder element; /* at scale 2^0                          */
    double max;                /* of the element                        */
    int block;
    enum tp_nonfinite nonfinite; /* as the format has it                */
    /* NVFP4 */
    float encode;
    float e4m3[127];           /* values of the scale's codes           */
};

/* What one block's largest magnitude decides. */
struct scale {
    struct tp_rounder rounder;
    struct tp_quant_limits limits;
    float factor;  /* NVFP4: times this in binary32 */
    unsigned byte;
};

static void blocks_init(struct blocks *blocks,
                        const struct tp_quant_spec *spec, double tensor_amax)
{
    assert(spec->number->kind != TP_NUMBER_ELEMENT);
    *blocks = (struct blocks){
        .spec = spec,
        .element = tp_rounder_of(spec->number, TP_ROUND_DEFAULT, 0),
        .max = spec->number->max,
        .encode = tp_nvfp4_encode(tensor_amax),
        .block = spec->number->block,
        .nonfinite = spec->number->kind != TP_NUMBER_MX &&
                             spec->nonfinite == TP_NONFINITE_TORCHAO
                         ? TP_NONFINITE_BLOCK
                         : spec->nonfinite,
    };
    double values[127];
    uint8_t codes[127];
    for (int i = 0; i < 127; i++)
        codes[i] = (uint8_t)i;
    tp_dtype_decode(TP_FLOAT8_E4M3FN, codes, 127, values);
    for (int i = 0; i < 127; i++)
        blocks->e4m3[i] = (float)values[i];
}

static void scale_mx(const struct blocks *blocks, double amax,
                     struct scale *scale)
{
    const struct tp_number *number = blocks->spec->number;
    const int k = tp_scale_exponent(number, blocks->spec->rule, amax);
    scale->byte = tp_e8m0_byte(k);
    scale->rounder = tp_rounder_of(number, TP_ROUND_DEFAULT, k);
    scale->limits = (struct tp_quant_limits){
        .overflow = nextafter(scale->rounder.max, INFINITY),
        .min_normal = ldexp(number->min_normal, k),
        .there = 1,
        .back = 1,
    };
}

/* The order of the binary32 operations is Transformer Engine's. */
static void nvfp4_by_byte(const struct blocks *blocks, unsigned byte,
                          struct scale *scale)
{
    const float value = blocks->e4m3[byte];
    const float inverse = value * (1.0f / blocks->encode);
    const float factor = inverse == 0 ? 0 : 1.0f / inverse;
    scale->byte = byte;
    scale->factor = factor > FLT_MAX ? FLT_MAX : factor;
    scale->rounder = blocks->element;
    scale->limits = (struct tp_quant_limits){
        .overflow = nextafter(blocks->max, INFINITY),
        .min_normal = blocks->spec->number->min_normal,
        .back = (double)value / (double)blocks->encode,
    };
}

static void scale_nvfp4(const struct blocks *blocks, double amax,
                        struct scale *scale)
{
    const float block_amax = tp_to_binary32(amax);
    nvfp4_by_byte(blocks, tp_nvfp4_scale_code(blocks->encode, block_amax),
                  scale);
}

typedef float float_lanes __attribute__((vector_size(TP_LANES * 4)));

/* One multiplication in binary32, of each lane; larger values are the
 * largest first. */
TP_LANES_INLINE void multiply_binary32(const tp_lanes *a, float factor,
                                       tp_lanes *y)
{
    const tp_lanes most = 0x1.fffffep127 - (tp_lanes){0};
    const tp_lane_ints large = (*a > most) & (*a <= DBL_MAX);
    const tp_lanes clamped = TP_SELECT(large, most, *a);
    const float_lanes product =
        __builtin_convertvector(clamped, float_lanes) * factor;
    *y = __builtin_convertvector(product, tp_lanes);
}

/* A block in lanes. */
struct held {
    tp_lanes a[MOST_LANES];
    tp_lane_ints negative[MOST_LANES];
    double amax; /* of what counts for the scale */
    bool special; /* has a NaN or an infinity */
    bool lost;    /* becomes NaN */
};

TP_LANES_INLINE void hold_lanes(const double *x, size_t lanes,
                                struct held *held)
{
    const tp_lanes infinite = __builtin_inf() - (tp_lanes){0};
    tp_lanes most = {0};
    tp_lane_ints all_finite = (tp_lane_ints){0} - 1;
    for (size_t i = 0; i < lanes; i++) {
        tp_lane_bits bits;
        memcpy(&bits, x + i * TP_LANES, sizeof bits);
        held->a[i] = (tp_lanes)(bits & INT64_MAX);
        held->negative[i] = -(tp_lane_ints)(bits >> 63);
        const tp_lane_ints finite = held->a[i] < infinite;
        const tp_lane_ints more = (held->a[i] > most) & finite;
        most = TP_SELECT(more, held->a[i], most);
        all_finite &= finite;
    }
    held->amax = 0;
    for (int i = 0; i < TP_LANES; i++)
        held->amax = most[i] > held->amax ? most[i] : held->amax;
    held->special =
        tp_quant_fold_counts(&all_finite) != (uint64_t)-TP_LANES;
    held->lost = false;
}

/* What a policy makes of a block with a NaN or an infinity. */
static void judge_special(const struct blocks *blocks, struct held *held)
{
    const tp_lanes infinite = __builtin_inf() - (tp_lanes){0};
    tp_lane_ints nans = {0}, infinities = {0};
    for (size_t i = 0; i < (size_t)blocks->block / TP_LANES; i++) {
        nans |= ~(held->a[i] <= infinite);
        infinities |= held->a[i] == infinite;
    }
    const bool nan = tp_quant_fold_counts(&nans) != 0;
    const bool infinity = tp_quant_fold_counts(&infinities) != 0;
    held->lost = nan || blocks->nonfinite == TP_NONFINITE_BLOCK;
    if (blocks->nonfinite == TP_NONFINITE_ELEMENT)
        held->lost = false;
    if (blocks->nonfinite == TP_NONFINITE_TORCHAO && infinity)
        held->amax = INFINITY;
}

TP_LANES_INLINE void hold(const struct blocks *blocks, const double *x,
                          struct held *held)
{
    hold_lanes(x, (size_t)blocks->block / TP_LANES, held);
    if (held->special)
        judge_special(blocks, held);
}

/* Adds a block of n values; beyond them, whole lanes are filled with 0. */
TP_LANES_INLINE void add_block(const struct blocks *blocks, const double *x,
                               size_t n, struct tp_quant_lanes *sums,
                               struct tp_quant_error *counts)
{
    const bool mx = blocks->spec->number->kind == TP_NUMBER_MX;
    const size_t lanes = (size_t)blocks->block / TP_LANES;
    const tp_lane_ints first = {0, 1, 2, 3, 4, 5, 6, 7};
    const tp_lanes infinite = __builtin_inf() - (tp_lanes){0};
    struct held held;
    struct scale scale;
    struct tp_quant_octet g;
    hold(blocks, x, &held);
    if (mx)
        scale_mx(blocks, held.amax, &scale);
    else
        scale_nvfp4(blocks, held.amax, &scale);
    g.keep = (tp_lane_ints){0} - !held.lost;
    tp_lane_ints over = sums->upper + sums->lower;
    for (size_t i = 0; i < lanes; i++) {
        g.a = held.a[i];
        g.y = g.a;
        g.weight = 1 & (first + (int64_t)(i * TP_LANES) < (int64_t)n);
        g.negative = held.negative[i];
        if (!mx) {
            multiply_binary32(&held.a[i], scale.factor, &g.y);
            /* infinity overflows also where the block's scale is 0, and
             * the product with it NaN */
            g.y = TP_SELECT(g.a == infinite, g.a, g.y);
        }
        tp_round_lanes(&scale.rounder, TP_ROUNDER_EVEN, &g.y, &g.q);
        tp_quant_add(sums, &scale.limits, &g, false);
    }
    over = sums->upper + sums->lower - over;
    counts->blocks++;
    counts->saturated_blocks += tp_quant_fold_counts(&over) > 0;
    counts->nonfinite_blocks += held.special;
    counts->zero_blocks += held.amax == 0;
    if (held.amax > 0) {
        const uint16_t least = (uint16_t)(256 - scale.byte);
        const uint16_t largest = (uint16_t)(scale.byte + 1);
        if (least > counts->scale_least)
            counts->scale_least = least;
        if (largest > counts->scale_largest)
            counts->scale_largest = largest;
    }
}

TP_LANES_INLINE void add_row(const struct blocks *blocks,
                             const struct tp_quant_rows *rows,
                             const unsigned char *at,
                             struct tp_quant_error *error)
{
    const size_t size = tp_dtype_info(rows->dtype)->size;
    const size_t block = (size_t)blocks->block;
    double x[TP_QUANT_BATCH + 32];
    struct tp_quant_lanes sums;
    memset(&sums, 0, sizeof sums);
    struct tp_quant_error counts = {0};
    for (size_t done = 0; done < rows->row_length;) {
        size_t n = rows->row_length - done;
        n = n < TP_QUANT_BATCH ? n : TP_QUANT_BATCH;
        tp_decode_lanes(rows->dtype, at + done * size, n, x);
        memset(x + n, 0, block * sizeof *x);
        for (size_t i = 0; i < n; i += block)
            add_block(blocks, x + i, n - i < block ? n - i : block, &sums,
                      &counts);
        done += n;
    }
    tp_quant_merge(error, &counts, 1);
    tp_quant_close(&sums, rows->row_length, error);
}

TP_LANES_INLINE void add_rows(const struct blocks *blocks,
                              const struct tp_quant_rows *rows,
                              struct tp_quant_error *error)
{
    const unsigned char *at = rows->codes;
    const size_t pitch =
        rows->row_length * tp_dtype_info(rows->dtype)->size;
    for (size_t row = 0; row < rows->rows; row++, at += pitch)
        add_row(blocks, rows, at, error);
}

static void rows_portable(const struct blocks *blocks,
                          const struct tp_quant_rows *rows,
                          struct tp_quant_error *error)
{
    add_rows(blocks, rows, error);
}

#if defined(__x86_64__)
TP_TARGET_AVX2 static void rows_avx2(const struct blocks *blocks,
                                     const struct tp_quant_rows *rows,
                                     struct tp_quant_error *error)
{
    add_rows(blocks, rows, error);
}

TP_TARGET_AVX512 static void rows_avx512(const struct blocks *blocks,
                                         const struct tp_quant_rows *rows,
                                         struct tp_quant_error *error)
{
    add_rows(blocks, rows, error);
}
#endif

typedef void rows_fn(const struct blocks *blocks,
                     const struct tp_quant_rows *rows,
                     struct tp_quant_error *error);

static rows_fn *const rows_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(rows_portable, rows_avx2, rows_avx512);

void tp_quant_blocks(const struct tp_quant_spec *spec,
                     const struct tp_quant_rows *rows,
                     struct tp_quant_error *error)
{
    struct blocks blocks;
    blocks_init(&blocks, spec, rows->tensor_amax);
    rows_by[tp_isa_known(rows->isa)](&blocks, rows, error);
}

/* --- magnitudes of one scale --------------------------------------------- */

void tp_quant_nvfp4_add(const struct tp_quant_spec *spec,
                        const struct tp_quant_nvfp4 *values,
                        struct tp_quant_error *error)
{
    struct blocks blocks;
    struct scale scale;
    struct tp_quant_batch batch;
    blocks_init(&blocks, spec, values->tensor_amax);
    nvfp4_by_byte(&blocks, values->byte, &scale);
    batch.isa = tp_isa_best();
    batch.kind = TP_ROUNDER_EVEN;
    batch.given = true;
    batch.weighted = true;
    batch.limits = scale.limits;
    batch.limits.overflow = INFINITY;
    batch.limits.there = 1;
    batch.n = values->n;
    batch.values = 0;
    memcpy(batch.x, values->x, batch.n * sizeof *batch.x);
    for (size_t i = 0; i < batch.n; i++) {
        batch.weight[i] = (int64_t)values->count[i];
        batch.values += values->count[i];
    }
    tp_quant_batch_pad(&batch);
    for (size_t i = 0; i < batch.n; i += TP_LANES) {
        tp_lanes a, q;
        memcpy(&a, batch.x + i, sizeof a);
        multiply_binary32(&a, scale.factor, &a);
        tp_round_lanes(&scale.rounder, TP_ROUNDER_EVEN, &a, &q);
        memcpy(batch.q + i, &q, sizeof q);
    }
    tp_quant_batch_add(&batch, error);
}

/* --- one block, code by code ------------------------------------------- */

unsigned tp_quant_block_codes(const struct tp_quant_spec *spec,
                              double tensor_amax, const double *x, size_t n,
                              uint8_t *codes)
{
    struct blocks blocks;
    struct scale scale;
    struct held held;
    double padded[MOST_LANES * TP_LANES] = {0};
    blocks_init(&blocks, spec, tensor_amax);
    assert(n <= (size_t)blocks.block);
    memcpy(padded, x, n * sizeof *x);
    hold(&blocks, padded, &held);
    const bool mx = spec->number->kind == TP_NUMBER_MX;
    if (mx)
        scale_mx(&blocks, held.amax, &scale);
    else
        scale_nvfp4(&blocks, held.amax, &scale);
    /* torchao clamps what it casts */
    const double most =
        mx && blocks.nonfinite == TP_NONFINITE_TORCHAO ? blocks.max : INFINITY;
    for (size_t i = 0; i < n; i++) {
        tp_lanes y = {fabs(x[i])};
        if (mx)
            y = y / tp_e8m0_value(scale.byte);
        else
            multiply_binary32(&y, scale.factor, &y);
        codes[i] = (uint8_t)tp_number_encode(
            spec->number, TP_ROUND_DEFAULT,
            held.lost ? NAN : copysign(y[0] > most ? most : y[0], x[i]));
    }
    return held.lost ? 0xff : scale.byte;
}
