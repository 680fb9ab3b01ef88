/* SPDX-License-Identifier: MIT */
/*
 * A finding about a place names the worst of its tensors, which is mostly not
 * the first: the iteration before the worst is as bad. So what was before is
 * looked for before the first bad one, and if the place was bad from the
 * beginning, a tensor that is not bad stands in: the nearest by shape, layer,
 * iteration and rank.
 *
 * Cost: a look at all rows for each finding about a place that was bad from the
 * beginning.
 */
#include "rules/finding_before.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool tp_finding_of_place(const struct tp_finding *finding)
{
    static const char *const rules[] = {"sqnr", "overflow", "underflow", NULL};
    return tp_text_is_one_of(finding->rule->id, rules);
}

/* What of a row is lost, as the finding counts it; NaN: it counts something
 * else. */
static double lost(const struct tp_finding *finding, const struct tp_row *row)
{
    if (strcmp(finding->metric, "underflow_ratio") == 0)
        return row->numbers.underflow_ratio;
    return strcmp(finding->metric, "total_overflow_ratio") == 0
               ? row->numbers.total_overflow_ratio
               : NAN;
}

/* Whether a row loses no more than the finding's limit. */
static bool is_within(const struct tp_finding *finding,
                      const struct tp_row *row)
{
    return lost(finding, row) <= finding->value / finding->excess;
}

static bool is_point_within(const struct tp_series_set *set,
                            const struct tp_finding *finding,
                            const struct tp_run_series *series, size_t point)
{
    size_t count;
    const struct tp_row *const *rows =
        tp_series_rows(set, series, point, &count);
    for (size_t i = 0; i < count; i++)
        if (lost(finding, rows[i]) > finding->value / finding->excess)
            return false;
    return true;
}

static struct tp_finding_place point_of(const struct tp_series_set *set,
                                        const struct tp_run_series *series,
                                        size_t point)
{
    size_t count;
    const struct tp_row *const *rows =
        tp_series_rows(set, series, point, &count);
    return (struct tp_finding_place){series, point, count ? rows[0] : NULL};
}

/* Of the tensor's own series the last point before an iteration. */
static struct tp_finding_place own_before(const struct tp_series_set *set,
                                          const struct tp_finding *finding,
                                          const struct tp_finding_place *at)
{
    const int64_t *iterations =
        at->series ? tp_series_at(set, at->series) : NULL;
    for (size_t i = at->series ? at->point : 0; i > 0; i--) {
        if (iterations[i - 1] < finding->iteration &&
            is_point_within(set, finding, at->series, i - 1))
            return point_of(set, at->series, i - 1);
    }
    return (struct tp_finding_place){NULL, 0, NULL};
}

/* Whether a row is of the same kind: what differs is its layer, and when and
 * on which rank it was saved. */
static bool is_sibling(const struct tp_row *a, const struct tp_row *b)
{
    const struct tp_label *x = &a->label, *y = &b->label;
    return a != b && a->target == b->target && a->scale_rule == b->scale_rule &&
           !strcmp(x->quant_type, y->quant_type) &&
           !strcmp(x->layer_type, y->layer_type) &&
           !strcmp(x->operation, y->operation) &&
           !strcmp(x->phase, y->phase) && !strcmp(x->component, y->component) &&
           !strcmp(x->tensor_name, y->tensor_name);
}

/* The nearer of two rows to a tensor; `b` may be NULL. */
static bool is_nearer(const struct tp_row *its, const struct tp_row *a,
                      const struct tp_row *b)
{
    if (!b)
        return true;
    const int64_t far[][2] = {
        {strcmp(a->shape, its->shape) != 0, strcmp(b->shape, its->shape) != 0},
        {!tp_same_place(a, its), !tp_same_place(b, its)},
        {llabs(a->label.layer_idx - its->label.layer_idx),
         llabs(b->label.layer_idx - its->label.layer_idx)},
        {llabs(a->label.iteration - its->label.iteration),
         llabs(b->label.iteration - its->label.iteration)},
        {llabs(a->label.rank - its->label.rank),
         llabs(b->label.rank - its->label.rank)}};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        if (far[i][0] != far[i][1])
            return far[i][0] < far[i][1];
    return false;
}

/* The nearest row that is not bad: of the place before the first bad
 * iteration, or any. */
static const struct tp_row *nearest(const struct tp_run *run,
                                    const struct tp_finding *finding,
                                    const struct tp_row *its, bool before)
{
    const struct tp_row *best = NULL;
    for (size_t i = 0; i < run->row_count; i++) {
        const struct tp_row *row = &run->rows[i];
        if (before && (row->label.iteration < 0 ||
                       row->label.iteration >= finding->iteration ||
                       !tp_same_place(row, its)))
            continue;
        if (is_sibling(row, its) && is_within(finding, row) &&
            is_nearer(its, row, best))
            best = row;
    }
    return best;
}

struct tp_finding_place tp_finding_before(const struct tp_run *run,
                                          const struct tp_series_set *set,
                                          const struct tp_finding *finding,
                                          const struct tp_finding_place *at,
                                          const char **when)
{
    const bool changed = finding->origin || !isnan(finding->baseline);
    struct tp_finding_place found = {NULL, 0, NULL};
    *when = "before";
    if (tp_finding_of_place(finding)) {
        found = own_before(set, finding, at);
        if (!found.row)
            found.row = nearest(run, finding, at->row, true);
        if (!found.row) {
            *when = "sibling";
            found.row = nearest(run, finding, at->row, false);
        }
    } else if (at->series && at->point > 0 && changed) {
        found = point_of(set, at->series, at->point - 1);
    }
    return found;
}
