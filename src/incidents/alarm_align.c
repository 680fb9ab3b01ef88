/* SPDX-License-Identifier: MIT */
/*
 * Alarms that may have begun together. Of a change that grows, every tensor
 * tells the beginning within some iterations only, one this, the next that.
 * What grows flows on within an iteration, so alarms of one rank, all forward
 * or all backward, begin with the sharpest one that their spans allow: the
 * nearest leader. A leader is the sharpest alarm whose span holds no leader
 * found before; of several that are equally sharp, the median one.
 *
 * Before that, sums over a layer's gradients give these their dates. The ratio
 * of a layer's norm to the next one's is free of what both have in common, so
 * it may show a growth early and firmly that in the tensor itself is a vague
 * drift. After it, the same is done with one tensor on several ranks, but only
 * where each has the other's iteration in its span: one rank may lead the
 * others by an iteration, which is not to be lost.
 */
#include "incidents/alarm_align.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"
#include "series/flow.h"

/* An alarm with what it is sorted by. */
struct member {
    struct tp_alarm *alarm;
    const struct tp_run_series *series;
    bool covered; /* its span holds the iteration of a leader */
};

/* Iterations in which an alarm may have begun. */
static int64_t width_of(const struct member *member)
{
    return member->alarm->until - member->alarm->after;
}

static bool spans(const struct member *member, int64_t iteration)
{
    return member->alarm->after < iteration &&
           iteration <= member->alarm->until;
}

/* Run, rank and direction: within those an iteration flows on. */
static int compare_flows(const struct member *a, const struct member *b)
{
    int result = tp_series_compare_runs(a->series, b->series);
    if (!result)
        result = tp_order_int64(a->series->label.rank, b->series->label.rank);
    return result
               ? result
               : strcmp(a->series->label.operation, b->series->label.operation);
}

static int compare_numbers(const struct member *a, const struct member *b)
{
    return tp_order_place(a->series, b->series);
}

/* The sharpest first. */
static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    int result = compare_flows(a, b);
    if (!result)
        result = tp_order_int64(width_of(a), width_of(b));
    if (!result)
        result = tp_order_int64(a->alarm->iteration, b->alarm->iteration);
    return result ? result : compare_numbers(a, b);
}

static int compare_series(const void *left, const void *right)
{
    return compare_numbers(left, right);
}

/* Run, rank and layer, sums last. */
static int compare_layers(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    int result = tp_series_compare_runs(a->series, b->series);
    if (!result)
        result = tp_order_int64(a->series->label.rank, b->series->label.rank);
    if (!result)
        result = tp_order_int64(a->series->label.layer_idx,
                                b->series->label.layer_idx);
    return result ? result : compare_numbers(a, b);
}

/* Moves an alarm to an iteration of its span, or to the next that its series
 * has in it. */
static void move(const struct tp_series_set *set, const struct member *member,
                 int64_t iteration)
{
    struct tp_alarm *alarm = member->alarm;
    const int64_t *at = tp_series_at(set, member->series);
    size_t i = tp_series_point_at(set, member->series, iteration);
    if (i == alarm->point || i == member->series->count ||
        !spans(member, at[i]))
        return;
    alarm->point = i;
    alarm->iteration = at[i];
    alarm->value = tp_series_values(set, member->series, alarm->metric)[i];
    alarm->deviation =
        tp_baseline_deviation(tp_series_metrics[alarm->metric].scale,
                              alarm->value, alarm->center, alarm->spread);
}

/* --- flows ----------------------------------------------- */

/* Of the members whose spans hold no leader's iteration yet, the sharpest. */
static const struct member *find_leader(const struct member *members,
                                        size_t count)
{
    size_t first = 0, equal = 0, middle;
    while (first < count && members[first].covered)
        first++;
    for (size_t i = first; i < count; i++)
        equal += !members[i].covered &&
                 width_of(&members[i]) == width_of(&members[first]);
    if (equal == 0)
        return NULL;
    middle = (equal - 1) / 2;
    while (members[first].covered || middle-- > 0)
        first++;
    return &members[first];
}

/*
 * The iterations of the leaders of sorted members, ascending; returns their
 * number. Each of them is another iteration of the run, so all rounds together
 * take no more time than there are points.
 */
static size_t find_leaders(struct member *members, size_t count,
                           int64_t *iterations)
{
    const struct member *leader;
    size_t n = 0;
    while ((leader = find_leader(members, count))) {
        int64_t iteration = leader->alarm->iteration;
        iterations[n++] = iteration;
        for (size_t i = 0; i < count; i++)
            members[i].covered |= spans(&members[i], iteration);
    }
    tp_sort_int64(iterations, n);
    return n;
}

/* The nearest of the leaders' iterations, of which there is one at least. */
static int64_t nearest(const int64_t *iterations, size_t count, int64_t to)
{
    size_t i;
    TP_PARTITION_POINT(i, count, iterations[i] < to);
    if (i == count || (i > 0 && to - iterations[i - 1] <= iterations[i] - to))
        i--;
    return iterations[i];
}

/* Members sorted by flow and span. */
static void align_flows(const struct tp_series_set *set, struct member *members,
                        size_t count, int64_t *iterations)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1;
             end < count && compare_flows(&members[first], &members[end]) == 0;)
            end++;
        size_t leaders = find_leaders(members + first, end - first, iterations);
        for (size_t i = first; i < end; i++)
            move(set, &members[i],
                 nearest(iterations, leaders, members[i].alarm->iteration));
    }
}

/* --- layers ----------------------------------------------- */

static bool same_layer(const struct member *a, const struct member *b)
{
    return a->series->label.rank == b->series->label.rank &&
           a->series->label.layer_idx == b->series->label.layer_idx &&
           tp_series_compare_runs(a->series, b->series) == 0;
}

static bool is_drift(const struct member *member)
{
    return member->alarm->kind == TP_CHANGE_DRIFT;
}

/* Binades from an alarm's center to its series in an iteration. */
static double change_at(const struct tp_series_set *set,
                        const struct member *member, int64_t iteration)
{
    const struct tp_alarm *alarm = member->alarm;
    size_t i = tp_series_point_at(set, member->series, iteration);
    if (i == member->series->count ||
        tp_series_metrics[alarm->metric].scale != TP_BASELINE_LOG)
        return NAN;
    return log2(tp_series_values(set, member->series, alarm->metric)[i] /
                alarm->center);
}

/* Whether a sum dates the change of a tensor of it better: when the tensor is
 * beyond its limit, the sum has changed in the same way by half as much. */
static bool dates_better(const struct tp_series_set *set,
                       const struct member *sum, const struct member *tensor)
{
    if (tensor->series->kind != TP_SERIES_TENSOR ||
        !tp_series_is_gradient(&tensor->series->label) ||
        sum->alarm->iteration > tensor->alarm->until ||
        (!is_drift(tensor) && width_of(sum) >= width_of(tensor)))
        return false;
    int64_t shown = tp_series_at(set, tensor->series)[tensor->alarm->shown];
    double own = change_at(set, tensor, shown),
           its = change_at(set, sum, shown);
    return isfinite(own) && (own < 0 ? -its : its) >= 0.5 * fabs(own);
}

/* Members by layer: a layer's tensors, then its sum. */
static void align_layers(const struct tp_series_set *set,
                         const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct member *sum = &members[i];
        if (sum->series->kind != TP_SERIES_LAYER || is_drift(sum) ||
            sum->alarm->weak)
            continue;
        for (size_t k = i; k > 0 && same_layer(&members[k - 1], sum); k--) {
            struct tp_alarm *alarm = members[k - 1].alarm;
            if (!dates_better(set, sum, &members[k - 1]))
                continue;
            alarm->kind = sum->alarm->kind;
            alarm->after = sum->alarm->after;
            alarm->until = sum->alarm->until;
            move(set, &members[k - 1], sum->alarm->iteration);
        }
    }
}

/* --- ranks ----------------------------------------------- */

/* Members by series: one tensor's ranks are next to each other. */
static void align_ranks(const struct tp_series_set *set,
                        const struct member *members, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        size_t sharpest = first;
        for (end = first + 1;
             end < count &&
             tp_series_are_peers(members[first].series, members[end].series);
             end++)
            if (width_of(&members[end]) < width_of(&members[sharpest]))
                sharpest = end;
        int64_t iteration = members[sharpest].alarm->iteration;
        for (size_t i = first; i < end; i++) {
            if (spans(&members[sharpest], members[i].alarm->iteration))
                move(set, &members[i], iteration);
        }
    }
}

enum tp_status tp_alarms_align(struct tp_incidents *all, struct tp_error *err)
{
    const struct tp_series_set *set = &all->monitor->series;
    struct member *members = calloc(all->alarm_count + 1, sizeof *members);
    int64_t *iterations = calloc(all->alarm_count + 1, sizeof *iterations);
    size_t count = 0;
    if (!members || !iterations) {
        free(members);
        free(iterations);
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < all->alarm_count; i++) {
        struct tp_alarm *alarm = &all->alarms[i];
        members[i] = (struct member){alarm, &set->series[alarm->series], false};
    }
    qsort(members, all->alarm_count, sizeof *members, compare_layers);
    align_layers(set, members, all->alarm_count);
    for (size_t i = 0; i < all->alarm_count; i++) {
        if (!is_drift(&members[i]))
            members[count++] = members[i];
    }
    qsort(members, count, sizeof *members, compare_members);
    align_flows(set, members, count, iterations);
    qsort(members, count, sizeof *members, compare_series);
    align_ranks(set, members, count);
    free(members);
    free(iterations);
    return TP_OK;
}
