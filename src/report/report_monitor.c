/* SPDX-License-Identifier: MIT */
/*
 * What a monitor would have said while the run went on. Lines on the gradient's
 * norm and on alarms are collected, sorted by iteration, then written; writing
 * them series by series would not read like a log. While a change lasts that a
 * finding names, a norm is compared with the baseline of before it: a baseline
 * fitted further on follows the fault and calls it normal. Of an incident at
 * most 20 alarms are listed.
 *
 * A live monitor knows neither causes nor the future: its lines are on every
 * alarm of every series, those within --alert_window iterations as one, but for
 * one that is three times as far off as what came before it. O(lines log
 * lines), and each line on a gradient goes through all alarms.
 */
#include "report/report_monitor.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"

enum {
    EVERY = 100,            /* iterations between lines that all is well    */
    LINES_PER_INCIDENT = 20 /* the rest is in /baselines                   */
};

/* A live alarm so many times as far off as what it would be one with is not
 * that: a fault that follows on an odd value. */
static const double FAR_LARGER = 3;

/* Lines of one iteration come in this order. */
enum line_kind { ESTABLISHED, ALERT, GRADIENT };

/* A line that is to be written. */
struct line {
    int64_t iteration;
    enum line_kind kind;
    size_t number; /* of the series' alarm; TP_NONE: it has none           */
    size_t series;
    size_t metric;
    size_t point;
    double low, high, center, spread; /* live: the band there              */
    double worst;                     /* live: the largest deviation       */
};

/* The lines of a run. */
struct lines {
    const struct tp_monitor *monitor;
    const struct tp_incidents *incidents;
    struct line *lines;
    size_t count, capacity;
    size_t left_out; /* alarms of incidents that have many                 */
    struct tp_text *text;
};

static bool is_live(const struct tp_monitor *monitor)
{
    return monitor->options.method != TP_BASELINE_RETRO;
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (a->iteration != b->iteration)
        return a->iteration < b->iteration ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->series != b->series)
        return a->series < b->series ? -1 : 1;
    return tp_order_size(a->metric, b->metric);
}

static void add_line(struct lines *l, struct line line)
{
    if (tp_grow(&l->lines, &l->capacity, l->count + 1, sizeof *l->lines,
                NULL) == TP_OK)
        l->lines[l->count++] = line;
    else
        l->text->failed = true;
}

/* --- the words ----------------------------------------------- */

static void add_series(const struct tp_run_series *series, struct tp_text *text)
{
    const struct tp_label *label = &series->label;
    const char *const words[] = {label->quant_type, label->layer_type,
                                 label->operation, label->phase,
                                 label->tensor_name};
    bool first = label->layer_idx < 0;
    if (!first)
        tp_text_add(text, "Layer %" PRId64, label->layer_idx);
    if (series->kind == TP_SERIES_SHARED)
        tp_text_add(text, "all ");
    size_t from = series->kind <= TP_SERIES_SHARED ? 0 : 4;
    if (from && label->quant_type[0]) {
        tp_text_add(text, first ? "" : " ");
        tp_text_printable(text, label->quant_type);
        first = false;
    }
    for (size_t i = from; i < (from ? 4 : 5); i++) {
        if (!words[i][0])
            continue;
        tp_text_add(text, first ? "" : " ");
        tp_text_printable(text, words[i]);
        first = false;
    }
    if (series->ordinal > 0)
        tp_text_add(text, " #%" PRId64, series->ordinal);
    if (label->rank >= 0)
        tp_text_add(text, "%srank %" PRId64, first ? "" : " ", label->rank);
}

static void add_value(const char *metric, double value, double center,
                      double spread, struct tp_text *text)
{
    tp_text_add(text, "%s: %.4g (baseline: ", metric, value);
    if (isnan(center))
        tp_text_add(text, "none)");
    else if (isnan(spread))
        tp_text_add(text, "%.4g)", center);
    else
        tp_text_add(text, "%.4g\u00b1%.2g)", center, spread);
}

static bool same_rank(const struct tp_run_series *a,
                      const struct tp_run_series *b)
{
    return a->label.rank == b->label.rank &&
           !strcmp(a->label.quant_type, b->label.quant_type);
}

/* Firm alarms of the same run and rank that last at this iteration. */
static size_t count_active(const struct tp_incidents *all,
                           const struct tp_run_series *model, int64_t at)
{
    size_t count = 0;
    for (size_t i = 0; i < all->alarm_count; i++) {
        const struct tp_alarm *alarm = &all->alarms[i];
        const struct tp_run_series *series =
            tp_alarm_series(all, i);
        count += alarm->iteration <= at && at <= alarm->last &&
                 all->incidents[alarm->incident].firm &&
                 same_rank(series, model);
    }
    return count;
}

/*
 * The point of a model's series whose baseline counts at another: that one or,
 * while a change lasts that a finding names, of the rank's tensors with others
 * that follow or of the norm itself, the first one of the change. From there
 * on the baseline would follow the fault. A live one does not.
 */
static size_t baseline_point(const struct tp_incidents *all,
                             const struct tp_run_series *model, size_t point)
{
    const int64_t *at = tp_series_at(&all->monitor->series, model);
    int64_t from = at[point];
    for (size_t i = 0; i < all->alarm_count; i++) {
        const struct tp_alarm *alarm = &all->alarms[i];
        const struct tp_run_series *series =
            tp_alarm_series(all, i);
        const struct tp_incident *incident =
            &all->incidents[alarm->incident];
        bool named = tp_incident_followed(incident) || series == model;
        if (named && incident->firm && alarm->kind != TP_CHANGE_DRIFT &&
            alarm->iteration <= at[point] && at[point] <= alarm->last &&
            same_rank(series, model) && incident->from < from)
            from = incident->from;
    }
    while (point > 0 && at[point - 1] >= from && !is_live(all->monitor))
        point--;
    return point;
}

/* What the gradients' norms are expected to be: [points of the set]. */
struct norms {
    double *expected, *spread;
};

/* What a line is about. */
struct subject {
    const struct tp_run_series *series;
    const struct tp_baseline *baseline;
    double value;
};

static struct subject subject_of(const struct tp_monitor *monitor,
                                 const struct line *line)
{
    const struct tp_run_series *series = &monitor->series.series[line->series];
    const double *values =
        tp_series_values(&monitor->series, series, line->metric);
    return (struct subject){
        series, tp_monitor_baseline(monitor, line->series, line->metric),
        values[line->point]};
}

static void begin_alert(int64_t iteration, const struct tp_run_series *series,
                        struct tp_text *text)
{
    tp_text_add(text, "[ALERT] Step %" PRId64 " | ", iteration);
    add_series(series, text);
    tp_text_add(text, " | ");
}

static void write_gradient(struct lines *l, const struct line *line,
                           const struct norms *norms)
{
    const struct tp_monitor *monitor = l->monitor;
    const struct subject of = subject_of(monitor, line);
    const struct tp_run_series *series = of.series;
    size_t point = baseline_point(l->incidents, series, line->point);
    bool held = point < line->point;
    double center = norms->expected[series->first + point];
    double spread = of.baseline->spread * (center / of.baseline->center);
    if (held || is_live(monitor))
        spread = norms->spread[series->first + point];
    size_t active = count_active(l->incidents, series, line->iteration);
    tp_text_add(l->text, "[Monitor] Step %" PRId64 " | ", line->iteration);
    size_t length = l->text->length;
    add_series(series, l->text);
    tp_text_add(l->text, l->text->length > length ? " | " : "");
    add_value(tp_series_metrics[line->metric].name, of.value, center, spread,
              l->text);
    if (active)
        tp_text_add(l->text, " | Status: ALERT (%zu series)", active);
    else
        tp_text_add(l->text, " | Status: OK");
    if (held)
        tp_text_add(l->text, " | baseline of before step %" PRId64,
                    tp_series_at(&monitor->series, series)[point]);
    tp_text_add(l->text, "\n");
}

static void write_alarm(struct lines *l, const struct line *line)
{
    const struct tp_incidents *all = l->incidents;
    const struct tp_alarm *alarm = &all->alarms[line->number];
    const struct tp_incident *incident = &all->incidents[alarm->incident];
    begin_alert(alarm->iteration, tp_alarm_series(all, line->number), l->text);
    add_value(tp_series_metrics[alarm->metric].name, alarm->value,
              alarm->center, alarm->spread, l->text);
    /* of the numbers shown; what found it may have judged logarithms */
    double away = fabs(alarm->value - alarm->center) / alarm->spread;
    if (isfinite(away))
        tp_text_add(l->text, " | Deviation: %.3g\u03c3", away);
    if (incident->origin == line->number && incident->members > 1)
        tp_text_add(l->text, " | origin of %zu other%s", incident->members - 1,
                    incident->members == 2 ? "" : "s");
    tp_text_add(l->text, alarm->weak ? " | few iterations\n" : "\n");
}

/* An alarm of a live monitor. What is within sigma is outside of its range. */
static void write_live(struct lines *l, const struct line *line)
{
    const struct tp_monitor *monitor = l->monitor;
    const struct subject of = subject_of(monitor, line);
    double away = fabs(of.value - line->center) / line->spread;
    begin_alert(line->iteration, of.series, l->text);
    add_value(tp_series_metrics[line->metric].name, of.value, line->center,
              line->spread, l->text);
    if (away > monitor->options.sigma)
        tp_text_add(l->text, " | Deviation: %.3g\u03c3", away);
    else if (of.value > line->high)
        tp_text_add(l->text, " | above twice the largest, %.4g",
                    line->high / 2);
    else
        tp_text_add(l->text, " | below half the least, %.4g", 2 * line->low);
    if (line->worst > 1.5 * away)
        tp_text_add(l->text, ", later %.3g\u03c3", line->worst);
    tp_text_add(l->text, "\n");
}

/* What the gradient's norm was while a live monitor learnt; or what is made of
 * the whole run. */
static void write_established(struct lines *l, const struct line *line)
{
    const struct tp_monitor *monitor = l->monitor;
    const struct subject of = subject_of(monitor, line);
    size_t learnt = of.baseline->warmup;
    const double *values =
        tp_series_values(&monitor->series, of.series, line->metric);
    double center = of.baseline->center, spread = of.baseline->spread,
           min = of.baseline->min, max = of.baseline->max;
    if (is_live(monitor)) {
        center = line->center;
        spread = line->spread;
        min = max = NAN;
        size_t most = monitor->options.method == TP_BASELINE_ROLLING
                          ? monitor->options.alert_window
                          : learnt;
        for (size_t i = learnt; i-- > 0 && most > 0;) {
            if (!isfinite(values[i]))
                continue;
            min = fmin(min, values[i]);
            max = fmax(max, values[i]);
            most--;
        }
    }
    tp_text_add(l->text,
                "[Monitor] Baseline established: {'mean': %.4g, 'std': %.2g, "
                "'max': %.4g, 'min': %.4g} | ",
                center, spread, max, min);
    add_series(of.series, l->text);
    tp_text_add(l->text, " %s", tp_series_metrics[line->metric].name);
    if (is_live(monitor))
        tp_text_add(l->text, ", step %" PRId64 "\n", line->iteration);
    else
        tp_text_add(l->text, ", whole run\n");
}

/* --- which lines ----------------------------------------------- */

static void add_gradient_lines(struct lines *l, size_t index)
{
    const struct tp_run_series *series = &l->monitor->series.series[index];
    const int64_t *at = tp_series_at(&l->monitor->series, series);
    for (size_t i = 0; i < series->count; i++) {
        if (i == 0 || i + 1 == series->count || at[i] % EVERY == 0)
            add_line(l, (struct line){.iteration = at[i],
                                      .kind = GRADIENT,
                                      .series = index,
                                      .metric = series->metric,
                                      .point = i});
    }
}

/* The first alarms of each incident. */
static void add_alarm_lines(struct lines *l)
{
    const struct tp_incidents *all = l->incidents;
    size_t *shown = calloc(all->incident_count + 1, sizeof *shown);
    l->text->failed = l->text->failed || !shown;
    for (size_t i = 0; shown && i < all->alarm_count; i++) {
        const struct tp_alarm *alarm = &all->alarms[i];
        if (shown[alarm->incident]++ < LINES_PER_INCIDENT)
            add_line(l, (struct line){.iteration = alarm->iteration,
                                      .kind = ALERT,
                                      .number = i,
                                      .series = alarm->series,
                                      .metric = alarm->metric,
                                      .point = alarm->point});
        else
            l->left_out++;
    }
    free(shown);
}

/* What a live monitor says of a series: [points of the longest] each. */
struct live {
    double *expected, *spread, *low, *high;
    uint8_t *alarm;
};

/* The alarms of one number: a line for those that are one. */
static void add_live_alarms(struct lines *l, size_t index, size_t metric,
                            const struct live *live)
{
    const struct tp_monitor *monitor = l->monitor;
    const struct tp_run_series *series = &monitor->series.series[index];
    const int64_t *at = tp_series_at(&monitor->series, series);
    const double *value = tp_series_values(&monitor->series, series, metric);
    int64_t window = (int64_t)monitor->options.alert_window, last = 0;
    struct line line = {.point = SIZE_MAX};
    for (size_t i = 0; i < series->count; i++) {
        double away = fabs(value[i] - live->expected[i]) / live->spread[i];
        if (!live->alarm[i])
            continue;
        bool fresh = line.point == SIZE_MAX || at[i] - last > window ||
                     away >= FAR_LARGER * line.worst;
        if (fresh && line.point != SIZE_MAX)
            add_line(l, line);
        if (fresh)
            line = (struct line){.iteration = at[i],
                                 .kind = ALERT,
                                 .number = l->incidents->alarm_of[index],
                                 .series = index,
                                 .metric = metric,
                                 .point = i,
                                 .low = live->low[i],
                                 .high = live->high[i],
                                 .center = live->expected[i],
                                 .spread = live->spread[i],
                                 .worst = away};
        line.worst = fmax(line.worst, away);
        last = at[i];
    }
    if (line.point != SIZE_MAX)
        add_line(l, line);
}

/* Where the gradient's norm is known by; of the whole run, where it begins. */
static void add_established(struct lines *l, size_t index, size_t metric,
                            const struct live *live)
{
    const struct tp_monitor *monitor = l->monitor;
    const struct tp_run_series *series = &monitor->series.series[index];
    const struct tp_baseline *baseline =
        tp_monitor_baseline(monitor, index, metric);
    size_t at = baseline->warmup ? baseline->warmup - 1 : 0;
    struct line line = {.iteration = tp_series_at(&monitor->series, series)[at],
                        .kind = ESTABLISHED,
                        .series = index,
                        .metric = metric,
                        .point = at};
    if (isnan(baseline->center))
        return;
    line.center = live->expected[at];
    line.spread = live->spread[at];
    add_line(l, line);
}

/* Whether anything is said of a number beside its steps. */
static bool is_told(const struct tp_monitor *monitor, size_t index,
                    size_t metric)
{
    return monitor->series.series[index].kind == TP_SERIES_MODEL ||
           (is_live(monitor) &&
            tp_monitor_baseline(monitor, index, metric)->beyond > 0);
}

static void add_baseline_lines(struct lines *l, const struct live *live)
{
    const struct tp_monitor *monitor = l->monitor;
    const struct tp_baseline_trace trace = {.expected = live->expected,
                                            .low = live->low,
                                            .high = live->high,
                                            .spread = live->spread,
                                            .alarm = live->alarm};
    for (size_t i = 0; i < monitor->series.count; i++) {
        const struct tp_run_series *series = &monitor->series.series[i];
        for (size_t k = 0; k < series->metric_count; k++) {
            size_t metric = series->metric + k;
            if (!is_told(monitor, i, metric))
                continue;
            if (tp_monitor_trace(monitor, i, metric, &trace, NULL) != TP_OK)
                l->text->failed = true;
            if (series->kind == TP_SERIES_MODEL)
                add_established(l, i, metric, live);
            if (is_live(monitor))
                add_live_alarms(l, i, metric, live);
        }
    }
}

/* Baselines where they are known, and alarms. */
static void add_live_lines(struct lines *l)
{
    size_t most = tp_series_longest(&l->monitor->series);
    double *room = calloc(most, 4 * sizeof *room);
    uint8_t *alarm = calloc(most, 1);
    if (room && alarm) {
        const struct live live = {room, room + most, room + 2 * most,
                                  room + 3 * most, alarm};
        add_baseline_lines(l, &live);
    } else {
        l->text->failed = true;
    }
    free(room);
    free(alarm);
}

static void norms_clear(struct norms *norms)
{
    free(norms->expected);
    free(norms->spread);
}

/* What is expected of the gradient's norm. */
static bool find_norms(const struct tp_monitor *monitor, struct norms *norms)
{
    const struct tp_series_set *set = &monitor->series;
    norms->expected = calloc(set->point_count + 1, sizeof *norms->expected);
    norms->spread = calloc(set->point_count + 1, sizeof *norms->spread);
    bool ok = norms->expected && norms->spread;
    for (size_t i = 0; ok && i < set->point_count; i++)
        norms->expected[i] = norms->spread[i] = NAN;
    for (size_t i = 0; ok && i < set->count; i++) {
        const struct tp_run_series *series = &set->series[i];
        struct tp_baseline_trace trace = {.expected =
                                              norms->expected + series->first,
                                          .spread =
                                              norms->spread + series->first};
        if (series->kind == TP_SERIES_MODEL)
            ok = tp_monitor_trace(monitor, i, series->metric, &trace,
                                     NULL) == TP_OK;
    }
    return ok;
}

static void sort_lines(struct lines *l)
{
    if (l->count)
        qsort(l->lines, l->count, sizeof *l->lines, compare_lines);
}

static void write_alert(struct lines *l, const struct line *line)
{
    if (is_live(l->monitor))
        write_live(l, line);
    else
        write_alarm(l, line);
}

static void write_lines(struct lines *l)
{
    struct norms norms = {NULL, NULL};
    bool ok = find_norms(l->monitor, &norms);
    l->text->failed = l->text->failed || !ok;
    sort_lines(l);
    for (size_t i = 0; ok && i < l->count; i++) {
        const struct line *line = &l->lines[i];
        if (line->kind == GRADIENT)
            write_gradient(l, line, &norms);
        else if (line->kind == ESTABLISHED)
            write_established(l, line);
        else
            write_alert(l, line);
    }
    norms_clear(&norms);
}

/* What the baselines are made from. */
static void write_method(const struct tp_monitor *monitor, struct tp_text *text)
{
    const struct tp_baseline_options *options = &monitor->options;
    size_t warmup = 0;
    for (size_t i = 0; i < monitor->baseline_count; i++)
        warmup = monitor->baselines[i].warmup > warmup
                     ? monitor->baselines[i].warmup
                     : warmup;
    if (options->method == TP_BASELINE_RETRO) {
        tp_text_add(text, " fitted to the whole run\n");
        return;
    }
    tp_text_add(text, " of a live monitor: mean and standard deviation of ");
    if (options->method == TP_BASELINE_ROLLING)
        tp_text_add(text, "the last %zu points that were no alarm, after ",
                    options->alert_window);
    tp_text_add(text,
                "a warm-up of %zu iterations (of %zu wanted, at most half)\n",
                warmup, options->warmup_steps);
}

/* Lines on alarms and, where `steps`, on what is normal. */
static void add_lines(struct lines *l, bool steps)
{
    const struct tp_monitor *monitor = l->monitor;
    for (size_t i = 0; i < monitor->series.count && steps; i++) {
        if (monitor->series.series[i].kind == TP_SERIES_MODEL)
            add_gradient_lines(l, i);
    }
    if (steps || is_live(monitor))
        add_live_lines(l);
    if (!is_live(monitor))
        add_alarm_lines(l);
}

void tp_report_monitor(const struct tp_monitor *monitor,
                       const struct tp_incidents *incidents,
                       struct tp_text *text)
{
    struct lines l = {.monitor = monitor, .incidents = incidents, .text = text};
    if (monitor->with_value_count == 0)
        return;
    tp_text_add(text, "\nMonitor: %zu series, %zu baselines",
                monitor->series.count, monitor->with_value_count);
    write_method(monitor, text);
    add_lines(&l, true);
    write_lines(&l);
    if (l.left_out)
        tp_text_add(text,
                    "... and %zu more alarms of these incidents in "
                    "/baselines\n",
                    l.left_out);
    free(l.lines);
}

/* Whether a line is on what has changed by then. */
static bool is_change(const struct tp_incidents *all, const struct line *line)
{
    if (line->number == TP_NONE)
        return false;
    const struct tp_alarm *alarm = &all->alarms[line->number];
    return line->metric == alarm->metric && line->iteration >= alarm->iteration;
}

/* What comes first where there is little room: what the whole run bears out,
 * then the gradient's norm of the whole model, then the rest. */
enum { BORNE_OUT, NORM, REST, RANKS };

static int rank_of(const struct lines *l, const struct line *line)
{
    const struct tp_run_series *series =
        &l->monitor->series.series[line->series];
    if (is_change(l->incidents, line))
        return BORNE_OUT;
    return series->kind == TP_SERIES_MODEL ? NORM : REST;
}

void tp_report_alerts(const struct tp_monitor *monitor,
                      const struct tp_incidents *incidents, size_t most,
                      struct tp_text *text)
{
    struct lines l = {.monitor = monitor, .incidents = incidents, .text = text};
    size_t shown = 0, more = 0;
    if (monitor->with_value_count == 0)
        return;
    add_lines(&l, false);
    sort_lines(&l);
    for (int rank = BORNE_OUT; rank < RANKS; rank++) {
        for (size_t i = 0; i < l.count; i++) {
            if (l.lines[i].kind != ALERT || rank_of(&l, &l.lines[i]) != rank)
                continue;
            if (shown == most) {
                more++;
                continue;
            }
            tp_text_add(text, shown++ ? "" : "\n");
            write_alert(&l, &l.lines[i]);
        }
    }
    more += l.left_out;
    if (more)
        tp_text_add(text, "... and %zu more alert%s; --verbose has them\n",
                    more, more == 1 ? "" : "s");
    free(l.lines);
}
