/* SPDX-License-Identifier: MIT */
/*
 * The statistics of tensors of 8-bit and 16-bit codes, from a histogram of the
 * codes. Counting goes to four tables in turn, so that equal neighbours do not
 * wait for each other's store. Then one walk in the order of the values makes a
 * list, in which quantiles are exact and moments two passes: the mean, then
 * the central sums, in blocks of 64 that Neumaier's compensated sum adds up.
 *
 * Alternative: arithmetic on every value, as values.c does it. That costs more
 * an element, its sums depend on the order, and quantiles need more readings.
 *
 * Cost: an increment an element; afterwards at most 65 536 entries a tensor,
 * whatever its size. Few codes mark the cache lines they touch, so that a small
 * tensor does not pay for reading and clearing 1 MiB of counters.
 */
#include "stats/codes.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "stats/bins.h"
#include "stats/code_key.h"
#include "stats/judge.h"
#include "stats/quantile.h"

static void count16_many(struct tp_code_tables *tables, const unsigned char *at,
                         size_t n)
{
    uint32_t *a = tables->count[0], *b = tables->count[1];
    uint32_t *c = tables->count[2], *d = tables->count[3];
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
    tables->all_used = true;
    tables->depth = TP_CODE_TABLES;
}

/* Two tables are enough here, and fewer lines to visit afterwards. */
static void count16_few(struct tp_code_tables *tables, const unsigned char *at,
                        size_t n)
{
    uint32_t *a = tables->count[0], *b = tables->count[1];
    uint8_t *used = tables->used;
    for (; n >= 2; n -= 2, at += 4) {
        uint32_t two;
        memcpy(&two, at, sizeof two);
        uint32_t first = two & 0xffff, second = two >> 16;
        a[first]++;
        b[second]++;
        used[first / TP_CODE_LINE] = 1;
        used[second / TP_CODE_LINE] = 1;
    }
    if (n > 0) {
        uint16_t code;
        memcpy(&code, at, sizeof code);
        a[code]++;
        used[code / TP_CODE_LINE] = 1;
    }
    if (tables->depth < 2)
        tables->depth = 2;
}

void tp_codes_count16(struct tp_code_tables *tables, const void *codes,
                      size_t n)
{
    if (n > TP_CODES_FEW)
        count16_many(tables, codes, n);
    else
        count16_few(tables, codes, n);
}

void tp_codes_count8(struct tp_code_tables *tables, const void *codes, size_t n)
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
    memset(tables->used, 1, 256 / TP_CODE_LINE);
    tables->depth = TP_CODE_TABLES;
}

/* Takes the counts of one line out of the tables. */
static void take_line(struct tp_code_tables *tables, size_t line,
                      uint64_t count[TP_CODE_LINE])
{
    size_t first = line * TP_CODE_LINE;
    memset(count, 0, TP_CODE_LINE * sizeof *count);
    for (int t = 0; t < tables->depth; t++) {
        uint32_t *entry = &tables->count[t][first];
        for (int i = 0; i < TP_CODE_LINE; i++)
            count[i] += entry[i];
        memset(entry, 0, TP_CODE_LINE * sizeof *entry);
    }
    tables->used[line] = 0;
}

/* Lines whose marks are looked at together. */
enum { MARKS = sizeof(uint64_t) };

/* Whether one of the MARKS lines from `line` on may be in use. */
static bool any_used(const struct tp_code_tables *tables, size_t line)
{
    uint64_t marks;
    memcpy(&marks, &tables->used[line], sizeof marks);
    return marks != 0 || tables->all_used;
}

/* All counts have been taken. */
static void reset_tables(struct tp_code_tables *tables)
{
    tables->all_used = false;
    tables->depth = 0;
}

void tp_codes_flush(struct tp_code_tables *tables, uint64_t *totals)
{
    for (size_t line = 0; line < TP_CODE_LINES; line++) {
        if (line % MARKS == 0 && !any_used(tables, line)) {
            line += MARKS - 1;
            continue;
        }
        uint64_t count[TP_CODE_LINE];
        take_line(tables, line, count);
        for (size_t i = 0; i < TP_CODE_LINE; i++)
            totals[line * TP_CODE_LINE + i] += count[i];
    }
    reset_tables(tables);
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

/* A list under construction: codes are collected in key order, decoded in
 * batches behind the counts they belong to. */
enum { BATCH = 512 };

struct builder {
    enum tp_dtype dtype;
    size_t size; /* bytes of a code */
    struct tp_code_list *list;
    size_t length, waiting;
    uint16_t codes[BATCH];
};

static void decode_waiting(struct builder *builder)
{
    uint8_t narrow[BATCH];
    const void *codes = builder->codes;
    if (builder->size == 1) {
        for (size_t i = 0; i < builder->waiting; i++)
            narrow[i] = (uint8_t)builder->codes[i];
        codes = narrow;
    }
    tp_dtype_decode(builder->dtype, codes, builder->waiting,
                    builder->list->value + builder->length - builder->waiting);
    builder->waiting = 0;
}

static void add_code(struct builder *builder, size_t code, uint64_t count)
{
    if (count == 0)
        return;
    builder->codes[builder->waiting++] = (uint16_t)code;
    builder->list->count[builder->length++] = count;
    if (builder->waiting == BATCH)
        decode_waiting(builder);
}

static void build_begin(struct builder *builder, enum tp_dtype dtype,
                        struct tp_code_list *list)
{
    builder->dtype = dtype;
    builder->size = tp_dtype_info(dtype)->size;
    assert(builder->size <= 2);
    builder->list = list;
    builder->length = builder->waiting = 0;
    list_reset(list);
}

static void build_end(struct builder *builder)
{
    decode_waiting(builder);
    list_finish(builder->list, builder->length);
}

void tp_codes_list(enum tp_dtype dtype, const uint64_t *totals,
                   struct tp_code_list *list)
{
    struct builder builder;
    build_begin(&builder, dtype, list);
    enum tp_code_order order = tp_code_order_of(dtype);
    int bits = 8 * (int)builder.size;
    for (size_t key = 0; key < (size_t)1 << bits; key++) {
        size_t code = tp_code_of_key(order, bits, key);
        add_code(&builder, code, totals[code]);
    }
    build_end(&builder);
}

static void add_entry(struct builder *builder, uint32_t entry)
{
    add_code(builder, entry >> 16, (uint64_t)(entry & 0xffff) + 1);
}

/* Key order: codes with a sign first, floating ones from the highest on. */
void tp_codes_list_entries(enum tp_dtype dtype, const uint32_t *entries,
                           size_t n, struct tp_code_list *list)
{
    struct builder builder;
    build_begin(&builder, dtype, list);
    const enum tp_code_order order = tp_code_order_of(dtype);
    const size_t sign = (size_t)1 << (8 * builder.size - 1);
    size_t above = 0; /* entries without a sign */
    while (above < n &&
           (order == TP_ORDER_UNSIGNED || entries[above] >> 16 < sign))
        above++;
    for (size_t i = above; i < n; i++)
        add_entry(&builder,
                  entries[order == TP_ORDER_FLOAT ? n - 1 - (i - above) : i]);
    for (size_t i = 0; i < above; i++)
        add_entry(&builder, entries[i]);
    build_end(&builder);
}

/* Takes the lines [first, first + MARKS) in key order: for negative floating
 * codes, `flip`, that is from the highest code to the lowest. */
static void take_lines(struct builder *builder, struct tp_code_tables *tables,
                       size_t first, bool flip)
{
    for (size_t l = 0; l < MARKS; l++) {
        size_t line = first + (flip ? MARKS - 1 - l : l);
        if (!tables->all_used && !tables->used[line])
            continue;
        uint64_t count[TP_CODE_LINE];
        take_line(tables, line, count);
        for (size_t i = 0; i < TP_CODE_LINE; i++) {
            size_t at = flip ? TP_CODE_LINE - 1 - i : i;
            add_code(builder, line * TP_CODE_LINE + at, count[at]);
        }
    }
}

void tp_codes_list_flush(enum tp_dtype dtype, struct tp_code_tables *tables,
                         struct tp_code_list *list)
{
    const size_t together = (size_t)MARKS * TP_CODE_LINE;
    struct builder builder;
    build_begin(&builder, dtype, list);
    enum tp_code_order order = tp_code_order_of(dtype);
    int bits = 8 * (int)builder.size;
    for (size_t key = 0; key < (size_t)1 << bits; key += together) {
        size_t code = tp_code_of_key(order, bits, key);
        size_t first = code / together * MARKS;
        if (any_used(tables, first))
            take_lines(&builder, tables, first, code % together != 0);
    }
    reset_tables(tables);
    build_end(&builder);
}

void tp_code_list_repeat(struct tp_code_list *list, uint64_t repeat)
{
    for (size_t i = 0; i < list->length && repeat != 1; i++)
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
        if (v > 0 &&
            (extrema->abs_min_nonzero == 0 || v < extrema->abs_min_nonzero))
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
    counts->values = list->finite + list->nan + list->pos_inf + list->neg_inf;
    list_counts(list, &judge, summary);
    tp_judge_close(target, counts);
    list_extrema(list, &summary->extrema);
    list_moments(list, &summary->moments);
    list_quantiles(list, quantile);
}
