/* SPDX-License-Identifier: MIT */
/*
 * Which change caused which; the order of alarms is that of alarm.c.
 *
 * A change is *firm* when its series has points enough and does not merely
 * drift, or when there is a NaN or Inf that was not there before. A firm change
 * with another one on its rank in the same iteration, or up to the next after
 * it shows, begins an incident. Its origin is the first change of that
 * iteration in the data's flow, a weak one too: what follows bears it out.
 * Whatever changes in the same run until --alert_window iterations pass without
 * a further one is a consequence, if there is a way for it (may_follow); where
 * there is none, another incident may begin.
 *
 * Of what is left, firm incidents take what lies in their windows; weak changes
 * bear each other out when three of a rank come in one iteration; drifts that
 * begin within a window of each other are told as one, and so are changes of
 * one tensor on several ranks. All other alarms stand alone.
 */
#include "incidents/incident.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "incidents/alarm.h"

static bool same_run(const struct tp_monitor *monitor, size_t a, size_t b)
{
    return tp_series_compare_runs(tp_alarm_series(monitor, a),
                                  tp_alarm_series(monitor, b)) == 0;
}

/* Whether alarm `a` is of a tensor before that of `b`, when that happens. */
static bool is_upstream(const struct tp_monitor *monitor, size_t a, size_t b)
{
    return tp_series_upstream(&monitor->series, tp_alarm_series(monitor, a),
                              tp_alarm_series(monitor, b),
                              monitor->alarms[b].iteration);
}

static int64_t rank_of(const struct tp_monitor *monitor, size_t alarm)
{
    return tp_alarm_series(monitor, alarm)->label.rank;
}

/* The iteration that was saved after an alarm's. */
static int64_t next_saved(const struct tp_monitor *monitor,
                          const struct tp_alarm *alarm)
{
    const struct tp_run_series *series = &monitor->series.series[alarm->series];
    const int64_t *at = tp_series_at(&monitor->series, series);
    if (alarm->point + 1 < series->count)
        return at[alarm->point + 1];
    return alarm->iteration < INT64_MAX ? alarm->iteration + 1 : INT64_MAX;
}

static bool is_drift(const struct tp_alarm *alarm)
{
    return alarm->kind == TP_CHANGE_DRIFT;
}

static bool is_firm(const struct tp_monitor *monitor, size_t alarm)
{
    const struct tp_alarm *its = &monitor->alarms[alarm];
    return tp_alarm_of_tensor(monitor, alarm) && !its->weak &&
           its->kind != TP_CHANGE_DRIFT;
}

/* How many other tensors of the rank change when this one does, or up to
 * `later` iterations after it. Stops counting at `enough`. */
static size_t count_followers(const struct tp_monitor *monitor, size_t alarm,
                              int64_t later, size_t enough)
{
    const struct tp_alarm *its = &monitor->alarms[alarm];
    size_t first = alarm, count = 0;
    while (first > 0 && same_run(monitor, first - 1, alarm) &&
           monitor->alarms[first - 1].iteration == its->iteration)
        first--;
    for (size_t i = first; i < monitor->alarm_count && count < enough; i++) {
        const struct tp_alarm *next = &monitor->alarms[i];
        if (!same_run(monitor, i, alarm) ||
            next->iteration - its->iteration > later)
            break;
        count += i != alarm && tp_alarm_of_tensor(monitor, i) &&
                 next->incident == TP_NONE &&
                 tp_alarm_series(monitor, i)->label.rank ==
                     tp_alarm_series(monitor, alarm)->label.rank;
    }
    return count;
}

/* The first alarm of the firm one's time in the data's flow. */
static size_t find_origin(const struct tp_monitor *monitor, size_t firm)
{
    size_t origin = firm;
    for (size_t i = firm; i-- > 0 && same_run(monitor, i, firm);) {
        const struct tp_alarm *alarm = &monitor->alarms[i];
        if (alarm->iteration <= monitor->alarms[firm].after)
            break;
        if (alarm->incident == TP_NONE && tp_alarm_of_tensor(monitor, i) &&
            alarm->kind != TP_CHANGE_DRIFT)
            origin = i;
    }
    return origin;
}

static enum tp_status begin_incident(struct tp_monitor *monitor, size_t origin,
                                     struct tp_error *err)
{
    size_t count = monitor->incident_count;
    enum tp_status status =
        tp_grow(&monitor->incidents, &monitor->incident_capacity, count + 1,
                sizeof *monitor->incidents, err);
    if (status != TP_OK)
        return status;
    struct tp_alarm *alarm = &monitor->alarms[origin];
    monitor->incidents[monitor->incident_count++] =
        (struct tp_incident){.origin = origin,
                             .from = alarm->iteration,
                             .to = alarm->last,
                             .members = 1,
                             .firm = !alarm->weak};
    alarm->incident = count;
    return TP_OK;
}

static void join(struct tp_monitor *monitor, size_t number, size_t alarm)
{
    struct tp_incident *incident = &monitor->incidents[number];
    struct tp_alarm *its = &monitor->alarms[alarm];
    its->incident = number;
    incident->to = its->last > incident->to ? its->last : incident->to;
    incident->firm = incident->firm || !its->weak;
    incident->members++;
    incident->consequences += tp_alarm_of_tensor(monitor, alarm);
}

/* --- consequences ----------------------------------------------- */

/* What an incident has changed on one rank. */
struct front {
    int64_t rank;
    int64_t newest; /* iteration of its newest alarm                   */
    size_t lasting; /* of those that last longest the most upstream one */
};

/* An incident that spreads. */
struct spreading {
    struct tp_monitor *monitor;
    size_t number;
    int64_t learnt; /* iteration from which gradients or weights are off; where
                       none are saved nobody knows, and it is the first */
    struct front *fronts; /* in the order in which ranks were reached */
    size_t front_count, capacity;
};

static bool is_learnt(const struct tp_run_series *series)
{
    return !strcmp(series->label.operation, "backward") ||
           strstr(series->label.tensor_name, "weight");
}

/* Whether a run saved anything that learns. */
static bool saves_learning(const struct tp_monitor *monitor, size_t alarm)
{
    const struct tp_series_set *set = &monitor->series;
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_run_series *series = &set->series[i];
        if (series->kind == TP_SERIES_TENSOR && is_learnt(series) &&
            !tp_series_compare_runs(series, tp_alarm_series(monitor, alarm)))
            return true;
    }
    return false;
}

static struct front *find_front(const struct spreading *s, int64_t rank)
{
    for (size_t i = 0; i < s->front_count; i++) {
        if (s->fronts[i].rank == rank)
            return &s->fronts[i];
    }
    return NULL;
}

static enum tp_status advance(struct spreading *s, size_t alarm,
                              struct tp_error *err)
{
    const struct tp_monitor *monitor = s->monitor;
    const struct tp_alarm *its = &monitor->alarms[alarm];
    int64_t rank = rank_of(monitor, alarm);
    struct front *front = find_front(s, rank);
    if (!tp_alarm_of_tensor(monitor, alarm))
        return TP_OK;
    if (is_learnt(tp_alarm_series(monitor, alarm)) &&
        its->iteration < s->learnt)
        s->learnt = its->iteration;
    if (!front) {
        if (tp_grow(&s->fronts, &s->capacity, s->front_count + 1,
                    sizeof *s->fronts, err) != TP_OK)
            return TP_E_MEMORY;
        front = &s->fronts[s->front_count++];
        *front = (struct front){rank, its->iteration, alarm};
    }
    front->newest = its->iteration;
    int64_t last = monitor->alarms[front->lasting].last;
    if (its->last > last ||
        (its->last == last && is_upstream(monitor, alarm, front->lasting)))
        front->lasting = alarm;
    return TP_OK;
}

/* Whether the same tensor of another rank stayed as it was. */
static bool has_healthy_peer(const struct tp_monitor *monitor,
                             const struct tp_alarm *alarm)
{
    const struct tp_series_set *set = &monitor->series;
    int64_t soon = next_saved(monitor, alarm);
    size_t first, end;
    tp_alarm_place(monitor, alarm, &first, &end);
    for (size_t i = first; i < end; i++) {
        const struct tp_run_series *peer = &set->series[i];
        if (!tp_series_are_peers(peer, &set->series[alarm->series]) ||
            tp_series_at(set, peer)[peer->count - 1] < alarm->iteration)
            continue;
        size_t other = monitor->alarm_of[i];
        if ((other == TP_NONE || monitor->alarms[other].iteration > soon) &&
            !tp_alarm_moved(monitor, alarm, peer))
            return true;
    }
    return false;
}

/*
 * Whether an incident can have caused a later alarm. There are two ways. In one
 * iteration and rank, from a tensor that is still off to those after it. And
 * through the optimiser, once gradients or weights are off: to every tensor,
 * but of all ranks alike, since they share the weights; so not to a tensor that
 * is healthy elsewhere. In the incident's own iteration and the next, and for
 * sums over tensors, the answer is yes: ranks exchange data, too.
 */
static bool may_follow(const struct spreading *s, size_t alarm)
{
    const struct tp_monitor *monitor = s->monitor;
    const struct tp_alarm *its = &monitor->alarms[alarm];
    size_t origin = monitor->incidents[s->number].origin;
    if (!tp_alarm_of_tensor(monitor, alarm) ||
        its->iteration <= next_saved(monitor, &monitor->alarms[origin]))
        return true;
    const struct front *front = find_front(s, rank_of(monitor, alarm));
    if (front && (front->newest == its->iteration ||
                  (monitor->alarms[front->lasting].last >= its->iteration &&
                   is_upstream(monitor, front->lasting, alarm))))
        return true;
    return s->learnt < its->iteration && !has_healthy_peer(monitor, its);
}

/* From the origin on until the window passes without an alarm: what may follow
 * from it, or `all`; of a drift, only drifts. */
static enum tp_status spread(struct tp_monitor *monitor, size_t number,
                             bool all, struct tp_error *err)
{
    size_t origin = monitor->incidents[number].origin, i = origin + 1;
    int64_t window = (int64_t)monitor->options.alert_window;
    int64_t newest = monitor->alarms[origin].iteration;
    bool drifts = is_drift(&monitor->alarms[origin]);
    struct spreading s = {.monitor = monitor, .number = number};
    s.learnt = saves_learning(monitor, origin) ? INT64_MAX : INT64_MIN;
    enum tp_status status = all ? TP_OK : advance(&s, origin, err);
    while (i > 0 && same_run(monitor, i - 1, origin) &&
           monitor->alarms[i - 1].iteration == newest)
        i--;
    for (; i < monitor->alarm_count && same_run(monitor, i, origin) &&
           status == TP_OK;
         i++) {
        const struct tp_alarm *alarm = &monitor->alarms[i];
        if (alarm->iteration - newest > window)
            break;
        if (alarm->incident == number)
            newest = alarm->iteration;
        if (alarm->incident != TP_NONE || (drifts && !is_drift(alarm)) ||
            !(all || may_follow(&s, i)))
            continue;
        newest = alarm->iteration;
        join(monitor, number, i);
        if (!all)
            status = advance(&s, i, err);
    }
    free(s.fronts);
    return status;
}

/* --- incidents ----------------------------------------------- */

/* Iterations that a change takes to get beyond its limit. */
static int64_t until_shown(const struct tp_monitor *monitor, size_t alarm)
{
    const struct tp_alarm *its = &monitor->alarms[alarm];
    const struct tp_run_series *series = tp_alarm_series(monitor, alarm);
    int64_t shown = tp_series_at(&monitor->series, series)[its->shown];
    return shown > its->iteration ? shown - its->iteration : 0;
}

/* Which alarms begin an incident, in the order in which this is asked. */
static bool begins_firmly(const struct tp_monitor *monitor, size_t alarm)
{
    return is_firm(monitor, alarm) &&
           (monitor->alarms[alarm].nonfinite ||
            count_followers(monitor, alarm, until_shown(monitor, alarm) + 1,
                            1) > 0);
}

static bool begins_weakly(const struct tp_monitor *monitor, size_t alarm)
{
    return tp_alarm_of_tensor(monitor, alarm) && monitor->alarms[alarm].weak &&
           !is_drift(&monitor->alarms[alarm]) &&
           count_followers(monitor, alarm, 0, 2) == 2;
}

static bool begins_drifting(const struct tp_monitor *monitor, size_t alarm)
{
    return is_drift(&monitor->alarms[alarm]);
}

typedef bool begins(const struct tp_monitor *monitor, size_t alarm);

static enum tp_status group_by(struct tp_monitor *monitor, begins *does,
                               struct tp_error *err)
{
    bool firmly = does == begins_firmly;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < monitor->alarm_count && status == TP_OK; i++) {
        if (monitor->alarms[i].incident != TP_NONE || !does(monitor, i))
            continue;
        status =
            begin_incident(monitor, firmly ? find_origin(monitor, i) : i, err);
        if (status == TP_OK)
            status = spread(monitor, monitor->incident_count - 1, !firmly, err);
    }
    for (size_t i = 0; i < monitor->incident_count && firmly && status == TP_OK;
         i++)
        status = spread(monitor, i, true, err);
    return status;
}

static void add_peer(struct tp_monitor *monitor, size_t number, size_t alarm)
{
    monitor->incidents[number].alike = true;
    join(monitor, number, alarm);
}

/* The same change of the origin's tensor on other ranks, no later than in the
 * next iteration. */
static void join_peers(struct tp_monitor *monitor, size_t origin)
{
    const struct tp_series_set *set = &monitor->series;
    const struct tp_alarm *its = &monitor->alarms[origin];
    int64_t soon = next_saved(monitor, its);
    size_t first, end;
    tp_alarm_place(monitor, its, &first, &end);
    for (size_t i = first; i < end; i++) {
        size_t other = monitor->alarm_of[i];
        const struct tp_alarm *alarm = &monitor->alarms[other];
        if (other != TP_NONE && alarm->incident == TP_NONE &&
            alarm->iteration <= soon && alarm->metric == its->metric &&
            tp_series_are_peers(&set->series[i], &set->series[its->series]))
            add_peer(monitor, its->incident, other);
    }
}

static enum tp_status group_alarms(struct tp_monitor *monitor,
                                   struct tp_error *err)
{
    enum tp_status status = group_by(monitor, begins_firmly, err);
    if (status == TP_OK)
        status = group_by(monitor, begins_weakly, err);
    if (status == TP_OK)
        status = group_by(monitor, begins_drifting, err);
    for (size_t i = 0; i < monitor->alarm_count && status == TP_OK; i++) {
        if (monitor->alarms[i].incident != TP_NONE)
            continue;
        status = begin_incident(monitor, i, err);
        if (status == TP_OK)
            join_peers(monitor, i);
    }
    return status;
}

/* --- ranks ----------------------------------------------- */

/* Sorts numbers and counts the distinct ones. */
static size_t distinct(int64_t *numbers, size_t count)
{
    size_t found = 0;
    tp_sort_int64(numbers, count);
    for (size_t i = 0; i < count; i++)
        found += i == 0 || numbers[i] != numbers[i - 1];
    return found;
}

/* The alarms of each incident as a list, in the data's flow. */
static void link_members(struct tp_monitor *monitor)
{
    for (size_t i = 0; i < monitor->incident_count; i++)
        monitor->incidents[i].first = TP_NONE;
    for (size_t i = monitor->alarm_count; i-- > 0;) {
        struct tp_alarm *alarm = &monitor->alarms[i];
        struct tp_incident *incident = &monitor->incidents[alarm->incident];
        alarm->next = incident->first;
        incident->first = i;
    }
}

bool tp_alarm_at_origin(const struct tp_monitor *monitor, size_t alarm)
{
    const struct tp_alarm *its = &monitor->alarms[alarm];
    const struct tp_incident *incident = &monitor->incidents[its->incident];
    const struct tp_run_series *series = tp_alarm_series(monitor, alarm);
    const struct tp_run_series *origin =
        tp_alarm_series(monitor, incident->origin);
    return alarm == incident->origin ||
           (tp_series_are_peers(series, origin) &&
            (its->iteration == incident->from || incident->alike));
}

/* The ranks of the run that a series belongs to. `ranks` has room for one
 * per series. */
static size_t ranks_of_run(const struct tp_series_set *set,
                           const struct tp_run_series *series, int64_t *ranks)
{
    size_t n = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (tp_series_compare_runs(&set->series[i], series) == 0)
            ranks[n++] = set->series[i].label.rank;
    }
    return distinct(ranks, n);
}

/* Ranks with alarms of one incident that has several. */
static void count_ranks(struct tp_monitor *monitor, size_t number,
                        int64_t *ranks)
{
    struct tp_incident *incident = &monitor->incidents[number];
    const struct tp_alarm *alarms = monitor->alarms;
    size_t n = 0, hit = 0;
    for (size_t i = incident->first; i != TP_NONE; i = alarms[i].next)
        ranks[hit++] = rank_of(monitor, i);
    incident->ranks_hit = distinct(ranks, hit);
    for (size_t i = incident->first; i != TP_NONE; i = alarms[i].next) {
        if (tp_alarm_at_origin(monitor, i))
            ranks[n++] = rank_of(monitor, i);
    }
    incident->consequences -=
        tp_alarm_of_tensor(monitor, incident->origin) ? n - 1 : 0;
    incident->ranks = distinct(ranks, n);
}

static enum tp_status count_all_ranks(struct tp_monitor *monitor,
                                      struct tp_error *err)
{
    int64_t *ranks = calloc(monitor->series.count + 1, sizeof *ranks);
    const struct tp_run_series *known = NULL;
    size_t all = 0;
    if (!ranks)
        return tp_fail_memory(err);
    link_members(monitor);
    for (size_t i = 0; i < monitor->incident_count; i++) {
        struct tp_incident *incident = &monitor->incidents[i];
        const struct tp_run_series *origin =
            tp_alarm_series(monitor, incident->origin);
        if (!known || tp_series_compare_runs(known, origin) != 0)
            all = ranks_of_run(&monitor->series, origin, ranks);
        known = origin;
        incident->ranks_all = all;
        incident->ranks = incident->ranks_hit = 1;
        if (incident->members > 1)
            count_ranks(monitor, i, ranks);
    }
    free(ranks);
    return TP_OK;
}

bool tp_incident_followed(const struct tp_incident *incident)
{
    return incident->members > incident->ranks;
}

enum tp_status tp_incidents_make(struct tp_run *run, struct tp_error *err)
{
    struct tp_monitor *monitor = &run->monitor;
    enum tp_status status = tp_alarms_make(monitor, err);
    if (status == TP_OK)
        status = group_alarms(monitor, err);
    if (status == TP_OK)
        status = count_all_ranks(monitor, err);
    return status == TP_OK ? tp_incidents_excuse(run, err) : status;
}
