/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_FOREIGN_H
#define TP_TRACE_TRACE_FOREIGN_H

#include "base/error.h"
#include "data/events.h"

/* TP_E_UNSUPPORTED, with whose trace it is where that can be told, if the
 * events of a file that was read are not those of the PyTorch profiler. A file
 * without events is none of another's, unless they have only begins and ends.
 */
enum tp_status tp_trace_check_kind(const struct tp_events *events,
                                   struct tp_error *err);

#endif
