/* SPDX-License-Identifier: MIT */
/*
 * Exact order statistics by counting the digits of keys from the top (a radix
 * selection): each reading counts, of the keys that share all known digits of
 * some wanted one, the next digit. Few remaining keys are gathered and sorted,
 * by a radix sort that leaves out digits in which all agree.
 *
 * Alternatives: sorting, or quickselect, need all values in memory and move
 * them; a sample or a sketch would not be exact.
 *
 * Cost: 1 MiB of counters a worker. The first reading is a shift and an
 * increment a value, into two tables in turn; each further one also looks up
 * the group of the value's first 16 bits, or compares 16 values at once with
 * each of the groups. 32-bit values take two readings, 64-bit values three.
 */
#include "stats/select.h"

#include <assert.h>
#include <string.h>

#include "stats/select_math.h"

static uint64_t load32(const unsigned char *at, size_t i)
{
    uint32_t code;
    memcpy(&code, at + 4 * i, sizeof code);
    return code;
}

static uint64_t load64(const unsigned char *at, size_t i)
{
    uint64_t code;
    memcpy(&code, at + 8 * i, sizeof code);
    return code;
}

static int bits_of(enum tp_dtype dtype)
{
    int bits = 8 * tp_dtype_info(dtype)->size;
    assert(bits == 32 || bits == 64);
    return bits;
}

/*
 * The loops over codes are written once, for any width and order; each case
 * below is an instance with both known.
 */
#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t load_key(enum tp_code_order order, int bits,
                         const unsigned char *at, size_t i)
{
    uint64_t code = bits == 32 ? load32(at, i) : load64(at, i);
    return tp_code_key(order, bits, code);
}

INLINE void top_loop(enum tp_code_order order, int bits,
                     const struct tp_span *span, uint32_t *count)
{
    uint32_t *odd = count + TP_SELECT_TOP;
    const int shift = bits - TP_SELECT_TOP_BITS;
    const unsigned char *at = span->codes;
    for (size_t i = 0; i + 2 <= span->n; i += 2) {
        count[load_key(order, bits, at, i) >> shift]++;
        odd[load_key(order, bits, at, i + 1) >> shift]++;
    }
    if (span->n % 2)
        count[load_key(order, bits, at, span->n - 1) >> shift]++;
}

void tp_select_count_top(const struct tp_span *span,
                         union tp_select_tables *tables)
{
    uint32_t *count = tables->count;
    if (span->dtype == TP_FLOAT32)
        top_loop(TP_ORDER_FLOAT, 32, span, count);
    else if (span->dtype == TP_FLOAT64)
        top_loop(TP_ORDER_FLOAT, 64, span, count);
    else if (bits_of(span->dtype) == 32)
        top_loop(tp_code_order_of(span->dtype), 32, span, count);
    else
        top_loop(tp_code_order_of(span->dtype), 64, span, count);
}

void tp_select_flush_top(union tp_select_tables *tables, uint64_t *totals)
{
    const uint32_t *even = tables->count;
    const uint32_t *odd = tables->count + TP_SELECT_TOP;
    for (size_t i = 0; i < TP_SELECT_TOP; i++)
        totals[i] += (uint64_t)even[i] + odd[i];
    memset(tables, 0, sizeof *tables);
}

void tp_select_top_bins(const uint64_t *totals, const struct tp_counts *counts,
                        uint64_t *bins)
{
    const uint64_t half = TP_SELECT_TOP / 2;
    const uint64_t infinity = (uint64_t)0x7f800000 >> 15;
    uint64_t below_zero = 0;
    for (uint64_t i = 0; i < infinity; i++) {
        uint64_t above = totals[half + i], below = totals[half - 1 - i];
        bins[i >> 5] += above;
        bins[TP_SUMMARY_BINS / 2 + (i >> 5)] += below;
        below_zero += below;
    }
    /* The first bin of either sign holds the zeros too. */
    uint64_t negative_zero = below_zero - counts->negative;
    bins[TP_SUMMARY_BINS / 2] -= negative_zero;
    bins[0] -= counts->zero - negative_zero;
}

/*
 * After prefixes and groups have changed: what the next reading is for, and
 * the index by the top 16 bits.
 */
static void plan_reading(struct tp_select *select)
{
    int group_bits = 0;
    uint64_t keys = 0;
    while (1u << group_bits < select->groups)
        group_bits++;
    for (unsigned g = 0; g < select->groups; g++)
        keys += select->size[g];
    int left = select->bits - select->known;
    int room = TP_SELECT_ROOM_BITS - group_bits;
    select->digit = left < room ? left : room;
    select->next = left == 0                 ? TP_SELECT_DONE
                   : keys <= TP_SELECT_SMALL ? TP_SELECT_GATHER
                                             : TP_SELECT_DIGIT;
    memset(select->first_group, 0, sizeof select->first_group);
    for (unsigned g = select->groups; g-- > 0;)
        select->first_group[select->prefix[g] >> (select->known - 16)] =
            (uint8_t)(g + 1);
}

/*
 * Finds rank *rank in the counts of one group: the digit, and *rank becomes
 * the rank among the keys with that digit. A file that is written to between
 * two readings may have fewer keys than ranks: then it is the last digit.
 */
static uint64_t find_digit(const uint64_t *counts, int bits, uint64_t *rank)
{
    const uint64_t last = ((uint64_t)1 << bits) - 1;
    uint64_t digit = 0;
    while (*rank >= counts[digit] && digit < last)
        *rank -= counts[digit++];
    return digit;
}

/* The prefix of a wanted key, and how many keys share it. */
struct found {
    uint64_t prefix, size;
};

/* Makes the groups of the wanted keys found. Prefixes ascend but for the
 * second of a pair, which may pass the first of the next. */
static void make_groups(struct tp_select *select, const struct found *found)
{
    select->groups = 0;
    for (int i = 0; i < TP_RANKS; i++) {
        unsigned at = select->groups;
        while (at > 0 && select->prefix[at - 1] >= found[i].prefix)
            at--;
        if (at < select->groups && select->prefix[at] == found[i].prefix)
            continue;
        for (unsigned g = select->groups++; g > at; g--) {
            select->prefix[g] = select->prefix[g - 1];
            select->size[g] = select->size[g - 1];
        }
        select->prefix[at] = found[i].prefix;
        select->size[at] = found[i].size;
    }
    for (int i = 0; i < TP_RANKS; i++) {
        unsigned at = 0;
        while (select->prefix[at] != found[i].prefix)
            at++;
        select->group[i] = at;
    }
    plan_reading(select);
}

void tp_select_begin(struct tp_select *select, enum tp_dtype dtype,
                     const struct tp_values *values,
                     const struct tp_ranks *ranks, const uint64_t *totals)
{
    uint64_t below = values->negative_nan + values->counts.neg_inf;
    struct found found[TP_RANKS];
    select->dtype = dtype;
    select->isa = TP_ISA_UNKNOWN;
    select->order = tp_code_order_of(dtype);
    select->bits = bits_of(dtype);
    select->known = TP_SELECT_TOP_BITS;
    for (int i = 0; i < TP_RANKS; i++) {
        select->rank[i] = ranks->rank[i] + below;
        found[i].prefix =
            find_digit(totals, TP_SELECT_TOP_BITS, &select->rank[i]);
        found[i].size = totals[found[i].prefix];
    }
    make_groups(select, found);
}

/* Takes a key in a reading after the first. */
INLINE void take_key(const struct tp_select *select, int bits, uint64_t key,
                     union tp_select_tables *tables)
{
    const unsigned group = tp_select_group(select, bits, key);
    if (group == select->groups)
        return;
    if (select->next == TP_SELECT_DIGIT)
        tables->count[tp_select_counter(select, bits, group, key)]++;
    else if (tables->gathered.length < TP_SELECT_SMALL)
        /* else the file was written to */
        tables->gathered.key[tables->gathered.length++] = key;
}

INLINE void key_loop(const struct tp_select *select, enum tp_code_order order,
                     int bits, const struct tp_span *span,
                     union tp_select_tables *tables)
{
    for (size_t i = 0; i < span->n; i++)
        take_key(select, bits, load_key(order, bits, span->codes, i), tables);
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Codes of floating dtypes in vectors: those whose first bits are those of a
 * group, of which few are, are then taken one by one. */
enum { AT_ONCE = 16 };

/* The first bits of the codes, not of the keys, of a group. */
INLINE uint64_t prefix_of_codes(const struct tp_select *select, unsigned group)
{
    return tp_code_of_key(TP_ORDER_FLOAT, select->known, select->prefix[group]);
}

TP_TARGET_AVX512 static uint32_t find_32(const unsigned char *codes, int shift,
                                         const __m512i *prefix, unsigned groups)
{
    const __m512i first =
        _mm512_srl_epi32(_mm512_loadu_si512(codes), _mm_cvtsi32_si128(shift));
    uint32_t found = 0;
    for (unsigned g = 0; g < groups; g++)
        found |= _mm512_cmpeq_epi32_mask(first, prefix[g]);
    return found;
}

TP_TARGET_AVX512 static uint32_t find_64(const unsigned char *codes, int shift,
                                         const __m512i *prefix, unsigned groups)
{
    const __m128i by = _mm_cvtsi32_si128(shift);
    const __m512i low = _mm512_srl_epi64(_mm512_loadu_si512(codes), by);
    const __m512i high = _mm512_srl_epi64(_mm512_loadu_si512(codes + 64), by);
    uint32_t found = 0;
    for (unsigned g = 0; g < groups; g++)
        found |= _mm512_cmpeq_epi64_mask(low, prefix[g]) |
                 (uint32_t)_mm512_cmpeq_epi64_mask(high, prefix[g]) << 8;
    return found;
}

/* Takes whole groups of codes; returns how many these are. */
TP_TARGET_AVX512 static size_t take_found(const struct tp_select *select,
                                          const struct tp_span *span,
                                          union tp_select_tables *tables)
{
    const int bits = select->bits, shift = bits - select->known;
    const unsigned char *codes = span->codes;
    __m512i prefix[TP_RANKS];
    size_t i = 0;
    for (unsigned g = 0; g < select->groups; g++)
        prefix[g] =
            bits == 32 ? _mm512_set1_epi32((int)prefix_of_codes(select, g))
                       : _mm512_set1_epi64((int64_t)prefix_of_codes(select, g));
    for (; i + AT_ONCE <= span->n; i += AT_ONCE) {
        const unsigned char *at = codes + i * (size_t)bits / 8;
        uint32_t left = bits == 32 ? find_32(at, shift, prefix, select->groups)
                                   : find_64(at, shift, prefix, select->groups);
        for (; left != 0; left &= left - 1)
            take_key(
                select, bits,
                load_key(TP_ORDER_FLOAT, bits, at, (size_t)__builtin_ctz(left)),
                tables);
    }
    return i;
}
#endif

static size_t take_many(const struct tp_select *select,
                        const struct tp_span *span,
                        union tp_select_tables *tables)
{
#if defined(__x86_64__)
    if (select->order == TP_ORDER_FLOAT &&
        tp_isa_known(select->isa) == TP_ISA_AVX512)
        return take_found(select, span, tables);
#endif
    (void)select, (void)span, (void)tables;
    return 0;
}

void tp_select_count(const struct tp_select *select,
                     const struct tp_span *span,
                     union tp_select_tables *tables)
{
    const size_t done = take_many(select, span, tables);
    const struct tp_span rest = {span->dtype,
                                 (const unsigned char *)span->codes +
                                     done * (size_t)select->bits / 8,
                                 span->n - done};
    if (select->dtype == TP_FLOAT32)
        key_loop(select, TP_ORDER_FLOAT, 32, &rest, tables);
    else if (select->dtype == TP_FLOAT64)
        key_loop(select, TP_ORDER_FLOAT, 64, &rest, tables);
    else
        key_loop(select, select->order, select->bits, &rest, tables);
}

/* Gathered keys are kept behind their number. */
static void add_gathered(const uint64_t *keys, uint64_t length,
                         uint64_t *totals)
{
    uint64_t room = TP_SELECT_SMALL - totals[0];
    uint64_t taken = length < room ? length : room;
    memcpy(totals + 1 + totals[0], keys, taken * sizeof *totals);
    totals[0] += taken;
}

void tp_select_flush(const struct tp_select *select,
                     union tp_select_tables *tables, uint64_t *totals)
{
    if (select->next == TP_SELECT_GATHER) {
        uint64_t length = tables->gathered.length;
        add_gathered(tables->gathered.key, length, totals);
        memset(tables, 0, (1 + length) * sizeof *totals);
        return;
    }
    size_t used = (size_t)select->groups << select->digit;
    for (size_t i = 0; i < used; i++)
        totals[i] += tables->count[i];
    memset(tables->count, 0, used * sizeof tables->count[0]);
}

void tp_select_add(const struct tp_select *select, const uint64_t *from,
                   uint64_t *totals)
{
    size_t used = (size_t)select->groups << select->digit;
    if (select->next == TP_SELECT_GATHER)
        add_gathered(from + 1, from[0], totals); /* at most what fits */
    else
        for (size_t i = 0; i < used; i++)
            totals[i] += from[i];
}

enum { SORT_BITS = 11, SORT_BUCKETS = 1 << SORT_BITS };

/* One pass of a radix sort; false, and nothing done, if all are equal. */
static bool sort_pass(const uint64_t *from, size_t n, int shift, uint64_t *to)
{
    uint32_t start[SORT_BUCKETS] = {0};
    const uint64_t mask = SORT_BUCKETS - 1;
    for (size_t i = 0; i < n; i++)
        start[from[i] >> shift & mask]++;
    if (start[from[0] >> shift & mask] == n)
        return false;
    uint32_t sum = 0;
    for (int i = 0; i < SORT_BUCKETS; i++) {
        uint32_t count = start[i];
        start[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[start[from[i] >> shift & mask]++] = from[i];
    return true;
}

/* Sorts n keys; returns where they are, `keys` or `other`. */
static const uint64_t *sort_keys(uint64_t *keys, size_t n, int bits,
                                 uint64_t *other)
{
    for (int shift = 0; shift < bits && n > 1; shift += SORT_BITS) {
        if (sort_pass(keys, n, shift, other)) {
            uint64_t *swap = keys;
            keys = other;
            other = swap;
        }
    }
    return keys;
}

/* Keys of a group lie together, and groups ascend. */
static void learn_gathered(struct tp_select *select, uint64_t *totals,
                           struct found *found)
{
    size_t n = (size_t)totals[0];
    const uint64_t *keys =
        sort_keys(totals + 1, n, select->bits, totals + 1 + TP_SELECT_SMALL);
    for (int i = 0; i < TP_RANKS; i++) {
        uint64_t at = select->rank[i];
        for (unsigned g = 0; g < select->group[i]; g++)
            at += select->size[g];
        found[i].prefix = n == 0 ? 0 : keys[at < n ? at : n - 1];
        found[i].size = 1;
        select->rank[i] = 0;
    }
    select->known = select->bits;
}

void tp_select_learn(struct tp_select *select, uint64_t *totals)
{
    struct found found[TP_RANKS];
    if (select->next == TP_SELECT_GATHER) {
        learn_gathered(select, totals, found);
        make_groups(select, found);
        return;
    }
    for (int i = 0; i < TP_RANKS; i++) {
        unsigned group = select->group[i];
        const uint64_t *counts = totals + ((size_t)group << select->digit);
        uint64_t digit = find_digit(counts, select->digit, &select->rank[i]);
        found[i].prefix = select->prefix[group] << select->digit | digit;
        found[i].size = counts[digit];
    }
    select->known += select->digit;
    make_groups(select, found);
}

/* The value of a whole key; -0 becomes +0. */
static double key_value(enum tp_dtype dtype, uint64_t key)
{
    int bits = bits_of(dtype);
    uint64_t code = tp_code_of_key(tp_code_order_of(dtype), bits, key);
    uint32_t narrow = (uint32_t)code;
    double value;
    tp_dtype_decode(dtype, bits == 32 ? (const void *)&narrow : &code, 1,
                    &value);
    return value + 0.0;
}

void tp_select_values(const struct tp_select *select, double ordered[TP_RANKS])
{
    assert(select->next == TP_SELECT_DONE);
    for (int i = 0; i < TP_RANKS; i++)
        ordered[i] = key_value(select->dtype, select->prefix[select->group[i]]);
}

void tp_select_small(const struct tp_span *span,
                     const struct tp_values *values,
                     const struct tp_ranks *ranks, uint64_t *scratch,
                     double ordered[TP_RANKS])
{
    assert(span->n <= TP_SELECT_SMALL);
    int bits = bits_of(span->dtype);
    enum tp_code_order order = tp_code_order_of(span->dtype);
    for (size_t i = 0; i < span->n; i++)
        scratch[i] = load_key(order, bits, span->codes, i);
    const uint64_t *keys =
        sort_keys(scratch, span->n, bits, scratch + TP_SELECT_SMALL);
    uint64_t below = values->negative_nan + values->counts.neg_inf;
    for (int i = 0; i < TP_RANKS && ranks->n > 0; i++)
        ordered[i] = key_value(span->dtype, keys[ranks->rank[i] + below]);
}
