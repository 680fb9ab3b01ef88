/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_ZEROS_H
#define TP_SERIES_BASELINE_ZEROS_H

#include "series/baseline_scale.h"

/* Points at which a tensor, or a magnitude, is zero as a whole. */

/* Whether it is at a point. */
bool tp_zeros_at(const struct tp_baseline_series *series, size_t point);

/*
 * Sets by_chance[series->count] to 1 at zeros that are no rarer than `limit`,
 * the logarithm of a probability, makes them by how often the others are; the
 * method is described in baseline_zeros.c.
 */
void tp_zeros_by_chance(const struct tp_baseline_series *series, double limit,
                        uint8_t *by_chance);

#endif
