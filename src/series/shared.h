/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_SHARED_H
#define TP_SERIES_SHARED_H

#include "series/series.h"

/* What the tensors of a kind have in common; the method is described in
 * shared.c. */

enum { TP_SHARED_LEAST = 4 }; /* tensors that make it */

/* How many of some series are in step with the one of most points: have the
 * same iterations. `model` receives that one. */
size_t tp_shared_in_step(const struct tp_series_set *set, const size_t *series,
                         size_t count, size_t *model);

/* Whether two series have the same iterations. */
bool tp_shared_same_steps(const struct tp_series_set *set, size_t a, size_t b);

/* Series of a kind, by number, of which every step-th is looked at, and what
 * left its baseline: [series of the set]. */
struct tp_shared_members {
    const size_t *series;
    size_t count, step;
    const uint8_t *left;
};

/* Appends a series of what others share: with the labels and metrics of one of
 * them, but its place, and without values. TP_E_MEMORY only. */
enum tp_status tp_shared_append(struct tp_series_set *set, size_t model,
                                struct tp_error *err);

/*
 * Gives what `members` of a kind share its values, one after the other by
 * metric: NaN where too few have one. Members that `left` (by number) their
 * own baselines do not count, since they show it by themselves. `room` has
 * tp_shared_room() doubles of the longest series.
 */
void tp_shared_fill(const struct tp_series_set *set,
                    const struct tp_shared_members *members,
                    const struct tp_run_series *shared, double *room);

/* Doubles of room for series of so many points. */
size_t tp_shared_room(size_t points);

#endif
