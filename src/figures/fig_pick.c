/* SPDX-License-Identifier: MIT */
/*
 * Which rows and which values of a label are shown, and numbers of them. A pick
 * holds one wanted code for each label and is tested row by row: no index is
 * kept. Where a label has too many values, of texts those with most finite
 * elements stay, of numbers evenly spaced ones with both ends; the first so
 * many would hide how a number develops. Numbers of a group come from merged
 * counts, moments and extrema, without the histogram and so without quantiles:
 * a map has up to 2 000 groups, and a histogram takes 32 KiB. A pick costs
 * O(rows), a choice O(rows + values log values).
 */
#include "figures/fig_dump.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define METRIC(id, title, label, scale, field)                               \
    const struct tp_metric tp_metric_##id = {                                \
        title, label, scale, offsetof(struct tp_numbers, field), NULL}

METRIC(mean, "mean", "mean [tensor units, +-log2]", TP_SCALE_SIGNED_LOG2, mean);
METRIC(std, "std", "std [tensor units, log2]", TP_SCALE_LOG2, std);
METRIC(min, "min", "min [tensor units, +-log2]", TP_SCALE_SIGNED_LOG2, min);
METRIC(max, "max", "max [tensor units, +-log2]", TP_SCALE_SIGNED_LOG2, max);
METRIC(amax, "amax", "amax [tensor units, log2]", TP_SCALE_LOG2,
       abs_max);
METRIC(skewness, "skewness", "skewness [1]", TP_SCALE_LINEAR, skewness);
METRIC(overflow, "overflow", "overflow [share of elements, log10]",
       TP_SCALE_LOG10, total_overflow_ratio);
METRIC(upper, "upper overflow", "upper overflow [share of elements, log10]",
       TP_SCALE_LOG10, upper_overflow_ratio);
METRIC(lower, "lower overflow", "lower overflow [share of elements, log10]",
       TP_SCALE_LOG10, lower_overflow_ratio);
METRIC(underflow, "underflow", "underflow [share of elements, log10]",
       TP_SCALE_LOG10, underflow_ratio);
METRIC(subnormal, "subnormal", "subnormal [share of elements, log10]",
       TP_SCALE_LOG10, subnormal_ratio);

double tp_metric_of(const struct tp_metric *metric,
                    const struct tp_numbers *numbers)
{
    double value;
    memcpy(&value, (const char *)numbers + metric->offset, sizeof value);
    return value;
}

double tp_metric_of_row(const struct tp_metric *metric,
                        const struct tp_facts *facts, size_t row)
{
    if (metric->values)
        return metric->values[row];
    return tp_metric_of(metric, &facts->run->rows[row].numbers);
}

bool tp_metric_any(const struct tp_facts *facts, const struct tp_metric *metric)
{
    for (size_t r = 0; r < facts->run->row_count; r++) {
        if (tp_metric_of_row(metric, facts, r) > 0)
            return true;
    }
    return false;
}

/* --- picks ------------------------------------------------------------ */

struct tp_pick tp_pick_all(void)
{
    struct tp_pick pick;
    for (int k = 0; k < TP_KEY_COUNT; k++)
        pick.want[k] = TP_PICK_ANY;
    return pick;
}

struct tp_pick tp_pick_with(struct tp_pick pick, enum tp_key key, int32_t code)
{
    pick.want[key] = code;
    return pick;
}

struct tp_pick tp_pick_named(const struct tp_facts *facts, struct tp_pick pick,
                             enum tp_key key, const char *name)
{
    return tp_pick_with(pick, key, tp_facts_code(facts, key, name));
}

bool tp_picked(const struct tp_facts *facts, const struct tp_pick *pick,
               size_t row)
{
    if (facts->run->rows[row].packed->moments.n == 0)
        return false;
    for (int k = 0; k < TP_KEY_COUNT; k++) {
        int32_t want = pick->want[k], code = facts->code[k][row];
        if (want != TP_PICK_ANY &&
            (code < 0 || (want != TP_PICK_PRESENT && code != want)))
            return false;
    }
    return true;
}

struct tp_counts tp_picked_counts(const struct tp_facts *facts,
                                  const struct tp_pick *pick)
{
    struct tp_counts counts = {0};
    for (size_t r = 0; r < facts->run->row_count; r++) {
        if (tp_picked(facts, pick, r))
            tp_counts_merge(&counts, &facts->run->rows[r].packed->counts);
    }
    return counts;
}

/* A value of a label and how much there is of it. */
struct weight {
    int32_t code;
    uint64_t elements;
};

static int heavier_first(const void *left, const void *right)
{
    const struct weight *a = left, *b = right;
    if (a->elements != b->elements)
        return a->elements < b->elements ? 1 : -1;
    return tp_order_int64(a->code, b->code);
}

static int compare_codes(const void *left, const void *right)
{
    return tp_order_int64(*(const int32_t *)left, *(const int32_t *)right);
}

/* Weighs the values of a label; returns how many have any weight. */
static size_t weigh(const struct tp_facts *facts, const struct tp_pick *pick,
                    enum tp_key key, struct weight *weights)
{
    size_t kept = 0;
    for (size_t r = 0; r < facts->run->row_count; r++) {
        int32_t code = facts->code[key][r];
        if (code >= 0 && tp_picked(facts, pick, r))
            weights[code].elements += facts->run->rows[r].packed->moments.n;
    }
    for (size_t i = 0; i < facts->keys[key].count; i++) {
        if (weights[i].elements > 0)
            weights[kept++] = (struct weight){(int32_t)i, weights[i].elements};
    }
    return kept;
}

void tp_choose(struct tp_fig *fig, const struct tp_pick *pick, enum tp_key key,
               size_t limit, struct tp_choice *choice)
{
    const struct tp_facts *facts = fig->facts;
    *choice = (struct tp_choice){0};
    struct weight *weights =
        calloc(facts->keys[key].count + 1, sizeof *weights);
    fig->failed |= !weights;
    if (!weights)
        return;
    size_t n = weigh(facts, pick, key, weights);
    size_t shown = n < limit ? n : limit;
    shown = shown < TP_CHOICE_MAX ? shown : TP_CHOICE_MAX;
    bool texts = facts->keys[key].numbers == NULL;
    if (texts)
        qsort(weights, n, sizeof *weights, heavier_first);
    for (size_t i = 0; i < shown; i++) {
        size_t spaced = shown > 1 ? i * (n - 1) / (shown - 1) : 0;
        choice->codes[i] = weights[texts ? i : spaced].code;
    }
    qsort(choice->codes, shown, sizeof *choice->codes, compare_codes);
    choice->count = shown;
    choice->total = n;
    free(weights);
}

/* --- pooled numbers ---------------------------------------------------- */

void tp_pooled_add(struct tp_pooled *pooled, const struct tp_packed *packed)
{
    tp_extrema_merge(&pooled->extrema, pooled->moments.n, &packed->extrema,
                     packed->moments.n);
    tp_counts_merge(&pooled->counts, &packed->counts);
    tp_moments_merge(&pooled->moments, &packed->moments);
}

void tp_pooled_numbers(const struct tp_pooled *pooled,
                       struct tp_numbers *numbers)
{
    tp_scalars_of(&pooled->counts, &pooled->moments, &pooled->extrema, numbers);
}

/* --- sorted numbers --------------------------------------------------- */

double tp_sorted_quantile(const double *sorted, size_t n, double level)
{
    if (n == 0)
        return NAN;
    double at = level * (double)(n - 1);
    size_t below = (size_t)at;
    if (below + 1 >= n)
        return sorted[n - 1];
    double part = at - (double)below;
    return part > 0 ? sorted[below] * (1 - part) + sorted[below + 1] * part
                    : sorted[below];
}
