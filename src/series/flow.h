/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_FLOW_H
#define TP_SERIES_FLOW_H

#include "series/series.h"

/*
 * The order of the data's flow within an iteration: by the saver's counter or,
 * where that is not known, forward before backward, along the layers, pre
 * before post.
 */

/* Orders runs, that is quantisation types. */
int tp_series_compare_runs(const struct tp_run_series *a,
                           const struct tp_run_series *b);

/* Orders by the labels alone: forward along the layers, then backward against
 * them. */
int tp_series_compare_flow(const struct tp_run_series *a,
                           const struct tp_run_series *b);

/* The saver's counter of a series' point; -1: none. */
int64_t tp_series_counter(const struct tp_series_set *set,
                          const struct tp_run_series *series, size_t point);

/* The first point of a series that is not before an iteration; its count:
 * none. */
size_t tp_series_point_at(const struct tp_series_set *set,
                          const struct tp_run_series *series,
                          int64_t iteration);

/* Whether one tensor comes before another of its rank in an iteration. */
bool tp_series_upstream(const struct tp_series_set *set,
                        const struct tp_run_series *a,
                        const struct tp_run_series *b, int64_t iteration);

#endif
