/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_SERIES_TABLES_H
#define TP_SERIES_SERIES_TABLES_H

#include "data/table.h"
#include "series/monitor.h"

/*
 * /series, a row per series, metric and iteration, and /baselines, a row per
 * series and metric; both without those that have no value at all. Rows are
 * made when they are needed. Borrows the monitor.
 */
void tp_series_tables_make(const struct tp_monitor *monitor,
                           struct tp_table *series, struct tp_table *baselines);

#endif
