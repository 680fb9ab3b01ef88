/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_LIVE_H
#define TP_SERIES_BASELINE_LIVE_H

#include "series/baseline_parts.h"

/* The threshold of a live monitor, replayed by options->method: all of
 * *baseline but the number of alarms. trace->alarm is there and
 * zeroed; scratch memory as for tp_baseline_fit. */
void tp_baseline_live(const struct tp_baseline_series *series,
                      const struct tp_baseline_options *options,
                      double *scratch, struct tp_baseline *baseline,
                      const struct tp_baseline_trace *trace);

#endif
