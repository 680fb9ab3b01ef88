/* SPDX-License-Identifier: MIT */
/*
 * Which series has the number of a finding. Rows know no series, so each row is
 * given its own once, and they are sorted by what findings name them by; a
 * finding that names no tensor is of a layer, of the model or of what tensors
 * share, and found by its labels.
 *
 * Cost: one sort of the rows, and a search in them for each finding; of those
 * that name no tensor, a look at all series.
 */
#include "rules/finding_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How a finding's metric is made from one that has series. */
struct source {
    const char *metric, *series;
    double (*value)(double of);
};

/* Noise over signal to signal over noise, in dB. */
static double ratio_of(double distortion)
{
    return -10 * log10(distortion);
}

static const struct source sources[] = {
    {"sqnr_db", "distortion", ratio_of},
    {"total_overflow_ratio", "overflow_ratio", NULL},
};

/* The number of the metric in the table; TP_SERIES_METRICS: it has no series.
 */
static size_t metric_of(const char *name, double (**value)(double of))
{
    *value = NULL;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (strcmp(sources[i].metric, name) == 0) {
            *value = sources[i].value;
            name = sources[i].series;
        }
    }
    size_t i = 0;
    while (i < TP_SERIES_METRICS && strcmp(tp_series_metrics[i].name, name))
        i++;
    return i;
}

static bool has_metric(const struct tp_run_series *series, size_t metric)
{
    return metric - series->metric < series->metric_count;
}

/* A row and the series that it is a point of, NULL: none. */
struct placed {
    const struct tp_row *row;
    const struct tp_run_series *series;
};

static int compare_placed(const void *left, const void *right)
{
    const struct tp_row *a = ((const struct placed *)left)->row;
    const struct tp_row *b = ((const struct placed *)right)->row;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* The rows of a run by their place, with their series. NULL: no memory. */
static struct placed *place_rows(const struct tp_run *run,
                                 const struct tp_series_set *set)
{
    struct placed *rows = calloc(run->row_count + 1, sizeof *rows);
    if (!rows)
        return NULL;
    for (size_t i = 0; i < run->row_count; i++)
        rows[i].row = &run->rows[i];
    for (size_t s = 0; s < set->count; s++) {
        for (size_t p = 0; p < set->series[s].count; p++) {
            size_t count;
            const struct tp_row *const *points =
                tp_series_rows(set, &set->series[s], p, &count);
            for (size_t i = 0; i < count; i++)
                rows[points[i] - run->rows].series = &set->series[s];
        }
    }
    qsort(rows, run->row_count, sizeof *rows, compare_placed);
    return rows;
}

/* Whether a series that is of no tensor is what a finding is about. */
static bool is_about(const struct tp_finding *finding,
                     const struct tp_run_series *series)
{
    const struct tp_label *label = &series->label;
    return series->kind != TP_SERIES_TENSOR &&
           (finding->rank == label->rank || finding->rank < 0) &&
           finding->layer_idx == label->layer_idx &&
           !strcmp(finding->quant_type, label->quant_type) &&
           !strcmp(finding->layer_type, label->layer_type) &&
           !strcmp(finding->operation, label->operation) &&
           !strcmp(finding->phase, label->phase) &&
           !strcmp(finding->component, label->component) &&
           !strcmp(finding->tensor_name, label->tensor_name);
}

/* What the points of all findings are made from. */
struct adding {
    const struct tp_run *run;
    const struct tp_series_set *set;
    const struct placed *rows; /* [rows of the run], by place              */
    struct tp_finding_series *made;
    struct tp_error *err;
};

static const struct tp_run_series *find(const struct adding *adding,
                                        const struct tp_finding *finding,
                                        size_t metric)
{
    const struct tp_series_set *set = adding->set;
    const struct tp_row named = {.source = finding->source,
                                 .place = finding->place};
    const struct placed key = {&named, NULL};
    const struct placed *placed =
        *finding->file ? bsearch(&key, adding->rows, adding->run->row_count,
                                 sizeof key, compare_placed)
                       : NULL;
    if (placed)
        return placed->series;
    for (size_t i = 0; i < set->count; i++) {
        if (has_metric(&set->series[i], metric) &&
            is_about(finding, &set->series[i]))
            return &set->series[i];
    }
    return NULL;
}

static enum tp_status add(const struct adding *adding,
                          const struct tp_finding_point *point)
{
    struct tp_finding_series *made = adding->made;
    enum tp_status status =
        tp_grow(&made->rows, &made->capacity, made->count + 1,
                sizeof *made->rows, adding->err);
    if (status == TP_OK)
        made->rows[made->count++] = *point;
    return status;
}

/* The number of a finding in a series that has it. */
struct number {
    const struct tp_run_series *series;
    size_t metric;
    double (*value)(double of);
};

/* Adds the points of a number, or notes why there are none. */
static enum tp_status add_points(const struct adding *adding,
                                 const struct number *number,
                                 struct tp_finding_point *point)
{
    const struct tp_run_series *series = number->series;
    const double *values =
        tp_series_values(adding->set, series, number->metric);
    const int64_t *at = tp_series_at(adding->set, series);
    struct tp_finding_point made = *point;
    enum tp_status status = TP_OK;
    if (adding->made->count + series->count > TP_FINDING_POINTS) {
        point->note = "those of worse findings take all room; /series has it";
        return TP_OK;
    }
    made.rank = series->label.rank;
    point->note = "no iteration has it";
    for (size_t i = 0; i < series->count && status == TP_OK; i++) {
        if (isnan(values[i]))
            continue;
        made.iteration = at[i];
        made.value = number->value ? number->value(values[i]) : values[i];
        point->note = "";
        status = add(adding, &made);
    }
    return status;
}

static enum tp_status add_finding(const struct adding *adding, size_t index,
                                  const struct tp_finding *finding)
{
    struct tp_finding_point point = {index, finding->metric, -1, -1, NAN, ""};
    struct number number = {.series = NULL};
    enum tp_status status = TP_OK;
    number.metric = metric_of(finding->metric, &number.value);
    if (number.metric < TP_SERIES_METRICS)
        number.series = find(adding, finding, number.metric);
    if (number.metric == TP_SERIES_METRICS)
        point.note = "it is no number that is followed over iterations";
    else if (!number.series)
        point.note = *finding->file ? "its file names no iteration"
                                    : "no series has its labels";
    else if (!has_metric(number.series, number.metric))
        point.note = "it is not followed of single tensors";
    else
        status = add_points(adding, &number, &point);
    return *point.note && status == TP_OK ? add(adding, &point) : status;
}

enum tp_status tp_finding_series_make(const struct tp_run *run,
                                      const struct tp_monitor *monitor,
                                      const struct tp_findings *findings,
                                      struct tp_finding_series *made,
                                      struct tp_error *err)
{
    struct placed *rows = place_rows(run, &monitor->series);
    const struct adding adding = {run, &monitor->series, rows, made, err};
    enum tp_status status = rows ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < findings->count && status == TP_OK; i++)
        status = add_finding(&adding, i, &findings->rows[i]);
    free(rows);
    return status;
}

void tp_finding_series_clear(struct tp_finding_series *made)
{
    free(made->rows);
    memset(made, 0, sizeof *made);
}
