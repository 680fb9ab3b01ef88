/* SPDX-License-Identifier: MIT */
/*
 * Where it started: one finding for each incident, and for each change that
 * stands alone.
 *
 * What is found is decided in src/incidents; here it gets its severity and its
 * words. High are NaN, Inf and a firm origin that others follow; a drift is
 * never more than medium, since training drifts. Ranks decide what is advised:
 * a change on one of several points to that rank, one on all of them to data
 * and code. Cost: O(members) an incident, and a look at all series for NaN and
 * Inf.
 */
#include <math.h>

#include "rules/onset_words.h"
#include "series/flow.h"

/* The row a finding is about: of the point, the first with NaN or Inf. What
 * has no rows of its own gets one with its labels. */
static struct tp_row row_of(const struct tp_onset *s)
{
    size_t count;
    const struct tp_series_set *set = &s->input->monitor->series;
    const struct tp_row *const *rows =
        tp_series_rows(set, s->series, s->alarm->point, &count);
    struct tp_row made = *s->series->row;
    made.label = s->series->label;
    made.label.iteration = s->alarm->iteration;
    made.file = "";
    if (count == 0)
        return made;
    for (size_t i = 0; i < count && s->alarm->nonfinite; i++) {
        if (tp_counts_nonfinite(&rows[i]->counts))
            return *rows[i];
    }
    return *rows[0];
}

/* What isolated changes are believed from: healthy runs of which one has such a
 * change, and binades. */
static const double BELIEVED = 1e-3, FACTOR_OF_TWO = 1;

/* Nothing but one number of one tensor. Where more than noise is at work, other
 * numbers of the tensor or other tensors tell of it, too. */
static bool is_isolated(const struct tp_onset *s)
{
    return s->incident->members == 1 && s->alarm->metrics == 1 &&
           !s->alarm->nonfinite && s->alarm->kind != TP_CHANGE_VANISH;
}

enum { LIGHT = 30 }; /* degrees of freedom of the lightest tails there are */

/* Spreads, at the onset or later. */
static double farthest(const struct tp_onset *s)
{
    return fmax(s->alarm->worst, s->alarm->deviation);
}

/* Degrees of freedom half way from the heaviest tails that a kind of series has
 * in the metric of an alarm to those of noise that is not known: tails are
 * measured with few errors. */
static int heaviest_tails(const struct tp_onset *s)
{
    const struct tp_monitor *monitor = s->input->monitor;
    const struct tp_kinds *kinds = &monitor->kinds;
    int heaviest = LIGHT;
    for (size_t i = 0; i < kinds->count && kinds->freedom; i++) {
        const int *side =
            kinds->freedom[i * TP_SERIES_METRICS + s->alarm->metric].side;
        for (int k = 0; k < 2; k++)
            heaviest = side[k] && side[k] < heaviest ? side[k] : heaviest;
    }
    return (heaviest + TP_TAILS_HEAVY) / 2;
}

/*
 * How many points as far off as the farthest one of a change noise is expected
 * to have in the whole run. The limit that found it rests on tails that are
 * measured with the kind of tensor; that is enough where others bear it out.
 */
static double expected_of(const struct tp_onset *s)
{
    double points = s->input->monitor->options.tests * (double)s->series->count;
    return points * exp(tp_chance_log(heaviest_tails(s), farthest(s)));
}

/* Whether a change that nothing else shows may be chance: as far as tails may
 * reach, or, where the spread of a number that stands still is no measure, less
 * than twice or half. */
static bool may_be_chance(const struct tp_onset *s)
{
    const struct tp_alarm *alarm = s->alarm;
    double spread = asinh(alarm->spread / alarm->center) / log(2);
    bool small = s->metric->scale == TP_BASELINE_LOG &&
                 farthest(s) * spread < FACTOR_OF_TWO;
    return is_isolated(s) && (small || expected_of(s) > BELIEVED);
}

/*
 * Whether the gradient grew, all of it that is saved on a rank: the weights
 * follow it, and no other tensor is there to tell.
 */
static bool is_whole_gradient(const struct tp_onset *s)
{
    const struct tp_series_set *set = &s->input->monitor->series;
    if (s->series->kind != TP_SERIES_TENSOR ||
        !tp_series_is_gradient(&s->series->label) ||
        !(s->alarm->value > s->alarm->center) || tp_onset_drifts(s))
        return false;
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_run_series *other = &set->series[i];
        if (other != s->series && other->kind == TP_SERIES_TENSOR &&
            other->label.rank == s->series->label.rank &&
            tp_series_is_gradient(&other->label) &&
            tp_series_compare_runs(other, s->series) == 0)
            return false;
    }
    return true;
}

static enum tp_severity level_of(const struct tp_onset *s)
{
    bool firm = s->incident->firm && !may_be_chance(s);
    bool followed = tp_incident_followed(s->incident);
    if (tp_onset_is_shared(s))
        return firm ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW;
    if (s->alarm->nonfinite || (followed && firm && !tp_onset_drifts(s)) ||
        (firm && is_whole_gradient(s)))
        return TP_SEVERITY_HIGH;
    return firm || (followed && !tp_onset_drifts(s)) ? TP_SEVERITY_MEDIUM
                                                     : TP_SEVERITY_LOW;
}

static enum tp_status add_finding(const struct tp_onset *s,
                                  const struct tp_rule *rule,
                                  struct tp_error *err)
{
    struct tp_finding *finding;
    struct tp_row row = row_of(s);
    if (tp_finding_add(s->input->findings, rule, &row, &finding, err) != TP_OK)
        return TP_E_MEMORY;
    const struct tp_incident *incident = s->incident;
    const struct tp_alarm *alarm = s->alarm;
    double sigma = s->input->monitor->options.sigma;
    finding->level = level_of(s);
    finding->origin = tp_incident_followed(incident) && !tp_onset_drifts(s);
    if (incident->ranks > 1 && incident->ranks == incident->ranks_all)
        finding->rank = -1;
    finding->metric = s->metric->name;
    finding->value = alarm->value;
    tp_onset_usual(s, &finding->baseline, &finding->spread);
    finding->deviation = alarm->deviation;
    finding->excess =
        isnan(alarm->deviation) ? alarm->value : alarm->deviation / sigma;
    finding->consequences = (int64_t)incident->consequences;
    tp_onset_tell(s, &row, finding);
    return TP_OK;
}

enum tp_status tp_rule_incidents(const struct tp_rule_input *input,
                                 const struct tp_rule *rule, bool nonfinite,
                                 struct tp_error *err)
{
    const struct tp_incidents *all = input->incidents;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < all->incident_count && status == TP_OK; i++) {
        const struct tp_incident *incident = &all->incidents[i];
        const struct tp_alarm *alarm = &all->alarms[incident->origin];
        const struct tp_onset onset = {input, incident, alarm,
                                       tp_alarm_series(all, incident->origin),
                                       &tp_series_metrics[alarm->metric]};
        if (alarm->nonfinite == nonfinite)
            status = add_finding(&onset, rule, err);
    }
    return status;
}

enum tp_status tp_rule_onset(const struct tp_rule_input *input,
                             const struct tp_rule *rule, struct tp_error *err)
{
    return tp_rule_incidents(input, rule, false, err);
}
