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
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/text.h"
#include "rules/rules.h"
#include "series/flow.h"

/* An incident with what is said of it at hand. */
struct onset {
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
static struct tp_row row_of(const struct onset *s)
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
        if (bad_elements(rows[i]))
            return *rows[i];
    }
    return *rows[0];
}

static bool is_drift(const struct onset *s)
{
    return s->alarm->kind == TP_CHANGE_DRIFT;
}

/* Of what no tensor shows alone nothing is high. */
static bool is_shared(const struct onset *s)
{
    return s->series->kind == TP_SERIES_SHARED;
}

/* What isolated changes are believed from: healthy runs of which one has such a
 * change, and binades. */
static const double BELIEVED = 1e-3, FACTOR_OF_TWO = 1;

/* Nothing but one number of one tensor. Where more than noise is at work, other
 * numbers of the tensor or other tensors tell of it, too. */
static bool is_isolated(const struct onset *s)
{
    return s->incident->members == 1 && s->alarm->metrics == 1 &&
           !s->alarm->nonfinite && s->alarm->kind != TP_CHANGE_VANISH;
}

enum { LIGHT = 30 }; /* degrees of freedom of the lightest tails there are */

/* Spreads, at the onset or later. */
static double farthest(const struct onset *s)
{
    return fmax(s->alarm->worst, s->alarm->deviation);
}

/* Degrees of freedom half way from the heaviest tails that a kind of series has
 * in the metric of an alarm to those of noise that is not known: tails are
 * measured with few errors. */
static int heaviest_tails(const struct onset *s)
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
static double expected_of(const struct onset *s)
{
    double points = s->input->monitor->options.tests * (double)s->series->count;
    return points * exp(tp_chance_log(heaviest_tails(s), farthest(s)));
}

/* Whether a change that nothing else shows may be chance: as far as tails may
 * reach, or, where the spread of a number that stands still is no measure, less
 * than twice or half. */
static bool may_be_chance(const struct onset *s)
{
    const struct tp_alarm *alarm = s->alarm;
    double spread = asinh(alarm->spread / alarm->center) / log(2);
    bool small = s->metric->scale == TP_BASELINE_LOG &&
                 farthest(s) * spread < FACTOR_OF_TWO;
    return is_isolated(s) && (small || expected_of(s) > BELIEVED);
}

static enum tp_severity level_of(const struct onset *s)
{
    bool firm = s->incident->firm && !may_be_chance(s);
    bool followed = tp_incident_followed(s->incident);
    if (is_shared(s))
        return firm ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW;
    if (s->alarm->nonfinite || (followed && firm && !is_drift(s)))
        return TP_SEVERITY_HIGH;
    return firm || (followed && !is_drift(s)) ? TP_SEVERITY_MEDIUM
                                              : TP_SEVERITY_LOW;
}

/* How far off at the onset and, where that is clearly more, at the worst point.
 * What grows slowly begins within its own spread: there the latter counts. */
static void add_deviation(const struct onset *s, struct tp_text *text)
{
    const struct tp_alarm *alarm = s->alarm;
    const struct tp_baseline_options *options = &s->input->monitor->options;
    bool log = s->metric->scale == TP_BASELINE_LOG;
    const char *of = log ? " of its logarithm" : "";
    bool more = isfinite(alarm->worst) && alarm->worst > 1.5 * alarm->deviation;
    tp_text_add(text, ", spread %.2g: a %s by ", alarm->spread,
                tp_change_name(alarm->kind));
    if (more && alarm->deviation < options->sigma)
        tp_text_add(text, "up to %.3g sigma%s", alarm->worst, of);
    else
        tp_text_add(text, "%.3g sigma%s", alarm->deviation, of);
    if (more && alarm->deviation >= options->sigma)
        tp_text_add(text, ", later by %.3g", alarm->worst);
}

/* The value that is off; where a change grows, when it is beyond its limit. */
static void add_value(const struct onset *s, struct tp_text *text)
{
    const struct tp_alarm *alarm = s->alarm;
    const struct tp_series_set *set = &s->input->monitor->series;
    size_t at = alarm->shown > alarm->point ? alarm->shown : alarm->point;
    tp_text_add(text, "%s %.4g", s->metric->name,
                tp_series_values(set, s->series, alarm->metric)[at]);
    if (at > alarm->point)
        tp_text_add(text, " in iteration %" PRId64,
                    tp_series_at(set, s->series)[at]);
    tp_text_add(text, " against %.4g", alarm->center);
}

static void add_change(const struct onset *s, const struct tp_row *row,
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
        add_value(s, text);
        if (alarm->kind == TP_CHANGE_VANISH)
            tp_text_add(text, ": it vanished");
        else if (isfinite(alarm->deviation))
            add_deviation(s, text);
        if (alarm->weak)
            tp_text_add(text, ", from few iterations");
    }
    if (alarm->metrics > 1)
        tp_text_add(text, ", and %zu other metric%s of it", alarm->metrics - 1,
                    alarm->metrics == 2 ? "" : "s");
}

/* Whether another rank moved at the same time, perhaps within its own limit. */
static bool peers_moved(const struct onset *s)
{
    const struct tp_series_set *set = &s->input->monitor->series;
    size_t first, end;
    tp_alarm_place(s->input->incidents, s->alarm, &first, &end);
    for (size_t i = first; i < end; i++) {
        const struct tp_run_series *peer = &set->series[i];
        if (tp_series_are_peers(peer, s->series) &&
            tp_alarm_moved(s->input->incidents, s->alarm, peer))
            return true;
    }
    return false;
}

/* "ranks 0 to 3, 6 of 8": each span of an ascending list; of many, the first.
 */
static void add_spans(const int64_t *ranks, size_t count, struct tp_text *text)
{
    enum { SPANS = 8 };
    size_t spans = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && ranks[end] <= ranks[end - 1] + 1;)
            end++;
        if (spans++ == SPANS) {
            tp_text_add(text, " ...");
            return;
        }
        tp_text_add(text, "%s%" PRId64, i ? ", " : " ", ranks[i]);
        if (ranks[end - 1] > ranks[i])
            tp_text_add(text, " %s %" PRId64,
                        ranks[end - 1] > ranks[i] + 1 ? "to" : "and",
                        ranks[end - 1]);
    }
}

static void add_rank_names(const struct onset *s, struct tp_text *text)
{
    const struct tp_incidents *all = s->input->incidents;
    const struct tp_incident *incident = s->incident;
    int64_t *ranks = calloc(incident->members, sizeof *ranks);
    size_t count = 0;
    tp_text_add(text, "; on");
    for (size_t i = incident->first; i != TP_NONE && ranks;
         i = all->alarms[i].next) {
        if (tp_alarm_at_origin(all, i))
            ranks[count++] = tp_alarm_series(all, i)->label.rank;
    }
    if (ranks) {
        tp_sort_int64(ranks, count);
        tp_text_add(text, " ranks");
        add_spans(ranks, count, text);
        tp_text_add(text, ",");
    }
    free(ranks);
    tp_text_add(text, " %zu of %zu ranks at once", incident->ranks,
                incident->ranks_all);
}

static void add_ranks(const struct onset *s, struct tp_text *text)
{
    const struct tp_incident *incident = s->incident;
    if (incident->ranks_all < 2)
        return;
    if (incident->ranks == incident->ranks_all)
        tp_text_add(text, "; on all %zu ranks at once", incident->ranks);
    else if (incident->ranks > 1)
        add_rank_names(s, text);
    else if (peers_moved(s))
        tp_text_add(text, "; other ranks moved at the same time, too");
    else
        tp_text_add(text, "; on this rank only, of %zu", incident->ranks_all);
}

static void add_followers(const struct onset *s, struct tp_text *text)
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

/* Whether a tensor before the origin has Inf, too, then and always: it may be a
 * mask, or where the NaN comes from. */
static bool has_old_infinity(const struct onset *s, size_t index)
{
    const struct tp_series_set *set = &s->input->monitor->series;
    const struct tp_run_series *series = &set->series[index];
    const int64_t *at = tp_series_at(set, series);
    size_t i = 0, count;
    if (series->kind != TP_SERIES_TENSOR || series == s->series ||
        s->input->incidents->alarm_of[index] != TP_NONE ||
        series->label.rank != s->series->label.rank ||
        tp_series_compare_runs(series, s->series) != 0)
        return false;
    while (i < series->count && at[i] < s->alarm->iteration)
        i++;
    if (i == series->count || at[i] != s->alarm->iteration)
        return false;
    const struct tp_row *const *rows = tp_series_rows(set, series, i, &count);
    return bad_elements(rows[0]) > 0 &&
           tp_series_upstream(set, series, s->series, at[i]);
}

static void add_tensor(const struct tp_label *label, struct tp_text *text)
{
    if (label->layer_idx >= 0)
        tp_text_add(text, "L%" PRId64 " ", label->layer_idx);
    tp_text_add(text, "%s %s %s %s", label->layer_type, label->operation,
                label->phase, label->tensor_name);
}

/* The first of such tensors; NULL: none. */
static const struct tp_run_series *find_old_infinity(const struct onset *s,
                                                     size_t *count)
{
    const struct tp_series_set *set = &s->input->monitor->series;
    const struct tp_run_series *first = NULL;
    *count = 0;
    for (size_t i = 0; i < set->count && s->alarm->nonfinite; i++) {
        const struct tp_run_series *series = &set->series[i];
        if (!has_old_infinity(s, i))
            continue;
        ++*count;
        if (!first ||
            tp_series_upstream(set, series, first, s->alarm->iteration))
            first = series;
    }
    return first;
}

static void add_old_infinities(const struct onset *s, struct tp_text *text)
{
    size_t count;
    const struct tp_run_series *first = find_old_infinity(s, &count);
    if (!first)
        return;
    tp_text_add(text, "; %zu tensor%s before it always had Inf, the first ",
                count, count == 1 ? "" : "s");
    add_tensor(&first->label, text);
}

/* The first NaN or Inf that the incident led to. */
static void add_first_nonfinite(const struct onset *s, struct tp_text *text)
{
    const struct tp_incidents *all = s->input->incidents;
    for (size_t i = s->incident->first; i != TP_NONE;
         i = all->alarms[i].next) {
        const struct tp_alarm *alarm = &all->alarms[i];
        if (!alarm->nonfinite || s->alarm->nonfinite)
            continue;
        const struct tp_label *label =
            &tp_alarm_series(all, i)->label;
        tp_text_add(text, "; first NaN or Inf in iteration %" PRId64 ", ",
                    alarm->iteration);
        add_tensor(label, text);
        return;
    }
}

/* What the ratio of gradient norms says of the beginning, which it knows best:
 * that of the layer where it changed first on the origin's rank. */
static void add_ratio(const struct onset *s, struct tp_text *text)
{
    const struct tp_incidents *all = s->input->incidents;
    size_t metric = tp_series_metric_by_name("layer_grad_ratio");
    int64_t shown =
        tp_series_at(&s->input->monitor->series, s->series)[s->alarm->shown];
    for (size_t i = s->incident->first; i != TP_NONE;
         i = all->alarms[i].next) {
        const struct tp_alarm *alarm = &all->alarms[i];
        const struct tp_label *label =
            &tp_alarm_series(all, i)->label;
        if (alarm->metric != metric || alarm == s->alarm ||
            alarm->iteration > shown || label->rank != s->series->label.rank)
            continue;
        tp_text_add(text,
                    "; %s of layer %" PRId64 " left %.4g in iteration %" PRId64,
                    tp_series_metrics[metric].name, label->layer_idx,
                    alarm->center, alarm->iteration);
        return;
    }
}

/* How many tensors a series stands for. */
static size_t tensors_of(const struct onset *s,
                         const struct tp_run_series *series)
{
    const struct tp_monitor *monitor = s->input->monitor;
    return tp_kinds_members(&monitor->kinds, &monitor->series,
                            (size_t)(series - monitor->series.series));
}

/* What many tensors did together, each within its own noise. */
static void add_shared(const struct onset *s, struct tp_text *text)
{
    const struct tp_incidents *all = s->input->incidents;
    for (size_t i = s->incident->first; i != TP_NONE;
         i = all->alarms[i].next) {
        const struct tp_alarm *alarm = &all->alarms[i];
        const struct tp_run_series *series = tp_alarm_series(all, i);
        if (series->kind != TP_SERIES_SHARED || alarm == s->alarm)
            continue;
        tp_text_add(text,
                    "; what %zu %s %s %s tensors share moved, too, in "
                    "iteration "
                    "%" PRId64 ": mean %s %.4g against %.4g",
                    tensors_of(s, series), series->label.operation,
                    series->label.phase, series->label.tensor_name,
                    alarm->iteration, tp_series_metrics[alarm->metric].name,
                    alarm->value, alarm->center);
        return;
    }
}

static const char *evidence_of(const struct onset *s, const struct tp_row *row)
{
    struct tp_text text = {0};
    if (is_shared(s))
        tp_text_add(&text, "mean of %zu tensors together: ",
                    tensors_of(s, s->series));
    add_change(s, row, &text);
    if (s->alarm->until > s->alarm->iteration)
        tp_text_add(&text, "; began after iteration %" PRId64 ", by %" PRId64,
                    s->alarm->after, s->alarm->until);
    else if (s->alarm->iteration - s->alarm->after > 1 && s->alarm->point > 0)
        tp_text_add(&text, "; began after iteration %" PRId64, s->alarm->after);
    add_ratio(s, &text);
    add_old_infinities(s, &text);
    add_ranks(s, &text);
    add_followers(s, &text);
    add_shared(s, &text);
    if (tp_incident_followed(s->incident))
        add_first_nonfinite(s, &text);
    const char *evidence =
        tp_finding_text(s->input->findings, "%s", tp_text_get(&text));
    tp_text_clear(&text);
    return evidence;
}

static const char *where_to_look(const struct onset *s)
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

static const char *suggestion_of(const struct onset *s)
{
    const struct tp_label *label = &s->series->label;
    const char *ranks = where_to_look(s);
    if (is_drift(s))
        return "it moves slowly, beyond its trend: watch it, and look at what "
               "changed when it began";
    if (is_shared(s))
        return "none of these tensors changed as clearly alone: look at what "
               "all layers have in common, the batch of this iteration, the "
               "learning rate and the loss scale";
    if (s->series->kind != TP_SERIES_TENSOR)
        return "no tensor of the dump changed as clearly: save more of this "
               "layer around this iteration";
    if (label->roles & TP_ROLE_WEIGHT)
        return tp_finding_text(
            s->input->findings,
            "look at the optimiser step before this iteration, and compare "
            "the weight with a checkpoint%s",
            ranks);
    size_t count;
    if (find_old_infinity(s, &count))
        return tp_finding_text(
            s->input->findings,
            "unless the Inf before it is a mask, it is the cause: look at the "
            "operation that makes the first tensor with one%s",
            ranks);
    return tp_finding_text(
        s->input->findings,
        "nothing saved before it changed as clearly: look at the operation "
        "that makes this tensor%s",
        ranks);
}

static enum tp_status add_finding(const struct onset *s,
                                  const struct tp_rule *rule,
                                  struct tp_error *err)
{
    struct tp_finding *finding;
    struct tp_row row = row_of(s);
    if (tp_finding_add(s->input->findings, rule, &row, &finding, err) !=
        TP_OK)
        return TP_E_MEMORY;
    const struct tp_incident *incident = s->incident;
    const struct tp_alarm *alarm = s->alarm;
    double sigma = s->input->monitor->options.sigma;
    finding->level = level_of(s);
    finding->origin = tp_incident_followed(incident) && !is_drift(s);
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
    const struct tp_incidents *all = input->incidents;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < all->incident_count && status == TP_OK; i++) {
        const struct tp_incident *incident = &all->incidents[i];
        const struct tp_alarm *alarm = &all->alarms[incident->origin];
        const struct onset onset = {input, incident, alarm,
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
