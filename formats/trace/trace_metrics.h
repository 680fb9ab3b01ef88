/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_METRICS_H
#define TP_TRACE_TRACE_METRICS_H

#include "data/events.h"

/*
 * Files of metrics that training scripts write beside their traces: one JSON
 * object whose members say how the run was set up, as
 *
 *     {"batch_size": 64, "num_workers": 2, "pin_memory": true, "amp": false,
 *      "trace_dir": "results/traces/demo", ..}
 */

/* Whether a file of this name is taken for one: metrics*.json. */
bool tp_trace_is_metrics_name(const char *path);

/*
 * Reads the settings and trace_dir of one into `said` (all-zero on entry;
 * released with tp_events_clear, also after a failure). TP_E_UNSUPPORTED when
 * it is no such file: not an object, without a setting that can be read,
 * a trace, or what this program wrote; TP_E_IO, TP_E_MEMORY.
 */
enum tp_status tp_trace_read_metrics(const char *path, struct tp_events *said,
                                     struct tp_error *err);

#endif
