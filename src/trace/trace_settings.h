/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_SETTINGS_H
#define TP_TRACE_TRACE_SETTINGS_H

#include "trace/trace.h"

/*
 * How the run of a trace was set up: batch_size, num_workers, pin_memory and
 * amp, each as far as something shows it and nothing contradicts.
 */

/* Fills trace->settings from the events: what they show, and over that what
 * add_metadata wrote. TP_E_MEMORY only. */
enum tp_status tp_trace_settings_make(struct tp_trace *trace,
                                      struct tp_error *err);

/* What the traces of a run say together: all of them have to, and the same. */
struct tp_setting tp_trace_run_setting(const struct tp_trace_run *run,
                                       enum tp_setting_id id);

/*
 * The folder of the traces: the one all of them lie in, of `*length` bytes; of
 * a run that was read from one directory with several folders that directory.
 * NULL when there is none.
 */
const char *tp_trace_run_folder(const struct tp_trace_run *run,
                                const char *const *inputs, size_t input_count,
                                size_t *length);

#endif
