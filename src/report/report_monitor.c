/* SPDX-License-Identifier: MIT */
/*
 * What a monitor would have said while the run went on. Lines on the gradient's
 * norm and on alarms are collected, sorted by iteration, then written; writing
 * them series by series would not read like a log. While a change lasts that a
 * finding names, a norm is compared with the baseline of before it: a baseline
 * fitted further on follows the fault and calls it normal. Of an incident at
 * most 20 alarms are listed. O(lines log lines), and each line on a gradient
 * goes through all alarms.
 */
#include "report/report_monitor.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "series/baseline_retro.h"

enum {
    EVERY = 100,            /* iterations between lines that all is well    */
    LINES_PER_INCIDENT = 20 /* the rest is in /baselines                   */
};

/* A line that is to be written. */
struct line {
    int64_t iteration;
    size_t number; /* of the alarm; TP_NONE: a line on the gradient        */
    size_t series;
    size_t metric;
    size_t point;
};

/* The lines of a run. */
struct lines {
    const struct tp_monitor *monitor;
    const struct tp_incidents *incidents;
    struct line *lines;
    size_t count, capacity;
    struct tp_text *text;
};

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (a->iteration != b->iteration)
        return a->iteration < b->iteration ? -1 : 1;
    if (a->number != b->number) /* TP_NONE is the largest */
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
 * on the baseline would follow the fault. Online it is that of the warm-up.
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
    while (point > 0 && at[point - 1] >= from && !all->monitor->options.online)
        point--;
    return point;
}

/* What the gradients' norms are expected to be: [points of the set]. */
struct norms {
    double *expected, *high;
};

/* The spread of a baseline that is held: the band's at its point, which knows
 * nothing of what comes after. */
static double held_spread(const struct tp_monitor *monitor,
                          const struct norms *norms, size_t point)
{
    double center = norms->expected[point];
    double up = log2(norms->high[point] / center);
    return center * sinh(log(2) * up / tp_baseline_band(&monitor->options));
}

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
    double spread = held ? held_spread(monitor, norms, series->first + point)
                         : of.baseline->spread * (center / of.baseline->center);
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
    if (!isnan(alarm->deviation))
        tp_text_add(l->text, " | Deviation: %.3g sigma", alarm->deviation);
    if (isfinite(alarm->worst) && alarm->worst > 1.5 * alarm->deviation)
        tp_text_add(l->text, ", later %.3g", alarm->worst);
    if (incident->origin == line->number && incident->members > 1)
        tp_text_add(l->text, " | origin of %zu other%s", incident->members - 1,
                    incident->members == 2 ? "" : "s");
    tp_text_add(l->text, alarm->weak ? " | few iterations\n" : "\n");
}

/* An alarm of a live monitor, which knows neither causes nor the future. */
static void write_online(struct lines *l, const struct line *line)
{
    const struct tp_monitor *monitor = l->monitor;
    const struct subject of = subject_of(monitor, line);
    begin_alert(line->iteration, of.series, l->text);
    add_value(tp_series_metrics[line->metric].name, of.value,
              of.baseline->center, of.baseline->spread, l->text);
    tp_text_add(l->text, " | Deviation: %.3g sigma", of.baseline->deviation);
    if (of.baseline->alarms > 1)
        tp_text_add(l->text, " | %zu alarms", of.baseline->alarms);
    tp_text_add(l->text, "\n");
}

/* --- which lines ----------------------------------------------- */

static void add_gradient_lines(struct lines *l, size_t index)
{
    const struct tp_run_series *series = &l->monitor->series.series[index];
    const int64_t *at = tp_series_at(&l->monitor->series, series);
    for (size_t i = 0; i < series->count; i++) {
        if (i == 0 || i + 1 == series->count || at[i] % EVERY == 0)
            add_line(l,
                     (struct line){at[i], TP_NONE, index, series->metric, i});
    }
}

/* The first alarms of each incident; returns how many are left out. */
static size_t add_alarm_lines(struct lines *l)
{
    const struct tp_incidents *all = l->incidents;
    size_t *shown = calloc(all->incident_count + 1, sizeof *shown);
    size_t left_out = 0;
    l->text->failed = l->text->failed || !shown;
    for (size_t i = 0; shown && i < all->alarm_count; i++) {
        const struct tp_alarm *alarm = &all->alarms[i];
        if (shown[alarm->incident]++ < LINES_PER_INCIDENT)
            add_line(l, (struct line){alarm->iteration, i, alarm->series,
                                      alarm->metric, alarm->point});
        else
            left_out++;
    }
    free(shown);
    return left_out;
}

static void add_online_lines(struct lines *l)
{
    const struct tp_monitor *monitor = l->monitor;
    for (size_t i = 0; i < monitor->series.count; i++) {
        const struct tp_run_series *series = &monitor->series.series[i];
        for (size_t k = 0; k < series->metric_count; k++) {
            size_t metric = series->metric + k;
            const struct tp_baseline *baseline =
                tp_monitor_baseline(monitor, i, metric);
            if (baseline->kind != TP_CHANGE_NONE)
                add_line(l, (struct line){tp_series_at(&monitor->series,
                                                       series)[baseline->first],
                                          0, i, metric, baseline->first});
        }
    }
}

static void norms_clear(struct norms *norms)
{
    free(norms->expected);
    free(norms->high);
}

/* The band of the gradient's norm, where it has one. */
static bool find_norms(const struct tp_monitor *monitor, struct norms *norms)
{
    const struct tp_series_set *set = &monitor->series;
    norms->expected = calloc(set->point_count + 1, sizeof *norms->expected);
    norms->high = calloc(set->point_count + 1, sizeof *norms->high);
    bool ok = norms->expected && norms->high;
    for (size_t i = 0; ok && i < set->point_count; i++)
        norms->expected[i] = norms->high[i] = NAN;
    for (size_t i = 0; ok && i < set->count; i++) {
        const struct tp_run_series *series = &set->series[i];
        struct tp_baseline_trace trace = {.expected =
                                              norms->expected + series->first,
                                          .high = norms->high + series->first};
        if (series->kind == TP_SERIES_MODEL)
            ok = tp_monitor_trace(monitor, i, series->metric, &trace,
                                     NULL) == TP_OK;
    }
    return ok;
}

static void write_lines(struct lines *l)
{
    const struct tp_monitor *monitor = l->monitor;
    struct norms norms = {NULL, NULL};
    bool ok = find_norms(monitor, &norms);
    l->text->failed = l->text->failed || !ok;
    if (l->count)
        qsort(l->lines, l->count, sizeof *l->lines, compare_lines);
    for (size_t i = 0; ok && i < l->count; i++) {
        const struct line *line = &l->lines[i];
        if (line->number == TP_NONE)
            write_gradient(l, line, &norms);
        else if (monitor->options.online)
            write_online(l, line);
        else
            write_alarm(l, line);
    }
    norms_clear(&norms);
}

static void write_heading(struct lines *l)
{
    const struct tp_monitor *monitor = l->monitor;
    size_t warmup = 0;
    for (size_t i = 0; i < monitor->baseline_count; i++)
        warmup = monitor->baselines[i].warmup > warmup
                     ? monitor->baselines[i].warmup
                     : warmup;
    tp_text_add(l->text, "\nMonitor: %zu series, %zu baselines",
                monitor->series.count, monitor->with_value_count);
    if (monitor->options.online)
        tp_text_add(l->text,
                    " of a live monitor: mean and standard deviation of a "
                    "warm-up of %zu iterations (of %zu wanted, at most half)\n",
                    warmup, monitor->options.warmup_steps);
    else
        tp_text_add(l->text, " fitted to the whole run\n");
}

void tp_report_monitor(const struct tp_monitor *monitor,
                       const struct tp_incidents *incidents,
                       struct tp_text *text)
{
    struct lines l = {.monitor = monitor, .incidents = incidents, .text = text};
    size_t left_out = 0;
    if (monitor->with_value_count == 0)
        return;
    write_heading(&l);
    for (size_t i = 0; i < monitor->series.count; i++) {
        if (monitor->series.series[i].kind == TP_SERIES_MODEL)
            add_gradient_lines(&l, i);
    }
    if (monitor->options.online)
        add_online_lines(&l);
    else
        left_out = add_alarm_lines(&l);
    write_lines(&l);
    if (left_out)
        tp_text_add(text,
                    "... and %zu more alarms of these incidents in "
                    "/baselines\n",
                    left_out);
    free(l.lines);
}
