/* SPDX-License-Identifier: MIT */
/*
 * From rows to series. Rows are sorted by place, rank, ordinal and iteration:
 * a series is then a span of neighbours, and a point the rows of one iteration
 * (samples, copies), which are merged. The values of a series lie together, by
 * metric, then by point. Norms of gradients are summed over the tensors of a
 * layer and of a model, in the order of the rows, by hypot, since the square
 * of a finite norm may have no finite number.
 *
 * A hash table of labels would find series without sorting, but tables need
 * the order. Cost: O(n log n) comparisons of n rows, a second sort of the
 * gradients.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "data/dtype.h"
#include "series/series.h"
#include "tensors/run.h"

/* A set in the making. Its points index `rows` of their kind until values
 * are filled in. */
struct maker {
    const struct tp_run *run;
    struct tp_series_set *set;
    size_t row, row_end; /* capacities of the set's arrays             */
    const struct tp_row **gradients[TP_SERIES_KINDS]; /* sorted; owned     */
    size_t gradient_count;
    struct tp_error *err;
};

/* --- series and their points ------------------------------------------ */

static void describe(const struct tp_row *row, struct tp_run_series *series)
{
    series->row = row;
    series->path = row->path;
    /* Integers change by one at least; 53 bits leave that to the data. */
    series->precision =
        tp_dtype_info(row->dtype)->significand
            ? tp_dtype_info(row->dtype)->significand
            : 53;
    series->label = row->label;
    series->label.iteration = series->label.sample_idx = -1;
    series->label.counter = series->label.batch_size = -1;
    series->label.timestamp = "";
    if (series->kind == TP_SERIES_TENSOR)
        return;
    series->path = series->label.layer_type = series->label.component = "";
    series->label.module = "";
    series->label.expert = -1;
    series->label.part = 0;
    series->label.group_idx = -1;
    if (series->kind == TP_SERIES_MODEL)
        series->label.layer_idx = -1;
}

static enum tp_status begin_series(struct maker *m, enum tp_series_kind kind,
                                   const struct tp_row *row, int64_t ordinal)
{
    struct tp_series_set *set = m->set;
    if (tp_grow(&set->series, &set->capacity, set->count + 1,
                sizeof *set->series, m->err) != TP_OK)
        return TP_E_MEMORY;
    struct tp_run_series *series = &set->series[set->count++];
    *series = (struct tp_run_series){.kind = kind, .ordinal = ordinal};
    series->first = set->point_count;
    for (size_t i = 0; i < TP_SERIES_METRICS; i++) {
        if (tp_series_metrics[i].kind != kind)
            continue;
        if (series->metric_count++ == 0)
            series->metric = i;
    }
    describe(row, series);
    return TP_OK;
}

/* Adds row number `at` to the newest series: rows come by iteration. */
static enum tp_status add_row(struct maker *m, const struct tp_row *row,
                              size_t at)
{
    struct tp_series_set *set = m->set;
    struct tp_run_series *series = &set->series[set->count - 1];
    size_t n = set->point_count;
    if (row->label.iteration < 0)
        return TP_OK;
    if (series->count && set->at[n - 1] == row->label.iteration) {
        set->row_end[n - 1] = at + 1;
        return TP_OK;
    }
    enum tp_status status =
        tp_grow(&set->at, &set->point_capacity, n + 1, sizeof *set->at, m->err);
    if (status == TP_OK)
        status = tp_grow(&set->row, &m->row, n + 1, sizeof *set->row, m->err);
    if (status == TP_OK)
        status = tp_grow(&set->row_end, &m->row_end, n + 1,
                         sizeof *set->row_end, m->err);
    if (status != TP_OK)
        return status;
    set->at[n] = row->label.iteration;
    set->row[n] = at;
    set->row_end[n] = at + 1;
    series->count++;
    set->point_count++;
    return TP_OK;
}

/* The newest series is there; without a point it is none. */
static void end_series(struct maker *m)
{
    struct tp_run_series *series = &m->set->series[m->set->count - 1];
    if (series->count == 0) {
        m->set->count--;
        return;
    }
    series->value = m->set->value_count;
    m->set->value_count += series->metric_count * series->count;
}

static bool same_series(const struct tp_row *a, const struct tp_row *b)
{
    return a->label.rank == b->label.rank &&
           a->label.group_idx == b->label.group_idx && tp_same_place(a, b);
}

static enum tp_status add_tensors(struct maker *m)
{
    size_t count = m->run->row_count;
    int64_t *ordinals = calloc(count + 1, sizeof *ordinals);
    const struct tp_row **rows =
        ordinals ? tp_series_sort(m->run, ordinals) : NULL;
    enum tp_status status = rows ? TP_OK : tp_fail_memory(m->err);
    m->set->rows = rows;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        if (i == 0 || ordinals[i] != ordinals[i - 1] ||
            !same_series(rows[i], rows[i - 1])) {
            if (i)
                end_series(m);
            status = begin_series(m, TP_SERIES_TENSOR, rows[i], ordinals[i]);
        }
        if (status == TP_OK)
            status = add_row(m, rows[i], i);
    }
    if (status == TP_OK && count)
        end_series(m);
    free(ordinals);
    return status;
}

/* --- gradients ----------------------------------------------- */

bool tp_series_is_gradient(const struct tp_label *label)
{
    return label->roles & TP_ROLE_GRAD_OUTPUT;
}

static bool is_gradient(const struct tp_row *row)
{
    return row->label.iteration >= 0 && tp_series_is_gradient(&row->label);
}

static int compare_model(const struct tp_row *a, const struct tp_row *b)
{
    int result = strcmp(a->label.quant_type, b->label.quant_type);
    return result ? result : tp_order_int64(a->label.rank, b->label.rank);
}

static int compare_by_model(const void *left, const void *right)
{
    const struct tp_row *a = *(const struct tp_row *const *)left;
    const struct tp_row *b = *(const struct tp_row *const *)right;
    int result = compare_model(a, b);
    if (!result)
        result = tp_order_int64(a->label.iteration, b->label.iteration);
    return result ? result : tp_order_place(a, b);
}

static int compare_by_layer(const void *left, const void *right)
{
    const struct tp_row *a = *(const struct tp_row *const *)left;
    const struct tp_row *b = *(const struct tp_row *const *)right;
    int result = compare_model(a, b);
    if (!result)
        result = tp_order_int64(a->label.layer_idx, b->label.layer_idx);
    return result ? result : compare_by_model(left, right);
}

static enum tp_status add_gradients(struct maker *m, enum tp_series_kind kind)
{
    enum tp_status status = TP_OK;
    const struct tp_row **rows = m->gradients[kind], *last = NULL;
    bool by_layer = kind == TP_SERIES_LAYER;
    for (size_t i = 0; i < m->gradient_count && status == TP_OK; i++) {
        if (by_layer && rows[i]->label.layer_idx < 0)
            continue;
        if (!last || compare_model(last, rows[i]) ||
            (by_layer && last->label.layer_idx != rows[i]->label.layer_idx)) {
            if (last)
                end_series(m);
            status = begin_series(m, kind, rows[i], 0);
        }
        last = rows[i];
        if (status == TP_OK)
            status = add_row(m, last, i);
    }
    if (last && status == TP_OK)
        end_series(m);
    return status;
}

static enum tp_status sort_gradients(struct maker *m)
{
    const struct tp_run *run = m->run;
    for (size_t i = 0; i < run->row_count; i++)
        m->gradient_count += is_gradient(&run->rows[i]);
    for (int kind = TP_SERIES_LAYER; kind <= TP_SERIES_MODEL; kind++) {
        size_t count = 0;
        const struct tp_row **rows =
            calloc(m->gradient_count + 1, sizeof *rows);
        if (!rows)
            return tp_fail_memory(m->err);
        for (size_t i = 0; i < run->row_count; i++) {
            if (is_gradient(&run->rows[i]))
                rows[count++] = &run->rows[i];
        }
        qsort(rows, count, sizeof *rows,
              kind == TP_SERIES_LAYER ? compare_by_layer : compare_by_model);
        m->gradients[kind] = rows;
    }
    return TP_OK;
}

/* --- values ----------------------------------------------- */

static void measure(const struct tp_row *const *rows, size_t count, size_t cast,
                    struct tp_series_point *point)
{
    struct tp_quant_error error;
    memset(&point->error, 0, sizeof point->error);
    for (size_t i = 0; i < count; i++) {
        if (tp_quant_unpack(rows[i]->quant, cast, &error))
            tp_quant_merge(&point->error, &error, 1);
    }
    point->counts = rows[0]->counts;
    point->numbers = rows[0]->numbers;
    if (count == 1 || !rows[0]->packed)
        return;
    struct tp_moments moments = rows[0]->packed->moments;
    struct tp_extrema extrema = rows[0]->packed->extrema;
    for (size_t i = 1; i < count; i++) {
        const struct tp_packed *next = rows[i]->packed;
        tp_extrema_merge(&extrema, moments.n, &next->extrema, next->moments.n);
        tp_moments_merge(&moments, &next->moments);
        tp_counts_merge(&point->counts, &next->counts);
    }
    tp_scalars_of(&point->counts, &moments, &extrema, &point->numbers);
    /* of one tensor, so that a missing sample is no change */
    point->numbers.l2_norm /= sqrt((double)count);
}

/* Of finite elements a norm may be beyond float64: then it is not known, which
 * is no fault of the tensor. */
static double value_of(const struct tp_series_metric *metric,
                       const struct tp_series_point *point)
{
    double value = metric->value ? metric->value(point) : NAN;
    bool finite = tp_counts_nonfinite(&point->counts) == 0;
    return finite && isinf(value) ? NAN : value;
}

static void fill_tensor(struct maker *m, struct tp_run_series *series)
{
    const struct tp_quant_plan *plan = &m->run->plan;
    size_t cast = tp_quant_plan_find(plan, series->row->target);
    struct tp_series_point point;
    series->numel = UINT64_MAX;
    for (size_t i = 0; i < series->count; i++) {
        size_t count;
        const struct tp_row *const *rows =
            tp_series_rows(m->set, series, i, &count);
        measure(rows, count, cast < plan->count ? cast : SIZE_MAX, &point);
        if (point.counts.values < series->numel)
            series->numel = point.counts.values;
        for (size_t k = 0; k < series->metric_count; k++)
            tp_series_values(m->set, series, series->metric + k)[i] =
                value_of(&tp_series_metrics[series->metric + k], &point);
    }
    if (series->numel == 0)
        series->numel = 1;
}

/* The norm over a point's rows; infinite with a NaN or Inf among them, NaN when
 * it is beyond float64. */
static double norm(const struct tp_row *const *rows, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double l2 = rows[i]->numbers.l2_norm;
        if (tp_counts_nonfinite(&rows[i]->counts))
            return INFINITY;
        if (!isnan(l2)) /* of an empty tensor */
            sum = hypot(sum, l2);
    }
    return isinf(sum) ? NAN : sum;
}

/* How many tensors a point has usually. */
static enum tp_status usual_size(const struct maker *m,
                                 const struct tp_run_series *series,
                                 size_t *usual)
{
    size_t *sizes = calloc(series->count, sizeof *sizes);
    if (!sizes)
        return tp_fail_memory(m->err);
    for (size_t i = 0; i < series->count; i++)
        sizes[i] =
            m->set->row_end[series->first + i] - m->set->row[series->first + i];
    tp_sort_size(sizes, series->count);
    *usual = sizes[series->count / 2];
    free(sizes);
    return TP_OK;
}

/* Norms of points with all of their tensors. Where one was lost there is none,
 * since it would not be of the same thing. An iteration that was saved several
 * times, as after a restart, counts as the mean of its copies: like samples,
 * each is a valid one. */
static enum tp_status fill_norms(struct maker *m, struct tp_run_series *series)
{
    const struct tp_series_set *set = m->set;
    double *values = tp_series_values(set, series, series->metric);
    size_t usual = 0;
    if (usual_size(m, series, &usual) != TP_OK)
        return TP_E_MEMORY;
    series->numel = series->row->counts.values ? series->row->counts.values : 1;
    for (size_t i = 0; i < series->count; i++) {
        size_t at = series->first + i;
        size_t rows = set->row_end[at] - set->row[at];
        const struct tp_row *const *first =
            m->gradients[series->kind] + set->row[at];
        double copies = (double)(rows / usual);
        values[i] = rows % usual ? NAN : norm(first, rows) / sqrt(copies);
    }
    return TP_OK;
}

/* A layer's norm over that of the next layer, where the gradient came from. */
static void fill_ratios(const struct tp_series_set *set,
                        const struct tp_run_series *series,
                        const struct tp_run_series *next)
{
    const int64_t *at = tp_series_at(set, series);
    double *ratios = tp_series_values(set, series, series->metric + 1);
    const double *norms = tp_series_values(set, series, series->metric);
    for (size_t i = 0, j = 0; i < series->count; i++) {
        ratios[i] = NAN;
        if (!next)
            continue;
        const int64_t *next_at = tp_series_at(set, next);
        while (j < next->count && next_at[j] < at[i])
            j++;
        if (j == next->count || next_at[j] != at[i])
            continue;
        double below = tp_series_values(set, next, next->metric)[j];
        if (isfinite(below) && isfinite(norms[i]) && below > 0)
            ratios[i] = norms[i] / below;
    }
}

static bool same_model(const struct tp_run_series *a,
                       const struct tp_run_series *b)
{
    return a->kind == b->kind && a->label.rank == b->label.rank &&
           !strcmp(a->label.quant_type, b->label.quant_type);
}

static enum tp_status fill(struct maker *m)
{
    struct tp_series_set *set = m->set;
    enum tp_status status =
        tp_grow(&set->values, &set->value_capacity, set->value_count + 1,
                sizeof *set->values, m->err);
    for (size_t i = 0; i < set->count && status == TP_OK; i++) {
        if (set->series[i].kind == TP_SERIES_TENSOR)
            fill_tensor(m, &set->series[i]);
        else
            status = fill_norms(m, &set->series[i]);
    }
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_run_series *series = &set->series[i],
                                   *next = series + 1;
        if (series->kind == TP_SERIES_LAYER)
            fill_ratios(set, series,
                        i + 1 < set->count && same_model(series, next) ? next
                                                                       : NULL);
    }
    return status;
}

enum tp_status tp_series_make(const struct tp_run *run,
                              struct tp_series_set *set, struct tp_error *err)
{
    struct maker m = {.run = run, .set = set, .err = err};
    enum tp_status status = add_tensors(&m);
    if (status == TP_OK)
        status = sort_gradients(&m);
    if (status == TP_OK)
        status = add_gradients(&m, TP_SERIES_LAYER);
    if (status == TP_OK)
        status = add_gradients(&m, TP_SERIES_MODEL);
    if (status == TP_OK)
        status = fill(&m);
    for (int kind = 0; kind < TP_SERIES_KINDS; kind++)
        free(m.gradients[kind]);
    return status;
}

void tp_series_clear(struct tp_series_set *set)
{
    free(set->series);
    free(set->at);
    free(set->values);
    free(set->rows);
    free(set->row);
    free(set->row_end);
    memset(set, 0, sizeof *set);
}
