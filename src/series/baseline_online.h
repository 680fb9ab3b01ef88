/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_ONLINE_H
#define TP_SERIES_BASELINE_ONLINE_H

#include "series/baseline_parts.h"

/* The threshold of a live monitor, replayed: all of *baseline but the number of
 * alarms. trace->alarm is there and zeroed. */
void tp_baseline_online(const struct tp_baseline_series *series,
                        const struct tp_baseline_options *options,
                        struct tp_baseline *baseline,
                        const struct tp_baseline_trace *trace);

#endif
