/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TREND_H
#define TP_VERDICT_TREND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Whether a few numbers in a row rise, or only scatter. */

/* With fewer points no trend is told: of four, one order in 24 rises. */
enum { TP_TREND_LEAST = 5 };

struct tp_trend {
    double start;  /* of the line at the first point, or the least of all
                      points if the line is below it there               */
    double rise;   /* from there to the line at the last point              */
    double spread; /* of the points around it, in their unit                */
    bool real;     /* it rises more than points that only scatter would     */
};

/* Whether it rises, by more than `percent` of its start and by more than
 * `spreads`; from nothing there is no percentage. */
bool tp_trend_rises(const struct tp_trend *trend, double percent,
                    double spreads);

/* Fits values[count], count >= 2, at equal distances. TP_E_MEMORY only. */
enum tp_status tp_trend_fit(const double *values, size_t count,
                            struct tp_trend *trend, struct tp_error *err);

#endif
