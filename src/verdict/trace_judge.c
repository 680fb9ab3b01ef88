/* SPDX-License-Identifier: MIT */
#include "verdict/trace_judge.h"

#include "verdict/trace_ranks.h"
#include "verdict/trace_rules.h"
#include "verdict/trace_verdict.h"

enum tp_status tp_trace_judge(const struct tp_trace_run *run,
                              const struct tp_trace_limits *limits,
                              struct tp_trace_judged *judged,
                              struct tp_error *err)
{
    judged->limits = *limits;
    enum tp_status status = tp_trace_ranks_make(run, judged, err);
    if (status == TP_OK)
        status = tp_trace_verdicts_make(run, judged, err);
    return status == TP_OK ? tp_trace_findings_make(run, judged, err) : status;
}
