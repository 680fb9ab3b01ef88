/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_JOIN_H
#define TP_TRACE_TRACE_JOIN_H

#include "trace/trace.h"
#include "trace/trace_record.h"

/* From records to a run: traces in order, and what became of other files. */

/*
 * The part of tp_trace_collect that follows reading: moves the traces of
 * records, all of which are done, into an empty run. TP_E_MEMORY only.
 */
enum tp_status tp_trace_run_join(struct tp_trace_records *records,
                             const struct tp_roof_choice *roofs,
                             struct tp_trace_run *run, struct tp_error *err);

/* Orders the traces by rank, worker, span and path. Called by
 * tp_trace_collect; for tests, too. */
void tp_trace_run_sort(struct tp_trace_run *run);

#endif
