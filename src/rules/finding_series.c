/* SPDX-License-Identifier: MIT */
/*
 * Which series has the number of a finding. Rows know no series, so each row is
 * given the number of its own once; a finding that names no tensor is of a
 * layer, of the model or of what tensors share, and found by its labels.
 *
 * Cost: one pass over the rows of all series, and for each finding one over the
 * rows of the run (tp_finding_row) or over the series.
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
static size_t metric_of(const char *name,
                        double (**value)(double of))
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

/* The series of each row of the run, NULL: none. NULL: no memory. */
static const struct tp_run_series **map_rows(const struct tp_run *run,
                                             const struct tp_series_set *set)
{
    const struct tp_run_series **map = calloc(run->row_count + 1, sizeof *map);
    for (size_t s = 0; map && s < set->count; s++) {
        for (size_t p = 0; p < set->series[s].count; p++) {
            size_t count;
            const struct tp_row *const *rows =
                tp_series_rows(set, &set->series[s], p, &count);
            for (size_t i = 0; i < count; i++)
                map[rows[i] - run->rows] = &set->series[s];
        }
    }
    return map;
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
    const struct tp_run_series **map; /* [rows]                            */
    struct tp_finding_series *made;
    struct tp_error *err;
};

static const struct tp_run_series *find(const struct adding *adding,
                                        const struct tp_finding *finding,
                                        size_t metric)
{
    const struct tp_series_set *set = adding->set;
    const struct tp_row *row = tp_finding_row(adding->run, finding);
    if (row)
        return adding->map[row - adding->run->rows];
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
    struct tp_finding_point point = {index, finding->metric, -1, NAN, ""};
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
    const struct adding adding = {
        run, &monitor->series, map_rows(run, &monitor->series), made, err};
    enum tp_status status = adding.map ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < findings->count && status == TP_OK; i++)
        status = add_finding(&adding, i, &findings->rows[i]);
    free(adding.map);
    return status;
}

void tp_finding_series_clear(struct tp_finding_series *made)
{
    free(made->rows);
    memset(made, 0, sizeof *made);
}
