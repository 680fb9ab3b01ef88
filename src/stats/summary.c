/* SPDX-License-Identifier: MIT */
/*
 * What is kept of many tensors at once, and the numbers derived from it. Counts
 * and bins add up; central moments merge by the pairwise formulas (see
 * summary_math.h). Quantiles of a group come from its histogram: one walk over
 * the bins in the order of their values, linear inside a bin, so not much
 * further off than the bin is wide (an eighth of a binade's lower edge).
 *
 * Alternative: sketches such as t-digest or KLL, which resolve every
 * distribution alike; but what they give depends on the order of merging, or
 * on random numbers, and they do not tell how many values lie in a binade.
 *
 * Cost: a merge adds 4096 bins, or, of a packed summary, those that are not
 * empty: pairs of distance and count, in base 128, a few bytes each.
 */
#include "stats/summary.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/base128.h"
#include "stats/bins.h"
#include "stats/summary_math.h"

const double tp_quantile_levels[TP_QUANTILES] = {0.01, 0.05, 0.25, 0.5,
                                                 0.75, 0.95, 0.99};

void tp_counts_merge(struct tp_counts *into, const struct tp_counts *from)
{
    tp_merge_counts(into, from);
}

uint64_t tp_counts_infinite(const struct tp_counts *counts)
{
    return counts->pos_inf + counts->neg_inf;
}

uint64_t tp_counts_nonfinite(const struct tp_counts *counts)
{
    return counts->nan + tp_counts_infinite(counts);
}

int64_t tp_moments_scale(double abs_max)
{
    return tp_scale_of_moments(abs_max);
}

void tp_moments_merge(struct tp_moments *into, const struct tp_moments *from)
{
    tp_merge_moments(into, from);
}

void tp_extrema_merge(struct tp_extrema *into, uint64_t into_n,
                      const struct tp_extrema *from, uint64_t from_n)
{
    tp_merge_extrema(into, into_n, from, from_n);
}

void tp_summary_merge(struct tp_summary *into, const struct tp_summary *from)
{
    tp_extrema_merge(&into->extrema, into->moments.n, &from->extrema,
                     from->moments.n);
    tp_moments_merge(&into->moments, &from->moments);
    tp_counts_merge(&into->counts, &from->counts);
    for (unsigned i = 0; i < TP_SUMMARY_BINS; i++)
        into->bins[i] += from->bins[i];
}

unsigned tp_summary_bin(double value)
{
    return tp_bin_of(value);
}

/* The magnitude at which bin `index` (sign left out) begins. */
static double bin_start(unsigned index)
{
    /* 8 bins a binade; the binade of exponent field 0 holds subnormals and
     * is as wide as the one of field 1 */
    unsigned field = index >> 3, eighth = index & 7;
    if (field == 0)
        return ldexp(eighth, -129);
    return ldexp(8 + eighth, (int)field - 127 - 3);
}

void tp_summary_bin_edges(unsigned bin, double *inner, double *outer, int *sign)
{
    unsigned index = bin & (TP_SUMMARY_BINS / 2 - 1);
    *sign = bin < TP_SUMMARY_BINS / 2 ? 1 : -1;
    *inner = bin_start(index);
    *outer = bin_start(index + 1);
}

/* The sign is the top bit of a bin's number, and below it magnitudes ascend. */
enum tp_status tp_summary_bins(const struct tp_summary *summary,
                               enum tp_status (*take)(void *context,
                                                      double lower,
                                                      double upper,
                                                      uint64_t count),
                               void *context)
{
    enum { HALF = TP_SUMMARY_BINS / 2 };
    double inner, outer;
    int sign;
    enum tp_status status = TP_OK;
    for (unsigned b = TP_SUMMARY_BINS; b-- > HALF && status == TP_OK;) {
        if (summary->bins[b] == 0)
            continue;
        tp_summary_bin_edges(b, &inner, &outer, &sign);
        status = take(context, -outer, -inner, summary->bins[b]);
    }
    if (status == TP_OK && summary->counts.zero)
        status = take(context, 0, 0, summary->counts.zero);
    for (unsigned b = 0; b < HALF && status == TP_OK; b++) {
        if (summary->bins[b] == 0)
            continue;
        tp_summary_bin_edges(b, &inner, &outer, &sign);
        status = take(context, inner, outer, summary->bins[b]);
    }
    return status;
}

static void order_numbers(const struct tp_extrema *extrema, uint64_t n,
                          struct tp_numbers *numbers)
{
    if (n == 0) {
        numbers->min = numbers->max = numbers->abs_max = NAN;
        numbers->abs_min_nonzero = NAN;
        return;
    }
    numbers->min = extrema->min;
    numbers->max = extrema->max;
    numbers->abs_max = fmax(fabs(extrema->min), fabs(extrema->max));
    numbers->abs_min_nonzero =
        extrema->abs_min_nonzero > 0 ? extrema->abs_min_nonzero : NAN;
}

/* Third and fourth standardised moments, which do not depend on the scale. */
static void shape_numbers(const struct tp_moments *moments,
                          struct tp_numbers *numbers)
{
    double n = (double)moments->n;
    double variance = moments->m2 / n;
    double square = variance * variance, fourth = moments->m4 / n;
    numbers->skewness = numbers->kurtosis = NAN;
    /* Not for constants, nor where a spread in the last places of float64
     * values far below 1 is all there is. */
    if (moments->n < 2 || !(square >= DBL_MIN))
        return;
    numbers->skewness = moments->m3 / n / (variance * sqrt(variance));
    numbers->kurtosis = fourth / square - 3;
}

static void moment_numbers(const struct tp_moments *moments,
                           struct tp_numbers *numbers)
{
    if (moments->n == 0) {
        numbers->mean = numbers->std = NAN;
        numbers->l1_norm = numbers->l2_norm = NAN;
        numbers->skewness = numbers->kurtosis = NAN;
        return;
    }
    int scale = (int)moments->scale;
    numbers->mean = ldexp(moments->mean, scale);
    numbers->std = NAN;
    if (moments->n > 1)
        numbers->std =
            ldexp(sqrt(moments->m2 / ((double)moments->n - 1)), scale);
    numbers->l1_norm = ldexp(moments->sum_abs, scale);
    numbers->l2_norm = ldexp(sqrt(moments->sum_squares), scale);
    shape_numbers(moments, numbers);
}

/* judged is values for a float tensor; in a group with integers, which
 * nothing judges, only the rest counts. */
static double ratio(double part, const struct tp_counts *counts)
{
    return counts->judged ? part / (double)counts->judged : NAN;
}

static void ratio_numbers(const struct tp_counts *counts,
                          struct tp_numbers *numbers)
{
    double upper = (double)counts->upper_overflow;
    double lower = (double)counts->lower_overflow;
    numbers->upper_overflow_ratio = ratio(upper, counts);
    numbers->lower_overflow_ratio = ratio(lower, counts);
    numbers->total_overflow_ratio = ratio(upper + lower, counts);
    numbers->underflow_ratio = ratio((double)counts->underflow, counts);
    numbers->subnormal_ratio = ratio((double)counts->subnormal, counts);
}

/* Walks the bins in the order of their values, with the zeros in between. */
struct bin_cursor {
    const struct tp_summary *summary;
    unsigned step;    /* 0 .. TP_SUMMARY_BINS, zeros at the middle      */
    uint64_t below;   /* values in earlier steps                        */
    uint64_t count;   /* values in this step                            */
    double low, high; /* its range                                      */
};

/* The bin of a step; not for the zeros in the middle. */
static unsigned bin_of_step(unsigned step)
{
    const unsigned half = TP_SUMMARY_BINS / 2;
    return step < half ? TP_SUMMARY_BINS - 1 - step : step - half - 1;
}

static uint64_t count_of_step(const struct tp_summary *summary, unsigned step)
{
    return step == TP_SUMMARY_BINS / 2 ? summary->counts.zero
                                       : summary->bins[bin_of_step(step)];
}

static void range_of_step(struct bin_cursor *cursor)
{
    double inner, outer;
    int sign;
    cursor->low = cursor->high = 0;
    if (cursor->step == TP_SUMMARY_BINS / 2)
        return;
    tp_summary_bin_edges(bin_of_step(cursor->step), &inner, &outer, &sign);
    cursor->low = sign > 0 ? inner : -outer;
    cursor->high = sign > 0 ? outer : -inner;
}

/* Value at rank `position` (real, from 0); positions must not decrease. */
static double cursor_seek(struct bin_cursor *cursor, double position)
{
    while (cursor->step < TP_SUMMARY_BINS &&
           position >= (double)(cursor->below + cursor->count)) {
        cursor->below += cursor->count;
        cursor->count = count_of_step(cursor->summary, ++cursor->step);
    }
    range_of_step(cursor);
    if (cursor->count == 0)
        return cursor->low;
    double inside =
        (position - (double)cursor->below + 0.5) / (double)cursor->count;
    return cursor->low + (cursor->high - cursor->low) * fmin(inside, 1);
}

static void quantile_numbers(const struct tp_summary *summary,
                             struct tp_numbers *numbers)
{
    struct bin_cursor cursor = {.summary = summary,
                                .count = count_of_step(summary, 0)};
    for (int i = 0; i < TP_QUANTILES; i++) {
        if (summary->moments.n == 0) {
            numbers->quantile[i] = NAN;
            continue;
        }
        double last = (double)(summary->moments.n - 1);
        double value = cursor_seek(&cursor, tp_quantile_levels[i] * last);
        value = fmax(value, summary->extrema.min);
        numbers->quantile[i] = fmin(value, summary->extrema.max);
    }
}

void tp_scalars_of(const struct tp_counts *counts,
                   const struct tp_moments *moments,
                   const struct tp_extrema *extrema, struct tp_numbers *numbers)
{
    order_numbers(extrema, moments->n, numbers);
    moment_numbers(moments, numbers);
    ratio_numbers(counts, numbers);
    for (int i = 0; i < TP_QUANTILES; i++)
        numbers->quantile[i] = NAN;
}

void tp_summary_scalars(const struct tp_summary *summary,
                        struct tp_numbers *numbers)
{
    tp_scalars_of(&summary->counts, &summary->moments, &summary->extrema,
                  numbers);
}

void tp_summary_numbers(const struct tp_summary *summary,
                        struct tp_numbers *numbers)
{
    tp_summary_scalars(summary, numbers);
    quantile_numbers(summary, numbers);
}

/* Little-endian base 128, seven bits a byte, the high bit says "more". */
static uint8_t *put_number(uint8_t *at, uint64_t number)
{
    while (number >= 0x80) {
        *at++ = (uint8_t)(number | 0x80);
        number >>= 7;
    }
    *at++ = (uint8_t)number;
    return at;
}

static inline const uint8_t *get_number(const uint8_t *at, uint64_t *number)
{
    if (*at < 0x80) { /* most are */
        *number = *at;
        return at + 1;
    }
    *number = 0;
    for (int shift = 0;; shift += 7) {
        *number |= (uint64_t)(*at & 0x7f) << (shift & 63);
        if (!(*at++ & 0x80))
            return at;
    }
}

/* Worst case of one bin: its distance (two bytes for 4096) and 64 bits. */
enum { PACKED_BIN_MAX = 2 + 10 };

/* Whether bins [first, first + 8) are all empty; most are. */
static bool eight_empty(const uint64_t *bins, unsigned first)
{
    uint64_t any = 0;
    for (unsigned i = first; i < first + 8; i++)
        any |= bins[i];
    return any == 0;
}

/* Pairs of distance from the bin before and count. */
static size_t pack_bins(const uint64_t *bins, uint8_t *bytes)
{
    uint8_t *at = bytes;
    unsigned next = 0;
    for (unsigned i = 0; i < TP_SUMMARY_BINS; i++) {
        if (i % 8 == 0 && eight_empty(bins, i)) {
            i += 7;
            continue;
        }
        if (bins[i] == 0)
            continue;
        at = put_number(at, i - next);
        at = put_number(at, bins[i]);
        next = i + 1;
    }
    return (size_t)(at - bytes);
}

const struct tp_packed *tp_summary_pack(const struct tp_summary *summary,
                                        struct tp_arena *arena)
{
    uint8_t bytes[TP_SUMMARY_BINS * PACKED_BIN_MAX];
    size_t length = pack_bins(summary->bins, bytes);
    struct tp_packed *packed =
        tp_arena_alloc(arena, offsetof(struct tp_packed, bins) + length);
    if (!packed)
        return NULL;
    packed->counts = summary->counts;
    packed->moments = summary->moments;
    packed->extrema = summary->extrema;
    packed->bin_bytes = (uint32_t)length;
    memcpy(packed->bins, bytes, length);
    return packed;
}

/* A packed bin; false: there is no other. */
static inline bool next_bin(const uint8_t **at, const uint8_t *end,
                            unsigned *next, uint64_t *count)
{
    uint64_t skip;
    if (*at >= end)
        return false;
    *at = get_number(*at, &skip);
    *at = get_number(*at, count);
    if (skip >= TP_SUMMARY_BINS - *next)
        return false; /* what was read from a file may be anything */
    *next += (unsigned)skip + 1;
    return true;
}

void tp_packed_binades(const struct tp_packed *packed,
                       uint64_t binades[TP_SUMMARY_BINADES])
{
    const uint8_t *at = packed->bins, *end = at + packed->bin_bytes;
    uint64_t count;
    for (unsigned next = 0; next_bin(&at, end, &next, &count);)
        binades[(next - 1) / 8] += count;
}

void tp_summary_merge_packed(struct tp_summary *into,
                             const struct tp_packed *packed)
{
    tp_extrema_merge(&into->extrema, into->moments.n, &packed->extrema,
                     packed->moments.n);
    tp_moments_merge(&into->moments, &packed->moments);
    tp_counts_merge(&into->counts, &packed->counts);
    const uint8_t *at = packed->bins, *end = at + packed->bin_bytes;
    uint64_t count;
    for (unsigned next = 0; next_bin(&at, end, &next, &count);)
        into->bins[next - 1] += count;
}

size_t tp_packed_bytes(const void *memory, size_t room)
{
    const struct tp_packed *packed = memory;
    const size_t head = offsetof(struct tp_packed, bins);
    if (room < head || packed->bin_bytes > room - head ||
        packed->moments.scale % 400 || packed->moments.scale > 1200 ||
        packed->moments.scale < -1200 ||
        (packed->bin_bytes && packed->bins[packed->bin_bytes - 1] & 0x80) ||
        tp_numbers_ended(packed->bins, packed->bin_bytes) % 2)
        return 0;
    return head + packed->bin_bytes;
}
