/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_TRACE_REPORT_H
#define TP_REPORT_TRACE_REPORT_H

#include "base/text.h"
#include "report/report_parts.h"
#include "trace/trace.h"
#include "verdict/judged.h"

/* What a report is made from. Everything is borrowed. */
struct tp_trace_report {
    const struct tp_trace_run *run;
    const struct tp_trace_judged *judged;
    const struct tp_report_figure *figures;
    size_t figure_count;
    const char *tool_version;
    const char *output_dir;
    const char *const *inputs;
    size_t input_count;
    size_t top;       /* rows of lists of operators and kernels            */
    const char *sort; /* column of the operators: report_ops.h */
};

#endif
