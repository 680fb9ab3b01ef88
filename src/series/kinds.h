/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_KINDS_H
#define TP_SERIES_KINDS_H

#include "base/pool.h"
#include "series/series.h"

/*
 * Series of one kind have like noise: tensors of the same name, operation and
 * phase, and the gradient norms. What one of them has too few points to tell,
 * many of them do: how heavy the tails of a metric are and, of those on one
 * rank, what moves in all of them by less than the noise of each.
 */
struct tp_kinds {
    size_t count;
    size_t *of;     /* [series]: its kind                                 */
    size_t *member; /* [series]: by kind, run, rank and number            */
    size_t *begin;  /* [count + 1]: of a kind's members                   */
    struct tp_freedom *freedom; /* [count * TP_SERIES_METRICS]            */
};

/* Finds the kinds of a set and their tails, but for metrics whose values are
 * not there yet, and appends to the set what series of a kind share. Does not
 * depend on the pool's size; NULL works alone. Release with tp_kinds_clear,
 * also after a failure (TP_E_MEMORY). */
enum tp_status tp_kinds_make(struct tp_series_set *set, struct tp_pool *pool,
                             struct tp_kinds *kinds, struct tp_error *err);
void tp_kinds_clear(struct tp_kinds *kinds);

/* Of a series' metric; not known of all-zero kinds. */
struct tp_freedom tp_kinds_freedom(const struct tp_kinds *kinds, size_t series,
                                   size_t metric);

/* How many tensors are of a series' kind, run and rank. */
size_t tp_kinds_members(const struct tp_kinds *kinds,
                        const struct tp_series_set *set, size_t series);

/* Gives one TP_SERIES_SHARED its values, by what left its own baseline; see
 * tp_shared_fill. */
void tp_kinds_fill(const struct tp_kinds *kinds,
                   const struct tp_series_set *set, const uint8_t *left,
                   size_t series, double *room);

#endif
