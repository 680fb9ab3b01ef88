/* SPDX-License-Identifier: MIT */
#ifndef TP_ANALYZE_SERIES_H
#define TP_ANALYZE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "data/label.h"
#include "stats/baseline.h"

/*
 * Series: what became of a number over the iterations of a run.
 *
 * A series of a *tensor* has the labels of its rows but iteration and sample;
 * rows of one iteration (samples, duplicates) are merged into one point. A
 * series of a *layer* and of the *model* holds the gradient's norm, over all
 * backward pre `input` of one rank. Rows without an iteration are in none.
 */

struct tp_run;
struct tp_row;

enum tp_series_kind {
    TP_SERIES_TENSOR,
    TP_SERIES_LAYER, /* labels: quant type, rank, layer, backward pre input */
    TP_SERIES_MODEL, /* the same without the layer                          */
    TP_SERIES_KINDS
};

struct tp_series;
struct tp_series_set;

/* A number that has series: one row of the table in series.c. */
struct tp_series_metric {
    const char *name; /* "l2_norm"                                        */
    const char *unit;
    enum tp_series_kind kind;
    enum tp_baseline_scale scale;
    bool only_more;   /* less than the baseline is no fault               */
    /* Of one point, from its rows; NULL: filled in by its maker. */
    double (*value)(const struct tp_row *const *rows, size_t count);
    /* The smallest spread that means anything at a point; see baseline.h. */
    double (*floor)(const struct tp_series_set *set,
                    const struct tp_series *series, size_t metric,
                    size_t point);
};

enum { TP_SERIES_METRICS = 13 };

/* The rows, by kind: those of one kind are next to each other. */
extern const struct tp_series_metric tp_series_metrics[TP_SERIES_METRICS];

/* One series. */
struct tp_series {
    enum tp_series_kind kind;
    struct tp_label label; /* iteration and sample absent; counter of its
                              first row                                   */
    const char *path;      /* inside the file                             */
    int64_t ordinal;
    const struct tp_row *row; /* the first one; NULL: made without rows   */
    int precision;   /* significand bits of the stored dtype, hidden one too */
    uint64_t numel;  /* elements of its smallest point                    */
    size_t first;    /* its points are [first, first + count) of the set  */
    size_t count;
    size_t metric, metric_count; /* its metrics of the table              */
    size_t value;    /* where its values begin, see tp_series_values       */
};

/* All series of a run: tensors by place, ordinal and rank, then layers, then
 * the model. All-zero bytes are an empty set. */
struct tp_series_set {
    struct tp_series *series;
    size_t count;
    int64_t *at;           /* [points]: iterations, ascending in a series  */
    size_t point_count;
    double *values;
    const struct tp_row **rows; /* those of tensors, by series and point   */
    size_t *row;  /* [points of tensors + 1]: first of a point in `rows`   */
    size_t tensor_points;
};

/* Makes the series of a run; the rows are borrowed. Release with
 * tp_series_clear, also after a failure (TP_E_MEMORY). */
enum tp_status tp_series_make(const struct tp_run *run,
                              struct tp_series_set *set,
                              struct tp_error *err);
void tp_series_clear(struct tp_series_set *set);

/* The series' iterations, [series->count]. */
const int64_t *tp_series_at(const struct tp_series_set *set,
                            const struct tp_series *series);

/* The series' values of a metric of its own, [series->count]: NaN where there
 * is none. Writable for who makes them. */
double *tp_series_values(const struct tp_series_set *set,
                         const struct tp_series *series, size_t metric);

/* The metric's number in the table; it must be there. */
size_t tp_series_metric_by_name(const char *name);

/* The rows of a tensor's point: sets *count. */
const struct tp_row *const *
tp_series_rows(const struct tp_series_set *set, const struct tp_series *series,
               size_t point, size_t *count);

#endif
