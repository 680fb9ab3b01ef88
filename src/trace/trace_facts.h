/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_FACTS_H
#define TP_TRACE_TRACE_FACTS_H

#include "trace/trace.h"

/* Fills trace->facts from the events, the index and the steps; texts are
 * those of the events. TP_E_MEMORY only. */
enum tp_status tp_trace_facts_make(struct tp_trace *trace,
                                   struct tp_error *err);

/* Means over steps: the seconds users ask for first. NaN without steps. */
struct tp_trace_means {
    int64_t steps;          /* steps in the means                         */
    int64_t all_steps;      /* steps recorded: these and ...              */
    int64_t warm_ups, cut, odd; /* first ones that take long, those that the
                               end of the recording cut, others            */
    double step_s;          /* without the data wait, with the device tail*/
    double data_wait_s;     /* the DataLoader on the main thread          */
    double profiler_step_s; /* ProfilerStep itself                        */
    double all_steps_s;     /* step_s over all steps that were not cut    */
};

/* Over the typical steps of `count` traces together. */
struct tp_trace_means tp_trace_step_means(const struct tp_trace *traces,
                                          size_t count);

/* Batches of the DataLoader in a ProfilerStep: more than one where a loop calls
 * step() of the profiler less often than it takes a batch. 0: no DataLoader, or
 * no steps. */
double tp_trace_batches(const struct tp_trace *traces, size_t count);

/* Whether /steps has steps: not the one row of a trace without. */
bool tp_trace_has_steps(const struct tp_trace *trace);

/* The row of /busy about the window W, or NULL. */
const struct tp_busy_row *tp_trace_busy_window(const struct tp_trace *trace);

/* What of the window W is communication that no computation hides, or copying
 * that neither computation nor communication hides: a share, from /busy. */
double tp_trace_exposed_communication(const struct tp_trace *trace);
double tp_trace_exposed_memory(const struct tp_trace *trace);

/* The device that worked: of the first event that names one; NULL. */
const struct tp_device_properties *
tp_trace_device(const struct tp_trace *trace);
/* Of the copying, what leaves the device or comes to it: a stream of its own
 * could hide it, while copies within the device are work of its own. */
double tp_trace_exposed_transfers(const struct tp_trace *trace);

#endif
