/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_H
#define TP_SERIES_BASELINE_H

#include "series/baseline_parts.h"

/*
 * What a number normally is over the iterations of a run, and where it ceases
 * to be normal. Pure functions of one series; safe on any thread.
 *
 * Three methods: *online* and *rolling* replay the adaptive threshold of a live
 * monitor, *retro* looks at the whole run at once.
 */

/* Doubles of scratch memory for a series of `count` points. */
size_t tp_baseline_scratch(size_t count);

/* Fits one series. `scratch` has tp_baseline_scratch(count) doubles; `trace`
 * may be NULL. */
void tp_baseline_fit(const struct tp_baseline_series *series,
                     const struct tp_baseline_options *options,
                     double *scratch, struct tp_baseline *baseline,
                     const struct tp_baseline_trace *trace);

#endif
