/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_SUSPECTS_H
#define TP_SERIES_SUSPECTS_H

#include "series/series.h"

/*
 * Which gradients a spike of the whole model's norm is looked for in: those of
 * its rank and run, in that iteration, unless the ones that left their
 * baselines there already make up half of it. `changes` are the baselines of
 * the whole run, those of series i from first[i] on. Sets suspect[set->count]
 * to one more than the number of a series' point that is to be asked, 0: none.
 * Returns how many are.
 */
size_t tp_suspects_find(const struct tp_series_set *set,
                        const struct tp_baseline *changes, const size_t *first,
                        size_t *suspect);

#endif
