/* SPDX-License-Identifier: MIT */
/*
 * Figures of what changed over the iterations: worst series with their
 * baselines, where changes began, norms of gradients, and the origin of the
 * worst incident before and after. Long series are thinned to every n-th point,
 * beside a baseline with all alarms kept; averaging neighbours would flatten
 * the very spikes that are looked for. Maps count the series of a cell that
 * left their baseline there, for the metrics with most changes. Shown are
 * origins of incidents first, then alarms, firm ones before weak, by deviation.
 * Linear in the points of what is shown; each map goes through all series and
 * points once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "figures/fig_builders.h"
#include "figures/fig_dump.h"
#include "figures/fig_grid.h"

static const struct tp_monitor *monitor_of(const struct tp_fig *fig)
{
    return fig->facts->input->monitor;
}

static void add_word(struct tp_text *text, const char *word)
{
    if (word[0])
        tp_text_add(text, "%s%s", text->length ? " " : "", word);
}

/* "mxfp8 rank 1 L2 linear forward pre input #2": the labels that are there. */
static const char *series_name(struct tp_fig *fig,
                               const struct tp_run_series *series)
{
    const struct tp_label *label = &series->label;
    struct tp_text text = {0};
    add_word(&text, label->quant_type);
    if (label->rank >= 0)
        tp_text_add(&text, " rank %lld", (long long)label->rank);
    if (label->layer_idx >= 0)
        tp_text_add(&text, " L%lld", (long long)label->layer_idx);
    add_word(&text, label->layer_type);
    add_word(&text, label->operation);
    add_word(&text, label->phase);
    if (strcmp(label->component, label->layer_type) != 0)
        add_word(&text, label->component);
    add_word(&text, label->tensor_name);
    if (series->kind == TP_SERIES_TENSOR && series->ordinal > 0)
        tp_text_add(&text, " #%lld", (long long)series->ordinal);
    const char *made = tp_text_get(&text);
    const char *name = tp_fig_text(fig, "%s", made + (*made == ' '));
    fig->failed |= text.failed;
    tp_text_clear(&text);
    return name;
}

/* --- baselines of the worst series ------------------------------------- */

enum { WORST = 6 };

/* A point of a series is one of the panel's rows; long series are thinned,
 * the points that matter stay. */
static size_t keep_every(size_t count)
{
    return count / TP_PANEL_ROWS_MAX + 1;
}

static enum tp_scale scale_of(enum tp_baseline_scale scale)
{
    return scale == TP_BASELINE_LOG ? TP_SCALE_LOG2 : TP_SCALE_LINEAR;
}

/* Columns of TP_PANEL_WATCH. */
enum { WATCH_COLUMNS = 6 };

static double *watch_rows(struct tp_fig *fig,
                          const struct tp_run_series *series, size_t metric,
                          const struct tp_baseline_trace *trace, size_t *rows)
{
    const struct tp_series_set *set = &monitor_of(fig)->series;
    const int64_t *at = tp_series_at(set, series);
    const double *value = tp_series_values(set, series, metric);
    size_t every = keep_every(series->count);
    double *table =
        tp_fig_alloc(fig, WATCH_COLUMNS * series->count + 1, sizeof *table);
    *rows = 0;
    for (size_t i = 0; table && i < series->count; i++) {
        if (i % every != 0 && *rows > 0 && !trace->alarm[i])
            continue;
        if (*rows == TP_PANEL_ROWS_MAX)
            break;
        double *row = table + WATCH_COLUMNS * (*rows)++;
        row[0] = (double)at[i];
        row[1] = value[i];
        row[2] = trace->expected[i];
        row[3] = trace->low[i];
        row[4] = trace->high[i];
        row[5] = trace->alarm[i];
    }
    return table;
}

/* Vertical lines at the end of the warm-up and at the onset. */
static size_t watch_marks(struct tp_fig *fig, size_t index, size_t metric,
                          struct tp_mark *marks)
{
    const struct tp_monitor *monitor = monitor_of(fig);
    const struct tp_run_series *series = &monitor->series.series[index];
    const struct tp_baseline *baseline =
        tp_monitor_baseline(monitor, index, metric);
    const struct tp_baseline *change =
        tp_monitor_change(monitor, index, metric);
    const int64_t *at = tp_series_at(&monitor->series, series);
    size_t n = 0;
    if (baseline->warmup > 0 && baseline->warmup < series->count)
        marks[n++] = (struct tp_mark){(double)at[baseline->warmup - 1],
                                      "end of warm-up"};
    if (change->kind != TP_CHANGE_NONE)
        marks[n++] = (struct tp_mark){
            (double)at[change->first],
            tp_fig_text(fig, "onset %lld", (long long)at[change->first])};
    return n;
}

static void watch_panel(struct tp_fig *fig, size_t index, size_t metric,
                        const char *what)
{
    const struct tp_monitor *monitor = monitor_of(fig);
    const struct tp_run_series *series = &monitor->series.series[index];
    const struct tp_series_metric *info = &tp_series_metrics[metric];
    size_t n = series->count, rows;
    const struct tp_baseline_trace trace = {
        .expected = tp_fig_alloc(fig, n + 1, sizeof(double)),
        .low = tp_fig_alloc(fig, n + 1, sizeof(double)),
        .high = tp_fig_alloc(fig, n + 1, sizeof(double)),
        .alarm = tp_fig_alloc(fig, n + 1, 1),
    };
    struct tp_panel_series *shown = tp_fig_alloc(fig, 1, sizeof *shown);
    struct tp_mark *marks = tp_fig_alloc(fig, 2, sizeof *marks);
    if (fig->failed)
        return;
    if (tp_monitor_trace(monitor, index, metric, &trace, NULL) != TP_OK) {
        fig->failed = true;
        return;
    }
    shown->name = "";
    shown->values = watch_rows(fig, series, metric, &trace, &rows);
    shown->rows = rows;
    const struct tp_panel panel = {
        .kind = TP_PANEL_WATCH,
        .title = tp_fig_text(fig, "%s%s", what, series_name(fig, series)),
        .x = {.label = "iteration", .scale = TP_SCALE_INTEGER},
        .y = {.label = tp_fig_text(fig, "%s [%s]", info->name, info->unit),
              .scale = scale_of(info->scale)},
        .series = shown,
        .series_count = 1,
        .marks = marks,
        .mark_count = watch_marks(fig, index, metric, marks),
    };
    tp_fig_add(fig, &panel);
}

/* Alarms by weight: origins of incidents first, then by deviation. */
static int compare_alarms(const void *a, const void *b)
{
    const struct tp_alarm *x = *(const struct tp_alarm *const *)a;
    const struct tp_alarm *y = *(const struct tp_alarm *const *)b;
    bool x_firm = !x->weak, y_firm = !y->weak;
    if (x_firm != y_firm)
        return x_firm ? -1 : 1;
    if (x->deviation != y->deviation)
        return x->deviation > y->deviation ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool is_origin(const struct tp_incidents *all, size_t alarm)
{
    size_t incident = all->alarms[alarm].incident;
    return incident != TP_NONE &&
           all->incidents[incident].origin == alarm;
}

void tp_fig_baselines(struct tp_fig *fig)
{
    const struct tp_monitor *monitor = monitor_of(fig);
    const struct tp_incidents *all = fig->facts->input->incidents;
    size_t shown = 0;
    const struct tp_alarm **sorted =
        tp_fig_alloc(fig, all->alarm_count + 1, sizeof *sorted);
    if (!sorted)
        return;
    for (size_t i = 0; i < all->incident_count && shown < WORST / 2; i++) {
        const struct tp_alarm *alarm =
            &all->alarms[all->incidents[i].origin];
        watch_panel(fig, alarm->series, alarm->metric, "origin: ");
        shown++;
    }
    size_t rest = 0;
    for (size_t i = 0; i < all->alarm_count; i++) {
        if (!is_origin(all, i))
            sorted[rest++] = &all->alarms[i];
    }
    if (rest > 0)
        qsort(sorted, rest, sizeof *sorted, compare_alarms);
    for (size_t i = 0; i < rest && shown < WORST; i++, shown++)
        watch_panel(fig, sorted[i]->series, sorted[i]->metric, "");
    /* A run without alarms shows what was watched. */
    for (size_t i = monitor->series.count;
         all->alarm_count == 0 && i > 0 && shown < WORST; i--) {
        const struct tp_run_series *series = &monitor->series.series[i - 1];
        if (series->kind == TP_SERIES_SHARED)
            continue;
        if (series->kind == TP_SERIES_TENSOR || series->count < 3)
            break;
        watch_panel(fig, i - 1, series->metric, "");
        shown++;
    }
}

/* --- where changes began ----------------------------------------------- */

enum { MAP_COLUMNS = 120, MAP_ROWS = 16, MAPS = 6 };

/* How many series of each metric changed. */
static void count_changes(const struct tp_monitor *monitor,
                          size_t changes[TP_SERIES_METRICS])
{
    memset(changes, 0, TP_SERIES_METRICS * sizeof *changes);
    for (size_t s = 0; s < monitor->series.count; s++) {
        const struct tp_run_series *series = &monitor->series.series[s];
        for (size_t m = 0; m < series->metric_count; m++) {
            const struct tp_baseline *change =
                tp_monitor_change(monitor, s, series->metric + m);
            if (series->kind == TP_SERIES_TENSOR && change &&
                change->kind != TP_CHANGE_NONE)
                changes[series->metric + m]++;
        }
    }
}

static int32_t number_code(const struct tp_key_values *values, int64_t number)
{
    size_t i;
    TP_PARTITION_POINT(i, values->count, values->numbers[i] < number);
    return i < values->count && values->numbers[i] == number ? (int32_t)i : -1;
}

/* The slots of one map. */
struct map {
    struct tp_slots x, y;
    double *cells; /* [y.count * x.count]: series that changed; NaN: none is
                      there                                               */
};

static double *map_cell(const struct tp_fig *fig, const struct map *map,
                        int64_t iteration, int64_t layer)
{
    const struct tp_key_values *keys = fig->facts->keys;
    int32_t i = number_code(&keys[TP_KEY_ITERATION], iteration);
    int32_t l = number_code(&keys[TP_KEY_LAYER], layer);
    if (i < 0 || l < 0 || map->x.of_code[i] < 0 || map->y.of_code[l] < 0)
        return NULL;
    return &map->cells[(size_t)map->y.of_code[l] * map->x.count +
                       (size_t)map->x.of_code[i]];
}

/* Returns whether a series that changed has its place in the map. */
static bool fill_map(const struct tp_fig *fig, size_t metric, struct map *map)
{
    bool any = false;
    const struct tp_monitor *monitor = monitor_of(fig);
    for (size_t i = 0; i < map->x.count * map->y.count; i++)
        map->cells[i] = NAN;
    for (size_t s = 0; s < monitor->series.count; s++) {
        const struct tp_run_series *series = &monitor->series.series[s];
        const int64_t *at = tp_series_at(&monitor->series, series);
        const struct tp_baseline *change =
            series->kind == TP_SERIES_TENSOR
                ? tp_monitor_change(monitor, s, metric)
                : NULL;
        for (size_t i = 0; change && i < series->count; i++) {
            double *cell =
                map_cell(fig, map, at[i], series->label.layer_idx);
            if (!cell)
                continue;
            *cell = isnan(*cell) ? 0 : *cell;
            const bool began =
                change->kind != TP_CHANGE_NONE && change->first == i;
            *cell += began;
            any = any || began;
        }
    }
    return any;
}

void tp_fig_onset_map(struct tp_fig *fig)
{
    size_t changes[TP_SERIES_METRICS];
    struct map map = {.x = tp_slots_folded(fig, TP_KEY_ITERATION, MAP_COLUMNS),
                      .y = tp_slots_folded(fig, TP_KEY_LAYER, MAP_ROWS)};
    if (fig->failed || map.x.count < 2 || map.y.count == 0)
        return;
    count_changes(monitor_of(fig), changes);
    for (int n = 0; n < MAPS; n++) {
        size_t most = 0;
        for (size_t m = 1; m < TP_SERIES_METRICS; m++)
            most = changes[m] > changes[most] ? m : most;
        if (changes[most] == 0)
            break;
        map.cells =
            tp_fig_alloc(fig, map.x.count * map.y.count, sizeof *map.cells);
        if (!map.cells)
            return;
        const bool any = fill_map(fig, most, &map);
        const struct tp_matrix matrix =
            tp_slots_matrix(fig, &map.x, &map.y, map.cells);
        const struct tp_axis colour = {.label = "series that change [1]",
                                       .scale = TP_SCALE_INTEGER};
        if (any)
            tp_fig_matrix(fig,
                          tp_fig_text(fig, "%s (%zu)",
                                      tp_series_metrics[most].name,
                                      changes[most]),
                          &matrix, colour, TP_PALETTE_MAGNITUDE);
        changes[most] = 0;
    }
}

/* --- gradients --------------------------------------------------------- */

enum { GRADIENT_PANELS = 3 }; /* of each of the two numbers */

/* Whether both are gradients of one quant type and rank. */
static bool same_pass(const struct tp_label *a, const struct tp_label *b)
{
    return a->rank == b->rank && !strcmp(a->quant_type, b->quant_type);
}

static struct tp_panel_series gradient_curve(struct tp_fig *fig,
                                             const struct tp_run_series *series,
                                             size_t metric, size_t rows_max)
{
    const struct tp_series_set *set = &monitor_of(fig)->series;
    const int64_t *at = tp_series_at(set, series);
    const double *value = tp_series_values(set, series, metric);
    size_t every = series->count / rows_max + 1, rows = 0;
    double *table = tp_fig_alloc(fig, 2 * series->count + 2, sizeof *table);
    for (size_t i = 0; table && i < series->count; i += every) {
        if (!isfinite(value[i]))
            continue;
        table[2 * rows] = (double)at[i];
        table[2 * rows++ + 1] = value[i];
    }
    return (struct tp_panel_series){
        .name = series->label.layer_idx < 0
                    ? "all layers"
                    : tp_fig_text(fig, "layer %lld",
                                  (long long)series->label.layer_idx),
        .values = table,
        .rows = rows};
}

/*
 * The series of one rank and quant type that are drawn: at most eight, evenly
 * spaced over the layers, of those that have the metric.
 */
static size_t choose_gradients(const struct tp_monitor *monitor, size_t first,
                               size_t metric,
                               size_t chosen[TP_PANEL_SERIES_MAX])
{
    const struct tp_run_series *all = monitor->series.series;
    size_t total = 0, seen = 0, n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t s = first; s < monitor->series.count; s++) {
            if (!tp_monitor_baseline(monitor, s, metric) ||
                !same_pass(&all[s].label, &all[first].label))
                continue;
            if (pass == 0) {
                total++;
                continue;
            }
            size_t next = total <= TP_PANEL_SERIES_MAX
                              ? seen
                              : n * (total - 1) / (TP_PANEL_SERIES_MAX - 1);
            if (n < TP_PANEL_SERIES_MAX && seen == next)
                chosen[n++] = s;
            seen++;
        }
    }
    return n;
}

static void gradient_panel(struct tp_fig *fig, size_t first, size_t metric,
                           const char *title)
{
    const struct tp_monitor *monitor = monitor_of(fig);
    const struct tp_label *label = &monitor->series.series[first].label;
    size_t chosen[TP_PANEL_SERIES_MAX];
    size_t n = choose_gradients(monitor, first, metric, chosen), kept = 0;
    struct tp_panel_series *series = tp_fig_alloc(fig, n + 1, sizeof *series);
    for (size_t i = 0; series && i < n; i++) {
        series[kept] =
            gradient_curve(fig, &monitor->series.series[chosen[i]], metric,
                           TP_PANEL_ROWS_MAX / TP_PANEL_SERIES_MAX);
        series[kept].colour = (unsigned)i + 1;
        kept += series[kept].rows > 0;
    }
    const char *rank = label->rank < 0
                           ? ""
                           : tp_fig_text(fig, ", rank %lld",
                                         (long long)label->rank);
    const struct tp_panel panel = {
        .kind = TP_PANEL_LINES,
        .title = tp_fig_text(fig, "%s, %s%s", title,
                             label->quant_type[0] ? label->quant_type
                                                  : "all tensors",
                             rank),
        .x = {.label = "iteration", .scale = TP_SCALE_INTEGER},
        .y = {.label = tp_fig_text(fig, "%s [%s]",
                                   tp_series_metrics[metric].name,
                                   tp_series_metrics[metric].unit),
              .scale = TP_SCALE_LOG2},
        .series = series,
        .series_count = kept,
    };
    if (kept > 0)
        tp_fig_add(fig, &panel);
}

/* Passes with an alarm before those without. */
static bool has_alarm(const struct tp_incidents *all,
                      const struct tp_label *label)
{
    for (size_t i = 0; i < all->alarm_count; i++) {
        size_t s = all->alarms[i].series;
        if (same_pass(&all->monitor->series.series[s].label, label))
            return true;
    }
    return false;
}

/* The first layer series of each pass that is shown. */
static size_t choose_passes(const struct tp_fig *fig,
                            size_t chosen[GRADIENT_PANELS])
{
    const struct tp_series_set *set = &monitor_of(fig)->series;
    const struct tp_incidents *incidents = fig->facts->input->incidents;
    const struct tp_run_series *all = set->series;
    size_t n = 0;
    for (int wanted = 1; wanted >= 0; wanted--) {
        for (size_t s = 0; s < set->count && n < GRADIENT_PANELS; s++) {
            bool met = all[s].kind != TP_SERIES_LAYER || all[s].count < 2 ||
                       has_alarm(incidents, &all[s].label) != (wanted == 1);
            for (size_t k = 0; k < n && !met; k++)
                met = same_pass(&all[chosen[k]].label, &all[s].label);
            if (!met)
                chosen[n++] = s;
        }
    }
    return n;
}

void tp_fig_gradient_norm(struct tp_fig *fig)
{
    size_t passes[GRADIENT_PANELS];
    size_t n = choose_passes(fig, passes);
    for (size_t i = 0; i < n; i++)
        gradient_panel(fig, passes[i],
                       tp_series_metric_by_name("layer_grad_norm"),
                       "gradient norm");
    for (size_t i = 0; i < n; i++)
        gradient_panel(fig, passes[i],
                       tp_series_metric_by_name("layer_grad_ratio"),
                       "ratio to the next layer");
}

/* --- the origin, before and after -------------------------------------- */

enum { ORIGINS = 2, HALF_BINS = TP_SUMMARY_BINS / 2, PER_BINADE = 8 };

/* Share of the elements per binade of a point of a series, on |x|. */
static struct tp_panel_series binades_of(struct tp_fig *fig,
                                         const struct tp_run_series *series,
                                         size_t point, const char *name)
{
    size_t count, rows = 0;
    const struct tp_row *const *of = tp_series_rows(
        &monitor_of(fig)->series, series, point, &count);
    struct tp_summary *summary = calloc(1, sizeof *summary);
    double *table =
        tp_fig_alloc(fig, 2 * (HALF_BINS / PER_BINADE + 2), sizeof *table);
    fig->failed |= !summary;
    for (size_t i = 0; summary && i < count; i++)
        tp_summary_merge_packed(summary, of[i]->packed);
    for (unsigned m = 0; summary && table && m < HALF_BINS; m += PER_BINADE) {
        uint64_t mass = 0;
        double from, to;
        int sign;
        for (unsigned i = m; i < m + PER_BINADE; i++)
            mass += summary->bins[i] + summary->bins[HALF_BINS + i];
        tp_summary_bin_edges(m, &from, &to, &sign);
        if (mass == 0 && (rows == 0 || table[2 * rows - 1] == 0))
            continue; /* one zero closes an outline */
        table[2 * rows] = from > 0 ? from : to / 2;
        table[2 * rows++ + 1] = (double)mass / (double)summary->moments.n;
    }
    free(summary);
    return (struct tp_panel_series){
        .name = name, .values = table, .rows = rows};
}

static void origin_panel(struct tp_fig *fig, const struct tp_alarm *alarm)
{
    const struct tp_monitor *monitor = monitor_of(fig);
    const struct tp_run_series *series =
        &monitor->series.series[alarm->series];
    const int64_t *at = tp_series_at(&monitor->series, series);
    size_t last = series->count - 1, n = 0;
    struct tp_panel_series *shown = tp_fig_alloc(fig, 3, sizeof *shown);
    if (!shown || series->kind != TP_SERIES_TENSOR)
        return;
    if (alarm->point > 0)
        shown[n++] = binades_of(
            fig, series, alarm->point - 1,
            "last healthy iteration");
    /* what is bad in the last iteration may last */
    bool once = alarm->last == at[alarm->point] && last > alarm->point;
    shown[n++] = binades_of(fig, series, alarm->point,
                            once ? "bad iteration" : "first bad iteration");
    if (last > alarm->point)
        shown[n++] = binades_of(fig, series, last, "last iteration");
    for (size_t i = 0; i < n; i++)
        shown[i].colour = i == 0 && alarm->point > 0 ? 1 : (unsigned)i + 1;
    const struct tp_panel panel = {
        .kind = TP_PANEL_STEPS,
        .title = tp_fig_text(fig, "%s, bad %s iteration %lld",
                             series_name(fig, series), once ? "in" : "from",
                             (long long)at[alarm->point]),
        .x = {.label = "magnitude |x| [value]", .scale = TP_SCALE_LOG2},
        .y = {.label = "share of elements per binade [1]"},
        .series = shown,
        .series_count = n,
    };
    tp_fig_add(fig, &panel);
}

void tp_fig_healthy_against_sick(struct tp_fig *fig)
{
    const struct tp_incidents *all = fig->facts->input->incidents;
    for (size_t i = 0; i < all->incident_count && i < ORIGINS; i++)
        origin_panel(fig, &all->alarms[all->incidents[i].origin]);
}
