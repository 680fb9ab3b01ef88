/* SPDX-License-Identifier: MIT */
/*
 * Sums of binary32 values by their leading 17 bits, and casts from them:
 * stats/float_bins.h says why they are exact. Each bin of the result is two
 * groups of values, those at its edge and those inside, and a group is rounded
 * once. With n values inside, of mean m and sum of squared distances from it V,
 * the sum of (x - q)^2 is n (m - q)^2 + V; V comes from integers of 128 bits,
 * since n times the squares and the square of the sum may agree in all digits
 * that a double has.
 *
 * Alternative: rounding every value (quantize.c), some two nanoseconds a value
 * and format; this is one a value for any number of formats.
 *
 * Cost: 3 MiB of bins a worker, of which values touch those of their binades
 * (6 KiB each); 6 MiB of totals a tensor; some ten nanoseconds a bin and format
 * at the end.
 */
#include "stats/float_bins.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/isa.h"
#include "data/dtype_math.h"
#include "stats/float_bins_math.h"

__extension__ typedef unsigned __int128 wide;

enum { SHIFT = TP_FLOAT_BIN_SHIFT, LOW = (1 << SHIFT) - 1 };

bool tp_float_bins_suit(const struct tp_quant_spec *spec)
{
    return spec->number->kind == TP_NUMBER_ELEMENT &&
           spec->number->precision <= 32 - 1 - 8 - SHIFT &&
           spec->rounding != TP_ROUND_HYBRID;
}

/* --- counting ------------------------------------------------------------- */

typedef size_t add_fn(const unsigned char *codes, size_t n,
                      struct tp_float_bin *bins);

#if defined(__x86_64__)

/*
 * Codes side by side: what each adds to `sum` and `squares`, which are one
 * vector of a bin, and what `most` and `least`, which are one word, are at
 * least. Codes at the edge add nothing to either, and are taken apart.
 */
enum { STEP = 16, STEPS = 8 };

struct step {
    uint32_t offset[STEP], extremes[STEP];
    __m128i sums[STEP]; /* of code 4 * j + i in [STEP / 4 * i + j]        */
    uint32_t edges;     /* a bit for each                                 */
};

TP_TARGET_AVX2 static void add_step(const struct step *step,
                                    struct tp_float_bin *bins)
{
#pragma GCC unroll 16
    for (int i = 0; i < STEP; i++) {
        unsigned char *bin = (unsigned char *)bins + step->offset[i];
        unsigned char *extremes = bin + offsetof(struct tp_float_bin, most);
        const __m128i sums = _mm_loadu_si128((const void *)bin);
        const __m128i known = _mm_loadu_si32(extremes);
        _mm_storeu_si128(
            (void *)bin,
            _mm_add_epi64(sums, step->sums[i % 4 * (STEP / 4) + i / 4]));
        _mm_storeu_si32(
            extremes,
            _mm_max_epu16(known, _mm_loadu_si32(&step->extremes[i])));
    }
    for (uint32_t left = step->edges; left != 0; left &= left - 1)
        bins[step->offset[__builtin_ctz(left)] / sizeof *bins].edge++;
}

TP_TARGET_AVX512 static void prepare_avx512(const unsigned char *codes,
                                            struct step *step)
{
    const __m512i zero = _mm512_setzero_si512();
    const __m512i end = _mm512_set1_epi32(LOW + 1);
    const __m512i one = _mm512_set1_epi32(1 << (TP_FLOAT_BIN_COUNT - 32));
    const __m512i code = _mm512_loadu_si512(codes);
    const __m512i low = _mm512_and_si512(code, _mm512_set1_epi32(LOW));
    const __mmask16 inner = _mm512_test_epi32_mask(low, low);
    const __m512i squares = _mm512_madd_epi16(low, low);
    const __m512i count = _mm512_maskz_mov_epi32(inner, one);
    const __m512i least = _mm512_slli_epi32(_mm512_sub_epi32(end, low), 16);
    const __m512i a = _mm512_unpacklo_epi32(low, count);
    const __m512i b = _mm512_unpackhi_epi32(low, count);
    const __m512i c = _mm512_unpacklo_epi32(squares, zero);
    const __m512i d = _mm512_unpackhi_epi32(squares, zero);
    _mm512_storeu_si512(
        step->offset,
        _mm512_mullo_epi32(_mm512_srli_epi32(code, SHIFT),
                           _mm512_set1_epi32(sizeof(struct tp_float_bin))));
    _mm512_storeu_si512(step->extremes,
                        _mm512_maskz_or_epi32(inner, low, least));
    _mm512_storeu_si512(step->sums, _mm512_unpacklo_epi64(a, c));
    _mm512_storeu_si512(step->sums + 4, _mm512_unpackhi_epi64(a, c));
    _mm512_storeu_si512(step->sums + 8, _mm512_unpacklo_epi64(b, d));
    _mm512_storeu_si512(step->sums + 12, _mm512_unpackhi_epi64(b, d));
    step->edges = (uint16_t)~inner;
}

/* The first half of a step, or the second. */
TP_TARGET_AVX2 static void prepare_half(const unsigned char *codes, int half,
                                        struct step *step)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i end = _mm256_set1_epi32(LOW + 1);
    const __m256i one = _mm256_set1_epi32(1 << (TP_FLOAT_BIN_COUNT - 32));
    const __m256i code = _mm256_loadu_si256((const void *)codes);
    const __m256i low = _mm256_and_si256(code, _mm256_set1_epi32(LOW));
    const __m256i edge = _mm256_cmpeq_epi32(low, zero);
    const __m256i squares = _mm256_madd_epi16(low, low);
    const __m256i count = _mm256_andnot_si256(edge, one);
    const __m256i least = _mm256_slli_epi32(_mm256_sub_epi32(end, low), 16);
    const __m256i a = _mm256_unpacklo_epi32(low, count);
    const __m256i b = _mm256_unpackhi_epi32(low, count);
    const __m256i c = _mm256_unpacklo_epi32(squares, zero);
    const __m256i d = _mm256_unpackhi_epi32(squares, zero);
    const __m256i sums[] = {
        _mm256_unpacklo_epi64(a, c), _mm256_unpackhi_epi64(a, c),
        _mm256_unpacklo_epi64(b, d), _mm256_unpackhi_epi64(b, d)};
    _mm256_storeu_si256(
        (void *)(step->offset + 8 * half),
        _mm256_mullo_epi32(_mm256_srli_epi32(code, SHIFT),
                           _mm256_set1_epi32(sizeof(struct tp_float_bin))));
    _mm256_storeu_si256(
        (void *)(step->extremes + 8 * half),
        _mm256_andnot_si256(edge, _mm256_or_si256(low, least)));
    for (int i = 0; i < 4; i++)
        _mm256_storeu_si256((void *)(step->sums + 4 * i + 2 * half), sums[i]);
    step->edges |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(edge))
                   << 8 * half;
}

TP_TARGET_AVX2 static void prepare_avx2(const unsigned char *codes,
                                        struct step *step)
{
    step->edges = 0;
    prepare_half(codes, 0, step);
    prepare_half(codes + 32, 1, step);
}

/* Defines add_ISA; several steps at once, so that what is stored for one is
 * there when it is needed. */
#define ADD(isa, target)                                                   \
    target static size_t add_##isa(const unsigned char *codes, size_t n,   \
                                   struct tp_float_bin *bins)              \
    {                                                                      \
        struct step steps[STEPS];                                          \
        size_t done = 0;                                                   \
        for (; done + STEPS * STEP <= n; done += STEPS * STEP) {           \
            for (size_t i = 0; i < STEPS; i++)                             \
                prepare_##isa(codes + 4 * (done + i * STEP), &steps[i]);   \
            for (size_t i = 0; i < STEPS; i++)                             \
                add_step(&steps[i], bins);                                 \
        }                                                                  \
        return done;                                                       \
    }

ADD(avx512, TP_TARGET_AVX512)
ADD(avx2, TP_TARGET_AVX2)
#endif

static size_t add_none(const unsigned char *codes, size_t n,
                       struct tp_float_bin *bins)
{
    (void)codes, (void)n, (void)bins;
    return 0;
}

/* Each adds as many of the first codes as it can, and says how many. */
static add_fn *const add_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(add_none, add_avx2, add_avx512);

void tp_float_bins_add(const struct tp_span *span, enum tp_isa isa,
                       struct tp_float_bin *bins)
{
    const unsigned char *at = span->codes;
    for (size_t i = add_by[tp_isa_known(isa)](at, span->n, bins); i < span->n;
         i++) {
        uint32_t code;
        memcpy(&code, at + 4 * i, sizeof code);
        tp_float_bin_add(&bins[code >> SHIFT], code);
    }
}

static void add_squares(struct tp_float_bin_total *total, uint64_t squares)
{
    total->squares[0] += squares;
    total->squares[1] += total->squares[0] < squares;
}

void tp_float_bins_flush(struct tp_float_bin *bins, size_t n,
                         struct tp_float_bin_total *totals)
{
    for (size_t i = 0; i < n; i++) {
        struct tp_float_bin *bin = &bins[i];
        struct tp_float_bin_total *total = &totals[i];
        if (bin->sum == 0 && bin->edge == 0)
            continue;
        total->edge += bin->edge;
        total->inner += bin->sum >> TP_FLOAT_BIN_COUNT;
        total->sum += bin->sum & ((UINT64_C(1) << TP_FLOAT_BIN_COUNT) - 1);
        add_squares(total, bin->squares);
        if (bin->most > total->most)
            total->most = bin->most;
        if (bin->least > total->least)
            total->least = bin->least;
        *bin = (struct tp_float_bin){0};
    }
}

/* --- casting -------------------------------------------------------------- */

/* What a magnitude becomes, scaled. */
static double rounded(const struct tp_float_cast *cast, double y)
{
    tp_lanes lanes = {y}, q;
    switch (cast->kind) {
    case TP_ROUNDER_EVEN:
        tp_round_lanes(&cast->rounder, TP_ROUNDER_EVEN, &lanes, &q);
        break;
    case TP_ROUNDER_TAPERED:
        tp_round_lanes(&cast->rounder, TP_ROUNDER_TAPERED, &lanes, &q);
        break;
    default: tp_round_lanes(&cast->rounder, TP_ROUNDER_AWAY, &lanes, &q);
    }
    return q[0];
}

/* Values of one sign that become the same. */
struct group {
    double n;
    double edge, step;   /* magnitudes are edge + low * step               */
    double low;          /* the mean                                       */
    double spread;       /* sum of squared distances from it               */
    double least, most;  /* low                                            */
    uint64_t count;
    bool negative;
};

static void add_sums(const struct group *g, double q,
                     struct tp_quant_error *sums)
{
    const double x = g->edge + g->low * g->step;
    /* the edge and q have few bits: their difference is exact */
    const double d = g->edge - q + g->low * g->step;
    const double spread = g->spread * g->step * g->step;
    const double first = fabs(g->edge - q + g->least * g->step);
    const double last = fabs(g->edge - q + g->most * g->step);
    sums->sum_xx += g->n * x * x + spread;
    sums->sum_dd += g->n * d * d + spread;
    sums->sum_xq += g->n * x * q;
    sums->sum_qq += g->n * q * q;
    sums->max_abs_error = fmax(sums->max_abs_error, fmax(first, last));
    if (x > 0) /* q / x about the mean: 1 + spread / n / x^2 */
        sums->sum_relative += g->n * fabs(d) / x -
                              copysign(q / x * (spread / x / x), d);
}

static void add_group(struct tp_float_cast *cast, const struct group *g)
{
    struct tp_quant_error *sums = &cast->sums;
    const double x = g->edge + g->low * g->step, y = x * cast->limits.there;
    const double scaled = rounded(cast, y);
    const bool lost = isinf(scaled);
    sums->values += g->count;
    if (y >= cast->limits.overflow || lost)
        *(g->negative ? &sums->lower_overflow : &sums->upper_overflow) +=
            g->count;
    if (lost) {
        sums->nonfinite_out += g->count;
        return;
    }
    sums->summed += g->count;
    if (x > 0) {
        sums->nonzero += g->count;
        sums->underflow += scaled == 0 ? g->count : 0;
        sums->subnormal += scaled < cast->limits.min_normal ? g->count : 0;
    }
    add_sums(g, scaled * cast->limits.back, sums);
}

static double spread_of(const struct tp_float_bin_total *total)
{
    const wide squares = (wide)total->squares[1] << 64 | total->squares[0];
    const wide n = total->inner, sum = total->sum;
    return (double)(n * squares - sum * sum) / (double)total->inner;
}

bool tp_float_cast_bin(struct tp_float_cast *cast, uint32_t code,
                       const struct tp_float_bin_total *total)
{
    const int field = (int)(code >> 23 & 0xff);
    struct group g = {
        .n = (double)total->edge,
        .edge = tp_float_of(code & 0x7fffffff),
        .step = tp_power_of_two((field > 0 ? field : 1) - 150),
        .count = total->edge,
        .negative = code >> 31,
    };
    if (g.count > 0)
        add_group(cast, &g);
    g.n = (double)total->inner;
    g.count = total->inner;
    if (g.count == 0)
        return true;
    g.low = (double)total->sum / g.n;
    g.spread = spread_of(total);
    g.least = LOW + 1 - total->least;
    g.most = total->most;
    if (field == 0 &&
        rounded(cast, (g.edge + g.most * g.step) * cast->limits.there) > 0)
        return false;
    add_group(cast, &g);
    return true;
}

/* A bin of infinities (at its edge, without a fraction) and NaN. */
static void add_special(struct tp_float_cast *cast, uint32_t index,
                        const struct tp_float_bin_total *total)
{
    struct tp_quant_error *sums = &cast->sums;
    const uint64_t count = total->edge + total->inner;
    sums->values += count;
    sums->nonfinite_in += count;
    if (index << (SHIFT + 9) == 0)
        *(index << SHIFT >> 31 ? &sums->lower_overflow
                               : &sums->upper_overflow) += total->edge;
}

bool tp_float_bins_cast(const struct tp_float_bin_total *totals,
                        const struct tp_quant_spec *spec, double amax,
                        struct tp_quant_error *error)
{
    const int scale = tp_quant_tensor_scale(spec, amax);
    struct tp_float_cast cast = {
        .rounder = tp_rounder_of(spec->number, spec->rounding, 0),
        .kind = tp_rounder_kind_of(spec->number, spec->rounding),
        .limits = tp_quant_limits_of(spec, scale),
    };
    for (uint32_t i = 0; i < TP_FLOAT_BINS; i++) {
        const struct tp_float_bin_total *total = &totals[i];
        if (total->edge == 0 && total->inner == 0)
            continue;
        if ((i << SHIFT & 0x7f800000) == 0x7f800000)
            add_special(&cast, i, total);
        else if (!tp_float_cast_bin(&cast, i << SHIFT, total))
            return false;
    }
    cast.sums.tensor_scale = scale;
    tp_quant_merge(error, &cast.sums, 1);
    return true;
}
