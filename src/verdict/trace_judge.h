/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_JUDGE_H
#define TP_VERDICT_TRACE_JUDGE_H

#include "verdict/judged.h"

/*
 * Compares the ranks of a run, says what limits each trace and the run, and
 * applies the rules: all that needs every trace. `judged` is zeroed by the
 * caller, keeps pointers to texts of the run, which has to outlive it, and is
 * released with tp_trace_judged_clear, also after a failure: TP_E_MEMORY.
 */
enum tp_status tp_trace_judge(const struct tp_trace_run *run,
                              const struct tp_trace_limits *limits,
                              struct tp_trace_judged *judged,
                              struct tp_error *err);

#endif
