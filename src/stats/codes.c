/* SPDX-License-Identifier: MIT */
#include "stats/codes.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "stats/bins.h"
#include "stats/judge.h"
#include "stats/order.h"
#include "stats/quantile.h"

void tp_codes_count16(struct tp_code_tables *tables, const void *codes,
                      size_t n)
{
    uint32_t *a = tables->count[0], *b = tables->count[1];
    uint32_t *c = tables->count[2], *d = tables->count[3];
    const unsigned char *at = codes;
    for (; n >= 4; n -= 4, at += 8) {
        uint64_t four;
        memcpy(&four, at, sizeof four);
        a[four & 0xffff]++;
        b[four >> 16 & 0xffff]++;
        c[four >> 32 & 0xffff]++;
        d[four >> 48]++;
    }
    for (; n > 0; n--, at += 2) {
        uint16_t code;
        memcpy(&code, at, sizeof code);
        a[code]++;
    }
}

void tp_codes_count8(struct tp_code_tables *tables, const void *codes,
                     size_t n)
{
    uint32_t *a = tables->count[0], *b = tables->count[1];
    uint32_t *c = tables->count[2], *d = tables->count[3];
    const unsigned char *at = codes;
    for (; n >= 8; n -= 8, at += 8) {
        uint64_t eight;
        memcpy(&eight, at, sizeof eight);
        a[eight & 0xff]++;
        b[eight >> 8 & 0xff]++;
        c[eight >> 16 & 0xff]++;
        d[eight >> 24 & 0xff]++;
        a[eight >> 32 & 0xff]++;
        b[eight >> 40 & 0xff]++;
        c[eight >> 48 & 0xff]++;
        d[eight >> 56]++;
    }
    for (; n > 0; n--)
        a[*at++]++;
}

void tp_codes_flush(struct tp_code_tables *tables, size_t codes,
                    uint64_t *totals)
{
    uint32_t *a = tables->count[0], *b = tables->count[1];
    uint32_t *c = tables->count[2], *d = tables->count[3];
    for (size_t i = 0; i < codes; i++)
        totals[i] += (uint64_t)a[i] + b[i] + c[i] + d[i];
    for (int i = 0; i < TP_CODE_TABLES; i++)
        memset(tables->count[i], 0, codes * sizeof tables->count[i][0]);
}

/* Makes the list empty; the arrays stay. */
static void list_reset(struct tp_code_list *list)
{
    list->length = 0;
    list->finite = list->nan = list->pos_inf = list->neg_inf = 0;
}

/*
 * Appends entries in key order: list->count[0..n) belong to values[0..n) and
 * are compacted in place. What is not finite is counted apart, and codes of
 * equal value (the two zeros, the many codes of a true bool) become one.
 */
static void list_finish(struct tp_code_list *list, size_t n)
{
    double *value = list->value;
    uint64_t *count = list->count;
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(value[i])) {
            list->nan += count[i];
        } else if (isinf(value[i])) {
            *(value[i] > 0 ? &list->pos_inf : &list->neg_inf) += count[i];
        } else if (length > 0 && value[length - 1] == value[i]) {
            list->finite += count[i];
            count[length - 1] += count[i];
        } else {
            list->finite += count[i];
            value[length] = value[i] + 0.0; /* -0 becomes +0 */
            count[length++] = count[i];
        }
    }
    list->length = length;
}

enum { DECODE_BATCH = 512 };

/* Values of the codes of keys[0..n). */
static void decode_keys(enum tp_dtype dtype, const uint16_t *keys, size_t n,
                        double *values)
{
    enum tp_order order = tp_order_of(dtype);
    size_t size = tp_dtype_info(dtype)->size;
    for (size_t first = 0; first < n; first += DECODE_BATCH) {
        uint16_t wide[DECODE_BATCH];
        uint8_t narrow[DECODE_BATCH];
        size_t batch = n - first < DECODE_BATCH ? n - first : DECODE_BATCH;
        for (size_t i = 0; i < batch; i++) {
            wide[i] = (uint16_t)tp_order_code(order, 8 * (int)size,
                                              keys[first + i]);
            narrow[i] = (uint8_t)wide[i];
        }
        const void *codes = size == 1 ? (const void *)narrow : wide;
        tp_dtype_decode(dtype, codes, batch, values + first);
    }
}

void tp_codes_list(enum tp_dtype dtype, const uint64_t *totals,
                   struct tp_code_list *list)
{
    enum tp_order order = tp_order_of(dtype);
    int bits = 8 * tp_dtype_info(dtype)->size;
    assert(bits == 8 || bits == 16);
    list_reset(list);
    uint16_t keys[DECODE_BATCH];
    size_t length = 0, batch = 0;
    for (size_t key = 0; key < (size_t)1 << bits; key++) {
        uint64_t count = totals[tp_order_code(order, bits, key)];
        if (count == 0)
            continue;
        keys[batch++] = (uint16_t)key;
        list->count[length++] = count;
        if (batch == DECODE_BATCH) {
            decode_keys(dtype, keys, batch, list->value + length - batch);
            batch = 0;
        }
    }
    decode_keys(dtype, keys, batch, list->value + length - batch);
    list_finish(list, length);
}

/* One pass of a radix sort by the byte at `shift`. */
static void sort_pass(const uint16_t *from, size_t n, int shift, uint16_t *to)
{
    uint32_t start[256] = {0};
    for (size_t i = 0; i < n; i++)
        start[from[i] >> shift & 0xff]++;
    uint32_t sum = 0;
    for (int i = 0; i < 256; i++) {
        uint32_t count = start[i];
        start[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[start[from[i] >> shift & 0xff]++] = from[i];
}

/* Replaces sorted keys[0..n) by the distinct ones; returns their number. */
static size_t count_runs(uint16_t *keys, size_t n, uint64_t *count)
{
    size_t length = 0;
    for (size_t i = 0; i < n;) {
        size_t start = i;
        uint16_t key = keys[i];
        while (i < n && keys[i] == key)
            i++;
        keys[length] = key;
        count[length++] = i - start;
    }
    return length;
}

void tp_codes_list_sorted(enum tp_dtype dtype, const void *codes, size_t n,
                          uint16_t *scratch, struct tp_code_list *list)
{
    assert(n <= TP_CODES_SORTED);
    enum tp_order order = tp_order_of(dtype);
    int bits = 8 * tp_dtype_info(dtype)->size;
    uint16_t *keys = scratch, *other = scratch + TP_CODES_SORTED;
    const unsigned char *bytes = codes;
    for (size_t i = 0; i < n; i++) {
        uint16_t code = bytes[i];
        if (bits == 16)
            memcpy(&code, bytes + 2 * i, sizeof code);
        keys[i] = (uint16_t)tp_order_key(order, bits, code);
    }
    sort_pass(keys, n, 0, other);
    if (bits == 16)
        sort_pass(other, n, 8, keys);
    else
        keys = other;
    list_reset(list);
    size_t length = count_runs(keys, n, list->count);
    decode_keys(dtype, keys, length, list->value);
    list_finish(list, length);
}

void tp_code_list_repeat(struct tp_code_list *list, uint64_t repeat)
{
    for (size_t i = 0; i < list->length; i++)
        list->count[i] *= repeat;
    list->finite *= repeat;
    list->nan *= repeat;
    list->pos_inf *= repeat;
    list->neg_inf *= repeat;
}

/* A sum with the rounding errors of its additions (Neumaier). */
struct exact_sum {
    double sum, error;
};

static void sum_add(struct exact_sum *sum, double value)
{
    double total = sum->sum + value;
    if (fabs(sum->sum) >= fabs(value))
        sum->error += (sum->sum - total) + value;
    else
        sum->error += (value - total) + sum->sum;
    sum->sum = total;
}

static double sum_get(const struct exact_sum *sum)
{
    return sum->sum + sum->error;
}

/* Additions inside a block are plain: their error stays below 64 units in
 * the last place of the block; blocks are added with compensation. */
enum { SUM_BLOCK = 64 };

static void raw_sums(const struct tp_code_list *list,
                     struct tp_moments *moments)
{
    struct exact_sum linear = {0, 0}, absolute = {0, 0}, square = {0, 0};
    for (size_t first = 0; first < list->length; first += SUM_BLOCK) {
        size_t end = first + SUM_BLOCK;
        end = end < list->length ? end : list->length;
        double s1 = 0, sa = 0, s2 = 0;
        for (size_t i = first; i < end; i++) {
            double v = list->value[i], term = v * (double)list->count[i];
            s1 += term;
            sa += fabs(term);
            s2 += v * term;
        }
        sum_add(&linear, s1);
        sum_add(&absolute, sa);
        sum_add(&square, s2);
    }
    moments->mean = sum_get(&linear) / (double)moments->n;
    moments->sum_abs = sum_get(&absolute);
    moments->sum_squares = sum_get(&square);
}

static void central_sums(const struct tp_code_list *list,
                         struct tp_moments *moments)
{
    struct exact_sum m2 = {0, 0}, m3 = {0, 0}, m4 = {0, 0};
    for (size_t first = 0; first < list->length; first += SUM_BLOCK) {
        size_t end = first + SUM_BLOCK;
        end = end < list->length ? end : list->length;
        double s2 = 0, s3 = 0, s4 = 0;
        for (size_t i = first; i < end; i++) {
            double d = list->value[i] - moments->mean;
            double term = d * d * (double)list->count[i];
            s2 += term;
            s3 += d * term;
            s4 += d * d * term;
        }
        sum_add(&m2, s2);
        sum_add(&m3, s3);
        sum_add(&m4, s4);
    }
    moments->m2 = sum_get(&m2);
    moments->m3 = sum_get(&m3);
    moments->m4 = sum_get(&m4);
}

static void list_moments(const struct tp_code_list *list,
                         struct tp_moments *moments)
{
    moments->n = list->finite;
    if (list->finite == 0)
        return;
    raw_sums(list, moments);
    if (list->length == 1)
        moments->mean = list->value[0]; /* and the central sums stay 0 */
    else
        central_sums(list, moments);
}

static void list_extrema(const struct tp_code_list *list,
                         struct tp_extrema *extrema)
{
    if (list->length == 0)
        return;
    extrema->min = list->value[0];
    extrema->max = list->value[list->length - 1];
    for (size_t i = 0; i < list->length; i++) {
        double v = fabs(list->value[i]);
        if (v > 0 && (extrema->abs_min_nonzero == 0 ||
                      v < extrema->abs_min_nonzero))
            extrema->abs_min_nonzero = v;
    }
}

/* Counts that depend on single values, and the bins. */
static void list_counts(const struct tp_code_list *list,
                        const struct tp_judge *judge,
                        struct tp_summary *summary)
{
    struct tp_counts *counts = &summary->counts;
    for (size_t i = 0; i < list->length; i++) {
        double v = list->value[i], a = fabs(v);
        uint64_t count = list->count[i];
        if (v == 0) {
            counts->zero += count;
            continue;
        }
        summary->bins[tp_bin_of(v)] += count;
        counts->negative += v < 0 ? count : 0;
        counts->underflow += a <= judge->zero ? count : 0;
        counts->subnormal += a < judge->subnormal ? count : 0;
        if (a >= judge->overflow)
            *(v > 0 ? &counts->upper_overflow : &counts->lower_overflow) +=
                count;
    }
}

/* The levels ascend, so one walk over the list serves them all. */
static void list_quantiles(const struct tp_code_list *list, double *quantile)
{
    struct tp_ranks ranks;
    tp_ranks_of(list->finite, 1, &ranks);
    double ordered[TP_RANKS] = {0};
    size_t at = 0;
    uint64_t below = 0;
    for (int i = 0; i < TP_RANKS && list->finite > 0; i += 2) {
        while (ranks.rank[i] >= below + list->count[at])
            below += list->count[at++];
        ordered[i] = list->value[at];
        bool same = ranks.rank[i + 1] < below + list->count[at];
        ordered[i + 1] = list->value[same ? at : at + 1];
    }
    tp_ranks_quantiles(&ranks, ordered, quantile);
}

void tp_code_list_summarize(const struct tp_code_list *list,
                            const struct tp_number *target,
                            struct tp_summary *summary, double *quantile)
{
    struct tp_judge judge = tp_judge_of(target);
    struct tp_counts *counts = &summary->counts;
    counts->nan = list->nan;
    counts->pos_inf = list->pos_inf;
    counts->neg_inf = list->neg_inf;
    counts->values =
        list->finite + list->nan + list->pos_inf + list->neg_inf;
    list_counts(list, &judge, summary);
    tp_judge_close(target, counts);
    list_extrema(list, &summary->extrema);
    list_moments(list, &summary->moments);
    list_quantiles(list, quantile);
}
