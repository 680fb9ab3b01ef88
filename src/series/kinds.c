/* SPDX-License-Identifier: MIT */
/*
 * Kinds of series. Series of equal name, operation and phase are of one kind.
 * Of each at most 256, evenly spaced, are looked at, metric by metric: their
 * errors are counted (baseline_tails.c). Layers see the same
 * batch, so what they say of tails counts only as far as each says it by
 * itself. What the tensors of a kind on one rank share becomes a series
 * (shared.c).
 *
 * Counts of all kinds together would let gradients, with their heavy tails,
 * blunt the test of weights; those of a single series are too few. Cost: one
 * pass of predictions over the chosen series, on all threads; a sort of all.
 */
#include "series/kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "series/baseline_line.h"
#include "series/baseline_retro.h"
#include "series/shared.h"
#include "stats/quantile.h"

/* Series that are looked at of a kind: more would say the same. */
enum { SAMPLE = 256 };

/* --- the kinds ----------------------------------------------- */

static int compare_kinds(const struct tp_run_series *a,
                         const struct tp_run_series *b)
{
    int result = tp_order_int64(a->kind, b->kind);
    if (!result)
        result = strcmp(a->label.tensor_name, b->label.tensor_name);
    if (!result)
        result = strcmp(a->label.operation, b->label.operation);
    return result ? result : strcmp(a->label.phase, b->label.phase);
}

/* Those of one run and rank see the same batch. */
static int compare_batches(const struct tp_run_series *a,
                           const struct tp_run_series *b)
{
    int result = strcmp(a->label.quant_type, b->label.quant_type);
    return result ? result : tp_order_int64(a->label.rank, b->label.rank);
}

static int compare_sorted(const void *left, const void *right)
{
    const struct tp_run_series *a = *(const struct tp_run_series *const *)left;
    const struct tp_run_series *b = *(const struct tp_run_series *const *)right;
    int result = compare_kinds(a, b);
    if (!result)
        result = compare_batches(a, b);
    return result ? result : tp_order_place(a, b);
}

/* Members by kind. `sorted` has room for a pointer a series. */
static void sort_out(const struct tp_series_set *set,
                     const struct tp_run_series **sorted,
                     struct tp_kinds *kinds)
{
    for (size_t i = 0; i < set->count; i++)
        sorted[i] = &set->series[i];
    if (set->count)
        qsort(sorted, set->count, sizeof *sorted, compare_sorted);
    for (size_t i = 0; i < set->count; i++) {
        if (i == 0 || compare_kinds(sorted[i - 1], sorted[i]))
            kinds->begin[kinds->count++] = i;
        kinds->member[i] = (size_t)(sorted[i] - set->series);
        kinds->of[kinds->member[i]] = kinds->count - 1;
    }
    kinds->begin[kinds->count] = set->count;
}

/* Numbers of series, next to each other in kinds->member. */
struct span {
    const size_t *series;
    size_t count;
};

static struct span span_of(const struct tp_kinds *kinds, size_t kind)
{
    size_t first = kinds->begin[kind];
    return (struct span){kinds->member + first, kinds->begin[kind + 1] - first};
}

/* Of a kind those of one batch, from number `first` of it on. */
static struct span batch_of(const struct tp_series_set *set, struct span kind,
                            size_t first)
{
    const struct tp_run_series *series = set->series;
    size_t end = first + 1;
    while (end < kind.count && !compare_batches(&series[kind.series[first]],
                                                &series[kind.series[end]]))
        end++;
    return (struct span){kind.series + first, end - first};
}

/* Of so many members every one of these is looked at. */
static size_t step_of(size_t members)
{
    return (members + SAMPLE - 1) / SAMPLE;
}

/* Appends what the tensors of a batch share, where they are enough. */
static enum tp_status add_shared(struct tp_series_set *set,
                                 struct tp_kinds *kinds, size_t kind,
                                 struct span batch, struct tp_error *err)
{
    size_t model;
    size_t in_step = tp_shared_in_step(set, batch.series, batch.count, &model);
    if (set->series[model].kind != TP_SERIES_TENSOR ||
        set->series[model].count < 2 * TP_LINE_FIRM ||
        in_step < TP_SHARED_LEAST)
        return TP_OK;
    kinds->of[set->count] = kind;
    if (tp_shared_append(set, model, err) != TP_OK)
        return TP_E_MEMORY;
    set->series[set->count - 1].numel *= in_step;
    return TP_OK;
}

static enum tp_status add_all_shared(struct tp_series_set *set,
                                     struct tp_kinds *kinds,
                                     struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t kind = 0; kind < kinds->count; kind++) {
        struct span all = span_of(kinds, kind), batch;
        for (size_t i = 0; i < all.count && status == TP_OK; i += batch.count) {
            batch = batch_of(set, all, i);
            status = add_shared(set, kinds, kind, batch, err);
        }
    }
    return status;
}

/* --- looking at them ----------------------------------------------- */

/* A loop over kinds and metrics. */
struct looker {
    const struct tp_series_set *set;
    struct tp_kinds *kinds;
    struct looker_scratch {
        double *fit, *floor, *error, *sums;
    } * scratch; /* [workers] */
};

/*
 * The part of the errors that each of n series has for itself, from the sums of
 * all by point, which are used up. The variance of the mean error is 1 / n of
 * one's where all are independent, and as great as one's where they are equal.
 * So few points know it within some ten percent only: two deviations of that
 * are not held against them.
 */
static double own_part(double *sums, size_t points, size_t members)
{
    /* A standard deviation of normal errors is the 68 % quantile of their
     * magnitudes. Its square varies by sqrt(3.6 / points) of itself. */
    const double quantile = 0.6827, varies = 3.6;
    double n = (double)members;
    if (members < 2 || points <= TP_LINE_FIRM)
        return 1;
    sums += TP_LINE_FIRM; /* no line leads to the first ones */
    points -= TP_LINE_FIRM;
    size_t rank = (size_t)(quantile * (double)points);
    for (size_t i = 0; i < points; i++)
        sums[i] = fabs(sums[i]) / n;
    double spread = tp_select_rank(sums, points, rank);
    double chance = 1 + 2 * sqrt(varies / (double)points);
    return fmin(chance / (n * spread * spread), 1);
}

/* Adds errors by point; false: there are none, the series stands still. */
static bool add_errors(const double *error, size_t points, double *sums)
{
    bool any = false;
    for (size_t i = 0; i < points; i++) {
        sums[i] += error[i];
        any |= error[i] != 0;
    }
    return any;
}

static void look(void *context, size_t index, unsigned worker)
{
    const struct looker *l = context;
    const struct tp_series_set *set = l->set;
    const struct looker_scratch *s = &l->scratch[worker];
    size_t kind = index / TP_SERIES_METRICS, metric = index % TP_SERIES_METRICS;
    struct span all = span_of(l->kinds, kind);
    const struct tp_run_series *first = &set->series[all.series[0]];
    size_t in_step = 0, model;
    struct tp_tails tails = {.errors = {0}};
    if (metric < first->metric || metric - first->metric >= first->metric_count)
        return;
    tp_shared_in_step(set, all.series, all.count, &model);
    size_t points = set->series[model].count;
    memset(s->sums, 0, points * sizeof *s->sums);
    for (size_t i = 0; i < all.count; i += step_of(all.count)) {
        struct tp_baseline_series values = tp_series_of_metric(
            set, &set->series[all.series[i]], metric, s->floor);
        tp_baseline_look(&values, s->fit, &tails, s->error);
        if (tp_shared_same_steps(set, model, all.series[i]))
            in_step += add_errors(s->error, points, s->sums);
    }
    double own = own_part(s->sums, points, in_step);
    l->kinds->freedom[index] = tp_tails_freedom(&tails, own);
}

static bool scratch_new(const struct tp_series_set *set,
                        struct looker_scratch *scratch, size_t workers)
{
    size_t most = tp_series_longest(set);
    bool all = true;
    for (size_t i = 0; i < workers; i++) {
        struct looker_scratch *s = &scratch[i];
        s->fit = calloc(tp_baseline_scratch(most) + 1, sizeof(double));
        s->floor = calloc(3 * most, sizeof(double));
        all &= s->fit && s->floor;
        s->error = s->floor ? s->floor + most : NULL;
        s->sums = s->floor ? s->floor + 2 * most : NULL;
    }
    return all;
}

static enum tp_status look_at_all(const struct tp_series_set *set,
                                  struct tp_pool *pool, struct tp_kinds *kinds,
                                  struct tp_error *err)
{
    size_t workers = pool ? tp_pool_size(pool) : 1;
    size_t jobs = kinds->count * TP_SERIES_METRICS;
    struct looker l = {set, kinds, calloc(workers, sizeof *l.scratch)};
    bool ok = l.scratch && scratch_new(set, l.scratch, workers);
    if (ok && pool)
        tp_pool_for(pool, jobs, look, &l);
    for (size_t i = 0; ok && !pool && i < jobs; i++)
        look(&l, i, 0);
    for (size_t i = 0; l.scratch && i < workers; i++) {
        free(l.scratch[i].fit);
        free(l.scratch[i].floor);
    }
    free(l.scratch);
    return ok ? TP_OK : tp_fail_memory(err);
}

enum tp_status tp_kinds_make(struct tp_series_set *set, struct tp_pool *pool,
                             struct tp_kinds *kinds, struct tp_error *err)
{
    size_t n = set->count + 1;
    const struct tp_run_series **sorted = calloc(n, sizeof *sorted);
    *kinds = (struct tp_kinds){.of = calloc(2 * n, sizeof *kinds->of),
                               .member = calloc(n, sizeof *kinds->member),
                               .begin = calloc(n, sizeof *kinds->begin)};
    bool ok = sorted && kinds->of && kinds->member && kinds->begin;
    if (ok) {
        sort_out(set, sorted, kinds);
        kinds->freedom = calloc(kinds->count * TP_SERIES_METRICS + 1,
                                sizeof *kinds->freedom);
        ok = kinds->freedom;
    }
    free(sorted);
    enum tp_status status =
        ok ? add_all_shared(set, kinds, err) : tp_fail_memory(err);
    return status == TP_OK ? look_at_all(set, pool, kinds, err) : status;
}

void tp_kinds_clear(struct tp_kinds *kinds)
{
    free(kinds->of);
    free(kinds->member);
    free(kinds->begin);
    free(kinds->freedom);
    *kinds = (struct tp_kinds){0};
}

struct tp_freedom tp_kinds_freedom(const struct tp_kinds *kinds, size_t series,
                                   size_t metric)
{
    if (!kinds->of)
        return (struct tp_freedom){{0}};
    return kinds->freedom[kinds->of[series] * TP_SERIES_METRICS + metric];
}

/* The members of what a batch shares. */
static struct span members_of(const struct tp_kinds *kinds,
                              const struct tp_series_set *set, size_t series)
{
    struct span all = span_of(kinds, kinds->of[series]), batch;
    for (size_t i = 0; i < all.count; i += batch.count) {
        batch = batch_of(set, all, i);
        if (!compare_batches(&set->series[batch.series[0]],
                             &set->series[series]))
            return batch;
    }
    return (struct span){NULL, 0};
}

size_t tp_kinds_members(const struct tp_kinds *kinds,
                        const struct tp_series_set *set, size_t series)
{
    return kinds->of ? members_of(kinds, set, series).count : 0;
}

void tp_kinds_fill(const struct tp_kinds *kinds,
                   const struct tp_series_set *set, const uint8_t *left,
                   size_t series, double *room)
{
    struct span batch = members_of(kinds, set, series);
    const struct tp_shared_members members = {batch.series, batch.count,
                                              step_of(batch.count), left};
    tp_shared_fill(set, &members, &set->series[series], room);
}
