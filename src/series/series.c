/* SPDX-License-Identifier: MIT */
/*
 * The table of metrics, and the order of rows that series are cut from. Rows
 * are sorted twice: by place and all labels, which numbers the places and,
 * among rows with equal labels, the ordinals (rows with the same counter are
 * copies and share one); then by place, rank, ordinal, group, iteration and
 * sample, so that each series is a stretch of neighbours.
 *
 * The second sort compares the number of a place instead of its seven labels
 * and the path. A hash table from place to series would need no first sort, but
 * its order would have to be made afterwards, as tables are written by place.
 * O(n log n) comparisons, and 32 bytes a row. Reading a set is direct: a series
 * has its points and values next to each other.
 */
#include "series/series.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "tensors/run.h"

/* --- the metrics ----------------------------------------------- */

#define NUMBER(metric, member)                                \
    static double metric(const struct tp_series_point *point) \
    {                                                         \
        return point->numbers.member;                         \
    }

NUMBER(l2_norm, l2_norm)
NUMBER(abs_max, abs_max)
NUMBER(mean, mean)
NUMBER(deviation, std)
NUMBER(overflow, total_overflow_ratio)
NUMBER(underflow, underflow_ratio)

static double nonfinite(const struct tp_series_point *point)
{
    return (double)tp_counts_nonfinite(&point->counts);
}

static double zeros(const struct tp_series_point *point)
{
    const struct tp_counts *counts = &point->counts;
    return counts->values ? (double)counts->zero / (double)counts->values : NAN;
}

/* Noise over signal: what the target format makes of the tensor. */
static double distortion(const struct tp_series_point *point)
{
    const struct tp_quant_error *error = &point->error;
    return error->sum_xx > 0 ? error->sum_dd / error->sum_xx : NAN;
}

static double value_at(const struct tp_series_set *set,
                       const struct tp_run_series *series, size_t metric,
                       size_t point)
{
    return tp_series_values(set, series, metric)[point];
}

/* One unit in the last place of the stored dtype. */
static double ulp(const struct tp_series_set *set,
                  const struct tp_run_series *series, size_t metric,
                  size_t point)
{
    double value = value_at(set, series, metric, point);
    if (!isfinite(value) || value == 0)
        return 0;
    return ldexp(1, ilogb(value) - series->precision + 1);
}

/* What the mean of so many independent values varies by. */
static double of_mean(const struct tp_series_set *set,
                      const struct tp_run_series *series, size_t metric,
                      size_t point)
{
    (void)metric;
    double std = value_at(set, series, tp_series_metric_by_name("std"), point);
    return isfinite(std) ? std / sqrt((double)series->numel) : 0;
}

/* What a share of so many independent values varies by: at least one. */
static double of_share(const struct tp_series_set *set,
                       const struct tp_run_series *series, size_t metric,
                       size_t point)
{
    double p = value_at(set, series, metric, point), n = (double)series->numel;
    return isfinite(p) ? fmax(1 / n, sqrt(p * (1 - p) / n)) : 1 / n;
}

/* A single NaN is no accident: a hundredth of one is the unit. */
static double of_count(const struct tp_series_set *set,
                       const struct tp_run_series *series, size_t metric,
                       size_t point)
{
    (void)set, (void)series, (void)metric, (void)point;
    return 0.01;
}

/* 1 dB: a rule for block scales alone makes as much of a difference. */
static double of_noise(const struct tp_series_set *set,
                       const struct tp_run_series *series, size_t metric,
                       size_t point)
{
    double value = value_at(set, series, metric, point);
    return isfinite(value) ? 0.26 * value : 0;
}

/* Bits by which two histograms of n values of one distribution differ: about
 * a quarter for each occupied bin over n, of which there are some twenty. */
static double of_divergence(const struct tp_series_set *set,
                            const struct tp_run_series *series, size_t metric,
                            size_t point)
{
    (void)set, (void)metric, (void)point;
    return 5 / (double)series->numel;
}

#define LOG TP_BASELINE_LOG
#define LINEAR TP_BASELINE_LINEAR
#define RATIO TP_BASELINE_RATIO
#define TENSOR TP_SERIES_TENSOR

const struct tp_series_metric tp_series_metrics[TP_SERIES_METRICS] = {
    {"l2_norm", "value", TENSOR, LOG, false, l2_norm, ulp},
    {"abs_max", "value", TENSOR, LOG, false, abs_max, ulp},
    {"mean", "value", TENSOR, LINEAR, false, mean, of_mean},
    {"std", "value", TENSOR, LOG, false, deviation, ulp},
    {"overflow_ratio", "1", TENSOR, RATIO, true, overflow, of_share},
    {"underflow_ratio", "1", TENSOR, RATIO, true, underflow, of_share},
    {"nan+inf", "1", TENSOR, LINEAR, true, nonfinite, of_count},
    {"zero_ratio", "1", TENSOR, RATIO, false, zeros, of_share},
    {"distortion", "1", TENSOR, LOG, true, distortion, of_noise},
    {"drift", "bit", TENSOR, RATIO, true, NULL, of_divergence},
    {"layer_grad_norm", "value", TP_SERIES_LAYER, LOG, false, NULL, ulp},
    {"layer_grad_ratio", "1", TP_SERIES_LAYER, LOG, false, NULL, ulp},
    {"grad_norm", "value", TP_SERIES_MODEL, LOG, false, NULL, ulp},
};

size_t tp_series_metric_by_name(const char *name)
{
    size_t i = 0;
    while (strcmp(tp_series_metrics[i].name, name)) {
        i++;
        assert(i < TP_SERIES_METRICS);
    }
    return i;
}

/* --- reading a set ----------------------------------------------- */

const int64_t *tp_series_at(const struct tp_series_set *set,
                            const struct tp_run_series *series)
{
    return set->at + series->first;
}

double *tp_series_values(const struct tp_series_set *set,
                         const struct tp_run_series *series, size_t metric)
{
    assert(metric - series->metric < series->metric_count);
    return set->values + series->value +
           (metric - series->metric) * series->count;
}

/* The share of zeros at each point; NULL: the series has none. */
static const double *zeros_of(const struct tp_series_set *set,
                              const struct tp_run_series *series)
{
    size_t metric = tp_series_metric_by_name("zero_ratio");
    bool has = series->kind == TP_SERIES_TENSOR &&
               metric - series->metric < series->metric_count;
    return has ? tp_series_values(set, series, metric) : NULL;
}

struct tp_baseline_series
tp_series_of_metric(const struct tp_series_set *set,
                    const struct tp_run_series *series, size_t metric,
                    double *floor)
{
    const struct tp_series_metric *its = &tp_series_metrics[metric];
    for (size_t i = 0; i < series->count; i++)
        floor[i] = its->floor(set, series, metric, i);
    return (struct tp_baseline_series){
        .count = series->count,
        .at = tp_series_at(set, series),
        .value = tp_series_values(set, series, metric),
        .floor = floor,
        .zeros = zeros_of(set, series),
        .errors = its->floor == of_count,
        .scale = its->scale};
}

bool tp_series_are_equal(const struct tp_series_set *set,
                         const struct tp_run_series *a, size_t i,
                         const struct tp_run_series *b, size_t k)
{
    static const char *const names[] = {"l2_norm", "mean", "std", "abs_max"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        size_t metric = tp_series_metric_by_name(names[n]);
        double x = tp_series_values(set, a, metric)[i];
        double y = tp_series_values(set, b, metric)[k];
        if (x != y || x == 0)
            return false;
    }
    return true;
}

bool tp_series_are_peers(const struct tp_run_series *a,
                         const struct tp_run_series *b)
{
    const struct tp_label *x = &a->label, *y = &b->label;
    return a->kind == b->kind && a->ordinal == b->ordinal &&
           x->rank != y->rank && x->part == y->part &&
           x->layer_idx == y->layer_idx &&
           !strcmp(a->path, b->path) &&
           !strcmp(x->quant_type, y->quant_type) &&
           !strcmp(x->layer_type, y->layer_type) &&
           !strcmp(x->operation, y->operation) &&
           !strcmp(x->phase, y->phase) &&
           !strcmp(x->component, y->component) &&
           !strcmp(x->tensor_name, y->tensor_name);
}

size_t tp_series_longest(const struct tp_series_set *set)
{
    size_t most = 1;
    for (size_t i = 0; i < set->count; i++)
        most = set->series[i].count > most ? set->series[i].count : most;
    return most;
}

const struct tp_row *const *tp_series_rows(const struct tp_series_set *set,
                                           const struct tp_run_series *series,
                                           size_t point, size_t *count)
{
    *count = 0;
    if (series->kind != TP_SERIES_TENSOR || !set->row)
        return NULL;
    size_t at = series->first + point;
    *count = set->row_end[at] - set->row[at];
    return set->rows + set->row[at];
}

/* --- the order of rows ----------------------------------------------- */

/* A row to be sorted, with what was found out about it. */
struct sorted {
    const struct tp_row *row;
    size_t place; /* number of its place, once they are known            */
    int64_t ordinal;
};

static int compare_place(const struct tp_row *a, const struct tp_row *b)
{
    int result = tp_order_text(a->label.quant_type, b->label.quant_type);
    if (!result)
        result = tp_order_int64(a->label.layer_idx, b->label.layer_idx);
    if (!result)
        result = tp_order_text(a->label.layer_type, b->label.layer_type);
    if (!result)
        result = tp_order_text(a->label.operation, b->label.operation);
    if (!result)
        result = tp_order_text(a->label.phase, b->label.phase);
    if (!result)
        result = tp_order_text(a->label.component, b->label.component);
    if (!result)
        result = tp_order_text(a->label.tensor_name, b->label.tensor_name);
    return result ? result : tp_order_text(a->path, b->path);
}

bool tp_same_place(const struct tp_row *a, const struct tp_row *b)
{
    return compare_place(a, b) == 0;
}

/* Whether one is a copy of the other, or the next of its kind. */
static int compare_labels(const struct tp_row *a, const struct tp_row *b)
{
    int result = tp_order_int64(a->label.rank, b->label.rank);
    if (!result)
        result = tp_order_int64(a->label.group_idx, b->label.group_idx);
    if (!result)
        result = tp_order_int64(a->label.iteration, b->label.iteration);
    return result ? result
                  : tp_order_int64(a->label.sample_idx, b->label.sample_idx);
}

static int compare_to_number(const void *left, const void *right)
{
    const struct tp_row *a = ((const struct sorted *)left)->row;
    const struct tp_row *b = ((const struct sorted *)right)->row;
    int result = compare_place(a, b);
    if (!result)
        result = compare_labels(a, b);
    if (!result)
        result = tp_order_int64(a->ordinal, b->ordinal);
    return result ? result : tp_order_place(a, b);
}

static int compare_series(const void *left, const void *right)
{
    const struct sorted *l = left, *r = right;
    const struct tp_label *a = &l->row->label, *b = &r->row->label;
    if (l->place != r->place)
        return l->place < r->place ? -1 : 1;
    int result = tp_order_int64(a->rank, b->rank);
    if (!result)
        result = tp_order_int64(l->ordinal, r->ordinal);
    if (!result)
        result = tp_order_int64(a->group_idx, b->group_idx);
    if (!result)
        result = tp_order_int64(a->iteration, b->iteration);
    if (!result)
        result = tp_order_int64(a->sample_idx, b->sample_idx);
    return result ? result : tp_order_place(l->row, r->row);
}

/* Places and ordinals of rows that are sorted by place and labels. */
static void number(struct sorted *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct tp_row *row = rows[i].row, *before = rows[i - 1].row;
        bool same = compare_place(row, before) == 0;
        rows[i].place = rows[i - 1].place + !same;
        if (!same || compare_labels(row, before) != 0)
            continue;
        bool copy = row->label.counter >= 0 &&
                    row->label.counter == before->label.counter;
        rows[i].ordinal = rows[i - 1].ordinal + !copy;
    }
}

const struct tp_row **tp_series_sort(const struct tp_run *run,
                                     int64_t *ordinals)
{
    size_t count = run->row_count;
    struct sorted *sorted = calloc(count + 1, sizeof *sorted);
    const struct tp_row **rows = calloc(count + 1, sizeof *rows);
    if (!sorted || !rows) {
        free(sorted);
        free(rows);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i].row = &run->rows[i];
    qsort(sorted, count, sizeof *sorted, compare_to_number);
    number(sorted, count);
    qsort(sorted, count, sizeof *sorted, compare_series);
    for (size_t i = 0; i < count; i++) {
        rows[i] = sorted[i].row;
        if (ordinals)
            ordinals[i] = sorted[i].ordinal;
    }
    free(sorted);
    return rows;
}
