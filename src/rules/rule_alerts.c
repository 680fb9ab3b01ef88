/* SPDX-License-Identifier: MIT */
/*
 * What a live monitor alerted at and the whole run does not bear out: one
 * finding of low severity, whatever their number. Thousands of numbers, each
 * with a limit of three deviations from few points, pass it somewhere in every
 * healthy run, and a number with a trend does so for good. So the finding says
 * how many points noise alone is expected to put there. What is a change is
 * told by the whole run, and by the onset rule; numbers of series that changed,
 * or that leave their baseline while an incident lasts, are left out of both
 * counts. Cost: a look at each baseline, and at the incidents for each that has
 * alerts.
 */
#include <math.h>

#include "rules/rules.h"
#include "series/flow.h"

/* Points that noise does not account for, at so many times as are expected of
 * it: where tails are not known, that is right within such a factor. */
static const double MORE = 3;

/* What the alerts come to. */
struct alerts {
    size_t numbers, alerted; /* series times metrics                      */
    size_t points;
    double expected;
    const struct tp_baseline *farthest; /* by its first point             */
    size_t series, metric;              /* of that                        */
};

/* Whether a series first alerts while an incident of its run lasts that others
 * follow, or a window after it. */
static bool may_follow(const struct tp_incidents *all, size_t index,
                       const struct tp_baseline *b)
{
    const struct tp_series_set *set = &all->monitor->series;
    const struct tp_run_series *series = &set->series[index];
    int64_t at = tp_series_at(set, series)[b->first];
    int64_t window = (int64_t)all->monitor->options.alert_window;
    for (size_t i = 0; i < all->incident_count && b->beyond > 0; i++) {
        const struct tp_incident *incident = &all->incidents[i];
        if (tp_incident_followed(incident) && at >= incident->from &&
            at - window <= incident->to &&
            tp_series_compare_runs(series,
                                   tp_alarm_series(all, incident->origin)) == 0)
            return true;
    }
    return false;
}

static void count_number(const struct tp_incidents *all, size_t series,
                         size_t metric, struct alerts *alerts)
{
    const struct tp_baseline *b =
        tp_monitor_baseline(all->monitor, series, metric);
    if (b->warmup == 0 || may_follow(all, series, b))
        return;
    alerts->numbers++;
    alerts->alerted += b->beyond > 0;
    alerts->points += b->beyond;
    alerts->expected += b->chance;
    if (b->beyond == 0 ||
        (alerts->farthest && b->deviation <= alerts->farthest->deviation))
        return;
    alerts->farthest = b;
    alerts->series = series;
    alerts->metric = metric;
}

static struct alerts count_alerts(const struct tp_rule_input *input)
{
    const struct tp_series_set *set = &input->monitor->series;
    struct alerts alerts = {.farthest = NULL};
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_run_series *series = &set->series[i];
        bool changed = input->incidents->alarm_of[i] != TP_NONE;
        for (size_t k = 0; k < series->metric_count && !changed; k++)
            count_number(input->incidents, i, series->metric + k, &alerts);
    }
    return alerts;
}

/* The row of the farthest point; of a sum one with its labels. */
static struct tp_row row_of(const struct tp_series_set *set,
                            const struct alerts *alerts)
{
    const struct tp_run_series *series = &set->series[alerts->series];
    size_t count, point = alerts->farthest->first;
    const struct tp_row *const *rows =
        tp_series_rows(set, series, point, &count);
    struct tp_row row = count ? *rows[0] : *series->row;
    if (count)
        return row;
    row.label = series->label;
    row.label.iteration = tp_series_at(set, series)[point];
    row.file = "";
    return row;
}

enum tp_status tp_rule_alerts(const struct tp_rule_input *input,
                              const struct tp_rule *rule, struct tp_error *err)
{
    const struct tp_series_set *set = &input->monitor->series;
    if (input->monitor->options.method == TP_BASELINE_RETRO ||
        !input->incidents->alarm_of)
        return TP_OK;
    const struct alerts alerts = count_alerts(input);
    if (alerts.points == 0)
        return TP_OK;
    const struct tp_baseline *b = alerts.farthest;
    const struct tp_row row = row_of(set, &alerts);
    struct tp_finding *finding;
    if (tp_finding_add(input->findings, rule, &row, &finding, err) != TP_OK)
        return TP_E_MEMORY;
    finding->level = TP_SEVERITY_LOW;
    finding->metric = tp_series_metrics[alerts.metric].name;
    finding->value = tp_series_values(set, &set->series[alerts.series],
                                      alerts.metric)[b->first];
    finding->baseline = b->center;
    finding->spread = b->spread;
    finding->deviation = b->deviation;
    finding->excess = b->deviation / input->monitor->options.sigma;
    finding->evidence = tp_finding_text(
        input->findings,
        "a live monitor alerts at %zu point%s of %zu among %zu numbers, here "
        "by %.3g\u03c3; about %.0f %s expected of noise alone%s; by the noise "
        "of the whole run none of them is sure to be a change",
        alerts.points, alerts.points == 1 ? "" : "s", alerts.alerted,
        alerts.numbers, b->deviation, fmax(alerts.expected, 1),
        alerts.expected < 1.5 ? "is" : "are",
        (double)alerts.points > MORE * alerts.expected
            ? ", more come of trends, slow wandering or faults"
            : "");
    finding->suggestion = "look at those that are off by far more than the "
                          "others ([ALERT] lines of report.txt); more "
                          "--warmup_steps or a larger --sigma give fewer";
    return TP_OK;
}
