/* SPDX-License-Identifier: MIT */
#include "series/series_tables.h"

#include <math.h>

#include "base/search.h"
#include "data/label_columns.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* What both tables begin with. */
struct place {
    const char *path;
    struct tp_label label;
    int64_t ordinal;
    const char *metric;
};

/* A row of /series. */
struct value_row {
    struct place place;
    double value;
};

/* A row of /baselines. */
struct baseline_row {
    struct place place;
    const char *method, *kind;
    double center, spread, deviation, worst, min, max;
    int64_t first_bad, onset_from, onset_to, weak;
    uint64_t alarms, points, warmup;
};

#define PLACE(structure)                                     \
    TP_COLUMN_AS(structure, "path", place.path, ""),         \
        TP_LABEL_COLUMNS(structure, place.label),            \
        TP_COLUMN_AS(structure, "ordinal", place.ordinal, "1"), \
        TP_COLUMN_AS(structure, "rank", place.label.rank, "1"), \
        TP_COLUMN_AS(structure, "group_idx", place.label.group_idx, "1")

static const struct tp_column series_columns[] = {
    PLACE(struct value_row),
    TP_COLUMN_AS(struct value_row, "iteration", place.label.iteration, "1"),
    TP_COLUMN_AS(struct value_row, "metric", place.metric, ""),
    TP_COLUMN_AS(struct value_row, "value", value, "metric"),
    TP_KEY_COLUMNS(struct value_row, place.label),
};

#define BASELINE(member, unit) TP_COLUMN(struct baseline_row, member, unit)
#define BASELINE_AS(name, member, unit) \
    TP_COLUMN_AS(struct baseline_row, name, member, unit)

static const struct tp_column baseline_columns[] = {
    PLACE(struct baseline_row),
    BASELINE_AS("metric", place.metric, ""),
    BASELINE(method, ""),
    BASELINE(points, "1"),
    BASELINE(warmup, "1"),
    BASELINE(center, "metric"),
    BASELINE(spread, "metric"),
    BASELINE(first_bad, "iteration"),
    BASELINE(onset_from, "iteration"),
    BASELINE(onset_to, "iteration"),
    BASELINE(kind, ""),
    BASELINE(weak, "1"),
    BASELINE(alarms, "1"),
    BASELINE(deviation, "spread"),
    BASELINE(worst, "spread"),
    BASELINE(min, "metric"),
    BASELINE(max, "metric"),
    TP_KEY_COLUMNS(struct baseline_row, place.label),
};

/* The last entry of an ascending list that is not above `value`: the list
 * begins with 0. */
static size_t find(const size_t *list, size_t count, size_t value)
{
    size_t above;
    TP_PARTITION_POINT(above, count, list[above] <= value);
    return above - 1;
}

static struct place place_of(const struct tp_run_series *series, size_t metric)
{
    return (struct place){series->path, series->label, series->ordinal,
                          tp_series_metrics[metric].name};
}

static void make_values(const void *from, size_t first, size_t count,
                        void *made)
{
    const struct tp_monitor *monitor = from;
    const struct tp_series_set *set = &monitor->series;
    struct value_row *rows = made;
    for (size_t done = 0; done < count;) {
        size_t baseline =
            find(monitor->value_row, monitor->baseline_count, first + done);
        size_t index = find(monitor->first, set->count, baseline);
        const struct tp_run_series *series = &set->series[index];
        size_t metric = series->metric + baseline - monitor->first[index];
        size_t point = first + done - monitor->value_row[baseline];
        const double *values = tp_series_values(set, series, metric);
        struct place place = place_of(series, metric);
        for (; point < series->count && done < count; point++, done++) {
            rows[done] = (struct value_row){place, values[point]};
            rows[done].place.label.iteration = tp_series_at(set, series)[point];
        }
    }
}

static void make_baseline(const struct tp_monitor *monitor, size_t index,
                          struct baseline_row *row)
{
    const struct tp_series_set *set = &monitor->series;
    size_t at = find(monitor->first, set->count, index);
    const struct tp_run_series *series = &set->series[at];
    const struct tp_baseline *baseline = &monitor->baselines[index];
    bool changed = baseline->kind != TP_CHANGE_NONE;
    *row = (struct baseline_row){
        .place = place_of(series, series->metric + index - monitor->first[at]),
        .method = tp_baseline_method_words[tp_monitor_method(monitor, series)],
        .kind = tp_change_name(baseline->kind),
        .center = baseline->center,
        .spread = baseline->spread,
        .deviation = changed ? baseline->deviation : NAN,
        .worst = baseline->worst,
        .first_bad = changed ? tp_series_at(set, series)[baseline->first] : -1,
        .onset_from = changed ? baseline->onset_from : -1,
        .onset_to = changed ? baseline->onset_to : -1,
        .weak = baseline->weak,
        .alarms = baseline->alarms,
        .points = series->count,
        .warmup = baseline->warmup,
        .min = baseline->min,
        .max = baseline->max};
}

static void make_baselines(const void *from, size_t first, size_t count,
                           void *made)
{
    const struct tp_monitor *monitor = from;
    struct baseline_row *rows = made;
    for (size_t i = 0; i < count; i++)
        make_baseline(monitor, monitor->with_values[first + i], &rows[i]);
}

void tp_series_tables_make(const struct tp_monitor *monitor,
                           struct tp_table *series, struct tp_table *baselines)
{
    size_t count = monitor->baseline_count;
    *series = (struct tp_table){
        .name = "series",
        .columns = series_columns,
        .column_count = COUNT_OF(series_columns),
        .rows = monitor,
        .row_count = monitor->value_row ? monitor->value_row[count] : 0,
        .row_size = sizeof(struct value_row),
        .make = make_values,
    };
    *baselines = (struct tp_table){
        .name = "baselines",
        .columns = baseline_columns,
        .column_count = COUNT_OF(baseline_columns),
        .rows = monitor,
        .row_count = monitor->with_value_count,
        .row_size = sizeof(struct baseline_row),
        .make = make_baselines,
    };
}
