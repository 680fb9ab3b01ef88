/* SPDX-License-Identifier: MIT */
/*
 * Which change caused which; the order of alarms is that of alarm.c.
 *
 * A change is *firm* when its series has points enough and does not merely
 * drift, or when there is a NaN or Inf that was not there before. A firm change
 * with another one on its rank in the same iteration, or up to the next after
 * it shows, begins an incident, and so does one that is still off when a NaN or
 * an Inf comes up behind it. Its origin is the first change of that
 * iteration in the data's flow, a weak one too: what follows bears it out.
 * Whatever changes in the same run until --alert_window iterations pass without
 * a further one is a consequence, if there is a way for it (may_follow); where
 * there is none, another incident may begin. So does a NaN or a far larger jump
 * that nothing before it accounts for (alarm_apart.c), and takes what is after.
 *
 * Dates are uncertain by an iteration. What is off by little before something
 * ahead of it jumps, an iteration later, is no origin; and what is dated just
 * before its origin may follow from it.
 *
 * Of what is left, firm incidents take what lies in their windows; weak changes
 * bear each other out when three of a rank come in one iteration; drifts that
 * begin within a window of each other are one incident, and so are changes of
 * one tensor on several ranks. All other alarms stand alone.
 */
#include "incidents/incident.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "series/flow.h"

static bool same_run(const struct tp_incidents *all, size_t a, size_t b)
{
    return tp_series_compare_runs(tp_alarm_series(all, a),
                                  tp_alarm_series(all, b)) == 0;
}

/* Whether alarm `a` is of a tensor before that of `b`, when that happens. */
static bool is_upstream(const struct tp_incidents *all, size_t a, size_t b)
{
    return tp_series_upstream(&all->monitor->series, tp_alarm_series(all, a),
                              tp_alarm_series(all, b),
                              all->alarms[b].iteration);
}

static int64_t rank_of(const struct tp_incidents *all, size_t alarm)
{
    return tp_alarm_series(all, alarm)->label.rank;
}

/* The iteration that was saved after an alarm's. */
static int64_t next_saved(const struct tp_incidents *all,
                          const struct tp_alarm *alarm)
{
    const struct tp_run_series *series =
        &all->monitor->series.series[alarm->series];
    const int64_t *at = tp_series_at(&all->monitor->series, series);
    if (alarm->point + 1 < series->count)
        return at[alarm->point + 1];
    return alarm->iteration < INT64_MAX ? alarm->iteration + 1 : INT64_MAX;
}

static bool is_drift(const struct tp_alarm *alarm)
{
    return alarm->kind == TP_CHANGE_DRIFT;
}

static bool is_firm(const struct tp_incidents *all, size_t alarm)
{
    const struct tp_alarm *its = &all->alarms[alarm];
    return tp_alarm_of_tensors(all, alarm) && !its->weak &&
           its->kind != TP_CHANGE_DRIFT;
}

static bool is_weight(const struct tp_run_series *series)
{
    return series->label.roles & TP_ROLE_WEIGHT;
}

/* How many other tensors of the rank change when this one does, or up to
 * `later` iterations after it; many that do so together count as one. Stops
 * counting at `enough`. */
static size_t count_followers(const struct tp_incidents *all, size_t alarm,
                              int64_t later, size_t enough)
{
    const struct tp_alarm *its = &all->alarms[alarm];
    size_t first = alarm, count = 0;
    while (first > 0 && same_run(all, first - 1, alarm) &&
           all->alarms[first - 1].iteration == its->iteration)
        first--;
    for (size_t i = first; i < all->alarm_count && count < enough; i++) {
        const struct tp_alarm *next = &all->alarms[i];
        if (!same_run(all, i, alarm) ||
            next->iteration - its->iteration > later)
            break;
        count += i != alarm && tp_alarm_of_tensors(all, i) &&
                 next->incident == TP_NONE &&
                 tp_alarm_series(all, i)->label.rank ==
                     tp_alarm_series(all, alarm)->label.rank;
    }
    return count;
}

/* Whether an alarm jumps in its iteration, farther than `times` as much as
 * another one. */
static bool jumps(const struct tp_alarm *alarm, const struct tp_alarm *than,
                  double times)
{
    return alarm->nonfinite ||
           (alarm->shown <= alarm->point && alarm->until <= alarm->iteration &&
            alarm->deviation > times * than->deviation);
}

/*
 * What a change is dated by may be chance: a value that is off by little, an
 * iteration before it is by far. Then something before it in the data's flow
 * jumps in the next iteration, much farther, and most other alarms of the rank
 * begin there, too. Not so with weights: they and their gradients are how one
 * iteration changes the next. Returns that cause, or the alarm itself.
 */
static size_t cause_of_early(const struct tp_incidents *all, size_t alarm)
{
    enum { FARTHER = 3, MORE = 2 };
    const struct tp_alarm *its = &all->alarms[alarm];
    int64_t soon = next_saved(all, its), rank = rank_of(all, alarm);
    size_t cause = alarm, early = 0, later = 0;
    if (its->nonfinite || is_weight(tp_alarm_series(all, alarm)))
        return alarm;
    for (size_t i = alarm; i < all->alarm_count && same_run(all, i, alarm) &&
                           all->alarms[i].iteration <= soon;
         i++) {
        const struct tp_alarm *other = &all->alarms[i];
        if (other->incident != TP_NONE || !tp_alarm_of_tensor(all, i) ||
            rank_of(all, i) != rank)
            continue;
        early += other->iteration == its->iteration;
        later += other->iteration == soon;
        if (cause == alarm && other->iteration == soon && is_firm(all, i) &&
            jumps(other, its, FARTHER) && is_upstream(all, i, alarm))
            cause = i;
    }
    return MORE * early <= later ? cause : alarm;
}

/* The first alarm of the firm one's time in the data's flow. */
static size_t find_origin(const struct tp_incidents *all, size_t firm)
{
    size_t origin = firm;
    for (size_t i = firm; i-- > 0 && same_run(all, i, firm);) {
        const struct tp_alarm *alarm = &all->alarms[i];
        if (alarm->iteration <= all->alarms[firm].after)
            break;
        if (alarm->incident == TP_NONE && tp_alarm_of_tensor(all, i) &&
            alarm->kind != TP_CHANGE_DRIFT)
            origin = i;
    }
    return cause_of_early(all, origin);
}

static enum tp_status begin_incident(struct tp_incidents *all, size_t origin,
                                     struct tp_error *err)
{
    size_t count = all->incident_count;
    enum tp_status status =
        tp_grow(&all->incidents, &all->incident_capacity, count + 1,
                sizeof *all->incidents, err);
    if (status != TP_OK)
        return status;
    struct tp_alarm *alarm = &all->alarms[origin];
    all->incidents[all->incident_count++] =
        (struct tp_incident){.origin = origin,
                             .from = alarm->iteration,
                             .to = alarm->last,
                             .members = 1,
                             .firm = !alarm->weak};
    alarm->incident = count;
    return TP_OK;
}

static void join(struct tp_incidents *all, size_t number, size_t alarm)
{
    struct tp_incident *incident = &all->incidents[number];
    struct tp_alarm *its = &all->alarms[alarm];
    its->incident = number;
    incident->to = its->last > incident->to ? its->last : incident->to;
    incident->firm = incident->firm || !its->weak;
    incident->members++;
    incident->consequences += tp_alarm_of_tensor(all, alarm);
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
    struct tp_incidents *all;
    size_t number;
    int64_t learnt; /* iteration from which gradients or weights are off, as
                       they are with any NaN or Inf; where none are saved
                       nobody knows, and it is the first */
    struct front *fronts; /* in the order in which ranks were reached */
    size_t front_count, capacity;
};

static bool is_learnt(const struct tp_run_series *series)
{
    return series->label.direction == TP_BACKWARD || is_weight(series);
}

/* Whether a run saved anything that learns. */
static bool saves_learning(const struct tp_incidents *all, size_t alarm)
{
    const struct tp_series_set *set = &all->monitor->series;
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_run_series *series = &set->series[i];
        if (series->kind == TP_SERIES_TENSOR && is_learnt(series) &&
            !tp_series_compare_runs(series, tp_alarm_series(all, alarm)))
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
    const struct tp_incidents *all = s->all;
    const struct tp_alarm *its = &all->alarms[alarm];
    int64_t rank = rank_of(all, alarm);
    struct front *front = find_front(s, rank);
    if (!tp_alarm_of_tensor(all, alarm))
        return TP_OK;
    if ((is_learnt(tp_alarm_series(all, alarm)) || its->nonfinite) &&
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
    int64_t last = all->alarms[front->lasting].last;
    if (its->last > last ||
        (its->last == last && is_upstream(all, alarm, front->lasting)))
        front->lasting = alarm;
    return TP_OK;
}

/* Whether the same tensor of another rank stayed as it was. */
static bool has_healthy_peer(const struct tp_incidents *all,
                             const struct tp_alarm *alarm)
{
    const struct tp_series_set *set = &all->monitor->series;
    int64_t soon = next_saved(all, alarm);
    size_t first, end;
    tp_alarm_place(all, alarm, &first, &end);
    for (size_t i = first; i < end; i++) {
        const struct tp_run_series *peer = &set->series[i];
        if (!tp_series_are_peers(peer, &set->series[alarm->series]) ||
            tp_series_at(set, peer)[peer->count - 1] < alarm->iteration)
            continue;
        size_t other = all->alarm_of[i];
        if ((other == TP_NONE || all->alarms[other].iteration > soon) &&
            !tp_alarm_moved(all, alarm, peer))
            return true;
    }
    return false;
}

/*
 * Whether an incident can have caused a later alarm. There are two ways. In one
 * iteration and rank, from a tensor that is still off to those after it. And
 * through the optimiser, once gradients or weights are off, which any NaN or
 * Inf makes them: to every tensor, but of all ranks alike, since they share the
 * weights; so not to a tensor that is healthy elsewhere. In the incident's own
 * iteration and the next, and for sums over tensors, the answer is yes: ranks
 * exchange data, too. Later, what nothing before it accounts for has another
 * cause.
 */
static bool may_follow(const struct spreading *s, size_t alarm)
{
    const struct tp_incidents *all = s->all;
    const struct tp_alarm *its = &all->alarms[alarm];
    size_t origin = all->incidents[s->number].origin;
    if (its->later)
        return its->iteration == all->alarms[origin].iteration;
    if (!tp_alarm_of_tensor(all, alarm) ||
        its->iteration <= next_saved(all, &all->alarms[origin]))
        return true;
    if (its->apart)
        return false;
    const struct front *front = find_front(s, rank_of(all, alarm));
    if (front && (front->newest == its->iteration ||
                  (all->alarms[front->lasting].last >= its->iteration &&
                   is_upstream(all, front->lasting, alarm))))
        return true;
    return s->learnt < its->iteration && !has_healthy_peer(all, its);
}

/*
 * What is dated an iteration before the origin and lies behind it in the data's
 * flow: an onset is uncertain by that much. A NaN is not; and gradients do come
 * before the weights that they change.
 */
static void join_early(struct tp_incidents *all, size_t number)
{
    size_t origin = all->incidents[number].origin;
    const struct tp_alarm *its = &all->alarms[origin];
    const struct tp_run_series *series = tp_alarm_series(all, origin);
    const int64_t *at = tp_series_at(&all->monitor->series, series);
    int64_t before = its->point > 0 ? at[its->point - 1] : its->iteration - 1;
    for (size_t i = origin; i-- > 0 && same_run(all, i, origin) &&
                            all->alarms[i].iteration >= before;) {
        const struct tp_run_series *other = tp_alarm_series(all, i);
        if (all->alarms[i].incident == TP_NONE && !all->alarms[i].nonfinite &&
            all->alarms[i].iteration < its->iteration &&
            other->label.rank == series->label.rank &&
            !(is_weight(series) && is_learnt(other)) &&
            (!tp_alarm_of_tensor(all, i) || is_upstream(all, origin, i)))
            join(all, number, i);
    }
}

/* From the origin on until the window passes without an alarm: what may follow
 * from it, or `any`; of a drift, only drifts. */
static enum tp_status spread(struct tp_incidents *all, size_t number,
                             bool any, struct tp_error *err)
{
    size_t origin = all->incidents[number].origin, i = origin + 1;
    int64_t window = (int64_t)all->monitor->options.alert_window;
    int64_t newest = all->alarms[origin].iteration;
    bool drifts = is_drift(&all->alarms[origin]);
    struct spreading s = {.all = all, .number = number};
    s.learnt = saves_learning(all, origin) ? INT64_MAX : INT64_MIN;
    enum tp_status status = any ? TP_OK : advance(&s, origin, err);
    while (i > 0 && same_run(all, i - 1, origin) &&
           all->alarms[i - 1].iteration == newest)
        i--;
    for (; i < all->alarm_count && same_run(all, i, origin) &&
           status == TP_OK;
         i++) {
        const struct tp_alarm *alarm = &all->alarms[i];
        if (alarm->iteration - newest > window)
            break;
        if (alarm->incident == number)
            newest = alarm->iteration;
        bool follows = (any && !alarm->apart) || may_follow(&s, i);
        if (alarm->incident == TP_NONE && alarm->apart && !follows && !any)
            break; /* what comes then may be a consequence of that */
        if (alarm->incident != TP_NONE || (drifts && !is_drift(alarm)) ||
            !follows)
            continue;
        newest = alarm->iteration;
        join(all, number, i);
        if (!any)
            status = advance(&s, i, err);
    }
    free(s.fronts);
    return status;
}

/* --- incidents ----------------------------------------------- */

/* Iterations that a change takes to get beyond its limit. */
static int64_t until_shown(const struct tp_incidents *all, size_t alarm)
{
    const struct tp_alarm *its = &all->alarms[alarm];
    const struct tp_run_series *series = tp_alarm_series(all, alarm);
    int64_t shown = tp_series_at(&all->monitor->series, series)[its->shown];
    return shown > its->iteration ? shown - its->iteration : 0;
}

/* Whether a tensor was still off when a NaN or an Inf came up behind it, which
 * a norm between the two may have put off until then. */
static bool ends_nonfinite(const struct tp_incidents *all, size_t alarm)
{
    const struct tp_alarm *its = &all->alarms[alarm];
    int64_t window = (int64_t)all->monitor->options.alert_window;
    for (size_t i = alarm + 1; i < all->alarm_count && same_run(all, i, alarm);
         i++) {
        const struct tp_alarm *later = &all->alarms[i];
        if (later->iteration > its->last ||
            later->iteration - its->iteration > window)
            return false;
        if (later->nonfinite && !later->apart && later->incident == TP_NONE &&
            rank_of(all, i) == rank_of(all, alarm) &&
            is_upstream(all, alarm, i))
            return true;
    }
    return false;
}

/* Which alarms begin an incident, in the order in which this is asked. */
static bool begins_firmly(const struct tp_incidents *all, size_t alarm)
{
    return is_firm(all, alarm) &&
           (all->alarms[alarm].nonfinite ||
            count_followers(all, alarm, until_shown(all, alarm) + 1,
                            1) > 0 ||
            ends_nonfinite(all, alarm));
}

static bool begins_weakly(const struct tp_incidents *all, size_t alarm)
{
    return tp_alarm_of_tensor(all, alarm) && all->alarms[alarm].weak &&
           !is_drift(&all->alarms[alarm]) &&
           count_followers(all, alarm, 0, 2) == 2;
}

static bool begins_drifting(const struct tp_incidents *all, size_t alarm)
{
    return is_drift(&all->alarms[alarm]);
}

typedef bool begins(const struct tp_incidents *all, size_t alarm);

static enum tp_status group_by(struct tp_incidents *all, begins *does,
                               struct tp_error *err)
{
    bool firmly = does == begins_firmly;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < all->alarm_count && status == TP_OK; i++) {
        if (all->alarms[i].incident != TP_NONE || !does(all, i))
            continue;
        status =
            begin_incident(all, firmly ? find_origin(all, i) : i, err);
        if (status == TP_OK && firmly)
            join_early(all, all->incident_count - 1);
        if (status == TP_OK)
            status = spread(all, all->incident_count - 1, !firmly, err);
    }
    for (size_t i = 0; i < all->incident_count && firmly && status == TP_OK;
         i++)
        status = spread(all, i, true, err);
    return status;
}

static void add_peer(struct tp_incidents *all, size_t number, size_t alarm)
{
    all->incidents[number].alike = true;
    join(all, number, alarm);
}

/* The same change of the origin's tensor on other ranks, no later than in the
 * next iteration. */
static void join_peers(struct tp_incidents *all, size_t origin)
{
    const struct tp_series_set *set = &all->monitor->series;
    const struct tp_alarm *its = &all->alarms[origin];
    int64_t soon = next_saved(all, its);
    size_t first, end;
    tp_alarm_place(all, its, &first, &end);
    for (size_t i = first; i < end; i++) {
        size_t other = all->alarm_of[i];
        const struct tp_alarm *alarm = &all->alarms[other];
        if (other != TP_NONE && alarm->incident == TP_NONE &&
            alarm->iteration <= soon && alarm->metric == its->metric &&
            tp_series_are_peers(&set->series[i], &set->series[its->series]))
            add_peer(all, its->incident, other);
    }
}

/* Sums that change with a lone alarm of their rank, no later than in the next
 * iteration, say the same again: they are not counted as members. */
static void join_sums(struct tp_incidents *all, size_t origin)
{
    const struct tp_alarm *its = &all->alarms[origin];
    int64_t soon = next_saved(all, its);
    for (size_t i = origin + 1; i < all->alarm_count; i++) {
        struct tp_alarm *sum = &all->alarms[i];
        struct tp_incident *incident = &all->incidents[its->incident];
        if (!same_run(all, i, origin) || sum->iteration > soon)
            break;
        if (sum->incident != TP_NONE || tp_alarm_of_tensor(all, i) ||
            rank_of(all, i) != rank_of(all, origin))
            continue;
        sum->incident = its->incident;
        incident->to = sum->last > incident->to ? sum->last : incident->to;
    }
}

static enum tp_status group_alarms(struct tp_incidents *all,
                                   struct tp_error *err)
{
    enum tp_status status = group_by(all, begins_firmly, err);
    if (status == TP_OK)
        status = group_by(all, begins_weakly, err);
    if (status == TP_OK)
        status = group_by(all, begins_drifting, err);
    for (size_t i = 0; i < all->alarm_count && status == TP_OK; i++) {
        if (all->alarms[i].incident != TP_NONE)
            continue;
        status = begin_incident(all, i, err);
        if (status != TP_OK)
            break;
        join_peers(all, i);
        join_sums(all, i);
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
static void link_members(struct tp_incidents *all)
{
    for (size_t i = 0; i < all->incident_count; i++)
        all->incidents[i].first = TP_NONE;
    for (size_t i = all->alarm_count; i-- > 0;) {
        struct tp_alarm *alarm = &all->alarms[i];
        struct tp_incident *incident = &all->incidents[alarm->incident];
        alarm->next = incident->first;
        incident->first = i;
    }
}

bool tp_alarm_at_origin(const struct tp_incidents *all, size_t alarm)
{
    const struct tp_alarm *its = &all->alarms[alarm];
    const struct tp_incident *incident = &all->incidents[its->incident];
    const struct tp_run_series *series = tp_alarm_series(all, alarm);
    const struct tp_run_series *origin =
        tp_alarm_series(all, incident->origin);
    return alarm == incident->origin ||
           (tp_series_are_peers(series, origin) &&
            (its->iteration == incident->from || incident->alike));
}

/* The ranks of the run that a series belongs to; what is whole has none.
 * `ranks` has room for one per series. */
static size_t ranks_of_run(const struct tp_series_set *set,
                           const struct tp_run_series *series, int64_t *ranks)
{
    size_t n = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (set->series[i].label.rank >= 0 &&
            tp_series_compare_runs(&set->series[i], series) == 0)
            ranks[n++] = set->series[i].label.rank;
    }
    return distinct(ranks, n);
}

/* The ranks that have what an alarm is of: each rank has its own part of a
 * model, or of a state. */
static size_t ranks_with(const struct tp_incidents *all,
                         const struct tp_alarm *alarm, int64_t *ranks)
{
    const struct tp_run_series *series = all->monitor->series.series;
    const struct tp_run_series *own = &series[alarm->series];
    size_t first, end, n = 0;
    if (own->label.rank < 0)
        return 0;
    tp_alarm_place(all, alarm, &first, &end);
    for (size_t i = first; i < end; i++) {
        if (series[i].label.rank >= 0 &&
            (i == alarm->series || tp_series_are_peers(&series[i], own)))
            ranks[n++] = series[i].label.rank;
    }
    return distinct(ranks, n);
}

/* Ranks with alarms of one incident that has several. */
static void count_ranks(struct tp_incidents *all, size_t number,
                        int64_t *ranks)
{
    struct tp_incident *incident = &all->incidents[number];
    const struct tp_alarm *alarms = all->alarms;
    size_t n = 0, hit = 0;
    for (size_t i = incident->first; i != TP_NONE; i = alarms[i].next)
        ranks[hit++] = rank_of(all, i);
    incident->ranks_hit = distinct(ranks, hit);
    for (size_t i = incident->first; i != TP_NONE; i = alarms[i].next) {
        if (tp_alarm_at_origin(all, i))
            ranks[n++] = rank_of(all, i);
    }
    incident->consequences -=
        tp_alarm_of_tensor(all, incident->origin) ? n - 1 : 0;
    incident->ranks = distinct(ranks, n);
}

static enum tp_status count_all_ranks(struct tp_incidents *all,
                                      struct tp_error *err)
{
    int64_t *ranks = calloc(all->monitor->series.count + 1, sizeof *ranks);
    const struct tp_run_series *known = NULL;
    size_t ranks_all = 0;
    if (!ranks)
        return tp_fail_memory(err);
    link_members(all);
    for (size_t i = 0; i < all->incident_count; i++) {
        struct tp_incident *incident = &all->incidents[i];
        const struct tp_run_series *origin =
            tp_alarm_series(all, incident->origin);
        if (!known || tp_series_compare_runs(known, origin) != 0)
            ranks_all = ranks_of_run(&all->monitor->series, origin, ranks);
        known = origin;
        incident->ranks_all = ranks_all;
        incident->ranks_have =
            ranks_with(all, &all->alarms[incident->origin], ranks);
        incident->ranks = incident->ranks_hit = 1;
        if (incident->members > 1)
            count_ranks(all, i, ranks);
    }
    free(ranks);
    return TP_OK;
}

bool tp_incident_followed(const struct tp_incident *incident)
{
    return incident->members > incident->ranks;
}

enum tp_status tp_incidents_group(struct tp_incidents *all,
                                  struct tp_error *err)
{
    enum tp_status status = group_alarms(all, err);
    return status == TP_OK ? count_all_ranks(all, err) : status;
}
