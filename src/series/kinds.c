/* SPDX-License-Identifier: MIT */
/*
 * Kinds of series, and how heavy the tails of their noise are. Series of equal
 * name, operation and phase are of one kind. Of each at most 256, evenly
 * spaced, have their errors counted (baseline_tails.c); the counts are added
 * by kind and metric, and what follows holds for all series of the kind.
 * Counts of all kinds together would let gradients, with their heavy tails,
 * blunt the test of weights; those of a single series are too few.
 *
 * Cost: one pass of predictions over the chosen series, on all threads. Counts
 * are added at the end, so the order of work does not matter.
 */
#include "series/kinds.h"

#include <stdlib.h>
#include <string.h>

#include "series/baseline_retro.h"

/* Series that are looked at of a kind: more would say the same. */
enum { SAMPLE = 256 };

static bool same_kind(const struct tp_run_series *a,
                      const struct tp_run_series *b)
{
    return a->kind == b->kind &&
           strcmp(a->label.tensor_name, b->label.tensor_name) == 0 &&
           strcmp(a->label.operation, b->label.operation) == 0 &&
           strcmp(a->label.phase, b->label.phase) == 0;
}

/* The kind of every series, numbered as they come; `first` receives the first
 * series of each. Series are sorted by place: mostly it is the last's. */
static void sort_out(const struct tp_series_set *set, struct tp_kinds *kinds,
                     size_t *first)
{
    size_t kind = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_run_series *series = &set->series[i];
        if (i == 0 || !same_kind(series, &set->series[first[kind]])) {
            kind = 0;
            while (kind < kinds->count &&
                   !same_kind(series, &set->series[first[kind]]))
                kind++;
        }
        if (kind == kinds->count)
            first[kinds->count++] = i;
        kinds->of[i] = kind;
    }
}

/* A loop over the series that are looked at. */
struct looker {
    const struct tp_series_set *set;
    const struct tp_kinds *kinds;
    size_t *chosen;
    struct looker_scratch {
        double *fit, *floor;
        struct tp_tails *tails; /* [kinds][metrics] */
    } *scratch;                 /* [workers] */
};

static void look(void *context, size_t index, unsigned worker)
{
    const struct looker *l = context;
    size_t number = l->chosen[index];
    const struct tp_run_series *series = &l->set->series[number];
    struct looker_scratch *scratch = &l->scratch[worker];
    struct tp_tails *tails =
        &scratch->tails[l->kinds->of[number] * TP_SERIES_METRICS];
    for (size_t k = 0; k < series->metric_count; k++) {
        size_t metric = series->metric + k;
        struct tp_baseline_series values =
            tp_series_of_metric(l->set, series, metric, scratch->floor);
        tp_baseline_tails(&values, scratch->fit, &tails[metric]);
    }
}

/* Chooses evenly among the series of each kind; returns how many. */
static size_t choose(const struct tp_kinds *kinds, size_t series,
                     size_t *members, size_t *chosen)
{
    size_t n = 0;
    for (size_t i = 0; i < series; i++)
        members[kinds->of[i]]++;
    for (size_t kind = 0; kind < kinds->count; kind++) {
        size_t step = (members[kind] + SAMPLE - 1) / SAMPLE;
        members[kind] = step;
    }
    size_t *passed = members + kinds->count;
    for (size_t i = 0; i < series; i++) {
        size_t kind = kinds->of[i];
        if (passed[kind]++ % members[kind] == 0)
            chosen[n++] = i;
    }
    return n;
}

static bool scratch_new(const struct tp_series_set *set, size_t kinds,
                        struct looker_scratch *scratch, size_t workers)
{
    size_t most = tp_series_longest(set);
    bool all = true;
    for (size_t i = 0; i < workers; i++) {
        scratch[i].fit = calloc(tp_baseline_scratch(most) + 1, sizeof(double));
        scratch[i].floor = calloc(most, sizeof(double));
        scratch[i].tails =
            calloc(kinds * TP_SERIES_METRICS + 1, sizeof *scratch->tails);
        all &= scratch[i].fit && scratch[i].floor && scratch[i].tails;
    }
    return all;
}

static void conclude(const struct looker *l, struct tp_kinds *kinds,
                     size_t workers)
{
    for (size_t i = 0; i < kinds->count * TP_SERIES_METRICS; i++) {
        struct tp_tails *all = &l->scratch[0].tails[i];
        for (size_t w = 1; w < workers; w++)
            tp_tails_merge(all, &l->scratch[w].tails[i]);
        kinds->freedom[i] = tp_tails_freedom(all);
    }
}

enum tp_status tp_kinds_make(const struct tp_series_set *set,
                             struct tp_pool *pool, struct tp_kinds *kinds,
                             struct tp_error *err)
{
    size_t workers = pool ? tp_pool_size(pool) : 1, n = set->count + 1;
    *kinds = (struct tp_kinds){.of = calloc(n, sizeof *kinds->of)};
    size_t *room = calloc(4 * n, sizeof *room);
    struct looker l = {.set = set, .kinds = kinds, .chosen = room};
    l.scratch = calloc(workers, sizeof *l.scratch);
    bool ok = kinds->of && room && l.scratch;
    if (ok) {
        sort_out(set, kinds, room + n);
        kinds->freedom = calloc(kinds->count * TP_SERIES_METRICS + 1,
                                sizeof *kinds->freedom);
        ok = kinds->freedom &&
                scratch_new(set, kinds->count, l.scratch, workers);
    }
    if (ok) {
        size_t chosen = choose(kinds, set->count, room + 2 * n, room);
        if (pool)
            tp_pool_for(pool, chosen, look, &l);
        for (size_t i = 0; !pool && i < chosen; i++)
            look(&l, i, 0);
        conclude(&l, kinds, workers);
    }
    for (size_t i = 0; l.scratch && i < workers; i++) {
        free(l.scratch[i].fit);
        free(l.scratch[i].floor);
        free(l.scratch[i].tails);
    }
    free(l.scratch);
    free(room);
    return ok ? TP_OK : tp_fail_memory(err);
}

void tp_kinds_clear(struct tp_kinds *kinds)
{
    free(kinds->of);
    free(kinds->freedom);
    *kinds = (struct tp_kinds){0};
}

int tp_kinds_freedom(const struct tp_kinds *kinds, size_t series,
                     size_t metric)
{
    if (!kinds->of)
        return 0;
    return kinds->freedom[kinds->of[series] * TP_SERIES_METRICS + metric];
}
