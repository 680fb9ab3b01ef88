/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_PARTS_H
#define TP_SERIES_BASELINE_PARTS_H

#include "series/baseline.h"

/* What both methods of stats/baseline.h share. */

/* A value as it is compared: log2, arcsine or itself; NaN where it has no
 * such number. */
double tp_baseline_straight(enum tp_baseline_scale scale, double value);

/* The value again. */
double tp_baseline_bent(enum tp_baseline_scale scale, double straight);

/* The smallest spread that means anything at a point, straightened. */
double tp_baseline_floor(const struct tp_baseline_series *series, size_t i);

/* Element `rank` of n values in ascending order; reorders them. n > 0. */
double tp_baseline_select(double *values, size_t n, size_t rank);

/* The two methods. */
void tp_baseline_online(const struct tp_baseline_series *series,
                        const struct tp_baseline_options *options,
                        struct tp_baseline *baseline,
                        const struct tp_baseline_trace *trace);
void tp_baseline_retro(const struct tp_baseline_series *series,
                       const struct tp_baseline_options *options,
                       double *scratch, struct tp_baseline *baseline,
                       const struct tp_baseline_trace *trace);

/* Alarms that lie further apart than `window` iterations. */
size_t tp_baseline_joined(const struct tp_baseline_series *series,
                          const uint8_t *alarm, size_t window);

#endif
