/* SPDX-License-Identifier: MIT */
/*
 * Tensors that stop changing: a weight that is no longer updated, a batch that
 * comes again and again. What never changed (masks), or seldom, is as it
 * should be; so is what a run ends with after a change or two.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "rules/rules.h"

enum {
    STILL = 8, /* iterations that are too many to be by chance            */
    LONGER = 4 /* and so many times the longest standstill before         */
};

struct frozen {
    const struct tp_run_series *series;
    size_t since;      /* first of the equal points                       */
    int64_t iteration; /* of that point                                   */
    size_t changes;    /* from point to point before                      */
};

/* Whether a series stands still at its end, though it used not to. */
static bool is_frozen(const struct tp_series_set *set,
                      const struct tp_run_series *series, struct frozen *frozen)
{
    size_t since = series->count, still = 1, longest = 1, changes = 0;
    if (series->kind != TP_SERIES_TENSOR || series->numel < 2 ||
        series->count < 2 * STILL)
        return false;
    do
        since--;
    while (since > 0 &&
           tp_series_are_equal(set, series, since - 1, series, since));
    for (size_t i = 1; i <= since; i++) {
        bool equal =
            i < since && tp_series_are_equal(set, series, i - 1, series, i);
        still = equal ? still + 1 : 1;
        changes += !equal;
        longest = still > longest ? still : longest;
    }
    *frozen = (struct frozen){.series = series,
                              .since = since,
                              .iteration = tp_series_at(set, series)[since],
                              .changes = changes};
    size_t points = series->count - since;
    return changes >= STILL && points >= STILL && points >= LONGER * longest;
}

/* Tensors of one finding are next to each other: those of one name that stopped
 * in one iteration. */
static int compare_causes(const struct frozen *a, const struct frozen *b)
{
    const struct tp_label *x = &a->series->label, *y = &b->series->label;
    int result = strcmp(x->quant_type, y->quant_type);
    if (result == 0)
        result = strcmp(x->operation, y->operation);
    if (result == 0)
        result = strcmp(x->phase, y->phase);
    if (result == 0)
        result = strcmp(x->tensor_name, y->tensor_name);
    return result ? result : tp_order_int64(a->iteration, b->iteration);
}

/* Series are sorted: equal ones stay in their order. */
static int compare(const void *left, const void *right)
{
    const struct frozen *a = left, *b = right;
    int result = compare_causes(a, b);
    return result ? result : tp_order_place(a->series, b->series);
}

static const char *advice(const struct frozen *frozen)
{
    unsigned roles = frozen->series->label.roles |
                     tp_roles_of_name(frozen->series->path);
    if (roles & (TP_ROLE_WEIGHT | TP_ROLE_BIAS))
        return "check that the optimizer still has it and its gradient and "
               "learning rate are not 0; updates below half a unit in the last "
               "place are lost in BF16: keep FP32 master weights or round "
               "stochastically";
    return "check that what feeds it still runs: a batch or a buffer that is "
           "used again";
}

/* One finding for [first, end). */
static enum tp_status add_finding(const struct tp_rule_input *input,
                                  const struct tp_rule *rule,
                                  const struct frozen *first,
                                  const struct frozen *end,
                                  struct tp_error *err)
{
    const struct tp_series_set *set = &input->monitor->series;
    size_t rows, others = (size_t)(end - first) - 1,
                 l2 = tp_series_metric_by_name("l2_norm");
    struct tp_finding *finding;
    enum tp_status status = tp_finding_add(
        input->findings, rule,
        tp_series_rows(set, first->series, first->since, &rows)[0], &finding,
        err);
    if (status != TP_OK)
        return status;
    const int64_t *at = tp_series_at(set, first->series);
    for (const struct frozen *other = first; other < end; other++) {
        if (other->series->label.rank != finding->rank)
            finding->rank = -1; /* of several */
    }
    finding->level = TP_SEVERITY_MEDIUM;
    finding->metric = "l2_norm";
    finding->value = tp_series_values(set, first->series, l2)[first->since];
    finding->consequences = (int64_t)others;
    finding->excess = (double)(first->series->count - first->since) / STILL;
    finding->evidence = tp_finding_text(
        input->findings,
        "the same tensor in all %zu iterations from %" PRId64 " to %" PRId64
        ", after %zu changes%s",
        first->series->count - first->since, first->iteration,
        at[first->series->count - 1], first->changes,
        others == 0
            ? ""
            : tp_finding_text(input->findings,
                              "; %zu other%s of this name stopped there",
                              others, others == 1 ? "" : "s"));
    finding->suggestion = advice(first);
    return TP_OK;
}

enum tp_status tp_rule_frozen(const struct tp_rule_input *input,
                              const struct tp_rule *rule, struct tp_error *err)
{
    const struct tp_series_set *set = &input->monitor->series;
    struct frozen *frozen = calloc(set->count + 1, sizeof *frozen);
    enum tp_status status = frozen ? TP_OK : tp_fail_memory(err);
    size_t count = 0;
    for (size_t i = 0; frozen && i < set->count; i++)
        count += is_frozen(set, &set->series[i], &frozen[count]);
    if (frozen)
        qsort(frozen, count, sizeof *frozen, compare);
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        for (end = i + 1;
             end < count && compare_causes(&frozen[i], &frozen[end]) == 0;)
            end++;
        status = add_finding(input, rule, frozen + i, frozen + end, err);
    }
    free(frozen);
    return status;
}
