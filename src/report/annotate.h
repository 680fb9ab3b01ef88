/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_ANNOTATE_H
#define TP_REPORT_ANNOTATE_H

#include <signal.h>

#include "base/error.h"
#include "verdict/judged.h"

/*
 * Writes a trace again with what was found in it as tracks of a process of its
 * own: the verdict on the window and on each step, idle time with its cause,
 * critical paths, waits for other ranks, the lengths of the queue and the rates
 * of communication. The bytes of the trace stay as they are; the tracks stand
 * at the end of its array of events. What ends too early ends with them: what
 * was cut off is left out, also of what follows the array, and the brackets are
 * closed.
 *
 * Packed by gzip if `to` ends in .gz. It takes the place of an older file only
 * when it is whole. `stop`: as in struct tp_trace_watch. TP_E_USAGE for a trace
 * that has such tracks already; TP_E_DAMAGED for one so broken that with them
 * other events would be read; TP_E_IO, also where the trace is no longer what
 * was read, TP_E_MEMORY, TP_E_INTERRUPTED.
 */
enum tp_status tp_annotate(const struct tp_trace_run *run,
                           const struct tp_trace_judged *judged, size_t trace,
                           const char *to, const volatile sig_atomic_t *stop,
                           struct tp_error *err);

#endif
