/* SPDX-License-Identifier: MIT */
/*
 * Two tensors element by element, in blocks of 512 that stay in the first level
 * cache: blocks of equal codes take one comparison of memory and a sum of
 * squares; others are decoded to binary32 (or binary64, for what does not fit),
 * and short loops over the block sum, count and rank its elements. Bits that
 * flipped are summed by position, 32 bytes at a time. An element's distance and
 * its number of flipped bits are counted by one increment of a joint table, of
 * which both are margins; alternative: a table for each.
 *
 * The distributions are kept as one histogram of differences, of 16-bit keys:
 * elements that are alike cancel, and their distance needs no more than that.
 * Alternative: sorting, or a histogram of all codes of each, two increments
 * more an element of equal blocks.
 *
 * Sums have 8 lanes, which are part of their definition, so that every
 * machine gives the same bits; they are added up once a call.
 *
 * Cost: each span is read once; some 20 operations on vectors of 8 and three
 * increments an element that differs; 10 KiB of the stack for a block.
 */
#include "stats/difference.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "stats/difference_math.h"

enum {
    BLOCK = 512, /* elements: a few arrays stay in the first level cache */
    VECTOR = 32  /* bytes */
};
#define NONE SIZE_MAX
#define INLINE static inline __attribute__((always_inline))

#define VECTOR_OF(type, bytes) type __attribute__((vector_size(bytes)))
typedef VECTOR_OF(double, VECTOR) doubles;
typedef VECTOR_OF(int64_t, VECTOR) longs;
typedef VECTOR_OF(uint64_t, VECTOR) ulongs;
typedef VECTOR_OF(float, VECTOR) floats;
typedef VECTOR_OF(int32_t, VECTOR) ints;
typedef VECTOR_OF(uint32_t, VECTOR) uints;
typedef VECTOR_OF(float, VECTOR / 2) half_floats;
typedef VECTOR_OF(uint16_t, VECTOR / 2) half_shorts;
typedef VECTOR_OF(uint8_t, VECTOR) bytes;
typedef VECTOR_OF(uint8_t, 8) eight_bytes;

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
    size_t n, padded; /* the latter a multiple of 8                         */
    int64_t first;
    size_t dropped;        /* elements that are not finite                  */
    size_t infinite_apart; /* the first that differs, or NONE               */
    uint16_t key_x[BLOCK], key_y[BLOCK];
    uint16_t bin[BLOCK];     /* of the distances                              */
    uint16_t flipped[BLOCK]; /* how many bits differ; 0 of other dtypes       */
};

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Counts a pair of which one is not finite; returns whether they differ. */
static bool count_infinite(double x, double y, struct tp_difference *sums)
{
    sums->nan_x += isnan(x) != 0;
    sums->nan_y += isnan(y) != 0;
    sums->inf_x += isinf(x) != 0;
    sums->inf_y += isinf(y) != 0;
    if (isnan(x) && isnan(y)) {
        sums->both_nan++;
        return false;
    }
    if (isinf(x) && isinf(y))
        (*(x == y ? &sums->same_inf : &sums->opposite_inf))++;
    sums->differ += x != y;
    return x != y;
}

#define REAL float
#define BITS int32_t
#define UBITS uint32_t
#define REALS floats
#define BITSES ints
#define UBITSES uints
#define HALF half_floats
#define NAME(x) x##_f
enum { FRACTION_f = 23, bias_f = 127 };
static const float epsilon_f = FLT_EPSILON;
#define sign_f INT32_MIN
#define FRACTION FRACTION_f
#define LANES 8
#include "stats/difference_block.inc"
#undef REAL
#undef BITS
#undef UBITS
#undef REALS
#undef BITSES
#undef UBITSES
#undef HALF
#undef NAME
#undef FRACTION
#undef LANES

#define REAL double
#define BITS int64_t
#define UBITS uint64_t
#define REALS doubles
#define BITSES longs
#define UBITSES ulongs
#define HALF doubles
#define NAME(x) x##_d
enum { FRACTION_d = 52, bias_d = 1023 };
static const double epsilon_d = DBL_EPSILON;
#define sign_d INT64_MIN
#define FRACTION FRACTION_d
#define LANES 4
#include "stats/difference_block.inc"

/* --- decoding ------------------------------------------------------------- */

/* Eight codes of 16 bits, widened. */
INLINE void load_8(const unsigned char *codes, ints *wide)
{
    half_shorts narrow;
    memcpy(&narrow, codes, sizeof narrow);
    *wide = (ints) __builtin_convertvector(narrow, uints);
}

INLINE void decode_bf16(const unsigned char *codes, floats *v)
{
    ints wide;
    load_8(codes, &wide);
    *v = (floats)(ints)((uints)wide << 16);
}

/* The exponent is moved by a product, which is exact and makes subnormal
 * numbers normal ones. */
INLINE void decode_fp16(const unsigned char *codes, floats *v)
{
    ints wide;
    load_8(codes, &wide);
    const ints sign = (ints)((uints)(wide & 0x8000) << 16);
    const ints a = (wide & 0x7fff) << 13;
    const ints finite = (ints)((floats)a * 0x1p112f);
    const ints other = a | 0x7f800000;
    *v = (floats)(sign | SELECT(ints, ints, a < 0x0f800000, finite, other));
}

INLINE void decode_16(enum tp_dtype dtype, const unsigned char *codes, size_t n,
                      float *values)
{
    unsigned char rest[16] = {0};
    floats v;
    for (size_t i = 0; i < n; i += 8) {
        const unsigned char *at = codes + 2 * i;
        if (i + 8 > n)
            at = memcpy(rest, at, 2 * (n - i));
        if (dtype == TP_BFLOAT16)
            decode_bf16(at, &v);
        else
            decode_fp16(at, &v);
        memcpy(values + i, &v, sizeof v);
    }
}

/* Decodes n codes to values with zeros up to the next eighth. */
INLINE void decode_f(enum tp_dtype dtype, const float *table,
                     const unsigned char *codes, size_t n, float *values)
{
    if (dtype == TP_BFLOAT16) {
        decode_16(TP_BFLOAT16, codes, n, values);
        return;
    }
    if (dtype == TP_FLOAT16) {
        decode_16(TP_FLOAT16, codes, n, values);
        return;
    }
    if (dtype == TP_FLOAT32)
        memcpy(values, codes, n * sizeof *values);
    else
        for (size_t i = 0; i < n; i++)
            values[i] = table[codes[i]];
    for (; n % 8; n++)
        values[n] = 0;
}

INLINE void decode_d(enum tp_dtype dtype, const unsigned char *codes, size_t n,
                     double *values)
{
    tp_dtype_decode(dtype, codes, n, values);
    for (; n % 8; n++)
        values[n] = 0;
}

/* --- cells ---------------------------------------------------------------- */

/* The first 16 bits of binary32, which are bfloat16 for what fits it. */
INLINE void keys_f(const float *values, size_t padded, uint16_t *keys)
{
    uints bits;
    for (size_t i = 0; i < padded; i += 8) {
        memcpy(&bits, values + i, sizeof bits);
        const half_shorts key =
            __builtin_convertvector(bits >> 16, half_shorts);
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

/* Adds to the cells of four keys, neighbours in different tables so that those
 * that are equal do not wait for each other. */
INLINE void count_four(const uint16_t *keys, uint32_t by,
                       uint32_t *const *tables)
{
    uint64_t four;
    memcpy(&four, keys, sizeof four);
    tables[0][four & 0xffff] += by;
    tables[1][four >> 16 & 0xffff] += by;
    tables[2][four >> 32 & 0xffff] += by;
    tables[3][four >> 48] += by;
}

/* Those of x less those of y; up to `padded`, where both are alike. */
static void count_cells(const struct block *block,
                        struct tp_difference_cells *cells)
{
    uint32_t *const even = cells->x_less_y[0], *const odd = cells->x_less_y[1];
    uint32_t *const tables[] = {even, odd, even, odd, even};
    for (size_t i = 0; i < block->padded; i += 4) {
        count_four(block->key_x + i, 1, tables);
        count_four(block->key_y + i, UINT32_MAX, tables + 1);
    }
}

/* --- distances ------------------------------------------------------------ */

/* Sets bins; returns the largest distance. */
INLINE uint64_t bins_f(const uint32_t *distance, struct block *block)
{
    uint32_t most = 0;
    uints largest = {0}, d;
    for (size_t i = 0; i < block->padded; i += 8) {
        memcpy(&d, distance + i, sizeof d);
        largest = SELECT(uints, uints, d > largest, d, largest);
        /* above 2^24 without the last 8 bits, so that nothing rounds */
        const uints far = (uints)(d >> 24 != 0);
        const ints near = (ints)SELECT(uints, uints, far, d >> 8, d);
        const uints bits = (uints) __builtin_convertvector(near, floats);
        const ints its = (ints)(bits >> 20) - 1015 + (ints)(far & 64);
        const half_shorts positive =
            __builtin_convertvector((uints)(its & (its > 0)), half_shorts);
        memcpy(block->bin + i, &positive, sizeof positive);
    }
    for (size_t i = 0; i < 8; i++)
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

/* Of integers: in units of 1. */
static void distances_of_integers(const struct block_d *block,
                                  uint64_t *distance)
{
    for (size_t i = 0; i < block->its.padded; i++) {
        const double d = fabs(block->x[i] - block->y[i]);
        distance[i] = d < 0x1p64 ? (uint64_t)d : UINT64_MAX;
    }
}

/* --- bits that flipped ---------------------------------------------------- */

/* Stores how many bits are set in each code of `size` bytes. */
INLINE void store_counts(ulongs x, size_t size, uint16_t *counts)
{
    typedef VECTOR_OF(uint16_t, VECTOR) shorts;
    typedef VECTOR_OF(uint16_t, 2 * VECTOR) many_shorts;
    typedef VECTOR_OF(uint16_t, VECTOR / 4) few_shorts;
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    if (size == 1) {
        const many_shorts wide = __builtin_convertvector((bytes)x, many_shorts);
        memcpy(counts, &wide, sizeof wide);
        return;
    }
    x += x >> 8;
    if (size == 2) {
        const shorts its = (shorts)x & 0xff;
        memcpy(counts, &its, sizeof its);
        return;
    }
    x += x >> 16;
    if (size == 4) {
        const half_shorts its =
            __builtin_convertvector((uints)x & 0xff, half_shorts);
        memcpy(counts, &its, sizeof its);
        return;
    }
    x = (x + (x >> 32)) & 0xff;
    const few_shorts its = __builtin_convertvector(x, few_shorts);
    memcpy(counts, &its, sizeof its);
}

/* Of each byte of a vector, how often each bit differed; of a block at most
 * 128 times. */
struct places {
    ulongs bit0, bit1, bit2, bit3, bit4, bit5, bit6, bit7;
};

/* Counts the bits of 32 bytes in which two differ. */
INLINE void count_vector(const unsigned char *x, const unsigned char *y,
                         size_t size, struct places *places, uint16_t *counts)
{
    const uint64_t ones = 0x0101010101010101u;
    ulongs a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    a ^= b;
    places->bit0 += a & ones;
    places->bit1 += a >> 1 & ones;
    places->bit2 += a >> 2 & ones;
    places->bit3 += a >> 3 & ones;
    places->bit4 += a >> 4 & ones;
    places->bit5 += a >> 5 & ones;
    places->bit6 += a >> 6 & ones;
    places->bit7 += a >> 7 & ones;
    store_counts(a, size, counts);
}

/* Adds how often bit k of each byte differed to its row. */
INLINE void add_place(const ulongs *place, uint32_t *row)
{
    typedef VECTOR_OF(uint32_t, 4 * VECTOR) many_uints;
    many_uints sum;
    memcpy(&sum, row, sizeof sum);
    sum += __builtin_convertvector((bytes)*place, many_uints);
    memcpy(row, &sum, sizeof sum);
}

INLINE void count_flips(struct block *block, size_t size,
                        uint32_t (*bit)[VECTOR])
{
    const size_t all = block->n * size, whole = all / VECTOR * VECTOR;
    struct places places = {.bit0 = {0}};
    for (size_t at = 0; at < whole; at += VECTOR)
        count_vector(block->codes_x + at, block->codes_y + at, size, &places,
                     block->flipped + at / size);
    if (whole < all) {
        unsigned char x[VECTOR] = {0}, y[VECTOR] = {0};
        memcpy(x, block->codes_x + whole, all - whole);
        memcpy(y, block->codes_y + whole, all - whole);
        count_vector(x, y, size, &places, block->flipped + whole / size);
    }
    add_place(&places.bit0, bit[0]);
    add_place(&places.bit1, bit[1]);
    add_place(&places.bit2, bit[2]);
    add_place(&places.bit3, bit[3]);
    add_place(&places.bit4, bit[4]);
    add_place(&places.bit5, bit[5]);
    add_place(&places.bit6, bit[6]);
    add_place(&places.bit7, bit[7]);
}

/* Counts elements by distance and bits that differ, both at once. */
static void count_apart(struct block *block, struct tp_difference_cells *cells)
{
    uint32_t *const tables[] = {cells->apart[0], cells->apart[1],
                                cells->apart[2], cells->apart[3]};
    half_shorts bin, flipped;
    for (size_t i = 0; i < block->padded; i += 8) {
        memcpy(&bin, block->bin + i, sizeof bin);
        memcpy(&flipped, block->flipped + i, sizeof flipped);
        bin += flipped * TP_DIFFERENCE_ULP_BINS;
        memcpy(block->bin + i, &bin, sizeof bin);
    }
    for (size_t i = 0; i < block->padded; i += 4)
        count_four(block->bin + i, 1, tables);
}

/* --- a block -------------------------------------------------------------- */

/* Counts what is the same for both formats; `errors` are of all `padded`, as
 * are the cells of distances and bits. */
static void count_errors(const struct block *block, const struct errors *errors,
                         bool same, struct tp_difference *sums)
{
    const size_t none = block->padded - block->n + block->dropped;
    sums->finite += block->n - block->dropped;
    sums->differ += errors->differ;
    sums->below_1e_3 += errors->low - none;
    sums->below_5e_3 += errors->high - none;
    sums->ulp[0] -= none;
    sums->bits[0] -= same ? block->padded - block->n : block->padded;
}

/* Of a block of equal codes. */
static void count_equal(const struct block *block, struct tp_difference *sums)
{
    const size_t finite = block->n - block->dropped;
    sums->finite += finite;
    sums->below_1e_3 += finite;
    sums->below_5e_3 += finite;
    sums->ulp[0] += finite;
    sums->bits[0] += block->n;
}

/* What a call works with. */
struct call {
    const struct tp_difference_plan *plan;
    size_t size_x, size_y;
    struct lanes lanes;
    uint32_t bit[8][VECTOR]; /* [bit of a byte][byte of a vector]           */
    struct tp_difference *sums;
    struct tp_difference_cells *cells;
};

/* Counts what is the same for both formats, once bins and keys are set. */
INLINE void count_block(struct block *block, const struct errors *errors,
                        uint64_t ulp_max, struct call *call)
{
    struct tp_difference *sums = call->sums;
    const bool same = call->plan->same;
    if (ulp_max > sums->ulp_max)
        sums->ulp_max = ulp_max;
    if (same && call->size_x == 1)
        count_flips(block, 1, call->bit);
    else if (same && call->size_x == 2)
        count_flips(block, 2, call->bit);
    else if (same && call->size_x == 4)
        count_flips(block, 4, call->bit);
    else if (same)
        count_flips(block, 8, call->bit);
    count_errors(block, errors, same, sums);
    count_apart(block, call->cells);
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
    if (is_any_infinite_f(block->x, its->padded) ||
        is_any_infinite_f(block->y, its->padded))
        drop_infinite_f(block, call->sums);
    if (equal) {
        add_squares_f(block, &call->lanes);
        count_equal(its, call->sums);
        return;
    }
    add_relative_f(block, &errors);
    add_sums_f(block, &call->lanes, &errors.max_abs);
    if (plan->least > 1 - bias_f)
        add_ulp_f(plan, true, block, distance);
    else
        add_ulp_f(plan, false, block, distance);
    if (!plan->raw_cells) {
        keys_f(block->x, its->padded, its->key_x);
        keys_f(block->y, its->padded, its->key_y);
    }
    place_f(block, &errors, call->sums);
    count_block(its, &errors, bins_f(distance, its), call);
}

INLINE void add_block_d(struct block_d *block, struct call *call)
{
    const struct tp_difference_plan *plan = call->plan;
    struct block *its = &block->its;
    struct errors errors;
    uint64_t distance[BLOCK];
    decode_d(plan->x, its->codes_x, its->n, block->x);
    decode_d(plan->y, its->codes_y, its->n, block->y);
    if (is_any_infinite_d(block->x, its->padded) ||
        is_any_infinite_d(block->y, its->padded))
        drop_infinite_d(block, call->sums);
    if (is_equal(its, call)) {
        add_squares_d(block, &call->lanes);
        count_equal(its, call->sums);
        return;
    }
    add_relative_d(block, &errors);
    add_sums_d(block, &call->lanes, &errors.max_abs);
    if (plan->fraction < 0)
        distances_of_integers(block, distance);
    else if (plan->least > 1 - bias_d)
        add_ulp_d(plan, true, block, distance);
    else
        add_ulp_d(plan, false, block, distance);
    if (!plan->raw_cells) {
        keys_d(block->x, its->padded, its->key_x);
        keys_d(block->y, its->padded, its->key_y);
    }
    place_d(block, &errors, call->sums);
    count_block(its, &errors, bins_d(distance, its), call);
}

/* --- a call --------------------------------------------------------------- */

/* Sets what a block is before it is decoded. */
INLINE void begin_block(struct block *its, const struct call *call,
                        const unsigned char *x, const unsigned char *y)
{
    its->codes_x = x;
    its->codes_y = y;
    its->padded = (its->n + 7) / 8 * 8;
    its->dropped = 0;
    its->infinite_apart = NONE;
    if (call->plan->raw_cells) {
        memcpy(its->key_x, x, its->n * sizeof *its->key_x);
        memcpy(its->key_y, y, its->n * sizeof *its->key_y);
    }
    for (size_t i = its->n; i < its->padded; i++)
        its->key_x[i] = its->key_y[i] = its->flipped[i] = 0;
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
    memset(its->flipped, 0, sizeof its->flipped);
    for (size_t done = 0; done < spans->n; done += BLOCK) {
        its->n = spans->n - done < BLOCK ? spans->n - done : BLOCK;
        its->first = spans->first + (int64_t)done;
        begin_block(its, call, x + done * call->size_x,
                    y + done * call->size_y);
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

INLINE double fold(doubles low, doubles high)
{
    const doubles v = low + high;
    return (v[0] + v[2]) + (v[1] + v[3]);
}

void tp_difference_add(const struct tp_difference_plan *plan,
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
    const double same = fold(low->same, high->same);
    for (size_t i = 0; i < VECTOR; i++) {
        for (size_t k = 0; k < 8; k++)
            difference->bit[i % call.size_x * 8 + k] += call.bit[k][i];
    }
    difference->values += spans->n;
    difference->xx += fold(low->xx, high->xx) + same;
    difference->yy += fold(low->yy, high->yy) + same;
    difference->xy += fold(low->xy, high->xy) + same;
    difference->dd += fold(low->dd, high->dd);
    difference->abs_d += fold(low->abs_d, high->abs_d);
}
