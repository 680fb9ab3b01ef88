/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_BESIDE_H
#define TP_TRACE_TRACE_BESIDE_H

#include "trace/trace.h"

/*
 * Looks for files of metrics (formats/trace/trace_metrics.h) that belong to
 * the traces of a run: in the folder of each trace, and in the two folders
 * above if they name the trace's folder as trace_dir. What they say of a
 * setting holds over what the trace shows; that they contradict it, or each
 * other, is noted. Files so used are no longer among run->skipped. What cannot
 * be read is left aside. TP_E_MEMORY only.
 */
enum tp_status tp_trace_beside_add(struct tp_trace_run *run,
                                   struct tp_error *err);

#endif
