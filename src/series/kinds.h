/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_KINDS_H
#define TP_SERIES_KINDS_H

#include "base/pool.h"
#include "series/series.h"

/*
 * Series of one kind have like noise: tensors of the same name, operation and
 * phase, and the gradient norms. What one of them has too few points to tell,
 * how heavy the tails of a metric are, many of them do.
 */
struct tp_kinds {
    size_t *of;     /* [series]: its kind                                 */
    size_t count;
    int *freedom;   /* [count * TP_SERIES_METRICS], see tp_tails_freedom;
                       0: not known                                       */
};

/* Finds the kinds of a set and their tails, but for metrics whose values are
 * not there yet. Does not depend on the pool's size; NULL works alone. Release
 * with tp_kinds_clear, also after a failure (TP_E_MEMORY). */
enum tp_status tp_kinds_make(const struct tp_series_set *set,
                             struct tp_pool *pool, struct tp_kinds *kinds,
                             struct tp_error *err);
void tp_kinds_clear(struct tp_kinds *kinds);

/* Of a series' metric; 0: not known, as of all-zero kinds. */
int tp_kinds_freedom(const struct tp_kinds *kinds, size_t series,
                     size_t metric);

#endif
