/* SPDX-License-Identifier: MIT */
#include "series/series_tables.h"

#include <math.h>

#include "base/search.h"

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
    double center, spread, deviation, worst;
    int64_t first_bad, onset_from, onset_to, weak;
    uint64_t alarms, points, warmup;
};

#define COLUMN(name, unit, type, structure, member)               \
    {                                                             \
        name, unit, TP_COLUMN_##type, offsetof(structure, member), NULL \
    }

#define PLACE(structure)                                                     \
    COLUMN("path", "", TEXT, structure, place.path),                         \
        COLUMN("layer_type", "", TEXT, structure, place.label.layer_type),   \
        COLUMN("layer_idx", "1", INTEGER, structure, place.label.layer_idx), \
        COLUMN("operation", "", TEXT, structure, place.label.operation),     \
        COLUMN("phase", "", TEXT, structure, place.label.phase),             \
        COLUMN("component", "", TEXT, structure, place.label.component),     \
        COLUMN("quant_type", "", TEXT, structure, place.label.quant_type),   \
        COLUMN("tensor_name", "", TEXT, structure, place.label.tensor_name), \
        COLUMN("ordinal", "1", INTEGER, structure, place.ordinal),           \
        COLUMN("rank", "1", INTEGER, structure, place.label.rank),           \
        COLUMN("group_idx", "1", INTEGER, structure, place.label.group_idx)

static const struct tp_column series_columns[] = {
    PLACE(struct value_row),
    COLUMN("iteration", "1", INTEGER, struct value_row, place.label.iteration),
    COLUMN("metric", "", TEXT, struct value_row, place.metric),
    COLUMN("value", "metric", REAL, struct value_row, value),
};

#define BASELINE(name, unit, type, member) \
    COLUMN(name, unit, type, struct baseline_row, member)

static const struct tp_column baseline_columns[] = {
    PLACE(struct baseline_row),
    BASELINE("metric", "", TEXT, place.metric),
    BASELINE("method", "", TEXT, method),
    BASELINE("points", "1", COUNT, points),
    BASELINE("warmup", "1", COUNT, warmup),
    BASELINE("center", "metric", REAL, center),
    BASELINE("spread", "metric", REAL, spread),
    BASELINE("first_bad", "iteration", INTEGER, first_bad),
    BASELINE("onset_from", "iteration", INTEGER, onset_from),
    BASELINE("onset_to", "iteration", INTEGER, onset_to),
    BASELINE("kind", "", TEXT, kind),
    BASELINE("weak", "1", INTEGER, weak),
    BASELINE("alarms", "1", COUNT, alarms),
    BASELINE("deviation", "spread", REAL, deviation),
    BASELINE("worst", "spread", REAL, worst),
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
        .method = monitor->options.online ? "online" : "retro",
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
        .warmup = baseline->warmup};
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
