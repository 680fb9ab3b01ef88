/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_RISE_H
#define TP_SERIES_BASELINE_RISE_H

#include <stdbool.h>
#include <stddef.h>

#include "series/baseline_mark.h"

/*
 * Where a change began that grows from nothing: its first points lie within
 * the spread of healthy ones, and are seen only in the light of what follows.
 */
struct tp_rise {
    size_t first;            /* its most likely first point               */
    size_t earliest, latest; /* what is about as likely, first included   */
};

/*
 * Looks for the beginning of the change whose first marked point is `shown`,
 * before which no point is marked. False where it did not grow, or where it
 * begins at `shown` as well as anywhere. The method is described in
 * baseline_rise.c.
 */
bool tp_rise_find(const struct tp_points *p, const struct tp_spreads *spreads,
                  size_t shown, struct tp_rise *rise);

#endif
