/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_RULES_H
#define TP_VERDICT_TRACE_RULES_H

#include "trace/trace_facts.h"
#include "trace/trace_run.h"
#include "verdict/trace_verdict.h"

/*
 * What costs time in a trace, with the figures and what to change. Severity:
 * high = it limits the trace, which is then its verdict; medium = a loss
 * beyond its threshold; low = worth knowing. What is healthy and what was not
 * recorded is no finding; the latter is a note.
 */

struct tp_trace_rule;

/* What a rule looks at. */
struct tp_trace_case {
    struct tp_trace_run *run;
    const struct tp_trace *trace; /* NULL for rules about a run            */
    const struct tp_trace_verdict *verdict;
    const struct tp_trace_rule *rule;
    const double *limits; /* [enum tp_trace_limit]                          */
};

/* A rule: one row of the table in trace_rules.c. */
struct tp_trace_rule {
    const char *id;
    const char *help; /* one line */
    enum tp_status (*of_trace)(const struct tp_trace_case *it,
                               struct tp_error *err);
    enum tp_status (*of_run)(const struct tp_trace_case *it,
                             struct tp_error *err);
};

/* The rows, ended by one whose id is NULL. */
extern const struct tp_trace_rule tp_trace_rules[];

/* Applies all rules: fills run->findings, worst first, and adds notes. The
 * verdicts have been made. TP_E_MEMORY only. */
enum tp_status tp_trace_find(struct tp_trace_run *run, struct tp_error *err);

/* The worst severity among the findings; 0 when there are none. */
int tp_trace_findings_worst(const struct tp_trace_run *run);

/*
 * For the rules: adds a finding about the trace of `it`. The severity is
 * raised to high when the trace's verdict is `scenario` ("": never), so that
 * what limits a trace is always its first finding. `finding` gives metric,
 * value, limit, evidence, suggestion and level; the rest is filled in.
 */
enum tp_status tp_trace_finding_add(const struct tp_trace_case *it,
                                    const char *scenario,
                                    struct tp_trace_finding finding,
                                    struct tp_error *err);

/* The row of /syncs that costs most, with the device idle, else at all; NULL
 * without. trace_rule_idle.c */
const struct tp_sync_row *tp_trace_worst_sync(const struct tp_trace *trace);

/* Whether what blocks the host is worth a change: the device idles during at
 * least half of it. A wait for a busy device costs nothing. */
bool tp_trace_blocking_costs(const struct tp_trace *trace);

/* The host inside pageable copies of a direction, % of W, where that costs
 * something and is worth a finding; else 0. trace_rule_move.c */
double tp_trace_pageable_cost(const struct tp_trace_case *it, bool to_host);

/* The rules, rows of the table. */
typedef enum tp_status tp_trace_rule_fn(const struct tp_trace_case *it,
                                        struct tp_error *err);
/* trace_rule_idle.c */
tp_trace_rule_fn tp_trace_rule_dataloader;
tp_trace_rule_fn tp_trace_rule_sync;
tp_trace_rule_fn tp_trace_rule_launch;
tp_trace_rule_fn tp_trace_rule_host;
/* trace_rule_memory.c */
tp_trace_rule_fn tp_trace_rule_allocation;
tp_trace_rule_fn tp_trace_rule_cold_start;
tp_trace_rule_fn tp_trace_rule_churn;
tp_trace_rule_fn tp_trace_rule_memory_full;
/* trace_rule_move.c */
tp_trace_rule_fn tp_trace_rule_communication;
tp_trace_rule_fn tp_trace_rule_straggler;
tp_trace_rule_fn tp_trace_rule_copies;
/* trace_rule_input.c */
tp_trace_rule_fn tp_trace_rule_incomplete;
tp_trace_rule_fn tp_trace_rule_not_recorded;

#endif
