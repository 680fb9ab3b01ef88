/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_RULES_H
#define TP_VERDICT_TRACE_RULES_H

#include "trace/trace_facts.h"
#include "verdict/judged.h"

/*
 * What costs time in a trace, with the figures and what to change. Severity:
 * high = it limits the trace, which is then its verdict; medium = a loss
 * beyond its threshold; low = worth knowing. What is healthy and what was not
 * recorded is no finding; the latter is a note.
 */

/* What a rule looks at. */
struct tp_trace_case {
    const struct tp_trace_run *run;
    const struct tp_trace *trace; /* NULL for rules about a run            */
    struct tp_trace_judged *judged;
    enum tp_verdict verdict; /* on the trace, or on the run                */
    const struct tp_trace_rule *rule;
    const double *limits; /* [enum tp_trace_limit]                          */
};

/* A rule: one row of the table in trace_rules.c. */
struct tp_trace_rule {
    const char *id;
    const char *help;  /* one line */
    const char *guide; /* its section of man/tprof-guide.7 */
    enum tp_status (*of_trace)(const struct tp_trace_case *it,
                               struct tp_error *err);
    enum tp_status (*of_run)(const struct tp_trace_case *it,
                             struct tp_error *err);
    bool any_window; /* holds of traces whose window has no length, too    */
};

/* The rows, ended by one whose id is NULL. */
extern const struct tp_trace_rule tp_trace_rules[];

/* Applies all rules: fills judged->findings, worst first, and adds notes. The
 * verdicts have been made. TP_E_MEMORY only. */
enum tp_status tp_trace_findings_make(const struct tp_trace_run *run,
                                      struct tp_trace_judged *judged,
                                      struct tp_error *err);

/*
 * For the rules: adds a finding about the trace of `it`. The severity is
 * raised to high when the trace's verdict is `cause` (TP_VERDICTS: never), so
 * that what limits a trace is always its first finding. `finding` gives metric,
 * value, limit, evidence, suggestion and level; the rest is filled in.
 */
enum tp_status tp_trace_finding_add(const struct tp_trace_case *it,
                                    enum tp_verdict cause,
                                    struct tp_trace_finding finding,
                                    struct tp_error *err);

/* The rules, rows of the table. */
typedef enum tp_status tp_trace_rule_fn(const struct tp_trace_case *it,
                                        struct tp_error *err);

/* Whether a rule that stands before in the table has a finding about the trace
 * of `it`. */
bool tp_trace_is_found(const struct tp_trace_case *it,
                       tp_trace_rule_fn *of_trace);

/* trace_rule_idle.c */
tp_trace_rule_fn tp_trace_rule_dataloader;
tp_trace_rule_fn tp_trace_rule_queued;
tp_trace_rule_fn tp_trace_rule_first_launch;
tp_trace_rule_fn tp_trace_rule_sync;
tp_trace_rule_fn tp_trace_rule_launch;
tp_trace_rule_fn tp_trace_rule_host;
tp_trace_rule_fn tp_trace_rule_cpu_time;
tp_trace_rule_fn tp_trace_rule_tiny_operators;
tp_trace_rule_fn tp_trace_rule_host_churn;
/* trace_rule_memory.c */
tp_trace_rule_fn tp_trace_rule_allocation;
tp_trace_rule_fn tp_trace_rule_cold_start;
tp_trace_rule_fn tp_trace_rule_churn;
tp_trace_rule_fn tp_trace_rule_memory_full;
/* trace_rule_move.c */
tp_trace_rule_fn tp_trace_rule_communication;
tp_trace_rule_fn tp_trace_rule_straggler;
tp_trace_rule_fn tp_trace_rule_copies;
tp_trace_rule_fn tp_trace_rule_turns;
/* trace_rule_roof.c */
tp_trace_rule_fn tp_trace_rule_tf32;
tp_trace_rule_fn tp_trace_rule_alignment;
tp_trace_rule_fn tp_trace_rule_attention;
tp_trace_rule_fn tp_trace_rule_fusion;
tp_trace_rule_fn tp_trace_rule_optimizer;
tp_trace_rule_fn tp_trace_rule_no_roof;
/* trace_rule_link.c */
tp_trace_rule_fn tp_trace_rule_slow_link;
tp_trace_rule_fn tp_trace_rule_slow_rank;
/* trace_rule_steps.c */
tp_trace_rule_fn tp_trace_rule_rising_steps;
tp_trace_rule_fn tp_trace_rule_rising_traces;
/* trace_rule_uneven.c */
tp_trace_rule_fn tp_trace_rule_first_step;
tp_trace_rule_fn tp_trace_rule_uneven_steps;
/* trace_rule_input.c */
tp_trace_rule_fn tp_trace_rule_incomplete;
tp_trace_rule_fn tp_trace_rule_not_recorded;

#endif
