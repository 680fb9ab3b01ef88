/* SPDX-License-Identifier: MIT */
/*
 * Values to codes and back. Rounding to nearest is an addition and subtraction
 * of a power of two that pushes the surplus bits out (data/round.h), eight
 * doubles at a time; the code of a rounded normal value is then its own upper
 * bits, shifted and rebiased, that of a subnormal one its number of steps.
 * HiF8, whose fields have no fixed width, looks up its codes by binade and
 * eighth.
 *
 * Alternatives: searching the sorted values of the format, some eight
 * comparisons that no processor predicts; a table over all 16-bit sources,
 * which wide sources cannot have.
 *
 * Cost: no branch for each value; a coder is made once a call.
 */
#include "data/encode.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "data/dtype_math.h"
#include "data/round.h"

const char *const tp_rounding_words[TP_ROUND_COUNT + 1] = {
    [TP_ROUND_DEFAULT] = "ta",
    [TP_ROUND_SATURATE] = "ta_sat",
    [TP_ROUND_EVEN] = "te",
    [TP_ROUND_HYBRID] = "hybrid",
};

const char *tp_rounding_name(const struct tp_number *number,
                             enum tp_rounding rounding)
{
    assert((unsigned)rounding < TP_ROUND_COUNT);
    if (number->ties_away || rounding > TP_ROUND_SATURATE)
        return tp_rounding_words[rounding];
    return rounding == TP_ROUND_SATURATE ? "rne_sat" : "rne";
}

/* --- HiF8 -------------------------------------------------------------- */

/* First code of each binade from 2^-22 to 2^15. */
static const uint8_t hif8_first[] = {
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,             /* -22 .. -16 */
    0x7e, 0x7c, 0x7a, 0x78, 0x76, 0x74, 0x72, 0x70,       /* -15 .. -8  */
    0x5c, 0x58, 0x54, 0x50, 0x38, 0x30, 0x18,             /*  -7 .. -1  */
    0x08, 0x10, 0x20, 0x28, 0x40, 0x44, 0x48, 0x4c,       /*   0 .. 7   */
    0x60, 0x62, 0x64, 0x66, 0x68, 0x6a, 0x6c, 0x6e,       /*   8 .. 15  */
};

enum { HIF8_NAN = 0x80, HIF8_INF = 0x6f, HIF8_LEAST = -22 };

static int hif8_fraction_bits(int e)
{
    const int size = e < 0 ? -e : e;
    return e < -15 ? 0 : size > 7 ? 1 : size > 3 ? 2 : 3;
}

/* Code of a HiF8 value >= 0 or infinity, given as a double's bits. */
static unsigned hif8_code(uint64_t bits)
{
    const int e = (int)(bits >> 52) - 1023;
    if (bits == 0)
        return 0;
    if (e > 15)
        return HIF8_INF;
    const unsigned eighths = (unsigned)(bits >> 49) & 7;
    return hif8_first[e - HIF8_LEAST] +
           (eighths >> (3 - hif8_fraction_bits(e)));
}

static double hif8_value(unsigned code)
{
    const unsigned magnitude = code & 0x7f;
    double value = 0;
    if (code == HIF8_NAN)
        return NAN;
    if (magnitude == HIF8_INF) {
        value = INFINITY;
    } else if (magnitude != 0) {
        int e = HIF8_LEAST; /* the binade whose codes begin nearest below */
        for (int i = HIF8_LEAST; i <= 15; i++) {
            const unsigned first = hif8_first[i - HIF8_LEAST];
            const unsigned count = 1u << hif8_fraction_bits(i);
            if (magnitude >= first && magnitude < first + count)
                e = i;
        }
        const int bits = hif8_fraction_bits(e);
        const unsigned m = magnitude - hif8_first[e - HIF8_LEAST];
        value = ldexp(1 + ldexp(m, -bits), e);
    }
    return code & 0x80 ? -value : value;
}

/*
 * Hybrid rounding: a magnitude is cut off behind its binade's fraction bits,
 * and goes up when the `window` bits behind the cut (14 of a binary32, 2 of
 * 16-bit sources) are at least a threshold made of the source's own low bits:
 * the low 14 of a binary32, {last bit, 1} of the others (as stored, also of
 * subnormals).
 */
static uint32_t hybrid_threshold(int window, uint32_t bits)
{
    return window == 14 ? bits & 0x3fff : (bits & 1) << 1 | 1;
}

/* The magnitude of a HiF8 hybrid, as a double's bits; `magnitude` has the
 * exponent e and 52 fraction bits. */
static uint64_t hybrid_magnitude(uint64_t magnitude, int e, int window,
                                 uint32_t threshold)
{
    if (e < -23)
        return 0;
    /* from the overflow threshold of ties-away on, whatever the low bits */
    if (magnitude >= ((uint64_t)(4 * (1023 + 15) + 1) << 50))
        return (uint64_t)0x7ff << 52;
    if (e >= -3 && e <= 3) {
        const uint64_t half = (uint64_t)1 << (52 - 4);
        return (magnitude + half) & ~(2 * half - 1);
    }
    /* below 2^-22 the hidden bit is the first one cut off */
    const uint64_t fraction = (magnitude & (((uint64_t)1 << 52) - 1));
    uint64_t cut, step;
    if (e == -23) {
        cut = ((uint64_t)1 << 63) | fraction << 11;
        step = 0;
    } else {
        const int bits = hif8_fraction_bits(e);
        cut = fraction << (12 + bits);
        step = (uint64_t)1 << (52 - bits);
    }
    const bool up = cut >> (64 - window) >= threshold;
    if (e == -23)
        return up ? (uint64_t)(1023 + HIF8_LEAST) << 52 : 0;
    return (magnitude & ~(step - 1)) + (up ? step : 0);
}

double tp_hif8_round_hybrid(enum tp_dtype dtype, uint32_t bits, int scale)
{
    assert(dtype == TP_FLOAT32 || dtype == TP_FLOAT16 ||
           dtype == TP_BFLOAT16);
    const int window = dtype == TP_FLOAT32 ? 14 : 2;
    const uint16_t half = (uint16_t)bits;
    const void *code = dtype == TP_FLOAT32 ? (const void *)&bits : &half;
    double x;
    tp_dtype_decode(dtype, code, 1, &x);
    if (isnan(x))
        return x;
    const double a = ldexp(fabs(x), scale);
    uint64_t magnitude;
    memcpy(&magnitude, &a, sizeof magnitude);
    const int e = (int)(magnitude >> 52) - 1023;
    magnitude = hybrid_magnitude(magnitude, e, window,
                                 hybrid_threshold(window, bits));
    double rounded;
    memcpy(&rounded, &magnitude, sizeof rounded);
    return copysign(rounded > 0x1p15 ? INFINITY : rounded, x);
}

unsigned tp_hif8_encode_hybrid(enum tp_dtype dtype, uint32_t bits)
{
    const double x = tp_hif8_round_hybrid(dtype, bits, 0);
    const double a = fabs(x);
    uint64_t magnitude;
    memcpy(&magnitude, &a, sizeof magnitude);
    if (isnan(x))
        return HIF8_NAN;
    return hif8_code(magnitude) | (signbit(x) && a > 0 ? 0x80 : 0);
}

/* --- all formats ------------------------------------------------------- */

/* Entries by the upper bits of a double: eight of each binade of HiF8. */
enum { HIF8_ENTRIES = 8 * (15 - HIF8_LEAST + 1) };

/* How values become codes. */
struct coder {
    struct tp_rounder rounder;
    enum tp_rounder_kind kind;
    int fraction;       /* bits                                           */
    int64_t rebias;     /* code of a normal value = (bits >> ..) - rebias */
    double min_normal;
    double units;       /* 2^52 steps of the subnormals                   */
    int64_t largest, overflowed, nan;
    int sign;           /* number of the bit                              */
    bool one_zero;
    uint8_t hif8[HIF8_ENTRIES + 1]; /* the first is that of zero          */
};

static bool is_fnuz(const struct tp_number *number)
{
    return strstr(number->element, "fnuz") != NULL;
}

/* With the sign 0, where it has one. */
static unsigned nan_code(const struct tp_number *number, unsigned largest)
{
    const unsigned sign = 1u << (number->bits - 1);
    if (number->ties_away || is_fnuz(number))
        return sign;
    if (number->bits < 8)
        return largest;
    if (number->precision == 4) /* E4M3: only the last code */
        return 0x7f;
    /* exponent of ones, first fraction bit */
    return (sign - 1) & ~((1u << (number->precision - 2)) - 1);
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The code of the largest value, a normal one. */
static unsigned largest_code(const struct tp_number *number)
{
    const uint64_t bits = bits_of(number->max);
    if (number->ties_away)
        return hif8_code(bits);
    const int fraction = number->precision - 1;
    return (unsigned)((bits >> (52 - fraction)) -
                      ((uint64_t)(1022 + number->emin) << fraction));
}

static void coder_init(struct coder *coder, const struct tp_number *number,
                       enum tp_rounding rounding)
{
    const unsigned largest = largest_code(number);
    *coder = (struct coder){
        .rounder = tp_rounder_of(number, rounding, 0),
        .kind = tp_rounder_kind_of(number, rounding),
        .fraction = number->precision - 1,
        .rebias = (int64_t)(1022 + number->emin)
                  << (number->precision - 1),
        .min_normal = number->min_normal,
        .units = ldexp(number->min_subnormal, 52),
        .largest = largest,
        .overflowed = largest,
        .nan = nan_code(number, largest),
        .sign = number->bits - 1,
        .one_zero = number->ties_away || is_fnuz(number),
    };
    if (rounding == TP_ROUND_SATURATE && number->ties_away)
        coder->nan = 0;
    if (isinf(coder->rounder.overflowed))
        coder->overflowed = number->has_inf ? largest + 1 : coder->nan;
    const uint64_t first = (uint64_t)(1023 + HIF8_LEAST) << 52;
    for (uint64_t i = 0; i < HIF8_ENTRIES && number->ties_away; i++)
        coder->hif8[i + 1] = (uint8_t)hif8_code(first + (i << 49));
}

/* The codes of magnitudes that the format has. */
TP_LANES_INLINE void magnitude_codes(const struct coder *coder,
                                     enum tp_rounder_kind kind,
                                     const tp_lanes *q, tp_lane_ints *codes)
{
    const tp_lane_bits bits = (tp_lane_bits)*q;
    if (kind != TP_ROUNDER_EVEN) {
        const tp_lane_ints entry = (tp_lane_ints)(bits >> 49) -
                                   ((1023 + HIF8_LEAST) * 8 - 1);
        for (int i = 0; i < TP_LANES; i++) {
            const int64_t at = entry[i] < 0              ? 0
                               : entry[i] > HIF8_ENTRIES ? HIF8_ENTRIES
                                                         : entry[i];
            (*codes)[i] = coder->hif8[at];
        }
        return;
    }
    const tp_lane_ints normal =
        (tp_lane_ints)(bits >> (52 - coder->fraction)) - coder->rebias;
    const tp_lanes units = coder->units - (tp_lanes){0};
    const tp_lane_ints small =
        (tp_lane_ints)(*q + units) - (tp_lane_ints)units;
    const tp_lane_ints is_small = *q < coder->min_normal;
    *codes = (is_small & small) | (~is_small & normal);
}

TP_LANES_INLINE void code_lanes(const struct coder *coder,
                                enum tp_rounder_kind kind, const tp_lanes *x,
                                tp_lane_ints *codes)
{
    tp_lanes a = (tp_lanes)((tp_lane_ints)*x & INT64_MAX), q;
    tp_lane_ints code;
    tp_round_lanes(&coder->rounder, kind, &a, &q);
    magnitude_codes(coder, kind, &q, &code);
    const tp_lane_ints over = q > coder->rounder.max;
    code = (over & coder->overflowed) | (~over & code);
    const tp_lane_ints is_nan = *x != *x;
    code = (is_nan & coder->nan) | (~is_nan & code);
    tp_lane_ints sign = (tp_lane_ints)((tp_lane_bits)*x >> 63) << coder->sign;
    if (coder->one_zero)
        sign &= code != 0;
    *codes = code | sign;
}

typedef float float_lanes __attribute__((vector_size(TP_LANES * 4)));
typedef uint16_t code_of_lanes __attribute__((vector_size(TP_LANES * 2)));

TP_LANES_INLINE void encode_kind(const struct coder *coder,
                                 enum tp_rounder_kind kind,
                                 const uint32_t *bits, size_t n,
                                 uint16_t *codes)
{
    for (size_t i = 0; i < n; i += TP_LANES) {
        const size_t some = n - i < TP_LANES ? n - i : TP_LANES;
        float_lanes single = {0};
        tp_lane_ints code;
        if (some == TP_LANES)
            memcpy(&single, bits + i, sizeof single);
        else
            memcpy(&single, bits + i, some * sizeof *bits);
        const tp_lanes x = __builtin_convertvector(single, tp_lanes);
        code_lanes(coder, kind, &x, &code);
        const code_of_lanes narrow =
            __builtin_convertvector(code, code_of_lanes);
        if (some == TP_LANES)
            memcpy(codes + i, &narrow, sizeof narrow);
        else
            memcpy(codes + i, &narrow, some * sizeof *codes);
    }
}

TP_LANES_INLINE void encode_any(const struct coder *coder,
                                const uint32_t *bits, size_t n,
                                uint16_t *codes)
{
    switch (coder->kind) {
    case TP_ROUNDER_EVEN:
        encode_kind(coder, TP_ROUNDER_EVEN, bits, n, codes);
        break;
    case TP_ROUNDER_TAPERED:
        encode_kind(coder, TP_ROUNDER_TAPERED, bits, n, codes);
        break;
    default:
        encode_kind(coder, TP_ROUNDER_AWAY, bits, n, codes);
    }
}

static void encode_portable(const struct coder *coder, const uint32_t *bits,
                            size_t n, uint16_t *codes)
{
    encode_any(coder, bits, n, codes);
}

#if defined(__x86_64__)
TP_TARGET_AVX2 static void encode_avx2(const struct coder *coder,
                                       const uint32_t *bits, size_t n,
                                       uint16_t *codes)
{
    encode_any(coder, bits, n, codes);
}

TP_TARGET_AVX512 static void encode_avx512(const struct coder *coder,
                                           const uint32_t *bits, size_t n,
                                           uint16_t *codes)
{
    encode_any(coder, bits, n, codes);
}
#endif

typedef void encode_fn(const struct coder *coder, const uint32_t *bits,
                       size_t n, uint16_t *codes);

static encode_fn *const encode_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(encode_portable, encode_avx2, encode_avx512);

void tp_number_encode_f32(const struct tp_number *number,
                          enum tp_rounding rounding, const uint32_t *bits,
                          size_t n, uint16_t *codes)
{
    assert(rounding != TP_ROUND_HYBRID);
    struct coder coder;
    coder_init(&coder, number, rounding);
    encode_by[tp_isa_best()](&coder, bits, n, codes);
}

unsigned tp_number_encode(const struct tp_number *number,
                          enum tp_rounding rounding, double x)
{
    if (rounding == TP_ROUND_HYBRID) {
        const float single = (float)x;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        return tp_hif8_encode_hybrid(TP_FLOAT32, bits);
    }
    struct coder coder;
    coder_init(&coder, number, rounding);
    const tp_lanes lanes = {x};
    tp_lane_ints codes;
    switch (coder.kind) {
    case TP_ROUNDER_EVEN:
        code_lanes(&coder, TP_ROUNDER_EVEN, &lanes, &codes);
        break;
    case TP_ROUNDER_TAPERED:
        code_lanes(&coder, TP_ROUNDER_TAPERED, &lanes, &codes);
        break;
    default:
        code_lanes(&coder, TP_ROUNDER_AWAY, &lanes, &codes);
    }
    return (unsigned)codes[0];
}

double tp_number_decode(const struct tp_number *number, unsigned code)
{
    if (number->ties_away)
        return hif8_value(code);
    const int fraction = number->precision - 1;
    const unsigned sign = 1u << (number->bits - 1);
    const unsigned magnitude = code & (sign - 1);
    const unsigned largest = largest_code(number);
    if (is_fnuz(number) && code == sign)
        return NAN;
    double value;
    if (magnitude <= largest) {
        const unsigned field = magnitude >> fraction;
        const unsigned m = magnitude & ((1u << fraction) - 1);
        value = field == 0 ? m * number->min_subnormal
                           : ldexp(ldexp(m, -fraction) + 1,
                                   (int)field - 1 + number->emin);
    } else {
        value = number->has_inf && magnitude == largest + 1 ? INFINITY : NAN;
    }
    return code & sign ? -value : value;
}

/* --- E8M0 -------------------------------------------------------------- */

double tp_e8m0_value(unsigned byte)
{
    return tp_e8m0_code_value(byte);
}

unsigned tp_e8m0_byte(int exponent)
{
    const int clamped = exponent < -127 ? -127
                        : exponent > 127 ? 127
                                         : exponent;
    return (unsigned)(clamped + 127);
}
