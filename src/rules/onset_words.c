/* SPDX-License-Identifier: MIT */
/*
 * The sentences of the onset rule: after the numbers of onset_change.c which of
 * several equal tensors it is, the ranks, what follows, and the first NaN or
 * Inf that it led to.
 *
 * The latter is looked for among the rows of all series that the incident
 * reached, not among alarms: one that had grown before its first NaN has the
 * alarm of its growth only. It ends where a NaN begins that nothing before
 * accounts for, since what follows may come from that. Cost: O(series) an
 * incident, and the points of those series.
 */
#include "rules/onset_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "series/flow.h"

/* Whether another rank moved at the same time, perhaps within its own limit. */
static bool peers_moved(const struct tp_onset *s)
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

static void add_rank_names(const struct tp_onset *s, struct tp_text *text)
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
    text->failed |= !ranks;
    free(ranks);
    tp_text_add(text, " %zu of %zu ranks at once", incident->ranks,
                incident->ranks_have);
}

static void add_ranks(const struct tp_onset *s, struct tp_text *text)
{
    const struct tp_incident *incident = s->incident;
    const size_t have = incident->ranks_have;
    if (have < 2)
        return;
    if (incident->ranks == have)
        tp_text_add(text, "; on all %zu ranks%s at once", have,
                    have < incident->ranks_all ? " that have it" : "");
    else if (incident->ranks > 1)
        add_rank_names(s, text);
    else if (peers_moved(s))
        tp_text_add(text, "; other ranks moved at the same time, too");
    else
        tp_text_add(text, "; on this rank only, of %zu", have);
}

static void add_followers(const struct tp_onset *s, struct tp_text *text)
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
static bool has_old_infinity(const struct tp_onset *s, size_t index)
{
    const struct tp_series_set *set = &s->input->monitor->series;
    const struct tp_run_series *series = &set->series[index];
    const int64_t *at = tp_series_at(set, series);
    if (series->kind != TP_SERIES_TENSOR || series == s->series ||
        s->input->incidents->alarm_of[index] != TP_NONE ||
        series->label.rank != s->series->label.rank ||
        tp_series_compare_runs(series, s->series) != 0)
        return false;
    size_t i = tp_series_point_at(set, series, s->alarm->iteration), count;
    if (i == series->count || at[i] != s->alarm->iteration)
        return false;
    const struct tp_row *const *rows = tp_series_rows(set, series, i, &count);
    return tp_counts_nonfinite(&rows[0]->counts) > 0 &&
           !tp_row_is_mask(rows[0]) &&
           tp_series_upstream(set, series, s->series, at[i]);
}

static void add_tensor(const struct tp_run_series *series, struct tp_text *text)
{
    const struct tp_label *label = &series->label;
    const char *const words[] = {label->layer_type, label->operation,
                                 label->phase, label->tensor_name};
    if (label->layer_idx >= 0)
        tp_text_add(text, "L%" PRId64, label->layer_idx);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (*words[i])
            tp_text_add(text, "%s%s", i || label->layer_idx >= 0 ? " " : "",
                        words[i]);
    }
    if (series->ordinal > 0)
        tp_text_add(text, " #%" PRId64, series->ordinal);
}

/* Such tensors. */
struct old_infinities {
    const struct tp_run_series *first; /* NULL: none */
    size_t count;
};

static struct old_infinities find_old_infinities(const struct tp_onset *s)
{
    const struct tp_series_set *set = &s->input->monitor->series;
    struct old_infinities old = {NULL, 0};
    for (size_t i = 0; i < set->count && s->alarm->nonfinite; i++) {
        const struct tp_run_series *series = &set->series[i];
        if (!has_old_infinity(s, i))
            continue;
        old.count++;
        if (!old.first ||
            tp_series_upstream(set, series, old.first, s->alarm->iteration))
            old.first = series;
    }
    return old;
}

static void add_old_infinities(const struct old_infinities *old,
                               struct tp_text *text)
{
    if (!old->first)
        return;
    tp_text_add(text, "; %zu tensor%s before it always had Inf, the first ",
                old->count, old->count == 1 ? "" : "s");
    add_tensor(old->first, text);
}

/* Whether a NaN or Inf of a series may come from the incident: it is a member,
 * or others follow the origin, it is on that rank and no other incident
 * accounts for it. */
static bool may_lead_to(const struct tp_onset *s, size_t index, int64_t at)
{
    const struct tp_incidents *all = s->input->incidents;
    const struct tp_run_series *series =
        &s->input->monitor->series.series[index];
    const struct tp_alarm *alarm = &all->alarms[all->alarm_of[index]];
    const struct tp_incident *other = &all->incidents[alarm->incident];
    int64_t window = (int64_t)s->input->monitor->options.alert_window;
    if (at < s->incident->from || at - s->incident->to > window)
        return false;
    return other == s->incident ||
           (tp_incident_followed(s->incident) && !alarm->nonfinite &&
            !tp_incident_followed(other) &&
            series->label.rank == s->series->label.rank &&
            tp_series_compare_runs(series, s->series) == 0);
}

/* The first NaN or Inf that the incident led to. */
struct first_bad {
    const struct tp_run_series *series; /* NULL: none */
    int64_t at;
};

/* The iteration from which a NaN or an Inf may come from another incident that
 * began with one, after this. */
static int64_t other_cause(const struct tp_onset *s)
{
    const struct tp_incidents *all = s->input->incidents;
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < all->incident_count; i++) {
        const struct tp_incident *other = &all->incidents[i];
        if (all->alarms[other->origin].nonfinite &&
            all->alarms[other->origin].apart &&
            other->from > s->incident->from && other->from < first &&
            !tp_series_compare_runs(tp_alarm_series(all, other->origin),
                                    s->series))
            first = other->from;
    }
    return first;
}

/* Whether a row comes before the first known one: by iteration, then on the
 * origin's rank, then in the data's flow. */
static bool is_before(const struct tp_onset *s,
                      const struct tp_run_series *series, int64_t at,
                      const struct first_bad *first)
{
    if (!first->series || at != first->at)
        return !first->series || at < first->at;
    int64_t origin = s->series->label.rank;
    bool own = series->label.rank == origin,
         other = first->series->label.rank == origin;
    if (own != other)
        return own;
    return series->label.rank == first->series->label.rank &&
           tp_series_upstream(&s->input->monitor->series, series, first->series,
                              at);
}

static void look_at(const struct tp_onset *s, size_t index,
                    struct first_bad *first)
{
    const struct tp_series_set *set = &s->input->monitor->series;
    const struct tp_run_series *series = &set->series[index];
    if (series->kind != TP_SERIES_TENSOR ||
        s->input->incidents->alarm_of[index] == TP_NONE)
        return; /* a NaN is an alarm */
    size_t point = tp_alarm_first_nonfinite(set, series);
    if (point == series->count)
        return;
    int64_t at = tp_series_at(set, series)[point];
    if (may_lead_to(s, index, at) && is_before(s, series, at, first))
        *first = (struct first_bad){series, at};
}

/* Among all series; where nothing follows, in the origin's. */
static struct first_bad find_first_nonfinite(const struct tp_onset *s)
{
    const struct tp_series_set *set = &s->input->monitor->series;
    struct first_bad first = {NULL, 0};
    if (!tp_incident_followed(s->incident))
        look_at(s, s->alarm->series, &first);
    for (size_t i = 0; i < set->count && tp_incident_followed(s->incident); i++)
        look_at(s, i, &first);
    if (first.series && first.at >= other_cause(s))
        first.series = NULL;
    return first;
}

static void add_first_nonfinite(const struct tp_onset *s, struct tp_text *text)
{
    const struct first_bad first = find_first_nonfinite(s);
    if (!first.series)
        return;
    tp_text_add(text, "; first NaN or Inf in iteration %" PRId64 ", ",
                first.at);
    if (first.series == s->series)
        tp_text_add(text, "in this tensor");
    else
        add_tensor(first.series, text);
    if (first.series->label.rank != s->series->label.rank)
        tp_text_add(text, " on rank %" PRId64, first.series->label.rank);
}

/* What the ratio of gradient norms says of the beginning, which it knows best:
 * that of the layer where it changed first on the origin's rank. */
static void add_ratio(const struct tp_onset *s, struct tp_text *text)
{
    const struct tp_incidents *all = s->input->incidents;
    size_t metric = tp_series_metric_by_name("layer_grad_ratio");
    int64_t shown =
        tp_series_at(&s->input->monitor->series, s->series)[s->alarm->shown];
    for (size_t i = s->incident->first; i != TP_NONE; i = all->alarms[i].next) {
        const struct tp_alarm *alarm = &all->alarms[i];
        const struct tp_label *label = &tp_alarm_series(all, i)->label;
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
static size_t tensors_of(const struct tp_onset *s,
                         const struct tp_run_series *series)
{
    const struct tp_monitor *monitor = s->input->monitor;
    return tp_kinds_members(&monitor->kinds, &monitor->series,
                            (size_t)(series - monitor->series.series));
}

/* What many tensors did together, each within its own noise. */
static void add_shared(const struct tp_onset *s, struct tp_text *text)
{
    const struct tp_incidents *all = s->input->incidents;
    for (size_t i = s->incident->first; i != TP_NONE; i = all->alarms[i].next) {
        const struct tp_alarm *alarm = &all->alarms[i];
        const struct tp_run_series *series = tp_alarm_series(all, i);
        if (series->kind != TP_SERIES_SHARED || alarm == s->alarm)
            continue;
        tp_text_add(text,
                    "; what %zu %s %s %s tensors share moved, too, in "
                    "iteration %" PRId64 ": mean %s %.4g against %.4g",
                    tensors_of(s, series), series->label.operation,
                    series->label.phase, series->label.tensor_name,
                    alarm->iteration, tp_series_metrics[alarm->metric].name,
                    alarm->value, alarm->center);
        return;
    }
}

/* Tensors that differ from a series in nothing but their ordinal. */
static int64_t count_equal(const struct tp_onset *s)
{
    const struct tp_series_set *set = &s->input->monitor->series;
    size_t first, end;
    int64_t count = 0;
    tp_alarm_place(s->input->incidents, s->alarm, &first, &end);
    for (size_t i = first; i < end; i++) {
        if (set->series[i].label.rank == s->series->label.rank &&
            set->series[i].ordinal >= count)
            count = set->series[i].ordinal + 1;
    }
    return count;
}

static void add_ordinal(int64_t number, struct tp_text *text)
{
    static const char *const words[] = {"first", "second", "third",   "fourth",
                                        "fifth", "sixth",  "seventh", "eighth"};
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    int64_t last = number % 10, teens = number % 100;
    if (number <= (int64_t)(sizeof words / sizeof *words))
        tp_text_add(text, "%s", words[number - 1]);
    else
        tp_text_add(
            text, "%" PRId64 "%s", number,
            endings[last <= 3 && (teens < 11 || teens > 13) ? last : 0]);
}

/* "third linear of 4 in layer 2 (forward, as saved), bfloat16 [8, 64]": what
 * its number means. */
static void add_which(const struct tp_onset *s, const struct tp_row *row,
                      struct tp_text *text)
{
    const struct tp_label *label = &s->series->label;
    int64_t count = s->series->kind == TP_SERIES_TENSOR ? count_equal(s) : 0;
    if (s->series->kind != TP_SERIES_TENSOR)
        return;
    tp_text_add(text, "; it is ");
    if (count > 1) {
        tp_text_add(text, "the ");
        add_ordinal(s->series->ordinal + 1, text);
        tp_text_add(text, " %s of %" PRId64,
                    *label->layer_type ? label->layer_type : "one", count);
        if (label->layer_idx >= 0)
            tp_text_add(text, " in layer %" PRId64, label->layer_idx);
        tp_text_add(text, " (%s%sin the order saved), ", label->operation,
                    *label->operation ? ", " : "");
    }
    tp_text_add(text, "%s %s", tp_row_dtype_word(row), row->shape);
}

/* What happened, where, and what followed. */
static const char *evidence_of(const struct tp_onset *s,
                               const struct tp_row *row,
                               const struct old_infinities *old)
{
    struct tp_text text = {0};
    if (tp_onset_is_shared(s))
        tp_text_add(&text, "mean of %zu tensors together: ",
                    tensors_of(s, s->series));
    tp_onset_add_change(s, row, &text);
    if (s->alarm->until > s->alarm->iteration)
        tp_text_add(&text, "; began after iteration %" PRId64 ", by %" PRId64,
                    s->alarm->after, s->alarm->until);
    else if (s->alarm->iteration - s->alarm->after > 1 && s->alarm->point > 0)
        tp_text_add(&text, "; began after iteration %" PRId64, s->alarm->after);
    add_ratio(s, &text);
    add_old_infinities(old, &text);
    add_ranks(s, &text);
    add_followers(s, &text);
    add_shared(s, &text);
    if (!s->alarm->nonfinite)
        add_first_nonfinite(s, &text);
    add_which(s, row, &text);
    return tp_finding_take(s->input->findings, &text);
}

static const char *where_to_look(const struct tp_onset *s)
{
    const struct tp_incident *incident = s->incident;
    if (incident->ranks_have < 2)
        return "";
    if (incident->ranks == incident->ranks_have || peers_moved(s))
        return "; it is not one rank's alone, so look at the data, the "
               "learning rate and the code before the hardware";
    return "; the other ranks were healthy then, so compare this tensor with "
           "theirs: hardware, memory and this rank's data come first";
}

/* The tensor of the rank that was saved last before the origin in its
 * iteration; NULL: it was the first one, or no counter tells. */
static const struct tp_run_series *saved_before(const struct tp_onset *s)
{
    const struct tp_series_set *set = &s->input->monitor->series;
    const struct tp_run_series *best = NULL;
    int64_t at = s->alarm->iteration, most = -1;
    int64_t own = tp_series_counter(set, s->series, s->alarm->point);
    for (size_t i = 0; i < set->count && own >= 0; i++) {
        const struct tp_run_series *series = &set->series[i];
        if (series->kind != TP_SERIES_TENSOR || series == s->series ||
            series->label.rank != s->series->label.rank ||
            tp_series_compare_runs(series, s->series) != 0)
            continue;
        size_t point = tp_series_point_at(set, series, at);
        if (point == series->count || tp_series_at(set, series)[point] != at)
            continue;
        int64_t counter = tp_series_counter(set, series, point);
        if (counter < own && counter > most) {
            most = counter;
            best = series;
        }
    }
    return best;
}

/* Between which two tensors to look. */
static const char *what_lies_before(const struct tp_onset *s, const char *ranks)
{
    const struct tp_run_series *before = saved_before(s);
    const struct tp_incidents *all = s->input->incidents;
    struct tp_text name = {0};
    if (before) {
        size_t alarm = all->alarm_of[before - s->input->monitor->series.series];
        if (alarm == TP_NONE ||
            all->alarms[alarm].iteration > s->alarm->iteration)
            add_tensor(before, &name);
    }
    const char *words = tp_finding_take(s->input->findings, &name);
    return *words
               ? tp_finding_text(s->input->findings,
                                 "the last tensor saved before it, %s, shows "
                                 "no change: look at what lies between the "
                                 "two%s",
                                 words, ranks)
               : tp_finding_text(s->input->findings,
                                 "nothing saved before it changed as clearly: "
                                 "look at the operation that makes this "
                                 "tensor%s",
                                 ranks);
}

/* Of a tensor of a checkpoint: what happened to it was not saved. */
static const char *what_steps_did(const struct tp_onset *s, const char *ranks)
{
    const struct tp_alarm *alarm = s->alarm;
    const bool gradient = s->series->label.roles &
                          (TP_ROLES_OF_MOMENTS | TP_ROLE_GRADIENT);
    const int64_t last =
        alarm->until > alarm->iteration ? alarm->until : alarm->iteration;
    struct tp_text steps = {0};
    if (alarm->point > 0)
        tp_text_add(&steps, "from %" PRId64 " to %" PRId64, alarm->after, last);
    else
        tp_text_add(&steps, "before %" PRId64, last);
    const char *where = tp_finding_take(s->input->findings, &steps);
    return tp_finding_text(
        s->input->findings,
        gradient ? "its gradients changed: look at the loss, the gradient norm "
                   "and the data of the steps %s%s"
                 : "look at the steps %s: gradient norm, learning rate, data; "
                   "a checkpoint between them tells more%s",
        where, ranks);
}

/* What to look at. */
static const char *suggestion_of(const struct tp_onset *s,
                                 const struct old_infinities *old)
{
    const struct tp_label *label = &s->series->label;
    const char *ranks = where_to_look(s);
    if (tp_onset_drifts(s))
        return "it moves slowly, beyond its trend: watch it, and look at what "
               "changed when it began";
    if (tp_onset_is_shared(s))
        return "none of these tensors changed as clearly alone: look at what "
               "all layers have in common, the batch of this iteration, the "
               "learning rate and the loss scale";
    if (s->series->kind != TP_SERIES_TENSOR)
        return "no tensor of the dump changed as clearly: save more of this "
               "layer around this iteration";
    if (!label->operation[0] &&
        label->roles & (TP_ROLE_WEIGHT | TP_ROLE_BIAS | TP_ROLES_OF_STATE))
        return what_steps_did(s, ranks);
    if (label->roles & TP_ROLE_WEIGHT)
        return tp_finding_text(
            s->input->findings,
            "look at the optimiser step before this iteration, and compare "
            "the weight with a checkpoint%s",
            ranks);
    if (old->first)
        return tp_finding_text(
            s->input->findings,
            "unless the Inf before it is a mask, it is the cause: look at the "
            "operation that makes the first tensor with one%s",
            ranks);
    return what_lies_before(s, ranks);
}

void tp_onset_tell(const struct tp_onset *s, const struct tp_row *row,
                   struct tp_finding *finding)
{
    const struct old_infinities old = find_old_infinities(s);
    finding->evidence = evidence_of(s, row, &old);
    finding->suggestion = suggestion_of(s, &old);
}
