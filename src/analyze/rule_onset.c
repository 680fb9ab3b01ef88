/* SPDX-License-Identifier: MIT */
/*
 * Where it started: one finding for each incident, and for each change that
 * stands alone.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/findings.h"
#include "analyze/incident.h"
#include "base/text.h"

/* An incident with what is said of it at hand. */
struct story {
    const struct tp_rule_input *input;
    const struct tp_incident *incident;
    const struct tp_alarm *alarm; /* the origin */
    const struct tp_run_series *series;
    const struct tp_series_metric *metric;
};

static uint64_t bad_elements(const struct tp_row *row)
{
    return row->counts.nan + row->counts.pos_inf + row->counts.neg_inf;
}

/* The row a finding is about: of the point, the first with NaN or Inf. What
 * has no rows of its own gets one with its labels. */
static struct tp_row row_of(const struct story *s)
{
    size_t count;
    const struct tp_series_set *set = &s->input->run->monitor.series;
    const struct tp_row *const *rows =
        tp_series_rows(set, s->series, s->alarm->point, &count);
    struct tp_row made = *s->series->row;
    made.label = s->series->label;
    made.label.iteration = s->alarm->iteration;
    made.file = "";
    if (count == 0)
        return made;
    for (size_t i = 0; i < count && s->alarm->nonfinite; i++) {
        if (bad_elements(rows[i]))
            return *rows[i];
    }
    return *rows[0];
}

static bool has_followers(const struct tp_incident *incident)
{
    return incident->members > 1;
}

static bool is_drift(const struct story *s)
{
    return s->alarm->kind == TP_CHANGE_DRIFT;
}

static enum tp_severity level_of(const struct story *s)
{
    bool firm = s->incident->firm, followed = has_followers(s->incident);
    if (s->alarm->nonfinite || (followed && firm && !is_drift(s)))
        return TP_SEVERITY_HIGH;
    return firm || (followed && !is_drift(s)) ? TP_SEVERITY_MEDIUM
                                              : TP_SEVERITY_LOW;
}

static void add_change(const struct story *s, const struct tp_row *row,
                       struct tp_text *text)
{
    const struct tp_alarm *alarm = s->alarm;
    if (alarm->nonfinite) {
        tp_text_add(text,
                    "%" PRIu64 " NaN and %" PRIu64 " Inf among %" PRIu64
                    " elements",
                    row->counts.nan, bad_elements(row) - row->counts.nan,
                    row->counts.numel);
    } else {
        bool log = s->metric->scale == TP_BASELINE_LOG &&
                   !s->input->run->monitor.options.online;
        tp_text_add(text, "%s %.4g against %.4g", s->metric->name,
                    alarm->value, alarm->center);
        if (alarm->kind == TP_CHANGE_VANISH)
            tp_text_add(text, ": it vanished");
        else if (isfinite(alarm->deviation))
            tp_text_add(text, ", spread %.2g: a %s by %.3g sigma%s",
                        alarm->spread, tp_change_name(alarm->kind),
                        alarm->deviation, log ? " of its logarithm" : "");
        if (alarm->weak)
            tp_text_add(text, ", from few iterations");
    }
    if (alarm->metrics > 1)
        tp_text_add(text, ", and %zu other metric%s of it", alarm->metrics - 1,
                    alarm->metrics == 2 ? "" : "s");
}

/* How far a series moves, straightened, from the last point before an
 * iteration to the one there or the next; the larger in the direction. */
static double step_at(const struct story *s, const struct tp_run_series *peer,
                      double direction)
{
    const struct tp_series_set *set = &s->input->run->monitor.series;
    const int64_t *at = tp_series_at(set, peer);
    const double *value = tp_series_values(set, peer, s->alarm->metric);
    bool log = s->metric->scale == TP_BASELINE_LOG;
    size_t i = 0;
    while (i < peer->count && at[i] < s->alarm->iteration)
        i++;
    double most = 0;
    for (size_t k = i; i > 0 && k < peer->count && k < i + 2; k++) {
        double step = log ? log2(value[k] / value[i - 1])
                          : value[k] - value[i - 1];
        most = fmax(most, step * direction);
    }
    return most;
}

/* Whether another rank moved half as far at the same time, though perhaps not
 * beyond its own limit. */
static bool peers_moved(const struct story *s)
{
    const struct tp_series_set *set = &s->input->run->monitor.series;
    bool log = s->metric->scale == TP_BASELINE_LOG;
    double own = log ? log2(s->alarm->value / s->alarm->center)
                     : s->alarm->value - s->alarm->center;
    double direction = own < 0 ? -1 : 1;
    if (s->alarm->nonfinite || !isfinite(own))
        return false;
    for (size_t i = 0; i < set->count; i++) {
        if (tp_series_are_peers(&set->series[i], s->series) &&
            step_at(s, &set->series[i], direction) >= 0.5 * fabs(own))
            return true;
    }
    return false;
}

static void add_ranks(const struct story *s, struct tp_text *text)
{
    const struct tp_incident *incident = s->incident;
    if (incident->ranks_all < 2)
        return;
    if (incident->ranks == incident->ranks_all)
        tp_text_add(text, "; on all %zu ranks at once", incident->ranks);
    else if (incident->ranks > 1)
        tp_text_add(text, "; on %zu of %zu ranks at once", incident->ranks,
                    incident->ranks_all);
    else if (peers_moved(s))
        tp_text_add(text, "; other ranks moved at the same time, too");
    else
        tp_text_add(text, "; on this rank only, of %zu", incident->ranks_all);
}

static void add_followers(const struct story *s, struct tp_text *text)
{
    const struct tp_incident *incident = s->incident;
    if (incident->consequences == 0)
        return;
    tp_text_add(text, "; %zu other tensor%s follow%s", incident->consequences,
                incident->consequences == 1 ? "" : "s",
                incident->consequences == 1 ? "s" : "");
    if (incident->ranks_all > 1)
        tp_text_add(text, ", on %zu rank%s", incident->ranks_hit,
                    incident->ranks_hit == 1 ? "" : "s");
    tp_text_add(text, ", until iteration %" PRId64, incident->to);
}

/* The first NaN or Inf that the incident led to. */
static void add_first_nonfinite(const struct story *s, struct tp_text *text)
{
    const struct tp_monitor *monitor = &s->input->run->monitor;
    for (size_t i = 0; i < monitor->alarm_count; i++) {
        const struct tp_alarm *alarm = &monitor->alarms[i];
        if (!alarm->nonfinite || s->alarm->nonfinite ||
            &monitor->incidents[alarm->incident] != s->incident)
            continue;
        const struct tp_label *label =
            &monitor->series.series[alarm->series].label;
        tp_text_add(text, "; first NaN or Inf in iteration %" PRId64 ", ",
                    alarm->iteration);
        if (label->layer_idx >= 0)
            tp_text_add(text, "L%" PRId64 " ", label->layer_idx);
        tp_text_add(text, "%s %s %s %s", label->layer_type, label->operation,
                    label->phase, label->tensor_name);
        return;
    }
}

static const char *evidence_of(const struct story *s, const struct tp_row *row)
{
    struct tp_text text = {0};
    add_change(s, row, &text);
    if (s->alarm->iteration - s->alarm->after > 1 && s->alarm->point > 0)
        tp_text_add(&text, "; began after iteration %" PRId64, s->alarm->after);
    add_ranks(s, &text);
    add_followers(s, &text);
    if (has_followers(s->incident))
        add_first_nonfinite(s, &text);
    const char *evidence = tp_finding_text(s->input, "%s", tp_text_get(&text));
    tp_text_clear(&text);
    return evidence;
}

static const char *where_to_look(const struct story *s)
{
    const struct tp_incident *incident = s->incident;
    if (incident->ranks_all < 2)
        return "";
    if (incident->ranks == incident->ranks_all || peers_moved(s))
        return "; it is not one rank's alone, so look at the data, the "
               "learning rate and the code before the hardware";
    return "; the other ranks were healthy then, so compare this tensor with "
           "theirs: hardware, memory and this rank's data come first";
}

static const char *suggestion_of(const struct story *s)
{
    const struct tp_label *label = &s->series->label;
    const char *ranks = where_to_look(s);
    if (is_drift(s))
        return "it moves slowly, beyond its trend: watch it, and look at what "
               "changed when it began";
    if (s->series->kind != TP_SERIES_TENSOR)
        return "no tensor of the dump changed as clearly: save more of this "
               "layer around this iteration";
    if (strstr(label->tensor_name, "weight"))
        return tp_finding_text(
            s->input,
            "look at the optimiser step before this iteration, and compare "
            "the weight with a checkpoint%s",
            ranks);
    return tp_finding_text(
        s->input,
        "nothing saved before it changed as clearly: look at the operation "
        "that makes this tensor%s",
        ranks);
}

static enum tp_status tell(const struct story *s, const struct tp_rule *rule,
                           struct tp_error *err)
{
    struct tp_finding *finding;
    struct tp_row row = row_of(s);
    if (tp_finding_add(s->input, rule, &row, &finding, err) != TP_OK)
        return TP_E_MEMORY;
    const struct tp_incident *incident = s->incident;
    const struct tp_alarm *alarm = s->alarm;
    double sigma = s->input->run->monitor.options.sigma;
    finding->level = level_of(s);
    finding->origin = has_followers(incident) && !is_drift(s);
    if (incident->ranks > 1 && incident->ranks == incident->ranks_all)
        finding->rank = -1;
    finding->metric = s->metric->name;
    finding->value = alarm->value;
    finding->baseline = alarm->center;
    finding->spread = alarm->spread;
    finding->deviation = alarm->deviation;
    finding->excess =
        isnan(alarm->deviation) ? alarm->value : alarm->deviation / sigma;
    finding->consequences = (int64_t)incident->consequences;
    finding->evidence = evidence_of(s, &row);
    finding->suggestion = suggestion_of(s);
    return TP_OK;
}

enum tp_status tp_rule_incidents(const struct tp_rule_input *input,
                                 const struct tp_rule *rule, bool nonfinite,
                                 struct tp_error *err)
{
    const struct tp_monitor *monitor = &input->run->monitor;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < monitor->incident_count && status == TP_OK; i++) {
        const struct tp_incident *incident = &monitor->incidents[i];
        const struct tp_alarm *alarm = &monitor->alarms[incident->origin];
        const struct story story = {input, incident, alarm,
                                    &monitor->series.series[alarm->series],
                                    &tp_series_metrics[alarm->metric]};
        if (alarm->nonfinite == nonfinite)
            status = tell(&story, rule, err);
    }
    return status;
}

enum tp_status tp_rule_onset(const struct tp_rule_input *input,
                             const struct tp_rule *rule, struct tp_error *err)
{
    return tp_rule_incidents(input, rule, false, err);
}
