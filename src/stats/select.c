/* SPDX-License-Identifier: MIT */
#include "stats/select.h"

#include <assert.h>
#include <string.h>

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

void tp_select_count_top(enum tp_dtype dtype, const void *codes, size_t n,
                         struct tp_select_tables *tables)
{
    uint32_t *even = tables->count, *odd = tables->count + TP_SELECT_TOP;
    enum tp_order order = tp_order_of(dtype);
    size_t i = 0;
    if (bits_of(dtype) == 32) {
        const int shift = 32 - TP_SELECT_TOP_BITS;
        for (; i + 2 <= n; i += 2) {
            even[tp_order_key(order, 32, load32(codes, i)) >> shift]++;
            odd[tp_order_key(order, 32, load32(codes, i + 1)) >> shift]++;
        }
        for (; i < n; i++)
            even[tp_order_key(order, 32, load32(codes, i)) >> shift]++;
    } else {
        const int shift = 64 - TP_SELECT_TOP_BITS;
        for (; i + 2 <= n; i += 2) {
            even[tp_order_key(order, 64, load64(codes, i)) >> shift]++;
            odd[tp_order_key(order, 64, load64(codes, i + 1)) >> shift]++;
        }
        for (; i < n; i++)
            even[tp_order_key(order, 64, load64(codes, i)) >> shift]++;
    }
}

void tp_select_flush_top(struct tp_select_tables *tables, uint64_t *totals)
{
    const uint32_t *even = tables->count;
    const uint32_t *odd = tables->count + TP_SELECT_TOP;
    for (size_t i = 0; i < TP_SELECT_TOP; i++)
        totals[i] += (uint64_t)even[i] + odd[i];
    memset(tables, 0, sizeof *tables);
}

/*
 * After prefixes and groups have changed: how many bits the next pass can
 * find with a table for each group, and the index by the top 16 bits.
 */
static void plan_pass(struct tp_select *select)
{
    int group_bits = 0;
    while (1u << group_bits < select->groups)
        group_bits++;
    int left = select->bits - select->known;
    int room = TP_SELECT_ROOM_BITS - group_bits;
    select->digit = left < room ? left : room;
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

/* Puts wanted keys with these prefixes into groups. Prefixes ascend but for
 * the second of a pair, which may pass the first of the next. */
static void make_groups(struct tp_select *select, const uint64_t *prefix)
{
    select->groups = 0;
    for (int i = 0; i < TP_RANKS; i++) {
        unsigned at = 0;
        while (at < select->groups && select->prefix[at] < prefix[i])
            at++;
        if (at < select->groups && select->prefix[at] == prefix[i])
            continue;
        memmove(&select->prefix[at + 1], &select->prefix[at],
                (select->groups - at) * sizeof select->prefix[0]);
        select->prefix[at] = prefix[i];
        select->groups++;
    }
    for (int i = 0; i < TP_RANKS; i++) {
        unsigned at = 0;
        while (select->prefix[at] != prefix[i])
            at++;
        select->group[i] = at;
    }
}

void tp_select_begin(struct tp_select *select, enum tp_dtype dtype,
                     const struct tp_values *values,
                     const struct tp_ranks *ranks, const uint64_t *totals)
{
    uint64_t below = values->negative_nan + values->counts.neg_inf;
    uint64_t prefix[TP_RANKS];
    select->dtype = dtype;
    select->order = tp_order_of(dtype);
    select->bits = bits_of(dtype);
    select->known = TP_SELECT_TOP_BITS;
    for (int i = 0; i < TP_RANKS; i++) {
        select->rank[i] = ranks->rank[i] + below;
        prefix[i] = find_digit(totals, TP_SELECT_TOP_BITS, &select->rank[i]);
    }
    make_groups(select, prefix);
    plan_pass(select);
}

/* Counts one key, if it belongs to a group. */
static inline void count_key(const struct tp_select *select, uint64_t key,
                             uint32_t *count)
{
    unsigned group = select->first_group[key >> (select->bits - 16)];
    if (group == 0)
        return;
    group--;
    int rest = select->bits - select->known;
    uint64_t prefix = key >> rest;
    while (group < select->groups && select->prefix[group] < prefix)
        group++;
    if (group == select->groups || select->prefix[group] != prefix)
        return;
    uint64_t mask = ((uint64_t)1 << select->digit) - 1;
    uint64_t digit = key >> (rest - select->digit) & mask;
    count[((uint64_t)group << select->digit) + digit]++;
}

void tp_select_count(const struct tp_select *select, const void *codes,
                     size_t n, struct tp_select_tables *tables)
{
    enum tp_order order = select->order;
    if (select->bits == 32)
        for (size_t i = 0; i < n; i++)
            count_key(select, tp_order_key(order, 32, load32(codes, i)),
                      tables->count);
    else
        for (size_t i = 0; i < n; i++)
            count_key(select, tp_order_key(order, 64, load64(codes, i)),
                      tables->count);
}

void tp_select_flush(const struct tp_select *select,
                     struct tp_select_tables *tables, uint64_t *totals)
{
    size_t used = (size_t)select->groups << select->digit;
    for (size_t i = 0; i < used; i++)
        totals[i] += tables->count[i];
    memset(tables->count, 0, used * sizeof tables->count[0]);
}

void tp_select_step(struct tp_select *select, const uint64_t *totals)
{
    uint64_t prefix[TP_RANKS];
    for (int i = 0; i < TP_RANKS; i++) {
        unsigned group = select->group[i];
        const uint64_t *counts = totals + ((size_t)group << select->digit);
        uint64_t digit =
            find_digit(counts, select->digit, &select->rank[i]);
        prefix[i] = select->prefix[group] << select->digit | digit;
    }
    select->known += select->digit;
    make_groups(select, prefix);
    plan_pass(select);
}

/* The value of a whole key; -0 becomes +0. */
static double key_value(enum tp_dtype dtype, uint64_t key)
{
    int bits = bits_of(dtype);
    uint64_t code = tp_order_code(tp_order_of(dtype), bits, key);
    uint32_t narrow = (uint32_t)code;
    double value;
    tp_dtype_decode(dtype, bits == 32 ? (const void *)&narrow : &code, 1,
                    &value);
    return value + 0.0;
}

void tp_select_values(const struct tp_select *select,
                      double ordered[TP_RANKS])
{
    assert(select->known == select->bits);
    for (int i = 0; i < TP_RANKS; i++)
        ordered[i] = key_value(select->dtype, select->prefix[select->group[i]]);
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

void tp_select_small(enum tp_dtype dtype, const void *codes, size_t n,
                     const struct tp_values *values,
                     const struct tp_ranks *ranks, uint64_t *scratch,
                     double ordered[TP_RANKS])
{
    assert(n <= TP_SELECT_SMALL);
    int bits = bits_of(dtype);
    enum tp_order order = tp_order_of(dtype);
    uint64_t *keys = scratch, *other = scratch + TP_SELECT_SMALL;
    for (size_t i = 0; i < n; i++)
        keys[i] = bits == 32 ? tp_order_key(order, 32, load32(codes, i))
                             : tp_order_key(order, 64, load64(codes, i));
    for (int shift = 0; shift < bits && n > 0; shift += SORT_BITS) {
        if (sort_pass(keys, n, shift, other)) {
            uint64_t *swap = keys;
            keys = other;
            other = swap;
        }
    }
    uint64_t below = values->negative_nan + values->counts.neg_inf;
    for (int i = 0; i < TP_RANKS && ranks->n > 0; i++)
        ordered[i] = key_value(dtype, keys[ranks->rank[i] + below]);
}
