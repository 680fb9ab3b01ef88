/* SPDX-License-Identifier: MIT */
/*
 * MX casts of 8-bit and 16-bit codes, exactly and from integers: stats/tally.h
 * says why. Per block the largest magnitude gives the scale, and a comparison
 * with two limits a mask of the codes that saturate or fall below the smallest
 * normal; only these are looked at one by one and counted by what happens to
 * them. The rest is known to the histogram of the tensor's codes, and rounded
 * once per distinct value at the end.
 *
 * Alternative: rounding every value, as quantize_blocks.c must where codes are
 * wider: many operations an element, and sums that depend on the order.
 *
 * Cost: a few vector instructions for 32 codes of which none is outside, a few
 * plain ones for each that is; at the end at most 65 536 values.
 */
#include "stats/tally.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/isa.h"
#include "base/search.h"
#include "stats/blocks_plan.h"
#include "stats/quantize_lanes.h"
#include "stats/tally_math.h"
#include "stats/tally_seen.h"

bool tp_tally_applies(const struct tp_quant_spec *spec, enum tp_dtype dtype)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    return spec->number->kind == TP_NUMBER_MX && info->code_size <= 2 &&
           info->kind == TP_CLASS_FLOAT;
}

/* The last magnitude of a byte that is at most `limit` as 16 bits. */
static uint8_t byte_limit(const struct tp_block_plan *plan, uint64_t limit)
{
    unsigned byte = 127;
    while (byte > 0 && (plan->widened[byte] & 0x7fffu) > limit)
        byte--;
    return (uint8_t)byte;
}

/* Whether bytes compare as the 16 bits they stand for, whatever the sign. */
static bool are_bytes_ordered(const struct tp_block_plan *plan)
{
    bool ordered = plan->code_size == 1 && plan->widened[0] == 0;
    for (int i = 1; i < 256 && ordered; i++) {
        const unsigned its = plan->widened[i] & 0x7fffu;
        const unsigned before = plan->widened[i - 1] & 0x7fffu;
        ordered =
            i < 128 ? its >= before && its > 0
                    : its == (plan->widened[i - 128] & 0x7fffu) &&
                          (plan->widened[i] >= 0x8000 || its > plan->infinity);
    }
    return ordered;
}

static void plan_bytes(struct tp_tally_plan *plan)
{
    const struct tp_block_plan *blocks = &plan->blocks;
    plan->bytes = are_bytes_ordered(blocks);
    if (!plan->bytes)
        return;
    plan->byte_ceiling = byte_limit(blocks, blocks->ceiling - 1);
    for (unsigned i = 0; i <= plan->byte_ceiling; i++) {
        const int slot = tp_mx_slot(blocks, blocks->widened[i]);
        const struct tp_block_limits *limits = &blocks->limits[slot];
        plan->by_byte[i] = (struct tp_tally_bytes){
            (uint8_t)slot, byte_limit(blocks, limits->finite),
            byte_limit(blocks, limits->fewer)};
    }
}

void tp_tally_plan_init(struct tp_tally_plan *plan,
                        const struct tp_quant_spec *spec, enum tp_dtype dtype)
{
    assert(spec->number->kind == TP_NUMBER_MX);
    const struct tp_block_rules rules = {spec->rule, spec->nonfinite};
    tp_block_plan_init(&plan->blocks, spec->number, rules, dtype, 0);
    plan->spec = *spec;
    plan->precision = spec->number->precision;
    const unsigned spoils[TP_NONFINITE_COUNT] = {
        [TP_NONFINITE_BLOCK] = (unsigned)plan->blocks.infinity,
        [TP_NONFINITE_ELEMENT] = UINT_MAX,
        [TP_NONFINITE_TORCHAO] = (unsigned)plan->blocks.infinity + 1,
    };
    plan->spoils = spoils[spec->nonfinite];
    /* a code's exponent field 1 is this binade */
    const int first = plan->blocks.fraction_bits == 10 ? -14 : -126;
    for (int slot = 0; slot < TP_BLOCK_SLOTS; slot++)
        plan->normal[slot] =
            (int16_t)(spec->number->emin + slot - 127 - first + 1);
    plan_bytes(plan);
}

/* --- the few ----------------------------------------------------------- */

static void tally_code(struct tp_tally *tally, unsigned class,
                       unsigned magnitude)
{
    tally->count[class][magnitude]++;
    tally->used[class][magnitude / TP_TALLY_LINE] = 1;
}

/* A block whose scale is known. */
struct found {
    const uint16_t *codes;
    size_t n;
    int slot;
    uint32_t mask;        /* codes above or below the limits of the slot    */
    const uint8_t *bytes; /* 8-bit codes in place of `codes`, or NULL      */
};

TP_INLINE unsigned code_at(const struct tp_tally_plan *plan,
                           const struct found *found, int i)
{
    return found->bytes ? plan->blocks.widened[found->bytes[i]]
                        : found->codes[i];
}

/* All of a block that a NaN (or an infinity) makes NaN: the finite ones are
 * lost, but counted as what they would have been without it. */
static void lose_block(const struct tp_tally_plan *plan,
                       const struct found *found, struct tp_tally *tally)
{
    const struct tp_block_limits *limits = &plan->blocks.limits[found->slot];
    struct tp_quant_error *counts = &tally->counts;
    for (size_t i = 0; i < found->n; i++) {
        const unsigned magnitude = code_at(plan, found, (int)i) & 0x7fff;
        if (magnitude == 0)
            tally_code(tally, TP_TALLY_LOST, 0);
        if (magnitude == 0 || magnitude >= plan->blocks.infinity)
            continue;
        tally_code(tally, TP_TALLY_LOST, magnitude);
        counts->underflow += magnitude <= limits->zero;
        counts->subnormal += magnitude <= limits->small;
    }
}

/* Takes care of the codes of the mask. */
static void tally_block(const struct tp_tally_plan *plan,
                        const struct found *found, struct tp_tally *tally)
{
    const int slot = found->slot;
    const uint32_t mask = found->mask;
    const struct tp_block_limits *limits = &plan->blocks.limits[slot];
    struct tp_quant_error *counts = &tally->counts;
    const uint64_t infinity = plan->blocks.infinity;
    bool over = false;
    unsigned most = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        const unsigned code = code_at(plan, found, __builtin_ctz(left));
        const unsigned magnitude = code & 0x7fff;
        most = magnitude > most ? magnitude : most;
        if (magnitude > limits->finite && magnitude <= infinity) {
            over = true;
            counts->upper_overflow += code < 0x8000;
            counts->lower_overflow += code >= 0x8000;
        }
    }
    counts->saturated_blocks += over;
    counts->nonfinite_blocks += most >= infinity;
    if (most >= plan->spoils) {
        lose_block(plan, found, tally);
        return;
    }
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        const unsigned magnitude =
            code_at(plan, found, __builtin_ctz(left)) & 0x7fffu;
        if (magnitude >= infinity)
            continue;
        tally_code(tally,
                   magnitude > limits->finite
                       ? TP_TALLY_SATURATED
                       : tp_small_class(plan, slot, magnitude),
                   magnitude);
    }
}

/* --- the many ---------------------------------------------------------- */

TP_INLINE void block_portable(const struct tp_tally_plan *plan,
                              const uint16_t *codes, size_t n,
                              struct tp_tally_seen *seen,
                              struct tp_tally *tally)
{
    const unsigned ceiling = (unsigned)plan->blocks.ceiling;
    unsigned largest = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned magnitude = codes[i] & 0x7fff;
        if (magnitude < ceiling && magnitude > largest)
            largest = magnitude;
    }
    const int slot = tp_mx_slot(&plan->blocks, largest);
    const struct tp_block_limits *limits = &plan->blocks.limits[slot];
    uint32_t mask = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned magnitude = codes[i] & 0x7fff;
        const uint32_t out =
            (magnitude > limits->finite) |
            ((magnitude != 0) & (magnitude <= limits->fewer));
        mask |= out << i;
    }
    tp_tally_see(seen, slot, largest);
    if (mask != 0)
        tally_block(plan, &(struct found){codes, n, slot, mask, NULL}, tally);
}

typedef void rows_fn(const struct tp_tally_plan *plan, const uint16_t *codes,
                     size_t length, struct tp_tally *tally);

/* Defines row_ISA: `whole` takes blocks of 32, `rest` what is left of one. */
#define ROW(isa, target, whole, rest)                                          \
    target static void row_##isa(const struct tp_tally_plan *plan,             \
                                 const uint16_t *codes, size_t length,         \
                                 struct tp_tally *tally)                       \
    {                                                                          \
        struct tp_tally_seen seen = TP_TALLY_SEEN_NOTHING;                     \
        size_t i = 0;                                                          \
        for (; i + 32 <= length; i += 32)                                      \
            whole(plan, codes + i, 32, &seen, tally);                          \
        if (i < length)                                                        \
            rest(plan, codes + i, length - i, &seen, tally);                   \
        tp_tally_add_seen(&seen, &tally->counts);                              \
    }

ROW(portable, , block_portable, block_portable)

#if defined(__x86_64__)

/* Magnitudes are below 2^15, so signed comparisons serve. */

TP_TARGET_AVX2 static inline unsigned largest_of(__m256i v)
{
    const __m128i most = _mm_max_epi16(_mm256_castsi256_si128(v),
                                       _mm256_extracti128_si256(v, 1));
    /* the least of the complements */
    const __m128i least =
        _mm_minpos_epu16(_mm_xor_si128(most, _mm_set1_epi16(-1)));
    return 0xffffu & ~(unsigned)_mm_cvtsi128_si32(least);
}

TP_TARGET_AVX512 static inline void
block_avx512(const struct tp_tally_plan *plan, const uint16_t *codes,
             size_t n, struct tp_tally_seen *seen, struct tp_tally *tally)
{
    const __mmask32 some = n < 32 ? (1u << n) - 1 : UINT32_MAX;
    const __m512i magnitude =
        _mm512_and_si512(_mm512_maskz_loadu_epi16(some, codes),
                         _mm512_set1_epi16(0x7fff));
    const __m512i counted = _mm512_maskz_mov_epi16(
        _mm512_cmplt_epi16_mask(
            magnitude, _mm512_set1_epi16((short)plan->blocks.ceiling)),
        magnitude);
    const unsigned largest = largest_of(
        _mm256_max_epi16(_mm512_castsi512_si256(counted),
                         _mm512_extracti64x4_epi64(counted, 1)));
    const int slot = tp_mx_slot(&plan->blocks, largest);
    const struct tp_block_limits *limits = &plan->blocks.limits[slot];
    const uint32_t mask =
        _mm512_cmpgt_epi16_mask(magnitude,
                                _mm512_set1_epi16((short)limits->finite)) |
        _mm512_mask_cmple_epi16_mask(
            _mm512_test_epi16_mask(magnitude, magnitude), magnitude,
            _mm512_set1_epi16((short)limits->fewer));
    tp_tally_see(seen, slot, largest);
    if (mask != 0)
        tally_block(plan, &(struct found){codes, n, slot, mask, NULL}, tally);
}

ROW(avx512, TP_TARGET_AVX512, block_avx512, block_avx512)

/* Lanes above `finite`, or nonzero and at most `fewer`. */
TP_TARGET_AVX2 static inline __m256i
outside(__m256i magnitude, const struct tp_block_limits *limits)
{
    const __m256i finite = _mm256_set1_epi16((short)limits->finite);
    const __m256i fewer = _mm256_set1_epi16((short)limits->fewer);
    const __m256i nonzero =
        _mm256_cmpgt_epi16(magnitude, _mm256_setzero_si256());
    return _mm256_or_si256(
        _mm256_cmpgt_epi16(magnitude, finite),
        _mm256_andnot_si256(_mm256_cmpgt_epi16(magnitude, fewer), nonzero));
}

/* A whole block: n is 32. */
TP_TARGET_AVX2 static inline void
block_avx2(const struct tp_tally_plan *plan, const uint16_t *codes,
           size_t n, struct tp_tally_seen *seen, struct tp_tally *tally)
{
    const __m256i no_sign = _mm256_set1_epi16(0x7fff);
    const __m256i ceiling = _mm256_set1_epi16((short)plan->blocks.ceiling);
    __m256i low, high;
    memcpy(&low, codes, sizeof low);
    memcpy(&high, codes + 16, sizeof high);
    low = _mm256_and_si256(low, no_sign);
    high = _mm256_and_si256(high, no_sign);
    const unsigned largest = largest_of(_mm256_max_epi16(
        _mm256_and_si256(low, _mm256_cmpgt_epi16(ceiling, low)),
        _mm256_and_si256(high, _mm256_cmpgt_epi16(ceiling, high))));
    const int slot = tp_mx_slot(&plan->blocks, largest);
    const struct tp_block_limits *limits = &plan->blocks.limits[slot];
    /* packing interleaves by eights; the permutation undoes that */
    const __m256i packed = _mm256_permute4x64_epi64(
        _mm256_packs_epi16(outside(low, limits), outside(high, limits)),
        0xd8);
    const uint32_t mask = (uint32_t)_mm256_movemask_epi8(packed);
    tp_tally_see(seen, slot, largest);
    if (mask != 0)
        tally_block(plan, &(struct found){codes, n, slot, mask, NULL}, tally);
}

ROW(avx2, TP_TARGET_AVX2, block_avx2, block_portable)

TP_TARGET_AVX2 static inline unsigned largest_byte_of(__m256i v)
{
    const __m128i most =
        _mm_max_epu8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    const __m128i even = _mm_max_epu8(most, _mm_srli_epi16(most, 8));
    /* the least of the complements of 16 bits, whose upper halves are 0 */
    const __m128i least =
        _mm_minpos_epu16(_mm_andnot_si128(even, _mm_set1_epi16(0xff)));
    return 0xffu - (unsigned)_mm_extract_epi16(least, 0);
}

/* As block_avx2, of bytes as they are. */
TP_TARGET_AVX2 static inline void byte_block_avx2(
    const struct tp_tally_plan *plan, const uint8_t *codes,
    struct tp_tally_seen *seen, struct tp_tally *tally)
{
    __m256i code;
    memcpy(&code, codes, sizeof code);
    const __m256i magnitude = _mm256_and_si256(code, _mm256_set1_epi8(0x7f));
    const __m256i beyond = _mm256_cmpgt_epi8(
        magnitude, _mm256_set1_epi8((char)plan->byte_ceiling));
    const unsigned largest =
        largest_byte_of(_mm256_andnot_si256(beyond, magnitude));
    const struct tp_tally_bytes *its = &plan->by_byte[largest];
    const __m256i above =
        _mm256_cmpgt_epi8(magnitude, _mm256_set1_epi8((char)its->finite));
    const __m256i normal =
        _mm256_cmpgt_epi8(magnitude, _mm256_set1_epi8((char)its->fewer));
    const __m256i nonzero =
        _mm256_cmpgt_epi8(magnitude, _mm256_setzero_si256());
    const uint32_t mask = (uint32_t)_mm256_movemask_epi8(
        _mm256_or_si256(above, _mm256_andnot_si256(normal, nonzero)));
    tp_tally_see(seen, its->slot, largest);
    if (mask != 0)
        tally_block(plan, &(struct found){NULL, 32, its->slot, mask, codes},
                    tally);
}

/* Takes the whole blocks of a row of bytes; returns how many codes. */
TP_TARGET_AVX2 static size_t bytes_avx2(const struct tp_tally_plan *plan,
                                        const uint8_t *codes, size_t length,
                                        struct tp_tally *tally)
{
    struct tp_tally_seen seen = TP_TALLY_SEEN_NOTHING;
    size_t i = 0;
    for (; i + 32 <= length; i += 32)
        byte_block_avx2(plan, codes + i, &seen, tally);
    tp_tally_add_seen(&seen, &tally->counts);
    return i;
}
#endif

static size_t tally_bytes(const struct tp_tally_plan *plan,
                          const uint8_t *codes, size_t length,
                          struct tp_tally *tally)
{
#if defined(__x86_64__)
    if (plan->bytes && plan->blocks.isa != TP_ISA_PORTABLE)
        return bytes_avx2(plan, codes, length, tally);
#endif
    (void)plan, (void)codes, (void)length, (void)tally;
    return 0;
}

static rows_fn *const row_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(row_portable, row_avx2, row_avx512);

/* Codes of one byte are widened in pieces of this many. */
enum { PIECE = 4096 };

void tp_tally_rows(const struct tp_tally_plan *plan, const void *codes,
                   size_t rows, size_t row_length, struct tp_tally *tally)
{
    rows_fn *tally_row = row_by[plan->blocks.isa];
    const unsigned char *at = codes;
    const size_t size = (size_t)plan->blocks.code_size;
    for (size_t row = 0; row < rows; row++, at += row_length * size) {
        if (size == 2) {
            tally_row(plan, (const uint16_t *)(const void *)at, row_length,
                      tally);
            continue;
        }
        uint16_t wide[PIECE];
        size_t i = tally_bytes(plan, at, row_length, tally);
        for (; i < row_length; i += PIECE) {
            const size_t n = row_length - i < PIECE ? row_length - i : PIECE;
            for (size_t j = 0; j < n; j++)
                wide[j] = plan->blocks.widened[at[i + j]];
            tally_row(plan, wide, n, tally);
        }
    }
}

/* Lines whose marks are looked at together. */
enum { MARKS = sizeof(uint64_t) };

/* Whether one of the MARKS lines from `line` on is in use. */
static bool any_used(const uint8_t *used, size_t line)
{
    uint64_t marks;
    memcpy(&marks, used + line, sizeof marks);
    return marks != 0;
}

void tp_tally_flush(struct tp_tally *from, struct tp_tally *into)
{
    tp_quant_merge(&into->counts, &from->counts, 1);
    memset(&from->counts, 0, sizeof from->counts);
    for (int c = 0; c < TP_TALLY_CLASSES; c++) {
        for (size_t line = 0; line < TP_TALLY_LINES; line++) {
            if (line % MARKS == 0 && !any_used(from->used[c], line)) {
                line += MARKS - 1;
                continue;
            }
            if (!from->used[c][line])
                continue;
            uint64_t *taken = &from->count[c][line * TP_TALLY_LINE];
            uint64_t *sum = &into->count[c][line * TP_TALLY_LINE];
            for (int i = 0; i < TP_TALLY_LINE; i++)
                sum[i] += taken[i];
            memset(taken, 0, TP_TALLY_LINE * sizeof *taken);
            from->used[c][line] = 0;
            into->used[c][line] = 1;
        }
    }
}

/* --- the outcome ------------------------------------------------------- */

/* Finding values of tallied codes in the list, and the batch under way. */
struct finish {
    const struct tp_tally_plan *plan;
    const struct tp_code_list *list;
    uint64_t *left; /* of list->count: what is in no class */
    struct tp_quant_error *error;
    struct tp_quant_batch batch;
};

static void take_value(struct finish *finish, double value, uint64_t *count)
{
    const struct tp_code_list *list = finish->list;
    size_t i;
    TP_PARTITION_POINT(i, list->length, list->value[i] < value);
    if (i == list->length || list->value[i] != value)
        return;
    const uint64_t taken = *count < finish->left[i] ? *count : finish->left[i];
    finish->left[i] -= taken;
    *count -= taken;
}

/* Takes `count` values of this magnitude out of what is left. Sums do not
 * depend on the sign, so it does not matter of which. */
static void take(struct finish *finish, double magnitude, uint64_t count)
{
    take_value(finish, magnitude, &count);
    take_value(finish, -magnitude, &count);
    assert(count == 0);
}

static void send(struct finish *finish)
{
    struct tp_quant_batch *batch = &finish->batch;
    tp_quant_batch_pad(batch);
    tp_quant_batch_add(batch, finish->error);
    batch->n = 0;
    batch->values = 0;
}

static void put(struct finish *finish, double x, double q, uint64_t count)
{
    struct tp_quant_batch *batch = &finish->batch;
    batch->x[batch->n] = x;
    batch->q[batch->n] = q;
    batch->weight[batch->n] = (int64_t)count;
    batch->values += count;
    batch->n++;
    if (batch->n == TP_QUANT_BATCH)
        send(finish);
}

/* A rounder without ends: to so many fraction bits, -1 meaning to 0 or to the
 * next power of two. */
static void set_rounder(struct finish *finish, int fraction)
{
    finish->batch.rounder = (struct tp_rounder){
        .least = 1,
        .most = 1023 + 128,
        .fraction = fraction,
        .max = INFINITY,
        .overflowed = INFINITY,
    };
}

/* The largest value of the format moved to the binade of x > 0. */
static double largest_beside(const struct tp_number *number, double x)
{
    int e, top;
    frexp(x, &e);
    const double m = frexp(number->max, &top);
    return ldexp(m, e);
}

/* Whether x, one binade below the normal ones, rounds up to them with
 * `bits` significant bits: from the middle between the last value and them,
 * the tie included, since they are even. */
static bool becomes_normal(double x, int bits)
{
    int e;
    return frexp(x, &e) >= 1 - ldexp(1, -bits - 1);
}

/* What rounds below the smallest normal (lost values were counted before, and
 * what becomes 0 is by the sums). */
static void count_small(struct finish *finish, unsigned class, double x,
                        uint64_t count)
{
    const int precision = finish->plan->spec.number->precision;
    const bool small = class == TP_TALLY_ZERO || class >= TP_TALLY_FEWER;
    if (small &&
        !(class == TP_TALLY_FEWER && becomes_normal(x, precision - 1)))
        finish->error->subnormal += count;
}

static void finish_code(struct finish *finish, unsigned class, double x,
                        uint64_t count)
{
    take(finish, x, count);
    count_small(finish, class, x, count);
    switch (class) {
    case TP_TALLY_SATURATED:
        put(finish, x, largest_beside(finish->plan->spec.number, x), count);
        break;
    case TP_TALLY_LOST: put(finish, x, NAN, count); break;
    default: put(finish, x, 0, count);
    }
}

/* One class: its codes become values, then a batch. */
static void finish_class(struct finish *finish, struct tp_tally *tally,
                         unsigned class)
{
    const struct tp_block_plan *plan = &finish->plan->blocks;
    const int precision = finish->plan->spec.number->precision;
    finish->batch.given = class < TP_TALLY_FEWER;
    set_rounder(finish,
                precision - 1 - ((int)class - (int)TP_TALLY_FEWER + 1));
    for (size_t line = 0; line < TP_TALLY_LINES; line++) {
        if (line % MARKS == 0 && !any_used(tally->used[class], line)) {
            line += MARKS - 1;
            continue;
        }
        if (!tally->used[class][line])
            continue;
        uint64_t *count = &tally->count[class][line * TP_TALLY_LINE];
        for (size_t i = 0; i < TP_TALLY_LINE; i++) {
            if (count[i] == 0)
                continue;
            const double x =
                tp_block_code_value(plan, line * TP_TALLY_LINE + i);
            finish_code(finish, class, x, count[i]);
        }
        memset(count, 0, TP_TALLY_LINE * sizeof *count);
        tally->used[class][line] = 0;
    }
    send(finish);
}

void tp_tally_finish(const struct tp_tally_plan *plan, struct tp_tally *tally,
                     const struct tp_code_list *list, uint64_t *scratch,
                     struct tp_quant_error *error)
{
    struct finish finish; /* the batch as it is: 12 kB                    */
    finish.plan = plan;
    finish.list = list;
    finish.left = scratch;
    memset(&finish.batch, 0, offsetof(struct tp_quant_batch, x));
    memcpy(scratch, list->count, list->length * sizeof *scratch);
    finish.batch.isa = plan->blocks.isa;
    finish.batch.kind = TP_ROUNDER_EVEN;
    finish.batch.weighted = true;
    /* limits that nothing meets: all is counted by class */
    finish.batch.limits = (struct tp_quant_limits){
        .overflow = INFINITY, .min_normal = 0, .there = 1, .back = 1};
    struct tp_quant_error sums = {0};
    finish.error = &sums;
    for (unsigned class = 0; class < TP_TALLY_CLASSES; class++)
        finish_class(&finish, tally, class);
    finish.batch.given = false;
    set_rounder(&finish, plan->spec.number->precision - 1);
    for (size_t i = 0; i < list->length; i++)
        if (finish.left[i] > 0)
            put(&finish, list->value[i], 0, finish.left[i]);
    send(&finish);
    const uint64_t special = list->nan + list->pos_inf + list->neg_inf;
    sums.values += special;
    sums.nonfinite_in += special;
    tp_quant_merge(&sums, &tally->counts, 1);
    memset(&tally->counts, 0, sizeof tally->counts);
    tp_quant_merge(error, &sums, 1);
}
