/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_SERIES_H
#define TP_SERIES_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "data/label.h"
#include "series/baseline.h"
#include "stats/quantize.h"
#include "stats/summary.h"

/*
 * Series: what became of a number over the iterations of a run.
 *
 * A series of a *tensor* has the labels of its rows but iteration and sample;
 * rows of one iteration (samples, duplicates) are merged into one point. A
 * series of a *layer* and of the *model* holds the gradient's norm, over all
 * backward pre `input` of one rank. Rows without an iteration are in none.
 * Baselines add those that tensors *share*.
 */

struct tp_run;
struct tp_row;

enum tp_series_kind {
    TP_SERIES_TENSOR,
    TP_SERIES_SHARED, /* what the tensors of a kind share, see kinds.h; labels:
                         theirs without the place                           */
    TP_SERIES_LAYER, /* labels: quant type, rank, layer, backward pre input */
    TP_SERIES_MODEL, /* the same without the layer                          */
    TP_SERIES_KINDS
};

struct tp_run_series;
struct tp_series_set;

/* What a point of a tensor's series is: its rows taken together. */
struct tp_series_point {
    struct tp_counts counts;
    struct tp_numbers numbers;
    struct tp_quant_error error; /* of the cast to the target format; all
                                    zero when it was not simulated         */
};

/* A number that has series: one row of the table in series.c. */
struct tp_series_metric {
    const char *name; /* "l2_norm"                                        */
    const char *unit;
    enum tp_series_kind kind;
    enum tp_baseline_scale scale;
    bool only_more; /* less than the baseline is no fault               */
    /* Of a tensor's point; NULL: filled in otherwise. */
    double (*value)(const struct tp_series_point *point);
    /* The smallest spread that means anything at a point; see baseline.h. */
    double (*floor)(const struct tp_series_set *set,
                    const struct tp_run_series *series, size_t metric,
                    size_t point);
};

enum { TP_SERIES_METRICS = 13 };

/* The rows, by kind: those of one kind are next to each other. */
extern const struct tp_series_metric tp_series_metrics[TP_SERIES_METRICS];

/* One series. */
struct tp_run_series {
    enum tp_series_kind kind;
    struct tp_label label; /* iteration and sample absent; counter of its
                              first row                                   */
    const char *path;      /* inside the file                             */
    int64_t ordinal;
    const struct tp_row *row; /* the first one; NULL: made without rows   */
    int precision;            /* its significand bits, the hidden one too    */
    uint64_t numel; /* elements of its smallest point                    */
    size_t first;   /* its points are [first, first + count) of the set  */
    size_t count;
    size_t metric, metric_count; /* its metrics of the table              */
    size_t value; /* where its values begin, see tp_series_values       */
};

/* All series of a run: tensors by place, ordinal and rank, then layers, then
 * the model, then what tensors share. All-zero bytes are an empty set; arrays
 * that grow have their capacities beside their counts (base/memory.h). */
struct tp_series_set {
    struct tp_run_series *series;
    size_t count, capacity;
    int64_t *at; /* [points]: iterations, ascending in a series  */
    size_t point_count, point_capacity;
    double *values;
    size_t value_count, value_capacity;
    const struct tp_row **rows; /* all of the run, see tp_series_sort      */
    size_t *row, *row_end; /* [points]: of tensors, [row, row_end) of `rows` */
};

/* Makes the series of a run; the rows are borrowed. Release with
 * tp_series_clear, also after a failure (TP_E_MEMORY). */
enum tp_status tp_series_make(const struct tp_run *run,
                              struct tp_series_set *set, struct tp_error *err);
void tp_series_clear(struct tp_series_set *set);

/* The series' iterations, [series->count]. */
const int64_t *tp_series_at(const struct tp_series_set *set,
                            const struct tp_run_series *series);

/* The series' values of a metric of its own, [series->count]: NaN where there
 * is none. Writable for who makes them. */
double *tp_series_values(const struct tp_series_set *set,
                         const struct tp_run_series *series, size_t metric);

/* The same as baselines want it; `floor` has room for [series->count] and is
 * filled. `freedom` is left unknown. */
struct tp_baseline_series
tp_series_of_metric(const struct tp_series_set *set,
                    const struct tp_run_series *series, size_t metric,
                    double *floor);

/* Whether point i of one series and k of another (or the same) are of equal
 * tensors: l2_norm, mean, std and abs_max are equal, and not 0. Of more than
 * one element that is so by a chance that does not matter. */
bool tp_series_are_equal(const struct tp_series_set *set,
                         const struct tp_run_series *a, size_t i,
                         const struct tp_run_series *b, size_t k);

/* Whether two series are of the same tensor on two ranks. */
bool tp_series_are_peers(const struct tp_run_series *a,
                         const struct tp_run_series *b);

/* Whether a label is of what gradient norms are made of: backward pre
 * `input`. */
bool tp_series_is_gradient(const struct tp_label *label);

/* Points of the longest series, at least 1. */
size_t tp_series_longest(const struct tp_series_set *set);

/* The metric's number in the table; it must be there. */
size_t tp_series_metric_by_name(const char *name);

/* The rows of a tensor's point: sets *count. None for other kinds. */
const struct tp_row *const *tp_series_rows(const struct tp_series_set *set,
                                           const struct tp_run_series *series,
                                           size_t point, size_t *count);

/*
 * All rows of a run by place, rank, ordinal, iteration and sample: freed by
 * the caller; NULL when out of memory. Rows of one place and counter are the
 * same tensor saved twice, and have one ordinal here. `ordinals` receives
 * those, [row of the result]; it may be NULL.
 */
const struct tp_row **tp_series_sort(const struct tp_run *run,
                                     int64_t *ordinals);

/* Whether two rows differ only in rank, ordinal, iteration, sample and
 * group. */
bool tp_same_place(const struct tp_row *a, const struct tp_row *b);

#endif
