/* SPDX-License-Identifier: MIT */
/*
 * What an incident explains: rows that need no finding of their own. These are
 * the rows of a changed series while its incident lasts and, where others
 * followed, everything on a rank that the incident reached: from its start
 * until a window after the last alarm there, since what follows may be too
 * small for an alarm of its own.
 *
 * Spans of iterations are sorted by run, rank and start and joined where they
 * overlap; a row is looked up by binary search. Cost: O((a + n) log a) for a
 * alarms and n rows, instead of a times n.
 */
#include "incidents/explain.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"
#include "incidents/incident.h"
#include "tensors/run.h"

/* Whether an incident explains the losses of what it changed: a drift may be
 * one, and a single weak statement is too little, as is what no tensor shows
 * alone. */
static bool explains(const struct tp_incidents *all,
                     const struct tp_incident *incident)
{
    return all->alarms[incident->origin].kind != TP_CHANGE_DRIFT &&
           tp_alarm_series(all, incident->origin)->kind != TP_SERIES_SHARED &&
           (incident->firm || tp_incident_followed(incident));
}

/* The rows of a changed series while its incident lasts. */
static void explain_series(struct tp_incidents *all,
                           const struct tp_alarm *alarm)
{
    const struct tp_series_set *set = &all->monitor->series;
    const struct tp_run_series *series = &set->series[alarm->series];
    const struct tp_incident *incident = &all->incidents[alarm->incident];
    const int64_t *at = tp_series_at(set, series);
    if (!explains(all, incident))
        return;
    for (size_t i = 0; i < series->count; i++) {
        size_t count;
        const struct tp_row *const *rows =
            tp_series_rows(set, series, i, &count);
        if (at[i] < incident->from || at[i] > incident->to)
            continue;
        for (size_t k = 0; k < count; k++)
            all->explained[rows[k] - all->run->rows] = 1;
    }
}

/* A rank of a run while an incident spreads there: what begins then follows
 * from it, though the change was too small for an alarm. */
struct reach {
    const char *quant_type;
    int64_t rank, from, to;
};

static int compare_reach(const void *left, const void *right)
{
    const struct reach *a = left, *b = right;
    int result = strcmp(a->quant_type, b->quant_type);
    if (!result)
        result = tp_order_int64(a->rank, b->rank);
    return result ? result : tp_order_int64(a->from, b->from);
}

/* One reach for each alarm of an incident that others follow: from its start to
 * the alarm's end, but one window at least. Sorted, and joined where they
 * overlap. */
static size_t find_reaches(const struct tp_incidents *all,
                           struct reach *reaches)
{
    size_t n = 0, joined = 0;
    for (size_t i = 0; i < all->alarm_count; i++) {
        const struct tp_alarm *alarm = &all->alarms[i];
        const struct tp_incident *incident =
            &all->incidents[alarm->incident];
        const struct tp_label *label = &tp_alarm_series(all, i)->label;
        if (!tp_incident_followed(incident) || !explains(all, incident))
            continue;
        int64_t window = (int64_t)all->monitor->options.alert_window;
        int64_t to = alarm->iteration > INT64_MAX - window
                         ? INT64_MAX
                         : alarm->iteration + window;
        reaches[n++] =
            (struct reach){label->quant_type, label->rank, incident->from,
                           alarm->last > to ? alarm->last : to};
    }
    if (n)
        qsort(reaches, n, sizeof *reaches, compare_reach);
    for (size_t i = 0; i < n; i++) {
        struct reach *last = joined ? &reaches[joined - 1] : NULL;
        if (last && !strcmp(last->quant_type, reaches[i].quant_type) &&
            last->rank == reaches[i].rank && reaches[i].from <= last->to)
            last->to = reaches[i].to > last->to ? reaches[i].to : last->to;
        else
            reaches[joined++] = reaches[i];
    }
    return joined;
}

/* Whether some reach holds this row: the last one that begins before it. */
static bool is_reached(const struct reach *reaches, size_t count,
                       const struct tp_label *label)
{
    const struct reach wanted = {label->quant_type, label->rank,
                                 label->iteration, 0};
    size_t next;
    TP_PARTITION_POINT(next, count,
                       compare_reach(&reaches[next], &wanted) <= 0);
    if (next == 0)
        return false;
    const struct reach *last = &reaches[next - 1];
    return last->rank == label->rank && label->iteration <= last->to &&
           !strcmp(last->quant_type, label->quant_type);
}

enum tp_status tp_incidents_explain(struct tp_incidents *all,
                                    struct tp_error *err)
{
    struct reach *reaches = calloc(all->alarm_count + 1, sizeof *reaches);
    all->explained = calloc(all->run->row_count + 1, 1);
    if (!reaches || !all->explained) {
        free(reaches);
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < all->alarm_count; i++)
        explain_series(all, &all->alarms[i]);
    size_t count = find_reaches(all, reaches);
    for (size_t i = 0; i < all->run->row_count && count; i++)
        all->explained[i] |=
            is_reached(reaches, count, &all->run->rows[i].label);
    free(reaches);
    return TP_OK;
}

bool tp_row_explained(const struct tp_incidents *all, const struct tp_row *row)
{
    return all->explained && all->explained[row - all->run->rows];
}
