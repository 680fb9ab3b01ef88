/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_COLLECTIVE_H
#define TP_TRACE_TRACE_COLLECTIVE_H

#include "trace/trace.h"

/* What a communication kernel communicates, and what kinds there are. */

/* One communication. Texts are numbers of the trace's, 0 where not recorded;
 * equal numbers are equal texts. Other numbers are -1 where not recorded. */
struct tp_collective {
    uint32_t name, dtype, group_name, group_ranks;
    int64_t group_size, sequence;
    int64_t in_bytes, out_bytes; /* of this rank                           */
};

/* That of a device event: from its own arguments, else from those of the
 * operator record_param_comms around its launch, else the name of the range
 * around that, or its own. TP_E_MEMORY only. */
enum tp_status tp_collective_of(struct tp_trace *trace, uint32_t event,
                                struct tp_collective *it,
                                struct tp_error *err);

/* The kind that a text names, as a text of the trace; 0: none. TP_NO_DETAIL
 * when out of memory. */
uint32_t tp_collective_named(struct tp_events *events, uint32_t text);

/* "allreduce" of "all_reduce" or of a kernel's name; NULL: of no known kind. */
const char *tp_collective_kind(const char *name);

/* Whether no rank can end one of this name before the last one has begun it,
 * with messages of one size: their shortest duration is then what the
 * communication takes. */
bool tp_collective_waits(const char *name);

/* What the busiest link carries of each byte of the message, among n ranks, as
 * nccl-tests define it. NaN where n is needed and not known. */
double tp_collective_bus_factor(const char *name, int64_t n);

/* The larger side of the message; -1: not known. */
int64_t tp_collective_bytes(int64_t in_bytes, int64_t out_bytes);

#endif
