/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_COMPARE_H
#define TP_REPORT_REPORT_COMPARE_H

#include "base/text.h"
#include "trace/trace_compare.h"
#include "verdict/judged.h"
#include "verdict/trace_change.h"

/* A comparison of two runs of traces in words. Everything is borrowed. */
struct tp_compare_report {
    const struct tp_trace_comparison *comparison;
    const struct tp_trace_changes *changes;
    const struct tp_trace_run *base, *test;
    const struct tp_trace_verdict *base_verdict, *test_verdict;
    const char *base_path, *test_path; /* as the user named them           */
    size_t top;                        /* rows of each list; 0: all        */
    bool color;
};

/* As text: verdicts, what changed and why, findings, steps, operators. */
void tp_compare_report_text(const struct tp_compare_report *report,
                            struct tp_text *text);

/* As one JSON object: base, test, per, findings, why, steps, ops, kernels. */
void tp_compare_report_json(const struct tp_compare_report *report,
                            struct tp_text *text);

/* What it comes to: tp_compare_why_head. */
void tp_compare_report_head(const struct tp_compare_report *report,
                            struct tp_text *change, struct tp_text *cause);

#endif
