/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_ROWS_H
#define TP_TRACE_TRACE_ROWS_H

#include "trace/trace.h"

/*
 * The makers of rows: one function per table, each of which reads
 * trace->events and trace->index and fills its own rows, to be called once.
 * Rows are in an order that depends on nothing but the events. All fail with
 * TP_E_MEMORY only; what was filled is released with the trace. None is
 * called for one trace by two threads at once.
 *
 * Makers are independent of each other but for the steps, which tell which of
 * them are steady and come first.
 */

/* trace->steps: every ProfilerStep, its costs, and whether it is steady; one
 * row -1 from the first to the last operator in a trace without steps. */
enum tp_status tp_trace_steps(struct tp_trace *trace, struct tp_error *err);

/* trace->ops: torch's key_averages, longest self device time first. */
enum tp_status tp_trace_ops(struct tp_trace *trace, struct tp_error *err);

/* trace->kernels, longest total first, with the histogram of durations, the
 * median and the share of time in short kernels. */
enum tp_status tp_trace_kernels(struct tp_trace *trace, struct tp_error *err);

/* trace->op_kernels: operators with the kernels they start, longest device
 * time first. */
enum tp_status tp_trace_op_kernels(struct tp_trace *trace,
                                   struct tp_error *err);

/* trace->annotations: of the host, by device time, then of the device. */
enum tp_status tp_trace_annotations(struct tp_trace *trace,
                                    struct tp_error *err);

/* trace->idle: what the host did in each idle moment of the device. */
enum tp_status tp_trace_idle(struct tp_trace *trace, struct tp_error *err);

/* trace->busy: device time by class under several definitions. */
enum tp_status tp_trace_busy(struct tp_trace *trace, struct tp_error *err);

/* trace->launches: calls that started device work, by name. */
enum tp_status tp_trace_launches(struct tp_trace *trace, struct tp_error *err);

/* trace->streams: gaps and queue of each. */
enum tp_status tp_trace_streams(struct tp_trace *trace, struct tp_error *err);

/* trace->utilisation and trace->queue over equal pieces of W, and
 * trace->mean_queue. */
enum tp_status tp_trace_curves(struct tp_trace *trace, struct tp_error *err);

/* trace->copies: copies and sets by direction and kind of memory. */
enum tp_status tp_trace_copies(struct tp_trace *trace, struct tp_error *err);

/* trace->syncs: calls that wait for the device, by cause. */
enum tp_status tp_trace_syncs(struct tp_trace *trace, struct tp_error *err);

/* trace->memory and the curves trace->allocated and trace->reserved. */
enum tp_status tp_trace_memory(struct tp_trace *trace, struct tp_error *err);

/* trace->comms: communication kernels by collective, group and type. */
enum tp_status tp_trace_comms(struct tp_trace *trace, struct tp_error *err);

/* trace->paths: what the critical path of each step was spent on. Empty
 * without device events. */
enum tp_status tp_trace_paths(struct tp_trace *trace, struct tp_error *err);

/* trace->arrivals: every collective of the steps, for the comparison of ranks
 * (trace_ranks.h). */
enum tp_status tp_trace_arrivals(struct tp_trace *trace,
                                 struct tp_error *err);

#endif
