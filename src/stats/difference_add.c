/* SPDX-License-Identifier: MIT */
/*
 * Two tensors element by element, in blocks of 512 that stay in the first level
 * cache: blocks of equal codes take one comparison of memory and a sum of
 * squares; others are decoded to binary32 (or binary64, for what does not fit),
 * and short loops over the block sum, count and rank its elements. Bits that
 * flipped are summed by position, 32 bytes at a time; distances, numbers of
 * flipped bits and cells are counted by increments.
 *
 * The distributions are kept as one histogram of differences, of 16-bit keys:
 * elements that are alike cancel, and their distance needs no more than that.
 * Alternative: sorting, or a histogram of all codes of each, two increments
 * more an element of equal blocks.
 *
 * Sums have 8 lanes, which are part of their definition, so that every
 * machine gives the same bits; they are added up once a call.
 *
 * Cost: each span is read once; some 30 operations on vectors of 8 and four
 * increments an element that differs; 8 KiB of the stack for a block.
 */
#include "stats/difference.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "stats/difference_math.h"

enum {
    BLOCK = 512, /* elements: a few arrays stay in the first level cache */
    VECTOR = 32, /* bytes */
    TABLES = 2   /* in turn, so that equal neighbours do not wait */
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
    doubles xx[2], yy[2], xy[2], dd[2], abs_d[2];
    doubles same[2]; /* squares of equal blocks */
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
};

/* Counts of a call. */
struct counts {
    uint32_t ulp[TABLES][TP_DIFFERENCE_ULP_BINS];
    uint32_t bits[TABLES][TP_DIFFERENCE_BITS + 1];
    uint32_t bit[8][VECTOR]; /* [bit of a byte][byte of a vector] */
    uint64_t padding; /* codes of no element, none of whose bits differ */
    uint64_t ulp_max;
};

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

static void keys_d(const double *values, size_t n, uint16_t *keys)
{
    for (size_t i = 0; i < n; i++) {
        const float value = (float)values[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        keys[i] = (uint16_t)(bits >> 16);
    }
}

static void count_cells(const struct block *block,
                        struct tp_difference_cells *cells)
{
    uint32_t *x_even = cells->x[0], *x_odd = cells->x[1];
    uint32_t *y_even = cells->y[0], *y_odd = cells->y[1];
    size_t i = 0;
    for (; i + 2 <= block->n; i += 2) {
        x_even[block->key_x[i]]++;
        y_even[block->key_y[i]]++;
        x_odd[block->key_x[i + 1]]++;
        y_odd[block->key_y[i + 1]]++;
    }
    if (i < block->n) {
        x_even[block->key_x[i]]++;
        y_even[block->key_y[i]]++;
    }
}

/* --- distances ------------------------------------------------------------ */

INLINE void count_ulp_f(const uint32_t *distance, const struct block *block,
                        struct counts *counts)
{
    uint32_t bin[BLOCK], most = 0;
    uints largest = {0}, d;
    for (size_t i = 0; i < block->padded; i += 8) {
        memcpy(&d, distance + i, sizeof d);
        largest = SELECT(uints, uints, d > largest, d, largest);
        /* above 2^24 without the last 8 bits, so that nothing rounds */
        const uints far = (uints)(d >> 24 != 0);
        const ints near = (ints)SELECT(uints, uints, far, d >> 8, d);
        const uints bits = (uints) __builtin_convertvector(near, floats);
        const ints its = (ints)(bits >> 20) - 1015 + (ints)(far & 64);
        const ints positive = its & (its > 0);
        memcpy(bin + i, &positive, sizeof positive);
    }
    for (size_t i = 0; i < 8; i++)
        most = largest[i] > most ? largest[i] : most;
    if (most > counts->ulp_max)
        counts->ulp_max = most;
    for (size_t i = 0; i < block->padded; i += TABLES) {
        for (size_t k = 0; k < TABLES; k++)
            counts->ulp[k][bin[i + k]]++;
    }
}

INLINE void count_ulp_d(const uint64_t *distance, const struct block *block,
                        struct counts *counts)
{
    for (size_t i = 0; i < block->padded; i++) {
        const uint64_t d = distance[i];
        counts->ulp[i % TABLES][tp_ulp_bin(d)]++;
        counts->ulp_max = d > counts->ulp_max ? d : counts->ulp_max;
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

/* --- bits that flipped ---------------------------------------------------- */

/* Numbers of bits of each code of `size` bytes, 4 or 8. */
INLINE void count_bits(const ulongs *flipped, size_t size,
                       struct counts *counts)
{
    ulongs x = *flipped;
    uint8_t count[VECTOR]; /* in the first byte of each */
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    x += x >> 8;
    x += x >> 16;
    if (size > 4)
        x += x >> 32;
    memcpy(count, &x, sizeof count);
    for (size_t i = 0; i < VECTOR / size; i++)
        counts->bits[i % TABLES][count[i * size] & 0x7f]++;
}

INLINE void count_flips(const struct block *block, size_t size,
                        struct counts *counts)
{
    const size_t all = block->n * size;
    bytes bit[8] = {{0}}, x, y;
    for (size_t at = 0; at < all; at += VECTOR) {
        const size_t left = all - at;
        if (left < VECTOR)
            x = y = (bytes){0};
        memcpy(&x, block->codes_x + at, left < VECTOR ? left : VECTOR);
        memcpy(&y, block->codes_y + at, left < VECTOR ? left : VECTOR);
        x ^= y;
        for (int k = 0; k < 8; k++)
            bit[k] -= (bytes)((x & (uint8_t)(1 << k)) ==
                              ((bytes){0} + (uint8_t)(1 << k)));
        const ulongs flipped = (ulongs)x;
        count_bits(&flipped, size, counts);
        if (left < VECTOR)
            counts->padding += (VECTOR - left) / size;
    }
    for (int k = 0; k < 8; k++) {
        for (int i = 0; i < VECTOR; i++)
            counts->bit[k][i] += bit[k][i];
    }
}

static void count_flips_8(const struct block *block,
                          uint32_t (*flipped)[TP_DIFFERENCE_CELLS])
{
    for (size_t i = 0; i < block->n; i++)
        flipped[i % TABLES][block->codes_x[i] ^ block->codes_y[i]]++;
}

static void count_flips_16(const struct block *block,
                           uint32_t (*flipped)[TP_DIFFERENCE_CELLS])
{
    uint64_t x, y;
    size_t i = 0;
    for (; i + 4 <= block->n; i += 4) {
        memcpy(&x, block->codes_x + 2 * i, sizeof x);
        memcpy(&y, block->codes_y + 2 * i, sizeof y);
        x ^= y;
        flipped[0][x & 0xffff]++;
        flipped[1][x >> 16 & 0xffff]++;
        flipped[2][x >> 32 & 0xffff]++;
        flipped[3][x >> 48]++;
    }
    x = y = 0;
    memcpy(&x, block->codes_x + 2 * i, 2 * (block->n - i));
    memcpy(&y, block->codes_y + 2 * i, 2 * (block->n - i));
    for (x ^= y; i < block->n; i++, x >>= 16)
        flipped[0][x & 0xffff]++;
}

/* --- a block -------------------------------------------------------------- */

/* Counts what is the same for both formats; `errors` are of all `padded`. */
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
    sums->bits[0] += block->n;
}

/* What a call works with. */
struct call {
    const struct tp_difference_plan *plan;
    size_t size_x, size_y;
    struct lanes lanes;
    struct counts counts;
    struct tp_difference *sums;
    struct tp_difference_cells *cells;
};

INLINE void count_all_flips(const struct block *block, struct call *call)
{
    if (!call->plan->same)
        return;
    if (call->size_x == 1)
        count_flips_8(block, call->cells->flipped);
    else if (call->size_x == 2)
        count_flips_16(block, call->cells->flipped);
    else if (call->size_x == 4)
        count_flips(block, 4, &call->counts);
    else
        count_flips(block, 8, &call->counts);
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
    count_ulp_f(distance, its, &call->counts);
    if (!plan->raw_cells) {
        keys_f(block->x, its->padded, its->key_x);
        keys_f(block->y, its->padded, its->key_y);
    }
    place_f(block, &errors, call->sums);
    count_errors(its, &errors, call->sums);
    count_cells(its, call->cells);
    count_all_flips(its, call);
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
    count_ulp_d(distance, its, &call->counts);
    if (!plan->raw_cells) {
        keys_d(block->x, its->n, its->key_x);
        keys_d(block->y, its->n, its->key_y);
    }
    place_d(block, &errors, call->sums);
    count_errors(its, &errors, call->sums);
    count_cells(its, call->cells);
    count_all_flips(its, call);
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

static double fold(const doubles *v)
{
    return ((v[0][0] + v[1][0]) + (v[0][2] + v[1][2])) +
           ((v[0][1] + v[1][1]) + (v[0][3] + v[1][3]));
}

/* Adds what a call counted beside its sums. */
static void add_counts(const struct call *call)
{
    const struct counts *counts = &call->counts;
    struct tp_difference *sums = call->sums;
    for (int t = 0; t < TABLES; t++) {
        for (int i = 0; i < TP_DIFFERENCE_ULP_BINS; i++)
            sums->ulp[i] += counts->ulp[t][i];
        for (int i = 0; i <= TP_DIFFERENCE_BITS; i++)
            sums->bits[i] += counts->bits[t][i];
    }
    for (size_t i = 0; i < VECTOR; i++) {
        for (size_t k = 0; k < 8; k++)
            sums->bit[i % call->size_x * 8 + k] += counts->bit[k][i];
    }
    sums->bits[0] -= counts->padding;
    if (counts->ulp_max > sums->ulp_max)
        sums->ulp_max = counts->ulp_max;
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
    const double same = fold(call.lanes.same);
    difference->values += spans->n;
    difference->xx += fold(call.lanes.xx) + same;
    difference->yy += fold(call.lanes.yy) + same;
    difference->xy += fold(call.lanes.xy) + same;
    difference->dd += fold(call.lanes.dd);
    difference->abs_d += fold(call.lanes.abs_d);
    add_counts(&call);
}
