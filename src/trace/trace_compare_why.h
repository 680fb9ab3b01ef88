/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_COMPARE_WHY_H
#define TP_TRACE_TRACE_COMPARE_WHY_H

#include "trace/trace_compare.h"

/* How a place of the tree changed. */
enum tp_why_change {
    TP_WHY_UNCHANGED,
    TP_WHY_SLOWER,
    TP_WHY_FASTER,
    TP_WHY_MORE,      /* it happens more often                             */
    TP_WHY_FEWER,
    TP_WHY_ADDED,
    TP_WHY_REMOVED,
    TP_WHY_REPLACED,  /* other device work in the same operator            */
    TP_WHY_RESHAPED,  /* the operator is given other shapes or types       */
    TP_WHY_CHANGES
};

/*
 * Fills comparison->why and what it adds up to, from tp_trace.spent of both
 * runs: both must have been collected for a comparison. TP_E_MEMORY only.
 */
enum tp_status tp_trace_compare_why(const struct tp_trace_run *base,
                                    const struct tp_trace_run *test,
                                    struct tp_trace_comparison *comparison,
                                    struct tp_error *err);

#endif
