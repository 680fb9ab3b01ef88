/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_LIMITS_H
#define TP_VERDICT_TRACE_LIMITS_H

#include <stdbool.h>

#include "base/error.h"

/*
 * The thresholds of verdicts and rules about traces: one row each, with what
 * it is compared with and where its value comes from. `list rules` prints
 * them, --threshold NAME=VALUE changes them for a run.
 */

enum tp_trace_limit {
    TP_TRACE_BUSY,
    TP_TRACE_EVENTS,
    TP_TRACE_ALLOC,
    TP_TRACE_FIRST_LAUNCH,
    TP_TRACE_QUEUED,
    TP_TRACE_LOADER,
    TP_TRACE_LOADER_SEEN,
    TP_TRACE_LOADER_WAIT,
    TP_TRACE_SYNC,
    TP_TRACE_SYNC_SEEN,
    TP_TRACE_COMM,
    TP_TRACE_HOST,
    TP_TRACE_TINY,
    TP_TRACE_TURNS,
    TP_TRACE_COPY,
    TP_TRACE_COPY_SEEN,
    TP_TRACE_CHURN,
    TP_TRACE_CHURN_RATE,
    TP_TRACE_MEMORY_FULL,
    TP_TRACE_RISE,
    TP_TRACE_RISE_SPREADS,
    TP_TRACE_UNEVEN,
    TP_TRACE_HOST_TINY,
    TP_TRACE_HOST_BUSY,
    TP_TRACE_HOST_CHURN,
    TP_TRACE_WIN,
    TP_TRACE_LINK,
    TP_TRACE_LIMITS
};

struct tp_trace_limit_info {
    const char *name;
    double value;
    const char *unit;   /* "%", "ms", ..                                    */
    const char *help;   /* what is compared with it                        */
    const char *source; /* why this value                                  */
};

/* The rows, [enum tp_trace_limit]. */
extern const struct tp_trace_limit_info tp_trace_limit_table[TP_TRACE_LIMITS];

/* The values of one run, in the unit of their row. */
struct tp_trace_limits {
    double values[TP_TRACE_LIMITS];
};

/* The values of the table. */
struct tp_trace_limits tp_trace_limits_default(void);

/* Applies one "NAME=VALUE". TP_E_USAGE for an unknown name, or a value that
 * is no number from 0 on. */
enum tp_status tp_trace_limits_set(struct tp_trace_limits *limits,
                                   const char *setting, struct tp_error *err);

#endif
