/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_MONITOR_H
#define TP_SERIES_MONITOR_H

#include "base/pool.h"
#include "series/kinds.h"
#include "series/series.h"

/*
 * The baselines of all series of a run, by the method that was asked for. What
 * a live monitor alarms at may be chance among so many numbers, or a trend it
 * has not seen the start of; what is a change the whole run tells in any case.
 */

struct tp_monitor {
    struct tp_baseline_options options;
    double shared_tests;           /* `tests` of what tensors share        */
    bool sparse;                   /* tensors are zero here and there      */
    struct tp_series_set series;
    struct tp_kinds kinds;         /* of these                             */
    struct tp_baseline *baselines; /* by series, then its metrics          */
    struct tp_baseline *changes;   /* the same by the whole run; of
                                      TP_BASELINE_RETRO these are those    */
    size_t *first;                 /* [series]: its first baseline         */
    size_t models;                 /* series of the model                  */
    size_t *suspect;               /* [series]: see suspects.h             */
    size_t suspects;               /* how many are                         */
    size_t baseline_count;
    size_t *with_values; /* numbers of baselines with any value  */
    size_t with_value_count;
    size_t *value_row;       /* [baselines + 1]: values before each,
                                without those of none                */
};

/*
 * Makes series and baselines of a run whose rows are there. `monitor` is zeroed
 * by the caller and released with tp_monitor_clear, also after a failure; it
 * borrows the run's rows. Does not depend on the pool's size; `pool` NULL works
 * alone. TP_E_MEMORY only.
 */
enum tp_status tp_monitor_make(const struct tp_run *run,
                               const struct tp_baseline_options *options,
                               struct tp_pool *pool,
                               struct tp_monitor *monitor,
                               struct tp_error *err);

/* Releases what a monitor owns; it is empty afterwards. */
void tp_monitor_clear(struct tp_monitor *monitor);

/* The part of tp_monitor_make that fits: baselines of all series of
 * monitor->series, by monitor->options; drift of those that have rows.
 * TP_E_MEMORY only. */
enum tp_status tp_monitor_fit(struct tp_monitor *monitor, struct tp_pool *pool,
                              struct tp_error *err);

/* The baseline of a series' metric; NULL when it is not of its kind. */
const struct tp_baseline *tp_monitor_baseline(const struct tp_monitor *monitor,
                                              size_t series, size_t metric);

/* How the baselines of a series are made: by the method that was asked for, of
 * what tensors share by the whole run. */
enum tp_baseline_method tp_monitor_method(const struct tp_monitor *monitor,
                                          const struct tp_run_series *series);

/* The same by the whole run, whatever the method. */
const struct tp_baseline *tp_monitor_change(const struct tp_monitor *monitor,
                                            size_t series, size_t metric);

/* Fits one series again with the band of every point (arrays of the series'
 * count or NULL, see baseline.h). TP_E_MEMORY only. */
enum tp_status tp_monitor_trace(const struct tp_monitor *monitor, size_t series,
                                size_t metric,
                                const struct tp_baseline_trace *trace,
                                struct tp_error *err);

/* The same by the whole run. */
enum tp_status tp_monitor_trace_change(const struct tp_monitor *monitor,
                                       size_t series, size_t metric,
                                       const struct tp_baseline_trace *trace,
                                       struct tp_error *err);

#endif
