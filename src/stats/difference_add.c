/* SPDX-License-Identifier: MIT */
/*
 * Two tensors element by element, in blocks of 512 that stay in the first level
 * cache: blocks of equal codes take one comparison of memory and a sum of
 * squares, and so do elements of a block of 16-bit codes, if half of them are
 * equal; others are decoded to binary32 (or binary64, for what does not fit),
 * and short loops over them sum, count and rank. Pairs of 8-bit codes are
 * counted instead (difference_joint.c).
 *
 * The distributions are kept as one histogram of differences, of 16-bit keys:
 * elements that are alike cancel, and their distance needs no more than that.
 * Alternative: sorting, or a histogram of all codes of each, two increments
 * more an element of equal blocks.
 *
 * Sums have 8 lanes, which are part of their definition, so that every
 * machine gives the same bits; they are added up once a call.
 *
 * Cost: each span is read once; some 12 operations on vectors of 8 and three
 * increments an element that differs; 16 KiB of the stack for a block.
 */
#include "stats/difference.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "stats/difference_math.h"

enum {
    BLOCK = 512, /* elements: a few arrays stay in the first level cache */
    VECTOR = 32, /* bytes                                                */
    STEP = 16    /* elements that loops may take at once                 */
};
#define NONE SIZE_MAX
#define INLINE static inline __attribute__((always_inline))

#define VECTOR_OF(type, bytes) type __attribute__((vector_size(bytes)))
typedef VECTOR_OF(double, VECTOR) doubles;
typedef VECTOR_OF(int64_t, VECTOR) longs;
typedef VECTOR_OF(uint16_t, VECTOR) shorts;
typedef VECTOR_OF(int16_t, VECTOR) signed_shorts;
/* STEP elements, two vectors: what compilers widen and narrow well */
typedef VECTOR_OF(float, 2 * VECTOR) wide_floats;
typedef VECTOR_OF(int32_t, 2 * VECTOR) wide_ints;
typedef VECTOR_OF(uint32_t, 2 * VECTOR) wide_uints;

#define SELECT(mask_type, type, mask, yes, no)       \
    ((type)(((mask_type)(mask) & (mask_type)(yes)) | \
            (~(mask_type)(mask) & (mask_type)(no))))

/* Sums of a call, in lanes. */
struct lanes {
    struct half {
        doubles xx, yy, xy, dd, abs_d;
        doubles same; /* squares of equal blocks */
    } low, high;
};

/* What the loops find in a block. */
struct errors {
    uint64_t differ, low, high;
    double max_abs, max_relative;
};

/* What a block has besides values. */
struct block {
    const unsigned char *codes_x, *codes_y;
    size_t n, padded; /* the latter a multiple of STEP                      */
    int64_t first;
    size_t dropped;        /* elements that are not finite                  */
    size_t infinite_apart; /* the first that differs, or NONE               */
    uint16_t key_x[BLOCK], key_y[BLOCK];
    uint16_t bin[BLOCK]; /* of the distances                                */
};

/* How values of the format computed in fit the coarser dtype. */
enum fit {
    FIT_EXACT,  /* all are values of it                                     */
    FIT_SHORT,  /* it has fewer fraction bits                               */
    FIT_NARROW, /* and its exponents do not reach as low                    */
};

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The types of a format: its values and the integers of their size. */
#define FORMAT_TYPES(format, real, bits, ubits)      \
    typedef real real_##format;                      \
    typedef bits bits_##format;                      \
    typedef ubits ubits_##format;                    \
    typedef VECTOR_OF(real, VECTOR) reals_##format;  \
    typedef VECTOR_OF(bits, VECTOR) bitses_##format; \
    typedef VECTOR_OF(ubits, VECTOR) ubitses_##format

FORMAT_TYPES(f, float, int32_t, uint32_t);
enum { FRACTION_f = 23, bias_f = 127 };
static const float epsilon_f = FLT_EPSILON;
#define sign_f INT32_MIN
#define NAME(x) x##_f
#include "stats/difference_block.inc"
#undef NAME

FORMAT_TYPES(d, double, int64_t, uint64_t);
enum { FRACTION_d = 52, bias_d = 1023 };
static const double epsilon_d = DBL_EPSILON;
#define sign_d INT64_MIN
#define NAME(x) x##_d
#include "stats/difference_block.inc"

/* --- decoding ------------------------------------------------------------- */

/* Widens codes of 16 bits, and zeros up to the next multiple of STEP. */
INLINE void widen_16(const unsigned char *codes, size_t n, int shift,
                     float *values)
{
    unsigned char rest[2 * STEP] = {0};
    shorts some;
    for (size_t i = 0; i < n; i += STEP) {
        const unsigned char *at = codes + 2 * i;
        if (i + STEP > n)
            at = memcpy(rest, at, 2 * (n - i));
        memcpy(&some, at, sizeof some);
        const wide_uints bits = __builtin_convertvector(some, wide_uints)
                                << shift;
        memcpy(values + i, &bits, sizeof bits);
    }
}

/* Makes values of widened binary16. The exponent is moved by a product, which
 * is exact and makes subnormal numbers normal ones. */
INLINE void expand_fp16(float *values, size_t n)
{
    bitses_f code;
    for (size_t i = 0; i < n; i += 8) {
        memcpy(&code, values + i, sizeof code);
        const bitses_f sign = (bitses_f)((ubitses_f)(code & 0x8000) << 16);
        const bitses_f a = (code & 0x7fff) << 13;
        const bitses_f finite = (bitses_f)((reals_f)a * 0x1p112f);
        const bitses_f other = a | 0x7f800000;
        const bitses_f bits =
            sign | SELECT(bitses_f, bitses_f, a < 0x0f800000, finite, other);
        memcpy(values + i, &bits, sizeof bits);
    }
}

/* Decodes n codes to values with zeros up to the next multiple of STEP. */
INLINE void decode_f(enum tp_dtype dtype, const float *table,
                     const unsigned char *codes, size_t n, float *values)
{
    if (dtype == TP_BFLOAT16) {
        widen_16(codes, n, 16, values);
        return;
    }
    if (dtype == TP_FLOAT16) {
        widen_16(codes, n, 0, values);
        expand_fp16(values, n);
        return;
    }
    if (dtype == TP_FLOAT32)
        memcpy(values, codes, n * sizeof *values);
    else
        for (size_t i = 0; i < n; i++)
            values[i] = table[codes[i]];
    for (; n % STEP; n++)
        values[n] = 0;
}

INLINE void decode_d(enum tp_dtype dtype, const unsigned char *codes, size_t n,
                     double *values)
{
    tp_dtype_decode(dtype, codes, n, values);
    for (; n % STEP; n++)
        values[n] = 0;
}

/* --- cells ---------------------------------------------------------------- */

/* The first 16 bits of binary32, which are bfloat16 for what fits it. */
INLINE void keys_f(const float *values, size_t padded, uint16_t *keys)
{
    wide_uints bits;
    for (size_t i = 0; i < padded; i += STEP) {
        memcpy(&bits, values + i, sizeof bits);
        const shorts key = __builtin_convertvector(bits >> 16, shorts);
        memcpy(keys + i, &key, sizeof key);
    }
}

static void keys_d(const double *values, size_t padded, uint16_t *keys)
{
    for (size_t i = 0; i < padded; i++) {
        const float value = (float)values[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        keys[i] = (uint16_t)(bits >> 16);
    }
}

/* Those of x less those of y; up to `padded`, where both are alike. */
static void count_cells(const struct block *block,
                        struct tp_difference_cells *cells)
{
    uint32_t *const even = cells->cell[0], *const odd = cells->cell[1];
    uint32_t *const tables[] = {even, odd, even, odd, even};
    for (size_t i = 0; i < block->padded; i += 4) {
        tp_count_four(block->key_x + i, 1, tables);
        tp_count_four(block->key_y + i, UINT32_MAX, tables + 1);
    }
}

/* --- distances ------------------------------------------------------------ */

/* Stores bins of distances below 2^24, given as the bits of binary32 without
 * the last 20 (and 8 bins an octave more). */
INLINE void store_bins(const wide_uints *bits, uint16_t *bins)
{
    const shorts its = __builtin_convertvector(*bits, shorts);
    const shorts bin = (shorts)(its > 1015) & (its - 1015);
    memcpy(bins, &bin, sizeof bin);
}

/* Sets bins, with `distance` as scratch; returns the largest distance. */
INLINE uint64_t bins_f(uint32_t *distance, struct block *block)
{
    uint32_t most = 0;
    ubitses_f largest = {0}, d;
    wide_uints bits;
    for (size_t i = 0; i < block->padded; i += 8) {
        memcpy(&d, distance + i, sizeof d);
        largest = SELECT(ubitses_f, ubitses_f, d > largest, d, largest);
        /* above 2^24 without the last 8 bits, so that nothing rounds */
        const ubitses_f far = (ubitses_f)(d >> 24 != 0);
        const bitses_f near =
            (bitses_f)SELECT(ubitses_f, ubitses_f, far, d >> 8, d);
        d = (ubitses_f) __builtin_convertvector(near, reals_f);
        d = (d >> 20) + (far & 64);
        memcpy(distance + i, &d, sizeof d);
    }
    for (size_t i = 0; i < block->padded; i += STEP) {
        memcpy(&bits, distance + i, sizeof bits);
        store_bins(&bits, block->bin + i);
    }
    for (size_t i = 0; i < 8; i++)
        most = largest[i] > most ? largest[i] : most;
    return most;
}

/* The same of a block of equal floating dtypes of 16 bits, from the codes. */
INLINE uint64_t bins_16(struct block *block)
{
    uint64_t most = 0;
    shorts largest = {0}, x, y;
    for (size_t i = 0; i < block->padded; i += STEP) {
        memcpy(&x, block->key_x + i, sizeof x);
        memcpy(&y, block->key_y + i, sizeof y);
        const shorts x_negative = (shorts)((signed_shorts)x < 0);
        const shorts y_negative = (shorts)((signed_shorts)y < 0);
        x = ((x & 0x7fff) ^ x_negative) - x_negative;
        y = ((y & 0x7fff) ^ y_negative) - y_negative;
        const shorts less = (shorts)((signed_shorts)x < (signed_shorts)y);
        const shorts d = ((x - y) ^ less) - less;
        largest = SELECT(shorts, shorts, d > largest, d, largest);
        const wide_ints wide =
            (wide_ints) __builtin_convertvector(d, wide_uints);
        const wide_uints bits =
            (wide_uints) __builtin_convertvector(wide, wide_floats) >> 20;
        store_bins(&bits, block->bin + i);
    }
    for (size_t i = 0; i < STEP; i++)
        most = largest[i] > most ? largest[i] : most;
    return most;
}

INLINE uint64_t bins_d(const uint64_t *distance, struct block *block)
{
    uint64_t most = 0;
    for (size_t i = 0; i < block->padded; i++) {
        const uint64_t d = distance[i];
        block->bin[i] = (uint16_t)tp_ulp_bin(d);
        most = d > most ? d : most;
    }
    return most;
}

void tp_difference_ranks(const struct tp_difference_plan *plan,
                         const float *values, int32_t *ranks)
{
    const enum fit fit = plan->least > 1 - bias_f ? FIT_NARROW : FIT_SHORT;
    struct unit_f unit;
    bitses_f rank;
    for (size_t i = 0; plan->fraction < 0 && i < 256; i++)
        ranks[i] = (int32_t)values[i];
    if (plan->fraction < 0)
        return;
    set_unit_f(plan, &unit);
    for (size_t i = 0; i < 256; i += sizeof rank / sizeof *ranks) {
        rank_f(&unit, fit, values + i, &rank);
        memcpy(ranks + i, &rank, sizeof rank);
    }
}

/* Of integers: in units of 1. */
static void distances_of_integers(const struct block_d *block,
                                  uint64_t *distance)
{
    for (size_t i = 0; i < block->its.padded; i++) {
        const double d = fabs(block->x[i] - block->y[i]);
        distance[i] = d < 0x1p64 ? (uint64_t)d : UINT64_MAX;
    }
}

/* Counts elements by distance. */
static void count_ulp(const struct block *block,
                      struct tp_difference_cells *cells)
{
    uint32_t *const tables[] = {cells->ulp[0], cells->ulp[1], cells->ulp[2],
                                cells->ulp[3]};
    for (size_t i = 0; i < block->padded; i += 4)
        tp_count_four(block->bin + i, 1, tables);
}

/* --- a block -------------------------------------------------------------- */

/* Counts what is the same for both formats; `errors` are of all `padded`, as
 * are the cells of distances. */
static void count_errors(const struct block *block, const struct errors *errors,
                         struct tp_difference *sums)
{
    const size_t none = block->padded - block->n + block->dropped;
    sums->finite += block->n - block->dropped;
    sums->differ += errors->differ;
    sums->below_1e_3 += errors->low - none;
    sums->below_5e_3 += errors->high - none;
    sums->ulp[0] -= none;
}

/* Of a block of equal codes. */
static void count_equal(const struct block *block, struct tp_difference *sums)
{
    const size_t finite = block->n - block->dropped;
    sums->finite += finite;
    sums->below_1e_3 += finite;
    sums->below_5e_3 += finite;
    sums->ulp[0] += finite;
}

/* What a call works with. */
struct call {
    const struct tp_difference_plan *plan;
    size_t size_x, size_y;
    struct lanes lanes;
    struct tp_difference *sums;
    struct tp_difference_cells *cells;
};

/* Counts what is the same for both formats, once bins and keys are set. */
INLINE void count_block(const struct block *block, const struct errors *errors,
                        uint64_t ulp_max, struct call *call)
{
    struct tp_difference *sums = call->sums;
    if (ulp_max > sums->ulp_max)
        sums->ulp_max = ulp_max;
    count_errors(block, errors, sums);
    count_ulp(block, call->cells);
    count_cells(block, call->cells);
}

static bool is_equal(const struct block *block, const struct call *call)
{
    return call->plan->same &&
           memcmp(block->codes_x, block->codes_y, block->n * call->size_x) == 0;
}

INLINE void add_block_f(struct block_f *block, struct call *call)
{
    const struct tp_difference_plan *plan = call->plan;
    struct block *its = &block->its;
    const bool equal = is_equal(its, call);
    struct errors errors;
    uint32_t distance[BLOCK];
    decode_f(plan->x, plan->value_x, its->codes_x, its->n, block->x);
    if (equal)
        memcpy(block->y, block->x, sizeof block->y);
    else
        decode_f(plan->y, plan->value_y, its->codes_y, its->n, block->y);
    if (is_any_infinite_f(block))
        drop_infinite_f(block, call->sums);
    if (equal) {
        add_squares_f(block, &call->lanes);
        count_equal(its, call->sums);
        return;
    }
    add_relative_f(block, &errors);
    add_sums_f(block, &call->lanes, &errors.max_abs);
    place_f(block, &errors, call->sums);
    if (plan->raw_cells) {
        count_block(its, &errors, bins_16(its), call);
        return;
    }
    keys_f(block->x, its->padded, its->key_x);
    keys_f(block->y, its->padded, its->key_y);
    add_ulp_f(plan, block, distance);
    count_block(its, &errors, bins_f(distance, its), call);
}

/* --- elements that differ ------------------------------------------------- */

/* A whole block of one floating dtype of 16 bits. */
struct split {
    uint16_t equal[BLOCK]; /* codes, or 0 of elements that are not          */
    uint16_t other[BLOCK]; /* all ones: they differ, or are not finite      */
    uint32_t pair[BLOCK];  /* codes: y << 16 | x                            */
    uint16_t x[BLOCK], y[BLOCK]; /* of the others                           */
};

/* Sets all but the last; returns the number of the others. */
INLINE size_t split_block(const struct tp_difference_plan *plan,
                          const struct block *block, struct split *split)
{
    const int fraction = plan->fraction;
    const uint16_t infinite = (uint16_t)(0x7fff >> fraction << fraction);
    shorts count = {0}, x, y;
    size_t all = 0;
    for (size_t i = 0; i < BLOCK; i += STEP) {
        memcpy(&x, block->codes_x + 2 * i, sizeof x);
        memcpy(&y, block->codes_y + 2 * i, sizeof y);
        const shorts other =
            (shorts)(x != y) | (shorts)((x & infinite) == infinite);
        const shorts equal = x & ~other;
        const wide_uints pair = __builtin_convertvector(y, wide_uints) << 16 |
                                __builtin_convertvector(x, wide_uints);
        count -= other;
        memcpy(split->equal + i, &equal, sizeof equal);
        memcpy(split->other + i, &other, sizeof other);
        memcpy(split->pair + i, &pair, sizeof pair);
    }
    for (size_t i = 0; i < STEP; i++)
        all += count[i];
    return all;
}

/* Sets the codes of the others, in order; without branches, which could not be
 * foreseen. */
INLINE void gather_others(struct split *split)
{
    uint32_t *pair = split->pair;
    size_t k = 0;
    for (size_t i = 0; i < BLOCK; i += 4) {
        uint64_t four;
        memcpy(&four, split->other + i, sizeof four);
        pair[k] = pair[i];
        k += four & 1;
        pair[k] = pair[i + 1];
        k += four >> 16 & 1;
        pair[k] = pair[i + 2];
        k += four >> 32 & 1;
        pair[k] = pair[i + 3];
        k += four >> 63;
    }
    for (size_t i = 0; i < k; i += STEP) {
        wide_uints both;
        memcpy(&both, pair + i, sizeof both);
        const shorts x = __builtin_convertvector(both, shorts);
        const shorts y = __builtin_convertvector(both >> 16, shorts);
        memcpy(split->x + i, &x, sizeof x);
        memcpy(split->y + i, &y, sizeof y);
    }
}

/* Where half of a block is equal and finite, adds these, and makes it one of
 * the others. */
INLINE void skip_equal(struct block_f *block, struct split *split,
                       struct call *call)
{
    struct block *its = &block->its;
    const size_t others = split_block(call->plan, its, split);
    if (others > BLOCK / 2)
        return;
    its->n = BLOCK - others;
    its->padded = BLOCK;
    its->dropped = 0;
    decode_f(call->plan->x, NULL, (const unsigned char *)split->equal, BLOCK,
             block->x);
    add_squares_f(block, &call->lanes);
    count_equal(its, call->sums);
    gather_others(split);
    its->codes_x = (const unsigned char *)split->x;
    its->codes_y = (const unsigned char *)split->y;
    its->n = others;
}

INLINE void add_block_d(struct block_d *block, struct call *call)
{
    const struct tp_difference_plan *plan = call->plan;
    struct block *its = &block->its;
    struct errors errors;
    uint64_t distance[BLOCK];
    decode_d(plan->x, its->codes_x, its->n, block->x);
    decode_d(plan->y, its->codes_y, its->n, block->y);
    if (is_any_infinite_d(block))
        drop_infinite_d(block, call->sums);
    if (is_equal(its, call)) {
        add_squares_d(block, &call->lanes);
        count_equal(its, call->sums);
        return;
    }
    add_relative_d(block, &errors);
    add_sums_d(block, &call->lanes, &errors.max_abs);
    place_d(block, &errors, call->sums);
    if (plan->fraction < 0)
        distances_of_integers(block, distance);
    else
        add_ulp_d(plan, block, distance);
    if (!plan->raw_cells) {
        keys_d(block->x, its->padded, its->key_x);
        keys_d(block->y, its->padded, its->key_y);
    }
    count_block(its, &errors, bins_d(distance, its), call);
}

/* --- a call --------------------------------------------------------------- */

/* Sets what a block is before it is decoded. */
INLINE void begin_block(struct block *its, const struct call *call)
{
    its->padded = (its->n + STEP - 1) / STEP * STEP;
    its->dropped = 0;
    its->infinite_apart = NONE;
    if (call->plan->raw_cells) {
        memcpy(its->key_x, its->codes_x, its->n * sizeof *its->key_x);
        memcpy(its->key_y, its->codes_y, its->n * sizeof *its->key_y);
    }
    for (size_t i = its->n; i < its->padded; i++)
        its->key_x[i] = its->key_y[i] = 0;
}

INLINE void add_any(const struct tp_difference_spans *spans, struct call *call)
{
    const unsigned char *x = spans->x, *y = spans->y;
    union {
        struct block_f f;
        struct block_d d;
    } block;
    const bool single = call->plan->single;
    struct block *its = single ? &block.f.its : &block.d.its;
    struct split split;
    for (size_t done = 0; done < spans->n; done += BLOCK) {
        its->n = spans->n - done < BLOCK ? spans->n - done : BLOCK;
        its->first = spans->first + (int64_t)done;
        its->codes_x = x + done * call->size_x;
        its->codes_y = y + done * call->size_y;
        /* once the first that differs is known, places do not matter */
        if (single && call->plan->raw_cells && its->n == BLOCK &&
            call->sums->first_at != 0)
            skip_equal(&block.f, &split, call);
        begin_block(its, call);
        if (single)
            add_block_f(&block.f, call);
        else
            add_block_d(&block.d, call);
    }
}

typedef void add_fn(const struct tp_difference_spans *spans, struct call *call);

static void add_portable(const struct tp_difference_spans *spans,
                         struct call *call)
{
    add_any(spans, call);
}

#if defined(__x86_64__)
TP_TARGET_AVX2 static void add_avx2(const struct tp_difference_spans *spans,
                                    struct call *call)
{
    add_any(spans, call);
}

TP_TARGET_AVX512 static void add_avx512(const struct tp_difference_spans *spans,
                                        struct call *call)
{
    add_any(spans, call);
}
#endif

static add_fn *const add_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(add_portable, add_avx2, add_avx512);

INLINE double fold(const doubles *low, const doubles *high)
{
    const doubles v = *low + *high;
    return (v[0] + v[2]) + (v[1] + v[3]);
}

void tp_difference_add_blocks(const struct tp_difference_plan *plan,
                              const struct tp_difference_spans *spans,
                              struct tp_difference *difference,
                              struct tp_difference_cells *cells)
{
    struct call call = {.plan = plan,
                        .size_x = tp_dtype_info(plan->x)->size,
                        .size_y = tp_dtype_info(plan->y)->size,
                        .sums = difference,
                        .cells = cells};
    add_by[plan->isa](spans, &call);
    const struct half *low = &call.lanes.low, *high = &call.lanes.high;
    const double same = fold(&low->same, &high->same);
    difference->values += spans->n;
    difference->xx += fold(&low->xx, &high->xx) + same;
    difference->yy += fold(&low->yy, &high->yy) + same;
    difference->xy += fold(&low->xy, &high->xy) + same;
    difference->dd += fold(&low->dd, &high->dd);
    difference->abs_d += fold(&low->abs_d, &high->abs_d);
}
